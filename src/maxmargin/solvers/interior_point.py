r"""Interior point: the reference solver, for small problems to full double precision.

Problem: the dual QP of :mod:`maxmargin.problems` (a budget that must be spent presupposes rows of one sign, or it
would not be convex). With beta = Sx, one part x for each sign a row may take and one more for what is left of a
budget that is a bound, it reads

.. math:: \min_x \tfrac12 x'S'KSx + c'x \quad\text{s.t.}\quad Ax = r,\; x + w = u,\; x, w \ge 0.

Algorithm: Mehrotra's predictor-corrector. With multipliers y of Ax = r, z of x >= 0 and v of w >= 0, each round takes
two Newton steps on the optimality conditions with x z = w v = mu: one for mu = 0, to see how far that goes, then one
for the mu it suggests, with the second-order term. Both use one factorisation, of K + a diagonal bordered by A: the
two parts of a row are eliminated together, and the border keeps it regular where K alone is singular.
Invariant: x, w, z, v > 0. The watch sees, and the caller gets, a feasible copy: what belongs on a bound is on it.
Cost: 2/3 n^3 multiplications a round, 10 to 30 rounds, three n x n matrices.
Papers: Mehrotra 1992 (the method), Fine and Scheinberg 2001 (for the dual SVM), Vanderbei 1995 (the factorisation).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, eigh, lu_solve
from scipy.linalg.lapack import dgetrf

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.exceptions import NotPSDError
from maxmargin.problems import DualQP, Problem, relative
from maxmargin.solvers._base import Gram, Record, Solution, Status, Watch

#: Relative gap at which double precision has nothing more to give.
ACCURACY = 1e-14
#: Rounds without progress after which rounding errors have won, and what counts as progress.
PATIENCE, PROGRESS = 3, 0.9
#: Complementarity, relative to the feasible copy's gap, below which the path has nothing more to tell the copy.
AHEAD = 1e-10
#: How much of the way to the nearest bound a step goes.
FRACTION = 0.995
#: Added to the scaled system's diagonal, a few roundings: quasi-definite matrices cannot be singular.
RIDGE = 1e-15
#: Solves of one Newton system: the first, and corrections by what is left over (they also undo the ridge).
REFINEMENTS = 3
#: How far the carried beta may differ from Sx, relative to the parts: their rounding errors.
GRID = 32 * np.finfo(float).eps
#: Smallest eigenvalue, relative to the largest k(x, x), that still passes for a rounding error.
ROUNDING = 1e-10
#: Relative errors of the sums: a budget is spent up to the first, one no free row can mend stays up to the second.
NEARLY_SPENT, LEFT_ALONE = 1e-6, 1e-12


@dataclass(frozen=True)
class InteriorPoint:
    """Primal-dual interior point; goes on to its own full accuracy, whatever tolerance is asked for.

    ``max_rounds`` limits the rounds, as the watch's ``max_iter`` does; ``largest`` is the most rows it accepts,
    for memory grows with their square and time with their cube.
    """

    max_rounds: int = 200
    largest: int = 4000

    def solve(self, problem: Problem, gram: Gram, start: FloatArray | None, watch: Watch) -> Solution:
        """Solve; ``start`` is ignored, for a point on the boundary tells an interior point nothing."""
        if gram.n > self.largest:
            raise ValueError(
                f"solver='interior-point' factors the whole kernel matrix and takes at most {self.largest} rows, "
                f"but got {gram.n}. Use solver='decomposition', or raise `largest` if memory and patience allow."
            )
        qp, K = problem.qp, gram.matrix()
        _require_psd(K)
        form = _Form.of(qp)
        inner = K[np.ix_(form.live, form.live)]
        point, best = form.start(inner), _Best()
        for rounds in range(self.max_rounds + 1):
            beta = _feasible(qp, form, point, float(np.max(np.diag(K))))
            f: FloatArray = K @ beta
            violation = qp.violation(beta, f + qp.linear)
            status = watch.look_at(problem, beta, f, rounds, violation)
            best.update(beta, watch.history[-1], violation, point.complementarity)
            if status not in (None, Status.OPTIMAL) or best.final or (status is not None and _spent(watch, rounds)):
                break
            with np.errstate(all="ignore"):  # the step that overflows is the one that ends it
                point = _advance(form, inner, point)
            if not np.isfinite(point.complementarity):
                break
        f = gram.product(best.beta)
        if status is None or status is Status.OPTIMAL:
            violation = qp.violation(best.beta, f + qp.linear) / problem.unit(best.beta, f)
            unmet = Status.MAX_ITER if rounds == self.max_rounds else Status.STALLED
            status = Status.OPTIMAL if watch.met(best.record, violation) else unmet
        return watch.solution(best.beta, f, status, rounds, gram.entries)


def _require_psd(K: FloatArray) -> None:
    """Raise unless K is positive semi-definite up to rounding: there is no one optimum to converge to otherwise."""
    try:
        cho_factor(K + (ROUNDING * np.max(np.diag(K)) + np.finfo(float).tiny) * np.eye(len(K)), overwrite_a=True)
    except LinAlgError:
        value, vector = eigh(K, subset_by_index=[0, 0])
        raise NotPSDError(
            "solver='interior-point' needs a positive semi-definite kernel, but the kernel matrix of these rows has "
            f"the eigenvalue {value[0]:.3g}. Use another kernel, or solver='decomposition' for a stationary point.",
            vector[:, 0],
        ) from None


def _spent(watch: Watch, rounds: int) -> bool:
    """Whether the watch allows no further round (of a point that is good enough it does not say so)."""
    return watch.steps_left(rounds, 1) == 0 or time.perf_counter() >= watch.deadline


class _Best:
    """The feasible copy with the smallest violation so far, and whether it is final."""

    beta: FloatArray
    record: Record
    violation, closest, idle, final = np.inf, np.inf, 0, False

    def update(self, beta: FloatArray, record: Record, violation: float, complementarity: float) -> None:
        nearer = AHEAD * record.gap < complementarity < PROGRESS * self.closest
        self.idle = 0 if nearer or violation < PROGRESS * self.violation else self.idle + 1
        self.closest = min(self.closest, complementarity)
        exact = violation == 0 or relative(record.gap, record.primal, record.dual) <= ACCURACY
        if exact or violation < self.violation:
            self.beta, self.record, self.violation = beta, record, violation
        self.final = exact or self.idle >= PATIENCE


@dataclass(frozen=True)
class _Point:
    """An iterate, or a step. ``beta`` = Sx is kept because the difference of two large parts would lose digits."""

    beta: FloatArray
    y: FloatArray
    x: FloatArray
    w: FloatArray
    z: FloatArray
    v: FloatArray

    @property
    def complementarity(self) -> float:
        """x'z + w'v: the duality gap, on the central path."""
        return float(self.x @ self.z + self.w @ self.v)

    def moved(self, step: _Point, length: float) -> _Point:
        return _Point(*(a + length * b for a, b in zip(vars(self).values(), vars(step).values(), strict=True)))

    def reach(self, step: _Point) -> float:
        """The longest step, at most 1, that keeps x, w, z and v non-negative."""
        now, change = (np.concatenate([p.x, p.w, p.z, p.v]) for p in (self, step))
        return min(1.0, float(np.min(-now[change < 0] / change[change < 0], initial=np.inf)))


@dataclass(frozen=True)
class _Form:
    """The QP in standard form; ``x[j]`` is the part of sign ``sign[j]`` of the row ``live[row[j]]``."""

    live: IntArray  # rows whose box is more than a point
    row: IntArray  # (m,)
    sign: FloatArray  # (m,) -1, +1, or 0 for the unspent budget
    cost: FloatArray  # (m,) c
    cap: FloatArray  # (m,) u
    weights: FloatArray  # (k, 2) of sum(x) and sum(beta) in Ax
    sums: FloatArray  # (k, m) A
    given: FloatArray  # (k,) r
    partner: IntArray  # (m,) position of the other part of the same row, or the part's own
    slides: Array  # (m,) bool: whether the part can change, its partner alike, while beta does not

    @classmethod
    def of(cls, qp: DualQP) -> _Form:
        live = np.flatnonzero(qp.upper > qp.lower)
        up, down = qp.upper[live], -qp.lower[live]
        plus, minus = np.flatnonzero(up), np.flatnonzero(down)
        rest = [0.0] if qp.budget_is_bound and len(live) else []
        row = np.concatenate([plus, minus, rest]).astype(int)
        sign = np.concatenate([np.ones(len(plus)), -np.ones(len(minus)), rest])
        cost = np.where(sign == 0, 0.0, sign * qp.linear[live][row] + qp.epsilon)
        cap = np.concatenate([up[plus], down[minus], [qp.budget] if rest else []])
        _, first, second = np.intersect1d(plus, minus, assume_unique=True, return_indices=True)
        partner = np.arange(len(row))
        partner[first], partner[len(plus) + second] = len(plus) + second, first
        slides = (partner != np.arange(len(row))) | (sign == 0)
        weights, given = _constraints(qp)
        sums = weights @ np.array([np.ones(len(row)), sign])
        return cls(live, row, sign, cost, cap, weights, sums, given, partner, slides)

    def rows(self, x: FloatArray) -> FloatArray:
        """Sx."""
        return np.bincount(self.row, self.sign * x, minlength=len(self.live)).astype(float)

    def gradient(self, K: FloatArray, beta: FloatArray) -> FloatArray:
        """S'K beta."""
        return self.sign * (K @ beta)[self.row]

    def start(self, K: FloatArray) -> _Point:
        """The middle of the box, and multipliers as large as the gradient there."""
        x = self.cap / 2
        beta = self.rows(x)
        steepest = np.max(np.abs(self.gradient(K, beta) + self.cost), initial=np.finfo(float).tiny)
        size = np.full(len(x), steepest)
        return _Point(beta, np.zeros(len(self.given)), x, self.cap - x, size, size)


