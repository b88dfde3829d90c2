"""One epoch over the rows of Crammer and Singer's machine: all classes of a row at once, exactly.

With g_m = f_m + 1[m != y] and A = ||x||^2 (+ rate) the row's optimum is alpha_m = min(C 1[m = y], (level - B_m) / A),
B = g - A alpha, where ``level`` makes the sum 0 (Crammer and Singer 2001, section 6; Keerthi et al. 2008, section 3).
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import jit
from maxmargin.backends._numba.dual_coordinate import shuffle


@jit
def csr_scores_of(rows, W, i, out):
    """out_m = x_i . W[:, m]."""
    out[:] = 0.0
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        line, value = W[np.uint32(rows.indices[k])], rows.data[k]
        for m in range(out.size):
            out[m] += value * line[m]


@jit
def csr_add_to(rows, W, i, change):
    """W[:, m] += change_m x_i."""
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        line, value = W[np.uint32(rows.indices[k])], rows.data[k]
        for m in range(change.size):
            line[m] += value * change[m]


@jit
def solve_row(g, alpha, y, C, A, order, new):
    """New alphas of a row; how far the old ones were from optimal: max g - min g over classes with p > 0."""
    k = g.size
    most, least = -np.inf, np.inf
    for m in range(k):
        most = max(most, g[m])
        if alpha[m] < (C if m == y else 0.0):
            least = min(least, g[m])
    if not most > least:
        return 0.0
    # D_m = B_m + A C_m in descending order; the level is where sum of max(0, D - level) reaches A C
    for m in range(k):
        order[m] = g[m] - A * alpha[m] + (A * C if m == y else 0.0)
    ranked = np.sort(order)
    level, r = ranked[k - 1] - A * C, 1
    total = ranked[k - 1] - A * C
    while r < k and total < r * ranked[k - 1 - r]:
        total += ranked[k - 1 - r]
        r += 1
    level = total / r
    for m in range(k):
        new[m] = min(C if m == y else 0.0, (level - (g[m] - A * alpha[m])) / A)
    return most - least


@jit
def csr_epoch(rows, W, alpha, label, C, squares, order, shift, rate, sums, seed):
    """(largest violation, next seed); ``W`` is (d, classes)."""
    seed = shuffle(order, order.size, seed)
    k = W.shape[1]
    g, scratch, new, change = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    worst = 0.0
    for position in range(order.size):
        i = order[position]
        A = squares[i] + rate
        A = A if A > 0 else 1 / C[i]  # a row of zeros has no curvature; any will do, and this takes it to its bound
        csr_scores_of(rows, W, i, g)
        for m in range(k):
            g[m] += shift[m] + rate * sums[m] + (0.0 if m == label[i] else 1.0)
        off = solve_row(g, alpha[i], label[i], C[i], A, scratch, new)
        if off > 1e-14:
            worst = max(worst, off)
            for m in range(k):
                change[m] = new[m] - alpha[i, m]
                alpha[i, m] = new[m]
                sums[m] += change[m]
            csr_add_to(rows, W, i, change)
    return worst, seed
