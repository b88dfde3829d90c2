"""A fit is one sentence: state the tasks, solve them, judge, cross-fit, publish.

Every machine is fitted by :func:`fit`. What differs between families of machines (kernel machines, linear ones, one
problem for all classes, landmarks, least squares, ...) is a :class:`Family`: four methods, and two more of classifiers,
made for one fit. Everything is written to a draft of the machine, and the draft is adopted at the very end: whatever
goes wrong before leaves the machine as it was.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._rows import take
from maxmargin._types import FloatArray, IntArray
from maxmargin.certificates import Certificate, worst
from maxmargin.delivered import NOT_FITTED, FoldModels
from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._machine import Machine, Training
from maxmargin.estimators._many_classes import ManyClasses
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import FitReporter
from maxmargin.estimators._proof import Goal, proven_in_time, warn_unless_reached
from maxmargin.estimators._turns import turns_in_time
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


class FoldFit(NamedTuple):
    """The tasks as they are without the rows of one fold."""

    coef: Any  # as the family keeps it
    intercept: Any  # one for every task
    scores: FloatArray | None  # (rows held out, tasks), where they came with the fit


class Family(ABC, Generic[S]):
    """How one kind of machine does the parts of a fit; made with the machine and its checked data."""

    @abstractmethod
    def goal(self) -> Goal | None:
        """What the certificate must show for the goal to be reached; None: the solver's own measure counts."""

    @abstractmethod
    def solve(self, reporter: FitReporter) -> Sequence[S]:
        """A solution of every task."""

    @abstractmethod
    def prove(self, solutions: Sequence[S]) -> list[Certificate]:
        """A certificate of every task, as the machine's ``certify`` asks; none where nothing can be proven."""

    @abstractmethod
    def write(self, draft: Any, solutions: Sequence[S], certificates: list[Certificate] | None, reached: bool) -> None:
        """The fitted attributes, on a draft of the machine."""

    @property
    def proof_decides(self) -> bool:
        """Whether the certificates are about the problem whose goal was asked for."""
        return True


class ClassifierFamily(Family[S]):
    """A family whose machines may be classifiers, which are cross-fitted if probabilities are asked for."""

    @abstractmethod
    def scores(self, draft: Any, solutions: Sequence[S]) -> FloatArray:
        """(n, tasks) scores of the rows that count by the machines themselves."""

    @abstractmethod
    def folds(self, draft: Any, solutions: Sequence[S], number: IntArray) -> list[FoldFit]:
        """The tasks without the rows of each fold in turn; ``number`` is the fold of every row that counts.

        Of the folds that would begin after the time limit there is only the first.
        """

    def kept(self, draft: Any, coefs: list[Any]) -> Any:
        """What the model keeps of the folds' coefficients."""
        return np.array(coefs)

    def held_out(self, draft: Any, solutions: Sequence[S], folds: FoldModels, fits: list[FoldFit]) -> FloatArray:
        """(n, tasks) scores of every row by the machines that have not seen it; of a row in no fold, by all.

        Rows of folds that were not fitted have 0, which nobody looks at.
        """
        scores: FloatArray = np.zeros((len(folds.number), folds.intercept.shape[1]))
        if np.any(folds.number == -1):
            scores = self.scores(draft, solutions)
        for fold, own in enumerate(fits):
            scores[folds.number == fold] = own.scores
        return scores


class RefittedFamily(ClassifierFamily[S]):
    """A family whose folds are fits of the machine on the other rows, each from where the whole one is."""

    whole: Training  # what the folds are parts of: the data, and rows that the fit only looks at

    def folds(self, draft, solutions, number):
        data, limit, fits = self.whole, draft.time_limit, []
        rows, labels, count = take(data.as_given, data.kept), data.extra, int(number.max(initial=-1)) + 1
        for fold, due in turns_in_time(count, data.deadline(limit)):
            train, held = number != fold, np.flatnonzero(number == fold)
            model = draft._for_fold()
            if limit is not None:
                model.time_limit = due - data.began
            part = replace(labels, label=labels.label[train])
            model._fit(data._replace(kept=data.kept[train], weight=data.weight[train], extra=part))
            fits.append(model._as_fold(take(rows, held)))
        return fits


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
    if isinstance(family, ClassifierFamily) and isinstance(draft, ManyClasses):
        _complete(draft, data, family, solutions)
    machine._adopt(draft)
    reporter.close()
    return machine


def _judged(
    machine: Machine, data: Training, family: Family[Any], solutions: Sequence[Any]
) -> list[Certificate] | None:
    """Certificates, unless none are wanted."""
    options = FitOptions.of(machine)
    if not options.certify:  # a perceptron proves nothing
        return None
    ends, folds_follow = machine._solving_ends(data), getattr(machine, "_wanted_calibration", None) is not None
    return proven_in_time(options, ends, solutions, lambda: family.prove(solutions), folds_follow) or None


def _complete(draft: Any, data: Training, family: ClassifierFamily[Any], solutions: Sequence[Any]) -> None:
    """What a classifier has besides: how often its code words fired, and probabilities from its folds."""
    if draft._multiclass == "code":
        draft._write_fired(family.scores(draft, solutions))
    if draft._wanted_calibration is not None:
        draft._write_calibration(data, *cross_fit(family, draft, solutions, draft._new_folds(data)))


def cross_fit(
    family: ClassifierFamily[S], draft: Any, solutions: Sequence[S], number: IntArray
) -> tuple[FoldModels, FloatArray]:
    """(the folds' machines, scores (n, tasks) of every row by the machines that have not seen it)."""
    fits = family.folds(draft, solutions, number)
    asked = int(number.max(initial=-1)) + 1
    if len(fits) < asked:
        number = np.where(number < len(fits), number, NOT_FITTED)
        warnings.warn(
            f"time_limit was reached when {len(fits)} of {asked} folds of the calibration were fitted: probabilities "
            "and prediction sets are made from the rows of those alone; raise it to have them all",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )
    intercept = np.array([own.intercept for own in fits]).reshape(len(fits), -1 if fits else len(draft.intercept_))
    folds = FoldModels(number, family.kept(draft, [own.coef for own in fits]), intercept)
    return folds, family.held_out(draft, solutions, folds, fits)
