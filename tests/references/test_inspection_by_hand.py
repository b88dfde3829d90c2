"""What ``maxmargin.inspection`` says, computed once more by plain loops, rational arithmetic and a conic solver."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.svm

from maxmargin import SVC, LinearSVC, Perceptron
from maxmargin.inspection import (
    certified_labels,
    explain,
    kkt,
    leave_one_out,
    margin_error_bound,
    margins,
    mistake_bound,
    separation,
    status,
    support_table,
    zones,
)
from tests.references.conic import Programme
from tests.references.test_exact_machines import PROBLEMS, classified, floats, gram, quietly

NAMES = ["overlap", "rows with both labels", "a class of one row, inside"]


def cloud(seed=0, n=30, shift=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    sign = np.where(np.arange(n) % 2 == 0, 1, -1)
    return X + shift * sign[:, None], sign


def expansion(model, X):
    """(f, ||w||) by the sum over support vectors, one term at a time."""
    coef, vectors, gamma = model.dual_coef_[0], model.support_vectors_, 0.5

    def k(x, z):
        return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))

    f = [sum(c * k(v, x) for c, v in zip(coef, vectors, strict=True)) + model.intercept_[0] for x in X]
    square = sum(
        c * d * k(v, u) for c, v in zip(coef, vectors, strict=True) for d, u in zip(coef, vectors, strict=True)
    )
    return np.array(f), math.sqrt(square)


# -- margins -----------------------------------------------------------------------------------------------------------


def test_margins_by_the_expansion():
    X, sign = cloud()
    model = SVC(C=2.0, gamma=0.5).fit(X, sign)
    f, norm = expansion(model, X)
    found = margins(model, X, sign)
    np.testing.assert_allclose(found.functional, sign * f, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.geometric, sign * f / norm, rtol=1e-9, atol=1e-12)
    assert found.functional_margin == pytest.approx(min(sign * f))
    assert found.geometric_margin == pytest.approx(min(sign * f) / norm)
    assert found.width == pytest.approx(2 / norm)


def test_zones_of_a_line():
    """The hard margin of 1 and 3 has f(x) = x - 2."""
    model = SVC(kernel="linear", C=np.inf).fit([[0.0], [1.0], [3.0], [7.0]], [-1, -1, 1, 1])
    expected = {
        9.0: "beyond its margin",
        3.0: "on its margin",
        2.6: "inside the strip, right side",
        2.0: "on the hyperplane",
        1.9: "inside the strip, wrong side",
        1.0: "on the other margin",
        -5.0: "beyond the other margin",
    }
    x = np.array(list(expected))[:, None]
    assert zones(model, x, np.ones(7)).tolist() == list(expected.values())
    mirrored = zones(model, 4 - x, -np.ones(7))  # the same for the other class
    assert mirrored.tolist() == list(expected.values())


def status_of(alpha, xi, C):
    """The table of the textbook, in rational arithmetic."""
    if alpha == 0:
        return "not a support vector" if xi == 0 else "not optimal"
    if alpha < C:
        return "on the margin" if xi == 0 else "not optimal"
    if xi == 0:
        return "bound, on the margin"
    return "inside the strip" if xi < 1 else "on the hyperplane" if xi == 1 else "misclassified"


def check_status(name, kernel, C):
    X, sign = PROBLEMS[name]
    _, alpha, f, _ = classified(gram(X, kernel), sign, C)
    model = quietly(SVC(C=C, kernel=kernel, gamma=0.5), X, sign)
    slack = [max(0, 1 - s * v) for s, v in zip(sign, f, strict=True)]
    found = status(model, X, sign)
    assert found.status.tolist() == [status_of(a, x, C) for a, x in zip(alpha, slack, strict=True)], C
    np.testing.assert_allclose(found.alpha, floats(alpha), rtol=1e-7, atol=1e-9 * C + 1e-10)
    np.testing.assert_allclose(found.slack, floats(slack), atol=1e-7)
    np.testing.assert_allclose(found.multiplier, C - floats(alpha), atol=1e-7 * C + 1e-10)
    table = support_table(model, X, sign)
    assert sorted(table["row"]) == [i for i, a in enumerate(alpha) if a > 0]


@pytest.mark.parametrize("name", NAMES)
def test_status_is_that_of_the_exact_optimum(name):
    """The Gaussian's matrix is regular but for equal rows, where only bound pairs can be told apart."""
    for C in (0.1, 0.3, 1.0, 3.0):
        check_status(name, "rbf", C)


