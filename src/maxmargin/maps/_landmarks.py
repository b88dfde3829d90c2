"""Landmarks: the rows that stand for all others in a Nystroem approximation.

Copies of a row count as one row with the sum of their weights, and candidates are ordered by their values, not by
their position: the same draw falls on the same rows however the data are ordered or repeated.

'uniform'
    Rows drawn without replacement, in proportion to their weights (Williams and Seeger 2001).
'k-means++'
    Rows far from those already drawn: in proportion to the weight times the squared distance to the nearest one in
    the kernel's own feature space (Arthur and Vassilvitskii 2007). The first 16 are drawn one by one, then an eighth
    of those already there at a time, as in k-means|| (Bahmani et al. 2012): n count kernel values, in large blocks.
'leverage'
    Rows that others cannot stand in for: in proportion to approximate ridge leverage scores, the diagonal of
    K (K + lam I)^-1, from a uniform sketch of rows (Musco and Musco 2017, lemma 6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from maxmargin._rows import count as count_rows
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin.backends import Backend, Rows, backend_for, float32_is_safe
from maxmargin.kernels import Kernel, Precomputed, Program
from maxmargin.maps._base import in_blocks, require_finite

LANDMARK_METHODS = ("uniform", "k-means++", "leverage")
#: Landmarks already drawn for each one that 'k-means++' draws at the same time.
DRAWN_PER_NEW = 8
#: Rows of the sketch that leverage scores are computed from: per landmark, at least, and at most.
SKETCH_PER_LANDMARK, SKETCH_LEAST, SKETCH_LARGEST = 4, 256, 1024
#: Squared distances, and ridges, below this share of the largest kernel value (eigenvalue) are rounding.
ROUNDING = 1e-12


def choose_landmarks(
    kernel: Kernel,
    X: RowData,
    count: int,
    method: str,
    rng: np.random.Generator,
    weight: FloatArray | None = None,
    threads: int = 1,
) -> IntArray:
    """Numbers of at most ``count`` different rows of X.

    There are fewer only if X has fewer different rows (for 'k-means++' and 'leverage': different to the kernel).

    Parameters
    ----------
    kernel : Kernel
        The kernel, without open widths. With :class:`~maxmargin.kernels.Precomputed`, X is the square matrix of values.
    X : array, CSR matrix or sequence of n rows
        Candidates.
    count : int
        Landmarks wanted.
    method : {'uniform', 'k-means++', 'leverage'}
        How they are drawn; see the top of this module.
    rng : numpy.random.Generator
        Random numbers.
    weight : array of shape (n,) or None
        How often each row counts; rows of weight <= 0 are not candidates.
    threads : int
        Threads that compute kernel values.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.kernels import Gaussian
    >>> X = np.array([[0.0], [0.0], [0.1], [9.0]])
    >>> rows = choose_landmarks(Gaussian(1.0), X, 2, "k-means++", np.random.default_rng(1))
    >>> sorted(X[rows].ravel().round().tolist())
    [0.0, 9.0]
    """
    if method not in LANDMARK_METHODS:
        raise ValueError(f"landmarks must be one of {LANDMARK_METHODS}, got {method!r}")
    rows, weight = distinct_rows(kernel, X, weight)
    if len(rows) <= count:
        return rows
    if method == "uniform":
        return rows[draw(rng, weight, count)]
    data = Candidates.of(kernel, X, threads)
    drawn = (_spread if method == "k-means++" else _by_leverage)(data, rows, weight, count, rng)
    return rows[drawn]


def distinct_rows(kernel: Kernel, X: RowData, weight: FloatArray | None) -> tuple[IntArray, FloatArray]:
    """(numbers of rows that differ, the summed weights of their copies), in an order that depends on values alone."""
    weight = np.ones(count_rows(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    kept = np.flatnonzero(weight > 0)
    if isinstance(kernel, Precomputed) or not hasattr(X, "shape"):  # no values to compare
        return kept, weight[kept]
    backend = backend_for("cpu")
    keys = backend.row_keys(backend.design(X).X)[kept]
    _, first, copy_of = np.unique(keys, return_index=True, return_inverse=True)
    return kept[first], np.bincount(copy_of, weights=weight[kept]).astype(np.float64)


def draw(rng: np.random.Generator, chance: FloatArray, count: int) -> IntArray:
    """At most ``count`` different positions, drawn in proportion to ``chance``; never one whose chance is 0.

    The smallest of exponential times with rates ``chance`` (Efraimidis and Spirakis 2006).
    """
    times = rng.standard_exponential(len(chance))
    possible = np.flatnonzero(chance > 0)
    return possible[np.argsort(times[possible] / chance[possible])[:count]]


@dataclass(frozen=True)
class Candidates:
    """Rows as the back end wants them, and their k(x, x)."""

    backend: Backend
    program: Program
    rows: Rows
    diagonal: FloatArray
    threads: int

    @classmethod
    def of(cls, kernel: Kernel, X: RowData, threads: int) -> Candidates:
        """Float32 rows stay so where that is safe."""
        narrow = getattr(X, "dtype", None) == np.float32 and float32_is_safe(kernel, X)
        backend, program = backend_for("cpu"), kernel.lower()
        rows = backend.prepare(program, X, dtype=np.float32 if narrow else np.float64)
        diagonal = kernel.diag(X)
        require_finite(diagonal, "kernel values")
        return cls(backend, program, rows, diagonal, threads)

    def values(self, index: IntArray) -> FloatArray:
        """(q, q) values among the rows ``index``, in float64."""
        values = self.backend.symmetric_tile(self.program, self.rows.take(index), self.threads).astype(np.float64)
        np.fill_diagonal(values, self.diagonal[index])
        return values

    def bring_near(self, distance: FloatArray, index: IntArray) -> None:
        """distance_i = min(distance_i, least squared distance to the rows ``index``), in place."""
        centres = self.rows.take(index)

        def fill(first: int, last: int) -> None:
            values = self.backend.tile(self.program, centres, self.rows.slice(first, last))
            nearest = (self.diagonal[index][:, None] - 2.0 * values).min(axis=0) + self.diagonal[first:last]
            np.minimum(distance[first:last], nearest, out=distance[first:last])

        in_blocks(fill, self.rows.n, len(index), self.threads)
        distance[index] = 0.0

    def unexplained(self, index: IntArray, basis: FloatArray) -> FloatArray:
        """k(x, x) - ||k_index(x) basis||^2 of every row."""
        out = self.diagonal.astype(np.float64)
        sketch = self.rows.take(index)

        def fill(first: int, last: int) -> None:
            values = self.backend.tile(self.program, self.rows.slice(first, last), sketch)
            out[first:last] -= np.square(values @ basis).sum(axis=1)

        in_blocks(fill, self.rows.n, len(index), self.threads)
        return np.maximum(out, 0.0)


def _spread(data: Candidates, rows: IntArray, weight: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Positions drawn in proportion to weight times squared distance to the nearest one already drawn."""
    distance = np.full(data.rows.n, np.inf)
    rounding = ROUNDING * float(np.abs(data.diagonal).max(initial=0.0))
    drawn = new = draw(rng, weight, 1)
    while len(drawn) < count:
        data.bring_near(distance, rows[new])
        away = distance[rows]
        chance = np.where(away > rounding, weight * away, 0.0)
        new = draw(rng, chance, min(count - len(drawn), max(1, len(drawn) // DRAWN_PER_NEW)))
        if len(new) == 0:  # every row coincides with a landmark
            break
        drawn = np.concatenate([drawn, new])
    return drawn


def _by_leverage(
    data: Candidates, rows: IntArray, weight: FloatArray, count: int, rng: np.random.Generator
) -> IntArray:
    """Positions drawn in proportion to ridge leverage scores.

    The ridge is the one at which about ``count`` directions matter: the eigenvalues beyond the first ``count``, summed
    and divided by ``count``. Of s rows drawn in proportion to their weights, K_ss (sum of weights) / s stands for K.
    """
    size = min(len(rows), SKETCH_LARGEST, max(SKETCH_PER_LANDMARK * count, SKETCH_LEAST))
    sketch = rows[draw(rng, weight, size)]
    eigenvalues, vectors = scipy.linalg.eigh(data.values(sketch))
    leading = min(count, size // 2)
    ridge = max(eigenvalues[:-leading].sum() / leading, ROUNDING * eigenvalues[-1])
    if not ridge > 0:  # the kernel is 0 on the sketch: all rows are equally good
        return draw(rng, weight, count)
    basis = vectors / np.sqrt(np.maximum(eigenvalues, 0.0) + ridge)
    scores = weight * data.unexplained(sketch, basis)[rows] * len(sketch) / (weight.sum() * ridge)
    return draw(rng, np.minimum(scores, 1.0), count)
