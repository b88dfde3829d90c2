"""Each kernel against its formula, written out pair by pair; the algebra; and what the algebra refuses."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from maxmargin.exceptions import NotPSDError
from maxmargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
    resolve_kernel,
    takes_any_rows,
)
from tests.names import name_of

A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.7]])
MAP = np.array([[1.0, 0.5], [0.0, 2.0], [-1.0, 0.3]])


def rows(n, seed=0):
    """Non-negative rows with some zeros, and one row of nothing but zeros."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.5, size=(n, 3)) * (rng.random((n, 3)) < 0.7)
    X[0] = 0.0
    return X


X, Z = rows(9), rows(7, seed=1)


def norm(v):
    return math.sqrt(sum(c * c for c in v))


def chi_squared(x, z):
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def matern(nu, length):
    def value(x, z):
        r = math.sqrt(2 * nu) * norm(x - z) / length
        return {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[nu] * math.exp(-r)

    return value


def cosine(x, z):
    return 0.0 if norm(x) * norm(z) == 0 else float(x @ z) / (norm(x) * norm(z))


FORMULAS = [
    (Linear(), lambda x, z: sum(a * b for a, b in zip(x, z, strict=True))),
    (Constant(2.5), lambda x, z: 2.5),
    (Polynomial(), lambda x, z: (x @ z + 1) ** 3),
    (Polynomial(degree=2, coef0=0.5, gamma=0.3), lambda x, z: (0.3 * (x @ z) + 0.5) ** 2),
    (Polynomial(degree=0), lambda x, z: 1.0),
    (Gaussian(gamma=0.7), lambda x, z: math.exp(-0.7 * norm(x - z) ** 2)),
    (Gaussian(0.0), lambda x, z: 1.0),
    (Gaussian(sigma=2.0), lambda x, z: math.exp(-(norm(x - z) ** 2) / (2 * 2.0**2))),
    (
        Gaussian(gamma=0.2, over=Polynomial(2)),
        lambda x, z: math.exp(-0.2 * ((x @ x + 1) ** 2 + (z @ z + 1) ** 2 - 2 * (x @ z + 1) ** 2)),
    ),
    (Sigmoid(0.4, -0.2), lambda x, z: math.tanh(0.4 * (x @ z) - 0.2)),
    (Exponential(1.3), lambda x, z: math.exp(-1.3 * norm(x - z))),
    (Laplacian(0.6), lambda x, z: math.exp(-0.6 * sum(abs(a - b) for a, b in zip(x, z, strict=True)))),
    (ChiSquared(0.8), lambda x, z: math.exp(-0.8 * chi_squared(x, z))),
    (Cosine(), cosine),
    (Matern(0.5, 1.4), matern(0.5, 1.4)),
    (Matern(1.5, 0.8), matern(1.5, 0.8)),
    (Matern(2.5, 2.0), matern(2.5, 2.0)),
    (RationalQuadratic(0.7, 1.2), lambda x, z: (1 + norm(x - z) ** 2 / (2 * 0.7 * 1.2**2)) ** -0.7),
    (QuadraticForm(A), lambda x, z: sum(x[i] * A[i, j] * z[j] for i in range(3) for j in range(3))),
    (Function(lambda P, Q: pairwise.linear_kernel(P, Q) + 1.0), lambda x, z: x @ z + 1),
    (Linear() + Gaussian(0.5), lambda x, z: x @ z + math.exp(-0.5 * norm(x - z) ** 2)),
    (Linear() * Gaussian(0.5), lambda x, z: (x @ z) * math.exp(-0.5 * norm(x - z) ** 2)),
    (3 * Linear() + 0.5, lambda x, z: 3 * (x @ z) + 0.5),
    (0.5 + Linear() * 3, lambda x, z: 3 * (x @ z) + 0.5),
    (np.float64(2.0) * Linear() + np.float32(0.5), lambda x, z: 2 * (x @ z) + 0.5),
    ((Linear() + 1) ** 4, lambda x, z: (x @ z + 1) ** 4),
    ((0.3 * Linear()).exp(), lambda x, z: math.exp(0.3 * (x @ z))),
    (Linear().polynomial([0.5, 0.0, 2.0]), lambda x, z: 0.5 + 2 * (x @ z) ** 2),
    (Linear().polynomial([0.5]), lambda x, z: 0.5),
    (
        Gaussian(1.0).warp(lambda P: 1.0 + np.asarray(P.sum(axis=1)).ravel()),
        lambda x, z: (1 + x.sum()) * math.exp(-(norm(x - z) ** 2)) * (1 + z.sum()),
    ),
    (Gaussian(1.0).of(lambda P: P @ MAP), lambda x, z: math.exp(-(norm((x - z) @ MAP) ** 2))),
]
EVERY_KERNEL = pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda v: "" if callable(v) else None)


