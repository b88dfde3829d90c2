"""Which cells are finished, what the table says of them, who wins, and what people see meanwhile."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import f1_score, get_scorer, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVCCV, SVR, SVRCV, LinearSVC, LinearSVCCV, LinearSVR, LinearSVRCV
from maxmargin.backends import _threads
from maxmargin.backends._numba import NumbaBackend
from maxmargin.selection import _grid, _run
from maxmargin.selection._cells import DONE, WAITING, Cell
from maxmargin.selection._grid import finer_cells
from maxmargin.selection._race import FEWEST_PARTS, drop_losers, leader, line_is_lost, loss
from maxmargin.selection._results import best_cell, cv_results
from maxmargin.selection._scoring import Scorer
from maxmargin.solvers import StoredTasks
from tests.names import name_of

COSTS, WIDTHS = [0.1, 1.0, 10.0, 100.0], [0.01, 0.1, 1.0, 10.0]


def cell(right, strength=1.0, line=0, folds=3, status=WAITING):
    """A cell that saw one fold, whose rows were right (1) or wrong (0)."""
    made = Cell.fresh({"C": strength}, line, strength, folds)
    made.parts[0] = np.asarray(right, dtype=float)
    made.scores[0], made.status = made.parts[0].mean(), status
    return made


def rights(n, wrong):
    """n rows, the first of them wrong."""
    return np.r_[np.zeros(wrong), np.ones(n - wrong)]


# -- the race --------------------------------------------------------------------------------------------------------


def test_a_loss_is_a_paired_difference_in_standard_errors():
    best, other = cell(rights(100, 0)), cell(rights(100, 16))
    difference = best.parts[0] - other.parts[0]
    assert loss(other, best) == pytest.approx(0.16 / (difference.std(ddof=1) / 10))
    assert loss(best, best) == 0
    assert loss(best, other) == 0  # not behind


def test_rows_that_both_get_wrong_decide_nothing():
    """Two cells far apart from a third one by chance alone, and equal to each other."""
    best, same = cell(rights(40, 20)), cell(rights(40, 20))
    assert loss(same, best) == 0
    assert loss(cell(rights(40, 21)), best) == pytest.approx(1.0)


def test_nothing_is_lost_on_few_parts_or_on_other_folds():
    best = cell(np.ones(FEWEST_PARTS - 1))
    assert loss(cell(np.zeros(FEWEST_PARTS - 1)), best) == 0
    assert loss(cell(np.zeros(FEWEST_PARTS)), cell(np.ones(FEWEST_PARTS))) == np.inf
    elsewhere = cell(np.zeros(20))
    elsewhere.parts = {1: elsewhere.parts[0]}
    assert loss(elsewhere, cell(np.ones(20))) == 0
    undefined = cell(np.full(20, np.nan))
    assert loss(undefined, cell(np.ones(20))) == 0


def test_a_line_is_lost_after_two_losses_once_it_was_better():
    best, bad, worse = cell(rights(100, 5)), cell(rights(100, 40)), cell(rights(100, 50))
    assert line_is_lost([bad, worse], best)
    assert line_is_lost([best, bad, bad], best)
    assert not line_is_lost([worse, bad], best)  # it gets better
    assert not line_is_lost([best, bad], best)
    assert not line_is_lost([worse], best)
    assert not line_is_lost([bad, worse], None)


def test_values_that_are_in_the_grid_twice_are_tried_twice():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=[0.1, 0.1, 1.0, 1.0, 1e3, 1e3, 1e4, 1e4], gammas=[0.1, 10.0, 10.0], cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 24


def test_losers_are_told_by_how_much():
    cells = [cell(rights(200, wrong), strength) for wrong, strength in ((10, 1.0), (12, 10.0), (80, 100.0))]
    drop_losers(cells, 1)
    assert [c.status for c in cells[:2]] == [WAITING, WAITING]
    assert cells[2].status.startswith("dropped after 1 folds: 0.35 behind C=1, ")
    assert leader(cells) is cells[0]
    drop_losers([], 1)
    assert leader([]) is None


def test_cells_that_are_out_of_the_race_do_not_lead_it():
    cells = [cell(rights(50, 20)), cell(rights(50, 0), status="failed: ValueError")]
    assert leader(cells) is cells[0]
    drop_losers(cells, 1)
    assert cells[0].open


@pytest.mark.parametrize("folds", [5, StratifiedKFold(4, shuffle=True, random_state=0)], ids=["5", "shuffled"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_dropping_cells_does_not_cost_more_than_a_fifth_of_a_point(load, folds):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[:600]), y[:600]
    widths = [width / X.shape[1] for width in WIDTHS]
    raced, full = (SVCCV(Cs=COSTS, gammas=widths, cv=folds, drop=drop).fit(X, y) for drop in (True, False))
    assert not np.isnan(full.cv_results_["mean_test_score"]).any()
    assert raced.best_score_ >= full.best_score_ - 0.002 - 1 / len(y)
    assert raced.best_score_ == pytest.approx(full.cv_results_["mean_test_score"][raced.best_index_], abs=2 / len(y))


def test_dropping_cells_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    raced, full = (SVRCV(Cs=COSTS, gammas=WIDTHS, cv=5, drop=drop).fit(X, y) for drop in (True, False))
    assert raced.best_score_ >= full.best_score_ - 0.002
    assert np.isnan(raced.cv_results_["mean_test_score"]).any()


def test_no_cell_is_dropped_for_a_score_that_proves_nothing():
    """Values in the millions, on which the first passes get nowhere."""
    X, y = load_iris(return_X_y=True)
    search = SVCCV(kernel="poly", Cs=[0.1, 1.0, 10.0, 100.0], gammas=["scale", 1.0]).fit(X + 100, y)
    dropped = [status.startswith("dropped after") for status in search.cv_results_["status"]]
    assert (search.cv_results_["gap"][dropped] < 0.1).all()


# -- the table -------------------------------------------------------------------------------------------------------


def test_the_table_is_scikit_learns_and_more():
    X, y = load_breast_cancer(return_X_y=True)
    search = SVCCV(Cs=COSTS, gammas=[1e-5, 1e-3, 1e-1], cv=4).fit(X, y)
    theirs = GridSearchCV(SVC(), {"C": [0.1, 1.0], "gamma": [1e-3]}, cv=4).fit(X, y).cv_results_
    table = search.cv_results_
    assert set(table) >= set(theirs)
    assert set(table) >= {"gap", "status", *(f"split{k}_gap" for k in range(4))}
    assert all(len(column) == 12 for column in table.values())
    assert table["params"] == [{"C": C, "gamma": gamma} for C in COSTS for gamma in (1e-5, 1e-3, 1e-1)]
    np.testing.assert_array_equal(table["param_C"].astype(float), np.repeat(COSTS, 3))
    splits = np.column_stack([table[f"split{k}_test_score"] for k in range(4)])
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=1))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=1))
    assert search.n_splits_ == 4
    assert search.refit_time_ > 0


def test_dropped_cells_are_nan_and_say_why():
    X, y = load_breast_cancer(return_X_y=True)
    search = SVCCV(Cs=COSTS, gammas=[1e-5, 1e-3, 1e-1], cv=4).fit(X, y)
    table, done = search.cv_results_, search.cv_results_["status"] == DONE
    assert 0 < done.sum() < len(done)
    np.testing.assert_array_equal(np.isnan(table["mean_test_score"]), ~done)
    assert all(status.startswith("dropped") for status in table["status"][~done])
    assert (table["mean_fit_time"][done] > 0).all()
    assert (table["gap"][done] <= 0.02).all()
    assert table["gap"][search.best_index_] <= 0.01
    assert table["rank_test_score"][search.best_index_] == 1
    assert (table["rank_test_score"][~done] > done.sum()).all()
    assert table["mean_test_score"][search.best_index_] == search.best_score_ == np.nanmax(table["mean_test_score"])
    assert table["params"][search.best_index_] == search.best_params_


def test_values_that_only_some_cells_have_are_masked():
    cells = [Cell.fresh({"C": 1.0}, 0, 1.0, 2), Cell.fresh({"C": 1.0, "degree": 2}, 1, 1.0, 2)]
    table = cv_results(cells)
    assert table["param_degree"].mask.tolist() == [True, False]
    assert table["rank_test_score"].tolist() == [1, 1]


# -- who wins --------------------------------------------------------------------------------------------------------


def finished(scores, strength):
    made = Cell.fresh({"C": strength}, 0, strength, len(scores))
    made.scores[:], made.status = scores, DONE
    return made


def test_the_one_standard_error_rule_takes_the_least_strength():
    cells = [
        finished([0.5, 0.6, 0.5], 0.1),
        finished([0.85, 0.9, 0.86], 1.0),
        finished([0.86, 0.9, 0.91], 10.0),
        finished([0.80, 0.9, 1.0], 100.0),
    ]
    assert best_cell(cells, one_standard_error=False, simplest=1) == 3  # by its mean
    assert best_cell(cells, one_standard_error=True, simplest=1) == 1  # 0.87 >= 0.9 - 0.058
    assert best_cell(cells, one_standard_error=True, simplest=-1) == 3  # of lambda the largest
    cells[0].scores[:], cells[0].status = 1.0, "dropped"
    assert best_cell(cells, one_standard_error=False, simplest=1) == 3


def test_a_search_with_the_one_standard_error_rule():
    X, y = load_breast_cancer(return_X_y=True)
    plain, simple = (
        LinearSVCCV(Cs=[1e-4, 1e-3, 1e-2, 0.1, 1.0], scale=True, one_standard_error=rule, drop=False).fit(X, y)
        for rule in (False, True)
    )
    assert simple.best_params_["C"] < plain.best_params_["C"]
    splits = [plain.cv_results_[f"split{k}_test_score"][plain.best_index_] for k in range(5)]
    assert simple.best_score_ >= plain.best_score_ - np.std(splits, ddof=1) / np.sqrt(5)
    assert simple.best_params_ == {"C": simple.best_estimator_.C}


def test_finer_cells_lie_between_those_of_the_grid_and_beyond_its_edge():
    cells = [finished([0.5], C) for C in (1.0, 4.0, 16.0)]
    assert sorted(c.params["C"] for c in finer_cells(cells, 1, ["C"], "C")) == [2.0, 8.0]
    assert sorted(c.params["C"] for c in finer_cells(cells, 2, ["C"], "C")) == [8.0, 64.0]
    assert finer_cells(cells, 1, [], "C") == []
    shares = [Cell.fresh({"nu": nu}, 0, nu, 1) for nu in (0.2, 0.4)]
    assert [c.params["nu"] for c in finer_cells(shares, 1, ["nu"], "nu")] == [pytest.approx(0.3)]


def test_a_second_fit_forgets_the_first():
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=[0.1, 1.0], gammas=[0.1], cv=3).fit(X, y)
    search.set_params(refit=False, Cs=[1.0]).fit(X[:100, :2], y[:100])
    assert search.n_features_in_ == 2
    assert len(search.cv_results_["params"]) == 1
    assert not hasattr(search, "best_estimator_")


def test_the_same_input_gives_the_same_bits():
    X, y = load_wine(return_X_y=True)
    first, second = (SVCCV(scale=True).fit(X, y) for _ in range(2))
    for key in ("mean_test_score", "gap", "status"):
        assert first.cv_results_[key].tolist() == pytest.approx(second.cv_results_[key].tolist(), abs=0, nan_ok=True)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize("search", [SVCCV(), SVCCV(scale=True), LinearSVCCV(scale=True)], ids=name_of)
def test_two_threads_give_what_one_gives(search):
    X, y = load_breast_cancer(return_X_y=True)
    one, two = (search.__class__(**{**search.get_params(), "n_jobs": n}).fit(X, y) for n in (1, 2))
    assert one.best_params_ == two.best_params_
    assert one.best_score_ == two.best_score_
    for key in ("params", "mean_test_score"):
        np.testing.assert_array_equal(one.cv_results_[key], two.cv_results_[key])


@pytest.mark.parametrize(("n_jobs", "most"), [(1, 1), (2, 2)])
def test_no_more_threads_than_asked_for_work(n_jobs, most, monkeypatch):
    seen, solve = set(), StoredTasks.solve
    monkeypatch.setattr(StoredTasks, "solve", lambda *given: seen.add(threading.get_ident()) or solve(*given))
    if n_jobs == 1:
        monkeypatch.setattr(_threads, "_executor", lambda threads: pytest.fail("a pool for one thread"))
    SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.01, 0.1], n_jobs=n_jobs).fit(*load_wine(return_X_y=True))
    assert 1 <= len(seen) <= most
    if n_jobs == 1:
        assert seen == {threading.get_ident()}


# -- work ------------------------------------------------------------------------------------------------------------


def test_a_value_of_the_grid_is_checked_once(monkeypatch):
    checked, whole = [], _grid.clone
    monkeypatch.setattr(_grid, "clone", lambda machine: checked.append(machine) or whole(machine))
    SVCCV(Cs=[0.1, 1.0, 10.0, 100.0], gammas=[0.01, 0.1, 1.0]).fit(*load_iris(return_X_y=True))
    assert len(checked) == 4 + 3


def test_a_cell_is_solved_and_scored_once_in_every_fold_of_every_pass(monkeypatch):
    calls = {"solved": 0, "scored": 0}
    solve, score = NumbaBackend.solve_stored, Scorer.__call__

    def count(name, function):
        def counted(*given, **named):
            calls[name] += 1
            return function(*given, **named)

        return counted

    monkeypatch.setattr(NumbaBackend, "solve_stored", count("solved", solve))
    monkeypatch.setattr(Scorer, "__call__", count("scored", score))
    SVCCV(Cs=[0.1, 1.0], gammas=[0.01, 0.1], drop=False, refit=False).fit(*load_iris(return_X_y=True))
    assert calls == {"solved": 4 * 5, "scored": 4 * 5}


def test_the_leader_is_looked_for_only_where_a_line_has_fallen(monkeypatch):
    asked = {"fallen": 0, "not": 0, "leader": 0}
    fallen, ahead = _run.has_fallen, _run.leader

    def has_fallen(line):
        asked["fallen" if (found := fallen(line)) else "not"] += 1
        return found

    def leader(cells):
        asked["leader"] += 1
        return ahead(cells)

    monkeypatch.setattr(_run, "has_fallen", has_fallen)
    monkeypatch.setattr(_run, "leader", leader)
    SVCCV(Cs=[0.1, 1.0, 10.0], gammas=WIDTHS, scale=True).fit(*load_wine(return_X_y=True))
    assert asked["leader"] == asked["fallen"] < asked["not"]


# -- scores ----------------------------------------------------------------------------------------------------------


def half(model, X, y):
    """A scorer of one's own."""
    return float((model.predict(X) == y)[::2].mean())


