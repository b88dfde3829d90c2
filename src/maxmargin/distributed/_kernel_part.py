"""A kernel machine on one partition: scores and dual variables of its rows, candidates, and its part of the proof.

A *position* is the place of a row among the rows that a task has in this partition. Everything here is a function of
the plan, which every call may bring again, and of a state that says which version it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from maxmargin._rows import as_rows
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, scaled
from maxmargin.backends import backend_for, proven_cross, single_threaded_blas
from maxmargin.certificates import PartValues, ScoreParts, part_values
from maxmargin.distributed._seat import Seat
from maxmargin.distributed._tasks import Lost
from maxmargin.estimators.interface import Labels, Training
from maxmargin.kernels import Kernel
from maxmargin.problems import Offsets, Problem
from maxmargin.solvers import working_set

#: Rows of a partition that are prepared for the tiles at a time: nothing as large as the partition is made.
HEIGHT = 4096


class Plan(NamedTuple):
    """What a partition must know of a fit: the machine's parameters, and what was found out about all rows."""

    machine: Any
    kernel: Kernel
    scaling: Scaling | None
    labels: Labels | None  # of all classes; those of the partition's own rows are worked out there
    keeps_rows: bool = False  # whether the driver wants to know which rows candidates are, for a checkpoint

    def problems(self, seat: Seat, rows: RowData) -> list[tuple[IntArray, Problem]]:
        """(rows of the partition, problem) of every task."""
        labels, y = self.labels, seat.y
        if labels is not None:
            own = np.searchsorted(labels.classes, y[seat.kept])
            labels = replace(labels, label=own)
        elif y is not None:
            y = y.astype(np.float64)
        data = Training(rows, y, seat.weight[seat.kept], seat.kept, seat.n, extra=labels)
        return self.machine._problems(data, self.kernel)


@dataclass
class TaskState:
    """One task on this partition."""

    rows: IntArray  # of the partition
    problem: Problem
    beta: FloatArray
    f: FloatArray
    fed: int = 0
    version: int = 0
    previous: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    looks: int = 0  # of the look that ``previous`` belongs to


class Step(NamedTuple):
    """What has moved since the last round: values of this partition's own, and rows of all that its scores lack."""

    version: int  # after it
    positions: IntArray
    values: FloatArray
    looks: int  # how many looks the driver has had


class Moved(NamedTuple):
    """The rows that moved in all partitions, as the kernel sees them, and by how much."""

    vectors: RowData
    delta: FloatArray


class Look(NamedTuple):
    """What a partition has to say after a round."""

    positions: IntArray  # of its candidates
    fresh: Array  # which of them the driver does not have from the last round
    vectors: RowData  # rows of those
    f: FloatArray
    beta: FloatArray
    problem: Problem  # on the candidates
    least_up: float  # slopes of moves
    most_down: float
    primal: float
    dual: float
    gap: float
    mass: float  # sum |beta|
    largest: float  # k(x, x)
    numbers: IntArray | None = None  # of the candidates in the partition, and their targets
    targets: Any = None


def begin(
    seat: Seat, rows: RowData, plan: Plan, task: int, positions: IntArray, values: FloatArray, version: int
) -> int:
    """The state of a task at dual variables whose scores are still to be fed; the number of its rows."""
    own, problem = _tasks(seat, rows, plan)[task]
    beta = np.zeros(len(own))
    beta[positions] = values
    seat.states[task] = TaskState(own, problem, beta, np.zeros(len(own)), version=version)
    return len(own)


def feed(seat: Seat, rows: RowData, plan: Plan, task: int, number: int, moved: Moved) -> Any:
    """Scores gain the share of some support vectors."""
    state = seat.states.get(task)
    if state is None or state.fed != number:
        return Lost()
    _add(plan, rows, state, moved)
    state.fed += 1
    return None


