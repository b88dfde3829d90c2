"""The certificate in a sentence, and what the training rows are to the model."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np

from maxmargin import inspection
from maxmargin.certificates import Certificate
from maxmargin.cli._print import counted
from maxmargin.report import METHODS, Margins, Proof

#: Rows that decide most, as many as are listed; columns shown of each.
DECIDING, SHOWN_COLUMNS = 10, 4
#: Rows, and support vectors, by whose kernel values the price of a proof is reckoned.
PRICED_ROWS = 500
#: Relative gap up to which a model that sets itself no goal counts as optimal.
USUAL_GAP = 1e-3


class Goal(NamedTuple):
    """What a fit was to reach: a violation of the optimality conditions, or a relative gap."""

    kkt: float
    gap: float

    def met_by(self, certificate: Certificate) -> bool:
        return certificate.holds and certificate.kkt <= self.kkt and certificate.relative_gap <= self.gap


def goal_of(machine: Any) -> Goal:
    """The goal that a machine's parameters set; other programs' machines have none that a gap could be held against."""
    ours = type(machine).__module__.startswith("maxmargin.")
    if ours and getattr(machine, "gap_tol", None) is not None:
        return Goal(math.inf, machine.gap_tol)
    if ours and hasattr(machine, "gap_tol"):
        return Goal(machine.tol, math.inf)
    return Goal(math.inf, machine.tol if ours and getattr(machine, "tol", None) else USUAL_GAP)


def proof_of(certificates: list[Certificate], goal: Goal, price: str = "") -> Proof:
    """The worst certificate, in a sentence."""
    worst = max(certificates, key=lambda c: (not goal.met_by(c), not c.holds, c.relative_gap, c.kkt))
    met, worst = goal.met_by(worst), worst.readable()
    return Proof(
        worst.primal,
        worst.dual,
        worst.gap,
        worst.relative_gap,
        worst.kkt,
        worst.holds,
        worst.method,
        sentence(worst, len(certificates), met),
        len(certificates),
        price if worst.method != "recomputed" else "",
        met,
    )


def sentence(worst: Certificate, tasks: int, met: bool) -> str:
    """What the certificate says; 'proven optimal' only of what reached its goal."""
    if not worst.holds:
        return f"There is no proof of optimality: {worst.reason}."
    which = "its objective" if tasks == 1 else "the objective of the worst"
    could = f"no other model of this kind could make {which}, {worst.primal:.6g}, smaller by more than {worst.gap:.1e}"
    how = f"(KKT violation {worst.kkt:.1e}). This is {METHODS[worst.method]}"
    what = "The model is" if tasks == 1 else f"All {counted(tasks, 'two-class problem')} of the model are"
    if met:
        return f"{what} proven optimal to a relative gap of {worst.relative_gap:.1e}: {could} {how}."
    what = "The model is" if tasks == 1 else f"The worst of the model's {counted(tasks, 'two-class problem')} is"
    far = worst.relative_gap
    where = f"within {percent(far)} of the optimum" if far < 1 else "how far from the optimum, nobody knows yet"
    return f"{what} not there yet: {where}. What is proven is that {could} {how}. Training longer would make it better."


def price_of(machine: Any, X: Any) -> str:
    """What a proof by independent code would cost: kernel values, and seconds by a few rows of them."""
    kernel, vectors = getattr(machine, "kernel_", None), np.asarray(getattr(machine, "support_", ()))
    if kernel is None or not len(vectors):
        return ""
    few = X[: min(X.shape[0], PRICED_ROWS)]
    began = time.perf_counter()
    kernel(few, X[vectors[:PRICED_ROWS]])
    values = X.shape[0] * len(vectors)
    rate = (time.perf_counter() - began) / (few.shape[0] * min(len(vectors), PRICED_ROWS))
    return f"--certify full makes it independent: {values:,} kernel values, some {values * rate:.1g} s here."


def percent(part: float) -> str:
    """A share of the objective, rounded up: what is promised is not exceeded."""
    digits = max(0, 1 - math.floor(math.log10(100 * part)))
    return f"{math.ceil(100 * part * 10**digits) / 10**digits:.{digits}f} %"


def support_of(
    machine: Any, X: Any, y: np.ndarray, rows: np.ndarray, values: np.ndarray | None, names: list[str]
) -> Margins:
    """Margins and zones of the training rows and the heaviest of them; ``rows`` are their numbers in the file."""
    classifies = hasattr(machine, "classes_")
    margin, zones = class_margins(machine, X, y) if classifies else tube(machine, X, y)
    vectors = np.asarray(machine.support_)
    dual = machine.dual_coef_.toarray() if hasattr(machine.dual_coef_, "toarray") else np.asarray(machine.dual_coef_)
    weight = np.abs(dual).reshape(-1, len(vectors)).sum(axis=0)
    heaviest = np.argsort(-weight, kind="stable")[:DECIDING]
    deciding = []
    for place in heaviest:
        row = int(vectors[place])
        line: dict[str, Any] = {
            "row": int(rows[row]),
            "label": y[row].item() if isinstance(y[row], np.generic) else y[row],
            "coefficient": float(weight[place]),
            "margin": float(margin[row]),
        }
        if values is not None:
            line.update({name: plain(values[row, k]) for k, name in enumerate(names[:SHOWN_COLUMNS])})
        deciding.append(line)
    return Margins(margin, zones, len(vectors), len(y), deciding)


def plain(value: Any) -> Any:
    """A cell as Python knows it."""
    return value.item() if isinstance(value, np.generic) else value


def class_margins(machine: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """The smallest margin of every row over its tasks, and the zones that these lie in."""
    margin = np.asarray(inspection.margins(machine, X, y, norm=np.ones(len(machine.intercept_))).functional)
    zones = np.asarray(inspection.zones(machine, X, y))
    near = np.asarray(inspection.tolerance(machine, X))
    if margin.ndim == 2:
        worst = np.nanargmin(margin, axis=1)
        rows = np.arange(len(margin))
        margin, zones, near = margin[rows, worst], zones[rows, worst], near[rows, worst]
    edge = np.clip(np.round(margin), -1.0, 1.0)
    margin = np.where(np.abs(margin - edge) <= near, edge, margin)  # on a margin but for rounding is on it
    return margin, {zone: int(np.count_nonzero(zones == zone)) for zone in inspection.ZONES}


def tube(machine: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, dict[str, int]]:
    """|y - f| - epsilon of every row of a regression, and how many are inside, on and outside the tube."""
    beyond = np.abs(y - machine.predict(X)) - machine.epsilon
    on = np.abs(beyond) <= inspection.tolerance(machine, X)
    inside, beyond = (beyond < 0) & ~on, np.where(on, 0.0, beyond)
    counts = {"inside the tube": inside, "on its edge": on, "outside": ~inside & ~on}
    return beyond, {name: int(np.count_nonzero(mask)) for name, mask in counts.items()}
