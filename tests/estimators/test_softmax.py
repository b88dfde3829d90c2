"""LinearClassifier with multiclass='softmax': certificates in 60 digits, many weights, starts, refusals."""

from __future__ import annotations

import copy
from decimal import Decimal, getcontext, localcontext

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine

from maxmargin import SVC, LinearClassifier, LinearSVC
from maxmargin.certificates import certify
from maxmargin.inspection import status
from maxmargin.io import load, save

DIGITS = 60


def softmax(**options):
    return LinearClassifier("logistic", multiclass="softmax", **options)


def data(n=40, d=3, classes=3, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(classes, d))[y], y


def exact_values(model, X, y):
    """(primal, dual) of a published model by definition; with intercepts the dual point is not quite feasible."""
    exact = [[Decimal(float(x)) for x in row] for row in X]
    coef = [[Decimal(float(w)) for w in line] for line in model.coef_]
    b, C, k = [Decimal(float(one)) for one in model.intercept_], Decimal(float(model.C_)), len(model.classes_)
    primal, dual = sum((w * w for line in coef for w in line), Decimal(0)) / 2, Decimal(0)
    alpha = np.zeros((len(y), k))
    alpha[model.support_] = model.dual_coef_.T
    v = [[Decimal(0)] * len(exact[0]) for _ in range(k)]
    for x, own, line in zip(exact, y, alpha, strict=True):
        f = [sum((w * z for w, z in zip(coef[m], x, strict=True)), b[m]) for m in range(k)]
        primal += C * (sum((one - f[own]).exp() for one in f)).ln()
        a = [Decimal(float(value)) for value in line]
        a[own] = -sum(a[m] for m in range(k) if m != own)  # every row balanced, exactly
        p = [(int(m == own) - a[m] / C) for m in range(k)]
        assert all(one >= 0 for one in p)
        dual -= C * sum((one * one.ln() for one in p if one > 0), Decimal(0))
        for m in range(k):
            v[m] = [old + a[m] * z for old, z in zip(v[m], x, strict=True)]
    dual -= sum((one * one for line in v for one in line), Decimal(0)) / 2
    return primal, dual


def shaken(model, size, seed):
    """The model at other weights, and with other dual variables that are feasible."""
    rng, other = np.random.default_rng(seed), copy.deepcopy(model)
    other.coef_ = model.coef_ + size * rng.normal(size=model.coef_.shape)
    other.intercept_ = model.intercept_ + size * rng.normal(size=len(model.intercept_)) * model.fit_intercept
    other.dual_coef_ = model.dual_coef_ * (1.0 - size * rng.random(model.dual_coef_.shape[1]))
    return other


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize(("C", "spread"), [(1.0, 1.0), (1e-3, 1.0), (1e3, 4.0), (1e6, 0.5)])
def test_certificates_in_sixty_digits(C, spread, size, intercept):
    X, y = data(spread=spread)
    best = softmax(C=C, tol=1e-10, fit_intercept=intercept).fit(X, y)
    model = shaken(best, size, 1)
    proof = certify(model, X, y)
    with localcontext() as context:
        context.prec = DIGITS
        primal, dual = exact_values(model, X, y)
        # with intercepts, the best value that is known stands for that of a dual point
        dual = exact_values(best, X, y)[0] if intercept else dual
        assert proof.holds
        assert Decimal(proof.primal) >= primal
        assert Decimal(proof.dual) <= dual
        assert Decimal(proof.gap) >= primal - dual
        if not intercept or size == 0:  # and not much more
            assert Decimal(proof.gap) - (primal - dual) <= Decimal("1e-10") * (primal + abs(dual))
    assert getcontext().prec != DIGITS


@pytest.mark.parametrize("scheme", ["softmax", "crammer-singer", "weston-watkins"])
def test_intercepts_far_from_the_model_s_are_no_better_than_the_certificate_says(scheme):
    X, y = data(n=60, d=2, classes=3, spread=0.1)
    y = np.where(np.arange(60) < 58, 0, np.arange(60) - 57)  # rare classes: their intercepts are far below
    made = softmax(C=1e-4) if scheme == "softmax" else LinearSVC(C=1e-4, multiclass=scheme)
    best = clone(made).set_params(tol=1e-8).fit(X, y)
    proof = best.certificate_
    moved = copy.deepcopy(best)
    moved.intercept_ = np.zeros(3)
    other = certify(moved, X, y)
    assert proof.holds
    assert other.holds
    assert other.dual <= proof.primal
    assert other.gap >= other.primal - proof.primal - 1e-12


