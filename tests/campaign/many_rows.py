"""Certificates of many rows, some of which are far larger than the rest: the ones a sample would miss.

True objectives are computed in long doubles, block by block, over the support vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.campaign import accused
from tests.campaign.arithmetic import LONG
from tests.campaign.judge import judge
from tests.campaign.published import Problem, statements
from tests.campaign.true_primals import Candidate, Question
from tests.campaign.truth import fault_entry

FEWEST, MOST = 3_000, 30_000
#: Rows up to which a second configuration is solved, for another point to compare with.
SECOND = 6_000


def problem_of(seed: int, fewest: int = FEWEST, most: int = MOST) -> Problem:
    """Two classes, a curve or a cloud, with planted rows 1e2 to 1e4 times the size of the others."""
    rng = np.random.default_rng([11, seed])
    n, d = int(fewest * (most / fewest) ** (rng.random() ** 2)), int(rng.integers(2, 5))
    X = rng.standard_normal((n, d))
    score = X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    planted, factor = rng.choice(n, int(rng.integers(1, 40)), replace=False), 10.0 ** rng.uniform(2, 4)
    X[planted] *= factor
    if rng.random() < 0.3:
        X = X.astype(np.float32)
    machine = str(rng.choice(["SVC", "SVC", "SVR", "OneClassSVM"]))
    gamma = float(10.0 ** rng.uniform(-2, 0))
    spec = [("rbf", gamma), ("rbf", gamma), ("linear",), ("poly", 2, 1.0, gamma), ("laplacian", gamma)][
        int(rng.integers(0, 5))
    ]
    C = float(10.0 ** rng.uniform(-2, 2 if spec[0] in ("rbf", "laplacian") else 0))
    if machine == "SVC":
        y, params = (score + 0.3 * rng.standard_normal(n) > 0).astype(int), {"C": C}
    elif machine == "SVR":
        y, params = np.sin(score) + 0.05 * rng.standard_normal(n), {"C": C, "epsilon": 0.25}
    else:
        y, params = np.zeros(n), {"nu": 0.0625}
    ways = [{"max_iter": 200_000}, {"gap_tol": 1e-5, "max_iter": 400_000}][: 2 if n <= SECOND else 1]
    recipe = f"{machine}: {len(planted)} rows x {factor:.3g}"
    return Problem(machine, X, y, None, spec, params, recipe, ways)


def examine_many_rows(seed: int, only: str | None = None, fewest: int = FEWEST, most: int = MOST) -> dict[str, Any]:
    """Faults of the certificates of a problem of many rows."""
    problem = problem_of(seed, fewest, most)
    result: dict[str, Any] = dict.fromkeys(("fits", "refused", "certificates", "holding", "bounded"), 0)
    result["faults"] = []
    told = []
    for configuration in problem.configurations:
        fit = accused.fit(problem, configuration)
        result["fits"] += 1
        if fit.model is None:
            result["refused"] += 1
            continue
        (one,) = statements(problem, fit.model)
        told.append((configuration, one))
        result["certificates"] += 1
        result["holding"] += one.claim is not None
        result["bounded"] += one.certificate.method == "bounded"
    if any(one.claim is not None for _, one in told):
        models = [one.model for _, one in told]
        best = _shifted(told[0][1].question, models[-1])
        for way, one in told:
            if one.claim is not None:
                rest = [candidate for candidate in (*models, best) if candidate is not one.model]
                for fault in judge(told[0][1].question, one.model, rest, one.claim, exact=None):
                    result["faults"].append(fault_entry(problem, way, one, fault))
    return result


def _shifted(question: Question, model: Candidate) -> Candidate:
    """The model with the middle of the scores that should be at a margin as its intercept."""
    beta, cost = LONG.array(model.coef), LONG.array(question.cost)
    free = np.flatnonzero((np.abs(beta) > 1e-6 * cost) & (np.abs(beta) < (1 - 1e-6) * cost))[:200]
    if not len(free) or question.machine not in ("svc", "svr"):
        return Candidate(model.coef * (1 - 2.0**-20), model.intercept, "shrunk")
    part = Question(question.machine, question.X, question.target, question.cost, question.spec)
    f = part.scores(LONG, beta, rows=free)
    aim = LONG.array(question.target)[free]
    if question.machine == "svr":
        aim = aim - np.sign(beta[free]) * LONG.number(question.options["epsilon"])
    return Candidate(model.coef, np.median(aim - f), "other intercept")
