"""maxmargin.inspection: laws of margins, statuses, optimality, certain labels and leave-one-out, and who may ask."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
import sklearn.svm
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import maxmargin as mm
from maxmargin import inspection
from maxmargin.certificates import certify_tasks
from maxmargin.inspection import STATUSES, ZONES
from tests.laws import examples

X, Y = load_iris(return_X_y=True)
TWO, Y2 = X[50:], Y[50:]
MANY = examples(25)
FEW = examples(12)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASSIFIERS = [
    mm.SVC(),
    mm.SVC(kernel="linear", fit_intercept=False),
    mm.SVC(C=np.inf, gamma=50.0),
    mm.SVC(multiclass="ovr"),
    mm.SVC(multiclass="code", code_words="exhaustive"),
    mm.NuSVC(nu=0.2),
    mm.NuSVC(nu=0.2, class_weight="balanced"),
    mm.LinearSVC(loss="hinge", tol=1e-8),
    mm.LinearSVC(tol=1e-8, scale=True),
    mm.LinearSVC(loss="hinge", multiclass="ovo", tol=1e-8),
    mm.LinearClassifier(C=1.0, tol=1e-8),
    mm.PegasosSVC(lam=1e-2, random_state=0),
    mm.SGDSVC(lam=1e-2, random_state=0, patience=3),
    sklearn.svm.SVC(),
    sklearn.svm.SVC(kernel="linear", class_weight="balanced"),
    sklearn.svm.NuSVC(nu=0.2),
    sklearn.svm.LinearSVC(class_weight={0: 1.0, 1: 2.0, 2: 1.0}),
]
#: Those whose fit is an optimum of the problem that is inspected.
EXACT = CLASSIFIERS[:11]
PERCEPTRONS = [mm.Perceptron(random_state=0), sklearn.linear_model.Perceptron(random_state=0)]


def name_of(model) -> str:
    return f"{type(model).__module__.partition('.')[0]} {model}"


def data(seed: int, n: int = 24, d: int = 2, noise: float = 0.5, classes: int = 2):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    score = rows[:, 0] + noise * rng.normal(size=n)
    return rows, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def task_scores(model, rows):
    """(n, tasks) scores by the model's own compiled or LIBSVM's prediction."""
    if hasattr(model, "_task_scores"):
        return model._task_scores(rows)
    if isinstance(model, (sklearn.svm.SVC, sklearn.svm.NuSVC)):
        model = copy.copy(model).set_params(decision_function_shape="ovo")
    f = model.decision_function(rows)
    return f[:, None] if f.ndim == 1 else f


def left_out_by_hand(model, rows, y, kernel=None):
    """Whether every row is wrong when the model is fitted without it."""
    wrong = np.zeros(len(y), dtype=bool)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        machine = clone(model)
        if kernel is not None:
            machine.set_params(kernel=kernel)
        wrong[i] = machine.fit(rows[rest], y[rest]).predict(rows[i : i + 1])[0] != y[i]
    return wrong


# -- margins and zones -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*CLASSIFIERS, *PERCEPTRONS], ids=name_of)
@pytest.mark.parametrize("classes", [2, 3])
def test_margins_are_signs_times_scores_for_every_classifier(model, classes):
    rows, y = (TWO, Y2) if classes == 2 else (X, Y)
    model = clone(model).fit(rows, y)
    found = inspection.margins(model, rows, y)
    f = np.atleast_2d(np.asarray(found.functional).T).T
    own = ~np.isnan(f)
    np.testing.assert_allclose(np.abs(f[own]), np.abs(task_scores(model, rows))[own], rtol=1e-7, atol=1e-9)
    ovo = classes == 3 and own.shape[1] == 3 and not own.all()
    assert (own.sum(axis=1) == (2 if ovo else own.shape[1])).all()
    np.testing.assert_allclose(np.atleast_1d(found.functional_margin), np.nanmin(f, axis=0))
    g = np.atleast_2d(np.asarray(found.geometric).T).T
    np.testing.assert_allclose(g[own], (f / np.atleast_1d(found.norm))[own])
    np.testing.assert_allclose(np.atleast_1d(found.width), 2 / np.atleast_1d(found.norm))
    if classes == 2:
        right = np.asarray(model.predict(rows)) == y
        assert (right == (found.functional > 0)).all()
        assert isinstance(found.geometric_margin, float)


def test_norms_are_those_of_the_kernel_expansion_and_of_the_weights():
    model = mm.SVC(gamma=0.7).fit(TWO, Y2)
    beta, K = model.dual_coef_[0], model.kernel_(model.support_vectors_)
    assert inspection.margins(model, TWO, Y2).norm == pytest.approx(np.sqrt(beta @ K @ beta), rel=1e-12)
    scaled = mm.LinearSVC(scale=True).fit(TWO, Y2)
    assert inspection.margins(scaled, TWO, Y2).norm == pytest.approx(1 / scaled.margin_[0], rel=1e-12)


@MANY
@given(st.integers(0, 10**6), st.floats(-6, 6))
def test_geometric_margins_do_not_change_when_the_hyperplane_is_rescaled(seed, power):
    rows, y = data(seed)
    factor = 2.0**power
    model = mm.SVC(gamma=1.0).fit(rows, y)
    before = inspection.margins(model, rows, y)
    model.dual_coef_, model.intercept_ = model.dual_coef_ * factor, model.intercept_ * factor
    after = inspection.margins(model, rows, y)
    np.testing.assert_allclose(after.geometric, before.geometric, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.functional, factor * before.functional, rtol=1e-9, atol=1e-12)


def test_the_hard_margin_is_the_canonical_hyperplane():
    rows, y = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0]]), np.array([0, 0, 1])
    found = inspection.margins(mm.SVC(kernel="linear", C=np.inf).fit(rows, y), rows, y)
    assert found.functional_margin == pytest.approx(1.0)
    assert found.geometric_margin == pytest.approx(2.0)
    assert found.width == pytest.approx(4.0)


def test_all_seven_zones():
    rows, y = np.array([[-1.0], [1.0]]), np.array([0, 1])
    model = mm.SVC(kernel="linear", C=np.inf).fit(rows, y)  # f(x) = x
    at = np.array([2.0, 1.0, 0.5, 0.0, -0.5, -1.0, -2.0])[:, None]
    assert inspection.zones(model, at, np.ones(7, dtype=int)).tolist() == list(ZONES)
    assert inspection.zones(model, at, np.zeros(7, dtype=int)).tolist() == list(ZONES)[::-1]
    at += 5e-4  # by default as near as the fit came, which is rounding
    assert inspection.zones(model, at, np.ones(7, dtype=int))[[1, 3]].tolist() == [ZONES[0], ZONES[2]]
    assert inspection.zones(model, at, np.ones(7, dtype=int), tol=1e-3)[[1, 3]].tolist() == [ZONES[1], ZONES[3]]
    many = inspection.zones(mm.SVC().fit(X, Y), X, Y)
    assert many.shape == (150, 3)
    assert ((many == "").sum(axis=1) == 1).all()


def test_precomputed_norms_need_the_gram_matrix():
    K = TWO @ TWO.T
    model = mm.SVC(kernel="precomputed").fit(K, Y2)
    whole = inspection.margins(model, K, Y2)
    assert whole.norm == pytest.approx(inspection.margins(mm.SVC(kernel="linear").fit(TWO, Y2), TWO, Y2).norm, rel=1e-6)
    with pytest.raises(ValueError, match=r"\|\|w\|\| cannot be read .* shape \(5, 100\)"):
        inspection.margins(model, K[:5], Y2[:5])
    part = inspection.margins(model, K[:5], Y2[:5], norm=whole.norm)
    np.testing.assert_allclose(part.geometric, whole.geometric[:5])


# -- status and the table --------------------------------------------------------------------------------------------


@MANY
@given(st.integers(0, 10**6), st.floats(-2, 2), st.sampled_from(["linear", "rbf"]), st.booleans())
def test_status_follows_from_alpha_and_slack(seed, power, kernel, bias):
    rows, y = data(seed)
    C = 10.0**power
    model = mm.SVC(C=C, kernel=kernel, gamma=1.0, fit_intercept=bias, gap_tol=1e-11).fit(rows, y)
    found = inspection.status(model, rows, y)
    alpha, xi = np.zeros(len(y)), np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(rows))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_allclose(found.alpha, alpha)
    np.testing.assert_allclose(found.slack, xi, atol=1e-9)
    np.testing.assert_allclose(found.multiplier, C - alpha)
    assert (found.status != "not optimal").all()
    bound, idle, tol = alpha >= C * (1 - 1e-6), alpha == 0, found.tol
    assert tol.max() < 1e-6 * np.ptp(model.decision_function(rows))
    assert ((found.status == "not a support vector") == idle).all()
    assert ((found.status == "on the margin") == (~idle & ~bound)).all()
    assert ((found.status == "misclassified") == (xi > 1 + tol)).all()
    assert ((found.status == "on the hyperplane") == (np.abs(xi - 1) <= tol)).all()
    assert ((found.status == "inside the strip") == ((xi > tol) & (xi < 1 - tol))).all()
    assert (found.bound == bound).all()
    assert sum(found.counts().values()) == len(y)


@pytest.mark.parametrize("model", EXACT, ids=name_of)
def test_no_row_of_an_optimum_is_not_optimal(model):
    found = inspection.status(clone(model).fit(X, Y), X, Y)
    assert found.counts()["not optimal"] == 0
    assert "on the margin" in str(found)


def test_what_no_optimum_has_is_said():
    model = mm.SVC(gap_tol=1e-10).fit(TWO, Y2)
    model.intercept_ = model.intercept_ + 0.5
    assert inspection.status(model, TWO, Y2).counts()["not optimal"] > 0
    rough = mm.PegasosSVC(lam=1e-3, max_iter=1).fit(TWO, Y2)
    assert inspection.status(rough, TWO, Y2).counts()["not optimal"] > 10


@pytest.mark.parametrize("library", [mm, sklearn.svm], ids=["maxmargin", "scikit-learn"])
@pytest.mark.parametrize("C", [0.6, 1e3, 1e6, 1e9, 1e12])
def test_a_large_cost_hides_no_support_vector(library, C):
    rows, y = np.array([[-1.0], [1.0], [3.0]]), np.array([0, 1, 1])
    model = library.SVC(kernel="linear", C=C).fit(rows, y)  # alpha = 1/2 of the first two
    expected = ["on the margin", "on the margin", "not a support vector"]
    assert inspection.status(model, rows, y).status.tolist() == expected
    table = inspection.support_table(model, rows, y)
    assert table["status"].tolist() == expected[:2]
    assert table["alpha"].tolist() == pytest.approx([0.5, 0.5])
    assert inspection.zones(model, rows, y).tolist() == ["on its margin", "on its margin", "beyond its margin"]
    assert inspection.margin_error_bound(model, rows, y, c=1e-3).nu == 0.0


@FEW
@given(st.integers(0, 10**6), st.floats(-8, 12), st.sampled_from(["linear", "rbf"]), st.floats(-4, 4), st.booleans())
def test_status_does_not_depend_on_units(seed, power, kernel, size, separable):
    """Rows times s and C over s^2 are the same problem; the status is that of alpha and of the scores."""
    rows, y = data(seed, noise=0.0 if separable else 0.5)
    rows[:, 0] += np.where(y == 1, 1.0, -1.0) if separable else 0.0
    power, s = min(power, 3.0) if not separable else power, 10.0**size
    one = mm.SVC(C=10.0**power, kernel=kernel, gamma=1.0, gap_tol=1e-9).fit(rows, y)
    first = inspection.status(one, rows, y)
    if kernel == "linear":
        other = mm.SVC(C=10.0**power / s**2, kernel=kernel, gap_tol=1e-9).fit(s * rows, y)
        f, g = one.decision_function(rows), other.decision_function(s * rows)
        assume(np.abs(f - g).max() < 1e-6 * min(1.0, np.ptp(f)))  # solved alike
        second = inspection.status(other, s * rows, y)
        assert (first.status == "not a support vector").sum() == (second.status == "not a support vector").sum()
        assert (first.status == "misclassified").sum() == (second.status == "misclassified").sum()
    used = np.zeros(len(y), dtype=bool)
    used[one.support_] = True
    f = np.where(y == 1, 1.0, -1.0) * one.decision_function(rows)
    assert (used | (first.status == "not a support vector")).all()
    assert (first.status != "not optimal").all()
    # whoever is on a margin or on the hyperplane is there as far as the scores of this model differ at all
    assert first.tol.max() <= 1e-3 * min(1.0, np.ptp(f)) + 1e-9 * (1.0 + np.abs(one.dual_coef_).sum() * 10)
    there = np.isin(first.status, ["on the margin", "bound, on the margin"])
    assert (np.abs(f[there] - 1.0) <= first.tol[there] + 1e-12).all()
    zone = inspection.zones(one, rows, y)
    assert ((zone == "on the hyperplane") == (np.abs(f) <= first.tol)).mean() > 0.95  # but for rounding in f
    errors = inspection.margin_error_bound(one, rows, y, c=1.0).nu
    assert errors == pytest.approx(np.mean(np.isin(zone, ZONES[2:])))


@pytest.mark.parametrize("library", [mm, sklearn.svm], ids=["maxmargin", "scikit-learn"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("C", [1e-8, 1e-6, 1e-4])
def test_a_small_cost_puts_no_row_on_the_hyperplane(library, kernel, C):
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(30, 2)) - 3, rng.normal(size=(30, 2)) + 3])
    y = np.repeat([0, 1], 30)
    model = library.SVC(kernel=kernel, C=C).fit(rows, y)
    assert model.score(rows, y) == 1.0
    assert inspection.status(model, rows, y).counts()["inside the strip"] == 60
    assert (inspection.zones(model, rows, y) == "inside the strip, right side").all()
    assert inspection.margin_error_bound(model, rows, y, c=1.0).nu == 1.0


@pytest.mark.parametrize("scale", [False, True])
def test_a_hard_margin_has_no_margin_errors(scale):
    rows, y = load_breast_cancer(return_X_y=True)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    hard = mm.LinearSVC(loss="hinge", C=np.inf) if scale else mm.SVC(kernel="linear", C=np.inf)
    hard.fit(rows, y)
    found = inspection.status(hard, rows, y).counts()
    assert inspection.margin_error_bound(hard, rows, y, c=1e-3).nu == 0.0
    assert (found["on the margin"], found["not a support vector"]) == (29, 540)
    assert sum(zone == "on its margin" for zone in inspection.zones(hard, rows, y)) == 29


def test_every_part_of_inspection_goes_by_the_same_tolerance():
    model = mm.SVC(gap_tol=1e-4, kernel="linear").fit(TWO, Y2)
    tol = inspection.tolerance(model, TWO)
    np.testing.assert_array_equal(inspection.status(model, TWO, Y2).tol, tol)
    np.testing.assert_array_equal(inspection.kkt(model, TWO, Y2).tasks[0].tolerance, tol)
    assert (inspection.status(model, TWO, Y2, tol=0.01).tol == 0.01).all()
    model.certificates_ = [dataclasses.replace(model.certificate_, kkt=1.0)]  # as rough as can be
    assert inspection.tolerance(model, TWO).max() == 1e-3
    assert (inspection.status(model, TWO, Y2).tol == 1e-3).all()
    assert inspection.tolerance(mm.SVC().fit(X, Y), X).shape == (150, 3)
    for wrong in (-0.1, 0.5, np.nan):
        for ask in (inspection.status, inspection.zones, inspection.support_table):
            with pytest.raises(ValueError, match="tol must be at least 0 and less than"):
                ask(model, TWO, Y2, tol=wrong)


def all_classes(scheme, kernel="rbf"):
    """(model, scores of the classes, what rows push their rivals down by) of one problem for the classes of iris."""
    if kernel == "linear":
        model = mm.LinearSVC(multiclass=scheme, C=0.3, scale=True, tol=1e-10, max_iter=10**6).fit(X, Y)
    else:
        model = mm.SVC(multiclass=scheme, C=0.3, gap_tol=1e-10).fit(X, Y)
    push = np.zeros((150, 3))
    push[model.support_] = -model.dual_coef_.T
    push[np.arange(150), Y] = 0.0
    return model, model.decision_function(X), push


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_status_of_crammer_and_singer_is_about_the_best_rival(kernel):
    model, f, push = all_classes("crammer-singer", kernel)
    rivals = np.where(np.eye(3, dtype=bool)[Y], -np.inf, f)
    margin = f[np.arange(150), Y] - rivals.max(axis=1)
    found = inspection.status(model, X, Y)
    np.testing.assert_allclose(found.alpha, push.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(found.slack, np.maximum(0, 1 - margin), atol=1e-9)
    np.testing.assert_allclose(found.multiplier, 0.3 - push.sum(axis=1), atol=1e-12)
    assert found.counts()["not optimal"] == 0
    assert found.counts()["on the margin"] > 0
    assert ((found.status == "misclassified") == (model.predict(X) != Y)).all()
    np.testing.assert_array_equal(np.sort(model.support_), np.flatnonzero(found.alpha))  # nothing that rounding left
    near = inspection.zones(model, X, Y)
    tol = found.tol.max()
    assert tol < 1e-6
    assert ((near == "beyond its margin") == (margin > 1 + tol)).all()
    assert ((near == "inside the strip, wrong side") == ((margin < -tol) & (margin > -1 + tol))).all()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_status_of_weston_and_watkins_is_about_every_rival(kernel):
    model, f, push = all_classes("weston-watkins", kernel)
    margin = f[np.arange(150), Y][:, None] - f
    margin[np.arange(150), Y] = np.nan
    found = inspection.status(model, X, Y)
    assert found.tasks == ("against 0", "against 1", "against 2")
    own = ~np.isnan(margin)
    np.testing.assert_allclose(found.alpha[own], push[own], atol=1e-12)
    np.testing.assert_allclose(found.slack, np.maximum(0, 1 - margin), atol=1e-9)
    assert (np.isnan(found.alpha) == ~own).all()
    assert ((found.status == "") == ~own).all()
    assert found.counts()["not optimal"] == 0
    assert found.counts()["on the margin"] > 0
    tol = np.nanmax(found.tol)
    assert tol < 1e-6
    np.testing.assert_array_equal(inspection.zones(model, X, Y) == "beyond its margin", margin > 1 + tol)


def test_two_classes_in_one_problem_are_a_soft_margin_of_half_the_norm():
    single = mm.SVC(multiclass="crammer-singer", C=0.5, gap_tol=1e-11).fit(TWO, Y2)
    soft = mm.SVC(C=1.0, gap_tol=1e-11).fit(TWO, Y2)  # 1/2 (||w/2||^2 + ||-w/2||^2) = ||w||^2 / 4
    one, other = (inspection.status(model, TWO, Y2) for model in (single, soft))
    assert (one.status == other.status).all()
    np.testing.assert_allclose(2 * one.alpha, other.alpha, atol=1e-5)


@pytest.mark.parametrize(
    "model", [mm.SVR(), mm.NuSVR(), mm.OneClassSVM(nu=0.2), mm.SVDD(C=0.05), mm.LinearSVR()], ids=name_of
)
def test_status_of_machines_without_classes_is_that_of_their_table(model):
    y = None if isinstance(model, (mm.OneClassSVM, mm.SVDD)) else X[:, 3]
    fitted = clone(model).fit(X[:, :3], y)
    found, table = inspection.status(fitted, X[:, :3], y), inspection.support_table(fitted, X[:, :3], y, all_rows=True)
    table = table.sort_values("row")
    for column in ("status", "alpha", "slack", "bound", "multiplier"):
        np.testing.assert_array_equal(getattr(found, column), table[column].to_numpy())
    assert found.counts()["outside"] > 0
    assert found.counts()["not optimal"] == 0
    assert set(found.counts()) == {
        "not a support vector",
        "on the margin",
        "bound, on the margin",
        "outside",
        "not optimal",
    }


def test_a_bound_support_vector_on_the_margin_is_its_own_label():
    # two rows at -1 and 1: alpha = 1/2 is the optimum for every C >= 1/2, and at C = 1/2 it is bound
    model = mm.SVC(kernel="linear", C=0.5, gap_tol=1e-12).fit([[-1.0], [1.0]], [0, 1])
    assert inspection.status(model, [[-1.0], [1.0]], [0, 1]).status.tolist() == ["bound, on the margin"] * 2


def test_the_squared_hinge_binds_nothing():
    model = mm.LinearSVC(C=3.0, tol=1e-11).fit(TWO, Y2)
    found = inspection.status(model, TWO, Y2)
    np.testing.assert_allclose(found.alpha, 6.0 * found.slack, atol=1e-6)
    assert not found.bound.any()
    np.testing.assert_allclose(found.multiplier, 0.0, atol=1e-6)


@pytest.mark.parametrize("model", [mm.SVC(), mm.LinearSVC(loss="hinge", scale=True), sklearn.svm.SVC()], ids=name_of)
def test_the_table_has_the_support_vectors_and_their_influence(model):
    model = clone(model).fit(X, Y)
    table = inspection.support_table(model, X, Y)
    assert list(table.columns) == list(inspection._status.COLUMNS)
    assert set(table["row"]) == set(model.support_)
    assert (table["alpha"] > 0).all()
    assert (table["class"] == Y[table["row"]]).all()
    found, norms = inspection.status(model, X, Y), inspection.margins(model, X, Y).norm
    Z = (X - model.center_) / model.scale_ if hasattr(model, "scale_") else X
    for k, (task, lines) in enumerate(table.groupby("task", sort=False)):
        assert task == inspection.margins(model, X, Y).tasks[k]
        rows = lines["row"].to_numpy()
        np.testing.assert_array_equal(lines["status"], found.status[rows, k])
        np.testing.assert_allclose(lines["slack"], np.maximum(0, 1 - lines["margin"]), atol=1e-12)
        lengths = 1.0 if isinstance(model, (mm.SVC, sklearn.svm.SVC)) else np.linalg.norm(Z[rows], axis=1)
        np.testing.assert_allclose(lines["influence"], lines["alpha"] * lengths / norms[k], rtol=1e-6)
        assert lines["influence"].is_monotonic_decreasing
        assert lines["influence"].sum() > 1 - 1e-9
    everything = inspection.support_table(model, X, Y, all_rows=True)
    assert len(everything) == (~np.isnan(found.alpha)).sum()


def test_regressors_and_one_class_machines_have_a_table():
    for model in (mm.SVR(), mm.NuSVR(), sklearn.svm.SVR(), mm.LinearSVR(tol=1e-9)):
        table = inspection.support_table(model.fit(X[:, 1:], X[:, 0]), X[:, 1:], X[:, 0])
        assert set(table["row"]) == set(model.support_)
        assert set(table["status"]) <= {"on the margin", "outside"}
    for model in (mm.OneClassSVM(nu=0.2), sklearn.svm.OneClassSVM(nu=0.2), mm.SVDD()):
        table = inspection.support_table(model.fit(X), X)
        assert len(table) == len(model.support_)
        np.testing.assert_allclose(table["margin"], model.decision_function(X)[table["row"]], atol=1e-9)


def test_the_table_says_that_pandas_is_missing(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
        return real(name, *args, **kwargs)

    model = mm.SVC().fit(TWO, Y2)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match=r"pandas is not installed; install it, or use status"):
        inspection.support_table(model, TWO, Y2)


# -- optimality ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", EXACT, ids=name_of)
def test_every_condition_holds_at_an_optimum(model):
    model = clone(model).set_params(**({"gap_tol": 1e-12} if hasattr(model, "gap_tol") else {"tol": 1e-11}))
    found = inspection.kkt(model.fit(X, Y), X, Y)
    assert max(found.worst.values()) < 1e-4
    assert set(found.worst) == set(inspection.CONDITIONS)
    assert str(found).count("sum alpha_i t_i = 0") == len(found.tasks) == len(model.intercept_)


@pytest.mark.parametrize(
    "model",
    [
        mm.SVR(gap_tol=1e-10),
        mm.NuSVR(),
        mm.LinearSVR(tol=1e-11),
        mm.LinearSVR(loss="squared_epsilon_insensitive", tol=1e-11),
    ],
    ids=name_of,
)
def test_regressors_have_conditions_too(model):
    found = inspection.kkt(clone(model).fit(X[:, 1:], X[:, 0]), X[:, 1:], X[:, 0])
    assert max(found.worst.values()) < 1e-5


def test_one_class_machines_have_conditions_too():
    for model in (mm.OneClassSVM(nu=0.2, gap_tol=1e-12), mm.SVDD(gap_tol=1e-12)):
        found = inspection.kkt(model.fit(X), X)
        assert max(found.worst.values()) < 1e-6
        model.intercept_ = model.intercept_ - 0.1
        assert inspection.kkt(model, X).worst["slack_slackness"] > 1e-3


@MANY
@given(st.integers(0, 10**6), st.floats(-3, 0), st.floats(-0.3, 0.3))
def test_the_slackness_products_sum_to_the_gap(seed, power, shift):
    rows, y = data(seed)
    model = mm.SVC(gap_tol=10.0**power, gamma=1.0).fit(rows, y)
    model.intercept_ = model.intercept_ + shift
    (task,) = inspection.kkt(model, rows, y).tasks
    total = task.margin_slackness.sum() + task.slack_slackness.sum()
    assert total == pytest.approx(mm.certify(model, rows, y).gap, rel=1e-9, abs=1e-12)
    linear = mm.PegasosSVC(lam=0.01, max_iter=2, fit_intercept=True).fit(rows, y)
    (task,) = inspection.kkt(linear, rows, y).tasks
    total = task.margin_slackness.sum() + task.slack_slackness.sum() + task.stationarity**2 / 2
    assert total == pytest.approx(linear.certificate_.gap, rel=1e-7, abs=1e-9)


def rows_share(model, rows, y=None, weight=None):
    """What the rows' products sum to, and the only task."""
    (task,) = inspection.kkt(model, rows, y, weight).tasks
    return task.margin_slackness.sum() + task.slack_slackness.sum(), task


