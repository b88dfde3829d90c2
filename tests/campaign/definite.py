"""Kernels that are not quite positive semi-definite: what may hold, and what it then says.

A certificate may hold where the smallest eigenvalue of the matrix is negative by no more than rounding; it then speaks
of the matrix's positive part, and is judged there. Eigenvalues are found in long doubles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.campaign import accused
from tests.campaign.arithmetic import LONG
from tests.campaign.better_points import better_points
from tests.campaign.generate import configurations, targets
from tests.campaign.judge import judge
from tests.campaign.published import Problem, Statement, statements
from tests.campaign.true_primals import Question
from tests.campaign.truth import fault_entry

#: Multiples of n u lambda_max below 0 that a certificate may forgive, u = 2^-53: of a matrix 1, of a form x'Az 20, as
#: its class states; and what its own eigenvalues may be off by.
FORGIVEN, FORGIVEN_FORM = 4.0, 24.0
MACHINES = ("SVC", "SVC", "SVR", "NuSVC", "OneClassSVM", "SVDD", "LSSVC", "NuSVR", "SVC, all classes")
SWEEPS = 12


def eigen(K: Any) -> tuple[Any, Any]:
    """(eigenvalues, eigenvectors) of a symmetric matrix in long doubles, by Jacobi's rotations."""
    A, n = (K + K.T) / 2, len(K)
    _, start = np.linalg.eigh(A.astype(np.float64))
    Q = start.astype(np.longdouble)
    for _ in range(2):  # orthogonal to the last bit, so that the rotation changes no eigenvalue
        Q = Q @ (3 * np.eye(n, dtype=np.longdouble) - Q.T @ Q) / 2
    B = Q.T @ A @ Q
    B = (B + B.T) / 2
    for _ in range(SWEEPS):
        rest = np.abs(B - np.diag(np.diagonal(B))).max(initial=0)
        if rest <= np.abs(B).max(initial=0) * LONG.number(2.0) ** -66:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                _rotate(B, Q, p, q)
    return np.diagonal(B).copy(), Q


def _rotate(B: Any, Q: Any, p: int, q: int) -> None:
    """One rotation, in place, after which B[p, q] is 0."""
    if B[p, q] == 0:
        return
    theta = (B[q, q] - B[p, p]) / (2 * B[p, q])
    t = (1 if theta >= 0 else -1) / (abs(theta) + np.sqrt(theta * theta + 1))
    c = 1 / np.sqrt(t * t + 1)
    turn = np.array([[c, t * c], [-t * c, c]], dtype=np.longdouble)
    pair = [p, q]
    B[:, pair] = B[:, pair] @ turn
    B[pair, :] = turn.T @ B[pair, :]
    Q[:, pair] = Q[:, pair] @ turn


def positive_part(K: Any) -> tuple[Any, float, float]:
    """(K+, smallest eigenvalue, largest) of a symmetric matrix."""
    values, vectors = eigen(K)
    plus = (vectors * np.maximum(values, 0)) @ vectors.T
    return (plus + plus.T) / 2, float(values.min()), float(values.max())


# -- problems -----------------------------------------------------------------------------------------------------


