"""A fitted model with its training data, whatever the family."""

from __future__ import annotations

from typing import Any

from maxmargin._types import RowData
from maxmargin.delivered._kernel_training import KernelTrained
from maxmargin.delivered._linear_training import LinearTrained
from maxmargin.delivered._machines import LINEAR_CLASSIFIERS, LINEAR_REGRESSORS, machine_of


def trained(
    model: Any, X: RowData, y: Any = None, sample_weight: Any = None, C: float | None = None
) -> KernelTrained | LinearTrained:
    """What the model delivers on its training data, task by task; ``C`` is for models that do not store theirs."""
    linear = machine_of(model, LINEAR_CLASSIFIERS + LINEAR_REGRESSORS) is not None
    return (LinearTrained if linear else KernelTrained).of(model, X, y, sample_weight, C)