WEIGHT = np.random.default_rng(3).choice([0.5, 1.0, 2.0], size=100)
LOSSES = {
    "hinge": (mm.SVC(max_iter=30), Y2),
    "no intercept": (mm.SVC(max_iter=30, fit_intercept=False), Y2),
    "tube": (mm.SVR(epsilon=0.05, max_iter=30), TWO[:, 0]),
    "half-space": (mm.OneClassSVM(nu=0.3, max_iter=30), None),
    "ball": (mm.SVDD(C=0.05, max_iter=30), None),
    "linear hinge": (mm.LinearSVC(loss="hinge", tol=0.1), Y2),
    "squared hinge": (mm.LinearSVC(tol=0.1), Y2),
    "linear tube": (mm.LinearSVR(tol=0.1, epsilon=0.05), TWO[:, 0]),
    "squared tube": (mm.LinearSVR(tol=0.1, loss="squared_epsilon_insensitive", epsilon=0.05), TWO[:, 0]),
    "sums of squares and sizes": (mm.LinearClassifier("squared_hinge", "elasticnet", C=1.0, tol=0.1), Y2),
}


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", LOSSES)
def test_the_products_sum_to_the_rows_share_of_the_gap(name, weight):
    model, y = LOSSES[name]
    rows = TWO[:, 1:]
    model = clone(model).fit(rows, y, sample_weight=weight)
    if getattr(model, "fit_intercept", True):
        model.intercept_ = model.intercept_ + 0.01  # no optimum has that
    gap = mm.certify(model, rows, y, sample_weight=weight).gap
    share, task = rows_share(model, rows, y, weight)
    if hasattr(model, "coef_") and "Linear" in type(model).__name__:
        v = model.dual_coef_[0] @ rows[model.support_]
        r = getattr(model, "l1_ratio", 0.5) if "elastic" in str(getattr(model, "penalty", "")) else 0.0
        w, inside = model.coef_[0] if model.coef_.ndim == 2 else model.coef_, np.clip(v, -r, r)
        # P(w) + P*(v) - v.w of r |w| + (1 - r) w^2 / 2, in the textbook's form
        value = r * np.abs(w).sum() + (1 - r) / 2 * w @ w
        share += value + np.square(v - inside).sum() / (2 * (1 - r)) - v @ w
        if r == 0:
            assert task.stationarity**2 / 2 == pytest.approx(value + v @ v / 2 - v @ w, rel=1e-6, abs=1e-12)
    assert gap > 1e-9  # there is something to compare
    assert share == pytest.approx(gap, rel=1e-6)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_the_products_of_nu_machines_and_hard_margins_are_the_gap_in_their_own_units(weight):
    rows = TWO[:, 1:]
    for model in (mm.NuSVC(nu=0.3, max_iter=3), sklearn.svm.NuSVC(nu=0.3, max_iter=10)):
        model = model.fit(rows, Y2, sample_weight=weight)
        share, _ = rows_share(model, rows, Y2, weight)
        rho = 0.3 / np.abs(model.dual_coef_).sum()
        certificate = mm.certify(model, rows, Y2, sample_weight=weight)
        assert certificate.feasible
        assert certificate.gap <= rho**2 * share * (1 + 1e-9)  # less where another rho is better
        assert isinstance(model, sklearn.svm.NuSVC) or rho**2 * share == pytest.approx(certificate.gap, rel=1e-9)
    model = mm.NuSVR(nu=0.3, max_iter=30).fit(rows, TWO[:, 0], sample_weight=weight)
    share, _ = rows_share(model, rows, TWO[:, 0], weight)
    cost = np.ones(100) if weight is None else weight
    residual = np.abs(TWO[:, 0] - model.predict(rows))
    epsilon = residual[np.isclose(residual, np.max(residual - inspection.status(model, rows, TWO[:, 0], weight).slack))]
    unspent = 0.3 * cost.sum() - np.abs(model.dual_coef_).sum()
    gap = mm.certify(model, rows, TWO[:, 0], sample_weight=weight).gap
    assert share + epsilon[0] * unspent == pytest.approx(gap, rel=1e-6)
    hard = mm.SVC(C=np.inf, gamma=50.0).fit(rows, Y2)
    hard.dual_coef_, hard.intercept_ = hard.dual_coef_ * 1.1, hard.intercept_ * 1.1 + 0.02
    found = inspection.margins(hard, rows, Y2)
    alpha = inspection.status(hard, rows, Y2).alpha
    m, norm = found.functional_margin, found.norm
    total = alpha @ (found.functional / m - 1) + 0.5 * (1 / m - 1) ** 2 * norm**2
    assert total == pytest.approx(mm.certify(hard, rows, Y2).gap, rel=1e-6)


