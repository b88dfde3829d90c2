"""BLAS has one number of threads for a whole process: a fit that needs another waits, and no bits change."""

from __future__ import annotations

import threading
import time

import pytest

from benchmarks.campaign import threads
from maxmargin.backends import _threads, blas_threads
from maxmargin.backends._threads import BlasGate, run_parallel


def numbers() -> set[int]:
    return {library.num_threads for library in _threads._blas_libraries()}


def at_once(works) -> None:
    errors: list[BaseException] = []

    def guarded(work) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(60)
        assert not thread.is_alive()
    assert not errors, errors


def test_what_is_asked_for_is_set_in_every_thread_and_undone() -> None:
    before = numbers()

    def work(number: int) -> None:
        for _ in range(30):
            with blas_threads(number):
                assert numbers() == {number}
                with blas_threads(3 - number):
                    assert numbers() == {3 - number}
                assert numbers() == {number}
                time.sleep(0.001)

    at_once([lambda: work(1), lambda: work(2), lambda: work(1), lambda: work(2)])
    assert numbers() == before
    assert _threads._gate._inside == 0


def test_threads_of_our_pool_are_guests_of_the_fit_that_waits_for_them() -> None:
    """Were they to wait for another number, nobody would ever go on."""
    seen: list[set[int]] = []

    def task() -> None:
        with blas_threads(1):
            seen.append(numbers())

    with blas_threads(2):
        run_parallel([task, task, lambda: None], 3)
    assert seen
    assert all(number == {2} for number in seen)


def test_an_error_inside_gives_the_number_back() -> None:
    before = numbers()
    with pytest.raises(KeyError), blas_threads(1):
        raise KeyError
    assert numbers() == before


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_threads, "PATIENCE", 0.05)
    gate = BlasGate()
    gate.change(1)
    at_once([lambda: (gate.change(2), gate.change(0))])
    gate.change(0)
    assert gate._inside == 0


def test_fits_side_by_side_have_the_bits_of_one() -> None:
    assert threads.trial(3) == "equal"


def test_the_comparison_sees_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter(range(1000))
    monkeypatch.setattr(threads, "bits_of", lambda machine, X, label: str(next(found)).encode())
    with pytest.raises(threads.Failure, match="other bits"):
        threads.trial(0)
