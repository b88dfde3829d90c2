"""From the parameter ``multiclass`` to a scheme."""

from __future__ import annotations

from typing import Any

from maxmargin.multiclass._code import CodeWords, make_words
from maxmargin.multiclass._ovo import OneVsOne
from maxmargin.multiclass._ovr import OneVsRest
from maxmargin.multiclass._scheme import Scheme

#: Schemes that make two-class tasks, and those that are one problem of their own.
BINARY, SINGLE = ("ovo", "ovr", "code"), ("crammer-singer", "weston-watkins")


def make_scheme(name: str, n_classes: int, code_words: Any = "one-hot", seed: int = 0) -> Scheme:
    """The scheme ``name`` for so many classes; ``code_words`` and ``seed`` are for 'code'.

    The single problems have a score per class, of which the largest wins: one-vs-all as far as decisions go.
    """
    if name == "ovo":
        return OneVsOne(n_classes)
    if name == "code":
        return CodeWords(n_classes, make_words(code_words, n_classes, seed))
    return OneVsRest(n_classes)
