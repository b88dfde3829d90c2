r"""Penalties P(w) on the weights of a linear model; the intercept is never penalised.

=====================  ==================================  ======  ======================================
penalty                P(w)                                convex  P*(v) = sup_w v.w - P(w)
=====================  ==================================  ======  ======================================
:class:`NoPenalty`     0                                   yes     0 at v = 0
:class:`L0`            number of w_j != 0                  no      none: value only
:class:`L1`            sum |w_j|                           yes     0 where max |v_j| <= 1
:class:`L2`            1/2 sum w_j^2                       yes     1/2 sum v_j^2
:class:`PNorm`         (sum |w_j|^p)^(1/p), p >= 1         yes     0 where ||v||_q <= 1, 1/p + 1/q = 1
:class:`ElasticNet`    r sum |w_j| + (1 - r)/2 sum w_j^2   yes     sum max(0, |v_j| - r)^2 / (2 (1 - r))
=====================  ==================================  ======  ======================================

See "Penalties" in ``docs/theory.md``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from maxmargin._types import FloatArray

#: Rounding that a conjugate forgives at the end of its domain, relative.
EDGE = 1e-12
#: The relative change at which an iteration ends, and the most steps of Newton's method.
ROUNDING, NEWTON_STEPS = 1e-15, 50


@dataclass(frozen=True)
class Penalty(ABC):
    """A penalty P(w).

    ``quadratic`` and ``absolute`` are the factors of 1/2 sum w_j^2 and of sum |w_j| in it, where it consists of these.
    """

    name: ClassVar[str]
    convex: ClassVar[bool] = True

    @property
    def quadratic(self) -> float:
        return 0.0

    @property
    def absolute(self) -> float:
        return 0.0

    @property
    def separable(self) -> bool:
        """Whether P consists of these two terms and nothing else."""
        return True

    @abstractmethod
    def value(self, w: FloatArray) -> float:
        """P(w)."""

    def prox(self, v: FloatArray, step: float) -> FloatArray:
        """argmin_w P(w) + ||w - v||^2 / (2 step)."""
        q, a = self.quadratic, self.absolute
        return np.sign(v) * np.maximum(np.abs(v) - step * a, 0.0) / (1 + step * q)

    def subgradient(self, w: FloatArray) -> FloatArray:
        """One subgradient of P, 0 where w_j is 0."""
        return self.quadratic * w + self.absolute * np.sign(w)

    def conjugate(self, v: FloatArray) -> float:
        """sup_w v.w - P(w), possibly inf."""
        over = np.maximum(np.abs(v) - self.absolute, 0.0)
        if self.quadratic > 0:
            return _half_square(over) / self.quadratic
        return 0.0 if float(over.max(initial=0.0)) <= EDGE * self.absolute else np.inf

    def into_domain(self, v: FloatArray) -> float:
        """The largest factor <= 1 that brings v to where the conjugate is finite."""
        largest = float(np.abs(v).max(initial=0.0))
        if self.quadratic > 0 or largest <= self.absolute:
            return 1.0
        return self.absolute / largest


@dataclass(frozen=True)
class NoPenalty(Penalty):
    """0: the loss alone decides."""

    name: ClassVar[str] = "none"

    def value(self, w):
        return 0.0


@dataclass(frozen=True)
class L0(Penalty):
    """The number of weights that are not 0. Not convex: it has a value, and no solver here minimises it."""

    name: ClassVar[str] = "l0"
    convex: ClassVar[bool] = False

    @property
    def separable(self):
        return False

    def value(self, w):
        return float(np.count_nonzero(w))

    def _refuse(self) -> TypeError:
        return TypeError("the 0-norm is not convex and has a value only; 'l1' is its closest convex relative")

    def prox(self, v, step):
        raise self._refuse()

    def subgradient(self, w):
        raise self._refuse()

    def conjugate(self, v):
        raise self._refuse()

    def into_domain(self, v):
        raise self._refuse()


@dataclass(frozen=True)
class L1(Penalty):
    """sum |w_j|: many weights become exactly 0."""

    name: ClassVar[str] = "l1"

    @property
    def absolute(self):
        return 1.0

    def value(self, w):
        return float(np.abs(w).sum())


@dataclass(frozen=True)
class L2(Penalty):
    """1/2 sum w_j^2: the penalty of support vector machines."""

    name: ClassVar[str] = "l2"

    @property
    def quadratic(self):
        return 1.0

    def value(self, w):
        return _half_square(w)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """r sum |w_j| + (1 - r)/2 sum w_j^2 with r = ``l1_ratio``."""

    l1_ratio: float = 0.5
    name: ClassVar[str] = "elasticnet"

    def __post_init__(self):
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must lie between 0 and 1, got {self.l1_ratio!r}")

    @property
    def quadratic(self):
        return 1.0 - self.l1_ratio

    @property
    def absolute(self):
        return float(self.l1_ratio)

    def value(self, w):
        # a term with factor 0 is left out: 0 times inf is NaN
        parts = ((self.absolute, L1()), (self.quadratic, L2()))
        return sum(factor * part.value(w) for factor, part in parts if factor > 0)


@dataclass(frozen=True)
class PNorm(Penalty):
    """(sum |w_j|^p)^(1/p), p >= 1; p = 2 is the 2-norm itself, not half its square."""

    p: float = 1.5
    name: ClassVar[str] = "pnorm"

    def __post_init__(self):
        if not self.p >= 1:
            raise ValueError(f"p must be at least 1, or the penalty is not convex; got {self.p!r}")

    @property
    def separable(self):
        return False

    def value(self, w):
        return _norm(w, self.p)

    def subgradient(self, w):
        size = _norm(w, self.p)
        if size == 0:
            return np.zeros_like(w)
        if np.isinf(self.p):
            return np.where(np.arange(len(w)) == np.argmax(np.abs(w)), np.sign(w), 0.0)
        return np.sign(w) * (np.abs(w) / size) ** (self.p - 1)

    def prox(self, v, step):
        # Moreau: v minus its projection onto the ball of the dual norm
        return v - project_to_ball(v, self.dual_exponent, step)

    @property
    def dual_exponent(self) -> float:
        """q with 1/p + 1/q = 1."""
        return np.inf if self.p == 1 else 1.0 if np.isinf(self.p) else self.p / (self.p - 1)

    def conjugate(self, v):
        return 0.0 if _norm(v, self.dual_exponent) <= 1 + EDGE else np.inf

    def into_domain(self, v):
        return 1.0 / max(1.0, _norm(v, self.dual_exponent))


PENALTIES: dict[str, type[Penalty]] = {penalty.name: penalty for penalty in (NoPenalty, L0, L1, L2, ElasticNet, PNorm)}


def resolve_penalty(penalty: str | Penalty | None, **options: float) -> Penalty:
    """The penalty with this name and these options, or the given one itself; None is :class:`NoPenalty`."""
    if isinstance(penalty, Penalty):
        return penalty
    if penalty is None:
        return NoPenalty()
    if penalty not in PENALTIES:
        raise ValueError(f"penalty must be a Penalty, None or one of {', '.join(sorted(PENALTIES))}; got {penalty!r}")
    kind = PENALTIES[penalty]
    return kind(**{name: value for name, value in options.items() if name in kind.__dataclass_fields__})


def project_to_ball(v: FloatArray, q: float, radius: float = 1.0) -> FloatArray:
    """The point of {||z||_q <= radius} nearest to v."""
    size = np.abs(v) / radius
    norm = _norm(size, q)
    if norm <= 1:
        return v.copy()
    if q == 2:
        return v / norm
    if np.isinf(q):
        return np.clip(v, -radius, radius)
    if q == 1:
        below = size - size.max()
        ordered = np.sort(below)[::-1]
        level = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
        return radius * np.sign(v) * np.maximum(below - level[np.flatnonzero(ordered > level)[-1]], 0.0)
    # z_j + s z_j^(q-1) = |v_j|: each z_j falls as s grows; s is where the norm is 1, below the dual norm of v (Hölder)
    most = 2 * _norm(size, q / (q - 1))
    s = brentq(lambda s: np.log(_norm(_roots(size, s, q), q)), 0.0, most, xtol=ROUNDING * most, rtol=ROUNDING)
    return radius * np.sign(v) * _roots(size, s, q)


def _roots(size: FloatArray, s: float, q: float) -> FloatArray:
    """z >= 0 with z + s z^(q-1) = size, by Newton's method from above on a convex function: of z, or of z^(q-1)."""
    if s == 0:
        return size
    linear, power, e = (1.0, s, q - 1) if q > 2 else (s, 1.0, 1 / (q - 1))
    if e == 2:  # p = 1.5 and p = 3: a quadratic equation
        x = size / (linear / 2 + np.hypot(linear / 2, np.sqrt(power) * np.sqrt(size)))
        return x if q > 2 else x**2
    x = np.minimum(size / linear, (size / power) ** (1 / e))
    for _ in range(NEWTON_STEPS):
        move = (linear * x + power * x**e - size) / (linear + power * e * x ** (e - 1))
        x = x - move
        if np.all(np.abs(move) <= ROUNDING * x):
            break
    return x if q > 2 else x**e


def _half_square(w: FloatArray) -> float:
    """1/2 sum w_j^2, inf if that is too large for a float."""
    with np.errstate(over="ignore"):
        return 0.5 * float(np.vdot(w, w))


def _norm(w: Any, p: float) -> float:
    """||w||_p without overflow."""
    size = np.abs(w)
    largest = float(size.max(initial=0.0))
    if largest in (0.0, np.inf) or np.isinf(p):
        return largest
    return largest * float(np.sum((size / largest) ** p)) ** (1 / p)
