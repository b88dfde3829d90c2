"""svmlight/LIBSVM text as CSR chunks.

scikit-learn parses a block of lines at once. Only when it objects, or when something it lets pass stands in the
block, are the lines looked at one by one to say which is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from maxmargin.io._files import Lines, blocks, numbered
from maxmargin.io._options import Chunk, Options
from maxmargin.io._svmlight_errors import MAX_INDEX, complaint

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
    for number, line in numbered(path, content):
        some = True
        last = last_index(content(line), first)
        if last is None:
            raise complaint(path, [(number, line)], None, options)
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
        suspects = [(number, line) for number, line in block if any(word in content(line) for word in UNSEEN)]
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