def test_each_condition_can_fail():
    model = mm.SVC(gap_tol=1e-12).fit(TWO, Y2)
    model.dual_coef_ = model.dual_coef_ * 1.5
    broken = inspection.kkt(model, TWO, Y2).worst
    assert broken["dual_feasibility"] == pytest.approx(0.5)
    hard = mm.SVC(C=np.inf, gamma=50.0).fit(TWO, Y2)
    hard.dual_coef_, hard.intercept_ = hard.dual_coef_ * 0.5, hard.intercept_ * 0.5
    assert inspection.kkt(hard, TWO, Y2).worst["primal_feasibility"] == pytest.approx(0.5)
    linear = mm.LinearSVC(loss="hinge", tol=1e-10).fit(TWO, Y2)
    linear.coef_ = linear.coef_ + 0.1
    assert inspection.kkt(linear, TWO, Y2).worst["stationarity"] == pytest.approx(0.2, rel=1e-3)
    unbalanced = mm.SVC(fit_intercept=False).fit(TWO, Y2)
    unbalanced.fit_intercept = True
    assert inspection.kkt(unbalanced, TWO, Y2).worst["balance"] > 1e-3
    theirs = sklearn.svm.LinearSVC(tol=1e-10, max_iter=10**6).fit(TWO, Y2)
    found = inspection.kkt(theirs, TWO, Y2)
    assert not found.tasks[0].own_dual
    assert found.worst["stationarity"] < 1e-3
    # its penalised intercept b asks for sum alpha_i t_i = b
    assert found.worst["balance"] == pytest.approx(abs(theirs.intercept_[0]), rel=1e-3)


