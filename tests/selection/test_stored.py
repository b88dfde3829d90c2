"""Kernel machines on one stored matrix: its values, the proofs of its solutions, and the kernels it is stored for."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVCCV, SVR, SVRCV, LinearSVCCV, LinearSVRCV, NuSVCCV
from maxmargin.backends import WholeMatrix, backend_for
from maxmargin.kernels import (
    ChiSquared,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    QuadraticForm,
)
from maxmargin.problems import FEASIBILITY_TOL, Offsets, SVCProblem, SVRProblem
from maxmargin.solvers import StoredTasks
from maxmargin.solvers.stored import STEPS_PER_ROW
from tests.laws import examples

BACKEND = backend_for("cpu")
ROUNDING = 2.0**-23
KERNELS = [
    Gaussian(0.05),
    Gaussian(0.5),
    Laplacian(0.1),
    Linear(),
    Polynomial(3, gamma=0.1),
    ChiSquared(0.3),
    Matern(1.5, 2.0),
    Gaussian(0.2) + 0.5 * Linear(),
    Gaussian(0.2) * Polynomial(2, gamma=0.1),
    Laplacian(0.2) + Gaussian(0.1),
    Linear().warp(lambda X: np.asarray(X.sum(axis=1)).ravel() / 10),
    Function(lambda X, Z: 1.0 + np.asarray((X @ Z.T).toarray() if sp.issparse(X) else X @ Z.T)),
]


def rows(n, features, seed=0):
    """Non-negative rows, which every kernel takes."""
    return np.random.default_rng(seed).uniform(0.0, 2.0, size=(n, features))


def iris_cut():
    X, y = load_iris(return_X_y=True)
    return X[20:130], y[20:130]


# -- the matrix ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("features", [3, 60], ids=["computed anew", "products kept"])
def test_one_kernel_after_another_has_its_own_values(features, threads):
    X = rows(300, features)  # more than one panel
    whole = WholeMatrix(BACKEND, X, 2**24, threads)
    for kernel in [*KERNELS, *KERNELS[::-1]]:
        values, diagonal = whole.values(kernel)
        exact = kernel(X)
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, exact, rtol=ROUNDING, atol=1e-9, err_msg=repr(kernel))
        np.testing.assert_array_equal(values, values.T)
        np.testing.assert_allclose(diagonal, np.diag(exact), rtol=1e-12)


def moved(kernel, X, diagonal):
    """The kernel's values in float64, with the origin of the matrix whose diagonal is given."""
    K = kernel(X)
    shift = (np.diag(K) - diagonal) / 2
    return K - shift[:, None] - shift


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, gamma=0.1), Gaussian(1e-4), Gaussian(1.0)], ids=repr)
def test_the_origin_moves_to_the_rows_where_the_sum_of_coefficients_is_0(kernel):
    X = rows(300, 4) + 50.0
    plain = kernel(X)
    values, diagonal = WholeMatrix(BACKEND, X, 2**24).values(kernel, balanced=True)
    exact = moved(kernel, X, diagonal)
    np.testing.assert_allclose(values, exact, rtol=ROUNDING, atol=1e-11 * np.abs(plain).max())
    assert (np.abs(diagonal).max() < 0.5 * np.abs(plain).max()) == (kernel != Gaussian(1.0))
    beta = np.random.default_rng(0).normal(size=300)
    beta -= beta.mean()
    spread = (plain - exact) @ beta  # a constant, which the intercept takes in
    np.testing.assert_allclose(spread, spread.mean(), atol=1e-9 * np.abs(plain).max())


@pytest.mark.parametrize("memory", [2**24, 4 * 280**2], ids=["roomy", "just the matrix"])
def test_sparse_rows_have_the_values_of_dense_ones(memory):
    X = sp.random_array((280, 120), density=0.6, random_state=np.random.default_rng(1), format="csr")
    whole = WholeMatrix(BACKEND, X, memory)
    for kernel in (Gaussian(0.05), Gaussian(0.1), Polynomial(2, gamma=0.1), Linear(), Laplacian(0.1)):
        np.testing.assert_allclose(whole.values(kernel)[0], kernel(X.toarray()), rtol=ROUNDING, atol=1e-7)


def test_values_that_are_given_are_looked_up():
    K = Gaussian(0.3)(rows(40, 2))
    values, diagonal = WholeMatrix(BACKEND, K, 2**20).values(Precomputed())
    np.testing.assert_allclose(values, K, rtol=ROUNDING)
    np.testing.assert_array_equal(diagonal, np.diag(K))


