"""Input at the edge of sense: the right answer, or an error that can be checked."""

from __future__ import annotations

import faulthandler
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

from maxmargin import SVC, SVDD, SVR, LinearSVC, NotSeparableError, NuSVC, NuSVR, OneClassSVM
from tests.laws import examples

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
REGRESSORS, ONE_CLASS = MACHINES[2:4], MACHINES[4:]


@pytest.fixture(autouse=True)
def _no_hang():
    """A fit that hangs ends the run with a traceback."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def data(n=40, offset=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + offset
    return X, (X[:, 0] - offset + 0.3 * rng.normal(size=n) > 0).astype(int)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("machine", REGRESSORS)
@pytest.mark.parametrize("value", [0.0, 3.5, -1e30, 1e-30])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_constant_targets_are_predicted_everywhere(machine, value, kernel):
    X, _ = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = machine(kernel=kernel).fit(X, np.full(len(X), value))
        np.testing.assert_allclose(model.predict(X + 7.0), value, rtol=1e-12, atol=1e-12)
    assert len(model.support_) == 0
    assert model.certificate_.holds
    assert model.certificate_.gap == 0


@pytest.mark.parametrize("machine", [*REGRESSORS, *ONE_CLASS])
def test_one_row(machine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = machine().fit([[1.0, 2.0]], [3.0])
        predicted = model.predict([[1.0, 2.0]])
    assert model.certificate_.holds
    assert model.certificate_.gap <= 1e-12  # the smallest ball of one row has radius 0, and no relative gap
    np.testing.assert_allclose(predicted, 3.0 if machine in REGRESSORS else 1)


@pytest.mark.parametrize("machine", MACHINES)
def test_two_rows(machine):
    model = machine(kernel="linear").fit([[1.0], [3.0]], [0, 1])
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-12
    if machine in (SVC, NuSVC):
        np.testing.assert_allclose(model.decision_function([[1.0], [2.0], [3.0]]), [-1.0, 0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_that_are_all_the_same(machine, kernel):
    _, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = machine(kernel=kernel).fit(np.ones((len(y), 3)), y)
        score = scores(model, np.ones((5, 3)))
    assert np.isfinite(score).all()
    assert np.ptp(score) <= 1e-12
    assert model.certificate_.holds


def test_duplicated_rows_with_opposite_labels_cancel():
    X, _ = data()
    X, y = np.repeat(X, 2, axis=0), np.tile([0, 1], len(X))
    for kernel in ("rbf", "linear"):
        model = SVC(kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), 0.0, atol=1e-9)
        assert model.certificate_.holds
        assert model.certificate_.relative_gap <= 1e-9
        assert model.certificate_.primal == pytest.approx(len(X), rel=1e-9)  # every row pays 1
        np.testing.assert_allclose(SVR(kernel=kernel).fit(X, y).predict(X), 0.5, atol=0.4 + 1e-6)


def test_nu_that_leaves_no_margin_is_not_blown_up():
    """The reduced hulls touch: rho = 0, and dividing by its rounding error would publish noise."""
    X, _ = data()
    X, y = np.repeat(X, 2, axis=0), np.tile([0, 1], len(X))
    for nu in (0.1, 0.5, 0.9):
        model = NuSVC(nu=nu, kernel="linear").fit(X, y)
        assert np.abs(model.dual_coef_).max() <= 1e6
        assert np.abs(model.decision_function(X)).max() <= 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("machine", MACHINES)
def test_width_of_the_gaussian_follows_the_scale_of_the_rows(machine, size, dtype):
    X, y = data()
    expected = scores(machine().fit(X, y), X)
    Z = (X * size).astype(dtype)
    model = machine().fit(Z, y)
    np.testing.assert_allclose(scores(model, Z), expected, atol=1e-5 * np.abs(expected).max())
    assert model.fit_status_ == 0
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("machine", MACHINES)
def test_linear_kernel_of_scaled_rows(machine, size, dtype):
    """With C over the square of the scale it is the same problem; nu has no scale. Never wrong without a word."""
    X, y = data(offset=3.0)
    options = {"kernel": "linear"} | ({"nu": 0.7} if machine is NuSVC else {})
    has_cost = machine in (SVC, SVR, NuSVR)
    expected = machine(**options, **({"C": 1.0} if has_cost else {})).fit(X, y)
    Z = (X * size).astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = machine(**options, **({"C": size**-2.0} if has_cost else {})).fit(Z, y)
    if any(issubclass(w.category, ConvergenceWarning) for w in caught):
        assert model.fit_status_ == 1
        return
    unit = size**2 if machine in ONE_CLASS else 1.0
    reference = scores(expected, X)
    np.testing.assert_allclose(scores(model, Z) / unit, reference, atol=1e-3 * np.abs(reference).max())


@pytest.mark.parametrize("C", [1e-300, 1e-30, 1e30, 1e300])
@pytest.mark.parametrize("machine", [SVC, SVR, NuSVR])
def test_huge_and_tiny_costs(machine, C):
    X, y = data()
    model = machine(C=C, max_iter=100_000).fit(X, y)
    assert np.isfinite(model.dual_coef_).all()
    assert model.certificate_.feasible
    if machine is SVC and C >= 1e30:  # the hard margin, which exists for a Gaussian kernel
        hard = SVC(C=np.inf).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), hard.decision_function(X), rtol=1e-2, atol=1e-2)
    if machine is SVR and C <= 1e-30:  # nothing but the constant
        assert np.ptp(model.predict(X)) <= 1e-12


# -- hard margin ------------------------------------------------------------------------------------------------


def assert_witness_holds(error, K, sign, intercept):
    """Non-negative weights that sum to 1 and write one point of feature space in both ways."""
    if intercept:
        positive, negative = error.witness
        assert len(positive) == len(negative) == len(sign)
        for weight, own in ((positive, sign > 0), (negative, sign < 0)):
            assert (weight >= 0).all()
            assert weight[own].sum() == pytest.approx(1.0, abs=1e-9)
            assert not weight[~own].any()
        difference = positive - negative
    else:
        assert len(error.witness) == len(sign)
        assert (error.witness >= 0).all()
        assert error.witness.sum() == pytest.approx(1.0, abs=1e-9)
        difference = error.witness * sign
    square = float(difference @ K @ difference)
    assert square <= 1e-10 * np.diag(K).max()
    assert error.distance == pytest.approx(np.sqrt(max(square, 0.0)), abs=1e-5 * np.sqrt(np.diag(K).max()))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["auto", "interior-point"])
@pytest.mark.parametrize("kernel", ["linear", "duplicates"])
def test_witness_of_classes_that_no_hyperplane_separates(solver, kernel, intercept):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    if kernel == "duplicates":  # of which even a Gaussian kernel can make nothing
        X[1] = X[0]
    options = {"kernel": "linear"} if kernel == "linear" else {"gamma": 1.0}
    with pytest.raises(NotSeparableError, match=r"no hyperplane.*finite C.*witness") as caught:
        SVC(C=np.inf, fit_intercept=intercept, solver=solver, **options).fit(X, y)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=1.0)
    assert_witness_holds(caught.value, K, np.where(y == 1, 1.0, -1.0), intercept)


def test_witness_check_notices_a_wrong_witness():
    K, sign = np.eye(4), np.array([1.0, 1.0, -1.0, -1.0])
    apart = NotSeparableError("", (np.array([1.0, 0, 0, 0]), np.array([0, 0, 1.0, 0])), np.sqrt(2.0))
    with pytest.raises(AssertionError):
        assert_witness_holds(apart, K, sign, intercept=True)


def test_witness_speaks_of_the_training_rows():
    """Also where only some of them are in the task: three classes, rows without weight."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(45, 2)), np.arange(45) % 3
    X[y == 2] += 10.0  # only the first two classes overlap
    weight = np.where(np.arange(45) < 6, 0.0, 1.0)
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=np.inf, kernel="linear").fit(X, y, sample_weight=weight)
    sign = np.where(y == 0, 1.0, np.where(y == 1, -1.0, 0.0))
    assert_witness_holds(caught.value, X @ X.T, sign, intercept=True)
    assert not caught.value.witness[0][:6].any()


