"""Every machine against clarabel, an interior-point solver that shares nothing with ours.

The dual problems are written down here once more, from the textbooks, in the variables the textbooks use (regression
with its two multipliers per row). What is compared is the optimal value: coefficients need not be unique.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from qpsolvers import Problem, solve_problem
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

pytestmark = pytest.mark.filterwarnings("ignore:Clarabel.rs terminated with status AlmostSolved")

#: Problems of every machine and kernel.
SEEDS = range(35)
#: Agreement asked for, relative to the optimal value.
RELATIVE = 1e-6

KERNELS = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
}


def minimum(P, q, lower, upper, A=None, b=None, G=None, h=None) -> float:
    """min 1/2 x'Px + q'x, lower <= x <= upper, Ax = b, Gx <= h, by clarabel."""
    top, steep = max(float(np.abs(P).max()), 1e-300), float(np.abs(q).max())
    unit = steep / top if steep else 1.0  # of x: clarabel's tolerances are absolute, so everything is made about 1
    P, q, value = P / top, q / (steep or 1.0), top * unit**2
    matrices = [None if M is None else sp.csc_matrix(np.atleast_2d(M)) for M in (G, A)]
    given = [None if v is None else np.atleast_1d(v) / unit for v in (h, b)]
    bounds = [None if v is None else v / unit for v in (lower, upper)]
    problem = Problem(sp.csc_matrix(P), q, matrices[0], given[0], matrices[1], given[1], *bounds)
    x = solve_problem(problem, "clarabel", tol_gap_abs=1e-13, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=500).x
    assert x is not None
    return value * float(0.5 * x @ P @ x + q @ x)


def svc(K, sign, cost, fit_intercept=True) -> float:
    """max sum a - 1/2 a'Qa, 0 <= a <= C, y'a = 0 with an intercept; cost = inf is the hard margin."""
    Q = sign[:, None] * K * sign
    zero = np.zeros(len(sign))
    upper = None if np.isinf(cost).all() else cost
    equality = (sign, 0.0) if fit_intercept else (None, None)
    return -minimum(Q, -np.ones(len(sign)), zero, upper, *equality)


def nu_svc(K, sign, weight, nu, fit_intercept=True) -> float:
    """max -1/2 a'Qa, 0 <= a <= v / sum v, sum a = nu, and y'a = 0 with an intercept."""
    A, b = np.ones((1, len(sign))), [nu]
    if fit_intercept:
        A, b = np.vstack([A, sign]), [*b, 0.0]
    return -minimum(sign[:, None] * K * sign, np.zeros(len(sign)), np.zeros(len(sign)), weight / weight.sum(), A, b)


def svr(K, y, cost, epsilon, fit_intercept=True) -> float:
    """max -1/2 (a-a*)'K(a-a*) + y'(a-a*) - eps sum(a+a*), 0 <= a, a* <= C, sum(a-a*) = 0 with an intercept."""
    n = len(y)
    P, q = np.block([[K, -K], [-K, K]]), np.concatenate([epsilon - y, epsilon + y])
    equality = (np.repeat([1.0, -1.0], n), 0.0) if fit_intercept else (None, None)
    return -minimum(P, q, np.zeros(2 * n), np.tile(cost, 2), *equality)


def nu_svr(K, y, cost, nu, fit_intercept=True) -> float:
    """As SVR without epsilon, and sum(a+a*) <= nu sum C."""
    n = len(y)
    P, q = np.block([[K, -K], [-K, K]]), np.concatenate([-y, y])
    equality = (np.repeat([1.0, -1.0], n), 0.0) if fit_intercept else (None, None)
    return -minimum(P, q, np.zeros(2 * n), np.tile(cost, 2), *equality, np.ones(2 * n), nu * cost.sum())


def one_class(K, weight, nu) -> float:
    """max -1/2 a'Ka, 0 <= a <= v, sum a = nu sum v."""
    n = len(weight)
    return -minimum(K, np.zeros(n), np.zeros(n), weight, np.ones(n), nu * weight.sum())


def svdd(K, cost) -> float:
    """max sum a_i k_ii - a'Ka, 0 <= a <= C, sum a = 1."""
    n = len(cost)
    return -minimum(2 * K, -np.diag(K), np.zeros(n), cost, np.ones(n), 1.0)


