"""One contract for every back end, dtype and kind of sparsity: kernel tiles and products."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel

from maxmargin._stop import Stopped, stops_when
from maxmargin.backends import _base, _numba, prepare
from maxmargin.backends._rows import Csr
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
    Op,
    Polynomial,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
)
from tests.reference_backend import get_backend

D = 20
MAP = np.random.default_rng(1).normal(size=(D, 3))


def damping(rows):
    return 1.0 / (1.0 + np.asarray(rows.sum(axis=1)).ravel())


def project(rows):
    return rows @ MAP


KERNELS = {
    "linear": Linear(),
    "constant": Constant(2.0),
    "polynomial": Polynomial(3, coef0=0.5, gamma=0.4),
    "polynomial of degree 0": Polynomial(0),
    "gaussian": Gaussian(0.7),
    "narrow gaussian": Gaussian(40.0),
    "gaussian over polynomial": Gaussian(0.3, over=Polynomial(2)),
    "sigmoid": Sigmoid(0.5, -0.2),
    "exponential": Exponential(0.6),
    "laplacian": Laplacian(0.4),
    "chi-squared": ChiSquared(0.5),
    "cosine": Cosine(),
    "matern 1/2": Matern(0.5, 1.5),
    "matern 3/2": Matern(1.5, 1.5),
    "matern 5/2": Matern(2.5, 1.5),
    "rational quadratic": RationalQuadratic(0.7, 1.3),
    "quadratic form": QuadraticForm(MAP @ MAP.T),
    "function": Function(lambda P, Q: linear_kernel(P, Q) ** 2),
    "sum": Linear() + 0.5 * Gaussian(1.0) + 2,
    "product": (1 + Linear()) * Cosine() * Laplacian(0.3),
    "power of a sum": (Gaussian(0.5) + Linear()) ** 3,
    "exponential of a product": (0.3 * Linear() * Gaussian(0.5)).exp(),
    "polynomial of a sum": (Linear() + Gaussian(0.5)).polynomial([1.0, 0.0, 0.5, 0.1]),
    "warped": (Linear() + 1).warp(damping) * Gaussian(0.2),
    "of a map": (Linear() + Matern(1.5)).of(project) + Linear(),
    "warped and of a map": Gaussian(0.2).warp(lambda P: np.cos(P[:, 0])).of(project) + Linear().warp(damping),
}
DENSITY = {"dense": 0.6, "very sparse": 0.06, "64-bit indices": 0.06, "hardly sparse": 0.6}
EVERYWHERE = [
    pytest.mark.parametrize("backend", ["numpy", "numba"]),
    pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__),
    pytest.mark.parametrize("sparsity", list(DENSITY)),
]


def everywhere(test):
    for mark in EVERYWHERE:
        test = mark(test)
    return test


def make_rows(n, sparsity, seed=0):
    """Non-negative rows, the first one zero and the second one repeated."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.2, 1.2, size=(n, D)) * (rng.random((n, D)) < DENSITY[sparsity])
    X[0], X[2] = 0.0, X[1]
    if sparsity == "dense":
        return X
    X = sp.csr_array(X)
    kind = np.int64 if sparsity == "64-bit indices" else np.int32
    X.indptr, X.indices = X.indptr.astype(kind), X.indices.astype(kind)
    return X


def tolerance(kernel, dtype):
    """Relative to the largest value; a root turns rounding near distance 0 into its square root."""
    rooted = any(op == Op.SQRT for op, _ in kernel.lower().operations)
    if dtype == np.float64:
        return 1e-6 if rooted else 1e-12
    return 3e-3 if rooted else 2e-5


def close(values, expected, tol):
    np.testing.assert_allclose(values, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max(initial=0.0)))


@everywhere
@pytest.mark.parametrize("name", list(KERNELS))
def test_a_tile_holds_the_values_of_the_kernel(backend, dtype, sparsity, name):
    kernel, program = KERNELS[name], KERNELS[name].lower()
    X, Z = make_rows(30, sparsity), make_rows(17, sparsity, seed=1)
    right = prepare(program, X, dtype)
    left = prepare(program, Z, dtype, like=right)
    values = get_backend(backend).tile(program, left, right)
    assert values.dtype == dtype
    close(values, kernel(Z, X), tolerance(kernel, dtype))


