"""Bounds, Lagrangians, scatters and the least number of mistakes, computed once more by plain loops and programmes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import sklearn.svm
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from maxmargin import (
    SGDSVC,
    SVC,
    SVR,
    KernelDiscriminantAnalysis,
    LinearClassifier,
    LinearSVC,
    NotSeparableError,
    NuSVC,
    PegasosSVC,
    Perceptron,
)
from maxmargin.inspection import kkt, lagrangian, least_mistakes, pegasos_bound, scatter_matrices
from maxmargin.kernels import Gaussian, Linear
from tests.laws import examples

law = examples(60, derandomize=True, database=None)


# -- the least number of mistakes --------------------------------------------------------------------------------------


def can_be_split(X, sign):
    """Whether a line has these signs strictly: the best margin of a bounded (w, b), by linear programming."""
    rows = np.column_stack([-sign * X[:, 0], -sign * X[:, 1], -sign, np.ones(len(X))])
    found = linprog([0, 0, 0, -1], A_ub=rows, b_ub=np.zeros(len(X)), bounds=[(-1, 1), (-1, 1), (-9, 9), (None, 1)])
    return -found.fun > 1e-7


def least_by_all_splits(X, t, weight):
    """The cheapest of all 2^n signs that a line can give."""
    order = sorted(product((-1.0, 1.0), repeat=len(X)), key=lambda s: weight[np.array(s) != t].sum())
    return next(weight[np.array(s) != t].sum() for s in order if can_be_split(X, np.array(s)))


def test_least_mistakes_by_all_splits_and_linear_programmes():
    rng = np.random.default_rng(0)
    for trial in range(40):
        n, width = int(rng.integers(3, 9)), int(rng.integers(2, 5))
        X = rng.integers(0, width, size=(n, 2)).astype(float)  # many on a line, some at one point
        t = rng.choice([-1.0, 1.0], size=n)
        t[:2] = -1.0, 1.0
        weight = np.ones(n) if trial % 2 else rng.integers(0, 4, size=n).astype(float) + (np.arange(n) == 0)
        found = least_mistakes(X, t, weight)
        assert found.mistakes == least_by_all_splits(X, t, weight)
        wrong = t * (X @ found.coef + found.intercept) <= 0
        assert weight[wrong].sum() == found.mistakes
        np.testing.assert_array_equal(found.rows, np.flatnonzero(wrong & (weight > 0)))


@st.composite
def small_sets(draw, most=12):
    """Points of a grid, whose lines have many points on them, and signs of both kinds."""
    n = draw(st.integers(2, most))
    coordinate = st.integers(-4, 4).map(float)
    X = np.array(draw(st.lists(st.tuples(coordinate, coordinate), min_size=n, max_size=n)))
    t = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    t[0], t[-1] = -1, 1
    return X, t


@law
@given(small_sets(), st.integers(0, 2**31))
def test_no_line_makes_fewer_mistakes(data, seed):
    X, t = data
    found = least_mistakes(X, t)
    rng = np.random.default_rng(seed)
    W, b = rng.normal(size=(200, 2)), rng.normal(scale=4.0, size=200)
    assert np.sum(t[:, None] * (X @ W.T + b) <= 0, axis=0).min() >= found.mistakes
    assert found.mistakes <= min(np.sum(t > 0), np.sum(t < 0))
    made = t * (X @ found.coef + found.intercept) <= 0
    assert made.sum() == found.mistakes == len(found.rows)


@law
@given(small_sets(), st.permutations(range(12)))
def test_order_signs_mirrors_shears_and_shifts_change_nothing(data, order):
    X, t = data
    least = least_mistakes(X, t).mistakes
    order = [i for i in order if i < len(X)]
    assert least_mistakes(X[order], t[order]).mistakes == least
    assert least_mistakes(X, -t).mistakes == least
    assert least_mistakes(X @ np.array([[1.0, 3.0], [0.0, -1.0]]) + 1024.0, t).mistakes == least


@law
@given(small_sets(), st.integers(0, 2**31))
def test_a_weight_is_a_number_of_copies(data, seed):
    X, t = data
    weight = np.random.default_rng(seed).integers(1, 4, size=len(t))
    copies = np.repeat(np.arange(len(t)), weight)
    assert least_mistakes(X, t, weight).mistakes == least_mistakes(X[copies], t[copies]).mistakes
    assert least_mistakes(X, t, np.ones(len(t))).mistakes == least_mistakes(X, t).mistakes


@law
@given(small_sets())
def test_one_row_more_is_at_most_one_mistake_more(data):
    X, t = data
    few, more = least_mistakes(X, t).mistakes, least_mistakes(np.vstack([X, [[1.0, -2.0]]]), np.append(t, 1)).mistakes
    assert few <= more <= few + 1


@pytest.mark.parametrize("seed", range(8))
def test_without_mistakes_the_line_is_the_hard_margins(seed):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(14, 2)), np.where(np.arange(14) % 2, 1, -1)
    X[t > 0] += 3.0 if seed % 2 else 1.0
    found = least_mistakes(X, t)
    if found.mistakes:
        with pytest.raises(NotSeparableError):
            SVC(kernel="linear", C=np.inf).fit(X, t)
        return
    model = SVC(kernel="linear", C=np.inf).fit(X, t)
    np.testing.assert_allclose(found.coef, model.coef_[0], rtol=1e-6)
    assert found.intercept == pytest.approx(model.intercept_[0], rel=1e-6, abs=1e-9)


def test_sides_are_exact_where_float64_would_err():
    """A point between two others of the other class: on their line it costs a mistake, beside it nothing."""
    X, t = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]), np.array([-1, 1, -1])
    assert least_mistakes(X, t).mistakes == 1
    X[1, 1] += 2.0**-40
    assert least_mistakes(X, t).mistakes == 0
    X[1, 1] = 0.5 + 2.0**-53  # less than the rounding of the determinant: there is a line, but none in float64
    with pytest.raises(ValueError, match="so close to each other that float64 has no line between them"):
        least_mistakes(X, t)


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (np.zeros((2, 3)), [0, 1], None, "lines lie in the plane, but X has 3 features"),
        (np.zeros((2, 2)), [0, 1, 1], None, "X has 2 rows but y has 3"),
        (np.zeros((3, 2)), [0, 1, 2], None, r"two classes apart, and y has 3: \[0, 1, 2\]"),
        (np.zeros((2, 2)), [1, 1], None, r"two classes apart, and y has 1: \[1\]"),
        (np.zeros((2, 2)), [0, 1], [1, -1], "at least 0 for each of the 2 rows"),
        (np.zeros((2, 2)), [0, 1], [0, 0], "not only zeros"),
        (np.arange(602.0).reshape(301, 2), np.arange(301) % 2, None, "two of 301 distinct points would be tried"),
    ],
)
def test_sets_that_are_no_small_sets_of_two_classes_in_the_plane(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        least_mistakes(X, y, weight)


# -- scatters ----------------------------------------------------------------------------------------------------------


def scatters_by_loops(X, y, weight):
    """(S_w, S_b, S_t) with one outer product per row and per class."""
    d, N = X.shape[1], weight.sum()
    within, between, total = np.zeros((3, d, d))
    m = sum(v * x for v, x in zip(weight, X, strict=True)) / N
    for c in set(y.tolist()):
        mine = y == c
        mean = sum(v * x for v, x in zip(weight[mine], X[mine], strict=True)) / weight[mine].sum()
        between += weight[mine].sum() / N * np.outer(mean - m, mean - m)
        for v, x in zip(weight[mine], X[mine], strict=True):
            within += v / N * np.outer(x - mean, x - mean)
    for v, x in zip(weight, X, strict=True):
        total += v / N * np.outer(x - m, x - m)
    return within, between, total


def classes_and_rows(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) + rng.normal(size=(3, d))[y], y, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("seed", range(4))
def test_scatters_by_loops(seed):
    X, y, weight = classes_and_rows(seed)
    found = scatter_matrices(X, y, sample_weight=weight)
    for matrix, expected in zip(
        (found.within, found.between, found.total), scatters_by_loops(X, y, weight), strict=True
    ):
        np.testing.assert_allclose(matrix, expected, atol=1e-12)
    np.testing.assert_allclose(found.total, found.within + found.between, atol=1e-12)
    assert found.spread == pytest.approx(np.trace(found.within))
    assert np.linalg.matrix_rank(found.between) == 2  # classes - 1
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    np.testing.assert_allclose(scatter_matrices(X[copies], y[copies]).within, found.within, atol=1e-12)


def test_scatter_within_is_the_covariance_of_scikit_learns_discriminants():
    X, y = load_iris(return_X_y=True)
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    found = scatter_matrices(X, y)
    np.testing.assert_allclose(found.within, theirs.covariance_, rtol=1e-12)
    ratios = [found.ratio_trace(theirs.scalings_[:, k]) for k in range(2)]
    np.testing.assert_allclose(ratios / np.sum(ratios), theirs.explained_variance_ratio_, rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_ratio_trace_is_the_sum_of_the_largest_eigenvalues(seed):
    X, y, _ = classes_and_rows(seed, d=4)
    found, rng = scatter_matrices(X, y), np.random.default_rng(seed)
    values, vectors = eigh(found.between, found.within)
    for q in (1, 2):
        best = vectors[:, -q:]
        assert found.ratio_trace(best) == pytest.approx(values[-q:].sum())
        for _ in range(20):
            W = rng.normal(size=(4, q))
            assert found.ratio_trace(W) <= values[-q:].sum() + 1e-12
            assert values[0] - 1e-12 <= found.trace_ratio(W) <= values[-1] + 1e-12


@law
@given(st.integers(0, 2**31), st.integers(1, 3))
def test_what_changes_the_criteria_and_what_does_not(seed, q):
    X, y, _ = classes_and_rows(1)
    found, rng = scatter_matrices(X, y), np.random.default_rng(seed)
    W, A = rng.normal(size=(3, q)), rng.normal(size=(q, q)) + 3.0 * np.eye(q)
    assert found.ratio_trace(W @ A) == pytest.approx(found.ratio_trace(W), rel=1e-6)
    assert found.trace_ratio(W @ np.linalg.qr(A)[0]) == pytest.approx(found.trace_ratio(W), rel=1e-9)
    w = W[:, 0]
    fisher = (w @ found.between @ w) / (w @ found.within @ w)
    assert found.trace_ratio(w) == pytest.approx(fisher)
    assert found.ratio_trace(w) == pytest.approx(fisher)
    assert found.trace_ratio(w, reg=0.5) == pytest.approx(
        (w @ found.between @ w) / (w @ found.within @ w + 0.5 * np.trace(found.within) * (w @ w))
    )


def test_with_the_linear_kernel_directions_are_sums_of_rows():
    X, y, weight = classes_and_rows(2)
    plain, kernel = scatter_matrices(X, y, None, weight), scatter_matrices(X, y, Linear(), weight)
    assert kernel.spread == pytest.approx(plain.spread)
    table = scatter_matrices(X @ X.T, y, "precomputed", weight)
    np.testing.assert_allclose(table.between, kernel.between, atol=1e-10)
    A = np.random.default_rng(0).normal(size=(len(X), 2))
    for reg in (0.0, 0.1):
        assert kernel.trace_ratio(A, reg) == pytest.approx(plain.trace_ratio(X.T @ A, reg))
        assert kernel.ratio_trace(A, reg) == pytest.approx(plain.ratio_trace(X.T @ A, reg))


def test_eigenvalues_of_kernel_discriminants_are_their_ratio_trace():
    X, y, weight = classes_and_rows(3)
    model = KernelDiscriminantAnalysis(kernel=Gaussian(gamma=0.3), reg=0.05).fit(X, y, sample_weight=weight)
    A = np.zeros((len(X), 2))
    A[model.support_] = model.dual_coef_
    found = scatter_matrices(X, y, Gaussian(gamma=0.3), weight)
    assert found.ratio_trace(A, reg=0.05) == pytest.approx(model.eigenvalues_.sum(), rel=1e-8)
    for k in range(2):
        assert found.trace_ratio(A[:, k], reg=0.05) == pytest.approx(model.eigenvalues_[k], rel=1e-8)


def test_scatters_and_directions_that_are_none():
    X, y, _ = classes_and_rows(0)
    found = scatter_matrices(X, y)
    with pytest.raises(ValueError, match=r"columns of 3 numbers each, one for every feature; got shape \(4, 1\)"):
        found.trace_ratio(np.ones((4, 1)))
    with pytest.raises(ValueError, match="reg must be a finite number of at least 0; got -1"):
        found.ratio_trace(np.ones(3), reg=-1)
    with pytest.raises(ValueError, match="no scatter within them along some combination"):
        found.ratio_trace(np.ones((3, 2)))  # twice the same
    flat = scatter_matrices([[0.0, 1.0], [1.0, 1.0]], [0, 1])
    for criterion in (flat.trace_ratio, flat.ratio_trace):
        with pytest.raises(ValueError, match=r"infinite or undefined \(reg=0\); give a larger reg"):
            criterion([1.0, 0.0])
    with pytest.raises(ValueError, match="X has 2 rows but y has 3"):
        scatter_matrices(np.eye(2), [0, 1, 1])
    with pytest.raises(ValueError, match="not only zeros; got"):
        scatter_matrices(np.eye(2), [0, 1], sample_weight=[0, 0])
    with pytest.raises(ValueError, match=r"square and finite; got one of shape \(2, 3\)"):
        scatter_matrices(np.ones((2, 3)), [0, 1], "precomputed")


# -- the Lagrangian ----------------------------------------------------------------------------------------------------


def overlapping(seed=0, n=40):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def lagrangian_by_loops(w, b, xi, alpha, mu, X, t, C):
    """The textbook's sum, of a linear machine."""
    value = sum(float(part) ** 2 for part in w) / 2 + sum(c * x for c, x in zip(C, xi, strict=True))
    for a, m, x, row, sign in zip(alpha, mu, xi, X, t, strict=True):
        value -= a * (sign * (float(w @ row) + b) - 1 + x) + m * x
    return value


