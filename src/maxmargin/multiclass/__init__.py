"""Schemes for many classes: ``tasks(label)`` before training, ``decide(scores)`` and ``couple(p)`` after.

See "Schemes for many classes" in ``docs/theory.md``.
"""

from maxmargin.multiclass._choose import BINARY, LIKELIHOOD, MARGIN, SINGLE, make_scheme
from maxmargin.multiclass._code import CodeWords, make_words
from maxmargin.multiclass._ovo import OneVsOne
from maxmargin.multiclass._ovr import OneVsRest
from maxmargin.multiclass._scheme import LEAST_PROBABILITY, BinaryTask, Fired, Scheme

__all__ = [
    "BINARY",
    "LEAST_PROBABILITY",
    "LIKELIHOOD",
    "MARGIN",
    "SINGLE",
    "BinaryTask",
    "CodeWords",
    "Fired",
    "OneVsOne",
    "OneVsRest",
    "Scheme",
    "make_scheme",
    "make_words",
]
