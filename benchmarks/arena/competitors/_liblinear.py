"""LIBLINEAR itself (liblinear-official), one thread, as an object with scikit-learn's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.arena.competitors import _common

__all__ = ["Machine", "available", "cast", "note"]


class Machine:
    """One solver of LIBLINEAR's; several classes one against the rest, as it does itself.

    `free` adds an intercept that is not penalised (``-B 1 -R``), which only its primal solvers have.
    """

    def __init__(self, solver: int, C: float, tol: float | None, free: bool = False):
        stop = "" if tol is None else f" -e {tol!r}"
        self.options = f"-s {solver} -c {C!r}{stop} {'-B 1 -R' if free else '-B -1'} -q"
        self.free = free

    def fit(self, X: sp.csr_matrix, y: np.ndarray) -> Machine:
        """Train; the weights are put in the order of the classes."""
        from liblinear import liblinearutil as library

        self.classes_, label = np.unique(y, return_inverse=True)
        model = library.train(library.problem(label.astype(np.float64), X), library.parameter(self.options))
        found = model.get_labels()
        tasks = 1 if len(found) == 2 else len(found)
        # w is stored feature by feature, its tasks side by side; the last feature is the constant
        w = np.ctypeslib.as_array(model.w, (X.shape[1] + self.free, tasks)).T.copy()
        w = (w if found[0] == 1 else -w) if tasks == 1 else w[np.argsort(found)]
        self.coef_ = w[:, : X.shape[1]]
        self.intercept_ = w[:, -1] if self.free else np.zeros(tasks)
        return self

    def predict(self, X: sp.csr_matrix) -> np.ndarray:
        """The class of every row; its own function takes one row at a time."""
        f = X @ self.coef_.T + self.intercept_
        return self.classes_[(f[:, 0] > 0).astype(int) if f.shape[1] == 1 else f.argmax(axis=1)]


def available() -> str | None:
    """Whether the package can be imported."""
    return _common.absent("liblinear")


def cast(X: Any, task: str) -> sp.csr_matrix:
    """CSR in float64: dense rows would be read one by one in Python."""
    return sp.csr_matrix(X, dtype=np.float64)


def note(model: Machine) -> str:
    """Nothing to say."""
    return ""
