"""A fit is one sentence: state the tasks, solve them, judge, cross-fit, publish.

Every machine that solves optimisation problems is fitted by :func:`fit`. What differs between families of machines
(kernel machines, linear ones, one problem for all classes, landmarks, ...) is a :class:`Family`: five methods, made for
one fit. Everything is written to a draft of the machine, and the draft is adopted at the very end: whatever goes wrong
before leaves the machine as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from maxmargin._types import FloatArray, IntArray
from maxmargin.certificates import Certificate, worst
from maxmargin.estimators._machine import Machine, Training
from maxmargin.estimators._many_classes import Folds, ManyClasses
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._proof import Goal, proven_in_time, warn_unless_reached
from maxmargin.solvers import Record, Status


class Solved(Protocol):
    """What a solver says of a task, whatever else it says."""

    @property
    def status(self) -> Status: ...

    @property
    def history(self) -> Sequence[Record]: ...


S = TypeVar("S", bound=Solved)


class Passes(NamedTuple):
    """What one task of a machine that learns online came to: its model, and a line for every pass over the rows."""

    model: Any
    lines: list[Any]
    history: tuple[Record, ...] = ()
    status: Status = Status.OPTIMAL  # all the passes that were asked for


class Family(ABC, Generic[S]):
    """How one kind of machine does the parts of a fit; made with the machine and its checked data."""

    @abstractmethod
    def goal(self) -> Goal | None:
        """What the certificate must show for the goal to be reached; None: the solver's own measure counts."""

    @abstractmethod
    def solve(self, reporter: FitReporter) -> list[S]:
        """A solution of every task."""

    @abstractmethod
    def prove(self, solutions: list[S]) -> list[Certificate]:
        """A certificate of every task, as the machine's ``certify`` asks; none where nothing can be proven."""

    @abstractmethod
    def write(self, draft: Any, solutions: list[S], certificates: list[Certificate] | None, reached: bool) -> None:
        """The fitted attributes, on a draft of the machine."""

    @abstractmethod
    def cross_fit(self, draft: Any, solutions: list[S], number: IntArray) -> tuple[Folds, FloatArray]:
        """(the folds' machines, scores (n, tasks) of every row by the machines that have not seen it).

        Asked of classifiers only, as the rest is; ``number`` is the fold of every row that counts.
        """

    @abstractmethod
    def scores(self, draft: Any, solutions: list[S]) -> FloatArray:
        """(n, tasks) scores of the rows that count by the machines themselves."""

    @property
    def proof_decides(self) -> bool:
        """Whether the certificates are about the problem whose goal was asked for."""
        return True


def fit(machine: Machine, data: Training, family: Family[Any]) -> Any:
    """Fit ``machine`` to checked data, in the way of its family."""
    reporter = FitReporter(machine, data.as_given, data.y)
    solutions = family.solve(reporter)
    certificates = _judged(machine, data, family, solutions)
    reached = warn_unless_reached(solutions, certificates if family.proof_decides else None, family.goal())
    draft = machine._draft()
    family.write(draft, solutions, certificates, reached)
    if certificates is not None:
        draft.certificates_, draft.certificate_ = certificates, worst(certificates)
    if isinstance(draft, ManyClasses):
        _complete(draft, data, family, solutions)
    machine._adopt(draft)
    reporter.close()
    return machine


def _judged(machine: Machine, data: Training, family: Family[Any], solutions: list[Any]) -> list[Certificate] | None:
    """Certificates, unless none are wanted."""
    options = FitOptions.of(machine)
    if not options.certify:  # a perceptron proves nothing
        return None
    histories = [solution.history for solution in solutions]
    return proven_in_time(options, machine._solving_ends(data), histories, lambda: family.prove(solutions)) or None


def _complete(draft: Any, data: Training, family: Family[Any], solutions: list[Any]) -> None:
    """What a classifier has besides: how often its code words fired, and probabilities from its folds."""
    if draft._multiclass == "code":
        draft._write_fired(family.scores(draft, solutions))
    if draft._wanted_calibration is not None:
        folds, scores = family.cross_fit(draft, solutions, draft._new_folds(data))
        draft._write_calibration(data, folds, scores)