SCORINGS = [
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "roc_auc_or_accuracy",
    make_scorer(f1_score, average="weighted"),
    half,
]


@pytest.mark.parametrize("scoring", SCORINGS, ids=name_of)
@pytest.mark.parametrize("machine", [SVC, LinearSVC])
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_any_score_of_a_classifier(load, machine, scoring):
    X, y = load(return_X_y=True)
    X, y = X[::2], y[::2]
    if scoring == "roc_auc_or_accuracy":
        scoring = "roc_auc" if len(np.unique(y)) == 2 else "accuracy"
    options = {"gammas": [1e-4]} if machine is SVC else {"scale": True}
    fixed = {"gamma": 1e-4} if machine is SVC else {"scale": True}
    kind = SVCCV if machine is SVC else LinearSVCCV
    search = kind(Cs=[0.1, 10.0], cv=3, scoring=scoring, **options).fit(X, y)
    theirs = GridSearchCV(machine(**fixed), {"C": [0.1, 10.0]}, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=4 / len(y)
    )
    assert search.score(X, y) == pytest.approx(theirs.score(X, y), abs=4 / len(y))


@pytest.mark.parametrize(
    "scoring", ["r2", "neg_mean_squared_error", make_scorer(mean_absolute_error, greater_is_better=False)], ids=name_of
)
@pytest.mark.parametrize(("machine", "kind"), [(SVR, SVRCV), (LinearSVR, LinearSVRCV)])
def test_any_score_of_a_regression(machine, kind, scoring):
    X, y = load_diabetes(return_X_y=True)
    search = kind(Cs=[1.0, 100.0], cv=3, scoring=scoring, **({"gammas": [1.0]} if kind is SVRCV else {})).fit(X, y)
    fixed = {"gamma": 1.0} if machine is SVR else {}
    theirs = GridSearchCV(machine(**fixed), {"C": [1.0, 100.0]}, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=2e-3, atol=1e-3
    )


