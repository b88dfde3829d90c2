"""Excel files, without Excel."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO


def write_excel(path: Path | IO[bytes], rows: list[list[object]]) -> None:
    """A small workbook as Excel writes it: shared strings, a date style, gaps left out."""
    texts = list(dict.fromkeys(cell for row in rows for cell in row if isinstance(cell, str)))
    name = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    lines = []
    for r, row in enumerate(rows, 1):
        cells = []
        for c, cell in enumerate(row):
            place = f"{chr(65 + c)}{r}"
            if isinstance(cell, str):
                cells.append(f'<c r="{place}" t="s"><v>{texts.index(cell)}</v></c>')
            elif isinstance(cell, tuple):  # a date
                cells.append(f'<c r="{place}" s="1"><v>{cell[0]}</v></c>')
            elif cell is not None:
                cells.append(f'<c r="{place}"><v>{cell}</v></c>')
        lines.append(f'<row r="{r}">{"".join(cells)}</row>')
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{name}" xmlns:r="{relation}"><sheets><sheet name="s" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{name}">{"".join(f"<si><t>{text}</t></si>" for text in texts)}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{name}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'
        "</styleSheet>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{name}"><sheetData>{"".join(lines)}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for part, text in parts.items():
            book.writestr(part, text)
