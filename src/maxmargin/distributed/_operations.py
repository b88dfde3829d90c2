"""What a worker can be asked to do with a partition, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.distributed import _facts, _kernel_part, _linear_part

OPERATIONS: dict[str, Callable[..., Any]] = {
    "facts": _facts.facts,
    "moments": _facts.moments,
    "close": _facts.close,
    "begin": _kernel_part.begin,
    "feed": _kernel_part.feed,
    "round": _kernel_part.next_round,
    "rows": _kernel_part.rows_at,
    "numbers": _kernel_part.numbers_at,
    "positions": _kernel_part.positions_of,
    "nearby": _kernel_part.nearby,
    "targets": _kernel_part.targets_at,
    "size": _kernel_part.size,
    "deciding": _kernel_part.deciding,
    "judge": _kernel_part.begin_judging,
    "judge_feed": _kernel_part.judge_feed,
    "verdict": _kernel_part.verdict,
    "linear_begin": _linear_part.begin,
    "column_squares": _linear_part.column_squares,
    "look": _linear_part.look,
    "curvature": _linear_part.curvature,
    "curvature_times": _linear_part.curvature_times,
    "direct": _linear_part.direct,
    "along": _linear_part.along,
    "sides": _linear_part.sides,
    "balanced": _linear_part.balanced,
    "feasible_values": _linear_part.feasible_values,
    "settles": _linear_part.settles,
    "slopes_at": _linear_part.slopes_at,
    "duals": _linear_part.duals,
    "done": _linear_part.done,
    "judged_sums": _linear_part.judged_sums,
    "judged": _linear_part.judged,
    "target_moments": _linear_part.target_moments,
}
