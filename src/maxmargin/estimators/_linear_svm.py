"""Linear support vector machines: LinearSVC and LinearSVR, with scikit-learn's parameters and a free intercept."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.estimators._hard_margin import HardMargin
from maxmargin.estimators._linear_base import LinearMachine, LinearRegressorMachine
from maxmargin.estimators._linear_classifier import LinearClassifierMachine
from maxmargin.estimators._linear_params import documented_linear
from maxmargin.estimators._linear_single import LinearOneProblem
from maxmargin.estimators._params import fill_docstring
from maxmargin.losses import EpsilonInsensitive, SquaredEpsilonInsensitive, resolve_loss
from maxmargin.multiclass import SINGLE
from maxmargin.penalties import resolve_penalty

#: Parameters that scikit-learn's linear machines have and these keep for compatibility only.
COMPATIBLE = """dual : 'auto' or bool, default='auto'
    Kept for compatibility; without effect: the solver is chosen for the problem.
intercept_scaling : float, default=1.0
    Kept for compatibility; without effect: the intercept is never penalised."""


@documented_linear
class LinearSVC(LinearClassifierMachine):
    r"""Linear support vector classifier, exact, with a proof of optimality.

    For two classes with signs t_i and C_i = C * class weight * sample weight, and for every class against the rest
    beyond,

    .. math:: \min_{w,b}\; P(w) + \sum_i C_i\, \max(0, 1 - t_i (w\cdot x_i + b))^k,

    k = 1 ('hinge') or 2 ('squared_hinge'), P(w) half the squared 2-norm or the 1-norm. Every combination is solved,
    with the intercept exactly unpenalised: where scikit-learn's (LIBLINEAR's) penalises it, this model fits a little
    better.

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        'l1' sets many weights to exactly 0.
    loss : {'hinge', 'squared_hinge'}, default='squared_hinge'
        The loss.
    {compatible}
    C : float, default=1.0
        Cost of slack. ``np.inf`` is the hard margin (penalty 'l2'): classes that no hyperplane separates then raise
        :class:`~maxmargin.exceptions.NotSeparableError` with a witness.
    multi_class : {'ovr', 'crammer_singer'}, default='ovr'
        scikit-learn's spelling of ``multiclass``, which goes first if it is not None. The single problems have the
        hinge loss and the penalty 'l2'.
    {many_classes}
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced' uses the (weighted) class counts.
    {shared}

    Attributes
    ----------
    {attributes}
    {many_attributes}

    References
    ----------
    Cortes and Vapnik 1995; Hsieh et al. 2008 (coordinate descent); Crammer and Singer 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(C=10, tol=1e-8).fit(X, y)
    >>> round(model.score(X, y), 2), model.certificate_.holds
    (0.97, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearClassifierMachine._parameter_constraints,
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "C": [Interval(Real, 0.0, None, closed="right")],
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "multiclass": [*LinearClassifierMachine._parameter_constraints["multiclass"], None],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        multiclass=None,
        scale=False,
        solver="auto",
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
        code_words="one-hot",
        calibration=None,
    ):
        self._store(locals())

    def __getattr__(self, name: str) -> Any:
        """scikit-learn's words for what is not there: its LinearSVC has no probabilities at all."""
        missing = AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)
        if name in ("predict_proba", "predict_log_proba", "predict_set"):
            missing.add_note("It has one with calibration='sigmoid', 'isotonic' or 'venn-abers'.")
        raise missing

    @property
    def _multiclass(self) -> str:
        return self.multiclass or self.multi_class.replace("_", "-")

    def _pair(self):
        return resolve_loss(self.loss), resolve_penalty(self.penalty)

    def _family(self, data):
        if self._multiclass in SINGLE:
            return LinearOneProblem(self, data)
        return HardMargin(self, data) if np.isinf(self.C) else super()._family(data)


@documented_linear
class LinearSVR(LinearRegressorMachine):
    r"""Linear support vector regression, exact, with a proof of optimality.

    .. math:: \min_{w,b}\; \tfrac12\|w\|^2 + \sum_i C_i\, \max(0, |y_i - w\cdot x_i - b| - \epsilon)^k,

    k = 1 ('epsilon_insensitive') or 2 ('squared_epsilon_insensitive'), the intercept exactly unpenalised.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube in which a residual costs nothing.
    C : float, default=1.0
        Cost of leaving the tube.
    loss : {'epsilon_insensitive', 'squared_epsilon_insensitive'}, default='epsilon_insensitive'
        The loss.
    penalty : {'l2', 'l1'}, default='l2'
        Half the squared 2-norm, or the 1-norm, which sets many weights to exactly 0.
    {compatible}
    {shared}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Ho and Lin 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(C=100, epsilon=5.0, tol=1e-8).fit(X, y)
    >>> round(model.score(X, y), 2), model.certificate_.holds
    (0.48, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        "penalty": [StrOptions({"l1", "l2"})],
        "dual": ["boolean", StrOptions({"auto"})],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        epsilon=0.0,
        tol=1e-4,
        C=1.0,
        loss="epsilon_insensitive",
        fit_intercept=True,
        intercept_scaling=1.0,
        dual="auto",
        verbose=0,
        random_state=None,
        max_iter=1000,
        penalty="l2",
        scale=False,
        solver="auto",
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
    ):
        self._store(locals())

    def _pair(self):
        kind = EpsilonInsensitive if self.loss == "epsilon_insensitive" else SquaredEpsilonInsensitive
        return kind(float(self.epsilon)), resolve_penalty(self.penalty)


for _machine in (LinearSVC, LinearSVR):
    fill_docstring(_machine, compatible=COMPATIBLE)
