"""Conjugate gradients: what they say of their residual is true."""

import numpy as np
import pytest

from maxmargin.solvers.conjugate import conjugate_gradients, solve_refined


def system(n, condition, columns=2, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * np.geomspace(1.0, condition, n)) @ Q.T
    return (A + A.T) / 2, rng.normal(size=(n, columns))


def residuals(A, x, right):
    return np.linalg.norm(right - A @ x, axis=0) / np.linalg.norm(right, axis=0)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("condition", [1e1, 1e5, 1e9])
def test_the_residual_is_that_of_the_solution(seed, condition):
    A, right = system(40, condition, seed=seed)
    x, residual, steps = solve_refined(A.__matmul__, np.copy, right, 1e-11, 4000)
    found = residuals(A, x, right).max()
    assert found == pytest.approx(residual, rel=1e-3, abs=1e-14)
    assert 1 <= steps <= 4000
    assert residual <= 1e-11 or condition == 1e9


@pytest.mark.parametrize("seed", range(6))
def test_refinement_goes_on_where_one_run_is_deceived(seed):
    A, right = system(60, 1e7, seed=seed)
    rough = residuals(A, conjugate_gradients(A.__matmul__, np.copy, right, 1e-11, 4000)[0], right).max()
    assert rough > 1e-11  # although its steps said less
    assert solve_refined(A.__matmul__, np.copy, right, 1e-11, 4000)[1] < 0.75 * rough


def test_a_solution_of_nothing_is_nothing():
    x, residual, _ = solve_refined(np.eye(3).__matmul__, np.copy, np.zeros((3, 2)), 1e-6, 10)
    assert not x.any()
    assert residual == 0.0


def test_steps_are_counted_to_their_limit():
    A, right = system(40, 1e6)
    x, residual, steps = solve_refined(A.__matmul__, np.copy, right, 1e-12, 5)
    assert steps == 5
    assert residual == pytest.approx(residuals(A, x, right).max(), rel=1e-9)


def test_a_direction_without_curvature_ends_it():
    x, steps = conjugate_gradients(lambda v: 0.0 * v, np.copy, np.ones((2, 1)), 1e-6, 100)
    assert steps == 1
    assert not x.any()
