"""What rounding can do to a kernel's value: a bound for every pair of rows, from one number for each row.

The computed value of k(x, z) is off by at most ``relative * size(x) * size(z)``, and |k(x, z)| <= size(x) size(z).
For a positive semi-definite kernel ``size`` is the root of the diagonal, which makes the second statement the
Cauchy-Schwarz inequality; both carry over to sums, products, powers and exponentials of kernels, so that every kernel
of the algebra has a bound, at the price of n numbers instead of n^2.

``UNIT`` is the unit roundoff u: one operation is off by at most u, relatively, and a sum of m products by at most
m u / (1 - m u) of the sum of their sizes, in whatever order it is added up (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., chapter 3). The factors below leave some room beyond that. Values from a user's function or a given
matrix are taken as exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._types import FloatArray

#: Unit roundoff of float64.
UNIT = 2.0**-53
#: Relative error allowed to exp, tanh and pow: two units in the last place.
FUNCTION = 4 * UNIT


class Rounding(NamedTuple):
    """Error bound of the computed kernel values of some rows, see above."""

    size: FloatArray  # (n,)
    relative: float


def terms(X: Any) -> int:
    """The largest number of products in the dot product of two of these rows."""
    if sp.issparse(X):
        return int(np.diff(X.indptr).max(initial=0))
    return X.shape[1] if getattr(X, "ndim", 0) == 2 else 0


def summed(m: int) -> float:
    """Higham's gamma_m: the relative error of a sum of m products."""
    return m * UNIT / (1.0 - m * UNIT)
