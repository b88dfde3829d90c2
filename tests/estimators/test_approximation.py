"""SVC on landmarks: the reduced problem is solved, the full one certified, the exact solver started from it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import maxmargin.estimators._approximation as approximation
from maxmargin import SVC, LinearSVC, certify, inspection
from maxmargin.backends import backend_for
from maxmargin.kernels import Gaussian, Linear, Polynomial
from maxmargin.maps import MappedDesign, NystroemMap
from maxmargin.solvers import semismooth
from tests.laws import examples


def moons(n=300, noise=0.3, seed=0):
    X, y = make_moons(n, noise=noise, random_state=seed)
    return X, y


def reduced(**parameters):
    return SVC(**{"approximation": "nystroem", "n_components": 25, "gap_tol": 1e-8, "gamma": 1.0, **parameters})


def test_is_the_linear_machine_on_nystroem_features():
    X, y = moons()
    model = reduced(C=2.0).fit(X, y)
    features = NystroemMap(Gaussian(gamma=1.0), n_components=25).fit(X)
    linear = LinearSVC(loss="hinge", C=2.0, tol=1e-9).fit(features.transform(X), y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(features.transform(X)), atol=1e-4)
    assert model.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-7)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap < 1e-8


def test_certificate_of_the_full_problem_is_true():
    """The optimum of the full problem lies between its dual and its primal value."""
    X, y = moons()
    exact = SVC(C=2.0, gamma=1.0, gap_tol=1e-10).fit(X, y).certificate_
    gaps = []
    for count in (3, 10, 40, 300):
        model = reduced(C=2.0, n_components=count).fit(X, y)
        full = certify(model, X, y)
        assert full.holds
        assert full.dual <= exact.primal * (1 + 1e-9)
        assert full.primal >= exact.dual * (1 - 1e-9)
        assert full.gap == pytest.approx(full.primal - full.dual, rel=1e-6, abs=1e-7)
        # the reduced primal is the full one: f is the same function
        assert full.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
        assert full.dual <= model.certificate_.dual * (1 + 1e-9)
        gaps.append(full.relative_gap)
    assert gaps[0] > 1e-2
    assert gaps[-1] < 1e-7
    assert sorted(gaps, reverse=True) == gaps


def test_full_certificate_on_request():
    X, y = moons()
    model = reduced(certify="full").fit(X, y)
    assert model.certificate_ == certify(model, X, y)
    assert not hasattr(reduced(certify=False).fit(X, y), "certificate_")


def test_all_rows_as_landmarks_is_the_exact_machine():
    X, y = moons()
    model = reduced(n_components=1000).fit(X, y)
    exact = SVC(gamma=1.0, gap_tol=1e-10).fit(X, y)
    # ||w - w*||^2 <= 2 gap bounds the scores' difference by 1.2e-3
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-8)


def test_the_exact_solver_starts_from_it():
    X, y = make_moons(2500, noise=0.3, random_state=0)
    cold = SVC(gamma=1.0).fit(X, y)
    model = SVC(gamma=1.0, approximation="nystroem", n_components=100, gap_tol=1e-5, warm_start=True).fit(X, y)
    warm = model.set_params(approximation=None, gap_tol=None).fit(X, y)
    assert not hasattr(warm, "landmark_coef_")
    assert warm.n_iter_[0] < cold.n_iter_[0] / 4
    assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-4)


def test_warm_start_goes_on():
    X, y = moons()
    model = reduced(warm_start=True).fit(X, y)
    first = model.n_iter_[0]
    assert model.fit(X, y).n_iter_[0] < first
    # from the exact machine's dual variables too
    model.set_params(approximation=None).fit(X, y)
    assert model.set_params(approximation="nystroem").fit(X, y).certificate_.relative_gap < 1e-8


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "code"])
def test_many_classes(multiclass):
    X, y = load_iris(return_X_y=True)
    model = reduced(multiclass=multiclass, n_components=60, C=10.0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.certificate_.holds
    assert model.certificate_.relative_gap < 1e-7
    assert model.landmark_coef_.shape == (len(model.intercept_), 60)
    assert model.decision_function(X).shape == (150, 3)
    full = certify(model, X, y)
    assert full.holds
    assert full.relative_gap >= model.certificate_.relative_gap


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "venn-abers"])
def test_probabilities(calibration):
    X, y = moons(400)
    model = reduced(calibration=calibration, gap_tol=1e-4).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert ((p[:, 1] > 0.5) == (model.predict(X) == 1)).all()
    assert np.mean(p[np.arange(400), y]) > 0.75
    sets = model.predict_set(X, coverage=0.9)
    assert np.mean(sets[np.arange(400), y]) >= 0.88


def test_folds_leave_their_rows_out():
    """A fold's machine is the machine fitted on the other rows, with the same landmarks."""
    X, y = moons(120)
    model = reduced(calibration="sigmoid", gap_tol=1e-9).fit(X, y)
    number, rows = model.folds_.number, model.landmarks_
    features = NystroemMap(Gaussian(gamma=1.0), n_components=25).fit(X)
    np.testing.assert_array_equal(features.component_indices_, rows)
    train = number != 0
    linear = LinearSVC(loss="hinge", tol=1e-10).fit(features.transform(X[train]), y[train])
    np.testing.assert_allclose(
        model._fold_scores(X)[0].ravel(), linear.decision_function(features.transform(X)), atol=1e-3
    )


