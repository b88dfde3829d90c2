"""The flat program a kernel expression lowers to, and the builder that writes it.

A program computes one kernel value per pair of rows from a few *base* values of that pair (its dot product, its
1-norm distance, ...) and a few *row scalars* (squared norms, warping factors, ...). It is a list of stack
operations, so that a back end runs any composite in one elementwise pass over a tile: one matrix product,
then this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import Array, RowData

View = Callable[[RowData], RowData]


class Op(IntEnum):
    """Stack operations; ``top`` is the last value pushed, a and b the operation's two constants."""

    LOAD = 0  # push base[operand]
    CONSTANT = 1  # push a
    AFFINE = 2  # top = a * top + b
    DISTANCE = 3  # top = max(0, s_x + s_z - 2 top), s = row scalar [operand]
    SCALE = 4  # top = s_x * top * s_z
    EXP = 5  # top = exp(top)
    TANH = 6  # top = tanh(top)
    SQRT = 7  # top = sqrt(top)
    POWER = 8  # top = top ** a for a whole number a
    REAL_POWER = 9  # top = top ** a for top > 0
    ADD = 10  # pop, top = top + popped
    MULTIPLY = 11  # pop, top = top * popped
    GAUSSIAN = 12  # DISTANCE, AFFINE, EXP in one: top = exp(a max(0, s_x + s_z - 2 top) + b)


class Code(NamedTuple):
    """A program as arrays, for compiled code."""

    operations: Array  # (n_ops, 2) integers
    constants: Array  # (n_ops, 2) floats
    depth: int


@dataclass(frozen=True)
class Base:
    """A value of a pair of rows: ``kind`` is 'dot', 'l1', 'chi2', 'precomputed' or 'function'."""

    kind: str
    views: tuple[View, ...] = ()  # applied to the rows first, in order
    function: Callable[[RowData, RowData], Array] | None = None

    def view(self, X: RowData) -> RowData:
        """The rows this base works on."""
        for view in self.views:
            X = view(X)
        return X


@dataclass(frozen=True)
class RowScalar:
    """A value of one row: 'sq_norm' or 'inverse_norm' of base ``base``, or ``function`` of the viewed rows."""

    kind: str
    base: int = -1
    views: tuple[View, ...] = ()
    function: Callable[[RowData], Array] | None = None


@dataclass(frozen=True)
class Program:
    """Operations ``(op, operand)`` with constants ``(a, b)``, and what they read."""

    operations: tuple[tuple[int, int], ...]
    constants: tuple[tuple[float, float], ...]
    bases: tuple[Base, ...]
    scalars: tuple[RowScalar, ...]

    @property
    def depth(self) -> int:
        """Largest height of the stack."""
        height = deepest = 0
        for op, _ in self.operations:
            height += 1 if op in (Op.LOAD, Op.CONSTANT) else -1 if op in (Op.ADD, Op.MULTIPLY) else 0
            deepest = max(deepest, height)
        return deepest

    def shift_invariant(self, base: int) -> bool:
        """Whether base ``base`` enters only through distances, so that its rows may be centred."""
        if self.bases[base].kind != "dot":
            return False
        for position, (op, operand) in enumerate(self.operations):
            if op == Op.LOAD and operand == base:
                after = self.operations[position + 1] if position + 1 < len(self.operations) else (-1, -1)
                own_norm = after[0] == Op.DISTANCE and self.scalars[after[1]] == RowScalar("sq_norm", base)
                if not own_norm:
                    return False
        return not any(s.kind == "inverse_norm" and s.base == base for s in self.scalars)

    @cached_property
    def code(self) -> Code:
        """The operations as arrays; sequences that often occur together are fused into one."""
        operations, constants = [], []
        position = 0
        while position < len(self.operations):
            op, operand = self.operations[position]
            following = tuple(later for later, _ in self.operations[position : position + 3])
            constant = self.constants[position]
            if following == (Op.DISTANCE, Op.AFFINE, Op.EXP):
                op, constant = Op.GAUSSIAN, self.constants[position + 1]
                position += 2
            operations.append((int(op), operand))
            constants.append(constant)
            position += 1
        return Code(
            np.array(operations, dtype=np.int64).reshape(-1, 2),
            np.array(constants, dtype=np.float64).reshape(-1, 2),
            self.depth,
        )


class Builder:
    """Collects a program; kernels write themselves into it from the leaves up."""

    def __init__(self) -> None:
        self._operations: list[tuple[int, int]] = []
        self._constants: list[tuple[float, float]] = []
        self._bases: list[Base] = []
        self._scalars: list[RowScalar] = []
        self.views: tuple[View, ...] = ()  # set by kernels that look at a map of the rows

    def emit(self, op: Op, a: float = 0.0, b: float = 0.0, operand: int = 0) -> None:
        self._operations.append((int(op), operand))
        self._constants.append((float(a), float(b)))

    def load(self, kind: str, function: Callable[..., Any] | None = None) -> int:
        """Push a base value and return the index of its base; equal bases are shared."""
        number = _index(self._bases, Base(kind, self.views, function))
        self.emit(Op.LOAD, operand=number)
        return number

    def scalar(self, scalar: RowScalar) -> int:
        """Index of a row scalar; equal ones are shared."""
        return _index(self._scalars, scalar)

    def squared_distance(self) -> None:
        """Push ||x - z||^2 from the shared dot product."""
        base = self.load("dot")
        self.emit(Op.DISTANCE, operand=self.scalar(RowScalar("sq_norm", base)))

    def program(self) -> Program:
        return Program(tuple(self._operations), tuple(self._constants), tuple(self._bases), tuple(self._scalars))


def _index(items: list[Any], item: Any) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)