@everywhere
def test_sparse_rows_stay_sparse_where_that_pays(backend, dtype, sparsity):
    base = prepare(Linear().lower(), make_rows(30, sparsity), dtype).bases[0]
    assert isinstance(base, Csr) == (sparsity in ("very sparse", "64-bit indices"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_columns_that_are_mostly_one_value_become_sparse_where_only_distances_matter(dtype):
    X = 5.0 - make_rows(300, "very sparse").toarray()  # hardly any zeros, but mostly fives
    X[:, 3] = np.arange(300)
    for kernel, sparse in ((Gaussian(0.7), True), (Polynomial(2), False)):
        program = kernel.lower()
        rows = prepare(program, X, dtype, may_be_sparse=True)
        assert isinstance(rows.bases[0], Csr) == sparse
        new = prepare(program, X[:40] + 1.0, dtype, like=rows)
        values = get_backend("numba").tile(program, new, rows)
        close(values, kernel(X[:40] + 1.0, X), tolerance(kernel, dtype) * (30 if dtype == np.float32 else 1e3))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear() + 1, Laplacian(0.5)], ids=str)
def test_dense_rows_meet_sparse_ones(backend, kernel):
    program = kernel.lower()
    dense, sparse = make_rows(9, "dense"), make_rows(30, "very sparse", seed=1)
    for train, new in [(dense, sparse), (sparse, dense)]:
        right = prepare(program, train, np.float64)
        values = get_backend(backend).tile(program, prepare(program, new, np.float64, like=right), right)
        close(values, kernel(new, train), 1e-12)


@everywhere
def test_a_tile_in_narrow_strips_is_the_same(backend, dtype, sparsity, monkeypatch):
    kernel = Gaussian(0.5) + Linear() * Laplacian(0.2)
    program, X = kernel.lower(), make_rows(200, sparsity)
    rows = prepare(program, X, dtype)
    monkeypatch.setattr(_base, "TILE_BYTES", 1)
    widths = []
    monkeypatch.setattr(
        type(get_backend(backend)), "run_program", _noting(type(get_backend(backend)).run_program, widths)
    )
    out = np.full((12, 200), np.nan, dtype=dtype)
    slots = np.array([10, 3, 7])
    get_backend(backend).tile(program, rows.take(np.array([5, 0, 199])), rows, out=out, slots=slots)
    close(out[slots], kernel(X[[5, 0, 199]], X), tolerance(kernel, dtype))
    assert np.isnan(np.delete(out, slots, axis=0)).all()
    assert widths == [64, 64, 64, 8]


def _noting(run_program, widths):
    def noted(self, code, tiles, *rest):
        widths.append(tiles.shape[2])
        run_program(self, code, tiles, *rest)

    return noted


@everywhere
@pytest.mark.parametrize("name", ["gaussian", "polynomial", "linear", "sum", "warped", "laplacian", "product"])
@pytest.mark.parametrize("m", [1, 7, 8, 300])
def test_products_of_rows_are_added_and_kept_if_asked_to(backend, dtype, sparsity, name, m):
    kernel, program = KERNELS[name], KERNELS[name].lower()
    X = make_rows(530, sparsity)
    rows, index, delta = prepare(program, X, dtype), np.arange(m)[::-1], np.random.default_rng(0).normal(size=m)
    expected, tol = kernel(X[index], X), 50 * tolerance(kernel, dtype)
    f = np.ones(530)
    get_backend(backend).add_product(program, rows.take(index), rows, delta, f, threads=2)
    close(f, 1.0 + delta @ expected, tol)
    out, slots = np.full((m + 3, 530), np.nan, dtype=dtype), np.random.default_rng(1).permutation(m + 3)[:m]
    get_backend(backend).add_product(program, rows.take(index), rows, delta, f, out=out, slots=slots)
    close(f, 1.0 + 2 * delta @ expected, tol)
    close(out[slots], expected, tolerance(kernel, dtype))
    assert np.isnan(np.delete(out, slots, axis=0)).all()


