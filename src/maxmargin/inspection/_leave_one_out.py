"""The leave-one-out error: exactly, by refits of the support vectors alone, or estimated without any.

See "Leave-one-out" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray
from maxmargin._validation import cache_bytes
from maxmargin.backends import Design, backend_for, effective_threads, single_threaded_blas
from maxmargin.certificates import scores_at
from maxmargin.delivered import Fitted
from maxmargin.inspection._model import squeezed
from maxmargin.inspection._status import at_bounds
from maxmargin.inspection._training import FittedTask, FittedTasks, fitted_tasks
from maxmargin.problems import LinearProblem, NuSVCProblem, Problem, relative
from maxmargin.solvers import Decomposition, LinearPoint, Watch, left_out, make_linear_solver

METHODS = ("exact", "xi-alpha", "span")
#: Kernel values computed at a time.
BLOCK_VALUES = 2**21


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Which rows are wrong when they are left out.

    Attributes
    ----------
    method : str
        'exact', 'xi-alpha' or 'span'.
    estimate : float
        Share of the rows that are wrong, of those that the model was trained on.
    errors : ndarray of bool of shape (n,)
        Which rows are wrong. With many classes, 'exact' decides between the classes by tasks that were solved without
        the row; the others count a row if any of its tasks may be wrong, for if none is, the decision is right.
    margin : ndarray of shape (n,) or (n, n_tasks)
        t f of the task solved without the row, as far as the method knows; an error of the task where it is 0 or
        less. nan where a row has no part in a task.
    task_errors : float or ndarray of shape (n_tasks,)
        Share of every task's rows that are wrong in it.
    refits : int
        Machines that were fitted.
    gap : float
        The worst relative duality gap of these; nan for the other methods.
    """

    method: str
    estimate: float
    errors: Array
    margin: FloatArray
    task_errors: float | FloatArray
    refits: int = 0
    gap: float = np.nan

    def __str__(self) -> str:
        what = {"exact": "", "xi-alpha": " at most", "span": " about"}[self.method]
        return f"leave-one-out error{what} {self.estimate:.4g} ({int(self.errors.sum())} rows, method {self.method!r})"


