"""Linear machines for all classes at once: they reach their goal whatever the size and the place of the features."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from maxmargin import SVC, LinearClassifier, LinearSVC
from maxmargin.multiclass import LIKELIHOOD, MARGIN
from maxmargin.problems import ALL_CLASSES
from tests.laws import examples

law = examples(25, derandomize=True, database=None)
number = st.integers(-16, 16).map(lambda i: i / 4)
every_kind = pytest.mark.parametrize("kind", list(ALL_CLASSES))
every_margin = pytest.mark.parametrize("kind", MARGIN)  # of the kinds that fall short of a margin
IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
#: Newton steps and epochs that are enough for anything here; single rows need thousands of epochs.
ENOUGH = 100
ROWS = {
    "iris": IRIS,
    "iris scaled": (scale(IRIS[0]), IRIS[1]),
    "iris times 100": (100 * IRIS[0], IRIS[1]),
    "iris far away": (IRIS[0] + 100, IRIS[1]),
    "wine": WINE,
    "two classes": (IRIS[0][50:], IRIS[1][50:]),
}


def machine(multiclass, **options):
    """The linear machine that has this kind of problem."""
    make = partial(LinearClassifier, "logistic") if multiclass == LIKELIHOOD else LinearSVC
    return make(multiclass=multiclass, **options)


def quietly_fitted(X, y, **options):
    """A fit that would raise if it did not reach its goal."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        return machine(**options).fit(X, y)


@every_kind
@pytest.mark.parametrize("rows", list(ROWS))
@pytest.mark.parametrize("C", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_goal_is_reached_in_few_steps(kind, rows, C, fit_intercept):
    X, y = ROWS[rows]
    for tol in (1e-4, 1e-8):
        model = quietly_fitted(X, y, multiclass=kind, C=C, tol=tol, fit_intercept=fit_intercept)
        assert model.certificate_.holds
        assert model.certificate_.relative_gap <= tol
        assert model.n_iter_ <= ENOUGH


@every_margin
@pytest.mark.parametrize("rows", ["iris", "iris scaled"])
def test_the_optimum_is_the_kernel_machines(kind, rows):
    X, y = ROWS[rows]
    linear = quietly_fitted(X, y, multiclass=kind, tol=1e-9)
    kernel = SVC(kernel="linear", multiclass=kind, gap_tol=1e-8).fit(X, y)
    assert linear.certificate_.primal == pytest.approx(kernel.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(linear.decision_function(X), kernel.decision_function(X), atol=1e-2)


@every_margin
def test_two_classes_are_a_machine_of_two_classes(kind):
    X, y = ROWS["two classes"]
    single = quietly_fitted(X, y, multiclass=kind, tol=1e-9)
    # with w_1 = -w_0 = w / 2 the objective is half that of C = 2
    pair = SVC(kernel="linear", C=2.0, gap_tol=1e-9).fit(X, y)
    assert single.certificate_.primal == pytest.approx(pair.certificate_.primal / 2, rel=1e-8)
    np.testing.assert_allclose(single.decision_function(X), pair.decision_function(X), atol=1e-3)


@every_kind
@law
@given(seed=st.integers(0, 10**6), power=st.integers(-3, 3), far=st.sampled_from([0.0, 10.0, 1000.0]))
def test_neither_the_size_nor_the_place_of_the_features_matters(kind, seed, power, far):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(30) % 3)
    X = rng.normal(size=(30, 2)) + y[:, None]
    factor = 10.0**power
    plain = quietly_fitted(X, y, multiclass=kind, tol=1e-8)
    moved = quietly_fitted(factor * (X + far), y, multiclass=kind, tol=1e-8, C=1.0 / factor**2)
    assert moved.certificate_.primal * factor**2 == pytest.approx(plain.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(factor * moved.coef_, plain.coef_, atol=1e-3)


@every_kind
def test_sparse_rows_and_a_second_fit_reach_the_same(kind):
    X, y = ROWS["iris"]
    dense, model = quietly_fitted(X, y, multiclass=kind, tol=1e-9), machine(kind, warm_start=True)
    sparse = quietly_fitted(sp.csr_array(X), y, multiclass=kind, tol=1e-9)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)
    model.fit(X, y).set_params(tol=1e-9).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-9
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-4)


# -- the projection that smooths the loss -----------------------------------------------------------------------------


@every_margin
@law
@given(
    z=hnp.arrays(float, (4, 3), elements=number),
    other=hnp.arrays(float, (4, 3), elements=st.integers(0, 8).map(float)),
)
def test_the_nearest_weights_are_nearest(kind, z, other):
    problem = ALL_CLASSES[kind](np.array([0, 1, 2, 0]), np.array([1.0, 2.0, 0.5, 1.0]), 3)
    p = problem.nearest(z)
    assert problem.infeasibility(problem.alphas(p)) <= 1e-12
    np.testing.assert_allclose(problem.weights(problem.alphas(p)), p, atol=1e-12)
    if problem.shared_bound:
        inside = problem.C[:, None] * (other + 1e-9) / (other + 1e-9).sum(axis=1, keepdims=True)
    else:
        inside = problem.C[:, None] * other / 8
        inside[np.arange(4), problem.label] = z[np.arange(4), problem.label] = 0.0
    # a projection onto a convex set: no other point of it lies on z's side of p
    assert np.all(np.sum((z - p) * (inside - p), axis=1) <= 1e-9)


@every_margin
@law
@given(f=hnp.arrays(float, (3, 3), elements=number), df=hnp.arrays(float, (3, 3), elements=number))
def test_the_coupling_is_the_derivative_of_the_smooth_slopes(kind, f, df):
    problem = ALL_CLASSES[kind](np.array([0, 1, 2]), np.array([1.0, 2.0, 0.7]), 3)
    f = f + np.array([0.013, -0.027, 0.041])  # away from the kinks of the projection

    def alphas(f):
        return problem.alphas(problem.nearest(0.3 + problem.shortfalls(f)))

    between = problem.between(problem.nearest(0.3 + problem.shortfalls(f)))
    J = np.array([[problem.coupling(between, m, o) for o in range(3)] for m in range(3)])  # (classes, classes, rows)
    step = 1e-6
    np.testing.assert_allclose(
        -np.einsum("moi,io->im", J, df), (alphas(f + step * df) - alphas(f - step * df)) / (2 * step), atol=1e-6
    )
