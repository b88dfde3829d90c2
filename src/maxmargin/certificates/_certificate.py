"""What a proof of optimality says."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

#: What float64 keeps of a number near 1.
EPSILON = 2.0**-52


class Definiteness(NamedTuple):
    """Whether a kernel matrix is positive semi-definite; if it is not, or if that is unknown, the reason."""

    psd: bool
    reason: str = ""
    deficit: float = 0.0  # bound on the 2-norm of (matrix judged - matrix given)
    judged: str = ""  # what that matrix is, if it is another one


@dataclass(frozen=True)
class Certificate:
    """Proof of (near) optimality of one two-class, regression or one-class problem.

    Attributes
    ----------
    primal, dual : float
        An upper bound on the objective value of the model as delivered, with its own intercept, and a lower bound on
        the optimum, the rounding of their own evaluation included: the optimum lies between them.
    gap, relative_gap : float
        A bound on how far the model's objective is above the optimum, and the same over max(|primal|, |dual|). It is
        summed from the rows' shares and may be below ``primal - dual``, whose ends carry their own rounding.
    kkt : float
        Worst violation of the optimality conditions, in margin units: what ``tol`` bounds.
    feasible : bool
        The dual point satisfies its constraints.
    holds : bool
        The gap is a proof: feasible, finite, kernel known or checked to be positive semi-definite. It does not
        mean small.
    method : str
        'recomputed': every score was computed afresh from the data in float64, by code that shares nothing with the
        solver. 'bounded': a proof, given the arithmetic of the compiled tiles: one fresh pass gave every score with a
        proven error, and rows that could matter within it were recomputed. 'estimated': no proof, scores were only
        sampled, and ``holds`` is False.
    reason : str
        Why ``holds`` is False; empty otherwise.
    error_bound : float
        Bound on the error of the scores.
    rounding : float
        The part of ``gap`` that allows for rounding in the check itself.
    judged : str
        What was judged instead of what was given, if the two differ: the positive semi-definite part of a matrix of
        kernel values.
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
    rounding: float = 0.0
    judged: str = ""

    @property
    def is_rounding(self) -> bool:
        """Whether the gap is no more than what the check itself cannot resolve."""
        return 0 < self.gap <= 2 * self.rounding

    @property
    def resolution(self) -> float:
        """The smallest gap worth printing: the rounding of the check, and what float64 keeps of the objective."""
        size = max(abs(self.primal), abs(self.dual))
        return max(self.rounding, EPSILON * size if math.isfinite(size) else 0.0)

    def readable(self) -> Certificate:
        """The same with a gap that is no smaller than the numbers it is made of can say: to be printed."""
        size = max(abs(self.primal), abs(self.dual))
        if not self.gap < self.resolution:
            return self
        return replace(self, gap=self.resolution, relative_gap=self.resolution / size if size else self.relative_gap)

    def gap_text(self) -> str:
        """The relative gap in words."""
        what = f"{self.readable().relative_gap:.2e}"
        rounding = self.is_rounding or self.gap < self.resolution
        return f"at most {what}, the rounding of the check" if rounding else what

    def _repr_html_(self) -> str:
        """A small card: what is proven, and the gap on a scale of powers of ten."""
        shown = self.readable().relative_gap
        verdict = "Proven" if self.holds else "Not proven"
        place = min(1.0, max(0.0, 1.0 + math.log10(shown) / 16.0)) if 0 < shown < math.inf else float(shown > 0)
        colour = "#1a7f37" if self.holds else "#b35900"
        what = self.gap_text() if self.holds else html.escape(self.reason)
        rows = (("primal", f"{self.primal:.9g}"), ("dual", f"{self.dual:.9g}"), ("KKT violation", f"{self.kkt:.2e}"),
                ("method", self.method))  # fmt: skip
        table = "".join(f"<tr><th style='text-align:left'>{a}</th><td>{b}</td></tr>" for a, b in rows)
        ticks = "".join(
            f"<text x='{20 + 50 * k}' y='34' font-size='9' text-anchor='middle' fill='currentColor'>"
            f"{'1' if k == 4 else f'1e-{16 - 4 * k}'}</text>"
            for k in range(5)
        )
        scale = (
            "<svg width='240' height='38' role='img' aria-label='relative gap on a scale of powers of ten'>"
            "<line x1='20' y1='16' x2='220' y2='16' stroke='currentColor' stroke-opacity='.4'/>"
            f"<circle cx='{20 + 200 * place:.1f}' cy='16' r='6' fill='{colour}'/>{ticks}</svg>"
        )
        return (
            f"<div style='border:1px solid {colour};border-radius:6px;padding:.5em .8em;display:inline-block'>"
            f"<b style='color:{colour}'>{verdict}</b>: relative gap {what}<br>{scale}<table>{table}</table></div>"
        )

    def __str__(self) -> str:
        verdict = "holds" if self.holds else f"does not hold ({self.reason})"
        how = f"{self.method}, {self.judged}" if self.judged else self.method
        return (
            f"certificate {verdict}: primal {self.primal:.9g}, dual {self.dual:.9g}, "
            f"relative gap {self.gap_text()}, KKT violation {self.kkt:.2e} ({how})"
        )


def worst(certificates: Sequence[Certificate]) -> Certificate:
    """The certificate that promises least: one that does not hold, else the largest relative gap."""
    return max(certificates, key=lambda c: (not c.holds, c.relative_gap, c.kkt))
