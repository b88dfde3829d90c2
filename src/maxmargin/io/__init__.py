"""Data and models in files: tables, streams of chunks, svmlight text, models as data, as LIBSVM's files and as ONNX."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from maxmargin.io._model_file import load, load_record, save
from maxmargin.io._read import read_chunks
from maxmargin.io._read_table import read_table, read_table_chunks
from maxmargin.io._svmlight import save_svmlight
from maxmargin.io._table import Chunk, Reading, Table

if TYPE_CHECKING:
    from maxmargin.io._liblinear import load_liblinear, save_liblinear
    from maxmargin.io._libsvm import load_libsvm, save_libsvm
    from maxmargin.io._onnx import export_onnx
    from maxmargin.io._sklearn import as_sklearn, from_sklearn
    from maxmargin.io._skops import skops_trusted_types

#: Names that bring scikit-learn or the estimators with them, which a reader of data need not wait for.
_LATER = {
    "as_sklearn": "_sklearn",
    "export_onnx": "_onnx",
    "from_sklearn": "_sklearn",
    "load_liblinear": "_liblinear",
    "load_libsvm": "_libsvm",
    "save_liblinear": "_liblinear",
    "save_libsvm": "_libsvm",
    "skops_trusted_types": "_skops",
}

__all__ = [
    "Chunk",
    "Reading",
    "Table",
    "as_sklearn",
    "export_onnx",
    "from_sklearn",
    "load",
    "load_liblinear",
    "load_libsvm",
    "load_record",
    "read_chunks",
    "read_table",
    "read_table_chunks",
    "save",
    "save_liblinear",
    "save_libsvm",
    "save_svmlight",
    "skops_trusted_types",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"maxmargin.io.{_LATER[name]}"), name)
    raise AttributeError(f"module 'maxmargin.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
