"""Imports point down only: the picture of the layers in CONTRIBUTING.md, enforced by reading the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent

#: From the ground up; a unit is a module or a folder directly under the package.
LAYERS = {
    "ground": {"_rows", "_stop", "_types", "_validation", "_version", "exceptions"},
    "mathematics": {
        "certificates",
        "delivered",
        "kernels",
        "losses",
        "multiclass",
        "penalties",
        "problems",
    },
    "back ends": {"backends"},
    "solvers": {"solvers"},
    "estimators": {"calibration", "estimators", "inspection", "maps"},
    "selection": {"selection"},
    "files": {"io"},
    "clusters": {"distributed"},
    "faces": {"__main__", "accel", "cli", "playground", "plotting", "report"},
}
LEVEL = {unit: level for level, units in enumerate(LAYERS.values()) for unit in units}
#: What a layer must not know, besides the layers above it: units whose imports may not begin with these names.
STRANGERS = {"problems": ("sklearn", "numba"), "solvers": ("sklearn", "numba"), "kernels": ("numba",)}


def sources(package: Path) -> Iterator[tuple[str, Path]]:
    """(dotted name, file) of every module of the package; the package's own front door is not one of the layers."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts:
            yield ".".join((package.name, *parts)), path


def imported(name: str, path: Path) -> Iterator[tuple[int, str]]:
    """(line, absolute dotted name) of everything a module imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield node.lineno, argument.value


def unit_of(dotted: str, package: Path) -> str | None:
    """The unit of the package that an import names; a public name of the front door counts as its home's."""
    parts = dotted.split(".")
    if parts[0] != package.name or len(parts) < 2:
        return None
    return maxmargin._HOMES.get(parts[1], parts[1])


def violations(package: Path) -> list[str]:
    """Imports that point up, units without a layer, and strangers."""
    found = []
    for name, path in sources(package):
        own = name.split(".")[1]
        if own not in LEVEL:
            found.append(f"{name}: {own!r} has no layer; add it to LAYERS and to the picture in CONTRIBUTING.md")
            continue
        for line, target in imported(name, path):
            unit, where = unit_of(target, package), f"{path.relative_to(package)}:{line}"
            if unit is None:
                if target.startswith(STRANGERS.get(own, ())):
                    found.append(f"{where} imports {target}, which {own} must not know")
            elif unit not in LEVEL:
                if not unit.startswith("__"):
                    found.append(f"{where} imports {target}, which has no layer")
            elif LEVEL[unit] > LEVEL[own]:
                found.append(f"{where} imports {target}, a layer above {own}")
    return found


def graph(package: Path) -> dict[str, set[str]]:
    """Which unit imports which others."""
    edges: dict[str, set[str]] = {}
    for name, path in sources(package):
        own = name.split(".")[1]
        units = {unit_of(target, package) for _, target in imported(name, path)}
        edges.setdefault(own, set()).update(unit for unit in units if unit in LEVEL and unit != own)
    return edges


def reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    """Everything ``start`` needs, directly or not."""
    seen, waiting = set(), [start]
    while waiting:
        for unit in edges.get(waiting.pop(), set()) - seen:
            seen.add(unit)
            waiting.append(unit)
    return seen


def test_imports_point_down() -> None:
    assert violations(PACKAGE) == []


def test_the_judge_shares_no_code_with_the_accused() -> None:
    assert reachable("certificates", graph(PACKAGE)) <= LAYERS["ground"] | LAYERS["mathematics"]


def test_no_two_units_need_each_other() -> None:
    edges = graph(PACKAGE)
    assert [unit for unit in edges if unit in reachable(unit, edges)] == []


def test_faces_use_the_public_api_only() -> None:
    private = [
        f"{name}: {target}"
        for name, path in sources(PACKAGE)
        if name.split(".")[1] in LAYERS["faces"]
        for _, target in imported(name, path)
        if target.startswith("maxmargin.") and any(p.startswith("_") and p != "__version__" for p in target.split("."))
        if not target.startswith(".".join(name.split(".")[:2]))
    ]
    assert private == []


# -- the checker can fail -------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small package that keeps the rules."""
    package = tmp_path / "maxmargin"
    for folder in ("kernels", "backends", "solvers"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").write_text("from maxmargin._types import Array\n")
    (package / "__init__.py").write_text("from maxmargin.solvers import anything\n")
    (package / "_types.py").write_text("import numpy as np\n")
    (package / "certificates.py").write_text("import maxmargin.kernels\nfrom .kernels import Kernel\n")
    return package


def test_a_tree_that_keeps_the_rules_passes(tree: Path) -> None:
    assert violations(tree) == []
    assert graph(tree)["certificates"] == {"kernels"}


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        ("kernels/bad.py", "from maxmargin.backends import get_backend", "a layer above kernels"),
        ("kernels/bad.py", "import maxmargin.backends._gram", "a layer above kernels"),
        ("kernels/bad.py", "from ..backends import get_backend", "a layer above kernels"),
        ("kernels/__init__.py", "from .. import solvers", "a layer above kernels"),
        ("certificates.py", "def f():\n    from maxmargin.solvers import Watch", "a layer above certificates"),
        ("certificates.py", "import importlib\nimportlib.import_module('maxmargin.backends')", "a layer above"),
        ("backends/bad.py", "from maxmargin import SVC", "a layer above backends"),
        (
            "backends/bad.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from maxmargin import solvers",
            "above",
        ),
        ("solvers/bad.py", "import sklearn.svm", "must not know"),
        ("novelty.py", "import numpy", "has no layer"),
    ],
)
def test_the_checker_sees_a_bad_import(tree: Path, file: str, text: str, complaint: str) -> None:
    (tree / file).write_text(text + "\n")
    (found,) = violations(tree)
    assert complaint in found


def test_the_checker_sees_a_detour(tree: Path) -> None:
    (tree / "kernels" / "bad.py").write_text("from maxmargin import solvers\n")
    assert "solvers" in reachable("certificates", graph(tree))


def test_nothing_is_promised_that_is_not_there() -> None:
    """An operation that only raises is no operation: what a family or a back end must have is abstract."""
    stubs = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
    ]
    assert stubs == []
