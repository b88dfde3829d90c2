"""Files: training data larger than memory as a stream of chunks (svmlight/LIBSVM, CSV, Parquet), models as ONNX."""

from __future__ import annotations

from maxmargin.io._export import export_onnx
from maxmargin.io._options import Chunk
from maxmargin.io._read import read_chunks

__all__ = ["Chunk", "export_onnx", "read_chunks"]
