"""Moves of many variables at once by products: bounds are kept, the objective falls, and little work is done."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.backends import single_threaded_blas
from maxmargin.losses import EpsilonInsensitive, Hinge, Logistic, SquaredHinge
from maxmargin.penalties import L1, L2
from maxmargin.problems import LinearProblem
from maxmargin.solvers import LinearPoint, Status, Watch, dual_coordinate, stretched
from maxmargin.solvers.dual_coordinate import DualCoordinate
from maxmargin.solvers.faces import ENOUGH, descend
from tests.laws import examples
from tests.reference_backend import get_backend

law = examples(100, derandomize=True, database=None)


def box_problem(seed, n, rank, outside):
    """(matrix of that rank, gradient at x, x, lower, upper); a part of the variables begin at a bound."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n, rank)) * rng.uniform(0.1, 3.0, size=n)[:, None]
    lower, upper = -rng.uniform(0.0, 1.0, size=n), rng.uniform(0.0, 1.0, size=n)
    x = np.clip(rng.normal(size=n) * outside, lower, upper)
    return factor @ factor.T, rng.normal(size=n) * 3.0, x, lower, upper


@law
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    rank=st.integers(1, 40),
    outside=st.sampled_from([0.1, 1.0, 10.0]),
    most=st.sampled_from([1, 5, 2000]),
)
def test_a_descent_keeps_the_box_and_lowers_the_objective(seed, n, rank, outside, most):
    K, grad, x, lower, upper = box_problem(seed, n, rank, outside)
    calls = []
    found, products = descend(lambda p: calls.append(1) or K @ p, grad, x, lower, upper, most)
    d = found - x
    assert ((lower <= found) & (found <= upper)).all()
    assert grad @ d + d @ K @ d / 2 <= 1e-12 * abs(grad @ d)
    assert products == len(calls)
    if most == 2000 and products < most:  # done: no slope inside the box is left, rounding aside

        def slope(at, values):
            return np.where(values <= lower, np.minimum(at, 0), np.where(values >= upper, np.maximum(at, 0), at))

        left = np.abs(slope(grad + K @ d, found)).max()
        assert left <= ENOUGH * np.abs(slope(grad, x)).max() + 1e-9 * np.abs(K).max()


def test_a_face_without_bounds_is_one_system():
    K, grad, x, *_ = box_problem(0, 30, 40, 1.0)
    found, products = descend(lambda p: K @ p, grad, x, np.full(30, -1e9), np.full(30, 1e9), 500)
    assert np.abs(grad + K @ (found - x)).max() <= ENOUGH * np.abs(grad).max()
    assert products <= 80


def documents(n=800, d=6000):
    """Counts of few among many columns, some common, in rows of very different lengths; labels by chance."""
    rng = np.random.default_rng(0)
    length = np.minimum((5 * rng.pareto(1.0, size=n) + 5).astype(int), 400)
    columns = np.minimum((4 * rng.pareto(0.7, size=length.sum())).astype(int), d - 1)
    counts = rng.integers(1, 4, size=length.sum()).astype(float)
    X = sp.csr_array((counts, (np.repeat(np.arange(n), length), columns)), shape=(n, d))
    X.sum_duplicates()
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("bias", [False, True])
def test_moves_of_many_rows_help_where_single_moves_crawl(loss, bias, monkeypatch):
    X, t = documents()
    problem, design = LinearProblem(loss, L2(), t, np.ones(len(t)), bias), get_backend().design(X)

    def solved(most):
        with single_threaded_blas():
            return DualCoordinate(get_backend()).solve(problem, design, None, Watch(0.0, 1e-4, most))

    monkeypatch.setattr(dual_coordinate._Run, "_newton_pays", lambda self: False)
    moved = solved(3500)
    assert moved.status is Status.OPTIMAL
    point = moved.point
    primal = problem.primal(point.w, X @ point.w + point.intercept)
    assert problem.imbalance(point.beta) <= 1e-9
    assert primal - problem.dual(point.beta, X.T @ point.beta) <= 1.01e-4 * primal
    monkeypatch.setattr(dual_coordinate._Run, "_move_many", lambda self: None)
    assert solved(moved.n_iter).status is not Status.OPTIMAL


def test_a_loose_goal_at_a_small_cost_is_a_few_passes(monkeypatch):
    X, t = documents()
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    problem, design = LinearProblem(SquaredHinge(), L2(), t, np.full(len(t), 0.1)), get_backend().design(X)
    looks, plain = [], dual_coordinate._Run._look
    monkeypatch.setattr(dual_coordinate._Run, "_look", lambda self: looks.append(self.passes) or plain(self))
    solution = DualCoordinate(get_backend()).solve(problem, design, None, Watch(0.0, 1e-2))
    assert solution.status is Status.OPTIMAL
    assert len(looks) <= 2
    assert looks[0] <= 4  # whatever the width: the gap may be small by then


@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.2)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("C", [1e-8, 1e-5, 1e-3])
def test_the_intercept_s_way_costs_the_same_whatever_the_cost(loss, sign, C):
    """All rows rest at their bounds while it goes, by C times a row's square in an epoch."""
    X = np.random.default_rng(4).normal(size=(12, 3))
    t = sign * np.where(np.arange(12) < 9, 1.0, -1.0) * (1.0 if loss.name == "hinge" else 5.0)
    problem, design = LinearProblem(loss, L2(), t, np.full(12, C)), get_backend().design(X)
    solution = DualCoordinate(get_backend()).solve(problem, design, None, Watch(0.0, 1e-9, 100))
    assert solution.status is Status.OPTIMAL


@law
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from([Hinge(), SquaredHinge(), EpsilonInsensitive(0.2)]),
    factor=st.sampled_from([0.5, 1.0, 3.0, 100.0]),
    bias=st.booleans(),
)
def test_a_stretched_start_is_feasible_and_no_worse(seed, loss, factor, bias):
    rng = np.random.default_rng(seed)
    n = 12
    X, t = rng.normal(size=(n, 3)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    smaller = LinearProblem(loss, L2(), t, np.ones(n), bias)
    problem = LinearProblem(loss, L2(), t, np.full(n, factor), bias)
    raw = rng.normal(size=n) * rng.uniform(0, 2) * (rng.random(n) < 0.7)
    w = rng.normal(size=3)
    point = LinearPoint(w, 0.25, smaller.feasible(raw))
    start = stretched(problem, get_backend().design(X), point)
    lower, upper = problem.bounds
    assert ((start.beta >= lower - 1e-12 * factor) & (start.beta <= upper + 1e-12 * factor)).all()
    assert problem.imbalance(start.beta) <= 1e-9
    np.testing.assert_array_equal(start.w, w)
    assert start.intercept == 0.25
    plain = problem.feasible(point.beta)
    values = [problem.dual(np.clip(beta, lower, upper), X.T @ beta) for beta in (plain, start.beta)]
    assert values[1] >= values[0] - 1e-9 * (1 + abs(values[0]))


def test_other_losses_and_penalties_are_not_stretched():
    X, t = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
    point = LinearPoint(np.ones(4), 0.0, 0.1 * t)
    for loss, penalty in ((Logistic(), L2()), (Hinge(), L1())):
        start = stretched(LinearProblem(loss, penalty, t, np.ones(4)), get_backend().design(X), point)
        np.testing.assert_array_equal(start.beta, point.beta)
