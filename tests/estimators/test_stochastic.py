"""PegasosSVC, SGDSVC and Perceptron: every step against plain NumPy, honest certificates, streams, errors."""

from __future__ import annotations

import pickle
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SGDSVC, LinearClassifier, PegasosSVC, Perceptron, certify
from maxmargin.backends import backend_for
from maxmargin.io import read_chunks
from maxmargin.solvers.stochastic import Visits

STOCHASTIC = [PegasosSVC, SGDSVC]
MACHINES = [PegasosSVC, SGDSVC, Perceptron]


def data(n=60, d=4, noise=0.5, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X[:, 0] + noise * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


# -- the steps, by plain NumPy -------------------------------------------------------------------------------------


def plain_steps(X, sign, visits, lam, rate, batch=1, bias=False, project=False, w=None, first=0):
    """All iterates (w, b) of Pegasos and of SGD; ``rate(t)`` for t = 1, 2, ..."""
    w, b, t, iterates = np.zeros(X.shape[1]) if w is None else w, 0.0, first, []
    for line in np.atleast_2d(visits):
        for start in range(0, len(line), batch):
            rows = line[start : start + batch]
            t += 1
            eta, broken = rate(t), rows[sign[rows] * (X[rows] @ w + b) < 1]
            w = (1 - eta * lam) * w + eta / len(rows) * (sign[broken] @ X[broken])
            b = b + eta / len(rows) * sign[broken].sum() if bias else 0.0
            if project:
                w = w * min(1.0, 1.0 / (np.sqrt(lam) * np.linalg.norm(w) + 1e-300))
            iterates.append((w, b, t))
    return iterates


def averaged(iterates):
    weights = np.array([t for _, _, t in iterates], dtype=float)
    w, b = np.array([w for w, _, _ in iterates]), np.array([b for _, b, _ in iterates])
    return weights @ w / weights.sum(), weights @ b / weights.sum()


def visits_of(model, X, y, passes, weight=None):
    """The rows that a fit of ``model`` visits, pass by pass."""
    backend = backend_for("cpu")
    rows = model._row_order(backend.row_keys(backend.design(X).X), np.unique(y, return_inverse=True)[1])
    visits = Visits(backend, rows, np.ones(len(y)) if weight is None else weight, model.order, model.random_state)
    return visits.take(passes)


@pytest.mark.parametrize("order", ["shuffle", "draw", "given"])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"project": True},
        {"batch_size": 7},
        {"batch_size": 7, "project": True, "fit_intercept": True},
        {"fit_intercept": True, "offset": 25.0},
    ],
)
def test_pegasos_makes_the_steps_of_the_paper(order, average, options):
    X, y = data()
    lam, passes = 0.05, 6
    model = PegasosSVC(lam, max_iter=passes, order=order, average=average, random_state=3, **{"offset": 0.0, **options})
    model.fit(X, y)
    first = options.get("offset", 0.0)
    iterates = plain_steps(
        X, np.where(y == 1, 1.0, -1.0), visits_of(model, X, y, passes), lam, lambda t: 1 / (lam * t),
        options.get("batch_size", 1), options.get("fit_intercept", False), options.get("project", False), first=first,
    )  # fmt: skip
    per_pass = len(iterates) // passes
    w, b = averaged(iterates[-per_pass:]) if average else iterates[-1][:2]
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], b, rtol=1e-9, atol=1e-12)
    assert model.t_ == first + len(iterates)
    assert model.n_iter_ == passes


def test_the_projection_has_an_effect_and_keeps_the_ball():
    X, y = data()
    free, inside = (PegasosSVC(0.05, steps=1, offset=0, project=project).fit(10 * X, y) for project in (False, True))
    assert np.linalg.norm(free.coef_) > 1 / np.sqrt(0.05)
    assert np.linalg.norm(inside.coef_) <= (1 + 1e-12) / np.sqrt(0.05)


