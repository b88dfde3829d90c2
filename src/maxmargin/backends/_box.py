"""Arguments of the inner solvers, as named tuples so that compiled code can take them."""

from __future__ import annotations

from typing import NamedTuple

from maxmargin._types import FloatArray


class Box(NamedTuple):
    """Bounds and curvatures of the working set's variables."""

    lower: FloatArray
    upper: FloatArray
    diagonal: FloatArray


class BlockOptions(NamedTuple):
    """How the inner solver moves and when it stops.

    ``two_sided``: a budget couples the positive and the negative variables; ``may_shrink``: it is an upper bound.
    """

    epsilon: float
    two_sided: bool
    may_shrink: bool
    slack: float
    tol: float
    max_steps: int
