"""What all linear classifiers have in common: labels, schemes for many classes, folds for calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model._base import SparseCoefMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import validate_data

from maxmargin._types import FloatArray, RowData
from maxmargin.estimators._fit import FoldFit
from maxmargin.estimators._linear_base import LinearMachine, Target
from maxmargin.estimators._linear_model import dense_coef
from maxmargin.estimators._machine import labels_of
from maxmargin.estimators._many_classes import ManyClasses
from maxmargin.multiclass import SINGLE
from maxmargin.problems import ALL_CLASSES


class LinearClassifierMachine(ManyClasses, SparseCoefMixin, ClassifierMixin, LinearMachine):
    """Linear classifiers: classes, tasks, decisions."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        **ManyClasses._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    #: Whether a fit ends at its own optimum wherever it started: only then may folds, and the cells of a search, start
    #: at another fit.
    _forgets_start: ClassVar[bool] = True

    def _described(self, data):
        labels = labels_of(data, getattr(self, "class_weight", None))
        counts = labels.factors[labels.label] > 0  # rows of a class without weight are left out like others
        if not counts.any():
            raise ValueError(f"class_weight={self.class_weight!r} leaves no row any weight; give one class more than 0")
        labels = replace(labels, label=labels.label[counts], scheme=self._new_scheme(len(labels.classes)))
        return data._replace(weight=data.weight[counts], kept=data.kept[counts], extra=labels)

    def _targets(self, data):
        labels = data.extra
        weight = labels.weights(data)
        return [
            Target(task.sign, weight[task.rows], task.rows if len(task.rows) < len(labels.label) else None)
            for task in labels.scheme.tasks(labels.label)
        ]

    def _write_labels(self, data):
        self._write_scheme(data.extra, data.extra.scheme)
        self.class_weight_ = data.extra.factors

    def _same_labels(self, data):
        return self._same_scheme(data.extra)

    def _slack_of(self, f, y):
        if self.multiclass_ not in SINGLE or len(self.classes_) == 2:
            return np.maximum(0.0, 1.0 - self._signs(y) * f)
        label = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        return ALL_CLASSES[self.multiclass_](label, np.ones(len(f)), len(self.classes_)).slack(f)[:, None]

    def _signs(self, y: Any) -> FloatArray:
        """(n, tasks) signs of these classes, nan where a row is not of the task."""
        label = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        tasks = self._scheme.tasks(label)
        signs = np.full((len(label), len(tasks)), np.nan)
        for k, task in enumerate(tasks):
            signs[task.rows, k] = task.sign
        return signs

    # -- fit --------------------------------------------------------------------------------------------------

    def _for_fold(self):
        model = super()._for_fold()
        model.warm_start = self._forgets_start
        return model

    def _as_fold(self, rows):
        """This model as that of a fold, and its scores of the rows held out."""
        return FoldFit(dense_coef(self), self.intercept_, self._raw_scores(rows))

    # -- prediction -------------------------------------------------------------------------------------------

    def _raw_scores(self, X: RowData) -> FloatArray:
        """(n, tasks) scores of checked rows."""
        return np.asarray(safe_sparse_dot(X, dense_coef(self).T), dtype=np.float64) + self.intercept_

    def _checked_rows(self, X: Any) -> RowData:
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _task_scores(self, X):
        return self._raw_scores(self._checked_rows(X))

    def _fold_scores(self, X):
        X = self._checked_rows(X)
        return [
            np.asarray(safe_sparse_dot(X, W.T)) + b
            for W, b in zip(self.folds_.coef, self.folds_.intercept, strict=True)
        ]
