"""What a worker can be asked to do with a partition, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.distributed import _facts, _kernel_part

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
}