@pytest.mark.parametrize("steps", [1, 7, 100, 130])
def test_a_number_of_steps_need_not_be_whole_passes(steps):
    X, y = data()
    model = PegasosSVC(0.05, steps=steps, offset=0, average=False, order="given", batch_size=2).fit(X, y)
    assert model.t_ == steps
    visits = np.tile(np.arange(60), 5)[: 2 * steps]
    w, _, _ = plain_steps(X, np.where(y == 1, 1.0, -1.0), visits, 0.05, lambda t: 1 / (0.05 * t), 2)[-1]
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("season", [None, 9])
def test_sgd_makes_the_steps_of_its_schedule(average, batch, season):
    X, y = data()
    sign, lam, (m, l) = np.where(y == 1, 1.0, -1.0), 0.1, (0.7, 2.0)
    model = SGDSVC(
        lam, batch_size=batch, max_iter=4, steps_per_season=season, schedule=(m, l), average=average, random_state=1
    ).fit(X, y)
    visits = visits_of(model, X, y, 4).ravel()
    length = 60 if season is None else season * batch
    w, b, steps = np.zeros(4), 0.0, 0
    for e in range(1, 5):
        rows = visits[(e - 1) * length : e * length]
        part, signs, iterates = X[rows], sign[rows], []
        for start in range(0, length, batch):
            take = slice(start, min(start + batch, length))
            broken = signs[take] * (part[take] @ w + b) < 1
            eta, size = m / (e + l), len(signs[take])
            w = w - eta * (lam * w - (signs[take] * broken) @ part[take] / size)
            b = b + eta * (signs[take] * broken).sum() / size
            steps += 1
            iterates.append((w, b, steps))
        np.testing.assert_allclose(model.history_["eta"][e - 1], m / (e + l))
        assert model.history_["steps"][e - 1] == steps
    expected = averaged(iterates) if average else iterates[-1][:2]
    np.testing.assert_allclose(model.coef_[0], expected[0], rtol=1e-9)
    np.testing.assert_allclose(model.intercept_[0], expected[1], rtol=1e-9)
    loss = np.maximum(0, 1 - sign * model.decision_function(X)).mean() + lam / 2 * model.coef_[0] @ model.coef_[0]
    np.testing.assert_allclose(model.history_["objective"][-1], loss)


@pytest.mark.parametrize("machine", STOCHASTIC)
@pytest.mark.parametrize("options", [{}, {"batch_size": 8}, {"class_weight": "balanced"}, {"scale": True}])
def test_sparse_rows_give_what_dense_rows_give(machine, options):
    X, y = data(classes=3)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    if "scale" in options:
        X = X - X.mean(axis=0)  # sparse rows are not centred
    dense, sparse = (machine(0.05, max_iter=5, **options).fit(rows, y) for rows in (X, sp.csr_array(X)))
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(dense.certificate_.gap, sparse.certificate_.gap, rtol=1e-6)


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_neither_the_order_of_rows_nor_copies_matter(machine):
    X, y = data()
    rng = np.random.default_rng(0)
    weight, order = rng.integers(0, 4, size=60), rng.permutation(60)
    copies = machine(0.05, fit_intercept=True).fit(X.repeat(weight, axis=0), y.repeat(weight))
    weighted = machine(0.05, fit_intercept=True).fit(X[order], y[order], sample_weight=weight[order])
    np.testing.assert_allclose(copies.coef_, weighted.coef_, rtol=1e-10)
    np.testing.assert_allclose(copies.certificate_.primal, weighted.certificate_.primal, rtol=1e-9)


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_weights_that_are_not_whole_are_honoured(machine):
    X, y = data(300)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, size=300)
    exact = LinearClassifier("hinge", lam=0.05, tol=1e-8).fit(X, y, sample_weight=weight)
    model = machine(0.05, fit_intercept=True, max_iter=300).fit(X, y, sample_weight=weight)
    assert model.certificate_.primal < 1.01 * exact.certificate_.primal
    assert pytest.approx(exact.C_) == model.C_


# -- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("options", [{}, {"class_weight": {0: 3.0, 1: 0.5}}, {"average": False}, {"scale": True}])
@pytest.mark.parametrize("machine", STOCHASTIC)
def test_the_certificate_is_honest(machine, options, bias):
    X, y = data(150)
    shared = {name: value for name, value in options.items() if name != "average"}
    exact = LinearClassifier("hinge", lam=0.01, tol=1e-9, fit_intercept=bias, **shared).fit(X, y).certificate_
    for passes in (1, 3, 30):
        model = machine(0.01, fit_intercept=bias, max_iter=passes, **options).fit(X, y)
        proof = model.certificate_
        assert proof.holds
        assert proof.gap >= proof.primal - exact.primal
        assert proof.dual <= exact.primal
        again = certify(model, X, y)
        assert again.gap == pytest.approx(proof.gap)
        rows = (X - model.center_) / model.scale_ if "scale" in options else X
        w = model.coef_[0] * (model.scale_ if "scale" in options else 1.0)
        factors = model.class_weight_[y]
        f = model.decision_function(X)
        primal = 0.5 * w @ w + model.C_ * factors @ np.maximum(0, 1 - np.where(y == 1, 1, -1) * f)
        assert proof.primal == pytest.approx(primal)
        beta = model.dual_coef_[0]
        signed = np.where(y == 1, 1, -1)[model.support_] * beta
        assert (signed >= -1e-12).all()
        assert (signed <= (1 + 1e-9) * model.C_ * factors[model.support_]).all()
        assert not bias or abs(beta.sum()) < 1e-9 * np.abs(beta).sum()
        v = beta @ rows[model.support_]
        assert proof.dual == pytest.approx(signed.sum() - 0.5 * v @ v, rel=1e-6)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("machine", "most"), [(PegasosSVC, 15), (SGDSVC, 60)])  # 35 and 150 without dual ascent