def test_influence_and_table_by_hand():
    X, sign = cloud()
    model = SVC(C=2.0, gamma=0.5).fit(X, sign)
    _, norm = expansion(model, X)
    table = support_table(model, X, sign)
    alpha = dict(zip(model.support_, np.abs(model.dual_coef_[0]), strict=True))
    for _, line in table.iterrows():
        assert line["alpha"] == pytest.approx(alpha[line["row"]])
        assert line["influence"] == pytest.approx(alpha[line["row"]] / norm)  # k(x, x) = 1
    assert (np.diff(table["influence"]) <= 1e-12).all()


# -- conditions ------------------------------------------------------------------------------------------------------


def test_conditions_of_a_rough_fit_by_loops():
    X, sign = cloud(3, shift=0.3)
    model = quietly(SVC(C=1.5, gamma=0.5, max_iter=12), X, sign)
    f, _ = expansion(model, X)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    xi = np.maximum(0.0, 1 - sign * f)
    found = kkt(model, X, sign).tasks[0]
    np.testing.assert_allclose(found.margin_slackness, np.abs(alpha * (sign * f - 1 + xi)), atol=1e-10)
    np.testing.assert_allclose(found.slack_slackness, np.abs((1.5 - alpha) * xi), atol=1e-10)
    assert found.balance == pytest.approx(abs(np.sum(alpha * sign)), abs=1e-12)
    np.testing.assert_allclose(found.dual_feasibility, 0.0, atol=1e-12)
    gap = found.margin_slackness.sum() + found.slack_slackness.sum()
    assert gap == pytest.approx(model.certificate_.gap, rel=1e-8)
    assert gap > 1e-3


def test_both_forms_of_the_score():
    X, sign = cloud()
    model = SVC(kernel="linear", C=0.7).fit(X, sign)
    for x in (X[0], np.array([3.0, -1.0])):
        task = explain(model, x).tasks[0]
        w = sum(c * v for c, v in zip(model.dual_coef_[0], model.support_vectors_, strict=True))
        primal = w @ x + model.intercept_[0]
        assert task.score == pytest.approx(primal, rel=1e-9)
        assert task.features.sum() + task.intercept == pytest.approx(primal, rel=1e-9)
        assert task.contributions.sum() + task.intercept == pytest.approx(primal, rel=1e-9)
        for row, coef, value in zip(task.rows, task.dual_coef, task.kernel, strict=True):
            assert value == pytest.approx(X[row] @ x)
            assert np.sign(coef) == sign[row]


# -- bounds ------------------------------------------------------------------------------------------------------------


def largest_margin(Z, sign):
    """max gamma with t_i w.z_i >= gamma, ||w|| = 1, by clarabel: 1 / ||w|| of min 1/2 ||w||^2, t_i w.z_i >= 1."""
    programme = Programme()
    w = programme.variables(Z.shape[1], square=1.0)
    programme.at_least_zero([(sign[:, None] * Z, w)], -np.ones(len(Z)))
    return 1 / math.sqrt(2 * programme.minimum())


@pytest.mark.parametrize("intercept", [True, False])
def test_novikoffs_bound_by_a_conic_solver_and_a_perceptron_by_a_loop(intercept):
    X, sign = cloud(1, shift=3.0)
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    radius, gamma = max(math.sqrt(z @ z) for z in Z), largest_margin(Z, sign)
    found = mistake_bound(X, sign, fit_intercept=intercept)
    assert found.radius == pytest.approx(radius)
    assert found.margin == pytest.approx(gamma, rel=1e-6)
    assert found.bound == pytest.approx((radius / gamma) ** 2, rel=1e-6)
    assert separation(X, sign.astype(float), intercept).margin == pytest.approx(gamma, rel=1e-6)
    w, mistakes, clean = np.zeros(Z.shape[1]), 0, False
    while not clean:
        clean = True
        for z, t in zip(Z, sign, strict=True):
            if t * (w @ z) <= 0:
                w, mistakes, clean = w + t * z, mistakes + 1, False
    model = Perceptron(shuffle=False, fit_intercept=intercept, bound=True).fit(X, sign)
    assert model.mistakes_[0] == mistakes <= found.bound
    np.testing.assert_allclose(model.coef_[0], w[:2])
    assert model.mistake_bound_[0] == pytest.approx(found.bound, rel=1e-6)


