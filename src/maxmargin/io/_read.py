"""The front door: find the file, choose the reader, hand its chunks on."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from maxmargin.io import _csv, _parquet, _svmlight
from maxmargin.io._files import format_of, located
from maxmargin.io._options import Chunk, Options

#: By format; each takes the file and the options.
READERS: dict[str, Callable[[Path, Options], Iterator[Chunk]]] = {
    "svmlight": _svmlight.chunks,
    "csv": _csv.chunks,
    "parquet": _parquet.chunks,
}


def read_chunks(
    path: str | os.PathLike[str],
    rows: int = 65536,
    *,
    format: str | None = None,
    target: int | str = -1,
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
    zero_based: bool = False,
    header: bool | None = None,
) -> Generator[Chunk, None, None]:
    """Read a file of any size as a stream of chunks ``(X, y)``, for models that have ``partial_fit``.

    One chunk, its text and little else are in memory at a time. All chunks have the same columns, and all but the
    last exactly ``rows`` rows. A value that is missing, not a number or not finite ends the stream with an error
    that names the file, the line and the value.

    Parameters
    ----------
    path : str or path-like
        The file. Text ending in ``.gz``, ``.bz2`` or ``.xz`` is decompressed on the way.
    rows : int, default=65536
        Rows in a chunk.
    format : {'svmlight', 'csv', 'parquet'}, optional
        By default the name decides: ``.svm``, ``.svmlight``, ``.libsvm`` and ``.txt`` are svmlight, ``.csv`` and
        ``.tsv`` (separated by tabs) are CSV, ``.parquet`` is Parquet (``pip install maxmargin[parquet]``).
    target : int or str, default=-1
        CSV and Parquet: the column of the labels, by name or index; negative ones count from the end. All other
        columns are features.
    n_features : int, optional
        Number of features. svmlight files do not say it: without it the file is read once more, beforehand, to
        count them. Give it where files must agree, such as training and test data. In CSV and Parquet a check.
    dtype : {np.float32, np.float64}, default=np.float32
        Type of X.
    zero_based : bool, default=False
        svmlight: whether the file counts columns from 0; LIBSVM counts from 1.
    header : bool, optional
        CSV: whether the first line holds names. By default it does if one of its cells is text, so a file without
        names whose labels are text needs ``header=False``.

    Returns
    -------
    generator of Chunk
        Named tuples of ``X``, a ``csr_matrix`` from svmlight files and an ndarray from others, and ``y``: float64,
        or strings if a label of the first chunk is not a number.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin.io import read_chunks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.svm")
    ...     lines = path.write_text("+1 1:0.5 3:2  # a comment\\n-1 2:1\\n+1 3:4\\n")
    ...     for X, y in read_chunks(path, rows=2):
    ...         print(X.toarray().tolist(), y.tolist())
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1.0, -1.0]
    [[0.0, 0.0, 4.0]] [1.0]
    """
    options = Options(rows, target, n_features, dtype, zero_based, header)
    file = located(path)
    kind = format_of(file, format)
    options.check_meaning(kind)
    return at_least_one(file, READERS[kind](file, options))


def at_least_one(path: Path, chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The chunks; a file without any is an error, not a loop that silently does nothing."""
    first = next(chunks, None)
    if first is None:
        raise ValueError(f"{path}: the file has no rows of data; check that it was written completely")
    yield first
    del first  # or it would stay in memory as long as the stream
    yield from chunks
