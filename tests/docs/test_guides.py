"""Every page under docs: its Python examples run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").glob("*.md"))
#: Pages that must have examples at all.
GUIDES = {"kernels.md", "certificates.md", "files.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_run(page: Path, run_page: Callable[[str, str], tuple[int, str]]) -> None:
    count, failures = run_page(page.read_text(encoding="utf-8"), page.name)
    assert failures == ""
    assert count > 10 or page.name not in GUIDES


def test_the_guides_are_there() -> None:
    assert {"architecture.md", "differences.md", "policy.md"} | GUIDES <= {page.name for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short_enough_to_review(page: Path) -> None:
    text = [line for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    assert max(map(len, text)) <= 150
