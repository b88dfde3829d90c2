"""Certificates: how far from optimal a model can be at most, computed from the data in float64.

The judge shares no code with the accused: this package knows kernels (their NumPy meaning) and problems (their
objectives), and imports neither solvers nor back ends. For a feasible dual point the gap primal - dual bounds the
distance to the optimum; it is computed as a sum of non-negative Fenchel-Young terms, one per row.
"""

from maxmargin.certificates._all_classes import judge_all_classes
from maxmargin.certificates._approximation import is_approximation, judge_approximation
from maxmargin.certificates._certificate import Certificate, Definiteness, worst
from maxmargin.certificates._certify import certify, certify_tasks
from maxmargin.certificates._kernel import (
    bounded_scores,
    definiteness,
    judge,
    judge_all,
    must_recompute,
    recomputed_scores,
    scores_at,
    scores_of,
    take,
    union,
)
from maxmargin.certificates._linear import LinearDelivered, judge_linear, judge_linear_all_classes
from maxmargin.certificates._linear_models import (
    Scaling,
    all_classes_task,
    is_linear_model,
    linear_tasks,
    training_rows,
    weights_of,
)

__all__ = [
    "Certificate",
    "Definiteness",
    "LinearDelivered",
    "Scaling",
    "all_classes_task",
    "bounded_scores",
    "certify",
    "certify_tasks",
    "definiteness",
    "is_approximation",
    "is_linear_model",
    "judge",
    "judge_all",
    "judge_all_classes",
    "judge_approximation",
    "judge_linear",
    "judge_linear_all_classes",
    "linear_tasks",
    "must_recompute",
    "recomputed_scores",
    "scores_at",
    "scores_of",
    "take",
    "training_rows",
    "union",
    "weights_of",
    "worst",
]