def test_weights_equal_repetition():
    """Landmarks too are drawn in proportion to weights, by the rows' values."""
    X, y = moons(80)
    weight = np.random.default_rng(0).integers(0, 3, 80)
    one = reduced().fit(X, y, sample_weight=weight)
    other = reduced().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)
    assert certify(one, X, y, sample_weight=weight).holds


def test_class_weights_and_no_intercept():
    X, y = moons()
    model = reduced(class_weight={0: 0.0, 1: 1.0}).fit(X, y)
    assert (model.predict(X) == 1).all()
    free = reduced(fit_intercept=False).fit(X, y)
    assert free.intercept_[0] == 0
    assert free.certificate_.holds
    heavy = reduced(class_weight={0: 10.0}).fit(X, y)
    assert (heavy.predict(X) == 0).mean() > (reduced().fit(X, y).predict(X) == 0).mean()


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2, coef0=1.0), Gaussian(gamma=0.5) + Linear(), Gaussian(gamma=1.0) * Gaussian(gamma=0.2)],
)
def test_any_kernel(kernel):
    X, y = moons()
    model = SVC(kernel=kernel, approximation="nystroem", n_components=300, gap_tol=1e-8)
    model.fit(X, y)
    exact = SVC(kernel=kernel, gap_tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    if isinstance(kernel, Linear):
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-4)


def test_every_kind_of_rows():
    X, y = moons()
    dense = reduced().fit(X, y)
    f = dense.decision_function(X)
    sparse = reduced().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), f, atol=1e-5)
    K = rbf_kernel(X, gamma=1.0)
    given_matrix = reduced(kernel="precomputed", n_components=300).fit(K, y)  # other rows would be drawn
    exact = SVC(gamma=1.0, gap_tol=1e-10).fit(X, y)
    np.testing.assert_allclose(given_matrix.decision_function(K), exact.decision_function(X), atol=1e-5)
    assert certify(given_matrix, K, y).relative_gap < 1e-7
    function = reduced(kernel=lambda A, B: rbf_kernel(A, B, gamma=1.0)).fit(X, y)
    np.testing.assert_allclose(function.decision_function(X), f, atol=1e-5)
    single = reduced(gap_tol=1e-5, n_components=300).fit(X.astype(np.float32), y)
    assert single.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=1e-4)
    for model, rows in ((sparse, sp.csr_array(X)), (function, X)):
        assert certify(model, rows, y).primal == pytest.approx(certify(dense, X, y).primal, rel=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_streamed_features_give_the_same_model(dtype, monkeypatch):
    X, y = make_moons(900, noise=0.3, random_state=0)
    X = X.astype(dtype)
    goal = 1e-8 if dtype == np.float64 else 1e-4
    stored = reduced(gap_tol=goal).fit(X, y)
    monkeypatch.setattr(approximation, "STORED_BYTES", 0)
    streamed = reduced(gap_tol=goal).fit(X, y)
    assert streamed.certificate_.relative_gap < 2 * goal
    assert streamed.certificate_.primal == pytest.approx(stored.certificate_.primal, rel=2 * goal)
    three, classes = load_iris(return_X_y=True)
    model = reduced(gap_tol=goal, multiclass="ovo", calibration="sigmoid").fit(three.astype(dtype), classes)
    assert model.score(three, classes) > 0.9


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_mapped_design_is_the_map(dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)).astype(dtype)
    fitted = NystroemMap("rbf", n_components=30).fit(X)
    lazy, eager = MappedDesign(fitted, X, 2), backend_for("cpu").design(fitted.transform(X))
    tol = {"rtol": 1e-8, "atol": 1e-8} if dtype == np.float64 else {"rtol": 1e-3, "atol": 2e-3}
    w, beta, weight = rng.standard_normal(30), rng.standard_normal(500), rng.random(500) * (rng.random(500) < 0.5)
    np.testing.assert_allclose(lazy.scores(w), eager.scores(w), **tol)
    np.testing.assert_allclose(lazy.combine(beta), eager.combine(beta), **tol)
    np.testing.assert_allclose(lazy.curvature(weight), eager.curvature(weight), **tol)
    index = rng.permutation(500)[:50]
    np.testing.assert_allclose(lazy.take(index).scores(w), eager.scores(w)[index], **tol)
    np.testing.assert_allclose(lazy.matrix, eager.matrix, **tol)


