"""Linear machines on a cluster have the optimum and the certificate of one computer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification, make_regression

import maxmargin

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'maxmargin[dask]'")
from dask import delayed  # noqa: E402  # after the test for it

from maxmargin import distributed  # noqa: E402
from maxmargin.distributed import LinearClassifier, LinearRegressor, LinearSVC, _linear_rounds  # noqa: E402

pytestmark = pytest.mark.slow

EDGES = [0, 2, 2, 380, 500]


def chunks(values):
    return [delayed(values[a:b]) for a, b in pairwise(EDGES)]


def classes(k: int = 2):
    return make_classification(500, 8, n_informative=6, n_redundant=0, n_classes=k, flip_y=0.1, random_state=0)


def numbers():
    X, y = make_regression(500, 6, noise=10, random_state=0)
    return X, y / 10


CASES = [
    ("LinearSVC", {"loss": "hinge", "tol": 1e-7}, classes(), False),
    ("LinearSVC", {"penalty": "l1", "scale": True, "tol": 1e-7, "C": 0.1}, classes(), False),
    ("LinearSVC", {"tol": 1e-8, "fit_intercept": False}, classes(), True),
    ("LinearClassifier", {"loss": "logistic", "lam": 1e-3, "tol": 1e-8, "class_weight": "balanced"}, classes(3), False),
    ("LinearRegressor", {"loss": "huber", "tol": 1e-8}, numbers(), False),
    ("LinearRegressor", {"loss": "absolute", "penalty": "elasticnet", "scale": True, "tol": 1e-7}, numbers(), True),
]


@pytest.mark.parametrize(("name", "given", "data", "sparse"), CASES)
def test_same_optimum(cluster, name, given, data, sparse):
    X, y = data
    X = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0)) if sparse else X
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = getattr(distributed, name)(**given).fit(chunks(X), chunks(y), chunks(weight))
    reference = getattr(maxmargin, name)(**given).fit(X, y, weight)
    for a, b in zip(model.certificates_, reference.certificates_, strict=True):
        assert a.holds
        assert b.holds
        assert max(a.dual, b.dual) <= min(a.primal, b.primal) * (1 + 1e-12)
    again = maxmargin.certify(model.ordinary(), X, y, weight)
    assert again.holds
    assert again.relative_gap <= max(2 * model.certificate_.relative_gap, 1e-9)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=2e-2 * np.abs(reference.coef_).max())
    np.testing.assert_array_equal(model.predict(X[:20]).shape, reference.predict(X[:20]).shape)


def test_many_columns_go_by_products(cluster, monkeypatch):
    X, y = classes()
    monkeypatch.setattr(_linear_rounds, "DIRECT", 4)
    model = LinearSVC(loss="hinge", tol=1e-6).fit(chunks(X), chunks(y))
    assert "curvature" not in model.traffic_.by_operation
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-6


def test_large_matrices_are_added_up_on_the_workers_to_the_same_bits(cluster, monkeypatch):
    X, y = classes()
    plain = LinearSVC(tol=1e-8).fit(chunks(X), chunks(y))
    monkeypatch.setattr(_linear_rounds, "LARGE_SHARE", 0)
    tree = LinearSVC(tol=1e-8).fit(chunks(X), chunks(y))
    np.testing.assert_array_equal(plain.coef_, tree.coef_)
    ours, theirs = tree.traffic_.by_operation["curvature"], plain.traffic_.by_operation["curvature"]
    assert ours.received < theirs.received / 3  # one sum instead of four


def test_bytes_of_a_step_do_not_grow_with_the_rows(cluster):
    found = []
    for n in (500, 4000):
        X, y = make_classification(n, 8, flip_y=0.1, random_state=0)
        model = LinearSVC(loss="hinge", tol=1e-5).fit(
            da.from_array(X, chunks=(n // 4, -1)), da.from_array(y, chunks=n // 4)
        )
        work = [
            own for name, own in model.traffic_.by_operation.items() if name in ("look", "curvature", "direct", "along")
        ]
        found.append(max((own.sent + own.received) / own.calls for own in work))
    assert found[1] <= 1.05 * found[0]
    assert found[1] <= 4 * (8 * 8 * 8 + 4000) + 2 * 2000  # shares of X'DX of four partitions, and words


def test_warm_starts_probabilities_and_lazy_decisions(cluster):
    X, y = classes(3)
    rows = da.from_array(X, chunks=(200, -1))
    model = LinearClassifier("logistic", tol=1e-6, warm_start=True).fit(rows, y)
    assert model.fit(rows, y).n_iter_ == 0
    lazy = distributed.predict_proba(model, rows)
    assert lazy.shape == (500, 3)
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(X))
    np.testing.assert_allclose(model.decision_function(rows).compute(), model.ordinary().decision_function(X))


def test_what_a_cluster_does_not_do_is_refused_in_words(cluster):
    X, y = classes()
    for machine, said in (
        (LinearSVC(C=np.inf), "C=inf"),
        (LinearSVC(solver="dual-coordinate"), "Newton"),
        (LinearClassifier("logistic", multiclass="softmax"), "one computer"),
        (LinearSVC(calibration="isotonic"), "calibrations"),
        (LinearRegressor(penalty="pnorm"), "one computer"),
    ):
        with pytest.raises(ValueError, match=said):
            machine.fit(X, y)