def test_rows_may_be_anything_that_a_function_takes():
    words = ["ab", "abc", "bcd", "xyz"]
    shared = Function(lambda A, B: np.array([[float(len(set(a) & set(b))) for b in B] for a in A]))
    values, _ = WholeMatrix(BACKEND, words, 2**20).values(shared)
    np.testing.assert_array_equal(values, [[2, 2, 1, 0], [2, 3, 2, 0], [1, 2, 3, 0], [0, 0, 0, 3]])


def test_a_matrix_fits_where_its_bytes_do():
    assert WholeMatrix.fits(100, 40_000)
    assert not WholeMatrix.fits(100, 39_999)


# -- proofs ----------------------------------------------------------------------------------------------------------


def random_problem(kind, seed):
    """(matrix in float64, rows, problem of unit cost on all rows, of which some take no part)."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 50))
    X = (rng.normal(size=(n, 3)) + rng.choice([0.0, 30.0])) * 10 ** rng.uniform(-1, 1)
    kernel = [Gaussian(10 ** rng.uniform(-2, 1)), Linear(), Polynomial(2, gamma=0.3)][rng.integers(3)]
    weight = rng.uniform(0.2, 3.0, n) * (rng.random(n) < 0.8)
    weight[:2] = 1.0  # of each class one at least
    if kind == "svc":
        sign = np.where(np.arange(n) < 2, [1.0, -1.0] * (n // 2) + [1.0] * (n % 2), rng.choice([-1.0, 1.0], n))
        return kernel, X, lambda cost: SVCProblem(sign, cost * weight)
    y, epsilon = X[:, 0] + rng.normal(size=n), float(rng.choice([0.0, 0.1, 0.5]))
    return kernel, X, lambda cost: SVRProblem(y, cost * weight, epsilon)


def solved(tasks, stored, diagonal, cost, goal=1e-6):
    """All tasks at this cost, to a relative gap."""
    return tasks.solve(BACKEND, stored, diagonal, cost, goal)


def proven(problem, K, beta, intercept):
    """(dual value, gap) of a solution, in float64 and by the problem's own words."""
    f = K @ beta
    return problem.dual(beta, f), problem.gap(beta, f, Offsets(intercept, epsilon=getattr(problem, "epsilon", 0.0)))


@pytest.mark.parametrize("kind", ["svc", "svr"])
@given(seed=st.integers(0, 10_000), loose=st.booleans(), balanced=st.booleans())
@examples(60)
def test_a_gap_is_an_upper_bound_whatever_the_order_of_the_costs(kind, seed, loose, balanced):
    kernel, X, at_cost = random_problem(kind, seed)
    stored, diagonal = WholeMatrix(BACKEND, X, 2**24).values(kernel, balanced)
    K = moved(kernel, X, diagonal)
    tasks = StoredTasks([at_cost(1.0).qp], [np.arange(len(X))])
    order = np.random.default_rng(seed).permutation([0.01, 0.1, 1.0, 1.0, 10.0, 100.0])
    for cost in [*sorted(order), *sorted(order)[::-1], *order]:
        answer = solved(tasks, stored, diagonal, cost, 1e-2 if loose else 1e-6)
        problem = at_cost(cost)
        dual, gap = proven(problem, K, tasks.beta, answer.intercept[0])
        size = max(abs(dual), abs(dual + gap), 1e-300)
        assert problem.qp.infeasibility(tasks.beta) <= FEASIBILITY_TOL
        assert gap <= answer.gap[0] + 1e-9 * size
        assert answer.dual[0] == pytest.approx(dual, abs=1e-6 * np.abs(tasks.beta) @ np.abs(K) @ np.abs(tasks.beta))
        error = (ROUNDING * np.abs(K) + 1e-12 * np.abs(kernel(X)).max()) @ np.abs(tasks.beta)
        assert (np.abs(tasks.f - K @ tasks.beta) <= error).all()  # of rows that take no part too


