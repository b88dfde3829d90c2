"""Laws of the problems: Fenchel-Young, weak duality, and measures that are zero at solutions only."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import brentq

from maxmargin.backends import BlockOptions, Box
from maxmargin.problems import (
    FEASIBILITY_TOL,
    DualQP,
    HardMarginProblem,
    NuSVCProblem,
    NuSVRProblem,
    Offsets,
    OneClassProblem,
    SVCProblem,
    SVDDProblem,
    SVRProblem,
)
from tests.laws import examples
from tests.reference_backend import get_backend

law = examples(40, derandomize=True, database=None)
MACHINES = ["SVC", "NuSVC", "HardMargin", "SVR", "NuSVR", "OneClass", "SVDD"]
every_machine = pytest.mark.parametrize("machine", MACHINES)
number = st.integers(-16, 16).map(lambda i: i / 4)
cost = st.integers(1, 16).map(lambda i: i / 4)


@dataclass
class Instance:
    """A problem, its Gram matrix (positive definite where ``definite``), and a way to draw feasible points."""

    problem: object
    K: np.ndarray
    data: object

    @property
    def qp(self):
        return self.problem.qp

    def numbers(self):
        return self.data.draw(hnp.arrays(np.float64, self.qp.n, elements=number))

    def offsets(self):
        """Any scalars of the primal: an intercept where there is one, a tube that is not negative."""
        intercept, rho, epsilon = (self.data.draw(number) for _ in range(3))
        intercept = intercept if self.qp.balance else 0.0
        epsilon = self.problem.epsilon if type(self.problem) is SVRProblem else abs(epsilon)
        return Offsets(intercept, rho, epsilon)

    def feasible(self):
        """A feasible point made from arbitrary numbers without help from the code under test."""
        qp, wish = self.qp, self.numbers()
        above, below = np.maximum(qp.upper, 0.0), np.maximum(-qp.lower, 0.0)
        if np.any((above > 0) & (below > 0)):  # both signs are possible: choose one for each variable
            plus = self.data.draw(hnp.arrays(bool, qp.n))
            above, below = np.where(plus, above, 0.0), np.where(plus, 0.0, below)
        limit = np.inf if qp.budget is None else qp.budget
        if not qp.balance:
            size = above + below
            most = min(limit, size.sum())
            beta = with_sum(wish, size, limit if limit < np.inf and not qp.budget_is_bound else self.share() * most)
            return np.where(above > 0, beta, -beta)
        if qp.total:
            return with_sum(wish, above, qp.total)
        most = min(above.sum(), below.sum(), limit / 2)
        side = most if limit < np.inf and not qp.budget_is_bound else self.share() * most
        return with_sum(wish, above, side) - with_sum(wish, below, side)

    def share(self):
        return self.data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))


def with_sum(wish, capacity, total):
    """The point of 0 <= v <= capacity with the given sum that is nearest to the wish."""
    if total >= capacity.sum():
        return capacity.copy()
    span = np.abs(wish).max() + capacity.max() + 1.0

    def excess(shift):
        return np.clip(wish + shift, 0.0, capacity).sum() - total

    return np.clip(wish + brentq(excess, -span, span, xtol=1e-15), 0.0, capacity)


def draw_instance(data, machine, definite=False):
    n = data.draw(st.integers(2, 7))
    root = data.draw(hnp.arrays(np.float64, (n, data.draw(st.integers(1, 4))), elements=number))
    K = root @ root.T + (0.5 * np.eye(n) if definite else 0.0)
    costs = data.draw(hnp.arrays(np.float64, n, elements=cost))
    target = data.draw(hnp.arrays(np.float64, n, elements=number))
    sign = np.where(target > 0, 1.0, -1.0)
    sign[:2] = 1.0, -1.0
    bias, nu = data.draw(st.booleans()), data.draw(st.sampled_from([0.1, 0.25, 0.5, 1.0]))
    problem = {
        "SVC": lambda: SVCProblem(sign, costs, bias),
        "NuSVC": lambda: NuSVCProblem(sign, costs, nu, bias),
        "HardMargin": lambda: HardMarginProblem(sign, float(np.diag(K).max()) or 1.0, bias),
        "SVR": lambda: SVRProblem(target, costs, data.draw(st.sampled_from([0.0, 0.25, 1.0])), bias),
        "NuSVR": lambda: NuSVRProblem(target, costs, fit_intercept=bias, nu=nu),
        "OneClass": lambda: OneClassProblem(costs, nu),
        "SVDD": lambda: SVDDProblem(np.diag(K).copy(), np.maximum(costs, 1.0 / n)),
    }[machine]()
    return Instance(problem, K, data)


def solved(instance, tol=1e-9):
    """A solution by the reference back end."""
    qp, K = instance.qp, instance.K
    beta = qp.start()
    options = BlockOptions(qp.epsilon, qp.budget is not None, qp.budget_is_bound, qp.slack(beta), tol, 50_000)
    engine = get_backend("numpy")
    solve = engine.pair_block if qp.balance else engine.free_block
    result = solve(K, K @ beta + qp.linear, beta, Box(qp.lower, qp.upper, np.diag(K).copy()), options)
    assume(result.violation <= tol)
    return beta


def is_feasible(qp, beta):
    """The constraints, written out."""
    size = 1e-8 * max(1.0, np.abs(beta).sum(), qp.budget or 0.0)
    inside = (beta >= qp.lower - size).all() and (beta <= qp.upper + size).all()
    balanced = not qp.balance or abs(beta.sum() - qp.total) <= size
    excess = 0.0 if qp.budget is None else np.abs(beta).sum() - qp.budget
    return bool(inside and balanced and (excess <= size if qp.budget_is_bound else abs(excess) <= size))


@every_machine
@law
@given(st.data())
def test_the_gap_is_a_sum_of_terms_none_negative(machine, data):
    it = draw_instance(data, machine)
    beta = it.feasible()
    f = it.K @ beta
    for offsets in (it.offsets(), it.problem.offsets(beta, f)):
        terms = it.problem.gap_terms(beta, f, offsets)
        primal, dual = it.problem.primal(beta, f, offsets), it.problem.dual(beta, f)
        size = 1.0 + abs(primal) + abs(dual)
        assert terms.min() >= -1e-9 * size
        assert terms.sum() == pytest.approx(primal - dual, abs=1e-9 * size)
        assert it.problem.gap(beta, f, offsets) == pytest.approx(terms.sum())


@every_machine
@law
@given(st.data())
def test_every_dual_value_is_below_every_primal_value(machine, data):
    it = draw_instance(data, machine)
    beta, other = it.feasible(), it.numbers()  # the primal may be evaluated at any w = sum other phi
    dual = it.problem.dual(beta, it.K @ beta)
    primal = it.problem.primal(other, it.K @ other, it.offsets())
    assert dual <= primal + 1e-9 * (1.0 + abs(dual) + abs(primal))


@every_machine
@law
@given(st.data())
def test_the_gap_closes_at_a_solution(machine, data):
    it = draw_instance(data, machine)
    beta = solved(it)
    f = it.K @ beta
    gap = it.problem.gap(beta, f, it.problem.offsets(beta, f))
    assert gap <= 1e-6 * (1.0 + abs(it.problem.dual(beta, f)))
    assert it.qp.violation(beta, f + it.qp.linear) <= 1e-8
    assert it.qp.infeasibility(beta) <= FEASIBILITY_TOL


@every_machine
@law
@given(st.data())
def test_the_violation_bounds_what_can_be_gained(machine, data):
    """So it is 0 only at solutions: objective(beta) - optimum <= violation * ||beta - solution||_1."""
    it = draw_instance(data, machine)
    beta, best = it.feasible(), solved(it)
    f = it.K @ beta
    gain = it.qp.objective(beta, f) - it.qp.objective(best, it.K @ best)
    bound = it.qp.violation(beta, f + it.qp.linear) * np.abs(beta - best).sum()
    assert gain <= bound + 1e-7 * (1.0 + abs(gain))


@every_machine
@law
@given(st.data())
def test_away_from_the_solution_there_is_a_violation(machine, data):
    it = draw_instance(data, machine, definite=True)
    beta, best = it.feasible(), solved(it)
    assume(np.abs(beta - best).max() > 1e-3)
    assert it.qp.violation(beta, it.K @ beta + it.qp.linear) > 1e-7


@every_machine
@law
@given(st.data())
def test_starts_and_nearby_points_are_feasible(machine, data):
    it = draw_instance(data, machine)
    near = it.qp.nearby(it.numbers())
    beta = it.feasible()
    assert is_feasible(it.qp, beta)
    for point in (it.qp.start(), near, it.qp.nearby(beta)):
        assert is_feasible(it.qp, point)
        assert it.qp.infeasibility(point) <= FEASIBILITY_TOL
    np.testing.assert_allclose(it.qp.nearby(beta), beta, atol=1e-7)


@every_machine
@law
@given(st.data())
def test_what_is_not_feasible_is_seen(machine, data):
    it = draw_instance(data, machine)
    beta = it.feasible()
    where = data.draw(st.integers(0, it.qp.n - 1))
    for wrong in (it.qp.upper[where] + 0.25, it.qp.lower[where] - 0.25):
        outside = beta.copy()
        outside[where] = wrong
        assert it.qp.infeasibility(outside) > 1e-3
        assert not is_feasible(it.qp, outside)


@every_machine
@law
@given(st.data())
def test_what_is_published_can_be_read_back(machine, data):
    it = draw_instance(data, machine)
    beta = it.feasible()
    f = it.K @ beta
    offsets = it.problem.offsets(beta, f)
    assume(offsets.rho > 1e-3 or machine not in ("NuSVC", "HardMargin"))
    coef, intercept = it.problem.delivered(beta, offsets)
    again, scores, back = it.problem.recovered(coef, it.K @ coef, intercept)
    np.testing.assert_allclose(again, beta, atol=1e-9 * (1 + np.abs(beta).max()))
    np.testing.assert_allclose(scores, f, atol=1e-9 * (1 + np.abs(f).max()))
    assert back.intercept == pytest.approx(offsets.intercept, abs=1e-9 * (1 + abs(offsets.intercept)))


SUMS = {
    "outside the box": (DualQP(np.zeros(2), np.full(2, -1.0), np.ones(2)), [2.0, -2.0]),
    "not balanced": (DualQP(np.zeros(2), np.full(2, -1.0), np.ones(2)), [1.0, -0.5]),
    "another total": (DualQP(np.zeros(2), np.zeros(2), np.ones(2), total=1.5), [0.5, 0.5]),
    "zero instead of the total": (DualQP(np.zeros(2), np.zeros(2), np.ones(2), total=1.5), [0.0, 0.0]),
    "budget not spent": (DualQP(np.zeros(2), np.array([0.0, -1.0]), np.array([1.0, 0.0]), budget=2.0), [0.5, -0.5]),
    "over budget": (DualQP(np.zeros(2), np.full(2, -1.0), np.ones(2), budget=1.0, budget_is_bound=True), [1.0, -1.0]),
    "not a number": (DualQP(np.zeros(2), np.full(2, -1.0), np.ones(2)), [np.nan, 0.0]),
}


@pytest.mark.parametrize("name", list(SUMS))
def test_each_broken_constraint_is_reported(name):
    qp, beta = SUMS[name]
    assert not qp.infeasibility(np.array(beta)) <= FEASIBILITY_TOL
    assert qp.infeasibility(qp.start()) == 0.0
