"""A user's kernel function on all rows at once, as scikit-learn calls it, where its values fit into memory.

So a function may look at all the rows it is given, and rows may be anything that it understands. Where its values do
not fit, it is called with blocks of rows, and must give two rows the same value in every block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._rows import as_rows, count, is_frame, is_table, take
from maxmargin._types import FloatArray
from maxmargin._validation import Scaling, cache_bytes, check_gram, scaled
from maxmargin.delivered import Basis
from maxmargin.estimators._machine import Training
from maxmargin.kernels import Kernel, Precomputed, takes_any_rows, values_of

if TYPE_CHECKING:
    from maxmargin.estimators._kernel_model import KernelModel


def tabulated(machine: KernelModel, kernel: Kernel, data: Training) -> tuple[Kernel, Training]:
    """The kernel and the data that are solved with: a table of the function's values on all rows, if it fits."""
    if not takes_any_rows(machine.kernel):
        return kernel, data
    if 8 * data.n**2 > cache_bytes(machine.cache_size):
        if is_frame(data.as_given):
            raise ValueError(
                f"a kernel function of rows of a frame needs the table of its {data.n}^2 values, and cache_size="
                f"{machine.cache_size!r} is less; raise cache_size, or pass an array or a list of rows"
            )
        return kernel, data
    rows = data.as_given if isinstance(data.X, list) else as_rows(data.X)
    table = values_of(kernel, rows, rows)
    try:
        check_gram(table)
    except ValueError as error:
        raise ValueError(f"the kernel function's values on the training rows are no Gram matrix: {error}") from error
    return Precomputed(), data._replace(X=table, unscaled=None)


def write_rows(draft: Any, data: Training) -> None:
    """What new rows are compared with: all training rows; and the support vectors, as they were given."""
    draft.fit_rows_ = data.as_given
    draft.support_vectors_ = take(data.as_given, draft.support_)


def called_products(model: Any, X: Any, coefs: list[FloatArray], basis: Basis | None) -> list[FloatArray]:
    """Sums over the rows of a basis of the function's values between new rows and all training rows."""
    scaling, support = Scaling.of(model), model.support_ if basis is None else basis.rows
    tables = is_table(model.fit_rows_) and is_table(X)
    known = as_rows(scaled(model.fit_rows_, scaling)) if tables else model.fit_rows_
    rows = as_rows(scaled(model._validate_for_predict(X), scaling)) if tables else X
    n, width = count(rows), count(known)
    height = max(1, cache_bytes(model.cache_size) // (8 * max(1, width)))
    blocks = [rows] if n <= height else [take(rows, np.arange(n)[i : i + height]) for i in range(0, n, height)]
    values = [values_of(model.kernel_, block, known)[:, support] for block in blocks]
    ends = np.cumsum([0, *map(len, coefs)])
    return [np.concatenate([part[:, ends[k] : ends[k + 1]] @ coef for part in values]) for k, coef in enumerate(coefs)]
