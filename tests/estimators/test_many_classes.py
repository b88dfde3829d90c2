"""Many classes: every scheme on every classifier, and the two single problems against an independent solver."""

from __future__ import annotations

import warnings

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Theirs

from maxmargin import (
    LSSVC,
    SGDSVC,
    SVC,
    LinearClassifier,
    LinearSVC,
    NuSVC,
    PegasosSVC,
    Perceptron,
    certify,
    inspection,
)
from maxmargin.certificates import certify_tasks
from maxmargin.kernels import Gaussian
from maxmargin.problems import CrammerSingerProblem, WestonWatkinsProblem
from tests.laws import examples

BINARY = ["ovo", "ovr", "code"]
SINGLE = ["crammer-singer", "weston-watkins"]
MACHINES = [
    SVC(C=3),
    NuSVC(nu=0.1),
    LinearSVC(),
    LSSVC(),
    LinearClassifier(),
    PegasosSVC(lam=1e-2),
    SGDSVC(lam=1e-2),
    Perceptron(),
]


def iris():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def quiet(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, **options)


def again(model, **options):
    return model.__class__(**{**model.get_params(), **options})


# -- the contract ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", BINARY + SINGLE)
@pytest.mark.parametrize("model", MACHINES, ids=lambda m: type(m).__name__)
def test_decisions_have_a_column_per_class_and_predict_is_their_arg_max(model, scheme):
    X, y = iris()
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    model = again(model, multiclass=scheme)
    if (scheme in SINGLE and not isinstance(model, SVC | LinearSVC)) or (scheme in SINGLE and isinstance(model, NuSVC)):
        with pytest.raises(ValueError, match=f"{type(model).__name__} has no multiclass='{scheme}': .*use"):
            model.fit(X, y)
        return
    fitted = quiet(model, X, y)
    scores = fitted.decision_function(X)
    assert scores.shape == (150, 3)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[scores.argmax(axis=1)])
    assert fitted.score(X, y) > 0.8
    assert fitted.multiclass_ == scheme
    two = quiet(again(model), X[y != "setosa"], y[y != "setosa"])
    scores = two.decision_function(X)
    assert scores.shape == (150,)
    np.testing.assert_array_equal(two.predict(X), two.classes_[(scores > 0).astype(int)])


@pytest.mark.parametrize("scheme", BINARY + SINGLE)
@pytest.mark.parametrize("kind", [SVC, LinearSVC, PegasosSVC])
def test_models_of_every_scheme_are_certified_from_their_attributes(kind, scheme):
    if kind is PegasosSVC and scheme in SINGLE:
        pytest.skip("refused, as tested above")
    X, y = iris()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = quiet(kind(multiclass=scheme, class_weight={0: 2.0, 1: 1.0, 2: 0.5}), X, y, sample_weight=weight)
    said = [c.relative_gap for c in model.certificates_]
    found = [c.relative_gap for c in certify_tasks(model, X, y, weight)]
    np.testing.assert_allclose(found, said, rtol=1e-6, atol=1e-12)
    assert certify(model, X, y, weight).holds
    assert len(said) == (1 if scheme in SINGLE else 3)


@pytest.mark.parametrize("scheme", BINARY + SINGLE)
@pytest.mark.parametrize("kind", [SVC, NuSVC, LinearSVC])
@given(seed=st.integers(0, 1000))
@examples(4)
def test_a_weight_is_a_number_of_repetitions(kind, scheme, seed):
    if kind is NuSVC and scheme in SINGLE:
        return
    rng = np.random.default_rng(seed)
    X, y = iris()
    rows = rng.permutation(150)[:60]
    X, y, weight = X[rows], y[rows], rng.integers(1, 4, 60)
    copies = np.repeat(np.arange(60), weight)
    options = {"tol": 1e-9, "max_iter": 10**5} if kind is LinearSVC else {"gamma": 0.3, "gap_tol": 1e-9}
    if kind is NuSVC:  # its objective says little about its scores; at the largest feasible nu these are not unique
        options = {"gamma": 0.3, "tol": 1e-9, "nu": 0.1}
    one = quiet(kind(multiclass=scheme, **options), X, y, sample_weight=weight)
    many = quiet(kind(multiclass=scheme, **options), X[copies], y[copies])
    atol = 1e-2 if scheme in SINGLE else 2e-3
    if scheme == "ovo":  # votes jump where a score passes 0
        np.testing.assert_allclose(one._task_scores(X), many._task_scores(X), atol=atol)
    else:
        np.testing.assert_allclose(one.decision_function(X), many.decision_function(X), atol=atol)