def next_round(
    seat: Seat, rows: RowData, plan: Plan, task: int, moved: Moved | None, step: Step, size: int, offsets: Offsets
) -> Any:
    """Scores after what has moved, and candidates for the next working set."""
    state = seat.states.get(task)
    if state is None or state.version not in (step.version, step.version - 1):
        return Lost()
    if state.version < step.version:
        assert moved is not None  # only what has moved makes a version
        state.beta[step.positions] = step.values
        _add(plan, rows, state, moved)
        state.version = step.version
    look = _looked(plan, rows, state, step.looks, size, offsets)
    if not plan.keeps_rows:
        return look
    numbers = state.rows[look.positions]
    return look._replace(numbers=numbers, targets=seat.y[numbers])


def _add(plan: Plan, rows: RowData, state: TaskState, moved: Moved) -> None:
    """f += K[:, moved] delta, in float64, a block of rows at a time."""
    backend, program = backend_for("cpu"), plan.kernel.lower()
    if not len(moved.delta) or not len(state.rows):
        return
    with single_threaded_blas():
        right = backend.prepare(program, moved.vectors)
        for at, block in blocks(rows, state.rows, plan.scaling):
            left = backend.prepare(program, block, like=right)
            state.f[at] += backend.product(program, left, right, moved.delta)


def blocks(rows: RowData, index: IntArray, scaling: Scaling | None) -> Iterator[tuple[slice, RowData]]:
    """Some rows of the partition as the kernel sees them, a block at a time."""
    whole = len(index) == rows.shape[0] and bool((np.diff(index) == 1).all())
    for first in range(0, len(index), HEIGHT):
        at = slice(first, min(first + HEIGHT, len(index)))
        yield at, scaled(rows[at] if whole else rows[index[at]], scaling)


def _looked(plan: Plan, rows: RowData, state: TaskState, looks: int, size: int, offsets: Offsets) -> Look:
    problem, beta, f = state.problem, state.beta, state.f
    qp, n = problem.qp, len(beta)
    chosen: IntArray = np.zeros(0, dtype=np.intp)
    if n:
        most = min(size, n)
        chosen = working_set(backend_for("cpu"), qp, beta, f + qp.linear, state.previous, most)
    known = state.previous if state.looks == looks else state.previous[:0]  # the driver never got a look that was lost
    fresh = ~np.isin(chosen, known)
    state.previous, state.looks = chosen, looks + 1
    up, down = qp.slopes(beta, f + qp.linear)
    costs = float(problem.costs(beta, f, offsets).sum())
    wanted = state.rows[chosen[fresh]]
    block = rows[: min(1, rows.shape[0])]
    return Look(
        chosen, fresh, scaled(rows[wanted], plan.scaling), f[chosen], beta[chosen], problem.on_rows(chosen),
        float(np.min(up, initial=np.inf)), float(np.max(down, initial=-np.inf)),
        float(0.5 * beta @ f) + costs, problem.dual(beta, f), problem.gap(beta, f, offsets),
        float(np.abs(beta).sum()), float(np.max(plan.kernel.diag(scaled(block, plan.scaling)), initial=0.0)),
    )  # fmt: skip


def rows_at(seat: Seat, rows: RowData, plan: Plan, task: int | None, where: IntArray, raw: bool) -> RowData:
    """Rows at positions of a task, or (None) by their numbers in the partition; as the kernel sees them unless raw."""
    numbers = where if task is None else _tasks(seat, rows, plan)[task][0][where]
    return rows[numbers] if raw else scaled(rows[numbers], plan.scaling)


def numbers_at(seat: Seat, rows: RowData, plan: Plan, positions: list[IntArray]) -> list[IntArray]:
    """Numbers in the partition of positions of every task."""
    return [own[where] for (own, _), where in zip(_tasks(seat, rows, plan), positions, strict=True)]


def positions_of(seat: Seat, rows: RowData, plan: Plan, numbers: IntArray) -> list[IntArray]:
    """Of every task the positions of rows, by their numbers in the partition; -1 where a row has no part in it."""
    found: list[IntArray] = []
    for own, _ in _tasks(seat, rows, plan):
        place = np.full(seat.n, -1, dtype=np.intp)
        place[own] = np.arange(len(own))
        found.append(place[numbers])
    return found


