"""Searches on a cluster have the results of one computer."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import io

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'maxmargin[dask]'")

from maxmargin.distributed import SVCCV  # noqa: E402  # after the test for Dask

pytestmark = pytest.mark.slow

X, Y = make_classification(300, 5, n_redundant=0, flip_y=0.15, random_state=0)
GIVEN = {"Cs": [0.1, 1.0, 10.0, 100.0], "gammas": [0.02, 0.2, 2.0], "scale": True}


def assert_same(ours, theirs):
    assert ours.best_params_ == theirs.best_params_
    for name, values in theirs.cv_results_.items():
        if "time" in name or name == "seconds":
            continue
        np.testing.assert_array_equal(np.asarray(ours.cv_results_[name]), np.asarray(values), err_msg=name)


def test_race_and_scores_are_those_of_one_computer(cluster, tmp_path):
    search, here = SVCCV(**GIVEN, client=cluster.client).fit(X, Y), maxmargin.SVCCV(**GIVEN).fit(X, Y)
    assert_same(search, here)
    assert any("dropped" in status for status in search.cv_results_["status"])
    np.testing.assert_array_equal(search.predict(X), here.predict(X))
    assert search.certificate_.holds
    io.save(search, tmp_path / "search.mm")
    assert type(io.load(tmp_path / "search.mm")) is maxmargin.SVCCV
    assert pickle.loads(pickle.dumps(search)).best_params_ == here.best_params_


def test_collections_weights_and_errors(cluster):
    weight = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    rows, targets = da.from_array(X, chunks=(100, -1)), da.from_array(Y, chunks=100)
    given = {**GIVEN, "gammas": [0.2], "scoring": "f1"}
    assert_same(SVCCV(**given).fit(rows, targets, weight), maxmargin.SVCCV(**given).fit(X, Y, weight))
    with pytest.raises(ValueError, match="needs a finite C"):
        SVCCV(Cs=[np.inf], gammas=[0.2], multiclass="crammer-singer", error_score="raise").fit(X, Y)


def test_joblib_s_dask_back_end_spreads_scikit_learn_s_searches(cluster):
    machine, grid = maxmargin.SVC(gamma=0.2), {"C": [0.1, 1.0, 10.0]}
    with joblib.parallel_config(backend="dask"):
        spread = GridSearchCV(machine, grid, cv=3).fit(X, Y)
    here = GridSearchCV(machine, grid, cv=3).fit(X, Y)
    assert spread.best_params_ == here.best_params_
    np.testing.assert_array_equal(spread.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
