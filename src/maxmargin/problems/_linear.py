"""Linear models: any loss and penalty, in primal and dual.

    min  P(w) + sum_i C_i L(t_i, f_i),    f_i = x_i . w + b
    max -P*(v) - sum_i C_i L*(t_i, -beta_i / C_i),    v = X' beta,  sum beta = 0 with an intercept

Everything it is asked is a function of the weights, the scores f, the dual variables beta and v = X' beta: the
problem knows no rows, so a solver or the judge, which multiply with X, bring their own products.

See "Known methods as pairs" and "Duality gap" in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.losses import DualForm, Loss, Quadratic
from maxmargin.penalties import Penalty
from maxmargin.problems._base import centre

#: Rounding forgiven in sum beta = 0, relative to sum |beta|.
BALANCED = 1e-12
#: Halvings of the interval in which the best intercept lies.
HALVINGS = 200
#: Steps of false position before that, and how near, relatively, the halvings begin to look.
FALSE_POSITIONS, NEAR = 25, 1e-15
#: Rounding of a sum of slopes, relative to the sum of their sizes.
EXACT = 1e-15
#: Slopes this far from their bounds and from 0, relative to the row's cost, are between them.
INSIDE = 1e-9
#: Intercepts beyond this are not looked for.
FARTHEST = 1e300


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """Targets and costs of the rows, the loss, the penalty, and whether there is an (unpenalised) intercept."""

    loss: Loss
    penalty: Penalty
    target: FloatArray  # (n,)
    C: FloatArray  # (n,) cost of each row, positive
    fit_intercept: bool = True

    @property
    def n(self) -> int:
        return len(self.target)

    def on_rows(self, rows: slice | IntArray) -> LinearProblem:
        """The same problem on some of its rows."""
        return replace(self, target=self.target[rows], C=self.C[rows])

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """(least, largest) beta of every row: where the dual is finite."""
        lowest, highest = self.loss.dual_bounds(self.target)
        return -self.C * highest, -self.C * lowest

    @cached_property
    def form(self) -> DualForm:
        """Cost of beta where the loss is :class:`~maxmargin.losses.Quadratic`.

        C_i L*(-beta / C_i) = -linear beta + ridge/2 beta^2 + eps |beta| within the bounds.
        """
        if not isinstance(self.loss, Quadratic):
            raise TypeError(f"the {self.loss.name} loss has no quadratic dual")
        form = self.loss.dual_form(self.target)
        return DualForm(*self.bounds, form.linear, form.ridge / self.C, form.eps)

    @cached_property
    def idle(self) -> float:
        """Objective of a model that has learned nothing: all scores 0 or, for losses of a margin, all margins -1."""
        scores = -self.target if self.loss.of_margin else np.zeros(self.n)
        return float(self.C @ self.loss.value(self.target, scores))

    @property
    def has_dual(self) -> bool:
        """Whether dual points can be found: without a penalty, X' beta would have to be exactly 0."""
        return self.penalty.name != "none"

    def primal(self, w: FloatArray, f: FloatArray) -> float:
        """P(w) + sum C_i L(t_i, f_i)."""
        return self.penalty.value(w) + float(self.C @ self.loss.value(self.target, f))

    def dual(self, beta: FloatArray, v: FloatArray) -> float:
        """-P*(v) - sum C_i L*(t_i, -beta_i / C_i): a lower bound on every primal value if beta is feasible."""
        return -self.penalty.conjugate(v) - float(self.C @ self.loss.conjugate(self.target, -beta / self.C))

    def gap(self, w: FloatArray, f: FloatArray, beta: FloatArray, v: FloatArray) -> float:
        """primal - dual of a feasible beta, as a sum of Fenchel-Young terms that are each non-negative."""
        return self.row_gap(f, beta) + self.weight_gap(w, v)

    def weight_gap(self, w: FloatArray, v: FloatArray) -> float:
        """The penalty's share of the gap, P(w) + P*(v) - v . w.

        Without a penalty v should be 0; what is left of it counts as sum |v_j w_j|: an estimate, not a proof.
        """
        if self.has_dual:
            return penalty_gap(self.penalty, w, v)
        return float(np.abs(v) @ np.abs(w)) if w.any() or not v.any() else np.inf

    def row_gap(self, f: FloatArray, beta: FloatArray) -> float:
        """The rows' share of the gap, sum C_i (L(f_i) + L*(u_i) - u_i f_i) with u = -beta / C."""
        return float(self.C @ loss_gap(self.loss, self.target, f, -beta / self.C))

    def slopes(self, f: FloatArray) -> FloatArray:
        """beta = -C L'(f): the dual point that a primal one suggests."""
        return -self.C * self.loss.subgradient(self.target, f)

    def feasible(self, beta: FloatArray) -> FloatArray:
        """beta within its bounds and, with an intercept, balanced.

        The sign that weighs more is scaled down: its rows inside their bounds if that is enough, else all of them.
        """
        lower, upper = self.bounds
        beta = np.clip(beta, lower, upper)
        excess = float(beta.sum())
        if not self.fit_intercept or abs(excess) <= BALANCED * float(np.abs(beta).sum()):
            return beta
        heavy = np.sign(beta) == np.sign(excess)
        inside = heavy & (beta > lower) & (beta < upper)
        rows = inside if abs(float(beta[inside].sum())) > 2 * abs(excess) else heavy
        whole = float(beta[rows].sum())
        if whole == 0 or not np.isfinite(whole):  # steps that overflowed: nothing is known, and 0 is feasible
            return np.zeros_like(beta)
        beta[rows] *= max(0.0, -float(beta[~rows].sum()) / whole)
        return beta

    def imbalance(self, beta: FloatArray) -> float:
        """|sum beta| relative to sum |beta|; 0 without an intercept."""
        total = float(np.abs(beta).sum())
        return abs(float(beta.sum())) / total if self.fit_intercept and total > 0 else 0.0

    def intercept(self, f: FloatArray, start: float = 0.0) -> float:
        """The best b for scores ``f`` without one; where an interval of them is equally good, its middle.

        At a kink between two rows that pull equally hard, or with no row inside its bounds, the loss does not tell one
        end of the interval from the other. The middle is fair to both, and is what kernel machines take.
        """
        if not self.fit_intercept:
            return 0.0
        if not self.loss.smooth:
            return centre(*self._flat_part(f))
        low, high = self._search(f, start)
        return centre(float(low), float(high))

    def settles_intercept(self, f: FloatArray) -> bool:
        """Whether only one b is best at scores ``f``, the intercept included: a row's slope is between its bounds."""
        beta, (lower, upper) = self.slopes(f), self.bounds
        least = INSIDE * self.C
        return bool(np.any((np.abs(beta) > least) & (beta - lower > least) & (upper - beta > least)))

    def _flat_part(self, f: FloatArray) -> tuple[float, float]:
        """(least, largest) best b of a loss made of lines: where its slope, a sum of steps, passes 0."""
        form = self.form
        # row i's slope is -upper up to linear - eps, then 0, then -lower from linear + eps on (beta is minus the slope)
        kinks = np.concatenate([form.linear - form.eps - f, form.linear + form.eps - f])
        order = np.argsort(kinks)
        begins = np.concatenate([[-np.inf], kinks[order]])  # of the pieces of constant slope
        steps = np.concatenate([[-float(form.upper.sum())], np.concatenate([form.upper, -form.lower])[order]])
        slope, rounding = np.cumsum(steps), BALANCED * float(np.abs(steps).sum())
        rises = slope > rounding
        return float(begins[np.argmax(slope >= -rounding)]), float(begins[np.argmax(rises)]) if rises.any() else np.inf

    def _search(self, f: FloatArray, start: FloatArray | float) -> tuple[FloatArray, FloatArray]:
        """(least, largest) best b of a smooth loss: where its slope, rounding aside, is 0.

        Targets, costs and scores may be those of several problems, in lines, each with its own start.
        """

        def slope(b: FloatArray) -> tuple[FloatArray, FloatArray]:
            slopes = self.C * self.loss.subgradient(self.target, f + b[..., None])
            return slopes.sum(axis=-1), EXACT * np.abs(slopes).sum(axis=-1)

        def rises(b: FloatArray) -> Array:
            value, rounding = slope(b)
            return np.asarray(value > rounding)

        def has_ceased_to_fall(b: FloatArray) -> Array:
            value, rounding = slope(b)
            return np.asarray(value >= -rounding)

        begin, width = np.asarray(start, dtype=np.float64), 1.0
        if begin.ndim == 0:
            begin = np.asarray(_near_root(lambda b: float(slope(np.asarray(b))[0]), float(begin)))
            width = NEAR * max(1.0, abs(float(begin)))
        return _first(has_ceased_to_fall, begin, width), _first(rises, begin, width)


