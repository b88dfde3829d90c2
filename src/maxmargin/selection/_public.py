"""The searches, one for every machine that has a strength to choose."""

from __future__ import annotations

from maxmargin.estimators import SVC, SVR, LinearSVC, LinearSVR
from maxmargin.selection._search import CrossValidated, searches


@searches(SVC, "C", Cs="C", gammas="gamma")
class SVCCV(CrossValidated):
    """SVC with C and kernel parameters chosen by cross-validation."""


@searches(SVR, "C", Cs="C", gammas="gamma")
class SVRCV(CrossValidated):
    """SVR with C and kernel parameters chosen by cross-validation."""


@searches(LinearSVC, "C", Cs="C")
class LinearSVCCV(CrossValidated):
    """LinearSVC with C chosen by cross-validation."""


@searches(LinearSVR, "C", Cs="C")
class LinearSVRCV(CrossValidated):
    """LinearSVR with C chosen by cross-validation."""
