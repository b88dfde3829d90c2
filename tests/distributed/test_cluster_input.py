"""What users may give, and what is said where it is wrong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification

import maxmargin
from maxmargin.exceptions import ClusterError

da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'maxmargin[dask]'")
import dask.dataframe as dd  # noqa: E402  # after the test for it
import pandas as pd  # noqa: E402

from maxmargin import distributed  # noqa: E402
from maxmargin.distributed import SVC, SVCCV, LinearSVC, _client  # noqa: E402

pytestmark = pytest.mark.slow

X, Y = make_classification(300, 5, n_redundant=0, flip_y=0.1, random_state=0)
NAMES = [f"f{j}" for j in range(5)]


def reference():
    return maxmargin.LinearSVC(tol=1e-8).fit(X, Y)


def test_data_frames_keep_their_names(cluster):
    table = dd.from_pandas(pd.DataFrame(X, columns=NAMES).assign(label=Y), npartitions=3)
    model = LinearSVC(tol=1e-8).fit(table[NAMES], table["label"])
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_allclose(model.coef_, reference().coef_, atol=1e-6)
    lazy = model.predict(table[NAMES])
    np.testing.assert_array_equal(lazy.compute(), reference().predict(X))


def test_a_folder_of_parquet_parts(cluster, tmp_path):
    frame = pd.DataFrame(X, columns=NAMES).assign(label=Y, weight=1.0)
    for k in range(3):
        frame[100 * k : 100 * k + 100].to_parquet(tmp_path / f"{k}.parquet")
    model = LinearSVC(tol=1e-8).fit(str(tmp_path), "label", "weight")
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_allclose(model.coef_, reference().coef_, atol=1e-6)
    with pytest.raises(ValueError, match="no column 'nothing'"):
        LinearSVC().fit(str(tmp_path), "nothing")
    with pytest.raises(ValueError, match="y='NAME'"):
        LinearSVC().fit(str(tmp_path))


def test_a_folder_of_svmlight_parts(cluster, tmp_path):
    for k in range(3):
        dump_svmlight_file(X[100 * k : 100 * k + 100], Y[100 * k : 100 * k + 100], str(tmp_path / f"{k}.svm"))
    model = LinearSVC(tol=1e-8).fit(tmp_path)
    np.testing.assert_allclose(model.coef_, reference().coef_, atol=1e-6)


def test_futures_and_persisted_rows_are_used_where_they_are(cluster):
    futures = [cluster.client.submit(np.copy, X[:150]), cluster.client.submit(np.copy, X[150:])]
    targets = [cluster.client.submit(np.copy, Y[:150]), cluster.client.submit(np.copy, Y[150:])]
    cluster.client.gather(targets)
    before = cluster.client.who_has([*futures])
    model = LinearSVC(tol=1e-8).fit(futures, targets)
    assert cluster.client.who_has([*futures]) == before  # nobody has a copy
    np.testing.assert_allclose(model.coef_, reference().coef_, atol=1e-6)


def test_arrays_are_divided(cluster):
    np.testing.assert_allclose(LinearSVC(tol=1e-8).fit(X, Y).coef_, reference().coef_, atol=1e-6)


def bad(partition: int, column: int, value: float):
    rows = X.copy()
    rows[100 * partition + 5, column] = value
    return da.from_array(rows, chunks=(100, -1))


def test_bad_input_is_named_with_its_partition(cluster):
    targets = da.from_array(Y, chunks=100)
    rows = da.from_array(X, chunks=(100, -1))
    with pytest.raises(ValueError, match=r"partition 2: .*NaN"):
        SVC().fit(bad(2, 0, np.nan), targets)
    with pytest.raises(ValueError, match=r"partition 1: .*infinity"):
        LinearSVC().fit(bad(1, 0, np.inf), targets)
    with pytest.raises(ValueError, match=r"partition 1: X has 100 rows, but y"):
        SVC().fit([rows[:100].to_delayed()[0, 0], rows[100:200].to_delayed()[0, 0]],
                  [targets[:100].to_delayed()[0], targets[:50].to_delayed()[0]])  # fmt: skip
    with pytest.raises(ValueError, match="partition 1: X has 4 features, but partition 0 has 5"):
        SVC().fit([rows[:100].to_delayed()[0, 0], rows[100:200, :4].to_delayed()[0, 0]],
                  [targets[:100].to_delayed()[0], targets[100:200].to_delayed()[0]])  # fmt: skip
    # one partition: of several bad ones, the first that answers is named
    table = dd.from_pandas(pd.DataFrame({"f0": ["a", "b"] * 50, "y": [0, 1] * 50}), npartitions=1)
    with pytest.raises(ValueError, match="partition 0: column 'f0' holds"):
        SVC().fit(table[["f0"]], table["y"])
    with pytest.raises(ValueError, match="300 rows, but y has 299"):
        SVC().fit(rows, Y[:-1])
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        SVC().fit(rows, da.zeros(300, chunks=100))
    with pytest.raises(ValueError, match="zero or negative weights"):
        SVC().fit(rows, targets, da.zeros(300, chunks=100))
    unknown = rows[rows[:, 0] > -9]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        SVC().fit(unknown, Y)
    with pytest.raises(ValueError, match="3 partitions, but y has 2"):
        SVC().fit(unknown, da.from_array(Y, chunks=150))


def test_a_failing_fit_leaves_no_trace(cluster):
    model = LinearSVC(tol=1e-8).fit(X, Y)
    coef = model.coef_.copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(bad(0, 0, np.nan), da.from_array(Y, chunks=100))
    np.testing.assert_array_equal(model.coef_, coef)


def test_workers_of_another_version_are_named(cluster, monkeypatch):
    monkeypatch.setattr(_client, "__version__", "0.0.1")
    with pytest.raises(ClusterError, match=r"worker tcp://.* has maxmargin .*, and this process has 0\.0\.1"):
        SVC().fit(X, Y)


def test_workers_without_maxmargin_are_named(cluster, monkeypatch):
    def run(function, *_, **options):
        return cluster.client.__class__.run(cluster.client, function, "__import__('no_such_maxmargin')", **options)

    monkeypatch.setattr(cluster.client, "run", run)
    with pytest.raises(ClusterError, match=r"worker tcp://.* has no maxmargin"):
        SVC(client=cluster.client).fit(X, Y)


NO_CLIENT = """
import numpy as np
from maxmargin.distributed import LinearSVC, SVC, SVCCV
for machine in (SVC(), LinearSVC(), SVCCV()):
    try:
        machine.fit(np.zeros((4, 2)), np.array([0, 1, 0, 1]))
    except Exception as error:
        said = str(error)
        assert "from dask.distributed import Client" in said and "client = Client()" in said, said
    else:
        raise SystemExit("no error")
"""


def test_without_a_client_the_error_shows_how_to_make_one():
    done = subprocess.run([sys.executable, "-c", NO_CLIENT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_loads_no_dask():
    code = "import sys, maxmargin.distributed as d; d.SVC, d.LinearSVC, d.SVCCV; assert 'dask' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_public_names_are_there():
    assert {name: getattr(distributed, name).__name__ for name in distributed.__all__}
    assert SVCCV is distributed.SVCCV