def test_fit_that_was_stopped_does_not_claim_that_classes_cannot_be_separated():
    for seed in range(10):
        X, y = np.random.default_rng(seed).normal(size=(60, 2)) + [5.0, 0.0], np.arange(60) % 2
        for max_iter in (1, 3, 10):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    SVC(C=np.inf, kernel="linear", max_iter=max_iter).fit(X, y)
            except NotSeparableError as error:
                assert_witness_holds(error, X @ X.T, np.where(y == 1, 1.0, -1.0), intercept=True)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e7])
def test_classes_far_from_the_origin_are_separated_all_the_same(far):
    X, y = np.array([[0.0], [1.0], [10.0], [11.0]]) + far, np.array([0, 0, 1, 1])
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2 / 9]], rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("margin", [1e-2, 1e-4, 1e-6])
def test_thin_margins_are_margins(margin):
    X, y = np.array([[-1.0], [0.0], [margin], [1.0]]), np.array([0, 0, 1, 1])
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2 / margin]], rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("machine", [SVC(C=np.inf, kernel="linear"), LinearSVC(C=np.inf)], ids=["SVC", "LinearSVC"])
@pytest.mark.parametrize("far", [0.0, 1e4, 1e6, 1e8])
def test_clusters_far_from_the_origin_have_the_hard_margin_of_those_near_it(machine, far):
    rng = np.random.default_rng(0)
    X, y = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + [10.0, 0.0]]), np.repeat([0, 1], 20)
    near = clone(machine).fit(X, y)
    model = clone(machine).fit(X + far, y)
    np.testing.assert_array_equal(model.predict(X + far), y)
    np.testing.assert_allclose(model.coef_, near.coef_, rtol=1e-5, atol=1e-7)
    # a score of rows that far away is a difference of numbers of about 0.1 far^2
    np.testing.assert_allclose(model.decision_function(X + far), near.decision_function(X), atol=1e-9 + 4e-17 * far**2)


