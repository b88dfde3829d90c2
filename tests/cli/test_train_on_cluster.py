"""``maxmargin train --cluster``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("dask.distributed", reason="Dask is not installed: pip install 'maxmargin[dask]'")
pytestmark = pytest.mark.slow


def parts(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    random, paths = np.random.default_rng(0), []
    for k in range(3):
        X = random.standard_normal((200, 3))
        y = np.where(X[:, 0] + 0.3 * random.standard_normal(200) > 0, "yes", "no")
        paths.append(str(folder / f"{k}.parquet"))
        pq.write_table(pa.table({**{f"f{j}": X[:, j] for j in range(3)}, "answer": y}), paths[-1])
    return paths


def run(*words: str):
    from maxmargin.cli._app import app

    return CliRunner().invoke(app, ["train", *words])


def test_parts_are_trained_on_tested_and_saved(tmp_path):
    from dask.distributed import LocalCluster

    from maxmargin import SVC, io

    paths, out = parts(tmp_path), tmp_path / "model.mm"
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        done = run(*paths, "--target", "answer", "--cluster", cluster.scheduler_address, "--no-tune", "--out", str(out),
                   "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["proof"]["holds"]
    assert document["accuracy"] > 0.85
    assert sum(document["rows"].values()) == 600
    model = io.load(out)
    assert type(model) is SVC
    assert list(model.feature_names_in_) == ["f0", "f1", "f2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "answer", "--cluster", "tcp://127.0.0.1:1"), "no scheduler answers"),
        (("--target", "answer", "--cluster", "local", "--calibration", "sigmoid"), "without --cluster only"),
        (("--target", "answer", "--cluster", "local", "--drop", "f0"), "without --cluster only"),
        (("--target", "answer"), "one file at a time"),
    ],
)
def test_what_makes_no_sense_is_said(tmp_path, words, said):
    done = run(*parts(tmp_path), *words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