def test_the_certificate_is_not_many_times_the_truth(machine, most, bias):
    X, y = data(2000)
    exact = LinearClassifier("hinge", lam=1e-3, tol=1e-9, fit_intercept=bias).fit(X, y).certificate_
    proof = machine(1e-3, fit_intercept=bias, max_iter=20, random_state=0).fit(X, y).certificate_
    assert proof.gap <= most * (proof.primal - exact.dual)


@pytest.mark.parametrize("bias", [True, False])
def test_pegasos_comes_near_the_optimum_and_proves_it(bias):
    X, y = load_breast_cancer(return_X_y=True)
    exact = LinearClassifier("hinge", lam=0.01, tol=1e-8, scale=True, fit_intercept=bias).fit(X, y)
    model = PegasosSVC(0.01, scale=True, fit_intercept=bias).fit(X, y)
    assert model.certificate_.primal <= 1.002 * exact.certificate_.primal
    assert model.certificate_.relative_gap < 0.01


def test_averages_of_later_iterates_are_better_than_the_last_one():
    X, y = load_breast_cancer(return_X_y=True)
    average, last = (
        PegasosSVC(1e-3, scale=True, max_iter=20, average=average).fit(X, y).certificate_ for average in (True, False)
    )
    assert average.primal < last.primal


def test_a_gap_asked_for_is_reached_or_the_user_is_told():
    X, y = data(200)
    reached = PegasosSVC(0.05, tol=0.05).fit(X, y)
    assert reached.certificate_.relative_gap <= 0.05
    assert reached.n_iter_ < 2000
    assert list(reached.history_["iteration"]) == [2**k for k in range(len(reached.history_))]
    with pytest.warns(ConvergenceWarning, match="max_iter was reached"):
        PegasosSVC(0.05, tol=1e-8, max_iter=5).fit(X, y)


def test_a_fit_out_of_time_delivers_what_it_has():
    X, y = data(200)
    for model in (PegasosSVC(max_iter=10**9, time_limit=0.05), SGDSVC(max_iter=10**9, time_limit=0.05)):
        with pytest.warns(ConvergenceWarning, match="time_limit"):
            model.fit(X, y)
        assert model.certificate_.holds


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_a_warm_start_goes_on(machine):
    X, y = data(200)
    model = machine(0.01, max_iter=5, warm_start=True).fit(X, y)
    before, steps = model.certificate_.primal, model.t_
    model.fit(X, y)
    assert model.t_ == steps + 1000
    assert model.certificate_.primal < 1.01 * before
    assert model.certificate_.holds