def problem_of(seed: int) -> Problem:
    """Matrices, forms and functions that are almost kernels, or not at all."""
    rng = np.random.default_rng([7, seed])
    kind = str(rng.choice(["matrix", "matrix", "rounded", "form", "form", "sigmoid", "callable"]))
    machine, _, variant = str(rng.choice(MACHINES)).partition(", ")
    n, d = int(rng.integers(4, 13)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    y = targets(rng, X, machine, int(rng.integers(2, 4)) if variant else 2, extreme=False)
    spec: tuple[Any, ...] = ("precomputed",)
    if kind == "matrix":
        X = _matrix(rng, n, -(10.0 ** rng.uniform(-17, -8)))
    elif kind == "rounded":  # a product of rows far from 0, rounded
        far = X + 10.0 ** rng.uniform(0, 6)
        X = far @ far.T
        X = (X + X.T) / 2
    elif kind == "form":
        X = np.hstack([X, rng.standard_normal((n, 1))]) * 10.0 ** rng.uniform(-2, 8)
        spec = ("form", _matrix(rng, d + 1, -(10.0 ** rng.uniform(-18, -9)), plain=rng.random() < 0.5).tolist())
    elif kind == "sigmoid":
        spec = ("sigmoid", float(10.0 ** rng.uniform(-2, 1)), float(rng.choice([0.0, 1.0, -1.0])))
    else:
        spec = ("callable", str(rng.choice(["negative distance", "least"])))
        X = np.abs(X) if spec[1] == "least" else X
    params = _params(rng, machine, variant, y)
    ways = [way | {"layout": "dense"} for way in configurations(rng, machine, variant, params, X)]
    return Problem(machine, X, y, None, spec, params, f"{machine} {variant}: {kind}", ways)


def _matrix(rng: Any, n: int, least: float, plain: bool = False) -> Any:
    """A symmetric matrix with largest eigenvalue about 1 and smallest about ``least``."""
    Q = np.eye(n) if plain else np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = rng.random(n) * (rng.random(n) < 0.7)
    values[0], values[-1] = least, 1.0
    K = (Q * values) @ Q.T
    return np.asarray((K + K.T) / 2 * 2.0 ** int(rng.integers(-10, 10)))


def _params(rng: Any, machine: str, variant: str, y: Any) -> dict[str, Any]:
    C = float(10.0 ** rng.uniform(-3, 6))
    params: dict[str, Any] = {
        "SVC": {"C": C}, "LSSVC": {"C": C}, "SVR": {"C": C, "epsilon": 0.1}, "NuSVR": {"C": C, "nu": 0.5},
        "NuSVC": {"nu": 0.25}, "OneClassSVM": {"nu": 0.5}, "SVDD": {"C": 1.0},
    }[machine]  # fmt: skip
    if machine not in ("OneClassSVM", "SVDD"):
        params["fit_intercept"] = bool(rng.random() < 0.7)
    if variant:
        params["multiclass"] = str(rng.choice(["crammer-singer", "weston-watkins"]))
    return params


# -- judgement ----------------------------------------------------------------------------------------------------


def examine_definiteness(seed: int, only: str | None = None) -> dict[str, Any]:
    """Faults of certificates that hold although the kernel is none, or that are false of its positive part."""
    problem = problem_of(seed)
    result: dict[str, Any] = dict.fromkeys(("fits", "refused", "certificates", "holding"), 0)
    result["faults"] = []
    told = []
    for configuration in problem.configurations:
        fit = accused.fit(problem, configuration)
        result["fits"] += 1
        if fit.model is None:
            result["refused"] += 1
            continue
        told.append((configuration, statements(_as_published(problem, fit.model), fit.model)))
    for task in range(max((len(found) for _, found in told), default=0)):
        own = [(configuration, found[task]) for configuration, found in told]
        result["certificates"] += len(own)
        result["holding"] += sum(one.claim is not None for _, one in own)
        if any(one.claim is not None for _, one in own):
            result["faults"] += _faults(problem, own)
    return result


def _as_published(problem: Problem, model: Any) -> Problem:
    """The problem with the matrix of the form that the model's kernel publishes, which may be a repaired one."""
    A = getattr(model.kernel_, "A", None)
    if problem.spec is None or problem.spec[0] != "form" or A is None:
        return problem
    return replace(problem, spec=("form", np.asarray(A).tolist()))


def _faults(problem: Problem, told: list[tuple[dict[str, Any], Statement]]) -> list[dict[str, Any]]:
    question = told[0][1].question
    plus, least, largest = _positive_matrix(question)
    allowed = _forgiven(question) * 2.0**-53 * largest
    holding = [(configuration, one) for configuration, one in told if one.claim is not None]
    if least < -allowed:
        detail = f"holds with eigenvalues from {least:.3g} to {largest:.3g}"
        return [fault_entry(problem, way, one, ("definite", -least / largest, detail)) for way, one in holding]
    same = Question(question.machine, question.X, question.target, question.cost, ("precomputed",), plus,
                    question.options)  # fmt: skip
    models = [one.model for _, one in told]
    others, faults = models + better_points(same, models), []
    for way, one in holding:
        rest = [candidate for candidate in others if candidate is not one.model]
        found = judge(same, one.model, rest, one.claim, exact=None)  # type: ignore[arg-type]  # it holds
        faults += [fault_entry(problem, way, one, fault) for fault in found]
    return faults


def _forgiven(question: Question) -> float:
    """How far below 0 an eigenvalue may be, in units of u times the largest."""
    assert question.spec is not None
    form = question.spec[0] == "form"
    return FORGIVEN_FORM * len(question.spec[1]) if form else FORGIVEN * len(question.X)


def _positive_matrix(question: Question) -> tuple[Any, float, float]:
    """(the kernel matrix to judge with, smallest and largest eigenvalue): of x'Az those of A."""
    assert question.spec is not None
    if question.spec[0] == "form":
        A, least, largest = positive_part(LONG.array(np.array(question.spec[1])))
        X = LONG.array(question.X)
        return (X @ A) @ X.T, least, largest
    return positive_part(question.K(LONG))
