"""The largest of many values without sorting them: counted in bins, the bin at the edge divided again."""

from __future__ import annotations

import numpy as np

from maxmargin.backends._numba._jit import jit

#: Bins of one count, and how often the bin at the edge is divided.
BINS, LEVELS = 1024, 4


@jit
def largest(values, count):
    """Positions of the ``count`` largest finite values, ascending; of values equal to 1e-12 of the range the first."""
    low, high = np.inf, -np.inf
    for k in range(values.size):
        if np.isfinite(values[k]):
            low, high = min(low, values[k]), max(high, values[k])
    above = 0  # values over the edge
    counts = np.empty(BINS, np.int64)
    for _ in range(LEVELS):
        if not high > low:
            break
        scale = BINS / (high - low)
        counts[:] = 0
        for k in range(values.size):
            if values[k] >= low and values[k] <= high:
                counts[min(BINS - 1, int((values[k] - low) * scale))] += 1
        b = BINS - 1
        while b > 0 and above + counts[b] < count:
            above += counts[b]
            b -= 1
        if b < BINS - 1:
            high = low + (b + 1) / scale
        if b > 0:
            low += b / scale
        if above + counts[b] <= count:
            break
    chosen, used, room = np.empty(min(count, values.size), np.int64), 0, count - above
    for k in range(values.size):
        if used < chosen.size and np.isfinite(values[k]):
            if values[k] > high:
                chosen[used] = k
                used += 1
            elif values[k] >= low and room > 0:
                chosen[used] = k
                used, room = used + 1, room - 1
    return chosen[:used]
