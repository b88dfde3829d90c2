"""Probabilities and prediction sets: every classifier, every calibration, from folds that nobody has seen."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import sklearn.svm
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    LSSVC,
    SGDSVC,
    SVC,
    SVR,
    LinearClassifier,
    LinearSVC,
    NuSVC,
    NystroemMap,
    PegasosSVC,
    Perceptron,
)
from maxmargin.calibration import (
    fit_calibrator,
    fit_isotonic,
    fit_sharpness,
    fit_sigmoid,
    fit_venn_abers,
    sharpened,
)
from maxmargin.estimators import _kernel_folds
from maxmargin.estimators._machine import Training
from maxmargin.problems import HardMarginProblem, NuSVCProblem, SVCProblem
from maxmargin.solvers import fold_numbers, left_out
from tests.laws import examples

KINDS = ["sigmoid", "isotonic", "venn-abers"]
CLASSIFIERS = [
    SVC(C=10),
    SVC(C=10, multiclass="ovr"),
    SVC(C=10, multiclass="code", code_words="random"),
    SVC(multiclass="crammer-singer"),
    SVC(multiclass="weston-watkins"),
    SVC(kernel="linear", C=np.inf, multiclass="ovo"),
    NuSVC(nu=0.1),
    LSSVC(C=10),
    LSSVC(C=10, multiclass="ovo"),
    LinearSVC(),
    LinearSVC(multiclass="ovo"),
    LinearSVC(multiclass="crammer-singer"),
    LinearClassifier("logistic"),
    PegasosSVC(lam=1e-2, fit_intercept=True),
    SGDSVC(lam=1e-2),
    Perceptron(),
]


def quiet(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **options)


def wine_like(n=300, classes=3, seed=0):
    """Overlapping classes in five columns."""
    return make_classification(
        n, n_features=5, n_informative=4, n_redundant=0, n_classes=classes, class_sep=1.5, random_state=seed
    )


def named(model):
    return repr(model).replace(" ", "").replace("\n", "")


# -- every classifier ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", CLASSIFIERS, ids=named)
def test_every_classifier_has_probabilities_and_sets(model, kind):
    X, y = load_iris(return_X_y=True)
    if np.isinf(getattr(model, "C", 1.0) or 1.0):
        X, y = X[y != 1], y[y != 1]  # a hard margin needs classes that can be separated
    X = StandardScaler().fit_transform(X)
    fitted = quiet(model.__class__(**{**model.get_params(), "calibration": kind, "random_state": 0}), X, y)
    p = fitted.predict_proba(X)
    assert p.shape == (len(X), len(fitted.classes_))
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(p))
    assert fitted.score(X, y) >= 0.85
    sets = fitted.predict_set(X, coverage=0.9)
    assert sets.shape == p.shape
    assert sets.dtype == bool
    truth = np.searchsorted(fitted.classes_, y)
    assert sets[np.arange(len(X)), truth].mean() >= 0.85
    wider = fitted.predict_set(X, coverage=0.99)
    assert (wider | ~sets).all()  # sets grow with the coverage


def test_the_model_itself_is_not_changed_by_a_calibration():
    X, y = wine_like()
    plain, calibrated = SVC().fit(X, y), SVC(calibration="sigmoid").fit(X, y)
    np.testing.assert_array_equal(plain.dual_coef_, calibrated.dual_coef_)
    np.testing.assert_array_equal(plain.decision_function(X), calibrated.decision_function(X))
    assert plain.certificate_ == calibrated.certificate_


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("machine", [SVC(C=10), NuSVC(nu=0.1), SVC(class_weight="balanced")])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_are_as_good_as_scikit_learns(machine, load):
    train, test, y_train, y_test = train_test_split(*load(return_X_y=True), random_state=0)
    model = machine.set_params(probability=True, random_state=0).fit(train, y_train)
    options = {k: v for k, v in machine.get_params().items() if k in ("C", "nu", "class_weight")}
    peer = getattr(sklearn.svm, type(machine).__name__)(probability=True, random_state=0, **options).fit(train, y_train)
    p = model.predict_proba(test)
    assert log_loss(y_test, p) <= log_loss(y_test, peer.predict_proba(test)) + 0.05
    assert model.probA_.shape == model.probB_.shape == model.intercept_.shape


@pytest.mark.parametrize("kind", ["sigmoid", "isotonic"])
def test_proper_scores_are_no_worse_than_those_of_calibrated_classifier_cv(kind):
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    ours = SVC(C=10, calibration=kind, random_state=0).fit(train, y_train).predict_proba(test)
    peer = CalibratedClassifierCV(sklearn.svm.SVC(C=10), method=kind, ensemble=False).fit(train, y_train)
    theirs = peer.predict_proba(test)
    assert log_loss(y_test, ours) <= log_loss(y_test, theirs) + 0.005
    one_hot = np.eye(10)[y_test]
    assert np.square(ours - one_hot).sum() <= np.square(theirs - one_hot).sum() * 1.05


def test_probabilities_mean_what_they_say():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6000, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = (rng.random(6000) < truth).astype(int)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    for kind in KINDS:
        allowed = 0.1 if kind == "sigmoid" else 0.03  # scores crowd at the margins, which no sigmoid follows
        p = SVC(calibration=kind, random_state=0).fit(train, y_train).predict_proba(test)[:, 1]
        for low in np.arange(0.0, 1.0, 0.2):
            inside = (p >= low) & (p < low + 0.2)
            assert inside.sum() > 100
            assert abs(p[inside].mean() - y_test[inside].mean()) < allowed + 1 / np.sqrt(inside.sum())
        assert brier_score_loss(y_test, p) < brier_score_loss(y_test, 1 / (1 + np.exp(-2 * test[:, 0]))) + 0.01


# -- folds -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(0, 99))
@examples(100)
def test_folds_spread_every_class_evenly(values, seed):
    label = np.unique(values, return_inverse=True)[1]
    number = fold_numbers(label, seed)
    for k in np.unique(label):
        own = number[label == k]
        counts = np.bincount(own[own >= 0], minlength=5)
        assert (own == -1).all() if len(own) == 1 else counts.max() - counts.min() <= 1
        assert all((number[label == k] != fold).any() for fold in range(5))  # no training part lacks a class
    np.testing.assert_array_equal(number, fold_numbers(label, seed))


@pytest.mark.parametrize("kind", [SVCProblem, NuSVCProblem, HardMarginProblem])
def test_a_masked_problem_has_the_optimum_of_the_rows_that_are_left(kind):
    """Held-out scores equal those of a machine fitted on the other rows alone."""
    X, y = wine_like(120, 2, 1)
    X[:, 0] += 6 * y if kind is HardMarginProblem else 0
    machine = (
        NuSVC(nu=0.3, tol=1e-6)
        if kind is NuSVCProblem
        else SVC(C=np.inf if kind is HardMarginProblem else 3.0, tol=1e-6)
    )
    machine.set_params(gamma=0.2, calibration="sigmoid", random_state=0).fit(X, y)
    scores = machine._fold_scores(X)
    number = machine.folds_.number
    assert machine.folds_.intercept.shape == (5, 1)
    for fold in range(5):
        alone = machine.__class__(**{**machine.get_params(), "calibration": None}).fit(
            X[number != fold], y[number != fold]
        )
        np.testing.assert_allclose(scores[fold].ravel(), alone.decision_function(X), atol=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(tol=1e-10),
        LinearSVC(tol=1e-10, multiclass="ovo"),
        SVC(tol=1e-6),
        SVC(multiclass="weston-watkins", gap_tol=1e-9),
    ],
    ids=named,
)
def test_folds_of_many_classes_are_fits_on_the_other_rows(model):
    X, y = wine_like(150, 3, 2)
    options = {"gamma": 0.2} if isinstance(model, SVC) else {}
    model = model.__class__(**{**model.get_params(), "calibration": "sigmoid", "random_state": 0, **options}).fit(X, y)
    scores, number = model._fold_scores(X), model.folds_.number
    for fold in range(5):
        alone = model.__class__(**{**model.get_params(), "calibration": None}).fit(X[number != fold], y[number != fold])
        np.testing.assert_allclose(scores[fold], alone._task_scores(X), atol=2e-3)


def test_folds_of_a_kernel_machine_start_at_its_solution(monkeypatch):
    """Work is counted: folds that start from scratch compute more kernel values."""
    X, y = wine_like(4000, 2, 4)
    counted = {}
    for warm in (True, False):
        entries = []
        solve = _kernel_folds.run_tasks

        def counting(estimator, kernel, X, tasks, deadline, warm=warm, entries=entries, solve=solve, **named):
            tasks = tasks if warm else [type(t)(t.rows, t.problem) for t in tasks]
            outcomes = solve(estimator, kernel, X, tasks, deadline, **named)
            entries.append(sum(o.solution.n_iter for o in outcomes))
            return outcomes

        monkeypatch.setattr(_kernel_folds, "run_tasks", counting)
        SVC(calibration="sigmoid", gamma=0.2, n_jobs=1).fit(X, y)
        monkeypatch.setattr(_kernel_folds, "run_tasks", solve)
        counted[warm] = sum(entries)
    assert counted[True] < 0.7 * counted[False]


@given(st.integers(0, 10_000))
@examples(50)
def test_the_start_of_a_fold_is_feasible(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 30))
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    problem = SVCProblem(sign, rng.uniform(0.1, 2.0, n))
    beta = problem.qp.nearby(sign * rng.uniform(0, 2, n) * (rng.random(n) < 0.7))
    held = rng.random(n) < 0.3
    masked, start = left_out(problem, beta, held)
    assert masked.qp.infeasibility(start) <= 1e-9
    assert (start[held] == 0).all()
    assert np.count_nonzero(start[~held] != beta[~held]) <= np.count_nonzero(beta[~held])


def test_the_seed_decides_the_folds():
    X, y = load_breast_cancer(return_X_y=True)
    fits = [SVC(probability=True, random_state=seed).fit(X, y).probA_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert fits[0] != fits[2]


# -- calibrators -----------------------------------------------------------------------------------------------------

scored = st.lists(st.tuples(st.integers(-6, 6), st.booleans(), st.integers(1, 3)), min_size=2, max_size=25).filter(
    lambda rows: len({positive for _, positive, _ in rows}) == 2
)


def arrays(rows):
    scores, positive, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return scores, 2 * positive - 1, weight


@pytest.mark.parametrize("kind", KINDS)
@given(rows=scored)
@example(rows=[(1, False, 1), (1, False, 1), (1, False, 3), (1, True, 3)])  # equal scores: any slope would do
@examples(60)
def test_weights_of_a_calibration_are_repetitions(kind, rows):
    scores, sign, weight = arrays(rows)
    copies = np.repeat(np.arange(len(scores)), weight.astype(int))
    at = np.linspace(-7, 7, 57)
    one = fit_calibrator(kind, scores, sign, weight)(at)
    many = fit_calibrator(kind, scores[copies], sign[copies], np.ones(len(copies)))(at)
    np.testing.assert_allclose(one, many, atol=1e-6)
    assert (one > 0).all()
    assert (one < 1).all()
    if kind != "sigmoid":
        assert (np.diff(one) >= -1e-12).all()


@given(rows=scored)
@examples(100)
def test_venn_abers_is_two_isotonic_fits_per_score(rows):
    scores, sign, weight = arrays(rows)
    fitted = fit_venn_abers(scores, sign, weight)
    for s in np.arange(-7, 7.5, 0.5):
        found = fitted.interval(np.array([s]))
        for label, p in zip((0.0, 1.0), found, strict=True):
            values, group = np.unique(np.append(scores, s), return_inverse=True)
            w = np.bincount(group, np.append(weight, 1.0))
            y = np.bincount(group, np.append(weight * (sign > 0), label)) / w
            expected = isotonic_regression(y, sample_weight=w)[np.searchsorted(values, s)]
            assert p[0] == pytest.approx(expected, abs=1e-12)
        assert found[0] <= found[1]


def test_the_sigmoid_is_platts():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    sign = np.where(rng.random(4000) < 1 / (1 + np.exp(-2 * scores + 0.5)), 1.0, -1.0)
    fitted = fit_sigmoid(scores, sign, np.ones(4000))
    assert fitted.a == pytest.approx(-2.0, abs=0.2)
    assert fitted.b == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_a_calibration_does_not_depend_on_the_unit_of_the_scores(size):
    rng = np.random.default_rng(1)
    scores, sign = rng.normal(size=200), rng.choice([-1.0, 1.0], 200)
    for kind in KINDS:
        base = fit_calibrator(kind, scores, sign, np.ones(200))(scores)
        np.testing.assert_allclose(
            fit_calibrator(kind, size * scores, sign, np.ones(200))(size * scores), base, rtol=1e-6
        )


@given(st.integers(0, 1000), st.floats(-1.5, 1.5))
@examples(20)
def test_sharpness_is_found_and_keeps_the_order(seed, log_s):
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(4), size=4000)
    label = (truth.cumsum(axis=1) < rng.random(4000)[:, None]).sum(axis=1)
    seen = sharpened(truth, np.exp(-log_s))
    found = fit_sharpness(seen, label, np.ones(4000))
    assert np.log(found) == pytest.approx(log_s, abs=0.15)
    np.testing.assert_array_equal(sharpened(seen, found).argmax(axis=1), truth.argmax(axis=1))


def test_isotonic_probabilities_are_never_0_or_1():
    fitted = fit_isotonic(np.arange(10.0), np.where(np.arange(10) > 4, 1.0, -1.0), np.ones(10))
    np.testing.assert_allclose(fitted(np.array([-5.0, 20.0])), [1 / 12, 11 / 12])


# -- sets ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SVC(), LinearSVC(), SVC(multiclass="ovr"), PegasosSVC(lam=1e-2)], ids=named)
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_cover_what_they_promise_on_held_out_rows(model, coverage):
    X, y = make_classification(
        4000, n_features=6, n_informative=5, n_redundant=0, n_classes=4, class_sep=0.7, random_state=5
    )
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.75, random_state=0)
    sets = quiet(model.set_params(calibration="sigmoid", random_state=0), train, y_train).predict_set(test, coverage)
    covered = sets[np.arange(len(test)), y_test].mean()
    assert covered >= 1 - 2 * (1 - coverage)  # the guarantee
    assert abs(covered - coverage) < 0.04  # and what is usual
    assert sets.sum(axis=1).mean() < 4


# -- bad input -------------------------------------------------------------------------------------------------------


def test_without_asking_there_are_no_probabilities():
    X, y = load_iris(return_X_y=True)
    for model in (SVC().fit(X, y), LinearSVC().fit(X, y)):
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_set")
        with pytest.raises(AttributeError):
            model.predict_set(X)
    with pytest.raises(NotFittedError, match="probability=False"):
        SVC().fit(X, y).set_params(probability=True).predict_proba(X)
    with pytest.raises(NotFittedError, match="without a calibration; fit this LinearSVC again"):
        LinearSVC().fit(X, y).set_params(calibration="sigmoid").predict_set(X)


def test_two_wishes_that_contradict_each_other():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="probability=True means calibration='sigmoid', but calibration='isotonic'"):
        SVC(probability=True, calibration="isotonic").fit(X, y)


@pytest.mark.parametrize("coverage", [0.0, 1.0, -1, "much", None, np.nan])
def test_a_coverage_must_be_a_share(coverage):
    X, y = load_iris(return_X_y=True)
    model = SVC(calibration="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
        model.predict_set(X, coverage)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "model", [SVC(), SVC(multiclass="ovr"), LinearSVC(), SVC(multiclass="crammer-singer")], ids=named
)
def test_a_class_of_one_row_is_calibrated_on_what_there_is(model, kind):
    X, y = load_iris(return_X_y=True)
    X, y = X[:60], np.where(np.arange(60) == 0, 5, y[:60])
    fitted = quiet(model.set_params(calibration=kind), X, y)
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert fitted.folds_.number[0] == -1
    assert fitted.predict_set(X).shape == (60, 3)


def test_classes_of_fewer_rows_than_folds():
    X, y = load_iris(return_X_y=True)
    X, y = X[:55], np.where(np.arange(55) < 3, 7, y[:55])
    p = SVC(calibration="sigmoid").fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_separable_data_stay_finite(kind):
    X = np.concatenate([np.linspace(-3, -2, 30), np.linspace(2, 3, 30)])[:, None]
    y = np.repeat([0, 1], 30)
    p = SVC(calibration=kind, kernel="linear", C=np.inf).fit(X, y).predict_log_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(p.argmax(axis=1), y)


def test_a_precomputed_kernel_and_rows_that_are_no_numbers():
    X, y = load_iris(return_X_y=True)
    by_rows = SVC(kernel="linear", calibration="sigmoid", random_state=0).fit(X, y)
    K = X @ X.T
    model = SVC(kernel="precomputed", calibration="sigmoid", random_state=0).fit(K, y)
    # a matrix does not say which rows are copies, so the folds are others
    assert np.abs(model.predict_proba(K) - by_rows.predict_proba(X)).mean() < 0.02
    assert (model.predict_set(K) == by_rows.predict_set(X)).mean() > 0.95
    words = ["".join("ab"[int(v > m)] for v, m in zip(row, X.mean(0), strict=True)) for row in X]

    def common(A, B):
        return np.array([[sum(p == q for p, q in zip(a, b, strict=True)) for b in B] for a in A], dtype=float)

    text = SVC(kernel=common, calibration="sigmoid").fit(words, y)
    assert text.predict_proba(words).shape == (150, 3)
    assert text.predict_set(words).any(axis=1).mean() > 0.8


def test_a_time_limit_holds_for_the_folds_too(monkeypatch):
    """Each fold that is begun ends within the fit's own limit; none has another of its own."""
    X, y = wine_like(3000, 3, 6)
    given, limits = [], []
    solve, deadline_of = _kernel_folds.run_tasks, Training.deadline

    def watched(estimator, kernel, X, tasks, deadline, **named):
        given.append((deadline, time.perf_counter()))
        return solve(estimator, kernel, X, tasks, deadline, **named)

    def noted(self, limit):
        limits.append(deadline_of(self, limit))
        return limits[-1]

    monkeypatch.setattr(Training, "deadline", noted)
    monkeypatch.setattr(_kernel_folds, "run_tasks", watched)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1e4, tol=1e-9, calibration="sigmoid", time_limit=0.05).fit(X, y)
    assert 1 <= len(given) == len(model.folds_.intercept) <= 5
    assert all(due <= max(*limits, now) for due, now in given)
    assert model.predict_proba(X[:5]).shape == (5, 3)


