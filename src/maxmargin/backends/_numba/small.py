"""Small problems solved from start to finish in compiled code, one after the other: no Python between them.

A small problem is one working set: rows of K are filled on demand, pairwise steps reach the tolerance, Newton steps
polish the result to rounding. Problems without an intercept, which keep no sum, are left to Python's loop.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._box import LazyRows
from maxmargin.backends._numba import stored
from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.newton import newton
from maxmargin.backends._numba.program import fill_row
from maxmargin.backends._numba.smo import pair_block


@inner
def scores(K, beta, f):
    """f = K beta, from the rows of K where beta is not 0."""
    f[:] = 0
    for k in range(beta.size):
        if beta[k] != 0:
            for c in range(f.size):
                f[c] += beta[k] * K[k, c]


@inner
def absolute_sum(values):
    """sum |values|."""
    total = 0.0
    for k in range(values.size):
        total += abs(values[k])
    return total


@jit
def polish(K, lazy, linear, beta, lower, upper, diagonal, epsilon, budget, may_shrink, polished):
    """Newton and pairwise steps in turn until the violation is at rounding, in place; never a worse point.

    ``budget`` is inf where there is none.
    """
    best, f = np.inf, np.empty(beta.size)
    two_sided = budget < np.inf
    for _ in range(20):
        candidate = beta.copy()
        left = budget - absolute_sum(beta) if two_sided else np.inf
        slack = left if left > 1e-12 * budget and may_shrink else (0.0 if two_sided else np.inf)
        if not newton(K, linear, candidate, lower, upper, epsilon, True, two_sided and slack == 0, 20):
            return
        if two_sided and slack > 0:
            slack = budget - absolute_sum(candidate)
            if slack < 0:
                return
        scores(K, candidate, f)
        target = 1.0
        for k in range(f.size):
            f[k] += linear[k]
            target = max(target, abs(f[k]))
        target *= polished
        most = 50 + 5 * beta.size
        _, violation, _ = pair_block(
            K, lazy, f, candidate, lower, upper, diagonal, epsilon, two_sided, may_shrink, slack, target, most
        )
        if not violation < best:
            return
        best = violation
        beta[:] = candidate
        if violation <= target:
            return


@jit
def solve_few(
    K, diagonal, tasks, beta, f, tol, most, rounds, tiny, polished, residue, first, stride, steps, violations
):
    """Tasks first, first + stride, ... of a stored matrix in float64, each from beginning to end.

    ``beta``, a feasible start, ``f``, ``steps`` and ``violations`` are written in place; ``f`` is summed afresh at the
    end of each round, and the violations are those of such sums. Tasks of at most ``tiny`` rows (None: there are none)
    are moved on to rounding. Values within ``residue`` times the largest of a bound or of 0 are moved onto it.
    """
    pointers, longest = tasks.pointers, 0
    for t in range(first, pointers.size - 1, stride):
        longest = max(longest, pointers[t + 1] - pointers[t])
    memory = np.empty(longest * longest)
    for t in range(first, pointers.size - 1, stride):
        begin, end = pointers[t], pointers[t + 1]
        rows, b, scores, goal = tasks.rows[begin:end], beta[begin:end], f[begin:end], tol
        p, low, high = tasks.linear[begin:end], tasks.lower[begin:end], tasks.upper[begin:end]
        spans = stored.runs(rows)
        stored.fresh_scores(K, rows, spans, b, scores)
        for number in range(rounds + 1):
            taken, violations[t] = stored.solve_one(
                K, rows, spans, diagonal, p, low, high, tasks.epsilon, b, scores,
                goal, None, None, most if number < rounds else 0, memory,
            )  # fmt: skip
            steps[t] += taken
            if number > 0 and taken == 0:
                break
            if taken >= most:
                goal = np.inf  # left to another solver
            if tiny is not None:
                if number == 0 and rows.size <= tiny:
                    polish_task(K, rows, diagonal, p, low, high, tasks.epsilon, b, polished)
            settle(b, low, high, residue)
            stored.fresh_scores(K, rows, spans, b, scores)


@inner
def settle(beta, lower, upper, residue):
    """:meth:`DualQP.settled`, in place; ``residue`` is relative to the largest value."""
    room = 0.0
    for k in range(beta.size):
        room = max(room, residue * abs(beta[k]))
    for k in range(beta.size):
        if abs(beta[k]) <= room:
            beta[k] = 0.0
        if beta[k] >= upper[k] - room:
            beta[k] = upper[k]
        if beta[k] <= lower[k] + room:
            beta[k] = lower[k]


@inner
def polish_task(K, rows, diagonal, linear, lower, upper, epsilon, beta, polished):
    """:func:`polish` on some rows of a matrix."""
    n = rows.size
    block = np.empty((n, n))
    for r in range(n):
        for c in range(n):
            block[r, c] = K[rows[r], rows[c]]
    polish(block, None, linear, beta, lower, upper, diagonal[rows], epsilon, np.inf, False, polished)


@jit
def solve_many(
    pointers, rows, features, scalars, code, all_diagonal, linear, lower, upper, beta, f,
    epsilon, budgets, may_shrink, tol, steps_per_row, polished, first, stride, steps, violations, entries,
):  # fmt: skip
    """Groups first, first + stride, ... of a batch; task t holds the positions pointers[t] to pointers[t + 1].

    Tasks in a row that have the same rows (folds of one problem) are a group and share their rows of K.
    ``beta`` (a feasible start), ``f``, ``steps``, ``violations`` and ``entries`` are written in place.
    """
    largest = 0
    for t in range(pointers.size - 1):
        largest = max(largest, pointers[t + 1] - pointers[t])
    memory, group = np.empty(largest * largest), -1
    lazy, diagonal = (
        LazyRows(np.zeros(0, np.bool_), features[:, :0].copy(), scalars[:, :0].copy(), code),
        features[0, :0],
    )
    for t in range(pointers.size - 1):
        begin, end = pointers[t], pointers[t + 1]
        n, own = end - begin, rows[begin:end]
        fresh = t == 0 or not same(own, rows[pointers[t - 1] : begin])
        group += 1 if fresh else 0
        if group % stride != first:
            continue
        K = memory[: n * n].reshape(n, n)
        if fresh:
            lazy = LazyRows(np.zeros(n, np.bool_), gathered(features, own), gathered(scalars, own), code)
            diagonal = all_diagonal[own]
        before = np.sum(lazy.filled)
        b, p, low, high = beta[begin:end], linear[begin:end], lower[begin:end], upper[begin:end]
        for k in range(n):
            if b[k] != 0 and not lazy.filled[k]:
                fill_row(k, K, diagonal, lazy)
        two_sided = budgets[t] < np.inf
        slack = budgets[t] - absolute_sum(b) if two_sided and may_shrink else (0.0 if two_sided else np.inf)
        grad = np.empty(n)
        scores(K, b, grad)
        for k in range(n):
            grad[k] += p[k]
        most = steps_per_row * (n + 50)
        steps[t], violations[t], _ = pair_block(
            K, lazy, grad, b, low, high, diagonal, epsilon, two_sided, may_shrink, slack, tol, most
        )
        if violations[t] <= tol:
            polish(K, lazy, p, b, low, high, diagonal, epsilon, budgets[t], may_shrink, polished)
        scores(K, b, f[begin:end])
        entries[t] = n * (np.sum(lazy.filled) - before)


@inner
def same(one, other):
    """Whether two lists of rows are equal."""
    differing = one.size != other.size
    for k in range(min(one.size, other.size)):
        differing |= one[k] != other[k]
    return not differing


@inner
def gathered(table, columns):
    """table[:, columns], row by row."""
    out = np.empty((table.shape[0], columns.size))
    for k in range(table.shape[0]):
        for c in range(columns.size):
            out[k, c] = table[k, columns[c]]
    return out
