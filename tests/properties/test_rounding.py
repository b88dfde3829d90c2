"""The bounds on rounding that certificates rest on, against the same formulas in more digits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

from maxmargin.kernels import (
    ChiSquared,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    QuadraticForm,
    RationalQuadratic,
)
from maxmargin.kernels._distances import distance_error, squared_distances
from maxmargin.kernels.rounding import summed
from tests.names import name_of

LONG = np.longdouble
pytestmark = pytest.mark.skipif(np.finfo(LONG).nmant < 60, reason="long doubles have no more digits here")


def pairs(X):
    """Differences of all pairs of rows, (n, n, d), in long doubles."""
    X = X.astype(LONG)
    return X[:, None, :] - X[None, :, :]


def squares(X):
    return np.square(pairs(X)).sum(axis=2)


def dots(X):
    X = X.astype(LONG)
    return X @ X.T


def matern(X):
    r = np.sqrt(LONG(3)) * np.sqrt(squares(X)) / LONG(0.7)
    return (1 + r) * np.exp(-r)


def cosine(X):
    norms = np.sqrt(np.square(X.astype(LONG)).sum(axis=1))
    return dots(X) / norms[:, None] / norms


FORM = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
#: The kernel and what it is by definition.
KERNELS = [
    (Linear(), dots),
    (Polynomial(3, 0.5, 0.2), lambda X: (LONG(0.2) * dots(X) + LONG(0.5)) ** 3),
    (Gaussian(0.3), lambda X: np.exp(-LONG(0.3) * squares(X))),
    (Exponential(0.4), lambda X: np.exp(-LONG(0.4) * np.sqrt(squares(X)))),
    (Matern(1.5, 0.7), matern),
    (RationalQuadratic(1.5, 0.8), lambda X: (1 + squares(X) / (2 * LONG(1.5) * LONG(0.8) ** 2)) ** -LONG(1.5)),
    (Laplacian(0.2), lambda X: np.exp(-LONG(0.2) * np.abs(pairs(X)).sum(axis=2))),
    (Cosine(), cosine),
    (QuadraticForm(FORM), lambda X: X.astype(LONG) @ FORM.astype(LONG) @ X.astype(LONG).T),
    (0.5 * Gaussian(0.3) + Linear() ** 2, lambda X: LONG(0.5) * np.exp(-LONG(0.3) * squares(X)) + dots(X) ** 2),
    ((0.01 * Linear()).exp(), lambda X: np.exp(LONG(0.01) * dots(X))),
    (Linear().polynomial([1.0, 0.5, 0.25]), lambda X: 1 + LONG(0.5) * dots(X) + LONG(0.25) * dots(X) ** 2),
    (Gaussian(0.3, over=Linear()), lambda X: np.exp(-LONG(0.3) * squares(X))),
]


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("kernel", "truth"), KERNELS, ids=lambda value: name_of(value)[:40])
def test_computed_values_are_within_the_kernels_bound(kernel, truth, sparse, offset):
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 30.0):
        X = scale * rng.normal(size=(30, 3)) + offset
        X[7] = X[3]  # rows that are equal are at distance 0
        X[8] = X[3] * (1 + 1e-15)
        with np.errstate(over="ignore", invalid="ignore"):
            values, rounding = kernel(sp.csr_array(X) if sparse else X, X), kernel.rounding(X)
            exact = truth(X)
        assume_finite = np.isfinite(values).all()
        if not assume_finite:  # too large for float64, and then the certificate says so
            assert not np.isfinite(rounding.relative * np.outer(rounding.size, rounding.size)).all() or offset > 0
            continue
        off = np.abs(values.astype(LONG) - exact)
        bound = rounding.relative * np.outer(rounding.size, rounding.size)
        assert (off <= bound).all(), float((off / bound).max())
        assert (np.abs(exact) <= np.outer(rounding.size, rounding.size) * (1 + 1e-9)).all()


def test_chi_squared_values_are_within_their_bound():
    X = np.random.default_rng(1).uniform(0.0, 5.0, size=(30, 4))
    total = X.astype(LONG)[:, None] + X.astype(LONG)[None]
    exact = np.exp(-LONG(0.5) * (np.square(pairs(X)) / total).sum(axis=2))
    kernel = ChiSquared(0.5)
    assert (np.abs(kernel(X, X) - exact) <= kernel.rounding(X).relative).all()


@pytest.mark.parametrize("d", [2, 32, 33, 200])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_distances_are_right_to_rounding_wherever_rows_lie(d, sparse, offset):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d)) + offset
    X[5], X[6] = X[4], X[4] + 1e-9 * rng.normal(size=d)
    rows = sp.csr_array(X) if sparse else X
    found, exact = squared_distances(rows, rows), squares(X)
    assert (np.abs(found - exact) <= distance_error(rows) * exact).all()
    assert found[4, 5] == 0.0


def test_distances_of_rows_too_many_of_which_are_near():
    X = 1e5 + np.random.default_rng(0).normal(size=(50, 60))
    rows = X[np.zeros(50, dtype=int)]
    assert not squared_distances(rows, rows).any()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200), st.integers(0, 1000))
def test_a_sum_is_within_gamma_of_the_sum_of_the_sizes(values, seed):
    x, y = np.array(values), np.random.default_rng(seed).normal(size=len(values))
    exact = (x.astype(LONG) * y.astype(LONG)).sum()
    sizes = float(np.abs(x) @ np.abs(y))
    assume(sizes > 1e-280)
    assert abs(LONG(x @ y) - exact) <= summed(len(values)) * sizes * 1.0001


def test_the_bound_is_not_beside_the_point():
    """A bound that any error satisfies proves nothing: it is a few hundred units in the last place."""
    X = np.random.default_rng(0).normal(size=(20, 5))
    for kernel, _ in KERNELS[:6]:
        assert kernel.rounding(X).relative < 1e-13