def test_classes_side_by_side_are_what_they_are_one_by_one():
    X, y = load_iris(return_X_y=True)
    for machine in MACHINES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one, two = (machine(max_iter=20, n_jobs=n).fit(X, y) for n in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        assert one.coef_.shape == (3, 4)
        first = machine(max_iter=20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            first.fit(X, y == 0)
        assert np.corrcoef(first.coef_[0], one.coef_[0])[0, 1] > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", MACHINES)
def test_seeds_decide_and_copies_agree(machine):
    X, y = data(100, noise=0.0)
    same = [machine(max_iter=5, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(same[0].coef_, same[1].coef_)
    assert not np.array_equal(same[0].coef_, same[2].coef_)
    np.testing.assert_array_equal(clone(same[0]).fit(X, y).coef_, same[0].coef_)
    copy = pickle.loads(pickle.dumps(same[0]))
    np.testing.assert_array_equal(copy.predict(X), same[0].predict(X))
    np.testing.assert_array_equal(copy.partial_fit(X, y).coef_, same[0].partial_fit(X, y).coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_scaling_is_remembered(machine):
    X, y = data(100, noise=0.0)
    X = X * [1.0, 100.0, 0.01, 1.0] + [0.0, 50.0, 0.0, -3.0]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"fit_intercept": True, "max_iter": 30}
    options |= {"shuffle": False} if machine is Perceptron else {"order": "given"}
    model, plain = machine(scale=True, **options).fit(X, y), machine(**options).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(Z), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(model.center_, X.mean(axis=0))
    np.testing.assert_allclose(model.scale_, X.std(axis=0))


# -- the stopping rules of SGD -------------------------------------------------------------------------------------


def test_a_set_number_of_seasons():
    X, y = data(100)
    model = SGDSVC(0.01, max_iter=7, validation_fraction=0.2).fit(X, y)
    assert list(model.history_["season"]) == list(range(1, 8))
    assert len(model.held_out_) == 20
    assert not np.isin(model.support_, model.held_out_).any()
    wrong = (model.predict(X) != y)[model.held_out_].mean()
    assert model.history_["error"][-1] == pytest.approx(wrong)
    assert np.isnan(SGDSVC(0.01).fit(X, y).history_["error"]).all()


def test_an_error_that_is_small_enough_ends_the_fit():
    X, y = data(400, noise=0.1)
    model = SGDSVC(0.01, max_iter=500, error_goal=0.1, steps_per_season=5, schedule=(0.02, 10)).fit(X, y)
    errors = model.history_["error"]
    assert len(errors) < 500
    assert errors[-1] <= 0.1
    assert (errors[:-1] > 0.1).all()


def test_no_improvement_for_some_seasons_ends_the_fit():
    X, y = data(400)
    model = SGDSVC(0.01, max_iter=500, patience=4, steps_per_season=50).fit(X, y)
    errors = model.history_["error"]
    assert len(errors) < 500
    assert np.argmin(errors) == len(errors) - 1 - 4


def test_the_schedule_is_tuned_and_better_than_poor_ones():
    X, y = data(2500)
    tuned = SGDSVC(1e-3).fit(X, y)
    assert tuned.schedule_.shape == (1, 2)
    poor = [SGDSVC(1e-3, schedule=schedule).fit(X, y).certificate_.primal for schedule in ((1000.0, 1.0), (1e-7, 1.0))]
    assert tuned.certificate_.primal < min(poor)
    np.testing.assert_array_equal(SGDSVC(schedule=(0.5, 2)).fit(X, y).schedule_, [[0.5, 2.0]])


def test_a_random_start_is_forgotten():
    X, y = data(300)
    zero, random = (SGDSVC(0.1, max_iter=1, init=init).fit(X, y) for init in ("zero", "random"))
    assert not np.array_equal(zero.coef_, random.coef_)
    zero, random = (SGDSVC(0.1, max_iter=300, init=init).fit(X, y).certificate_ for init in ("zero", "random"))
    assert random.primal == pytest.approx(zero.primal, rel=0.02)


# -- the perceptron ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("passes", [1, 2, 5, 40])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_perceptron_makes_scikit_learns_steps(passes, intercept, classes):
    X, y = data(100, noise=0.2, classes=classes)
    model = Perceptron(max_iter=passes, shuffle=False, fit_intercept=intercept).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(max_iter=passes, tol=None, shuffle=False, fit_intercept=intercept)
    theirs.fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-12)
    sparse = Perceptron(max_iter=passes, shuffle=False, fit_intercept=intercept).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_perceptron_shrinks_as_scikit_learns_does():
    X, y = data(100, noise=0.2)
    options = {"max_iter": 3, "shuffle": False, "penalty": "l2", "alpha": 0.01}
    model = Perceptron(**options).fit(X, y)
    theirs = sklearn.linear_model.Perceptron(tol=None, **options).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    assert not np.allclose(model.coef_, model.set_params(penalty=None).fit(X, y).coef_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_one_norm_sets_weights_of_a_perceptron_to_0():
    rng = np.random.default_rng(0)
    X, y = data(200, noise=0.1)
    X = np.hstack([X, 0.05 * rng.normal(size=(200, 10))])
    zeros = {penalty: (Perceptron(penalty=penalty, alpha=0.05, max_iter=5).fit(X, y).coef_ == 0).sum()
             for penalty in (None, "l2", "elasticnet", "l1")}  # fmt: skip
    assert zeros[None] == zeros["l2"] == 0
    assert 3 < zeros["l1"] < X.shape[1]
    stream = Perceptron(penalty="l1", alpha=0.05).partial_fit(X, y, classes=[0, 1])
    assert (stream.coef_ == 0).sum() > 3
    with pytest.raises(ValueError, match="bound=True is for the plain perceptron"):
        Perceptron(penalty="l1", bound=True).fit(X, y)


def test_a_pass_without_mistakes_ends_the_fit():
    X, y = data(100, noise=0.0)
    model = Perceptron(max_iter=10_000).fit(X, y)
    assert model.history_["mistakes"][-1] == 0
    assert (model.history_["mistakes"][:-1] > 0).all()
    assert model.mistakes_[0] == model.history_["mistakes"].sum()
    assert model.n_iter_ == len(model.history_)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"scale": True}, {"shuffle": False}])
def test_mistakes_stay_below_novikoffs_bound(options, sparse):
    X, y = data(80, d=2, noise=0.0)
    apart = np.abs(X[:, 0] - np.median(X[:, 0])) > 0.1 if options.get("fit_intercept", True) else np.abs(X[:, 0]) > 0.1
    X = X[apart]
    y = (X[:, 0] > 0).astype(int) if not options.get("fit_intercept", True) else y[apart]
    rows = sp.csr_array(X) if sparse else X
    model = Perceptron(max_iter=100_000, bound=True, **options).fit(rows, y)
    assert model.mistakes_[0] <= model.mistake_bound_[0] < np.inf
    np.testing.assert_array_equal(model.mistake_bound(rows, y), model.mistake_bound_)


def test_the_bound_is_that_of_the_largest_margin():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), np.array([1, 1, 0, 0])
    model = Perceptron(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.mistake_bound(X, y), [9.0], rtol=1e-5)  # R = 3, gamma = 1
    model = Perceptron().fit(X, y)
    np.testing.assert_allclose(model.mistake_bound(X, y), [10.0], rtol=1e-5)  # rows (x, 1)


