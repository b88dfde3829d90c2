"""Training data from files larger than memory, as a stream of chunks: svmlight/LIBSVM, CSV and Parquet."""

from __future__ import annotations

from maxmargin.io._options import Chunk
from maxmargin.io._read import read_chunks

__all__ = ["Chunk", "read_chunks"]
