"""Linear models against scikit-learn's, once the constants are matched, and against clarabel, pair by pair."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model, svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from maxmargin import LinearClassifier, LinearRegressor, LinearSVC, LinearSVR
from maxmargin.losses import (
    LOSSES,
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.penalties import L1, L2, PENALTIES, ElasticNet, NoPenalty, PNorm
from tests.references.conic import optimum

#: Agreement asked for, and the gap that our models are solved to.
AGREE, TIGHT = 1e-6, 1e-12

LOSSES_OF_MARGIN = [Hinge(), SquaredHinge(), Logistic(), Exponential()]
LOSSES_OF_DISTANCE = [
    Squared(),
    Absolute(),
    EpsilonInsensitive(0.2),
    SquaredEpsilonInsensitive(0.2),
    Huber(0.5),
    Pinball(0.8),
]
CONVEX = LOSSES_OF_MARGIN + LOSSES_OF_DISTANCE
PENALISING = [L2(), L1(), ElasticNet(0.3), PNorm(1.5), PNorm(3.0), NoPenalty()]


def bundled(loader):
    X, y = loader(return_X_y=True)
    return scale(X), scale(y.astype(float)) if loader is load_diabetes else y


def fitted(model, *data):
    """The model, fitted without complaint about what rounding forbids."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data)


def same_weights(ours, theirs, tol=AGREE):
    np.testing.assert_allclose(ours.coef_, np.reshape(theirs.coef_, np.shape(ours.coef_)), rtol=tol, atol=tol)
    theirs_too = np.broadcast_to(theirs.intercept_, np.shape(ours.intercept_))
    np.testing.assert_allclose(ours.intercept_, theirs_too, rtol=tol, atol=tol)


# -- scikit-learn's, by weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_ridge_is_squared_loss_and_l2(C, fit_intercept):
    X, y = bundled(load_diabetes)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 3.0], size=len(X))
    ours = fitted(LinearRegressor("squared", "l2", C=C, fit_intercept=fit_intercept, tol=TIGHT), X, y + 3.0, weight)
    theirs = linear_model.Ridge(alpha=1 / (2 * C), fit_intercept=fit_intercept, tol=1e-12).fit(X, y + 3.0, weight)
    same_weights(ours, theirs)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("lam", [0.02, 0.3])
def test_lasso_is_squared_loss_and_l1(lam, fit_intercept):
    X, y = bundled(load_diabetes)
    ours = fitted(LinearRegressor("squared", "l1", lam=lam, fit_intercept=fit_intercept, tol=TIGHT), X, y + 3.0)
    theirs = linear_model.Lasso(alpha=lam / 2, fit_intercept=fit_intercept, tol=1e-14, max_iter=10**5)
    same_weights(ours, theirs.fit(X, y + 3.0))
    np.testing.assert_array_equal(ours.coef_ == 0, theirs.coef_ == 0)


@pytest.mark.parametrize("ratio", [0.2, 0.9])
def test_elastic_net_is_squared_loss_and_elastic_net(ratio):
    X, y = bundled(load_diabetes)
    ours = fitted(LinearRegressor("squared", ElasticNet(ratio), lam=0.2, tol=TIGHT), X, y)
    theirs = linear_model.ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-14, max_iter=10**5).fit(X, y)
    same_weights(ours, theirs)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_logistic_regression_is_logistic_loss_and_l2(C, fit_intercept):
    X, y = bundled(load_breast_cancer)
    ours = fitted(LinearClassifier("logistic", C=C, fit_intercept=fit_intercept, tol=TIGHT), X, y)
    theirs = linear_model.LogisticRegression(
        C=C / np.log(2), fit_intercept=fit_intercept, solver="newton-cholesky", tol=1e-12
    )
    same_weights(ours, theirs.fit(X, y))


