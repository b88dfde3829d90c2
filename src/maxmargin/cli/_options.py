"""What the user of ``maxmargin train`` may decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from maxmargin.calibration import KINDS
from maxmargin.cli._errors import InputError
from maxmargin.multiclass import BINARY, MARGIN

KERNELS = ("linear", "rbf", "poly", "sigmoid")
CALIBRATIONS = ("none", *KINDS)
#: Options that say how a file is read.
READING = ("format", "header", "separator", "decimal", "encoding")
MULTICLASS = (*BINARY, *MARGIN)


@dataclass(frozen=True)
class TrainOptions:
    """Options of ``train``; None is 'pick for me'."""

    target: str | None = None
    task: str | None = None
    out: Path | None = None
    report: Path | None = None
    kernel: str | None = None
    C: float | None = None
    gamma: float | None = None
    epsilon: float | None = None
    tune: bool = True
    multiclass: str | None = None
    calibration: str | None = None
    class_weight: str | None = None
    scale: bool | None = None
    test_size: float = 0.2
    folds: int = 5
    scoring: str | None = None
    time_limit: float | None = None
    seed: int = 0
    time_column: str | None = None
    group: str | None = None
    test: str | None = None
    device: str = "auto"
    certify: str = "auto"
    threshold: float | None = None
    cost: tuple[float, float] | None = None  # of a missed row, and of a false alarm
    keep: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    format: str | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is to be read, by the reader's names."""
        return {name: getattr(self, name) for name in READING}

    def __post_init__(self) -> None:
        one_of("--kernel", self.kernel, KERNELS)
        one_of("--calibration", self.calibration, CALIBRATIONS)
        one_of("--multiclass", self.multiclass, MULTICLASS)
        one_of("--task", self.task, ("classification", "regression"))
        one_of("--class-weight", self.class_weight, ("balanced", "none"))
        one_of("--certify", self.certify, ("auto", "full"))
        one_of("--device", self.device, ("auto", "cpu"))
        for name, value in (("--C", self.C), ("--gamma", self.gamma), ("--time-limit", self.time_limit)):
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} {value:g} must be a number above 0")
        if self.epsilon is not None and not 0 <= self.epsilon < float("inf"):
            raise InputError(f"--epsilon {self.epsilon:g} must be a number of at least 0")
        if not 0.05 <= self.test_size <= 0.9:
            raise InputError(f"--test-size {self.test_size:g} is the share of rows to test on; take 0.05 to 0.9")
        if not 2 <= self.folds <= 20:
            raise InputError(f"--folds {self.folds} must be 2 to 20")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"--seed {self.seed} must be 0 to {2**32 - 1}")
        if sum(value is not None for value in (self.time_column, self.group, self.test)) > 1:
            raise InputError("--time-column, --group and --test each say how rows are split; take one of them")
        if self.threshold is not None and not abs(self.threshold) < float("inf"):
            raise InputError(f"--threshold {self.threshold:g} is a score; take a finite number")
        if self.threshold is not None and self.cost is not None:
            raise InputError("--threshold is the cut itself and --cost has it chosen; leave one of them out")
        if self.gamma is not None and self.kernel == "linear":
            raise InputError("--gamma is the width of a kernel, and --kernel linear has none; leave one of them out")
        check_scoring(self.scoring)


def read_cost(text: str | None) -> tuple[float, float] | None:
    """'10:1' as numbers: what a missed row costs, and a false alarm."""
    if text is None:
        return None
    try:
        missed, alarm = map(float, text.split(":"))
    except ValueError:
        missed = alarm = 0.0
    if not (0 < missed < float("inf") and 0 < alarm < float("inf")):
        raise InputError(
            f"--cost {text!r} must be two numbers above 0, such as 10:1 if missing a row of the rarer class costs as "
            "much as ten false alarms"
        )
    return missed, alarm


def one_of(option: str, value: str | None, known: tuple[str, ...]) -> None:
    """InputError unless the value is known or left out."""
    if value is not None and value not in known:
        raise InputError(f"{option} {value!r} is unknown; choose {', '.join(known)}")


def check_scoring(name: str | None) -> None:
    """InputError unless scikit-learn has a scorer of that name."""
    if name is None:
        return
    import difflib

    from sklearn.metrics import get_scorer_names

    if name not in get_scorer_names():
        near = difflib.get_close_matches(name, get_scorer_names(), n=1)
        hint = f"; did you mean {near[0]}?" if near else "; scikit-learn's get_scorer_names() lists them"
        raise InputError(f"--scoring {name!r} is not a scorer of scikit-learn{hint}")
