"""One competitor in a process of its own: reads a JSON line with a request, answers with a JSON line.

Requests: ``load``, ``warm``, ``fit``, ``certify``, ``predict``. An error is an answer too: ``{"error": ...}``.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.arena import bound, linear, memory, work
from benchmarks.arena.case import read
from benchmarks.arena.competitors import discover

ENOUGH = 0.2  # seconds: short calls are repeated until they add up to this much ...
MOST = 50  # ... or are this many
WARM_ROWS = 4096  # enough for the methods of large problems


class Session:
    """The state of one worker: data, competitor, and the model fitted last."""

    def load(self, path: str, competitor: str, task: str, params: dict[str, Any]) -> dict[str, Any]:
        """Read the data, note the memory in use, and only then import the competitor."""
        split = read(path)
        self.path, self.task, self.params = path, task, params
        self.y = None if task == "oneclass" else split.y
        self.y_test = split.y if split.X_test is None else split.y_test
        gc.collect()
        self.baseline = memory.current()
        self.side = discover()[competitor]
        start = time.perf_counter()
        self.side.make(task, params, None)
        imported = time.perf_counter() - start
        self.X = self.side.cast(split.X, task)
        self.X_test = self.X if split.X_test is None else self.side.cast(split.X_test, task)
        if task == "svr":
            self.y = split.y.astype(self.X.dtype)
        scored_on = "train" if split.X_test is None else "test"
        return {"rows": self.X.shape[0], "columns": self.X.shape[1], "scored_on": scored_on, "import": imported}

    def warm(self) -> dict[str, Any]:
        """Fit some of the rows, drawn at random: what a first fit does once is done."""
        rows = np.sort(np.random.default_rng(0).permutation(self.X.shape[0])[:WARM_ROWS])
        y = None if self.y is None else self.y[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.side.make(self.task, self.params, None).fit(self.X[rows], y)
        return {}

    def fit(self, tol: float | None, once: bool) -> dict[str, Any]:
        """Fit a fresh estimator; the best of a few fits where one is too short to time."""
        gc.collect()
        memory.reset_peak()

        def one() -> float:
            model = self.side.make(self.task, self.params, tol)
            start = time.perf_counter()
            model.fit(self.X, self.y)
            seconds = time.perf_counter() - start
            self.model = model
            return seconds

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seconds = _best(one, once)
        said = sorted({f"{w.category.__name__}: {str(w.message).splitlines()[0]}" for w in caught})
        grown = max(0.0, memory.peak() - self.baseline)
        values = None if linear.is_linear(self.task) else work.kernel_values(self.model, self.y)
        size = {"support": work.support(self.model), "values": values}
        return {"seconds": seconds, "memory": grown, "warnings": said, "note": self.side.note(self.model)} | size

    def certify(self) -> dict[str, Any]:
        """The float64 certificate of the last model, and what it cost."""
        if linear.is_linear(self.task):
            return self._judge()
        from maxmargin import certify

        X = self.X.astype(np.float64)
        y = self.y.astype(np.float64) if self.y is not None and self.task == "svr" else self.y
        start = time.perf_counter()
        proof: Any = certify(self.model, X, y)
        seconds = time.perf_counter() - start
        return {
            "gap": float(proof.relative_gap),
            "kkt": float(proof.kkt),
            "holds": bool(proof.holds),
            "reason": str(getattr(proof, "reason", "") or ""),
            "seconds": seconds,
        }

    def _judge(self) -> dict[str, Any]:
        """A linear model against the lower bound that lies beside the data."""
        assert self.y is not None
        dual = bound.load(self.path)
        start = time.perf_counter()
        proof = linear.judge(self.model, self.X, self.y, self.task, self.params, dual)
        return proof | {"seconds": time.perf_counter() - start}

    def predict(self) -> dict[str, Any]:
        """Predict the test rows (the training rows where there are none), and the score of that."""

        def one() -> float:
            start = time.perf_counter()
            self.predicted = self.model.predict(self.X_test)
            return time.perf_counter() - start

        seconds = _best(one, once=False)
        return {"seconds": seconds, "rows": self.X_test.shape[0], "score": self._score(np.asarray(self.predicted))}

    def _score(self, predicted: np.ndarray) -> float:
        """Accuracy; R2 of a regression; the share accepted by a one-class machine."""
        if self.task == "oneclass":
            return float(np.mean(predicted == 1))
        assert self.y_test is not None
        if self.task == "svr":
            residual = float(np.sum((self.y_test - predicted) ** 2))
            return 1.0 - residual / float(np.sum((self.y_test - self.y_test.mean()) ** 2))
        return float(np.mean(predicted == self.y_test))


def _best(one: Callable[[], float], once: bool) -> float:
    times = [one()]
    while not once and sum(times) < ENOUGH and len(times) < MOST:
        times.append(one())
    return min(times)


def answer(session: Session, request: dict[str, Any]) -> dict[str, Any]:
    """Carry out one request; an exception becomes an answer."""
    try:
        reply: dict[str, Any] = getattr(session, request.pop("do"))(**request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return reply


def main() -> None:
    """Serve requests until standard input ends; what a competitor prints goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    session = Session()
    for line in sys.stdin:
        print(json.dumps(answer(session, json.loads(line))), file=channel, flush=True)


if __name__ == "__main__":
    main()
