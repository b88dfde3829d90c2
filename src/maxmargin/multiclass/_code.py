"""Binary code words: every class has a word, every bit is a task, and the nearest word wins.

Papers: Dietterich and Bakiri 1995 (exhaustive words), Allwein, Schapire and Singer 2000 (random words, decoding).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.multiclass._scheme import BinaryTask, Scheme, normalised, positive_against_rest, squeezed

#: Random words: bits per log2 of the number of classes, and the number of sets drawn to choose the best from.
BITS, DRAWS = 10, 100
#: Most classes for exhaustive words, of 2^(classes - 1) - 1 bits.
MOST_EXHAUSTIVE = 10
NAMES = ("one-hot", "random", "exhaustive")


@dataclass(frozen=True)
class CodeWords(Scheme):
    """``words`` (classes, bits) hold -1 and +1; two classes need one bit, whatever the words."""

    words: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def claimed(self) -> IntArray | None:
        k, yes = self.n_classes, self.words > 0
        one_hot = self.words.shape == (k, k) and (yes.sum(axis=0) == 1).all() and (yes.sum(axis=1) == 1).all()
        return np.argmax(yes, axis=0) if one_hot else None

    def tasks(self, label: IntArray) -> list[BinaryTask]:
        """A task per bit, with all rows."""
        rows = np.arange(len(label))
        if self.n_classes == 2:
            return [BinaryTask(rows, positive_against_rest(label, 1), (1, 0))]
        positive = [np.flatnonzero(bit > 0) for bit in self.words.T]
        return [
            BinaryTask(rows, bit[label], (int(own[0]) if len(own) == 1 else -1, -1))
            for bit, own in zip(self.words.T, positive, strict=True)
        ]

    def _names(self, shown: list[str]) -> list[str]:
        return [f"bit {k}" for k in range(self.words.shape[1])] if self.claimed is None else super()._names(shown)

    def decide(self, scores: FloatArray) -> FloatArray:
        """Minus the number of bits that differ; between equally near words the correlation with the scores decides.

        With one bit per class the largest score wins, whether one task claims the row, or several, or none.
        """
        said = np.where(scores > 0, 1.0, -1.0)
        differing = (self.words.shape[1] - said @ self.words.T) / 2
        return squeezed(scores @ self.words.T) - differing

    def couple(self, p: FloatArray) -> FloatArray:
        """Least squares: the distribution over classes that explains the bits' probabilities best.

        min ||A q - p||^2 with sum q = 1, A having a 1 where a class's bit is +1; what falls below 0 is cut off.
        """
        if self.claimed is not None:
            return normalised(p[:, np.argsort(self.claimed)])
        k = self.n_classes
        A = np.where(self.words.T > 0, 1.0, 0.0)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k], system[:k, k], system[k, :k] = A.T @ A, 1.0, 1.0
        right = np.vstack([A.T @ p.T, np.ones((1, len(p)))])
        return normalised(np.maximum(np.linalg.lstsq(system, right, rcond=None)[0][:k].T, 0.0))


def make_words(chosen: Any, n_classes: int, seed: int) -> FloatArray:
    """(classes, bits) words of -1 and +1: by name, or the user's own, checked."""
    if isinstance(chosen, str):
        return _named(chosen, n_classes, seed)
    words = np.asarray(chosen)
    if words.ndim != 2 or words.shape[0] != n_classes or words.shape[1] == 0:
        raise ValueError(
            f"code_words needs a matrix with a line for each of the {n_classes} classes and a column per bit; "
            f"got one of shape {words.shape}"
        )
    values = np.unique(words)
    if not (np.isin(values, [0, 1]).all() or np.isin(values, [-1, 1]).all()):
        raise ValueError(f"code_words may have 0 and 1, or -1 and +1; got {values.tolist()}")
    words = np.where(words > 0, 1.0, -1.0)
    _require_useful(words)
    return words


def _require_useful(words: FloatArray) -> None:
    """Raise unless all words differ and every bit takes both values."""
    for a in range(len(words)):
        same = np.flatnonzero((words[a + 1 :] == words[a]).all(axis=1))
        if len(same):
            raise ValueError(
                f"code_words gives classes {a} and {a + 1 + int(same[0])} the same word: nothing could tell them apart"
            )
    constant = np.flatnonzero((words == words[0]).all(axis=0))
    if len(constant):
        raise ValueError(
            f"bit {int(constant[0])} of code_words is the same for all classes: there is nothing to learn; drop it"
        )


def _named(name: str, k: int, seed: int) -> FloatArray:
    if name == "one-hot":
        return 2.0 * np.eye(k) - 1.0
    if name == "exhaustive":
        if k > MOST_EXHAUSTIVE:
            raise ValueError(
                f"exhaustive code words of {k} classes have {2 ** (k - 1) - 1} bits, a machine each; "
                f"use code_words='random', or at most {MOST_EXHAUSTIVE} classes"
            )
        numbers = np.arange(2 ** (k - 1) - 1)  # the first class has only ones, the others every other pattern once
        bits = (numbers[None, :] >> np.arange(k - 2, -1, -1)[:, None]) & 1
        return np.vstack([np.ones(len(numbers)), 2.0 * bits - 1.0])
    if name == "random":
        return _random(k, seed)
    raise ValueError(f"code_words must be one of {', '.join(NAMES)}, or a matrix; got {name!r}")


def _random(k: int, seed: int) -> FloatArray:
    """The best of many draws: the largest distance between the two nearest words, then the fewest such pairs."""
    bits = max(2, int(np.ceil(BITS * np.log2(max(k, 2)))))
    if k <= 4:  # there are no other bits
        return _named("exhaustive", k, seed)
    rng, best, found = np.random.default_rng(seed), (-1.0, 0.0), None
    for _ in range(DRAWS):
        words = rng.choice([-1.0, 1.0], size=(k, bits))
        words = words[:, (words != words[0]).any(axis=0)]
        distance = (words.shape[1] - words @ words.T) / 2
        near = distance[np.triu_indices(k, 1)]
        value = (float(near.min()), -float(np.sum(near == near.min())))
        if value > best and near.min() > 0:
            best, found = value, words
    if found is None:
        raise ValueError(f"no random words tell {k} classes apart; use code_words='one-hot'")
    return found
