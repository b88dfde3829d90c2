"""The certificate in a sentence, and what the training rows are to the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import inspection
from maxmargin.certificates import Certificate
from maxmargin.cli._print import counted
from maxmargin.report import Margins, Proof

#: Rows that decide most, as many as are listed; columns shown of each.
DECIDING, SHOWN_COLUMNS = 10, 4


def proof_of(certificates: list[Certificate]) -> Proof:
    """The worst certificate, in a sentence."""
    worst = max(certificates, key=lambda c: (not c.holds, c.relative_gap, c.kkt))
    return Proof(
        worst.primal,
        worst.dual,
        worst.gap,
        worst.relative_gap,
        worst.kkt,
        worst.holds,
        worst.method,
        sentence(worst, len(certificates)),
        len(certificates),
    )


def sentence(worst: Certificate, tasks: int) -> str:
    """What the certificate says."""
    if not worst.holds:
        return f"There is no proof of optimality: {worst.reason}."
    what = "The model is" if tasks == 1 else f"All {counted(tasks, 'two-class problem')} of the model are"
    which = "its objective" if tasks == 1 else "the objective of the worst"
    return (
        f"{what} proven optimal to a relative gap of {worst.relative_gap:.1e}: no other model of this kind could make "
        f"{which}, {worst.primal:.6g}, smaller by more than {worst.gap:.1e} (KKT violation {worst.kkt:.1e}; "
        f"{worst.method} in float64)."
    )


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
