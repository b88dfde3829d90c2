"""Dual variables of the rows of a linear model as functions of their scores: one pass, vectorised."""

from __future__ import annotations

from maxmargin.backends._numba._jit import fmax, fmin, jit


@jit
def smoothed(f, df, step, centre, keep, rate, linear, ridge, eps, lower, upper, out, first, last):
    """beta_i = clip(shrink(keep centre_i + rate_i (linear_i - f_i - step df_i), rate_i eps) / (keep + rate_i ridge_i)).

    ``keep`` is 1, or 0 where the loss is smooth by itself. Returns sum beta_i df_i.
    """
    total = 0.0
    for i in range(first, last):
        value = keep * centre[i] + rate[i] * (linear[i] - f[i] - step * df[i])
        edge = rate[i] * eps
        value = fmax(value - edge, 0.0) + fmin(value + edge, 0.0) if eps > 0 else value
        value = fmin(fmax(value / (keep + rate[i] * ridge[i]), lower[i]), upper[i])
        out[i] = value
        total += value * df[i]
    return total