def test_a_stochastic_fit_is_judged_on_the_rows_it_was_trained_on():
    model = mm.SGDSVC(lam=1e-2, patience=3, random_state=0).fit(TWO, Y2)
    assert len(model.held_out_) == 10
    (task,) = inspection.kkt(model, TWO, Y2).tasks
    assert not np.isin(task.rows, model.held_out_).any()
    assert mm.certify(model, TWO, Y2).gap == pytest.approx(model.certificate_.gap)


# -- certain labels --------------------------------------------------------------------------------------------------


def rough_and_exact(kind: str, power: float, multiclass: str, bias: bool):
    """A model at a relative gap of 10^power, and the same at 1e-13."""
    goal = {"fit_intercept": bias, "multiclass": multiclass}
    kernel = {**goal, "gamma": 1.0, "code_words": "exhaustive"}
    makers = {
        "svc": lambda tol: mm.SVC(C=5.0, gap_tol=tol, **kernel),
        "nu": lambda tol: mm.NuSVC(nu=0.2, gap_tol=tol, **kernel),
        "hard": lambda tol: mm.SVC(C=np.inf, gap_tol=tol, **{**kernel, "gamma": 8.0}),
        "linear": lambda tol: mm.LinearSVC(loss="hinge", C=3.0, tol=tol, scale=True, **goal),
        "squared": lambda tol: mm.LinearSVC(C=3.0, tol=tol, **goal),
        "logistic": lambda tol: mm.LinearClassifier("logistic", C=3.0, tol=tol, **goal),
    }
    return makers[kind](10.0**power), makers[kind](1e-13)


