"""Pegasos and the perceptron in the feature space of a kernel, with or without a budget of vectors.

Problem: min lam/2 ||w||^2 + (1/n) sum_i max(0, 1 - t_i (w.phi(x_i) + b)); for the perceptron without the penalty.
Algorithm: a row, or a batch, at a time; a violation adds t_i phi(x_i) to the sum that w is a multiple of.
Invariant: scores of the rows at hand are up to date; without a budget w = sum_i beta_i phi(x_i) over rows, and where
every row is visited once in a pass 0 <= t_i beta_i <= C, so that beta is a dual point.
Cost of a visit: a kernel value for every vector. Where all values fit into the cache each is computed once, and a visit
costs nothing unless the row violates its margin.
Papers: Shalev-Shwartz, Singer, Srebro and Cotter 2011, fig. 3; Wang, Crammer and Vucetic 2012 (budgets).

See "Pegasos with a kernel" and "Perceptron" in ``docs/theory.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._rows import count, dense, take
from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends import Rows, backend_for
from maxmargin.kernels import Gaussian, Kernel, Program

#: How vectors over the budget are given up; the order of the compiled code.
KINDS = ("remove", "project", "merge")
REMOVE, PROJECT, MERGE = range(3)
#: Visits whose kernel values are computed together, and those made in one call where all values are known.
BLOCK, LONG_BLOCK = 256, 2**16
#: Rows that say what to subtract from all where only distances matter.
PROBED = 2048
#: Merged vectors are dense; more bytes than this are refused.
DENSE_BYTES = 2**29


class Options(NamedTuple):
    """How steps are made: ``lam`` is 0 for the perceptron; ``budget`` None is no budget."""

    lam: float
    batch: int
    bias: bool
    average: bool
    budget: int | None
    kind: int


class Start(NamedTuple):
    """Where steps begin: rows with coefficients (v, u), and the state of the compiled code."""

    which: IntArray
    coef: FloatArray  # (k, 2)
    state: FloatArray  # (5,)

    @classmethod
    def nowhere(cls, steps: float) -> Start:
        """No vector, after so many steps."""
        return cls(np.zeros(0, dtype=np.intp), np.zeros((0, 2)), np.array([steps, 0.0, 0.0, 0.0, 0.0]))

    @classmethod
    def of(cls, coef: FloatArray, state: FloatArray) -> Start:
        """The first rows have coefficients, some of them perhaps 0."""
        used = np.flatnonzero(coef.any(axis=1))
        return cls(used, coef[used], state)

    @classmethod
    def at(cls, model: FloatArray, intercept: float, lam: float, steps: float) -> Start:
        """At a model's coefficients, after so many steps: what is kept is lam t times them, or they themselves."""
        factor = lam * steps if lam > 0 else 1.0
        coef = np.column_stack([factor * model, np.zeros(len(model))])
        return cls.of(coef, np.array([steps, 0.0, 0.0, intercept, 0.0]))


class Expansion(NamedTuple):
    """What a run has come to."""

    which: IntArray  # rows that are vectors; -1: the vector is no row
    coef: FloatArray  # (k, 2)
    state: FloatArray
    vectors: FloatArray  # (k, d) where vectors were merged, else (k, 0)
    factors: FloatArray  # (2,): the model's coefficients are coef @ factors
    intercept: float


class Kept(NamedTuple):
    """The vectors of a budget, in slots; what compiled code changes."""

    coef: FloatArray  # (slots, 2)
    used: Array  # (slots,)
    own: IntArray  # (slots,) row, or -1
    where: IntArray  # (n,) slot of a row, or -1
    diagonal: FloatArray  # (slots,) k(x, x)
    gram: FloatArray  # (slots, slots), exponents for merging; (1, 1) where only removed
    vectors: FloatArray  # (slots, d) for merging, else (slots, 0)


class Visited(NamedTuple):
    """Rows visited one after the other, with their kernel values."""

    row: IntArray
    push: FloatArray
    g: FloatArray  # unscaled scores
    cross: FloatArray  # (slots + m, m) kernel values of vectors and of the rows themselves; exponents for merging
    X: FloatArray  # (m, d) for merging, else (m, 0)


class Source:
    """Rows by their numbers, as the back end wants them, and all their kernel values if these are kept."""

    def __init__(self, kernel: Kernel, X: RowData, precomputed: bool):
        self.X, self.backend, self.program = X, backend_for("cpu"), kernel.lower()
        self.n = count(X)
        self.K: FloatArray | None = None
        self._all = self.backend.prepare(self.program, X) if precomputed else None
        self._like = None if precomputed else self.backend.prepare(self.program, X[:PROBED])

    def keep_values(self, size: int) -> None:
        """Compute all kernel values if they take no more bytes than this."""
        if 8 * self.n**2 <= size:
            self.K = self.backend.symmetric_tile(self.program, self.rows(np.arange(self.n)))

    def rows(self, index: IntArray) -> Rows:
        """Some rows, prepared."""
        return self.prepared(take(self.X, index)) if self._all is None else self._all.take(index)

    def prepared(self, X: RowData) -> Rows:
        """Any rows, prepared like all others."""
        return self.backend.prepare(self.program, X, like=self._like)

    def dense(self, index: IntArray) -> FloatArray:
        """Some rows as an array of float64."""
        rows: Any = take(self.X, index)
        return np.ascontiguousarray(dense(rows), dtype=np.float64)