def test_probabilities_are_scored_where_there_is_a_calibration():
    X, y = load_iris(return_X_y=True)
    options = {"calibration": "sigmoid", "random_state": 0}
    search = SVCCV(Cs=[0.1, 10.0], gammas=[0.1], cv=3, scoring="neg_log_loss", **options).fit(X, y)
    theirs = GridSearchCV(SVC(gamma=0.1, **options), {"C": [0.1, 10.0]}, cv=3, scoring="neg_log_loss").fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01)
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)
    assert search.predict_set(X).shape == (150, 3)


def test_a_scorer_sees_the_held_out_rows():
    """Scikit-learn hands a scorer the model, the rows and the targets."""
    X, y = load_iris(return_X_y=True)
    seen = []

    def long_ones(model, rows, targets):
        seen.append(np.asarray(rows).shape[1:])
        return float((model.predict(rows) == targets)[rows[:, 0] >= np.median(rows[:, 0])].mean())

    search = SVCCV(Cs=[0.1, 10.0], gammas=[0.1], cv=3, scoring=long_ones).fit(X, y)
    theirs = GridSearchCV(SVC(gamma=0.1), {"C": [0.1, 10.0]}, cv=3, scoring=long_ones).fit(X, y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=2 / len(y)
    )
    assert set(seen) == {(4,)}


