"""Certificates of what is about to be published, and the word on whether the fit reached its goal."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._stop import Stopped, heed, stops_when
from maxmargin._types import IntArray, RowData
from maxmargin.backends import KernelGram, blas_threads, effective_threads, run_parallel
from maxmargin.certificates import (
    Certificate,
    Definiteness,
    Scores,
    definiteness,
    doubtful_rows,
    judge_all,
    judge_soft_margins,
    must_recompute,
    proven_scores,
    scores_at,
    soft_margin_scores,
    union,
)
from maxmargin.delivered import Delivered
from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._run import Outcome, last_record, published_scale
from maxmargin.estimators._soft_margins import SoftOutcomes
from maxmargin.kernels import Kernel, Linear
from maxmargin.problems import relative
from maxmargin.solvers import Record, Status

#: ``certify='auto'`` recomputes scores that cost little all the same where their errors take more than this share.
SHARP = 1e-9
#: Kernel values of a certificate from which on a second BLAS thread does not only wait.
LARGE_VALUES = 2**24
#: ``certify='auto'`` recomputes every score where that takes at most this many kernel values. A fresh pass that proves
#: as much is tried first beyond; then they are recomputed up to so many, or for at most a quarter of the fit, a value
#: of the judge's costing as much as so many of the solver's.
CHEAP_VALUES, AFFORDABLE_VALUES, QUARTER, PRICE = 2**17, 2**22, 0.25, 10
#: Rows of tasks that are all done in float64.
SHORT_TASK = 4096
#: Kernel values of a fresh pass between two looks at the clock.
PASS_VALUES = 2**25
#: How long after the time limit of a fit its proof may end, in seconds or as a share of the limit.
LATE, LATE_SHARE = 0.2, 0.1
OUT_OF_TIME = (
    "the fit was out of time before its proof was made; these are the solver's own values, and "
    "maxmargin.certify(model, X, y) proves the model"
)
#: Rows drawn at random to estimate the error of the solver's scores, and the factor taken for safety.
SAMPLE, SAFETY = 128, 3.0


class Goal(NamedTuple):
    """What a fit is to reach: a relative gap, where one is given, else a violation of the optimality conditions."""

    tol: float
    gap_tol: float | None = None

    def met_by(self, certificate: Certificate) -> bool:
        """Whether a certificate says that it was reached."""
        if self.gap_tol is not None:
            return certificate.relative_gap <= self.gap_tol
        return certificate.kkt <= self.tol


def proven_in_time(
    options: FitOptions,
    ends: float,
    solutions: Sequence[Any],
    prove: Callable[[], list[Certificate]],
    folds_follow: bool = False,
) -> list[Certificate]:
    """Certificates by ``prove``; where the time limit does not leave the time for that, the solvers' last words.

    ``certify='full'`` asks for a proof whatever it takes; ``ends`` is when the solvers had to. If they were late and
    ``folds_follow``, the proof has less time.
    """
    limit = None if options.certify == "full" else options.time_limit
    end = math.inf
    if limit is not None:
        end = (ends if folds_follow else max(ends, time.perf_counter())) + max(LATE, LATE_SHARE * limit)
    try:
        with stops_when(lambda: time.perf_counter() >= end):
            return prove()
    except Stopped:
        return [_unproven(solution) for solution in solutions]


def _unproven(solution: Any) -> Certificate:
    """What a solver believes at its end, where nobody had the time to check it."""
    if solution.history:
        last = solution.history[-1]
    elif isinstance(solution, Outcome):  # solved in one go
        last = last_record(solution, None)
    else:
        last = Record(0, 0.0, np.inf, -np.inf, np.inf)
    return Certificate(
        primal=last.primal,
        dual=last.dual,
        gap=last.gap,
        relative_gap=relative(last.gap, last.primal, last.dual),
        kkt=np.inf,
        feasible=False,
        holds=False,
        method="estimated",
        reason=OUT_OF_TIME,
        error_bound=np.inf,
    )


def certified_outcomes(
    options: FitOptions, kernel: Kernel, X: RowData, outcomes: Sequence[Any], goal: Goal | None
) -> list[Certificate]:
    """Certificates of the outcomes of a fit, as ``certify=`` asks.

    Bounded where the solver ended with a fresh pass whose errors are proven, if the goal is met within them. Recomputed
    from the data where that is asked for or costs little. Otherwise bounded: one fresh pass over the support vectors in
    the tiles' precision, with a proven error, and the rows recomputed that decide over the gap within it. Where that
    does not prove the goal and recomputing all costs too much, an estimate.
    """
    if isinstance(outcomes, SoftOutcomes):
        with InterruptFlag():
            certificates = _soft_certificates(options, kernel, X, outcomes, goal)
        if certificates is not None:
            return certificates
    tasks = [outcome.delivered for outcome in outcomes]
    rows = union([task.rows for task in tasks])
    values = len(rows) * len(union([task.rows[task.dual_coef != 0] for task in tasks]))
    work = sum(outcome.solution.entries for outcome in outcomes)
    affordable = values <= max(AFFORDABLE_VALUES, QUARTER / PRICE * work)
    full = options.certify == "full" or any(must_recompute(task.problem) for task in tasks)
    # Ctrl-C does not lose a fit that has ended: its certificate is finished; a second one is Python's own
    with InterruptFlag(), blas_threads(effective_threads() if values > LARGE_VALUES else 1):
        definite = definiteness(kernel, X, rows)
        if not (full or isinstance(kernel, Linear)):
            passes: list[Callable[[], list[Scores] | None]] = [partial(_known, outcomes, definite)]
            if values > CHEAP_VALUES:
                passes.append(partial(_fresh_scores, options, kernel, X, tasks))
            for scores in (fresh() for fresh in passes):
                if scores is None:
                    continue
                bounded = judge_all(tasks, scores, definite, "bounded")
                if values <= CHEAP_VALUES and not all(map(_is_sharp, bounded)):
                    continue
                if goal is None or all(
                    goal.met_by(own) or not outcome.solution.status.reached  # a fit that was stopped has its proof
                    for own, outcome in zip(bounded, outcomes, strict=True)
                ):
                    return bounded
            if values > CHEAP_VALUES and not affordable:
                return _estimated(kernel, X, outcomes, definite, values, seed=len(rows))
        return judge_all(tasks, proven_scores(kernel, X, tasks, definite), definite)


def _soft_certificates(
    options: FitOptions, kernel: Kernel, X: RowData, outcomes: SoftOutcomes, goal: Goal | None
) -> list[Certificate] | None:
    """Certificates of tasks laid end to end; None where they are better judged one by one, or miss the goal."""
    rows, coef, known, full = outcomes.rows, outcomes.solved.beta, outcomes.solved.error, options.certify == "full"
    if isinstance(kernel, Linear):
        return None
    every = union([rows])
    with nullcontext() if kernel.is_psd else blas_threads(1):
        definite = definiteness(kernel, X, every)
    cheap = len(every) * len(union([rows[coef != 0]])) <= CHEAP_VALUES
    if known is not None and not full:
        bounded = outcomes.certificates(definite)
        if (goal is None or all(map(goal.met_by, bounded))) and (not cheap or all(map(_is_sharp, bounded))):
            return bounded
    if not cheap and (known is None or not full):
        return None
    with blas_threads(1):
        scores = soft_margin_scores(kernel, X, rows, outcomes.problems, coef, definite)
    return judge_soft_margins(outcomes.problems, coef, outcomes.intercept, scores, definite, "recomputed")


def _is_sharp(certificate: Certificate) -> bool:
    """Whether the errors of the scores are nothing beside the objectives: recomputing would show nothing new."""
    primal, dual = certificate.primal, certificate.dual
    return primal - dual - certificate.gap <= SHARP * max(abs(primal), abs(dual))


def _known(outcomes: Sequence[Any], definite: Definiteness) -> list[Scores] | None:
    """Scores of a fresh pass that ended the solver, where there are those of every task."""
    if any(outcome.fresh is None for outcome in outcomes):
        return None
    known = [(outcome.fresh, float(np.linalg.norm(outcome.delivered.dual_coef))) for outcome in outcomes]
    return [own.charged(definite, length) for own, length in known]


def _fresh_scores(options: FitOptions, kernel: Kernel, X: RowData, tasks: Sequence[Delivered]) -> list[Scores] | None:
    """Scores of one fresh pass with proven errors; None where the kernel has no such bound.

    Those of support vectors, which the objectives are made of, in float64; those of the others, of which all that
    matters is on which side of the margin they are, in the tiles' precision, and in float64 where that does not tell
    (all of them once it tells of less than half).
    """
    threads, short = options.threads, max(len(task.rows) for task in tasks) <= SHORT_TASK
    gram = options.gram(kernel, X, np.float64 if short else None)  # of few rows precision costs less than Python does
    if short and len(tasks) > 1:
        return _many_fresh(gram, tasks)
    scores: list[Scores | None] = [None] * len(tasks)
    at_once = min(threads, len(tasks)) if all(len(task.rows) < gram.n for task in tasks) else 1

    def share(numbers: range) -> None:
        for number in numbers:
            task = tasks[number]
            part = gram if len(task.rows) == gram.n else gram.take(task.rows, threads=max(1, threads // at_once))
            scores[number] = _fresh(part, task)
            if scores[number] is None:
                return

    run_parallel([partial(share, range(k, len(tasks), at_once)) for k in range(at_once)], at_once)
    found = [own for own in scores if own is not None]
    return found if len(found) == len(tasks) else None


def _many_fresh(gram: KernelGram, tasks: Sequence[Delivered]) -> list[Scores] | None:
    """Scores of many short tasks, without Python between them."""
    sizes = [len(task.rows) * int(np.count_nonzero(task.dual_coef)) for task in tasks]
    edges = np.searchsorted(np.cumsum(sizes), np.arange(PASS_VALUES, sum(sizes), PASS_VALUES))
    scores: list[Scores] = []
    for first, last in pairwise([0, *np.unique(edges[edges > 0]).tolist(), len(tasks)]):
        heed()
        part = tasks[first:last]
        pointers = np.concatenate([[0], np.cumsum([len(task.rows) for task in part])]).astype(np.int64)
        rows = np.concatenate([task.rows for task in part]).astype(np.int64)
        values = gram.proven_products(pointers, rows, np.concatenate([task.dual_coef for task in part]))
        if values is None:
            return None
        f, error = values
        scores += [Scores(f[a:b], error[a:b], 1.0) for a, b in pairwise(pointers.tolist())]
    return scores


def _fresh(gram: KernelGram, task: Delivered) -> Scores | None:
    scores, support = Scores(np.zeros(gram.n), np.zeros(gram.n), 1.0), np.flatnonzero(task.dual_coef)  # k(x, x) = 1

    def known(lines: IntArray, in_float64: bool) -> bool:
        heed()
        values = gram.proven_product(task.dual_coef, lines, in_float64)
        if values is not None:
            scores.f[lines], scores.error[lines] = values
        return values is not None

    coarse, height = gram.dtype != np.float64, max(1, PASS_VALUES // max(1, len(support)))
    first, others = (support, np.flatnonzero(task.dual_coef == 0)) if coarse else (np.arange(gram.n), support[:0])
    parts = [first] if gram.mirrors(support, first) else _in_parts(first, height)
    if not all(known(part, True) for part in parts):
        return None
    for part in _in_parts(others, height):
        rest = part
        if coarse:
            if not known(part, False):
                return None
            rest = part[doubtful_rows(task, scores)[part]]
            coarse = 2 * len(rest) <= len(part)
        if len(rest) and not known(rest, True):
            return None
    return scores


def _in_parts(lines: IntArray, height: int) -> list[IntArray]:
    return [lines[first : first + height] for first in range(0, len(lines), height)]


def _estimated(
    kernel: Kernel, X: RowData, outcomes: Sequence[Any], definite: Definiteness, values: int, seed: int
) -> list[Certificate]:
    """No proof: the solver's scores, taken to be off by a few times the largest error in a sample of rows."""
    rng, tasks, scores = np.random.default_rng(seed), [outcome.delivered for outcome in outcomes], []
    for outcome in outcomes:
        task, known = outcome.delivered, outcome.solution.f * published_scale(outcome)
        sample = rng.permutation(len(known))[:SAMPLE]
        used = np.flatnonzero(task.dual_coef)
        exact = scores_at(kernel, X, task.rows[sample], task.rows[used], task.dual_coef[used])
        error = SAFETY * float(np.abs(exact - known[sample]).max(initial=0.0))
        scores.append(Scores(known, np.full(len(known), error), 0.0))
    seconds = sum(outcome.solution.seconds for outcome in outcomes)
    work = max(1, sum(outcome.solution.entries for outcome in outcomes))
    cost = f"certify='full' computes {values:.2g} kernel values, some {PRICE * values / work * seconds:.1g} s here"
    reason = f"an estimate from a sample of rows, not a proof; {cost}"
    judged = judge_all(tasks, scores, definite, "estimated")
    return [replace(own, holds=False, reason=definite.reason or reason) for own in judged]