@pytest.mark.parametrize(("scheme", "wrapper"), [("ovo", OneVsOneClassifier), ("ovr", OneVsRestClassifier)])
def test_machines_are_those_of_scikit_learns_wrappers(scheme, wrapper):
    X, y = iris()
    ours = SVC(C=3, gamma=0.3, multiclass=scheme, tol=1e-6).fit(X, y)
    theirs = wrapper(Theirs(C=3, gamma=0.3, tol=1e-6)).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if scheme == "ovr":
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_stochastic_machines_of_pairs_cost_their_rows_what_all_do():
    X, y = iris()
    model = PegasosSVC(lam=1e-2, multiclass="ovo", fit_intercept=True, max_iter=300).fit(X, y)
    exact = LinearClassifier(multiclass="ovo", C=1 / (150 * 1e-2), tol=1e-8).fit(X, y)
    for own, best in zip(model.certificates_, exact.certificates_, strict=True):
        assert own.dual <= best.primal * (1 + 1e-9)
        assert own.primal <= 1.05 * best.primal


@pytest.mark.parametrize("kind", [PegasosSVC, SGDSVC, Perceptron])
@pytest.mark.parametrize("scheme", BINARY)
def test_streams_of_every_scheme(kind, scheme):
    X, y = iris()
    order = np.random.default_rng(0).permutation(150)
    model = kind(multiclass=scheme)
    for k in range(20):
        rows = order[(k % 5) * 30 : (k % 5 + 1) * 30]
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    model.partial_fit(X[y == 0][:5], y[y == 0][:5])  # a chunk without a row of two classes
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("kind", [SVC, LinearSVC])
@pytest.mark.parametrize("scheme", BINARY + SINGLE)
def test_a_warm_start_goes_on(kind, scheme):
    X, y = iris()
    stopped = kind(multiclass=scheme, max_iter=3, warm_start=True)
    first = quiet(stopped, X, y).certificate_.gap
    later = [quiet(stopped, X, y).certificate_.gap for _ in range(3)]
    assert min(later) < first
    other = quiet(again(stopped, multiclass="ovr" if scheme != "ovr" else "ovo", max_iter=-1), X, y)
    stopped.set_params(multiclass=other.multiclass, max_iter=-1)
    np.testing.assert_allclose(quiet(stopped, X, y).certificate_.primal, other.certificate_.primal, rtol=1e-3)


# -- code words ------------------------------------------------------------------------------------------------------


def test_one_hot_words_report_how_many_machines_fired():
    X, y = iris()
    for model in (SVC(multiclass="code", C=0.1), LinearSVC(multiclass="code"), Perceptron(multiclass="code")):
        fitted = quiet(model, X, y)
        assert fitted.fired_ == fitted.fired(X)
        assert sum(fitted.fired_) == 150
        assert isinstance(model, SVC) or fitted.fired_.one < 150  # not everybody is claimed exactly once
        ovr = quiet(again(model, multiclass="ovr"), X, y)
        np.testing.assert_array_equal(fitted.predict(X), ovr.predict(X))
        turned = quiet(again(model, code_words=[[0, 0, 1], [0, 1, 0], [1, 0, 0]]), X, y)
        if not isinstance(model, Perceptron):  # whose machines see their rows in an order of their own
            assert turned.fired_ == turned.fired(X) == fitted.fired_
        names = inspection.margins(turned, X, y).tasks
        assert names == ("2 against the rest", "1 against the rest", "0 against the rest")
    assert not hasattr(SVC(multiclass="code", code_words="exhaustive").fit(X, y), "fired_")
    with pytest.raises(ValueError, match="more or less than others"):
        SVC(multiclass="weston-watkins").fit(X, y).fired(X)


