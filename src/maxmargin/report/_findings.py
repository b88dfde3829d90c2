"""What a training run found out: the values that the report shows and the command prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]


#: How a certificate was computed, in words, by its method.
METHODS = {
    "recomputed": "an independent proof: every score was computed afresh from the data in float64, by code that shares "
    "nothing with the code that trained",
    "bounded": "a proof, given the arithmetic of the compiled kernel: one fresh pass gave every score with a proven "
    "error, and the rows that it leaves in doubt were recomputed",
    "estimated": "no proof: scores were only sampled",
}
#: Relative gap above which training that set itself no goal is not finished.
FINISHED = 1e-2


@dataclass(frozen=True)
class Choice:
    """A decision of the run: what was decided, why, and the option of the command that overrides it."""

    name: str
    value: str
    why: str
    option: str = ""


@dataclass(frozen=True)
class Column:
    """A column of the table as it was read."""

    name: str
    kind: Literal["number", "category", "left out"]
    missing: int
    distinct: int
    summary: str  # "0.1 to 7.9, mean 3.8", or the commonest values
    why: str = ""  # why it was left out


@dataclass(frozen=True)
class Notice:
    """Something about the data that a person should know."""

    kind: str  # "imbalance", "duplicates", "leakage", "constant", "unscaled", "missing", ...
    text: str  # what, and what to do about it


@dataclass(frozen=True)
class Tuning:
    """The cells that cross-validation looked at: one score per cell, nan where the race dropped it early."""

    scorer: str
    folds: int
    kernels: list[str]  # of each cell
    strengths: FloatArray  # C, or lam, of each cell
    widths: FloatArray  # gamma of each cell, nan where there is none
    means: FloatArray
    deviations: FloatArray
    best: int
    dropped: Array  # bool of each cell: given up before its last fold
    strength: str = "C"  # what the strengths are: "C", "nu" or "lam"


@dataclass(frozen=True)
class Test:
    """Answers for the rows that no choice has seen, with what they should have been."""

    metrics: dict[str, float]  # "accuracy", "balanced accuracy", "error", "R2", "mean absolute error", ...
    baseline: dict[str, float]  # the same of the answer that looks at no column
    intervals: dict[str, tuple[float, float]]  # 95 % intervals where they are known
    target: Array  # classes as they are in the table (no codes), or numbers
    predicted: Array
    labels: list[str] = field(default_factory=list)  # classes as text, in the order of scores and probabilities
    confusion: IntArray | None = None  # (truth, answer)
    scores: FloatArray | None = None  # decision values of two classes; (rows, classes) beyond
    probabilities: FloatArray | None = None  # (rows, classes) of a calibrated model
    guess: str = ""  # the answer that looks at no column, in words
    headline: str = ""  # the metric that the model is judged by; the first one where nothing is said

    @property
    def judged_by(self) -> str:
        """The metric that says what the model is worth; empty where there is none."""
        return self.headline if self.headline in self.metrics else next(iter(self.metrics), "")


@dataclass(frozen=True)
class Cuts:
    """From which score on a row counts as a class: the cut that was chosen, and others with what they would give.

    Counted on training rows, by machines that had not seen them.
    """

    label: str  # the class that is looked for: the rarer one
    other: str
    thresholds: FloatArray
    found: IntArray  # rows of the class that are found
    alarms: IntArray  # rows of the other class that are taken for it
    costs: FloatArray
    rows: int  # of the class
    others: int
    chosen: int  # place among the thresholds
    missed: float  # cost of a row that is not found
    alarm: float  # cost of a false alarm
    priced: bool = False  # whether somebody named these costs

    @property
    def threshold(self) -> float:
        """The cut that was chosen."""
        return float(self.thresholds[self.chosen])


@dataclass(frozen=True)
class Learning:
    """How good the same machine is when it learns from fewer rows."""

    metric: str
    sizes: list[int]
    scores: list[float]  # on the rows held back


@dataclass(frozen=True)
class Effect:
    """What a column does: the mean answer where it has one value in all rows."""

    name: str
    values: list[Any]  # numbers in order, or texts
    means: list[float]


@dataclass(frozen=True)
class Weight:
    """A weight of a linear machine."""

    name: str
    value: float
    margin: float  # half of the 95 % interval; nan where it is not known


@dataclass(frozen=True)
class Importance:
    """What the model looks at, measured on rows that were held back."""

    metric: str
    names: list[str]  # columns that were shuffled
    means: FloatArray  # how much worse the metric gets
    deviations: FloatArray  # over the shuffles
    rows: int
    shuffles: int
    columns: int  # all that there are
    effects: list[Effect]
    response: str  # what the effects are of
    weights: list[Weight] = field(default_factory=list)


@dataclass(frozen=True)
class Proof:
    """The certificate of the delivered model, and the sentence that says it."""

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt: float
    holds: bool
    method: str
    sentence: str
    tasks: int = 1  # binary problems; the figures are the worst one's
    price: str = ""  # what an independent proof would cost, where this is none
    met: bool | None = None  # whether training reached its goal; None: judged by the gap alone

    @property
    def how(self) -> str:
        """How the figures were computed."""
        return METHODS.get(self.method, self.method)

    @property
    def finished(self) -> bool:
        """Whether the certificate holds and training reached its goal."""
        return self.holds and (self.relative_gap <= FINISHED if self.met is None else self.met)


@dataclass(frozen=True)
class Margins:
    """How the training rows lie: margins t f(x), slack, zones; and the rows that decide."""

    #: Of the training rows; with many classes the smallest of its problems, or a column for each of them with nan
    #: where a row has no part in one; |y - f| - epsilon for regression. Rows on a margin or on the tube, as far as the
    #: fit can tell, are at 1, 0, -1 and 0 exactly.
    margins: FloatArray
    zones: dict[str, int]  # name of a zone -> rows in it
    vectors: int  # support vectors
    rows: int  # training rows
    deciding: list[dict[str, Any]]  # the heaviest: row of the file, label, coefficient, margin, a few column values


@dataclass(frozen=True)
class Findings:
    """A whole run of ``maxmargin train``."""

    title: str
    source: str  # file name or built-in name, never a whole path
    checksum: str  # SHA-256 of the file
    version: str
    created: str  # ISO time
    task: Literal["two classes", "many classes", "regression"]
    target: str
    rows: int
    train_rows: int
    test_rows: int
    columns: list[Column]
    notices: list[Notice]
    choices: list[Choice]
    tuning: Tuning | None
    test: Test
    cross_validated: float | None  # the chosen cell's score
    proof: Proof | None
    support: Margins | None
    code: str  # Python that reproduces the model
    seconds: dict[str, float]  # "read", "tune", "train", "test"
    class_counts: dict[str, int] = field(default_factory=dict)  # of the training rows
    importance: Importance | None = None
    learning: Learning | None = None
    cuts: Cuts | None = None  # where the cut between two classes was moved
    versions: dict[str, str] = field(default_factory=dict)  # "Python", "NumPy", "scikit-learn", ... besides maxmargin