@everywhere
@pytest.mark.parametrize("name", ["gaussian", "warped", "function", "laplacian"])
def test_products_sum_the_tiles(backend, dtype, sparsity, name):
    kernel, program = KERNELS[name], KERNELS[name].lower()
    X, Z = make_rows(700, sparsity), make_rows(300, sparsity, seed=1)
    right = prepare(program, X, dtype)
    left = prepare(program, Z, dtype, like=right)
    coef = np.random.default_rng(0).normal(size=(700, 2))
    tol = 1e-11 if dtype == np.float64 else 1e-4
    for given in (coef, coef[:, 0]):
        result = get_backend(backend).product(program, left, right, given)
        assert result.dtype == np.float64
        close(result, kernel(Z, X) @ given, tol)


@everywhere
@pytest.mark.parametrize("name", ["gaussian", "warped", "laplacian"])
def test_products_of_rows_with_themselves_sum_every_pair(backend, dtype, sparsity, name):
    kernel, program = KERNELS[name], KERNELS[name].lower()
    X = make_rows(1300, sparsity)
    rows, coef = prepare(program, X, dtype), np.random.default_rng(0).normal(size=(1300, 2))
    tol = 1e-11 if dtype == np.float64 else 1e-4
    engine = get_backend(backend)
    for given in (coef, coef[:, 0]):
        result = engine.symmetric_product(program, rows, given)
        close(result, kernel(X, X) @ given, tol)
        if engine.streams(program):
            np.testing.assert_array_equal(engine.symmetric_product(program, rows, given, threads=2), result)


@pytest.mark.parametrize("sparsity", sorted(DENSITY))
def test_a_large_matrix_is_made_in_parts_between_which_whoever_asks_to_stop_is_heard(sparsity, monkeypatch):
    program = KERNELS["gaussian"].lower()
    rows, engine = prepare(program, make_rows(300, sparsity), np.float32), get_backend("numba")
    whole = engine.symmetric_tile(program, rows)
    monkeypatch.setattr(_numba, "PIECE", 64)
    np.testing.assert_array_equal(engine.symmetric_tile(program, rows), whole)
    monkeypatch.setattr(_numba, "AT_ONCE", 300**2 - 1)
    with stops_when(lambda: True), pytest.raises(Stopped):
        engine.symmetric_tile(program, rows)


@everywhere
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_only_a_matrix_that_is_stored_is_left_half_done(backend, dtype, sparsity, name):
    kernel, engine = KERNELS[name], get_backend(backend)
    gram = engine.gram(kernel, make_rows(90, sparsity), dtype=dtype)
    every = np.arange(gram.n)
    with stops_when(lambda: True):
        close(gram.block(every), kernel(gram.X), 1e-11 if dtype == np.float64 else 1e-4)
        with pytest.raises(Stopped):
            gram.stored(every, dtype)


