"""A cluster of two worker processes that the tests of this folder share, one test at a time."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'maxmargin[dask]'")
distributed = pytest.importorskip("dask.distributed", reason="Dask is not installed: pip install 'maxmargin[dask]'")

#: Seconds that a process may take to start, or to start again after a kill, on a busy computer.
PATIENCE = 300

#: By default a cluster gives up a worker that is not back 15 seconds after it died, and never starts it again.
PATIENT = {"distributed.deploy.lost-worker-timeout": PATIENCE}


class Cluster(NamedTuple):
    """The cluster and its client."""

    cluster: Any
    client: Any

    @property
    def pids(self) -> list[int]:
        """Processes of the workers."""
        return [nanny.pid for nanny in self.cluster.workers.values() if nanny.pid]


def started(workers: int) -> Any:
    """A cluster of so many processes of one thread."""
    with dask.config.set({"distributed.comm.timeouts.connect": PATIENCE}):  # of its processes, not of this one
        return distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="2GiB",
            silence_logs=50, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # any free port, not always 8787
        )  # fmt: skip


@pytest.fixture(scope="session")
def _shared() -> Iterator[Cluster]:
    with (
        dask.config.set(PATIENT),
        started(2) as cluster,
        distributed.Client(cluster, set_as_default=True, timeout=PATIENCE) as client,
    ):
        yield Cluster(cluster, client)


@pytest.fixture
def turn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Of the processes of a run, one at a time has a cluster that works; the others wait, but not for ever."""
    with (tmp_path_factory.getbasetemp().parent / "cluster.lock").open("w") as lock:
        deadline = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
        yield


@pytest.fixture
def cluster(turn: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Both workers are there, whatever the last test did to them."""
    from maxmargin.distributed import _crew

    shared: Cluster = request.getfixturevalue("_shared")  # asked for here: it starts in this process's turn
    shared.cluster.scale(2)  # starts workers anew that were given up
    shared.client.wait_for_workers(2, timeout=PATIENCE)
    for name in ("MUSTER", "LOST_FOR"):
        monkeypatch.setattr(_crew, name, float(PATIENCE))
    return shared


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Working sets far smaller than the tests' data, so that there are rounds."""
    from maxmargin.distributed import _kernel_rounds

    monkeypatch.setattr(_kernel_rounds, "CANDIDATES", 96)
    monkeypatch.setattr(_kernel_rounds, "LEAST", 8)
