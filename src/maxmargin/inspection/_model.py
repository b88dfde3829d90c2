"""The fitted models that inspection reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import delivered
from maxmargin.delivered import KERNEL, LINEAR, Fitted, machine_of


def read(model: Any) -> Fitted:
    """The tasks of a fitted model."""
    if machine_of(model, (*KERNEL, *LINEAR)) is None:
        raise TypeError(
            f"inspection reads {', '.join((*KERNEL, *LINEAR))}, maxmargin's and scikit-learn's; got "
            f"{type(model).__name__}. Of a pipeline, pass its last step and the rows as they reach it"
        )
    return delivered.read(model)


def read_classifier(model: Any, what: str, scores_only: bool = False) -> Fitted:
    """The tasks of a classifier with two-class tasks; ``what`` says what they are needed for.

    ``scores_only``: whether that needs nothing but scores, which for two classes are those of a task in any problem.
    """
    fitted = read(model)
    if fitted.classes is None:
        raise TypeError(f"{what} is for classifiers; got {type(model).__name__}, which has no classes")
    if fitted.single and not (scores_only and len(fitted.classes) == 2):
        raise ValueError(
            f"{what} is for two-class tasks, and multiclass={fitted.multiclass!r} is one problem for all classes; fit "
            "with multiclass='ovo', 'ovr' or 'code'"
        )
    return fitted


def squeezed(values: Any) -> Any:
    """(n, 1) to (n,), and arrays of one number to that number; everything else as it is."""
    values = np.asarray(values)
    if values.ndim == 2 and values.shape[1] == 1:
        return values[:, 0]
    return values[0].item() if values.ndim == 1 and len(values) == 1 else values
