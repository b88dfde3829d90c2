r"""Losses L(t, y) of a target t and a score y, each with all that solvers and proofs need to know of it.

======================================  ==========================================  ======  ======  ==========
loss                                    L(t, y)                                     convex  smooth  bounds 0/1
======================================  ==========================================  ======  ======  ==========
:class:`ZeroOne`                        1[t y <= 0]                                 no      no      yes
:class:`Sigmoid`                        1 / (1 + e^{t y})                           no      yes     no
:class:`Hinge`                          max(0, 1 - t y)                             yes     no      yes
:class:`SquaredHinge`                   max(0, 1 - t y)^2                           yes     yes     yes
:class:`PerceptronLoss`                 max(0, -t y)                                yes     no      no
:class:`Logistic`                       log(1 + e^{-t y}) / log 2                   yes     yes     yes
:class:`Exponential`                    e^{-t y}                                    yes     yes     yes
:class:`Squared`                        (t - y)^2                                   yes     yes     yes
:class:`Absolute`                       |t - y|                                     yes     no      yes
:class:`EpsilonInsensitive`             max(0, |t - y| - eps)                       yes     no      no
:class:`SquaredEpsilonInsensitive`      max(0, |t - y| - eps)^2                     yes     yes     no
:class:`Huber`                          r^2/2 if r = |t - y| <= d, else d (r - d/2) yes     yes     no
:class:`Pinball`                        max(q (t - y), (q - 1)(t - y))              yes     no      no
======================================  ==========================================  ======  ======  ==========

The first seven are functions of the margin t y, with t = -1 or +1; the others compare y with t. "Smooth" means that the
gradient is continuous; "bounds 0/1" means L >= 1[t y <= 0] for every y, t = -1 or +1, and whatever the options.

The convex ones have a conjugate L*(t, u) = sup_y u y - L(t, y), finite for u within ``dual_bounds(t)``. All but two of
them (logistic and exponential) are suprema of a simple quadratic over an interval, and derive from :class:`Quadratic`.

See "Losses" in ``docs/theory.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, wrightomega, xlog1py, xlogy

from maxmargin._types import FloatArray

LOG2 = float(np.log(2.0))
#: Rounding that a conjugate forgives at the ends of its domain, relative to their distance from 0.
EDGE = 1e-12
#: Newton steps of a prox without closed form, from a start at most log 2 away; each doubles the correct digits.
PROX_STEPS = 8


@dataclass(frozen=True)
class Loss(ABC):
    """A loss L(t, y); ``t`` are targets, ``y`` scores, arrays of one shape or numbers. Options are dataclass fields."""

    name: ClassVar[str]
    #: Whether L depends on the margin t y alone, so that targets must be -1 or +1.
    of_margin: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    smooth: ClassVar[bool] = False
    bounds_zero_one: ClassVar[bool] = False

    @abstractmethod
    def value(self, t: Any, y: Any) -> FloatArray:
        """L(t, y)."""

    @abstractmethod
    def subgradient(self, t: Any, y: Any) -> FloatArray:
        """dL/dy, or at a kink one of the subgradients."""

    def subdifferential(self, t: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        """(lowest, highest) slope u with L(t, z) >= L(t, y) + u (z - y) for all z; equal ends where L is smooth.

        For a loss that is not convex this is asked for z near y alone; where no slope will do, both ends are nan.

        >>> from maxmargin.losses import Hinge
        >>> [(float(low), float(high)) for low, high in (Hinge().subdifferential(1, y) for y in (0, 1, 2))]
        [(-1.0, -1.0), (-1.0, 0.0), (0.0, 0.0)]
        """
        slope = self.subgradient(t, y)
        return slope, slope

    def curvature(self, t: Any, y: Any) -> FloatArray:
        """d^2L/dy^2; for a smooth loss with kinks in its gradient, one of the generalised second derivatives."""
        raise self._no("second derivative", "smooth")

    def conjugate(self, t: Any, u: Any) -> FloatArray:
        """sup_y u y - L(t, y); inf outside :meth:`dual_bounds`."""
        raise self._no("conjugate", "convex")

    def dual_bounds(self, t: Any) -> tuple[FloatArray, FloatArray]:
        """(lowest, highest) slope u with a finite conjugate."""
        raise self._no("conjugate", "convex")

    def prox(self, t: Any, y: Any, step: Any) -> FloatArray:
        """argmin_z L(t, z) + (z - y)^2 / (2 step)."""
        raise self._no("prox", "convex")

    def _no(self, what: str, reason: str) -> TypeError:
        return TypeError(f"the {self.name} loss has no {what}: it is not {reason}")


class DualForm(NamedTuple):
    """Conjugate of a quadratic loss: L*(u) = linear u + ridge/2 u^2 + eps |u| on [lower, upper]."""

    lower: FloatArray
    upper: FloatArray
    linear: FloatArray
    ridge: float | FloatArray = 0.0
    eps: float = 0.0


class Quadratic(Loss):
    """L(t, y) = max over u in [lower, upper] of u (y - linear) - eps |u| - ridge/2 u^2, the form of most losses here.

    The maximiser is a subgradient, so everything follows from :meth:`dual_form`.
    """

    @abstractmethod
    def dual_form(self, t: Any) -> DualForm:
        """Coefficients of the conjugate at the targets ``t``."""

    @np.errstate(over="ignore", invalid="ignore")
    def value(self, t, y):
        form, u = self.dual_form(t), Quadratic.subgradient(self, t, y)
        away = _shrunk(y - form.linear, form.eps)
        # slope 0 contributes 0 and an infinite one inf, also where the score is infinite
        return np.where(u == 0, 0.0, np.where(np.isinf(u), np.inf, u * (away - form.ridge / 2 * u)))

    @np.errstate(over="ignore")
    def subgradient(self, t, y):
        form = self.dual_form(t)
        away = _shrunk(y - form.linear, form.eps)
        if form.ridge > 0:
            return np.clip(away / form.ridge, form.lower, form.upper)
        return np.where(away > 0, form.upper, np.where(away < 0, form.lower, 0.0))

    def subdifferential(self, t, y):
        form = self.dual_form(t)
        if form.ridge > 0:
            return super().subdifferential(t, y)
        r = y - form.linear  # the maximisers are one end where |r| > eps, 0 inside, and all between them at |r| = eps
        low = np.where(r > form.eps, form.upper, np.where(r <= -form.eps, form.lower, 0.0))
        return low, np.where(r < -form.eps, form.lower, np.where(r >= form.eps, form.upper, 0.0))

    def curvature(self, t, y):
        form = self.dual_form(t)
        if form.ridge == 0:
            raise self._no("second derivative", "smooth")
        away = _shrunk(y - form.linear, form.eps)
        curved = (away >= form.ridge * form.lower) & (away <= form.ridge * form.upper)
        return np.where(curved & (np.abs(y - form.linear) >= form.eps), 1.0 / form.ridge, 0.0)

    @np.errstate(over="ignore", invalid="ignore")
    def conjugate(self, t, u):
        form, u = self.dual_form(t), np.asarray(u, dtype=np.float64)
        outside = (u < form.lower - EDGE * np.abs(form.lower)) | (u > form.upper + EDGE * np.abs(form.upper))
        return np.where(outside, np.inf, u * (form.linear + form.eps * np.sign(u) + form.ridge / 2 * u))

    def dual_bounds(self, t):
        return self.dual_form(t)[:2]

    def prox(self, t, y, step):
        form = self.dual_form(t)
        return y - step * np.clip(_shrunk(y - form.linear, form.eps) / (form.ridge + step), form.lower, form.upper)


class Hinge(Quadratic):
    """max(0, 1 - t y); slope 0 at the kink. L*(u) = t u for -t u in [0, 1]."""

    name = "hinge"
    of_margin = bounds_zero_one = True

    def dual_form(self, t):
        return _form(t, *_slopes(t, 1.0))


class SquaredHinge(Quadratic):
    """max(0, 1 - t y)^2. L*(u) = t u + u^2/4 for -t u >= 0."""

    name = "squared_hinge"
    of_margin = smooth = bounds_zero_one = True

    def dual_form(self, t):
        return _form(t, *_slopes(t, np.inf), ridge=0.5)


class PerceptronLoss(Quadratic):
    """max(0, -t y); a score of 0 counts as a mistake (slope -t), or training would never leave w = 0."""

    name = "perceptron"
    of_margin = True

    def dual_form(self, t):
        return DualForm(*_slopes(t, 1.0), np.zeros(np.shape(t)))

    def subgradient(self, t, y):
        t = np.asarray(t, dtype=np.float64)
        return np.where(t * y <= 0, -t, 0.0)


class Squared(Quadratic):
    """(t - y)^2. L*(u) = t u + u^2/4."""

    name = "squared"
    smooth = bounds_zero_one = True

    def dual_form(self, t):
        return _form(t, -np.inf, np.inf, ridge=0.5)


class Absolute(Quadratic):
    """|t - y|. L*(u) = t u on [-1, 1]."""

    name = "absolute"
    bounds_zero_one = True

    def dual_form(self, t):
        return _form(t, -1.0, 1.0)


@dataclass(frozen=True)
class _Tube(Quadratic):
    """Losses that ignore errors up to epsilon."""

    epsilon: float = 0.0

    def __post_init__(self):
        if not 0 <= self.epsilon < np.inf:
            raise ValueError(f"epsilon must be non-negative and finite, got {self.epsilon!r}")


class EpsilonInsensitive(_Tube):
    """max(0, |t - y| - epsilon). L*(u) = t u + epsilon |u| on [-1, 1]."""

    name = "epsilon_insensitive"

    def dual_form(self, t):
        return _form(t, -1.0, 1.0, eps=self.epsilon)


class SquaredEpsilonInsensitive(_Tube):
    """max(0, |t - y| - epsilon)^2. L*(u) = t u + epsilon |u| + u^2/4."""

    name = "squared_epsilon_insensitive"
    smooth = True

    def dual_form(self, t):
        return _form(t, -np.inf, np.inf, ridge=0.5, eps=self.epsilon)


@dataclass(frozen=True)
class Huber(Quadratic):
    """r^2/2 for r = |t - y| <= delta, beyond delta (r - delta/2). L*(u) = t u + u^2/2 on [-delta, delta]."""

    delta: float = 1.35
    name = "huber"
    smooth = True

    def __post_init__(self):
        if not 0 < self.delta < np.inf:
            raise ValueError(f"delta must be positive and finite, got {self.delta!r}")

    def dual_form(self, t):
        return _form(t, -self.delta, self.delta, ridge=1.0)


@dataclass(frozen=True)
class Pinball(Quadratic):
    """max(quantile (t - y), (quantile - 1)(t - y)): its mean is smallest at that quantile of t."""

    quantile: float = 0.5
    name = "pinball"

    def __post_init__(self):
        if not 0 < self.quantile < 1:
            raise ValueError(f"quantile must lie strictly between 0 and 1, got {self.quantile!r}")

    def dual_form(self, t):
        return _form(t, -self.quantile, 1 - self.quantile)


class Logistic(Loss):
    """log(1 + e^{-t y}) / log 2. With s = -t u log 2 in [0, 1]: L*(u) = (s log s + (1 - s) log(1 - s)) / log 2."""

    name = "logistic"
    of_margin = smooth = bounds_zero_one = True

    def value(self, t, y):
        return np.logaddexp(0.0, -np.multiply(t, y)) / LOG2

    def subgradient(self, t, y):
        return -np.asarray(t, dtype=np.float64) * expit(-np.multiply(t, y)) / LOG2

    def curvature(self, t, y):
        m = np.multiply(t, y)
        return expit(m) * expit(-m) / LOG2

    def conjugate(self, t, u):
        s = -np.multiply(t, u) * LOG2
        inside = (s >= 0) & (s <= 1 + EDGE)
        s = np.clip(s, 0.0, 1.0)
        return np.where(inside, (xlogy(s, s) + xlog1py(1 - s, -s)) / LOG2, np.inf)

    def dual_bounds(self, t):
        return _slopes(t, 1 / LOG2)

    def prox(self, t, y, step):
        # r = t z solves r = m + s sigmoid(-r); -r solves it with -(m + s) for m, so that r >= 0 may be assumed, where
        # e^{-r}/2 <= sigmoid(-r) <= e^{-r}: Newton's method rises to the root from a bound close below it
        m, s = np.multiply(t, y), np.asarray(step) / LOG2
        sign = np.where(m < -s / 2, -1.0, 1.0)
        m = np.where(m < -s / 2, -(m + s), m)
        r = np.maximum(_exponential_prox(m, s / 2), 0.0)
        for _ in range(PROX_STEPS):
            p = expit(-r)
            r = r + (s * p - (r - m)) / (1 + s * p * (1 - p))
        return np.multiply(t, sign * r)


class Exponential(Loss):
    """e^{-t y}. With a = -t u >= 0: L*(u) = a log a - a."""

    name = "exponential"
    of_margin = smooth = bounds_zero_one = True

    @np.errstate(over="ignore")
    def value(self, t, y):
        return np.exp(-np.multiply(t, y))

    def subgradient(self, t, y):
        return -np.asarray(t, dtype=np.float64) * self.value(t, y)

    def curvature(self, t, y):
        return self.value(t, y)

    @np.errstate(over="ignore")
    def conjugate(self, t, u):
        a = -np.multiply(t, u)
        return np.where(a >= 0, xlogy(np.maximum(a, 0.0), np.maximum(a, 0.0) / np.e), np.inf)

    def dual_bounds(self, t):
        return _slopes(t, np.inf)

    def prox(self, t, y, step):
        return np.multiply(t, _exponential_prox(np.multiply(t, y), step))


class ZeroOne(Loss):
    """1[t y <= 0]: the error itself. Neither convex nor continuous; the slope is 0 wherever there is one."""

    name = "zero_one"
    of_margin = bounds_zero_one = True
    convex = False

    def value(self, t, y):
        return np.where(np.multiply(t, y) <= 0, 1.0, 0.0)

    def subgradient(self, t, y):
        return np.zeros(np.broadcast(t, y).shape)

    def subdifferential(self, t, y):
        slope = np.where(np.multiply(t, y) == 0, np.nan, 0.0)  # the step goes down: no line through its top stays below
        return slope, slope


class Sigmoid(Loss):
    """1 / (1 + e^{t y}): the 0/1 loss with a smooth step. Not convex."""

    name = "sigmoid"
    of_margin = smooth = True
    convex = False

    def value(self, t, y):
        return expit(-np.multiply(t, y))

    def subgradient(self, t, y):
        m = np.multiply(t, y)
        return -np.asarray(t, dtype=np.float64) * expit(m) * expit(-m)

    def curvature(self, t, y):
        m = np.multiply(t, y)
        return expit(m) * expit(-m) * (expit(m) - expit(-m))


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        ZeroOne, Sigmoid, Hinge, SquaredHinge, PerceptronLoss, Logistic, Exponential, Squared, Absolute,
        EpsilonInsensitive, SquaredEpsilonInsensitive, Huber, Pinball,
    )
}  # fmt: skip


def resolve_loss(loss: str | Loss, **options: float) -> Loss:
    """The loss with this name and these options, or the given loss itself."""
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss must be a Loss or one of {', '.join(sorted(LOSSES))}; got {loss!r}")
    kind = LOSSES[loss]
    return kind(**{name: value for name, value in options.items() if name in kind.__dataclass_fields__})


def _shrunk(r: FloatArray, eps: float) -> FloatArray:
    """r moved towards 0 by eps, and not beyond."""
    return r if eps == 0 else np.sign(r) * np.maximum(np.abs(r) - eps, 0.0)


def _form(t: Any, lower: Any, upper: Any, ridge: float = 0.0, eps: float = 0.0) -> DualForm:
    """The dual form of a loss whose linear part is its target."""
    t = np.asarray(t, dtype=np.float64)
    return DualForm(np.full_like(t, lower), np.full_like(t, upper), t, ridge, eps)


def _slopes(t: Any, steepest: float) -> tuple[FloatArray, FloatArray]:
    """(lowest, highest) slope between 0 and -t steepest."""
    end = -steepest * np.asarray(t, dtype=np.float64)
    return np.minimum(end, 0.0), np.maximum(end, 0.0)


def _exponential_prox(m: FloatArray, step: Any) -> FloatArray:
    """The root r of r = m + step e^{-r}."""
    rise = wrightomega(np.log(step) - m)  # r - m, which satisfies log(r - m) + r = log(step)
    return np.where(rise < 1, m + rise, np.log(step) - np.log(np.maximum(rise, 1.0)))