@examples(40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["svc", "nu", "hard", "linear", "squared", "logistic"]),
    st.floats(-5, -0.3),
    st.sampled_from(["ovo", "ovr", "code"]),
    st.booleans(),
    st.integers(2, 4),
)
def test_certain_labels_are_those_of_the_exact_optimum(seed, kind, power, multiclass, bias, classes):
    assume(kind != "logistic" or multiclass == "ovr" or classes == 2)  # coupled probabilities do not follow the scores
    rows, y = data(seed, n=30, classes=classes)
    new = 1.5 * np.random.default_rng(seed + 1).normal(size=(200, 2))
    rough, exact = rough_and_exact(kind, power, multiclass, bias)
    try:
        rough.fit(rows, y), exact.fit(rows, y)
    except mm.NotSeparableError:
        assume(False)
    found = inspection.certified_labels(rough, new, rows, y)
    np.testing.assert_array_equal(found.labels, rough.predict(new))
    np.testing.assert_array_equal(found.labels[found.certain], exact.predict(new)[found.certain])
    f, lower, upper = task_scores(exact, new), *(np.atleast_2d(b.T).T for b in (found.lower, found.upper))
    assert (f >= lower - 1e-6).all()
    assert (f <= upper + 1e-6).all()


def test_a_tight_fit_is_certain_of_almost_everything_and_a_rough_one_of_less():
    shares = []
    for power in (-0.3, -2, -6, -12):
        model = mm.LinearSVC(loss="hinge", tol=10.0**power, scale=True).fit(X, Y)
        found = inspection.certified_labels(model, X, X, Y)
        assert str(found).startswith(f"{len(found.rows)} of 150 labels cannot change")
        shares.append(found.certain.mean())
    assert shares[0] < 0.7 < 0.97 <= shares[-1]
    assert shares == sorted(shares)
    for exact in (mm.SVC(gap_tol=1e-12), mm.NuSVC(nu=0.2, gap_tol=1e-12), mm.SVC(C=np.inf, gamma=50, gap_tol=1e-12)):
        assert inspection.certified_labels(exact.fit(X, Y), X, X, Y).certain.all()


