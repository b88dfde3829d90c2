"""Tasks over one stored matrix: the solutions they have alone, scores within their bounds, little work for each."""

import sys
from itertools import combinations

import numpy as np
import pytest

import maxmargin.solvers.together as module
from maxmargin import SVC
from maxmargin.backends import KernelGram, single_threaded_blas
from maxmargin.backends._numba import NumbaBackend
from maxmargin.kernels import Gaussian
from maxmargin.problems import SVCProblem
from maxmargin.solvers import Decomposition, Tasks, Watch, can_solve_together, solve_together
from tests.reference_backend import get_backend


def blobs(n, classes, scale=1.0, offset=0.0, d=5):
    rng = np.random.default_rng(n + classes)
    y = np.arange(n) % classes
    X = rng.normal(size=(classes, d))[y] * 1.5 + rng.normal(size=(n, d))
    return scale * X + offset, y


def pairs_of(y, C):
    """(rows, problem) of every pair of classes."""
    for a, b in combinations(np.unique(y), 2):
        rows = np.flatnonzero((y == a) | (y == b))
        yield rows, SVCProblem(np.where(y[rows] == a, 1.0, -1.0), np.full(len(rows), C))


def solved_together(X, y, C, gamma, tol=1e-3, stored=None):
    """(Gram matrix, tasks, what they came to)."""
    gram = KernelGram(get_backend(), Gaussian(gamma), X, dtype=stored)
    rows, problems = zip(*pairs_of(y, C), strict=True)
    tasks = Tasks.of([problem.qp for problem in problems], rows, [None] * len(rows))
    with single_threaded_blas():
        return gram, tasks, solve_together(get_backend(), tasks, gram, Watch(tol=tol), 1)


@pytest.mark.parametrize("n", [90, 400, 900])  # polished, in float64, in float32 with fresh scores
@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_tasks_end_where_they_end_alone(n, C):
    X, y = blobs(n, 4)
    gram, tasks, together = solved_together(X, y, C, 0.1, stored=np.float64 if n <= module.FEW_ROWS else None)
    assert together.finished.all()
    for number, (rows, problem) in enumerate(pairs_of(y, C)):
        own = slice(tasks.pointers[number], tasks.pointers[number + 1])
        with single_threaded_blas():
            alone = Decomposition(get_backend()).solve(problem, gram.in_float64().take(rows), None, Watch(tol=1e-6))
        beta, f = together.beta[own], gram.matrix()[np.ix_(rows, rows)] @ together.beta[own]
        assert problem.qp.infeasibility(beta) <= 1e-12 * C
        assert problem.qp.violation(beta, f + problem.qp.linear) <= 1e-3
        dual = problem.dual(alone.beta, alone.f)
        assert problem.dual(beta, f) == pytest.approx(dual, rel=2e-3)


@pytest.mark.parametrize(
    ("n", "scale", "offset"), [(60, 1.0, 0.0), (400, 1e-3, 0.0), (700, 1.0, 1e3), (700, 30.0, 0.0)]
)
def test_scores_are_within_their_proven_errors(n, scale, offset):
    X, y = blobs(n, 3, scale, offset)
    gamma = 0.1 / scale**2
    _, tasks, together = solved_together(X, y, 10.0, gamma, stored=np.float64 if n <= module.FEW_ROWS else None)
    wide = X.astype(np.longdouble)
    K = np.exp(-np.longdouble(gamma) * ((wide[:, None] - wide[None]) ** 2).sum(axis=2))
    assert together.error is not None
    for first, last in zip(tasks.pointers[:-1], tasks.pointers[1:], strict=True):
        rows = tasks.rows[first:last]
        exact = K[np.ix_(rows, rows)] @ together.beta[first:last].astype(np.longdouble)
        error = np.abs(together.f[first:last] - exact).astype(float)
        assert (error <= together.error[first:last]).all()
        assert together.error[first:last].max() <= 1e-6  # and they say something


def test_values_are_computed_once_for_all_tasks():
    """Once for the solver, and above FEW_ROWS once more in float64, whatever the number of pairs."""
    for n, times in ((400, 1), (900, 2)):
        X, y = blobs(n, 10)
        _, _, together = solved_together(X, y, 1.0, 0.1, stored=np.float64 if n <= module.FEW_ROWS else None)
        assert together.finished.all()
        assert together.entries <= 1.1 * times * n * n / 2


def test_a_pair_of_classes_costs_few_calls_of_python():
    def calls(classes):
        X, y = blobs(360, classes)
        model, count = SVC(n_jobs=1), 0
        model.fit(X, y)

        def seen(frame, event, _):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(seen)
        try:
            model.fit(X, y)
        finally:
            sys.setprofile(None)
        return count

    few, many = calls(3), calls(20)
    assert many - few <= 15 * (190 - 3)


@pytest.mark.parametrize(("classes", "polished"), [(3, True), (30, False)])
def test_tiny_tasks_are_polished_where_they_are_few(classes, polished, monkeypatch):
    tiny, original = [], NumbaBackend.solve_few
    monkeypatch.setattr(NumbaBackend, "solve_few", lambda self, *rest: (tiny.append(rest[8]), original(self, *rest))[1])
    X, y = blobs(60, classes)
    SVC().fit(X, y)
    assert [most is not None for most in tiny] == [polished]


def test_tasks_that_are_stopped_are_feasible_and_not_finished():
    X, y = blobs(300, 5)
    gram = KernelGram(get_backend(), Gaussian(0.1), X)
    rows, problems = zip(*pairs_of(y, 1.0), strict=True)
    tasks = Tasks.of([problem.qp for problem in problems], rows, [None] * len(rows))
    watch = Watch(interrupted=lambda: True)
    stopped = solve_together(get_backend(), tasks, gram, watch, 1)
    assert not stopped.finished.any()
    assert can_solve_together(gram, 120, watch)
    for number, problem in enumerate(problems):
        own = slice(tasks.pointers[number], tasks.pointers[number + 1])
        assert problem.qp.infeasibility(stopped.beta[own]) == 0
