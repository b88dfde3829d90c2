"""``maxmargin certify``: the proof, recomputed from the data by code that shares nothing with the solvers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxmargin.certificates import certify_tasks
from maxmargin.cli._models import load_model
from maxmargin.cli._print import Screen
from maxmargin.cli._proof import proof_of
from maxmargin.cli._training_data import training_data


def certify(
    path: Path, data: str, C: float | None, target: str | None, changed: bool, unsafe: bool, screen: Screen, **how: Any
) -> int:
    """Print the certificate of a model; the exit code is 1 where there is no proof."""
    model = load_model(path, unsafe, data)
    found = training_data(model, data, target, changed, **how)
    proof = proof_of(certify_tasks(model.machine, found.X, found.y, C=C))
    checked = "the file is the one that the model was trained on" if found.checked else "the file's checksum is unknown"
    screen.title(f"{path.name}, {len(found.y):,} training rows of {data}")
    screen.pairs(
        [
            ("data", f"SHA-256: {checked}" if model.record else "all rows of the file; the model remembers none"),
            ("tasks", str(proof.tasks)),
            ("primal", f"{proof.primal:.9g}"),
            ("dual", f"{proof.dual:.9g}"),
            ("gap", f"{proof.gap:.3g} ({proof.relative_gap:.3g} relative)"),
            ("KKT violation", f"{proof.kkt:.3g}"),
            ("verdict", proof.sentence),
        ]
    )
    if screen.machine:
        screen.document(
            {"model": str(path), "data": data, "checked": found.checked, "rows": len(found.y), "proof": proof}
        )
    return 0 if proof.holds else 1
