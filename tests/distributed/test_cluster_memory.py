"""What processes hold: their partitions, and a constant."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'maxmargin[dask]'")
psutil = pytest.importorskip("psutil", reason="psutil is not installed")

from maxmargin.distributed import LinearSVC, _crew, _seat  # noqa: E402  # after the test for Dask

pytestmark = pytest.mark.slow

#: Rows of a partition, columns, and megabytes beyond its partitions that a worker may take: rows that are scaled or
#: prepared at a time, messages, and what Python and the compiled code take when they are first used.
HEIGHT, COLUMNS, CONSTANT = 50_000, 40, 250


def drawn(number: int):
    """Rows and targets."""
    random = np.random.default_rng(number)
    X = random.standard_normal((HEIGHT, COLUMNS))
    return X, np.where(X[:, 0] + random.standard_normal(HEIGHT) > 0, 1, 0)


def held() -> int:
    """Bytes of arrays in the state of all seats of a worker."""
    from maxmargin.distributed import _seat

    found: dict[int, int] = {}

    def walk(value: object, depth: int) -> None:
        if isinstance(value, np.ndarray):
            base = value if value.base is None or not isinstance(value.base, np.ndarray) else value.base
            found[id(base)] = base.nbytes
        elif isinstance(value, dict | list | tuple) and depth < 6:
            for item in value.values() if isinstance(value, dict) else value:
                walk(item, depth + 1)
        elif type(value).__module__.startswith("maxmargin") and hasattr(value, "__dict__") and depth < 6:
            walk(vars(value), depth + 1)

    walk(_seat._states, 0)
    return sum(found.values())


def test_a_worker_holds_its_partitions_and_some_numbers_for_each_row(cluster, monkeypatch):
    parts = [dask.delayed(drawn)(k) for k in range(4)]
    counted: list[int] = []
    plain = _crew.Crew._submit

    def submit(self, name, *rest):
        if name == "direct" and not counted:
            counted.extend(cluster.client.run(held).values())
        return plain(self, name, *rest)

    monkeypatch.setattr(_crew.Crew, "_submit", submit)
    processes = [psutil.Process(pid) for pid in cluster.pids]
    before = {process.pid: process.memory_info().rss for process in processes}
    peaks, over = dict(before), threading.Event()

    def sample() -> None:
        while not over.wait(0.02):
            for process in processes:
                peaks[process.pid] = max(peaks[process.pid], process.memory_info().rss)

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        model = LinearSVC(loss="hinge", tol=1e-3).fit([part[0] for part in parts], [part[1] for part in parts])
    finally:
        over.set()
        sampler.join()
    assert model.certificate_.holds
    assert counted
    assert sum(counted) <= 4 * HEIGHT * 8 * 16  # some ten numbers for each row, and the targets
    partitions = 4 * HEIGHT * (COLUMNS + 16) * 8  # should one worker have all of them
    for pid, peak in peaks.items():
        assert peak - before[pid] <= partitions + CONSTANT * 2**20


def test_state_is_dropped_when_a_fit_ends(cluster):
    parts = [dask.delayed(drawn)(k) for k in range(2)]
    LinearSVC(tol=1e-2).fit([part[0] for part in parts], [part[1] for part in parts])
    deadline = time.monotonic() + 120
    while any(cluster.client.run(held).values()) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not any(cluster.client.run(held).values())


def test_state_that_nobody_asks_for_is_dropped(monkeypatch):
    monkeypatch.setattr(_seat, "FORGOTTEN", 0.0)
    old = _seat.Seat(0, None, np.ones(3))
    old.states["task"] = np.zeros(3)
    time.sleep(0.01)
    new = _seat.Seat(1, None, np.ones(3))
    assert new.states == {}
    assert old.name not in _seat._states
    _seat.forget(new.name)
