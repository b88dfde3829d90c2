"""The linear machines as users meet them: parameters, bad input, being stopped, and what a fitted model says."""

from __future__ import annotations

import inspect
import pickle
import signal
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from maxmargin import LinearClassifier, LinearRegressor, LinearSVC, LinearSVR, certify
from maxmargin.backends import Design
from maxmargin.exceptions import NotSeparableError
from maxmargin.losses import LOSSES, Pinball
from tests.contract.test_anytime import Listener
from tests.contract.test_bad_input import assert_refused

CLASSIFIERS, REGRESSORS = [LinearSVC, LinearClassifier], [LinearSVR, LinearRegressor]
MACHINES = [*CLASSIFIERS, *REGRESSORS]
every_machine = pytest.mark.parametrize("machine", MACHINES)


def data(n=200, d=4, seed=0):
    """Two noisy classes whose labels also serve as targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + 0.7 * rng.normal(size=n) > 0.2).astype(int)


def separable(n=60):
    X, y = data(n)
    return X + np.outer(2 * y - 1, [3.0, -3.0, 0.0, 0.0]), y


def quiet_fit(model, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*given)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def dual(model, n):
    beta = np.zeros((len(model.dual_coef_), n))
    beta[:, model.support_] = model.dual_coef_
    return beta


# -- parameters ----------------------------------------------------------------------------------------------------

#: Kept for compatibility, without effect: the solver suits the problem, and the intercept is not penalised.
WITHOUT_EFFECT = {"dual": [True, False], "intercept_scaling": [1.0, 10.0]}

#: parameter: (what else is set, its other value); a dictionary where machines differ.
FLIPS = {
    "penalty": ({}, "l1"),
    "loss": ({}, {"LinearSVC": "hinge", "LinearSVR": "squared_epsilon_insensitive", "LinearClassifier": "logistic",
                  "LinearRegressor": "absolute"}),
    "epsilon": ({}, 0.5),
    "C": ({}, 0.01),
    "lam": ({}, 0.5),
    "tol": ({}, 0.5),
    "multi_class": ({}, "crammer_singer"),
    "multiclass": ({}, {"LinearSVC": "crammer-singer", "LinearClassifier": "ovo"}),
    "code_words": ({"multiclass": "code"}, "exhaustive"),
    "calibration": ({}, "sigmoid"),
    "fit_intercept": ({}, False),
    "class_weight": ({}, {0: 0.1}),
    "verbose": ({}, True),
    "random_state": ({"solver": "dual-coordinate"}, 1),
    "max_iter": ({}, 1),
    "scale": ({}, True),
    "solver": ({}, "dual-coordinate"),
    "time_limit": ({}, 1e-9),
    "certify": ({}, False),
    "n_jobs": ({"n_jobs": 1}, 2),
    "warm_start": ({}, True),
}  # fmt: skip


def observed(machine, options, monkeypatch, capsys):
    """Everything a user can see of two fits in a row, and the threads asked for."""
    X, y = load_iris(return_X_y=True)
    X, asked, original = X[:, :2] + 0.3 * np.random.default_rng(0).normal(size=(150, 2)), [], Design.__init__

    def spied(self, rows, threads=1):
        asked.append(threads)
        original(self, rows, threads)

    y = y if machine in CLASSIFIERS else y + 0.1 * X[:, 0]
    with monkeypatch.context() as patch:
        patch.setattr(Design, "__init__", spied)
        patch.setattr(
            "maxmargin.estimators._turns.run_parallel", lambda jobs, at: ([j() for j in jobs], asked.append(at))
        )
        capsys.readouterr()
        model = quiet_fit(machine(**options), X, y)
        first = model.n_iter_
        quiet_fit(model, X, y)
    seen = [scores(model, X).tobytes(), first, model.n_iter_, model.predict(X).tobytes(), model.dual_coef_.tobytes()]
    return [*seen, str(getattr(model, "certificate_", None)), asked, capsys.readouterr().out != ""]


PARAMETERS = [(machine, name) for machine in MACHINES for name in inspect.signature(machine).parameters]


@pytest.mark.parametrize(("machine", "name"), PARAMETERS, ids=lambda value: getattr(value, "__name__", value))
def test_flipped_parameter_has_an_effect_or_is_on_the_list(machine, name, monkeypatch, capsys):
    if name in WITHOUT_EFFECT:
        one, other = (observed(machine, {name: value}, monkeypatch, capsys) for value in WITHOUT_EFFECT[name])
        assert one == other
        return
    base, other = FLIPS[name]
    other = other[machine.__name__] if name in ("loss", "multiclass") else other
    if machine is LinearRegressor and name in ("tol", "max_iter"):
        base = {"loss": "absolute"}  # the squared loss takes one step whatever is asked
    before = observed(machine, base, monkeypatch, capsys)
    assert observed(machine, {**base, name: other}, monkeypatch, capsys) != before


@every_machine
def test_same_parameters_have_no_effect(machine, monkeypatch, capsys):
    assert observed(machine, {}, monkeypatch, capsys) == observed(machine, {}, monkeypatch, capsys)


@every_machine
def test_values_that_make_no_sense_are_named(machine):
    X, y = data(30)
    wrong = {
        "C": [0.0, -1.0],
        "lam": [0.0, -1.0],
        "epsilon": [-0.1],
        "tol": [0.0],
        "max_iter": [-2, 1.5],
        "solver": ["smo"],
        "loss": ["hinges", 3],
        "penalty": ["l3", 3],
        "multi_class": ["ovo"],
        "multiclass": ["one", "crammer_singer"],
        "code_words": ["long", 3],
        "calibration": ["platt", True],
        "time_limit": [0.0],
        "certify": ["full"],
        "scale": ["yes"],
        "class_weight": ["even"],
        "n_jobs": [1.5],
        "dual": ["yes"],
        "intercept_scaling": [0.0],
        "random_state": ["seed"],
    }
    for name in set(wrong) & set(machine().get_params()):
        for value in wrong[name]:
            with pytest.raises(ValueError, match=name):
                machine(**{name: value}).fit(X, y)


def test_both_spellings_of_crammer_singer_give_one_model():
    X, y = load_iris(return_X_y=True)
    models = [
        quiet_fit(LinearSVC(**o), X, y) for o in ({"multi_class": "crammer_singer"}, {"multiclass": "crammer-singer"})
    ]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    np.testing.assert_array_equal(models[0].intercept_, models[1].intercept_)
    assert [model.multiclass_ for model in models] == ["crammer-singer"] * 2
    over = LinearSVC(multi_class="crammer_singer", multiclass="ovr").fit(X, y)
    assert over.multiclass_ == "ovr"
    assert certify(over, X, y).holds
    np.testing.assert_array_equal(over.coef_, LinearSVC().fit(X, y).coef_)


@pytest.mark.parametrize("machine", [LinearClassifier, LinearRegressor])
def test_lam_is_one_over_n_times_c(machine):
    X, y = data(50)
    weight = np.arange(50) % 3
    given = [machine(**options).fit(X, y, weight) for options in ({"lam": 0.25 / weight.sum()}, {"C": 4.0})]
    np.testing.assert_allclose(given[0].coef_, given[1].coef_, rtol=1e-6)
    np.testing.assert_allclose(given[0].C_, 4.0)
    assert_refused(machine, ValueError, r"lam=0.1 and C=2.0 say the same thing .*give one", X, y, lam=0.1, C=2.0)


def test_losses_and_penalties_that_are_not_convex_are_named_with_what_works():
    X, y = data(30)
    for loss in ("zero_one", "sigmoid"):
        message = f"loss '{loss}' with penalty 'l2' .*{loss} is not convex.*hinge, .*pinball with any .*none, l1"
        assert_refused(LinearClassifier, ValueError, message, X, y, loss=loss)
    assert_refused(LinearClassifier, ValueError, "'l0' cannot be minimised: l0 is not convex", X, y, penalty="l0")
    assert_refused(LinearRegressor, ValueError, "l0 is not convex", X, y, penalty="l0")


@pytest.mark.parametrize("loss", [name for name, kind in LOSSES.items() if kind.of_margin])
def test_losses_of_a_margin_are_not_for_regression(loss):
    X, y = data(30)
    assert_refused(
        LinearRegressor, ValueError, f"loss '{loss}' is one of a margin.*use squared, absolute", X, y, loss=loss
    )


# -- bad input -----------------------------------------------------------------------------------------------------


@every_machine
def test_rows_whose_squares_are_not_finite_are_refused(machine):
    X, y = data(30)
    assert_refused(machine, ValueError, "columns 0, 1, 2, 3 of X are not finite; scale", 1e200 * X, y)
    assert_refused(machine, ValueError, "not finite; scale", 1e200 * X, y, scale=True)


@pytest.mark.parametrize("options", [{"C": np.inf}, {"multiclass": "crammer-singer"}])
def test_one_class_is_refused(options):
    X, y = data(30)
    assert_refused(LinearSVC, ValueError, "number of classes has to be greater than one", X, np.ones(30), **options)
    assert_refused(LinearSVC, ValueError, "greater than one", X, y, y.astype(float), **options)


@pytest.mark.parametrize("machine", CLASSIFIERS)
def test_a_class_without_weight_has_no_say(machine):
    X, y = load_iris(return_X_y=True)
    model = quiet_fit(machine(class_weight={0: 0.0}), X, y)
    assert list(model.classes_) == [0, 1, 2]
    assert not np.isin(model.support_, np.flatnonzero(y == 0)).any()
    assert set(model.predict(X[y > 0])) == {1, 2}
    assert certify(model, X, y).primal == pytest.approx(model.certificate_.primal)
    assert_refused(machine, ValueError, "leaves no row any weight", X, y, class_weight={0: 0.0, 1: 0.0, 2: 0.0})


@every_machine
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_columns_of_very_different_size_converge_and_are_named(machine, penalty):
    X, y = data()
    X = X * 10.0 ** np.array([-6, 0, 0, 6])
    frame = pd.DataFrame(X, columns=["thin", "one", "two", "wide"])
    with pytest.warns(UserWarning, match=r"factor of 1e\+12.*thin \(\d.*wide \(\d.*scale=True") as seen:
        model = machine(penalty=penalty).fit(frame, y)
    assert [w.category for w in seen] == [UserWarning]
    assert seen[0].filename == __file__
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= model.tol
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = machine(penalty=penalty, scale=True).fit(X, y)
    assert scaled.certificate_.relative_gap <= model.tol
    with pytest.warns(UserWarning, match=r"0 \(\d.*3 \(\d"):
        machine(penalty=penalty).fit(sp.csr_array(X), y)


@every_machine
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["newton", "dual-coordinate", "primal-dual"])
def test_rows_and_columns_of_zeros(machine, fit_intercept, solver):
    X, y = data()
    X[:20], X[:, 3] = 0.0, 0.0
    for rows in (X, sp.csr_array(X)):
        model = machine(solver=solver, fit_intercept=fit_intercept, tol=1e-5, max_iter=3000).fit(rows, y)
        assert model.certificate_.holds
        assert model.certificate_.relative_gap <= 1e-5
        assert np.ravel(model.coef_)[3] == 0
    model = quiet_fit(machine(solver=solver, fit_intercept=fit_intercept), np.zeros((20, 2)), y[:20])
    assert np.all(model.coef_ == 0)
    assert model.certificate_.holds


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rows_of_zeros_for_crammer_singer(fit_intercept):
    X, y = load_iris(return_X_y=True)
    X = scale(X)
    X[::10] = 0.0
    model = LinearSVC(multiclass="crammer-singer", fit_intercept=fit_intercept, C=0.1, max_iter=10**4).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_rows_twice_and_rows_with_both_labels(loss):
    X, y = data(50)
    both, labels = np.vstack([X, X]), np.append(y, 1 - y)
    model = LinearSVC(loss=loss).fit(both, labels)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-5)  # nothing can be learned
    assert model.certificate_.relative_gap <= 1e-4
    twice = LinearSVC(loss=loss, tol=1e-10).fit(both, np.append(y, y))
    once = LinearSVC(loss=loss, tol=1e-10, C=2.0).fit(X, y)
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=1e-4)


@every_machine
def test_targets_that_need_no_features(machine):
    X, _ = data(40)
    model = machine(C=10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if is_classifier(model):
            model.fit(*separable())
        else:
            model.fit(X, np.full(40, 7.0))
            np.testing.assert_array_equal(model.predict(X), 7.0)
            assert model.certificate_.gap == 0
    assert model.certificate_.holds


# -- the hard margin -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("scaled", [False, True])
def test_hard_margin_is_the_soft_one_at_a_large_cost(fit_intercept, scaled):
    X, y = separable()
    hard = LinearSVC(C=np.inf, tol=1e-9, fit_intercept=fit_intercept, scale=scaled).fit(X, y)
    soft = LinearSVC(C=1e5, loss="hinge", tol=1e-11, fit_intercept=fit_intercept, scale=scaled)
    np.testing.assert_allclose(hard.decision_function(X), quiet_fit(soft, X, y).decision_function(X), rtol=1e-3)
    f = (2 * y - 1) * hard.decision_function(X)
    assert f.min() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(f[hard.support_], 1.0, atol=1e-6)
    assert hard.slack(X, y).max() <= 1e-6
    if not scaled:
        assert hard.margin_ == pytest.approx(1 / np.linalg.norm(hard.coef_))
    assert hard.certificate_.holds
    again = certify(hard, X, y)
    assert again.holds
    assert again.relative_gap <= 1e-6
    hard.coef_ = hard.coef_ * np.linspace(1.0, 1.5, X.shape[1])  # another direction: its size alone is of no account
    assert certify(hard, X, y).relative_gap > 1e-3


def test_hard_margin_of_classes_that_overlap_is_an_error_with_a_witness():
    X, y = data()
    weight = np.ones(len(X))
    weight[:50] = 0.0
    with pytest.raises(NotSeparableError, match="no hyperplane separates") as caught:
        LinearSVC(C=np.inf).fit(X, y, weight)
    positive, negative = caught.value.witness
    assert positive.shape == negative.shape == (len(X),)
    assert positive[:50].sum() == negative[:50].sum() == 0.0
    np.testing.assert_allclose(positive @ X, negative @ X, atol=1e-6)
    assert_refused(LinearSVC, NotSeparableError, "hard margin", X, y, C=np.inf)
    assert_refused(LinearSVC, ValueError, "needs penalty='l2'", X, y, C=np.inf, penalty="l1")
    assert_refused(LinearSVC, ValueError, "finite C", X, y, C=np.inf, multiclass="crammer-singer")


# -- stopped, and going on -----------------------------------------------------------------------------------------

STOPPABLE = [
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", solver="dual-coordinate", C=100.0),
    LinearSVC(multiclass="crammer-singer", C=10.0),
    LinearSVC("l1"),
    LinearSVR(),
    LinearClassifier("logistic", "l1"),
    LinearClassifier("hinge", "pnorm"),
    LinearClassifier("hinge", solver="subgradient"),
    LinearRegressor("absolute", solver="primal-dual"),
    LinearRegressor("huber", "elasticnet"),
]


@pytest.mark.parametrize("model", STOPPABLE, ids=repr)
@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"max_iter": 2}, "max_iter was reached"),
        ({"time_limit": 1e-9}, "time_limit was reached"),
        (None, "interrupted"),
    ],
)
def test_a_stopped_fit_leaves_a_usable_model(model, limit, message):
    X, y = load_breast_cancer(return_X_y=True)
    X, model = scale(X), pickle.loads(pickle.dumps(model)).set_params(tol=1e-9, **(limit or {}))
    if limit is None:
        model.set_callbacks(Listener(lambda: signal.raise_signal(signal.SIGINT), after=1))
    with pytest.warns(ConvergenceWarning, match=message + r".*gap reached: \d"):
        model.fit(X, y)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert np.isfinite(scores(model, X)).all()
    assert len(model.predict(X)) == len(X)
    certificate = model.certificate_
    assert certificate.holds
    assert certificate.relative_gap > 1e-9
    if "crammer-singer" not in repr(model):
        assert certify(model, X, y).gap == pytest.approx(certificate.gap, rel=1e-6)
    assert len(model.history_) >= 1


WARM = [
    LinearSVC(loss="hinge"),
    LinearSVC(loss="squared_hinge", scale=True),
    LinearSVC(loss="hinge", fit_intercept=False),
    LinearSVC("l1"),
    LinearSVC("l1", "hinge"),
    LinearSVR(epsilon=0.2),
    LinearClassifier("logistic"),
    LinearClassifier("logistic", "elasticnet"),
    LinearClassifier("hinge", "pnorm"),
    LinearRegressor("squared", "l1"),
    LinearRegressor(Pinball(0.3)),
]


@pytest.mark.parametrize("model", WARM, ids=repr)
def test_warm_start_from_a_solved_model_has_little_to_do(model):
    X, y = data(300)
    model = pickle.loads(pickle.dumps(model)).set_params(warm_start=True, tol=1e-6)
    cold = quiet_fit(model, X, y).n_iter_
    primal = model.certificate_.primal
    quiet_fit(model, X, y)
    assert model.n_iter_ <= max(2, 0.2 * cold)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    quiet_fit(model, X[:200], y[:200])  # other data: from scratch
    assert model.certificate_.relative_gap <= 1e-6


def test_warm_start_knows_other_classes_and_goes_on_after_a_stop():
    X, y = data(300)
    model = quiet_fit(LinearSVC(loss="hinge", warm_start=True, max_iter=5), X, y)
    whole = LinearSVC(loss="hinge").fit(X, y)
    model.set_params(max_iter=1000).fit(X, y)
    assert model.n_iter_ < whole.n_iter_
    assert model.certificate_.relative_gap <= 1e-4
    model.fit(X, np.where(y == 1, "yes", "no"))
    assert list(model.classes_) == ["no", "yes"]
    assert model.score(X, np.where(y == 1, "yes", "no")) == whole.score(X, y)


@every_machine
def test_a_penalty_that_the_solver_cannot_take_is_refused(machine):
    X, y = data(30)
    assert_refused(machine, ValueError, "takes the penalty 'l2'", X, y, solver="dual-coordinate", penalty="l1")


# -- what a model says ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["newton", "dual-coordinate"])
def test_dual_variables_and_slack_of_a_classifier_fit_together(fit_intercept, solver):
    X, y = data()
    weight = np.random.default_rng(0).choice([0.0, 1.0, 3.0], size=len(X))
    model = LinearSVC(loss="hinge", C=0.5, fit_intercept=fit_intercept, solver=solver, tol=1e-12, max_iter=-1)
    quiet_fit(model, X, y, weight)
    beta, sign, cost = dual(model, len(X))[0], 2 * y - 1, 0.5 * weight
    margin, slack = sign * model.decision_function(X), model.slack(X, y)
    np.testing.assert_allclose(slack, np.maximum(0, 1 - margin), atol=1e-12)
    assert (sign * beta >= 0).all()
    assert (np.abs(beta) <= cost * (1 + 1e-12)).all()
    assert np.all(beta[margin > 1 + 1e-4] == 0)
    np.testing.assert_allclose(np.abs(beta)[slack > 1e-4], cost[slack > 1e-4])
    np.testing.assert_allclose(beta @ X, model.coef_[0], atol=1e-5)
    assert not fit_intercept or abs(beta.sum()) < 1e-9
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_))
    assert not np.isin(model.support_, np.flatnonzero(weight == 0)).any()
    assert model.C_ == 0.5


def test_dual_variables_and_slack_of_a_regressor_fit_together():
    X, _ = data()
    y = X @ [1.0, -2.0, 0.0, 0.5] + np.random.default_rng(0).normal(size=len(X))
    model = quiet_fit(LinearSVR(epsilon=0.4, C=0.3, tol=1e-12), X, y)
    beta, residual, slack = dual(model, len(X))[0], y - model.predict(X), model.slack(X, y)
    np.testing.assert_allclose(slack, np.maximum(0, np.abs(residual) - 0.4), atol=1e-12)
    assert np.all(beta[np.abs(residual) < 0.4 - 1e-4] == 0)
    np.testing.assert_allclose(beta[slack > 1e-4], 0.3 * np.sign(residual[slack > 1e-4]))
    np.testing.assert_allclose(beta @ X, model.coef_, atol=1e-5)
    assert 0 < len(model.support_) < len(X)


def test_slack_of_many_classes_has_a_column_for_each_or_is_crammer_singers():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y)
    sign = 2 * (y[:, None] == np.arange(3)) - 1
    np.testing.assert_allclose(model.slack(X, y), np.maximum(0, 1 - sign * model.decision_function(X)))
    single = quiet_fit(LinearSVC(multiclass="crammer-singer"), X, y)
    slack = single.slack(X, y)
    assert slack.shape == (150,)
    objective = 0.5 * np.sum(single.coef_**2) + slack.sum()
    assert objective == pytest.approx(single.certificate_.primal, rel=1e-9)


@every_machine
@pytest.mark.parametrize("weighted", [False, True])
def test_scale_is_a_standard_scaler_in_front(machine, weighted):
    X, y = data()
    X = X * [1.0, 10.0, 100.0, 0.1] + [5.0, 0.0, -30.0, 1.0]
    weight = np.arange(len(X)) % 4 if weighted else np.ones(len(X))
    ours = machine(scale=True, tol=1e-10).fit(X, y, weight)
    scaler = StandardScaler().fit(X, sample_weight=weight)
    theirs = machine(tol=1e-10).fit(scaler.transform(X), y, weight)
    np.testing.assert_allclose(scores(ours, X), scores(theirs, scaler.transform(X)), atol=1e-4)
    np.testing.assert_allclose(ours.center_, scaler.mean_)
    np.testing.assert_allclose(ours.scale_, scaler.scale_)
    if not weighted:
        pipeline = make_pipeline(StandardScaler(), machine(tol=1e-10)).fit(X, y)
        np.testing.assert_array_equal(ours.predict(X) > 0.5, pipeline.predict(X) > 0.5)


@every_machine
def test_scale_does_not_centre_sparse_rows_and_leaves_constant_columns(machine):
    X, y = data()
    X[:, 3] = 3.0
    X[::2, 2] = 0.0
    rows = sp.csr_array(X)
    model = machine(scale=True).fit(rows, y)
    expected = StandardScaler(with_mean=False).fit(X[:, :3]).scale_
    np.testing.assert_allclose(model.scale_, [*expected, 1.0])
    np.testing.assert_array_equal(model.center_, np.zeros(4))
    np.testing.assert_allclose(machine(scale=True).fit(X, y).scale_, [*expected, 1.0])
    assert certify(model, rows, y).relative_gap <= 1e-4


@every_machine
def test_sparse_and_dense_rows_are_predicted_alike(machine):
    X, y = data()
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = machine(tol=1e-10).fit(X, y), machine(tol=1e-10).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(scores(sparse, X), scores(dense, X), atol=1e-4)
    for model in (dense, sparse):
        for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
            np.testing.assert_allclose(scores(model, kind(X)), scores(model, X), rtol=1e-12, atol=1e-12)


def test_columns_of_sparse_rows_in_any_order_and_twice():
    X, y = data()
    rows = sp.csr_array(X)
    columns = np.tile([3, 1, 0, 2, 2, 0, 1, 3], 200)
    mixed = sp.csr_array((np.repeat(rows.data, 2), columns, 2 * rows.indptr), shape=X.shape)
    plain = mixed.toarray()
    before = mixed.indices.copy()
    for solver in ("newton", "dual-coordinate"):
        options = {"solver": solver, "tol": 1e-9, "max_iter": -1}
        model, expected = LinearSVC(**options).fit(mixed, y), LinearSVC(**options).fit(plain, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    np.testing.assert_array_equal(mixed.indices, before)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {}, {"penalty": "l1"}, {"solver": "dual-coordinate"}])
def test_one_thread_and_two_give_the_same_bits(options):
    X, y = load_iris(return_X_y=True)
    one, two = (quiet_fit(LinearSVC(n_jobs=n, **options), X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_two_threads_on_many_rows_give_the_same_bits_every_time():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20000, 20))
    y = X[:, 0] + rng.normal(size=20000) > 0
    one, two, again = (LinearSVC(n_jobs=n).fit(X, y) for n in (1, 2, 2))
    np.testing.assert_array_equal(two.coef_, again.coef_)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-6)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"penalty": "l1"}, {"scale": True}])
def test_float32_rows_are_not_copied_to_float64(options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(size=(40000, 200), dtype=np.float32)
    y = X[:, 0] + rng.normal(size=40000) > 0
    quiet_fit(LinearSVC(max_iter=1, **options), X[:500], y[:500])  # compiles
    tracemalloc.start()
    quiet_fit(LinearSVC(max_iter=3, n_jobs=1, **options), X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    own_copy = X.nbytes if options.get("scale") else 0
    assert peak - own_copy < 1.0 * X.nbytes  # in float64 they would take twice that


@every_machine
def test_history_tells_the_way_to_the_goal(machine):
    X, y = data()
    model = machine().fit(X, y)
    history = model.history_
    assert history.dtype.names == ("task", "iteration", "seconds", "primal", "dual", "gap")
    assert history["iteration"][-1] == model.n_iter_
    assert np.all(np.diff(history["seconds"]) >= 0)
    assert history["primal"][-1] == pytest.approx(model.certificate_.primal, rel=1e-6)
    assert history["gap"][-1] <= 1e-4 * abs(history["primal"][-1])


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"fit_intercept": False}])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_crammer_singer_model_is_certified_from_its_attributes(options: dict, classes: int) -> None:
    X, y = load_iris(return_X_y=True)
    rows = y < classes
    model = LinearSVC(multiclass="crammer-singer", tol=1e-4, max_iter=20_000, **options).fit(X[rows], y[rows])
    again = certify(model, X[rows], y[rows])
    assert again.holds
    assert again.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=1e-6)
    model.coef_ = 1.1 * model.coef_
    assert certify(model, X[rows], y[rows]).relative_gap > 10 * again.relative_gap
