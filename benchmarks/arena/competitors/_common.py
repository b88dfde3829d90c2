"""What libraries with scikit-learn's interface share."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.arena.linear import LOSS

PENALISED = "penalises the intercept: another problem"
CLASSES = {"svc": "SVC", "nusvc": "NuSVC", "svr": "SVR", "oneclass": "OneClassSVM"}


def absent(package: str) -> str | None:
    """Why `package` cannot be imported, or None; nothing is imported to find out."""
    return None if importlib.util.find_spec(package) else f"{package} is not installed"


def build(module: str, task: str, params: dict[str, Any], tol: float | None) -> Any:
    """The estimator of `module` for a task, every parameter not named here at its own default."""
    estimator = getattr(importlib.import_module(module), CLASSES[task])
    return estimator(**params) if tol is None else estimator(**params, tol=tol)


def linear_params(task: str, params: dict[str, Any], tol: float | None) -> dict[str, Any]:
    """The parameters of a linear machine with the usual names; `tol` where one is given."""
    return {"loss": LOSS[task], **params} | ({} if tol is None else {"tol": tol})


def sparse_or_dense(X: Any, dtype: type) -> Any:
    """The layout as it comes, dense rows row-major."""
    return X.astype(dtype) if sp.issparse(X) else np.ascontiguousarray(X, dtype=dtype)


def dense(X: Any, dtype: type) -> np.ndarray:
    """Row-major and dense."""
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)
