"""KernelPegasosSVC and KernelPerceptron: every step against plain NumPy, budgets, streams, certificates, errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import SVC, KernelPegasosSVC, KernelPerceptron, PegasosSVC, Perceptron, certify
from maxmargin.backends import backend_for
from maxmargin.backends._numba import expansion
from maxmargin.kernels import Gaussian
from maxmargin.solvers.stochastic import Visits
from tests.laws import examples

MACHINES = [KernelPegasosSVC, KernelPerceptron]
MAINTENANCE = ["merge", "project", "remove"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n=60, d=3, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


# -- the steps, by plain NumPy -------------------------------------------------------------------------------------


def plain_steps(K, sign, visits, lam, batch=1, first=0, bias=False):
    """All (coefficients, b, t) of Pegasos with a kernel, written as the paper has them."""
    coef, b, t, iterates = np.zeros(len(K)), 0.0, first, []
    for line in visits:
        for start in range(0, len(line), batch):
            rows = line[start : start + batch]
            t += 1
            broken = rows[sign[rows] * (K[rows] @ coef + b) < 1]
            coef = (1 - 1 / t) * coef
            np.add.at(coef, broken, sign[broken] / (lam * t * len(rows)))
            b += sign[broken].sum() / (lam * t * len(rows)) if bias else 0.0
            iterates.append((coef, b, t))
    return iterates


def visits_of(model, X, passes):
    order, _ = model._row_order(X, np.arange(len(X)), len(X))
    visits = Visits(backend_for("cpu"), np.arange(len(X)), np.ones(len(X)), model.order, model.random_state)
    return order[visits.take(passes)]


@pytest.mark.parametrize("order", ["shuffle", "draw", "given"])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 7, "fit_intercept": True}, {"offset": 25.0, "cache_size": 0.01}]
)
def test_pegasos_makes_the_steps_of_the_paper(order, average, options):
    X, y = data()
    lam, passes, gamma = 0.02, 6, 0.7
    model = KernelPegasosSVC(
        lam, gamma=gamma, max_iter=passes, order=order, average=average, random_state=3, **{"offset": 0.0, **options}
    ).fit(X, y)
    iterates = plain_steps(
        rbf_kernel(X, gamma=gamma), np.where(y == 1, 1.0, -1.0), visits_of(model, X, passes), lam,
        options.get("batch_size", 1), options.get("offset", 0.0), options.get("fit_intercept", False),
    )  # fmt: skip
    last = iterates[-len(iterates) // passes :] if average else iterates[-1:]
    weights = np.array([t for _, _, t in last])
    coef = weights @ np.array([c for c, _, _ in last]) / weights.sum()
    found = np.zeros(len(y))
    found[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(found, coef, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_[0], weights @ [b for _, b, _ in last] / weights.sum(), atol=1e-12)
    assert model.t_ == options.get("offset", 0.0) + len(iterates)
    assert model.history_["iteration"].tolist() == list(range(1, passes + 1))


def test_published_first_steps_count_violations():
    X, y = data()
    model = KernelPegasosSVC(0.01, offset=0.0, average=False, max_iter=5, random_state=0).fit(X, y)
    counts = model.dual_coef_[0] * 0.01 * model.t_ * np.where(y[model.support_] == 1, 1, -1)
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert counts.min() > 0.5
    assert round(counts.sum()) == model.history_["violations"].sum()


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 60),
    classes=st.integers(2, 3),
    scheme=st.sampled_from(["ovr", "ovo"]),
    bias=st.booleans(),
    batch=st.integers(1, 5),
    size=st.sampled_from([1e-4, "auto"]),
)
@examples(25)
def test_a_linear_kernel_makes_the_linear_machines(seed, n, classes, scheme, bias, batch, size):
    X, y = data(n, classes=classes, seed=seed)
    common = {"multiclass": scheme, "fit_intercept": bias, "random_state": seed % 7, "max_iter": 4}
    own = {"batch_size": batch, "offset": 20.0}
    linear = PegasosSVC(0.05, **own, **common).fit(X, y)
    kernel = KernelPegasosSVC(0.05, kernel="linear", cache_size=size, **own, **common).fit(X, y)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), rtol=1e-7, atol=1e-9)
    assert kernel.t_ == linear.t_
    linear = Perceptron(**common).fit(X, y)
    kernel = KernelPerceptron(kernel="linear", cache_size=size, **common).fit(X, y)
    np.testing.assert_array_equal(kernel.mistakes_, linear.mistakes_)
    np.testing.assert_allclose(kernel.decision_function(X), linear.decision_function(X), rtol=1e-7, atol=1e-9)


def test_a_perceptron_ends_after_a_pass_without_mistakes_and_keeps_the_bound():
    X, y = make_circles(150, noise=0.05, factor=0.5, random_state=0)
    model = KernelPerceptron(bound=True, random_state=1).fit(X, y)
    assert model.history_["violations"][-1] == 0
    assert (model.history_["violations"][:-1] > 0).all()
    assert model.mistakes_[0] == model.history_["violations"].sum() == np.abs(model.dual_coef_).sum()
    assert model.mistakes_[0] <= model.mistake_bound_[0] < np.inf
    np.testing.assert_allclose(model.mistake_bound(X, y), model.mistake_bound_)
    gram = KernelPerceptron(kernel="precomputed", bound=True, random_state=1).fit(model.kernel_(X), y)
    np.testing.assert_allclose(gram.mistake_bound_, model.mistake_bound_, rtol=1e-4)
    flipped = y.copy()
    flipped[0] = 1 - y[0]
    both, labels = np.concatenate([X, X[:1]]), np.append(flipped, y[0])
    assert KernelPerceptron(bound=True, max_iter=2).fit(both, labels).mistake_bound_[0] == np.inf


def test_the_linear_bound_is_perceptrons():
    X, y = load_iris(return_X_y=True)
    ours, theirs = (m.fit(X, y == 0) for m in (KernelPerceptron(kernel="linear", bound=True), Perceptron(bound=True)))
    np.testing.assert_allclose(ours.mistake_bound_, theirs.mistake_bound_, rtol=1e-4)


def test_mistakes_that_do_not_end_are_told():
    X, y = data(40)
    y[:10] = 1 - y[:10]
    with pytest.warns(ConvergenceWarning, match="still made mistakes in their last pass"):
        KernelPerceptron(kernel="linear", max_iter=3).fit(X, y)


# -- budgets -------------------------------------------------------------------------------------------------------


@given(
    machine=st.sampled_from(MACHINES),
    maintenance=st.sampled_from(MAINTENANCE),
    budget=st.integers(1, 12),
    seed=st.integers(0, 10**6),
    chunks=st.integers(1, 3),
)
@examples(40)
def test_a_budget_is_kept_at_all_times(machine, maintenance, budget, seed, chunks):
    X, y = data(50, seed=seed, classes=3)
    model = machine(budget=budget, maintenance=maintenance, random_state=0, max_iter=3)
    assert model.fit(X, y).history_["vectors"].max() <= budget
    assert (model.n_vectors_ <= budget).all()
    assert np.count_nonzero(model.dual_coef_, axis=1).max() <= budget
    stream = clone(model)
    for part in np.array_split(np.arange(50), chunks):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
        assert (stream.n_vectors_ <= budget).all()
    assert np.isfinite(stream.decision_function(X)).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_a_budget_that_is_never_reached_changes_nothing(machine, maintenance):
    X, y = data(40)
    free, bounded = (
        machine(budget=b, maintenance=maintenance, max_iter=5, random_state=1).fit(X, y) for b in (None, 40)
    )
    np.testing.assert_allclose(bounded.decision_function(X), free.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("maintenance", "kernel"),
    [("merge", "rbf"), ("project", "rbf"), ("project", "poly"), ("remove", "rbf"), ("remove", "poly")],
)
def test_scores_are_up_to_date_after_every_block(maintenance, kernel, monkeypatch):
    seen = []

    def watched(self, kept, block, state, *options):
        """The compiled steps, with what they leave behind written down."""
        count = expansion.budget_steps(kept, block, state, *options)
        seen.append((kept.coef[:, 0].copy(), kept.own.copy(), kept.vectors.copy(), block.row, block.g, count))
        return count

    monkeypatch.setattr(type(backend_for("cpu")), "budget_steps", watched)
    X, y = data(600)
    options = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "max_iter": 2, "random_state": 0}
    model = KernelPegasosSVC(0.01, budget=15, maintenance=maintenance, **options).fit(X, y)
    assert len(seen) == 6
    for coef, own, vectors, row, g, count in seen:
        rows = vectors if maintenance == "merge" else X[own]
        np.testing.assert_allclose(coef @ model.kernel_(rows, X[row]), g, rtol=1e-6, atol=1e-6)
        assert count > 0


@pytest.mark.parametrize(("maintenance", "least"), [("merge", 0.98), ("project", 0.98), ("remove", 0.9)])
def test_few_vectors_are_enough(maintenance, least):
    X, y = make_moons(600, noise=0.1, random_state=0)
    model = KernelPegasosSVC(1e-3, gamma=2.0, budget=30, maintenance=maintenance, max_iter=20, random_state=0).fit(X, y)
    assert model.score(X, y) >= least
    assert len(model.support_vectors_) == 30
    assert model.support_.min() >= 0 or maintenance == "merge"


@given(a=st.floats(0.01, 1.0), b=st.floats(1.0, 10.0), L=st.floats(-6.0, -1e-3))
@examples(50)
def test_the_merged_point_is_the_best_on_the_line(a, b, L):
    h = expansion.best_share(a, b, L)
    on_the_line = [expansion.merged_weight(a, b, L, share) for share in np.linspace(0, 1, 201)]
    assert expansion.merged_weight(a, b, L, h) >= max(on_the_line) * (1 - 1e-9)


def test_a_projection_onto_all_others_is_the_least_squares_one():
    X, y = data(12)
    K = rbf_kernel(X, gamma=0.5)
    model = KernelPegasosSVC(
        0.1, gamma=0.5, budget=11, maintenance="project", batch_size=12, max_iter=1, order="given", average=False,
        offset=0.0,
    ).fit(X, y)  # fmt: skip
    sign = np.where(y == 1, 1.0, -1.0)
    away = ({*range(12)} - {*model.support_.tolist()}).pop()
    rest = np.delete(np.arange(12), away)
    expected = sign[rest] + np.linalg.solve(K[np.ix_(rest, rest)], K[rest, away]) * sign[away]
    found = np.zeros(12)
    found[model.support_] = model.dual_coef_[0] * 0.1 * 12
    np.testing.assert_allclose(K @ found, K[:, rest] @ expected, rtol=1e-5, atol=1e-6)


# -- weights, copies, seeds ----------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), budget=st.sampled_from([None, 8]), shuffled=st.booleans())
@examples(15)
def test_weights_are_copies_and_the_order_of_rows_is_none(seed, budget, shuffled):
    X, y = data(30, seed=seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, 30)
    weight[[np.argmin(y), np.argmax(y)]] = 1
    copies = np.repeat(np.arange(30), weight)
    copies = rng.permutation(copies) if shuffled else copies
    model = KernelPegasosSVC(0.02, gamma=0.6, budget=budget, max_iter=5, random_state=2)
    weighted, repeated = clone(model).fit(X, y, weight), clone(model).fit(X[copies], y[copies])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-5, atol=1e-6)


def test_fractions_decide_how_often_a_row_is_visited():
    X, y = data(60)
    weight = np.where(y == 1, 0.25, 2.5)
    plain, weighted = (KernelPegasosSVC(0.05, random_state=0).fit(X, y, w) for w in (None, weight))
    assert (weighted.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    assert weighted.certificate_.holds


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("options", [{}, {"budget": 10}, {"multiclass": "ovo", "n_jobs": 2}])
def test_equal_seeds_make_equal_models(machine, options):
    X, y = data(80, classes=3)
    one, same, other = (
        machine(max_iter=3, random_state=s, **options).fit(X, y).decision_function(X) for s in (5, 5, 6)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("budget", [None, 7])
def test_dense_sparse_and_precomputed_rows_give_one_model(machine, budget):
    X, y = data(60, d=6)
    X[np.abs(X) < 0.8] = 0.0
    K = Gaussian(0.4)(X)
    model = machine(gamma=0.4, budget=budget, maintenance="project", max_iter=4, random_state=0)
    scores = clone(model).fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        clone(model).fit(sp.csr_array(X), y).decision_function(sp.csr_array(X)), scores, rtol=1e-6
    )
    if machine is KernelPerceptron:  # precomputed rows have no values to be put in order by
        gram = clone(model).set_params(kernel="precomputed").fit(K, y)
        np.testing.assert_allclose(gram.decision_function(K), scores, rtol=1e-6)


# -- streams -------------------------------------------------------------------------------------------------------


@given(
    machine=st.sampled_from(MACHINES),
    budget=st.sampled_from([None, 9]),
    classes=st.integers(2, 3),
    seed=st.integers(0, 10**6),
)
@examples(15)
def test_one_chunk_is_the_first_pass(machine, budget, classes, seed):
    X, y = data(45, classes=classes, seed=seed)
    model = machine(budget=budget, max_iter=1, random_state=seed % 5)
    fitted, streamed = clone(model).fit(X, y), clone(model).partial_fit(X, y, classes=np.arange(classes))
    np.testing.assert_allclose(streamed.decision_function(X), fitted.decision_function(X), rtol=1e-7, atol=1e-9)
    assert (streamed.chunks_, streamed.n_iter_) == (1, 1)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{}, {"budget": 25}, {"budget": 25, "maintenance": "project"}])
def test_a_stream_learns_and_rows_seen_again_are_not_kept_twice(sparse, options):
    X, y = make_moons(300, noise=0.1, random_state=0)
    rows = sp.csr_array(X) if sparse else X
    model = KernelPegasosSVC(1e-3, gamma=2.0, random_state=0, **options)
    for _ in range(8):
        for part in np.array_split(np.arange(300), 3):
            model.partial_fit(rows[part], y[part], classes=[0, 1])
    assert model.score(rows, y) > 0.97
    assert len(model.dual_coef_[0]) <= options.get("budget", 300)
    assert model.chunks_ == 24
    assert not hasattr(model, "certificate_")
    again = pickle.loads(pickle.dumps(model)).partial_fit(rows[:50], y[:50])
    np.testing.assert_array_equal(model.partial_fit(rows[:50], y[:50]).dual_coef_, again.dual_coef_)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_stream_goes_on_from_a_fit(machine):
    X, y = data(60)
    model = machine(max_iter=3, random_state=0).fit(X, y)
    before = model.t_
    assert model.partial_fit(X[:20], y[:20]).t_ == before + 20
    assert model.n_iter_ > 1


@pytest.mark.parametrize("machine", MACHINES)
def test_a_chunk_that_is_refused_changes_nothing(machine):
    X, y = data(40)
    model = machine(random_state=0).partial_fit(X, y, classes=[0, 1])
    before = pickle.dumps(model)
    for rows, labels, message in [
        (X[:, :2], y, "chunk 2 .*features"),
        (np.full_like(X, np.nan), y, "chunk 2 .*NaN"),
        (X, y + 5, "chunk 2 .*not among"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, labels)
        assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        machine().partial_fit(X, y)


# -- certificates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"fit_intercept": True}, {"order": "draw"}, {"multiclass": "ovo"}])
def test_the_certificate_bounds_the_distance_to_the_optimum(options):
    X, y = data(90, classes=3)
    model = KernelPegasosSVC(1e-2, gamma=0.5, random_state=0, **options).fit(X, y)
    scheme, bias = options.get("multiclass", "ovr"), options.get("fit_intercept", False)
    exact = SVC(C=model.C_[0], gamma=0.5, fit_intercept=bias, multiclass=scheme, gap_tol=1e-8).fit(X, y)
    for ours, best in zip(model.certificates_, exact.certificates_, strict=True):
        assert ours.holds
        assert ours.primal - ours.gap <= best.primal * (1 + 1e-6)
        assert ours.dual <= best.primal * (1 + 1e-6)
        assert ours.relative_gap < 0.5
    assert (
        model.certificate_.gap == max(c.gap for c in model.certificates_) or model.certificate_ in model.certificates_
    )
    longer = clone(model).set_params(max_iter=5000).fit(X, y)
    assert longer.certificate_.relative_gap < model.certificate_.relative_gap


def test_there_is_none_where_none_was_asked_for():
    X, y = data(40)
    assert not hasattr(KernelPegasosSVC(certify=False, max_iter=2).fit(X, y), "certificate_")
    assert not hasattr(KernelPegasosSVC(budget=5, max_iter=2).fit(X, y), "certificate_")


# -- everything else -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("budget", [None, 12])
def test_probabilities_and_sets(machine, budget):
    X, y = data(90, classes=3)
    model = machine(calibration="sigmoid", budget=budget, max_iter=5, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), np.argmax(p, axis=1))
    assert model.predict_set(X, 0.9)[np.arange(90), y].mean() > 0.7


@pytest.mark.parametrize("machine", MACHINES)
def test_many_classes_by_code_words_and_names_of_columns(machine):
    X, y = data(60, classes=3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = machine(multiclass="code", calibration="sigmoid", max_iter=3).fit(frame, y)
    assert sum(model.fired_) == 60
    with pytest.raises(ValueError, match="has no multiclass='crammer-singer'"):
        machine(multiclass="crammer-singer").fit(X, y)


def test_class_weights_move_the_boundary_and_may_leave_a_class_out():
    X, y = data(60)
    plain, heavy = (KernelPegasosSVC(0.05, class_weight=w, random_state=0).fit(X, y) for w in (None, {0: 10.0}))
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    with pytest.raises(ValueError, match="leaves no row any weight"):
        KernelPegasosSVC(class_weight={0: 0.0, 1: 0.0}).fit(X, y)


def test_a_function_of_anything_is_a_kernel():
    words = ["aa", "ab", "aab", "bb", "bba", "bbb"]

    def common(A, B):
        return np.array([[sum(min(a.count(c), b.count(c)) for c in "ab") for b in B] for a in A], dtype=float)

    for machine in (KernelPegasosSVC(max_iter=50), KernelPerceptron()):
        assert machine.set_params(kernel=common).fit(words, [0, 0, 0, 1, 1, 1]).score(words, [0, 0, 0, 1, 1, 1]) == 1.0


@pytest.mark.parametrize("budget", [None, 20])
def test_a_time_limit_ends_a_fit_with_a_model(budget):
    X, y = data(200)
    model = KernelPegasosSVC(budget=budget, max_iter=10**6, time_limit=0.05).fit(X, y)
    assert model.n_iter_ < 10**6
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize(
    ("machine", "options", "message"),
    [
        (
            KernelPegasosSVC,
            {"kernel": "linear", "budget": 5},
            "known for the Gaussian kernel only.*maintenance='project'",
        ),
        (KernelPerceptron, {"kernel": Gaussian(1.0) + 1.0, "budget": 5}, "known for the Gaussian kernel only"),
        (KernelPegasosSVC, {"budget": 10**5}, "more than the .* MB of cache_size; raise cache_size"),
        (KernelPegasosSVC, {"budget": 0}, "The 'budget' parameter"),
        (KernelPegasosSVC, {"lam": 0.0}, "The 'lam' parameter"),
        (KernelPerceptron, {"maintenance": "forget"}, "The 'maintenance' parameter"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(machine, options, message):
    X, y = data(20)
    model = machine(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_")


def test_what_a_stream_cannot_do_is_refused():
    X, y = data(20)
    with pytest.raises(AttributeError, match="partial_fit") as refused:
        KernelPegasosSVC(kernel="precomputed").partial_fit(X @ X.T, y, classes=[0, 1])
    assert "one fixed set of rows only" in str(refused.value.__cause__)
    model = KernelPegasosSVC(budget=10).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="more than budget=3; raise the budget"):
        model.set_params(budget=3).partial_fit(X, y)
    wide = sp.csr_array((20, 10**8))
    with pytest.raises(ValueError, match="keeps dense vectors"):
        KernelPegasosSVC(gamma=1.0, budget=10).fit(wide, y)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code"])
def test_certify_finds_the_certificate_of_the_fit(multiclass, bias):
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = KernelPegasosSVC(lam=1e-2, multiclass=multiclass, fit_intercept=bias, class_weight={0: 2.0})
    model.fit(X, y, sample_weight=weight)
    found = certify(model, X, y, sample_weight=weight)
    assert found.gap == pytest.approx(model.certificate_.gap, rel=1e-9)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert found.holds


def test_certify_refuses_vectors_that_are_no_rows():
    X, y = load_iris(return_X_y=True)
    for model in (
        KernelPegasosSVC(budget=5, random_state=0).fit(X, y),
        KernelPegasosSVC().partial_fit(X[::2], y[::2], classes=[0, 1, 2]).partial_fit(X[1::2], y[1::2]),
    ):
        with pytest.raises(ValueError, match="no dual point to judge"):
            certify(model, X, y)
