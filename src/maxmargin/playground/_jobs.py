"""Who is served when: a few threads, and a queue in which every tab has the same right.

A tab has at most one piece of work under way, and of every kind of request (its *lane*) only the newest that waits:
older ones are dropped, never queued. Tabs take turns. Work that comes in parts (an animation) goes to the end of the
queue after every part; a tab that does not read its answers gets no more work done until it has.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from maxmargin.playground._checks import DRAWING_SECONDS, GRACE_SECONDS, MOST_SECONDS, MOST_UNREAD, BadRequest
from maxmargin.playground._frames import Answer
from maxmargin.solvers import Stopped, stops_when

log = logging.getLogger("maxmargin.playground")

#: Cells of a picture that are computed together.
PIECE = 2**14

#: What a room does with a request: one answer, or an iterator of several.
Work = Callable[["Job"], Answer | Iterator[Answer]]
Handler = Callable[[Mapping[str, Any], "Job"], Answer | Iterator[Answer]]


class Job:
    """One request, from its arrival to its last answer."""

    def __init__(self, tab: Tab, lane: str, number: int, work: Work, limit: float = MOST_SECONDS):
        self.tab, self.lane, self.number, self.work, self.limit = tab, lane, number, work, limit
        self.superseded = self.cancelled = False
        self._began = 0.0
        self._parts: Iterator[Answer] | None = None

    @property
    def seconds_left(self) -> float:
        """What this piece of work may still take; never less than a millisecond."""
        return max(1e-3, self.limit - (time.perf_counter() - self._began))

    def must_stop(self) -> bool:
        """Whether nobody is waiting for this any more, or its time is over; for the callback of a fit."""
        taken = time.perf_counter() - self._began
        return self.cancelled or taken > self.limit or (self.superseded and taken > GRACE_SECONDS)

    def drawn(self, compute: Callable[[np.ndarray], np.ndarray], cells: np.ndarray) -> np.ndarray:
        """compute(cells), piece by piece: it ends when nobody waits for the picture, or when it takes too long."""
        parts = []
        for first in range(0, len(cells), PIECE):
            if self.cancelled:
                raise Stopped("nobody waits for this picture")
            if time.perf_counter() - self._began > self.limit + DRAWING_SECONDS:
                raise BadRequest(
                    f"this takes longer than {self.limit + DRAWING_SECONDS:g} seconds; ask for fewer points, a coarser "
                    "grid or a simpler machine"
                )
            parts.append(compute(cells[first : first + PIECE]))
        return np.concatenate(parts)

    def advance(self) -> tuple[Answer | None, bool]:
        """(the next answer, whether it is the last)."""
        self._began = time.perf_counter()
        with stops_when(self.must_stop):
            if self._parts is None:
                found = self.work(self)
                if isinstance(found, Answer):
                    return found, True
                self._parts = iter(found)
            answer = next(self._parts, None)
        return answer, answer is None

    def close(self) -> None:
        """Forget what is left of an iterator."""
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()


class Tab:
    """What the queue knows of one open page."""

    def __init__(self, send: Callable[[Job, Answer | Exception, bool], None]):
        self.send = send  # (job, answer, last); called from a worker, must not block
        self.waiting: dict[str, Job] = {}  # by lane, the one that waits longest first
        self.running: Job | None = None
        self.unread = 0
        self.queued = self.closed = False


class Pool:
    """The threads and the queue."""

    def __init__(self, workers: int):
        self._ready: deque[Tab] = deque()
        self._change = threading.Condition()
        self._running: set[Job] = set()
        self._stopping = False
        names = (f"playground-{number}" for number in range(workers))
        self._threads = [threading.Thread(target=self._serve, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def submit(self, job: Job) -> None:
        """The newest request of its lane."""
        with self._change:
            tab = job.tab
            if self._stopping or tab.closed:
                return
            older = tab.waiting.pop(job.lane, None)
            if older is not None:
                older.close()
            if tab.running is not None and tab.running.lane == job.lane:
                tab.running.superseded = True
            tab.waiting[job.lane] = job
            self._queue(tab)

    def cancel(self, tab: Tab, lane: str) -> None:
        """Nobody wants the answers of this lane any more."""
        with self._change:
            older = tab.waiting.pop(lane, None)
            if older is not None:
                older.close()
            if tab.running is not None and tab.running.lane == lane:
                tab.running.cancelled = True

    def read(self, tab: Tab) -> None:
        """The tab has read an answer."""
        with self._change:
            tab.unread -= 1
            self._queue(tab)

    def leave(self, tab: Tab) -> None:
        """The tab is closed."""
        with self._change:
            tab.closed = True
            for job in tab.waiting.values():
                job.close()
            tab.waiting.clear()
            if tab.running is not None:
                tab.running.cancelled = True

    def close(self, seconds: float = 5.0) -> None:
        """Stop: what runs is asked to end, what waits is dropped."""
        with self._change:
            self._stopping = True
            for job in self._running:
                job.cancelled = True
            self._change.notify_all()
        deadline = time.perf_counter() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.perf_counter()))

    # -- the threads ------------------------------------------------------------------------------------------

    def _queue(self, tab: Tab) -> None:
        """Let the tab wait for its turn, if there is something to do for it; the lock is held."""
        idle = tab.running is None and not tab.queued
        if idle and tab.waiting and tab.unread < MOST_UNREAD and not tab.closed:
            tab.queued = True
            self._ready.append(tab)
            self._change.notify()

    def _serve(self) -> None:
        while (job := self._next()) is not None:
            last = True
            try:
                answer, last = job.advance()
                if answer is not None or last:
                    self._deliver(job, answer if answer is not None else Answer({}), last)
            except Stopped:
                last = True
            except Exception as error:  # whatever a room does, the thread and the page go on
                if describe(error)[0] == "internal":
                    log.exception("a request failed")
                last = True
                self._deliver(job, error, last)
            finally:
                self._done(job, last)

    def _next(self) -> Job | None:
        with self._change:
            while not self._stopping:
                if self._ready:
                    tab = self._ready.popleft()
                    tab.queued = False
                    if tab.waiting:
                        lane = next(iter(tab.waiting))
                        tab.running = job = tab.waiting.pop(lane)
                        self._running.add(job)
                        return job
                else:
                    self._change.wait()
        return None

    def _deliver(self, job: Job, answer: Answer | Exception, last: bool) -> None:
        if not job.cancelled and not job.tab.closed:
            with self._change:
                job.tab.unread += 1
            job.tab.send(job, answer, last)

    def _done(self, job: Job, last: bool) -> None:
        with self._change:
            tab = job.tab
            tab.running = None
            self._running.discard(job)
            if not last and not (job.cancelled or job.superseded):
                tab.waiting[job.lane] = job
            elif not last:
                job.close()
            self._queue(tab)


def describe(error: Exception) -> tuple[str, str]:
    """(kind, sentence) of an error, for the page: what a person can mend is told, what not is not."""
    if isinstance(error, BadRequest):
        return "request", str(error)
    if isinstance(error, ValueError | TypeError):
        return "library", str(error)
    return "internal", f"something went wrong on the server ({type(error).__name__})"
