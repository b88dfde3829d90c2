"""LSSVC: the bordered system, many classes, folds and leave-one-out in closed form, conjugate gradients, proofs."""

from __future__ import annotations

import inspect
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from maxmargin import LSSVC, SVC, KernelLeastSquares, certify, inspection
from maxmargin.certificates import certify_tasks
from maxmargin.estimators import _lssvc_solve, _streamed
from maxmargin.kernels import Gaussian, Linear
from maxmargin.problems import LSSVCProblem, Offsets
from maxmargin.solvers import bordered
from tests.laws import examples

SOLVERS = ["cholesky", "cg"]


@pytest.fixture(autouse=True, scope="module")
def few_landmarks():
    """With as many as there are rows conjugate gradients would end at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_streamed, "PRECONDITION_ROWS", 20)
        yield


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


@pytest.fixture(scope="module")
def pair(iris):
    """Two classes that overlap."""
    X, y = iris
    return X[50:], np.array(["versicolor", "virginica"])[y[50:] - 1]


def dense_solve(K, t, C, bias=True):
    """(beta, b) of the bordered system, by NumPy alone."""
    n = len(K)
    if not bias:
        return np.linalg.solve(K + np.diag(1.0 / C), t), 0.0
    A = np.zeros((n + 1, n + 1))
    A[:n, :n], A[:n, n], A[n, :n] = K + np.diag(1.0 / C), 1.0, 1.0
    solved = np.linalg.solve(A, np.append(t, 0.0))
    return solved[:n], solved[n]


def by_hand(K, t, C, bias=True):
    """Scores on the training rows."""
    beta, b = dense_solve(K, t, C, bias)
    return K @ beta + b


# -- the system ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_solves_the_bordered_system(pair, solver, bias, C):
    X, y = pair
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    model = LSSVC(C=C, gamma=0.3, fit_intercept=bias, solver=solver, tol=1e-11, max_iter=2000)
    model.set_params(class_weight={"virginica": 3.0}).fit(X, y, weight)
    t = np.where(y == "virginica", 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.3)
    beta, b = dense_solve(K, t, C * weight * np.where(t > 0, 3.0, 1.0), bias)
    found = np.zeros(len(X))
    found[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(found, beta, atol=1e-6 * np.abs(beta).max())
    np.testing.assert_allclose(model.decision_function(X), K @ beta + b, atol=1e-8)
    assert model.intercept_[0] == pytest.approx(b, rel=1e-7, abs=1e-7)
    assert model.residual_ < 2e-11
    assert model.fit_status_ == int(model.residual_ > 1e-11)  # what is published decides


@examples(20)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["linear", "rbf"]))
def test_it_is_what_the_dense_system_says(seed, bias, kernel):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    X, C = rng.normal(size=(n, 2)) + rng.normal(size=2), 10 ** rng.uniform(-3, 3)
    t = np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0)
    model = LSSVC(C=C, kernel=kernel, gamma=0.7, fit_intercept=bias).fit(X, t)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.7)
    np.testing.assert_allclose(model.decision_function(X), by_hand(K, t, np.full(n, C), bias), atol=1e-8)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap < 1e-10


def test_without_an_intercept_it_is_kernel_ridge_on_the_signs(pair):
    X, y = pair
    model = LSSVC(C=4.0, gamma=0.3, fit_intercept=False).fit(X, y)
    ridge = KernelLeastSquares("rbf", lam=0.25, gamma=0.3).fit(X, np.where(y == "virginica", 1.0, -1.0))
    np.testing.assert_allclose(model.decision_function(X), ridge.predict(X), atol=1e-9)


@examples(15)
@given(st.integers(0, 10**6), st.sampled_from(["ovr", "ovo", "code"]), st.sampled_from([None, "balanced"]))
def test_a_weight_of_two_is_the_row_twice(seed, scheme, class_weight):
    rng = np.random.default_rng(seed)
    X, y, weight = rng.normal(size=(15, 2)), np.arange(15) % 3, rng.integers(0, 3, 15)
    weight[:3] = 1
    twice = np.repeat(np.arange(15), weight)
    model = LSSVC(multiclass=scheme, class_weight=class_weight, C=2.0)
    weighted = clone(model).fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(weighted, clone(model).fit(X[twice], y[twice]).decision_function(X), atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_every_form_of_a_kernel_is_the_same_machine(iris, solver, scheme):
    X, y = iris
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, 1.0)  # rows that do not count are there too
    options = {"C": 3.0, "solver": solver, "tol": 1e-11, "multiclass": scheme, "calibration": "sigmoid"}
    named = LSSVC(gamma=0.2, **options).fit(X, y, weight)
    expected, probable = named.decision_function(X), named.predict_proba(X)
    K = rbf_kernel(X, gamma=0.2)
    forms = {
        "expression": (Gaussian(gamma=0.2), X, X),
        "callable": (lambda A, B: rbf_kernel(A, B, gamma=0.2), X, X),
        "precomputed": ("precomputed", K, K),
        "sparse": ("rbf", sp.csr_array(X), sp.csr_array(X)),
        "float32 rows asked": ("rbf", X, X.astype(np.float32)),
    }
    for name, (kernel, rows, asked) in forms.items():
        model = LSSVC(kernel=kernel, gamma=0.2, **options).fit(rows, y, weight)
        atol = 1e-5 if "float32" in name else 1e-8
        np.testing.assert_allclose(model.decision_function(asked), expected, atol=atol, err_msg=name)
        if name != "precomputed":  # copies of rows, which nobody sees in kernel values, are in one fold elsewhere
            np.testing.assert_allclose(model.predict_proba(asked), probable, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_may_be_anything_for_a_callable(solver):
    words, label = ["a", "bb", "aaa", "bbbb", "ab", "a" * 5, "b" * 6, "zz"], [0, 1, 0, 1, 0, 0, 1, 1]

    def count_letters(A, B):
        return np.array([[float(sum(u.count(c) * v.count(c) for c in "ab")) + 1.0 for v in B] for u in A])

    weight = [1.0] * 7 + [0.0]
    model = LSSVC(kernel=count_letters, solver=solver, C=100.0).fit(words, label, weight)
    assert model.predict(["aaaaaa", "bbb"]).tolist() == [0, 1]
    assert certify(model, words, label, weight).relative_gap < 1e-9


def test_the_linear_kernel_has_weights_of_features(iris):
    X, y = iris
    for scheme in ("ovr", "ovo"):
        model = LSSVC(kernel="linear", multiclass=scheme).fit(X, y)
        scores = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(scores, model._task_scores(X), atol=1e-10)
    with pytest.raises(AttributeError, match="linear kernel"):
        LSSVC().fit(X, y).coef_  # asking is what fails


# -- many classes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_schemes_are_their_tasks(iris, solver):
    X, y = iris
    K, weight = rbf_kernel(X, gamma=0.2), {0: 1.0, 1: 2.0, 2: 0.5}
    C = 5.0 * np.array([weight[k] for k in y])
    options = {"C": 5.0, "gamma": 0.2, "class_weight": weight, "solver": solver, "tol": 1e-12}
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    expected = np.column_stack([by_hand(K, t, C) for t in signs.T])
    ovr = LSSVC(**options).fit(X, y)
    np.testing.assert_allclose(ovr.decision_function(X), expected, atol=1e-8)
    np.testing.assert_array_equal(ovr.predict(X), expected.argmax(axis=1))
    code = LSSVC(multiclass="code", code_words=[[1, 1], [1, -1], [-1, 1]], **options).fit(X, y)
    bits = np.array([[1, 1], [1, -1], [-1, 1]])[y]
    np.testing.assert_allclose(
        code._task_scores(X), np.column_stack([by_hand(K, t.astype(float), C) for t in bits.T]), atol=1e-8
    )
    ovo = LSSVC(multiclass="ovo", decision_function_shape="ovo", **options).fit(X, y)
    for k, (a, b) in enumerate(combinations(range(3), 2)):
        own = (y == a) | (y == b)
        t = np.where(y[own] == a, 1.0, -1.0)
        beta, bias = dense_solve(K[np.ix_(own, own)], t, C[own])
        np.testing.assert_allclose(ovo.decision_function(X)[:, k], K[:, own] @ beta + bias, atol=1e-8)


def test_machines_of_the_same_rows_share_one_factorisation(iris, monkeypatch):
    X, y = iris
    made = []

    class Counted(bordered.Ridge):
        def __init__(self, K, *rest):
            made.append(len(K))
            super().__init__(K, *rest)

    monkeypatch.setattr(bordered, "Ridge", Counted)
    LSSVC(calibration="sigmoid", leave_one_out=True, class_weight={0: 3.0}).fit(X, y)
    assert made == [150]  # three classes, five folds, 150 rows left out
    made.clear()
    LSSVC(multiclass="code", code_words="exhaustive").fit(X, y)
    assert made == [150]
    made.clear()
    LSSVC(multiclass="ovo", calibration="sigmoid").fit(X, y)
    assert made == [100, 100, 100]


def test_fired_says_how_many_machines_claim_a_row(iris):
    X, y = iris
    model = LSSVC(multiclass="code").fit(X, y)
    assert sum(model.fired_) == 150
    assert model.fired(X) == model.fired_


# -- folds and leave-one-out --------------------------------------------------------------------------------------


@examples(15)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["ovr", "ovo", "code"]), st.integers(2, 4))
def test_leave_one_out_is_that_of_refits(seed, bias, scheme, classes):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3 * classes, 25))
    X, y, weight = rng.normal(size=(n, 2)), np.arange(n) % classes, rng.choice([0.0, 0.5, 1.0, 2.0], n)
    weight[: 2 * classes] = 1.0
    model = LSSVC(C=10 ** rng.uniform(-2, 2), gamma=0.5, fit_intercept=bias, multiclass=scheme, leave_one_out=True).fit(
        X, y, weight
    )
    assert model.loo_decision_.shape == model.decision_function(X).shape
    assert np.isnan(model.loo_decision_[weight == 0]).all()
    for i in (0, 2 * classes - 1):
        refit = clone(model).set_params(leave_one_out=False).fit(X, y, np.where(np.arange(n) == i, 0.0, weight))
        np.testing.assert_allclose(model.loo_decision_[i], refit.decision_function(X[[i]])[0], atol=1e-7)


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "code"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("solver", SOLVERS)
def test_folds_are_refits_without_their_rows(iris, scheme, bias, solver):
    X, y = iris
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(X), p=[0.1, 0.6, 0.3])
    model = LSSVC(
        C=2.0, gamma=0.3, fit_intercept=bias, multiclass=scheme, calibration="sigmoid", solver=solver, tol=1e-12
    ).fit(X, y, weight)
    number = np.full(len(X), -1)
    number[weight > 0] = model.folds_.number
    assert set(number[weight > 0]) == set(range(5))
    plain = clone(model).set_params(calibration=None, solver="cholesky")
    for k, scores in enumerate(model._fold_scores(X)):
        refit = plain.fit(X, y, np.where(number == k, 0.0, weight))
        np.testing.assert_allclose(scores, refit._task_scores(X), atol=1e-7)


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_calibrators_see_the_scores_of_rows_held_out(iris, scheme, monkeypatch):
    X, y = iris
    seen = []
    original = LSSVC._write_calibration
    monkeypatch.setattr(
        LSSVC, "_write_calibration", lambda self, data, folds, f: (seen.append(f), original(self, data, folds, f))
    )
    model = LSSVC(C=2.0, gamma=0.3, multiclass=scheme, calibration="sigmoid").fit(X, y)
    for k, scores in enumerate(model._fold_scores(X)):
        held = model.folds_.number == k
        np.testing.assert_allclose(seen[0][held], scores[held], atol=1e-9)


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic", "venn-abers"])
def test_calibrated_probabilities_are_good(kind):
    X, y = load_breast_cancer(return_X_y=True)
    train, test, label, truth = train_test_split(scale(X), y, random_state=0)
    model = LSSVC(C=1.0, calibration=kind).fit(train, label)
    p = model.predict_proba(test)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert log_loss(truth, p) < 0.15
    np.testing.assert_array_equal(model.predict(test), p.argmax(axis=1))
    sets = model.predict_set(test, coverage=0.95)
    assert np.mean(sets[np.arange(len(test)), truth]) > 0.9


def test_copies_of_a_row_are_in_one_fold(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    model = LSSVC(calibration="sigmoid")
    weighted = clone(model).fit(X, y, weight).predict_proba(X)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-7)


def test_a_class_of_one_row_is_never_held_out():
    X, y = np.arange(12.0)[:, None], np.array([0] * 6 + [1] * 5 + [2])
    for scheme in ("ovr", "ovo"):
        model = LSSVC(multiclass=scheme, calibration="sigmoid", leave_one_out=True).fit(X, y)
        assert model.folds_.number[-1] == -1
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.loo_decision_).all()


@pytest.mark.parametrize("kind", [LSSVC, SVC])
@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_classes_of_one_row_have_no_folds_and_rule_nothing_out(kind, scheme):
    for k in (2, 3):
        X = np.arange(float(k))[:, None]
        model = kind(calibration="sigmoid", multiclass=scheme).fit(X, np.arange(k))
        assert len(model.folds_.intercept) == 0
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert model.predict_set(X, coverage=0.5).all()


def test_of_one_row_nothing_is_known_but_its_class():
    np.testing.assert_allclose(LSSVC(leave_one_out=True).fit([[0.0], [1.0]], [0, 1]).loo_decision_, [1.0, -1.0])


# -- proofs -------------------------------------------------------------------------------------------------------


@examples(25)
@given(st.integers(0, 10**6), st.booleans())
def test_the_gap_is_primal_minus_dual_and_bounds_the_distance_to_the_optimum(seed, bias):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    X, t, C = rng.normal(size=(n, 3)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0), rng.uniform(0.1, 10.0, n)
    K, problem = X @ X.T, LSSVCProblem(t, C, bias)
    beta = rng.normal(size=n)
    beta -= beta.mean() if bias else 0.0
    offsets = Offsets(intercept=float(rng.normal()) if bias else 0.0)
    primal, dual = problem.primal(beta, K @ beta, offsets), problem.dual(beta, K @ beta)
    assert problem.gap(beta, K @ beta, offsets) == pytest.approx(primal - dual, rel=1e-9, abs=1e-9)
    best, b = dense_solve(K, t, C, bias)
    optimum = problem.primal(best, K @ best, Offsets(intercept=b))
    assert optimum == pytest.approx(problem.dual(best, K @ best), rel=1e-9)
    assert dual <= optimum + 1e-9 <= primal + 2e-9
    chosen = problem.offsets(beta, K @ beta)
    assert problem.primal(beta, K @ beta, chosen) <= primal + 1e-9


def test_a_row_held_out_of_the_problem_is_one_that_is_not_there():
    rng = np.random.default_rng(0)
    X, t, C = rng.normal(size=(10, 3)), np.where(np.arange(10) % 2 == 0, 1.0, -1.0), rng.uniform(0.5, 2.0, 10)
    held = np.arange(10) < 3
    beta = np.where(held, 0.0, rng.normal(size=10))
    f, b = X @ X.T @ beta, Offsets(intercept=0.3)
    masked, rest = LSSVCProblem(t, C).masked(held), LSSVCProblem(t[~held], C[~held])
    assert masked.gap(beta, f, b) == pytest.approx(rest.gap(beta[~held], f[~held], b))
    assert masked.dual(beta, f) == pytest.approx(rest.dual(beta[~held], f[~held]))
    assert masked.qp.infeasibility(np.ones(10)) > 0.1


@pytest.mark.parametrize("scheme", ["ovr", "ovo", "code"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_certify_judges_the_published_model(iris, scheme, solver):
    X, y = iris
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], len(X))
    model = LSSVC(C=3.0, multiclass=scheme, class_weight="balanced", solver=solver).fit(X, y, weight)
    found = certify_tasks(model, X, y, weight)
    assert len(found) == len(model.certificates_) == 3
    for own, other in zip(model.certificates_, found, strict=True):
        assert own.holds
        assert other.holds
        assert own.primal == pytest.approx(other.primal, rel=1e-9)
        assert own.relative_gap == pytest.approx(other.relative_gap, rel=1e-3, abs=1e-20)
        assert other.relative_gap < 1e-9
    model.intercept_ = model.intercept_ + 0.1  # every checker must be able to fail
    assert certify(model, X, y, weight).relative_gap > 1e-3
    worse = [certificate.kkt for certificate in certify_tasks(model, X, y, weight)]
    np.testing.assert_allclose(worse, [certificate.kkt for certificate in found], atol=1e-9)  # no intercept in it
    model.intercept_ = model.intercept_ - 0.1
    model.dual_coef_ = model.dual_coef_ * 1.1
    assert certify(model, X, y, weight).kkt > 1e-2


def test_a_bounded_certificate_is_one_for_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = (X[:, 0] + rng.normal(size=700) > 0).astype(int)
    quick, full = LSSVC(C=10.0).fit(X, y), LSSVC(C=10.0, certify="full").fit(X, y)
    assert (quick.certificate_.method, full.certificate_.method) == ("bounded", "recomputed")
    assert quick.certificate_.holds
    assert quick.certificate_.gap >= full.certificate_.gap - full.certificate_.rounding  # each has its own
    assert quick.certificate_.relative_gap < 1e-10
    assert not hasattr(LSSVC(certify=False).fit(X, y), "certificate_")
    assert len(LSSVC(certify=False).fit(X, y).history_) == 1


# -- many rows ----------------------------------------------------------------------------------------------------


def test_conjugate_gradients_reach_what_cholesky_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5)) + 3.0
    y = np.argmax(X[:, :3] + 0.5 * rng.normal(size=(1500, 3)), axis=1)
    for kernel in ("rbf", "linear"):
        closed = LSSVC(kernel=kernel, C=10.0).fit(X, y)
        steps = LSSVC(kernel=kernel, C=10.0, solver="cg", tol=1e-10).fit(X, y)
        np.testing.assert_allclose(steps.decision_function(X), closed.decision_function(X), atol=1e-7)
        assert steps.residual_ < 2e-10
        assert steps.certificate_.relative_gap < 1e-12
        assert steps.n_iter_.max() < 200


def test_large_tasks_go_to_conjugate_gradients_by_themselves(pair, monkeypatch):
    X, y = pair
    assert LSSVC().fit(X, y).n_iter_ == 1
    monkeypatch.setattr(_lssvc_solve, "DIRECT_ROWS", 99)
    assert LSSVC().fit(X, y).n_iter_ > 1
    with pytest.raises(ValueError, match="leave_one_out=True needs the closed form, which tasks of 100 rows"):
        LSSVC(leave_one_out=True).fit(X, y)
    monkeypatch.undo()
    assert LSSVC(cache_size=0.1).fit(X, y).n_iter_ > 1  # 24 * 100^2 bytes are more than that
    with pytest.raises(ValueError, match=r"matrices of 100 rows take 0 MB, more than cache_size=0.1 allows"):
        LSSVC(cache_size=0.1, solver="cholesky").fit(X, y)


def test_what_was_not_reached_is_said(pair):
    X, y = pair
    with pytest.warns(ConvergenceWarning, match=r"stopped after max_iter=1 steps .* take a smaller C") as caught:
        model = LSSVC(C=1e6, solver="cg", max_iter=1, tol=1e-12, kernel=Gaussian(20.0)).fit(X, y)
    assert caught[0].filename == __file__
    assert model.fit_status_ == 1
    assert certify(model, X, y).gap > 0


def test_a_huge_C_ends_at_rounding_and_says_so(pair):
    X, y = pair
    t, design = np.where(y == "virginica", 1.0, -1.0), np.c_[X, np.ones(len(X))]
    best = design @ np.linalg.lstsq(design, t, rcond=None)[0]  # what C = inf comes to
    mild = LSSVC(kernel="linear", C=1e7).fit(X, y)
    np.testing.assert_allclose(mild.decision_function(X), best, atol=1e-5)
    assert mild.fit_status_ == 0
    with pytest.warns(ConvergenceWarning, match=r"rounding errors left a relative residual of .* smaller C"):
        large = LSSVC(kernel="linear", C=1e11).fit(X, y)
    np.testing.assert_allclose(large.decision_function(X), best, atol=0.05)
    assert large.fit_status_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for C in (1e17, 1e60, 1e300, 1.7e308):
            with pytest.raises(ValueError, match="smaller C"):
                LSSVC(kernel="linear", C=C).fit(X, y)
        flexible = LSSVC(gamma=100.0, C=1e17).fit(X, y)  # whose kernel matrix is far from singular
    np.testing.assert_allclose(flexible.decision_function(X), t, atol=1e-6)


# -- what makes no sense ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.0, -1.0, np.inf, np.nan, "1"])
def test_C_is_a_positive_number(pair, C):
    with pytest.raises(ValueError, match="'C' parameter of LSSVC"):
        LSSVC(C=C).fit(*pair)


def test_what_makes_no_sense_is_refused(iris):
    X, y = iris
    with pytest.raises(ValueError, match=r"LSSVC has no multiclass='crammer-singer': .* use 'ovr', 'ovo' or 'code'"):
        LSSVC(multiclass="crammer-singer").fit(X, y)
    with pytest.raises(ValueError, match="decision_function_shape='ovo'"):
        LSSVC(decision_function_shape="ovo").fit(X, y)
    with pytest.raises(ValueError, match="leave_one_out=True needs the closed form"):
        LSSVC(solver="cg", leave_one_out=True).fit(X, y)
    assert not hasattr(LSSVC().fit(X, y), "predict_proba")
    K = X @ X.T
    K[0, 1] += 5.0
    with pytest.raises(ValueError, match="symmetric"):
        LSSVC(kernel="precomputed").fit(K, y)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        LSSVC(kernel="precomputed").fit(sp.csr_array(X @ X.T), y)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_kernel_values_that_are_not_finite_are_refused(iris, solver):
    X, y = iris
    with pytest.raises(ValueError, match="not finite"):
        LSSVC(kernel="poly", degree=200, gamma=1e5, solver=solver).fit(X * 1e5, y)


def test_a_failed_fit_leaves_the_model_as_it_was(iris):
    X, y = iris
    model = LSSVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="finite numbers"):
        model.set_params(kernel=lambda A, B: A @ B.T * np.nan).fit(X, y)
    np.testing.assert_array_equal(model.set_params(kernel="rbf").decision_function(X), before)


@pytest.mark.parametrize("C", [1.0, 10.0])  # K + 1 / C is positive definite, and is not
def test_of_a_matrix_that_is_no_kernel_it_is_a_stationary_point_without_a_proof(iris, C):
    X, y = iris
    K = rbf_kernel(X, gamma=0.2) - 0.5 * np.eye(len(X))
    model = LSSVC(kernel="precomputed", C=C, calibration="sigmoid", leave_one_out=True).fit(K, y)
    assert not model.certificate_.holds
    assert "not PSD" in model.certificate_.reason
    assert model.certificate_.kkt < 1e-9
    t = np.where(y == 0, 1.0, -1.0)
    np.testing.assert_allclose(model.decision_function(K)[:, 0], by_hand(K, t, np.full(len(X), C)), atol=1e-8)
    held = model.folds_.number == 0
    beta, b = dense_solve(K[np.ix_(~held, ~held)], t[~held], np.full(np.sum(~held), C))
    np.testing.assert_allclose(model._fold_scores(K)[0][:, 0], K[:, ~held] @ beta + b, atol=1e-7)


def test_a_singular_system_is_refused():
    K = np.diag([1.0, 1.0, -0.5, 1.0])
    with pytest.raises(ValueError, match=r"K \+ diag\(1/C\) is singular, .* -1\).* positive semi-definite kernel"):
        LSSVC(kernel="precomputed", C=2.0).fit(K, [0, 1, 0, 1])


def test_inspection_reads_its_scores_and_says_what_it_cannot(pair):
    X, y = pair
    model = LSSVC().fit(X, y)
    signed = inspection.margins(model, X, y)
    np.testing.assert_allclose(
        np.sign(signed.functional), np.where(y == "virginica", 1.0, -1.0) * np.sign(model.decision_function(X))
    )
    for function in (inspection.status, inspection.kkt, inspection.leave_one_out):
        with pytest.raises(TypeError, match="LSSVC pays for the distance from 1 on both sides"):
            function(model, X, y)


# -- every parameter ----------------------------------------------------------------------------------------------

#: parameter: (what else is set, its other value, what shows it).
FLIPS = {
    "C": ({}, 0.1, "decision"),
    "kernel": ({}, Linear(), "decision"),
    "degree": ({"kernel": "poly"}, 2, "decision"),
    "gamma": ({}, 0.9, "decision"),
    "coef0": ({"kernel": "poly"}, 1.0, "decision"),
    "class_weight": ({}, {0: 0.1}, "decision"),
    "fit_intercept": ({}, False, "decision"),
    "multiclass": ({}, "ovo", "decision"),
    "code_words": ({"multiclass": "code"}, "exhaustive", "code_words_"),
    "calibration": ({}, "isotonic", "calibrators_"),
    "decision_function_shape": ({"multiclass": "ovo"}, "ovo", "decision"),
    "scale": ({}, True, "decision"),
    "leave_one_out": ({}, True, "loo_decision_"),
    "solver": ({}, "cg", "n_iter_"),
    "tol": ({"solver": "cg"}, 0.5, "n_iter_"),
    "max_iter": ({"solver": "cg", "tol": 1e-14}, 1, "n_iter_"),
    "cache_size": ({}, 0.01, "n_iter_"),
    "certify": ({}, False, "certificate_"),
    "random_state": ({"calibration": "sigmoid"}, 3, "probA_"),
}
#: Shown by tests of their own, or (the one device there is) by nothing.
ELSEWHERE = {"device", "n_jobs", "verbose"}


def test_every_parameter_is_flipped():
    assert set(FLIPS) | ELSEWHERE == set(inspect.signature(LSSVC).parameters)


@pytest.mark.parametrize("name", FLIPS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_parameter_has_an_effect(iris, name):
    X, y = iris
    also, value, shown = FLIPS[name]

    def look(model):
        found = model.decision_function(X) if shown == "decision" else getattr(model, shown, None)
        return found if isinstance(found, np.ndarray) else np.array([str(found)])

    before, after = (look(LSSVC(**also, **more).fit(X, y)) for more in ({}, {name: value}))
    assert not (before.shape == after.shape and np.array_equal(before, after))


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
def test_threads_change_nothing_but_time(scheme):
    X, y = load_wine(return_X_y=True)
    one, two = (LSSVC(multiclass=scheme, calibration="sigmoid", n_jobs=n).fit(scale(X), y) for n in (1, 2))
    np.testing.assert_allclose(one.predict_proba(scale(X)), two.predict_proba(scale(X)), atol=1e-9)


def test_classes_are_told_apart_as_well_as_by_svc():
    X, y = load_wine(return_X_y=True)
    train, test, label, truth = train_test_split(scale(X), y, random_state=0)
    assert LSSVC().fit(train, label).score(test, truth) >= SVC().fit(train, label).score(test, truth) - 0.03
