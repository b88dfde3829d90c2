"""Debian's programs of LIBSVM and LIBLINEAR, and the data they are asked about."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import io

PACKAGES = {"svm": "libsvm-tools", "liblinear": "liblinear-tools"}


def tool(name: str) -> str:
    """The path of a program; without it the test says what it missed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed (apt-get install {PACKAGES[name.partition('-')[0]]})")
    return found


def run(*command: Any) -> str:
    """What a program printed; an error if it failed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def predicted(program: str, model: Path, X: Any, folder: Path, *options: str) -> Any:
    """What the program predicts: numbers, or with ``-b 1`` (labels, probabilities, order of the labels)."""
    data, out = folder / "rows.svm", folder / "out.txt"
    write_rows(X, data)
    run(tool(program), *options, data, model, out)
    lines = out.read_text().splitlines()
    if lines and lines[0].startswith("labels"):
        order = [int(float(word)) for word in lines[0].split()[1:]]
        values = np.array([[float(word) for word in line.split()] for line in lines[1:]])
        return values[:, 0], values[:, 1:], np.array(order)
    return np.array([float(line.split()[0]) for line in lines])


def write_rows(X: Any, path: Path, y: Any = None, gram: bool = False) -> None:
    """Rows for the programs; of a precomputed kernel with their numbers in front."""
    labels = np.zeros(X.shape[0]) if y is None else y
    if not gram and not str(path).startswith("gram"):
        io.save_svmlight(X, labels, path)
        return
    lines = []
    for i, (label, row) in enumerate(zip(labels, X, strict=True)):
        values = " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(row))
        lines.append(f"{float(label)!r} 0:{i + 1} {values}\n")
    path.write_text("".join(lines))


def blobs(k: int, n: int = 90, seed: int = 0) -> tuple[Any, Any]:
    """Overlapping classes with labels that are neither sorted nor neighbours, in the order of their appearance."""
    rng = np.random.default_rng(seed)
    labels = np.array([7, -3, 20, 1, -50, 4])[:k]
    which = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    centres = 1.5 * rng.normal(size=(k, 4))
    X = np.round(centres[which] + rng.normal(size=(n, 4)), 3)
    X[rng.random(X.shape) < 0.1] = 0.0
    return X, labels[which]