def test_sampled_hessians_reach_the_same_optimum(monkeypatch):
    X, y = make_moons(4000, noise=0.3, random_state=0)
    monkeypatch.setattr(semismooth, "SAMPLED_COLUMNS", 1)
    monkeypatch.setattr(semismooth, "SAMPLED_ROWS", 4)
    sampled = reduced(gap_tol=1e-6).fit(X, y)
    assert sampled.certificate_.relative_gap <= 1e-6
    assert sampled.fit_status_ == 0


@examples(15)
@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.05, 20.0), st.floats(0.1, 5.0), st.booleans())
def test_laws(seed, count, C, gamma, bias):
    """Whatever the landmarks: reduced gap <= full gap, and the exact optimum is between the full bounds."""
    X, y = make_moons(40, noise=0.4, random_state=seed)
    model = SVC(
        C=C, gamma=gamma, approximation="nystroem", n_components=count, gap_tol=1e-6, fit_intercept=bias,
        random_state=seed,
    ).fit(X, y)  # fmt: skip
    exact = SVC(C=C, gamma=gamma, gap_tol=1e-9, fit_intercept=bias).fit(X, y).certificate_
    full = certify(model, X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert full.gap >= model.certificate_.gap - 1e-9 * abs(full.primal)
    assert full.dual - 1e-7 * abs(full.primal) <= exact.primal <= full.primal * (1 + 1e-7)


def test_inspection():
    """Scores are explained by landmarks; what is about the full optimum is refused."""
    X, y = moons()
    model = reduced().fit(X, y)
    assert inspection.margins(model, X, y).geometric.shape == (300,)
    with pytest.raises(TypeError, match="landmarks is not at"):
        inspection.status(model, X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": np.inf}, "finite C"),
        ({"multiclass": "crammer-singer"}, "two-class tasks"),
        ({"solver": "interior-point"}, "solvers of its own"),
        ({"n_components": 0}, "n_components"),
        ({"n_components": 2.5}, "n_components"),
        ({"approximation": "fourier"}, "approximation"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = moons(40)
    model = reduced().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**parameters).fit(X, y)
    model.set_params(**reduced().get_params())
    np.testing.assert_array_equal(model.predict(X), before)  # nothing was lost


def test_singular_and_degenerate_rows():
    X, y = moons(60)
    copies = np.vstack([X, X, X])
    model = reduced(n_components=150).fit(copies, np.tile(y, 3))  # only 60 rows are different
    assert model.certificate_.holds
    assert len(model.landmarks_) <= 60
    with pytest.raises(ValueError, match="nothing to map"):
        SVC(kernel="linear", approximation="nystroem").fit(np.zeros((20, 2)), np.arange(20) % 2)
    with pytest.raises(ValueError, match="scale the features"):
        SVC(kernel="poly", degree=50, gamma=1.0, approximation="nystroem").fit(1e30 * X, y)


def test_time_limit_gives_a_usable_model():
    X, y = load_digits(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model = reduced(time_limit=1e-3, n_components=200, multiclass="ovr").fit(X, y)
    assert model.fit_status_ == 1
    assert model.certificate_.holds
    assert clone(model).get_params()["approximation"] == "nystroem"


def test_certify_wants_the_training_rows():
    X, y = moons()
    model = reduced().fit(X, y)
    with pytest.raises(ValueError, match="training data"):
        certify(model, X[:20], y[:20])
