"""Laws of the linear machines: weights are repetitions, bounds are bounds, and what should not matter does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

from maxmargin import LinearClassifier, LinearRegressor, LinearSVC, LinearSVR, certify
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.penalties import L1, L2, ElasticNet, PNorm
from maxmargin.problems import FEASIBILITY_TOL, LinearProblem
from tests.laws import examples

law = examples(40, derandomize=True, database=None)
few = examples(15, derandomize=True, database=None)
number = st.integers(-16, 16).map(lambda i: i / 4)
TIGHT = 1e-11

MODELS = [
    LinearSVC(loss="hinge", tol=TIGHT),
    LinearSVC(loss="squared_hinge", tol=TIGHT),
    LinearSVC(penalty="l1", tol=TIGHT),
    LinearSVC(loss="hinge", solver="dual-coordinate", tol=TIGHT, max_iter=-1),
    LinearSVR(epsilon=0.1, tol=TIGHT),
    LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=TIGHT),
    LinearClassifier("logistic", tol=TIGHT),
    LinearClassifier("logistic", "l1", lam=0.05, tol=TIGHT),
    LinearRegressor("squared", "elasticnet", tol=TIGHT),
    LinearRegressor(Huber(0.5), lam=0.1, tol=TIGHT),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: repr(m).replace("tol=1e-11", "").replace("\n", ""))
LOSSES = [
    Hinge(),
    SquaredHinge(),
    PerceptronLoss(),
    Logistic(),
    Exponential(),
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.5),
    SquaredEpsilonInsensitive(0.5),
    Huber(1.0),
    Pinball(0.3),
]
PENALTIES = [L2(), L1(), ElasticNet(0.4), PNorm(1.5), PNorm(3.0)]


def fit(model, X, y, sample_weight=None, **options):
    """A fitted copy; rounding may forbid the last digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).set_params(**options).fit(X, y, sample_weight)


def data(model, seed, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    if not is_classifier(model):
        return X, y
    y = (y > np.median(y)).astype(int)
    y[:4], X[:4] = [0, 1, 0, 1], np.repeat(X[:2], 2, axis=0)
    return X, y


def same_model(one, other, tol=1e-4):
    """Equal objectives, closely; equal weights, as far as an objective decides over them."""
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=tol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=tol)


# -- weights and order ---------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("scale", [False, True])
@few
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_a_number_of_repetitions(model, scale, seed):
    X, y = data(model, seed)
    count = np.random.default_rng(seed).integers(0, 4, size=len(X))
    count[:4] = 1
    options = {"scale": scale} | ({"class_weight": "balanced"} if is_classifier(model) and seed % 2 else {})
    weighted = fit(model, X, y, count.astype(float), **options)
    repeated = fit(model, np.repeat(X, count, axis=0), np.repeat(y, count), **options)
    same_model(weighted, repeated)
    if scale:
        np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)
        np.testing.assert_allclose(weighted.center_, repeated.center_, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@few
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_a_number_of_repetitions_for_crammer_singer(fit_intercept, seed):
    rng = np.random.default_rng(seed)
    X, count = rng.normal(size=(25, 2)), rng.integers(1, 4, size=25)
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=25), [-0.5, 0.5])
    assume(len(np.unique(y)) == 3)
    model = LinearSVC(multiclass="crammer-singer", C=0.3, tol=1e-9, max_iter=20000, fit_intercept=fit_intercept)
    weighted = fit(model, X, y, count.astype(float), class_weight="balanced")
    repeated = fit(model, np.repeat(X, count, axis=0), np.repeat(y, count), class_weight="balanced")
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


@every_model
@few
@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_and_columns_does_not_matter(model, seed):
    X, y = data(model, seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    one, other = fit(model, X, y), fit(model, X[rows][:, columns], y[rows])
    other.coef_ = np.atleast_2d(other.coef_)[:, np.argsort(columns)].reshape(other.coef_.shape)
    same_model(one, other)


@every_model
@few
@given(seed=st.integers(0, 10**6))
def test_sparse_rows_give_the_model_of_dense_ones(model, seed):
    X, y = data(model, seed)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    same_model(fit(model, X, y), fit(model, sp.csr_array(X), y))


# -- the intercept is free -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [m for m in MODELS if not is_classifier(m)], ids=repr)
@few
@given(seed=st.integers(0, 10**6), shift=st.integers(-40, 40))
def test_a_shift_of_all_targets_moves_the_intercept_only(model, seed, shift):
    X, y = data(model, seed)
    one, other = fit(model, X, y), fit(model, X, y + shift)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-4)
    np.testing.assert_allclose(other.intercept_, one.intercept_ + shift, atol=1e-4)


