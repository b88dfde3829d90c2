"""Modules and functions stay small enough to read; the exceptions are listed here, each with a reason."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import maxmargin

PACKAGE = Path(maxmargin.__file__).parent
MODULE_LINES, FUNCTION_LINES, COMPILED_LINES = 400, 50, 80
#: Where something is larger: (lines allowed, why). An exception that is no longer needed fails the test.
EXCEPTIONS: dict[str, tuple[int, str]] = {
    "losses.py": (440, "one table of losses: in two files, what may be asked of a loss would be looked up in both"),
}


def sizes(package: Path) -> dict[str, tuple[int, int]]:
    """(lines, lines allowed) of every module, and of every function without its docstring."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(package).as_posix()
        found[name] = (len(text.splitlines()), MODULE_LINES)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                compiled = any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)
                limit = COMPILED_LINES if compiled else FUNCTION_LINES
                found[f"{name}:{node.name}:{node.lineno}"] = (lines_of(node), limit)
    return found


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From ``def`` to the last line, the docstring not counted."""
    first = function.body[0]
    documented = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    docstring = first.end_lineno - first.lineno + 1 if documented and first.end_lineno else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def too_large(package: Path, exceptions: dict[str, tuple[int, str]]) -> list[str]:
    """What is over its limit, and exceptions that nothing needs."""
    found, needed = [], set()
    for name, (lines, limit) in sizes(package).items():
        key = ":".join(name.split(":")[:2])
        allowed = exceptions.get(key, (limit, ""))[0]
        if lines > limit:
            needed.add(key)
        if lines > allowed:
            found.append(f"{name} has {lines} lines, {allowed} are allowed")
    return found + [f"{key} is no longer an exception" for key in exceptions if key not in needed]


def test_modules_and_functions_are_small() -> None:
    assert too_large(PACKAGE, EXCEPTIONS) == []


def test_every_exception_has_a_reason() -> None:
    assert all(len(reason) > 20 for _, reason in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("text", "exceptions", "complaint"),
    [
        ("x = 1\n" * 401, {}, "long.py has 401 lines"),
        ("def f():\n" + "    x = 1\n" * 50, {}, "long.py:f:1 has 51 lines"),
        ("class A:\n    def f(self):\n" + "        x = 1\n" * 50, {}, "long.py:f:2 has 51 lines"),
        ("@jit\ndef f():\n" + "    x = 1\n" * 80, {}, "long.py:f:2 has 81 lines"),
        ("x = 1\n" * 500, {"long.py": (450, "because")}, "450 are allowed"),
        ("x = 1\n", {"long.py": (450, "because")}, "no longer an exception"),
    ],
)
def test_the_checker_sees_what_is_too_large(tmp_path: Path, text: str, exceptions: dict, complaint: str) -> None:
    (tmp_path / "long.py").write_text(text)
    (found,) = too_large(tmp_path, exceptions)
    assert complaint in found


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 400,
        'def f():\n    """Many\n' + "    words\n" * 60 + '    """\n' + "    x = 1\n" * 49,
        "@jit\ndef f():\n" + "    x = 1\n" * 79,
    ],
)
def test_the_checker_lets_pass_what_is_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "short.py").write_text(text)
    assert too_large(tmp_path, {}) == []