def test_users_own_words():
    X, y = iris()
    words = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    model = SVC(multiclass="code", code_words=words).fit(X, y)
    np.testing.assert_array_equal(model.code_words_, 2 * words - 1)
    assert model.score(X, y) > 0.95
    with pytest.raises(ValueError, match="same word"):
        SVC(multiclass="code", code_words=[[1, 0], [1, 0], [0, 1]]).fit(X, y)


def test_many_bits_repair_mistakes_of_some():
    """A tree of few bits is as good as its worst bit; words that differ in many bits survive a wrong one."""
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, 1797, 2), np.arange(1, 1797, 2)
    numbers = (np.arange(10)[:, None] >> np.arange(4)) & 1
    few = LinearSVC(multiclass="code", code_words=numbers, scale=True).fit(X[train], y[train])
    many = LinearSVC(multiclass="code", code_words="random", scale=True, random_state=0).fit(X[train], y[train])
    assert many.score(X[test], y[test]) > few.score(X[test], y[test]) + 0.05


# -- one problem for all classes -------------------------------------------------------------------------------------


def optimum(K, label, C, kind, fit_intercept):
    """The primal by clarabel, in w_m = sum_i beta_im phi(x_i): min 1/2 tr(B'KB) + sum C_i xi_i, or sum_m xi_im."""
    n, k = len(label), int(label.max()) + 1
    root = np.linalg.cholesky(K + 1e-10 * np.eye(n))
    pairs = [(i, m) for i in range(n) for m in range(k) if m != label[i]]
    slacks = n if kind == "crammer-singer" else len(pairs)
    size = n * k + k + slacks  # v_m = root' beta_m, b_m, xi
    lines, right = [], []
    for number, (i, m) in enumerate(pairs):  # f_y - f_m + xi >= 1
        line = np.zeros(size)
        line[label[i] * n : (label[i] + 1) * n] += root[i]
        line[m * n : (m + 1) * n] -= root[i]
        if fit_intercept:
            line[n * k + label[i]] += 1
            line[n * k + m] -= 1
        line[n * k + k + (i if kind == "crammer-singer" else number)] = 1
        lines.append(-line)
        right.append(-1.0)
    lines += list(-np.eye(size)[n * k + k :])
    right += [0.0] * slacks
    q = np.zeros(size)
    q[n * k + k :] = C if kind == "crammer-singer" else [C[i] for i, _ in pairs]
    P = sp.diags_array(np.concatenate([np.ones(n * k), np.full(k, 1e-12), np.zeros(slacks)])).tocsc()
    options = clarabel.DefaultSettings()
    options.verbose = False
    cones = [clarabel.NonnegativeConeT(len(right))]
    x = np.array(clarabel.DefaultSolver(P, q, sp.csc_array(np.array(lines)), np.array(right), cones, options).solve().x)
    return float(0.5 * x @ P @ x + q @ x)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("scheme", SINGLE)
def test_single_problems_agree_with_an_independent_solver(scheme, C, fit_intercept):
    X, y = iris()
    X, y = X[::4], y[::4]
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    model = SVC(C=C, gamma=0.3, multiclass=scheme, gap_tol=1e-7, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=weight)
    best = optimum(Gaussian(gamma=0.3)(X), y, C * weight, scheme, fit_intercept)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-7
    assert model.certificate_.primal == pytest.approx(best, rel=1e-5)
    assert model.certificate_.dual <= best * (1 + 1e-6)