@every_model
@few
@given(seed=st.integers(0, 10**6), shift=hnp.arrays(np.float64, 3, elements=st.integers(-10, 10)))
def test_a_shift_of_the_features_moves_the_intercept_only(model, seed, shift):
    X, y = data(model, seed)
    one, other = fit(model, X, y), fit(model, X + shift, y)
    other.intercept_ = other.intercept_ + other.coef_ @ shift
    same_model(one, other, tol=1e-3)


# -- duality -------------------------------------------------------------------------------------------------------


@st.composite
def instances(draw, loss):
    """(problem, X): a few rows, any costs."""
    n, d = draw(st.integers(2, 8)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(np.float64, (n, d), elements=number))
    plain = st.sampled_from([-1.0, 1.0]) if loss.of_margin else number
    target = draw(hnp.arrays(np.float64, n, elements=plain))
    C = draw(hnp.arrays(np.float64, n, elements=st.integers(1, 16).map(lambda i: i / 4)))
    return LinearProblem(loss, draw(st.sampled_from(PENALTIES)), target, C, draw(st.booleans())), X


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@law
@given(data=st.data())
def test_feasible_makes_any_point_feasible(loss, data):
    problem, X = data.draw(instances(loss))
    wish = data.draw(hnp.arrays(np.float64, problem.n, elements=st.floats(-1e6, 1e6).map(lambda x: round(x, 12))))
    before = wish.copy()
    beta = problem.feasible(wish)
    np.testing.assert_array_equal(wish, before)
    lower, upper = problem.bounds
    assert (beta >= lower).all()
    assert (beta <= upper).all()
    assert np.all(np.isfinite(beta))
    assert problem.imbalance(beta) <= FEASIBILITY_TOL
    np.testing.assert_allclose(problem.feasible(beta), beta, rtol=1e-9, atol=1e-9)
    beta = beta * problem.penalty.into_domain(X.T @ beta)
    assert np.isfinite(problem.dual(beta, X.T @ beta))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@law
@given(data=st.data())
def test_any_feasible_point_bounds_any_model_from_below(loss, data):
    problem, X = data.draw(instances(loss))
    beta = problem.feasible(data.draw(hnp.arrays(np.float64, problem.n, elements=number)))
    beta = beta * problem.penalty.into_domain(X.T @ beta)
    v, dual = X.T @ beta, problem.dual(beta, X.T @ beta)
    for _ in range(3):
        w = data.draw(hnp.arrays(np.float64, X.shape[1], elements=number))
        b = data.draw(number) if problem.fit_intercept else 0.0
        f = X @ w + b
        primal, gap = problem.primal(w, f), problem.gap(w, f, beta, v)
        size = 1 + abs(primal) + abs(dual) + float(np.abs(beta) @ np.abs(f))
        assert gap >= 0
        assert dual <= primal + 1e-11 * size
        assert gap == pytest.approx(primal - dual, abs=1e-10 * size)


@every_model
@few
@given(seed=st.integers(0, 10**6), far=st.integers(-8, 0))
def test_the_gap_of_any_model_is_at_least_what_it_lacks(model, seed, far):
    """Any weights with any dual point, one that was made for other weights included."""
    X, y = data(model, seed)
    best = fit(model, X, y)
    other = fit(model, X, y)
    rng = np.random.default_rng(seed)
    other.coef_ = other.coef_ + 10.0**far * rng.normal(size=other.coef_.shape)
    other.intercept_ = other.intercept_ + 10.0**far * rng.normal()
    for shrink in (1.0, 0.5):
        other.dual_coef_ = shrink * best.dual_coef_
        seen = certify(other, X, y)
        assert seen.holds
        assert seen.gap >= seen.primal - best.certificate_.primal - 1e-9 * abs(seen.primal)
        assert seen.dual <= best.certificate_.primal * (1 + 1e-12)
        assert seen.relative_gap > best.certificate_.relative_gap


@every_model
def test_certify_refuses_dual_variables_beyond_their_bounds(model):
    X, y = data(model, 0)
    fitted = fit(model, X, y)
    assert certify(fitted, X, y).holds
    fitted.dual_coef_ = fitted.dual_coef_ + 1.0
    seen = certify(fitted, X, y)
    assert not seen.feasible
    assert not seen.holds
    assert "not feasible" in seen.reason


@every_model
@pytest.mark.parametrize("scale", [False, True])
def test_certify_says_what_the_fit_said(model, scale):
    X, y = data(model, 1)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=len(X))
    weight[:4] = 1.0
    options = {"class_weight": {0: 2.0}} if is_classifier(model) else {}
    fitted = fit(model, X, y, weight, scale=scale, **options)
    said, again = fitted.certificate_, certify(fitted, X, y, weight)
    assert again.holds
    assert again.primal == pytest.approx(said.primal, rel=1e-12)
    assert again.gap == pytest.approx(said.gap, abs=1e-12 * abs(said.primal))
