"""Spans of support vectors (Vapnik and Chapelle 2000): how far each is from what the others can replace.

For a support vector p, S_p is the distance of phi(x_p) from the set of sums of lambda_i phi(x_i) over the *other* free
support vectors (0 < alpha < C), with sum lambda_i = 1 if there is an intercept. If leaving p out neither frees a bound
support vector, nor binds a free one, nor makes a new one, the score of x_p without p is t_p f(x_p) - alpha_p S_p^2
exactly.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from maxmargin._types import Array, FloatArray
from maxmargin.inspection._status import at_bounds
from maxmargin.inspection._training import Training, TrainingTask

#: Eigenvalues this small relative to the largest count as 0, and so do components of unit vectors.
NOTHING = 1e-10


def left_out_margins(training: Training, task: TrainingTask) -> FloatArray:
    """t_p f(x_p) - alpha_p S_p^2 of every row; where alpha is 0 it stays as it is."""
    idle, bound = at_bounds(task)
    free = np.flatnonzero(~idle & ~bound)
    held = np.flatnonzero(bound & ~idle)
    K = training.values(task.at[free], task.at[free])
    K[np.diag_indices_from(K)] = training.diagonal(task.at[free]) + task.ridge[free]
    cross = training.values(task.at[free], task.at[held])
    own = training.diagonal(task.at[held]) + task.ridge[held]
    squares = np.zeros(len(task.alpha))
    squares[free], squares[held] = spans(K, cross, own, task.fit_intercept)
    margin = 1.0 - task.short
    if task.squared:  # in the space of the kernel with its ridge every support vector is on the margin
        margin = np.where(idle, margin, 1.0)
    return np.where(idle, margin, margin - task.alpha * squares)


def spans(K: FloatArray, cross: FloatArray, own: FloatArray, balanced: bool) -> tuple[FloatArray, FloatArray]:
    """(S^2 of the free support vectors, S^2 of the bound ones).

    ``K`` holds the values among the free, ``cross`` (free, bound) those between both, ``own`` the diagonal of the
    bound. inf where nothing is left to replace the row.
    """
    m = len(K)
    if m == 0:
        return np.zeros(0), np.full(len(own), np.inf) if balanced else own.copy()
    M = _centred(K) if balanced else K
    values, vectors = scipy.linalg.eigh(M)
    real = values > NOTHING * max(float(values[-1]), np.finfo(float).tiny)
    inverse = np.where(real, 1.0 / np.where(real, values, 1.0), 0.0)
    return _free(vectors, inverse, real, balanced), _bound(K, cross, own, vectors, inverse, balanced)


def _free(vectors: FloatArray, inverse: FloatArray, real: Array, balanced: bool) -> FloatArray:
    """min z'Kz with z_p = 1 (and sum z = 0): one over a diagonal entry of the pseudo-inverse, or 0.

    It is 0 where p takes part in a combination that vanishes. Centring makes one combination vanish, (1, ..., 1), which
    has the component 1/m in every p.
    """
    m = len(vectors)
    if balanced and m == 1:
        return np.array([np.inf])
    lost = np.square(vectors[:, ~real]).sum(axis=1) - (1.0 / m if balanced else 0.0)
    diagonal = np.square(vectors) @ inverse
    return np.where(lost > NOTHING, 0.0, 1.0 / np.maximum(diagonal, np.finfo(float).tiny))


def _bound(
    K: FloatArray, cross: FloatArray, own: FloatArray, vectors: FloatArray, inverse: FloatArray, balanced: bool
) -> FloatArray:
    """min ||phi_p - sum lambda_i phi_i||^2 over the free ones, around the mean of these if sum lambda = 1."""
    start = np.full(len(K), 1.0 / len(K)) if balanced else np.zeros(len(K))
    left = cross - (K @ start)[:, None]
    if balanced:
        left = left - left.mean(axis=0)
    gain = np.square(vectors.T @ left).T @ inverse
    return np.maximum(own - 2.0 * start @ cross + start @ K @ start - gain, 0.0)


def _centred(K: FloatArray) -> FloatArray:
    """(I - 11'/m) K (I - 11'/m)."""
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)