@pytest.mark.parametrize("width", [1e-3, 1e-7, 1e-9])
@pytest.mark.parametrize("far", [0.0, 1.0])
def test_how_near_classes_may_be(width, far):
    X, y = np.array([[-1.0], [0.0], [width], [1.0]]) + far, np.array([0, 0, 1, 1])
    if (width, far) == (1e-9, 1.0):  # the scores, sums of about 1 / width^2, do not show the margin any more
        with pytest.raises(ValueError, match=r"float64 scores of rows of size 2 do not show it\. Centre") as caught:
            SVC(C=np.inf, kernel="linear").fit(X, y)
        assert not isinstance(caught.value, NotSeparableError)
        return
    model = SVC(C=np.inf, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.coef_, [[2 / (X[2, 0] - X[1, 0])]], rtol=1e-3)
    np.testing.assert_array_equal(model.predict(X), y)


@examples(60)
@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(-8, 3), st.booleans(), st.booleans(), st.booleans())
def test_a_hard_margin_is_refused_only_with_a_reason_that_can_be_checked(seed, d, power, far, sparse, bias):
    """Rows with a gap of known width around a random hyperplane, or with one row on the wrong side of it."""
    rng = np.random.default_rng(seed)
    gap, normal = 10.0**power, rng.normal(size=d)
    normal /= np.linalg.norm(normal)
    X = rng.normal(size=(30, d))
    score = X @ normal
    X += np.outer(np.where(score > 0, gap, -gap), normal)
    y = (score > 0).astype(int)
    assume(len(set(y)) == 2)
    overlap = rng.random() < 0.3
    if overlap:
        X[np.argmax(score)], X[np.argmin(score)] = X[np.argmin(score)].copy(), X[np.argmax(score)].copy()
    X = X + (1e3 if far and bias else 0.0)  # through the origin, another problem
    rows = sp.csr_array(X) if sparse else X
    model, error = fitted_or_refused(SVC(C=np.inf, kernel="linear", fit_intercept=bias), rows, y)
    if isinstance(error, NotSeparableError):
        weights = error.witness if bias else (error.witness,)
        assert all((w >= 0).all() for w in weights)
        assert all(w.sum() == pytest.approx(1.0) for w in weights)
        sign = np.where(y == 1, 1.0, -1.0)
        point = (weights[0] - weights[1]) @ X if bias else (weights[0] * sign) @ X
        assert np.linalg.norm(point) == pytest.approx(error.distance, rel=1e-3, abs=1e-12 * np.abs(X).max())
        assert ("cannot tell" in str(error)) == (error.distance > error.rounding)
        # a gap that float64 shows is never denied
        assert "cannot tell" in str(error) or linearly_separable(X, y, bias) is not True
    elif error is not None:
        assert "can be separated" in str(error)
    else:
        assert model.score(rows, y) == 1.0
        assert not (overlap and d == 1 and bias)


def fitted_or_refused(model, X, y):
    """(the model, None) or (None, the error)."""
    try:
        return model.fit(X, y), None
    except ValueError as error:
        return None, error


def linearly_separable(X, y, bias):
    """Whether t (w.x + b) >= 1 has a solution, by SciPy; None where it does not say."""
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    table = np.hstack([X, np.ones((len(X), 1))]) if bias else X
    found = linprog(np.zeros(table.shape[1]), -sign * table, -np.ones(len(X)), bounds=(None, None))
    if found.status == 2:
        return False
    return True if found.status == 0 and (sign * table @ found.x > 0.5).all() else None


def test_what_float64_cannot_tell_is_said():
    X, y = load_breast_cancer(return_X_y=True)  # separable, but a hyperplane 1e-4 thin among rows of size 5000
    with pytest.raises(NotSeparableError, match=r"float64 cannot tell whether.*Scale the features") as caught:
        SVC(C=np.inf, kernel="linear").fit(X, y)
    assert caught.value.distance > caught.value.rounding
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (copied.distance, copied.rounding) == (caught.value.distance, caught.value.rounding)
    assert SVC(C=np.inf, kernel="linear").fit(scale(X), y).score(scale(X), y) == 1.0
