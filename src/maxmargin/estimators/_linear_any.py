"""Any loss with any penalty: LinearClassifier and LinearRegressor."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.estimators._linear_base import LinearMachine, LinearRegressorMachine
from maxmargin.estimators._linear_classifier import LinearClassifierMachine
from maxmargin.estimators._linear_params import documented_linear
from maxmargin.estimators._linear_single import LinearOneProblem
from maxmargin.estimators._machine import Training
from maxmargin.losses import LOSSES, Logistic, Loss, resolve_loss
from maxmargin.multiclass import LIKELIHOOD
from maxmargin.penalties import PENALTIES, Penalty, resolve_penalty


class _AnyPair:
    """Parameters of a model with a loss and a penalty of the user's choice."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(LOSSES)), Loss],
        "penalty": [StrOptions(set(PENALTIES)), Penalty, None],
        "lam": [Interval(Real, 0.0, None, closed="neither"), None],
        "C": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def _pair(self) -> tuple[Loss, Penalty]:
        return resolve_loss(self.loss), resolve_penalty(self.penalty)  # type: ignore[attr-defined]  # of the subclass

    def _cost(self, data: Training) -> float:
        """C as given, or 1 / (n lam), n being the sum of the weights; without a penalty it makes no difference."""
        lam, C = self.lam, self.C  # type: ignore[attr-defined]  # of the subclass
        if lam is not None and C is not None:
            raise ValueError(f"lam={lam!r} and C={C!r} say the same thing (lam = 1 / (n C)); give one of them")
        return 1.0 / (float(lam) * float(np.sum(data.weight))) if lam is not None else 1.0 if C is None else float(C)


