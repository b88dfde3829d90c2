"""Who runs: how many threads a fit may use, one pool for them, and BLAS held to one thread meanwhile.

Compiled loops release the GIL, so plain Python threads drive them: no OpenMP pool that a fork would break, and no
second pool beside BLAS's. Inside worker processes and worker threads (joblib, GridSearchCV) a fit keeps to one.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import lru_cache, partial
from itertools import count, pairwise
from typing import Any

from joblib import cpu_count
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

#: Rows up to which factoring a matrix takes one thread of BLAS.
SMALL_FACTOR = 1000
#: Seconds that a thread waits for others which need BLAS on another number of threads.
PATIENCE = 60.0

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def effective_threads(n_jobs: int | None = None) -> int:
    """Threads for one fit: ``n_jobs`` as joblib reads it, or every core that nobody else is using."""
    if n_jobs == 0:
        raise ValueError("n_jobs=0 asks for no thread at all; give a positive number, -1 for all cores, or None")
    if n_jobs is not None:
        return max(1, n_jobs if n_jobs > 0 else _cores() + 1 + n_jobs)
    in_worker = multiprocessing.current_process().daemon or threading.current_thread() is not threading.main_thread()
    return 1 if in_worker else max(1, min(_cores(), _openmp_effective_n_threads()))


def factor_threads(n: int, n_jobs: int | None = None) -> int:
    """Threads for factoring an n x n matrix; a small one has the same bits in every thread, for one is enough."""
    return 1 if n <= SMALL_FACTOR else effective_threads(n_jobs)


@lru_cache(maxsize=1)
def _cores() -> int:
    """Cores this process may use; asking the system takes longer than a small fit."""
    return cpu_count()


def run_parallel(calls: Sequence[Callable[[], None]], threads: int) -> None:
    """Make the calls, the last one in this thread; the first exception is raised when all have ended."""
    if threads <= 1 or len(calls) <= 1:
        for call in calls:
            call()
        return
    # in copies of this thread's context: what it was asked to heed (when to stop) holds for them as well
    futures = [_executor(threads).submit(copy_context().run, _gate.joined, _gate.held(), call) for call in calls[:-1]]
    try:
        calls[-1]()
    finally:
        errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error


def run_queue(calls: Sequence[Callable[[], None]], threads: int) -> None:
    """Make any number of calls, each by the thread that is free next; after an error, or Ctrl-C, none is begun."""
    if threads <= 1:
        run_parallel(calls, 1)
        return
    turns, failed = count(), threading.Event()

    def work() -> None:
        try:
            while not failed.is_set() and (turn := next(turns)) < len(calls):
                calls[turn]()
        except BaseException:
            failed.set()
            raise

    workers = max(1, min(threads, len(calls)))
    run_parallel([work] * workers, workers)


def run_shares(work: Callable[[int, int], None], n: int, threads: int) -> None:
    """``work(first, last)`` on equal shares of range(n), one per thread."""
    if threads <= 1:
        work(0, n)
        return
    edges = [n * k // threads for k in range(threads + 1)]
    run_parallel([partial(work, first, last) for first, last in pairwise(edges)], threads)


class BlasGate:
    """How many threads BLAS has: one number for the whole process, on which the bits of its results depend.

    Python threads that ask for the same number are inside together; one that asks for another waits until they have
    left. Who asks for another number while inside steps out until then, so that nobody waits for somebody who waits.
    """

    def __init__(self) -> None:
        self._turn, self._own = threading.Condition(), threading.local()
        self._number, self._inside = 0, 0
        self._before: list[int] = []  # what every library had when nobody was inside

    def held(self) -> int:
        """The number this thread has asked for, 0 if none."""
        return getattr(self._own, "number", 0)

    def change(self, number: int) -> int:
        """From the number this thread has, if any, to another, 0 to leave; the one it had."""
        had = self.held()
        if number == had or getattr(self._own, "guest", False):
            return had
        with self._turn:
            if had:
                self._inside -= 1
                for library, own, shared in zip(_blas_libraries(), self._own.before, self._before, strict=True):
                    if _is_per_thread(library) or self._inside == 0:
                        _set_threads(library, own if _is_per_thread(library) else shared)
                if self._inside == 0:
                    self._turn.notify_all()
            if number:
                # the patience is for a thread that is waited for by one who is inside: then its own bits may differ
                self._turn.wait_for(lambda: self._inside == 0 or self._number == number, PATIENCE)
                self._own.before = [library.num_threads for library in _blas_libraries()]
                if self._inside == 0:
                    self._before, self._number = self._own.before, number
                for library in _blas_libraries():
                    _set_threads(library, self._number)
                self._inside += 1
            self._own.number = number
        return had

    def joined(self, number: int, task: Callable[[], None]) -> None:
        """Run a task for a thread that has ``number``, and waits: its pool's threads are its guests."""
        self._own.number, self._own.guest = number, number > 0
        try:
            task()
        finally:
            self._own.number, self._own.guest = 0, False


_gate = BlasGate()


def _is_per_thread(library: Any) -> bool:
    """Whether a library keeps a number for every thread that calls it, not one for the process."""
    return library.internal_api == "mkl" or getattr(library, "threading_layer", "") == "openmp"


def _set_threads(library: Any, number: int) -> None:
    # threadpoolctl lets only the first thread that asks change OpenBLAS's number; the gate keeps the order here
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


@contextmanager
def blas_threads(threads: int) -> Iterator[None]:
    """BLAS on so many threads inside this block."""
    had = _gate.change(threads)
    try:
        yield
    finally:
        _gate.change(had)


def single_threaded_blas() -> AbstractContextManager[None]:
    """BLAS on one thread: our own threads call it side by side."""
    return blas_threads(1)


@lru_cache(maxsize=1)
def _blas_libraries() -> list[Any]:
    """Looking the loaded libraries up costs a millisecond, so it is done once."""
    import numpy.linalg  # noqa: F401  # loads NumPy's BLAS
    import scipy.linalg  # noqa: F401  # and SciPy's
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _executor(threads: int) -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None or _pool._max_workers < threads:
            _pool = ThreadPoolExecutor(max_workers=max(threads, 2), thread_name_prefix="maxmargin")
        return _pool


def _after_fork() -> None:
    """A forked child inherits the pool object without its threads: start anew."""
    global _pool, _lock, _gate
    _pool, _lock, _gate = None, threading.Lock(), BlasGate()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
