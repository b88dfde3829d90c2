"""Least squares, explicit maps, batch subgradients and losses of many classes, by NumPy's linear algebra and loops."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import sklearn.metrics.pairwise
from scipy.sparse import csr_array

from maxmargin import (
    LSSVC,
    KernelLeastSquares,
    LinearClassifier,
    LinearSVC,
    NystroemMap,
    PolynomialMap,
    RandomFourierMap,
)
from maxmargin.kernels import Gaussian, Precomputed, check_mercer, resolve_kernel, takes_any_rows
from maxmargin.maps import choose_landmarks, distinct_rows
from maxmargin.playground._rooms import loss as many
from tests.references.test_exact_machines import quietly


def rows(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def gaussian(X, Z, gamma=0.5):
    return np.array([[math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) for z in Z] for x in X])


# -- least squares -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["eigen", "cholesky", "cg"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("lam", [1e-8, 0.1, 1e6])
def test_kernel_least_squares_is_a_linear_system(lam, outputs, solver):
    X, _ = rows()
    T = np.random.default_rng(1).normal(size=(20, outputs))
    T = T[:, 0] if outputs == 1 else T
    K = gaussian(X, X)
    expected = K @ np.linalg.solve(K + lam * np.eye(20), T)
    model = KernelLeastSquares(lam=lam, gamma=0.5, solver=solver, tol=1e-12, max_iter=5000)
    np.testing.assert_allclose(quietly(model, X, T).predict(X), expected, rtol=1e-6, atol=1e-6)


def test_without_a_ridge_it_is_the_pseudo_inverse_and_the_linear_form():
    """Rows twice, with two targets: K is singular, and A = K^+ T'."""
    X, y = rows(12, 2)
    X, y = np.vstack([X, X[:4]]), np.append(y, -y[:4])
    A = np.linalg.pinv(X @ X.T, rcond=1e-10, hermitian=True) @ y
    model = KernelLeastSquares("linear").fit(X, y)
    np.testing.assert_allclose(model.predict(X), X @ X.T @ A, atol=1e-9)
    w = np.linalg.solve(X.T @ X, X.T @ y)
    np.testing.assert_allclose(model.predict(np.eye(2)), w, atol=1e-9)
    assert model.rank_ == 2


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-8, 1e-2, 1.0, 1e6])
def test_least_squares_machine_is_a_bordered_system(C, fit_intercept):
    X, y = rows()
    t = np.where(y > 0.5, 1.0, -1.0)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 20)
    H = gaussian(X, X) + np.diag(1 / (C * weight))
    if fit_intercept:
        M = np.block([[H, np.ones((20, 1))], [np.ones((1, 20)), np.zeros((1, 1))]])
        *beta, b = np.linalg.solve(M, np.append(t, 0.0))
    else:
        beta, b = np.linalg.solve(H, t), 0.0
    model = LSSVC(C=C, gamma=0.5, fit_intercept=fit_intercept).fit(X, t, weight)
    np.testing.assert_allclose(model.decision_function(X), gaussian(X, X) @ np.array(beta) + b, rtol=1e-6, atol=1e-9)


def test_least_squares_machine_of_a_class_of_one_row():
    X, t = np.array([[0.0], [1.0], [2.0], [7.0]]), np.array([-1.0, -1.0, -1.0, 1.0])
    A = np.column_stack([X, np.ones(4)])
    w, b = np.linalg.solve(A.T @ A + np.diag([1 / 3.0, 0.0]), A.T @ t)
    model = LSSVC(C=3.0, kernel="linear").fit(X, t)
    np.testing.assert_allclose(model.decision_function(X), w * X[:, 0] + b, rtol=1e-9)


# -- maps and kernels --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 0.7])
@pytest.mark.parametrize("t", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_products_in_every_order(d, t, c):
    """Of t factors each is a feature or the constant sqrt(c): all products, and those in another order as well."""
    X, _ = rows(4, d)
    ordered = PolynomialMap(t, coef0=c, collapse=False)
    Phi = ordered.fit_transform(X)
    assert Phi.shape[1] == (sum(d**i for i in range(t + 1)) if c else d**t)
    factors = [np.append(x, math.sqrt(c)) if c else x for x in X]
    full = np.array([[math.prod(choice) for choice in product(f, repeat=t)] for f in factors])
    np.testing.assert_allclose(Phi @ Phi.T, full @ full.T, rtol=1e-9)
    collapsed = PolynomialMap(t, coef0=c).fit_transform(X)
    assert collapsed.shape[1] == (math.comb(d + t, t) if c else math.comb(d + t - 1, t))
    np.testing.assert_allclose(collapsed @ collapsed.T, full @ full.T, rtol=1e-9)


@pytest.mark.parametrize("landmarks", ["uniform", "k-means++", "leverage"])
def test_landmarks_by_the_pseudo_inverse(landmarks):
    X, _ = rows(30)
    X[5] = X[9]
    model = NystroemMap(gamma=0.5, n_components=8, landmarks=landmarks, random_state=0).fit(X)
    Z = X[model.component_indices_]
    assert len({tuple(z) for z in Z}) == len(Z) == 8
    K = gaussian(X, Z)
    expected = K @ np.linalg.inv(gaussian(Z, Z)) @ K.T
    Phi = model.transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, expected, atol=1e-8)
    chosen = choose_landmarks(Gaussian(0.5), X, 8, landmarks, np.random.default_rng(0))
    assert len(set(chosen)) == 8
    which, weight = distinct_rows(Gaussian(0.5), X, None)
    assert {tuple(x) for x in X[which]} == {tuple(x) for x in X}
    assert sorted(weight) == [1.0] * 28 + [2.0]


