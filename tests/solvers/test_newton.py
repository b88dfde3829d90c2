"""Newton walks along faces: feasible, never uphill, and the same path as the textbook's, one KKT system per bound."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.solvers import _newton
from maxmargin.solvers._newton import face_step
from tests.laws import examples

law = examples(60, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 30)
counts = st.integers(0, 2)
FAR = 1e6


class Face:
    """A random face: bounds of which ``near`` is the scale, and up to two sums to keep."""

    def __init__(self, seed, n, n_sums, near=0.3, rank=None):
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(n, n if rank is None else rank))
        self.K = root @ root.T / n + (0.1 * np.eye(n) if rank is None else 0.0)
        self.grad = rng.normal(size=n)
        self.lower, self.upper = -near * rng.uniform(0.1, 1.0, n), near * rng.uniform(0.1, 1.0, n)
        self.beta = self.lower + (self.upper - self.lower) * rng.uniform(0.05, 0.95, n)
        sides = np.where(rng.permutation(n) < (n + 1) // 2, 1.0, -1.0)
        self.sums = np.array([np.ones(n), sides])[:n_sums].reshape(n_sums, n)

    def step(self):
        return face_step(self.K, self.grad, self.beta, self.lower, self.upper, self.sums)

    def change(self, x):
        d = x - self.beta
        return self.grad @ d + 0.5 * d @ self.K @ d

    def optimum(self, x, moving):
        """Minimiser over the variables ``moving``, the others staying at x and the sums as they are."""
        F, A = np.flatnonzero(moving), self.sums[:, moving]
        slope = (self.grad + self.K @ (x - self.beta))[F]
        system = np.block([[self.K[np.ix_(F, F)], A.T], [A, np.zeros((len(A), len(A)))]])
        target = x.copy()
        target[F] += np.linalg.lstsq(system, np.concatenate([-slope, np.zeros(len(A))]), rcond=None)[0][: len(F)]
        return target

    def textbook(self, most_bounds=np.inf):
        """(where the walk ends, bounds met): one linear system for every bound."""
        x, moving, met = self.beta.copy(), np.ones(len(self.beta), dtype=bool), 0
        while met < most_bounds and moving.any():
            d = self.optimum(x, moving) - x
            bound = np.where(d > 0, self.upper, self.lower)
            share = np.full(len(x), np.inf)
            np.divide(bound - x, d, out=share, where=moving & (np.abs(d) > 1e-13))
            j = int(np.argmin(share))
            if share[j] >= 1.0:
                return x + d, met
            x = x + share[j] * d
            x[j], moving[j], met = bound[j], False, met + 1
        return x, met


def check(face, x):
    scale = np.abs(face.beta).sum()
    assert (x >= face.lower).all()
    assert (x <= face.upper).all()
    assert np.abs(face.sums @ (x - face.beta)).max(initial=0.0) <= 1e-9 * scale
    d = x - face.beta
    rounding = 1e-13 * (abs(face.grad @ d) + abs(d @ face.K @ d))
    assert face.change(x) <= rounding


@law
@given(seeds, sizes, counts, st.sampled_from([0.01, 0.3, 3.0, FAR]))
def test_a_step_stays_feasible_and_goes_down(seed, n, n_sums, near):
    face = Face(seed, n, n_sums, near)
    x = face.step()
    if n > n_sums:
        check(face, x)


@law
@given(seeds, sizes, counts, st.integers(1, 5))
def test_matrices_that_are_only_semi_definite_do_no_harm(seed, n, n_sums, rank):
    face = Face(seed, n, n_sums, rank=rank)
    x = face.step()
    if x is not None:
        check(face, x)


@law
@given(seeds, sizes, counts)
def test_with_bounds_far_away_it_is_the_optimum_of_the_face(seed, n, n_sums):
    face = Face(seed, n, n_sums)
    face.lower, face.upper = np.full(n, -FAR), np.full(n, FAR)
    x = face.step()
    best = face.optimum(face.beta, np.ones(n, dtype=bool))
    if np.abs(best - face.beta).max() <= 1e-12:  # as many sums as variables
        best = face.beta
        x = best if x is None else x
    np.testing.assert_allclose(x, best, rtol=0, atol=1e-9 * (1.0 + np.abs(best).max()))


@law
@given(seeds, sizes, counts, st.sampled_from([0.01, 0.1, 0.3, 1.0]))
def test_the_walk_ends_where_the_textbook_ends(seed, n, n_sums, near):
    face = Face(seed, n, n_sums, near)
    expected, _ = face.textbook()
    if face.change(expected) < -1e-12:
        np.testing.assert_allclose(face.step(), expected, rtol=0, atol=1e-7 * near)


def test_the_walks_above_meet_bounds():
    met = [Face(seed, 20, n_sums, near).textbook()[1] for seed in range(5) for n_sums in range(3) for near in (0.1, 1)]
    assert min(met) >= 1
    assert max(met) >= 15


@law
@given(seeds, counts, st.integers(0, 12))
def test_a_walk_that_is_cut_short_is_where_the_textbook_is_then(seed, n_sums, most):
    face = Face(seed, 20, n_sums, near=0.3)
    expected, met = face.textbook(most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_newton, "MOST_BOUNDS", most)
        x = face.step()
    if met == 0:
        assert x is None or most > 0
    else:
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-7)


@law
@given(seeds, sizes, counts)
def test_at_the_optimum_of_the_face_there_is_nothing_to_gain(seed, n, n_sums):
    face = Face(seed, n, n_sums, near=FAR)
    best = face.optimum(face.beta, np.ones(n, dtype=bool))
    face.grad, face.beta = face.grad + face.K @ (best - face.beta), best
    x = face.step()
    assert x is None or face.change(x) >= -1e-9


@pytest.mark.parametrize("n_sums", [0, 1, 2])
def test_a_matrix_that_is_not_definite_gives_no_step(n_sums):
    face = Face(0, 12, n_sums)
    for K in (-np.eye(12), np.diag(np.where(np.arange(12) == 7, -1.0, 1.0)), face.K - np.eye(12)):
        face.K = K
        assert face.step() is None


@law
@given(seeds, st.integers(3, 30), st.booleans())
def test_a_sum_that_is_another_one_again_changes_nothing(seed, n, negative):
    """All free variables on one side: the sum and the budget are then the same."""
    once, twice = Face(seed, n, 1), Face(seed, n, 1)
    twice.sums = np.vstack([once.sums, -once.sums if negative else once.sums])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = twice.step()
    np.testing.assert_allclose(x, once.step(), rtol=0, atol=1e-9)


def test_the_arguments_are_left_alone():
    face = Face(1, 15, 2)
    before = [np.copy(a) for a in (face.K, face.grad, face.beta, face.lower, face.upper, face.sums)]
    assert face.step() is not None
    for now, then in zip((face.K, face.grad, face.beta, face.lower, face.upper, face.sums), before, strict=True):
        np.testing.assert_array_equal(now, then)
