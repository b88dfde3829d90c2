"""Stochastic subgradient steps for linear machines, and the perceptron's: one call is a run of steps.

Step on lam/2||w||^2 + mean hinge over a batch B of rows (Shalev-Shwartz et al. 2011, fig. 2), rate eta:

    w <- (1 - eta lam) w + eta/|B| sum over i in B with t_i f_i < 1 of push_i x_i,    b <- b + eta/|B| sum push_i

``push`` is the sign of a row times the weight of its class. w = s v, so that shrinking costs one product. The sum of
all iterates, a_t = t times each, is p v + u: a change of v by c x changes u by -p c x, so that averaging costs nothing
while nothing is violated. The same is done with the dual variables, w = sum_i (s dual_i0) x_i. What changes in every
step is kept in local variables: stored in an array, it would have to be read again after every change of v.
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import inner, jit
from maxmargin.backends._numba.rows import axpy, dot, square

#: Where a run keeps what it knows: steps so far, s, p, sum of the a_t, b, sum of a_t b_t, ||v||^2.
STEPS, SCALE, SHARE, TOTAL, BIAS, BIAS_SUM, SQUARE = range(7)
#: Below this |s| the vectors are rewritten with s = 1, before digits are lost.
SMALL_SCALE = 1e-9
#: Odd numbers with well mixed bits (of splitmix64).
MIX, MIX_2, MIX_3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inner
def unscale(v, u, dual, s, p):
    """The iterate s v as v and the sum p v + u as u, so that s = 1 and p = 0 from here on."""
    for j in range(len(v)):
        u[j] += p * v[j]
        v[j] *= s
    for i in range(len(dual)):
        dual[i, 1] += p * dual[i, 0]
        dual[i, 0] *= s


@inner
def square_of(v):
    """||v||^2."""
    total = 0.0
    for j in range(len(v)):
        total += v[j] * v[j]
    return total


@jit
def steps(rows, push, visits, batch, v, u, dual, state, lam, eta, radius, bias, averaged):
    """Steps over every line of ``visits`` (a pass each), ``batch`` rows at a time. Returns the number of violations.

    The rate is ``eta`` or, if that is 0, 1 / (lam t). ``dual`` may have no lines; a radius of 0 is no projection.
    """
    t, s, p, b, norm = state[STEPS], state[SCALE], state[SHARE], state[BIAS], square_of(v)
    total, b_sum = state[TOTAL], state[BIAS_SUM]
    found, count = np.empty(batch, dtype=np.int64), 0
    for line in range(visits.shape[0]):
        for first in range(0, visits.shape[1], batch):
            size, active = min(batch, visits.shape[1] - first), 0
            for k in range(first, first + size):  # phase 1: who violates the margin at the iterate as it is
                i = visits[line, k]
                f = s * dot(rows, v, i) + b
                if (f if push[i] > 0 else -f) < 1.0:
                    found[active] = i
                    active += 1
            t += 1.0
            rate = eta if eta > 0 else 1.0 / (lam * t)
            s *= 1.0 - rate * lam  # phase 2: shrink w
            if abs(s) < SMALL_SCALE:
                unscale(v, u, dual, s, p)
                norm, s, p = norm * s * s, 1.0, 0.0
            for k in range(active):  # phase 3: add eta/|B| push_i x_i
                i = found[k]
                c = rate * push[i] / (size * s)
                if radius > 0:
                    norm += 2.0 * c * dot(rows, v, i) + c * c * square(rows, i)
                axpy(rows, v, i, c)
                if len(dual):
                    dual[i, 0] += c
                if averaged:
                    axpy(rows, u, i, -p * c)
                    if len(dual):
                        dual[i, 1] -= p * c
                if bias:
                    b += rate * push[i] / size
            count += active
            if radius > 0 and s * s * norm > radius * radius:  # phase 4: back into the ball
                s *= radius / (abs(s) * np.sqrt(norm))
            if averaged:
                p += t * s
                total += t
                b_sum += t * b
    state[TOTAL], state[BIAS_SUM] = total, b_sum
    state[STEPS], state[SCALE], state[SHARE], state[BIAS], state[SQUARE] = t, s, p, b, norm
    return count


@jit
def mistakes(rows, push, visits, w, state, rate, bias, shrink, cut):
    """Perceptron: where t f <= 0, w += rate push x and b += rate push bias; the number of mistakes.

    A penalty shrinks the weights at every visit: before a step by the factor ``shrink``, after it by ``cut`` towards 0.
    """
    count = 0
    for k in range(len(visits)):
        i = visits[k]
        f = dot(rows, w, i) + state[0]
        if shrink != 1.0:
            w *= shrink
        if (f if push[i] > 0 else -f) <= 0.0:
            axpy(rows, w, i, rate * push[i])
            state[0] += rate * push[i] * bias
            count += 1
        if cut > 0.0:
            for j in range(len(w)):
                w[j] = max(w[j] - cut, 0.0) if w[j] > 0 else min(w[j] + cut, 0.0)
    return count


@jit
def shuffled(pool, place, out, seed):
    """Fill ``out`` with the next values of endless passes over ``pool``, each in random order; (next place, seed).

    Fisher and Yates from the front: what lies before ``place`` has had its turn in this pass. A value costs one swap,
    however long the pool is.
    """
    for k in range(len(out)):
        if place == len(pool):
            place = 0
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        m = place + np.int64(seed % np.uint64(len(pool) - place))
        pool[place], pool[m] = pool[m], pool[place]
        out[k] = pool[place]
        place += 1
    return place, seed


@jit
def drawn(values, out, seed):
    """Fill ``out`` with independent draws from ``values``; the next seed."""
    for k in range(len(out)):
        seed ^= seed << np.uint64(13)
        seed ^= seed >> np.uint64(7)
        seed ^= seed << np.uint64(17)
        out[k] = values[np.int64(seed % np.uint64(len(values)))]
    return seed


@inner
def mixed(key):
    """A number with the bits of ``key`` well mixed (splitmix64)."""
    key = (key ^ (key >> np.uint64(30))) * MIX_2
    key = (key ^ (key >> np.uint64(27))) * MIX_3
    return key ^ (key >> np.uint64(31))


@jit
def csr_keys(rows, bits, out):
    """out[i] = a number made of the non-zero values of row i and their columns; ``bits`` are the values' bits."""
    for i in range(len(out)):
        total = np.uint64(0)
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            if rows.data[k] != 0:
                total += mixed(np.uint64(bits[k]) + MIX * np.uint64(rows.indices[k] + 1))
        out[i] = total


@jit
def dense_keys(X, bits, out):
    """:func:`csr_keys` on dense rows."""
    for i in range(len(out)):
        total = np.uint64(0)
        for j in range(X.shape[1]):
            if X[i, j] != 0:
                total += mixed(np.uint64(bits[i, j]) + MIX * np.uint64(j + 1))
        out[i] = total
