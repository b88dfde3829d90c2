"""The report on a phone, a tablet and a desk, light and dark, as a browser lays it out."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxmargin.report import Findings, write_report
from tests.playground import chromium

pytestmark = pytest.mark.slow
#: Names of tables that reach beyond the width, and by how much the page itself does.
TOO_WIDE = """
const wide = [...document.querySelectorAll('.scroll')]
  .filter((box) => !box.closest('.wide') && box.scrollWidth > box.clientWidth + 1)
  .map((box) => box.getAttribute('aria-label') || box.querySelector('svg title').textContent);
return [wide, document.documentElement.scrollWidth - window.innerWidth];
"""


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_no_column_is_cut_off(runs: dict[str, Findings], tmp_path: Path, width: int) -> None:
    if isinstance(why := chromium.programs(), str):
        pytest.skip(why)
    with chromium.browser(width, 900, phone=width < 500) as window:
        for name in ("iris", "breast_cancer", "diabetes"):
            window.get(write_report(runs[name], tmp_path / f"{name}.html").as_uri())
            wide, beyond = window.execute_script(TOO_WIDE)
            assert wide == [], name
            assert beyond <= 0, name
