"""One number for all classes: how much sharper, or flatter, a distribution coupled from many tasks should be.

Coupling treats all tasks as if they had been trained on the row's class, which most have not: the result is too flat.
p^s, divided by its sum, keeps the order of the classes; s is fitted to held-out rows by the log loss. With
s = 1 / T that is the temperature T of Guo, Pleiss, Sun and Weinberger 2017.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from maxmargin._types import FloatArray, IntArray

#: Range of log s.
RANGE = (-3.0, 3.0)


def sharpened(p: FloatArray, s: float) -> FloatArray:
    """p^s / sum p^s of every row; p > 0."""
    z = s * np.log(p)
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def fit_sharpness(p: FloatArray, label: IntArray, weight: FloatArray) -> float:
    """The s with the least log loss."""
    rows, logs = np.arange(len(label)), np.log(p)

    def loss(log_s: float) -> float:
        z = np.exp(log_s) * logs
        top = z.max(axis=1)
        return float(weight @ (top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[rows, label]))

    return float(np.exp(minimize_scalar(loss, bounds=RANGE, method="bounded").x))
