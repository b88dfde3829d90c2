"""Schemes for many classes: ``tasks(label)`` before training, ``decide(scores)`` and ``couple(p)`` after.

See "Schemes for many classes" in ``docs/theory.md``.
"""

from __future__ import annotations

from typing import Any

from maxmargin.multiclass._code import CodeWords, make_words
from maxmargin.multiclass._ovo import OneVsOne
from maxmargin.multiclass._scheme import LEAST_PROBABILITY, BinaryTask, EndToEnd, Fired, OneVsRest, Scheme

__all__ = [
    "BINARY",
    "LEAST_PROBABILITY",
    "LIKELIHOOD",
    "MARGIN",
    "SINGLE",
    "BinaryTask",
    "CodeWords",
    "EndToEnd",
    "Fired",
    "OneVsOne",
    "OneVsRest",
    "Scheme",
    "make_scheme",
    "make_words",
]

#: Schemes that make two-class tasks, and those that solve one problem for all classes.
BINARY, SINGLE = ("ovo", "ovr", "code"), ("crammer-singer", "weston-watkins", "softmax")
#: Those of the single problems whose losses are made of margins, and that with probabilities of its own.
MARGIN, LIKELIHOOD = SINGLE[:2], SINGLE[2]


def make_scheme(name: str, n_classes: int, code_words: Any = "one-hot", seed: int = 0) -> Scheme:
    """The scheme called ``name``; ``code_words`` and ``seed`` are for 'code' only.

    Problems for all classes at once have a score per class, and the largest wins: they decide as one-vs-all does.
    """
    if name == "ovo":
        return OneVsOne(n_classes)
    if name == "code":
        return CodeWords(n_classes, make_words(code_words, n_classes, seed))
    return OneVsRest(n_classes)