@pytest.mark.parametrize("loader", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_svc_without_intercept_is_liblinears(loader, loss):
    X, y = bundled(loader)
    ours = fitted(LinearSVC(loss=loss, C=0.3, fit_intercept=False, tol=TIGHT), X, y)
    theirs = svm.LinearSVC(loss=loss, C=0.3, fit_intercept=False, tol=1e-11, max_iter=10**7, dual=True)
    same_weights(ours, theirs.fit(X, y))


def test_linear_svc_with_l1_penalty_is_liblinears():
    X, y = bundled(load_breast_cancer)
    ours = fitted(LinearSVC("l1", C=0.1, fit_intercept=False, tol=TIGHT), X, y)
    theirs = svm.LinearSVC(penalty="l1", C=0.1, fit_intercept=False, tol=1e-11, max_iter=10**6, dual=False)
    same_weights(ours, theirs.fit(X, y))


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_linear_svr_without_intercept_is_liblinears(loss, epsilon):
    X, y = bundled(load_diabetes)
    options = {"loss": loss, "epsilon": epsilon, "C": 0.1, "fit_intercept": False}
    ours = fitted(LinearSVR(tol=TIGHT, **options), X, y)
    same_weights(ours, svm.LinearSVR(tol=1e-11, max_iter=10**7, dual=True, **options).fit(X, y))


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
def test_quantile_regression_is_pinball_loss_and_l1(quantile):
    X, y = bundled(load_diabetes)
    ours = fitted(LinearRegressor(Pinball(quantile), "l1", lam=0.01, tol=TIGHT), X, y)
    theirs = linear_model.QuantileRegressor(quantile=quantile, alpha=0.01).fit(X, y)
    same_weights(ours, theirs)


def test_huber_regression_is_huber_loss_and_l2_at_its_scale():
    """scikit-learn's estimates a scale s as well; at that s the problem is ours."""
    X, y = bundled(load_diabetes)
    theirs = linear_model.HuberRegressor(epsilon=1.35, alpha=0.5, tol=1e-10, max_iter=10**5).fit(X, y)
    s = theirs.scale_
    # theirs: sum s H(r / s) + alpha ||w||^2 with H(z) = z^2 up to 1.35, that is 2 L / s with L = Huber(1.35 s)
    ours = fitted(LinearRegressor(Huber(1.35 * s), "l2", C=1 / (0.5 * s), tol=TIGHT), X, y)
    same_weights(ours, theirs, tol=1e-4)
    assert optimum(X, y, np.full(len(y), 2 / s), Huber(1.35 * s), L2()) == pytest.approx(ours.certificate_.primal)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_crammer_singer_has_liblinears_objective(C):
    X, y = bundled(load_iris)
    rows = np.arange(len(X))

    def objective(W):
        f = X @ W.T
        slack = (f + 1.0 - np.eye(3)[y]).max(axis=1) - f[rows, y]
        return 0.5 * np.sum(W**2) + C * slack.sum()

    ours = LinearSVC(multiclass="crammer-singer", C=C, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(X, y)
    theirs = svm.LinearSVC(multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=10**6).fit(X, y)
    assert objective(ours.coef_) == pytest.approx(ours.certificate_.primal, rel=1e-12)
    assert objective(ours.coef_) == pytest.approx(objective(theirs.coef_), rel=AGREE)
    assert ours.certificate_.dual <= objective(theirs.coef_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# -- an independent convex solver, by objective --------------------------------------------------------------------


def draw(seed):
    """(X, signs, targets, costs) of 15 to 40 rows in 1 to 5 dimensions that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(15, 41)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) + 0.3
    y = X[:, 0] + rng.normal(size=n) + 0.5
    sign = np.where(y > np.median(y), 1.0, -1.0)
    X[:4], sign[:4] = np.repeat(X[:2], 2, axis=0), [1.0, -1.0, 1.0, -1.0]  # two rows with both signs
    return X, sign, y, 10 ** rng.uniform(-1, 1) * rng.choice([0.3, 1.0, 4.0], size=n)


def by_name(value):
    return getattr(value, "name", str(value)) + "".join(str(v) for v in vars(value).values())


def fit_pair(loss, penalty, seed, **options):
    """(our model, the independent solver's value, what rounding of that is relative to)."""
    X, sign, y, cost = draw(seed)
    machine, target = (LinearClassifier, sign) if loss.of_margin else (LinearRegressor, y)
    best = optimum(X, target, cost, loss, penalty, options.get("fit_intercept", True))
    model = fitted(machine(loss, penalty, C=1.0, tol=1e-9, max_iter=10**4, **options), X, target, cost)
    return model, best, AGREE * abs(best) + 1e-9 * cost.sum()


def test_every_convex_loss_and_penalty_is_compared():
    refused = {PerceptronLoss}  # w = 0 minimises it
    assert {type(loss) for loss in CONVEX} == {kind for kind in LOSSES.values() if kind.convex} - refused
    assert {type(penalty) for penalty in PENALISING} == {kind for kind in PENALTIES.values() if kind.convex}


@pytest.mark.parametrize("penalty", PENALISING, ids=by_name)
@pytest.mark.parametrize("loss", CONVEX, ids=by_name)
def test_optimal_value_is_that_of_an_independent_solver(loss, penalty):
    for seed, fit_intercept in enumerate((True, False, True)):
        model, best, allowed = fit_pair(loss, penalty, seed, fit_intercept=fit_intercept)
        certificate = model.certificate_
        assert abs(certificate.primal - best) <= allowed, (seed, best, str(certificate))
        if penalty != NoPenalty():
            assert certificate.holds, (seed, str(certificate))
            assert abs(certificate.dual - best) <= allowed, (seed, best, str(certificate))


def test_comparison_notices_a_model_that_is_not_optimal():
    model, best, allowed = fit_pair(Hinge(), L2(), 0, time_limit=1e-9)
    assert model.certificate_.primal - best > allowed
    assert model.certificate_.dual <= best


# -- every solver --------------------------------------------------------------------------------------------------

PAIRS = [(loss, penalty) for loss in CONVEX[:-1] for penalty in PENALISING if penalty.separable]


def accepts(solver, loss, penalty):
    quadratic = not isinstance(loss, Logistic | Exponential)
    return solver != "dual-coordinate" or (quadratic and penalty == L2())


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda t: t.__name__)
@pytest.mark.parametrize("solver", ["newton", "dual-coordinate", "primal-dual"])
def test_every_solver_finds_the_same_optimum(solver, dtype, kind):
    for number, (loss, penalty) in enumerate(PAIRS):
        if not accepts(solver, loss, penalty):
            continue
        X, sign, y, cost = draw(number % 5)
        X = X.astype(dtype)
        machine, target = (LinearClassifier, sign) if loss.of_margin else (LinearRegressor, y)
        options = {"C": 1.0, "tol": 1e-7, "max_iter": 10**4, "fit_intercept": number % 2 == 0}
        rows = X if kind == "dense" else sp.csr_array(X)
        model = fitted(machine(loss, penalty, solver=solver, **options), rows, target, cost)
        usual = fitted(machine(loss, penalty, **options), X.astype(np.float64), target, cost)
        best = usual.certificate_
        assert abs(model.certificate_.primal - best.primal) <= 2e-7 * best.primal, (loss, penalty, number)
        assert model.certificate_.holds or penalty == NoPenalty(), (loss, penalty, str(model.certificate_))


def test_solver_that_cannot_says_so():
    X, sign, _, _ = draw(0)
    for solver, loss, penalty in (
        ("dual-coordinate", "logistic", "l2"),
        ("dual-coordinate", "hinge", "l1"),
        ("newton", "hinge", "pnorm"),
    ):
        with pytest.raises(ValueError, match=f"solver '{solver}' takes .*got .*{penalty}"):
            LinearClassifier(loss, penalty, solver=solver).fit(X, sign)


@pytest.mark.parametrize("name", ["LinearSVC", "LinearSVR"])
def test_parameters_are_scikit_learns_with_its_defaults(name):
    ours = inspect.signature({"LinearSVC": LinearSVC, "LinearSVR": LinearSVR}[name]).parameters
    for key, parameter in inspect.signature(getattr(svm, name)).parameters.items():
        assert ours[key].default == parameter.default, key
        assert ours[key].kind == parameter.kind, key
