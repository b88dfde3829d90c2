"""Columns on their way through a graph: one matrix of numbers, or numbers and text side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._graph import Graph


class Columns(NamedTuple):
    """A tensor (rows, width) of numbers, or of text."""

    tensor: str
    width: int
    text: bool = False


class Table:
    """Parts side by side; if there are several, each is one column."""

    def __init__(self, parts: list[Columns]):
        self.parts = parts

    @classmethod
    def of(cls, tensor: str, width: int) -> Table:
        """A matrix of numbers."""
        return cls([Columns(tensor, width)])

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    def column(self, graph: Graph, j: int) -> Columns:
        """Column j by itself."""
        if len(self.parts) == 1 and self.parts[0].width > 1:
            part = self.parts[0]
            return Columns(graph.take(part.tensor, [j]), 1, part.text)
        return self.parts[j]

    def take(self, graph: Graph, columns: list[int]) -> Table:
        """Some columns, in that order."""
        if len(self.parts) == 1 and self.parts[0].width > 1:
            part = self.parts[0]
            if columns == list(range(part.width)):
                return self
            return Table([Columns(graph.take(part.tensor, columns), len(columns), part.text)])
        return Table([self.parts[j] for j in columns])

    def numbers(self, graph: Graph, wanted_by: str) -> str:
        """All columns as one matrix of numbers."""
        if any(part.text for part in self.parts):
            raise ExportError(
                f"{wanted_by} would get columns of text in the exported graph; encode them first, with OneHotEncoder "
                "or OrdinalEncoder"
            )
        return graph.join([part.tensor for part in self.parts])


def joined(graph: Graph, tables: list[Table], wanted_by: str) -> Table:
    """Tables side by side: one matrix where all are numbers, single columns otherwise."""
    tables = [table for table in tables if table.width]
    if not any(part.text for table in tables for part in table.parts):
        tensors = [table.numbers(graph, wanted_by) for table in tables]
        return Table.of(graph.join(tensors), int(np.sum([table.width for table in tables])))
    return Table([table.column(graph, j) for table in tables for j in range(table.width)])
