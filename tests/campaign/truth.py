"""Examine one problem: fit it in every configuration, and judge every certificate that holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.campaign import accused
from tests.campaign.arithmetic import DIGITS, FRACTIONS, Field
from tests.campaign.better_points import better_points
from tests.campaign.generate import STREAMS
from tests.campaign.generate import problem as generated
from tests.campaign.judge import judge
from tests.campaign.published import Problem, Statement, statements
from tests.campaign.true_kernels import is_rational

#: One problem in this many also hears scikit-learn.
PEER_EVERY = 6


def problem_of(seed: int, only: str | None = None) -> Problem:
    """Even seeds are moderate, odd ones extreme."""
    return generated(STREAMS[seed % 2], seed, only)


def examine(seed: int, only: str | None = None) -> dict[str, Any]:
    """Figures and faults of the problem of a seed."""
    return examined(problem_of(seed, only), seed % PEER_EVERY == 0)


def examine_exactly(seed: int, only: str | None = None) -> dict[str, Any]:
    """The same with at most 20 rows, and every number compared in fractions or in 60 digits."""
    problem = problem_of(seed, only)
    if len(problem.y) > 20:
        problem = first_rows(problem, 20)
    exact = problem.spec is None or is_rational(problem.spec)
    irrational = problem.params.get("loss pair", ("",))[0] in ("logistic", "exponential")
    irrational |= problem.params.get("penalty pair", ("",))[0] == "pnorm"
    return examined(problem, False, FRACTIONS if exact and not irrational else DIGITS, always=True)


def first_rows(problem: Problem, n: int) -> Problem:
    """The problem on n of its rows: the first of every class, which has weight, and then the first of all."""
    y = np.asarray(problem.y)
    first = np.unique(y, return_index=True)[1] if y.dtype.kind == "i" else np.arange(2)
    chosen = np.sort(np.concatenate([first, np.setdiff1d(np.arange(len(y)), first)[: n - len(first)]]))
    X = problem.X[np.ix_(chosen, chosen)] if problem.spec == ("precomputed",) else problem.X[chosen]
    weight = None if problem.weight is None else problem.weight[chosen]
    params = dict(problem.params)
    if problem.machine == "SVDD":  # so that C times the sum of the weights still reaches 1
        params["C"] = 1.0
    return replace(problem, X=X, y=y[chosen], weight=weight, params=params)


def examined(
    problem: Problem, ask_peer: bool = False, exact: Field | None = DIGITS, always: bool = False
) -> dict[str, Any]:
    """Fit, and judge what every fit publishes against the points of all of them."""
    result: dict[str, Any] = {"fits": 0, "refused": 0, "certificates": 0, "holding": 0, "faults": [], "refusals": []}
    told: list[tuple[dict[str, Any], list[Statement]]] = []
    for configuration in problem.configurations:
        fit = accused.fit(problem, configuration)
        result["fits"] += 1
        if fit.model is None:
            result["refused"] += 1
            result["refusals"].append(fit.refusal)
            continue
        told.append((configuration, statements(problem, fit.model)))
    extra = []
    if ask_peer and told and (model := accused.peer(problem)) is not None:
        extra = statements(problem, model)
    for task in range(max((len(found) for _, found in told), default=0)):
        own = [(configuration, found[task]) for configuration, found in told]
        _judge_task(problem, own, [one.model for one in extra[task : task + 1]], exact, always, result)
    return result


def _judge_task(
    problem: Problem,
    told: Sequence[tuple[dict[str, Any], Statement]],
    peers: list[Any],
    exact: Field | None,
    always: bool,
    result: dict[str, Any],
) -> None:
    result["certificates"] += len(told)
    holding = [(configuration, one) for configuration, one in told if one.claim is not None]
    result["holding"] += len(holding)
    if not holding:
        return
    question, models = told[0][1].question, [one.model for _, one in told] + peers
    others = ([] if "center" in question.options else models) + better_points(question, models)
    for configuration, one in holding:
        same = [candidate for candidate in others if candidate is not one.model]
        own = one.question if _differs(one.question, question) else question
        for fault in judge(own, one.model, same, one.claim, exact, always):  # type: ignore[arg-type]  # it holds
            result["faults"].append(fault_entry(problem, configuration, one, fault))


def fault_entry(problem: Problem, configuration: dict[str, Any], one: Statement, fault: Any) -> dict[str, Any]:
    """A fault and all that is needed to see it again, but for the seed."""
    rule, excess, detail = fault
    return {
        "rule": rule, "excess": excess, "machine": one.question.machine, "kernel": problem.spec, "n": len(problem.y),
        "recipe": problem.recipe, "configuration": configuration, "params": plain(problem.params),
        "method": one.certificate.method, "detail": detail,
    }  # fmt: skip


def _differs(a: Any, b: Any) -> bool:
    """Whether two fits published different problems: class-weighted nu-SVC picks its own C, scaling its own scale."""
    return not np.array_equal(a.cost, b.cost) or not np.array_equal(
        a.options.get("scale", 0), b.options.get("scale", 0)
    )


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON can write them."""
    return {name: value if not isinstance(value, dict) else str(value) for name, value in params.items()}
