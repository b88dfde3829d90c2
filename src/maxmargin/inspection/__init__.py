"""Reading fitted models: margins, zones, support vectors, optimality, certain labels, estimates of the error.

Everything is read from the public attributes of maxmargin's and scikit-learn's machines, kernel, linear and stochastic.
"""

from maxmargin.inspection._bounds import (
    MarginErrorBound,
    MistakeBound,
    PegasosBound,
    margin_error_bound,
    mistake_bound,
    pegasos_bound,
    separation,
)
from maxmargin.inspection._certain import CertifiedLabels, certified_labels
from maxmargin.inspection._explain import Explanation, TaskExplanation, explain
from maxmargin.inspection._kkt import CONDITIONS, KKT, TaskKKT, kkt
from maxmargin.inspection._lagrangian import Lagrangian, TaskLagrangian, lagrangian
from maxmargin.inspection._least_mistakes import LeastMistakes, least_mistakes
from maxmargin.inspection._leave_one_out import LeaveOneOut, leave_one_out
from maxmargin.inspection._margins import ZONES, Margins, margins, zones
from maxmargin.inspection._model import tolerance
from maxmargin.inspection._scatter import ScatterMatrices, scatter_matrices
from maxmargin.inspection._status import STATUSES, Statuses, status, support_table

__all__ = [
    "CONDITIONS",
    "KKT",
    "STATUSES",
    "ZONES",
    "CertifiedLabels",
    "Explanation",
    "Lagrangian",
    "LeastMistakes",
    "LeaveOneOut",
    "MarginErrorBound",
    "Margins",
    "MistakeBound",
    "PegasosBound",
    "ScatterMatrices",
    "Statuses",
    "TaskExplanation",
    "TaskKKT",
    "TaskLagrangian",
    "certified_labels",
    "explain",
    "kkt",
    "lagrangian",
    "least_mistakes",
    "leave_one_out",
    "margin_error_bound",
    "margins",
    "mistake_bound",
    "pegasos_bound",
    "scatter_matrices",
    "separation",
    "status",
    "support_table",
    "tolerance",
    "zones",
]