def nearby(seat: Seat, rows: RowData, plan: Plan, positions: list[IntArray], coef: FloatArray) -> list[FloatArray]:
    """Of every task coefficients (rows, tasks) within the bounds of their rows; 0 where a row has no part in it."""
    found: list[FloatArray] = []
    for k, (_, problem) in enumerate(_tasks(seat, rows, plan)):
        inside, values = positions[k] >= 0, np.zeros(len(coef))
        own = positions[k][inside]
        values[inside] = np.clip(coef[inside, k], problem.qp.lower[own], problem.qp.upper[own])
        found.append(values)
    return found


def targets_at(seat: Seat, rows: RowData, numbers: IntArray) -> Any:
    """Targets of rows."""
    return seat.y[numbers]


def size(seat: Seat, rows: RowData) -> int:
    """Number of rows."""
    return seat.n


def _tasks(seat: Seat, rows: RowData, plan: Plan) -> list[tuple[IntArray, Problem]]:
    """The tasks' rows and problems, worked out once."""
    states = seat.states
    if "problems" not in states:
        states["problems"] = plan.problems(seat, rows)
    return states["problems"]


def deciding(seat: Seat, rows: RowData, task: int, version: int) -> Any:
    """(problem, beta, f) of the rows that the offsets depend on: the free ones, and those with extreme slopes."""
    state = seat.states.get(task)
    if state is None or state.version != version:
        return Lost()
    qp, beta, f = state.problem.qp, state.beta, state.f
    if not len(beta):
        return state.problem, beta, f
    up, down = qp.slopes(beta, f + qp.linear)
    wanted = np.unique(np.append(qp.free(beta), [int(np.argmin(up)), int(np.argmax(down))]))
    return state.problem.on_rows(wanted), beta[wanted], f[wanted]


def put_together(problems: list[Problem]) -> Problem:
    """One problem on the rows of all of them."""
    first: Any = problems[0]
    values = {f.name: [getattr(p, f.name) for p in problems] for f in fields(first)}
    return type(first)(**{k: np.concatenate(v) if isinstance(v[0], np.ndarray) else v[0] for k, v in values.items()})


# -- the proof --------------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """What a model says of the rows of one partition, task by task."""

    positions: list[IntArray]
    values: list[FloatArray]
    intercepts: list[float]


def begin_judging(seat: Seat, rows: RowData, plan: Plan, compiled: bool) -> None:
    """Scores of all tasks on all rows that count, from nothing but the rows and what will be fed."""
    seat.states["judge"] = ScoreParts(len(seat.kept), len(_tasks(seat, rows, plan))), 0, compiled


def judge_feed(seat: Seat, rows: RowData, plan: Plan, number: int, vectors: RowData, coef: FloatArray) -> Any:
    """Scores gain the share of some support vectors, with coefficients (vectors, tasks)."""
    known = seat.states.get("judge")
    if known is None or known[1] != number:
        return Lost()
    scores, fed, compiled = known
    backend, program = backend_for("cpu"), plan.kernel.lower()
    vectors = as_rows(vectors)
    scores.begin_share(plan.kernel, vectors, coef)
    with single_threaded_blas():
        right = backend.prepare(program, vectors) if compiled and len(coef) else None
        for at, block in blocks(rows, seat.kept, plan.scaling):
            sums = None
            if right is not None:
                sums = proven_cross(backend, program, backend.prepare(program, block, like=right), right, coef)
            if sums is None:
                scores.add(plan.kernel, at, as_rows(block), vectors, coef)
            else:
                scores.add_proven(at, *sums)
    seat.states["judge"] = scores, fed + 1, compiled
    return None


def verdict(seat: Seat, rows: RowData, plan: Plan, fed: int, claim: Claim) -> Any:
    """This partition's part of every task's certificate."""
    known = seat.states.get("judge")
    if known is None or known[1] != fed:
        return Lost()
    scores, _, _ = known
    found: list[PartValues] = []
    for k, (own, problem) in enumerate(_tasks(seat, rows, plan)):
        beta = np.zeros(len(own))
        beta[claim.positions[k]] = claim.values[k]
        place = np.searchsorted(seat.kept, own)
        found.append(
            part_values(problem, beta, scores.f[place, k], scores.errors(place, k), claim.intercepts[k], scores.largest)
        )
    return found
