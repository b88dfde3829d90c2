"""The tasks of a fit over one stored matrix: what they claim is true of scores in float64, and limits are kept."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVR, certify
from maxmargin._stop import stops_when
from maxmargin.backends import KernelGram
from maxmargin.certificates import definiteness
from maxmargin.estimators import _base, _kernel_folds, _soft_margins
from maxmargin.kernels import Gaussian, Laplacian, Precomputed
from maxmargin.problems import SVCProblem
from maxmargin.solvers import Tasks, Watch, can_solve_together, solve_together, together
from tests.reference_backend import get_backend

TOL = 1e-3


def noisy(n=700, d=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)


def pairs(sign, C, sizes=(700, 300, 60)):
    """(problems, their rows): the first rows of all, more or fewer."""
    rows = [np.arange(size) for size in sizes]
    return [SVCProblem(sign[own], np.full(len(own), C)) for own in rows], rows


def solved(gram, problems, rows, watch=None):
    tasks = Tasks.of([problem.qp for problem in problems], rows, [None] * len(rows))
    return tasks, solve_together(get_backend(), tasks, gram, watch or Watch(tol=TOL), 1)


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("steps", [1, together.STEPS])
@pytest.mark.parametrize("gamma", [1e-4, 0.05])
def test_what_is_finished_is_so_for_scores_in_float64(monkeypatch, C, steps, gamma):
    monkeypatch.setattr(together, "STEPS", steps)  # one: some tasks are left to another solver
    X, sign = noisy()
    kernel = Gaussian(gamma)
    problems, rows = pairs(sign, C)
    tasks, result = solved(KernelGram(get_backend(), kernel, X, dtype=None), problems, rows)
    K = kernel(X)
    for number, (problem, own) in enumerate(zip(problems, rows, strict=True)):
        part = slice(tasks.pointers[number], tasks.pointers[number + 1])
        beta, f = result.beta[part], K[np.ix_(own, own)] @ result.beta[part]
        assert problem.qp.infeasibility(beta) <= 1e-9
        np.testing.assert_allclose(result.f[part], f, atol=1e-12 * np.abs(beta).sum())
        assert not result.finished[number] or problem.qp.violation(beta, f + problem.qp.linear) <= TOL


def test_a_task_that_is_hard_keeps_no_other_from_its_goal(monkeypatch):
    monkeypatch.setattr(together, "STEPS", 5)
    X, sign = noisy()
    sign[300:] = np.where(X[300:, 0] > 0, 1.0, -1.0)
    problems = [SVCProblem(sign[:300], np.full(300, 1e6)), SVCProblem(sign[300:], np.full(400, 1e4))]
    kernel = Gaussian(1e-4)
    gram = KernelGram(get_backend(), kernel, X, dtype=None)
    _, result = solved(gram, problems, [np.arange(300), np.arange(300, 700)])
    easy = result.beta[300:]
    assert result.finished.tolist() == [False, True]
    assert problems[1].qp.violation(easy, kernel(X[300:]) @ easy + problems[1].qp.linear) <= TOL


@pytest.mark.parametrize("C", [1e3, 1e5])
def test_folds_reach_their_goal_in_float64(monkeypatch, C):
    found = []
    run_tasks = _kernel_folds.run_tasks

    def watched(options, kernel, X, tasks, *args, **kwargs):
        found.extend(run_tasks(options, kernel, X, tasks, *args, **kwargs))
        return found

    monkeypatch.setattr(_kernel_folds, "run_tasks", watched)
    X, sign = noisy()
    model = SVC(C=C, gamma=1e-4, calibration="sigmoid", random_state=0, tol=TOL).fit(X, sign)
    for outcome in found:
        rows, problem, beta = outcome.delivered.rows, outcome.delivered.problem, outcome.solution.beta
        f = model.kernel_(X[rows]) @ beta
        np.testing.assert_allclose(outcome.solution.f, f, atol=1e-12 * np.abs(beta).sum())
        assert problem.qp.violation(beta, f + problem.qp.linear) <= TOL


@pytest.mark.parametrize("kernel", [Laplacian(0.1), Gaussian(0.1)], ids=["laplacian", "gaussian"])
def test_whoever_asks_to_stop_is_heard_while_the_matrix_is_computed(kernel):
    X, sign = noisy()
    gram = KernelGram(get_backend(), kernel, X, dtype=np.float32)
    _, result = solved(gram, *pairs(sign, 1.0), watch=Watch(interrupted=lambda: True))
    assert gram.entries == 0
    assert not result.finished.any()
    assert not result.beta.any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", [False, True])
def test_no_more_is_stored_than_the_cache_holds(dtype, given):
    X, sign = noisy()
    n, kernel = len(X), Precomputed() if given else Gaussian(0.05)
    rows = np.asfortranarray(Gaussian(0.05)(X).astype(dtype)) if given else X
    parts = [np.arange(first, first + n // 2) for first in (0, n // 4, n // 2)]
    problems = [SVCProblem(sign[own], np.full(len(own), 0.1)) for own in parts]
    for bytes_per_value in (4, 8, 11, 12):
        cache_bytes = bytes_per_value * n**2
        gram = KernelGram(get_backend(), kernel, rows, dtype=None if given else dtype, cache_bytes=cache_bytes)
        if not can_solve_together(gram, n, Watch()):
            assert bytes_per_value < (12 if dtype == np.float64 and not given else 4)
            continue
        solved(gram, problems, parts)  # compiles
        tracemalloc.start()
        _, result = solved(gram, problems, parts)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert result.finished.all()
        assert peak <= cache_bytes + 3.5 * n**2  # the block that is solved, vectors, and rows as they are laid out


def test_rows_are_not_laid_out_for_a_matrix_that_there_is_no_room_for(monkeypatch):
    def refused(*_):
        raise AssertionError("laid out in vain")

    monkeypatch.setattr(_soft_margins, "gram_to_store", refused)
    X, sign = noisy()
    assert SVC(cache_size=0.1).fit(X, sign).certificate_.holds


@pytest.mark.parametrize("steps", [1, together.STEPS])
@pytest.mark.parametrize("machine", [SVC(C=100), SVR(C=100)], ids=["SVC", "SVR"])
def test_steps_that_led_to_a_start_are_counted(monkeypatch, machine, steps):
    taken = []
    original = together._solved

    def watched(*args):
        taken.append(original(*args))
        return taken[-1]

    monkeypatch.setattr(together, "_solved", watched)
    monkeypatch.setattr(together, "STEPS", steps)
    X, sign = noisy()
    model = machine.fit(X, sign)
    (result,) = taken
    n_iter = int(np.max(model.n_iter_))
    assert model.history_["iteration"][-1] == n_iter
    assert n_iter == result.steps[0] if result.finished[0] else n_iter > result.steps[0]


@pytest.mark.parametrize("machine", [SVC(), SVR()], ids=["SVC", "SVR"])
@pytest.mark.parametrize("parts", [1, 3])
def test_a_bounded_proof_allows_for_what_the_matrix_lacks(machine, parts):
    X, sign = noisy(d=3)
    K = 100.0 * X @ X.T  # of rank three: positive semi-definite up to rounding
    target = sign if parts == 1 else np.digitize(X[:, 0], [-0.5, 0.5])
    model = machine.set_params(kernel="precomputed", C=1e-3).fit(K, target)
    deficit = definiteness(model.kernel_, K, np.arange(len(K))).deficit
    assert deficit > 0
    own, judged = model.certificate_, certify(model, K, target)
    assert own.method == "bounded"
    assert own.judged == judged.judged
    if model.dual_coef_.shape[0] == 1:
        assert own.error_bound >= deficit * np.linalg.norm(model.dual_coef_)


def test_scores_with_bounds_know_the_largest_kernel_value(monkeypatch):
    outcomes = []
    run_tasks = _base.run_tasks

    def watched(*args):
        outcomes.extend(run_tasks(*args))
        return outcomes

    monkeypatch.setattr(_base, "run_tasks", watched)
    X, sign = noisy(d=3)
    K = 100.0 * X @ X.T
    SVR(kernel="precomputed", C=1e-3).fit(K, sign)
    assert outcomes[0].fresh.largest >= np.diag(K).max()


@pytest.mark.parametrize("classes", [2, 3])
def test_where_bounds_do_not_prove_the_goal_scores_are_recomputed(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 5))
    X[:350, 0] += 2e4  # squares so large that exponents lose digits; differences of rows do not
    model = SVC(C=100, gamma=1.0, tol=TOL).fit(X, rng.integers(0, classes, 700))
    assert model.certificate_.kkt <= TOL
    assert model.fit_status_ == 0


@pytest.mark.parametrize("looks", [1, 3, 10, 30])
@pytest.mark.parametrize("longest", [100, together.LONGEST])
def test_a_fit_that_is_asked_to_stop_from_outside_delivers_what_it_has(monkeypatch, longest, looks):
    monkeypatch.setattr(together, "LONGEST", longest)  # short: blocks are solved
    X, sign = noisy(2500)
    asked = []
    with stops_when(lambda: asked.append(True) or len(asked) > looks), pytest.warns(ConvergenceWarning):
        model = SVC(C=1e3, n_jobs=1).fit(X, sign)
    assert model.fit_status_ == 1
    assert np.isfinite(model.decision_function(X[:5])).all()


@pytest.mark.parametrize("weight", [{-1: 0, 1: 1}, {-1: 1, 1: 0}])
def test_a_class_of_no_weight_leaves_no_gap(weight):
    X, sign = noisy()
    model = SVC(class_weight=weight).fit(X, sign)
    assert model.certificate_.gap == certify(model, X, sign).gap == 0
