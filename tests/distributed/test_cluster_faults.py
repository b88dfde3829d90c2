"""Workers that are killed, join late or are slow, and schedulers that vanish."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

import maxmargin
from maxmargin import io
from maxmargin.exceptions import ClusterError

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'maxmargin[dask]'")
from dask import delayed  # noqa: E402  # after the test for it
from dask.distributed import Client  # noqa: E402

from maxmargin.distributed import SVC, SVCCV, LinearSVC, _crew, _search, predict  # noqa: E402
from tests.distributed.conftest import PATIENCE, started  # noqa: E402

pytestmark = pytest.mark.slow

X, Y = make_classification(800, 6, n_informative=5, n_redundant=0, flip_y=0.1, random_state=0)


def data():
    """Rows and targets that can be made again."""
    return da.from_array(X, chunks=(200, -1)), da.from_array(Y, chunks=200)


def kill(cluster, which: int = 0) -> None:
    """SIGKILL to one worker, if it is there."""
    pids = cluster.pids
    if pids:
        os.kill(pids[which % len(pids)], signal.SIGKILL)


def killing(monkeypatch, cluster, *at: tuple[str, int]) -> list[str]:
    """Kill a worker as the named operations are called, for the so-manyth time; what was done."""
    seen: dict[str, int] = {}
    done: list[str] = []
    plain = _crew.Crew._submit

    def submit(self, name, *rest):
        seen[name] = seen.get(name, 0) + 1
        plain(self, name, *rest)
        if (name, seen[name]) in at:
            done.append(name)
            kill(cluster, len(done))

    monkeypatch.setattr(_crew.Crew, "_submit", submit)
    return done


@pytest.mark.parametrize("at", [(("round", 2), ("round", 4)), (("begin", 1), ("judge_feed", 1))])
def test_a_kernel_fit_survives_two_kills(cluster, small_rounds, monkeypatch, at):
    undisturbed = SVC(C=3, gap_tol=1e-6).fit(*data())
    done = killing(monkeypatch, cluster, *at)
    model = SVC(C=3, gap_tol=1e-6).fit(*data())
    assert len(done) == 2
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(undisturbed.certificate_.primal, rel=2e-6)


def test_a_linear_fit_survives_two_kills(cluster, monkeypatch):
    undisturbed = LinearSVC(loss="hinge", tol=1e-6).fit(*data())
    done = killing(monkeypatch, cluster, ("look", 3), ("curvature", 6))
    model = LinearSVC(loss="hinge", tol=1e-6).fit(*data())
    assert len(done) == 2
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(undisturbed.certificate_.primal, rel=2e-6)


def slow_rows(rows, seconds):
    time.sleep(seconds)
    return rows


def test_a_prediction_survives_a_kill(cluster):
    model = maxmargin.SVC().fit(X, Y)
    chunks = [delayed(slow_rows)(X[100 * k : 100 * k + 100], 0.3) for k in range(8)]
    future = cluster.client.compute(predict(model, chunks))
    time.sleep(0.7)
    kill(cluster)
    np.testing.assert_array_equal(future.result(timeout=PATIENCE), model.predict(X))


def test_a_search_survives_a_kill(cluster, monkeypatch):
    given = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.05, 0.2, 1.0]}
    plain, done = _search.ClusterTrainer.hand_out, []

    def hand_out(self, jobs):
        plain(self, jobs)
        if not done:
            done.append(True)
            kill(cluster)

    monkeypatch.setattr(_search.ClusterTrainer, "hand_out", hand_out)
    search, here = SVCCV(**given).fit(X, Y), maxmargin.SVCCV(**given).fit(X, Y)
    assert done
    assert search.best_params_ == here.best_params_
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])


def test_rows_that_were_sent_to_one_worker_are_lost_with_it_in_words(cluster, monkeypatch):
    monkeypatch.setattr(_crew, "LOST_FOR", 2.0)
    worker = sorted(cluster.client.scheduler_info()["workers"])[0]
    rows = cluster.client.scatter([X[:400], X[400:]], workers=[worker])
    targets = cluster.client.scatter([Y[:400], Y[400:]], workers=[worker])
    pid = cluster.client.run(os.getpid)[worker]
    threading.Timer(0.0, os.kill, (pid, signal.SIGKILL)).start()
    time.sleep(0.5)
    with pytest.raises((ClusterError, ValueError), match=r"lost|cancelled"):
        SVC().fit(rows, targets)


def test_a_worker_that_joins_late_and_one_that_is_slow(turn):
    """The answer does not depend on who is there; nobody waits for a newcomer."""
    with started(1) as own, Client(own, set_as_default=False) as client:
        rows = [delayed(slow_rows)(X[400 * k : 400 * k + 400], 0.5 * k) for k in range(2)]
        targets = [delayed(Y[400 * k : 400 * k + 400]) for k in range(2)]
        alone = SVC(C=3, client=client).fit(rows, targets)
        threading.Timer(0.2, own.scale, (2,)).start()
        joined = SVC(C=3, client=client).fit(rows, targets)
        np.testing.assert_array_equal(alone.dual_coef_, joined.dual_coef_)
        client.wait_for_workers(2, timeout=PATIENCE)
        two = SVC(C=3, client=client).fit(rows, targets)
        np.testing.assert_array_equal(alone.dual_coef_, two.dual_coef_)
        own.scale(4)
        client.wait_for_workers(4, timeout=PATIENCE)
        rows = [delayed(slow_rows)(X[200 * k : 200 * k + 200], 0.0) for k in range(4)]
        targets = [delayed(Y[200 * k : 200 * k + 200]) for k in range(4)]
        four = SVC(C=3, gap_tol=1e-5, client=client).fit(rows, targets)
        assert four.certificate_.relative_gap <= 1e-5


def test_a_scheduler_that_vanishes(cluster, monkeypatch, small_rounds, tmp_path):
    path = tmp_path / "last.mm"
    own = started(1)
    client = Client(own, set_as_default=False)
    plain, count = _crew.Crew._submit, []

    def submit(self, name, *rest):
        count.append(name)
        if count.count("round") == 4:
            own.close()
        return plain(self, name, *rest)

    monkeypatch.setattr(_crew.Crew, "_submit", submit)
    machine = SVC(C=3, gap_tol=1e-6, checkpoint=path, client=client)
    with pytest.raises(ClusterError, match="scheduler"), pytest.warns(UserWarning, match="last round"):
        machine.fit(*data())
    assert not hasattr(machine, "support_")
    client.close()
    saved = io.load(path)
    assert type(saved) is maxmargin.SVC
    assert saved.score(X, Y) > 0.6
    monkeypatch.setattr(_crew.Crew, "_submit", plain)
    scratch = SVC(C=3, gap_tol=1e-6).fit(*data())
    warm = SVC(C=3, gap_tol=1e-6, checkpoint=path, warm_start=True).fit(*data())
    assert warm.history_["gap"][0] < scratch.history_["gap"][0]
    assert warm.certificate_.relative_gap <= 1e-6