def test_waves_of_the_frequencies():
    X, _ = rows(6)
    model = RandomFourierMap(0.5, n_components=40, random_state=0).fit(X)
    waves = model.frequencies_.T
    expected = [[math.cos(w @ x) for w in waves] + [math.sin(w @ x) for w in waves] for x in X]
    np.testing.assert_allclose(model.transform(X), np.sqrt(2 / 40) * np.array(expected), atol=1e-12)
    many_waves = RandomFourierMap(0.5, n_components=20000, random_state=0).fit_transform(X)
    assert np.abs(many_waves @ many_waves.T - gaussian(X, X)).max() < 0.05  # 7 standard errors


def test_mercer_by_eigenvalues():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.normal(size=(5, 5))
        A = A + A.T
        found, least = check_mercer(A), float(np.linalg.eigvalsh(A)[0])
        assert found.smallest_eigenvalue == pytest.approx(least)
        assert bool(found) == (least >= -1e-10)
        if not found:
            assert found.witness @ A @ found.witness < 0
        assert check_mercer(A @ A)


def test_names_are_the_kernels_of_scikit_learn():
    X, _ = rows(5)
    options = {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    for name in ("linear", "poly", "rbf", "sigmoid"):
        wanted = {k: v for k, v in options.items() if name != "linear" and (k == "gamma" or name != "rbf")}
        wanted.pop("degree" if name == "sigmoid" else "", None)
        theirs = sklearn.metrics.pairwise.pairwise_kernels(X, metric=name, **wanted)
        np.testing.assert_allclose(resolve_kernel(name, **options)(X, X), theirs, rtol=1e-10)
    K = gaussian(X, X)
    np.testing.assert_array_equal(Precomputed()(K, K), K)
    assert takes_any_rows(lambda a, b: 0.0)
    assert not takes_any_rows(Gaussian(1.0))


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_batch_subgradient_descent_is_a_loop(steps, fit_intercept):
    """w <- w - eta (lam w - 1/n sum_V t x), b <- b + eta/n sum_V t; the best point of all is the one delivered."""
    X, y = rows(25)
    t = np.where(y > 0, 1.0, -1.0)
    n, lam = len(X), 0.1
    first = max(1.0, np.mean([x @ x for x in X]) / lam)
    w, b, best, seen = np.zeros(3), 0.0, None, np.inf
    for k in range(steps + 1):
        f = X @ w + b
        risk = lam / 2 * w @ w + np.mean(np.maximum(0, 1 - t * f))
        if risk < seen:
            best, seen = (w, b), risk
        eta, V = 1 / (lam * (k + first)), t * f < 1
        w = w - eta * (lam * w - sum((t[i] * X[i] for i in np.flatnonzero(V)), np.zeros(3)) / n)
        b = b + eta / n * t[V].sum() if fit_intercept else 0.0
    options = {"solver": "subgradient", "max_iter": steps, "fit_intercept": fit_intercept, "tol": 1e-12}
    model = quietly(LinearClassifier("hinge", lam=lam, **options), X, t)
    np.testing.assert_allclose(model.coef_[0], best[0], rtol=1e-9, atol=1e-12)
    if not fit_intercept:
        assert model.intercept_[0] == 0.0
        return
    # every linear machine delivers the middle of the best intercepts for its weights
    grid = np.sort(t - X @ best[0])
    risks = [np.maximum(0, 1 - t * (X @ best[0] + b)).sum() for b in grid]
    least = [b for b, risk in zip(grid, risks, strict=True) if risk <= min(risks) + 1e-12]
    assert model.intercept_[0] == pytest.approx((least[0] + least[-1]) / 2, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_scaling_is_by_weighted_deviations(sparse):
    X, y = rows(25)
    X, weight = np.abs(X) * [1.0, 1e3, 1e-3] + [0.0, 5.0, 1.0], np.random.default_rng(0).uniform(0.5, 2.0, 25)
    t = np.where(y > 0, 1, -1)
    mean = np.array([sum(w * x for w, x in zip(weight, column, strict=True)) / weight.sum() for column in X.T])
    deviation = np.array(
        [
            math.sqrt(sum(w * (x - m) ** 2 for w, x in zip(weight, column, strict=True)) / weight.sum())
            for column, m in zip(X.T, mean, strict=True)
        ]
    )
    model = LinearSVC(scale=True, tol=1e-10).fit(csr_array(X) if sparse else X, t, sample_weight=weight)
    np.testing.assert_allclose(model.scale_, deviation, rtol=1e-9)
    centre = np.zeros(3) if sparse else mean
    plain = LinearSVC(tol=1e-10).fit((X - centre) / deviation, t, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, plain.coef_ / deviation, rtol=1e-4)


def test_losses_of_many_classes_by_loops():
    rng = np.random.default_rng(0)
    F, label = rng.normal(size=(30, 4)), rng.integers(0, 4, 30)
    sums, largest, softmax = [], [], []
    for f, c in zip(F, label, strict=True):
        short = [max(0.0, 1 + f[m] - f[c]) for m in range(4) if m != c]
        sums.append(sum(short))
        largest.append(max(short))
        softmax.append(-f[c] + math.log(sum(math.exp(v) for v in f)))
    np.testing.assert_allclose(many.weston_watkins(F, label)[0], sums)
    np.testing.assert_allclose(many.crammer_singer(F, label)[0], largest)
    np.testing.assert_allclose(many.softmax_loss(F, label)[0], softmax)
