"""From a fitted model's public attributes to questions, candidates and claims; it imports nothing of the library.

Conventions are scikit-learn's: ``dual_coef_`` of pairs of classes in LIBSVM's layout, the second class of two positive,
the first class of a pair positive beyond two. The cost of a row is the float64 product C * class weight * row weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tests.campaign.judge import Claim
from tests.campaign.true_kernels import Spec
from tests.campaign.true_primals import ALL_CLASSES, Candidate, Question


@dataclass
class Problem:
    """A problem as the generator states it: rows and targets, the machine, its kernel and its parameters."""

    machine: str  # the estimator's name
    X: Any  # (n, d) dense, or the matrix of a precomputed kernel
    y: Any
    weight: Any  # None or (n,)
    spec: Spec | None  # None: a linear machine
    params: dict[str, Any]
    recipe: str = ""
    configurations: list[dict[str, Any]] = field(default_factory=list)


class Statement(NamedTuple):
    """One task of a fitted model: its question, the model as a point of it, and the certificate if it holds."""

    question: Question
    model: Candidate
    certificate: Any
    claim: Claim | None


def statements(problem: Problem, model: Any) -> list[Statement]:
    """All tasks of a fitted model, in the order of its certificates."""
    made = list(_linear(problem, model) if problem.spec is None else _kernel(problem, model))
    certificates = getattr(model, "certificates_", [None] * len(made))
    return [
        Statement(*one, certificate, claim_of(certificate)) for one, certificate in zip(made, certificates, strict=True)
    ]


def claim_of(certificate: Any) -> Claim | None:
    """What a certificate states, or None if it does not hold."""
    if certificate is None or not certificate.holds:
        return None
    c = certificate
    return Claim(float(c.primal), float(c.dual), float(c.gap), float(c.relative_gap), c.method)


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def _counted(problem: Problem) -> tuple[Any, Any]:
    weight = np.ones(len(problem.y)) if problem.weight is None else np.asarray(problem.weight, dtype=np.float64)
    return weight, np.flatnonzero(weight > 0)


def _question(problem: Problem, machine: str, rows: Any, target: Any, cost: Any, **options: Any) -> Question:
    options = {"fit_intercept": problem.params.get("fit_intercept", True), **options}
    given = problem.X[np.ix_(rows, rows)] if problem.spec == ("precomputed",) else None
    return Question(machine, problem.X[rows], target, cost, problem.spec, given, options)


# -- kernel machines ----------------------------------------------------------------------------------------------


def _kernel(problem: Problem, model: Any):
    weight, kept = _counted(problem)
    lines = np.atleast_2d(_dense(model.dual_coef_)).astype(np.float64)
    table = np.zeros((len(lines), len(weight)))
    table[:, model.support_] = lines
    if problem.machine in SINGLE:
        yield SINGLE[problem.machine](problem, model, kept, weight[kept], table[0, kept])
        return
    label = np.searchsorted(model.classes_, problem.y)
    cost = weight * np.asarray(model.class_weight_)[label]
    scheme, k = getattr(model, "multiclass_", "ovo"), len(model.classes_)
    if scheme in ALL_CLASSES:
        coef, b = table[:, kept].T, np.asarray(model.intercept_)
        if k == 2:
            coef, b = np.hstack([-coef, coef]) / 2, np.concatenate([-b, b]) / 2
        yield _question(problem, scheme, kept, label[kept], problem.params["C"] * cost[kept]), Candidate(coef, b)
        return
    for number, (rows, sign, coef) in enumerate(_tasks(scheme, k, model, label, kept, table)):
        yield (
            _two_classes(problem, model, number, rows, sign, weight[rows], cost[rows]),
            Candidate(coef, float(model.intercept_[number])),
        )


def _tasks(scheme: str, k: int, model: Any, label: Any, kept: Any, table: Any):
    """(rows, signs, coefficients) of every two-class task."""
    if k == 2:
        yield kept, np.where(label[kept] == 1, 1.0, -1.0), table[0, kept]
    elif scheme == "ovo":
        for a, b in combinations(range(k), 2):
            rows = kept[(label[kept] == a) | (label[kept] == b)]
            coef = np.where(label == a, table[b - 1], table[a])
            yield rows, np.where(label[rows] == a, 1.0, -1.0), coef[rows]
    else:
        words = 2.0 * np.eye(k) - 1.0 if scheme == "ovr" else np.asarray(model.code_words_)
        for bit, line in zip(words.T, table, strict=True):
            yield kept, bit[label[kept]], line[kept]


def _two_classes(problem: Problem, model: Any, number: int, rows: Any, sign: Any, weight: Any, cost: Any) -> Question:
    params = problem.params
    if problem.machine == "LSSVC":
        return _question(problem, "lssvc", rows, sign, params["C"] * cost)
    if problem.machine == "NuSVC":
        if hasattr(model, "C_"):  # with class weights nu has chosen a C
            return _question(problem, "svc", rows, sign, float(model.C_[number]) * cost)
        budget = params["nu"] * weight.sum()
        if params.get("fit_intercept", True):  # each class must hold half of it
            budget = min(budget, 2 * min(weight[sign > 0].sum(), weight[sign < 0].sum()))
        # the docstring says whether the objective is LIBSVM's, or the textbook's, which is that over (sum of v)^2
        over = 1.0 if "LIBSVM's scale" in (type(model).__doc__ or "") else weight.sum() ** 2
        return _question(problem, "nusvc", rows, sign, weight, budget=budget, over=over)
    if np.isinf(params["C"]):
        return _question(problem, "hard", rows, sign, np.ones(len(rows)))
    return _question(problem, "svc", rows, sign, params["C"] * cost)


def _regression(machine: str):
    def read(problem: Problem, model: Any, rows: Any, weight: Any, coef: Any) -> tuple[Question, Candidate]:
        params = problem.params
        options = {name: float(params[name]) for name in ("epsilon", "nu") if name in params}
        target = np.asarray(problem.y, dtype=np.float64)[rows]
        question = _question(problem, machine, rows, target, params["C"] * weight, **options)
        return question, Candidate(coef, float(model.intercept_[0]))

    return read


def _one_class(problem, model, rows, weight, coef):
    question = _question(problem, "oneclass", rows, np.zeros(len(rows)), weight, nu=float(problem.params["nu"]))
    return question, Candidate(coef, float(model.intercept_[0]))


def _svdd(problem, model, rows, weight, coef):
    question = _question(problem, "svdd", rows, np.zeros(len(rows)), float(model.C_) * weight)
    return question, Candidate(coef, float(model.intercept_[0]))


SINGLE = {"SVR": _regression("svr"), "NuSVR": _regression("nusvr"), "OneClassSVM": _one_class, "SVDD": _svdd}

# -- linear machines ----------------------------------------------------------------------------------------------


def _linear(problem: Problem, model: Any):
    weight, kept = _counted(problem)
    params, C = problem.params, float(model.C_)
    coef = np.atleast_2d(_dense(model.coef_)).astype(np.float64)
    b = np.broadcast_to(np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), (len(coef),))
    lines = np.atleast_2d(_dense(model.dual_coef_)).astype(np.float64)
    duals = np.zeros((len(lines), len(weight)))
    duals[:, model.support_] = lines
    options = {"scale": np.asarray(model.scale_)} if params.get("scale") else {}
    if options and not params.get("fit_intercept", True):
        options["center"] = np.asarray(model.center_)
    if problem.machine in ("LinearSVR", "LinearRegressor"):
        options |= {"loss": params["loss pair"], "penalty": params["penalty pair"]}
        target = np.asarray(problem.y, dtype=np.float64)[kept]
        yield (
            _question(problem, "linear", kept, target, C * weight[kept], **options),
            Candidate(coef[0], b[0], dual=duals[0, kept]),
        )
        return
    label = np.searchsorted(model.classes_, problem.y)
    cost, k, scheme = weight * np.asarray(model.class_weight_)[label], len(model.classes_), model.multiclass_
    if scheme in ALL_CLASSES:
        if k == 2:
            coef, b = np.vstack([-coef, coef]) / 2, np.concatenate([-b, b]) / 2
        yield _question(problem, scheme, kept, label[kept], C * cost[kept], **options), Candidate(coef, b)
        return
    for number, (rows, sign) in enumerate(_linear_tasks(scheme, k, model, label, kept)):
        if np.isinf(C):
            yield (
                _question(problem, "hard", rows, sign, np.ones(len(rows)), **options),
                Candidate(coef[number], b[number]),
            )
            continue
        own = options | {"loss": params["loss pair"], "penalty": params["penalty pair"]}
        yield (
            _question(problem, "linear", rows, sign, C * cost[rows], **own),
            Candidate(coef[number], b[number], dual=duals[number, rows]),
        )


def _linear_tasks(scheme: str, k: int, model: Any, label: Any, kept: Any):
    if k == 2:
        yield kept, np.where(label[kept] == 1, 1.0, -1.0)
    elif scheme == "ovo":
        for a, b in combinations(range(k), 2):
            rows = kept[(label[kept] == a) | (label[kept] == b)]
            yield rows, np.where(label[rows] == a, 1.0, -1.0)
    else:
        words = 2.0 * np.eye(k) - 1.0 if scheme == "ovr" else np.asarray(model.code_words_)
        for bit in words.T:
            yield kept, bit[label[kept]]
