"""What tasks that advance in step ask for: the rows that each of them wants to be solved for in the next round.

The tasks have the same rows; beta, f and the bounds are (tasks, rows).
"""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import jit
from maxmargin.backends._numba.stored import is_free, slopes, working_set


@jit
def wants(f, linear, beta, lower, upper, epsilon, on, goal, least, most, first, stride, violations, wanted):
    """Violations of the tasks first, first + stride, ...; the rows that those above the ``goal`` want, if ``on``.

    They want room for their free variables and newcomers: between ``least`` and ``most`` rows, a power of 2.
    """
    n = f.shape[1]
    up, down, scratch = np.empty(n), np.empty(n), np.empty(n)
    mark, index = np.empty(n, np.bool_), np.empty(n, np.int64)
    for t in range(first, f.shape[0], stride):
        low, high = slopes(f[t], linear[t], beta[t], lower[t], upper[t], epsilon, up, down)
        violations[t] = max(high - low, 0.0)
        wanted[t] = False
        if not (on[t] and violations[t] > goal):
            continue
        free, size = 0, least
        for k in range(n):
            free += is_free(beta[t, k], lower[t, k], upper[t, k])
        while size < most and size < 1.3 * free + least // 2:
            size = min(2 * size, most)
        count = working_set(up, down, beta[t], lower[t], upper[t], size, free, free == 0, mark, scratch, index)
        for k in range(count):
            wanted[t, index[k]] = True