@EVERY_KERNEL
def test_a_kernel_is_its_formula(kernel, formula):
    expected = [[formula(x, z) for z in Z] for x in X]
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-12)


@EVERY_KERNEL
def test_sparse_rows_give_the_values_of_dense_ones(kernel, formula):
    for left, right in [(sp.csr_array(X), sp.csr_array(Z)), (sp.csr_matrix(X), Z), (sp.coo_array(X), sp.csc_array(Z))]:
        np.testing.assert_allclose(kernel(left, right), kernel(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(sp.csr_array(X)), kernel.diag(X), rtol=1e-12, atol=1e-12)


@EVERY_KERNEL
def test_the_diagonal_is_that_of_the_matrix(kernel, formula):
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(X), kernel(X, X), rtol=1e-14, atol=1e-14)
    assert kernel(X, Z).dtype == np.float64


@pytest.mark.parametrize("kernel", [k for k, _ in FORMULAS if not isinstance(k, Function)], ids=name_of)
def test_no_rows_have_no_values(kernel):
    assert kernel(X[:0], Z).shape == (0, len(Z))
    assert kernel.diag(X[:0]).shape == (0,)


def test_kernels_agree_with_scikit_learn_and_scipy():
    np.testing.assert_allclose(Gaussian(0.3)(X, Z), pairwise.rbf_kernel(X, Z, gamma=0.3), rtol=1e-12)
    np.testing.assert_allclose(Laplacian(0.3)(X, Z), np.exp(-0.3 * cdist(X, Z, "cityblock")), rtol=1e-12)
    np.testing.assert_allclose(Exponential(0.3)(X, Z), np.exp(-0.3 * cdist(X, Z)), rtol=1e-12)
    np.testing.assert_allclose(Polynomial(3, 0.5, 0.2)(X, Z), pairwise.polynomial_kernel(X, Z, 3, 0.2, 0.5))
    np.testing.assert_allclose(Sigmoid(0.2, 0.1)(X, Z), pairwise.sigmoid_kernel(X, Z, 0.2, 0.1), rtol=1e-12)
    np.testing.assert_allclose(Cosine()(X, Z), pairwise.cosine_similarity(X, Z), atol=1e-12)
    np.testing.assert_allclose(Matern(2.5, 1.7)(X, Z), gp.Matern(length_scale=1.7, nu=2.5)(X, Z), rtol=1e-10)
    np.testing.assert_allclose(RationalQuadratic(0.4, 1.7)(X, Z), gp.RationalQuadratic(1.7, 0.4)(X, Z), rtol=1e-12)


def test_repeated_entries_of_a_sparse_row_are_summed():
    repeated = sp.csr_array((np.ones(2), np.zeros(2, dtype=int), np.array([0, 2, 2])), shape=(2, 2))
    np.testing.assert_allclose(Gaussian(1.0)(repeated), Gaussian(1.0)(repeated.toarray()))
    np.testing.assert_allclose(Linear().diag(repeated), Linear().diag(repeated.toarray()))


def test_float32_and_integer_rows_are_computed_in_float64():
    numbers = np.array([[1, 2], [3, 5]])
    for dtype in (np.float32, np.int64):
        np.testing.assert_array_equal(Gaussian(0.1)(numbers.astype(dtype)), Gaussian(0.1)(numbers.astype(float)))


