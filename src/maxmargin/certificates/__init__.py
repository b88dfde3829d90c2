"""Certificates: how far from optimal a model can be at most, computed from the data in float64.

The judge shares no code with the accused: this package knows kernels (their NumPy meaning) and problems (their
objectives), and imports neither solvers nor back ends. For a feasible dual point the gap primal - dual bounds the
distance to the optimum; it is computed as a sum of non-negative Fenchel-Young terms, one per row.

See "Duality gap" in ``docs/theory.md``.
"""

from maxmargin._validation import Scaling
from maxmargin.certificates._approximation import judge_approximation
from maxmargin.certificates._certificate import Certificate, Definiteness, worst
from maxmargin.certificates._certify import certify, certify_tasks
from maxmargin.certificates._kernel import (
    definiteness,
    judge,
    judge_all,
    judge_kernel_all_classes,
    judge_soft_margins,
    must_recompute,
)
from maxmargin.certificates._linear import judge_linear, judge_linear_all_classes, shrunk
from maxmargin.certificates._linear_parts import (
    LinearPart,
    joined_linear,
    joined_sums,
    largest_values,
    linear_part,
    linear_sums,
)
from maxmargin.certificates._parts import PartValues, ScoreParts, joined_certificate, part_values
from maxmargin.certificates._scores import (
    ROOM,
    Scores,
    doubtful_rows,
    proven_scores,
    recomputed_scores,
    scores_at,
    scores_of,
    soft_margin_scores,
    take,
    union,
)

__all__ = [
    "ROOM",
    "Certificate",
    "Definiteness",
    "LinearPart",
    "PartValues",
    "Scaling",
    "ScoreParts",
    "Scores",
    "certify",
    "certify_tasks",
    "definiteness",
    "doubtful_rows",
    "joined_certificate",
    "joined_linear",
    "joined_sums",
    "judge",
    "judge_all",
    "judge_approximation",
    "judge_kernel_all_classes",
    "judge_linear",
    "judge_linear_all_classes",
    "judge_soft_margins",
    "largest_values",
    "linear_part",
    "linear_sums",
    "must_recompute",
    "part_values",
    "proven_scores",
    "recomputed_scores",
    "scores_at",
    "scores_of",
    "shrunk",
    "soft_margin_scores",
    "take",
    "union",
    "worst",
]
