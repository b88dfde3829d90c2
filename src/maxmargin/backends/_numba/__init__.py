"""The fast back end: the same operations, compiled by Numba."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

from maxmargin._stop import heed
from maxmargin.backends._base import VALUES_PER_THREAD, Backend, BlockResult
from maxmargin.backends._numba import program, smo, stored, stream, tiles
from maxmargin.backends._numba.streaming import no_mirror, no_weights, run_stream, stages, streaming, weights_of
from maxmargin.backends._numba.tiles import SHORT_SUM
from maxmargin.backends._rows import Csr
from maxmargin.backends._threads import run_parallel, run_queue, run_shares


class _Later:
    """A module of loops that few fits need, imported when first used."""

    def __init__(self, name: str):
        self._name = f"{__name__}.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


all_classes, choose, coordinate, design = (_Later(name) for name in ("all_classes", "choose", "coordinate", "design"))
dual_coordinate, expansion, newton_steps = (_Later(name) for name in ("dual_coordinate", "expansion", "newton"))
in_step, slopes, small, stochastic = (_Later(name) for name in ("in_step", "slopes", "small", "stochastic"))

#: Rows of a linear model whose elementwise work is worth a second thread.
ROWS_PER_THREAD = 2**15

#: Shares of a product of rows with themselves, and kernel values between two looks at the clock.
MIRRORS, AT_ONCE = 8, 2**25
#: Columns of a symmetric matrix that are computed at once, as far down as the diagonal.
PIECE = 256


class NumbaBackend(Backend):
    """Hot loops compiled on first use and cached on disk.

    Besides the contract of :class:`Backend`, which every back end must fulfil, it has the loops of solvers that run
    nowhere else: linear and stochastic machines, all classes in one problem, batches and stored matrices.
    """

    name = "numba"
    fills_rows = True

    def sparse_dot(self, A, B, out):
        tiles.sparse_dot(np.ascontiguousarray(A), B.indptr, B.indices, B.data, out)

    def streams(self, program):
        return len(program.bases) == 1 and program.bases[0].kind == "dot"

    def tile(self, program, A, B, out=None, slots=None, threads=1, column=0):
        if column or not self.streams(program):
            return super().tile(program, A, B, out, slots, threads, column)
        out = np.empty((A.n, B.n), dtype=B.dtype) if out is None else out
        slots = np.arange(A.n) if slots is None else slots
        run_stream(program, A, B, no_weights(A), np.empty((0, B.n)), slots, out, threads)
        return out

    def symmetric_tile(self, program, rows, threads=1, out=None, heeds=False):
        if not self.streams(program):
            return super().symmetric_tile(program, rows, threads, out, heeds)
        out = np.empty((rows.n, rows.n), dtype=rows.dtype) if out is None else out
        heeds = heeds or rows.n**2 > AT_ONCE  # no block is as large
        if 0 < rows.n <= PIECE and not isinstance(rows.bases[0], Csr):
            if heeds:
                heed()
            code, rate, scalars = stages(program, rows.dtype, rows.scalars)
            stream.stream_whole(rows.bases[0], scalars, code, rate, out)
            return out

        def piece(first):
            if heeds:
                heed()
            last = min(first + PIECE, rows.n)
            upper, slots = rows.slice(0, last), np.arange(last)
            run = streaming(program, upper, rows, no_weights(upper), np.empty((0, rows.n)), slots, out)
            run(*no_mirror(rows), first, last)
            tiles.mirror(out, first, last)

        firsts = range((rows.n - 1) // PIECE * PIECE, -1, -PIECE)  # the longest first
        if rows.n:
            _ = rows.panels if not isinstance(rows.bases[0], Csr) else None  # laid out once, by this thread
            threads = min(threads, len(firsts), 1 + rows.n * rows.n // 2 // VALUES_PER_THREAD)
            run_queue([partial(piece, first) for first in firsts], threads)
        return out

    def add_product(self, program, A, B, delta, f, threads=1, out=None, slots=None):
        if not self.streams(program):
            super().add_product(program, A, B, delta, f, threads, out, slots)
            return
        weights = Csr(np.arange(A.n + 1), np.zeros(A.n, dtype=np.int32), np.asarray(delta, dtype=A.dtype), 1)
        out = np.empty((0, B.n), dtype=B.dtype) if out is None else out
        slots = np.empty(0, dtype=np.intp) if slots is None else slots
        run_stream(program, A, B, weights, f.reshape(1, -1), slots, out, threads)

    def add_products(self, program, A, B, delta, f, threads=1):
        if not self.streams(program):
            super().add_products(program, A, B, delta, f, threads)
            return
        nowhere, unwanted = np.empty(0, dtype=np.intp), np.empty((0, B.n), dtype=B.dtype)
        weights = weights_of(np.ascontiguousarray(delta.T, dtype=A.dtype))
        run_stream(program, A, B, weights, f, nowhere, unwanted, threads)

    def wants(self, f, linear, beta, lower, upper, epsilon, on, goal, least, most, threads):
        """(violation of each task, the rows that it wants to be solved for): see :func:`.in_step.wants`."""
        threads = min(threads, len(f))
        violations, wanted = np.zeros(len(f)), np.empty(f.shape, dtype=np.bool_)

        def share(first):
            in_step.wants(
                f, linear, beta, lower, upper, epsilon, on, goal, least, most, first, threads, violations, wanted
            )

        run_parallel([partial(share, first) for first in range(threads)], threads)
        return violations, wanted

    def product(self, program, A, B, coef, threads=1, short_sum=SHORT_SUM):
        if not self.streams(program):
            return super().product(program, A, B, coef, threads, short_sum)
        weights = weights_of(np.asarray(coef, dtype=B.dtype).reshape(B.n, int(np.prod(coef.shape[1:]))))
        sums = np.zeros((weights.d, A.n))
        nowhere, unwanted = np.empty(0, dtype=np.intp), np.empty((0, A.n), dtype=A.dtype)
        run_stream(program, B, A, weights, sums, nowhere, unwanted, threads, short_sum)
        return np.ascontiguousarray(sums.T).reshape(A.n, *coef.shape[1:])

    def symmetric_product(self, program, A, coef, threads=1):
        if not self.streams(program):
            return super().symmetric_product(program, A, coef, threads)
        table = np.asarray(coef, dtype=A.dtype).reshape(A.n, -1)
        weights, sides = weights_of(table), np.ascontiguousarray(table.T)
        blocks, per_block = -(-A.n // stream.WIDTH), stream.WIDTH * A.n
        shares = min(MIRRORS, blocks)  # the same for any number of threads, and so are the bits
        sums, mirrors = np.zeros((weights.d, A.n)), np.zeros((shares, weights.d, A.n))
        run = streaming(program, A, A, weights, sums, np.empty(0, dtype=np.intp), np.empty((0, A.n), dtype=A.dtype))

        def work(number, first, last):
            for block in range(first + (number - first) % shares, last, shares):
                run(sides, mirrors[number], block * stream.WIDTH, min((block + 1) * stream.WIDTH, A.n))

        at_once = max(shares, AT_ONCE // per_block)
        threads = max(1, min(threads, shares, A.n * A.n // 2 // VALUES_PER_THREAD))
        for first in range(0, blocks, at_once):
            heed()
            last = min(first + at_once, blocks)
            run_parallel([partial(work, number, first, last) for number in range(shares)], threads)
        return np.ascontiguousarray((sums + mirrors.sum(axis=0)).T).reshape(coef.shape)

    def many_products(self, program, rows, pointers, index, coef, threads=1):
        X = rows.bases[0]
        if not self.streams(program) or isinstance(X, Csr):
            return super().many_products(program, rows, pointers, index, coef, threads)
        f, coef = np.zeros(coef.shape), np.ascontiguousarray(coef, dtype=X.dtype)
        code, rate, scalars = stages(program, X.dtype, rows.scalars)

        def share(first):
            stream.stream_tasks(pointers, index, X, scalars, code, rate, coef, SHORT_SUM, first, threads, f)

        run_parallel([partial(share, first) for first in range(threads)], threads)
        return f

    def distances(self, kind, A, B, out):
        (tiles.l1_distances if kind == "l1" else tiles.chi2_distances)(A, B, out)

    def run_program(self, code, tiles, left, right, out, slots, start):
        program.run_program(code, tiles, left, right, out, slots, start)

    def largest(self, values, count):
        return choose.largest(values, count)

    def accumulate(self, f, rows, slots, delta, start, stop):
        tiles.accumulate(f, rows, slots, delta, start, stop)

    def pair_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*smo.pair_block(K, lazy, grad, beta, *box, *options))

    def free_block(self, K, grad, beta, box, options, lazy=None):
        return BlockResult(*coordinate.free_block(K, lazy, grad, beta, *box, *options))

    def newton(self, K, linear, beta, box, epsilon, balance, spent, max_solves):
        return newton_steps.newton(K, linear, beta, box.lower, box.upper, epsilon, balance, spent, max_solves)

    def polish(self, K, linear, beta, box, epsilon, balance, budget, may_shrink, polished, lazy=None):
        if not balance:  # rare: not worth compiling a second time
            super().polish(K, linear, beta, box, epsilon, balance, budget, may_shrink, polished, lazy)
            return
        small.polish(K, lazy, linear, beta, *box, epsilon, budget, may_shrink, polished)

    def design(self, X, threads=1):
        return design.CompiledDesign(X, threads)

    def smoothed_slopes(self, f, df, step, centre, keep, rate, linear, ridge, eps, lower, upper, out, threads=1):
        """Slopes of the rows of a linear model at f + step df into ``out``; their product with df.

        clip(shrink(keep centre + rate (linear - f - step df), rate eps) / (keep + rate ridge), lower, upper), where
        shrink moves towards 0.
        """
        sums: dict[int, float] = {}

        def share(first, last):
            sums[first] = slopes.smoothed(
                f, df, step, centre, keep, rate, linear, ridge, eps, lower, upper, out, first, last
            )

        run_shares(share, len(f), max(1, min(threads, len(f) // ROWS_PER_THREAD)))
        return sum(sums[first] for first in sorted(sums))

    def slope_curvatures(self, beta, keep, rate, ridge, eps, lower, upper, threads=1):
        """How fast :meth:`smoothed_slopes` change with the scores, at slopes ``beta``."""
        out = np.empty(len(beta))

        def share(first, last):
            slopes.curvatures(beta, keep, rate, ridge, eps, lower, upper, out, first, last)

        run_shares(share, len(beta), max(1, min(threads, len(beta) // ROWS_PER_THREAD)))
        return out

    def row_values(self, f, beta, linear, ridge, eps, lower, upper, threads=1):
        """(sum of losses, sum of Fenchel-Young gaps) of the rows of a linear model with a quadratic dual."""
        sums: dict[int, tuple[float, float]] = {}

        def share(first, last):
            sums[first] = slopes.row_values(f, beta, linear, ridge, eps, lower, upper, first, last)

        run_shares(share, len(f), max(1, min(threads, len(f) // ROWS_PER_THREAD)))
        ordered = [sums[first] for first in sorted(sums)]
        return sum(loss for loss, _ in ordered), sum(gap for _, gap in ordered)

    def coordinate_epochs(self, rows, w, beta, form, q, active, count, sums, old, seed, width, most):
        """Epochs of dual coordinate descent, in place: (active rows, violation, epochs, rows visited, next seed)."""
        return dual_coordinate.epochs(rows, w, beta, form, q, active, count, sums, old, seed, width, most)

    def stochastic_steps(self, rows, push, visits, batch, run, lam, eta, radius, bias, averaged):
        return stochastic.steps(rows, push, visits, batch, *run, lam, eta, radius, bias, averaged)

    def free_steps(self, K, g, push, visits, batch, v, u, state, lam, bias, averaged):
        """Stochastic steps of a kernel expansion over rows of K, in place: the number of violations."""
        return int(expansion.free_steps(K, g, push, visits, batch, v, u, state, lam, bias, averaged))

    def budget_steps(self, kept, block, state, batch, lam, kind, bias, averaged):
        """The same with a bounded number of vectors, over the rows of a block, in place: the number of violations."""
        return int(expansion.budget_steps(kept, block, state, batch, lam, kind, bias, averaged))

    def perceptron_pass(self, rows, push, visits, w, bias, rate, constant, shrink=1.0, cut=0.0):
        return stochastic.mistakes(rows, push, visits, w, bias, rate, constant, shrink, cut)

    def shuffled(self, pool, place, out, seed):
        place, seed = stochastic.shuffled(pool, place, out, seed)
        return int(place), np.uint64(seed)

    def drawn(self, values, out, seed):
        return np.uint64(stochastic.drawn(values, out, seed))

    def row_keys(self, rows):
        """A number for every row, dense or CSR, the same for equal rows and (but for accidents) for no others."""
        sparse = isinstance(rows, Csr)
        values = rows.data if sparse else rows
        out = np.empty(len(rows.indptr) - 1 if sparse else len(rows), dtype=np.uint64)
        bits = values.view(np.uint32 if values.itemsize == 4 else np.uint64)
        (stochastic.csr_keys if sparse else stochastic.dense_keys)(rows, bits, out)
        return out

    def all_classes_epoch(self, simplex, rows, W, alpha, label, C, squares, order, shift, rate, sums, seed):
        """An epoch of a linear machine for all classes, in place: (largest violation, next seed)."""
        return all_classes.csr_epoch(simplex, rows, W, alpha, label, C, squares, order, shift, rate, sums, seed)

    def all_classes_block(self, simplex, K, f, alpha, label, C, shift, rate, sums, goal, epochs):
        """Epochs on a block of a kernel machine for all classes, in place: (violation left, row updates)."""
        return all_classes.block_epochs(simplex, K, f, alpha, label, C, shift, rate, sums, goal, epochs)

    def solve_many(self, batch, threads):
        """Solve a batch of small problems in place: (steps, violation left, kernel values) of each."""

        def share(first):
            small.solve_many(*batch, first, threads, steps, violations, entries)

        count = len(batch.pointers) - 1
        steps, violations, entries = np.zeros(count, dtype=np.int64), np.full(count, np.inf), np.zeros(count, np.int64)
        run_parallel([partial(share, first) for first in range(threads)], threads)
        return steps, violations, entries

    def solve_together(self, K, diagonal, tasks, beta, f, tols, largest, max_steps, threads):
        """Problems over a stored matrix to violations of ``tols``, in place: (steps, violation left) of each.

        ``f`` are the scores of ``beta``, or NaN where they are to be computed.
        """

        def share(first):
            stored.solve_together(
                K, diagonal, tasks, beta, f, tols, block, max_steps, first, threads, steps, violations
            )

        count, longest = len(tasks.pointers) - 1, int(np.diff(tasks.pointers).max(initial=0))
        block = None if longest <= min(largest, stored.WHOLE) else largest
        steps, violations = np.zeros(count, dtype=np.int64), np.zeros(count)
        run_parallel([partial(share, first) for first in range(threads)], threads)
        return steps, violations

    def solve_few(self, K, diagonal, tasks, beta, f, tol, max_steps, rounds, tiny, polished, residue, threads):
        """Problems over a stored matrix of few rows in float64, in place: (steps, violation left) of each."""

        def share(first):
            small.solve_few(
                K, diagonal, tasks, beta, f, tol, max_steps, rounds, tiny, polished, residue,
                first, threads, steps, violations,
            )  # fmt: skip

        count = len(tasks.pointers) - 1
        steps, violations = np.zeros(count, dtype=np.int64), np.zeros(count)
        run_parallel([partial(share, first) for first in range(threads)], threads)
        return steps, violations

    def gathered(self, K, index, dtype, threads=1):
        out = np.empty((len(index), len(index)), dtype=dtype)
        threads = min(threads, 1 + out.size // VALUES_PER_THREAD)
        run_shares(partial(tiles.gather, np.asarray(K), index, out), len(index), threads)
        return out

    def stored_products(self, K, pointers, rows, coef, threads=1):
        f = np.empty(len(coef))
        values = int(np.count_nonzero(coef)) * int(np.diff(pointers).max(initial=0))  # or less
        threads = min(threads, 1 + values // VALUES_PER_THREAD)

        def share(first):
            stored.products(K, pointers, rows, coef, first, threads, f)

        run_parallel([partial(share, first) for first in range(threads)], threads)
        return f

    def solve_stored(self, K, diagonal, tasks, beta, f, cost, factor, tol, gap_tol, largest, max_steps):
        """Problems over a stored matrix, in place: (steps, violation, intercept, dual, gap) of each.

        Bounds are ``cost`` times those of the tasks; ``beta`` and ``f`` are solutions at cost / factor, 0 if factor is.
        """
        report = np.zeros((len(tasks.pointers) - 1, 5))
        stored.solve_stored(K, diagonal, tasks, beta, f, cost, factor, tol, gap_tol, largest, max_steps, report)
        return report
