"""Files: training data larger than memory as a stream of chunks, and tables with names, text and gaps."""

from __future__ import annotations

from maxmargin.io._options import Chunk
from maxmargin.io._read import read_chunks
from maxmargin.io._read_table import read_table, read_table_chunks
from maxmargin.io._table import Table

__all__ = ["Chunk", "Table", "read_chunks", "read_table", "read_table_chunks"]
