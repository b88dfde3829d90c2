"""Data as svmlight text, with all digits: what is read again is what was written, here and in LIBSVM."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from maxmargin._types import Array, RowData
from maxmargin.io._atomic import replacing

#: Rows that are written at a time.
BLOCK = 4096


def save_svmlight(X: Any, y: Any, path: str | os.PathLike[str], *, zero_based: bool = False) -> None:
    """Write rows and labels as svmlight/LIBSVM text.

    Every number is written with as many digits as it takes to read the same number again: by :func:`read_chunks`, by
    scikit-learn's ``load_svmlight_file`` and by LIBSVM's and LIBLINEAR's programs.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Finite numbers; zeros are left out.
    y : array-like of shape (n_samples,)
        Labels or targets: finite numbers.
    path : str or path-like
        The file; it appears whole or not at all. Ending in ``.gz``, ``.bz2`` or ``.xz`` it is compressed.
    zero_based : bool, default=False
        Whether columns are counted from 0; LIBSVM counts from 1.

    Raises
    ------
    ValueError
        If a value is not finite, a label is no number, or X and y have different lengths.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import io
    >>> with TemporaryDirectory() as folder:
    ...     io.save_svmlight([[0.5, 0.0, 0.1], [0.0, 1.0, 0.0]], [1, -1], Path(folder, "small.svm"))
    ...     print(Path(folder, "small.svm").read_text(), end="")
    1 1:0.5 3:0.1
    -1 2:1
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=0)
    labels = _labels(y, X.shape[0])
    with replacing(path) as file, _compressed(file, Path(path).suffix.lower()) as out:
        for first in range(0, X.shape[0], BLOCK):
            rows = sp.csr_array(X[first : first + BLOCK])
            out.write(_text(rows, labels[first : first + BLOCK], 0 if zero_based else 1))


def _labels(y: Any, n: int) -> Array:
    labels = column_or_1d(y)
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"the labels of svmlight files are numbers, got {labels[:3].tolist()}; encode them, for example with "
            "sklearn.preprocessing.LabelEncoder"
        )
    if len(labels) != n:
        raise ValueError(f"X has {n} rows, but y has {len(labels)} labels")
    if not np.isfinite(labels).all():
        raise ValueError("a label is not finite; fill in or remove such rows")
    return labels


def _compressed(file: IO[bytes], suffix: str) -> Any:
    """The file to write text to, which compresses it as the name asks."""
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="")
    if suffix == ".bz2":
        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    return nullcontext(file)


def _text(rows: RowData, labels: Array, base: int) -> bytes:
    rows.sort_indices()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    out = io.StringIO()
    columns, values = (rows.indices + base).tolist(), [_numeral(v) for v in rows.data.astype(np.float64).tolist()]
    for label, start, end in zip(labels.tolist(), rows.indptr[:-1], rows.indptr[1:], strict=True):
        pairs = [f" {columns[i]}:{values[i]}" for i in range(start, end)]
        out.write(f"{_numeral(label)}{''.join(pairs)}\n")
    return out.getvalue().encode()


def _numeral(value: float | int | bool) -> str:
    """The shortest text that stands for exactly this number."""
    text = repr(int(value)) if isinstance(value, bool | int) else repr(float(value))
    return text.removesuffix(".0")
