"""What a fitted model delivers, read once for all who look at it: certificates, inspection, files, ONNX, plots.

:func:`read` says what a model is by itself: its scheme, its tasks and their names, and for every task the coefficients
of support vectors, or weights, and the intercept. :func:`trained` adds the training data, and with them the problem
that every task solved. Both read public attributes, of maxmargin's models and of other libraries'.
"""

from maxmargin.delivered._folds import NOT_FITTED, Basis, FoldModels, FoldTables
from maxmargin.delivered._kernel_training import KernelTrained
from maxmargin.delivered._linear_training import LinearTrained
from maxmargin.delivered._machines import (
    KERNEL,
    LINEAR,
    ON_BOUNDARY,
    has_scheme,
    is_approximation,
    is_ours,
    is_stochastic,
    machine_of,
)
from maxmargin.delivered._model import Fitted, KernelFitted, LinearFitted, read
from maxmargin.delivered._tasks import Delivered, LinearDelivered
from maxmargin.delivered._trained import trained

__all__ = [
    "KERNEL",
    "LINEAR",
    "NOT_FITTED",
    "ON_BOUNDARY",
    "Basis",
    "Delivered",
    "Fitted",
    "FoldModels",
    "FoldTables",
    "KernelFitted",
    "KernelTrained",
    "LinearDelivered",
    "LinearFitted",
    "LinearTrained",
    "has_scheme",
    "is_approximation",
    "is_ours",
    "is_stochastic",
    "machine_of",
    "read",
    "trained",
]
