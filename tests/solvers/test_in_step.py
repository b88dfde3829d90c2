"""Tasks that advance in step: each at its goal, scores within their bounds, kernel values computed once for all."""

import numpy as np
import pytest

import maxmargin.solvers.in_step as module
from maxmargin import SVC, certify
from maxmargin.backends import KernelGram, single_threaded_blas
from maxmargin.kernels import Gaussian, Laplacian
from maxmargin.problems import SVCProblem
from maxmargin.solvers import Tasks, Watch, can_advance_in_step, solve_in_step
from tests.reference_backend import get_backend


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Constants for a few hundred rows."""
    sizes = {"FEWEST_ROWS": 300, "LEAST": 256, "POOL": 300, "FIRST": 200, "TASKS": 3, "HARD": 100}
    for name, value in sizes.items():
        monkeypatch.setattr(module, name, value)


def blobs(n=700, classes=5, d=5):
    rng = np.random.default_rng(n + classes)
    y = np.arange(n) % classes
    return rng.normal(size=(classes, d))[y] * 1.5 + rng.normal(size=(n, d)), y


def against_the_rest(X, y, C=10.0, tol=1e-3, threads=1, starts=None, watch=None):
    """(Gram matrix, problems, what they came to)."""
    gram = KernelGram(get_backend(), Gaussian(0.1), X, dtype=None, threads=threads)
    problems = [SVCProblem(np.where(y == k, 1.0, -1.0), np.full(len(y), C)) for k in np.unique(y)]
    count, rows = len(problems), np.arange(len(y))
    tasks = Tasks.of([p.qp for p in problems], [rows] * count, [None] * count if starts is None else starts)
    with single_threaded_blas():
        return gram, problems, solve_in_step(get_backend(), tasks, gram, watch or Watch(tol=tol), threads)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_what_is_finished_is_feasible_and_at_its_goal_in_float64(C):
    X, y = blobs()
    gram, problems, found = against_the_rest(X, y, C)
    K, beta = gram.matrix(), found.beta.reshape(len(problems), -1)
    assert found.finished.any()
    for number, problem in enumerate(problems):
        assert problem.qp.infeasibility(beta[number]) <= 1e-9
        if found.finished[number]:
            assert problem.qp.violation(beta[number], K @ beta[number] + problem.qp.linear) <= 1e-3


def test_scores_are_within_their_proven_errors():
    X, y = blobs()
    _, problems, found = against_the_rest(X, y)
    wide = X.astype(np.longdouble)
    K = np.exp(-np.longdouble(0.1) * ((wide[:, None] - wide[None]) ** 2).sum(axis=2))
    exact = (found.beta.reshape(len(problems), -1).astype(np.longdouble) @ K).ravel()
    assert (np.abs(found.f - exact).astype(float) <= found.error).all()
    assert found.error.max() <= 1e-6  # and they say something


@pytest.mark.parametrize("threads", [1, 2])
def test_bits_are_the_same_every_time(threads):
    X, y = blobs()
    first, second = (against_the_rest(X, y, threads=threads)[2] for _ in range(2))
    assert np.array_equal(first.beta, second.beta)
    assert np.array_equal(first.f, second.f)


def test_copies_of_a_task_cost_no_kernel_values(monkeypatch):
    X, y = blobs(classes=2)
    monkeypatch.setattr(module, "TASKS", 8)
    entries = []
    for copies in (1, 4):
        gram = KernelGram(get_backend(), Gaussian(0.1), X, dtype=None)
        qps = [SVCProblem(np.where(y == 0, 1.0, -1.0), np.full(len(y), 1.0)).qp] * copies
        tasks = Tasks.of(qps, [np.arange(len(y))] * copies, [None] * copies)
        found = solve_in_step(get_backend(), tasks, gram, Watch(tol=1e-3), 1)
        assert found.finished.all()
        entries.append(found.entries)
    assert entries[0] == entries[1]


def test_a_start_at_the_solution_takes_no_steps():
    X, y = blobs()
    _, problems, found = against_the_rest(X, y)
    assert found.finished.all()
    starts = list(found.beta.reshape(len(problems), -1))
    again = against_the_rest(X, y, starts=starts, tol=2e-3)[2]
    assert again.finished.all()
    assert again.steps.sum() == 0
    assert np.array_equal(again.beta, found.beta)


def test_tasks_with_many_free_variables_are_left_to_another_solver(monkeypatch):
    monkeypatch.setattr(module, "MANY_FREE", 20)
    X, y = blobs()
    _, problems, found = against_the_rest(X, y, C=1000.0)
    assert not found.finished.all()
    beta = found.beta.reshape(len(problems), -1)
    assert all(p.qp.infeasibility(b) <= 1e-9 for p, b in zip(problems, beta, strict=True))
    model = SVC(C=1000.0, gamma=0.1, multiclass="ovr").fit(X, y)  # and the fit goes on from there
    assert model.certificate_.kkt <= 1e-3


def test_tasks_that_take_too_many_pairwise_steps_are_left_to_another_solver(monkeypatch):
    monkeypatch.setattr(module, "HARD", 1)
    X, y = blobs()
    assert not against_the_rest(X, y, C=1000.0)[2].finished.any()
    model = SVC(C=1000.0, gamma=0.1, multiclass="ovr").fit(X, y)
    assert model.certificate_.kkt <= 1e-3


def test_tasks_that_are_stopped_are_feasible_and_not_finished():
    X, y = blobs()
    watch = Watch(tol=1e-3, interrupted=lambda: True)
    _, problems, found = against_the_rest(X, y, watch=watch)
    assert not found.finished.any()
    assert found.error is None
    beta = found.beta.reshape(len(problems), -1)
    assert all(p.qp.infeasibility(b) <= 1e-9 for p, b in zip(problems, beta, strict=True))


def test_tasks_share_a_pool_while_it_is_small():
    wanted = np.zeros((4, 10), dtype=bool)
    for task, rows in enumerate(([0, 1], [1, 2], [5, 6, 7], [5, 6])):
        wanted[task, rows] = True
    pools = module.pools_of(np.array([0, 1, 2, 3]), wanted, 3)
    assert [(own.tolist(), rows.tolist()) for own, rows in pools] == [([0, 1], [0, 1, 2]), ([2, 3], [5, 6, 7])]
    pools = module.pools_of(np.array([1, 2]), wanted, 1)  # one that wants more has a pool of its own
    assert [(own.tolist(), rows.tolist()) for own, rows in pools] == [([1], [1, 2]), ([2], [5, 6, 7])]


def test_when_tasks_advance_in_step():
    X, _ = blobs()
    n, gram = len(X), KernelGram(get_backend(), Gaussian(0.1), X, dtype=None)
    assert can_advance_in_step(gram, [n, n], Watch(tol=1e-3))
    assert not can_advance_in_step(gram, [n], Watch(tol=1e-3))  # nobody to share with
    assert not can_advance_in_step(gram, [n, n - 1], Watch(tol=1e-3))
    assert not can_advance_in_step(gram, [n, n], Watch(tol=1e-3, gap_tol=1e-4))
    assert not can_advance_in_step(gram, [n, n], Watch(tol=1e-3, max_iter=10))
    streams_not = KernelGram(get_backend(), Laplacian(0.1), X, dtype=None)
    assert not can_advance_in_step(streams_not, [n, n], Watch(tol=1e-3))


@pytest.mark.parametrize("params", [{}, {"calibration": "sigmoid"}])
def test_a_fit_in_step_is_certified_by_the_pass_that_ended_it(monkeypatch, params):
    X, y = blobs(n=2200)
    monkeypatch.setattr("maxmargin.solvers.together.LONGEST", 2000)
    calls = []

    def counted(*args):
        calls.append(solve_in_step(*args))
        return calls[-1]

    monkeypatch.setattr("maxmargin.estimators._run.solve_in_step", counted)
    model = SVC(C=10.0, gamma=0.1, multiclass="ovr", random_state=0, **params).fit(X, y)
    assert len(calls) == (2 if params else 1)  # the machines, and their folds
    assert all(own.finished.all() for own in calls)
    assert model.certificate_.kkt <= 1e-3
    assert certify(model, X, y).kkt <= 1.001e-3
