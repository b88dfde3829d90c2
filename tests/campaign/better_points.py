"""Other points of a problem, as good as can be had: the better they are, the smaller a false bound they expose.

Whatever these functions return is only a candidate, whose objective is then evaluated for what it is. So nothing here
has to be right for the judge to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.campaign.arithmetic import LONG
from tests.campaign.true_primals import Candidate, Question, primal

#: Coefficients this close to a bound, relatively, are on it; pivots this small beside the largest are 0.
AT_BOUND, NO_PIVOT = 1e-9, 1e-15
#: Newton steps for machines of weights.
NEWTON_STEPS = 4
#: Newton steps for all classes, halvings of one that does not help, and weights from which on none are made.
SOFTMAX_STEPS, HALVINGS, MOST_WEIGHTS = 8, 12, 60


def better_points(question: Question, models: list[Candidate]) -> list[Candidate]:
    """Candidates made of the models: mixtures, the best intercepts, and the face that the best of them points at."""
    if "center" in question.options:
        return [Candidate(model.coef, tied=True) for model in models]
    values = [primal(LONG, question, model) for model in models]
    usable = [i for i, value in enumerate(values) if np.isfinite(value)]
    if not usable:
        return []
    best = models[min(usable, key=lambda i: values[i])]
    made = [_mixed(models[i], best) for i in usable if models[i] is not best][:2]
    with np.errstate(all="ignore"):
        try:
            if question.spec is not None and question.machine in FACES:
                made.append(polished(question, best))
            elif question.spec is None and "loss" in question.options:
                made.append(_polished_weights(question, best) or _newton(question, best))
            elif question.machine == "softmax" and np.size(best.coef) <= MOST_WEIGHTS:
                made.append(_softmax_newton(question, best))
        except (ValueError, FloatingPointError, ZeroDivisionError):
            pass
        made += [moved for point in (best, *made[-1:]) if (moved := _best_intercept(question, point)) is not None]
    return [point for point in made if np.isfinite(LONG.array(point.coef)).all() and np.isfinite(point.intercept).all()]


def _mixed(a: Candidate, b: Candidate) -> Candidate:
    half = LONG.number(0.5)
    coef = half * (LONG.array(a.coef) + LONG.array(b.coef))
    return Candidate(coef, half * (LONG.array(a.intercept) + LONG.array(b.intercept)), "mixture")


# -- the face of the dual ----------------------------------------------------------------------------------------

#: Machines with a face to solve on.
FACES = ("svc", "hard", "lssvc", "svr", "oneclass", "svdd", "nusvc", "nusvr")


def polished(question: Question, model: Candidate) -> Candidate:
    """The optimum if the rows that are free, at a bound and at 0 are what the model says: one linear system.

    [K_SS + ridge, G_S; G_S', 0] [beta_S; mu] = [target_S - K_SB beta_B; totals - G_B' beta_B].
    """
    beta, bound, target, G, totals, ridge = _face(question, model)
    K, n = question.K(LONG), len(beta)
    size = np.abs(beta)
    free = np.ones(n, dtype=bool) if question.machine == "lssvc" else (size > 0) & (size < bound * (1 - AT_BOUND))
    if question.machine not in ("hard", "lssvc"):
        free &= size > AT_BOUND * bound
    fixed = np.where(free, 0, np.where(size > bound / 2, np.sign(beta) * bound, 0))
    S, m = np.flatnonzero(free), G.shape[1]
    A = np.zeros((len(S) + m, len(S) + m), dtype=np.longdouble)
    A[: len(S), : len(S)] = K[np.ix_(S, S)] + np.diag(ridge[S])
    A[: len(S), len(S) :], A[len(S) :, : len(S)] = G[S], G[S].T
    right = np.concatenate([target[S] - K[S] @ fixed, totals - G.T @ fixed])
    solution = solve(A, right)
    fixed[S] = solution[: len(S)]
    intercept = solution[len(S)] if question.options.get("fit_intercept", True) else LONG.number(0.0)
    if question.machine == "svdd":  # f - k_ii / 2 = -intercept / 2
        return Candidate(fixed, 2 * intercept, "face")
    return Candidate(fixed, intercept, "face")


def _face(question: Question, model: Candidate) -> tuple[Any, ...]:
    """(beta, bound of |beta|, target of the scores, columns of multipliers, their totals, ridge)."""
    beta, cost = LONG.array(model.coef).copy(), LONG.array(question.cost)
    t, options, n = LONG.array(question.target), question.options, len(beta)
    ones, zero = np.ones((n, 1), dtype=np.longdouble), np.zeros(n, dtype=np.longdouble)
    G = ones if options.get("fit_intercept", True) else ones[:, :0]
    totals = np.zeros(G.shape[1], dtype=np.longdouble)
    bound, target, ridge = cost, t, zero
    if question.machine == "hard":
        bound = np.full(n, np.inf, dtype=np.longdouble)
    elif question.machine == "lssvc":
        ridge = 1 / cost
    elif question.machine == "svr":
        target = t - np.sign(beta) * LONG.number(options["epsilon"])
    elif question.machine == "oneclass":
        target, G, totals = zero, ones, np.array([LONG.number(options["nu"]) * cost.sum()])
    elif question.machine == "svdd":
        target, G, totals = question.diagonal(LONG) / 2, ones, np.array([LONG.number(1.0)])
    elif question.machine == "nusvc":
        budget = LONG.number(options["budget"])
        beta *= budget / np.abs(beta).sum()
        target, G, totals = zero, np.hstack([G, t[:, None]]), np.append(totals, budget)
    elif question.machine == "nusvr":
        budget, spent = LONG.number(options["nu"]) * cost.sum(), np.abs(beta).sum()
        if spent > budget * (1 - AT_BOUND):
            G, totals = np.hstack([G, np.sign(beta)[:, None]]), np.append(totals, budget)
    return beta, bound, target, G, totals, ridge


def solve(A: Any, right: Any) -> Any:
    """A x = right by elimination with complete pivoting in long doubles; what a singular matrix leaves open is 0."""
    A, x, n = np.column_stack([A, right]), np.zeros(len(right), dtype=np.longdouble), len(right)
    columns, largest, rank = np.arange(n), np.abs(A[:, :-1]).max(initial=0), n
    for k in range(n):
        i, j = divmod(int(np.argmax(np.abs(A[k:, k:n]))), n - k)
        if not np.abs(A[k + i, k + j]) > NO_PIVOT * largest:
            rank = k
            break
        A[[k, k + i]], columns[[k, k + j]] = A[[k + i, k]], columns[[k + j, k]]
        A[:, [k, k + j]] = A[:, [k + j, k]]
        A[k + 1 :, k:] -= (A[k + 1 :, k] / A[k, k])[:, None] * A[k, k:]
    for k in reversed(range(rank)):
        x[columns[k]] = (A[k, n] - A[k, k + 1 : n] @ x[columns[k + 1 :]]) / A[k, k]
    return x


# -- intercepts ---------------------------------------------------------------------------------------------------


def _best_intercept(question: Question, point: Candidate) -> Candidate | None:
    """The same weights with the best of the intercepts at which a row's term has a kink."""
    kinks = _kinks(question, point)
    if kinks is None or not len(kinks):
        return None
    values = [primal(LONG, question, Candidate(point.coef, b)) for b in kinks[:: 1 + len(kinks) // 24]]
    b = kinks[:: 1 + len(kinks) // 24][int(np.argmin(values))]
    return Candidate(point.coef, b, f"{point.name or 'model'}, other intercept")


def _kinks(question: Question, point: Candidate) -> Any:
    if not question.options.get("fit_intercept", True):
        return None
    t, coef = LONG.array(question.target), LONG.array(point.coef)
    f = LONG.array(question.X) @ coef.T if question.spec is None else question.scores(LONG, coef)
    name = question.options["loss"][0] if question.spec is None and "loss" in question.options else question.machine
    if name in ("svc", "hinge"):
        return t - f
    if name == "oneclass":
        return -f
    if name == "svdd":
        return question.diagonal(LONG) - 2 * f
    if name in ("svr", "epsilon_insensitive"):
        eps = LONG.number(question.options["epsilon"] if name == "svr" else question.options["loss"][1])
        return np.concatenate([t - f - eps, t - f + eps])
    if name in ("absolute", "pinball"):
        return t - f
    return None


# -- machines of weights ------------------------------------------------------------------------------------------


def _polished_weights(question: Question, model: Candidate) -> Candidate | None:
    """Of a margin or a tube with the 2-norm: the face of the kernel machine with the linear kernel."""
    name, *options = question.options["loss"]
    machine = {"hinge": "svc", "epsilon_insensitive": "svr"}.get(name)
    if machine is None or model.dual is None or question.options["penalty"][0] != "l2" or "scale" in question.options:
        return None
    asked = {"fit_intercept": question.options.get("fit_intercept", True), "epsilon": options[0] if options else 0.0}
    same = Question(machine, question.X, question.target, question.cost, ("linear",), options=asked)
    face = polished(same, Candidate(model.dual, model.intercept))
    return Candidate(LONG.array(question.X).T @ face.coef, face.intercept, "face")


def _newton(question: Question, model: Candidate) -> Candidate:
    """Newton steps on (w, b) by differences of the loss, over the weights that are not 0; kept while they help."""
    w, b = LONG.array(model.coef).copy(), LONG.number(model.intercept)
    X, t, C = LONG.array(question.X), LONG.array(question.target), LONG.array(question.cost)
    name = question.options["penalty"][0]
    quadratic = {"l2": 1.0, "elasticnet": 1 - (question.options["penalty"] + (0.0,))[1]}.get(name, 0.0)
    scale = LONG.array(question.options.get("scale", np.ones(len(w))))
    at = np.flatnonzero(w) if name in ("l1", "elasticnet") else np.arange(len(w))
    bias = question.options.get("fit_intercept", True)
    rows = np.hstack([X[:, at], np.ones((len(X), int(bias)), dtype=np.longdouble)])
    ridge = np.append(quadratic * scale[at] ** 2, np.zeros(int(bias)))
    slope = np.append(_absolute(question) * np.sign(w[at]) * scale[at], np.zeros(int(bias)))
    value = primal(LONG, question, Candidate(w, b))
    for _ in range(NEWTON_STEPS if question.options["loss"][0] in SMOOTH else 0):
        first, second = SMOOTH[question.options["loss"][0]](t, X @ w + b, *question.options["loss"][1:])
        here = np.append(w[at], b)[: rows.shape[1]]
        step = solve(
            rows.T @ ((C * second)[:, None] * rows) + np.diag(ridge), rows.T @ (C * first) + ridge * here + slope
        )
        trial = w.copy()
        trial[at] -= step[: len(at)]
        shifted = b - step[-1] if bias else b
        reached = primal(LONG, question, Candidate(trial, shifted))
        if not reached < value:
            break
        w, b, value = trial, shifted, reached
    return Candidate(w, b, "newton")


def _softmax_newton(question: Question, model: Candidate) -> Candidate:
    """Newton steps on all weights and intercepts of multinomial logistic regression; kept while they help."""
    W, b = LONG.array(model.coef).copy(), LONG.array(model.intercept).copy()
    k, d, bias = len(W), W.shape[1], question.options.get("fit_intercept", True)
    X, C = LONG.array(question.X), LONG.array(question.cost)
    rows = np.hstack([X, np.ones((len(X), int(bias)), dtype=np.longdouble)])
    ridge = np.append(LONG.array(question.options.get("scale", np.ones(d))) ** 2, np.zeros(int(bias)))
    own, value = np.eye(k)[question.target], primal(LONG, question, model)
    for _ in range(SOFTMAX_STEPS):
        here = np.hstack([W, b[:, None]])[:, : rows.shape[1]]
        e = np.exp((f := X @ W.T + b) - f.max(axis=1, keepdims=True))
        q = e / e.sum(axis=1, keepdims=True)
        bends = [[rows.T @ ((C * q[:, m] * ((m == o) - q[:, o]))[:, None] * rows) for o in range(k)] for m in range(k)]
        H = np.block(bends) + np.diag(np.tile(ridge, k))
        gradient = (((q - own) * C[:, None]).T @ rows + ridge * here).ravel()
        # unknowns in units in which the diagonal is 1: a pivot is small where it is lost, not where a column is
        unit = 1 / np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1))
        step = (unit * solve(unit[:, None] * H * unit, unit * gradient)).reshape(here.shape)
        for _ in range(HALVINGS):
            trial = here - step
            point = Candidate(trial[:, :d], trial[:, d] if bias else b)
            if (reached := primal(LONG, question, point)) < value:
                break
            step = step / 2
        else:
            break
        W, b, value = point.coef, point.intercept, reached
    return Candidate(W, b, "newton")


def _absolute(question: Question) -> Any:
    name, *options = question.options["penalty"]
    return {"l1": LONG.number(1.0), "elasticnet": LONG.number(options[0] if options else 0.0)}.get(
        name, LONG.number(0.0)
    )


def _logistic(t, f):
    p = 1 / (1 + np.exp(t * f))
    log2 = np.log(LONG.number(2.0))
    return -t * p / log2, p * (1 - p) / log2


def _squared_tube(t, f, eps):
    r = f - t
    away = np.sign(r) * np.maximum(np.abs(r) - LONG.number(eps), 0)
    return 2 * away, np.where(away != 0, LONG.number(2.0), 0)


SMOOTH: dict[str, Any] = {
    "squared_hinge": lambda t, f: (-2 * t * np.maximum(0, 1 - t * f), np.where(t * f < 1, LONG.number(2.0), 0)),
    "squared": lambda t, f: (2 * (f - t), np.full(len(f), LONG.number(2.0))),
    "logistic": _logistic,
    "exponential": lambda t, f: (-t * np.exp(-t * f), np.exp(-t * f)),
    "squared_epsilon_insensitive": _squared_tube,
    "huber": lambda t, f, d: (np.clip(f - t, -d, d), np.where(np.abs(f - t) <= d, LONG.number(1.0), 0)),
}
