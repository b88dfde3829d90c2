"""Linear machines in the arena: the judge, the bound, who takes part, and the tables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from benchmarks import stochastic
from benchmarks.arena import bound, competitors, fastest, linear, sets, work
from benchmarks.arena.__main__ import main, run_case
from benchmarks.arena.case import Case, Split, save
from benchmarks.arena.competitors import liblinear_dual, maxmargin_, sklearn_, sklearn_sgd
from benchmarks.arena.measure import Plan, Row
from benchmarks.arena.worker import Session
from benchmarks.report.__main__ import make

ROOT = Path(__file__).resolve().parents[2]
PARAMS = {"C": 1.0, "fit_intercept": False}


def rows_of(classes, n=80, d=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.argmax(X[:, :classes] + 0.5 * rng.normal(size=(n, classes)), axis=1)
    return X.astype(np.float32), y


def model_of(coef, intercept=0.0):
    return SimpleNamespace(coef_=np.asarray(coef), intercept_=np.asarray(intercept))


# -- the judge ------------------------------------------------------------------------------------------------------


def test_the_objective_is_the_definition():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    y = np.array([7, 3, 7])
    coef, b = np.array([[0.5, -1.0]]), np.array([0.25])
    slack = [1 - (0.5 + 0.25), 1 + (-2.0 + 0.25), 1 - (0.5 - 1.0 + 0.25)]
    for power in (1, 2):
        expected = 0.5 * (0.25 + 1.0) + 3.0 * sum(max(0.0, s) ** power for s in slack)
        for rows in (X, sp.csr_matrix(X)):
            assert linear.objective(rows, y, coef, b, 3.0, power) == pytest.approx([expected])
    np.testing.assert_array_equal(linear.signs(y), [[1], [-1], [1]])
    np.testing.assert_array_equal(linear.signs(np.array([2, 5, 9])), 2 * np.eye(3) - 1)
    with pytest.raises(ValueError, match="weights of 1 tasks and 2 columns"):
        linear.objective(X, y, coef.T, b, 3.0, 1)


def test_blocks_of_rows_make_no_difference(monkeypatch):
    X, y = rows_of(3)
    coef = np.random.default_rng(1).normal(size=(3, 6))
    whole = linear.objective(X, y, coef, np.zeros(3), 2.0, 1)
    monkeypatch.setattr(linear, "BLOCK", 60)
    np.testing.assert_allclose(linear.objective(X, y, coef, np.zeros(3), 2.0, 1), whole, rtol=1e-12)
    np.testing.assert_allclose(linear.objective(sp.csr_matrix(X), y, coef, np.zeros(3), 2.0, 1), whole, rtol=1e-12)


@pytest.mark.parametrize("task", linear.TASKS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("free", [False, True])
def test_the_judge_accepts_a_solution_and_no_other_weights(task, classes, free):
    X, y = rows_of(classes)
    params = PARAMS | {"fit_intercept": free}
    found = bound.find(X, y, task, params)
    assert found["gap"] <= 1e-8
    good = maxmargin_.make(task, params, 1e-8).fit(X, y)
    proof = linear.judge(good, X, y, task, params, found["dual"])
    assert proof["holds"]
    assert 0.0 <= proof["gap"] <= 2e-8
    moved = good.coef_.copy()
    moved[-1] *= 1.1
    wrong = linear.judge(model_of(moved, good.intercept_), X, y, task, params, found["dual"])
    assert wrong["gap"] > 1e-5
    worst = linear.judge(model_of(-good.coef_, good.intercept_), X, y, task, params, found["dual"])
    assert worst["gap"] > 0.3


def test_the_gap_is_relative_to_the_larger_value_and_the_worst_task_counts():
    X, y = rows_of(3)
    primal = linear.objective(X, y, np.zeros((3, 6)), np.zeros(3), 1.0, 1)
    assert primal == pytest.approx([80.0] * 3)
    proof = linear.judge(model_of(np.zeros((3, 6))), X, y, "linear-hinge", PARAMS, [80.0, 60.0, 72.0])
    assert proof["gap"] == pytest.approx(0.25)
    assert proof["holds"]


def test_an_objective_below_its_bound_proves_the_bound_wrong():
    X, y = rows_of(2)
    proof = linear.judge(model_of(np.zeros((1, 6))), X, y, "linear-hinge", PARAMS, [81.0])
    assert not proof["holds"]
    assert "below its bound" in proof["reason"]


def test_an_intercept_counts_only_where_the_problem_has_one():
    X, y = rows_of(2)
    model = model_of(np.zeros((1, 6)), [5.0])
    assert linear.judge(model, X, y, "linear-hinge", PARAMS, [80.0])["gap"] == 0.0
    free = PARAMS | {"fit_intercept": True}
    assert linear.judge(model, X, y, "linear-hinge", free, [80.0])["gap"] > 0.1


# -- the bound ------------------------------------------------------------------------------------------------------


def test_the_bound_is_written_once_beside_the_data_and_read_by_the_worker(tmp_path):
    X, y = rows_of(3)
    path = tmp_path / "case.npz"
    save(path, Split(X, y))
    assert bound.prepare(path, "linear-hinge", PARAMS, 60.0) == ""
    assert bound.load(path) == pytest.approx(bound.find(X, y, "linear-hinge", PARAMS)["dual"], rel=1e-7)
    session = Session()
    session.load(str(path), "sklearn", "linear-hinge", PARAMS)
    reply = session.fit(1e-10, once=True)
    assert reply["support"] is None
    assert reply["values"] is None
    assert session.certify()["gap"] < 1e-6
    bound.write(path, {"dual": [1.0, 1.0, 1.0], "gap": 0.0})
    assert session.certify()["gap"] > 0.5


def test_a_bound_that_could_not_be_found_says_why(tmp_path):
    X, y = rows_of(2)
    path = tmp_path / "case.npz"
    save(path, Split(X, y))
    assert "no lower bound" in bound.prepare(path, "linear-hinge", PARAMS | {"C": -1.0}, 60.0)
    with pytest.raises(RuntimeError, match=r"no lower bound: .*'C'"):
        bound.load(path)


def test_a_bound_without_proof_is_none(monkeypatch):
    class Unproven:
        certificates_ = [SimpleNamespace(holds=True, reason=""), SimpleNamespace(holds=False, reason="not feasible")]

        def __init__(self, **params):
            pass

        def fit(self, X, y):
            return self

    monkeypatch.setattr("maxmargin.LinearSVC", Unproven)
    assert bound.find(*rows_of(2), "linear-hinge", PARAMS) == {"reason": "not feasible"}


# -- cases and competitors ------------------------------------------------------------------------------------------


def test_the_cases_are_there():
    cases = sets.discover()
    names = ("a9a", "w8a", "ijcnn1", "covtype", "news20", "news20_all", "sector_scale")
    for name in [f"{s}/{task}/C{C}" for s in names for task in linear.TASKS for C in ("0.01", "1", "100")]:
        case = cases[name][1]
        assert case.task == name.split("/")[1]
        assert f"C{case.params['C']:g}" == name.split("/")[2]
        assert case.params["fit_intercept"] is False
        assert case.rows is None
    free = [case for name, (_, case) in cases.items() if name.endswith("-bias")]
    assert free
    assert all(case.params["fit_intercept"] for case in free)


def test_news20_is_one_class_or_all_and_covtype_has_all_rows():
    def source(name):
        rng = np.random.default_rng(0)
        X = rng.random((40, 3))
        return (X if name == "covtype" else sp.csr_matrix(X)), np.arange(40) % 4 + 1, None, None

    data = {name: sets.discover()[f"{name}/linear-hinge/C1"][0] for name in ("news20", "news20_all", "covtype")}
    assert np.bincount(data["news20"].load(source, None).y).tolist() == [30, 10]
    assert len(np.unique(data["news20_all"].load(source, None).y)) == 4
    assert len(data["covtype"].load(source, None).y) == 40


def test_who_penalises_the_intercept_says_so():
    free = {"C": 1.0, "fit_intercept": True}
    for side in (sklearn_, liblinear_dual):
        assert side.cannot("linear-hinge", PARAMS) is None
        assert "penalises" in side.cannot("linear-hinge", free)
    assert sklearn_.cannot("svc", {"C": 1.0}) is None
    assert not hasattr(sklearn_sgd, "cannot")


def fake(*tasks, absent="not here", **more):
    return SimpleNamespace(TASKS=tasks, available=lambda: absent, **more)


def test_competitors_that_cannot_do_a_task_are_skipped():
    sides = {
        "kernels only": fake("svc"),
        "other loss": fake("linear-squared-hinge"),
        "other problem": fake("linear-hinge", absent=None, cannot=lambda task, params: "another problem"),
        "absent": fake("linear-hinge"),
    }
    X, y = rows_of(2)
    (rows,) = run_case("case", Case("linear-hinge", PARAMS), Split(X, y), sides, [Plan(gap=1e-6)], 30.0)
    assert {row.competitor: row.notes for row in rows} == {
        "other loss": ["has no linear-hinge"],
        "other problem": ["another problem"],
        "absent": ["not here"],
    }
    assert {(row.status, row.task) for row in rows} == {("absent", "linear-hinge")}
    (rows,) = run_case("case", Case("svc", {"C": 1.0, "gamma": 1.0}), Split(X, y), sides, [Plan(gap=1e-6)], 30.0)
    assert [row.competitor for row in rows] == ["kernels only"]


#: Loading it has the processor take tiny numbers for 0, in all that the process does afterwards.
ALONE = {"snapml"}


@pytest.mark.parametrize("name", [n for n, s in competitors.discover().items() if set(s.TASKS) & set(linear.TASKS)])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_linear_competitor_solves_the_problem_it_says(name, classes):
    absent = competitors.discover()[name].available()
    if absent:
        pytest.skip(absent)
    if name in ALONE:
        code = f"from tests.arena.test_linear import assert_solved; assert_solved({name!r}, {classes})"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=300)
    else:
        assert_solved(name, classes)


def assert_solved(name, classes):
    side = competitors.discover()[name]
    X, y = rows_of(classes, n=200)
    y = np.array([10, 4, 7])[y]  # labels neither in the order of their first rows nor consecutive
    for task in sorted(set(side.TASKS) & set(linear.TASKS)):
        dual = bound.find(X, y, task, PARAMS)["dual"]
        model = side.make(task, PARAMS, 1e-6).fit(side.cast(X, task), y)
        assert linear.judge(model, X, y, task, PARAMS, dual)["gap"] < (0.2 if side is sklearn_sgd else 1e-3)
        expected = LinearSVC(loss=linear.LOSS[task], fit_intercept=False, max_iter=10**6).fit(X, y).predict(X)
        assert np.mean(model.predict(side.cast(X, task)) == expected) > 0.9
        assert isinstance(side.note(model), str)


def test_models_without_support_vectors_have_no_kernel_values():
    assert work.support(model_of([[1.0]])) is None
    assert work.kernel_values(model_of([[1.0]]), np.arange(3)) is None


@pytest.mark.parametrize("share", [0.05, 0.7])
def test_sparse_rows_have_the_shape_of_dense_ones(share):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(51, 30))) * (rng.random((51, 30)) < share)
    X[:, 3] = 2.0
    assert work.shape(sp.csr_matrix(X)) == pytest.approx(work.shape(X))


# -- tables ---------------------------------------------------------------------------------------------------------


def row(case, competitor, fit, task="linear-hinge", free=False, **more):
    known = {"gap": 1e-7, "holds": True, "goal": 1e-6, "params": {"C": 1.0, "fit_intercept": free}}
    return Row(case, competitor, fit=fit, task=task, **known | more)


def blocks():
    one, two, three = "a/linear-hinge/C1", "b/linear-hinge/C1", "a/linear-hinge/C1-bias"
    return [
        [row(one, "maxmargin", 1.0), row(one, "x", 3.0), row(one, "y", 0.5, status="floor", gap=2e-4)],
        [row(two, "maxmargin", 2.0), row(two, "x", 60.0, status="cut off", gap=None), row(two, "y", 24.0)],
        [
            row(three, "maxmargin", 1.0, free=True),
            row(three, "x", 100.0, free=True),
            row(three, "y", None, status="absent"),
        ],
    ]


def test_only_peers_that_reach_the_goal_are_compared():
    first, second, third = blocks()
    assert fastest.fastest(first).competitor == "x"
    assert [fastest.ratio(rows) for rows in (first, second, third)] == [3.0, 12.0, 100.0]
    assert fastest.mean(blocks()) == (pytest.approx(6.0), 2)
    alone = [first[0], row("c", "x", 1.0, holds=False)]
    assert fastest.ratio(alone) is None
    said = fastest.summary([*blocks(), alone])
    assert "linear-hinge: 6.00 x over 2 cases" in said
    assert "y: gap 2e-04 after 500 ms" in said
    assert "x: cut off at 60 s" in said
    assert "no peer reaches it" in said


def as_report(*found):
    rows = [vars(r) for rows in found for r in rows]
    return {"rows": rows, "environment": {"cores": 2, "machine": "m", "python": "3.12"}}


def test_the_report_has_a_section_for_linear_machines():
    tables = make([as_report(*blocks())])
    text = tables["linear-hinge"]
    assert "| case | maxmargin | x | y | fastest peer |" in text
    assert "| a/C1 | 1 s | 3 s | (gap 2e-04 after 500 ms) | 3.00 x |" in text
    assert "| b/C1 | 2 s | (cut off at 60 s) | 24 s | 12.00 x |" in text
    assert "| a/C1-bias | 1 s | 100 s | - | 100.00 x |" in text
    assert "| geometric mean, no intercept |  |  |  | **6.00 x** |" in text
    assert "linear-squared-hinge" not in tables
    assert "| linear-hinge | 6.00 x | 3.00 x | 2 | 0 |" in tables["linear-means"]
    assert "fit" not in tables


def test_kernel_tables_ignore_linear_rows_and_the_other_way_round():
    kernel = [Row("k", "maxmargin", fit=1.0, gap=1e-5, holds=True, goal=1e-4), Row("k", "x", fit=2.0, goal=1e-4)]
    for row_ in kernel:
        row_.task = ""  # as written before rows had tasks
    alone, mixed = make([as_report(kernel)]), make([as_report(kernel, *blocks())])
    assert set(mixed) - set(alone) == {"linear-hinge", "linear-means"}
    assert {name: mixed[name] for name in alone} == alone
    assert "| k " not in mixed["linear-hinge"]


def test_a_whole_run_of_a_linear_case(tmp_path, capsys, monkeypatch):
    X, y = rows_of(2, n=200)
    data = SimpleNamespace(load=lambda source, rows: Split(X, y))
    cases = {f"toy/{task}/C1": (data, Case(task, PARAMS, f"{task}/C1")) for task in linear.TASKS}
    monkeypatch.setattr(sets, "discover", lambda: cases)
    report = tmp_path / "arena.json"
    arguments = ["--competitors", "maxmargin", "sklearn", "--gap", "1e-6", "--repeat", "1", "--json", str(report)]
    main([*arguments, "--tasks", "linear-hinge"])
    said = capsys.readouterr().out
    assert "toy/linear-hinge/C1: linear-hinge, 200 x 6, C=1, fit_intercept=False" in said
    assert "geometric mean, no intercept, linear-hinge" in said
    assert "squared" not in said
    written = json.loads(report.read_text())
    assert {r["competitor"]: r["status"] for r in written["rows"]} == {"maxmargin": "ok", "sklearn": "ok"}
    assert all(0.0 <= r["gap"] <= 1e-6 and r["holds"] for r in written["rows"])
    assert written["linear"]["1e-06"][1] == 1
    assert "| toy/C1 |" in make([written])["linear-hinge"]


# -- stochastic machines --------------------------------------------------------------------------------------------


def test_the_stochastic_benchmark_doubles_the_passes_until_the_objective_is_good_enough(tmp_path, capsys, monkeypatch):
    X, y = rows_of(2, n=300)
    made = []

    class Improving:
        """Its weights come nearer to the optimum with every pass."""

        def __init__(self, passes):
            self.passes = passes
            made.append(passes)

        def fit(self, X, y):
            C = 1.0 / (stochastic.LAM * len(y))
            best = maxmargin_.make("linear-hinge", PARAMS | {"C": C}, 1e-8).fit(X, y).coef_
            self.coef_ = best * (1.0 - 0.5 / self.passes**2)
            return self

    data = SimpleNamespace(NAME="a9a", load=lambda source, rows: Split(X, y))
    monkeypatch.setattr(sets, "discover", lambda: {"a9a": (data, None)})
    monkeypatch.setattr(stochastic, "MACHINES", {"improving": Improving})
    report = tmp_path / "s.json"
    stochastic.main(["--sets", "a9a", "--repeat", "1", "--json", str(report)])
    (line,) = json.loads(report.read_text())["rows"]
    assert line["reached"]
    assert line["excess"] <= stochastic.GOAL
    assert line["passes"] == made[-1] > 1
    assert line["updates"] > 0
    assert "rows/s" in capsys.readouterr().out