def _near_root(slope: Callable[[float], float], start: float) -> float:
    """A number near one where a rising function passes 0: false position (Illinois), from around ``start``.

    It saves halvings, and promises nothing.
    """
    ends, width = [(start, slope(start))] * 2, 1.0
    while ends[0][1] * ends[1][1] > 0 and width < FARTHEST:
        rises = ends[1][1] > 0
        b = start - width if rises else start + width
        ends, width = [(b, slope(b)), ends[0]] if rises else [ends[1], (b, slope(b))], 4 * width
    kept = 0  # which end the last step kept: -1 the lower one, 1 the upper one
    for _ in range(FALSE_POSITIONS):
        (low, at_low), (high, at_high) = ends
        start = low - at_low * (high - low) / (at_high - at_low) if at_high > at_low else low
        if not low < start < high:
            break
        value = slope(start)
        if value > 0:
            ends, kept = [(low, at_low / 2 if kept < 0 else at_low), (start, value)], -1
        else:
            ends, kept = [(start, value), (high, at_high / 2 if kept > 0 else at_high)], 1
    return start


def constants(problems: Sequence[LinearProblem]) -> FloatArray:
    """The best intercept of each problem without weights; they differ in targets and costs alone, and may be many."""
    first, heavy = problems[0], [_merged(problem) for problem in problems]
    if not (first.fit_intercept and first.loss.smooth):
        return np.array([problem.intercept(np.zeros(problem.n)) for problem in heavy])
    most = max(problem.n for problem in heavy)
    target = np.array([np.pad(problem.target, (0, most - problem.n), "edge") for problem in heavy])
    C = np.array([np.pad(problem.C, (0, most - problem.n)) for problem in heavy])
    ends = replace(first, target=target, C=C)._search(np.zeros(target.shape), np.zeros(len(heavy)))
    return np.array([centre(*pair) for pair in zip(*(end.tolist() for end in ends), strict=True)])


