"""Who is served when: the newest request wins, tabs take turns, and nobody can hold up the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from maxmargin.playground import _jobs
from maxmargin.playground._checks import DRAWING_SECONDS, MOST_SECONDS, MOST_UNREAD, BadRequest
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import PIECE, Job, Pool, Tab, describe
from maxmargin.solvers import Watch

PATIENCE = 60  # seconds after which a test gives up; nothing here takes long


class Desk:
    """A pool, tabs that note what they hear, and work that waits to be let go."""

    def __init__(self, workers: int):
        self.pool = Pool(workers)
        self.heard: list[tuple[str, int, Any, bool]] = []
        self.change = threading.Condition()
        self.began, self.gate = threading.Event(), threading.Event()

    def tab(self, name: str, reads: bool = True) -> Tab:
        def send(job: Job, answer: Answer | Exception, last: bool) -> None:
            with self.change:
                self.heard.append((name, job.number, answer, last))
                self.change.notify_all()
            if reads:
                self.pool.read(job.tab)

        return Tab(send)

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.change:
            assert self.change.wait_for(condition, PATIENCE), self.heard

    def held(self, job: Job) -> Answer:
        """Work that ends when the gate opens."""
        self.began.set()
        assert self.gate.wait(PATIENCE)
        return Answer({})


@pytest.fixture
def desk() -> Iterator[Desk]:
    one = Desk(workers=1)
    yield one
    one.gate.set()
    one.pool.close()


def at_once(job: Job) -> Answer:
    return Answer({"number": job.number})


def test_of_a_lane_only_the_newest_request_is_answered(desk: Desk) -> None:
    tab = desk.tab("a")
    desk.pool.submit(Job(tab, "fit", 1, desk.held))
    assert desk.began.wait(PATIENCE)
    for number in range(2, 7):
        desk.pool.submit(Job(tab, "fit", number, at_once))
    desk.gate.set()
    desk.wait(lambda: len(desk.heard) >= 2)
    desk.pool.submit(Job(tab, "fit", 7, at_once))
    desk.wait(lambda: len(desk.heard) >= 3)
    assert [number for _, number, _, _ in desk.heard] == [1, 6, 7]


def test_lanes_do_not_replace_each_other(desk: Desk) -> None:
    tab = desk.tab("a")
    desk.pool.submit(Job(tab, "one", 1, desk.held))
    desk.pool.submit(Job(tab, "two", 2, at_once))
    desk.pool.submit(Job(tab, "three", 3, at_once))
    desk.gate.set()
    desk.wait(lambda: len(desk.heard) == 3)
    assert [number for _, number, _, _ in desk.heard] == [1, 2, 3]


def test_work_that_was_overtaken_is_told_to_stop(desk: Desk) -> None:
    tab, began, seen = desk.tab("a"), threading.Event(), []

    def patient(job: Job) -> Answer:
        began.set()
        while not job.must_stop():
            threading.Event().wait(0.01)
        seen.append((job.superseded, job.cancelled))
        return Answer({})

    desk.pool.submit(Job(tab, "fit", 1, patient, limit=PATIENCE))
    assert began.wait(PATIENCE)
    desk.pool.submit(Job(tab, "fit", 2, at_once))
    desk.wait(lambda: len(desk.heard) == 2)
    assert seen == [(True, False)]


def test_work_that_takes_too_long_is_told_to_stop(desk: Desk) -> None:
    def endless(job: Job) -> Answer:
        while not job.must_stop():
            threading.Event().wait(0.005)
        return Answer({"left": job.seconds_left})

    desk.pool.submit(Job(desk.tab("a"), "fit", 1, endless, limit=0.05))
    desk.wait(lambda: len(desk.heard) == 1)
    assert desk.heard[0][2].values == {"left": 1e-3}


def test_what_is_cancelled_says_nothing(desk: Desk) -> None:
    tab, began, ended = desk.tab("a"), threading.Event(), threading.Event()

    def patient(job: Job) -> Answer:
        began.set()
        while not job.must_stop():
            threading.Event().wait(0.005)
        ended.set()
        return Answer({})

    desk.pool.submit(Job(tab, "animate", 1, patient, limit=PATIENCE))
    assert began.wait(PATIENCE)
    desk.pool.cancel(tab, "animate")
    assert ended.wait(PATIENCE)
    desk.pool.submit(Job(tab, "fit", 2, at_once))
    desk.wait(lambda: len(desk.heard) == 1)
    assert desk.heard[0][1] == 2


def test_fifty_tabs_take_turns_with_a_greedy_one(desk: Desk) -> None:
    """Whoever wants a hundred things is served once for every time that each of the others is."""

    def many(job: Job) -> Iterator[Answer]:
        assert desk.gate.wait(PATIENCE)
        for number in range(100):
            yield Answer({"part": number})

    desk.pool.submit(Job(desk.tab("greedy"), "animate", 0, many))
    for number in range(1, 50):
        desk.pool.submit(Job(desk.tab("modest"), "fit", number, at_once))
    desk.gate.set()
    desk.wait(lambda: len(desk.heard) == 150)
    names = [name for name, _, _, _ in desk.heard]
    assert names.count("greedy") == 101  # with the word that there is no more
    assert names[:51].count("modest") == 49
    assert [number for name, number, _, _ in desk.heard if name == "modest"] == list(range(1, 50))


def test_a_tab_that_does_not_read_gets_no_more_work_done(desk: Desk) -> None:
    computed = []

    def many(job: Job) -> Iterator[Answer]:
        for number in range(100):
            computed.append(number)
            yield Answer({"part": number})

    tab = desk.tab("deaf", reads=False)
    desk.pool.submit(Job(tab, "animate", 1, many))
    desk.wait(lambda: len(desk.heard) == MOST_UNREAD)
    desk.pool.submit(Job(desk.tab("other"), "fit", 1, at_once))
    desk.wait(lambda: desk.heard[-1][0] == "other")
    assert len(computed) == MOST_UNREAD
    desk.pool.read(tab)
    desk.wait(lambda: len(computed) == MOST_UNREAD + 1)


def test_a_room_that_breaks_down_breaks_nothing_else(desk: Desk) -> None:
    def broken(job: Job) -> Answer:
        raise RuntimeError("a secret path")

    desk.pool.submit(Job(desk.tab("a"), "fit", 1, broken))
    desk.pool.submit(Job(desk.tab("b"), "fit", 2, at_once))
    desk.wait(lambda: len(desk.heard) == 2)
    error, answer = desk.heard[0][2], desk.heard[1][2]
    assert answer.values == {"number": 2}
    cause, sentence = describe(error)
    assert cause == "internal"
    assert "secret" not in sentence
    assert describe(BadRequest("no")) == ("request", "no")
    assert describe(ValueError("C must be positive")) == ("library", "C must be positive")


def test_a_closed_tab_is_forgotten(desk: Desk) -> None:
    tab = desk.tab("a")
    desk.pool.submit(Job(tab, "one", 1, desk.held))
    desk.pool.submit(Job(tab, "two", 2, at_once))
    desk.pool.leave(tab)
    desk.pool.submit(Job(tab, "three", 3, at_once))
    desk.gate.set()
    desk.pool.submit(Job(desk.tab("b"), "fit", 4, at_once))
    desk.wait(lambda: len(desk.heard) == 1)
    assert desk.heard[0][:2] == ("b", 4)


def test_closing_ends_what_runs() -> None:
    pool, began, ended = Pool(2), threading.Event(), threading.Event()

    def patient(job: Job) -> Answer:
        began.set()
        while not job.must_stop():
            threading.Event().wait(0.005)
        ended.set()
        return Answer({})

    pool.submit(Job(Tab(lambda *heard: None), "fit", 1, patient, limit=PATIENCE))
    assert began.wait(PATIENCE)
    pool.close()
    assert ended.is_set()
    assert not any(thread.is_alive() for thread in pool._threads)


def test_a_page_that_closed_ends_its_fit_and_its_picture(desk: Desk) -> None:
    """A fit asks the job through its watch, a picture between two pieces: neither goes on for nobody."""
    tab, began, pieces, asked = desk.tab("a"), threading.Event(), [], []

    def fit_and_draw(job: Job) -> Answer:
        began.set()
        while not Watch().must_stop(0):
            threading.Event().wait(0.005)
        asked.append(True)
        job.drawn(lambda cells: pieces.append(len(cells)) or cells[:, 0], np.zeros((3 * PIECE, 2)))
        return Answer({})

    desk.pool.submit(Job(tab, "fit", 1, fit_and_draw, limit=PATIENCE))
    assert began.wait(PATIENCE)
    desk.pool.leave(tab)
    desk.pool.submit(Job(desk.tab("b"), "fit", 2, at_once))  # by the one worker, when it is free
    desk.wait(lambda: len(desk.heard) == 1)
    assert asked == [True]
    assert pieces == []
    assert desk.heard[0][:2] == ("b", 2)


def test_a_picture_that_takes_too_long_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jobs, "DRAWING_SECONDS", 0.0)
    pieces = []

    def slow(cells: np.ndarray) -> np.ndarray:
        threading.Event().wait(0.05)
        pieces.append(len(cells))
        return cells[:, 0]

    def picture(job: Job) -> Answer:
        return Answer({"cells": len(job.drawn(slow, np.zeros((50 * PIECE, 2))))})

    desk.pool.submit(Job(desk.tab("a"), "fit", 1, picture, limit=0.02))
    desk.wait(lambda: len(desk.heard) == 1)
    assert isinstance(desk.heard[0][2], BadRequest)
    assert "coarser" in str(desk.heard[0][2])
    assert 1 <= len(pieces) < 50


def test_a_picture_in_strips_is_the_picture() -> None:
    job, cells = Job(Tab(lambda *heard: None), "fit", 1, at_once), np.arange(2.0 * (PIECE + 5)).reshape(-1, 2)
    job._began = time.perf_counter()
    np.testing.assert_array_equal(job.drawn(lambda part: part.sum(axis=1), cells), cells.sum(axis=1))


def test_a_job_and_its_picture_stay_below_twice_the_limit() -> None:
    assert MOST_SECONDS + DRAWING_SECONDS < 2 * MOST_SECONDS
