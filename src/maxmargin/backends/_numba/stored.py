"""Problems over one stored kernel matrix, solved in compiled code from start to finish.

Problem: min 1/2 b'Kb + p'b + eps|b|_1, l <= b <= u, sum b = 0, for many (p, l, u) over rows of one matrix: the tasks
of a fit; the folds, classes and costs of a model selection. A row with l = u = 0 takes no part and still has a score.
Algorithm: the worst violators and the free variables make a block, whose values are copied next to each other and
whose problem is solved by pairwise steps to a tenth of the violation (:mod:`.smo`); then f takes in what moved.
A solution at cost C starts the one at s C: t b with t in [1, s], the best on that ray, is feasible.
Invariant: f = K b with the stored K; b feasible. Cost per round: q^2 values copied, a pass over n per variable moved.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import fmax, fmin, inner, jit
from maxmargin.backends._numba.smo import pair_block

#: Sizes of a block at first, for few and for many rows; it grows with the free variables, but not in the first rounds,
#: when variables are free that will not stay so.
LEAST, SMALLEST, FIRST_ROUNDS = 64, 256, 4
#: Up to so many rows are one block where no gap is looked at on the way.
WHOLE = 512
#: A block is solved to this share of the violation it began with, in at most so many steps per member.
INNER, STEPS_PER_MEMBER = 0.1, 5
#: Columns whose scores stay in the first-level cache while f takes in what moved.
PIECE = 2048
#: Relative error of a value rounded to float32, and a little more for the sums.
ROUNDED = 1.01 * 2.0**-24
#: A quick bound on what rounding does to the gap is good enough up to this share of the dual value.
ROUGH = 1e-3
#: Values this close to a bound, relative to the box, are at it (as in maxmargin.problems).
AT_BOUND = 1e-12


@inner
def slopes(f, linear, beta, lower, upper, epsilon, up, down):
    """Slopes of every move up and down (+-inf where forbidden), and the two ends of the violated interval."""
    low, high = np.inf, -np.inf
    for k in range(f.size):
        grad, b = f[k] + linear[k], beta[k]
        up[k] = grad + (epsilon if b >= 0 else -epsilon) if b < upper[k] else np.inf
        down[k] = grad + (epsilon if b > 0 else -epsilon) if b > lower[k] else -np.inf
        low = fmin(low, up[k])
        high = fmax(high, down[k])
    return low, high


@inner
def mark_least(values, sign, count, mark, scratch):
    """Mark the rows of the ``count`` least finite values of sign * values."""
    finite = 0
    for k in range(values.size):
        if sign * values[k] < np.inf:
            scratch[finite] = sign * values[k]
            finite += 1
    limit = of_rank(scratch[:finite], count) if finite > count else np.inf
    taken = 0
    for k in range(values.size):
        if sign * values[k] < limit:
            mark[k] = True
            taken += 1
    for k in range(values.size):
        if taken >= count:
            break
        if sign * values[k] == limit and limit < np.inf:
            mark[k] = True
            taken += 1


@inner
def of_rank(values, rank):
    """The value that ``rank`` others come before in ascending order; the order of ``values`` changes (Hoare's way).

    NumPy's partition would take longer to compile than all else here.
    """
    first, last = 0, values.size - 1
    while first < last:
        pivot, i, j = values[(first + last) // 2], first, last
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if rank <= j:
            last = j
        elif rank >= i:
            first = i
        else:
            break
    return values[rank]


@inner
def working_set(up, down, beta, lower, upper, size, free, fresh, mark, scratch, index):
    """The worst violators both ways, then free variables: their rows go to ``index``; how many."""
    n = beta.size
    if n <= size:
        for k in range(n):
            index[k] = k
        return n
    for k in range(n):
        mark[k] = False
    room = size if fresh else max(size // 2, size - free)
    mark_least(up, 1.0, room // 2, mark, scratch)
    mark_least(down, -1.0, room // 2, mark, scratch)
    count = 0
    for k in range(n):
        count += mark[k]
    for k in range(n):
        if count >= size:
            break
        if not mark[k] and is_free(beta[k], lower[k], upper[k]):
            mark[k] = True
            count += 1
    count = 0
    for k in range(n):
        if mark[k]:
            index[count] = k
            count += 1
    return count


@inner
def is_free(b, low, high):
    """Inside its bounds and away from the kink at 0, by more than rounding."""
    room = AT_BOUND * (high - low)
    return b > low + room and b < high - room and abs(b) > room


@inner
def take_in(f, K, index, delta, count, spans):
    """f += K[:, index] delta, four rows a pass; the rows of the task are the columns ``spans`` of K, in turn."""
    place = 0
    for part in range(spans.shape[0]):
        for start in range(spans[part, 0], spans[part, 1], PIECE):
            width = np.uint64(min(PIECE, spans[part, 1] - start))
            first, to = np.uint64(start), np.uint64(place)  # unsigned: an index that may be negative does not vectorise
            for k in range(0, count - count % 4, 4):
                a, b, c, d = delta[k], delta[k + 1], delta[k + 2], delta[k + 3]
                p, q, r, s = K[index[k]], K[index[k + 1]], K[index[k + 2]], K[index[k + 3]]
                for j in range(width):
                    f[to + j] += a * p[first + j] + b * q[first + j] + c * r[first + j] + d * s[first + j]
            for k in range(count - count % 4, count):
                a, p = delta[k], K[index[k]]
                for j in range(width):
                    f[to + j] += a * p[first + j]
            place += int(width)


@inner
def runs(rows):
    """(first, last + 1) of every run of neighbours among the rows."""
    count = 0
    for k in range(rows.size):
        count += k == 0 or rows[k] != rows[k - 1] + 1
    spans, count = np.empty((count, 2), np.int64), 0
    for k in range(rows.size):
        if k == 0 or rows[k] != rows[k - 1] + 1:
            spans[count, 0] = rows[k]
            count += 1
        spans[count - 1, 1] = rows[k] + 1
    return spans


@inner
def copy_block(K, members, block):
    """The values of K among the members of a block, next to each other."""
    for r in range(members.size):
        row = K[members[r]]
        for c in range(members.size):
            block[r, c] = row[members[c]]


@inner
def solve_one(K, rows, spans, diagonal, linear, lower, upper, epsilon, beta, f, tol, gap_tol, largest, max_steps,
              memory):  # fmt: skip
    """Solve one problem in place; (steps, violation left). Without gaps or blocks ``gap_tol``, ``largest`` are None."""
    n = beta.size
    up, down, scratch, delta = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    mark, index, moved = np.empty(n, np.bool_), np.empty(n, np.int64), np.empty(n, np.int64)
    steps, rounds, exact = 0, 0, np.zeros(1)
    size = smallest = n
    if largest is not None:
        size = smallest = min(first_size(n, gap_tol), largest)
    while True:
        least, greatest = slopes(f, linear, beta, lower, upper, epsilon, up, down)
        violation = greatest - least
        if not violation > tol or steps >= max_steps:
            return steps, max(violation, 0.0)
        if gap_tol is not None and gap_reached(f, linear, lower, upper, epsilon, beta, gap_tol, exact):
            return steps, violation
        q = n
        if largest is None:
            for k in range(n):
                index[k] = k
        else:
            free = 0
            for k in range(n):
                free += is_free(beta[k], lower[k], upper[k])
            while rounds >= FIRST_ROUNDS and size < largest and size < 1.3 * free + smallest // 2:
                size = min(2 * size, largest)
            q = working_set(up, down, beta, lower, upper, size, free, rounds == 0, mark, scratch, index)
        own = index[:q]
        block, members = memory[: q * q].reshape(q, q), rows[own]
        b, grad = beta[own], f[own]
        copy_block(K, members, block)
        for r in range(q):
            grad[r] += linear[own[r]]
        share = INNER if q < n or sought(gap_tol) else 0.0
        low, high, goal = lower[own], upper[own], max(0.9 * tol, share * violation)
        most = min(STEPS_PER_MEMBER * q, max_steps - steps)
        taken, _, _ = pair_block(
            block, None, grad, b, low, high, diagonal[members], epsilon, False, False, np.inf, goal, most
        )
        count = np.int64(0)  # a plain 0 would have take_in compiled on its own
        for r in range(q):
            if b[r] != beta[own[r]]:
                moved[count], delta[count] = members[r], b[r] - beta[own[r]]
                beta[own[r]] = b[r]
                count += 1
        if count == 0:
            return steps, violation
        take_in(f, K, moved, delta, count, spans)
        steps += taken
        rounds += 1


@inner
def sought(gap_tol):
    """Whether a gap is looked at on the way."""
    return False if gap_tol is None else gap_tol > 0


@inner
def first_size(n, gap_tol):
    """Rows of a block at first."""
    return max(LEAST, min(SMALLEST, n // 4)) if sought(gap_tol) or n > WHOLE else n


@inner
def gap_reached(f, linear, lower, upper, epsilon, beta, gap_tol, exact):
    """Whether the relative gap is at most ``gap_tol``, which is asked for if it is positive."""
    if not gap_tol > 0:
        return False
    level = middle(f, linear, lower, upper, epsilon, beta)
    dual, gap = proof(f, linear, lower, upper, epsilon, beta, level, exact)
    return gap <= gap_tol * max(abs(dual), abs(dual + gap))


@inner
def restart(linear, lower, upper, epsilon, beta, f, factor):
    """The best point t b, 1 <= t <= factor, after all bounds grew by ``factor``; in place."""
    square, slope = 0.0, 0.0
    for k in range(beta.size):
        square += beta[k] * f[k]
        slope += linear[k] * beta[k] + epsilon * abs(beta[k])
    t = min(max(-slope / square, 1.0), factor) if square > 0 else factor
    for k in range(beta.size):
        beta[k] = min(max(t * beta[k], lower[k]), upper[k])
        f[k] *= t


@inner
def middle(f, linear, lower, upper, epsilon, beta):
    """The multiplier of the sum: mean slope of the free variables, else the middle of the interval left."""
    total, count, low, high = 0.0, 0, np.inf, -np.inf
    for k in range(beta.size):
        grad, b = f[k] + linear[k], beta[k]
        if is_free(b, lower[k], upper[k]):
            total += grad + (epsilon if b > 0 else -epsilon)
            count += 1
        room = AT_BOUND * (upper[k] - lower[k])
        if b < upper[k] - room:
            low = min(low, grad + (epsilon if b >= -room else -epsilon))
        if b > lower[k] + room:
            high = max(high, grad + (epsilon if b > room else -epsilon))
    if count > 0:
        return total / count
    if low == np.inf or high == -np.inf:
        return high if low == np.inf and high > -np.inf else (low if low < np.inf else 0.0)
    return (low + high) / 2


@inner
def proof(f, linear, lower, upper, epsilon, beta, level, errors):
    """(dual value, gap): a sum of non-negative terms, each at the worst score that ``errors`` (of f) allow."""
    dual, gap = 0.0, 0.0
    for k in range(beta.size):
        slope, b, e = f[k] + linear[k] - level, beta[k], errors[k % errors.size]
        dual -= b * (f[k] / 2 + linear[k]) + epsilon * abs(b)
        worse = excess(b, slope - e, lower[k], upper[k], epsilon)
        gap += max(worse, excess(b, slope + e, lower[k], upper[k], epsilon))
    return dual, gap


@inner
def rounded_proof(K, rows, spans, f, linear, lower, upper, epsilon, beta, level, largest_value):
    """:func:`proof` for the values before they were rounded to float32: |error of f| <= 2^-24 |K| |beta|."""
    mass = 0.0
    for k in range(beta.size):
        mass += abs(beta[k])
    errors = np.zeros(1)
    dual, gap = proof(f, linear, lower, upper, epsilon, beta, level, errors)
    errors[0] = ROUNDED * largest_value * mass
    _, worst = proof(f, linear, lower, upper, epsilon, beta, level, errors)
    if worst - gap <= ROUGH * abs(dual):
        return dual, worst
    errors = np.zeros(beta.size)  # the bound row by row
    for k in range(beta.size):
        if beta[k] != 0:
            size, line, place = ROUNDED * abs(beta[k]), K[rows[k]], np.uint64(0)
            for part in range(spans.shape[0]):
                first, width = np.uint64(spans[part, 0]), np.uint64(spans[part, 1] - spans[part, 0])
                for j in range(width):
                    errors[place + j] += size * abs(line[first + j])
                place += width
    return dual, proof(f, linear, lower, upper, epsilon, beta, level, errors)[1]


@inner
def excess(b, slope, low, high, epsilon):
    """How far b is from the least of slope t + eps |t| over low <= t <= high, where low <= 0 <= high."""
    least = min(0.0, low * slope - epsilon * low, high * slope + epsilon * high)
    return max(b * slope + epsilon * abs(b) - least, 0.0)


@jit
def solve_stored(K, diagonal, tasks, beta, f, cost, factor, tol, gap_tol, largest, max_steps, report):
    """All tasks at bounds ``cost`` times theirs, from the solutions at cost / factor (0 if factor is 0).

    ``beta`` and ``f`` change in place; report[t] becomes steps, violation, intercept, dual value and gap.
    """
    pointers, value = tasks.pointers, 0.0
    for k in range(diagonal.size):
        value = max(value, abs(diagonal[k]))
    memory = np.empty(min(largest, K.shape[0]) ** 2, K.dtype)
    for t in range(pointers.size - 1):
        begin, end = pointers[t], pointers[t + 1]
        rows, p, b, scores = tasks.rows[begin:end], tasks.linear[begin:end], beta[begin:end], f[begin:end]
        spans = runs(rows)
        low, high, epsilon = cost * tasks.lower[begin:end], cost * tasks.upper[begin:end], tasks.epsilon
        if factor > 0:
            restart(p, low, high, epsilon, b, scores, factor)
        report[t, 0], report[t, 1] = solve_one(
            K, rows, spans, diagonal, p, low, high, epsilon, b, scores,
            tol, gap_tol, largest, max_steps, memory,
        )  # fmt: skip
        level = middle(scores, p, low, high, epsilon, b)
        report[t, 2] = -level
        report[t, 3], report[t, 4] = rounded_proof(K, rows, spans, scores, p, low, high, epsilon, b, level, value)


@jit
def solve_together(K, diagonal, tasks, beta, f, tols, largest, max_steps, first, stride, steps, violations):
    """Tasks first, first + stride, ... to violations of ``tols``, from ``beta``, feasible, with its scores ``f``.

    Scores of NaN are computed here. All but ``tasks`` and what it starts with is written in place. ``largest`` is None
    where no task has more than WHOLE rows.
    """
    pointers, size = tasks.pointers, min(WHOLE, K.shape[0])
    if largest is not None:
        size = min(largest, K.shape[0])
    memory = np.empty(size**2, K.dtype)
    for t in range(first, pointers.size - 1, stride):
        begin, end = pointers[t], pointers[t + 1]
        rows, b, scores = tasks.rows[begin:end], beta[begin:end], f[begin:end]
        spans = runs(rows)
        if end > begin and np.isnan(scores[0]):
            fresh_scores(K, rows, spans, b, scores)
        steps[t], violations[t] = solve_one(
            K, rows, spans, diagonal, tasks.linear[begin:end], tasks.lower[begin:end], tasks.upper[begin:end],
            tasks.epsilon, b, scores, tols[t], None, largest, max_steps, memory,
        )  # fmt: skip


@inner
def fresh_scores(K, rows, spans, beta, f):
    """f = K beta on the rows of a task."""
    f[:] = 0.0
    lines, delta, count = np.empty(rows.size, np.int64), np.empty(rows.size), np.int64(0)
    for k in range(rows.size):
        if beta[k] != 0:
            lines[count], delta[count] = rows[k], beta[k]
            count += 1
    take_in(f, K, lines, delta, count, spans)


@jit
def products(K, pointers, rows, coef, first, stride, f):
    """f = K coef of the tasks first, first + stride, ..."""
    for t in range(first, pointers.size - 1, stride):
        begin, end = pointers[t], pointers[t + 1]
        own = rows[begin:end]
        fresh_scores(K, own, runs(own), coef[begin:end], f[begin:end])
