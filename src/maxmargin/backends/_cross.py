"""Sums of kernel values of rows that meet others, with proven bounds on their errors."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.backends._base import Backend
from maxmargin.backends._rounding import SHORT_SUM, ErrorBound
from maxmargin.backends._rows import Rows
from maxmargin.kernels import Program


def proven_cross(
    backend: Backend, program: Program, left: Rows, right: Rows, coef: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """(K(left, right) coef in float64, bounds on the errors) for coefficients (right, k); None if there is no bound."""
    bounds = [ErrorBound.known(program, rows, np.dtype(np.float64)) for rows in (left, right)]
    if bounds[0] is None or bounds[1] is None:
        return None
    bound = max((own for own in bounds if own is not None), key=lambda own: own.largest)
    per_square = max(own.per_square for own in bounds if own is not None)
    s, size, k = right.scalars[0].astype(np.float64), np.abs(coef), coef.shape[1]
    sums = backend.product(program, left, right, np.column_stack([coef, size, size * s[:, None]]))
    f, A, B = sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k :]
    own, terms = left.scalars[0].astype(np.float64)[:, None], SHORT_SUM + 2 * right.n // SHORT_SUM
    return f, bound._replace(per_square=per_square).of(own, A, B, terms, float(size.sum()))
