"""The arena's arithmetic and its manners; nothing here is timed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from benchmarks.arena import competitors, sets, table
from benchmarks.arena.__main__ import choose, main
from benchmarks.arena.case import Missing, Split, fix_gamma, open_source, read, save
from benchmarks.arena.contender import Contender, CutOff, Failed
from benchmarks.arena.measure import Plan, Row, settle

TASKS = {"svc", "nusvc", "svr", "oneclass", "linear-hinge", "linear-squared-hinge"}


class Scripted:
    """A contender whose gap is a function of tol; None is a fit that is cut off."""

    name, limit, fits = "scripted", 1.0, 0

    def __init__(self, gap_at):
        self.gap_at, self.tols, self.restarts = gap_at, [], 0

    def fit(self, tol):
        self.fits += 1
        self.tols.append(tol)
        if self.gap_at(tol) is None:
            raise CutOff("fit cut off at 1 s")
        return {"seconds": 1.0, "memory": 1.0, "warnings": [], "note": ""}

    def ask(self, do, limit):
        return {"gap": self.gap_at(self.tols[-1]), "kkt": 0.0, "holds": True, "reason": "", "seconds": 0.1}

    def restart(self):
        self.restarts += 1


def settled(gap_at, **plan):
    row = Row("case", "scripted")
    contender = Scripted(gap_at)
    settle(contender, row, Plan(**plan))
    return row, contender


def test_tol_is_tightened_until_the_gap_is_met():
    row, contender = settled(lambda tol: tol / 2, gap=1e-5)
    assert (row.status, row.gap) == ("ok", pytest.approx(5e-6))
    assert contender.tols == pytest.approx([1e-3, 1e-4, 1e-5])


def test_a_gap_that_stops_falling_is_a_floor_listed_at_its_best():
    row, _ = settled(lambda tol: max(tol, 3e-5), gap=1e-8)
    assert (row.status, row.gap) == ("floor", 3e-5)
    row, _ = settled(lambda tol: 1e-4 if tol < 5e-4 else 9e-5, gap=1e-8)
    assert (row.status, row.gap, row.tol) == ("floor", 9e-5, 1e-3)


def test_one_tightening_in_vain_is_no_floor():
    row, _ = settled(lambda tol: 1e-4 if tol > 5e-5 else tol / 10, gap=1e-5)
    assert row.status == "ok"


def test_a_cut_off_while_tightening_leaves_the_tol_before():
    row, contender = settled(lambda tol: tol if tol > 5e-5 else None, gap=1e-6)
    assert (row.status, row.tol) == ("floor", pytest.approx(1e-4))
    assert contender.restarts == 1
    assert "cut off" in row.notes[0]


def test_without_a_goal_nothing_is_tightened_and_a_bad_gap_is_told():
    assert settled(lambda tol: 1.0, tol=1e-2)[1].tols == [1e-2]
    row, contender = settled(lambda tol: float("nan"), gap=1e-6)
    assert contender.tols == [1e-3]
    assert "nan" in row.notes[0]


def test_a_worker_that_does_not_answer_is_cut_off_and_one_that_dies_is_told():
    sleeper = (sys.executable, "-c", "import time; time.sleep(60)")
    with Contender("x", {}, 0.5, sleeper) as contender, pytest.raises(CutOff, match=r"cut off at 0\.5 s"):
        contender.fit(1e-3)
    dying = (sys.executable, "-c", "raise SystemExit('no such thing')")
    with Contender("x", {}, 30.0, dying) as contender, pytest.raises(Failed, match="exit 1: no such thing"):
        contender.load()


def test_a_workers_error_is_an_answer():
    with Contender("x", {"path": "nowhere.npz", "task": "svc", "params": {}}, 30.0) as contender:
        with pytest.raises(Failed, match="FileNotFoundError"):
            contender.load()
        with pytest.raises(Failed, match="AttributeError"):  # and the worker goes on
            contender.fit(None)


def test_ratios_are_bounds_where_someone_was_cut_off():
    ours, theirs = Row("a", "maxmargin", fit=1.0), Row("a", "x", fit=4.0)
    assert table.ratio(ours, theirs) == (4.0, "=")
    theirs.status = "cut off"
    assert table.ratio(ours, theirs) == (4.0, ">")
    ours.status = "cut off"
    assert table.ratio(ours, theirs) is None
    theirs.status = "failed"
    assert table.ratio(ours, theirs) is None


def test_geometric_mean():
    blocks = [[Row(c, "maxmargin", fit=1.0), Row(c, "x", fit=t)] for c, t in (("a", 2.0), ("b", 8.0))]
    mean = table.means(blocks)["x"]
    assert (mean["mean"], mean["least"], mean["cases"]) == (pytest.approx(4.0), 2.0, 2)
    assert "4.00 x" in table.summary(blocks, {"b": "no data"})
    assert "b: no data" in table.summary(blocks, {"b": "no data"})


def test_every_competitor_and_every_set_keeps_the_contract():
    for name, side in competitors.discover().items():
        assert name == side.NAME
        assert set(side.TASKS) <= TASKS
        assert all(callable(getattr(side, f)) for f in ("available", "make", "cast", "note"))
    for name, (data, case) in sets.discover().items():
        assert {data.NAME, Path(data.__file__).stem} == {name.split("/")[0]}
        assert case.task in TASKS


def test_bundled_sets_load_and_the_others_say_what_they_need():
    source = open_source(None)
    for data, case in sets.discover().values():
        if data.BUNDLED:
            split = data.load(source, case.rows)
            assert len(split.X) == len(split.y) > len(split.y_test) > 0
        else:
            with pytest.raises(Missing, match="--data"):
                data.load(source, case.rows)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_a_split_survives_the_file_and_gamma_is_scikit_learns(tmp_path, convert):
    rng = np.random.default_rng(0)
    X = convert(rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.15))
    split = Split(X, np.arange(30) % 2)
    save(tmp_path / "s.npz", split)
    back = read(str(tmp_path / "s.npz"))
    assert sp.issparse(back.X) == sp.issparse(X)
    assert back.X_test is None
    dense = back.X.toarray() if sp.issparse(X) else back.X
    np.testing.assert_array_equal(dense, (X.toarray() if sp.issparse(X) else X).astype(np.float32))
    gamma = fix_gamma({"gamma": "scale"}, split.X)["gamma"]
    assert gamma == pytest.approx(SVC(gamma="scale").fit(split.X, split.y)._gamma, rel=1e-12)


def test_names_are_chosen_or_refused():
    assert choose(["a9a"], ["iris", "a9a", "a9a/10k"], "set") == ["a9a", "a9a/10k"]
    assert choose(["a9a/10k"], ["a9a", "a9a/10k"], "set") == ["a9a/10k"]
    assert choose(["a9a/linear"], ["a9a", "a9a/10k", "a9a/linear/C1"], "set") == ["a9a/linear/C1"]
    with pytest.raises(SystemExit, match="unknown set 'a10a'"):
        choose(["a10a"], ["a9a"], "set")


def test_a_whole_run(tmp_path, capsys):
    report = tmp_path / "arena.json"
    arguments = ["--sets", "iris", "a9a", "--competitors", "sklearn", "--gap", "1e-5", "--repeat", "1"]
    main([*arguments, "--json", str(report)])
    said = capsys.readouterr().out
    assert "iris: svc, 112 x 4" in said
    assert "a9a/10k: needs --data DIR" in said
    (row,) = json.loads(report.read_text())["rows"]
    assert row["status"] in ("ok", "floor")
    assert row["fit"] > 0
    assert row["memory"] > 0
    assert row["score"] > 0.9
    assert row["gap"] <= 1e-5 or row["status"] == "floor"
