"""What every classifier has: a scheme for many classes, decisions, probabilities and prediction sets.

A family of machines says how its tasks' scores are computed, on all of them and fold by fold; everything else is here.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import FloatArray, IntArray
from maxmargin.backends import backend_for
from maxmargin.calibration import KINDS, Sigmoid, fit_calibrator, fit_conformal, fit_sharpness, sharpened
from maxmargin.delivered import NOT_FITTED, FoldModels
from maxmargin.estimators._machine import Labels, Training, seed_of
from maxmargin.multiclass import BINARY, LIKELIHOOD, MARGIN, SINGLE, Fired, OneVsRest, Scheme, make_scheme
from maxmargin.solvers import fold_numbers


class ManyClasses:
    """Mixin of the classifiers."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "multiclass": [StrOptions({*BINARY, *SINGLE})],
        "code_words": [StrOptions({"one-hot", "random", "exhaustive"}), "array-like"],
        "calibration": [StrOptions(set(KINDS)), None],
    }

    #: The problems for all classes that the family solves, and why no others.
    _singles: ClassVar[tuple[str, ...]] = MARGIN
    _no_single: ClassVar[str] = "its scores are margins; use LinearClassifier with loss='logistic'"

    multiclass: Any
    code_words: Any
    calibration: Any
    classes_: Any

    # -- what a family must say -------------------------------------------------------------------------------

    @abstractmethod
    def _task_scores(self, X: Any) -> FloatArray:
        """(n, tasks) scores of the fitted tasks."""

    @abstractmethod
    def _fold_scores(self, X: Any) -> list[FloatArray]:
        """(n, tasks) scores of every fold's tasks."""

    # -- the scheme -------------------------------------------------------------------------------------------

    @property
    def _multiclass(self) -> str:
        """What the parameters ask for."""
        return self.multiclass

    def _validate_targets(self, y: Any) -> Any:
        if y.dtype.kind not in "biu":  # whole numbers are classes whatever they are
            check_classification_targets(y)
        return y

    def _new_scheme(self, n_classes: int) -> Scheme:
        """The scheme of a fit; an error where it makes no sense for this machine."""
        name = self._multiclass
        if name in SINGLE and name not in self._singles:
            raise ValueError(f"{type(self).__name__} has no multiclass={name!r}: {self._no_single}")
        return make_scheme(name, n_classes, self.code_words, seed_of(self))

    @property
    def _scheme(self) -> Scheme:
        """The scheme of the fitted model."""
        words = getattr(self, "code_words_", None)
        return make_scheme(self.multiclass_, len(self.classes_), words)

    def _write_scheme(self, labels: Labels, scheme: Scheme) -> None:
        self.classes_, self.multiclass_ = labels.classes, self._multiclass
        if self._multiclass == "code":
            self.code_words_ = scheme.words  # type: ignore[attr-defined]  # of CodeWords

    def _same_scheme(self, labels: Labels) -> bool:
        """Whether the fitted model has the tasks that a fit with these labels has."""
        words = getattr(labels.scheme, "words", None)
        return (
            np.array_equal(labels.classes, self.classes_)
            and self.multiclass_ == self._multiclass
            and (words is None or np.array_equal(words, self.code_words_))
        )

    def _write_fired(self, scores: FloatArray) -> None:
        """Report on the training rows whether exactly one task said "mine", where there is one per class."""
        if self._multiclass == "code" and self._scheme.claimed is not None and len(self.classes_) > 2:
            self.fired_ = self._scheme.fired(scores)

    def fired(self, X) -> Fired:
        """For how many rows no task, exactly one and several fired (had a positive score).

        With one task per class (``multiclass='ovr'``, or 'code' with one-hot words) nothing makes sure that exactly
        one does; the largest score then decides.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Fired
            A named tuple (none, one, several).
        """
        check_is_fitted(self)
        if self.multiclass_ in SINGLE:
            raise ValueError(
                f"the scores of multiclass={self.multiclass_!r} say more or less than others, not yes or no"
            )
        return self._scheme.fired(self._task_scores(X))

    # -- decisions --------------------------------------------------------------------------------------------

    def decision_function(self, X):
        """Scores whose arg-max is the prediction (of a model without calibration).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) for two classes: positive means ``classes_[1]``. Beyond, (n_samples, n_classes).
        """
        check_is_fitted(self)
        return self._decisions(self._task_scores(X))

    def _decisions(self, scores: FloatArray) -> FloatArray:
        """The decision function from the scores of the tasks."""
        return scores.ravel() if len(self.classes_) == 2 else self._scheme.decide(scores)

    def predict(self, X):
        """Class of every row: the arg-max of the decision function (a score of exactly 0 is ``classes_[0]``).

        Where the model has probabilities it is their arg-max.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        self._before_predict()
        if self._has_probabilities:
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return self.classes_[self._scheme.classes_of(self._task_scores(X))]

    def _before_predict(self) -> None:
        """Refuse parameters that make no sense together."""

    # -- folds ------------------------------------------------------------------------------------------------

    def _for_fold(self) -> Any:
        """A copy to be fitted on part of the rows: quietly, without proof, whatever the names of the columns."""
        model: Any = copy.copy(self)
        model.calibration, model.verbose = None, 0
        for name in {"certify", "bound"} & vars(model).keys():
            setattr(model, name, False)
        names = ("_skl_", "_callback", "_parent_", "feature_names_in_")
        for name in [name for name in vars(model) if name.startswith(names)]:
            del model.__dict__[name]
        return model

    # -- probabilities and sets -------------------------------------------------------------------------------

    @property
    def _wanted_calibration(self) -> str | None:
        """The kind of calibration that the parameters ask for."""
        return self.calibration

    @property
    def _log_odds(self) -> bool:
        """Whether the scores of a task are log-odds, as logistic regression's are: probabilities without more ado."""
        return False

    @property
    def _has_probabilities(self) -> bool:
        """Whether the fitted model has probabilities, of a calibration or of its own; then they decide."""
        return hasattr(self, "calibrators_") if self._wanted_calibration is not None else self._log_odds

    def _new_folds(self, data: Training) -> IntArray:
        """The fold of every row that counts; copies of a row are in one fold, so that weights equal repetition."""
        X, plain = data.X, hasattr(data.X, "shape") and not getattr(self, "_precomputed", False)
        keys = backend_for("cpu").row_keys(backend_for("cpu").design(X).X)[data.kept] if plain else None
        return fold_numbers(data.extra.label, seed_of(self), keys)

    def _write_calibration(self, data: Training, folds: FoldModels, scores: FloatArray) -> None:
        """Fit a calibrator per task and the sets' quantiles to held-out scores (n, tasks).

        A class's weight counts like that of its rows: the probabilities are those of the population so weighted. Rows
        of folds that were not fitted have no held-out scores and take no part.
        """
        kind, labels = self._wanted_calibration, data.extra
        weight, known = labels.weights(data), folds.number != NOT_FITTED
        assert kind is not None  # nobody calibrates unasked
        self.folds_ = folds
        asked, seen = self._calibrated_view(kind == "sigmoid", scores)
        self.calibrators_ = [
            fit_calibrator(kind, seen[task.rows, k][own], task.sign[own], weight[task.rows][own])
            for k, task in enumerate(asked.tasks(labels.label))
            for own in [known[task.rows]]
        ]
        if not known.all():
            scores = scores[known]
        label, weight = labels.label[known], weight[known]
        if len(self.classes_) > 2:
            self.sharpness_ = fit_sharpness(self._coupled(scores), label, weight)
        self.conformal_ = fit_conformal(self._decided(scores), label, weight, folds.number[known])
        if kind == "sigmoid":
            found = [c for c in self.calibrators_ if isinstance(c, Sigmoid)]
            self.probA_, self.probB_ = np.array([c.a for c in found]), np.array([c.b for c in found])

    def _calibrated_view(self, by_task: bool, scores: FloatArray) -> tuple[Scheme, FloatArray]:
        """(scheme, scores) that calibrators see.

        A sigmoid has two parameters and is content with a pair's rows. What has a step for every few rows overfits
        them: of all-vs-all it sees the decision scores, class by class, and with them all rows.
        """
        if by_task or self.multiclass_ != "ovo" or len(self.classes_) == 2:
            return self._scheme, scores
        return OneVsRest(len(self.classes_)), self._scheme.decide(scores)

    def _coupled(self, scores: FloatArray) -> FloatArray:
        """(n, classes) probabilities from the scores of the tasks, before they are sharpened."""
        scheme, seen = self._calibrated_view(isinstance(self.calibrators_[0], Sigmoid), scores)
        return scheme.distribution(
            np.column_stack([calibrate(s) for calibrate, s in zip(self.calibrators_, seen.T, strict=True)])
        )

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        """(n, classes) probabilities from the scores of the tasks."""
        two = len(self.classes_) == 2
        if self._wanted_calibration is not None:
            p = self._coupled(scores)
            return p if two else sharpened(p, self.sharpness_)
        if self.multiclass_ == LIKELIHOOD and not two:
            return softmax(scores, axis=1)
        return np.column_stack([expit(-scores), expit(scores)]) if two else self._scheme.couple(expit(scores))

    def _decided(self, scores: FloatArray) -> FloatArray:
        """(n, classes) decision scores, for two classes too."""
        return np.column_stack([-scores, scores]) if len(self.classes_) == 2 else self._scheme.decide(scores)

    def _check_calibration(self) -> bool:
        if self._wanted_calibration is None:
            raise AttributeError(
                "predict_proba is not available when probability=False, nor is predict_set, that is without a "
                "calibration: set calibration='sigmoid', 'isotonic' or 'venn-abers' (or probability=True, where there "
                "is one) and fit"
            )
        return True

    def _check_probabilities(self) -> bool:
        return (self._wanted_calibration is None and self._log_odds) or self._check_calibration()

    def _require_calibrated(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "calibrators_"):
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False, that is without a calibration; "
                f"fit this {type(self).__name__} again"
            )

    @available_if(_check_probabilities)
    def predict_proba(self, X):
        """Probability of every class; needs a calibration, except for the logistic loss, whose scores are log-odds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), in the order of ``classes_``
        """
        if self._wanted_calibration is not None:
            self._require_calibrated()
        check_is_fitted(self)
        return self._probabilities(self._task_scores(X))

    @available_if(_check_probabilities)
    def predict_log_proba(self, X):
        """Logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):  # what is impossible to rounding has -inf
            return np.log(self.predict_proba(X))

    @available_if(_check_calibration)
    def predict_set(self, X, coverage=0.9):
        """Conformal prediction sets: classes that cannot be ruled out; needs a calibration.

        If training rows and new ones are exchangeable (independent draws from one source are), the set holds the true
        class with probability 1 - 2 (1 - coverage) at least, but for a term that vanishes with the number of rows;
        usually it is about ``coverage``. That is on average over all rows, not for each class or region.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        coverage : float in (0, 1), default=0.9
            Share of rows whose set shall hold the truth.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes), in the order of ``classes_``
        """
        if not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
            raise ValueError(f"coverage must be a number between 0 and 1, both excluded; got {coverage!r}")
        self._require_calibrated()
        if not hasattr(self, "conformal_"):
            raise NotFittedError(
                f"this {type(self).__name__} was read from another program's file, which keeps no held-out scores for "
                "prediction sets; fit it again"
            )
        decided = [self._decided(scores) for scores in self._fold_scores(X)]
        if not decided:  # classes of one row each: nothing was held out, and nothing can be ruled out
            return np.ones((len(self._task_scores(X)), len(self.classes_)), dtype=bool)
        return self.conformal_.mask(decided, float(coverage))