@pytest.mark.parametrize("kind", ["svc", "svr"])
def test_a_hard_cell_is_given_up_after_its_steps(kind):
    kernel, X, at_cost = random_problem(kind, 9)  # took millions of steps, in one compiled call, before it was given up
    stored, diagonal = WholeMatrix(BACKEND, X, 2**24).values(kernel, balanced=True)
    tasks = StoredTasks([at_cost(1.0).qp], [np.arange(len(X))])
    solutions = [solved(tasks, stored, diagonal, cost) for cost in (1.0, 10.0, 100.0)]
    assert not solutions[-1].reached
    assert max(int(own.steps.max()) for own in solutions) <= STEPS_PER_ROW * len(X) + 10_000


@pytest.mark.parametrize("kind", ["svc", "svr"])
@given(seed=st.integers(0, 10_000))
@examples(25)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_solutions_are_those_of_the_machines(kind, seed):
    kernel, X, at_cost = random_problem(kind, seed)
    stored, diagonal = WholeMatrix(BACKEND, X, 2**24).values(kernel, balanced=True)
    K = moved(kernel, X, diagonal)
    tasks = StoredTasks([at_cost(1.0).qp], [np.arange(len(X))])
    for cost in (0.1, 3.0):
        answer, problem = solved(tasks, stored, diagonal, cost), at_cost(cost)
        machine = SVC(C=cost) if kind == "svc" else SVR(C=cost, epsilon=problem.epsilon)
        target, weight = (problem.sign if kind == "svc" else problem.y), problem.C / cost
        machine.set_params(kernel="precomputed", tol=1e-6, max_iter=10**4)
        best = machine.fit(K, target, sample_weight=weight).certificate_
        dual, gap = proven(problem, K, tasks.beta, answer.intercept[0])
        assert dual <= best.primal * (1 + 1e-9)
        assert best.dual <= (dual + answer.gap[0]) * (1 + 1e-9)
        if isinstance(kernel, Gaussian):  # whose values are all of one size
            assert gap <= 1e-3 * abs(best.primal)


def test_rows_at_their_bounds_but_for_rounding_do_not_decide_over_the_intercept():
    """Where all rows are bound it may be anything in an interval, of which machines take the middle."""
    X = rows(33, 4)
    sign, weight = np.repeat([1.0, -1.0], [16, 17]), np.repeat([33 / 32, 33 / 34], [16, 17])
    stored, diagonal = WholeMatrix(BACKEND, X, 2**24).values(Gaussian(0.1))
    tasks = StoredTasks([SVCProblem(sign, weight).qp], [np.arange(33)])
    for cost in (1e-3, 1e-2, 0.1):
        fitted = SVC(kernel=Gaussian(0.1), C=cost, tol=1e-8).fit(X, sign, sample_weight=weight)
        assert solved(tasks, stored, diagonal, cost).intercept[0] == pytest.approx(fitted.intercept_[0], abs=1e-4)


def test_tasks_on_some_rows_only_are_solved_side_by_side():
    """Rows in several runs, as pairs of classes have them; the second task is the first one with signs turned."""
    X, kernel = rows(90, 3), Gaussian(0.5)
    stored, diagonal = WholeMatrix(BACKEND, X, 2**24).values(kernel)
    own = np.concatenate([np.arange(5, 30), np.arange(60, 88)])
    sign = np.where(X[own, 0] > 1.0, 1.0, -1.0)
    problems = [SVCProblem(sign, np.ones(len(own))), SVCProblem(-sign, np.ones(len(own)))]
    tasks = StoredTasks([problem.qp for problem in problems], [own, own])
    answer = solved(tasks, stored, diagonal, 2.0, 1e-8)
    first, second = tasks.beta.reshape(len(tasks), -1)
    np.testing.assert_allclose(first, -second, atol=1e-3)
    assert answer.intercept[0] == pytest.approx(-answer.intercept[1], abs=1e-5)
    fitted = SVC(kernel=kernel, C=2.0, tol=1e-8).fit(X[own], sign)
    np.testing.assert_allclose(tasks.f[: len(own)] + answer.intercept[0], fitted.decision_function(X[own]), atol=1e-4)
    assert answer.relative_gap < 1e-4


# -- kernels of a search ---------------------------------------------------------------------------------------------


def assert_like_grid_search(search, machine, grid, X, y, wrong_rows=2):
    """Scores of a search are those of scikit-learn's, but for a row or two."""
    search.set_params(drop=False).fit(X, y)
    theirs = GridSearchCV(machine, grid, cv=search.cv).fit(X, y)
    ours = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours, theirs.cv_results_["mean_test_score"], atol=wrong_rows / len(y) + 1e-9)
    return search


