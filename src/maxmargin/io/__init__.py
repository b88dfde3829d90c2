"""Data and models in files: streams of chunks from files larger than memory, and models saved as data."""

from __future__ import annotations

from maxmargin.io._model_file import load, load_record, save
from maxmargin.io._options import Chunk
from maxmargin.io._read import read_chunks

__all__ = ["Chunk", "load", "load_record", "read_chunks", "save"]
