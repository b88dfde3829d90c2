"""A short run of the fuzzer of tables, and laws of the reader for any text."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from maxmargin.io import read_table
from tests.cli import fuzz_tables
from tests.laws import examples


def is_infinite(cell: str) -> bool:
    """Whether the cell is a number that no table may hold."""
    try:
        return math.isinf(float(cell))
    except ValueError:
        return False


CELLS = st.one_of(
    st.floats(allow_infinity=False, width=64).map(repr),
    st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=6),
    st.sampled_from(["", "NA", '"', "a,b", "line\nbreak", "1_0", " x "]),
).filter(lambda cell: not is_infinite(cell))


def test_damaged_files_are_read_or_refused_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert 0 < fuzz_tables.fuzz(1500) < 1500


def test_the_fuzzer_sees_a_reader_that_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def broken(path: Path) -> None:
        raise IndexError("broken")

    monkeypatch.setattr(fuzz_tables, "read_table", broken)
    with pytest.raises(AssertionError, match="breaks the reader"):
        fuzz_tables.fuzz(3)


@examples(150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6))
def test_what_csv_writes_is_read_back(tmp_path: Path, rows: list[list[str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(["p", "q", "r"])
    writer.writerows(rows)
    path = tmp_path / "any.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    table = read_table(path, header=True)
    assert table.names == ("p", "q", "r")
    assert len(table) == len(rows)
    for place, name in enumerate(table.names):
        for cell, value in zip((row[place] for row in rows), table[name], strict=True):
            if isinstance(value, str):
                assert value == cell.strip()
            elif not np.isnan(value):
                assert float(cell) == value