REFUSED = [
    (lambda: Constant(0.0), ValueError, "must be positive, got 0.0"),
    (lambda: Constant(float("nan")), ValueError, "must be positive, got nan"),
    (lambda: -1 * Linear(), ValueError, "must be positive, got -1"),
    (lambda: Linear() + (-2.0), ValueError, "must be positive, got -2"),
    (lambda: 0 * Linear(), ValueError, "must be positive"),
    (lambda: Linear() - Gaussian(1.0), TypeError, "difference of two kernels is not a kernel"),
    (lambda: 2 - Linear(), TypeError, "difference of two kernels is not a kernel"),
    (lambda: Linear() + "gaussian", ValueError, "kernel must be one of .*got 'gaussian'"),
    (lambda: Linear() * None, TypeError, "can be multiplied with a kernel, got None"),
    (lambda: Linear() + [1.0], TypeError, r"can be added to a kernel, got \[1.0\]"),
    (lambda: Linear() + True, TypeError, "got True"),
    (lambda: Linear() ** 0.5, ValueError, "whole number of at least 1, got 0.5"),
    (lambda: Linear() ** 0, ValueError, "whole number of at least 1, got 0"),
    (lambda: Linear() ** -1, ValueError, "whole number of at least 1, got -1"),
    (lambda: Linear().polynomial([1.0, -0.5]), ValueError, r"non-negative coefficients.*got \(1.0, -0.5\)"),
    (lambda: Linear().polynomial([]), ValueError, "non-negative coefficients"),
    (lambda: Linear().polynomial([float("nan")]), ValueError, "non-negative coefficients"),
    (lambda: Linear().warp(np.sum, np.mean), ValueError, "f != g is not symmetric"),
    (lambda: Linear().warp(lambda P: P)(X), ValueError, r"\(n,\) values, got shape \(9, 3\)"),
    (lambda: Gaussian(gamma=1.0, sigma=1.0), ValueError, "gamma or sigma, not both"),
    (lambda: Gaussian(sigma=0.0), ValueError, "sigma must be positive, got 0.0"),
    (lambda: Gaussian(gamma=-1.0), ValueError, "gamma must not be negative, got -1.0"),
    (lambda: Exponential(-1.0), ValueError, "gamma must not be negative"),
    (lambda: Laplacian(-1.0), ValueError, "gamma must not be negative"),
    (lambda: ChiSquared(-1.0), ValueError, "gamma must not be negative"),
    (lambda: ChiSquared()(-X - 1.0), ValueError, "negative"),
    (lambda: Polynomial(degree=1.5), ValueError, "degree must be a whole number >= 0, got 1.5"),
    (lambda: Polynomial(degree=-1), ValueError, "degree must be a whole number >= 0"),
    (lambda: Matern(nu=1.0), ValueError, "nu must be 0.5, 1.5 or 2.5, got 1.0"),
    (lambda: Matern(length=0.0), ValueError, "length must be positive"),
    (lambda: RationalQuadratic(alpha=0.0), ValueError, "alpha must be positive"),
    (lambda: Gaussian()(X), ValueError, r"Gaussian has no width yet: give it one, as in Gaussian\(1.0\)"),
    (lambda: Laplacian().lower(), ValueError, "Laplacian has no width yet"),
    (lambda: QuadraticForm(np.ones((2, 3))), ValueError, "symmetric square matrix"),
    (lambda: QuadraticForm([[1.0, 2.0], [0.0, 1.0]]), ValueError, "symmetric square matrix"),
    (lambda: QuadraticForm([[1e-10, 1e-10], [-1e-10, 1e-10]]), ValueError, "symmetric square matrix"),
    (lambda: Gaussian(1.0, over=Precomputed()), TypeError, "precomputed"),
    (lambda: QuadraticForm([[1.0, 2.0], [2.0, 1.0]]), NotPSDError, "smallest eigenvalue is -1"),
    (lambda: Function(lambda P, Q: np.ones(3))(X, Z), ValueError, r"returned shape \(3,\) for blocks of 9 and 7 rows"),
    (lambda: resolve_kernel("gaussian"), ValueError, "kernel must be one of .*got 'gaussian'"),
    (lambda: resolve_kernel(Linear), ValueError, "kernel must be one of"),
]


@pytest.mark.parametrize(("attempt", "error", "message"), REFUSED)
def test_what_is_not_a_kernel_is_refused_with_the_reason(attempt, error, message):
    with pytest.raises(error, match=message):
        attempt()


NUMBERS = [  # every number that a kernel, or the algebra of kernels, takes
    Constant,
    lambda v: Polynomial(degree=v),
    lambda v: Polynomial(coef0=v),
    lambda v: Polynomial(gamma=v),
    Sigmoid,
    lambda v: Sigmoid(c2=v),
    Gaussian,
    lambda v: Gaussian(sigma=v),
    lambda v: Gaussian(1.0, over=v * Linear()),
    Exponential,
    Laplacian,
    ChiSquared,
    lambda v: Matern(length=v),
    lambda v: Matern(nu=v),
    lambda v: RationalQuadratic(alpha=v),
    lambda v: RationalQuadratic(length=v),
    lambda v: QuadraticForm([[v, 0.0], [0.0, 1.0]]),
    lambda v: v * Linear(),
    lambda v: Linear() * v,
    lambda v: Linear() + v,
    lambda v: v + Linear(),
    lambda v: Linear() ** v,
    lambda v: Linear().polynomial([1.0, v]),
    lambda v: Gaussian().resolved(v),
    lambda v: (2.0 * Gaussian() + Linear()).resolved(v),
    lambda v: Polynomial(gamma=None).resolved(v),
    lambda v: Sigmoid(c1=None).resolved(v),
    lambda v: resolve_kernel("rbf", v),
    lambda v: resolve_kernel("poly", 1.0, 3, v),
    lambda v: resolve_kernel("sigmoid", 1.0, 3, v),
]


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, np.float32("inf")])
@pytest.mark.parametrize("made", NUMBERS)
def test_numbers_that_are_not_finite_are_refused_at_construction(made, value):
    with pytest.raises(ValueError, match=r"inf|nan"):  # the value received is named
        made(value)