def leave_one_out(model: Any, X: Any, y: Any, method: str = "exact", sample_weight: Any = None) -> LeaveOneOut:
    r"""Leave-one-out error of a machine, without fitting it once for every row.

    ============  ===============================================  =====================================================
    method        row p counts as an error if                      which is
    ============  ===============================================  =====================================================
    'exact'       :math:`t_p f^{p}(x_p) \le 0`                     the error itself. :math:`f^p` is fitted without p,
                                                                   starting at the whole solution; only support vectors
                                                                   need that: without any other row the optimum stays
    'xi-alpha'    :math:`2 \alpha_p R^2 + \xi_p \ge 1`             an upper bound, often a crude one. R^2 is the largest
                                                                   k(x, x) less the smallest k(x, z) of the rows
    'span'        :math:`\alpha_p S_p^2 \ge t_p f(x_p)`            exact if without p the same other rows are support
                                                                   vectors, and the same of them bound; else an
                                                                   estimate, usually a very good one
    ============  ===============================================  =====================================================

    :math:`S_p` is the distance of phi(x_p) from the affine combinations of the other unbound support vectors. Without
    an intercept, 'xi-alpha' is :math:`\alpha_p k(x_p, x_p) + \xi_p \ge 1`, and the combinations of 'span' are linear.
    With an intercept and a finite C, the bound's proof takes for granted that there are unbound support vectors, with
    and without row p, which can take over its weight; without an intercept, for the hard margin and for the squared
    hinge it needs no such assumption. The squared hinge loss is the hard margin with 1 / (2 C_p) added to k(x_p, x_p).

    All three are about the optimum of the model's problem: 'exact' first solves the model's own tasks to a relative gap
    of 1e-10, starting where they are, and so gives the same result for a rough fit as for an exact one. (It refits
    every row of nu-SVC, whose problem depends on their number, and where no unbound support vector fixes the
    intercept.) 'xi-alpha' and 'span' take the model's dual variables as they are.

    Parameters
    ----------
    model : fitted classifier
        maxmargin's or scikit-learn's. nu-SVC, and machines that keep no dual variables while their loss is not smooth,
        have 'exact' only. For scikit-learn's LinearSVC the problem is the one whose intercept is not penalised.
    X, y, sample_weight
        Exactly the training data, in the same order; a row is left out with all its weight.
    method : {'exact', 'xi-alpha', 'span'}, default='exact'
        See above.

    Returns
    -------
    LeaveOneOut

    References
    ----------
    Joachims 2000 ('xi-alpha'); Vapnik and Chapelle 2000, Chapelle et al. 2002 ('span'); Jaakkola and Haussler 1999 (the
    bound without an intercept).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.inspection import leave_one_out
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=1.0).fit(X, y)
    >>> for method in ("exact", "span", "xi-alpha"):
    ...     print(leave_one_out(model, X, y, method))
    leave-one-out error 0.03333 (5 rows, method 'exact')
    leave-one-out error about 0.04 (6 rows, method 'span')
    leave-one-out error at most 0.3533 (53 rows, method 'xi-alpha')
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    what = "leave_one_out" if method == "exact" else f"leave_one_out with method={method!r}"
    training = fitted_tasks(model, X, y, sample_weight, what, slack=method != "exact")
    if method == "exact":
        return _exact(training, y)
    for task in training.tasks:
        _require_dual(task, method)
    estimates = {"xi-alpha": _xi_alpha, "span": left_out_margins}[method]
    margin = training.spread([estimates(training, task) for task in training.tasks], np.nan)
    return _result(method, margin, np.any(margin <= 0, axis=1))


def _exact(training: FittedTasks, y: Any) -> LeaveOneOut:
    fitted: Fitted = training.fitted
    kept = np.unique(np.concatenate([task.rows for task in training.tasks]))
    at = np.unique(np.concatenate([task.at for task in training.tasks]))  # the same rows, in the same order
    scores = np.zeros((training.n, len(training.tasks)))
    margin = np.full_like(scores, np.nan)
    every = refits(training)
    for k, (task, found) in enumerate(zip(training.tasks, every, strict=True)):
        scores[kept, k] = found.scores[at]
        scores[task.rows, k] = found.left_out
        margin[task.rows, k] = task.sign * found.left_out
    assert fitted.scheme is not None  # it is a classifier
    wrong = np.zeros(training.n, dtype=bool)
    label = fitted.labels(np.asarray(y)[kept], len(kept))
    wrong[kept] = fitted.scheme.classes_of(scores[kept]) != label
    made, gap = sum(one.refits for one in every), max(one.gap for one in every)
    return _result("exact", margin, wrong, made, gap)


def _result(method: str, margin: FloatArray, wrong: Array, *more: Any) -> LeaveOneOut:
    trained = ~np.isnan(margin)
    counts = np.maximum(trained.sum(axis=0), 1)
    share = float(wrong.sum()) / max(1, int(trained.any(axis=1).sum()))
    return LeaveOneOut(method, share, wrong, squeezed(margin), squeezed((margin <= 0).sum(axis=0) / counts), *more)


def _require_dual(task: FittedTask, method: str) -> None:
    if isinstance(task.problem, NuSVCProblem):
        raise ValueError(f"{method!r} is for a given C, and nu-SVC's depends on all rows; use method='exact'")
    if not task.own_dual and not task.squared:
        raise ValueError(
            f"{method!r} needs dual variables, which the model does not keep; use method='exact' or maxmargin's machine"
        )
    penalty = getattr(task.problem, "penalty", None)
    if penalty is not None and (penalty.quadratic != 1.0 or penalty.absolute != 0.0):
        raise ValueError(f"{method!r} is for the penalty 'l2'; got {penalty.name!r}. Use method='exact'")


def _xi_alpha(training: FittedTasks, task: FittedTask) -> FloatArray:
    """1 - xi - 2 alpha R^2, with a squared slack as part of the kernel's diagonal."""
    squares = training.diagonal(task.at) + task.ridge
    xi = np.zeros(len(task.xi)) if task.squared else np.maximum(task.short, 0.0)
    if not task.fit_intercept:
        return 1.0 - xi - task.alpha * squares
    support = np.flatnonzero(task.alpha)
    if len(support) == 0:
        return 1.0 - xi
    R2 = float(squares.max()) - _smallest_value(training, task, support)
    return 1.0 - xi - 2.0 * task.alpha * R2


