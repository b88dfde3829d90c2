"""What every estimator has in common: parameters kept as given, checked input, a failing fit that leaves no trace."""

from __future__ import annotations

import math
import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import _check_y, validate_data

from maxmargin._types import Array, FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, unchanged_by_errors
from maxmargin.backends import blas_threads, effective_threads
from maxmargin.multiclass import EndToEnd

if TYPE_CHECKING:
    from maxmargin.estimators._options import FitOptions

#: Plain parameters of machines that were found valid, and how many sets of them are remembered.
_VALID: set[tuple[type, tuple[type, ...], tuple[Any, ...]]] = set()
REMEMBERED = 256
#: Types of plain parameters.
PLAIN = {bool, int, float, str, type(None)}
#: Values of X up to which a look at each takes less time than scikit-learn's checks.
SMALL_INPUT = 2**17
#: Part of a time limit that a machine takes before the folds of its calibration begin.
FIRST_PART = 0.5


class Training(NamedTuple):
    """Validated input of ``fit``: everything of X, and which rows count."""

    X: RowData
    y: Any
    weight: FloatArray  # of the kept rows
    kept: IntArray
    n: int
    extra: Any = None  # what the machine's :meth:`_describe` found out about the targets
    began: float = 0.0  # when the fit began
    scaling: Scaling | None = None  # what a kernel machine's ``scale`` did to X
    unscaled: RowData | None = None  # X before that; of rows that are no numbers, what the user gave

    @property
    def X_kept(self) -> RowData:
        """The rows of X that count."""
        return self.X if len(self.kept) == self.n else self.X[self.kept]

    @property
    def as_given(self) -> RowData:
        """X as the user gave it."""
        return self.X if self.unscaled is None else self.unscaled

    def deadline(self, limit: float | None) -> float:
        """When a fit with this time limit must end, on the clock of ``time.perf_counter``; the one place that says it.

        It counts from the beginning of the fit, so that checks, maps and earlier parts of the fit count too.
        """
        return math.inf if limit is None else self.began + limit


def leaves_no_trace(fit: Any) -> Any:
    """Decorator of ``fit``: after an error the estimator is what it was before."""

    @wraps(fit)
    def guarded(self, *args, **kwargs):
        with unchanged_by_errors(self), _own_blas(self):
            return fit(self, *args, **kwargs)

    return guarded


def _own_blas(estimator: BaseEstimator) -> AbstractContextManager[None]:
    """In a thread beside others, BLAS on a number of threads that no other fit changes: its bits depend on it."""
    n_jobs = getattr(estimator, "n_jobs", None)
    if threading.current_thread() is threading.main_thread() or not (n_jobs is None or isinstance(n_jobs, Integral)):
        return nullcontext()
    return blas_threads(effective_threads(int(n_jobs))) if n_jobs else blas_threads(effective_threads())


class Machine(CallbackSupportMixin, BaseEstimator):
    """Base of all estimators."""

    @classmethod
    @cache
    def _get_param_names(cls):
        """Names of the parameters; scikit-learn reads the signature anew each time, which small fits would feel."""
        return super()._get_param_names()

    def _validate_params(self):
        """scikit-learn's check of the parameters; the same plain values are checked once, not in every small fit."""
        values = tuple([getattr(self, name) for name in self._get_param_names()])
        kinds = tuple(map(type, values))  # True is no 1
        known = (type(self), kinds, values) if PLAIN.issuperset(kinds) else None
        if known is not None and known in _VALID:
            return
        super()._validate_params()
        if known is not None:
            if len(_VALID) >= REMEMBERED:
                _VALID.clear()
            _VALID.add(known)

    def _solving_ends(self, data: Training) -> float:
        """When the solvers of the machine itself must end, so that folds have their part of the time limit, too."""
        limit = getattr(self, "time_limit", None)
        calibrated = getattr(self, "_wanted_calibration", None) is not None
        return data.deadline(FIRST_PART * limit if limit is not None and calibrated else limit)

    def _store(self, parameters: dict[str, Any]) -> None:
        """Keep the constructor's arguments as they are (``parameters`` are its locals)."""
        for name, value in parameters.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    def _draft(self) -> Any:
        """A machine with these parameters and no model yet, to be written to and then adopted."""
        draft = object.__new__(type(self))
        draft.__dict__.update(self.__dict__)
        draft._forget()
        return draft

    def _adopt(self, draft: Any) -> None:
        """Become what the draft is; nothing of the last model outlives this."""
        self.__dict__.update(draft.__dict__)
        for name in self.__dict__.keys() - draft.__dict__.keys():
            del self.__dict__[name]

    def _forget(self) -> None:
        """Drop what the last fit published, so that no attribute outlives its model."""
        for name in [k for k in self.__dict__ if k.endswith("_") and k not in ("n_features_in_", "feature_names_in_")]:
            del self.__dict__[name]


