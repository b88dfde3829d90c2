"""What the machines minimise, from the textbook, evaluated at a model as it is published.

A :class:`Question` is one optimisation problem with its data. A :class:`Candidate` is a point of it: coefficients of a
kernel expansion, or weights, with an intercept. :func:`primal` is its objective in any arithmetic; scalars of the
problem that a model does not publish (the tube of a nu-SVR, the margin of a nu-SVC) are chosen as well as can be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.campaign.arithmetic import Field
from tests.campaign.true_kernels import Spec, diagonal, gram

#: Rows from which on the kernel matrix is not stored, and rows of a block of it.
LARGE, BLOCK_ROWS = 1000, 64


@dataclass
class Question:
    """One problem: rows, targets and costs as floats, the machine's name and its options."""

    machine: str
    X: Any  # (n, d), dense
    target: Any  # (n,) signs, numbers or classes 0 .. k - 1; zeros where there are none
    cost: Any  # (n,) C_i, or the weights v_i
    spec: Spec | None = None  # None: a machine of weights
    given: Any = None  # the matrix of a precomputed kernel
    options: dict[str, Any] = field(default_factory=dict)
    matrices: dict[str, Any] = field(default_factory=dict, repr=False)

    def K(self, F: Field) -> Any:
        """The kernel matrix, made once per arithmetic."""
        if F.name not in self.matrices:
            self.matrices[F.name] = gram(F, self.spec or ("linear",), self.X, self.X, self.given)
        return self.matrices[F.name]

    def diagonal(self, F: Field) -> Any:
        """k(x, x)."""
        if len(self.X) > LARGE:
            return diagonal(F, self.spec or ("linear",), self.X)
        return np.diagonal(self.K(F))

    def scores(self, F: Field, coef: Any, absolute: bool = False, rows: Any = None) -> Any:
        """K coef, or |K| |coef|: for many rows block by block, over the coefficients that are not 0."""
        size = np.abs if absolute else _itself
        if len(self.X) <= LARGE:
            return size(self.K(F)) @ size(coef)
        used, X = np.flatnonzero(coef), self.X if rows is None else self.X[rows]
        parts = []
        for first in range(0, len(X), BLOCK_ROWS):
            tile = gram(F, self.spec or ("linear",), X[first : first + BLOCK_ROWS], self.X[used])
            parts.append(size(tile) @ size(coef[used]))
        return np.concatenate(parts)


def _itself(values: Any) -> Any:
    return values


@dataclass
class Candidate:
    """A model: (n,) or (n, classes) coefficients, or (d,) or (classes, d) weights; and the intercept(s)."""

    coef: Any
    intercept: Any = 0.0
    name: str = ""
    dual: Any = None  # of a model of weights: its dual variables, where it publishes them
    tied: bool = False  # whether the intercept follows from the weights, without the rounding it was published with


def primal(F: Field, question: Question, candidate: Candidate) -> Any:
    """The objective at the candidate; a number of the field, or float inf where a constraint is missed."""
    with F.within():
        coef = F.array(candidate.coef)
        # without an intercept of its own a machine of centred columns has b = -w . center, whatever w is
        b = -(coef @ F.array(question.options["center"])) if candidate.tied else F.array(candidate.intercept)
        if question.spec is None:
            return _linear(F, question, coef, b)
        f = question.scores(F, coef)
        if question.machine in ALL_CLASSES:
            return (coef * f).sum() / 2 + F.array(question.cost) @ ALL_CLASSES[question.machine](F, question, f + b)
        return KERNEL[question.machine](F, question, coef, f, b)


def _svc(F, question, beta, f, b):
    return beta @ f / 2 + F.array(question.cost) @ np.maximum(0, 1 - F.array(question.target) * (f + b))


def _hard(F, question, beta, f, b):
    margin = (F.array(question.target) * (f + b)).min()
    return beta @ f / (2 * margin * margin) if margin > 0 else np.inf


def _lssvc(F, question, beta, f, b):
    return (beta @ f + F.array(question.cost) @ (F.array(question.target) - f - b) ** 2) / 2


def _nusvc(F, question, beta, f, b):
    """The least over s and rho of 1/2 ||s w||^2 - rho budget + sum v_i max(0, rho - s t_i f_i), in the scale stated."""
    margins, v = F.array(question.target) * (f + b), F.array(question.cost)
    square, budget = beta @ f, F.number(question.options["budget"])
    # with rho = r s the objective is s^2/2 ||w||^2 + s h(r), and h is convex with its kinks at the margins
    h = (v * np.maximum(0, margins[:, None] - margins)).sum(axis=1) - margins * budget
    least = h.min()
    if not least < 0:
        return 0 * square
    return -least * least / (2 * square * F.number(question.options["over"])) if square > 0 else -np.inf


def _svr(F, question, beta, f, b):
    residual = np.abs(F.array(question.target) - f - b)
    return beta @ f / 2 + F.array(question.cost) @ np.maximum(0, residual - F.number(question.options["epsilon"]))


