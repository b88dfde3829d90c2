"""The table of references is complete, and what it names exists."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import maxmargin
from tests.references.registry import METHODS, NAMES, ROOMS, WITHOUT

TESTS = Path(__file__).parents[1]
MODULES = ["inspection", "calibration", "losses", "penalties", "kernels", "maps", "multiclass", "selection"]


def public_names(module: ModuleType) -> set[str]:
    """Classes and functions that a module gives its users."""
    own = getattr(module, "__all__", None) or [n for n, thing in vars(module).items() if is_own(n, thing, module)]
    return {name for name in own if inspect.isclass(getattr(module, name)) or inspect.isroutine(getattr(module, name))}


def is_own(name: str, thing: object, module: ModuleType) -> bool:
    made_here = inspect.isclass(thing) or inspect.isfunction(thing)
    return made_here and not name.startswith("_") and thing.__module__ == module.__name__


def missing(registered: set[str]) -> set[str]:
    """Public names that no line of the table has."""
    wanted = set()
    for part in MODULES:
        names = public_names(importlib.import_module(f"maxmargin.{part}"))
        wanted |= {f"{part}.{name}" for name in names - set(WITHOUT.get(part, ()))}
    elsewhere = {name.partition(".")[2] for name in wanted}
    top = {name for name in maxmargin.__all__ if callable(getattr(maxmargin, name))}
    return (wanted | (top - elsewhere - set(WITHOUT["maxmargin"]))) - registered


@cache
def functions(path: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((TESTS / path).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def words(path: str) -> set[str]:
    """Names that a file uses, imported or looked up."""
    tree = ast.parse((TESTS / path).read_text())
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return used | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_every_public_estimator_and_function_has_a_reference():
    assert missing(set(NAMES)) == set()


def test_a_name_without_a_reference_is_seen():
    assert missing(set(NAMES) - {"SVC", "inspection.kkt"}) == {"SVC", "inspection.kkt"}


def test_no_line_is_about_a_name_that_is_gone():
    for name in NAMES:
        part, _, last = name.rpartition(".")
        module = importlib.import_module(f"maxmargin.{part}" if part else "maxmargin")
        assert hasattr(module, last), name
    for part, names in WITHOUT.items():
        module = maxmargin if part == "maxmargin" else importlib.import_module(f"maxmargin.{part}")
        assert set(names) <= public_names(module), part


@pytest.mark.parametrize("name", NAMES)
def test_reference_of_a_name_exists_and_uses_it(name):
    path, _, function = NAMES[name].partition("::")
    assert function in functions(path), NAMES[name]
    assert name.rpartition(".")[2] in words(path)


def test_every_method_of_the_theory_page_has_a_reference():
    page = (TESTS.parent / "docs" / "theory.md").read_text(encoding="utf-8")
    assert list(METHODS) == re.findall(r"^### (.+)$", page, re.MULTILINE)


def test_every_room_of_the_playground_has_a_reference():
    rooms = Path(maxmargin.__file__).parent / "playground" / "static" / "rooms"
    assert set(ROOMS) == {path.stem for path in rooms.glob("*.js")}


@pytest.mark.parametrize("name", [*METHODS, *ROOMS])
def test_reference_of_a_method_exists(name):
    tests = (METHODS | ROOMS)[name]
    assert tests
    for test in tests:
        path, _, function = test.partition("::")
        assert function in functions(path), test