MACHINES = [
    SVC(kernel="linear", C=2.0),
    SVC(kernel="linear", C=2.0, fit_intercept=False),
    SVC(kernel="linear", C=0.3, class_weight={0: 1.0, 1: 3.0}),
    LinearSVC(loss="hinge", C=0.5, tol=1e-2),
    LinearSVC(loss="hinge", C=0.5, fit_intercept=False),
    LinearClassifier(loss="hinge", C=0.5),
    PegasosSVC(lam=0.05, max_iter=5, random_state=0),
    SGDSVC(lam=0.05, max_iter=5, random_state=0),
]


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_the_lagrangian_is_the_textbooks_sum(model):
    X, y = overlapping()
    t, model = 2 * y - 1, fitted(model, X, y)
    (task,) = lagrangian(model, X, y).tasks
    w, b = model.coef_[0], float(model.intercept_[0])
    xi = np.maximum(0.0, 1 - t * (X @ w + b))
    np.testing.assert_allclose(task.xi, xi, atol=1e-12)
    np.testing.assert_allclose(task.alpha + task.mu, task.cost, rtol=1e-12)
    expected = lagrangian_by_loops(w, b, xi, task.alpha, task.cost - task.alpha, X, t, task.cost)
    assert task.value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert task.primal == pytest.approx(w @ w / 2 + task.cost @ xi)
    v = X.T @ (task.alpha * t)
    assert task.dual == pytest.approx(task.alpha.sum() - v @ v / 2, rel=1e-9, abs=1e-9)
    assert task.dual <= task.value + 1e-9 <= task.primal + 2e-9
    assert task.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


