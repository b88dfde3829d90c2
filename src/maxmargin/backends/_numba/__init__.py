"""The fast back end: the same operations, compiled by Numba."""

from __future__ import annotations

from functools import partial

import numpy as np

from maxmargin.backends._base import Backend, BlockResult
from maxmargin.backends._box import all_filled
from maxmargin.backends._numba import coordinate, program, small, smo, tiles
from maxmargin.backends._numba import newton as newton_steps
from maxmargin.backends._threads import run_parallel


class NumbaBackend(Backend):
    """Hot loops compiled on first use and cached on disk."""

    name = "numba"
    fills_rows = True

    def sparse_dot(self, A, B, out):
        tiles.sparse_dot(np.ascontiguousarray(A), B.indptr, B.indices, B.data, out)

    def distances(self, kind, A, B, out):
        (tiles.l1_distances if kind == "l1" else tiles.chi2_distances)(A, B, out)

    def run_program(self, code, tiles, left, right, out, lines, start):
        program.run_program(*code, tiles, left, right, out, lines, start)

    def accumulate(self, f, rows, lines, delta, start, stop):
        tiles.accumulate(f, rows, lines, delta, start, stop)

    def pair_block(self, K, grad, beta, box, options, lazy=None):
        lazy = all_filled(len(K)) if lazy is None else lazy
        return BlockResult(*smo.pair_block(K, lazy, grad, beta, *box, *options))

    def free_block(self, K, grad, beta, box, options, lazy=None):
        lazy = all_filled(len(K)) if lazy is None else lazy
        return BlockResult(*coordinate.free_block(K, lazy, grad, beta, *box, *options))

    def newton(self, K, linear, beta, box, epsilon, balance, spent, max_solves):
        return newton_steps.newton(K, linear, beta, box.lower, box.upper, epsilon, balance, spent, max_solves)

    def polish(self, K, linear, beta, box, epsilon, balance, budget, may_shrink, polished, lazy=None):
        if not balance:  # rare: not worth compiling a second time
            super().polish(K, linear, beta, box, epsilon, balance, budget, may_shrink, polished, lazy)
            return
        lazy = all_filled(len(K)) if lazy is None else lazy
        small.polish(K, lazy, linear, beta, *box, epsilon, budget, may_shrink, polished)

    def solve_many(self, batch, threads):
        def strip(first):
            small.solve_many(*batch, first, threads, steps, violations, entries)

        count = len(batch.pointers) - 1
        steps, violations, entries = np.zeros(count, dtype=np.int64), np.full(count, np.inf), np.zeros(count, np.int64)
        run_parallel([partial(strip, first) for first in range(threads)], threads)
        return steps, violations, entries
