"""What is strange about rows to predict, beside those that a model was trained on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cli._data import BUILT_IN, STDIN, checksum_of
from maxmargin.cli._models import Model
from maxmargin.cli._print import counted, figure, listed


def seen_in(X: np.ndarray, names: list[str], numbers: int) -> dict[str, list[Any]]:
    """Of every column of training rows the ends of its numbers (they come first), or its texts."""
    found: dict[str, list[Any]] = {}
    for k, name in enumerate(names):
        if k >= numbers:
            found[name] = sorted({value for value in X[:, k] if isinstance(value, str)})
            continue
        values = X[:, k].astype(np.float64)
        known = values[np.isfinite(values)]
        found[name] = [float(known.min()), float(known.max())] if len(known) else []
    return found


class Strange:
    """Counts what training had not seen, over all rows of a file."""

    def __init__(self, model: Model):
        self.columns = model.record.get("columns") or []
        self.seen = model.record.get("seen") or {}
        self.rows = 0
        self.new: dict[str, Counter[str]] = {}
        self.far: dict[str, int] = {}
        self.worst: dict[str, float] = {}
        self.filled: set[str] = set()

    def add(self, X: Any) -> None:
        """Look at some rows, as the model takes them."""
        self.rows += X.shape[0]
        if not self.seen:
            return
        for k, column in enumerate(self.columns):
            name, values = column["name"], X[:, k]
            if column["kind"] == "number":
                self._numbers(name, values.astype(np.float64))
            else:
                texts = Counter(value for value in values if isinstance(value, str))
                if texts:
                    self.filled.add(name)
                known = set(self.seen[name])
                unknown = {text: number for text, number in texts.items() if text not in known}
                if unknown:
                    self.new.setdefault(name, Counter()).update(unknown)

    def _numbers(self, name: str, values: np.ndarray) -> None:
        values = values[np.isfinite(values)]
        if not len(values):
            return
        self.filled.add(name)
        if not self.seen[name]:
            return
        low, high = self.seen[name]
        room = (high - low) or abs(high) or 1.0
        off = np.maximum(low - values, values - high)
        far = int(np.count_nonzero(off > room))
        if far:
            self.far[name] = self.far.get(name, 0) + far
            worst = float(values[np.argmax(off)])
            self.worst[name] = max(self.worst.get(name, worst), worst, key=lambda v: max(low - v, v - high))

    def notes(self) -> list[str]:
        """What to say, the worst first."""
        found = []
        empty = [column["name"] for column in self.columns if column["name"] not in self.filled] if self.seen else []
        if empty and self.rows:
            found.append(
                f"no row has a value in {listed(empty)}; the model was trained with them and now fills them in"
            )
        for name, number in self.far.items():
            low, high = self.seen[name]
            found.append(
                f"{name}: {counted(number, 'row')} far outside of training ({figure(low)} to {figure(high)}), "
                f"such as {figure(self.worst[name])}; answers there are guesses"
            )
        for name, texts in self.new.items():
            kinds = listed([repr(text) for text, _ in texts.most_common()], 3)
            found.append(
                f"{name}: {counted(sum(texts.values()), 'row')} with values that training had not seen ({kinds}); they "
                "count as none of the known ones"
            )
        return found


def trained_on(model: Model, data: str) -> str:
    """What to say where a file is the one that the model was trained on; empty where it is another."""
    record = model.record
    same = record.get("built_in") and data in BUILT_IN and record.get("data") == data and not Path(data).exists()
    if not same:
        path = Path(data)
        same = data != STDIN and path.is_file() and record.get("sha256") == checksum_of(path)
    if not same:
        return ""
    rows = len(record.get("train_rows", ()))
    return (
        f"this is the file that the model was trained on: it has learned from {counted(rows, 'row')} of it, so that "
        "being right here is no test; `maxmargin inspect` shows the results on the rows held back"
    )