def fitted(model, X, y):
    return clone(model).fit(X, y)


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_no_other_point_is_lower_than_the_dual_value_and_no_other_multipliers_are_higher_than_the_primal(model):
    X, y = overlapping()
    t, model = 2 * y - 1, fitted(model, X, y)
    (task,) = lagrangian(model, X, y).tasks
    rng, C = np.random.default_rng(0), task.cost
    w, b = model.coef_[0], float(model.intercept_[0])
    for _ in range(50):
        w2, xi2 = w + rng.normal(size=2), np.abs(rng.normal(size=len(t)))
        b2 = rng.normal() if model.fit_intercept else 0.0
        assert lagrangian_by_loops(w2, b2, xi2, task.alpha, task.mu, X, t, C) >= task.dual - 1e-9
        alpha2, mu2 = np.abs(rng.normal(size=(2, len(t))))  # of any signs of mu = C - alpha
        assert lagrangian_by_loops(w, b, task.xi, alpha2, mu2, X, t, C) <= task.primal + 1e-9
    v = X.T @ (task.alpha * t)  # where the least value is taken
    assert lagrangian_by_loops(v, 0.0, 0 * C, task.alpha, task.mu, X, t, C) == pytest.approx(task.dual, abs=1e-9)


@pytest.mark.parametrize("model", [*MACHINES, SVC(C=5.0, gamma=0.7, gap_tol=1e-3), sklearn.svm.SVC(C=5.0)], ids=str)
def test_what_is_missing_is_slackness_above_and_stationarity_below(model):
    X, y = overlapping(1)
    model = fitted(model, X, y)
    (task,), (missing,) = lagrangian(model, X, y).tasks, kkt(model, X, y).tasks
    slackness = missing.margin_slackness.sum() + missing.slack_slackness.sum()
    assert task.primal - task.value == pytest.approx(slackness, abs=1e-9 * task.primal)
    assert task.value - task.dual == pytest.approx(missing.stationarity**2 / 2, abs=1e-9 * task.primal)