def _merged(problem: LinearProblem) -> LinearProblem:
    """The problem of rows that have one score: those of one target are one heavy row."""
    values, place = np.unique(problem.target, return_inverse=True)
    return replace(problem, target=values, C=np.bincount(place, weights=problem.C).astype(np.float64))


def _first(holds: Callable[[FloatArray], Array], start: FloatArray, width: float) -> FloatArray:
    """The least number for which a condition holds that, once true, stays so: by halving, from around ``start``.

    The first look is ``width`` away. Each number of ``start`` has a condition of its own; they are asked together.
    """
    low = high = start
    beside = width
    while (over := holds(low)).any() and beside < FARTHEST:
        low, beside = np.where(over, start - beside, low), 4 * beside
    beside = width
    while not (met := holds(high)).all() and beside < FARTHEST:
        high, beside = np.where(met, high, start + beside), 4 * beside
    always, never = holds(low), ~holds(high)
    for _ in range(HALVINGS):
        between = low + (high - low) / 2
        if ((between == low) | (between == high)).all():
            break
        met = holds(between)
        low, high = np.where(met, low, between), np.where(met, between, high)
    return np.where(always, -np.inf, np.where(never, np.inf, high))


def loss_gap(loss: Loss, t: FloatArray, y: FloatArray, u: FloatArray) -> FloatArray:
    """L(t, y) + L*(t, u) - u y >= 0, computed without cancellation where possible."""
    if not isinstance(loss, Quadratic):
        return np.maximum(loss.value(t, y) + loss.conjugate(t, u) - u * y, 0.0)
    form, best = loss.dual_form(t), Quadratic.subgradient(loss, t, y)
    # the loss is the maximum over u of u (y - linear) - eps |u| - ridge/2 u^2, attained at ``best``
    lost = (best - u) * (y - form.linear - form.ridge / 2 * (best + u)) - form.eps * (np.abs(best) - np.abs(u))
    return np.where(np.isinf(loss.conjugate(t, u)), np.inf, np.maximum(lost, 0.0))


def penalty_gap(penalty: Penalty, w: FloatArray, v: FloatArray) -> float:
    """P(w) + P*(v) - v . w >= 0, term by term where P is a sum over the weights."""
    q, a = penalty.quadratic, penalty.absolute
    if not penalty.separable:
        return max(0.0, penalty.value(w) + penalty.conjugate(v) - float(v @ w))
    inside = np.clip(v, -a, a)
    terms = np.maximum(a * np.abs(w) - inside * w, 0.0)
    if q > 0:
        return float(terms.sum()) + q / 2 * float(np.square(w - (v - inside) / q).sum())
    return float(terms.sum()) + penalty.conjugate(v)
