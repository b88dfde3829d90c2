"""The back end: about ten operations of our field, and what is the same in all of them.

A back end fills base tiles, runs kernel programs over them, and solves working sets. Outer loops, caches and
stopping rules are not its business. :class:`Backend` holds the parts every back end shares; the NumPy one is
the reference, the Numba one is fast, and both pass one contract suite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin._stop import heed
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends._box import BlockOptions
from maxmargin.backends._design import Design
from maxmargin.backends._rows import Csr, Lookup, Rows, _slice, prepare
from maxmargin.backends._threads import run_shares
from maxmargin.kernels import Code, Kernel, Program

#: Bytes of one tile in work: it stays in the second-level cache between the product and the elementwise pass.
TILE_BYTES = 2**19
#: A tile with fewer kernel values than this is not worth handing to a second thread.
VALUES_PER_THREAD = 2**17


#: Values of sparse rows made dense at a time.
DENSE_VALUES = 2**20
#: Rows from which on it pays to look whether dense ones are mostly zeros.
SPARSE_ROWS = 256
#: Rows of a panel of a symmetric matrix.
PANEL = 128


class BlockResult(NamedTuple):
    """Outcome of one call of an inner solver: steps taken, violation left, budget left."""

    steps: int
    violation: float
    slack: float


class Backend(ABC):
    """Operations on tiles and working sets; frozen and without state."""

    name: str
    #: Whether the inner solvers can fill rows of K by themselves (``lazy``).
    fills_rows: bool = False

    # -- what a back end must provide ------------------------------------------------------------------------

    @abstractmethod
    def sparse_dot(self, A: Array, B: Csr, out: Array) -> None:
        """out[r, c] = A[r] . B[c] for dense A (m, d) and sparse B."""

    @abstractmethod
    def distances(self, kind: str, A: Array, B: Array, out: Array) -> None:
        """out[r, c] = 'l1' or 'chi2' distance of dense rows."""

    @abstractmethod
    def run_program(
        self,
        code: Code,
        tiles: Array,  # (n_bases, m, w)
        left: FloatArray,  # (n_scalars, m)
        right: FloatArray,  # (n_scalars, w)
        out: Array,  # (?, n)
        slots: IntArray,  # (m,) slot in out for each row of the tile
        start: int,
    ) -> None:
        """out[slots[r], start + c] = program of tiles[:, r, c]; the one elementwise pass."""

    @abstractmethod
    def accumulate(self, f: FloatArray, rows: Array, slots: IntArray, delta: FloatArray, start: int, stop: int) -> None:
        """f[start:stop] += delta @ rows[slots, start:stop]."""

    @abstractmethod
    def pair_block(
        self, K: Array, grad: FloatArray, beta: FloatArray, box: Any, options: Any, lazy: Any = None
    ) -> BlockResult:
        """Pairwise steps that keep the sum of beta, on one working set, in place."""

    @abstractmethod
    def free_block(
        self, K: Array, grad: FloatArray, beta: FloatArray, box: Any, options: Any, lazy: Any = None
    ) -> BlockResult:
        """Steps without the sum constraint (no intercept), on one working set, in place."""

    @abstractmethod
    def newton(
        self,
        K: Array,
        linear: FloatArray,
        beta: FloatArray,
        box: Any,
        epsilon: float,
        balance: bool,
        spent: bool,
        max_solves: int,
    ) -> bool:
        """Newton steps on the free variables, in place; False if K is not definite there."""

    @abstractmethod
    def largest(self, values: FloatArray, count: int) -> IntArray:
        """Positions of about the ``count`` largest finite values: which of nearly equal ones does not matter."""

    def polish(
        self,
        K: Array,
        linear: FloatArray,
        beta: FloatArray,
        box: Any,
        epsilon: float,
        balance: bool,
        budget: float,
        may_shrink: bool,
        polished: float,
        lazy: Any = None,
    ) -> None:
        """Newton steps and inner solver in turn, in place, until the violation is ``polished`` times the scores' size.

        ``budget`` is inf where there is none. Never a worse point.
        """
        best, two_sided = np.inf, budget < np.inf
        inner = self.pair_block if balance else self.free_block
        for _ in range(20):
            left = budget - np.abs(beta).sum()
            slack = left if not two_sided or (may_shrink and left > 1e-12 * budget) else 0.0
            candidate = beta.copy()
            if not self.newton(K, linear, candidate, box, epsilon, balance, two_sided and slack == 0, 20):
                return
            if two_sided and slack > 0:
                slack = budget - np.abs(candidate).sum()
                if slack < 0:
                    return
            support = np.flatnonzero(candidate)  # the rows of K that are sure to be filled
            grad = candidate[support] @ K[support] + linear
            target = polished * max(1.0, float(np.abs(grad).max(initial=0.0)))
            options = BlockOptions(epsilon, two_sided, may_shrink, slack, target, 50 + 5 * len(beta))
            violation = inner(K, grad, candidate, box, options, lazy).violation
            if not violation < best:
                return
            best = violation
            beta[:] = candidate
            if violation <= target:
                return

    def streams(self, program: Program) -> bool:
        """Whether :meth:`add_product` works block by block in cache and stores no kernel values unless asked to."""
        return False

    # -- where data live --------------------------------------------------------------------------------------

    def design(self, X: RowData, threads: int = 1) -> Design:
        """The rows of a linear model, as its solvers want them."""
        return Design(X, threads)

    def gram(self, kernel: Kernel, X: RowData, **options: Any) -> Any:
        """The Gram matrix of training rows, as solvers want it (``maxmargin.solvers.Gram``)."""
        from maxmargin.backends._gram import KernelGram

        return KernelGram(self, kernel, X, **options)

    def prepare(
        self,
        program: Program,
        X: RowData,
        like: Rows | None = None,
        columns: IntArray | None = None,
        dtype: Any = np.float64,
    ) -> Rows:
        """Rows of ``X`` for :meth:`product`."""
        many = X.shape[0] >= SPARSE_ROWS if hasattr(X, "shape") else False
        return prepare(program, X, dtype, like, columns, may_be_sparse=many)

    # -- what they share -------------------------------------------------------------------------------------

    def tile(
        self,
        program: Program,
        A: Rows,
        B: Rows,
        out: Array | None = None,
        slots: IntArray | None = None,
        threads: int = 1,
        column: int = 0,
    ) -> Array:
        """Kernel values of A's rows against B's, written to ``out[slots, column:]`` (a new array by default)."""
        if out is None:
            out = np.empty((A.n, B.n), dtype=B.dtype)
        self._tiles(program, A, B, out, np.arange(A.n) if slots is None else slots, threads, column)
        return out

    def add_product(
        self,
        program: Program,
        A: Rows,
        B: Rows,
        delta: FloatArray,
        f: FloatArray,
        threads: int = 1,
        out: Array | None = None,
        slots: IntArray | None = None,
    ) -> None:
        """f += delta @ K(A, B); the kernel values are also kept in ``out[slots]`` if that is given."""
        if out is not None and slots is not None:
            rows, at = out, slots
            self._tiles(program, A, B, rows, at, threads, then=lambda a, b: self.accumulate(f, rows, at, delta, a, b))
            return
        scratch = np.empty((min(A.n, PANEL), B.n), dtype=B.dtype)
        for first in range(0, A.n, PANEL):
            part = A.slice(first, min(first + PANEL, A.n))
            self.add_product(program, part, B, delta[first : first + PANEL], f, threads, scratch, np.arange(part.n))

    def add_products(
        self, program: Program, A: Rows, B: Rows, delta: FloatArray, f: FloatArray, threads: int = 1
    ) -> None:
        """f += delta @ K(A, B) for many sums at once, f (k, n) and delta (k, m)."""
        for first in range(0, A.n, PANEL):
            part = slice(first, min(first + PANEL, A.n))
            values = self.tile(program, A.slice(part.start, part.stop), B, threads=threads)
            f += delta[:, part].astype(values.dtype) @ values

    def _tiles(
        self,
        program: Program,
        A: Rows,
        B: Rows,
        out: Array,
        slots: IntArray,
        threads: int,
        column: int = 0,
        then: Any = None,
    ) -> None:
        """A tile in pieces; ``then(start, stop)`` is called as soon as the columns start..stop are done."""
        if A.n == 0 or B.n == 0:
            return
        width = max(64, TILE_BYTES // (max(1, len(program.bases)) * A.n * B.dtype.itemsize))
        threads = max(1, min(threads, A.n * B.n // VALUES_PER_THREAD))

        def share(first: int, last: int) -> None:
            buffer = np.empty(len(program.bases) * A.n * min(width, last - first), dtype=B.dtype)
            for start in range(first, last, width):
                stop = min(start + width, last)
                right = B if stop - start == B.n else B.slice(start, stop)
                tiles = buffer[: len(program.bases) * A.n * (stop - start)]
                tiles = tiles.reshape(len(program.bases), A.n, stop - start)
                for number, base in enumerate(program.bases):
                    self._base_tile(base, A.bases[number], right.bases[number], tiles[number])
                self.run_program(program.code, tiles, A.scalars, right.scalars, out, slots, column + start)
                if then is not None:
                    then(start, stop)

        run_shares(share, B.n, threads)

    def symmetric_tile(
        self, program: Program, rows: Rows, threads: int = 1, out: Array | None = None, heeds: bool = False
    ) -> Array:
        """Kernel values among ``rows``: the upper triangle by panels, mirrored.

        ``heeds``: between two panels it may end with :class:`Stopped`. A solver's block must not: the solver looks up
        between its rounds, and has a point to deliver.
        """
        n = rows.n
        out = np.empty((n, n), dtype=rows.dtype) if out is None else out
        for first in range(0, n, PANEL):
            if heeds:
                heed()
            last = min(first + PANEL, n)
            left, right = rows.slice(first, last), rows.slice(first, n)
            self.tile(program, left, right, out=out, slots=np.arange(first, last), threads=threads, column=first)
            out[last:, first:last] = out[first:last, last:].T
        return out

    def product(
        self, program: Program, A: Rows, B: Rows, coef: FloatArray, threads: int = 1, short_sum: int = 512
    ) -> FloatArray:
        """K(A, B) @ coef in float64, (n,) or (n, k), in bounded memory.

        At most ``short_sum`` terms, a multiple of 64, are summed in the precision of the tiles.
        """
        coef = np.asarray(coef, dtype=np.float64)
        result = np.zeros((A.n, *coef.shape[1:]))
        height = 256
        work = max(1, min(threads, A.n * B.n // VALUES_PER_THREAD))

        def share(first: int, last: int) -> None:
            for top in range(first, last, height):
                end = min(top + height, last)
                left = A.slice(top, end)
                for start in range(0, B.n, short_sum):
                    stop = min(start + short_sum, B.n)
                    values = self.tile(program, left, B.slice(start, stop))
                    result[top:end] += values @ coef[start:stop].astype(values.dtype)

        run_shares(share, A.n, work)
        return result

    def symmetric_product(self, program: Program, A: Rows, coef: FloatArray, threads: int = 1) -> FloatArray:
        """K(A, A) @ coef; where it pays every pair of rows is computed once."""
        return self.product(program, A, A, coef, threads)

    def many_products(
        self, program: Program, rows: Rows, pointers: IntArray, index: IntArray, coef: FloatArray, threads: int = 1
    ) -> FloatArray:
        """(k, positions) sums by ``coef`` of every task over its own rows, in the rows' precision.

        Positions pointers[t] to pointers[t + 1] are task t, and ``index`` says which of ``rows`` each of them is.
        """
        f = np.zeros(coef.shape)
        for first, last in pairwise(pointers.tolist()):
            own, table = rows.take(index[first:last]), coef[:, first:last]
            used = np.flatnonzero(table.any(axis=0))
            f[:, first:last] = self.product(program, own, own.take(used), table[:, used].T, threads).T
        return f

    def gathered(self, K: Array, index: IntArray, dtype: Any, threads: int = 1) -> Array:
        """K[index, index] in another precision."""
        return np.asarray(K)[np.ix_(index, index)].astype(dtype)

    def stored_products(
        self, K: Array, pointers: IntArray, rows: IntArray, coef: FloatArray, threads: int = 1
    ) -> FloatArray:
        """K coef in float64 of many tasks laid end to end, position p being row ``rows[p]`` of a stored matrix."""
        f = np.empty(len(coef))
        for first, last in pairwise(pointers.tolist()):
            own = rows[first:last]
            f[first:last] = coef[first:last] @ K[np.ix_(own, own)]
        return f

    def _base_tile(self, base: Any, A: Any, B: Any, out: Array) -> None:
        """Values of one base for every pair of rows, before the program."""
        if base.kind == "precomputed":
            out[...] = A.matrix[np.ix_(A.row, B.row)] if isinstance(B, Lookup) else A.matrix
        elif base.kind == "function":
            out[...] = base.function(A, B)
        elif base.kind == "dot":
            if isinstance(A, Csr):
                self._sparse_rows(A, B, out)
            elif isinstance(B, Csr):
                self.sparse_dot(A, B, out)
            else:
                np.dot(A, B.T, out=out)
        else:
            self.distances(base.kind, A, B, out)

    def _sparse_rows(self, A: Csr, B: Any, out: Array) -> None:
        """Dot products with sparse A: a few of its rows at a time are made dense."""
        height = max(64, DENSE_VALUES // max(A.d, 1))
        for first in range(0, len(out), height):
            some = _slice(A, first, min(first + height, len(out))).matrix().toarray()
            if isinstance(B, Csr):
                self.sparse_dot(some, B, out[first : first + height])
            else:
                np.dot(some, B.T, out=out[first : first + height])