# -- weights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [SVC(tol=1e-6), LinearSVC(tol=1e-11), SVC(multiclass="ovr", tol=1e-6)], ids=named)
def test_a_weight_is_a_number_of_copies_all_of_which_are_in_one_fold(model, kind):
    X, y = wine_like(90, 3, 7)
    weight = np.random.default_rng(0).integers(1, 4, 90)
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(90), weight))
    fits = [again.fit(*data) for again, data in (
        (model.__class__(**{**model.get_params(), "calibration": kind}), (X, y, weight)),
        (model.__class__(**{**model.get_params(), "calibration": kind}), (X[copies], y[copies])),
    )]  # fmt: skip
    np.testing.assert_array_equal(fits[0].folds_.number[copies], fits[1].folds_.number)
    np.testing.assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=1e-5)
    assert (fits[0].predict_set(X, 0.8) == fits[1].predict_set(X, 0.8)).mean() > 0.99


def test_a_class_that_weighs_more_is_predicted_more_often():
    X, y = wine_like(600, 2, 8)
    shares = [
        (SVC(calibration="sigmoid", class_weight={0: 1.0, 1: w}).fit(X, y).predict(X) == 1).mean()
        for w in (0.05, 1.0, 20.0)
    ]
    assert shares[0] < shares[1] < shares[2]


