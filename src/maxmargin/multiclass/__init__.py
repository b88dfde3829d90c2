"""Schemes for many classes (M21): ``tasks(label)`` before training, ``decide(scores)`` and ``couple(p)`` after."""

from maxmargin.multiclass._choose import BINARY, SINGLE, make_scheme
from maxmargin.multiclass._code import CodeWords, make_words
from maxmargin.multiclass._ovo import OneVsOne
from maxmargin.multiclass._ovr import OneVsRest
from maxmargin.multiclass._scheme import BinaryTask, Fired, Scheme

__all__ = [
    "BINARY",
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