def recall_of_one(model, X, y):
    """Asks for predictions of some of the rows only."""
    return float((model.predict(X[y == 1]) == 1).mean())


def robustness(model, X, y):
    """Asks for predictions of other rows than those held out."""
    return float((model.predict(X + 0.5) == y).mean())


@pytest.mark.parametrize("scorer", [recall_of_one, robustness])
def test_a_scorer_may_ask_for_any_rows(scorer):
    X, y = load_iris(return_X_y=True)
    for search, machine in ((SVCCV(gammas=[0.1]), SVC(gamma=0.1)), (LinearSVCCV(), LinearSVC())):
        search.set_params(Cs=[0.1, 10.0], cv=3, scoring=scorer).fit(X, y)
        theirs = GridSearchCV(machine, {"C": [0.1, 10.0]}, cv=3, scoring=scorer).fit(X, y).cv_results_
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs["mean_test_score"], atol=0.021)


def test_a_scorer_sees_the_parameters_of_the_cell():
    X, y = load_iris(return_X_y=True)
    for search in (SVCCV(gammas=[0.1]), LinearSVCCV()):
        search.set_params(Cs=[0.1, 10.0], scoring=lambda model, X, y: -model.C).fit(X, y)
        np.testing.assert_allclose(search.cv_results_["mean_test_score"], [-0.1, -10.0])


