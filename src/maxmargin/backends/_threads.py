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
from functools import lru_cache, partial
from itertools import count, pairwise
from typing import Any

from joblib import cpu_count
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

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


@lru_cache(maxsize=1)
def _cores() -> int:
    """Cores this process may use; asking the system takes longer than a small fit."""
    return cpu_count()


def run_parallel(tasks: list[Callable[[], None]], threads: int) -> None:
    """Run the tasks, the last one in this thread; the first exception is raised when all have ended."""
    if threads <= 1 or len(tasks) <= 1:
        for task in tasks:
            task()
        return
    futures = [_executor(threads).submit(task) for task in tasks[:-1]]
    try:
        tasks[-1]()
    finally:
        errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error


def run_queue(tasks: Sequence[Callable[[], None]], threads: int) -> None:
    """Run any number of tasks, each by the thread that is free next."""
    turns = count()

    def work() -> None:
        while (turn := next(turns)) < len(tasks):
            tasks[turn]()

    workers = max(1, min(threads, len(tasks)))
    run_parallel([work] * workers, workers)


def run_strips(work: Callable[[int, int], None], n: int, threads: int) -> None:
    """``work(first, last)`` on equal shares of range(n), one per thread."""
    if threads <= 1:
        work(0, n)
        return
    edges = [n * k // threads for k in range(threads + 1)]
    run_parallel([partial(work, first, last) for first, last in pairwise(edges)], threads)


@contextmanager
def blas_threads(threads: int) -> Iterator[None]:
    """BLAS on so many threads inside this block."""
    before = [(library, library.num_threads) for library in _blas_libraries()]
    for library, _ in before:
        library.set_num_threads(threads)
    try:
        yield
    finally:
        for library, number in before:
            library.set_num_threads(number)


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
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