# -- as scikit-learn has it ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_prob_a_and_prob_b_are_libsvms(machine, classes):
    """P = 1 / (1 + exp(A f + B)) of the first of a pair, in LIBSVM's signs."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes, :2], y[y < classes]
    model = machine(nu=0.3, probability=True) if machine is NuSVC else machine(probability=True)
    f = model.set_params(decision_function_shape="ovo", random_state=0).fit(X, y).decision_function(X)
    first = 1.0 / (1.0 + np.exp(model.probA_[0] * (-f if classes == 2 else f[:, 0]) + model.probB_[0]))
    if classes == 2:
        np.testing.assert_allclose(first, model.predict_proba(X)[:, 0], atol=1e-6)
    assert (model.probA_ < 0).all()
    assert np.corrcoef(first, y == 0)[0, 1] > 0.5
    plain = machine(nu=0.3) if machine is NuSVC else machine()
    assert not hasattr(plain, "probA_")
    assert plain.fit(X, y).probA_.size == plain.probB_.size == 0


def test_missing_probabilities_are_missed_in_scikit_learns_words():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        model.predict_proba(X)
    assert "predict_proba is not available when probability=False" in str(caught.value.__cause__)
    with pytest.raises(AttributeError) as caught:
        LinearSVC().fit(X, y).predict_proba(X)
    assert str(caught.value) == "'LinearSVC' object has no attribute 'predict_proba'"
    assert "calibration='sigmoid'" in caught.value.__notes__[0]
    assert hasattr(LinearSVC(calibration="sigmoid"), "predict_proba")
    model.probability = True
    with pytest.raises(NotFittedError, match="predict_proba is not available when fitted with probability=False"):
        model.predict_proba(X)


@pytest.mark.parametrize("machine", [SVC(), NuSVC(), LinearSVC(), SVR(), NystroemMap()])
def test_weights_that_are_all_0_are_refused_in_one_sentence(machine):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="Invalid input - all samples have zero or negative weights"):
        machine.fit(X, y, sample_weight=np.zeros(150))
