"""svmlight/LIBSVM text, both ways: as CSR chunks, and written with all digits.

scikit-learn parses a block of lines at once. Only when it objects, or when something it lets pass stands in the
block, are the lines looked at one by one to say which is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from maxmargin._types import Array, RowData
from maxmargin.io._files import Lines, blocks, numbered, replacing
from maxmargin.io._table import Chunk, Options
from maxmargin.io._text import number, problem_with

#: Column indices are 32-bit integers, here as in LIBSVM.
MAX_INDEX = 2**31 - 2
LABEL = np.dtype(np.float64)
#: What scikit-learn lets pass: queries, and the underscores of Python's numbers.
UNSEEN = (b"qid", b"_")


def chunks(path: Path, options: Options) -> Iterator[Chunk]:
    """The file, ``options.rows`` rows at a time."""
    n_features = options.n_features or counted(path, options)
    for block in blocks(numbered(path, content), options.rows):
        yield parsed(path, block, n_features, options)


def content(line: bytes) -> bytes:
    """What stands before the comment."""
    return line.partition(b"#")[0].strip()


def counted(path: Path, options: Options) -> int:
    """Number of columns, from one pass over the file, line by line."""
    if not path.is_file():
        raise ValueError(f"{path} can be read only once, so its columns cannot be counted first; pass n_features=")
    first = 0 if options.zero_based else 1
    n_features, some = 0, False
    for line_number, line in numbered(path, content):
        some = True
        last = last_index(content(line), first)
        if last is None:
            raise complaint(path, [(line_number, line)], None, options)
        n_features = max(n_features, last + 1 - first)
    if some and n_features == 0:
        raise ValueError(f"{path}: no line has a feature, so there are no columns to count; pass n_features=")
    return max(n_features, 1)


def last_index(text: bytes, first: int) -> int | None:
    """The largest index of a line, ``first`` - 1 if it has none, None if it is wrong."""
    # indices increase within a line (the second pass insists), so the last is the largest
    _, *pair = text.rsplit(None, 1)
    if not pair:
        return first - 1
    try:
        index = int(pair[0][: pair[0].index(b":")])
    except ValueError:
        return None
    return index if first <= index <= MAX_INDEX else None


def parsed(path: Path, block: Lines, n_features: int, options: Options) -> Chunk:
    """The rows of a block of lines."""
    from sklearn.datasets import load_svmlight_file

    text = b"".join(line for _, line in block)
    if any(word in text for word in UNSEEN):
        suspects = [line for line in block if any(word in content(line[1]) for word in UNSEEN)]
        if suspects:
            raise complaint(path, suspects, n_features, options)
    try:
        X, y = load_svmlight_file(
            BytesIO(text), n_features=n_features, dtype=options.dtype, zero_based=options.zero_based
        )
    except (ValueError, OverflowError) as error:
        raise complaint(path, block, n_features, options, error) from None
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise complaint(path, block, n_features, options)
    return Chunk(compact(X), y)


def compact(X: sp.csr_array | sp.csr_matrix) -> sp.csr_matrix:
    """The same with the 32-bit indices that compiled code expects, wherever they suffice."""
    if X.nnz > MAX_INDEX:
        return sp.csr_matrix(X)
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def complaint(
    path: Path, block: Lines, n_features: int | None, options: Options, cause: Exception | None = None
) -> ValueError:
    """The error that names the first bad line of the block."""
    for line_number, line in block:
        problem = problem_of(line, n_features, options)
        if problem:
            return ValueError(f"{path}, line {line_number}: {problem}")
    return ValueError(
        f"{path}, lines {block[0][0]} to {block[-1][0]}: not svmlight text ({cause}); "
        "a line reads 'label index:value index:value ...'"
    )


def problem_of(line: bytes, n_features: int | None, options: Options) -> str:
    """What is wrong with one line, and what to do; empty if nothing is."""
    label, *pairs = line.partition(b"#")[0].decode(errors="backslashreplace").split()
    if number(label) is None:
        return f"the label {label!r} is not a number; a line reads 'label index:value index:value ...' with one label"
    if problem := problem_with(label, LABEL):
        return f"the label {problem}"
    for pair in pairs:
        if problem := problem_of_pair(pair, options):
            return problem
    return problem_of_indices([int(pair.partition(":")[0]) for pair in pairs], n_features, options.zero_based)


def problem_of_pair(pair: str, options: Options) -> str:
    """What is wrong with one 'index:value', looked at by itself."""
    index, colon, value = pair.partition(":")
    if index == "qid":
        return f"{pair!r} marks a query for ranking, which cannot be learned here; remove the qid entries"
    try:
        whole = colon and "_" not in index and int(index) is not None
    except ValueError:
        whole = False
    if not whole:
        return f"{pair!r} is not index:value with a whole number as its index; correct or remove it"
    problem = problem_with(value, options.dtype)
    return problem and f"in {pair!r} the value is wrong: {problem}"


def problem_of_indices(indices: list[int], n_features: int | None, zero_based: bool) -> str:
    """What is wrong with the column indices of a line."""
    first = 0 if zero_based else 1
    for before, index in zip([None, *indices], indices, strict=False):
        if index < first:
            remedy = "if this file counts from 0, pass zero_based=True" if index == 0 else "correct it"
            return f"the index {index} is below {first}, the first column; {remedy}"
        if before is not None and index <= before:
            return f"the index {index} follows {before}; indices must increase within a line, so sort them"
    if indices and indices[-1] > MAX_INDEX:
        return f"the index {indices[-1]} is beyond {MAX_INDEX}, the largest possible; renumber the columns"
    if n_features is not None and indices and indices[-1] > n_features - 1 + first:
        return (
            f"the index {indices[-1]} is beyond the last column, {n_features - 1 + first}, of n_features={n_features}; "
            f"pass n_features={indices[-1] + 1 - first} or more, or None to have the columns counted"
        )
    return ""


# -- Data as svmlight text, with all digits: what is read again is what was written, here and in LIBSVM -------------


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
    from sklearn.utils import check_array  # a reader of data need not wait for it

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_features=0)
    labels = _labels(y, X.shape[0])
    with replacing(path) as file, _compressed(file, Path(path).suffix.lower()) as out:
        for first in range(0, X.shape[0], BLOCK):
            rows = sp.csr_array(X[first : first + BLOCK])
            out.write(_text(rows, labels[first : first + BLOCK], 0 if zero_based else 1))


def _labels(y: Any, n: int) -> Array:
    from sklearn.utils.validation import column_or_1d

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
        import gzip

        return gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="")
    if suffix == ".bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if suffix == ".xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    return nullcontext(file)


def _text(rows: RowData, labels: Array, base: int) -> bytes:
    rows.sort_indices()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    out = StringIO()
    columns, values = (rows.indices + base).tolist(), [_numeral(v) for v in rows.data.astype(np.float64).tolist()]
    for label, start, end in zip(labels.tolist(), rows.indptr[:-1], rows.indptr[1:], strict=True):
        pairs = [f" {columns[i]}:{values[i]}" for i in range(start, end)]
        out.write(f"{_numeral(label)}{''.join(pairs)}\n")
    return out.getvalue().encode()


def _numeral(value: float | int | bool) -> str:
    """The shortest text that stands for exactly this number."""
    text = repr(int(value)) if isinstance(value, bool | int) else repr(float(value))
    return text.removesuffix(".0")
