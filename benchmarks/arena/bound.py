"""Lower bounds of linear problems: the dual values of a certified solution, found once per case, kept beside its data.

``python -m benchmarks.arena.bound CASE.npz TASK PARAMS SECONDS`` writes them; that is a process of its own, so that
neither the time nor the memory of a competitor has anything to do with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arena.case import read
from benchmarks.arena.contender import GRACE, ROOT
from benchmarks.arena.linear import LOSS

TOL = 1e-9  # relative gap of the certified solution
LEAST_SECONDS = 600.0  # it may take this long, however early competitors are cut off


def file_of(path: Path | str) -> Path:
    """Where the bound of the case in `path` is kept."""
    return Path(path).with_suffix(".bound.json")


def find(
    X: Any, y: np.ndarray, task: str, params: dict[str, Any], seconds: float = LEAST_SECONDS, tol: float = TOL
) -> dict[str, Any]:
    """Solve in float64; the dual value of every task and the worst gap, or the `reason` why nothing is proven."""
    from maxmargin import LinearSVC

    model = LinearSVC(loss=LOSS[task], **params, tol=tol, max_iter=-1, time_limit=seconds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the time was short the bound is not as sharp, and says so
        model.fit(X.astype(np.float64), y)
    proofs = model.certificates_
    if not all(proof.holds for proof in proofs):
        return {"reason": "; ".join(dict.fromkeys(proof.reason for proof in proofs if not proof.holds))}
    return {"dual": [float(proof.dual) for proof in proofs], "gap": float(max(proof.relative_gap for proof in proofs))}


def prepare(path: Path, task: str, params: dict[str, Any], limit: float) -> str:
    """Have the bound of a case written in a process of its own; what a reader should know of it, or ""."""
    seconds = max(limit, LEAST_SECONDS)
    command = [sys.executable, "-m", "benchmarks.arena.bound", str(path), task, json.dumps(params), str(seconds)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=2 * seconds + GRACE)
        if done.returncode:
            write(path, {"reason": (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]})
    except subprocess.TimeoutExpired:
        write(path, {"reason": f"cut off at {2 * seconds + GRACE:g} s"})
    found: dict[str, Any] = json.loads(file_of(path).read_text())
    if "reason" in found:
        return f"no lower bound: {found['reason']}"
    return "" if found["gap"] <= 10 * TOL else f"all gaps are too large by up to {found['gap']:.0e}, that of the bound"


def write(path: Path | str, bound: dict[str, Any]) -> None:
    """Keep a bound beside the case's data."""
    file_of(path).write_text(json.dumps(bound))


def load(path: Path | str) -> list[float]:
    """The lower bound of every task, kept beside the case's data; an error where there is none."""
    found: dict[str, Any] = json.loads(file_of(path).read_text())
    if "reason" in found:
        raise RuntimeError(f"no lower bound: {found['reason']}")
    bound: list[float] = found["dual"]
    return bound


def main(arguments: list[str]) -> None:
    """Find and write the bound of one case."""
    path, task, params, seconds = arguments
    split = read(path)
    write(path, find(split.X, split.y, task, json.loads(params), float(seconds)))


if __name__ == "__main__":
    main(sys.argv[1:])
