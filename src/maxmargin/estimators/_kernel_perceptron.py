"""KernelPerceptron: a step for every mistake in the feature space of a kernel, and the bound on their number."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin._rows import count, take
from maxmargin._types import FloatArray, IntArray, RowData
from maxmargin._validation import Scaling, cache_bytes, scaled
from maxmargin.backends import backend_for, effective_threads, single_threaded_blas
from maxmargin.estimators._kernel_online import KernelOnline
from maxmargin.estimators._machine import check_target, leaves_no_trace
from maxmargin.estimators._params import document_classes, document_kernel
from maxmargin.estimators._perceptron import warn_of_mistakes
from maxmargin.exceptions import NotSeparableError
from maxmargin.kernels import Kernel
from maxmargin.problems import HardMarginProblem
from maxmargin.solvers import Decomposition, Watch
from maxmargin.solvers.expansion import KINDS, Options

#: Relative gap to which the largest margin is computed. The bound holds for any; a wider margin makes it smaller.
MARGIN_TOL = 1e-6
#: What to do if mistakes are left: "If the classes can be ...".
ADVICE = (
    "separated in the kernel's feature space (a larger gamma may help), raise max_iter; if not, it never ends: "
    "use SVC or KernelPegasosSVC."
)


@document_classes
@document_kernel
class KernelPerceptron(KernelOnline):
    r"""The perceptron in the feature space of a kernel, with Novikoff's bound beside the mistakes.

    .. math:: t_i \Bigl(\sum_j c_j\, t_j\, k(x_j, x_i) + b\Bigr) \le 0 \;\Rightarrow\; c_i \leftarrow c_i + 1,\quad
        b \leftarrow b + t_i

    :math:`c_i` counts the mistakes on row i. If some unit vector separates the rows (phi(x), 1) with margin gamma,
    there are at most :math:`(R/\gamma)^2` mistakes, R being the norm of the longest of these rows.
    With ``kernel='linear'`` it is :class:`~maxmargin.Perceptron`.

    Parameters
    ----------
    kernel : str, Kernel or callable, default='rbf'
        As in :class:`~maxmargin.SVC`.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of 'rbf', 'poly' and 'sigmoid'. 'scale' is 1 / (n_features * variance of X), 'auto' is 1 / n_features; a
        stream takes the first chunk's.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    budget : int or None, default=None
        Most vectors that a task keeps, at all times; None: no bound. With one the bound on the mistakes does not hold.
    maintenance : {'merge', 'project', 'remove'}, default='merge'
        What happens to the vector of the smallest weight when there is one too many. 'merge': it and the one of the
        same sign with which that costs least become a point on the line between them (Gaussian kernel only).
        'project': its part of w is projected onto the 64 vectors nearest to it. 'remove': it is dropped.
    max_iter : int, default=100
        Most passes over the rows. A pass without mistakes ends the fit.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    shuffle : bool, default=True
        Whether every pass takes the rows in a new random order.
    bound : bool, default=False
        Whether to compute ``mistake_bound_``, which takes the fit of a hard-margin machine.
    {many_classes}
    cache_size : 'auto' or float, default='auto'
        Megabytes of kernel values kept; a hard bound. Where all values fit each is computed once. 'auto' is 3 % of the
        free memory (a power of 2), at least 64 and at most 512.
    time_limit : float or None, default=None
        Seconds after which the fit ends with what it has.
    n_jobs : int or None, default=None
        Threads; classes are fitted side by side. None: all cores, or one inside a worker of joblib's.
    verbose : bool or int, default=0
        Show a progress line.
    random_state : int, RandomState or None, default=None
        Seed of the order of the rows, of the folds of a calibration and of random code words; None is 0.
    {scale}

    Attributes
    ----------
    {many_attributes}
    support_vectors_ : array or sparse matrix of shape (n_vectors, n_features)
        The rows that mistakes were made on (of all tasks, each once), or points between them if merged.
    dual_coef_ : ndarray of shape (n_tasks, n_vectors)
        Signed numbers of mistakes; f(x) = sum of dual_coef_ k(support_vectors_, x) + intercept_.
    support_ : ndarray of shape (n_vectors,)
        The training rows they are; -1 for merged points and rows of a stream.
    n_vectors_ : ndarray of shape (n_tasks,)
        Vectors of every task.
    intercept_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel
        The kernel used, with its width.
    mistakes_ : ndarray of shape (n_tasks,)
        Mistakes made, of all passes together; after ``partial_fit`` of all chunks.
    mistake_bound_ : ndarray of shape (n_tasks,)
        Their largest possible number, inf if the rows are not separable; only with ``bound=True``.
    history_ : structured array
        task, iteration (pass), seconds, violations (mistakes) and number of vectors after every pass.
    n_iter_ : int
        Passes made; a chunk of ``partial_fit`` counts as one.
    t_ : int
        Rows visited.
    chunks_ : int
        Calls to ``partial_fit``.
    shape_fit_ : tuple
        Shape of the training rows.
    {scaling}

    References
    ----------
    Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999, section 5; Novikoff 1962 (the bound).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from maxmargin import KernelPerceptron
    >>> X, y = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    >>> model = KernelPerceptron(bound=True, random_state=0).fit(X, y)
    >>> model.score(X, y), bool(model.mistakes_[0] <= model.mistake_bound_[0])
    (1.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelOnline._parameter_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "bound": ["boolean"],
    }

    def __init__(
        self,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        budget=None,
        maintenance="merge",
        max_iter=100,
        fit_intercept=True,
        shuffle=True,
        bound=False,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
        cache_size="auto",
        time_limit=None,
        n_jobs=None,
        verbose=0,
        random_state=None,
        scale=False,
    ):
        self._store(locals())

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Fit the model to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
        """
        return self._fit(self._validate(X, y, None))

    @available_if(KernelOnline._can_stream)
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None):
        """Go on with one pass over a chunk of rows, for data that do not fit into memory.

        After an error (other columns than the first chunk's, values that are not finite, an unknown class) the model is
        exactly what it was before the chunk. ``scale=True`` keeps the first chunk's scaling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows of the chunk, for example from :func:`maxmargin.io.read_chunks`.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            All classes that any chunk may have; needed in the first call.

        Returns
        -------
        self
        """
        before = getattr(self, "mistakes_", 0)
        made = self._partial_fit(X, y, classes)
        self.mistakes_ = before + np.array(made)
        return self

    def mistake_bound(self, X, y):
        """(R / gamma)^2 of these rows: no order of them makes a perceptron that starts at 0 commit more mistakes.

        gamma is the margin of the hard-margin machine in the feature space (with a constant feature 1 if there is an
        intercept).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; the Gram matrix for ``kernel='precomputed'``.
        y : array-like of shape (n_samples,)
            Their classes, among ``classes_``.

        Returns
        -------
        ndarray of shape (n_tasks,)
            inf where the two sides of the task cannot be separated.
        """
        check_is_fitted(self)
        X = scaled(self._validate_for_predict(X), Scaling.of(self))
        y = check_target(self, y, count(X))
        label = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        return self._bounds(X, np.arange(len(label)), self._scheme.tasks(label))

    def _bounds(self, X: RowData, numbers: IntArray, tasks: list[Any]) -> FloatArray:
        return np.array([self._bound_of(X, numbers[task.rows], task.sign) for task in tasks])

    def _bound_of(self, X: RowData, rows: IntArray, sign: FloatArray) -> float:
        """A constant feature 1 adds 1 to all kernel values."""
        constant = 1.0 if self.fit_intercept else 0.0
        if self._precomputed:
            return most_mistakes(self.kernel_, np.asarray(X)[np.ix_(rows, rows)] + constant, sign)
        return most_mistakes(self.kernel_ + constant if constant else self.kernel_, take(X, rows), sign)

    def _options(self):
        return Options(0.0, 1, bool(self.fit_intercept), False, self.budget, KINDS.index(self.maintenance))

    @property
    def _visiting(self):
        return "shuffle" if self.shuffle else "given"

    def _by_value(self):
        return False

    def _task_rows(self, task, order):
        return task.rows  # as Perceptron takes them

    def _passes(self, length):
        return int(self.max_iter)

    def _is_done(self, violations):
        return violations == 0

    def _write_fit(self, data, tasks, lines):
        warn_of_mistakes(lines, ADVICE)
        self.mistakes_ = np.array([sum(line[2] for line in task) for task in lines])
        if self.bound:
            self.mistake_bound_ = self._bounds(data.X, data.kept, tasks)


def most_mistakes(kernel: Kernel, X: RowData, sign: FloatArray) -> float:
    """(R / gamma)^2 of rows in the feature space of a kernel, gamma being that of a hyperplane through the origin."""
    square = float(kernel.diag(X).max(initial=0.0))
    backend, problem = backend_for("cpu"), HardMarginProblem(sign, square, fit_intercept=False)
    with single_threaded_blas():
        gram = backend.gram(kernel, X, cache_bytes=cache_bytes("auto"), threads=effective_threads(None))
        solution = Decomposition(backend).solve(problem, gram, None, Watch(gap_tol=MARGIN_TOL))
    try:
        problem.require_separable(solution.beta, solution.f)
    except NotSeparableError:
        return math.inf
    smallest, norm = float(np.min(sign * solution.f)), float(solution.beta @ solution.f)
    return square * norm / smallest / smallest if smallest > 0 else math.inf
