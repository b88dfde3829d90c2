"""The Gram matrix: blocks and products from a cache of bounded size, in the precision that was asked for."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel

from maxmargin.backends import KernelGram
from maxmargin.backends._cache import RowCache
from maxmargin.backends._gram import RECOMPUTED_FEATURES, float32_is_safe
from maxmargin.kernels import (
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
)
from tests.names import name_of
from tests.reference_backend import get_backend

N = 300
RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(N, 4)) + 3.0
SPARSE = sp.random_array((N, 40), density=0.08, random_state=RNG, format="csr")
DATA = {
    "gaussian": (Gaussian(0.3), DENSE),
    "polynomial": (Polynomial(2, gamma=0.1), DENSE),
    "laplacian": (Laplacian(0.3), DENSE),
    "composite": (Gaussian(0.3) + 0.1 * Linear().warp(lambda P: P[:, 0]), DENSE),
    "sparse gaussian": (Gaussian(0.3), SPARSE),
    "function": (Function(lambda P, Q: 1.0 + linear_kernel(P, Q)), DENSE),
    "precomputed": (Precomputed(), Gaussian(0.3)(DENSE)),
}
EVERY_BACKEND = pytest.mark.parametrize("backend", ["numpy", "numba"])
EVERY_KERNEL = pytest.mark.parametrize("name", list(DATA))
IN_FLOAT32 = [name for name in DATA if name not in ("function", "precomputed")]  # what KernelGram would choose it for


def make(backend, name, **options):
    kernel, X = DATA[name]
    return KernelGram(get_backend(backend), kernel, X, **options)


def exact(name):
    kernel, X = DATA[name]
    return kernel(X)


def close(values, expected, tol=1e-11):
    np.testing.assert_allclose(values, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


@EVERY_BACKEND
@EVERY_KERNEL
def test_every_part_of_the_matrix_can_be_had(backend, name):
    gram, K = make(backend, name), exact(name)
    index, columns = np.array([7, 3, 250]), np.arange(0, N, 7)
    close(gram.block(index), K[np.ix_(index, index)])
    close(gram.matrix(), K)
    close(gram.cross(index, columns), K[np.ix_(index, columns)])
    close(gram.diagonal, np.diag(K))
    close(gram.matrix(), gram.matrix().T, 1e-14)


@EVERY_BACKEND
@EVERY_KERNEL
def test_products_are_those_of_the_whole_matrix(backend, name):
    gram, K = make(backend, name), exact(name)
    beta = np.where(RNG.random(N) < 0.3, RNG.normal(size=N), 0.0)
    close(gram.product(beta), K @ beta)
    close(gram.product(beta, np.array([4, 200])), K[[4, 200]] @ beta)
    np.testing.assert_array_equal(gram.product(np.zeros(N)), np.zeros(N))


@EVERY_BACKEND
@EVERY_KERNEL
def test_a_part_is_the_matrix_of_those_rows(backend, name):
    K, index = exact(name), np.array([5, 17, 200, 9, 44])
    part = make(backend, name).take(index)
    close(part.matrix(), K[np.ix_(index, index)])
    close(part.block(np.array([2, 0])), K[np.ix_([200, 5], [200, 5])])
    close(part.take(np.array([3, 1])).matrix(), K[np.ix_([9, 17], [9, 17])])
    f = np.zeros(5)
    part.add_product(f, np.array([4, 1]), np.array([2.0, -1.0]))
    close(f, 2.0 * K[index, 44] - K[index, 17])
    close(part.product(np.arange(5.0)), K[np.ix_(index, index)] @ np.arange(5.0))


@EVERY_BACKEND
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_float32_tiles_are_rounded_and_products_are_not(backend, name):
    gram, K = make(backend, name, dtype=np.float32), exact(name)
    beta = RNG.normal(size=N)
    assert gram.block(np.arange(9)).dtype == np.float32
    close(gram.block(np.arange(200)), K[:200, :200], 2e-5)
    close(gram.matrix(), K, 1e-11)
    close(gram.product(beta), K @ beta, 1e-11)
    close(gram.cross(np.arange(9), np.arange(20)), K[:9, :20], 1e-11)


@EVERY_BACKEND
@pytest.mark.parametrize("name", IN_FLOAT32)
def test_a_float32_matrix_can_go_on_in_float64(backend, name):
    gram, K, index = make(backend, name, dtype=np.float32), exact(name), np.array([5, 17, 200])
    wide, part = gram.in_float64(), gram.take(index).in_float64()
    assert (gram.dtype, wide.dtype, part.dtype) == (np.float32, np.float64, np.float64)
    assert wide.in_float64() is wide
    close(wide.block(np.arange(200)), K[:200, :200], 1e-11)
    close(part.matrix(), K[np.ix_(index, index)], 1e-11)
    f, g = np.zeros(N), np.zeros(3)
    wide.add_product(f, index, np.ones(3))
    part.add_product(g, np.arange(3), np.ones(3))
    close(f, K[:, index].sum(axis=1), 1e-11)
    close(g, K[np.ix_(index, index)].sum(axis=1), 1e-11)


@EVERY_BACKEND
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("slots", [0, 1, 5, 140, 10_000])
def test_updates_are_right_whatever_fits_in_the_cache(backend, dtype, slots):
    size = slots * N * np.dtype(dtype).itemsize
    gram, K = make(backend, "laplacian", dtype=dtype, cache_bytes=size), exact("laplacian")
    rng, f, beta = np.random.default_rng(1), np.zeros(N), np.zeros(N)
    for count in (3, 200, 3, 130, 150, 300, 1, 200):
        index = np.sort(rng.choice(N, size=count, replace=False))
        delta = rng.normal(size=count)
        gram.add_product(f, index, delta)
        beta[index] += delta
        close(f, K @ beta, 1e-11 if dtype == np.float64 else 1e-5)
        cache = gram._cache
        scratch = 0 if cache._scratch is None else cache._scratch.nbytes
        assert cache.values.nbytes + scratch <= max(size, cache.values.itemsize * N)  # one row there must be


@EVERY_BACKEND
def test_kernel_values_are_counted_when_they_are_computed(backend):
    gram = make(backend, "laplacian", cache_bytes=2**24)
    f, index = np.zeros(N), np.arange(0, N, 2)
    gram.add_product(f, index, np.ones(len(index)))
    assert gram.entries == len(index) * N
    gram.add_product(f, index, np.ones(len(index)))
    assert gram.entries == len(index) * N
    gram.add_product(f, np.array([0, 1]), np.ones(2))
    assert gram.entries == (len(index) + 1) * N
    gram.cross(np.arange(3), np.arange(5))
    assert gram.entries == (len(index) + 1) * N + 15
    assert gram.take(index).entries == 0
    none = make(backend, "laplacian", cache_bytes=0)
    for _ in range(2):
        none.add_product(f, index, np.ones(len(index)))
    assert none.entries == 2 * len(index) * N


def features(count, density=None):
    """Rows of so many features, or of so many non-zeros among many more."""
    rng = np.random.default_rng(5)
    if density is None:
        return rng.normal(size=(N, count))
    return sp.random_array((N, round(count / density)), density=density, random_state=rng, format="csr")


RECOMPUTED = {
    "few features": (Gaussian(0.3), features(4)),
    "as many as pay": (Gaussian(0.01), features(RECOMPUTED_FEATURES)),
    "few values that are not zero": (Gaussian(0.3), features(50, density=0.05)),
    "a composite of one dot product": (Gaussian(0.3) + 0.1 * Linear() ** 2, features(4)),
}
KEPT = {
    "many features": (Gaussian(0.01), features(RECOMPUTED_FEATURES + 1)),
    "many values that are not zero": (Gaussian(0.01), features(200, density=0.05)),
    "no dot product": (Laplacian(0.3), features(4)),
    "two products": (Gaussian(0.3) + Linear().of(lambda P: P[:, :2]), features(4)),
}


def updates(gram, K, dtype):
    """Numbers of kernel values computed by the same update done three times, each checked."""
    f, index, delta = np.zeros(N), np.arange(0, N, 3), np.random.default_rng(6).normal(size=N // 3)
    computed = []
    for times in (1, 2, 3):
        before = gram.entries
        gram.add_product(f, index, delta)
        computed.append(gram.entries - before)
        close(f, times * (delta @ K[index]), 1e-11 if dtype == np.float64 else 1e-4)
    return computed


EVERY_DTYPE = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)


@EVERY_DTYPE
@pytest.mark.parametrize("case", list(RECOMPUTED))
def test_rows_that_are_cheap_to_compute_are_not_kept(case, dtype):
    kernel, X = RECOMPUTED[case]
    gram = KernelGram(get_backend("numba"), kernel, X, dtype=dtype)
    assert gram.recomputes
    assert updates(gram, kernel(X), dtype) == [N // 3 * N] * 3
    assert gram._cache is None


@EVERY_DTYPE
@pytest.mark.parametrize("case", list(KEPT))
def test_rows_that_are_not_cheap_are_kept(case, dtype):
    kernel, X = KEPT[case]
    gram = KernelGram(get_backend("numba"), kernel, X, dtype=dtype)
    assert not gram.recomputes
    assert updates(gram, kernel(X), dtype) == [N // 3 * N, 0, 0]
    assert (gram._cache.slots(np.arange(0, N, 3)) >= 0).all()


@pytest.mark.parametrize("case", [*RECOMPUTED, *KEPT])
def test_the_reference_back_end_keeps_every_row(case):
    kernel, X = {**RECOMPUTED, **KEPT}[case]
    gram = KernelGram(get_backend("numpy"), kernel, X)
    assert not gram.recomputes
    assert updates(gram, kernel(X), np.float64) == [N // 3 * N, 0, 0]


@EVERY_BACKEND
@pytest.mark.parametrize("name", ["gaussian", "laplacian"])
def test_two_threads_give_what_one_gives(backend, name):
    kernel, X = DATA[name][0], np.random.default_rng(2).normal(size=(900, 4))
    one, two = (KernelGram(get_backend(backend), kernel, X, threads=t) for t in (1, 2))
    beta = np.random.default_rng(3).normal(size=900)
    close(two.matrix(), one.matrix(), 1e-13)
    close(two.product(beta), one.product(beta), 1e-13)
    f, g, index = np.zeros(900), np.zeros(900), np.arange(700)
    for _ in range(2):  # the second time from the cache
        one.add_product(f, index, beta[index])
        two.add_product(g, index, beta[index])
    close(g, f, 1e-13)


def room_for(slots, n=10):
    """A cache of so many slots beside its scratch space of one."""
    cache = RowCache(n, np.float64, (slots + 1) * n * 8)
    assert cache.values.shape == (slots, n)
    assert cache.piece == 1
    return cache


def test_the_least_recently_used_line_goes_first():
    cache = room_for(3)
    for row in (4, 5, 6):
        cache.slots(np.array([row]))
        values, slots = cache.reserve(np.array([row]), keep=np.array([row]))
        assert values is cache.values
        values[slots] = row
    assert (cache.slots(np.array([4])) >= 0).all()  # 4 is used again, so 5 is the oldest
    cache.reserve(np.array([7]), keep=np.array([7]))
    held = cache.slots(np.arange(10)) >= 0
    assert np.flatnonzero(held).tolist() == [4, 6, 7]
    assert (cache.values[cache.slots(np.array([4, 6]))] == [[4], [6]]).all()


def test_lines_in_use_are_not_thrown_out():
    cache = room_for(2)
    for row in (1, 2):
        cache.reserve(np.array([row]), keep=np.array([1, 2, 3]))
    values, slots = cache.reserve(np.array([3]), keep=np.array([1, 2, 3]))
    assert values is not cache.values
    assert values[slots].shape == (1, 10)
    assert (cache.slots(np.array([1, 2])) >= 0).all()
    assert cache.slots(np.array([3]))[0] == -1


def test_a_cache_without_room_is_scratch_space():
    cache = RowCache(10, np.float32, 39)
    values, slots = cache.reserve(np.array([4]), keep=np.array([4]))
    assert cache.values.shape == (0, 10)
    assert values[slots].shape == (1, 10)
    assert (cache.slots(np.arange(10)) == -1).all()


ORDINARY = np.random.default_rng(0).normal(size=(50, 3))
SAFE = [
    (Linear(), ORDINARY, True),
    (Gaussian(1.0), ORDINARY, True),
    (Laplacian(1.0), ORDINARY, True),
    (Gaussian(1.0), sp.csr_array(ORDINARY), True),
    (Gaussian(1e4), ORDINARY, False),
    (Linear(), 1e13 * ORDINARY, False),
    (Linear(), 1e-14 * ORDINARY, False),
    (Gaussian(1.0), 1e4 * ORDINARY, False),
    (Exponential(1.0), ORDINARY, False),
    (Matern(1.5), ORDINARY, False),
    (QuadraticForm(np.eye(3)), ORDINARY, False),
    (Function(linear_kernel), ORDINARY, False),
    (Linear(), np.zeros((5, 3)), False),
    (Cosine(), ORDINARY, True),
    (Polynomial(3), ORDINARY, True),
    (Polynomial(3), 1e7 * ORDINARY, False),  # (1e14)^3 is more than float32 holds
    (Linear() ** 4, 1e6 * ORDINARY, False),
    (Linear().exp(), 5.0 * ORDINARY, False),  # e^100 is more than float32 holds
    ((20 * Linear()).exp(), 10.0 * ORDINARY, False),
]


@pytest.mark.parametrize(("kernel", "X", "safe"), SAFE, ids=lambda v: name_of(v) if not hasattr(v, "shape") else "X")
def test_float32_is_chosen_only_where_it_is_safe(kernel, X, safe):
    assert bool(float32_is_safe(kernel, X)) is safe
    gram = KernelGram(get_backend("numpy"), kernel, X, dtype=None)
    assert gram.dtype == (np.float32 if safe else np.float64)
    if safe:
        close(gram.block(np.arange(50)), kernel(X), 1e-3)


@EVERY_BACKEND
def test_a_precomputed_matrix_in_float32_is_looked_up_right(backend):
    K = exact("precomputed")
    part = make(backend, "precomputed", dtype=np.float32).take(np.array([5, 7]))
    close(part.matrix(), K[np.ix_([5, 7], [5, 7])])
    close(make(backend, "precomputed", dtype=np.float32).product(np.ones(N), np.array([3])), K[[3]] @ np.ones(N))
