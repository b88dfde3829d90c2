"""The exact machines in the corners of their problems, against optima computed in rational arithmetic.

Problems of four or five rows: no support vector free, all of them bounded, rows with both labels, a class of one row,
and costs from 1e-8 to 1e12, where no floating-point solver can be the judge.
"""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVDD, SVR, LinearClassifier, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.exceptions import NotSeparableError
from tests.references.exact import box_minimum, fractions, middle_of_minimisers

COSTS = [10.0**power for power in range(-8, 13, 4)]

#: Rows and signs.
PROBLEMS = {
    "no free support vector at small costs": ([[-2.0], [-1.0], [1.0], [3.0]], [-1, -1, 1, 1]),
    "overlap": ([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [1.0, 1.0], [3.0, 0.0]], [-1, -1, 1, 1, -1]),
    "all bounded": ([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [-1, -1, 1, 1]),
    "rows with both labels": ([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], [-1, 1, -1, 1, 1]),
    "nothing but rows with both labels": ([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]], [-1, 1, -1, 1]),
    "a class of one row, inside": ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.25, 0.25]], [-1] * 4 + [1]),
    "a class of one row, apart": ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [3.0, 4.0]], [-1] * 4 + [1]),
}
SEPARABLE = ["no free support vector at small costs", "a class of one row, apart"]
ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
TARGETS = np.array([0.0, 1.0, -1.0, 2.5])


def gram(X, kernel):
    X = np.asarray(X, dtype=float)
    if kernel == "linear":
        return X @ X.T
    return np.array([[np.exp(-0.5 * np.sum((x - z) ** 2)) for z in X] for x in X])


