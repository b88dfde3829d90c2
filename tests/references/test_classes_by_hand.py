"""Schemes for many classes, probabilities and prediction sets, by loops and SciPy's minimisers."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
import sklearn.svm
from sklearn.linear_model import LogisticRegression

from maxmargin import SVC, KernelPerceptron, LinearClassifier, LinearSVC
from maxmargin.calibration import (
    fit_calibrator,
    fit_conformal,
    fit_isotonic,
    fit_sharpness,
    fit_sigmoid,
    fit_venn_abers,
    sharpened,
)
from maxmargin.multiclass import CodeWords, OneVsOne, OneVsRest, make_scheme, make_words
from tests.references.conic import Programme
from tests.references.test_exact_machines import quietly


def three(n=45, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[0.0, 2.0], [2.0, 0.0], [-1.5, -1.0]])[y] + rng.normal(size=(n, 2)), y


# -- schemes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [3, 4, 6])
def test_votes_with_ties_by_summed_scores(classes):
    rng = np.random.default_rng(classes)
    pairs = list(combinations(range(classes), 2))
    scores = rng.normal(size=(300, len(pairs)))
    winners = []
    for line in scores:
        votes, sums = [0] * classes, [0.0] * classes
        for (a, b), f in zip(pairs, line, strict=True):
            votes[a if f > 0 else b] += 1
            sums[a] += f
            sums[b] -= f
        winners.append(max(range(classes), key=lambda c: (votes[c], sums[c])))
    np.testing.assert_array_equal(OneVsOne(classes).classes_of(scores), winners)
    np.testing.assert_array_equal(make_scheme("ovo", classes).decide(scores).argmax(axis=1), winners)


def test_pairs_of_machines_are_libsvms():
    X, y = three()
    model = SVC(C=2.0, gamma=0.4, decision_function_shape="ovo", gap_tol=1e-10).fit(X, y)
    ours = model.decision_function(X)
    for column, (a, b) in enumerate(combinations(range(3), 2)):
        rows = (y == a) | (y == b)
        pair = sklearn.svm.SVC(C=2.0, gamma=0.4, tol=1e-9).fit(X[rows], np.where(y[rows] == a, 1, -1))
        np.testing.assert_allclose(ours[:, column], pair.decision_function(X), atol=1e-5)


def test_one_against_the_rest_takes_the_largest_score():
    X, y = three()
    model = SVC(C=2.0, gamma=0.4, multiclass="ovr", gap_tol=1e-10).fit(X, y)
    columns = [
        sklearn.svm.SVC(C=2.0, gamma=0.4, tol=1e-9).fit(X, np.where(y == c, 1, -1)).decision_function(X)
        for c in range(3)
    ]
    scores = np.array(columns).T
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), [max(range(3), key=lambda c: line[c]) for line in scores])
    np.testing.assert_array_equal(OneVsRest(3).classes_of(scores), scores.argmax(axis=1))
    claimed = (scores > 0).sum(axis=1)
    assert OneVsRest(3).fired(scores) == (sum(claimed == 0), sum(claimed == 1), sum(claimed > 1))


def test_nearest_word_wins():
    """Of signs alone, the class whose word differs in the fewest bits; one class is nearest in every line tried."""
    words = make_words("exhaustive", 4, 0)
    assert sorted(tuple(word) for word in words.T * words.T[:, :1]) == sorted(
        (1.0, *rest)
        for rest in {(a, b, c) for a in (-1.0, 1.0) for b in (-1.0, 1.0) for c in (-1.0, 1.0)} - {(1.0,) * 3}
    )
    scheme = CodeWords(4, words)
    for c in range(4):
        for flipped in range(7):
            bits = words[c].copy()
            bits[flipped] *= -1  # words differ in 4 of 7 bits, so one wrong bit is repaired
            distance = [int(sum(a != b for a, b in zip(word, bits, strict=True))) for word in words]
            assert min(distance) == distance[c] == 1
            assert scheme.classes_of(bits[None])[0] == c


@pytest.mark.parametrize("kind", ["crammer-singer", "weston-watkins"])
@pytest.mark.parametrize("C", [1e-3, 0.02, 1.0])
def test_one_problem_for_all_classes_by_a_conic_solver(kind, C):
    X, y = three(18)
    programme = Programme()
    W = [programme.variables(2, square=1.0) for _ in range(3)]
    largest = kind == "crammer-singer"
    slack = programme.variables(18 if largest else 36, cost=C)
    number = 0
    for i in range(18):
        for m in range(3):
            if m != y[i]:  # f_y - f_m + xi >= 1
                own = slack[i : i + 1] if largest else slack[number : number + 1]
                programme.at_least_zero([(X[i], W[y[i]]), (-X[i], W[m]), (np.ones(1), own)], np.array([-1.0]))
                number += 1
    programme.at_least_zero([(np.eye(len(slack)), slack)], np.zeros(len(slack)))
    best = programme.minimum()
    kernel = SVC(kernel="linear", C=C, multiclass=kind, fit_intercept=False, gap_tol=1e-8).fit(X, y)
    linear = LinearSVC(loss="hinge", C=C, multiclass=kind, fit_intercept=False, tol=1e-8, max_iter=10**5).fit(X, y)
    for model in (kernel, linear):
        assert model.certificate_.primal == pytest.approx(best, rel=1e-6)
        assert model.certificate_.dual == pytest.approx(best, rel=1e-6)


# -- multinomial logistic regression -----------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.05, 3.0])
def test_softmax_by_scipy(C, intercept):
    X, y = three()
    weight = 0.5 + np.arange(len(y)) % 4

    def objective(z):
        W, b = z[:6].reshape(3, 2), z[6:] * intercept
        f = X @ W.T + b
        losses = np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(y)), y]
        return 0.5 * np.sum(W**2) + C * weight @ losses

    best = scipy.optimize.minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-9, "maxiter": 10**4})
    model = LinearClassifier("logistic", multiclass="softmax", C=C, tol=1e-10, fit_intercept=intercept)
    model.fit(X, y, sample_weight=weight)
    assert model.certificate_.primal == pytest.approx(best.fun, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(model.coef_, best.x[:6].reshape(3, 2), atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_softmax_is_scikit_learns_logistic_regression(classes, intercept):
    rng = np.random.default_rng(classes)
    y = np.arange(90) % classes
    X = rng.normal(size=(90, 4)) + 2 * rng.normal(size=(classes, 4))[y]
    C = 0.7
    model = LinearClassifier("logistic", multiclass="softmax", C=C, tol=1e-11, fit_intercept=intercept).fit(X, y)
    # of two classes each has half the weights that are published: ||w||^2 / 4
    peer = LogisticRegression(C=C if classes > 2 else 2 * C, tol=1e-12, max_iter=10**5, fit_intercept=intercept)
    peer.fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


# -- the perceptron of a kernel ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_perceptron_is_a_loop(intercept):
    X, y = three()
    t = np.where(y == 0, 1, -1)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1))
    count, b, mistakes = np.zeros(len(X)), 0.0, 0
    for _ in range(4):
        for i in range(len(X)):
            if t[i] * (sum(count[j] * t[j] * K[j, i] for j in range(len(X))) + b) <= 0:
                count[i] += 1
                b += t[i] if intercept else 0
                mistakes += 1
    model = KernelPerceptron(gamma=0.5, shuffle=False, max_iter=4, fit_intercept=intercept)
    quietly(model, X, t)
    assert model.mistakes_[0] == mistakes
    np.testing.assert_allclose(model.decision_function(X), K @ (count * t) + b, atol=1e-9)


# -- probabilities -----------------------------------------------------------------------------------------------------


def held_out(n=40, seed=1):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n).round(1)  # with ties
    sign = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-2 * scores)), 1.0, -1.0)
    return scores, sign, rng.choice([0.5, 1.0, 2.0], size=n)


def test_platts_sigmoid_by_scipy():
    scores, sign, weight = held_out()
    positive, negative = weight[sign > 0].sum(), weight[sign < 0].sum()
    target = np.where(sign > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(ab):  # -log of p = 1 / (1 + e^z) and of 1 - p
        z = ab[0] * scores + ab[1]
        return np.sum(weight * (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z)))

    best = scipy.optimize.minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    found = fit_sigmoid(scores, sign, weight)
    np.testing.assert_allclose([found.a, found.b], best, rtol=1e-4, atol=1e-5)
    p = 1 / (1 + np.exp(best[0] * scores + best[1]))
    np.testing.assert_allclose(found(scores), p, atol=1e-5)
    np.testing.assert_allclose(fit_calibrator("sigmoid", scores, sign, weight)(scores), p, atol=1e-5)


def isotonic(points):
    """Pool adjacent violators: (score, mean, weight) of points sorted by score -> means that do not fall."""
    pools = []
    for _, mean, weight in points:
        pools.append([mean, weight, 1])
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            m, w, k = pools.pop()
            m0, w0, k0 = pools[-1]
            pools[-1] = [(m0 * w0 + m * w) / (w0 + w), w0 + w, k0 + k]
    return [m for m, _, k in pools for _ in range(k)]


def merged(scores, hits, weight):
    """One point per distinct score."""
    points = []
    for s in sorted(set(scores)):
        at = scores == s
        points.append((s, float(np.sum(weight[at] * hits[at]) / weight[at].sum()), float(weight[at].sum())))
    return points


def test_isotonic_probabilities_by_pooling():
    scores, sign, weight = held_out()
    points = merged(scores, (sign > 0).astype(float), weight)
    expected = np.clip(isotonic(points), 1 / (weight.sum() + 2), 1 - 1 / (weight.sum() + 2))
    at = np.array([s for s, _, _ in points])
    np.testing.assert_allclose(fit_isotonic(scores, sign, weight)(at), expected, atol=1e-12)


def test_venn_abers_by_two_fits_per_score():
    scores, sign, _ = held_out(25)
    weight = np.ones(25)
    found = fit_venn_abers(scores, sign, weight)
    for s in np.unique(scores):
        ends = []
        for hit in (0.0, 1.0):
            points = merged(np.append(scores, s), np.append(sign > 0, hit).astype(float), np.ones(26))
            ends.append(isotonic(points)[[p[0] for p in points].index(s)])
        lower, upper = found.interval(np.array([s]))
        assert float(lower[0]) == pytest.approx(ends[0], abs=1e-12)
        assert float(upper[0]) == pytest.approx(ends[1], abs=1e-12)
        assert float(found(np.array([s]))[0]) == pytest.approx(ends[1] / (1 - ends[0] + ends[1]), abs=1e-12)


def test_sharpness_by_scipy():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), size=80)
    label = np.array([rng.choice(3, p=line**2 / np.sum(line**2)) for line in p])
    weight = rng.choice([1.0, 3.0], size=80)

    def loss(s):
        return -sum(w * math.log(line[c] ** s / np.sum(line**s)) for line, c, w in zip(p, label, weight, strict=True))

    s = fit_sharpness(p, label, weight)
    best = scipy.optimize.minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-9})
    assert loss(s) <= best.fun * (1 + 1e-6)
    np.testing.assert_allclose(sharpened(p, s), [line**s / np.sum(line**s) for line in p])


def test_prediction_sets_by_counting():
    rng = np.random.default_rng(3)
    n, classes, count = 60, 3, 4
    decided, label = rng.normal(size=(n, classes)), rng.integers(0, classes, n)
    fold, weight = np.arange(n) % count, rng.choice([1.0, 2.0], size=n)
    new = [rng.normal(size=(7, classes)) for _ in range(count)]  # scores of seven new rows by every fold's machine

    def strange(line, c):
        return max(line[m] for m in range(classes) if m != c) - line[c]

    for coverage in (0.5, 0.8, 0.95):
        expected = np.empty((7, classes), dtype=bool)
        for x in range(7):
            for c in range(classes):
                total = 1.0 + sum(
                    weight[i] for i in range(n) if strange(decided[i], label[i]) >= strange(new[fold[i]][x], c)
                )
                expected[x, c] = total > (1 - coverage) * (weight.sum() + 1)
        np.testing.assert_array_equal(fit_conformal(decided, label, weight, fold).mask(new, coverage), expected)
