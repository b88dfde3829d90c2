"""What SVC, NuSVC and LSSVC share: labels, tasks of every scheme, decisions, folds for calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import dense
from maxmargin._types import FloatArray, IntArray
from maxmargin._validation import Scaling, scaled
from maxmargin.delivered import FoldTables
from maxmargin.estimators._base import KernelMachine
from maxmargin.estimators._kernel_folds import fold_scores
from maxmargin.estimators._machine import Training, labels_of
from maxmargin.estimators._many_classes import ManyClasses
from maxmargin.estimators._run import Outcome
from maxmargin.estimators._soft_margins import SoftOutcomes


class KernelClassifier(ManyClasses, ClassifierMixin, KernelMachine):
    """Base of the kernel classifiers; subclasses state the two-class problem."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelMachine._parameter_constraints,
        **ManyClasses._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
        "random_state": ["random_state"],
        "fit_intercept": ["boolean"],
    }

    def _describe(self, data):
        labels = labels_of(data, self.class_weight)
        if self.decision_function_shape == "ovo" and self._multiclass != "ovo" and len(labels.classes) > 2:
            raise ValueError(
                "decision_function_shape='ovo' has a column for every pair of classes, which only multiclass='ovo' "
                f"has machines for; got multiclass={self._multiclass!r}"
            )
        return replace(labels, scheme=self._new_scheme(len(labels.classes)))

    def _problems(self, data, kernel):
        labels = data.extra
        weights = labels.weights(data)
        return [
            (data.kept[task.rows], self._problem(task, data, weights[task.rows], kernel))
            for task in labels.scheme.tasks(labels.label)
        ]

    def _write(self, data, outcomes: Sequence[Outcome]):
        labels = data.extra
        if isinstance(outcomes, SoftOutcomes):
            coef, intercept, steps = outcomes.solved.beta, outcomes.intercept, outcomes.solved.steps
        else:
            coef = np.concatenate([outcome.delivered.dual_coef for outcome in outcomes])
            intercept = np.array([outcome.delivered.intercept for outcome in outcomes])
            steps = np.array([outcome.solution.n_iter for outcome in outcomes], dtype=np.int64)
        table = labels.scheme.publish(labels.end_to_end, coef, len(labels.label))
        self._write_table(data, table, intercept)
        self.n_iter_ = steps

    def _write_table(self, data: Training, table: FloatArray, intercept: FloatArray) -> None:
        """Classes, support vectors in LIBSVM's order (by class, then by row), coefficients and intercepts."""
        labels = data.extra
        self._write_scheme(labels, labels.scheme)
        self.class_weight_ = labels.factors
        used = np.flatnonzero(table.any(axis=0))
        order = used[labels.label[used].argsort(kind="stable")]
        self.n_support_ = np.bincount(labels.label[order], minlength=len(self.classes_)).astype(np.int32)
        self.intercept_ = intercept
        self._write_support(data, data.kept[order], table[:, order])

    def _fitted_coefs(self, data, problems):
        labels = data.extra
        if not self._same_scheme(labels):
            return [None] * len(problems)
        return list(labels.scheme.unpack(self._fitted_table(data)[:, data.kept], labels.label))

    def _fitted_table(self, data: Training) -> FloatArray:
        """(lines, n) coefficients of the last fit."""
        table = np.zeros((self.dual_coef_.shape[0], data.n))
        table[:, self.support_] = dense(self.dual_coef_)
        return table

    # -- prediction -------------------------------------------------------------------------------------------

    @property
    def _support_label(self) -> IntArray:
        """Class of every support vector, as a number."""
        return np.repeat(np.arange(len(self.classes_)), self.n_support_)

    def _task_scores(self, X):
        scheme = self._scheme
        tables = scheme.tables(dense(self.dual_coef_), self._support_label)
        return scheme.from_tables(self._products(X, tables)) + self.intercept_

    def _fold_scores(self, X):
        tables: FoldTables = self.folds_.coef
        return fold_scores(self, X, tables, self.folds_.intercept)

    def decision_function(self, X):
        """Scores whose arg-max is the prediction (of a model without calibration).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes: positive means ``classes_[1]``. Beyond, (n_samples, n_classes),
        or (n_samples, pairs) for ``decision_function_shape='ovo'``: positive means the first class of the pair.
        """
        check_is_fitted(self)
        return self._decisions(self._task_scores(X))

    def _decisions(self, scores: FloatArray) -> FloatArray:
        if self.decision_function_shape == "ovo" and self.multiclass_ == "ovo" and len(self.classes_) > 2:
            return scores
        return super()._decisions(scores)

    def _linear_weights(self):
        coef = self._scheme.per_task(dense(self.dual_coef_), self._support_label)
        weights = coef.T @ scaled(self.support_vectors_, Scaling.of(self))
        return type(self.dual_coef_)(weights) if sp.issparse(self.dual_coef_) else np.asarray(weights)


class NoSigmoids:
    """``probA_`` and ``probB_`` of a model without sigmoids: empty, as in scikit-learn; a fit with them hides this."""

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self
        check_is_fitted(model)
        return np.empty(0)


class SupportVectorClassifier(KernelClassifier):
    """Base of SVC and NuSVC: with scikit-learn's ``probability``, ``probA_``, ``probB_`` and ``break_ties``."""

    probA_: Any = NoSigmoids()
    probB_: Any = NoSigmoids()

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClassifier._parameter_constraints,
        "break_ties": ["boolean"],
        "probability": ["boolean", StrOptions({"deprecated"})],
    }

    def _before_predict(self):
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _write_calibration(self, data, folds, scores):
        super()._write_calibration(data, folds, scores)
        if "probB_" in vars(self) and len(self.classes_) == 2:  # LIBSVM's sigmoid is that of the first class
            self.probB_ = -self.probB_

    @property
    def _wanted_calibration(self):
        asked = self.probability is True or self.probability is np.True_
        if asked and self.calibration not in (None, "sigmoid"):
            raise ValueError(
                f"probability=True means calibration='sigmoid', but calibration={self.calibration!r}; give one of them"
            )
        return "sigmoid" if asked else self.calibration