def test_there_is_no_bound_for_classes_that_overlap():
    X, y = data(60, noise=2.0)
    with pytest.warns(ConvergenceWarning, match="still made mistakes"):
        model = Perceptron(max_iter=5, bound=True).fit(X, y)
    assert np.isinf(model.mistake_bound_).all()


# -- streams -------------------------------------------------------------------------------------------------------


def chunks(X, y, size):
    return [(X[k : k + size], y[k : k + size]) for k in range(0, len(y), size)]


def state_of(model):
    return pickle.dumps(sorted((k, v) for k, v in vars(model).items()))


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_in_the_order_given_is_one_pass_of_pegasos(average, classes):
    X, y = data(120, classes=classes)
    options = {"order": "given", "offset": 50, "average": average, "fit_intercept": True, "batch_size": 2}
    whole, stream = PegasosSVC(0.01, max_iter=1, **options).fit(X, y), PegasosSVC(0.01, **options)
    for rows, labels in chunks(X, y, 20):
        stream.partial_fit(rows, labels, classes=range(classes))
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-10)
    np.testing.assert_allclose(stream.intercept_, whole.intercept_, rtol=1e-10)
    assert stream.t_ == whole.t_
    assert stream.chunks_ == 6
    assert not hasattr(stream, "certificate_")


def test_a_stream_in_the_order_given_makes_the_seasons_of_sgd():
    X, y = data(120)
    options = {"order": "given", "steps_per_season": 8, "schedule": (0.5, 1.0), "average": False}
    whole, stream = SGDSVC(0.01, max_iter=15, **options).fit(X, y), SGDSVC(0.01, **options)
    for rows, labels in chunks(X, y, 20):
        stream.partial_fit(rows, labels, classes=[0, 1])
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-10)
    assert stream.t_ == whole.t_ == 120


