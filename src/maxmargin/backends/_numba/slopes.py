"""Dual variables of the rows of a linear model as functions of their scores: one pass, vectorised."""

from __future__ import annotations

from maxmargin.backends._numba._jit import fmax, fmin, jit

#: Rows done before they are summed, while they are in the first-level cache.
BLOCK = 512


@jit
def smoothed(f, df, step, centre, keep, rate, linear, ridge, eps, lower, upper, out, first, last):
    """beta_i = clip(shrink(keep centre_i + rate_i (linear_i - f_i - step df_i), rate_i eps) / (keep + rate_i ridge_i)).

    ``keep`` is 1, or 0 where the loss is smooth by itself. Returns sum beta_i df_i.
    """
    total = 0.0
    for start in range(first, last, BLOCK):
        stop = min(start + BLOCK, last)
        for i in range(start, stop):
            value = keep * centre[i] + rate[i] * (linear[i] - f[i] - step * df[i])
            edge = rate[i] * eps
            value = fmax(value - edge, 0.0) + fmin(value + edge, 0.0) if eps > 0 else value
            out[i] = fmin(fmax(value / (keep + rate[i] * ridge[i]), lower[i]), upper[i])
        # a sum beside a store is vectorised or not as arrays lie in memory: by itself it has the same bits every time
        for i in range(start, stop):
            total += out[i] * df[i]
    return total


@jit
def row_values(f, beta, linear, ridge, eps, lower, upper, first, last):
    """(sum of losses, sum of Fenchel-Young gaps) of rows with a quadratic dual.

    The loss is the largest -b (f - linear) - eps |b| - ridge/2 b^2 within the bounds; the gap is what ``beta`` misses.
    """
    losses, gaps = 0.0, 0.0
    for i in range(first, last):
        r = f[i] - linear[i]
        away = fmax(-r - eps, 0.0) + fmin(-r + eps, 0.0)
        if ridge[i] > 0:
            best = fmin(fmax(away / ridge[i], lower[i]), upper[i])
        else:
            best = upper[i] if away > 0 else (lower[i] if away < 0 else 0.0)
        losses -= best * r + eps * abs(best) + 0.5 * ridge[i] * best * best
        b = beta[i]
        gap = (b - best) * (r + 0.5 * ridge[i] * (b + best)) + eps * (abs(b) - abs(best))
        gaps += fmax(gap, 0.0)
    return losses, gaps


@jit
def curvatures(beta, keep, rate, ridge, eps, lower, upper, out, first, last):
    """out_i = rate_i / (keep + rate_i ridge_i) where beta_i is on a slope, 0 where it is held at a bound or a kink."""
    for i in range(first, last):
        inside = lower[i] < beta[i] < upper[i] and (eps == 0 or beta[i] != 0)
        out[i] = rate[i] / (keep + rate[i] * ridge[i]) if inside else 0.0
