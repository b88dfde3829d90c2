"""One contract for the rows of a linear model on every back end: products, squares, slopes and losses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.backends import Design, _design, backend_for
from maxmargin.backends._rows import Csr
from tests.reference_backend import get_backend

BACKENDS = ["numpy", "numba"]
EVERYWHERE = [
    pytest.mark.parametrize("backend", BACKENDS),
    pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__),
    pytest.mark.parametrize("kind", ["dense", "csr", "64-bit indices", "not in order"]),
    pytest.mark.parametrize("threads", [1, 2]),
]


def everywhere(test):
    for mark in EVERYWHERE:
        test = mark(test)
    return test


def make(kind, dtype, n=300, d=17, seed=0):
    """(rows as given, the same rows dense in float64): zeros, an empty row and an empty column among them."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[3], X[:, 5] = 0.0, 0.0
    if kind == "dense":
        return X, X.astype(np.float64)
    rows = sp.csr_array(X)
    if kind == "64-bit indices":
        rows.indptr, rows.indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    if kind == "not in order":
        coo = rows.tocoo()
        order = np.lexsort((-coo.col, coo.row))
        rows = sp.csr_array((coo.data[order], coo.col[order], rows.indptr), shape=X.shape)
        assert not rows.has_sorted_indices
    return rows, X.astype(np.float64)


@pytest.fixture
def _threads_are_worth_it(monkeypatch):
    monkeypatch.setattr(_design, "WORTH_A_THREAD", 100)


def close(result, expected):
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12 * max(1.0, float(np.abs(expected).max())))


@everywhere
@pytest.mark.usefixtures("_threads_are_worth_it")
def test_products_are_those_of_the_matrix(backend, dtype, kind, threads):
    rows, X = make(kind, dtype)
    design, rng = get_backend(backend).design(rows, threads), np.random.default_rng(1)
    assert design.threads == threads
    assert (design.n, design.d, design.sparse) == (*X.shape, kind != "dense")
    w, beta, weight = rng.normal(size=17), rng.normal(size=300), rng.random(300)
    weight[::3] = beta[::5] = 0.0
    close(design.scores(w), X @ w)
    close(design.combine(beta), X.T @ beta)
    curvature = design.curvature(weight)
    close(curvature, X.T @ (weight[:, None] * X))
    np.testing.assert_array_equal(curvature, curvature.T)
    close(design.curvature(np.zeros(300)), np.zeros((17, 17)))
    close(design.products(), X @ X.T)
    close(design.squares, np.sum(X**2, axis=1))
    close(design.column_squares, np.sum(X**2, axis=0))
    # float32 products are summed in float64: exact to the last digits that float32 data have
    stored = design.X.data if isinstance(design.X, Csr) else design.X
    assert stored.dtype == dtype


@everywhere
@pytest.mark.usefixtures("_threads_are_worth_it")
def test_some_rows_and_some_columns_are_designs_too(backend, dtype, kind, threads):
    rows, X = make(kind, dtype)
    design, index = get_backend(backend).design(rows, threads), np.array([2, 3, 11])
    some, few = design.take(index), design.columns(index)
    assert type(some) is type(few) is type(design)
    close(some.scores(np.ones(17)), X[index] @ np.ones(17))
    close(few.scores(np.ones(3)), X[:, index] @ np.ones(3))
    close(few.curvature(np.ones(300)), X[:, index].T @ X[:, index])
    close(design.columns(np.zeros(0, dtype=int)).scores(np.zeros(0)), np.zeros(300))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_many_columns_and_long_blocks(backend, kind, monkeypatch):
    monkeypatch.setattr(_design, "HEIGHT", 7)
    rows, X = make(kind, np.float64, n=40, d=90)
    weight = np.random.default_rng(0).random(40)
    close(get_backend(backend).design(rows).curvature(weight), X.T @ (weight[:, None] * X))


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.usefixtures("_threads_are_worth_it")
def test_the_same_number_of_threads_gives_the_same_bits(kind):
    rows, _ = make(kind, np.float64, n=2000)
    beta, results = np.random.default_rng(0).normal(size=2000), []
    for _ in range(5):
        design = get_backend("numba").design(rows, 2)
        results.append(design.combine(beta).tobytes() + design.curvature(beta**2).tobytes())
    assert len(set(results)) == 1


def test_a_second_thread_is_for_many_values_only():
    assert Design(np.zeros((100, 10)), threads=8).threads == 1
    tall = np.zeros((2 * _design.WORTH_A_THREAD, 1), dtype=np.float32)
    assert Design(tall, threads=8).threads == 2


def test_rows_given_out_of_order_are_left_as_they_were():
    rows, X = make("not in order", np.float64)
    indices = rows.indices.copy()
    close(get_backend().design(rows).curvature(np.ones(300)), X.T @ X)
    np.testing.assert_array_equal(rows.indices, indices)


