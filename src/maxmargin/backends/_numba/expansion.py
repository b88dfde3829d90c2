"""Steps of Pegasos and of the perceptron on the coefficients of a kernel expansion, with or without a budget.

Both machines add c phi(x) at every violation and never anything else, so that the unscaled sum w = sum_r v_r phi(x_r)
holds counts of violations; the score of a row is scale * g + b with g = w . phi(x) and

    Pegasos     scale = 1 / (lam t) after t steps, a violation is t_i f_i < 1      (Shalev-Shwartz et al. 2011, fig. 3)
    perceptron  scale = 1 (``lam`` is 0), a violation is t_i f_i <= 0

The sum of all iterates, weighted by t, is (p v + u) / lam, p being the number of steps summed: a change of v by c
changes u by -p c. ``g`` of the rows at hand is kept up to date by kernel rows.

With a budget, vectors live in slots, one more than the budget. When all are used, one is given up: removed, projected
onto its neighbours, or merged with another (Wang, Crammer and Vucetic 2012). For merging, kernels are Gaussian and
tables hold their exponents L = -gamma ||x - z||^2: those of a point z = h x_i + (1 - h) x_j are
h L_i + (1 - h) L_j - h (1 - h) L_ij, so that nothing has to be computed from features.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import exp, inner, jit

#: Where a run keeps what it knows: steps so far, p, sum of the t averaged over, b, sum of t b.
STEPS, SHARE, TOTAL, BIAS, BIAS_SUM = range(5)
#: How vectors over the budget are given up.
REMOVE, PROJECT, MERGE = range(3)
#: Vectors that one is projected onto, at most, and what is added to their unit diagonal.
NEAREST, RIDGE = 64, 1e-10
#: Weights are counts, and often equal: differences this small, relatively, are rounding and decide nothing.
SAME = 1e-9
#: Golden sections of [0, 1/2]: 30 leave 3e-7.
GOLDEN, SECTIONS = 0.6180339887498949, 30


@inner
def scale_at(lam, t):
    """What the counts are multiplied by after t steps."""
    if lam == 0.0:
        return 1.0
    return 1.0 / (lam * t) if t > 0 else 0.0


@inner
def violators(g, push, visits, first, size, scale, b, lam, found):
    """Those of the next ``size`` visits that violate their margin, into ``found``; their number."""
    count = 0
    for k in range(first, first + size):
        q = visits[k]
        f = scale * g[q] + b
        margin = f if push[q] > 0 else -f
        if margin < 1.0 if lam > 0 else margin <= 0.0:
            found[count] = q
            count += 1
    return count


@jit
def free_steps(K, g, push, visits, batch, v, u, state, lam, bias, averaged):
    """Steps over ``visits``, rows of K, without a budget: ``g``, ``v``, ``u`` and ``state`` change in place.

    Returns the number of violations.
    """
    t, p, total, b, b_sum = state[STEPS], state[SHARE], state[TOTAL], state[BIAS], state[BIAS_SUM]
    found, count = np.empty(min(batch, len(visits)), dtype=np.int64), 0
    for first in range(0, len(visits), batch):
        size = min(batch, len(visits) - first)
        active = violators(g, push, visits, first, size, scale_at(lam, t), b, lam, found)
        t += 1.0
        rate = scale_at(lam, t)
        for k in range(active):
            q = found[k]
            c = push[q] / size
            v[q] += c
            u[q] -= p * c
            if bias:
                b += rate * c
            for j in range(len(g)):
                g[j] += c * K[q, j]
        count += active
        if averaged:
            p += 1.0
            total += t
            b_sum += t * b
    state[STEPS], state[SHARE], state[TOTAL], state[BIAS], state[BIAS_SUM] = t, p, total, b, b_sum
    return count


@jit
def budget_steps(kept, block, state, batch, lam, kind, bias, averaged):
    """Steps over all rows of ``block``, in their order, with at most len(kept.used) - 1 vectors after each.

    ``kept``, ``block`` (:mod:`maxmargin.solvers.expansion` says what they are) and ``state`` change in place;
    ``block.g`` is 0 before. Returns the number of violations.
    """
    t, p, total, b, b_sum = state[STEPS], state[SHARE], state[TOTAL], state[BIAS], state[BIAS_SUM]
    m, slots = len(block.g), len(kept.used)
    visits, found, count = np.arange(m), np.empty(min(batch, m), dtype=np.int64), 0
    for slot in range(slots):
        if kept.used[slot]:
            add_line(block, slot, kept.coef[slot, 0], kind)
    for first in range(0, m, batch):
        size = min(batch, m - first)
        active = violators(block.g, block.push, visits, first, size, scale_at(lam, t), b, lam, found)
        t += 1.0
        rate = scale_at(lam, t)
        for k in range(active):
            q = found[k]
            c = block.push[q] / size
            slot = kept.where[block.row[q]]
            if slot < 0:
                slot = enter(kept, block, q, kind)
            kept.coef[slot, 0] += c
            kept.coef[slot, 1] -= p * c
            add_line(block, slot, c, kind)
            if bias:
                b += rate * c
            if np.sum(kept.used) == slots:
                give_up(kept, block, slot, kind)
        count += active
        if averaged:
            p += 1.0
            total += t
            b_sum += t * b
    state[STEPS], state[SHARE], state[TOTAL], state[BIAS], state[BIAS_SUM] = t, p, total, b, b_sum
    return count


@inner
def add_line(block, slot, c, kind):
    """g += c k(x, .) for the vector in ``slot``."""
    if kind == MERGE:
        for j in range(len(block.g)):
            block.g[j] += c * exp(block.cross[slot, j])
    else:
        for j in range(len(block.g)):
            block.g[j] += c * block.cross[slot, j]


@inner
def enter(kept, block, q, kind):
    """Row q of the block becomes a vector, without weight as yet; its slot."""
    slots, slot = len(kept.used), 0
    while kept.used[slot]:
        slot += 1
    kept.used[slot], kept.own[slot], kept.where[block.row[q]] = True, block.row[q], slot
    kept.diagonal[slot] = 1.0 if kind == MERGE else block.cross[slots + q, q]
    for j in range(len(block.g)):
        block.cross[slot, j] = block.cross[slots + q, j]
    if kind != REMOVE:
        for r in range(slots):
            kept.gram[slot, r] = kept.gram[r, slot] = block.cross[r, q]
    for j in range(kept.vectors.shape[1]):
        kept.vectors[slot, j] = block.X[q, j]
    return slot


@inner
def leave(kept, slot):
    """The vector in ``slot`` is gone."""
    if kept.own[slot] >= 0:
        kept.where[kept.own[slot]] = -1
    kept.used[slot], kept.own[slot] = False, -1
    kept.coef[slot, 0] = kept.coef[slot, 1] = 0.0


@inner
def give_up(kept, block, newest, kind):
    """One vector fewer. The newest, whose weight is the least there is, is not simply removed: nothing would change."""
    smallest, least = -1, np.inf
    for r in range(len(kept.used)):
        weight = kept.coef[r, 0] ** 2 * kept.diagonal[r]
        if weight < (1.0 - SAME) * least and not (kind == REMOVE and r == newest):
            smallest, least = r, weight
    if kind == MERGE and merge(kept, block, smallest):
        return
    if kind == PROJECT:
        project(kept, block, smallest)
    add_line(block, smallest, -kept.coef[smallest, 0], kind)
    leave(kept, smallest)


@inner
def project(kept, block, r):
    """Spread the weight of vector r over its nearest vectors, by least squares in the feature space."""
    slots = len(kept.used)
    nearness, roots = np.empty(slots), np.empty(slots)
    for s in range(slots):
        roots[s] = np.sqrt(max(kept.diagonal[s], 1e-300))
        nearness[s] = abs(kept.gram[r, s]) / roots[s] if s != r else -1.0
    near = np.argsort(-nearness)[: min(NEAREST, slots - 1)]
    A, x = np.empty((len(near), len(near))), np.empty(len(near))
    for i in range(len(near)):  # of unit vectors, so that one ridge suits all
        x[i] = kept.gram[r, near[i]] / roots[near[i]]
        for j in range(i + 1):
            A[i, j] = kept.gram[near[i], near[j]] / (roots[near[i]] * roots[near[j]])
        A[i, i] += RIDGE
    solve_definite(A, x)
    for i in range(len(near)):
        share = x[i] / roots[near[i]]
        kept.coef[near[i], 0] += share * kept.coef[r, 0]
        kept.coef[near[i], 1] += share * kept.coef[r, 1]
        add_line(block, near[i], share * kept.coef[r, 0], PROJECT)


@inner
def solve_definite(A, x):
    """x = A^-1 x by Cholesky's method, in place; directions without any length of their own get nothing."""
    n = len(x)
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i == j:
                A[i, i] = np.sqrt(total) if total > RIDGE * RIDGE else np.inf
            else:
                A[i, j] = total / A[j, j]
    for i in range(n):
        for k in range(i):
            x[i] -= A[i, k] * x[k]
        x[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= A[k, i] * x[k]
        x[i] /= A[i, i]


@inner
def merge(kept, block, i):
    """Vector i, of the smallest weight, and the one that it costs least to merge with become one; False without any.

    The cost of z is a^2 + b^2 + 2 a b k_ij - (a k(x_i, z) + b k(x_j, z))^2 for weights a and b of the same sign.
    """
    a, partner, least = abs(kept.coef[i, 0]), -1, np.inf
    for j in range(len(kept.used)):
        if j != i and kept.coef[i, 0] * kept.coef[j, 0] >= 0:
            b, L = abs(kept.coef[j, 0]), kept.gram[i, j]
            k = exp(L)
            m = a / (a + b) if a > 0 else 0.0
            weight = max(merged_weight(a, b, L, m), a * k + b)  # at the mean, or at x_j
            cost = a * a + b * b + 2.0 * a * b * k - weight * weight
            if cost < least - SAME * a * a:
                partner, least = j, cost
    if partner < 0:
        return False
    unite(kept, block, i, partner, best_share(a, abs(kept.coef[partner, 0]), kept.gram[i, partner]))
    return True


@jit
def merged_weight(a, b, L, h):
    """The best weight of z = h x_i + (1 - h) x_j."""
    return a * exp(L * (1.0 - h) * (1.0 - h)) + b * exp(L * h * h)


@jit
def best_share(a, b, L):
    """The h with the largest merged weight, by golden sections; a <= b, so that h <= 1/2."""
    low, high = 0.0, 0.5
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = merged_weight(a, b, L, left), merged_weight(a, b, L, right)
    for _ in range(SECTIONS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = merged_weight(a, b, L, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = merged_weight(a, b, L, right)
    return 0.5 * (low + high)


@inner
def unite(kept, block, i, j, h):
    """h x_i + (1 - h) x_j in the slot of i, and nothing in that of j."""
    add_line(block, i, -kept.coef[i, 0], MERGE)
    add_line(block, j, -kept.coef[j, 0], MERGE)
    L = kept.gram[i, j]
    shift, from_i, from_j = h * (1.0 - h) * L, exp(L * (1.0 - h) * (1.0 - h)), exp(L * h * h)
    first = from_i * kept.coef[i, 0] + from_j * kept.coef[j, 0]
    second = from_i * kept.coef[i, 1] + from_j * kept.coef[j, 1]
    for q in range(len(block.g)):
        block.cross[i, q] = min(0.0, h * block.cross[i, q] + (1.0 - h) * block.cross[j, q] - shift)
    for r in range(len(kept.used)):
        kept.gram[i, r] = min(0.0, h * kept.gram[i, r] + (1.0 - h) * kept.gram[j, r] - shift)
        kept.gram[r, i] = kept.gram[i, r]
    kept.gram[i, i] = 0.0
    for k in range(kept.vectors.shape[1]):
        kept.vectors[i, k] = h * kept.vectors[i, k] + (1.0 - h) * kept.vectors[j, k]
    leave(kept, i)
    leave(kept, j)
    kept.used[i], kept.coef[i, 0], kept.coef[i, 1] = True, first, second
    add_line(block, i, first, MERGE)
