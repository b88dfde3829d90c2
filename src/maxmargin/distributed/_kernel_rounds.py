"""Kernel machines over partitions: nested working sets whose rows come from all of them.

Problem: the dual QP of soft margins and tubes, with rows on many workers.
Algorithm: every partition sends its worst candidates and the free rows of the last set; the driver solves the problem
on their union by blocks (:mod:`maxmargin.solvers.blocks`), and the rows that moved go to all partitions, which update
their scores. Of dual variables the driver keeps those that are not 0; it sees no scores but the candidates'.
Invariant: beta feasible; f = K beta in float64 on every partition that has the version it is asked for.
Cost per round: candidates and moved rows travel, whatever n is; a partition computes its rows times the moved ones.
Faults: a partition that has lost its state is given beta and the support vectors again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import Backend
from maxmargin.distributed._crew import ATTEMPTS, Apart, Crew
from maxmargin.distributed._kernel_part import Look, Moved, Plan, Step, put_together
from maxmargin.distributed._tasks import Lost
from maxmargin.exceptions import ClusterError
from maxmargin.problems import Offsets, Problem
from maxmargin.solvers import Blocks, Record, Status, Subproblem, Watch
from maxmargin.solvers._base import Crawl, rounding_floor

#: Candidates of a round, in all; at most this share of a task's rows, but so many at least.
CANDIDATES, SHARE, LEAST = 8192, 4, 64
#: Rounds without progress after which the fit ends; how far a working set is solved.
PATIENCE, INNER = 100, 0.1

Sparse = tuple[IntArray, FloatArray]  # positions and values


@dataclass
class Outcome:
    """What a task came to: its dual variables, partition by partition, its offsets, and how it was reached."""

    beta: list[Sparse]
    sizes: list[int]  # rows of the task in each partition
    offsets: Offsets
    status: Status
    n_iter: int
    history: tuple[Record, ...]
    seconds: float
    rounds: int
    balance: bool


@dataclass
class Variables:
    """The dual variables that are not 0: by partition and position."""

    values: list[dict[int, float]]

    def sparse(self, p: int) -> Sparse:
        own = self.values[p]
        where = np.array(sorted(own), dtype=np.intp)
        return where, np.array([own[int(i)] for i in where], dtype=np.float64)

    def move(self, p: int, positions: IntArray, values: FloatArray) -> None:
        own = self.values[p]
        for at, value in zip(positions.tolist(), values.tolist(), strict=True):
            if value:
                own[at] = value
            else:
                own.pop(at, None)


@dataclass
class Rounds:
    """One task on all partitions."""

    crew: Crew
    plan: Plan
    task: int
    backend: Backend
    threads: int
    memory: int
    watch: Watch
    beta: Variables
    vault: Any = None  # keeps the rows of support vectors for a checkpoint
    version: int = 0
    sizes: list[int] = field(default_factory=list)
    offsets: Offsets = field(default_factory=Offsets)
    rows: list[dict[int, int]] = field(default_factory=list)

    def solve(self) -> Outcome:
        """From the dual variables given until the watch says stop."""
        everyone = list(range(len(self.crew)))
        self._rebuild(everyone)
        n = sum(self.sizes)
        self.share = np.minimum(CANDIDATES, max(LEAST * len(everyone), n // SHARE)) / max(1, n)
        moved: Moved | None = None
        steps = [Step(self.version, *_nothing(), 0) for _ in everyone]
        self.had = 0
        self.held: list[tuple[IntArray, RowData | None]] = [(np.zeros(0, dtype=np.intp), None)] * len(everyone)
        blocks, crawl, rounds = Blocks(self.backend, 4096, INNER, self.watch), Crawl(), 0
        while True:
            looks = self._looks(moved, steps)
            violation = self._violation(looks)
            record = self._record(looks, blocks.n_iter)
            status = self.watch.note(record, violation)
            if status is None and crawl.since(rounds, violation, record.gap) > PATIENCE:
                status = Status.STALLED
            mass, largest = sum(look.mass for look in looks), max(look.largest for look in looks)
            if status is None and violation <= rounding_floor(np.array([largest]), np.array([mass])):
                status = Status.STALLED
            moved = None
            if status is None:
                moved, steps = self._solve_candidates(blocks, looks, violation)
                status = Status.STALLED if moved is None else None
            if status is not None:
                return self._concluded(status, blocks.n_iter, rounds)
            rounds += 1

    def _looks(self, moved: Moved | None, steps: list[Step]) -> list[Look]:
        """What every partition has to say, with the rows of all its candidates."""
        size = [max(2, round(self.share * n)) for n in self.sizes]
        looks: list[Any] = [None] * len(self.crew)
        left = list(range(len(self.crew)))
        for _ in range(ATTEMPTS):
            known = self.crew.call(
                "round", self.plan, self.task, moved, Apart(dict(enumerate(steps))), Apart(dict(enumerate(size))),
                self.offsets, only=left,
            )  # fmt: skip
            for p, look in zip(left, known, strict=True):
                looks[p] = look
            left = [p for p in left if isinstance(looks[p], Lost)]
            if not left:
                self.had += 1
                return [self._with_rows(p, look) for p, look in enumerate(looks)]
            self._rebuild(left)
        raise ClusterError(f"partitions {left} lost their state {ATTEMPTS} times in one round")

    def _with_rows(self, p: int, look: Look) -> Look:
        """The look with the rows of all candidates: those that the driver has from the last round, and new ones."""
        positions, rows = self.held[p]
        if look.fresh.all() or rows is None:
            whole = look.vectors
        else:
            place = np.searchsorted(positions, look.positions[~look.fresh])
            order = np.argsort(np.concatenate([np.flatnonzero(~look.fresh), np.flatnonzero(look.fresh)]))
            whole = stacked([rows[place], look.vectors])[order]
        self.held[p] = look.positions, whole
        return look._replace(vectors=whole)

    def _violation(self, looks: list[Look]) -> float:
        up, down = min(look.least_up for look in looks), max(look.most_down for look in looks)
        if looks[0].problem.qp.balance:
            return max(0.0, down - up)
        return max(0.0, -up, down)

    def _record(self, looks: list[Look], n_iter: int) -> Record:
        primal, dual, gap = (float(sum(getattr(look, k) for look in looks)) for k in ("primal", "dual", "gap"))
        fixed = looks[0].problem.fixed(self.offsets)
        return Record(n_iter, time.perf_counter() - self.watch.began, primal + fixed, dual, gap)

    def _solve_candidates(self, blocks: Blocks, looks: list[Look], violation: float) -> tuple[Moved | None, list[Step]]:
        """Solve the problem of all candidates; what has moved, and each partition's share of it."""
        X = stacked([look.vectors for look in looks])
        problem = put_together([look.problem for look in looks])
        beta = np.concatenate([look.beta for look in looks])
        f = np.concatenate([look.f for look in looks])
        gram = self.backend.gram(self.plan.kernel, X, cache_bytes=self.memory, threads=self.threads, dtype=None)
        before = beta.copy()
        inside = Subproblem(problem.qp, gram, beta, f.copy())
        blocks.solve_middle(inside, INNER * violation)
        delta = inside.beta - before
        changed = np.flatnonzero(delta)
        self.offsets = problem.offsets(inside.beta, inside.f)
        if not len(changed):
            return None, []
        self.version += 1
        steps, first = [], 0
        for p, look in enumerate(looks):
            last = first + len(look.positions)
            own = changed[(changed >= first) & (changed < last)]
            step = Step(self.version, look.positions[own - first], inside.beta[own], self.had)
            self.beta.move(p, step.positions, step.values)
            if self.vault is not None:
                place, numbers = own - first, look.numbers
                assert numbers is not None  # the plan has asked for them
                self.vault.put(self.task, p, numbers[place], look.targets[place], step.values, X[own])
            steps.append(step)
            first = last
        if self.vault is not None:
            self.vault.round_is_over(self.task, self.offsets.intercept, blocks.n_iter)
        return Moved(X[changed], delta[changed]), steps

    # -- scores afresh ------------------------------------------------------------------------------------------

    def _rebuild(self, numbers: list[int]) -> None:
        """Give these partitions their dual variables, and scores from the support vectors of all."""
        left = list(numbers)
        for _ in range(ATTEMPTS):
            own = Apart({p: self.beta.sparse(p) for p in left})
            counts = self.crew.call(
                "begin", self.plan, self.task, Apart({p: own.values[p][0] for p in left}),
                Apart({p: own.values[p][1] for p in left}), self.version, only=left,
            )  # fmt: skip
            if not self.sizes:
                self.sizes = list(counts)
            lost: set[int] = set()
            for number, moved in enumerate(self._support()):
                fed = self.crew.call("feed", self.plan, self.task, number, moved, only=left)
                lost |= {p for p, answer in zip(left, fed, strict=True) if isinstance(answer, Lost)}
            if not lost:
                return
            left = sorted(lost)
        raise ClusterError(f"partitions {left} lost their state {ATTEMPTS} times while scores were made afresh")

    def _support(self) -> Iterator[Moved]:
        """The support vectors and their coefficients, in parts of bounded size."""
        for p in range(len(self.crew)):
            positions, values = self.beta.sparse(p)
            for first in range(0, len(positions), FED_ROWS):
                part = slice(first, first + FED_ROWS)
                (X,) = self.crew.call("rows", self.plan, self.task, positions[part], False, only=[p])
                yield Moved(X, values[part])

    def _concluded(self, status: Status, n_iter: int, rounds: int) -> Outcome:
        problem, beta, f = self._deciding()
        offsets = problem.offsets(beta, f)
        seconds = time.perf_counter() - self.watch.began
        sparse = [self.beta.sparse(p) for p in range(len(self.crew))]
        balance = problem.qp.balance
        return Outcome(sparse, self.sizes, offsets, status, n_iter, tuple(self.watch.history), seconds, rounds, balance)

    def _deciding(self) -> tuple[Problem, FloatArray, FloatArray]:
        """The rows that the offsets depend on."""
        for _ in range(ATTEMPTS):
            found = self.crew.call("deciding", self.task, self.version)
            lost = [p for p, own in enumerate(found) if isinstance(own, Lost)]
            if not lost:
                problems, beta, f = zip(*found, strict=True)
                return put_together(list(problems)), np.concatenate(beta), np.concatenate(f)
            self._rebuild(lost)
        raise ClusterError(f"partitions {lost} lost their state {ATTEMPTS} times")


#: Support vectors that are fed at a time.
FED_ROWS = 4096


def _nothing() -> Sparse:
    return np.zeros(0, dtype=np.intp), np.zeros(0)


def stacked(parts: list[RowData]) -> RowData:
    """Rows of all parts, one below the other."""
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)