def test_values_along_multiples_are_those_of_the_sum():
    X, y = overlapping(2)
    t, model = 2 * y - 1, LinearSVC(loss="hinge", C=0.5, tol=1e-2).fit(X, y)
    (task,) = lagrangian(model, X, y).tasks
    w, b, C = model.coef_[0], float(model.intercept_[0]), task.cost
    for s, r in ((0.0, 0.0), (0.5, 1.0), (1.0, 0.5), (2.0, 0.25)):
        xi = np.maximum(0.0, 1 - t * (s * X @ w + b))
        value = lagrangian_by_loops(s * w, b, xi, r * task.alpha, C - r * task.alpha, X, t, C)
        assert task.value_at(s, r) == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert task.primal_at(s) == pytest.approx(s * s * w @ w / 2 + C @ xi)
        v = r * X.T @ (task.alpha * t)
        assert task.dual_at(r) == pytest.approx(r * task.alpha.sum() - v @ v / 2, abs=1e-12)
        assert task.dual_at(r) <= task.value_at(s, r) + 1e-12
        assert task.value_at(s, r) <= task.primal_at(s) + 1e-12
    assert task.dual_at(2.0 * task.largest_multiple) == -np.inf
    assert task.dual_at(-0.1) == -np.inf


def test_a_dual_point_that_is_not_feasible_has_no_value():
    X, y = overlapping(n=60)
    X, y = X[:41] + 1.0, np.minimum(y[:41], np.arange(41) % 3)
    theirs = sklearn.svm.LinearSVC(loss="hinge", max_iter=100_000).fit(X, y > 0)  # penalises its intercept
    (task,) = lagrangian(theirs, X, y > 0).tasks
    assert abs(task.balance) > 1e-3
    assert task.dual == -np.inf
    assert np.isfinite([task.value, task.primal]).all()
    assert "-inf <= max min L" in str(task)