@pytest.mark.parametrize("scheme", ["crammer-singer", "weston-watkins"])
@pytest.mark.parametrize("make", [SVC, LinearSVC])
@pytest.mark.parametrize("bias", [True, False])
def test_dual_variables_above_their_bounds_prove_no_more_than_those_on_them(make, scheme, bias):
    X, y = data(n=60, spread=0.3)
    kernel = {"kernel": "linear"} if make is SVC else {}
    best = make(C=1e-3, multiclass=scheme, tol=1e-13, fit_intercept=bias, **kernel).fit(X, y)
    proof = best.certificate_
    assert proof.relative_gap < 1e-12
    model = copy.deepcopy(best)
    model.dual_coef_ = best.dual_coef_ * (1.0 + 4e-10)
    other = certify(model, X, y)
    assert other.holds
    assert other.dual <= proof.primal
    assert other.gap >= other.primal - proof.primal - 1e-12 * proof.primal


def test_a_gradient_whose_squares_underflow_ends_the_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 1300)) * 1e-200
    model = softmax(C=1.0, fit_intercept=False).fit(X, np.arange(12) % 3)
    assert model.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("load_data", [load_iris, load_wine])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_a_gap_of_a_hundred_millionth_in_few_steps(load_data, C):
    X, y = load_data(return_X_y=True)
    model = softmax(C=C, tol=1e-8, scale=True).fit(X, y)
    assert model.certificate_.holds
    assert model.certificate_.relative_gap <= 1e-8
    assert model.n_iter_ <= 25
    assert certify(model, X, y).gap == model.certificate_.gap
    assert len(model.certificates_) == 1


@pytest.mark.parametrize("sparse", [True, False])
def test_many_weights_by_conjugate_gradients(sparse):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 900)) * (rng.random((120, 900)) < 0.05)
    y = rng.integers(0, 4, 120)
    model = softmax(C=2.0, tol=1e-8).fit(sp.csr_array(X) if sparse else X, y)
    assert model.certificate_.relative_gap <= 1e-8


def test_columns_of_zeros_change_nothing_but_the_solver():
    X, y = data(n=60, d=5, classes=4)
    wide = np.pad(X, ((0, 0), (0, 900)))
    few, many = softmax(C=2.0, tol=1e-12).fit(X, y), softmax(C=2.0, tol=1e-12).fit(wide, y)
    np.testing.assert_allclose(few.coef_, many.coef_[:, :5], atol=1e-5)
    assert not many.coef_[:, 5:].any()


def test_a_warm_start_is_at_its_goal_at_once():
    X, y = data()
    model = softmax(tol=1e-8, warm_start=True).fit(X, y)
    coef = model.coef_.copy()
    assert model.fit(X, y).n_iter_ <= 1
    np.testing.assert_allclose(model.coef_, coef, atol=1e-6)


def test_lam_is_one_over_n_C_and_weights_are_copies():
    X, y = data()
    by_lam, by_C = softmax(lam=0.05, tol=1e-10).fit(X, y), softmax(C=1 / (0.05 * len(y)), tol=1e-10).fit(X, y)
    np.testing.assert_allclose(by_lam.coef_, by_C.coef_, atol=1e-8)
    weight = 1 + np.arange(len(y)) % 3
    weighted = softmax(tol=1e-10).fit(X, y, sample_weight=weight)
    copies = softmax(tol=1e-10).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-6)


def test_it_is_kept_in_a_file(tmp_path):
    X, y = data()
    model = softmax(class_weight="balanced").fit(X, y)
    save(model, tmp_path / "model.mm")
    again = load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert certify(again, X, y).gap == certify(model, X, y).gap


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearClassifier("hinge", multiclass="softmax"), "logistic"),
        (LinearClassifier("logistic", "l1", multiclass="softmax"), "penalty='l2'"),
        (LinearClassifier("logistic", multiclass="softmax", solver="dual-coordinate"), "Newton"),
        (LinearClassifier("logistic", multiclass="crammer-singer"), "LinearSVC"),
        (LinearSVC(multiclass="softmax"), "LinearClassifier"),
        (SVC(multiclass="softmax"), "LinearClassifier"),
    ],
)
def test_what_makes_no_sense_is_refused(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(*data())


def test_rows_have_no_margin_to_fall_short_of():
    X, y = data()
    with pytest.raises(ValueError, match="no margin"):
        status(softmax().fit(X, y), X, y)
