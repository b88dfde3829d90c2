"""What model files of LIBSVM and LIBLINEAR have in common: a header of words, then lines of numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.exceptions import ModelFileError
from maxmargin.io._files import located

#: Largest file that is read unless the caller says otherwise.
MAX_BYTES = 2**31
#: The C type of labels and of column numbers.
INT = 2**31 - 1


@dataclass(frozen=True)
class ModelText:
    """A model file as text: its header by keyword, and the lines after it."""

    path: Path
    header: dict[str, list[bytes]]
    lines: dict[str, int]  # the line number of each keyword
    body: list[bytes]
    first: int  # the line number of the first line of the body

    @classmethod
    def read(cls, path: str | os.PathLike[str], keywords: Sequence[str], end: str, max_bytes: int) -> ModelText:
        """The file; the header has only ``keywords`` and ends with a line that says ``end``."""
        file = located(path, pipes=False)
        size = file.stat().st_size
        if size > max_bytes:
            raise ModelFileError(f"the file has {size} bytes, more than max_bytes={max_bytes}", file)
        lines = file.read_bytes().split(b"\n")
        header: dict[str, list[bytes]] = {}
        numbers: dict[str, int] = {}
        for number, line in enumerate(lines, 1):
            word, *values = line.split()[:INT] or [b""]
            name = word.decode("latin-1")
            if name == end and not values:
                body = lines[number:]
                return cls(file, header, numbers, body[:-1] if body and not body[-1].strip() else body, number + 1)
            if name not in keywords:
                known = ", ".join(keywords)
                raise ModelFileError(
                    f"{name[:50]!r} begins no line of such a model; known are {known}", file, f"line {number}"
                )
            if name in header:
                raise ModelFileError(f"{name!r} is there twice", file, f"line {number}")
            header[name], numbers[name] = values, number
        raise ModelFileError(f"there is no line {end!r}; the file is cut off, or no such model", file)

    def wrong(self, why: str, line: int | None = None) -> ModelFileError:
        """The error that names the file, and the line if one is to blame."""
        return ModelFileError(why, self.path, "" if line is None else f"line {line}")

    def word(self, name: str, known: Sequence[str]) -> str:
        """The one word after a keyword."""
        values = self.header.get(name, [])
        found = values[0].decode("latin-1") if len(values) == 1 else ""
        if found not in known:
            raise self.wrong(f"{name} is {found[:50]!r}; known are {', '.join(known)}", self.lines.get(name))
        return found

    def whole(self, name: str, least: int = 0, default: int | None = None) -> int:
        """The one whole number after a keyword."""
        if default is not None and name not in self.header:
            return default
        (value,) = self.wholes(name, 1)
        if value < least:
            raise self.wrong(f"{name} is {value}, but must be at least {least}", self.lines[name])
        return value

    def wholes(self, name: str, count: int) -> list[int]:
        """So many whole numbers."""
        values = self.numbers(name, count)
        if not all(value.is_integer() and abs(value) <= INT for value in values):
            raise self.wrong(f"{name} must have whole numbers", self.lines[name])
        return [int(value) for value in values]

    def number(self, name: str, default: float) -> float:
        """The one number after a keyword."""
        return self.numbers(name, 1)[0] if name in self.header else default

    def numbers(self, name: str, count: int) -> list[float]:
        """So many finite numbers after a keyword."""
        values = self.header.get(name)
        if values is None:
            raise self.wrong(f"there is no line {name!r}")
        if len(values) != count:
            raise self.wrong(f"{name} has {len(values)} values, but must have {count}", self.lines[name])
        return self.floats(values, self.lines[name])

    def floats(self, words: Sequence[bytes], line: int) -> list[float]:
        """Words as finite numbers."""
        try:
            values = [float(word) for word in words]
        except ValueError as error:
            raise self.wrong(f"{str(error)[:100]}", line) from None
        if any(b"_" in word for word in words) or not all(map(math.isfinite, values)):
            raise self.wrong("there is a value that is no finite number", line)
        return values


def c_labels(classes: Array, path: object) -> list[int]:
    """Classes as the whole numbers of C; other labels have no place in these files."""
    values = np.asarray(classes)
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.round(values)).all()))
    if not whole or not bool((np.abs(values.astype(np.float64)) <= INT).all()):
        raise ModelFileError(
            f"the classes are {values[:5].tolist()}, and the file has room for whole numbers only; encode them, for "
            "example with sklearn.preprocessing.LabelEncoder, and fit again",
            path,
        )
    return [int(value) for value in values]


def publish_labels(model: Any, text: ModelText, count: int) -> IntArray:
    """Set the classes, sorted, and their weights as far as these are known; where each class stands in the file."""
    labels = np.array(text.wholes("label", count), dtype=np.int64)
    order = np.argsort(labels, kind="stable")
    classes = labels[order]
    if len(np.unique(classes)) != len(classes):
        raise text.wrong("a label is there twice", text.lines["label"])
    weights = model.class_weight if isinstance(model.class_weight, dict) else {}
    model.classes_, model.class_weight_ = classes, np.array([float(weights.get(int(c), 1.0)) for c in classes])
    return order


def numerals(values: FloatArray) -> str:
    """Numbers with all their digits, separated by blanks."""
    return " ".join(map(repr, np.asarray(values, dtype=np.float64).ravel().tolist()))


def made(machine: Any, parameters: dict[str, Any], given: dict[str, Any], path: object) -> Any:
    """A machine with parameters from the file, and those that the caller adds."""
    clash = sorted(set(parameters) & set(given))
    if clash:
        raise ValueError(f"{', '.join(clash)} is said by the file {path}; pass only what it does not store")
    model = machine(**parameters, **given)
    model._validate_params()
    return model
