"""README.md: its examples run, and what it names exists."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import maxmargin
import maxmargin.kernels

RunPage = Callable[[str, str], tuple[int, str]]


def test_the_examples_run(root: Path, run_page: RunPage) -> None:
    count, failures = run_page((root / "README.md").read_text(encoding="utf-8"), "README.md")
    assert failures == ""
    assert count >= 15


def test_every_machine_and_every_kernel_is_named(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    machines = {name for name, home in maxmargin._HOMES.items() if home == "estimators"}
    kernels = {
        name
        for name in maxmargin.kernels.__all__
        if isinstance(kernel := getattr(maxmargin.kernels, name), type) and issubclass(kernel, maxmargin.kernels.Kernel)
    }
    assert machines <= named
    assert kernels - {"Kernel", "Function"} <= named


def test_every_make_target_that_is_named_exists(root: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:^|`)make (\w+)", (root / page).read_text(encoding="utf-8"), re.MULTILINE))
        assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize(
    "text",
    [
        "```python\n>>> 1 + 1\n3\n\n```\n",
        "words\n\n```python\n>>> x = 1\n```\n\n```python\n>>> y\n```\n",
        "```python\n>>> 1 / 0\n```\n",
    ],
)
def test_a_wrong_example_is_seen(run_page: RunPage, text: str) -> None:
    count, failures = run_page(text, "page")
    assert count > 0
    assert "page" in failures


def test_examples_share_their_names_and_other_blocks_are_left_alone(run_page: RunPage) -> None:
    text = "```python\n>>> x = 1\n```\n\n```\n>>> nonsense\n```\n\n```python\n>>> x\n1\n```\n"
    assert run_page(text, "page") == (2, "")
