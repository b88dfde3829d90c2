"""Data and models in files: tables, streams of chunks from files larger than memory, models saved as data or ONNX."""

from __future__ import annotations

from maxmargin.io._export import export_onnx
from maxmargin.io._model_file import load, load_record, save
from maxmargin.io._options import Chunk
from maxmargin.io._read import read_chunks
from maxmargin.io._read_table import read_table, read_table_chunks
from maxmargin.io._table import Table

__all__ = [
    "Chunk",
    "Table",
    "export_onnx",
    "load",
    "load_record",
    "read_chunks",
    "read_table",
    "read_table_chunks",
    "save",
]
