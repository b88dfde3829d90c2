"""Tables that other programs keep: JSON, lines of JSON, and the first sheet of an Excel file."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from maxmargin.io._files import MOST_GROWN, MOST_TIMES, held, numbered
from maxmargin.io._table import Table, checked_names, text_objects

#: Bytes of a JSON document that is read as a whole.
MOST_JSON = 2**31
#: Cells that a sheet may have room for: a single one far off must not ask for all between.
MOST_CELLS = 50_000_000
#: Built-in number formats of Excel that are dates.
DATE_FORMATS = frozenset({*range(14, 23), *range(45, 48)})
PLACE = re.compile(r"([A-Z]{1,3})(\d{1,7})")


def json_table(path: Path, lines: bool) -> Table:
    """Objects with the same keys as rows: a list of them, or one on each line; or an object of columns."""
    if lines:
        parsed = [(number, loaded(path, f"line {number}", line)) for number, line in numbered(path, bytes.strip)]
        return records_table(path, [row for _, row in parsed], [number for number, _ in parsed])
    source = held(path)
    size = path.stat().st_size if isinstance(source, Path) else len(source.getvalue())
    if size > MOST_JSON:
        raise ValueError(f"{path} has {size:,} bytes of JSON, more than can be read at once; write an object per line")
    found = loaded(path, "", path.read_bytes() if isinstance(source, Path) else source.getvalue())
    if isinstance(found, dict) and found and all(isinstance(column, list) for column in found.values()):
        sizes = {len(column) for column in found.values()}
        if len(sizes) > 1:
            raise ValueError(
                f"{path}: the columns have {min(sizes):,} to {max(sizes):,} values; they must have as many"
            )
        found = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    if not isinstance(found, list):
        raise ValueError(f"{path}: a JSON table is a list of objects, or an object of lists; this is neither")
    return records_table(path, found, None)


def loaded(path: Path, where: str, text: bytes) -> Any:
    """The value that a text of JSON stands for."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path}{', ' + where if where else ''}: no JSON ({error}); check that it is complete"
        ) from None


def records_table(path: Path, rows: list[Any], lines: list[int] | None) -> Table:
    """Named columns of objects; what an object lacks is missing."""
    names: dict[str, None] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ValueError(f"{path}, {where(place, lines)}: {str(row)[:40]!r} is no object with names and values")
        names.update(dict.fromkeys(map(str, row)))
    if not rows:
        raise ValueError(f"{path} has no rows; check that it was written completely")
    columns = [column_of(path, name, [row.get(name) for row in rows], lines) for name in names]
    numbers = None if lines is None else np.array(lines, dtype=np.int64)
    return Table(path, checked_names(path, list(names)), tuple(columns), lines=numbers)


def where(place: int, lines: list[int] | None) -> str:
    return f"row {place} (from 0)" if lines is None else f"line {lines[place]}"


def column_of(path: Path, name: str, cells: list[Any], lines: list[int] | None) -> Any:
    """Numbers if all are, else text; lists and objects are neither."""
    numbers = True
    for place, cell in enumerate(cells):
        if isinstance(cell, (list, dict)):
            raise ValueError(f"{path}, {where(place, lines)}, column {name!r}: a list or an object is no single value")
        if isinstance(cell, (int, float)) and not isinstance(cell, bool):
            if not abs(cell) < 1.8e308:
                raise ValueError(f"{path}, {where(place, lines)}, column {name!r}: {cell!r} is not finite")
        elif cell is not None and cell != "":
            numbers = False
    if numbers:
        return np.array([np.nan if cell is None or cell == "" else float(cell) for cell in cells])
    return text_objects([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])


# -- Excel: a zip of XML. The first sheet, its first row the names --------------------------------------------------


def excel_table(path: Path) -> Table:
    """The first sheet of an .xlsx file."""
    try:
        with zipfile.ZipFile(held(path)) as book:
            grid = list(sheet_rows(path, book))
    except (zipfile.BadZipFile, zlib.error, LookupError, ET.ParseError, RuntimeError, ValueError, OSError) as error:
        if path.name in str(error):  # it says what is wrong
            raise
        raise ValueError(f"{path}: no Excel file that can be read ({error}); save it as .xlsx or CSV") from None
    grid = [(number, row) for number, row in grid if any(cell not in (None, "") for cell in row.values())]
    if len(grid) < 2:
        raise ValueError(f"{path}: the first sheet needs a row of names and rows of values")
    width = 1 + max(max(row) for _, row in grid)
    if width * len(grid) > MOST_CELLS:
        raise ValueError(f"{path}: the sheet spans {width:,} columns and {len(grid):,} rows; remove what lies far off")
    names = checked_names(path, [str(grid[0][1].get(place) or "") for place in range(width)])
    lines = [number for number, _ in grid[1:]]
    cells = [[row.get(place) for _, row in grid[1:]] for place in range(width)]
    columns = [column_of(path, name, column, lines) for name, column in zip(names, cells, strict=True)]
    return Table(path, names, tuple(columns), lines=np.array(lines, dtype=np.int64))