@dataclass
class Case:
    """One random problem: data, kernel matrix and the numbers a machine may ask for."""

    X: np.ndarray
    K: np.ndarray
    sign: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    C: float
    nu: float
    kernel: dict = field(default_factory=dict)

    @property
    def largest_nu(self) -> float:
        return 2 * min((self.sign > 0).mean(), (self.sign < 0).mean())


def draw(kernel: str, seed: int) -> Case:
    """5 to 40 rows in 1 to 5 dimensions, C over five decades."""
    rng = np.random.default_rng([seed, sorted(KERNELS).index(kernel)])
    n, d = int(rng.integers(5, 41)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    sign = np.where(score > np.median(score), 1.0, -1.0)
    sign[0] = -sign[1]
    options = dict(KERNELS[kernel])
    name = options.pop("kernel")
    K = pairwise_kernels(X, metric=name, **options)
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)
    weight = rng.choice([0.3, 1.0, 2.0, 5.0], size=n)
    return Case(X, K, sign, y, weight, 10 ** rng.uniform(-2, 3), rng.uniform(0.05, 0.95), KERNELS[kernel])


def ones(case: Case) -> np.ndarray:
    return np.ones(len(case.X))


def soft_margin(case, **options):
    return SVC(C=case.C, **options).fit(case.X, case.sign), svc(case.K, case.sign, case.C * ones(case))


def soft_margin_without_intercept(case, **options):
    model = SVC(C=case.C, fit_intercept=False, **options).fit(case.X, case.sign)
    return model, svc(case.K, case.sign, case.C * ones(case), fit_intercept=False)


def weighted_soft_margin(case, **options):
    model = SVC(C=case.C, class_weight={1.0: 3.0}, **options).fit(case.X, case.sign, case.weight)
    return model, svc(case.K, case.sign, case.C * case.weight * np.where(case.sign > 0, 3.0, 1.0))


def hard_margin(case, **options):
    shift = 3.0 * case.sign[:, None]  # apart in every direction, so separable for all three kernels
    X = np.abs(case.X) * np.sign(shift) + shift
    name, rest = case.kernel["kernel"], {k: v for k, v in case.kernel.items() if k != "kernel"}
    K = pairwise_kernels(X, metric=name, **rest)
    return SVC(C=np.inf, **options).fit(X, case.sign), svc(K, case.sign, np.inf * ones(case))


def nu_classification(case, **options):
    nu = case.nu * case.largest_nu
    return NuSVC(nu=nu, **options).fit(case.X, case.sign), nu_svc(case.K, case.sign, ones(case), nu)


def weighted_nu_classification(case, **options):
    sums = [case.weight[case.sign == s].sum() for s in (-1, 1)]
    nu = case.nu * 2 * min(sums) / sum(sums)
    return NuSVC(nu=nu, **options).fit(case.X, case.sign, case.weight), nu_svc(case.K, case.sign, case.weight, nu)


def nu_classification_without_intercept(case, **options):
    model = NuSVC(nu=case.nu, fit_intercept=False, **options).fit(case.X, case.sign)
    return model, nu_svc(case.K, case.sign, ones(case), case.nu, fit_intercept=False)


def regression(case, **options):
    model = SVR(C=case.C, epsilon=0.1, **options).fit(case.X, case.y, case.weight)
    return model, svr(case.K, case.y, case.C * case.weight, 0.1)


def regression_without_intercept(case, **options):
    model = SVR(C=case.C, epsilon=0.02, fit_intercept=False, **options).fit(case.X, case.y)
    return model, svr(case.K, case.y, case.C * ones(case), 0.02, fit_intercept=False)


def nu_regression(case, **options):
    model = NuSVR(C=case.C, nu=case.nu, **options).fit(case.X, case.y, case.weight)
    return model, nu_svr(case.K, case.y, case.C * case.weight, case.nu)


def nu_regression_without_intercept(case, **options):
    model = NuSVR(C=case.C, nu=case.nu, fit_intercept=False, **options).fit(case.X, case.y)
    return model, nu_svr(case.K, case.y, case.C * ones(case), case.nu, fit_intercept=False)


def outliers(case, **options):
    return OneClassSVM(nu=case.nu, **options).fit(case.X), one_class(case.K, ones(case), case.nu)


def weighted_outliers(case, **options):
    model = OneClassSVM(nu=case.nu, **options).fit(case.X, sample_weight=case.weight)
    return model, one_class(case.K, case.weight, case.nu)


