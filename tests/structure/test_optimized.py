"""Python without docstrings and assertions (-OO): everything imports, and nothing hangs on either."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.estimators._params import fill_docstring
from maxmargin.selection._search import CrossValidated, searches

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [path for folder in ("src", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
#: What an assertion may call: it answers a question and changes nothing.
HARMLESS = {"isinstance"}
IMPORTS = """
import importlib, pkgutil, maxmargin
from maxmargin import *
for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
    if module.name != "maxmargin.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("maxmargin"):
                raise
print(SVC.__doc__, SVCCV.__doc__, len(maxmargin.__all__))
"""


def test_everything_imports_without_docstrings() -> None:
    run = subprocess.run([sys.executable, "-OO", "-c", IMPORTS], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split()[:2] == ["None", "None"]


def effects(tree: ast.AST) -> list[int]:
    """Lines of assertions that do more than look: they would be missing under -O."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        for part in ast.walk(node.test)
        if isinstance(part, ast.NamedExpr | ast.Await)
        or (isinstance(part, ast.Call) and not (isinstance(part.func, ast.Name) and part.func.id in HARMLESS))
    ]


def trusting(tree: ast.AST) -> list[int]:
    """Lines that take a docstring for granted: ``__doc__.split()``, ``cls.__doc__[0]``."""
    taken = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Subscript)]
    return [
        node.lineno
        for node in taken
        if (isinstance(node.value, ast.Name) and node.value.id == "__doc__")
        or (isinstance(node.value, ast.Attribute) and node.value.attr == "__doc__")
    ]


@pytest.mark.parametrize("check", [effects, trusting])
def test_nothing_hangs_on_assertions_or_docstrings(check) -> None:
    found = {path.name: check(ast.parse(path.read_text(encoding="utf-8"))) for path in SOURCES}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("check", "code"),
    [(effects, "assert (x := f)"), (effects, "assert found.pop()"), (trusting, "__doc__.split()"),
     (trusting, "cls.__doc__[0]")],
)  # fmt: skip
def test_the_checks_see_what_they_should(check, code) -> None:
    assert check(ast.parse(code)) == [1]


# -- docstrings made of parts -------------------------------------------------------------------------------------


@given(st.integers(0, 12), st.booleans())
def test_a_docstring_is_filled_alike_however_it_is_indented(spaces: int, first_line: bool) -> None:
    lines = ["Parameters", "----------", "{shared}", "b : int", "    {more}", "{unknown}"]
    body = "\n".join(" " * spaces + line for line in lines)
    text = ("" if first_line else "\n") + "Summary.\n\n" + body + "\n" + " " * spaces
    if not first_line:
        text = text.replace("Summary", " " * spaces + "Summary")
    cls = type("Machine", (), {"__doc__": text})
    fill_docstring(cls, shared="a : int\n    First.", more="Second,\nthird.")
    assert cls.__doc__ == "\n".join(
        ["Summary.", "", "Parameters", "----------", "a : int", "    First.", "b : int", "    Second,", "    third.",
         "{unknown}"]
    )  # fmt: skip


def test_a_class_without_a_docstring_stays_without() -> None:
    assert fill_docstring(type("Machine", (), {}), shared="a : int").__doc__ is None


@pytest.mark.parametrize("text", [None, "", "Says nothing.", "Parameters\n----------\nC : float\n    Cost."])
def test_no_docstring_of_a_machine_breaks_its_search(text: str | None) -> None:
    def __init__(self, C=1.0, *, kernel="rbf"):
        self.C, self.kernel = C, kernel

    machine = type("Machine", (), {"__doc__": text, "__init__": __init__})
    plain, documented = (
        searches(machine, "C", Cs="C")(type("MachineCV", (CrossValidated,), {"__doc__": own}))
        for own in (None, "A search.\n\nExamples\n--------\n>>> 1\n1")
    )
    assert plain.__doc__ is None
    assert "Cs : list of values" in (inspect.getdoc(documented) or "")
    assert list(inspect.signature(documented).parameters)[:2] == ["Cs", "param_grid"]
