"""What searches and paths use of the estimators, besides fitting them: public inside the package, and only there.

A search computes with the rows of all folds of a :class:`Machine` at once. For that it checks and scales data as a fit
does (:class:`Training`, :func:`fitted_scaling`, :func:`scaled`), draws as a fit does (:func:`seed_of`), stops as a fit
does (:class:`InterruptFlag`), has its models proven as a fit has (:func:`judged_tasks`), and lets warnings point at the
user's own line (:func:`levels_to_caller`).
"""

from __future__ import annotations

from maxmargin.estimators._caller import levels_to_caller
from maxmargin.estimators._fit import ClassifierFamily, Family, fit
from maxmargin.estimators._interrupt import InterruptFlag
from maxmargin.estimators._kernel_model import KernelModel
from maxmargin.estimators._least_squares import DIRECT_ROWS
from maxmargin.estimators._linear_base import judged_tasks
from maxmargin.estimators._linear_model import LinearFit, published_weights, unscaled, write_fit
from maxmargin.estimators._machine import Labels, Machine, Training, check_target, labels_of, leaves_no_trace, seed_of
from maxmargin.estimators._options import FitOptions
from maxmargin.estimators._progress import history_of
from maxmargin.estimators._proof import Goal
from maxmargin.estimators._scaling import fitted_scaling, require_finite, scaled
from maxmargin.estimators._turns import side_by_side, take_turns

__all__ = [
    "DIRECT_ROWS",
    "ClassifierFamily",
    "Family",
    "FitOptions",
    "Goal",
    "InterruptFlag",
    "KernelModel",
    "Labels",
    "LinearFit",
    "Machine",
    "Training",
    "check_target",
    "fit",
    "fitted_scaling",
    "history_of",
    "judged_tasks",
    "labels_of",
    "leaves_no_trace",
    "levels_to_caller",
    "published_weights",
    "require_finite",
    "scaled",
    "seed_of",
    "side_by_side",
    "take_turns",
    "unscaled",
    "write_fit",
]
