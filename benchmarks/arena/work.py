"""How much work a case is: its shape, the support vectors of a solution, and the kernel values they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

PROBED = 2000  # rows looked at to find the value a column has most often


def shape(X: Any) -> dict[str, float]:
    """Rows, columns, and `features`: the values of a row that differ from what their column holds most often.

    That is the number of non-zeros of sparse rows. Dense rows may have that few as well: a constant can be subtracted
    from a column without changing a distance.
    """
    rows, columns = X.shape
    probe = X[:: max(1, rows // PROBED)]
    count = _count_sparse(probe) if sp.issparse(probe) else _count(np.asarray(probe))
    return {"rows": rows, "columns": columns, "features": count / probe.shape[0]}


def _count(values: np.ndarray) -> float:
    """Values that differ from the median of their column: one that more than half of the rows have is their median."""
    values = np.sort(values, axis=0)
    return float((values != values[len(values) // 2]).sum())


def _count_sparse(X: Any) -> float:
    """The same of sparse rows; only columns of which half is not 0 can have another median, and are looked at."""
    X = X.tocsc()
    X.eliminate_zeros()
    filled = np.diff(X.indptr)
    full = 2 * filled >= X.shape[0]
    return float(filled[~full].sum()) + _count(X[:, full].toarray())


def support(model: Any) -> int | None:
    """Support vectors of a model; with several classes those of any task, each counted once. None: it has none."""
    found = getattr(model, "support_", None)
    return None if found is None else len(found)


def kernel_values(model: Any, y: np.ndarray | None) -> float | None:
    """Rows times support vectors: what it takes to know all scores of a solution; summed over pairs of classes."""
    if getattr(model, "dual_coef_", None) is None or support(model) is None:
        return None
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else np.asarray(model.dual_coef_)
    of_class = np.asarray(getattr(model, "n_support_", ()))
    if y is None or len(of_class) < 3 or coef.shape[0] != len(of_class) - 1:
        return float(model.shape_fit_[0] if y is None else len(y)) * len(model.support_)
    rows = np.unique(y, return_counts=True)[1]
    first = np.concatenate([[0], np.cumsum(of_class)])
    total = 0.0
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):  # LIBSVM's layout: the pair stands in line j - 1 of class i, in line i of j
            used = np.count_nonzero(coef[j - 1, first[i] : first[i + 1]])
            used += np.count_nonzero(coef[i, first[j] : first[j + 1]])
            total += float(rows[i] + rows[j]) * used
    return total
