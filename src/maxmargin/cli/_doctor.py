"""``maxmargin doctor`` and ``maxmargin datasets``: what is there."""

from __future__ import annotations

import importlib
import os
import platform
import time
from importlib.util import find_spec
from typing import Any

import maxmargin
from maxmargin.cli._data import BUILT_IN, built_in
from maxmargin.cli._print import Screen

#: Packages by the extra that brings them.
EXTRAS = {
    "cli": ("typer", "rich"),
    "plot": ("matplotlib",),
    "parquet": ("pyarrow",),
    "onnx": ("onnx", "onnxruntime"),
    "gpu": ("torch", "triton"),
    "dask": ("dask", "distributed"),
    "playground": ("starlette", "uvicorn"),
}


def doctor(screen: Screen) -> int:
    """Versions, computer, memory plan, extras, and one small fit; the exit code is 1 if that fails."""
    packages = {name: version_of(name) for name in ("numpy", "scipy", "sklearn", "numba")}
    found: dict[str, Any] = {
        "versions": {"maxmargin": maxmargin.__version__, "python": platform.python_version(), **packages},
        "machine": computer(),
        "memory": memory_plan(),
        "back ends": {"numba": "compiled loops on the CPU, used by every fit", "numpy": "a reference for tests"},
        "extras": {extra: extra_state(extra, names) for extra, names in EXTRAS.items()},
        "self-test": self_test(),
    }
    for title, pairs in found.items():
        screen.title(title)
        screen.pairs([(name, str(value)) for name, value in pairs.items()])
    healthy = found["self-test"]["verdict"] == "fine"
    if screen.for_program:
        screen.document({**found, "healthy": healthy})
    return 0 if healthy else 1


def version_of(name: str) -> str:
    """The version of a package, or that it is missing."""
    try:
        return str(getattr(importlib.import_module(name), "__version__", "unknown"))
    except ImportError:
        return "missing"


def extra_state(extra: str, names: tuple[str, ...]) -> str:
    """Whether an extra's packages are installed."""
    missing = [name for name in names if find_spec(name) is None]
    return f"no ({', '.join(missing)}): pip install maxmargin[{extra}]" if missing else "yes"


def computer() -> dict[str, str]:
    """What fits will run on."""
    from maxmargin.backends import effective_threads

    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "threads of a fit": str(effective_threads()),
        "device": "cpu",
    }


def memory_plan() -> dict[str, str]:
    """How much there is, and what it is enough for."""
    from maxmargin.backends import cache_bytes

    cache = cache_bytes("auto")
    whole = int((cache / 4) ** 0.5)
    return {
        "kernel cache": f"{cache / 2**20:,.0f} MB (cache_size='auto')",
        "searches": f"up to {whole:,} rows keep the whole kernel matrix; beyond, cells are fitted one by one",
    }


def self_test() -> dict[str, str]:
    """Fit a small problem and look at its certificate."""
    table = built_in("iris")
    X, y = table.rows(table.names[:-1]), table["target"].astype(str)
    try:
        began = time.perf_counter()
        model = maxmargin.SVC(C=10.0, gap_tol=1e-8).fit(X, y)
        first = time.perf_counter() - began
        began = time.perf_counter()
        maxmargin.SVC(C=10.0).fit(X, y)
        again = time.perf_counter() - began
    except Exception as error:  # whatever went wrong, a doctor reports it
        return {"verdict": f"failed: {type(error).__name__}: {error}"}
    proof = model.certificate_
    good = proof.holds and proof.relative_gap < 1e-6
    return {
        "first fit": f"{first * 1e3:.0f} ms (compiled code is built once, then loaded)",
        "next fit": f"{again * 1e3:.1f} ms",
        "certificate": f"relative gap {proof.relative_gap:.1e}",
        "verdict": "fine" if good else f"the certificate is not as it should be: {proof}",
    }


def datasets(screen: Screen) -> int:
    """List the built-in sets."""
    lines = []
    for name, about in BUILT_IN.items():
        table = built_in(name)
        kinds = len(set(table["target"].tolist()))
        lines.append(
            (name, len(table), len(table.names) - 1, "a number" if name == "diabetes" else f"{kinds} classes", about)
        )
    screen.grid(
        ["name", "rows", "columns", "target", ""],
        [[name, f"{rows:,}", str(columns), target, about] for name, rows, columns, target, about in lines],
        right=(1, 2),
    )
    if screen.for_program:
        keys = ("name", "rows", "columns", "target", "about")
        screen.document([dict(zip(keys, line, strict=True)) for line in lines])
    return 0