def smallest_ball(case, **options):
    cost = 1.0 / (case.nu * case.weight.sum()) * case.weight
    return SVDD(C=cost[0] / case.weight[0], **options).fit(case.X, sample_weight=case.weight), svdd(case.K, cost)


MACHINES = [
    soft_margin,
    soft_margin_without_intercept,
    weighted_soft_margin,
    hard_margin,
    nu_classification,
    weighted_nu_classification,
    nu_classification_without_intercept,
    regression,
    regression_without_intercept,
    nu_regression,
    nu_regression_without_intercept,
    outliers,
    weighted_outliers,
    smallest_ball,
]


def natural_size(model, case: Case) -> float:
    """Size of the terms whose difference the objective is: what rounding is relative to when the optimum is 0."""
    if isinstance(model, NuSVC | OneClassSVM):
        mass = model.nu if isinstance(model, NuSVC) else model.nu * float(case.weight.sum())
        return mass**2 * float(np.abs(case.K).max())
    return float(np.abs(model.dual_coef_).sum())


def disagreement(value: float, optimum: float, size: float) -> float:
    """Distance of a value from the optimum in units of what is allowed."""
    return abs(value - optimum) / (RELATIVE * abs(optimum) + 1e-9 * size)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_optimal_value_is_that_of_an_independent_solver(machine, kernel):
    for seed in SEEDS:
        case = draw(kernel, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # an optimum of 0 has no relative gap to reach
            model, optimum = machine(case, gap_tol=1e-9, **case.kernel)
        size, certificate = natural_size(model, case), model.certificate_
        assert certificate.holds, (seed, str(certificate))
        assert disagreement(certificate.dual, optimum, size) <= 1, (seed, optimum, str(certificate))
        if isinstance(model, NuSVC) and abs(optimum) <= 1e-9 * size:
            continue  # the hulls touch: there is no margin to scale the published model to
        assert disagreement(certificate.primal, optimum, size) <= 1, (seed, optimum, str(certificate))
        # the goal was reached, or lies below what the check can resolve, and then the certificate says so
        reached = model.fit_status_ == 0 or certificate.is_rounding
        assert reached or abs(optimum) <= 1e-9 * size, (seed, str(certificate))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_interior_point_reaches_the_same_value(machine):
    for seed in SEEDS[:10]:
        case = draw("rbf", seed)
        model, optimum = machine(case, solver="interior-point", gap_tol=1e-6, **case.kernel)
        size, certificate = natural_size(model, case), model.certificate_
        assert certificate.holds, (seed, str(certificate))
        assert disagreement(certificate.dual, optimum, size) <= 1, (seed, optimum, str(certificate))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.__name__)
def test_gradient_ascent_encloses_the_same_value(machine):
    for seed in SEEDS[:5]:
        case = draw("rbf", seed)
        case.C = min(case.C, 10.0)  # beyond, gradient ascent takes its time
        model, optimum = machine(case, solver="dual-gradient", max_iter=2000, **case.kernel)
        certificate, slack = model.certificate_, 1e-6 * abs(optimum) + 1e-9 * natural_size(model, case)
        assert certificate.holds, (seed, str(certificate))
        assert certificate.dual - slack <= optimum <= certificate.primal + slack, (seed, optimum, str(certificate))


@pytest.mark.parametrize("machine", [nu_regression, nu_regression_without_intercept])
def test_budget_of_nu_regression_is_met_in_both_ways(machine):
    """Both a budget that binds and one that does not (a tube of width 0) are among the random problems."""
    spent = []
    for seed in SEEDS:
        case = draw("rbf", seed)
        model, _ = machine(case, gap_tol=1e-9, **case.kernel)
        cost = case.C * (case.weight if machine is nu_regression else ones(case))
        spent.append(float(np.abs(model.dual_coef_).sum()) / (case.nu * cost.sum()))
    assert max(spent) <= 1 + 1e-9
    assert sum(share > 1 - 1e-9 for share in spent) >= 3
    assert sum(share < 0.99 for share in spent) >= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("machine", [soft_margin, regression, nu_regression, outliers, smallest_ball])
def test_comparison_notices_a_model_that_is_not_optimal(machine):
    case = draw("rbf", 7)
    model, optimum = machine(case, max_iter=2, **case.kernel)
    assert model.certificate_.dual < optimum < model.certificate_.primal
    assert disagreement(model.certificate_.dual, optimum, natural_size(model, case)) > 1