@FEW
@given(st.integers(0, 10**6), st.floats(-1, 2))
def test_certain_labels_of_scikit_learns_svc(seed, power):
    rows, y = data(seed, n=40, classes=3)
    theirs = sklearn.svm.SVC(tol=0.3, C=10.0**power, gamma=1.0).fit(rows, y)
    exact = mm.SVC(gap_tol=1e-13, C=10.0**power, gamma=1.0).fit(rows, y)
    found = inspection.certified_labels(theirs, rows, rows, y)
    np.testing.assert_array_equal(found.labels[found.certain], exact.predict(rows)[found.certain])
    given_ones = inspection.certified_labels(theirs, rows, rows, y, certificates=certify_tasks(theirs, rows, y))
    np.testing.assert_array_equal(found.certain, given_ones.certain)


def test_without_training_rows_there_must_be_no_intercept():
    model = mm.SVC(gap_tol=1e-12, fit_intercept=False).fit(TWO, Y2)
    np.testing.assert_array_equal(
        inspection.certified_labels(model, TWO).certain, inspection.certified_labels(model, TWO, TWO, Y2).certain
    )
    assert inspection.certified_labels(mm.PegasosSVC(lam=0.1).fit(TWO, Y2), TWO).certain.any()
    with pytest.raises(ValueError, match="the intercept is from the optimal one depends on the training rows; give"):
        inspection.certified_labels(mm.SVC().fit(TWO, Y2), TWO)
    with pytest.raises(ValueError, match="the scale of the hard margin and of nu-SVC"):
        inspection.certified_labels(mm.NuSVC(nu=0.2, fit_intercept=False).fit(TWO, Y2), TWO)
    with pytest.raises(ValueError, match="carries no certificates; give the training data"):
        inspection.certified_labels(mm.SVC(certify=False, fit_intercept=False).fit(TWO, Y2), TWO)
    with pytest.raises(ValueError, match="1 tasks, but 2 certificates"):
        inspection.certified_labels(model, TWO, certificates=[model.certificate_] * 2)


def test_nothing_is_certain_without_a_proof():
    K = TWO @ TWO.T - 5 * np.eye(100)
    model = mm.SVC(kernel="precomputed").fit(K, Y2)
    found = inspection.certified_labels(model, K, K, Y2)
    assert not found.certain.any()
    assert "not PSD" in str(found)
    good = mm.SVC(kernel="precomputed", gap_tol=1e-10).fit(TWO @ TWO.T, Y2)
    assert inspection.certified_labels(good, TWO @ TWO.T, TWO @ TWO.T, Y2).certain.mean() > 0.9
    assert "training rows only" in str(inspection.certified_labels(good, (TWO @ TWO.T)[:3], TWO @ TWO.T, Y2))
    own = mm.SVC(kernel=lambda A, B: A @ B.T).fit(TWO, Y2)
    assert inspection.certified_labels(own, TWO[:5] + 0.1, TWO, Y2).certain.any()


@pytest.mark.parametrize(
    ("model", "error", "match"),
    [
        (mm.LinearSVC(penalty="l1"), ValueError, "penalty='l1'"),
        (mm.SVC(calibration="sigmoid"), ValueError, "of which nothing is proven"),
        (mm.Perceptron(), TypeError, "a perceptron has none"),
        (mm.LinearSVC(C=np.inf), ValueError, "certified as SVC"),
    ],
)
def test_labels_that_cannot_be_certified_say_why(model, error, match):
    rows, y = X[:100], Y[:100]
    with pytest.raises(error, match=match):
        inspection.certified_labels(clone(model).fit(rows, y), rows, rows, y)


# -- leave-one-out ---------------------------------------------------------------------------------------------------


@FEW
@given(st.integers(0, 10**6), st.floats(-2, 2), st.sampled_from(["linear", "rbf"]), st.booleans())
def test_exact_leave_one_out_is_what_refits_by_hand_find(seed, power, kernel, bias):
    rows, y = data(seed, n=16)
    model = mm.SVC(C=10.0**power, kernel=kernel, gamma=1.0, fit_intercept=bias, gap_tol=1e-12, certify=False)
    found = inspection.leave_one_out(model.fit(rows, y), rows, y)
    np.testing.assert_array_equal(found.errors, left_out_by_hand(model, rows, y))
    assert found.estimate == found.errors.mean()
    assert found.gap <= 1e-9
    free = inspection.status(model, rows, y).counts()["on the margin"] > 0
    assert found.refits == (len(model.support_) if free or not bias else len(y))


@pytest.mark.parametrize(
    "model",
    [
        mm.SVC(gamma=1.0, gap_tol=1e-12),
        mm.SVC(gamma=1.0, gap_tol=1e-12, multiclass="ovr"),
        mm.NuSVC(nu=0.3, gamma=1.0, gap_tol=1e-12),
        mm.SVC(C=np.inf, gamma=5.0, gap_tol=1e-12),
        mm.LinearSVC(loss="hinge", tol=1e-11),
        mm.LinearSVC(tol=1e-11),
        mm.LinearClassifier("logistic", tol=1e-11),
    ],
    ids=name_of,
)
def test_exact_leave_one_out_of_many_classes(model):
    rows, y = data(3, n=24, classes=3)
    found = inspection.leave_one_out(clone(model).fit(rows, y), rows, y)
    np.testing.assert_array_equal(found.errors, left_out_by_hand(model, rows, y))
    assert found.margin.shape == (24, 3)


def test_exact_leave_one_out_does_not_depend_on_who_fitted_or_how_well():
    rows, y = data(5, n=40)
    exact = inspection.leave_one_out(mm.SVC(gamma=1.0).fit(rows, y), rows, y)
    for model in (mm.SVC(gamma=1.0, gap_tol=0.3), sklearn.svm.SVC(gamma=1.0, tol=0.5)):
        found = inspection.leave_one_out(model.fit(rows, y), rows, y)
        np.testing.assert_allclose(found.margin, exact.margin, atol=1e-4)
    linear = inspection.leave_one_out(mm.LinearClassifier(C=1.0, fit_intercept=False).fit(rows, y), rows, y)
    pegasos = mm.PegasosSVC(lam=1 / 40, max_iter=1).fit(rows, y)
    np.testing.assert_allclose(inspection.leave_one_out(pegasos, rows, y).margin, linear.margin, atol=1e-3)


@MANY
@given(st.integers(0, 10**6), st.floats(-2, 3), st.sampled_from(["soft", "hard", "squared", "squared, no bias"]))
def test_xi_alpha_is_never_below_the_error(seed, power, kind):
    rows, y = data(seed, n=20)
    if kind == "soft":  # with an intercept the theorem has conditions that no fit can check
        model = mm.SVC(C=10.0**power, gamma=1.0, fit_intercept=False, gap_tol=1e-12)
    elif kind == "hard":
        model = mm.SVC(C=np.inf, gamma=5.0, gap_tol=1e-12)
    else:
        model = mm.LinearSVC(C=10.0**power, tol=1e-12, fit_intercept=kind == "squared")
    model.fit(rows, y)
    exact = inspection.leave_one_out(model, rows, y)
    bound = inspection.leave_one_out(model, rows, y, "xi-alpha")
    assert not (exact.errors & ~bound.errors).any()
    assert bound.estimate >= exact.estimate
    assert str(bound).startswith("leave-one-out error at most")


