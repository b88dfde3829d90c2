"""Names for the shapes of data that travel between the layers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
#: Rows of data: a dense array, a CSR matrix, or any sequence a user's own kernel function understands.
RowData: TypeAlias = Any
