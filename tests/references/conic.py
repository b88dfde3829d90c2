"""Linear models as conic programmes for clarabel, written down from the definitions of the losses and penalties.

Nothing here comes from maxmargin but the names and the options: loss and penalty are told apart by ``name``.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp


class Programme:
    """min 1/2 x'Px + q'x, variables and cones being added one block at a time."""

    def __init__(self):
        self.size, self.cost, self.curved = 0, [], []
        self.lines, self.right, self.cones = [], [], []

    def variables(self, count, cost=0.0, square=0.0):
        """Positions of new variables with ``cost`` x + ``square``/2 x^2 in the objective."""
        first, self.size = self.size, self.size + count
        self.cost.append(np.broadcast_to(cost, count))
        self.curved.append(np.broadcast_to(square, count))
        return np.arange(first, self.size)

    def into(self, cone, terms, constant):
        """constant + sum of matrix @ x[columns] lies in the cone; its dimension is that of ``constant``."""
        constant = np.atleast_1d(np.asarray(constant, dtype=float))
        self.lines.append([(sp.csc_array(np.atleast_2d(matrix)), columns) for matrix, columns in terms])
        self.right.append(constant)
        self.cones.append(cone)

    def at_least_zero(self, terms, constant):
        self.into(clarabel.NonnegativeConeT(len(constant)), terms, constant)

    def minimum(self):
        """The optimal value."""
        blocks = []
        for terms, constant in zip(self.lines, self.right, strict=True):
            line = sp.lil_array((len(constant), self.size))
            for matrix, columns in terms:
                line[:, columns] = line[:, columns] + matrix.toarray()
            blocks.append(-line.tocsc())
        P, q = sp.diags_array(np.concatenate(self.curved)).tocsc(), np.concatenate(self.cost)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_iter = False, 500
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        A, b = sp.vstack(blocks).tocsc(), np.concatenate(self.right)
        solution = clarabel.DefaultSolver(P, q, A, b, self.cones, settings).solve()
        assert str(solution.status) in ("Solved", "AlmostSolved"), solution.status
        x = np.array(solution.x)
        return float(0.5 * x @ P @ x + q @ x)


def optimum(X, t, C, loss, penalty, fit_intercept=True):
    """min P(w) + sum C_i L(t_i, x_i.w + b)."""
    programme = Programme()
    w = programme.variables(X.shape[1], square=getattr(penalty, "quadratic", 0.0))
    columns = np.append(w, programme.variables(1)) if fit_intercept else w
    rows = np.column_stack([X, np.ones(len(X))]) if fit_intercept else X
    _add_penalty(programme, w, penalty)
    _add_loss(programme, rows, columns, np.asarray(t, dtype=float), C, loss)
    return programme.minimum()


def _add_penalty(programme, w, penalty):
    d = len(w)
    if penalty.name in ("l1", "elasticnet"):
        size = programme.variables(d, cost=1.0 if penalty.name == "l1" else penalty.l1_ratio)
        for sign in (1.0, -1.0):
            programme.at_least_zero([(np.eye(d), size), (sign * np.eye(d), w)], np.zeros(d))
    elif penalty.name == "pnorm":
        # |w_j| <= r_j^(1/p) T^(1 - 1/p) and sum r = T, which is ||w||_p <= T
        total, share = programme.variables(1, cost=1.0), programme.variables(d)
        programme.into(clarabel.ZeroConeT(1), [(np.ones(d), share), (np.array([-1.0]), total)], [0.0])
        for j in range(d):
            first, second, third = np.eye(3)[:, :1], np.eye(3)[:, 1:2], np.eye(3)[:, 2:]
            terms = [(first, share[j : j + 1]), (second, total), (third, w[j : j + 1])]
            programme.into(clarabel.PowerConeT(1 / penalty.p), terms, np.zeros(3))


def _add_loss(programme, rows, columns, t, C, loss):
    n, signed = len(t), t[:, None] * rows
    pieces = {  # L is the largest of 0 (where that is among them) and slope f + constant, or its square
        "hinge": [(-signed, np.ones(n))],
        "squared_hinge": [(-signed, np.ones(n))],
        "perceptron": [(-signed, np.zeros(n))],
        "absolute": [(rows, -t), (-rows, t)],
        "epsilon_insensitive": [(rows, -t), (-rows, t)],
        "squared_epsilon_insensitive": [(rows, -t), (-rows, t)],
        "pinball": [(-rows, t), (rows, -t)],
        "squared": [(rows, -t), (-rows, t)],
    }
    if loss.name in pieces:
        square = loss.name.startswith("squared")
        value = programme.variables(n, cost=0.0 if square else C, square=2 * C if square else 0.0)
        tube = getattr(loss, "epsilon", 0.0)
        factors = (loss.quantile, 1 - loss.quantile) if loss.name == "pinball" else (1.0, 1.0)
        for factor, (slope, constant) in zip(factors, pieces[loss.name], strict=False):
            terms = [(np.eye(n), value), (-factor * slope, columns)]
            programme.at_least_zero(terms, tube - factor * constant)
        programme.at_least_zero([(np.eye(n), value)], np.zeros(n))
    elif loss.name == "huber":  # the residual is a part that is squared and a part that is not
        near, far = programme.variables(n, square=C), programme.variables(n)
        size = programme.variables(n, cost=loss.delta * C)
        terms = [(rows, columns), (-np.eye(n), near), (-np.eye(n), far)]
        programme.into(clarabel.ZeroConeT(n), terms, -t)
        for sign in (1.0, -1.0):
            programme.at_least_zero([(np.eye(n), size), (sign * np.eye(n), far)], np.zeros(n))
    elif loss.name == "exponential":
        value = programme.variables(n, cost=C)
        for i in range(n):
            _exponential(programme, [(-signed[i], columns)], value[i : i + 1])
    else:  # e^(-tf - v) + e^(-v) <= 1 is v >= log(1 + e^(-tf))
        value, one, two = programme.variables(n, cost=C / np.log(2)), programme.variables(n), programme.variables(n)
        programme.at_least_zero([(-np.eye(n), one), (-np.eye(n), two)], np.ones(n))
        for i in range(n):
            less = (np.array([-1.0]), value[i : i + 1])
            _exponential(programme, [(-signed[i], columns), less], one[i : i + 1])
            _exponential(programme, [less], two[i : i + 1])


def _exponential(programme, exponent, bound):
    """exp(exponent) <= bound."""
    terms = [(np.vstack([line, np.zeros((2, len(line)))]), columns) for line, columns in exponent]
    programme.into(clarabel.ExponentialConeT(), [*terms, (np.eye(3)[:, 2:], bound)], [0.0, 1.0, 0.0])