def _nusvr(F, question, beta, f, b):
    """The least over epsilon >= 0, which is 0 or one of the residuals."""
    residual, C = np.abs(F.array(question.target) - f - b), F.array(question.cost)
    widths = np.append(0 * residual[:1], residual)
    paid = F.number(question.options["nu"]) * C.sum() * widths
    return beta @ f / 2 + (paid + (C * np.maximum(0, residual - widths[:, None])).sum(axis=1)).min()


def _oneclass(F, question, beta, f, b):
    v = F.array(question.cost)
    return beta @ f / 2 + b * F.number(question.options["nu"]) * v.sum() + v @ np.maximum(0, -b - f)


def _svdd(F, question, beta, f, b):
    """Published are the centre's beta and b = R^2 - ||a||^2, so that ||phi(x) - a||^2 - R^2 = k(x, x) - 2 f - b."""
    return b + beta @ f + F.array(question.cost) @ np.maximum(0, question.diagonal(F) - 2 * f - b)


KERNEL = {
    "svc": _svc, "hard": _hard, "lssvc": _lssvc, "nusvc": _nusvc, "svr": _svr, "nusvr": _nusvr,
    "oneclass": _oneclass, "svdd": _svdd,
}  # fmt: skip


def _shortfalls(question: Question, f: Any) -> Any:
    """1 + f_m - f_y for m != y, and 0 for m = y."""
    rows = np.arange(len(f))
    s = f - f[rows, question.target][:, None] + 1
    s[rows, question.target] = s[rows, question.target] - 1
    return s


def _minus_log_likelihoods(F: Field, question: Question, f: Any) -> Any:
    """log sum_m e^{f_m - f_y} = log(1 + e^r), where e^r is the sum over the other classes: small losses keep digits."""
    rows = np.arange(len(f))
    others = np.ones(f.shape, dtype=bool)
    others[rows, question.target] = False
    s = (f - f[rows, question.target][:, None])[others].reshape(len(f), -1)
    largest = s.max(axis=1)
    return F.softplus(largest + F.log(F.exp(s - largest[:, None]).sum(axis=1)))


ALL_CLASSES = {
    "crammer-singer": lambda F, question, f: _shortfalls(question, f).max(axis=1),
    "weston-watkins": lambda F, question, f: np.maximum(_shortfalls(question, f), 0).sum(axis=1),
    "softmax": _minus_log_likelihoods,
}

# -- machines of weights ----------------------------------------------------------------------------------------


def _linear(F, question, w, b):
    """P(w) + sum C_i L(t_i, x_i . w + b); a model that was fitted to scaled columns pays for its weights there."""
    scale = question.options.get("scale")
    paid = w if scale is None else w * F.array(scale)
    if question.machine in ALL_CLASSES:
        f = F.array(question.X) @ w.T + b
        return (paid * paid).sum() / 2 + F.array(question.cost) @ ALL_CLASSES[question.machine](F, question, f)
    f = F.array(question.X) @ w + b
    t = F.array(question.target)
    if question.machine == "hard":
        margin = (t * f).min()
        return paid @ paid / (2 * margin * margin) if margin > 0 else np.inf
    return penalty_value(F, question, paid) + F.array(question.cost) @ loss_value(F, question, t, f)


def loss_value(F: Field, question: Question, t: Any, f: Any) -> Any:
    """L(t, f) of every row."""
    name, *options = question.options["loss"]
    return LOSSES[name](F, t, f, *options)


def _huber(F, t, f, delta):
    d, r = F.number(delta), np.abs(t - f)
    return np.where(r <= d, r * r / 2, d * (r - d / 2))


def _pinball(F, t, f, quantile):
    q = F.number(quantile)
    return np.maximum(q * (t - f), (q - 1) * (t - f))


LOSSES = {
    "hinge": lambda F, t, f: np.maximum(0, 1 - t * f),
    "squared_hinge": lambda F, t, f: np.maximum(0, 1 - t * f) ** 2,
    "perceptron": lambda F, t, f: np.maximum(0, -t * f),
    "logistic": lambda F, t, f: F.softplus(-t * f) / F.log(F.number(2.0)),
    "exponential": lambda F, t, f: F.exp(-t * f),
    "squared": lambda F, t, f: (t - f) ** 2,
    "absolute": lambda F, t, f: np.abs(t - f),
    "epsilon_insensitive": lambda F, t, f, eps: np.maximum(0, np.abs(t - f) - F.number(eps)),
    "squared_epsilon_insensitive": lambda F, t, f, eps: np.maximum(0, np.abs(t - f) - F.number(eps)) ** 2,
    "huber": _huber,
    "pinball": _pinball,
}


def penalty_value(F: Field, question: Question, w: Any) -> Any:
    """P(w)."""
    name, *options = question.options["penalty"]
    if name == "none":
        return 0 * w.sum()
    if name == "l1":
        return np.abs(w).sum()
    if name == "l2":
        return w @ w / 2
    if name == "elasticnet":
        r = F.number(options[0])
        return r * np.abs(w).sum() + (1 - r) * (w @ w) / 2
    p = F.number(options[0])  # the p-norm
    size = np.abs(w)
    largest = size.max(initial=0)
    if largest == 0:
        return largest
    return largest * F.power(F.power(size / largest, p).sum(), 1 / p)
