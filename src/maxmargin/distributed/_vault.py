"""The model of the last round, kept by the driver where a checkpoint is asked for: the cluster may be lost."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import unscaled
from maxmargin.distributed._kernel_part import Plan
from maxmargin.distributed._kernel_rounds import stacked
from maxmargin.estimators.interface import Training, history_of, levels_to_caller


class Vault:
    """Rows, targets and dual variables of the support vectors of all tasks, as they pass through the driver."""

    def __init__(self, machine: Any, data: Training, plan: Plan, sizes: list[int]):
        self.machine, self.data, self.plan = machine, data, plan
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.tasks = 1 if plan.labels is None else len(plan.labels.scheme.names(plan.labels.classes))
        self.rows: dict[int, tuple[RowData, Any]] = {}
        self.values: list[dict[int, float]] = [{} for _ in range(self.tasks)]
        self.intercept, self.n_iter = np.zeros(self.tasks), np.zeros(self.tasks, dtype=np.int64)

    def put(self, task: int, p: int, numbers: IntArray, targets: Any, values: FloatArray, X: RowData) -> None:
        """What moved in a round."""
        own = self.values[task]
        for k, (at, value) in enumerate(zip((self.starts[p] + numbers).tolist(), values.tolist(), strict=True)):
            if value:
                own[at], self.rows[at] = value, (X[[k]], targets[k])
            else:
                own.pop(at, None)

    def round_is_over(self, task: int, intercept: float, n_iter: int) -> None:
        """Everything that moved was put."""
        self.intercept[task], self.n_iter[task] = intercept, n_iter

    def save(self, path: Any) -> None:
        """Write the model, if there is one yet, and say so."""
        from maxmargin.distributed._kernel_fit import publish
        from maxmargin.io import save

        used = sorted(set().union(*self.values))
        if not used:
            return
        X, y = stacked([self.rows[at][0] for at in used]), np.array([self.rows[at][1] for at in used])
        coef = np.array([[own.get(at, 0.0) for own in self.values] for at in used])
        scaling = self.plan.scaling
        if scaling is not None:
            X = sp.csr_array(X.multiply(scaling.scale[None, :])) if sp.issparse(X) else unscaled(X, scaling)
        draft = self.machine._draft()
        publish(draft, self.data, self.plan, X, y, np.array(used), coef, self.intercept, self.n_iter)
        draft.fit_status_, draft.history_ = 1, history_of([()])
        save(draft.ordinary(), path)
        warnings.warn(
            f"the cluster was lost; the model of the last round is in {path}, and warm_start=True goes on from it",
            UserWarning,
            stacklevel=levels_to_caller(),
        )