@pytest.mark.parametrize(
    "kernel",
    ["linear", "poly", "sigmoid", Laplacian(0.3), Gaussian(0.1) + Linear(), lambda A, B: (1 + A @ B.T) ** 2],
    ids=["linear", "poly", "sigmoid", "laplacian", "composite", "function"],
)
def test_any_kernel_can_be_searched_with(kernel):
    X, y = iris_cut()
    machine = SVC(kernel=kernel, gamma=0.2, tol=1e-6)
    assert_like_grid_search(SVCCV(kernel=kernel, Cs=[0.1, 10.0], gammas=[0.2], cv=3), machine, {"C": [0.1, 10.0]}, X, y)


def test_a_matrix_of_values_is_split_by_rows_and_columns():
    X, y = iris_cut()
    grid = {"C": [0.1, 10.0]}
    search = SVCCV(kernel="precomputed", Cs=grid["C"], cv=3)
    assert_like_grid_search(search, SVC(kernel="precomputed", tol=1e-6), grid, X @ X.T, y)
    linear = SVC(kernel="linear", C=search.best_params_["C"]).fit(X, y)
    np.testing.assert_array_equal(search.predict(X @ X.T), linear.predict(X))


def test_kernels_are_values_of_the_grid():
    X, y = iris_cut()
    kernels = [Gaussian(0.1), Laplacian(0.3), "linear", Polynomial(2, gamma=0.1) + Gaussian(1.0)]
    search = SVCCV(Cs=[0.1, 10.0], gammas=["scale"], param_grid={"kernel": kernels}, cv=3)
    grid = {"C": [0.1, 10.0], "gamma": ["scale"], "kernel": kernels}
    assert_like_grid_search(search, SVC(tol=1e-6), grid, X, y)
    assert set(search.best_params_) == {"C", "gamma", "kernel"}
    assert search.best_estimator_.kernel is search.best_params_["kernel"]


def test_values_inside_a_composite_kernel_are_searched():
    X, y = iris_cut()
    kernel = Gaussian(0.1) + 0.5 * Polynomial(2, gamma=0.1)
    inside = {"kernel__left__gamma": [0.01, 1.0], "kernel__right__left__degree": [1, 3]}
    search = SVCCV(kernel=kernel, Cs=[1.0], param_grid=inside, cv=3, drop=False).fit(X, y)
    for params, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        left, degree = params["kernel__left__gamma"], params["kernel__right__left__degree"]
        own = SVC(kernel=Gaussian(left) + 0.5 * Polynomial(degree, gamma=0.1), tol=1e-6)
        theirs = GridSearchCV(own, {"C": [1.0]}, cv=3).fit(X, y).best_score_
        assert score == pytest.approx(theirs, abs=2 / len(y) + 1e-9)