@documented_linear
class LinearClassifier(_AnyPair, LinearClassifierMachine):
    r"""Linear classifier with any convex loss and penalty, solved to a certified gap.

    .. math:: \min_{w,b}\; P(w) + \sum_i C_i L(t_i, w\cdot x_i + b)
        \quad=\quad nC \Bigl(\lambda P(w) + \tfrac1n \sum_i L(t_i, f_i)\Bigr),\qquad \lambda = \tfrac{1}{nC},

    for two classes with signs t_i, and for every class against the rest beyond two. The scores of the logistic loss are
    log-odds: with it the model has ``predict_proba`` without a calibration, 1 / (1 + e^-f) of its tasks; beyond two
    classes they are divided by their sum (coupled, for all-vs-all and code words). ``multiclass='softmax'`` is
    multinomial logistic regression, one problem for all classes with the probabilities e^f_m / sum_o e^f_o.

    Parameters
    ----------
    loss : str or Loss, default='hinge'
        A name or value of :mod:`maxmargin.losses`: 'hinge', 'squared_hinge', 'logistic', 'exponential', 'squared',
        or any other convex one. 'zero_one' and 'sigmoid' are refused: they are not convex; 'perceptron' is refused
        because w = 0 minimises it: :class:`~maxmargin.Perceptron` goes its own way.
    penalty : str, Penalty or None, default='l2'
        A name or value of :mod:`maxmargin.penalties`: 'l2', 'l1', 'elasticnet', 'pnorm', None. 'l0' is refused.
    lam : float or None, default=None
        Weight of the penalty against the mean loss; lam = 1 / (n C).
    C : float or None, default=None
        Cost of a row's loss against the penalty; 1 if neither is given.
    {shared}
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for each class; 'balanced' uses the (weighted) class counts.
    {many_classes}

    Attributes
    ----------
    {attributes}
    {many_attributes}

    References
    ----------
    Li, Sun and Toh 2018 (semismooth Newton inside the method of multipliers); Hsieh et al. 2008 (coordinate descent);
    Boehning 1992 (multinomial logistic regression).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import LinearClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearClassifier(loss='logistic', penalty='l1', C=0.1, scale=True).fit(X, y)
    >>> int((model.coef_ == 0).sum()), model.certificate_.holds, bool(model.certificate_.relative_gap < 1e-4)
    (21, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearClassifierMachine._parameter_constraints,
        **_AnyPair._parameter_constraints,
    }

    @property
    def _log_odds(self) -> bool:
        """The logistic loss is a negative log-likelihood in base 2: its scores are log-odds, whatever the base."""
        return isinstance(resolve_loss(self.loss), Logistic)

    _singles = (LIKELIHOOD,)
    _no_single = "its loss is not one of a pair's margin; use LinearSVC, or 'ovo', 'ovr' or 'code'"

    def __init__(
        self,
        loss="hinge",
        penalty="l2",
        *,
        lam=None,
        C=None,
        tol=1e-4,
        fit_intercept=True,
        class_weight=None,
        scale=False,
        solver="auto",
        max_iter=1000,
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        random_state=None,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
    ):
        self._store(locals())

    def _family(self, data):
        if self._multiclass != LIKELIHOOD:
            return super()._family(data)
        if not self._log_odds:
            raise ValueError(f"multiclass='softmax' is the logistic loss of all classes; got loss={self.loss!r}")
        if self.solver not in ("auto", "newton"):
            raise ValueError(f"multiclass='softmax' is solved by Newton's method alone; got solver={self.solver!r}")
        return LinearOneProblem(self, data)

    def _pair(self):
        loss, penalty = super()._pair()
        signs = np.array([-1.0, 1.0])
        if loss.convex and not loss.value(signs, np.zeros(2)).any():  # no score is better than 0 for either class
            raise ValueError(
                f"loss {self.loss!r} is 0 for a model with w = 0, and no loss is less: 0 minimises it, whatever the "
                "data; use Perceptron, which stops at the first hyperplane that makes no mistake, or a loss that asks "
                "for a margin, such as 'hinge'"
            )
        return loss, penalty


@documented_linear
class LinearRegressor(_AnyPair, LinearRegressorMachine):
    r"""Linear regression with any convex loss and penalty, solved to a certified gap.

    .. math:: \min_{w,b}\; P(w) + \sum_i C_i L(y_i, w\cdot x_i + b)
        \quad=\quad nC \Bigl(\lambda P(w) + \tfrac1n \sum_i L(y_i, f_i)\Bigr),\qquad \lambda = \tfrac{1}{nC}.

    Parameters
    ----------
    loss : str or Loss, default='squared'
        A name or value of :mod:`maxmargin.losses`: 'squared', 'absolute', 'epsilon_insensitive',
        'squared_epsilon_insensitive', 'huber', 'pinball'. Losses of a margin are refused.
    penalty : str, Penalty or None, default='l2'
        A name or value of :mod:`maxmargin.penalties`: 'l2', 'l1', 'elasticnet', 'pnorm', None. 'l0' is refused.
    lam : float or None, default=None
        Weight of the penalty against the mean loss; lam = 1 / (n C).
    C : float or None, default=None
        Cost of a row's loss against the penalty; 1 if neither is given.
    {shared}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Li, Sun and Toh 2018 (semismooth Newton inside the method of multipliers); Hsieh et al. 2008 (coordinate descent).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import LinearRegressor
    >>> from maxmargin.losses import Pinball
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(Pinball(0.9), penalty=None).fit(X, y)
    >>> round(float((y <= model.predict(X) + 1e-6).mean()), 2)
    0.9
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LinearMachine._parameter_constraints,
        **_AnyPair._parameter_constraints,
    }

    def __init__(
        self,
        loss="squared",
        penalty="l2",
        *,
        lam=None,
        C=None,
        tol=1e-4,
        fit_intercept=True,
        scale=False,
        solver="auto",
        max_iter=1000,
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        self._store(locals())

    def _pair(self):
        loss, penalty = super()._pair()
        if loss.of_margin:
            fitting = ", ".join(name for name, kind in LOSSES.items() if not kind.of_margin)
            raise ValueError(
                f"loss {loss.name!r} is one of a margin t y with t = -1 or +1; for regression use {fitting}"
            )
        return loss, penalty
