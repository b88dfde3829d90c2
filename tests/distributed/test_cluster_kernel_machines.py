"""SVC and SVR on a cluster have the optimum, the certificate and the model of one computer."""

from __future__ import annotations

import os
import pickle
import signal
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_regression

import maxmargin
from maxmargin import io

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'maxmargin[dask]'")
from dask import delayed  # noqa: E402  # after the test for it

from maxmargin.distributed import SVC, SVR  # noqa: E402

pytestmark = pytest.mark.slow


def rows(n: int = 600, classes: int = 2, seed: int = 0):
    return make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.1, random_state=seed)


def parts(X, edges):
    """Delayed chunks of very unequal sizes."""
    return [delayed(X[a:b]) for a, b in pairwise(edges)]


def assert_same_optimum(model, reference, X, y, weight=None):
    """Two proofs of one problem: their intervals of the optimum overlap, and the judge of one computer agrees."""
    ours, theirs = model.certificates_, reference.certificates_
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert a.holds
        assert b.holds
        assert max(a.dual, b.dual) <= min(a.primal, b.primal) * (1 + 1e-12) + 1e-12
    again = maxmargin.certify(model.ordinary(), X, y, weight)
    assert again.holds
    assert again.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=0.05, abs=1e-9)


EDGES = [0, 3, 3, 420, 600]


@pytest.mark.parametrize("sparse", [False, True])
def test_svc_with_weights_and_unequal_partitions(cluster, small_rounds, sparse):
    X, y = rows()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    if sparse:
        X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))
    model = SVC(C=3, gap_tol=1e-6, class_weight="balanced").fit(parts(X, EDGES), parts(y, EDGES), parts(weight, EDGES))
    reference = maxmargin.SVC(C=3, gap_tol=1e-6, class_weight="balanced").fit(X, y, weight)
    assert_same_optimum(model, reference, X, y, weight)
    assert model.rounds_[0] > 2
    assert sp.issparse(model.support_vectors_) == sparse
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=2e-2)
    assert set(model.support_) <= set(np.flatnonzero(weight > 0))


def test_one_class_per_partition_and_no_intercept(cluster, small_rounds):
    X, y = rows()
    order = np.argsort(y, kind="stable")
    X, y, edge = X[order], np.array(["no", "yes"])[y[order]], int(np.sum(y == 0))
    for intercept in (True, False):
        model = SVC(C=2, fit_intercept=intercept, gap_tol=1e-5).fit(parts(X, [0, edge, 600]), parts(y, [0, edge, 600]))
        reference = maxmargin.SVC(C=2, fit_intercept=intercept, gap_tol=1e-5).fit(X, y)
        assert_same_optimum(model, reference, X, y)


def test_many_classes_scaled_of_unknown_sizes(cluster):
    X, y = rows(classes=3)
    whole = da.from_array(np.column_stack([X, y]), chunks=(250, -1))
    whole = whole[whole[:, 0] > -10]  # sizes are unknown after this
    assert np.isnan(whole.chunks[0]).all()
    model = SVC(scale=True, gap_tol=1e-5).fit(whole[:, :-1], whole[:, -1].astype(int))
    reference = maxmargin.SVC(scale=True, gap_tol=1e-5).fit(X, y)
    assert_same_optimum(model, reference, X, y)
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    np.testing.assert_allclose(model.scaling_.center, reference.scaling_.center)


def test_svr_is_an_ordinary_model_afterwards(cluster, small_rounds, tmp_path):
    X, y = make_regression(500, 5, noise=5, random_state=1)
    y = y / y.std()
    model = SVR(C=5, gap_tol=1e-6).fit(da.from_array(X, chunks=(130, -1)), da.from_array(y, chunks=130))
    reference = maxmargin.SVR(C=5, gap_tol=1e-6).fit(X, y)
    assert_same_optimum(model, reference, X, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-2)
    io.save(model, tmp_path / "model.mm")
    loaded, copied = io.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))
    assert type(loaded) is maxmargin.SVR
    for other in (loaded, copied, model.ordinary()):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    lazy = model.predict(da.from_array(X, chunks=(130, -1)))
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), model.predict(X), atol=1e-12)