def test_a_stream_in_the_order_given_is_one_pass_of_the_perceptron():
    X, y = data(120, noise=0.1)
    stream = Perceptron(shuffle=False)
    for rows, labels in chunks(X, y, 20):
        stream.partial_fit(rows, labels, classes=[0, 1])
    with pytest.warns(ConvergenceWarning):
        whole = Perceptron(shuffle=False, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    np.testing.assert_array_equal(stream.mistakes_, whole.mistakes_)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("scale", [False, True])
def test_streams_learn(machine, scale):
    X, y = data(5000, noise=0.1, classes=3)
    model = machine(scale=scale)
    if machine is not Perceptron:
        model.set_params(fit_intercept=True)
    for _ in range(3):
        for rows, labels in chunks(X, y, 500):
            model.partial_fit(rows, labels, classes=[0, 1, 2])
    outer = np.isin(y, [0, 2])  # the class in the middle is not linear against the rest
    assert (model.predict(X[outer]) == y[outer]).mean() > 0.8
    assert model.chunks_ == 30


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", MACHINES)
def test_a_stream_may_follow_a_fit(machine):
    X, y = data(200, noise=0.0)
    model = machine().fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X, y)
    assert np.corrcoef(model.coef_[0], before[0])[0, 1] > 0.95
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_bad_chunk_is_named_and_leaves_the_model_as_it_was(machine):
    X, y = data(60)
    model = machine()
    with pytest.raises(ValueError, match=r"chunk 1 .*classes must be passed"):
        model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")
    model.partial_fit(X, y, classes=[0, 1]).partial_fit(X, y)
    before = state_of(model)
    missing = X.copy()
    missing[3, 1] = np.nan
    for bad, labels, message in [
        (X[:, :3], y, "chunk 3 .*3 features.*expecting 4 features"),
        (missing, y, "chunk 3 .*NaN"),
        (X, y + 1, r"chunk 3 .*not among \[0, 1\]: \[2\]"),
        (X, y[:-1], "chunk 3 .*60 samples, but y has 59"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad, labels)
        assert state_of(model) == before
    with pytest.raises(ValueError, match=r"chunk 3 .*not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="The model is as it was before"):
        model.partial_fit(X[:, :2], y)
    assert state_of(model) == before
    model.partial_fit(X, y)
    assert model.chunks_ == 3


@pytest.mark.parametrize("machine", STOCHASTIC)
def test_balanced_classes_need_all_rows(machine):
    X, y = data()
    with pytest.raises(ValueError, match="balanced"):
        machine(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    heavy = machine(0.1, class_weight={0: 1.0, 1: 50.0}, fit_intercept=True).partial_fit(X, y, classes=[0, 1])
    plain = machine(0.1, fit_intercept=True).partial_fit(X, y, classes=[0, 1])
    assert (heavy.predict(X) == 1).sum() > (plain.predict(X) == 1).sum()


def streamed(machine, path):
    """(model, peak of memory in bytes) after a stream of chunks of 500 rows."""
    model = machine()
    tracemalloc.start()
    for rows, labels in read_chunks(path, rows=500, n_features=10):
        model.partial_fit(rows, labels, classes=[0, 1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return model, peak


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_does_not_grow_with_the_file(machine, tmp_path):
    X, y = data(1000, d=10, noise=0.1)
    lines = [f"{t} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)) for x, t in zip(X, y, strict=True)]
    short, long = tmp_path / "short.svm", tmp_path / "long.svm"
    short.write_text("\n".join(4 * lines + [""]))
    long.write_text("\n".join(20 * lines + [""]))
    machine().partial_fit(sp.csr_array(X[:50], dtype=np.float32), y[:50], classes=[0, 1])  # compiles
    few, peak = streamed(machine, short)
    many, larger = streamed(machine, long)
    assert (few.chunks_, many.chunks_) == (8, 40)
    assert long.stat().st_size > 3 * larger
    assert larger < 1.2 * peak
    assert many.score(X, y) > 0.9


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PegasosSVC(lam=0.0), "lam"),
        (PegasosSVC(offset=-1.0), "offset"),
        (PegasosSVC(order="random"), "order"),
        (PegasosSVC(batch_size=0), "batch_size"),
        (SGDSVC(schedule=(0.0, 1.0)), "schedule must be 'auto' or two numbers"),
        (SGDSVC(schedule=(1.0,)), "schedule must be 'auto' or two numbers"),
        (SGDSVC(schedule=(1.0, -1.0)), "l > -1"),
        (SGDSVC(patience=3, validation_fraction=0.0), "holds none out"),
        (SGDSVC(patience=3, validation_fraction=0.99), "without any"),
        (Perceptron(max_iter=0), "max_iter"),
    ],
)
def test_errors_say_what_was_wrong(model, message):
    X, y = data(30)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


@pytest.mark.filterwarnings("ignore:overflow|invalid:RuntimeWarning")
def test_steps_that_overflow_are_an_error():
    X, y = data(30)
    with pytest.raises(ValueError, match="no longer finite"):
        SGDSVC(schedule=(1e300, 1.0)).fit(1e10 * X, y)
