"""Rows of a machine for all classes at once, each solved exactly: Crammer and Singer's, Weston and Watkins'.

With s_m = 1 + f_m - f_y, a_m = -alpha_m the row's pushes (m != y) and A = k(x, x) (+ rate, with intercepts), moving
the row's own variables changes f_m by -A a_m and f_y by A sum(a). Its optimum is

* a simplex, sum a <= C: alpha_m = min(C 1[m = y], (level - B_m) / A) with B = g - A alpha, g = f + 1[m != y], where
  ``level`` makes the sum 0 (Crammer and Singer 2001; Keerthi et al. 2008; found without a sort as in Michelot 1986);
* a box, a_m <= C: a_m = clip(z_m - S, 0, C) with z_m = s_m / A + a_m + S_old and S = sum a, the root of a decreasing
  function (Weston and Watkins 1999).
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.dual_coordinate import shuffle
from maxmargin.backends._numba.newton import add_line

#: Weights of classes this small, relative to C, are rounding.
AT_BOUND = 1e-12
#: Newton steps, each within a bracket, for the sum of a row's pushes.
ROOT_STEPS = 60


@inner
def csr_scores_of(rows, W, i, out):
    """out_m = x_i . W[:, m]."""
    out[:] = 0.0
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        line, value = W[np.uint32(rows.indices[k])], rows.data[k]
        for m in range(out.size):
            out[m] += value * line[m]


@inner
def csr_add_to(rows, W, i, change):
    """W[:, m] += change_m x_i."""
    for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
        line, value = W[np.uint32(rows.indices[k])], rows.data[k]
        for m in range(change.size):
            line[m] += value * change[m]


@inner
def simplex_row(g, alpha, y, C, A, D, new):
    """New alphas of a row; how far the old ones were from optimal: max g - min g over classes with weight."""
    k = g.size
    most, least = -np.inf, np.inf
    for m in range(k):
        most = max(most, g[m])
        if alpha[m] < (C if m == y else 0.0) - AT_BOUND * C:
            least = min(least, g[m])
    if not most > least:
        return 0.0
    # D_m = B_m + A C_m; the level is where sum of max(0, D - level) reaches A C: raised until nothing falls below it
    total, left = -A * C, k
    for m in range(k):
        D[m] = g[m] - A * alpha[m] + (A * C if m == y else 0.0)
        total += D[m]
    while True:
        level, kept, total = total / left, 0, -A * C
        for m in range(left):
            if D[m] > level:
                total += D[m]
                D[kept] = D[m]
                kept += 1
        if kept == left or kept == 0:
            break
        left = kept
    pushed = 0.0
    for m in range(k):
        if m != y:
            new[m] = min(0.0, (level - (g[m] - A * alpha[m])) / A)
            pushed -= new[m]
    new[y] = pushed  # C - max(0, D - level) but for rounding, which would leave a support vector that pushes nobody
    return most - least


@inner
def box_row(g, alpha, y, C, A, z, new):
    """New alphas of a row; how far the old ones were from optimal: the largest slope that a push may follow."""
    k, S, off = g.size, alpha[y], 0.0
    for m in range(k):
        if m != y:
            s, a = g[m] - g[y], -alpha[m]
            z[m] = s / A + a + S
            if a < C:
                off = max(off, s)
            if a > 0:
                off = max(off, -s)
    if off == 0:
        return 0.0
    low, high = 0.0, (k - 1) * C
    for _ in range(ROOT_STEPS):
        total, free = 0.0, 0
        for m in range(k):
            if m != y:
                a = z[m] - S
                if a >= C:
                    total += C
                elif a > 0:
                    total += a
                    free += 1
        if total > S:
            low = max(low, S)
        else:
            high = min(high, S)
        # on this piece sum a = total + free (S - S'), which is S' at the root
        root = (total + free * S) / (1.0 + free)
        if not low <= root <= high:
            root = 0.5 * (low + high)
        done = abs(root - S) <= 1e-15 * (abs(S) + C)
        S = root
        if done:
            break
    total = 0.0
    for m in range(k):
        if m != y:
            a = min(max(z[m] - S, 0.0), C)
            new[m] = -a
            total += a
    new[y] = total
    return off


@inner
def solve_row(simplex, g, alpha, y, C, A, scratch, new):
    """New alphas of a row of either machine, and its violation."""
    if simplex:
        return simplex_row(g, alpha, y, C, A, scratch, new)
    return box_row(g, alpha, y, C, A, scratch, new)


@jit
def csr_epoch(simplex, rows, W, alpha, label, C, squares, order, shift, rate, sums, seed):
    """An epoch over sparse rows of a linear machine, W (d, classes): (largest violation, next seed)."""
    seed = shuffle(order, order.size, seed)
    k = W.shape[1]
    g, scratch, new, change = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    worst = 0.0
    for position in range(order.size):
        i = order[position]
        if C[i] == 0:
            continue
        A = squares[i] + rate
        A = A if A > 0 else 1 / C[i]  # a row of zeros has no curvature; any will do, and this takes it to its bound
        csr_scores_of(rows, W, i, g)
        for m in range(k):
            g[m] += shift[m] + rate * sums[m] + (0.0 if m == label[i] else 1.0)
        off = solve_row(simplex, g, alpha[i], label[i], C[i], A, scratch, new)
        if off > 1e-14:
            worst = max(worst, off)
            for m in range(k):
                change[m] = new[m] - alpha[i, m]
                alpha[i, m] = new[m]
                sums[m] += change[m]
            csr_add_to(rows, W, i, change)
    return worst, seed


@jit
def block_epochs(simplex, K, f, alpha, label, C, shift, rate, sums, goal, epochs):
    """Epochs over a block of a kernel machine until no row is off by more than ``goal``: (violation, row updates).

    ``f`` (q, classes) are the scores without intercepts; f, alpha and sums change in place.
    """
    q, k = f.shape
    g, scratch, new, change = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    moved, scores = np.empty(k, dtype=np.uint32), np.empty((k, q))  # a class after the other: what moves is one line
    for i in range(q):
        for m in range(k):
            scores[m, i] = f[i, m]
    updates, worst = 0, np.inf
    for _ in range(epochs):
        worst = 0.0
        for i in range(q):
            A = K[i, i] + rate
            A = A if A > 0 else 1 / C[i]
            for m in range(k):
                g[m] = scores[m, i] + shift[m] + rate * sums[m] + (0.0 if m == label[i] else 1.0)
            off = solve_row(simplex, g, alpha[i], label[i], C[i], A, scratch, new)
            worst = max(worst, off)
            if off <= goal:
                continue
            updates += 1
            count = 0  # of many classes few change
            for m in range(k):
                if new[m] != alpha[i, m]:
                    moved[count], change[count] = m, new[m] - alpha[i, m]
                    alpha[i, m] = new[m]
                    sums[m] += change[count]
                    count += 1
            for c in range(count):
                add_line(scores[moved[c]], change[c], K[i])
        if worst <= goal:
            break
    for i in range(q):
        for m in range(k):
            f[i, m] = scores[m, i]
    return worst, updates
