"""The Gram matrix of the training rows as solvers see it: blocks, products, and a row cache of bounded size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends._base import VALUES_PER_THREAD, Backend
from maxmargin.backends._box import LazyRows
from maxmargin.backends._cache import RowCache
from maxmargin.backends._rounding import SHORT_SUM, ErrorBound, float32_is_safe, given_error
from maxmargin.backends._rows import Csr, Rows, by_appearance, prepare
from maxmargin.backends._threads import run_shares
from maxmargin.kernels import Kernel, Program

#: Values of rows that are converted to float64 at a time.
FLOAT64_VALUES = 2**22
#: Most values of rows that meet themselves and are converted at once, and fewest of those rows.
MIRRORED_VALUES, MIRRORED_ROWS = 2**24, 1024
#: Kernel values computed in one call: between two calls Ctrl-C is heard.
AT_ONCE = 2**28
#: Columns whose partial sums stay in the L1 cache during a gradient update.
PIECE = 2048
#: Up to this many features (non-zeros of sparse rows) a row of K is computed about as fast as it is fetched.
RECOMPUTED_FEATURES = 96
#: Up to this many features a line of K is about as cheap alone as in a block.
LAZY_FEATURES = 32
#: Up to this many features (non-zeros of sparse rows) the matrix of a small problem is cheap beside its solution.
CHEAP_FEATURES = 128
#: Terms of a sum of a proof in the tiles' precision: its error grows with them.
PROOF_SUM = 64
#: Rows are of about one size where no squared norm is larger than so many times the mean.
OUTLYING = 4.0


class KernelGram:
    """K[i, j] = k(x_i, x_j) on the rows ``index`` of ``X`` (all by default), computed on demand.

    Parameters
    ----------
    cache_bytes : int
        Hard bound on stored kernel values.
    dtype : dtype or None
        Precision of the tiles; None picks float32 where the data allow it.
    """

    def __init__(
        self,
        backend: Backend,
        kernel: Kernel,
        X: RowData,
        *,
        cache_bytes: int = 2**28,
        threads: int = 1,
        dtype: type | None = np.float64,
    ):
        self.backend, self.kernel, self.X = backend, kernel, X
        self.cache_bytes, self.threads = cache_bytes, threads
        self.program: Program = kernel.lower()
        chosen = np.float64 if dtype is None else dtype
        if dtype is None and float32_is_safe(kernel, X):
            chosen = np.float32
        self.rows: Rows = prepare(self.program, X, chosen, may_be_sparse=dtype is None)
        if isinstance(X, np.ndarray) and self.rows.bases and isinstance(self.rows.bases[0], Csr):
            self.X = self._sparse(X)
        self.index: IntArray | None = None
        self.diagonal: FloatArray = kernel.diag(X)
        self.entries = 0
        self._cache: RowCache | None = None
        self._memory: list[Array] = [np.empty(0)]  # of blocks: touching new memory takes longer than filling it

    def _sparse(self, X: Array) -> RowData:
        """Dense rows that are zeros mostly, in CSR: parts of them are then quicker to take."""
        shifted = self.rows.centers[0] is not None or self.program.bases[0].views
        if shifted:
            return X
        return self.rows.bases[0].matrix() if X.dtype == self.dtype else sp.csr_array(X)

    @property
    def n(self) -> int:
        return self.rows.n

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def take(self, index: IntArray, threads: int = 1, cache_bytes: int | None = None) -> KernelGram:
        """The Gram matrix of some of the rows; prepared data are shared, not prepared again."""
        own = index if self.index is None else self.index[index]
        part = self.beside(threads)._with(rows=self.rows.take(index), index=own, diagonal=self.diagonal[index])
        return part if cache_bytes is None else part._with(cache_bytes=cache_bytes)

    def within(self, index: IntArray) -> KernelGram:
        """:meth:`take`, to be used in turn with this one, never beside it: they share threads and memory of blocks."""
        return self.take(index, self.threads)._with(_memory=self._memory)

    def beside(self, threads: int) -> KernelGram:
        """The same matrix for another thread: with memory and a count of values of its own."""
        return self._with(threads=threads, entries=0, _cache=None, _memory=[np.empty(0)])

    def in_float64(self) -> KernelGram:
        """The same matrix computed in float64 throughout."""
        return self if self.dtype == np.float64 else self._with(rows=self._float64_rows(None), _cache=None)

    def _with(self, **changes: Any) -> KernelGram:
        part = object.__new__(KernelGram)
        part.__dict__.update(self.__dict__, **changes)
        return part

    def block(self, index: IntArray) -> Array:
        """(q, q) values among the rows ``index``, with an exact diagonal; the next call overwrites them."""
        q = len(index)
        if self._memory[0].size < q * q or self._memory[0].dtype != self.dtype:
            self._memory[0] = np.empty(q * q, dtype=self.dtype)
        out = self._memory[0][: q * q].reshape(q, q)
        return self._symmetric(self.rows.take(index), self.diagonal[index], out)

    def matrix(self, heeds: bool = False) -> FloatArray:
        """The whole matrix in float64; ``heeds`` as in :meth:`Backend.symmetric_tile`."""
        return self._symmetric(self._float64_rows(None), self.diagonal, heeds=heeds)

    def stored(self, index: IntArray, dtype: Any) -> tuple[Array, FloatArray]:
        """(the matrix of the rows ``index`` in their order, in this precision; its diagonal)."""
        if self.is_given:
            own = index if self.index is None else self.index[index]
            self.entries += len(own) ** 2 // 2
            return self.backend.gathered(self.X, own, dtype, self.threads), self.diagonal[index]
        part = self if np.array_equal(index, np.arange(self.n)) else self.take(index, self.threads)
        values = part._symmetric(part.rows, part.diagonal, heeds=True)
        self.entries += values.size // 2 if part is not self else 0
        return values.astype(dtype, copy=False), part.diagonal

    @property
    def is_given(self) -> bool:
        """Whether kernel values are what the user gave."""
        return [base.kind for base in self.program.bases] == ["precomputed"] and len(self.program.operations) == 1

    @property
    def _is_at_hand(self) -> bool:
        """Whether the values that the user gave can be read where they are."""
        return self.is_given and self.X.dtype == np.float64 and self.X.flags.forc

    @property
    def is_compiled(self) -> bool:
        """Whether kernel values come from compiled code, or are given; not from somebody's function."""
        return all(base.kind != "function" and not base.views for base in self.program.bases)

    @property
    def streams_densely(self) -> bool:
        """Whether sums of many small tasks are one compiled call that stores no values."""
        return self.backend.streams(self.program) and isinstance(self.rows.bases[0], np.ndarray)

    @property
    def largest_block(self) -> int:
        """Most rows of a working set: its block takes at most a quarter of the cache."""
        return max(2, int(np.sqrt(self.cache_bytes / 4 / self.dtype.itemsize)))

    def fits_whole(self, rows: int) -> bool:
        """Whether the whole matrix, of at most ``rows`` rows, may be stored in float64."""
        cheap = self.backend.streams(self.program) and self.rows.features <= CHEAP_FEATURES
        most = rows if cheap else rows // 4
        return self.n <= most and 8 * self.n**2 <= self.cache_bytes

    @property
    def fills_rows(self) -> bool:
        """Whether rows of the matrix can be filled one by one inside compiled code at little cost."""
        one_product = len(self.program.bases) == 1 and self.program.bases[0].kind == "dot"
        dense = one_product and isinstance(self.rows.bases[0], np.ndarray)
        return self.backend.fills_rows and dense and self.rows.bases[0].shape[1] <= CHEAP_FEATURES

    def features(self) -> FloatArray:
        """The rows in float64, feature by feature, (d, n); where :attr:`fills_rows`."""
        return np.ascontiguousarray(self._float64_rows(None).bases[0].T)

    def lazy_matrix(self, index: IntArray) -> tuple[FloatArray, LazyRows | None]:
        """The whole matrix in float64 with the rows ``index`` filled, the others on demand where that is possible."""
        pair_of_classes = self.index is not None  # few support vectors: most rows are never asked for
        if not self.fills_rows or (self.rows.features > LAZY_FEATURES and not pair_of_classes):
            return self.matrix(), None
        rows = self._float64_rows(None)
        K = np.empty((self.n, self.n))
        lazy = LazyRows(np.zeros(self.n, dtype=np.bool_), self.features(), rows.scalars, self.program.code)
        if len(index):
            self.backend.tile(self.program, rows.take(index), rows, out=K, slots=index, threads=self.threads)
            K[index, index] = self.diagonal[index]
            lazy.filled[index] = True
        return K, lazy

    def cross(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """K[rows, columns] in float64."""
        A, B = self._float64_rows(rows), self._float64_rows(columns)
        self.entries += A.n * B.n
        return self.backend.tile(self.program, A, B, threads=self.threads)

    def add_product(self, f: FloatArray, index: IntArray, delta: FloatArray) -> None:
        """f += K[:, index] @ delta; kernel rows come from the cache or go there, unless computing them is as cheap."""
        if self.recomputes:
            self._add_rows(f, index, delta)
            return
        if self._cache is None:
            self._cache = RowCache(self.n, self.dtype, self.cache_bytes - self.cache_bytes // 4)
        cache = self._cache
        slots = cache.slots(index)
        known = slots >= 0
        if known.any():
            self._accumulate(f, cache.values, slots[known], delta[known])
        missing, weights = index[~known], delta[~known]
        for first in range(0, len(missing), cache.piece):
            rows = missing[first : first + cache.piece]
            self._add_rows(f, rows, weights[first : first + cache.piece], *cache.reserve(rows, keep=index))

    @property
    def recomputes(self) -> bool:
        """Whether rows of K are computed anew each time, because that takes no longer than to keep them."""
        return self.backend.streams(self.program) and self.rows.features <= RECOMPUTED_FEATURES

    def product(self, beta: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """K[rows] @ beta afresh in float64 (all rows by default), beta being (n,) or (n, k)."""
        support = np.flatnonzero(beta if beta.ndim == 1 else beta.any(axis=1))
        return self._product(support, beta[support], np.arange(self.n) if rows is None else rows)

    def _product(self, support: IntArray, coef: FloatArray, rows: IntArray) -> FloatArray:
        """K[rows, support] @ coef in float64."""
        result = np.zeros((len(rows), *coef.shape[1:]))
        self.entries += len(rows) * len(support)
        height = max(256, int(FLOAT64_VALUES / max(1.0, self.rows.features)))
        for start in range(0, len(support), height):  # float32 input is never copied to float64 whole
            part = slice(start, start + height)
            B = self._float64_rows(support[part])
            tall = min(height, max(256, AT_ONCE // B.n))
            for first in range(0, len(rows), tall):
                A = self._float64_rows(rows[first : first + tall])
                result[first : first + tall] += self.backend.product(self.program, A, B, coef[part], self.threads)
        return result

    def mirrors(self, support: IntArray, rows: IntArray) -> bool:
        """Whether rows meet themselves, enough of them and all at once, so that half of the pairs will do."""
        if len(rows) != len(support) or not self.backend.streams(self.program):
            return False
        fits = len(support) * max(1.0, self.rows.features) <= MIRRORED_VALUES
        return fits and len(support) >= MIRRORED_ROWS and bool((rows == support).all())

    def proven_product(
        self, beta: FloatArray, rows: IntArray, in_float64: bool
    ) -> tuple[FloatArray, FloatArray] | None:
        """K[rows] @ beta afresh, in float64 or in the tiles' precision, and a bound on the error of each.

        None where there is no such bound (:class:`ErrorBound`).
        """
        bound = self.error_bound(np.dtype(np.float64) if in_float64 else self.dtype)
        if bound is None:
            return None
        s = self.rows.scalars[0].astype(np.float64)
        support = np.flatnonzero(beta)
        size = np.abs(beta[support])
        sides = [beta[support], size, size * s[support]]
        far = float(s[support].max(initial=0.0))
        if far <= OUTLYING * float(s[support].mean() if len(support) else 0.0):  # of about one size: B <= max(s) A
            sides.pop()
        terms = PROOF_SUM
        if in_float64:
            if self.mirrors(support, rows):
                self.entries += len(support) ** 2 // 2
                own = self._float64_rows(support)
                f, A, *rest = self.backend.symmetric_product(self.program, own, np.column_stack(sides), self.threads).T
            else:
                f, A, *rest = self._product(support, np.column_stack(sides), rows).T
            terms = SHORT_SUM + 2 * len(support) // SHORT_SUM
        else:
            self.entries += len(rows) * len(support)
            left, right = self.rows.take(rows), self.rows.take(support)
            f, A, *rest = self.backend.product(
                self.program, left, right, np.column_stack(sides), self.threads, PROOF_SUM
            ).T
        return f, bound.of(s[rows], A, rest[0] if rest else far * A, terms, float(size.sum()))

    def fresh(
        self, pointers: IntArray, where: IntArray, coef: FloatArray, room: int | None = None
    ) -> tuple[FloatArray, FloatArray | None]:
        """(K coef afresh in float64, proven bounds on its errors where there are any) of many tasks laid end to end.

        Task t is the positions pointers[t] to pointers[t + 1], and ``where`` says which row each position is; kernel
        values may take ``room`` bytes, by default all of the cache.
        """
        if len(pointers) == 2 and not self.is_given:
            part = self if np.array_equal(where, np.arange(self.n)) else self.take(where, self.threads)
            values = part.proven_product(coef, np.arange(part.n), True)
            return (part.product(coef), None) if values is None else values
        counts = np.add.reduceat((coef != 0).astype(np.int64), pointers[:-1])
        order, places = by_appearance(where, self.n)
        fits = self._is_at_hand or 8 * len(order) ** 2 <= (self.cache_bytes if room is None else room)
        if fits and (not self.streams_densely or 2 * int(counts @ np.diff(pointers)) > len(order) ** 2):
            return self._fresh_from_whole(pointers, places, coef, order, int(counts.max()))
        values = self.proven_products(pointers, where, coef)
        if values is not None:
            return values
        self.entries += int(counts @ np.diff(pointers))
        rows = self._float64_rows(None)
        return self.backend.many_products(self.program, rows, pointers, where, coef[None], self.threads)[0], None

    def _fresh_from_whole(
        self, pointers: IntArray, places: IntArray, coef: FloatArray, order: IntArray, terms: int
    ) -> tuple[FloatArray, FloatArray | None]:
        """:meth:`fresh` from the matrix of the rows ``order``, each value of which serves many tasks."""
        if self.is_given:
            own = order if self.index is None else self.index[order]
            rows, K = places, self.X
            if self._is_at_hand:
                rows, K = own[places], K if K.flags.c_contiguous else K.T  # the same but for rounding, which is charged
            else:
                K = self.stored(order, np.float64)[0]
            f = self.backend.stored_products(K, pointers, rows, coef, self.threads)
            return f, given_error(K, pointers, coef, terms)
        part = self if np.array_equal(order, np.arange(self.n)) else self.take(order, self.threads)
        K, before = np.empty((part.n, part.n)), part.entries
        part._symmetric(part.rows, part.diagonal, K, heeds=True)
        self.entries += part.entries - before if part is not self else 0
        f = self.backend.stored_products(K, pointers, places, coef, self.threads)
        return f, self.error_from(K, order, pointers, places, coef)

    def error_from(
        self, K: FloatArray, order: IntArray, pointers: IntArray, places: IntArray, coef: FloatArray
    ) -> FloatArray | None:
        """Bounds on the errors of sums over ``K``, rows ``order`` of the matrix; position p is row ``places[p]``."""
        starts, size = pointers[:-1], np.abs(coef)
        terms = int(np.add.reduceat(coef != 0, starts, dtype=np.int64).max())
        if self.is_given:
            return given_error(K, pointers, coef, terms)
        if (bound := self.error_bound(np.dtype(np.float64))) is None:
            return None
        sizes, s = pointers[1:] - starts, self.rows.scalars[0][order][places]
        A, B = (np.add.reduceat(side, starts).repeat(sizes) for side in (size, s * size))  # no k(x, z) is above 1
        whole = float(A.max())
        if len(s) * float(s.max()) > OUTLYING * float(s.sum()):  # nor near 1 between these rows and others
            A, B = (self.backend.stored_products(K, pointers, places, side, self.threads) for side in (size, s * size))
        return bound.of(s, A, B, terms, whole)

    def proven_products(
        self, pointers: IntArray, where: IntArray, coef: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """:meth:`fresh` where there are such bounds, else None; of a matrix in float64."""
        bound = self.error_bound(np.dtype(np.float64))
        if bound is None:
            return None
        starts, size, s = pointers[:-1], np.abs(coef), self.rows.scalars[0][where]
        sums, counts = np.stack([coef, size, size * s]), np.add.reduceat((coef != 0).astype(np.int64), starts)
        values = int(counts @ np.diff(pointers))
        threads = min(self.threads, len(starts), 1 + values // VALUES_PER_THREAD)
        f, A, B = self.backend.many_products(self.program, self.rows, pointers, where, sums, threads)
        self.entries += values
        terms = SHORT_SUM + 2 * int(counts.max()) // SHORT_SUM
        return f, bound.of(s, A, B, terms, float(np.add.reduceat(size, starts).max()))

    def error_bound(self, kind: np.dtype) -> ErrorBound | None:
        """What is known of the error of sums of kernel values in the precision ``kind``."""
        return ErrorBound.known(self.program, self.rows, kind) if self.backend.streams(self.program) else None

    def _symmetric(self, rows: Rows, diagonal: FloatArray, out: Array | None = None, heeds: bool = False) -> Array:
        values = self.backend.symmetric_tile(self.program, rows, self.threads, out, heeds)
        values.flat[:: len(values) + 1] = diagonal
        self.entries += values.size // 2
        return values

    def _add_rows(
        self,
        f: FloatArray,
        index: IntArray,
        delta: FloatArray,
        values: Array | None = None,
        slots: IntArray | None = None,
    ) -> None:
        """f += K[:, index] @ delta, computed now; the rows are kept in ``values[slots]`` if that is given."""
        self.entries += len(index) * self.n
        A = self.rows.take(index)
        self.backend.add_product(self.program, A, self.rows, delta, f, self.threads, values, slots)

    def _accumulate(self, f: FloatArray, values: Array, slots: IntArray, delta: FloatArray) -> None:
        def share(first: int, last: int) -> None:
            for start in range(first, last, PIECE):
                self.backend.accumulate(f, values, slots, delta, start, min(start + PIECE, last))

        run_shares(share, self.n, min(self.threads, len(slots) * self.n // VALUES_PER_THREAD))

    def _float64_rows(self, rows: IntArray | None) -> Rows:
        if self.dtype == np.float64:
            return self.rows if rows is None else self.rows.take(rows)
        if any(base.kind == "precomputed" for base in self.program.bases):
            own = self.rows if rows is None else self.rows.take(rows)
            return replace(own, scalars=own.scalars.astype(np.float64))  # values are looked up as they are
        index = self.index if rows is None else rows if self.index is None else self.index[rows]
        return prepare(self.program, self.X if index is None else self.X[index], np.float64, like=self.rows)