def _smallest_value(training: FittedTasks, task: FittedTask, support: Any) -> float:
    """The smallest k(x, z) of support vectors x and rows z."""
    height, least = max(1, BLOCK_VALUES // len(task.at)), np.inf
    for first in range(0, len(support), height):
        block = task.at[support[first : first + height]]
        least = min(least, float(training.values(block, task.at).min()))
    return least


# -- Leaving rows out for real: every task is solved again without each of its support vectors, from its solution ---


#: Dual variables within this relative distance of a bound count as on it.
AT_BOUND = 1e-9
#: Relative gap to which the task and its refits are solved.
REFIT_GAP = 1e-10


class Refitted(NamedTuple):
    """A task solved exactly, and again without each row that matters."""

    scores: FloatArray  # (n,) of all rows of FittedTasks.X, at the exact optimum
    left_out: FloatArray  # of the task's rows, each without itself
    refits: int
    gap: float  # the worst relative gap


def refits(training: FittedTasks) -> list[Refitted]:
    """Leave every row out of every task in turn; those with alpha = 0 at the optimum change nothing."""
    backend = backend_for("cpu")
    threads, solver = effective_threads(None), Decomposition(backend)
    with single_threaded_blas():
        if isinstance(training.tasks[0].problem, LinearProblem):
            design = backend.design(training.X, threads)
            return [_linear(backend, design, task) for task in training.tasks]
        small = max(len(task.at) for task in training.tasks) <= solver.whole_size
        kind = np.float64 if small else None
        gram = backend.gram(training.kernel, training.X, cache_bytes=cache_bytes("auto"), threads=threads, dtype=kind)
        return [_kernel(solver, gram, training, task) for task in training.tasks]


def is_only_one(sign: FloatArray, row: Any) -> bool:
    """Whether no other row is on the row's side of the task."""
    return int(np.count_nonzero(sign == sign[row])) == 1


def _kernel(solver: Decomposition, gram: Any, training: FittedTasks, task: FittedTask) -> Refitted:
    problem = task.problem
    assert isinstance(problem, Problem)  # of a kernel machine
    if len(task.at) < gram.n:
        gram = gram.take(task.at, threads=gram.threads)
    start = problem.qp.nearby(problem.recovered(task.sign * task.alpha, task.f - task.intercept, task.intercept)[0])
    whole = solver.solve(problem, gram, start, Watch(gap_tol=REFIT_GAP))
    coef, b = problem.delivered(whole.beta, problem.offsets(whole.beta, whole.f))
    used = np.flatnonzero(coef)
    scores = scores_at(training.kernel, training.X, np.arange(count(training.X)), task.at[used], coef[used]) + b
    found, gaps = scores[task.at].copy(), [_gap(whole)]
    # every row matters to the nu machines, whose budget is a share of all, and to an intercept that no free row fixes
    loose = task.fit_intercept and len(problem.qp.free(problem.qp.snapped(whole.beta, AT_BOUND))) == 0
    rows = np.arange(len(coef)) if loose or isinstance(problem, NuSVCProblem) else used
    for p in rows:
        if is_only_one(task.sign, p):
            found[p] = -task.sign[p]
            continue
        held = np.arange(len(coef)) == p
        without, near = left_out(problem, whole.beta, held)
        one = solver.solve(without, gram, near, Watch(gap_tol=REFIT_GAP))
        f, b = without.delivered(one.f, without.offsets(one.beta, one.f))  # the same scale for scores as for beta
        found[p] = f[p] + b
        gaps.append(_gap(one))
    return Refitted(scores, found, len(rows), max(gaps))


def _linear(backend: Any, design: Design, task: FittedTask) -> Refitted:
    problem = task.problem
    assert isinstance(problem, LinearProblem)  # of a linear machine, which keeps w
    if np.isinf(task.cost).any():  # without rows the margin grows and sum alpha = 1 / margin^2 falls: out of reach
        problem = replace(problem, C=np.full(problem.n, 2.0 * float(task.alpha.sum())))
    own = design if len(task.at) == design.n else design.take(task.at)
    assert task.w is not None
    start = LinearPoint(task.w, task.intercept, problem.feasible(task.sign * task.alpha))

    def solved(problem: LinearProblem, rows: Any, start: LinearPoint) -> Any:
        return make_linear_solver("auto", problem, rows, backend).solve(problem, rows, start, Watch(0.0, REFIT_GAP))

    whole = solved(problem, own, start)
    point = whole.point
    scores = design.scores(point.w) + point.intercept
    found, gaps = scores[task.at].copy(), [_gap(whole)]
    rows = np.flatnonzero(point.beta)
    for p in rows:
        if is_only_one(task.sign, p):
            found[p] = -task.sign[p]
            continue
        others = np.delete(np.arange(len(point.beta)), p)
        without = replace(problem, target=problem.target[others], C=problem.C[others])
        near = LinearPoint(point.w, point.intercept, without.feasible(point.beta[others]))
        one = solved(without, own.take(others), near)
        found[p] = float((own.take(np.array([p])).scores(one.point.w))[0]) + one.point.intercept
        gaps.append(_gap(one))
    return Refitted(scores, found, len(rows), max(gaps))


def _gap(solution: Any) -> float:
    last = solution.history[-1] if solution.history else None
    return 0.0 if last is None else relative(last.gap, last.primal, last.dual)


# -- Spans of support vectors (Vapnik and Chapelle 2000): how far each is from what the others can replace ----------
# For a support vector p, S_p is the distance of phi(x_p) from the set of sums of lambda_i phi(x_i) over the *other*
# free support vectors (0 < alpha < C), with sum lambda_i = 1 if there is an intercept. If leaving p out neither frees a
# bound support vector, nor binds a free one, nor makes a new one, the score of x_p without p is
# t_p f(x_p) - alpha_p S_p^2 exactly.


#: Eigenvalues this small relative to the largest count as 0, and so do components of unit vectors.
NOTHING = 1e-10


def left_out_margins(training: FittedTasks, task: FittedTask) -> FloatArray:
    """t_p f(x_p) - alpha_p S_p^2 of every row; where alpha is 0 it stays as it is."""
    idle, bound = at_bounds(task)
    free = np.flatnonzero(~idle & ~bound)
    held = np.flatnonzero(bound & ~idle)
    K = training.values(task.at[free], task.at[free])
    K[np.diag_indices_from(K)] = training.diagonal(task.at[free]) + task.ridge[free]
    cross = training.values(task.at[free], task.at[held])
    own = training.diagonal(task.at[held]) + task.ridge[held]
    squares = np.zeros(len(task.alpha))
    squares[free], squares[held] = spans(K, cross, own, task.fit_intercept)
    margin = 1.0 - task.short
    if task.squared:  # in the space of the kernel with its ridge every support vector is on the margin
        margin = np.where(idle, margin, 1.0)
    return np.where(idle, margin, margin - task.alpha * squares)


def spans(K: FloatArray, cross: FloatArray, own: FloatArray, balanced: bool) -> tuple[FloatArray, FloatArray]:
    """(S^2 of the free support vectors, S^2 of the bound ones).

    ``K`` holds the values among the free, ``cross`` (free, bound) those between both, ``own`` the diagonal of the
    bound. inf where nothing is left to replace the row.
    """
    m = len(K)
    if m == 0:
        return np.zeros(0), np.full(len(own), np.inf) if balanced else own.copy()
    M = _centred(K) if balanced else K
    values, vectors = scipy.linalg.eigh(M)
    real = values > NOTHING * max(float(values[-1]), np.finfo(float).tiny)
    inverse = np.where(real, 1.0 / np.where(real, values, 1.0), 0.0)
    return _free(vectors, inverse, real, balanced), _bound(K, cross, own, vectors, inverse, balanced)


def _free(vectors: FloatArray, inverse: FloatArray, real: Array, balanced: bool) -> FloatArray:
    """min z'Kz with z_p = 1 (and sum z = 0): one over a diagonal entry of the pseudo-inverse, or 0.

    It is 0 where p takes part in a combination that vanishes. Centring makes one combination vanish, (1, ..., 1), which
    has the component 1/m in every p.
    """
    m = len(vectors)
    if balanced and m == 1:
        return np.array([np.inf])
    lost = np.square(vectors[:, ~real]).sum(axis=1) - (1.0 / m if balanced else 0.0)
    diagonal = np.square(vectors) @ inverse
    return np.where(lost > NOTHING, 0.0, 1.0 / np.maximum(diagonal, np.finfo(float).tiny))


def _bound(
    K: FloatArray, cross: FloatArray, own: FloatArray, vectors: FloatArray, inverse: FloatArray, balanced: bool
) -> FloatArray:
    """min ||phi_p - sum lambda_i phi_i||^2 over the free ones, around the mean of these if sum lambda = 1."""
    start = np.full(len(K), 1.0 / len(K)) if balanced else np.zeros(len(K))
    left = cross - (K @ start)[:, None]
    if balanced:
        left = left - left.mean(axis=0)
    gain = np.square(vectors.T @ left).T @ inverse
    return np.maximum(own - 2.0 * start @ cross + start @ K @ start - gain, 0.0)


def _centred(K: FloatArray) -> FloatArray:
    """(I - 11'/m) K (I - 11'/m)."""
    K = K - K.mean(axis=0)
    return K - K.mean(axis=1, keepdims=True)
