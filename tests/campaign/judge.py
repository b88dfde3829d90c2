"""The judge of the campaign: are a certificate's numbers true?

It shares nothing with the library. A published number is compared with true values, without any tolerance: what the
long doubles find suspicious is computed again in 60 digits (or fractions), and only that decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.campaign.arithmetic import DIGITS, LONG, Field
from tests.campaign.true_primals import Candidate, Question, primal

#: How far a relative gap may lie from gap / max(|primal|, |dual|): below by rounding, above by its own rounding bound.
BELOW, ABOVE, ROUNDING = 2.0**-50, 1e-9, 1e-13


class Claim(NamedTuple):
    """What a certificate that holds says."""

    primal: float
    dual: float
    gap: float
    relative_gap: float
    method: str = "recomputed"


class Fault(NamedTuple):
    """A number that is false: which rule it breaks, and by how much relative to the objective."""

    rule: str
    excess: float
    detail: str


def judge(
    question: Question,
    model: Candidate,
    others: Sequence[Candidate],
    claim: Claim,
    exact: Field | None = DIGITS,
    always: bool = False,
) -> list[Fault]:
    """Faults of a claim about ``model``; ``others`` are any other points of the same problem.

    Without an ``exact`` arithmetic the long doubles decide, and their own rounding (see :func:`noise`) is forgiven.
    With ``always`` the exact one is asked even where they suspect nothing.
    """
    faults = definition(claim)
    if faults and faults[0].excess == np.inf:
        return faults
    values = [primal(LONG, question, candidate) for candidate in (model, *others)]
    forgiven = 0 if exact is not None else max(noise(question, candidate) for candidate in (model, *others))
    # a model whose intercept should follow from its weights is no point of the problem but for rounding
    first = int("center" in question.options)
    suspects = _compared(LONG, claim, values, forgiven, first)
    if exact is None or not (suspects or always):
        return faults + suspects
    # exactly: the model itself, and those of the others that could matter
    order = np.argsort([float(value) for value in values[1:]], kind="stable")[:2]
    chosen = [model, *(others[i] for i in order)]
    values = [primal(exact, question, candidate) for candidate in chosen]
    with exact.within():
        forgiven = exact.rounding * max((abs(value) for value in values if _is_finite(value)), default=0)
    return faults + _compared(exact, claim, values, forgiven, first)


def _compared(F: Field, claim: Claim, values: list[Any], forgiven: Any, first: int) -> list[Fault]:
    """The three rules: dual <= every primal, primal >= the model's, gap >= the model's minus any other.

    ``forgiven`` is what the arithmetic itself may be off by, ``first`` the first of the values that is a point.
    """
    stated = {name: F.number(np.float64(getattr(claim, name))) for name in ("primal", "dual", "gap")}
    size = max(abs(claim.primal), abs(claim.dual))
    with F.within():
        finite = [value for value in values[first:] if _is_finite(value)]
        if not _is_finite(values[0]):
            return [Fault("primal", np.inf, "the model is not feasible, so that its primal is infinite")]
        own, least = values[0], min(finite, default=values[0])
        excesses = {
            "dual": stated["dual"] - least - forgiven,
            "primal": own - stated["primal"] - forgiven,
            "gap": own - least - stated["gap"] - 2 * forgiven,
        }
        return [
            Fault(rule, float(excess) / size if size > 0 else np.inf, _detail(rule, claim, own, least))
            for rule, excess in excesses.items()
            if excess > 0
        ]


def _is_finite(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isfinite(value))
    return value.is_finite() if hasattr(value, "is_finite") else True


def _detail(rule: str, claim: Claim, own: Any, least: Any) -> str:
    return (
        f"{rule}: stated primal {claim.primal:.17g}, dual {claim.dual:.17g}, gap {claim.gap:.3g}; "
        f"true primal {float(own):.17g}, least known {float(least):.17g}"
    )


def definition(claim: Claim) -> list[Fault]:
    """Whether the numbers fit together: finite, gap >= 0, and relative_gap = gap / max(|primal|, |dual|)."""
    if not np.isfinite([claim.primal, claim.dual, claim.gap]).all():
        return [Fault("definition", np.inf, f"holds, but is not finite: {claim}")]
    faults = []
    if not claim.gap >= 0:
        faults.append(Fault("definition", 1.0, f"gap {claim.gap!r} is not at least 0"))
    size = max(abs(claim.primal), abs(claim.dual))
    if claim.gap > 0 and size > 0 and np.isfinite(claim.gap / size):
        relative = claim.gap / size
        if not relative * (1 - BELOW) <= claim.relative_gap <= relative * (1 + ABOVE) + ROUNDING:
            faults.append(
                Fault("definition", 1.0, f"relative gap {claim.relative_gap!r}, but gap / size is {relative!r}")
            )
    return faults


def noise(question: Question, candidate: Candidate) -> Any:
    """A bound on the rounding of a primal value in long doubles, for kernel machines.

    Scores are sums of n products whose factors are right to some units in the last place; all are taken at their size.
    """
    beta, b = np.abs(LONG.array(candidate.coef)), np.abs(LONG.array(candidate.intercept))
    size = question.scores(LONG, beta, absolute=True)
    quadratic, size = (beta * size).sum(), (size + b).reshape(len(size), -1).sum(axis=1)
    costs, target = LONG.array(question.cost), np.abs(LONG.array(question.target))
    rows = costs @ (1 + target + size + (1 + size) ** 2 * (question.machine == "lssvc"))
    return (len(question.X) + 64) * np.finfo(np.longdouble).eps * (quadratic + rows)