def statuses(solutions: Sequence[Any], certificates: Sequence[Certificate] | None, goal: Goal) -> list[Status]:
    """How each task ended: the certificate decides whether its goal was reached, where there is one."""
    if certificates is None:
        return [solution.status for solution in solutions]
    words = []
    for solution, certificate in zip(solutions, certificates, strict=True):
        reached = goal.met_by(certificate)
        if reached == solution.status.reached:
            words.append(solution.status)
        elif certificate.reason == OUT_OF_TIME:
            words.append(Status.UNPROVEN)
        else:
            words.append(Status.OPTIMAL if reached else Status.UNCONFIRMED)
    return words


def warn_unless_reached(
    solutions: Sequence[Any], certificates: Sequence[Certificate] | None = None, goal: Goal | None = None
) -> bool:
    """Tell the user of every goal that was missed, by how much, and what would help; whether all were reached."""
    if certificates is not None and goal is not None and all(map(goal.met_by, certificates)):
        return True
    if certificates is None and isinstance(solutions, SoftOutcomes):  # all of them were finished
        return True
    words = statuses(solutions, certificates if goal is not None else None, goal or Goal(0.0))
    missed = [k for k, status in enumerate(words) if not status.reached]
    if not missed:
        return True
    gaps = [_gap_reached(solutions[k], None if certificates is None else certificates[k]) for k in missed]
    worst = int(np.argmax(gaps))
    where = f" in {len(missed)} of {len(solutions)} tasks" if len(solutions) > 1 else ""
    known = "" if np.isinf(gaps[worst]) else f" Relative gap reached: {gaps[worst]:.2e}."
    word = words[missed[worst]]
    unproven = word in (Status.UNCONFIRMED, Status.UNPROVEN)
    what = "The goal is not proven" if unproven else "Solver terminated early"
    warnings.warn(
        f"{what}{where}: {word.value}.{known}",
        ConvergenceWarning,
        stacklevel=levels_to_caller(),
    )
    return False


def warn_unless_met(certificates: Sequence[Certificate], goal: Goal) -> None:
    """Tell the user where a goal that solvers have reported as reached is not proven by the certificates."""
    missed = [own.relative_gap for own in certificates if not goal.met_by(own)]
    if missed:
        where = f" in {len(missed)} of {len(certificates)} tasks" if len(certificates) > 1 else ""
        reached = f"Relative gap reached: {max(missed):.2e}."
        warnings.warn(
            f"The goal is not proven{where}: {Status.UNCONFIRMED.value}. {reached}",
            ConvergenceWarning,
            stacklevel=levels_to_caller(),
        )


def _gap_reached(solution: Any, certificate: Certificate | None) -> float:
    """The relative gap as far as anybody knows it, else inf."""
    if certificate is not None:
        return certificate.relative_gap
    if not solution.history:  # nobody asked for a look at it
        return np.inf
    last = solution.history[-1]
    return relative(last.gap, last.primal, last.dual)
