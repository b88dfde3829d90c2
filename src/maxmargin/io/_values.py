"""What encoder and decoder agree on besides the registry."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

#: Values inside values.
MAX_DEPTH = 100

#: Sparse matrices, by the name that the file gives them.
SPARSE = {kind.__name__: kind for kind in (sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.csc_array)}

#: Classes that stand for a kind of number, as parameters called ``dtype`` do.
TYPES: dict[str, type] = {
    "float": float,
    "int": int,
    "bool": bool,
    "str": str,
    "object": object,
    "numpy.number": np.number,
    **{f"numpy.{kind.__name__}": kind for kind in (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64)},
    **{f"numpy.{kind.__name__}": kind for kind in (np.uint8, np.uint16, np.uint32, np.uint64, np.bool_)},
}


def fits_64_bits(value: int) -> bool:
    """Whether a whole number is one that files hold."""
    return -(2**63) <= value < 2**64
