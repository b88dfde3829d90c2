"""Laws of kernels, on expressions drawn at random: positive semi-definite, an algebra, and lowered without change."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.backends import prepare
from maxmargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Op,
    Polynomial,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
    check_mercer,
)
from tests.laws import examples
from tests.reference_backend import get_backend

D = 3
law = examples(200, derandomize=True, database=None)
MAP = np.array([[0.5, 0.25, 0.0], [0.0, 0.5, 0.25], [0.25, 0.0, 0.5]])


def total(X):
    return 0.5 + X.sum(axis=1)


def mapped(X):
    return X @ MAP


# values on a grid of 1/8: their dot products are exact, and rows are equal or clearly apart
grid = st.integers(0, 12).map(lambda i: i / 8)
rows = st.integers(1, 7).flatmap(lambda n: hnp.arrays(np.float64, (n, D), elements=grid))
positive = st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0])


def quadratic_form(root):
    return QuadraticForm(root @ root.T)


leaves = st.one_of(
    st.just(Linear()),
    st.just(Cosine()),
    positive.map(Constant),
    st.builds(Polynomial, st.integers(0, 3), positive | st.just(0.0), positive),
    st.builds(Gaussian, positive),
    st.builds(Gaussian, sigma=positive),
    st.builds(Exponential, positive),
    st.builds(Laplacian, positive),
    st.builds(ChiSquared, positive),
    st.builds(Matern, st.sampled_from([0.5, 1.5, 2.5]), positive),
    st.builds(RationalQuadratic, positive, positive),
    hnp.arrays(np.float64, (D, D), elements=st.integers(-4, 4).map(lambda i: i / 4)).map(quadratic_form),
)


def larger(inner):
    coefficients = st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=4)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, c: c * a, inner, positive),
        st.builds(lambda a, c: a + c, inner, positive),
        st.builds(lambda a, e: a**e, inner, st.integers(1, 3)),
        st.builds(lambda a, c: a.polynomial(c), inner, coefficients),
        st.builds(lambda a, g: Gaussian(g, over=a), inner, positive),
        inner.map(lambda a: (0.125 * a).exp()),
        inner.map(lambda a: a.warp(total)),
        inner.map(lambda a: a.of(mapped)),
    )


kernels = st.recursive(leaves, larger, max_leaves=6)


def values(kernel, *X):
    """The matrix, of an expression whose values are of ordinary size."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = kernel(*X)
    assume(np.isfinite(K).all() and np.abs(K).max(initial=0.0) < 1e6)
    return K


def rounding(kernel):
    """Two ways to the same value differ by this: the root of a distance's rounding error of 1e-16 is 1e-8."""
    rooted = any(op == Op.SQRT for op, _ in kernel.lower().operations)
    return 1e-5 if rooted else 1e-9


def close(a, b, tol=1e-12):
    np.testing.assert_allclose(a, b, rtol=0, atol=tol * max(1.0, np.abs(b).max(initial=0.0)))


@law
@given(kernels, rows)
def test_gram_matrices_are_positive_semi_definite(kernel, X):
    K = values(kernel, X)
    assert kernel.is_psd
    assert check_mercer(kernel, X, tol=1e-8)
    close(K, K.T)
    close(np.diag(K), kernel.diag(X), 1e-9)


@law
@given(rows, st.sampled_from([0.5, 1.0, 2.0]))
def test_the_check_fails_for_what_is_negative_somewhere(X, c1):
    """tanh(c1 x.z - c2) with c2 > c1 x.x has a negative diagonal, hence is not positive semi-definite."""
    kernel = Sigmoid(c1, -c1 * (1.0 + (X**2).sum(axis=1).max()))
    check = check_mercer(kernel, X)
    assert not check
    assert check.witness @ kernel(X) @ check.witness < 0


@law
@given(kernels, kernels, kernels, rows, rows)
def test_kernels_are_an_algebra(a, b, c, X, Z):
    A, B, C = values(a, X, Z), values(b, X, Z), values(c, X, Z)
    assume(max(np.abs(M).max() for M in (A, B, C)) < 1e4)
    close((a + b)(X, Z), A + B)
    close((a * b)(X, Z), A * B)
    close((a + b)(X, Z), (b + a)(X, Z))
    close((a * b)(X, Z), (b * a)(X, Z))
    close(((a + b) + c)(X, Z), (a + (b + c))(X, Z))
    close((a * (b + c))(X, Z), (a * b + a * c)(X, Z))
    close((a * 2)(X, Z), (a + a)(X, Z))
    close((a**2)(X, Z), (a * a)(X, Z))
    close(a.polynomial([0.5, 0.0, 2.0])(X, Z), (2 * a**2 + 0.5)(X, Z))
    close((a + b).of(mapped)(X, Z), (a + b)(mapped(X), mapped(Z)))
    close((a + b).warp(total)(X, Z), (a.warp(total) + b.warp(total))(X, Z))


@law
@given(kernels, kernels, rows)
def test_the_exponential_of_a_sum_is_a_product(a, b, X):
    A, B = values(a, X), values(b, X)
    assume(max(np.abs(A).max(), np.abs(B).max()) < 10)
    close((a + b).exp()(X), (a.exp() * b.exp())(X), 1e-11)


@law
@given(kernels, rows, rows)
def test_a_kernel_is_symmetric(kernel, X, Z):
    close(values(kernel, X, Z), kernel(Z, X).T, rounding(kernel))


@law
@given(kernels, rows, st.data())
def test_values_belong_to_pairs_of_rows_not_to_blocks(kernel, X, data):
    K = values(kernel, X, X)
    order = np.array(data.draw(st.permutations(range(len(X)))))
    close(kernel(X[order], X[order]), K[np.ix_(order, order)], rounding(kernel))
    close(np.vstack([kernel(X[i : i + 1], X) for i in range(len(X))]), K, rounding(kernel))


@examples(300, derandomize=True, database=None)
@given(kernels, rows, rows, st.sampled_from(["numpy", "numba"]))
def test_the_lowered_program_computes_the_expression(kernel, X, Z, backend):
    expected = values(kernel, Z, X)
    values(kernel, X)
    program = kernel.lower()
    right = prepare(program, X, np.float64)
    left = prepare(program, Z, np.float64, like=right)
    close(get_backend(backend).tile(program, left, right), expected, rounding(kernel))


@law
@given(kernels, rows)
def test_resolving_leaves_a_complete_kernel_alone(kernel, X):
    K = values(kernel, X)
    close(kernel.resolved(123.0)(X), K)
