"""What a proof of optimality says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Definiteness(NamedTuple):
    """Whether a kernel matrix is positive semi-definite, and if that is not known or not so, why."""

    psd: bool
    reason: str = ""


@dataclass(frozen=True)
class Certificate:
    """Proof of (near) optimality of one two-class, regression or one-class problem.

    Attributes
    ----------
    primal, dual : float
        Objective values of the model as delivered, with its own intercept. The optimum lies between them.
    gap, relative_gap : float
        Their difference, and the same over max(|primal|, |dual|).
    kkt : float
        Worst violation of the optimality conditions, in margin units: what ``tol`` bounds.
    feasible : bool
        The dual point satisfies its constraints.
    holds : bool
        The gap is a proof: feasible, finite, kernel known or checked to be positive semi-definite. It does not
        mean small.
    method : str
        'recomputed': every score was computed afresh from the data. 'bounded': the solver's scores were used,
        a random sample recomputed, all others taken to be off by three times the largest error seen there, and
        the rows recomputed that decide over the gap within that error (a sample of very many).
    reason : str
        Why ``holds`` is False; empty otherwise.
    error_bound : float
        Bound on the error of the scores that were not recomputed.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt: float
    feasible: bool
    holds: bool
    method: str = "recomputed"
    reason: str = ""
    error_bound: float = 0.0

    def __str__(self) -> str:
        verdict = "holds" if self.holds else f"does not hold ({self.reason})"
        return (
            f"certificate {verdict}: primal {self.primal:.9g}, dual {self.dual:.9g}, "
            f"relative gap {self.relative_gap:.2e}, KKT violation {self.kkt:.2e} ({self.method})"
        )


def worst(certificates: Sequence[Certificate]) -> Certificate:
    """The certificate that promises least: one that does not hold, else the largest relative gap."""
    return max(certificates, key=lambda c: (not c.holds, c.relative_gap, c.kkt))
