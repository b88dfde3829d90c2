"""The whole kernel matrix of some rows for one kernel after another: products once, one elementwise pass per kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray, RowData
from maxmargin.backends._base import Backend
from maxmargin.backends._rows import Rows, prepare
from maxmargin.backends._threads import run_queue
from maxmargin.kernels import Kernel, Program

#: Rows of a panel of the upper triangle.
PANEL = 256
#: Up to this many features products are computed about as fast as they are fetched.
CHEAP_FEATURES = 48
#: Rows looked at to find one in the middle, and how many times smaller the values must get for it to pay.
PROBED, GAINED = 32, 4.0


@dataclass
class WholeMatrix:
    """k(x_i, x_j) of all pairs of rows, computed in float64 and rounded to float32.

    The dot products (or distances) that kernels of one family are made of are kept where that pays and
    ``cache_bytes`` allows it; so is the memory of the matrix, which the next kernel overwrites.
    """

    backend: Backend
    X: RowData
    cache_bytes: int
    threads: int = 1
    _values: Array | None = None
    _kept: dict[int, FloatArray] = field(default_factory=dict)  # first row of a panel -> its base tiles
    _family: object = None

    @staticmethod
    def fits(n: int, cache_bytes: int) -> bool:
        """Whether the matrix of n rows may be stored."""
        return 4 * n**2 <= cache_bytes

    @property
    def n(self) -> int:
        return count(self.X)

    def values(self, kernel: Kernel, balanced: bool = False) -> tuple[Array, FloatArray]:
        """(the matrix in float32, its diagonal in float64); valid until the next call.

        ``balanced``: the coefficients that meet the matrix sum up to 0, so that k(x, z) may be replaced by
        k(x, z) - k(x, o) - k(o, z) + k(o, o), o one of the rows: products of values far from the origin, or nearly
        equal values, would lose their digits in float32.
        """
        program = kernel.lower()
        rows = prepare(program, self.X, np.float64)
        if self._values is None:
            self._values = np.empty((self.n, self.n), dtype=np.float32)
        out, diagonal = self._values, kernel.diag(self.X)
        shift = self._shift(program, rows, diagonal) if balanced else np.zeros(self.n)
        diagonal = diagonal - 2 * shift
        keeps = self._keeps(program, rows)
        if self._family != _family(program):
            self._kept, self._family = {}, _family(program)
        panels = [partial(self._panel, program, rows, first, out, keeps, shift) for first in range(0, self.n, PANEL)]
        run_queue(panels, self.threads)
        out.flat[:: self.n + 1] = diagonal
        return out, diagonal

    def _keeps(self, program: Program, rows: Rows) -> bool:
        """Whether products are kept: half a matrix of them in float64 takes as much room as the matrix."""
        simple = all(base.kind in ("dot", "l1", "chi2") and not base.views for base in program.bases)
        expensive = rows.features > CHEAP_FEATURES or any(base.kind != "dot" for base in program.bases)
        return simple and expensive and 4 * self.n**2 * (1 + len(program.bases)) <= self.cache_bytes

    def _shift(self, program: Program, rows: Rows, diagonal: FloatArray) -> FloatArray:
        """s with k(x_i, o) + k(x_j, o) - k(o, o) = s_i + s_j; 0 where nothing would be gained."""
        probe = np.arange(0, self.n, max(1, self.n // PROBED))
        among = self.backend.tile(program, rows.take(probe), rows.take(probe))
        squares = diagonal[probe] + diagonal[probe][:, None] - 2 * among
        centre = probe[[int(np.argmin(squares.sum(axis=0)))]]
        if not np.abs(diagonal[probe]).max() > GAINED * squares.sum(axis=0).min() / len(probe):
            return np.zeros(self.n)
        return self.backend.tile(program, rows.take(centre), rows)[0] - diagonal[centre] / 2

    def _panel(self, program: Program, rows: Rows, first: int, out: Array, keeps: bool, shift: FloatArray) -> None:
        last = min(first + PANEL, self.n)
        left, right = rows.slice(first, last), rows.slice(first, self.n)
        tile = np.empty((last - first, self.n - first))
        if keeps:
            bases = self._kept.get(first)
            if bases is None:
                bases = np.empty((len(program.bases), *tile.shape))
                for number, base in enumerate(program.bases):
                    self.backend._base_tile(base, left.bases[number], right.bases[number], bases[number])
                self._kept[first] = bases
            slots = np.arange(last - first)
            self.backend.run_program(program.code, bases, left.scalars, right.scalars, tile, slots, 0)
        else:
            self.backend.tile(program, left, right, out=tile)
        if shift.any():
            tile -= shift[first:last, None] + shift[first:]
        out[first:last, first:] = tile
        out[last:, first:last] = tile[:, last - first :].T


def _family(program: Program) -> object:
    """What kernels must share for their products to be the same."""
    return tuple((base.kind, base.views, program.shift_invariant(k)) for k, base in enumerate(program.bases))