class Run(ABC):
    """Steps on one task, from where it starts."""

    width: int

    def __init__(self, source: Source, options: Options, push: FloatArray, same: IntArray, start: Start):
        self.source, self.options, self.push, self.same, self.state = source, options, push, same, start.state

    @abstractmethod
    def _steps(self, visits: IntArray, averaged: bool) -> int:
        """Steps over a block of visits; the violations."""

    @abstractmethod
    def forget_average(self) -> None:
        """The average begins anew."""

    @abstractmethod
    def expansion(self) -> Expansion:
        """What the run has come to."""

    @property
    @abstractmethod
    def vectors(self) -> int:
        """Their number."""

    def advance(self, visits: IntArray, averaged: bool, stop: Callable[[], bool]) -> int:
        """Steps over ``visits`` in blocks of whole batches, until ``stop`` says so; the violations."""
        count, width = 0, max(1, self.width // self.options.batch) * self.options.batch
        for first in range(0, len(visits), width):
            count += self._steps(visits[first : first + width], averaged)
            if stop():
                break
        return count

    def _factors(self) -> tuple[FloatArray, float]:
        """(factors of v and u, intercept) of the average if there is one, else of the last iterate."""
        (t, p, total, b, b_sum), lam = self.state, self.options.lam
        if total > 0:
            return np.array([p, 1.0]) / (lam * total), float(b_sum / total)
        return np.array([1.0 / (lam * t) if lam > 0 and t > 0 else 1.0, 0.0]), float(b)


class FreeRun(Run):
    """As many vectors as there are rows that have ever violated their margin."""

    def __init__(self, source: Source, options: Options, push: FloatArray, same: IntArray, start: Start):
        super().__init__(source, options, push, same, start)
        self.v, self.u = np.zeros(source.n), np.zeros(source.n)
        self.v[start.which], self.u[start.which] = start.coef[:, 0], start.coef[:, 1]
        self.g = np.zeros(0) if source.K is None else source.K @ self.v
        self.width = BLOCK if source.K is None else LONG_BLOCK

    def _steps(self, visits: IntArray, averaged: bool) -> int:
        lam, batch, bias = self.options[:3]
        if self.source.K is not None:
            return self.source.backend.free_steps(
                self.source.K, self.g, self.push, visits, batch, self.v, self.u, self.state, lam, bias, averaged
            )
        backend, program = self.source.backend, self.source.program
        block, used = self.source.rows(visits), np.flatnonzero(self.v)
        K = backend.tile(program, block, block)
        g = backend.product(program, block, self.source.rows(used), self.v[used])
        v, u, order = np.zeros(len(visits)), np.zeros(len(visits)), np.arange(len(visits))
        count = backend.free_steps(K, g, self.push[visits], order, batch, v, u, self.state, lam, bias, averaged)
        np.add.at(self.v, self.same[visits], v)
        np.add.at(self.u, self.same[visits], u)
        return count

    def forget_average(self) -> None:
        self.u[:], self.state[[1, 2, 4]] = 0.0, 0.0

    @property
    def vectors(self) -> int:
        return int(np.count_nonzero(self.v))

    def expansion(self) -> Expansion:
        used = np.flatnonzero((self.v != 0) | (self.u != 0))
        coef = np.column_stack([self.v[used], self.u[used]])
        return Expansion(used, coef, self.state, np.zeros((len(used), 0)), *self._factors())


class BudgetRun(Run):
    """At most ``budget`` vectors at any time; slots are one more, for the vector that is about to go."""

    width = BLOCK

    def __init__(self, source: Source, options: Options, push: FloatArray, same: IntArray, start: Start):
        super().__init__(source, options, push, same, start)
        slots, k = int(options.budget or 0) + 1, len(start.which)
        if k >= slots:
            raise ValueError(
                f"the model has {k} vectors, more than budget={options.budget}; raise the budget, or fit anew"
            )
        merging = options.kind == MERGE
        self.program = exponents(source.program) if merging else source.program
        size = 1 if options.kind == REMOVE else slots
        d = source.X.shape[1] if merging else 0
        self.kept = Kept(
            np.zeros((slots, 2)), np.zeros(slots, dtype=bool), np.full(slots, -1), np.full(source.n, -1),
            np.zeros(slots), np.zeros((size, size)), np.zeros((slots, d)),
        )  # fmt: skip
        if k:
            self._begin_at(start, k)
        self._cross = np.zeros((0, 0))

    def _begin_at(self, start: Start, k: int) -> None:
        kept, rows = self.kept, self.source.rows(start.which)
        kept.coef[:k], kept.used[:k], kept.own[:k] = start.coef, True, start.which
        kept.where[start.which] = np.arange(k)
        values = self.source.backend.symmetric_tile(self.program, rows)
        kept.diagonal[:k] = 1.0 if self.options.kind == MERGE else np.diag(values)
        if self.options.kind != REMOVE:
            kept.gram[:k, :k] = values
        if self.options.kind == MERGE:
            kept.vectors[:k] = self.source.dense(start.which)

    def _steps(self, visits: IntArray, averaged: bool) -> int:
        kept, m, slots = self.kept, len(visits), len(self.kept.used)
        if self._cross.shape[1] != m:
            self._cross = np.zeros((slots + m, m))
        row = self.same[visits]
        backend, merging = self.source.backend, self.options.kind == MERGE
        block, top = self.source.rows(row), int(np.max(np.flatnonzero(kept.used), initial=-1)) + 1
        if top:
            row_of = np.maximum(kept.own[:top], 0)  # an empty slot has any row, without weight
            rows = self.source.prepared(kept.vectors[:top]) if merging else self.source.rows(row_of)
            backend.tile(self.program, rows, block, out=self._cross, slots=np.arange(top))
        backend.tile(self.program, block, block, out=self._cross, slots=slots + np.arange(m))
        X = self.source.dense(row) if merging else np.zeros((m, 0))
        known = Visited(row, self.push[visits], np.zeros(m), self._cross, X)
        lam, batch, bias = self.options[:3]
        return self.source.backend.budget_steps(kept, known, self.state, batch, lam, self.options.kind, bias, averaged)

    def forget_average(self) -> None:
        self.kept.coef[:, 1], self.state[[1, 2, 4]] = 0.0, 0.0

    @property
    def vectors(self) -> int:
        return int(np.count_nonzero(self.kept.used))

    def expansion(self) -> Expansion:
        used = np.flatnonzero(self.kept.used)
        vectors = self.kept.vectors[used]
        return Expansion(self.kept.own[used], self.kept.coef[used], self.state, vectors, *self._factors())


def new_run(source: Source, options: Options, push: FloatArray, same: IntArray, start: Start) -> Run:
    """The run that suits the options; equal rows have one number in ``same``."""
    kind = FreeRun if options.budget is None else BudgetRun
    return kind(source, options, push, same, start)


def exponents(program: Program) -> Program:
    """-gamma ||x - z||^2 from the program of a Gaussian kernel: all but the exponential."""
    return replace(program, operations=program.operations[:-1], constants=program.constants[:-1])


def check_budget(kernel: Kernel, X: RowData, budget: int, maintenance: str, cache: int) -> None:
    """Refuse a way to keep a budget that the kernel, the rows or the memory do not allow."""
    if maintenance == "merge":
        if not (isinstance(kernel, Gaussian) and kernel.over is None):
            raise ValueError(
                "maintenance='merge' needs a point whose image is near those of two vectors, which is known for the "
                f"Gaussian kernel only; got kernel {kernel!r}. Use maintenance='project', or kernel='rbf'"
            )
        size = 8 * (budget + 1) * X.shape[1]
        if size > DENSE_BYTES:
            raise ValueError(
                f"maintenance='merge' keeps dense vectors, and budget={budget} of {X.shape[1]} features are "
                f"{size / 2**20:.0f} MB; use maintenance='project' or 'remove', which keep rows"
            )
    if maintenance != "remove" and 8 * (budget + 1) ** 2 > cache:
        raise ValueError(
            f"maintenance={maintenance!r} with budget={budget} keeps {8 * (budget + 1) ** 2 / 2**20:.0f} MB of kernel "
            f"values, more than the {cache / 2**20:.0f} MB of cache_size; raise cache_size, or use maintenance='remove'"
        )


def pooled(vectors: Any, X: Any) -> Any:
    """Vectors and rows as one set of rows."""
    if sp.issparse(vectors) or sp.issparse(X):
        return sp.csr_array(sp.vstack([sp.csr_array(vectors), sp.csr_array(X)]))
    return np.concatenate([vectors, X])


def stacked(expansions: list[Expansion]) -> tuple[IntArray, FloatArray, FloatArray]:
    """(rows, coefficients (tasks, vectors, 2), merged vectors) of all tasks: rows first, each once, then the others."""
    rows = np.unique(np.concatenate([expansion.which[expansion.which >= 0] for expansion in expansions]))
    others = [int((expansion.which < 0).sum()) for expansion in expansions]
    table, end = np.zeros((len(expansions), len(rows) + sum(others), 2)), len(rows)
    for line, expansion, more in zip(table, expansions, others, strict=True):
        row = expansion.which >= 0
        line[np.searchsorted(rows, expansion.which[row])] = expansion.coef[row]
        line[end : end + more] = expansion.coef[~row]
        end += more
    merged = [expansion.vectors[expansion.which < 0] for expansion in expansions if (expansion.which < 0).any()]
    return (
        np.concatenate([rows, np.full(sum(others), -1)]),
        table,
        np.concatenate(merged) if merged else np.zeros((0, 0)),
    )