def quietly(model, *data, **options):
    """Fitted; that rounding forbids the goal at a cost of 1e12 is no news."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **options)


def classified(K, sign, cost, fit_intercept=True):
    """(optimal value, alpha, scores, intercept) of the soft margin, as fractions."""
    n, K, t = len(sign), fractions(K), [Fraction(int(s)) for s in sign]
    cost = [Fraction(float(c)) for c in np.broadcast_to(cost, n)]
    Q = np.array([[t[i] * t[j] * K[i, j] for j in range(n)] for i in range(n)], dtype=object)
    alpha, value = box_minimum(Q, [Fraction(-1)] * n, cost, (t, Fraction(0)) if fit_intercept else None)
    f = K @ (t * alpha)
    b = Fraction(0)
    if fit_intercept:  # max(0, 1 - t (f + b)) has its kink at b = t - f
        below, above = ([c if s == side else Fraction(0) for c, s in zip(cost, t, strict=True)] for side in (1, -1))
        b = middle_of_minimisers([s - g for s, g in zip(t, f, strict=True)], below, above)
    return -value, alpha, f + b, b


def regressed(K, y, cost, epsilon, fit_intercept=True):
    """(optimal value, alpha and alpha*, predictions) of the regression with a tube."""
    n, K, y = len(y), fractions(K), fractions(y)
    cost, epsilon = Fraction(float(cost)), Fraction(float(epsilon))
    P = np.block([[K, -K], [-K, K]])
    q = np.concatenate([epsilon - y, epsilon + y])
    side = [Fraction(1)] * n + [Fraction(-1)] * n
    beta, value = box_minimum(
        P,
        q,
        [cost] * (2 * n),
        (side, Fraction(0)) if fit_intercept else None,
        skip=lambda face: any(face[i] and face[n + i] for i in range(n)),  # never on both sides of the tube
    )
    f = K @ (beta[:n] - beta[n:])
    b = Fraction(0)
    if fit_intercept:
        ends = [r + e for r in y - f for e in (-epsilon, epsilon)]
        b = middle_of_minimisers(ends, [cost, 0] * n, [0, cost] * n)
    return -value, beta, f + b


def floats(values):
    return np.array([float(v) for v in values])


def encloses(certificate, value, slack=2.3e-16):
    """Whether the optimum lies where the certificate says, up to rounding."""
    return certificate.dual <= value + slack * abs(value) and certificate.primal >= value - slack * abs(value)


def rounding(K, C):
    """Error of K beta where terms of C K_ij cancel: what no float64 sum is without."""
    return np.finfo(float).eps * C * len(K) * np.abs(K).max()


# -- classification ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_soft_margin(name, kernel, fit_intercept):
    X, sign = PROBLEMS[name]
    for C in COSTS:
        value, _, f, b = classified(gram(X, kernel), sign, C, fit_intercept)
        model = quietly(SVC(C=C, kernel=kernel, gamma=0.5, fit_intercept=fit_intercept), X, sign)
        assert model.certificate_.holds
        assert encloses(model.certificate_, float(value)), (C, value, str(model.certificate_))
        room = rounding(gram(X, kernel), C)
        if model.fit_status_:  # it said that rounding errors stop it
            assert C >= 1e8
            assert np.abs(model.decision_function(X) - floats(f)).max() <= 50 * room, C
            continue
        # 1/2 beta' K beta is a sum of terms of C^2 K_ij: its rounding is part of the bound
        assert model.certificate_.dual == pytest.approx(float(value), rel=1e-9, abs=32 * len(X) * C * room), C
        np.testing.assert_allclose(model.decision_function(X), floats(f), rtol=1e-9, atol=1e-9 + room, err_msg=str(C))
        assert model.intercept_[0] == pytest.approx(float(b), rel=1e-9, abs=1e-9 + room), C


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ["rows with both labels", "nothing but rows with both labels"])
def test_work_does_not_grow_with_the_cost_of_rows_with_both_labels(name, kernel):
    """Without an intercept no single variable of such a pair gets far: it takes a step of both to go to the bounds."""
    X, sign = PROBLEMS[name]
    steps = {}
    for C in (1e2, 1e4, 1e6, 1e8):
        model = quietly(SVC(C=C, kernel=kernel, gamma=0.5, fit_intercept=False, max_iter=10**5), X, sign)
        linear = LinearSVC(loss="hinge", solver="dual-coordinate", C=C, fit_intercept=False, max_iter=10**5)
        steps[C] = int(model.n_iter_.max()), quietly(linear, X, sign).n_iter_
        room = 32 * len(X) * rounding(gram(X, kernel), C)  # the rows' rounding, times C, beside an objective of size C
        assert model.certificate_.relative_gap <= 1e-9 + room, C
        assert linear.certificate_.relative_gap <= 1e-4, C
    assert max(pair for pair, _ in steps.values()) <= 5000
    assert max(epochs for _, epochs in steps.values()) <= 500


@pytest.mark.parametrize("name", PROBLEMS)
def test_weighted_soft_margin(name):
    X, sign = PROBLEMS[name]
    weight = np.array([1.0, 3.0, 0.5, 2.0, 8.0])[: len(sign)]
    for C in COSTS:
        value, _, f, _ = classified(gram(X, "rbf"), sign, C * weight)
        model = quietly(SVC(C=C, gamma=0.5), X, sign, sample_weight=weight)
        width = 32 * len(X) * 8 * C * rounding(gram(X, "rbf"), 8 * C)  # as above, for costs of up to 8 C
        assert model.certificate_.dual == pytest.approx(float(value), rel=1e-9, abs=width), C
        room = rounding(gram(X, "rbf"), 8 * C)
        np.testing.assert_allclose(model.decision_function(X), floats(f), rtol=1e-8, atol=1e-8 + room, err_msg=str(C))


@pytest.mark.parametrize("solver", ["interior-point", "dual-gradient"])
def test_other_solvers_of_the_soft_margin(solver):
    X, sign = PROBLEMS["overlap"]
    for C in (1e-4, 1.0, 10.0):
        value, _, f, b = classified(gram(X, "rbf"), sign, C)
        model = quietly(SVC(C=C, gamma=0.5, solver=solver, gap_tol=1e-10), X, sign)
        assert encloses(model.certificate_, float(value)), str(model.certificate_)
        assert model.certificate_.dual == pytest.approx(float(value), rel=1e-8)
        np.testing.assert_allclose(model.decision_function(X), floats(f), rtol=1e-5, atol=1e-5)
        assert model.intercept_[0] == pytest.approx(float(b), abs=1e-5)


def test_gradient_ascent_starts_at_zero_and_climbs():
    X, sign = PROBLEMS["overlap"]
    history = quietly(SVC(C=1.0, gamma=0.5, solver="dual-gradient"), X, sign).history_
    assert len(history) > 2
    assert (np.diff(history["dual"]) >= -1e-12).all()
    assert history["dual"][0] <= float(classified(gram(X, "rbf"), sign, 1.0)[0])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", SEPARABLE)
def test_hard_margin(name, kernel):
    X, sign = PROBLEMS[name]
    value, alpha, f, b = classified(gram(X, kernel), sign, 1e30)
    assert max(alpha) < 1e6  # no bound is felt
    model = SVC(C=np.inf, kernel=kernel, gamma=0.5).fit(X, sign)
    assert model.certificate_.dual == pytest.approx(float(value), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), floats(f), rtol=1e-9, atol=1e-9)
    assert model.intercept_[0] == pytest.approx(float(b), abs=1e-9)


@pytest.mark.parametrize("name", ["rows with both labels", "nothing but rows with both labels"])
def test_no_hard_margin(name):
    X, sign = np.array(PROBLEMS[name][0]), np.array(PROBLEMS[name][1])
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=np.inf, kernel="linear").fit(X, sign)
    witness = caught.value
    assert witness.distance == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("solver", ["auto", "newton", "dual-coordinate", "primal-dual"])
@pytest.mark.parametrize("name", ["overlap", "a class of one row, inside", "a class of one row, apart"])
def test_linear_soft_margin(name, solver):
    """Weights are within what the gap allows, ||w - w*||^2 <= 2 (primal - dual), and there is no gap to speak of."""
    X, sign = PROBLEMS[name]
    Z = fractions(X)
    for C in (1e-8, 1e-3, 1.0, 1e3):
        value, alpha, _, _ = classified(gram(X, "linear"), sign, C)
        w = floats((fractions(sign) * alpha) @ Z)
        for machine in (LinearSVC(loss="hinge", C=C), LinearClassifier("hinge", C=C)):
            model = quietly(machine.set_params(solver=solver, tol=1e-9, max_iter=20000), X, sign)
            certificate = model.certificate_
            assert encloses(certificate, float(value), 1e-9), (C, str(certificate))
            assert certificate.relative_gap <= 1e-8 + 2e-16 / C, (C, str(certificate))  # slopes of 1 have that rounding
            allowed = np.sqrt(2 * max(certificate.gap, 0.0)) + 1e-9 * np.linalg.norm(w)
            assert np.linalg.norm(model.coef_[0] - w) <= allowed, (C, model.coef_, w)


# -- machines with a nu ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["overlap", "a class of one row, inside", "a class of one row, apart"])
def test_nu_machine_is_the_soft_margin_of_its_margin(name):
    """Where nu = sum alpha / (n C), nu-SVC over rho is the machine of cost C."""
    X, sign = PROBLEMS[name]
    compared = 0
    for C in (0.3, 0.6, 1.0, 2.0, 10.0, 100.0):
        _, alpha, f, _ = classified(gram(X, "rbf"), sign, C)
        nu = float(sum(alpha) / (len(sign) * Fraction(C)))
        # else the intercept or the margin may be any of an interval
        if all(any(0 < a < C for a, s in zip(alpha, sign, strict=True) if s == side) for side in (-1, 1)):
            model = quietly(NuSVC(nu=nu, gamma=0.5), X, sign)
            np.testing.assert_allclose(model.decision_function(X), floats(f), rtol=1e-6, atol=1e-6, err_msg=str(C))
            compared += 1
    assert compared


def test_tube_of_nu_is_the_tube_given():
    """Where nu = sum (alpha + alpha*) / (n C), nu-SVR finds the epsilon that was given."""
    compared = 0
    for C in (0.5, 2.0, 10.0):
        for epsilon in (0.1, 0.4):
            _, beta, f = regressed(gram(ROWS, "rbf"), TARGETS, C, epsilon)
            nu = float(sum(beta) / (len(ROWS) * Fraction(C)))
            if 0 < nu < 1 and sum(0 < b < C for b in beta) >= 2:
                model = quietly(NuSVR(nu=nu, C=C, gamma=0.5), ROWS, TARGETS)
                np.testing.assert_allclose(model.predict(ROWS), floats(f), rtol=1e-6, atol=1e-6)
                compared += 1
    assert compared >= 2


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("nu", [0.125, 0.25, 0.375, 0.5, 0.875])
def test_one_class(nu, kernel):
    """Shares that floats hold exactly; nu n is a whole number for two of them, and no support vector is free then."""
    X = np.array(PROBLEMS["overlap"][0])[:4] + 1.0
    n, K, share = len(X), fractions(gram(X, kernel)), Fraction(nu)
    alpha, value = box_minimum(K, [Fraction(0)] * n, [Fraction(1)] * n, ([Fraction(1)] * n, share * n))
    f = K @ alpha
    rho = middle_of_minimisers(list(f), [share] * n, [1 - share] * n)
    model = quietly(OneClassSVM(nu=nu, kernel=kernel, gamma=0.5), X)
    assert model.certificate_.dual == pytest.approx(-float(value), rel=1e-9)
    np.testing.assert_allclose(model.score_samples(X), floats(f), rtol=1e-9, atol=1e-9)
    assert model.offset_ == pytest.approx(float(rho), rel=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [0.21, 0.3, 0.5, 1.0, 1e12])
def test_smallest_ball(C, kernel):
    X = np.array(PROBLEMS["overlap"][0])
    n, K, cost = len(X), fractions(gram(X, kernel)), Fraction(C)
    diagonal = np.array([K[i, i] for i in range(n)], dtype=object)
    alpha, value = box_minimum(2 * K, -diagonal, [cost] * n, ([Fraction(1)] * n, Fraction(1)))
    squares = diagonal - 2 * (K @ alpha) + alpha @ K @ alpha
    share = Fraction(1, n)  # R^2 = 1/n sum (R^2 - d) + const
    radius = middle_of_minimisers(list(squares), [cost - share] * n, [share] * n)
    model = quietly(SVDD(C=C, kernel=kernel, gamma=0.5), X)
    assert model.certificate_.dual == pytest.approx(-float(value), rel=1e-9)
    assert model.radius_**2 == pytest.approx(float(radius), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), floats(radius - squares), rtol=1e-9, atol=1e-9)


# -- regression --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_tube(kernel, fit_intercept):
    for C in COSTS:
        for epsilon in (0.0, 0.3):
            value, _, f = regressed(gram(ROWS, kernel), TARGETS, C, epsilon, fit_intercept)
            options = {"C": C, "epsilon": epsilon, "kernel": kernel, "gamma": 0.5, "fit_intercept": fit_intercept}
            model = quietly(SVR(**options), ROWS, TARGETS)
            assert model.certificate_.dual == pytest.approx(float(value), rel=1e-8), (C, epsilon)
            np.testing.assert_allclose(model.predict(ROWS), floats(f), rtol=1e-8, atol=1e-8, err_msg=f"{C} {epsilon}")


def test_rows_with_two_targets_and_one_row():
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, -1.0, 2.0, 3.0])
    for C in COSTS:
        value, _, _ = regressed(gram(X, "linear"), y, C, 0.1)
        width, dual = 32 * len(X) * C * rounding(gram(X, "linear"), C), quietly(SVR(C=C, kernel="linear"), X, y)
        assert dual.certificate_.dual == pytest.approx(float(value), rel=1e-8, abs=width)
        linear = quietly(LinearSVR(C=C, epsilon=0.1, tol=1e-9), X, y).certificate_
        assert encloses(linear, float(value), 1e-9), (C, str(linear))
    np.testing.assert_allclose(SVR().fit([[1.0]], [2.0]).predict([[1.0], [5.0]]), 2.0)


# -- the reference itself --------------------------------------------------------------------------------------------


def test_reference_notices_what_is_not_optimal():
    X, sign = PROBLEMS["overlap"]
    value, _, f, _ = classified(gram(X, "rbf"), sign, 1.0)
    rough = quietly(SVC(C=1.0, gamma=0.5, max_iter=1), X, sign)
    assert rough.certificate_.dual < float(value)
    assert np.abs(rough.decision_function(X) - floats(f)).max() > 1e-3


def test_reference_values_grow_with_the_cost():
    X, sign = PROBLEMS["rows with both labels"]
    values = [classified(gram(X, "linear"), sign, C)[0] for C in COSTS]
    assert all(a < b for a, b in pairwise(values))