def test_the_same_partitions_give_the_same_bits(cluster, small_rounds):
    X, y = rows()
    found = [SVC(C=3).fit(da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)) for _ in range(2)]
    np.testing.assert_array_equal(found[0].dual_coef_, found[1].dual_coef_)
    np.testing.assert_array_equal(found[0].intercept_, found[1].intercept_)
    assert found[0].certificate_ == found[1].certificate_


def test_a_warm_start_goes_on(cluster, small_rounds):
    X, y = rows()
    data = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    model = SVC(C=3, gap_tol=1e-5, warm_start=True).fit(*data)
    rounds = model.rounds_[0]
    again = model.fit(*data)
    assert again.rounds_[0] < rounds / 2
    assert again.certificate_.relative_gap <= 1e-5


def test_a_proof_by_compiled_tiles_agrees(cluster, monkeypatch):
    from maxmargin.distributed import _kernel_fit

    X, y = rows()
    data = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    full = SVC(C=3, certify="full").fit(*data)
    monkeypatch.setattr(_kernel_fit, "CHEAP_VALUES", 0)
    bounded = SVC(C=3).fit(*data)
    assert (full.certificate_.method, bounded.certificate_.method) == ("recomputed", "bounded")
    assert bounded.certificate_.holds
    assert bounded.certificate_.relative_gap == pytest.approx(full.certificate_.relative_gap, rel=1e-6)


def test_bytes_of_a_round_do_not_grow_with_the_rows(cluster, small_rounds):
    """A round's candidates and moved rows are bounded by CANDIDATES; nothing else has a size."""
    per_round = []
    for n in (600, 2400):
        X, y = rows(n)
        chunk, d = n // 4, X.shape[1]
        model = SVC(C=3).fit(da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk))
        traffic = model.traffic_.by_operation["round"]
        assert traffic.calls == model.rounds_[0] + 1
        # up: row, number, score, variable, target, cost of 96 candidates (a few more by rounding); down: row and change
        # to each of two workers, number and value once; and some words for each partition and worker
        candidates = 96 + 4
        up, down = candidates * 8 * (d + 6), candidates * 8 * (2 * (d + 1) + 2)
        words = 4 * 3000 + 2 * 3000
        assert (traffic.sent + traffic.received) / traffic.calls <= up + down + words
        per_round.append((traffic.sent + traffic.received) / traffic.calls)
    assert per_round[1] <= 1.5 * per_round[0]


def test_limits_end_with_a_model(cluster, small_rounds):
    X, y = rows()
    data = da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150)
    with pytest.warns(UserWarning, match="max_iter"):
        model = SVC(C=100, max_iter=50).fit(*data)
    assert model.fit_status_ == 1
    assert model.certificate_.holds
    with pytest.warns(UserWarning, match="time_limit"):
        assert SVC(C=100, time_limit=1e-6).fit(*data).certificate_.relative_gap > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kernel": "precomputed"}, "has no rows"),
        ({"C": np.inf}, "C=inf"),
        ({"solver": "interior-point"}, "decomposition"),
        ({"multiclass": "crammer-singer"}, "one computer"),
        ({"approximation": "nystroem"}, "one computer"),
        ({"calibration": "sigmoid"}, "calibrat"),
        ({"device": "cuda"}, "device"),
    ],
)
def test_what_a_cluster_does_not_do_is_refused_in_words(given, said):
    with pytest.raises(ValueError, match=said):
        SVC(**given).fit(np.zeros((4, 2)), np.array([0, 1, 0, 1]))


def test_ctrl_c_ends_with_a_model(cluster, small_rounds, monkeypatch):
    from maxmargin.distributed import _crew

    X, y = rows()
    plain, rounds = _crew.Crew._submit, []

    def submit(self, name, *rest):
        rounds.append(name)
        if rounds.count("round") == 3 and name == "round":
            os.kill(os.getpid(), signal.SIGINT)
        return plain(self, name, *rest)

    monkeypatch.setattr(_crew.Crew, "_submit", submit)
    with pytest.warns(UserWarning, match="interrupted"):
        model = SVC(C=100, gap_tol=1e-9).fit(da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150))
    assert model.certificate_.holds
    assert model.rounds_[0] <= 4


def test_progress_is_shown(cluster, small_rounds, capsys):
    X, y = rows()
    SVC(C=3, verbose=1).fit(da.from_array(X, chunks=(150, -1)), da.from_array(y, chunks=150))
    assert "[SVC]" in capsys.readouterr().out