def test_a_scorer_is_asked_once_per_fold_where_nothing_is_dropped():
    X, y = load_iris(return_X_y=True)
    asked = []
    search = SVCCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], cv=3, drop=False, n_jobs=1)
    search.set_params(scoring=lambda model, rows, targets: asked.append(len(targets)) or 1.0).fit(X, y)
    assert asked == [50] * 18


def test_the_race_does_not_warn_of_parts_that_nobody_asked_for():
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVCCV(Cs=COSTS, gammas=[0.1, 1.0], scoring="balanced_accuracy").fit(X, y)
        SVCCV(Cs=COSTS, gammas=[0.1, 1.0], scoring="roc_auc").fit(X, y == 1)


def test_the_scorer_is_kept_as_scikit_learn_does():
    X, y = load_iris(return_X_y=True)
    for scoring in (None, "accuracy", "balanced_accuracy"):
        search = SVCCV(Cs=[1.0], gammas=[0.1], scoring=scoring).fit(X, y)
        assert search.scorer_(search, X, y) == search.score(X, y)
    assert search.score(X, y) == get_scorer("balanced_accuracy")(search.best_estimator_, X, y)


def test_targets_that_do_not_vary_in_a_fold_have_scikit_learns_r2():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.repeat([0.0, 1.0, 2.0, 3.0], 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = SVRCV(Cs=[1.0], gammas=[1.0], cv=KFold(4)).fit(X, y)
        theirs = GridSearchCV(SVR(gamma=1.0), {"C": [1.0]}, cv=KFold(4)).fit(X, y)
    assert search.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)


# -- the bar ---------------------------------------------------------------------------------------------------------


def test_the_bar_shows_the_best_score_so_far(capsys):
    X, y = load_iris(return_X_y=True)
    search = SVCCV(Cs=COSTS, gammas=WIDTHS, verbose=1).fit(X, y)
    shown = capsys.readouterr().out
    assert "[SVCCV] first folds [########################] 16/16" in shown
    assert "finalists" in shown
    last = shown.strip().split("\r")[-1]
    assert f"best {search.best_score_:.4f} at C={search.best_params_['C']:.4g}" in last
    assert shown.endswith("\n")
    SVCCV(Cs=[1.0], gammas=[0.1]).fit(X, y)
    assert capsys.readouterr().out == ""
