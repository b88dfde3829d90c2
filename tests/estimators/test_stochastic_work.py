"""What a stochastic fit costs, counted in rows: steps do not depend on n, samples only where they were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import SGDSVC, LinearClassifier, PegasosSVC, PegasosSVCCV, certify, io, regularization_path
from maxmargin.backends import Design, backend_for
from maxmargin.solvers import stochastic
from maxmargin.solvers.stochastic import Visits
from tests.laws import examples

STOCHASTIC = [PegasosSVC, SGDSVC]


def data(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


# -- the order of visits ------------------------------------------------------------------------------------------


@examples(60)
@given(
    st.integers(1, 30), st.sampled_from(["shuffle", "draw", "given"]), st.integers(0, 5),
    st.sampled_from(["ones", "whole", "any"]), st.lists(st.integers(0, 40), min_size=1, max_size=6),
)  # fmt: skip
def test_visits_in_pieces_are_the_visits_of_passes(n, order, seed, kind, pieces):
    rng = np.random.default_rng(seed)
    weight = {"ones": np.ones(n), "whole": rng.integers(1, 4, n).astype(float), "any": rng.uniform(0.1, 3.0, n)}[kind]
    rows = rng.permutation(n)

    def new():
        return Visits(backend_for("cpu"), rows, weight, order, seed)

    whole, parts = new(), new()
    passes = -(-sum(pieces) // whole.length) or 1
    expected = whole.take(passes)
    found = np.concatenate([parts.next(count)[0] for count in pieces])
    np.testing.assert_array_equal(found, expected.ravel()[: len(found)])
    if order != "draw" and kind != "any":  # every row as often as its weight says, in every pass
        for line in expected:
            np.testing.assert_array_equal(np.bincount(line, minlength=n), weight)
    if order == "shuffle" and kind == "any":
        share = whole.length / weight.sum()
        for line in expected:
            assert (np.abs(np.bincount(line, minlength=n) - share * weight) < 1 + 1e-9).all()


def test_every_order_of_a_shuffle_is_equally_likely():
    visits = Visits(backend_for("cpu"), np.arange(3), np.ones(3), "shuffle", 0)
    orders, counts = np.unique(visits.take(60_000), axis=0, return_counts=True)
    assert len(orders) == 6
    assert (np.abs(counts - 10_000) < 500).all()


@pytest.mark.parametrize("n", [1000, 100_000])
def test_a_visit_moves_two_rows_whatever_n(n):
    visits = Visits(backend_for("cpu"), np.arange(n), np.ones(n), "shuffle", 0)
    before = visits._pool.copy()
    visits.next(50)
    assert (visits._pool != before).sum() <= 100


def counted(monkeypatch, fit):
    """(visits made, values shuffled, rows multiplied with weights or dual variables) during ``fit()``."""
    work = {"visits": 0, "shuffled": 0, "rows": 0}
    advance, scores, combine = stochastic.Run.advance, Design.scores, Design.combine
    backend = type(backend_for("cpu"))
    shuffled = backend.shuffled

    def count(name, size, plain, *given):
        work[name] += size
        return plain(*given)

    with monkeypatch.context() as patch:
        patch.setattr(
            stochastic.Run,
            "advance",
            lambda self, v, *more, **named: count("visits", v.size, lambda: advance(self, v, *more, **named)),
        )
        patch.setattr(
            backend,
            "shuffled",
            lambda self, pool, place, out, seed: count("shuffled", len(out), shuffled, self, pool, place, out, seed),
        )
        patch.setattr(Design, "scores", lambda self, w: count("rows", self.n, scores, self, w))
        patch.setattr(Design, "combine", lambda self, b: count("rows", self.n, combine, self, b))  # fmt: skip
        model = fit()
    return model, work


@pytest.mark.parametrize("certify", [False, "sample", True])
def test_the_work_of_pegasos_is_that_of_its_steps(monkeypatch, certify):
    works = []
    for n in (500, 20_000):
        X, y = data(n)
        model, work = counted(monkeypatch, lambda X=X, y=y: PegasosSVC(1e-2, steps=300, batch_size=2,
                                                                       certify=certify).fit(X, y))  # fmt: skip
        assert (work["visits"], work["shuffled"]) == (600, 600) if n > 600 else work["visits"] == 600
        works.append(work)
    if certify is not True:  # neither the steps nor the estimate look at all rows
        assert works[1]["rows"] <= works[0]["rows"] + 600
    else:
        assert works[1]["rows"] >= 20_000
        assert model.certificate_.holds


def test_a_season_of_sgd_shuffles_its_own_steps_only(monkeypatch):
    X, y = data(20_000)
    fit = lambda: SGDSVC(1e-2, max_iter=4, steps_per_season=50, schedule=(0.1, 1.0), certify=False).fit(X, y)  # noqa: E731
    _, work = counted(monkeypatch, fit)
    assert (work["visits"], work["shuffled"]) == (200, 200)


# -- certificates of a sample -------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", STOCHASTIC)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("options", [{}, {"scale": True}, {"class_weight": {0: 3.0, 1: 0.5}}])
def test_a_sample_is_an_estimate_and_never_a_proof(machine, bias, options):
    X, y = data(20_000)
    model = machine(1e-2, fit_intercept=bias, certify="sample", random_state=0, max_iter=2, **options).fit(X, y)
    proof = model.certificate_
    assert (proof.method, proof.holds) == ("estimated", False)
    assert "5000 rows" in proof.reason
    exact = LinearClassifier("hinge", lam=1e-2, tol=1e-6, fit_intercept=bias, **options).fit(X, y).certificate_
    whole = certify(model, X, y)
    assert whole.holds
    assert proof.primal == pytest.approx(whole.primal, rel=0.1)
    true = 1 - exact.primal / whole.primal
    assert -0.01 < proof.relative_gap - true < 0.05
    full = machine(1e-2, fit_intercept=bias, random_state=0, max_iter=2, **options).fit(X, y)
    np.testing.assert_array_equal(full.coef_, model.coef_)
    assert full.certificate_.method == "recomputed"


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("n", [4, 300])
def test_samples_of_many_classes_and_few_rows(multiclass, n):
    X, _ = data(n)
    y = np.arange(n) % 3
    model = PegasosSVC(0.1, max_iter=20, multiclass=multiclass, fit_intercept=True, certify="sample").fit(X, y)
    assert [proof.method for proof in model.certificates_] == ["estimated"] * 3
    assert all(np.isfinite(proof.relative_gap) for proof in model.certificates_)


def test_an_estimate_is_not_called_certified():
    X, y = data(200)
    search = PegasosSVCCV(lams=[1e-2, 1e-1], cv=2, certify="sample").fit(X, y)
    assert np.isnan(search.cv_results_["gap"]).all()
    assert np.isnan(regularization_path(PegasosSVC(certify="sample", max_iter=5), X, y, Cs=[0.1]).gaps).all()


def test_a_fit_out_of_time_without_a_look_is_told(tmp_path):
    X, y = data(200)
    for option in (False, "sample"):
        for model in (PegasosSVC(max_iter=10**9, time_limit=0.05), SGDSVC(max_iter=10**9, time_limit=0.05)):
            with pytest.warns(UserWarning, match="time_limit was reached"):
                model.set_params(certify=option).fit(X, y)
            assert hasattr(model, "certificate_") == (option == "sample")
            io.save(model, tmp_path / "m.mm")
            assert (io.load(tmp_path / "m.mm").predict(X) == model.predict(X)).all()


def test_other_words_for_a_certificate_are_refused():
    X, y = data(50)
    with pytest.raises(ValueError, match="certify"):
        PegasosSVC(certify="estimate").fit(X, y)


# -- the best season ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", [{"patience": 3}, {"error_goal": 0.0}, {"patience": 50}])
@pytest.mark.parametrize("average", [True, False])
def test_the_best_season_is_delivered(seed, rule, average):
    X, y = data(300, seed=seed)
    schedule = (2.0, 1.0)  # long steps: seasons differ
    model = SGDSVC(1e-2, max_iter=15, steps_per_season=7, schedule=schedule, average=average, random_state=seed,
                   **rule).fit(X, y)  # fmt: skip
    held, lines = model.held_out_, model.history_
    wrong = (model.predict(X) != y)[held].mean()
    assert wrong == pytest.approx(lines["error"].min())
    best = min(range(len(lines)), key=lambda k: (lines["error"][k], lines["objective"][k]))
    rest = np.setdiff1d(np.arange(300), held)
    margin = np.where(y == 1, 1.0, -1.0)[rest] * model.decision_function(X[rest])
    objective = np.maximum(0, 1 - margin).mean() + 1e-2 / 2 * float(np.sum(model.coef_**2))
    assert objective == pytest.approx(lines["objective"][best])
    assert model.certificate_.holds
    again = certify(model, X, y, sample_weight=~np.isin(np.arange(300), held))
    assert again.gap == pytest.approx(model.certificate_.gap)


def test_the_last_season_is_delivered_where_no_rule_watches():
    X, y = data(300)
    model = SGDSVC(1e-2, max_iter=15, steps_per_season=7, schedule=(2.0, 1.0), validation_fraction=0.1).fit(X, y)
    assert (model.predict(X) != y)[model.held_out_].mean() == pytest.approx(model.history_["error"][-1])
