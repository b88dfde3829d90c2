"""Bits under concurrent Python threads: ``python -m benchmarks.campaign.threads`` (``make threads``).

A trial fits one machine of every kind on data of its seed, in one thread and then in several threads side by side,
among them other fits, and compares coefficients, scores and certificates bit by bit.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.campaign._trials import Failure, Kind, run

#: Threads that fit at the same time.
THREADS = 4


def machines() -> list[Any]:
    """One of every kind, on one thread each: the number of threads is part of what bits depend on."""
    return [
        mm.SVC(C=10.0, n_jobs=1),
        mm.SVC(kernel="linear", C=np.inf, n_jobs=1),
        mm.SVC(multiclass="crammer-singer", n_jobs=1),
        mm.NuSVC(nu=0.2, n_jobs=1),
        mm.LinearSVC(n_jobs=1),
        mm.LinearClassifier("logistic", n_jobs=1),
        mm.SGDSVC(max_iter=3, random_state=0, n_jobs=1),
        mm.KernelPegasosSVC(max_iter=2, random_state=0, n_jobs=1),
        mm.LSSVC(n_jobs=1),
        mm.KernelDiscriminantAnalysis(n_jobs=1),
        mm.SVR(C=5.0, n_jobs=1),
        mm.NuSVR(n_jobs=1),
        mm.KernelLeastSquares(n_jobs=1),
        mm.OneClassSVM(n_jobs=1),
        mm.SVDD(n_jobs=1),
    ]


def fitted(seed: int) -> list[tuple[str, bytes]]:
    """(machine, the bits of all it says) for data of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 300))
    X = rng.normal(size=(n, int(rng.integers(1, 8))))
    label = (X.sum(axis=1) > 0).astype(int)
    X[:, 0] += 3.0 * label  # apart, for the hard margin
    return [(type(machine).__name__, bits_of(machine, X, label)) for machine in machines()]


def bits_of(machine: Any, X: np.ndarray, label: np.ndarray) -> bytes:
    """Scores and certificate of the fitted machine, or the error in its place, as bytes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            machine.fit(X, label)
        except ValueError as error:
            return str(error).encode()
    asked = next(name for name in ("decision_function", "predict", "transform") if hasattr(machine, name))
    scores = np.ascontiguousarray(getattr(machine, asked)(X))
    return scores.tobytes() + repr(getattr(machine, "certificate_", None)).encode()


def trial(seed: int) -> str:
    """The same bits alone and in company."""
    alone = in_threads([seed])[0]
    for number, found in enumerate(in_threads([seed] * (THREADS - 1) + [seed + 1])[:-1]):
        for (name, one), (_, other) in zip(alone, found, strict=True):
            if one != other:
                raise Failure(f"{name} in thread {number} of {THREADS} has other bits than alone")
    return "equal"


def in_threads(seeds: list[int], work: Callable[[int], Any] = fitted) -> list[Any]:
    """The work of all seeds, each in a thread of its own, at the same time."""
    found: list[Any] = [None] * len(seeds)

    def one(place: int) -> None:
        try:
            found[place] = work(seeds[place])
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=one, args=(place,)) for place in range(len(seeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for outcome in found:
        if isinstance(outcome, Exception):
            raise outcome
    return found


KINDS = {"fits": Kind(500, trial)}

if __name__ == "__main__":
    sys.exit(run("threads", KINDS, __doc__))