# -- rows of losses ------------------------------------------------------------------------------------------------


def table(n=500, seed=0):
    """f, df, centre, rate, linear, ridge, lower, upper."""
    rng = np.random.default_rng(seed)
    f, df, centre, linear = rng.normal(size=(4, n))
    return f, df, centre, rng.random(n) + 0.1, linear, rng.random(n), -rng.random(n), rng.random(n)


@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("keep", [1.0, 0.0])
@pytest.mark.parametrize("threads", [1, 2])
def test_smoothed_slopes_agree_with_the_definition(eps, keep, threads):
    f, df, centre, rate, linear, ridge, lower, upper = table(20000)
    ridge = ridge + 0.1
    value = keep * centre + rate * (linear - f - 0.4 * df)
    value = np.sign(value) * np.maximum(np.abs(value) - rate * eps, 0)
    expected = np.clip(value / (keep + rate * ridge), lower, upper)
    for backend in BACKENDS:
        out = np.empty(len(f))
        total = get_backend(backend).smoothed_slopes(
            f, df, 0.4, centre, keep, rate, linear, ridge, eps, lower, upper, out, threads
        )
        np.testing.assert_allclose(out, expected, atol=1e-13)
        assert total == pytest.approx(float(expected @ df), rel=1e-10)


def test_sums_of_slopes_do_not_depend_on_where_arrays_lie():
    """A sum beside a store is vectorised only if the compiler sees that the arrays do not overlap."""
    for n in (16, 40, 100):
        tables = table(n)
        totals = set()
        for gap in (0, 1, 2, 4, 16):
            memory = np.zeros(9 * (n + gap))
            places = [memory[k * (n + gap) : k * (n + gap) + n] for k in range(9)]
            for place, values in zip(places[1:], tables, strict=True):
                place[:] = values
            f, df, centre, rate, linear, ridge, lower, upper = places[1:]
            totals.add(
                get_backend("numba").smoothed_slopes(
                    f, df, 0.4, centre, 1.0, rate, linear, ridge, 0.0, lower, upper, places[0]
                )
            )
        assert len(totals) == 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_row_values_are_losses_and_gaps(backend, curved, threads):
    from maxmargin.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
    from maxmargin.penalties import L2
    from maxmargin.problems import LinearProblem

    rng = np.random.default_rng(0)
    t, f, C = rng.normal(size=20000), 2 * rng.normal(size=20000), rng.random(20000) + 0.1
    loss = (SquaredEpsilonInsensitive if curved else EpsilonInsensitive)(0.3)
    problem = LinearProblem(loss, L2(), t, C)
    beta = problem.feasible(rng.normal(size=20000))
    form = problem.form
    ridge = np.broadcast_to(np.asarray(form.ridge, dtype=np.float64), t.shape).copy()
    losses, gap = get_backend(backend).row_values(
        f, beta, form.linear, ridge, form.eps, form.lower, form.upper, threads
    )
    assert losses == pytest.approx(float(C @ loss.value(t, f)), rel=1e-11)
    assert gap == pytest.approx(problem.row_gap(f, beta), rel=1e-9)


# -- epochs --------------------------------------------------------------------------------------------------------


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="there is no device 'tpu'; choose 'auto' or 'cpu'"):
        backend_for("tpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
def test_an_epoch_on_dense_rows_is_one_on_sparse_rows(dtype):
    from maxmargin.losses import DualForm

    X, full = make("dense", dtype, n=50)
    sign = np.where(np.arange(50) % 2, 1.0, -1.0)
    form = DualForm(np.minimum(sign, 0), np.maximum(sign, 0), sign, np.zeros(50), 0.0)
    results = []
    for rows in (X, sp.csr_array(X)):
        design = get_backend("numba").design(rows)
        w, beta, active = np.zeros(17), np.zeros(50), np.arange(50)
        sums, old = np.array([0.0, 0.0, 0.0]), np.array([-np.inf, np.inf])
        q = np.maximum(design.squares, 1e-100)
        out = get_backend("numba").coordinate_epochs(
            design.X, w, beta, form, q, active, 50, sums, old, np.uint64(12345), 0.0, 1
        )
        close(w, full.T @ beta)
        assert (beta >= form.lower).all()
        assert (beta <= form.upper).all()
        assert sums[2] == pytest.approx(beta.sum())
        assert (out[0], *out[2:4]) == (50, 1, 50)
        assert active.tolist() == list(range(50))
        results.append((beta, out))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-9)
    assert results[0][1][4] == results[1][1][4]


def test_rows_without_columns_have_a_curvature_without_a_word_from_blas():
    program = (
        "import numpy as np\n"
        "from maxmargin.backends import Design\n"
        "assert Design(np.empty((5, 0)), 1).curvature(np.ones(5)).shape == (0, 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
