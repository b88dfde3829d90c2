"""Schemes that turn many classes into two: ``tasks(label)`` before training, ``decide(scores)`` after."""

from maxmargin.multiclass._ovo import BinaryTask, OneVsOne
from maxmargin.multiclass._ovr import OneVsRest

__all__ = ["BinaryTask", "OneVsOne", "OneVsRest"]
