"""Install lines of the pages work as they stand in a clone."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_install_lines_name_the_clone_and_extras_that_exist(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for line in re.findall(r"pip install ([^`\n]+)", page.read_text(encoding="utf-8")):
        if "maxmargin" in line or line.strip().strip('"').startswith("."):
            assert line.strip().strip('"').startswith("."), f"{page.name}: pip install {line} needs a package index"
            for extra in re.findall(r"\[([\w,]+)\]", line):
                assert set(extra.split(",")) <= set(extras), f"{page.name}: {line} names an extra that does not exist"


def test_the_command_s_extra_brings_the_reader() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert any(package.startswith("pyarrow") for package in extras["cli"])
