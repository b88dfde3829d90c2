"""KernelPegasosSVC: Pegasos on the coefficients of a kernel expansion, with a budget if asked."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from maxmargin.certificates import certify_tasks
from maxmargin.estimators._kernel_online import KernelOnline
from maxmargin.estimators._machine import leaves_no_trace
from maxmargin.estimators._params import document_classes, document_kernel
from maxmargin.estimators._pegasos import LEAST, VISITS, steps_skipped
from maxmargin.solvers.expansion import KINDS, Options

#: Most passes that max_iter=None means.
MOST = 500


@document_classes
@document_kernel
class KernelPegasosSVC(KernelOnline):
    r"""Kernel support vector classifier by Pegasos, for streams, and with a budget for data of any size.

    .. math:: \min_w\; \tfrac{\lambda}{2}\|w\|^2 + \tfrac1n \sum_i \max(0, 1 - t_i\, w\cdot\phi(x_i))

    w is never written down: after t steps it is :math:`\frac{1}{\lambda (t_0 + t)} \sum_i c_i\, t_i\, \phi(x_i)`, where
    :math:`c_i` counts how often row i was visited with :math:`t_i\, w\cdot\phi(x_i) < 1`. With a budget at most so many
    rows (or points between them) are kept, and prediction costs that many kernel values however much was seen.
    To a high accuracy :class:`~maxmargin.SVC` is faster on all but very many rows.

    Parameters
    ----------
    lam : float, default=1e-4
        Weight of the penalty against the mean loss: lam = 1 / (n C).
    kernel : str, Kernel or callable, default='rbf'
        As in :class:`~maxmargin.SVC`.
    degree : int, default=3
        Degree of 'poly'.
    gamma : {'scale', 'auto'} or float, default='scale'
        Width of 'rbf', 'poly' and 'sigmoid'. 'scale' is 1 / (n_features * variance of X, weighted), 'auto' is
        1 / n_features; a stream takes the first chunk's.
    coef0 : float, default=0.0
        Constant of 'poly' and 'sigmoid'.
    budget : int or None, default=None
        Most vectors that a task keeps, at all times; None: no bound.
    maintenance : {'merge', 'project', 'remove'}, default='merge'
        What happens to the vector of the smallest weight when there is one too many. 'merge': it and the one of the
        same sign with which that costs least become a point on the line between them (Gaussian kernel only).
        'project': its part of w is projected onto the 64 vectors nearest to it. 'remove': it is dropped.
    batch_size : int, default=1
        Rows in a step; the last batch of a pass may be smaller.
    order : {'shuffle', 'draw', 'given'}, default='shuffle'
        'shuffle' visits every row once in each pass, in random order; 'draw' draws each visit independently; 'given'
        takes the rows as they come. A row of weight 2 is visited twice; weights that are not whole numbers decide how
        often a row is visited.
    offset : float or 'auto', default='auto'
        :math:`t_0`. 0 is the published algorithm, whose first steps are very long if lam is small. 'auto' is the median
        of k(x, x) over lam (times the mean class weight): the first step moves its row's own score by about 1.
    max_iter : int or None, default=None
        Passes over the data. None: as many as visit 800,000 rows, but 10 at least and 500 at most.
    average : bool, default=True
        Deliver the average of the iterates of the last tenth of the passes (at least one pass), weighted by t, instead
        of the last iterate, which jumps about the optimum. With a budget it is the average within the vectors kept.
    fit_intercept : bool, default=False
        Whether there is an unpenalised intercept, moved by the same steps; the algorithm as published has none.
    {many_classes}
    class_weight : dict, 'balanced' or None, default=None
        Factor of the loss for each class; 'balanced' uses the (weighted) class counts.
    cache_size : 'auto' or float, default='auto'
        Megabytes of kernel values kept; a hard bound. Where all values fit each is computed once. 'auto' is 3 % of the
        free memory (a power of 2), at least 64 and at most 512.
    time_limit : float or None, default=None
        Seconds after which the fit ends with what it has. A proof that they leave no time for is not made, and the
        certificate says so.
    certify : bool, default=True
        Whether to publish a certificate, computed from the data in float64; only without a budget.
    n_jobs : int or None, default=None
        Threads; classes are fitted side by side. None: all cores, or one inside a worker of joblib's.
    verbose : bool or int, default=0
        Show a progress line.
    random_state : int, RandomState or None, default=None
        Seed of the order in which rows are visited, of a calibration's folds and of random code words; None is 0.
    {scale}

    Attributes
    ----------
    {many_attributes}
    support_vectors_ : array or sparse matrix of shape (n_vectors, n_features)
        The vectors of all tasks, each once.
    dual_coef_ : ndarray of shape (n_tasks, n_vectors)
        Their coefficients; w = dual_coef_ @ phi(support_vectors_).
    support_ : ndarray of shape (n_vectors,)
        The training rows they are; -1 for merged points and rows of a stream.
    n_vectors_ : ndarray of shape (n_tasks,)
        Vectors of every task.
    intercept_, n_features_in_
        As in scikit-learn.
    kernel_ : Kernel
        The kernel used, with its width.
    certificate_ : Certificate
        How far from optimal the fit stopped, proven; the worst over the tasks. None of these with a budget, whose
        vectors are no dual point, or after ``partial_fit``: the rows of earlier chunks are gone.
    certificates_ : list of Certificate
        One per task.
    C_ : ndarray of shape (n_tasks,)
        Cost of a row of weight 1 in 1/2 ||w||^2 + C sum of losses: 1 / (n lam), n being the sum of the weights.
    history_ : structured array
        task, iteration (pass), seconds, violations and number of vectors after every pass.
    n_iter_ : int
        Passes made; a chunk of ``partial_fit`` counts as one.
    t_ : int
        Number of the last step (``offset`` included).
    chunks_ : int
        Calls to ``partial_fit``.
    shape_fit_ : tuple
        Shape of the training rows.
    {scaling}

    References
    ----------
    Shalev-Shwartz, Singer, Srebro and Cotter 2011, fig. 3; Wang, Crammer and Vucetic 2012 (budgets).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import KernelPegasosSVC
    >>> X, y = make_moons(500, noise=0.1, random_state=0)
    >>> model = KernelPegasosSVC(lam=1e-3, gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99, model.certificate_.holds, bool(model.certificate_.relative_gap < 0.1)
    (True, True, True)
    >>> small = KernelPegasosSVC(lam=1e-3, gamma=2.0, budget=20, random_state=0).fit(X, y)
    >>> small.score(X, y) > 0.99, len(small.support_vectors_)
    (True, 20)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelOnline._parameter_constraints,
        "lam": [Interval(Real, 0.0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "order": [StrOptions({"shuffle", "draw", "given"})],
        "offset": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "average": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "certify": ["boolean"],
    }

    def __init__(
        self,
        lam=1e-4,
        *,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        budget=None,
        maintenance="merge",
        batch_size=1,
        order="shuffle",
        offset="auto",
        max_iter=None,
        average=True,
        fit_intercept=False,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
        class_weight=None,
        cache_size="auto",
        time_limit=None,
        certify=True,
        n_jobs=None,
        verbose=0,
        random_state=None,
        scale=False,
    ):
        self._store(locals())

    @with_callbacks
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fit the model to the training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            Training rows; the Gram matrix for ``kernel='precomputed'``; any sequence for a callable kernel.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: 2 is the row twice; rows of weight 0 or less are left out.

        Returns
        -------
        self
        """
        return self._fit(self._validate(X, y, sample_weight))

    @available_if(KernelOnline._can_stream)
    @leaves_no_trace
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Go on with one pass over a chunk of rows, for data that do not fit into memory.

        After an error (other columns than the first chunk's, values that are not finite, an unknown class) the model is
        exactly what it was before the chunk. Without a budget the model grows with the stream. There is no certificate:
        a proof of optimality needs all rows. The average (``average=True``) is that of all chunks' iterates.
        ``scale=True`` keeps the first chunk's scaling.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows of the chunk, for example from :func:`maxmargin.io.read_chunks`.
        y : array-like of shape (n_samples,)
            Their classes.
        classes : array-like, optional
            All classes that any chunk may have; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row within the chunk: 2 is the row twice.

        Returns
        -------
        self
        """
        self._partial_fit(X, y, classes, sample_weight)
        return self

    def _options(self):
        return Options(float(self.lam), int(self.batch_size), bool(self.fit_intercept), bool(self.average),
                       self.budget, KINDS.index(self.maintenance))  # fmt: skip

    @property
    def _visiting(self):
        return self.order

    def _passes(self, length):
        if self.max_iter is not None:
            return int(self.max_iter)
        return min(max(-(-VISITS // length), LEAST), MOST)

    def _first_step(self, diagonal, weight, gain, lam):
        if self.offset != "auto":
            return float(self.offset)
        return steps_skipped(diagonal, weight, gain, lam, self.fit_intercept)

    def _write_fit(self, data, tasks, lines):
        self.C_ = np.full(len(tasks), 1.0 / (float(self.lam) * float(data.weight.sum())))

    def _proof(self, draft, data):
        if self.budget is not None:  # merged vectors are no rows: there is no dual point to judge
            return []
        weight = np.zeros(data.n)
        weight[data.kept] = data.weight
        return certify_tasks(draft, data.as_given, data.y, weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # without an intercept half of all directions are of one class, whatever the weights of the classes
        tags.classifier_tags.poor_score = not self.fit_intercept and (self._precomputed or self.kernel == "linear")
        return tags