def test_kernels_whose_text_is_cut_short_are_told_apart():
    """NumPy leaves out the middle of a large array when it writes it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 40))
    y = (X[:, 20] > 0).astype(int)
    blind, seeing = np.full(40, 1e-3), np.full(40, 1e-3)
    seeing[20] = 10.0
    search = SVCCV(
        Cs=[1.0, 10.0],
        gammas=["scale"],
        param_grid={"kernel": [QuadraticForm(np.diag(blind)), QuadraticForm(np.diag(seeing))]},
        cv=3,
    ).fit(X, y)
    by_kernel = search.cv_results_["mean_test_score"].reshape(2, 2)
    assert (by_kernel[:, 1] > by_kernel[:, 0] + 0.1).all()


# -- float32 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [1e2, 1e4])
def test_the_linear_kernel_does_not_depend_on_the_origin(shift):
    """With an intercept the machine does not; products of values far from 0 lose their digits in float32."""
    X, y = load_iris(return_X_y=True)
    grid = {"C": [0.1, 1.0, 10.0]}
    search = SVCCV(kernel="linear", Cs=grid["C"], cv=3)
    assert_like_grid_search(search, SVC(kernel="linear"), grid, X + shift, y)


def test_a_linear_regression_does_not_depend_on_the_origin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=150)
    scores = [SVRCV(kernel="linear", Cs=[0.1, 1.0], cv=3).fit(X + shift, y).best_score_ for shift in (0.0, 3e3)]
    assert scores[1] == pytest.approx(scores[0], abs=0.005)


def test_values_too_large_for_float32_are_not_taken_for_solved():
    """No proof of nothing: either the scores are right, or the gap says that they are not."""
    X, y = load_iris(return_X_y=True)
    X = 1e20 * X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        search = SVCCV(kernel="linear", Cs=[1e-40], cv=3).fit(X, y)
    right = GridSearchCV(SVC(kernel="linear"), {"C": [1e-40]}, cv=3).fit(X, y).best_score_
    assert search.best_score_ == pytest.approx(right, abs=0.02) or not search.cv_results_["gap"][0] < 0.1


def test_the_winner_is_solved_however_large_the_values():
    """A cubic kernel of columns in the hundreds: many steps, and few digits, on the stored matrix."""
    X, y = load_wine(return_X_y=True)
    grid = {"C": [1e-6, 1e-3, 1.0]}
    search = SVCCV(kernel="poly", gammas=[1.0], Cs=grid["C"], cv=3)
    assert_like_grid_search(search, SVC(kernel="poly", gamma=1.0), grid, X, y)
    # optima of 1e-12 beside kernel values of 1e18: float64 can prove a gap for small costs only, and says so
    assert search.cv_results_["gap"][search.best_index_] <= 1.0
    assert search.certificate_.is_rounding
    assert SVC(kernel="poly", gamma=1.0, C=1e-6).fit(X, y).certificate_.relative_gap < 0.1


# -- scaling inside the folds ----------------------------------------------------------------------------------------


def pipeline_of(machine):
    return Pipeline([("scale", StandardScaler()), ("machine", machine)])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scaling_is_that_of_a_pipeline(n_jobs):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::2], y[::2]
    grid = {"machine__C": [0.1, 10.0], "machine__gamma": [0.003, 0.1]}
    search = SVCCV(Cs=[0.1, 10.0], gammas=[0.003, 0.1], scale=True, cv=3, n_jobs=n_jobs)
    assert_like_grid_search(search, pipeline_of(SVC(tol=1e-6)), grid, X, y)
    assert isinstance(search.best_estimator_, Pipeline)
    best = {f"machine__{name}": value for name, value in search.best_params_.items()}
    own = pipeline_of(SVC(n_jobs=n_jobs)).set_params(**best).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), own.predict(X))
    np.testing.assert_array_equal(search.decision_function(X), own.decision_function(X))
    assert search.certificate_.holds


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows_are_scaled_without_being_centred(form):
    X, y = iris_cut()
    grid = {"machine__C": [1.0], "machine__gamma": [0.1, 1.0]}
    machine = Pipeline([("scale", StandardScaler(with_mean=False)), ("machine", SVC(tol=1e-6))])
    search = SVCCV(Cs=[1.0], gammas=[0.1, 1.0], scale=True, cv=StratifiedKFold(3))
    assert_like_grid_search(search, machine, grid, form(X), y)
    assert search.score(form(X), y) > 0.9


def test_linear_machines_scale_themselves():
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 100.0, 0.01, 1.0]
    search = LinearSVCCV(Cs=[0.1, 1.0], scale=True, cv=3).fit(X, y)
    assert search.best_estimator_.scale
    assert search.best_score_ > 0.9
    assert LinearSVRCV(Cs=[0.1, 1.0], scale=True, cv=3).fit(X, X[:, 1]).best_score_ > 0.95


@pytest.mark.parametrize(
    "search",
    [
        SVCCV(Cs=[1.0], gammas=[0.1], cache_size=0.01),
        SVCCV(Cs=[1.0], gammas=[0.1], calibration="sigmoid"),
        SVCCV(Cs=[1.0], gammas=[0.1], multiclass="crammer-singer"),
        NuSVCCV(nus=[0.1], gammas=[0.1]),
    ],
    ids=["little memory", "calibration", "all classes", "nu"],
)
def test_every_kernel_machine_can_be_scaled(search):
    X, y = load_iris(return_X_y=True)
    spoilt = X * [1.0, 1e4, 1e-4, 1.0]
    search.set_params(scale=True, cv=3, random_state=0).fit(spoilt, y)
    assert search.best_score_ > 0.93


def test_little_memory_changes_nothing_but_the_time():
    X, y = load_iris(return_X_y=True)
    options = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 1.0], "cv": 3, "drop": False}
    stored, fitted = SVCCV(**options).fit(X, y), SVCCV(**options, cache_size=0.01).fit(X, y)
    scores = (search.cv_results_["mean_test_score"] for search in (stored, fitted))
    np.testing.assert_allclose(*scores, atol=2 / len(y))
