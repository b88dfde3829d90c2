"""check_mercer: the smallest eigenvalue, the witness, and that it fails when it must."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.certificates import definiteness
from maxmargin.kernels import Function, Gaussian, Linear, Polynomial, Precomputed, Sigmoid, check_mercer
from tests.names import name_of

X = np.random.default_rng(0).normal(size=(12, 3))
INDEFINITE = [
    Sigmoid(1.0, -1.0),
    Polynomial(3, coef0=-2.0),
    Function(lambda P, Q: -(P @ Q.T)),
    Linear() * Sigmoid(1.0, -1.0),
]


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear(), Linear() ** 2 + 1, (0.1 * Linear()).exp()])
def test_a_kernel_passes(kernel):
    check = check_mercer(kernel, X)
    assert check
    assert check.psd
    assert check.witness is None
    assert check.smallest_eigenvalue == pytest.approx(np.linalg.eigvalsh(kernel(X))[0], abs=1e-9)


@pytest.mark.parametrize("kernel", INDEFINITE, ids=name_of)
def test_what_is_no_kernel_fails_with_a_witness(kernel):
    check = check_mercer(kernel, X)
    v = check.witness
    assert not check
    assert v @ kernel(X) @ v < 0
    assert check.smallest_eigenvalue == pytest.approx(v @ kernel(X) @ v / (v @ v))
    assert check.smallest_eigenvalue < -check.tolerance


def test_a_matrix_is_judged_as_it_is():
    assert check_mercer(np.diag([1.0, 2.0]))
    assert not check_mercer(np.diag([1.0, -2.0]))
    assert check_mercer(np.zeros((0, 0)))
    with pytest.raises(ValueError, match=r"square, got shape \(2, 3\)"):
        check_mercer(np.ones((2, 3)))


def test_the_tolerance_is_relative_to_the_largest_eigenvalue():
    for scale in (1e-20, 1.0, 1e20):
        almost = scale * np.diag([1.0, -1e-6])
        assert not check_mercer(almost)
        assert check_mercer(almost, tol=1e-5)


def test_a_matrix_that_is_not_symmetric_is_no_kernel():
    assert not check_mercer(np.array([[1.0, 5.0], [-5.0, 1.0]]))
    twist = np.array([[1.0, 3.0, 0.0], [-3.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert not check_mercer(Function(lambda P, Q: P @ twist @ Q.T), X)


def test_sparse_rows_are_judged_too():
    assert check_mercer(Gaussian(1.0), sp.csr_array(X))
    assert not check_mercer(Sigmoid(1.0, -1.0), sp.csr_array(X))


def test_names_and_callables_are_kernels_here_too():
    assert check_mercer("rbf", X)
    assert check_mercer(lambda P, Q: P @ Q.T, X)
    assert not check_mercer(lambda P, Q: -(P @ Q.T), X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_with_holes_is_refused(bad):
    with pytest.raises(ValueError, match=r"NaN|inf|finite"):
        check_mercer(np.array([[1.0, bad], [bad, 1.0]]))


def test_a_precomputed_kernel_is_its_matrix():
    assert check_mercer(Precomputed(), X @ X.T)
    assert not check_mercer("precomputed", -(X @ X.T))


@pytest.mark.parametrize("rank", [1, 3, 30, 150])
@pytest.mark.parametrize("lopsided", [0.0, 1e-16])
def test_what_a_matrix_lacks_is_rounding_beside_its_largest_eigenvalue(rank, lopsided):
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(300, rank))
    K = A @ A.T
    K += lopsided * np.abs(K).max() * rng.normal(size=K.shape)
    definite, values = definiteness(Precomputed(), K, np.arange(300)), np.linalg.eigvalsh((K + K.T) / 2)
    assert definite.psd
    assert max(0.0, -values[0]) <= definite.deficit <= 10 * 300 * np.finfo(float).eps * values[-1]