@pytest.mark.parametrize("scheme", SINGLE)
def test_linear_and_kernel_forms_are_one_machine(scheme):
    X, y = iris()
    linear = LinearSVC(multiclass=scheme, C=0.5, tol=1e-8, max_iter=10**5).fit(X, y)
    kernel = SVC(multiclass=scheme, C=0.5, kernel="linear", gap_tol=1e-8).fit(X, y)
    assert linear.certificate_.primal == pytest.approx(kernel.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(linear.coef_, kernel.coef_, atol=1e-3)
    np.testing.assert_array_equal(linear.predict(X), kernel.predict(X))


@pytest.mark.parametrize("scheme", SINGLE)
def test_of_two_classes_a_single_problem_is_the_machine_at_twice_the_cost(scheme):
    """1/2 (||w_0||^2 + ||w_1||^2) with w_1 = -w_0 = w / 2 is 1/4 ||w||^2."""
    X, y = iris()
    X, y = X[y > 0], y[y > 0]
    single = SVC(multiclass=scheme, C=0.5, gamma=0.3, gap_tol=1e-9).fit(X, y)
    binary = SVC(C=1.0, gamma=0.3, gap_tol=1e-12).fit(X, y)
    np.testing.assert_allclose(single.decision_function(X), binary.decision_function(X), atol=1e-3)
    assert single.dual_coef_.shape[0] == 1
    assert 2 * single.certificate_.primal == pytest.approx(binary.certificate_.primal, rel=1e-8)


@given(st.data())
@examples(60)
def test_the_gap_of_single_problems_bounds_any_model(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    n, k, d = int(rng.integers(3, 8)), int(rng.integers(2, 5)), 2
    X, label, C = rng.normal(size=(n, d)), rng.integers(0, k, n), rng.uniform(0.2, 2.0, n)
    kind = data.draw(st.sampled_from([CrammerSingerProblem, WestonWatkinsProblem]))
    problem = kind(label, C, k, fit_intercept=False)
    a = rng.random((n, k)) * C[:, None] / (k if problem.shared_bound else 1)
    a[np.arange(n), label] = 0.0
    alpha = -a
    alpha[np.arange(n), label] = a.sum(axis=1)
    assert problem.infeasibility(alpha) <= 1e-12
    own, other = X.T @ alpha, rng.normal(size=(d, k))
    gap, primal = problem.gap(X @ own, alpha), problem.primal(float(np.vdot(own, own)), X @ own)
    assert gap >= 0
    assert primal - gap <= problem.primal(float(np.vdot(other, other)), X @ other) + 1e-9 * (1 + primal)
    assert (problem.violations(X @ own, alpha) >= 0).all()


@pytest.mark.parametrize("scheme", SINGLE)
def test_single_problems_take_sparse_rows_precomputed_kernels_and_weights_of_zero(scheme):
    X, y = iris()
    weight = np.where(np.arange(150) % 7 == 0, 0.0, 1.0)
    dense = SVC(multiclass=scheme, gamma=0.3, gap_tol=1e-6).fit(X, y, sample_weight=weight)
    sparse = SVC(multiclass=scheme, gamma=0.3, gap_tol=1e-6).fit(sp.csr_array(X), y, sample_weight=weight)
    K = Gaussian(gamma=0.3)(X)
    given_K = SVC(multiclass=scheme, kernel="precomputed", gap_tol=1e-6).fit(K, y, sample_weight=weight)
    for other, rows in ((sparse, sp.csr_array(X)), (given_K, K)):
        np.testing.assert_allclose(other.decision_function(rows), dense.decision_function(X), atol=1e-3)
    assert not set(dense.support_) & set(np.flatnonzero(weight == 0))


def test_single_problems_refuse_what_they_cannot_do():
    X, y = iris()
    for model in (SVC(multiclass="crammer-singer", C=np.inf), LinearSVC(multiclass="weston-watkins", C=np.inf)):
        with pytest.raises(ValueError, match="needs a finite C; got C=inf"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="solver='interior-point' is for two-class problems"):
        SVC(multiclass="crammer-singer", solver="interior-point").fit(X, y)
    with pytest.raises(ValueError, match="decision_function_shape='ovo'"):
        SVC(multiclass="ovr", decision_function_shape="ovo").fit(X, y)


# -- extremes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [SVC(multiclass="ovr"), LinearSVC(), SVC(multiclass="crammer-singer", gap_tol=0.3)], ids=repr
)
def test_hundreds_of_classes(model):
    X, y = make_blobs(600, centers=np.random.default_rng(0).normal(size=(300, 8)) * 20, random_state=0)
    fitted = quiet(model, X, y)
    assert fitted.decision_function(X[:10]).shape == (10, 300)
    assert fitted.score(X, y) > (0.3 if isinstance(model, LinearSVC) else 0.9)


def test_a_class_with_one_row():
    X, y = iris()
    y = np.where(np.arange(150) == 5, 9, y)
    for scheme in BINARY + SINGLE:
        model = SVC(multiclass=scheme, C=100).fit(X, y)
        assert model.decision_function(X).shape == (150, 4)
        assert model.certificate_.holds