def _constraints(qp: DualQP) -> tuple[FloatArray, FloatArray]:
    """Weights of sum(x) and of sum(beta) in each row of Ax, and r."""
    if qp.balance and qp.budget is not None and not qp.budget_is_bound:
        # as the sums of the two signs, which stay apart numerically when all rows of one sign are on bounds
        return np.array([[0.5, 0.5], [0.5, -0.5]]), np.array([qp.budget + qp.total, qp.budget - qp.total]) / 2
    rows = [([0.0, 1.0], qp.total)] * qp.balance + [([1.0, 0.0], qp.budget)] * (qp.budget is not None)
    return np.array([weights for weights, _ in rows]).reshape(-1, 2), np.array([given for _, given in rows])


class _Newton:
    """The system (S'KS + D) dx - A'dy = a, A dx = b of one round, factored.

    A step is dx = T db + t: its share T of the change db of its row, and a slide t that leaves the rows alone. They
    are D-orthogonal, so n + k equations are left: [K + T'DT, T'A'; AT, -F] (db, -dy) = (T'a, b - At(a)), F = At(A').
    """

    def __init__(self, form: _Form, K: FloatArray, diagonal: FloatArray):
        self.form, self.K, self.diagonal, n = form, K, diagonal, len(K)
        self.joint = diagonal + diagonal[form.partner]
        self.share = form.sign * np.where(form.slides, diagonal[form.partner] / self.joint, 1.0)
        border = np.array([self.on_rows(a) for a in form.sums]).reshape(-1, n)
        corner = form.sums @ self.slide(form.sums).T
        system = np.block([[K, border.T], [border, -corner]])
        system[range(n), range(n)] += np.bincount(form.row, self.share**2 * diagonal, minlength=n)
        inside = np.sqrt(np.diag(system)[:n])
        outside = np.sqrt(np.diag(corner) + np.max((border / inside) ** 2, axis=1, initial=0.0))
        self.scale = 1.0 / np.concatenate([inside, outside])
        system *= self.scale
        system *= self.scale[:, None]
        system[np.diag_indices_from(system)] += np.repeat([RIDGE, -RIDGE], [n, len(border)])
        self.factor = dgetrf(system.T, overwrite_a=True)[:2]  # symmetric: .T only spares LAPACK a copy

    def on_rows(self, a: FloatArray) -> FloatArray:
        """T'a."""
        return np.bincount(self.form.row, self.share * a, minlength=len(self.K)).astype(float)

    def slide(self, a: FloatArray) -> FloatArray:
        """t(a)."""
        return np.where(self.form.slides, (a + a[..., self.form.partner]) / self.joint, 0.0)

    def solve(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(dx, dy)."""
        form, n = self.form, len(self.K)
        x, y = np.zeros(len(a)), np.zeros(len(b))
        for _ in range(REFINEMENTS):
            left = a - form.gradient(self.K, form.rows(x)) - self.diagonal * x + y @ form.sums
            right = np.concatenate([self.on_rows(left), b - form.sums @ (x + self.slide(left))])
            change = self.scale * lu_solve(self.factor, self.scale * right, check_finite=False)
            x = x + self.share * change[form.row] + self.slide(left - change[n:] @ form.sums)
            y = y - change[n:]
        return x, y


def _advance(form: _Form, K: FloatArray, at: _Point) -> _Point:
    """One predictor-corrector round."""
    newton = _Newton(form, K, at.z / at.x + at.v / at.w)
    dual = form.gradient(K, at.beta) + form.cost - at.y @ form.sums - at.z + at.v
    primal = form.weights @ [at.x.sum(), at.beta.sum()] - form.given
    excess = at.x + at.w - form.cap

    def direction(low: FloatArray, high: FloatArray) -> _Point:
        """Newton step that changes x z by ``low`` and w v by ``high``, to first order."""
        x, y = newton.solve(low / at.x - (high + at.v * excess) / at.w - dual, -primal)
        w = -excess - x
        return _Point(form.rows(x), y, x, w, (low - at.z * x) / at.x, (high - at.v * w) / at.w)

    low, high = -at.x * at.z, -at.w * at.v
    guess = direction(low, high)
    left = at.complementarity  # 0 where the products underflow: there is nothing to centre then
    ahead = at.moved(guess, at.reach(guess)).complementarity / left if left > 0 else 0.0
    mu = ahead**3 * at.complementarity / (2 * len(at.x))  # Mehrotra's rule
    step = direction(low + mu - guess.x * guess.z, high + mu - guess.w * guess.v)
    new = at.moved(step, FRACTION * at.reach(step))
    parts, grid = form.rows(new.x), GRID * np.bincount(form.row, np.abs(form.sign) * new.x, minlength=len(K))
    return replace(new, beta=np.where(np.abs(new.beta - parts) <= grid, new.beta, parts))


def _feasible(qp: DualQP, form: _Form, point: _Point, top: float) -> FloatArray:
    """The feasible copy of ``point``: parts that belong on a bound are put there, the free ones mend the sums.

    A part belongs on a bound if going there changes the gradient less (``top`` is the largest k(x, x)) than staying
    leaves of its multiplier.
    """
    low = (top * point.x < point.z) & (point.x <= point.w)
    high = (top * point.w < point.v) & (point.w < point.x)
    x = np.where(low, 0.0, np.where(high, form.cap, point.x))
    loose = np.bincount(form.row, ~(low | high) & (form.sign != 0), minlength=len(form.live)) > 0
    free = np.zeros(qp.n, dtype=bool)
    free[form.live] = loose
    beta: FloatArray = np.zeros(qp.n)
    beta[form.live] = np.where(loose, point.beta + form.rows(x - point.x), form.rows(x))
    beta = np.clip(beta, qp.lower, qp.upper)
    if qp.balance and (qp.budget is None or qp.budget_is_bound):
        beta = _shifted(beta, qp.lower, qp.upper, free, qp.total)
    if qp.budget is None:
        return beta
    if qp.budget_is_bound and np.abs(beta).sum() <= qp.budget * (1 - NEARLY_SPENT * low[-1:].any()):
        return beta
    return _spending(qp.budget, qp, beta, free)


def _spending(budget: float, qp: DualQP, beta: FloatArray, free: Array) -> FloatArray:
    """``beta`` with its positive and its negative part shifted to ``sum(|beta|) = budget``."""
    n, parts = qp.n, np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    room = np.concatenate([np.where(beta < 0, 0.0, qp.upper), np.where(beta > 0, 0.0, -qp.lower)])
    free, none = np.concatenate([free, free]) & (parts > 0), np.zeros(2 * n)
    if qp.balance:
        plus = _shifted(parts[:n], none[:n], room[:n], free[:n], (budget + qp.total) / 2)
        minus = _shifted(parts[n:], none[n:], room[n:], free[n:], (budget - qp.total) / 2)
    else:
        plus, minus = np.split(_shifted(parts, none, room, free, budget), 2)
    return np.asarray(plus - minus)


def _shifted(x: FloatArray, low: FloatArray, high: FloatArray, free: Array, total: float) -> FloatArray:
    """``x`` with the sum ``total``: the free entries give or take in proportion to their room, all if need be."""
    missing = total - float(x.sum())
    room = high - x if missing > 0 else x - low
    share = np.where(free, room, 0.0)
    if share.sum() < abs(missing):
        if abs(missing) <= LEFT_ALONE * np.abs(x).sum():
            return x  # a vertex, and its rounding errors: no row is to leave its bound for them
        share = room
    return np.clip(x + missing * share / max(float(share.sum()), np.finfo(float).tiny), low, high)
