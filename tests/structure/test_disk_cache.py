"""Compiled code is kept on disk: a second process loads it, and a disk that cannot be written costs a warning only.

Every test runs in processes and directories of its own. A directory that *nobody* may write to, not even root, is
made by putting a plain file where the directory would have to be.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
COMPILED = sorted((PACKAGE / "backends" / "_numba").glob("*.py"))

#: Modules of Numba that only a compilation needs, or that it alone loads.
COMPILER = {"numba.np.arrayobj", "numba.typed.typeddict"}

#: Counts what Numba compiles, fits, and prints one line of JSON.
PREPARE = """
import json, sys, warnings
import numpy as np
from numba.core import event

class Listener(event.Listener):
    names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("maxmargin."):
            self.names.append(function.__name__)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
X = np.random.default_rng(0).uniform(size=(2100, 3))
y = (X.sum(axis=1) + 0.1 * np.sin(20 * X[:, 0]) > 1.5).astype(int)

def small():
    return SVC().fit(X[:40], y[:40])

def everything():
    import scipy.sparse as sp
    from maxmargin import NuSVR
    from maxmargin.kernels import ChiSquared, Laplacian
    SVC().fit(X, y)                                # a stored matrix, in float32
    SVC(gap_tol=1e-3).fit(X, y)                    # more than one working set, float32 tiles
    SVC(fit_intercept=False).fit(X[:1100], y[:1100])
    SVC(kernel=ChiSquared()).fit(X[:40], y[:40])
    SVC(kernel=Laplacian(), gap_tol=1e-3).fit(X[:1100], y[:1100])
    NuSVR(kernel="poly").fit(X[:40], y[:40])
    wide = sp.csr_array(np.eye(40).repeat(2, axis=0))
    SVC(kernel="linear").fit(wide, y[:80]).predict(wide)
    SVC(kernel="sigmoid").fit(X[:40], y[:40])
    return small()

def linear():
    from maxmargin import LinearSVC
    return LinearSVC(loss="hinge", solver="dual-coordinate").fit(X[:40], y[:40])

def report(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        certificate = work().certificate_
    print(json.dumps({
        "compiled": Listener.names,
        "warnings": [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)],
        "gap": certificate.relative_gap,
        "modules": [name for name in sys.modules if name.startswith("numba.")],
    }))
"""


def run(work: str, cache: Path, package: Path = PACKAGE, before: str = "", **environment: str) -> dict[str, Any]:
    """What a new process that fits reports, with everything else it printed under 'printed'."""
    code = f"{PREPARE}\n{before}\nfrom maxmargin import SVC\nreport({work})\n"
    own = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **own, **environment},
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    *printed, last = result.stdout.splitlines()
    return {**json.loads(last), "printed": printed + result.stderr.splitlines()}


def notices(outcome: dict[str, Any]) -> list[str]:
    """Lines that tell the user to wait."""
    return [line for line in outcome["printed"] if "compiling" in line]


def copied(folder: Path) -> Path:
    """The package in a directory of our own, without compiled files."""
    target = folder / "copy" / "maxmargin"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """(package, cache directory, report) after a first process has compiled everything."""
    folder = tmp_path_factory.mktemp("warm")
    package, cache = copied(folder), folder / "cache"
    return package, cache, run("everything", cache, package)


def test_a_second_process_loads_what_the_first_compiled(warm: tuple[Path, Path, dict[str, Any]]) -> None:
    package, cache, first = warm
    compiled = {"pair_block", "free_block", "run_program", "accumulate", "stream_dense", "stream_sparse"}
    assert compiled <= set(first["compiled"])  # the counter counts
    assert len(notices(first)) == 1
    second = run("everything", cache, package)
    assert second["compiled"] == []
    assert second["printed"] == []
    assert second["warnings"] == []
    assert second["gap"] == first["gap"]


#: What a first small fit with a plain kernel needs no part of: the interpreter, working sets, rows on demand, Newton.
UNUSED = {"evaluate", "interpret", "elementwise", "working_set", "mark_least", "fill_row", "proof", "newton"}


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_first_fit_compiles_what_it_uses(kernel: str, tmp_path: Path) -> None:
    first = run(f"lambda: SVC(kernel={kernel!r}).fit(X[:100], y[:100])", tmp_path)
    assert {"stream_dense", "solve_few", "pair_block"} <= set(first["compiled"])
    assert set(first["compiled"]) & UNUSED == set()
    assert len(first["compiled"]) == len(set(first["compiled"]))  # no function twice, for numbers of two types
    assert len(first["compiled"]) <= 30


def test_kept_code_is_loaded_without_the_compiler(warm: tuple[Path, Path, dict[str, Any]]) -> None:
    package, cache, _ = warm
    again = run("small", cache, package)
    assert again["compiled"] == []
    assert COMPILER & set(again["modules"]) == set()
    seen = run("small", cache, package, before="import numba.np.arrayobj, numba.typed.typeddict")
    assert set(seen["modules"]) >= COMPILER  # the list shows what is there


def test_a_change_in_one_file_compiles_its_callers_anew(tmp_path: Path) -> None:
    # Numba looks at the file a function stands in, not at the files of the functions it calls
    package, cache = copied(tmp_path), tmp_path / "cache"
    assert "epoch" in run("linear", cache, package)["compiled"]  # it calls dot of rows.py
    rows = package / "backends" / "_numba" / "rows.py"
    rows.write_text(rows.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    assert "epoch" in run("linear", cache, package)["compiled"]


def test_no_directory_to_write_to_costs_one_warning(tmp_path: Path) -> None:
    package = copied(tmp_path)
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("a file, so no directory can be made here")
    (blocker := tmp_path / "blocker").write_text("a file")
    nowhere = str(blocker / "home")
    homes = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"), nowhere)
    outcome = run("linear", blocker / "cache", package, **homes)
    assert outcome["gap"] < 1e-3
    assert len(outcome["compiled"]) > 0
    (warning,) = outcome["warnings"]
    assert "cannot be kept on disk" in warning
    assert "NUMBA_CACHE_DIR" in warning


def test_a_full_disk_costs_one_warning(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="limits on file sizes are POSIX")
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))"
    outcome = run("linear", tmp_path, before=full)  # files can be made, but nothing can be written to them
    assert outcome["gap"] < 1e-3
    (warning,) = outcome["warnings"]
    assert "cannot be kept on disk" in warning


# -- what would make Numba compile anew in every process ---------------------------------------------------------


def uncacheable(text: str) -> list[str]:
    """Compiled functions that are closures or methods, and other ways to compile than our ``jit`` and ``inner``."""
    tree, found = ast.parse(text), []
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        decorators = [ast.unparse(d) for d in getattr(node, "decorator_list", ())]
        name = getattr(node, "name", "")
        if any("jit" in decorator or decorator == "inner" for decorator in decorators):
            if id(node) not in top:
                found.append(f"{name} is compiled inside another function or class")
            if decorators not in (["jit"], ["inner"]):
                found.append(f"{name} is compiled by {decorators}, not by jit or inner")
    return found


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_compiled_functions_stand_at_module_level(path: Path) -> None:
    assert uncacheable(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n  @jit\n  def g(): pass",
        "def f():\n  @inner\n  def g(): pass",
        "@njit(cache=True)\ndef f(): pass",
        "@jitclass\nclass A: pass",
    ],
)
def test_the_check_sees_what_cannot_be_cached(text: str) -> None:
    assert uncacheable(text)
