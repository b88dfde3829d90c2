"""LinearSVC, LinearClassifier and LinearRegressor on a cluster."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin import estimators
from maxmargin.distributed._crew import Crew
from maxmargin.distributed._facts import Moments, all_moments, scaling_of
from maxmargin.distributed._linear_fit import ClusterLinearTasks
from maxmargin.distributed._linear_part import LinearPlan, Point
from maxmargin.distributed._machine import OnCluster, on_cluster
from maxmargin.distributed._predict import lazily
from maxmargin.estimators.interface import (
    LinearFit,
    Training,
    history_of,
    levels_to_caller,
    published_weights,
    write_fit,
)
from maxmargin.multiclass import SINGLE


class LinearOnCluster(OnCluster):
    """What the linear machines of this package share."""

    def _refuse(self):
        machine: Any = self
        if machine.solver not in ("auto", "newton"):
            raise ValueError(
                f"on a cluster linear machines are solved by Newton's method; got solver={machine.solver!r}"
            )
        if machine.C is not None and np.isinf(machine.C):
            raise ValueError("C=inf, the hard margin, is there on one computer only; give a finite C")
        if getattr(machine, "_multiclass", "ovr") in SINGLE:
            raise ValueError(
                f"multiclass={machine._multiclass!r} is one problem for all classes, there on one computer only; "
                "use 'ovr', 'ovo' or 'code'"
            )
        if getattr(machine, "_wanted_calibration", None) is not None:
            raise ValueError(
                "calibrations are there on one computer only; use loss='logistic', whose model has probabilities, or "
                "sklearn.calibration on rows that were held out"
            )

    def _cluster_family(self, data, crew, found):
        machine: Any = self
        if self._is_classifier and not (found.by_class * data.extra.factors > 0).any():
            raise ValueError(
                f"class_weight={machine.class_weight!r} leaves no row any weight; give one class more than 0"
            )
        scaling = scaling_of(all_moments(crew), found.sparse) if machine.scale else None
        labels = data.extra if self._is_classifier else None
        total = found.weight
        if labels is not None:
            total = float(found.by_class[labels.factors > 0].sum())
        cost = machine._cost(data._replace(weight=np.array([total])))
        height = 1.0 if self._is_classifier else self._height(crew)
        plan = LinearPlan(self._parameters_alone(), cost, scaling, labels, height)
        return ClusterLinearTasks(self, data, crew, plan, found, self._starts(crew, plan, data))

    def _height(self, crew: Crew) -> float:
        """Typical distance of a target from their mean."""
        first, *others = [
            Moments(weight, np.array([mean]), np.array([squares]))
            for weight, mean, squares in crew.call("target_moments")
        ]
        for other in others:
            first = first.joined(other)
        spread = float(np.sqrt(first.squares[0] / first.weight))
        return spread if spread > 0 else max(abs(float(first.mean[0])), 1.0)

    def _starts(self, crew: Crew, plan: LinearPlan, data: Training) -> Any:
        """Weights and dual variables of the last fit, or of the checkpoint, task by task."""
        machine: Any = self
        if not machine.warm_start:
            return None
        model: Any = machine if hasattr(machine, "coef_") else self._from_checkpoint()
        if model is None or tuple(model.shape_fit_) != data.X.shape:
            return None
        if self._is_classifier and not model._same_scheme(data.extra):
            return None
        W, intercept = published_weights(model, plan.scaling)
        sizes = crew.call("size")
        edges = np.concatenate([[0], np.cumsum(sizes)])
        support = np.asarray(model.support_)
        found = []
        for k in range(len(W)):
            own = np.flatnonzero(model.dual_coef_[k])
            rows, values = support[own], model.dual_coef_[k][own]
            order = np.argsort(rows)
            at = np.searchsorted(rows[order], edges)
            parts = [order[a:b] for a, b in pairwise(at.tolist())]
            start = [(rows[part] - first, values[part]) for part, first in zip(parts, edges, strict=False)]
            b = float(intercept[k]) if machine.fit_intercept else 0.0
            found.append((Point(W[k], b), start if len(own) else None))
        return found

    def _save_point(self, data: Training, plan: LinearPlan, tasks: int, task: int, point: Point) -> None:
        """Write a model of the last round's weights where a checkpoint is asked for; other tasks' are 0 yet."""
        if self.checkpoint is None or not point.w.any():
            return
        from maxmargin.io import save

        machine: Any = self
        W, b = np.zeros((tasks, len(point.w))), np.zeros(tasks)
        W[task], b[task] = point
        draft = machine._draft()
        fit = LinearFit(W, b, np.zeros(0, dtype=np.intp), np.zeros((tasks, 0)), plan.cost, 0, history_of([()]))
        write_fit(draft, data._replace(kept=np.zeros(0, dtype=np.intp)), fit, plan.scaling)
        save(draft.ordinary(), self.checkpoint)
        warnings.warn(
            f"the cluster was lost; the model of the last round is in {self.checkpoint}, and warm_start=True goes on "
            "from it",
            UserWarning,
            stacklevel=levels_to_caller(),
        )


class LinearClassifierOnCluster(LinearOnCluster):
    """With decisions."""

    def decision_function(self, X):
        """As on one computer; of a Dask collection a lazy one."""
        return lazily(self, super().decision_function, "decision_function", X)  # type: ignore[misc]


@on_cluster
class LinearSVC(LinearClassifierOnCluster, estimators.LinearSVC):
    """Linear support vector classifier, exact, with a proof of optimality, of rows on a Dask cluster."""


@on_cluster
class LinearClassifier(LinearClassifierOnCluster, estimators.LinearClassifier):
    """Linear classifier with any convex loss and penalty, solved to a certified gap, of rows on a Dask cluster."""


@on_cluster
class LinearRegressor(LinearOnCluster, estimators.LinearRegressor):
    """Linear regression with any convex loss and penalty, solved to a certified gap, of rows on a Dask cluster."""


__all__ = ["LinearClassifier", "LinearRegressor", "LinearSVC"]