@pytest.mark.parametrize(
    "made",
    [lambda: Gaussian(sigma=1e-200), lambda: Matern(length=1e-320), lambda: RationalQuadratic(length=1e-200)],
)
def test_lengths_whose_rate_overflows_are_refused(made):
    with pytest.raises(ValueError, match=r"is too small: a distance divided by it must be finite, got (1e-200|1e-320)"):
        made()


def test_a_matrix_that_is_not_psd_comes_with_a_witness():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(NotPSDError) as caught:
        QuadraticForm(matrix)
    v = caught.value.witness
    assert v @ matrix @ v < 0


def test_warping_by_one_function_twice_is_allowed():
    def f(P):
        return P[:, 0]

    np.testing.assert_array_equal(Linear().warp(f, f)(X), Linear().warp(f)(X))


def test_open_widths_are_filled_everywhere_and_given_ones_are_kept():
    kernel = (Gaussian() + Laplacian(2.0)) * Exponential() + Gaussian(sigma=3.0, over=Polynomial(gamma=None)) ** 2
    expected = (Gaussian(0.25) + Laplacian(2.0)) * Exponential(0.25)
    expected = expected + Gaussian(sigma=3.0, over=Polynomial(gamma=0.25)) ** 2
    assert kernel.resolved(0.25) == expected
    np.testing.assert_array_equal(kernel.resolved(0.25)(X), expected(X))
    assert ChiSquared(None).resolved(0.5) == ChiSquared(0.5)
    assert Sigmoid(None).resolved(0.5) == Sigmoid(0.5)


def test_positive_semi_definiteness_is_known_from_the_expression():
    assert (Gaussian(1.0) * Linear() + 1).exp().is_psd
    assert Gaussian(1.0, over=Linear()).is_psd
    assert not (Linear() + Sigmoid()).is_psd
    assert not Gaussian(1.0, over=Sigmoid()).is_psd
    assert not Polynomial(coef0=-1.0).is_psd
    assert not Function(pairwise.rbf_kernel).is_psd


def test_names_of_scikit_learn_mean_the_same_kernels():
    assert resolve_kernel("linear") == Linear()
    assert resolve_kernel("poly", 0.5, 4, 2.0) == Polynomial(4, 2.0, 0.5)
    assert resolve_kernel("rbf", 0.5) == Gaussian(0.5)
    assert resolve_kernel("sigmoid", 0.5, coef0=-1.0) == Sigmoid(0.5, -1.0)
    assert resolve_kernel("precomputed") == Precomputed()
    assert resolve_kernel(Gaussian(), 0.5) == Gaussian(0.5)


def test_gaussian_process_kernels_and_callables_are_taken_as_functions():
    kernel = resolve_kernel(gp.RBF(2.0) + gp.ConstantKernel(0.5))
    np.testing.assert_allclose(kernel(X, Z), (Gaussian(sigma=2.0) + 0.5)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(resolve_kernel(pairwise.laplacian_kernel)(X, Z), Laplacian(1 / 3)(X, Z), rtol=1e-12)


def test_names_and_callables_can_be_parts_of_an_expression():
    np.testing.assert_allclose((Linear() + pairwise.rbf_kernel)(X, Z), X @ Z.T + Gaussian(1 / 3)(X, Z), rtol=1e-12)
    np.testing.assert_allclose((Linear() * gp.RBF(2.0))(X, Z), X @ Z.T * Gaussian(sigma=2.0)(X, Z), rtol=1e-12)
    np.testing.assert_allclose((Linear() + "rbf").resolved(0.3)(X, Z), X @ Z.T + Gaussian(0.3)(X, Z), rtol=1e-12)


def test_only_plain_callables_take_any_rows():
    assert takes_any_rows(pairwise.rbf_kernel)
    assert takes_any_rows(Function(pairwise.rbf_kernel))
    assert not any(takes_any_rows(k) for k in ("rbf", Gaussian(1.0), gp.RBF(), Function(gp.RBF())))
