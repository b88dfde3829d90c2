"""Tables made of the benchmarks' JSON: hand-made numbers in, the same numbers out."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.arena import work
from benchmarks.arena.measure import Plan, Row, measure
from benchmarks.arena.settle import Search, settle
from benchmarks.report import markdown, minimum
from benchmarks.report.__main__ import main, make
from benchmarks.scaling import exponent, exponents

SHAPE = {"rows": 1000, "columns": 10, "features": 10.0}
COMPUTER = {
    "threads": 2,
    "gemm": {"float32, one thread": 100.0},
    "exponential": {"one thread": 0.5},
    "dense": {"10": 1.0, "20": 2.0},
    "sparse": {"4": 0.5},
    "memory": {"read": 10.0, "write": 5.0, "first_touch": 1.5},
}


def row(case, competitor, fit, **more):
    ours = {"support": 500, "values": 5e5, "shape": SHAPE, "gap": 1e-5, "holds": True, "predict": fit / 10}
    return {"case": case, "competitor": competitor, "fit": fit, "goal": 1e-4, "unknown": 0} | ours | more


def arena():
    rows = [row("a", "maxmargin", 1.0), row("a", "x", 2.0), row("b", "maxmargin", 1.0), row("b", "x", 8.0)]
    rows += [row("c", "maxmargin", 2.0), row("c", "x", 600.0, status="cut off", gap=None, predict=None)]
    rows += [row("a", "maxmargin", 1.0, goal=1e-6), row("a", "x", 16.0, goal=1e-6, status="floor", holds=False)]
    return {"rows": rows, "environment": {"cores": 2, "machine": "m", "python": "3.12", "numpy": "2.0"}}


def scaling():
    rows = [
        {"series": "covtype", "by": "n", "size": n, "competitor": "x", "status": "ok", "fit": n**2 / 1e6, "gap": 1e-4}
        for n in (1000, 2000, 4000)
    ]
    rows.append(rows[0] | {"competitor": "y", "status": "cut off", "fit": 120.0, "gap": None})
    return {"rows": rows, "exponents": exponents(rows)}


def test_ratios_means_and_marks():
    tables = make([arena()])
    assert "| a | 1 s | 2 s, 2.00 x |" in tables["fit"]
    assert "| c | 2 s | >600 s, >300.00 x |" in tables["fit"]
    assert "| c | 1.0e-05 | cut off |" in tables["gap"]
    assert "| fit, x | >16.87 x | 2.00 x (a) | 3 | 0 | >16.87 x |" in tables["means"]  # (2 * 8 * 300) ** (1 / 3)
    assert "| predict, x | 4.00 x | 2.00 x (a) | 2 | 0 | 4.00 x |" in tables["means"]


def test_every_goal_has_its_tables_and_a_floor_is_marked():
    tables = make([arena()])
    assert tables["fit-tight"].startswith("Certified relative gap 1e-06.")
    assert "| a | 1 s | 16 s, 16.00 x, *floor* |" in tables["fit-tight"]
    assert "1.0e-05? *floor*" in tables["gap-tight"]
    assert "| fit, x | 16.00 x | 16.00 x (a) | 1 | 1 | - |" in tables["means-tight"]
    assert "| b " not in tables["fit-tight"]


def test_the_least_work_takes_the_cheaper_layout():
    assert (
        "| a | 1000 | 500 | 5.00e+05 | 10 dense | 1.00 | 0.5 ms | 1 s | 2000.0 |"
        in make([arena()], computer=COMPUTER)["minimum"]
    )
    assert minimum.rate(COMPUTER, SHAPE | {"columns": 15, "features": 15.0}) == (1.5, "dense")
    assert minimum.rate(COMPUTER, SHAPE | {"columns": 40, "features": 8.0}) == (1.0, "sparse")
    assert minimum.rate(COMPUTER, SHAPE | {"columns": 10, "features": 4.9})[1] == "sparse"


def test_growth():
    assert exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)
    assert exponent([1, 2, 4, 8, 16, 32], [9.0, 9.0, 9.0, 8.0, 16.0, 32.0]) == pytest.approx(1.0)
    assert exponent([1, 2], [1.0, 2.0]) is None
    text = make([arena()], scaling())["scaling-covtype"]
    assert "| 1000 | 1 s (1e-04) | >120 s |" in text
    assert "| 2000 | 4 s (1e-04) | not tried |" in text
    assert "| exponent | **2.00** | - |" in text


def test_many_classes_are_compared_set_by_set_and_calibration_by_calibration():
    def line(table, competitor, seconds, **more):
        return {"table": table, "set": "letter", "competitor": competitor, "seconds": seconds, "score": 0.9} | more

    proper = {"log_loss": 0.2, "brier": 0.1}
    rows = [
        line("one-vs-all", "maxmargin", 2.0, gap=1e-5),
        line("one-vs-all", "sklearn OneVsRestClassifier", 16.0, gap=2e-5),
        line("probabilities", "maxmargin, sigmoid", 1.0, **proper),
        line("probabilities", "CalibratedClassifierCV, sigmoid", 5.0, **proper),
        line("probabilities", "maxmargin, isotonic", 2.0, **proper),
        line("probabilities", "CalibratedClassifierCV, isotonic, ensemble", 40.0, **proper),
    ]
    made = make([arena()], many_classes={"rows": rows})
    assert "| letter | sklearn OneVsRestClassifier | 16 s | 8.0 | 2e-05 | 0.9000 |" in made["one-vs-all"]
    assert "| letter | CalibratedClassifierCV, isotonic, ensemble | 40 s | 20.0 |" in made["probabilities"]
    assert made["probabilities"].endswith("Geometric mean of the ratios: 10.0; least: 5.0.")


def test_searches_are_compared_set_by_set():
    def line(competitor, name, seconds, dropped=0):
        known = {"table": "kernel", "set": name, "competitor": competitor, "seconds": seconds, "cells": 64}
        return known | {"score": 0.9, "test": 0.8, "best": {"C": 1.0}, "dropped": dropped}

    rows = [
        line("maxmargin", "splice", 0.5, 40),
        line("GridSearchCV", "splice", 5.0),
        line("maxmargin", "letter", 2.0, 30),
        line("GridSearchCV", "letter", 80.0),
    ]
    text = make([arena()], searches={"rows": rows})["selection-kernel"]
    assert "| splice | maxmargin | 500 ms |  | 40 of 64 | 0.9000 | 0.8000 |" in text
    assert "| letter | GridSearchCV | 80 s | 40.0 |  | 0.9000 | 0.8000 |" in text
    assert text.endswith("Geometric means of the ratios: GridSearchCV: 20.0, least 10.0.")
    sizes = {"table": "everyday", "rows": 500, "columns": 9}
    shown = make([arena()], searches={"rows": [row | sizes for row in [*rows[2:], *rows[:2]]]})["selection-everyday"]
    assert shown.index("| splice | 500 | 9 | 500 ms | 5 s | 10.0 | 0.9000 | 0.9000 |") < shown.index("letter")
    assert shown.endswith("Geometric means of the ratios: GridSearchCV: 20.0, least 10.0.")
    ridge = [row | {"table": "least-squares"} for row in [*rows[:2], line("maxmargin, every cell", "splice", 1.0)]]
    made = make([arena()], searches={"rows": [*rows, *ridge]})
    assert made["selection-kernel"] == text
    assert "| splice | maxmargin, every cell | 1 s |  | 0 of 64 |" in made["selection-least-squares"]
    assert made["selection-least-squares"].endswith("GridSearchCV: 10.0, least 10.0.")


def test_tables_go_between_their_markers_and_nowhere_else(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(
        "# T\n\n<!-- table: fit -->\nstale\n<!-- end -->\n\nprose\n\n<!-- table: none -->\nkept\n<!-- end -->\n\n"
        "<!-- table: means -->\nstale\n\n## Next\n\nend\n"
    )
    (tmp_path / "arena.json").write_text(json.dumps(arena()))
    arguments = [str(tmp_path / "arena.json"), "--into", str(page)]
    main(arguments)
    once = page.read_text()
    assert "stale" not in once
    for kept in ("prose", "kept", "\n\n## Next\n\nend\n", "| a | 1 s | 2 s, 2.00 x |", "(a) | 3 |"):
        assert kept in once
    main(arguments)
    assert page.read_text() == once
    assert "left as they were: none" in capsys.readouterr().out
    assert markdown.places(once) == ["fit", "none", "means"]


# -- what the arena adds for it -------------------------------------------------------------------------------------


class Scripted:
    """A contender whose gap is a function of tol."""

    name, limit = "scripted", 1.0

    def __init__(self, gap_at):
        self.gap_at, self.tols, self.fits, self.warmed = gap_at, [], 0, 0

    def load(self):
        return {"scored_on": "test", "import": 0.0}

    def warm(self):
        self.warmed, self.fits = self.warmed + 1, self.fits + 1

    def fit(self, tol):
        self.fits += 1
        self.tols.append(tol)
        return {"seconds": 1.0, "memory": 1.0, "warnings": [], "note": "", "support": 3, "values": 9.0}

    def ask(self, do, limit):
        if do == "predict":
            return {"seconds": 0.1, "score": 1.0}
        return {"gap": self.gap_at(self.tols[-1]), "kkt": 0.0, "holds": True, "reason": "", "seconds": 0.1}


def measured(gap_at, *plans):
    blocks = [{"scripted": Row("case", "scripted", goal=plan.gap)} for plan in plans]
    contender = Scripted(gap_at)
    measure(blocks, [contender], list(plans))
    return [block["scripted"] for block in blocks], contender


def test_a_predicted_tol_aims_at_half_the_goal_and_never_leaps_too_far():
    contender = Scripted(lambda tol: tol)
    settle(contender, Row("case", "scripted"), Plan(gap=1e-4, predict=True), Search())
    assert contender.tols == pytest.approx([1e-3, 5e-5])
    contender = Scripted(lambda tol: tol)
    settle(contender, Row("case", "scripted"), Plan(gap=1e-9, predict=True), Search())
    assert contender.tols == pytest.approx([1e-3, 1e-5, 1e-7, 1e-9])


def test_small_steps_in_vain_are_no_floor_but_whole_ones_are():
    row = Row("case", "scripted")
    settle(Scripted(lambda tol: 1.1e-4 if tol > 4e-5 else tol), row, Plan(gap=1e-4, predict=True))
    assert row.status == "ok"
    contender = Scripted(lambda tol: max(tol, 1.1e-4))
    settle(contender, row, Plan(gap=1e-4, predict=True))
    assert row.status == "floor"
    assert contender.tols[-3] >= 99 * contender.tols[-1]


def test_a_second_goal_goes_on_from_the_first():
    (loose, tight), contender = measured(lambda tol: tol / 2, Plan(gap=1e-4, repeat=1), Plan(gap=1e-6, repeat=1))
    assert (loose.status, loose.gap, tight.status, tight.gap) == ("ok", 5e-5, "ok", pytest.approx(5e-7))
    assert contender.tols.count(1e-3) == 1
    assert (tight.support, tight.values, tight.first) == (3, 9.0, 1.0)


def test_a_floor_is_not_looked_for_twice_and_a_gap_already_reached_is_not_timed_twice():
    (loose, tight), contender = measured(lambda tol: 1e-3, Plan(gap=1e-4, repeat=1), Plan(gap=1e-6, repeat=1))
    assert (loose.status, tight.status, tight.goal, tight.fit) == ("floor", "floor", 1e-6, loose.fit)
    assert len(contender.tols) == 4  # one, two in vain, one timed
    (loose, tight), contender = measured(lambda tol: 1e-12, Plan(gap=1e-4, repeat=1), Plan(gap=1e-6, repeat=1))
    assert (tight.status, tight.fit, len(contender.tols)) == ("ok", 1.0, 2)


def test_a_large_case_is_warmed_up_and_timed_once():
    (row,), contender = measured(lambda tol: 1e-5, Plan(gap=1e-4, once=True))
    assert (contender.warmed, contender.tols, row.fit, row.first) == (1, [1e-3], 1.0, None)
    assert row.predict == 0.1


def test_work_is_counted_by_pairs_and_constants_are_no_features():
    class Model:
        support_ = np.arange(4)
        n_support_ = np.array([2, 1, 1])
        dual_coef_ = np.array([[1.0, 0.0, -1.0, -1.0], [0.0, 1.0, 1.0, -1.0]])

    y = np.repeat([0, 1, 2], [10, 20, 30])
    # pair 01: line 0 of class 0, line 0 of class 1; pair 02: line 1 of 0, line 0 of 2; pair 12: line 1 of 1 and of 2
    assert work.kernel_values(Model, y) == 30 * 2 + 40 * 2 + 50 * 2
    assert work.support(Model) == 4
    X = np.full((10, 3), 7.0)
    X[:, 0] = np.arange(10)
    X[0, 1] = 1.0
    assert work.shape(X) == {"rows": 10, "columns": 3, "features": pytest.approx(1.0)}
