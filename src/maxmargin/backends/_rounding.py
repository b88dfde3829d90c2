"""What rounding does to kernel values and their sums: proven bounds, and whether float32 is good enough to search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin.backends._rows import Csr, Rows, prepare
from maxmargin.kernels import Kernel, Op, Program

#: Most terms of a sum before it joins a longer one in float64; and roundings of a value beside those counted.
SHORT_SUM, SLACK = 512, 32
#: Largest error of an exponent, or relative error of a product, that float32 tiles may have.
FLOAT32_ERROR = 1e-4
#: Range of data and kernel values in which float32 neither overflows nor underflows on the way, and rows looked at.
FLOAT32_RANGE, PROBED = (1e-15, 1e15), 2048


class ErrorBound(NamedTuple):
    """How far sums of kernel values are off, for Gaussian kernels that stream; there is no bound for others.

    With u the unit roundoff, m the products in a dot product, and s the squared norms of rows as they are centred, the
    exponent of k(x, z) is off by at most gamma (m + SLACK) u (s_x + s_z), so the value by as much, relatively; a short
    sum adds u for each of its terms, a sum of short sums (in float64) as much for each of them, t in all. So

        error_i <= u (gamma (m + SLACK) (s_i A_i + B_i) + (t + SLACK) A_i),  A = K |beta|, B = K (s |beta|).
    """

    unit: float
    per_square: float
    largest: float  # error of an exponent

    @classmethod
    def known(cls, program: Program, rows: Rows, kind: np.dtype) -> ErrorBound | None:
        """The bound for sums in the precision ``kind``; None for kernels that are no Gaussian, or too narrow a one."""
        rate = gaussian_rate(program)
        if rate is None:
            return None
        unit, s = float(np.finfo(kind).eps) / 2, float(rows.scalars[0].max(initial=0.0))
        per_square = rate * (most_terms(rows.bases[0]) + SLACK) * unit
        return cls(unit, per_square, 2 * per_square * s) if 2 * per_square * s <= 0.5 else None

    def of(self, s: FloatArray, A: FloatArray, B: FloatArray, terms: int, whole: float) -> FloatArray:
        """The bound, ``whole`` being sum |beta|."""
        error = np.exp(self.largest) * self.per_square * (s * A + B) + (terms + SLACK) * self.unit * A
        tiny = np.finfo(np.float32 if self.unit > 2.0**-50 else np.float64).tiny
        return 1.01 * error + float(tiny) * 4 * whole  # 1.01: A and B are rounded, too


def given_error(K: FloatArray, pointers: IntArray, coef: FloatArray, terms: int) -> FloatArray:
    """Bounds on the errors of sums, of so many terms, of values that were given; tasks are laid end to end."""
    largest = max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)))
    A = np.repeat(np.add.reduceat(np.abs(coef), pointers[:-1]), np.diff(pointers))
    return (terms + SLACK) * float(np.finfo(np.float64).eps) * largest * A


def gaussian_rate(program: Program) -> float | None:
    """gamma of a program that is exp(-gamma ||x - z||^2) and nothing else."""
    return gaussian_of_distance(program) if program.scalars and program.scalars[0].kind == "sq_norm" else None


def gaussian_of_distance(program: Program) -> float | None:
    """gamma of a program that is exp(-gamma t) of a squared distance t in whatever space, and nothing else."""
    if tuple(op for op, _ in program.operations) != (Op.LOAD, Op.DISTANCE, Op.AFFINE, Op.EXP):
        return None
    factor, shift = program.constants[2]
    return -factor if shift == 0 and factor <= 0 else None


def most_terms(base: Array | Csr) -> int:
    """The most products in a dot product of two rows."""
    return int(np.diff(base.indptr).max(initial=0)) if isinstance(base, Csr) else base.shape[1]


def float32_is_safe(kernel: Kernel, X: RowData) -> bool:
    """Whether float32 tiles are accurate enough to search with: known from the program and the data's range."""
    program = kernel.lower()
    kinds = {base.kind for base in program.bases}
    operations = {op for op, _ in program.operations}
    plain = kinds <= {"dot", "l1"} and not any(base.views for base in program.bases)
    if not plain or Op.SQRT in operations:  # a root turns rounding near 0 into 3e-4
        return False
    probe = X[:: max(1, X.shape[0] // PROBED)]
    values = X.data if hasattr(X, "indptr") else X
    sizes = [np.max(np.abs(values), initial=0.0), np.max(np.abs(kernel.diag(probe)), initial=0.0)]
    if not all(FLOAT32_RANGE[0] < size < FLOAT32_RANGE[1] for size in sizes):
        return False
    if Op.EXP not in operations:
        return True
    norms = float(np.max(prepare(program, probe, np.float64).scalars, initial=0.0))
    factors = [abs(a) for (op, _), (a, _) in zip(program.operations, program.constants, strict=True) if op == Op.AFFINE]
    exponent = max(max(factors, default=1.0) * norms, abs(np.log(sizes[1])))
    return bool(2 * np.finfo(np.float32).eps * exponent <= FLOAT32_ERROR)