def test_tasks_of_many_classes_weights_and_scaling():
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 3, size=150)
    for model in (SVC(), LinearSVC(loss="hinge", scale=True), PegasosSVC(lam=0.01, scale=True, random_state=0)):
        found = lagrangian(model.fit(X, y, sample_weight=weight), X, y, weight).tasks
        assert len(found) == 3
        for task, certificate in zip(found, model.certificates_, strict=True):
            assert task.primal == pytest.approx(certificate.primal, rel=1e-6)
            assert task.dual == pytest.approx(certificate.dual, rel=1e-4)


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=np.inf),
        NuSVC(nu=0.2),
        LinearSVC(),
        LinearSVC(loss="hinge", penalty="l1"),
        LinearSVC(loss="hinge", C=np.inf),
    ],
    ids=str,
)
def test_other_machines_have_another_lagrangian(model):
    X, y = overlapping()
    with pytest.raises(ValueError, match=r"lagrangian is about the soft margin, .*whose problem is another"):
        lagrangian(model.fit(X + 9.0 * y[:, None], y), X + 9.0 * y[:, None], y)


def test_machines_without_slack_say_so():
    X, y = overlapping()
    for model in (SVR(), Perceptron()):
        with pytest.raises(TypeError):
            lagrangian(model.fit(X + 9.0 * y[:, None], y), X, y)