def part(path: Path, book: zipfile.ZipFile, name: str) -> Any:
    """A part of the book, read within bounds."""
    info = book.getinfo(name)
    if info.file_size > max(MOST_GROWN, MOST_TIMES * info.compress_size):
        raise ValueError(f"{path} holds {info.file_size:,} bytes in {name}; if you trust it, save it as CSV first")
    return book.open(info)


def tree_of(path: Path, book: zipfile.ZipFile, name: str) -> Any:
    with part(path, book, name) as file:
        return ET.parse(file).getroot()


def sheet_rows(path: Path, book: zipfile.ZipFile) -> Iterator[tuple[int, dict[int, Any]]]:
    """(number of the row, its cells by column) of the first sheet."""
    names = set(book.namelist())
    texts: list[str] = []
    if "xl/sharedStrings.xml" in names:
        shared = tree_of(path, book, "xl/sharedStrings.xml")
        texts = ["".join(node.text or "" for node in item.iterfind(".//{*}t")) for item in shared.findall("{*}si")]
    dates = date_styles(tree_of(path, book, "xl/styles.xml")) if "xl/styles.xml" in names else set()
    with part(path, book, first_sheet(path, book)) as file:
        number = 0
        for _, node in ET.iterparse(file):
            if not node.tag.endswith("}row"):
                continue
            number = int(node.get("r") or number + 1)
            yield (
                number,
                {
                    column_number(cell.get("r"), place): cell_value(cell, texts, dates)
                    for place, cell in enumerate(node.findall("{*}c"))
                },
            )
            node.clear()


def first_sheet(path: Path, book: zipfile.ZipFile) -> str:
    """The part that holds the sheet that comes first in the book."""
    sheet = tree_of(path, book, "xl/workbook.xml").find(".//{*}sheet")
    wanted = [] if sheet is None else [value for key, value in sheet.attrib.items() if key.endswith("}id")]
    for relation in tree_of(path, book, "xl/_rels/workbook.xml.rels"):
        if relation.get("Id") in wanted:
            target = str(relation.get("Target"))
            return target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    raise KeyError("the first sheet")


def column_number(place: str | None, default: int) -> int:
    """0 for A, 26 for AA."""
    found = PLACE.fullmatch(place or "")
    if not found:
        return default
    number = 0
    for letter in found[1]:
        number = 26 * number + ord(letter) - 64
    return number - 1


def date_styles(styles: Any) -> set[int]:
    """Numbers of the cell styles that show dates."""
    own = {
        int(node.get("numFmtId")): re.sub(r'"[^"]*"|\[[^\]]*\]|\\.', "", node.get("formatCode") or "")
        for node in styles.iterfind(".//{*}numFmt")
    }
    shows = {number for number, code in own.items() if re.search(r"[ymdh]", code.lower())} | DATE_FORMATS
    cells = styles.find("{*}cellXfs")
    return {k for k, node in enumerate(() if cells is None else cells) if int(node.get("numFmtId") or 0) in shows}


def cell_value(cell: Any, texts: list[str], dates: set[int]) -> Any:
    """A number, a text, or None."""
    kind, node = cell.get("t"), cell.find("{*}v")
    if kind == "inlineStr":
        return "".join(part.text or "" for part in cell.iterfind(".//{*}t"))
    if node is None or not node.text:
        return None
    if kind == "s":
        return texts[int(node.text)] if 0 <= int(node.text) < len(texts) else None
    if kind == "b":
        return node.text == "1"
    if kind == "e":  # an error such as #N/A: there is no value
        return None
    if kind == "str":
        return node.text
    value = float(node.text)
    if int(cell.get("s") or 0) in dates and 0 <= value < 2_958_466:
        moment = datetime(1899, 12, 30) + timedelta(days=value)
        return moment.date().isoformat() if value.is_integer() else moment.isoformat(sep=" ", timespec="seconds")
    return value
