"""Whether a decision between classes stands for all scores within known bounds."""

from __future__ import annotations

import numpy as np

from maxmargin._types import Array, FloatArray, IntArray
from maxmargin.multiclass import CodeWords, OneVsOne, Scheme


def stands(scheme: Scheme, label: IntArray, low: FloatArray, high: FloatArray, sums_break_ties: bool = True) -> Array:
    """Whether scores (n, tasks) anywhere between ``low`` and ``high`` decide for ``label``.

    ``sums_break_ties``: whether equal votes are decided by the summed scores; if not, they are never certain.
    """
    if scheme.n_classes == 2:
        return np.where(label == 1, low[:, 0] > 0, high[:, 0] < 0)
    certain = np.zeros(len(label), dtype=bool)
    for k in range(scheme.n_classes):
        own = np.flatnonzero(label == k)
        if len(own):
            certain[own] = _wins(scheme, k, low[own], high[own], sums_break_ties)
    return certain


def _wins(scheme: Scheme, k: int, low: FloatArray, high: FloatArray, sums_break_ties: bool) -> Array:
    """Whether class ``k`` beats every other one."""
    if isinstance(scheme, (OneVsOne, CodeWords)):
        words = _ovo_words(scheme) if isinstance(scheme, OneVsOne) else scheme.words
        return _beats(words[k] - np.delete(words, k, axis=0), low, high, sums_break_ties)
    others = np.delete(high, k, axis=1)
    return low[:, k] > others.max(axis=1)


def _ovo_words(scheme: OneVsOne) -> FloatArray:
    """(classes, pairs): +1 and -1 for the two classes of a pair, 0 for all others, so that agreements are votes."""
    words = np.zeros((scheme.n_classes, len(scheme.pairs)))
    for number, (a, b) in enumerate(scheme.pairs):
        words[a, number], words[b, number] = 1.0, -1.0
    return words


def _beats(lead: FloatArray, low: FloatArray, high: FloatArray, sums_break_ties: bool) -> Array:
    """Whether sum_t lead_t sign(f_t) > 0, or = 0 and then sum_t lead_t f_t > 0, for every row of ``lead``.

    ``lead`` (rivals, tasks) is the difference of the winner's word and a rival's. Bits that agree with the winner's
    count for it; the others count against it, and so do those whose sign is not certain.
    """
    sure = np.where(low > 0, 1.0, np.where(high < 0, -1.0, 0.0))
    votes = sure @ lead.T - (sure == 0) @ np.abs(lead.T)
    ahead = votes > 0
    if sums_break_ties:
        worst = np.where(lead > 0, 1.0, 0.0), np.where(lead < 0, 1.0, 0.0)
        finite_low, finite_high = np.maximum(low, -1e300), np.minimum(high, 1e300)
        sums = finite_low @ (worst[0] * lead).T + finite_high @ (worst[1] * lead).T
        ahead |= (votes == 0) & (sums > 0)
    return ahead.all(axis=1)
