"""The leave-one-out error: exactly, by refits of the support vectors alone, or estimated without any.

See "Leave-one-out" in ``docs/theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.delivered import Fitted
from maxmargin.inspection._model import squeezed
from maxmargin.inspection._refits import refits
from maxmargin.inspection._span import left_out_margins
from maxmargin.inspection._training import Training, TrainingTask, read_training
from maxmargin.problems import NuSVCProblem

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
    training = read_training(model, X, y, sample_weight, what, slack=method != "exact")
    if method == "exact":
        return _exact(training, y)
    for task in training.tasks:
        _require_dual(task, method)
    estimates = {"xi-alpha": _xi_alpha, "span": left_out_margins}[method]
    margin = training.spread([estimates(training, task) for task in training.tasks], np.nan)
    return _result(training, method, margin, np.any(margin <= 0, axis=1))


def _exact(training: Training, y: Any) -> LeaveOneOut:
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
    return _result(training, "exact", margin, wrong, made, gap)


def _result(training: Training, method: str, margin: FloatArray, wrong: Array, *more: Any) -> LeaveOneOut:
    trained = ~np.isnan(margin)
    counts = np.maximum(trained.sum(axis=0), 1)
    share = float(wrong.sum()) / max(1, int(trained.any(axis=1).sum()))
    return LeaveOneOut(method, share, wrong, squeezed(margin), squeezed((margin <= 0).sum(axis=0) / counts), *more)


def _require_dual(task: TrainingTask, method: str) -> None:
    if isinstance(task.problem, NuSVCProblem):
        raise ValueError(f"{method!r} is for a given C, and nu-SVC's depends on all rows; use method='exact'")
    if not task.own_dual and not task.squared:
        raise ValueError(
            f"{method!r} needs dual variables, which the model does not keep; use method='exact' or maxmargin's machine"
        )
    penalty = getattr(task.problem, "penalty", None)
    if penalty is not None and (penalty.quadratic != 1.0 or penalty.absolute != 0.0):
        raise ValueError(f"{method!r} is for the penalty 'l2'; got {penalty.name!r}. Use method='exact'")


def _xi_alpha(training: Training, task: TrainingTask) -> FloatArray:
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


def _smallest_value(training: Training, task: TrainingTask, support: Any) -> float:
    """The smallest k(x, z) of support vectors x and rows z."""
    height, least = max(1, BLOCK_VALUES // len(task.at)), np.inf
    for first in range(0, len(support), height):
        block = task.at[support[first : first + height]]
        least = min(least, float(training.values(block, task.at).min()))
    return least
