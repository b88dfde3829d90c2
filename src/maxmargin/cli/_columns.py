"""Which columns a model learns from, and why the others are left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxmargin.cli._errors import InputError
from maxmargin.cli._print import counted, figure, listed
from maxmargin.io import Table
from maxmargin.report import Column

#: Text with more distinct values than this is no category but names, notes or dates.
MOST_CATEGORIES = 100
#: Fewer rows than this do not tell an identifier from a number.
LEAST_ROWS = 20
#: If this share of a column's cells are numbers, text in it is a mistake rather than a category.
NUMBERS_MEANT = 0.5
#: Words on average from which on cells are sentences.
MOST_WORDS = 3
#: Names of columns that identify, and texts that do: letters and digits mixed, without spaces.
IDENTIFIER = re.compile(r"(^|[^a-z])(id|uid|uuid|guid|key|nr|no|number|num|index|idx|code)([^a-z]|$)|[a-z]I[dD]$", re.I)
CODE = re.compile(r"(?=.*\d)[\w.:/+-]+")
DECIMAL_COMMA = re.compile(r"[+-]?\d[\d.]*,\d+")


@dataclass(frozen=True)
class Chosen:
    """The columns of a table with what becomes of each; ``numbers`` and ``categories`` are those learned from."""

    columns: list[Column]
    numbers: list[str]
    categories: list[str]

    @property
    def used(self) -> list[str]:
        """Names in the order in which the model takes them."""
        return self.numbers + self.categories

    @property
    def left_out(self) -> list[Column]:
        return [column for column in self.columns if column.kind == "left out"]


def choose_columns(table: Table, target: str, keep: list[str], drop: list[str]) -> Chosen:
    """What becomes of every column but the target."""
    for name in (*keep, *drop):
        if name not in table:
            raise InputError(f"{table.path} has no column {name!r} (--keep, --drop); it has {listed(table.names, 20)}")
    columns = [described(table, name, name in keep, name in drop) for name in table.names if name != target]
    chosen = Chosen(
        columns,
        [column.name for column in columns if column.kind == "number"],
        [column.name for column in columns if column.kind == "category"],
    )
    if not chosen.used and table.features is None:
        why = "; ".join(f"{column.name}: {column.why}" for column in columns[:5])
        raise InputError(f"{table.path}: no column is left to learn from ({why or 'the target is the only one'})")
    return chosen


def described(table: Table, name: str, keep: bool, drop: bool) -> Column:
    """A column, and why it is left out if it is."""
    values, known = table[name], table.known(name)
    missing, distinct = int(np.count_nonzero(~known)), len(set(values[known].tolist()))
    text = table.kind(name) == "category"
    summary = commonest(values[known]) if text else span(values[known])
    why = "you said so" if drop else objection(table, name, values[known], distinct)
    if why and not drop and keep and distinct > 1:
        why = ""
    kind: Literal["number", "category", "left out"] = "left out" if why else ("category" if text else "number")
    return Column(name, kind, missing, distinct, summary, why)


def objection(table: Table, name: str, known: np.ndarray, distinct: int) -> str:
    """Why a column should be left out; empty if it should not."""
    n = len(known)
    if distinct == 0:
        return "no row has a value in it"
    if distinct == 1:
        return f"it is {known[0] if known.dtype == object else figure(float(known[0]))!s} in every row"
    if known.dtype == object:
        check_meant_as_text(table, name, distinct)
        if distinct > MOST_CATEGORIES or (n >= LEAST_ROWS and distinct == n):
            return about_texts(known, distinct)
        return ""
    if n < LEAST_ROWS or distinct < n or not (known == np.round(known)).all():
        return ""
    if numbers_rows(known, distinct):
        return "it numbers the rows"
    return "an identifier by its name: every row has a number of its own" if IDENTIFIER.search(name) else ""


def about_texts(known: np.ndarray, distinct: int) -> str:
    """What many different texts are, and why they are not learned from."""
    one_each = "every row has its own" if distinct == len(known) else f"{distinct:,} different ones"
    texts = known[: MOST_CATEGORIES * 10].tolist()
    if np.mean([len(text.split()) for text in texts]) > MOST_WORDS:
        return f"free text ({one_each}), which this command does not learn from"
    if np.mean([bool(CODE.fullmatch(text)) for text in texts]) > 0.9:
        return f"codes or identifiers ({one_each}): a column of 0 and 1 for each would only remember rows"
    return f"names or the like ({one_each}): too many for a column of 0 and 1 each"


def numbers_rows(values: np.ndarray, distinct: int) -> bool:
    """Whether the values are whole numbers without gaps, each there once."""
    whole = bool((values == np.round(values)).all())
    return whole and distinct == len(values) and float(values.max() - values.min()) + 1 == distinct


def check_meant_as_text(table: Table, name: str, distinct: int) -> None:
    """InputError for a column of numbers in which some cells are not."""
    if distinct <= 20:
        return
    values, known = table[name], table.known(name)
    texts = [row for row in np.flatnonzero(known).tolist() if not is_number(values[row])]
    if len(texts) > (1 - NUMBERS_MEANT) * np.count_nonzero(known):
        if sum(bool(DECIMAL_COMMA.fullmatch(values[row])) for row in texts) > len(texts) / 2:
            row = texts[0]
            raise InputError(
                f"{table.place(row)}, column {name!r}: {values[row]!r} has a decimal comma; write decimals with a "
                f"point, or leave the column out with --drop {name!r}"
            )
        return
    if texts:
        row = texts[0]
        others = np.count_nonzero(known) - len(texts)
        hint = "write decimals with a point" if DECIMAL_COMMA.fullmatch(values[row]) else "correct it or leave it empty"
        raise InputError(
            f"{table.place(row)}, column {name!r}: {values[row]!r} is not a number, and {others:,} other cells of the "
            f"column are; {hint} ({counted(len(texts), 'such cell')}), or leave the column out with --drop {name!r}"
        )


def is_number(text: str) -> bool:
    """Whether the text stands for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def commonest(values: np.ndarray) -> str:
    return ", ".join(f"{value} ({number:,})" for value, number in Counter(values.tolist()).most_common(3))


def span(values: np.ndarray) -> str:
    """From where to where numbers go, and their mean."""
    if not len(values):
        return "empty"
    return f"{figure(float(values.min()))} to {figure(float(values.max()))}, mean {figure(float(values.mean()))}"
