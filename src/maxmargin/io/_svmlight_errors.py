"""What is wrong with a line of svmlight text, in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from maxmargin.io._files import Lines
from maxmargin.io._numbers import number, problem_with
from maxmargin.io._options import Options

#: Column indices are 32-bit integers, here as in LIBSVM.
MAX_INDEX = 2**31 - 2
LABEL = np.dtype(np.float64)


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