def test_xi_alpha_is_joachims_formula():
    model = mm.SVC(C=2.0, gamma=1.0, gap_tol=1e-12).fit(TWO, Y2)
    found, rows = inspection.status(model, TWO, Y2), inspection.leave_one_out(model, TWO, Y2, "xi-alpha")
    R2 = 1.0 - model.kernel_(TWO[model.support_], TWO).min()
    np.testing.assert_array_equal(rows.errors, 2 * found.alpha * R2 + found.slack >= 1)
    exact = inspection.leave_one_out(model, TWO, Y2)
    assert not (exact.errors & ~rows.errors).any()


@MANY
@given(st.integers(0, 10**6), st.floats(-1, 2), st.booleans(), st.sampled_from(["linear", "rbf"]))
def test_span_is_exact_where_nothing_else_changes(seed, power, bias, kernel):
    rows, y = data(seed, n=24)
    model = mm.SVC(C=10.0**power, kernel=kernel, gamma=1.0, fit_intercept=bias, gap_tol=1e-13).fit(rows, y)
    before = inspection.status(model, rows, y)
    found = inspection.leave_one_out(model, rows, y, "span")
    kind = np.where(before.alpha > 0, 1 + before.bound, 0)
    for p in model.support_[:6]:
        rest = np.arange(len(y)) != p
        without = clone(model).fit(rows[rest], y[rest])
        after = inspection.status(without, rows[rest], y[rest])
        same = (np.where(after.alpha > 0, 1 + after.bound, 0) == kind[rest]).all()
        if same and (kind[rest] == 1).any():  # without a free row the intercept is not determined
            score = without.decision_function(rows[p : p + 1])[0] * (1 if y[p] else -1)
            assert found.margin[p] == pytest.approx(score, abs=1e-5)


def test_span_is_close_to_the_error_and_works_for_squared_hinges():
    rows, y = data(1, n=60)
    for model in (mm.SVC(gamma=1.0), mm.LinearSVC(tol=1e-10), mm.LinearSVC(tol=1e-10, fit_intercept=False)):
        exact, span = (inspection.leave_one_out(model.fit(rows, y), rows, y, how) for how in ("exact", "span"))
        assert abs(int(exact.errors.sum()) - int(span.errors.sum())) <= 3
        assert np.corrcoef(exact.margin, span.margin)[0, 1] > 0.98


def test_leaving_out_the_only_row_of_a_class_is_an_error():
    rows, y = np.array([[0.0], [0.1], [0.2], [5.0]]), np.array([0, 0, 0, 1])
    for model in (mm.SVC(kernel="linear", C=10.0), mm.LinearSVC(C=10.0), mm.SVC(kernel="linear", C=np.inf)):
        assert inspection.leave_one_out(model.fit(rows, y), rows, y).errors.tolist() == [False, False, False, True]


def test_rows_without_weight_are_not_counted():
    weight = np.where(np.arange(100) % 4 == 0, 0.0, 1.0)
    model = mm.SVC(gamma=1.0).fit(TWO, Y2, weight)
    found = inspection.leave_one_out(model, TWO, Y2, sample_weight=weight)
    kept = weight > 0
    alone = inspection.leave_one_out(mm.SVC(gamma=1.0).fit(TWO[kept], Y2[kept]), TWO[kept], Y2[kept])
    np.testing.assert_allclose(found.margin[kept], alone.margin, atol=1e-6)
    assert np.isnan(found.margin[~kept]).all()
    assert found.estimate == alone.estimate


def test_leave_one_out_says_what_it_cannot_do():
    with pytest.raises(ValueError, match="method must be one of exact, xi-alpha, span; got 'bootstrap'"):
        inspection.leave_one_out(mm.SVC().fit(X, Y), X, Y, "bootstrap")
    with pytest.raises(ValueError, match="nu-SVC's depends on all rows; use method='exact'"):
        inspection.leave_one_out(mm.NuSVC(nu=0.2).fit(X, Y), X, Y, "span")
    with pytest.raises(ValueError, match="needs dual variables, which the model does not keep"):
        inspection.leave_one_out(sklearn.svm.LinearSVC(loss="hinge").fit(X, Y), X, Y, "xi-alpha")
    with pytest.raises(ValueError, match="is for the penalty 'l2'; got 'l1'"):
        inspection.leave_one_out(mm.LinearSVC("l1").fit(X, Y), X, Y, "span")
    with pytest.raises(ValueError, match="method='span' speaks of slack"):
        inspection.leave_one_out(mm.LinearClassifier("logistic").fit(X, Y), X, Y, "span")


# -- bounds ----------------------------------------------------------------------------------------------------------


def test_the_margin_error_bound_is_the_formula():
    model = mm.SVC(gamma=1.0).fit(TWO, Y2)
    found = inspection.margin_error_bound(model, TWO, Y2, c=0.01, delta=0.1, rho=0.5)
    margins = inspection.margins(model, TWO, Y2)
    nu = np.mean(margins.functional < 0.5)
    inside = margins.norm**2 / 0.25 * math.log(100) ** 2 + math.log(10)
    assert found.nu == nu
    assert found.bound == pytest.approx(nu + math.sqrt(0.01 / 100 * inside))
    wider = inspection.margin_error_bound(model, TWO, Y2, c=0.01, delta=0.1, rho=0.5, radius=2.0, norm=2 * margins.norm)
    assert wider.bound - nu == pytest.approx(math.sqrt(0.01 / 100 * (16 * (inside - math.log(10)) + math.log(10))))
    assert inspection.margin_error_bound(mm.SVC().fit(X, Y), X, Y, c=1.0).bound.shape == (3,)


@pytest.mark.parametrize(
    "wrong", [{"c": 0.0}, {"c": math.inf}, {"c": 1.0, "rho": -1.0}, {"c": 1.0, "delta": 1.0}], ids=str
)
def test_the_margin_error_bound_checks_its_numbers(wrong):
    with pytest.raises(ValueError, match="must be"):
        inspection.margin_error_bound(mm.SVC().fit(TWO, Y2), TWO, Y2, **wrong)


@FEW
@given(st.integers(0, 10**6), st.booleans())
def test_no_perceptron_makes_more_mistakes_than_the_bound(seed, bias):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(30, 3))
    f = rows @ rng.normal(size=3) + (rng.normal() if bias else 0.0)
    rows, y = rows[np.abs(f) > 0.2], (f[np.abs(f) > 0.2] > 0).astype(int)
    assume(len(np.unique(y)) == 2)
    found = inspection.mistake_bound(rows, y, fit_intercept=bias)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.Perceptron(fit_intercept=bias, bound=True, max_iter=1000, random_state=seed).fit(rows, y)
    assert model.mistakes_[0] <= found.bound
    assert model.mistake_bound_[0] == pytest.approx(found.bound, rel=1e-9)
    largest = np.square(rows).sum(axis=1).max() + bias
    assert found.radius == pytest.approx(math.sqrt(largest))
    assert found.bound == pytest.approx(largest / found.margin**2)


def test_mistakes_without_bound_and_of_many_classes():
    found = inspection.mistake_bound(X, Y)
    assert found.tasks == ("0 against the rest", "1 against the rest", "2 against the rest")
    assert np.isinf(found.bound).tolist() == [False, True, True]
    assert np.isinf(inspection.mistake_bound(X, Y, multiclass="ovo").bound).sum() == 1
    assert inspection.mistake_bound(sp.csr_array(X), Y == 0).bound == pytest.approx(found.bound[0], rel=1e-5)
    with pytest.raises(ValueError, match=r"y has 1: \[0\]"):
        inspection.mistake_bound(X, np.zeros(150, dtype=int))
    with pytest.raises(ValueError, match="multiclass must be 'ovr' or 'ovo'"):
        inspection.mistake_bound(X, Y, multiclass="code")