def test_margin_error_bound_is_the_formula():
    X, sign = cloud(2, shift=0.4)
    model = SVC(C=1.0, gamma=0.5).fit(X, sign)
    f, norm = expansion(model, X)
    for rho in (0.5, 0.9):  # no row is there
        nu, m = np.mean(sign * f < rho), len(X)
        found = margin_error_bound(model, X, sign, c=0.01, delta=0.1, rho=rho)
        inside = (0.01 / m) * (norm**2 / rho**2 * math.log(m) ** 2 + math.log(10))  # R = 1
        assert found.nu == pytest.approx(nu)
        assert found.bound == pytest.approx(nu + math.sqrt(inside))


# -- without a row, and without the last digits ----------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_leave_one_out_by_libsvm(C):
    X, sign = cloud(4, shift=0.5)
    model = SVC(C=C, gamma=0.5).fit(X, sign)
    found = leave_one_out(model, X, sign)
    margin = np.empty(len(X))
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        margin[i] = (
            sign[i]
            * sklearn.svm.SVC(C=C, gamma=0.5, tol=1e-9).fit(X[rest], sign[rest]).decision_function(X[i : i + 1])[0]
        )
    sure = np.abs(margin) > 1e-6
    np.testing.assert_array_equal(found.errors[sure], margin[sure] <= 0)
    assert found.estimate == pytest.approx(np.mean(found.errors))
    # Joachims' bound, term by term
    f, _ = expansion(model, X)
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    square = 1 - np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1)).min()
    wrong = 2 * alpha * square + np.maximum(0, 1 - sign * f) >= 1
    np.testing.assert_array_equal(leave_one_out(model, X, sign, "xi-alpha").errors, wrong)


def test_span_by_least_squares():
    X, sign = cloud(5, shift=0.8)
    model = SVC(C=3.0, gamma=0.5, gap_tol=1e-12).fit(X, sign)
    f, _ = expansion(model, X)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    alpha = np.zeros(len(X))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    free = np.flatnonzero((alpha > 1e-9) & (alpha < 3.0 - 1e-9))
    found = leave_one_out(model, X, sign, "span")
    for p in free:  # the distance of phi(x_p) from the affine hull of the other free ones, by their multipliers
        others = free[free != p]
        m = len(others)
        system = np.block([[K[np.ix_(others, others)], np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
        weights = np.linalg.lstsq(system, np.append(K[others, p], 1.0), rcond=None)[0][:m]
        square = K[p, p] - 2 * weights @ K[others, p] + weights @ K[np.ix_(others, others)] @ weights
        assert found.margin[p] == pytest.approx(sign[p] * f[p] - alpha[p] * square, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_certain_labels_hold_the_exact_scores(name):
    X, sign = PROBLEMS[name]
    for C in (0.1, 1.0, 10.0):
        _, _, f, _ = classified(gram(X, "rbf"), sign, C)
        for steps in (1, 3, 50):
            model = quietly(SVC(C=C, gamma=0.5, max_iter=steps), X, sign)
            found = certified_labels(model, X, X, sign)
            assert (found.lower <= floats(f) + 1e-9).all(), (C, steps)
            assert (found.upper >= floats(f) - 1e-9).all(), (C, steps)
            exact = np.where(floats(f) > 0, 1, -1)
            np.testing.assert_array_equal(found.labels[found.certain], exact[found.certain])


def test_status_of_linear_machines_agrees():
    X, sign = cloud(6, shift=0.5)
    one = status(SVC(kernel="linear", C=0.5, gap_tol=1e-12).fit(X, sign), X, sign)
    other = status(LinearSVC(loss="hinge", C=0.5, tol=1e-12).fit(X, sign), X, sign)
    assert one.status.tolist() == other.status.tolist()