# -- the bound of Pegasos ----------------------------------------------------------------------------------------------


def pegasos_by_loops(X, t, lam, T, batches, project):
    """(mean of w_1 ... w_T, the longest iterate, the longest subgradient) by the published algorithm."""
    w, total, longest, steepest = np.zeros(X.shape[1]), np.zeros(X.shape[1]), 0.0, 0.0
    for step, rows in zip(range(1, T + 1), batches, strict=True):
        total += w
        short = [i for i in rows if t[i] * (X[i] @ w) < 1]
        slope = lam * w - sum((t[i] * X[i] for i in short), np.zeros(X.shape[1])) / len(rows)
        longest, steepest = max(longest, np.linalg.norm(w)), max(steepest, np.linalg.norm(slope))
        w = w - slope / (lam * step)
        if project:
            w = w * min(1.0, 1 / (math.sqrt(lam) * max(np.linalg.norm(w), 1e-300)))
    return total / T, longest, steepest


def objective(w, X, t, lam):
    return lam / 2 * w @ w + np.mean(np.maximum(0.0, 1 - t * (X @ w)))


def least_objective(X, t, lam):
    best = LinearSVC(loss="hinge", C=1 / (lam * len(t)), fit_intercept=False, tol=1e-9).fit(X, t)
    return lam * best.certificate_.dual


@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("lam", [0.01, 0.3])
def test_the_mean_of_pegasos_iterates_is_within_its_bound(project, lam):
    """On average over 30 runs, each of which draws its rows uniformly."""
    X, y = overlapping(3)
    t, T = 2 * y - 1, 200
    least, runs = least_objective(X, t, lam), []
    found = pegasos_bound(X, lam, T, project=project)
    for seed in range(30):
        batches = np.random.default_rng(seed).integers(0, len(t), size=(T, 1 + seed % 2))
        w, longest, steepest = pegasos_by_loops(X, t, lam, T, batches, project)
        runs.append(objective(w, X, t, lam) - least)
        assert longest <= (1 / math.sqrt(lam) if project else found.radius / lam) * (1 + 1e-12)
        assert steepest**2 <= found.constant * (1 + 1e-12)
    assert 0 <= np.mean(runs) <= found.bound


@law
@given(st.integers(0, 2**31), st.sampled_from([1e-3, 0.05, 1.0, 20.0]), st.booleans(), st.sampled_from([1, 2, 7, 40]))
def test_with_all_rows_in_every_batch_the_bound_needs_no_expectation(seed, lam, project, T):
    X, y = overlapping(seed, n=10)
    t = 2 * y - 1
    w, _, _ = pegasos_by_loops(X, t, lam, T, [range(10)] * T, project)
    bound = pegasos_bound(X, lam, T, project=project).bound
    assert objective(w, X, t, lam) - least_objective(X, t, lam) <= bound + 1e-9


def test_the_bound_of_pegasos_by_hand():
    found = pegasos_bound([[3.0, 4.0], [0.0, 1.0]], 0.25, [1, 100])
    assert (found.radius, found.constant) == (5.0, 100.0)
    assert found.bound.tolist() == pytest.approx([200.0, 2 * (1 + math.log(100))])
    projected = pegasos_bound(None, 0.25, 100, project=True, radius=5.0)
    assert projected.constant == 5.5**2
    assert projected.bound == pytest.approx(5.5**2 * (1 + math.log(100)) / 50)
    assert str(projected) == "expected to be within 3.39113 after 100 steps (R 5, c 30.25, lambda 0.25)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lam": 0.0}, "lam must be a positive number; got 0.0"),
        ({"T": 0}, "T must be a whole number of at least 1, or several; got 0"),
        ({"T": 2.5}, "whole number of at least 1, or several; got 2.5"),
        ({"X": None}, "needs the rows X, or the length of the longest as radius; got neither"),
        ({"radius": -1.0}, "radius must be a finite number of at least 0; got -1.0"),
    ],
)
def test_bounds_of_no_pegasos(arguments, message):
    with pytest.raises(ValueError, match=message):
        pegasos_bound(**{"X": np.eye(2), "lam": 0.1, "T": 10} | arguments)