@everywhere
@pytest.mark.parametrize("name", ["gaussian", "warped", "laplacian"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_products_of_many_tasks_are_those_of_each(backend, dtype, sparsity, name, k):
    kernel, program, rng = KERNELS[name], KERNELS[name].lower(), np.random.default_rng(0)
    X = make_rows(90, sparsity)
    tasks = [rng.permutation(90)[:size] for size in (1, 33, 90, 8, 64)]
    pointers, index = np.concatenate([[0], np.cumsum([len(task) for task in tasks])]), np.concatenate(tasks)
    coef = rng.normal(size=(k, len(index))) * (rng.random(len(index)) < 0.4)
    coef[:, pointers[3] : pointers[4]] = 0.0  # a task without support vectors
    rows, tol = prepare(program, X, dtype), 1e-11 if dtype == np.float64 else 1e-4
    for threads in (1, 3):
        sums = get_backend(backend).many_products(program, rows, pointers, index, coef, threads)
        for task, first, last in zip(tasks, pointers[:-1], pointers[1:], strict=True):
            close(sums[:, first:last], coef[:, first:last] @ kernel(X[task], X[task]), tol)


@everywhere
def test_two_threads_compute_what_one_does(backend, dtype, sparsity):
    kernel = Gaussian(0.5) + Laplacian(0.2)
    program, X = kernel.lower(), make_rows(600, sparsity)
    rows, coef = prepare(program, X, dtype), np.random.default_rng(0).normal(size=600)
    engine, tol = get_backend(backend), 1e-12 if dtype == np.float64 else 1e-4
    assert rows.n**2 >= 2 * _base.VALUES_PER_THREAD
    close(engine.tile(program, rows, rows, threads=2), engine.tile(program, rows, rows), tol)
    close(engine.product(program, rows, rows, coef, threads=2), engine.product(program, rows, rows, coef), tol)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_kernel_function_is_the_error_the_user_sees(threads):
    def fails(P, Q):
        raise ZeroDivisionError("mine")

    program = Function(fails).lower()
    rows = prepare(program, np.zeros((600, 1)), np.float64)
    with pytest.raises(ZeroDivisionError, match="mine"):
        get_backend("numba").tile(program, rows, rows, threads=threads)


@everywhere
def test_no_rows_give_no_values(backend, dtype, sparsity):
    program, X = Gaussian(1.0).lower(), make_rows(5, sparsity)
    right = prepare(program, X, dtype)
    left = prepare(program, X[:0], dtype, like=right)
    assert get_backend(backend).tile(program, left, right).shape == (0, 5)
    np.testing.assert_array_equal(get_backend(backend).product(program, right, left, np.zeros(0)), np.zeros(5))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_accumulate_adds_weighted_rows_to_a_range(backend, dtype):
    rng = np.random.default_rng(0)
    rows, slots, delta = rng.normal(size=(600, 50)).astype(dtype), rng.permutation(600)[:400], rng.normal(size=400)
    f = np.ones(50)
    get_backend(backend).accumulate(f, rows, slots, delta, 10, 40)
    expected = np.ones(50)
    expected[10:40] += delta @ rows[slots, 10:40].astype(np.float64)
    close(f, expected, 1e-12 if dtype == np.float64 else 1e-5)
    np.testing.assert_array_equal(f[[0, 9, 40, 49]], 1.0)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("count", [0, 1, 7, 100, 499, 500, 2000])
@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_the_largest_finite_values_are_found(backend, count, outlier):
    values = np.random.default_rng(count).normal(size=500)
    values[::3], values[5] = -np.inf, outlier
    finite = np.flatnonzero(np.isfinite(values))
    found = get_backend(backend).largest(values, count)
    expected = finite[np.argsort(-values[finite])][:count]
    assert sorted(found.tolist()) == sorted(expected.tolist())


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_of_equal_values_as_many_are_found_as_are_wanted(backend):
    values = np.repeat([1.0, 3.0, 2.0, -np.inf], 50)
    found = get_backend(backend).largest(values, 75)
    assert len(set(found.tolist())) == 75
    assert sorted(values[found].tolist()) == [2.0] * 25 + [3.0] * 50
    assert len(get_backend(backend).largest(np.full(10, -np.inf), 4)) == 0


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_distances_are_those_of_the_definition(backend, dtype):
    P, Q = (make_rows(n, "dense", seed).astype(dtype) for n, seed in ((8, 0), (6, 1)))
    difference, total = P[:, None] - Q[None], P[:, None] + Q[None]
    expected = {
        "l1": np.abs(difference).sum(axis=2),
        "chi2": np.divide(difference**2, total, out=np.zeros_like(total), where=total > 0).sum(axis=2),
    }
    for kind, values in expected.items():
        out = np.empty((8, 6), dtype=dtype)
        get_backend(backend).distances(kind, P, Q, out)
        close(out, values, 1e-12 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_chi_squared_refuses_negative_values(backend):
    program, rows = ChiSquared(1.0).lower(), np.array([[1.0, -2.0], [0.5, 1.0]])

    def fill():
        prepared = prepare(program, rows, np.float64)
        get_backend(backend).tile(program, prepared, prepared)

    with pytest.raises(ValueError, match="negative"):
        fill()


def test_an_unknown_back_end_is_refused():
    with pytest.raises(ValueError, match="no back end 'abacus'; choose 'numba' or 'numpy'"):
        get_backend("abacus")