@dataclass(frozen=True, eq=False)
class Labels:
    """What a classifier knows of its targets."""

    classes: Array
    label: IntArray  # of the kept rows
    factors: FloatArray  # one per class
    scheme: Any = None  # how many classes become tasks

    def weights(self, data: Training) -> FloatArray:
        """Weight of every kept row, its class's factor included."""
        return data.weight * self.factors[self.label]

    @cached_property
    def end_to_end(self) -> EndToEnd:
        """The tasks of the scheme, laid out once for all who ask."""
        tasks: EndToEnd = self.scheme.end_to_end(self.label)
        return tasks


def labels_of(data: Training, class_weight: Any) -> Labels:
    """Classes of the rows that count, and the weight that each row has in its class."""
    y = data.y[data.kept]
    classes = np.unique(y)
    label = np.searchsorted(classes, y)  # faster than to have np.unique return it
    if len(classes) < 2:
        only = "with positive weights " if len(data.kept) < data.n else ""
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(classes)} class: "
            f"Invalid input - all samples {only}belong to the same class."
        )
    if class_weight is None:
        return Labels(classes, label, np.ones(len(classes)))
    factors = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=data.weight)
    return Labels(classes, label, factors)


def seed_of(estimator: BaseEstimator | FitOptions) -> int:
    """A number from ``random_state``; 0 for None, so that equal fits are equal."""
    chosen = getattr(estimator, "random_state", None)
    if chosen is None or isinstance(chosen, Integral):
        return int(chosen or 0)
    return int(chosen.randint(2**31 - 1))


def check_rows(estimator: BaseEstimator, X: Any) -> Any:
    """Training rows as numbers, and what scikit-learn notes of them on the estimator."""
    if not _are_plain_rows(X):
        return validate_data(
            estimator, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", y="no_validation"
        )
    estimator.n_features_in_ = X.shape[1]
    estimator.__dict__.pop("feature_names_in_", None)
    return X


def _are_plain_rows(X: Any) -> bool:
    """Whether there is nothing to convert or complain of, as in :func:`_is_plain_target`."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or not X.flags.c_contiguous:
        return False
    return X.ndim == 2 and 0 < X.size <= SMALL_INPUT and bool(np.isfinite(X).all())


def check_target(estimator: BaseEstimator, y: Any, n: int) -> Any:
    if not _is_plain_target(y):
        y = _check_y(y, estimator=estimator, y_numeric=is_regressor(estimator))
    if len(y) != n:
        raise ValueError(f"X and y have incompatible shapes: X has {n} samples, but y has {len(y)}.")
    return y


def _is_plain_target(y: Any) -> bool:
    """Whether there is nothing to convert or complain of: scikit-learn's checks take longer than a small fit's rest."""
    if type(y) is not np.ndarray or y.ndim != 1:
        return False
    return y.dtype.kind in "iub" or (y.dtype.kind == "f" and bool(np.isfinite(y).all()))
