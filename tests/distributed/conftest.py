"""A cluster of two worker processes that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

distributed = pytest.importorskip("dask.distributed", reason="Dask is not installed: pip install 'maxmargin[dask]'")


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
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="2GiB",
        silence_logs=50,
    )  # fmt: skip


@pytest.fixture(scope="session")
def _shared() -> Iterator[Cluster]:
    with started(2) as cluster, distributed.Client(cluster, set_as_default=True) as client:
        yield Cluster(cluster, client)


@pytest.fixture
def cluster(_shared: Cluster) -> Cluster:
    """Both workers are there, whatever the last test did to them."""
    _shared.client.wait_for_workers(2, timeout=60)
    return _shared


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Working sets far smaller than the tests' data, so that there are rounds."""
    from maxmargin.distributed import _kernel_rounds

    monkeypatch.setattr(_kernel_rounds, "CANDIDATES", 96)
    monkeypatch.setattr(_kernel_rounds, "LEAST", 8)
