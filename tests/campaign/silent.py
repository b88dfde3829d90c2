"""A missed goal always warns: what the certificate says, against the warning and ``fit_status_``."""

from __future__ import annotations

from typing import Any

from tests.campaign import accused
from tests.campaign.published import Problem
from tests.campaign.truth import plain, problem_of

#: The goals by default: of kernel machines the KKT violation, of linear ones the relative gap, of LSSVC the residual.
TOL, LINEAR_TOL, RESIDUAL_TOL = 1e-3, 1e-4, 1e-6


def examine_silence(seed: int, only: str | None = None) -> dict[str, Any]:
    """Fits whose certificate misses the goal without a word."""
    problem = problem_of(seed, only)
    result: dict[str, Any] = dict.fromkeys(("fits", "refused", "certificates", "holding", "missed", "needless"), 0)
    result["faults"] = []
    for configuration in problem.configurations:
        fit = accused.fit(problem, configuration)
        result["fits"] += 1
        if fit.model is None:
            result["refused"] += 1
            continue
        certificates = fit.model.certificates_
        result["certificates"] += len(certificates)
        result["holding"] += sum(certificate.holds for certificate in certificates)
        reached, goal = goal_of(problem, configuration, fit.model)
        missed = not reached <= goal
        status = getattr(fit.model, "fit_status_", int(fit.warned))
        result["missed"] += missed
        result["needless"] += not missed and (fit.warned or status != 0)
        if missed and not (fit.warned and status == 1):
            result["faults"].append(
                {
                    "rule": "silent", "excess": float(reached / goal), "machine": problem.machine, "n": len(problem.y),
                    "kernel": problem.spec, "recipe": problem.recipe, "configuration": configuration,
                    "params": plain(problem.params), "method": certificates[0].method,
                    "detail": f"reached {reached:.3g}, asked for {goal:g}; warned: {fit.warned}, status {status}; "
                    f"{max(certificates, key=lambda c: c.relative_gap)}",
                }
            )  # fmt: skip
    return result


def goal_of(problem: Problem, configuration: dict[str, Any], model: Any) -> tuple[float, float]:
    """(what the published certificates say was reached, the goal): the worst of the tasks."""
    if problem.machine == "LSSVC":
        return float(model.residual_), configuration.get("tol", RESIDUAL_TOL)
    certificates = model.certificates_
    if problem.spec is None:
        return max(c.relative_gap for c in certificates), configuration.get("tol", LINEAR_TOL)
    if "gap_tol" in configuration:
        return max(c.relative_gap for c in certificates), configuration["gap_tol"]
    return max(c.kkt for c in certificates), configuration.get("tol", TOL)
