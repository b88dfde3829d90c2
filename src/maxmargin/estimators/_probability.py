"""Probabilities of a kernel classifier (``probability=True``): Platt's sigmoid on cross-validated scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import IntArray
from maxmargin.calibration import couple_pairs, fit_sigmoid, sigmoid, stratified_folds
from maxmargin.certificates import scores_of
from maxmargin.estimators._machine import Training
from maxmargin.estimators._run import Outcome, Task, run_tasks
from maxmargin.multiclass import OneVsOne


class ProbabilityMixin:
    """predict_proba for classifiers of pairs."""

    probability: Any
    random_state: Any
    kernel_: Any
    classes_: Any
    _pair_scores: Any

    @property
    def _wants_probability(self) -> bool:
        return self.probability is True or self.probability is np.True_

    def _calibrate(self, data: Training, outcomes: list[Outcome]) -> None:
        """Fit a sigmoid per pair to cross-validated scores: probA_ and probB_."""
        pairs = OneVsOne(len(data.extra.classes)).tasks(data.extra.label)
        weight = data.extra.weights(data)
        places: list[tuple[int, IntArray]] = []  # (pair, held-out rows) of every fold
        tasks = []
        for number, (outcome, pair) in enumerate(zip(outcomes, pairs, strict=True)):
            for train, held_out in stratified_folds(pair.sign, check_random_state(self.random_state)):
                places.append((number, held_out))
                tasks.append(Task(outcome.delivered.rows[train], outcome.delivered.problem.on_rows(train)))
        trained = run_tasks(self, self.kernel_, data.X, tasks) if tasks else []
        scores = [scores_of(self.kernel_, data.X, o.delivered, o.delivered.rows) for o in outcomes]
        for (number, held_out), fold in zip(places, trained, strict=True):
            rows = outcomes[number].delivered.rows[held_out]
            scores[number][held_out] = scores_of(self.kernel_, data.X, fold.delivered, rows)
        fitted = [fit_sigmoid(s, t.sign, weight[t.rows]) for s, t in zip(scores, pairs, strict=True)]
        self.probA_, self.probB_ = (np.array(column) for column in zip(*fitted, strict=True))

    def _check_probability(self) -> bool:
        if not self._wants_probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    @available_if(_check_probability)
    def predict_proba(self, X):
        """Probability of every class, (n_samples, n_classes); needs ``probability=True``."""
        check_is_fitted(self)
        if not hasattr(self, "probA_"):
            raise NotFittedError("predict_proba is not available when fitted with probability=False")
        positive = sigmoid(self._pair_scores(X), self.probA_, self.probB_)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - positive, positive])
        return couple_pairs(positive, OneVsOne(len(self.classes_)).pairs, len(self.classes_))

    @available_if(_check_probability)
    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))