# -- explanations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        *CLASSIFIERS, *PERCEPTRONS, mm.SVC(multiclass="crammer-singer"), mm.SVR(), mm.LinearSVR(), mm.OneClassSVM(),
        mm.SVDD(), sklearn.svm.SVR(kernel="linear"), sklearn.svm.OneClassSVM(),
    ],
    ids=name_of,
)  # fmt: skip
def test_contributions_sum_to_the_decision_function(model):
    model = clone(model).fit(X, Y)
    for row in (0, 70):
        found = inspection.explain(model, X[row])
        f = np.array([task.score for task in found.tasks])
        if hasattr(model, "decision_function"):
            np.testing.assert_allclose(f, task_scores(model, X[row : row + 1])[0], rtol=1e-7, atol=1e-9)
        assert found.label == model.predict(X[row : row + 1])[0]
        for task in found.tasks:
            if task.contributions is not None:
                assert task.contributions.sum() + task.intercept + task.own == pytest.approx(task.score, abs=1e-9)
                factor = 2 if isinstance(model, mm.SVDD) else 1  # R^2 - ||phi(x) - a||^2 has 2 a.phi(x) in it
                np.testing.assert_allclose(task.contributions, factor * task.dual_coef * task.kernel)
                assert (np.diff(np.abs(task.contributions)) <= 0).all()
                assert np.isin(task.rows, model.support_).all()
            if task.features is not None:
                assert task.features.sum() + task.intercept == pytest.approx(task.score, abs=1e-9)
            assert task.contributions is not None or task.features is not None
        assert str(found).startswith(f"predicted: {found.label}")


@MANY
@given(st.integers(0, 10**6), st.floats(-2, 2))
def test_primal_and_dual_form_agree(seed, power):
    """w.x + b and the sum over support vectors are the same number."""
    rows, y = data(seed)
    model = mm.SVC(kernel="linear", C=10.0**power).fit(rows, y)
    (task,) = inspection.explain(model, rows[0]).tasks
    assert task.features.sum() == pytest.approx(task.contributions.sum(), abs=1e-8)
    np.testing.assert_allclose(task.features, model.coef_[0] * rows[0], atol=1e-9)


def test_explanations_of_names_words_and_tables():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = inspection.explain(mm.SVC(kernel="linear").fit(frame, Y), frame.iloc[0])
    assert found.tasks[0].feature_names.tolist() == ["sl", "sw", "pl", "pw"]
    assert "pl " in str(found)
    words = ["aa", "ab", "ba", "bb"]
    same = mm.SVC(kernel=lambda A, B: np.array([[float(a[0] == b[0]) for b in B] for a in A])).fit(words, [0, 0, 1, 1])
    assert inspection.explain(same, "ax").label == 0
    K = X @ X.T
    table = mm.SVC(kernel="precomputed").fit(K, Y)
    assert inspection.explain(table, K[3]).tasks[0].features is None
    linear = mm.SVC(kernel="linear").fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(
        inspection.explain(linear, sp.csr_array(X[:1])).tasks[1].features, linear.coef_.toarray()[1] * X[0]
    )


# -- who may ask what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["margins", "zones", "leave_one_out"])
def test_regressors_are_refused(ask):
    function = getattr(inspection, ask)
    for model in (mm.SVR(), mm.OneClassSVM(), mm.LinearRegressor()):
        with pytest.raises(TypeError, match=rf"{ask}.* is for classifiers; got {type(model).__name__}"):
            function(model.fit(X, Y.astype(float)), X, Y)


@pytest.mark.parametrize("ask", ["margins", "kkt", "support_table", "leave_one_out"])
def test_single_problems_are_refused(ask):
    function = getattr(inspection, ask)
    for model in (mm.SVC(multiclass="crammer-singer"), mm.LinearSVC(multi_class="crammer_singer")):
        with pytest.raises(ValueError, match=r"is one problem for all classes; fit with multiclass='ovo'"):
            function(model.fit(X, Y), X, Y)
    two = mm.SVC(multiclass="crammer-singer").fit(TWO, Y2)
    if ask == "margins":
        assert len(function(two, TWO, Y2).functional) == 100
    else:  # its dual variables are not those of a soft margin with the same C
        with pytest.raises(ValueError, match="one problem for all classes"):
            function(two, TWO, Y2)


@pytest.mark.parametrize("ask", ["status", "kkt", "support_table", "leave_one_out"])
def test_what_needs_an_optimum_and_its_training_rows_says_so(ask):
    function = getattr(inspection, ask)
    with pytest.raises(TypeError, match="a perceptron has none"):
        function(mm.Perceptron().fit(X, Y == 0), X, Y == 0)
    streamed = mm.PegasosSVC().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="fitted in chunks"):
        function(streamed, X, Y)
    model = mm.SVC().fit(X, Y)
    with pytest.raises(ValueError, match="give the training data, in the same order"):
        function(model, X[:20], Y[:20])
    with pytest.raises(ValueError, match="the support vectors are not among the rows"):
        function(model, X[::-1], Y)
    if ask != "leave_one_out":
        with pytest.raises(ValueError, match=r"speaks of slack.* got the loss 'logistic'"):
            function(mm.LinearClassifier("logistic").fit(X, Y), X, Y)


def test_bad_input_is_named():
    model = mm.SVC().fit(X, Y)
    with pytest.raises(NotFittedError):
        inspection.margins(mm.SVC(), X, Y)
    with pytest.raises(TypeError, match=r"got LogisticRegression\. Of a pipeline, pass its last step"):
        inspection.margins(sklearn.linear_model.LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match=r"row 100 is of class 3, which the model does not know; .*\[0, 1, 2\]"):
        inspection.margins(model, X, Y + 1)
    with pytest.raises(ValueError, match="X has 150 rows but y has 3"):
        inspection.zones(model, X, Y[:3])
    with pytest.raises(ValueError, match="X has 2 columns, but SVC was fitted on 4"):
        inspection.margins(model, X[:, :2], Y)
    with pytest.raises(ValueError, match=r"less than 0.5, or zones would overlap; got 0.7"):
        inspection.zones(model, X, Y, tol=0.7)
    with pytest.raises(ValueError, match="one row at a time; got 150"):
        inspection.explain(model, X)
    with pytest.raises(ValueError, match="keeps no support vectors"):
        inspection.margins(sklearn.svm.SVC(kernel=lambda A, B: A @ B.T).fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="norm must have a value of at least 0 for each of the 3 tasks"):
        inspection.margins(model, X, Y, norm=1.0)


def test_results_are_frozen_and_constants_complete():
    model = mm.SVC().fit(X, Y)
    results = [
        inspection.margins(model, X, Y),
        inspection.status(model, X, Y),
        inspection.kkt(model, X, Y),
        inspection.certified_labels(model, X, X, Y),
        inspection.leave_one_out(model, X, Y, "span"),
        inspection.explain(model, X[0]),
        inspection.mistake_bound(X, Y == 0),
        inspection.margin_error_bound(model, X, Y, c=1.0),
    ]
    for result in results:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, dataclasses.fields(result)[0].name, None)
        assert len(str(result)) > 20
    assert len(ZONES) == len(STATUSES) == 7
