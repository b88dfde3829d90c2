"""The docstring of the parameters that all kernel machines share, written once."""

from __future__ import annotations

import inspect
import re
from textwrap import indent
from typing import Any

KERNEL_OPTIONS = """degree : int, default=3
    Degree of 'poly'.
gamma : {'scale', 'auto'} or float, default='scale'
    Width of 'rbf', 'poly' and 'sigmoid', and of :class:`~maxmargin.kernels.Gaussian` kernels that leave theirs
    open. 'scale' is 1 / (n_features * variance of X, weighted), 'auto' is 1 / n_features.
coef0 : float, default=0.0
    Constant of 'poly' and 'sigmoid'."""

SCALE = """scale : bool, default=False
    Centre every feature (not of sparse rows) and divide it by its weighted standard deviation first. The model
    remembers: it takes unscaled rows and keeps unscaled support vectors; ``gamma='scale'``, ``coef_`` and
    ``intercept_`` belong to scaled ones."""

SCALING = """scaling_ : named tuple of two ndarrays
    What ``scale=True`` subtracted (``center``) and divided by (``scale``)."""

SHARED = """kernel : str, Kernel or callable, default='rbf'
    A name of scikit-learn's, an expression of :mod:`maxmargin.kernels`, a kernel of scikit-learn's
    ``gaussian_process`` or any function of two blocks of rows.
{kernel_options}
tol : float, default=1e-3
    Goal: width of the violated interval, in margin units (LIBSVM's meaning). Problems of up to about a thousand
    rows are polished far below it.
shrinking : bool, default=True
    Kept for compatibility; without effect.
cache_size : 'auto' or float, default='auto'
    Megabytes of kernel values kept; a hard bound. 'auto' is 3 % of the free memory (a power of 2), at least 64
    and at most 512.
verbose : bool or int, default=False
    Show a progress line: the relative gap against time.
max_iter : int, default=-1
    Most pairwise steps per task; -1 for no limit.
solver : {'auto', 'decomposition', 'dual-gradient', 'interior-point'}, default='auto'
    'auto' is 'decomposition'. 'dual-gradient' is the textbook's projected gradient ascent and
    'interior-point' a reference; both are for small problems. One that makes no progress takes Newton steps, or
    another method, and ends with a warning if nothing helps.
gap_tol : float or None, default=None
    When given, decides alone when to stop: the relative duality gap.
time_limit : float or None, default=None
    Seconds after which the fit ends with what it has; they count from its beginning, for all tasks and folds, each of
    which gets its share; folds after the first that would begin later are left out. A proof that they leave no time
    for is not made, and the certificate says so; with ``certify='full'`` it is finished whatever it takes.
certify : {'auto', 'full', False}, default='auto'
    'full' recomputes every score from the data; 'auto' does so where it is cheap, proves bounds on the errors
    otherwise, or, where it can do neither, estimates; False publishes no certificate.
device : {'auto', 'cpu'}, default='auto'
    Where to compute.
n_jobs : int or None, default=None
    Threads. None: all cores, or one inside a worker of joblib's.
warm_start : bool, default=False
    Start from the coefficients of the last fit, if the data have the same shape.
{scale}"""

MANY_CLASSES = """multiclass : {'ovo', 'ovr', 'code'{names}}, default={default}
    Beyond two classes: 'ovo' all-vs-all, each pair votes; 'ovr' one-vs-all, the largest score wins; 'code' binary
    code words, a machine per bit, the nearest word wins. {single}
code_words : {'one-hot', 'random', 'exhaustive'} or array of shape (n_classes, n_bits), default='one-hot'
    The words of 'code': a bit per class, about 10 log2(n_classes) random bits, all 2^(n_classes - 1) - 1 bits that
    differ, or your own words of 0 and 1 (or -1 and +1), in the order of ``classes_``.
calibration : {'sigmoid', 'isotonic', 'venn-abers'} or None, default=None
    Fit probabilities to cross-validated scores (5 folds), for :meth:`predict_proba` and :meth:`predict_set`;
    :meth:`predict` is then the arg-max of the probabilities."""

SINGLE = {
    "weston-watkins": """'crammer-singer' and 'weston-watkins' are one problem for all
    classes, with the largest or the sum of a row's shortfalls as its loss, unpenalised intercepts and a certificate
    of their own.""",
    "softmax": """'softmax' is one problem for all classes,
    multinomial logistic regression, with unpenalised intercepts and a certificate of its own; it needs
    ``loss='logistic'`` and ``penalty='l2'``. In natural logarithms, as scikit-learn's ``LogisticRegression`` has it,
    :math:`L_i = \\log \\sum_m e^{f_{im}} - f_{iy}`, y being the row's class and :math:`P(W) = \\tfrac12\\|W\\|^2`.""",
}

MANY_ATTRIBUTES = """classes_, class_weight_
    As in scikit-learn.
multiclass_ : str
    The scheme.
code_words_ : ndarray of shape (n_classes, n_bits)
    The words of 'code', of -1 and +1.
fired_ : Fired
    With one-hot words: for how many training rows no machine, one and several had a positive score.
calibrators_ : list
    With a calibration: a function from scores to probabilities per task (``probA_`` and ``probB_`` of the sigmoid);
    of all-vs-all per class, unless it is the sigmoid.
sharpness_ : float
    With a calibration of more than two classes: the power of the coupled probabilities that fits held-out rows.
folds_, conformal_
    With a calibration: the folds' machines and the rows' nonconformity, for :meth:`predict_set`. ``folds_.number`` is
    the fold of every row that counts: -1 in none, -2 in one that ``time_limit`` left no time for."""

ATTRIBUTES = """certificate_ : Certificate
    Proof of optimality; the worst over the tasks. See :class:`maxmargin.certificates.Certificate`.
certificates_ : list of Certificate
    One per task.
history_ : structured array
    task, iteration, seconds, primal, dual and gap after every round.
kernel_ : Kernel
    The kernel used, with its width.
support_, support_vectors_, dual_coef_, intercept_, n_support_, n_iter_, fit_status_, shape_fit_
    As in scikit-learn.
{scaling}"""


def fill_docstring(cls: Any, **entries: str) -> Any:
    """Put each entry in the place of its {name}, indented like it; a class without a docstring (-OO) stays as it is.

    The docstring is cleaned first, as Python 3.13 and later do when they compile it: entries are written without the
    indentation of the class, whatever the version.
    """

    def placed(found: re.Match[str]) -> str:
        return indent(entries[found[2]], found[1]) if found[2] in entries else found[0]

    if cls.__doc__:
        cls.__doc__ = re.sub(r"^( *)\{(\w+)\}", placed, inspect.cleandoc(cls.__doc__), flags=re.MULTILINE)
    return cls


def documented(cls: Any) -> Any:
    """Fill {shared} and {attributes} in a class's docstring."""
    return document_classes(document_kernel(fill_docstring(cls, shared=SHARED, attributes=ATTRIBUTES)))


def document_kernel(cls: Any) -> Any:
    """Fill {kernel_options}, {scale} and {scaling} in a class's docstring."""
    return fill_docstring(cls, kernel_options=KERNEL_OPTIONS, scale=SCALE, scaling=SCALING)


def document_classes(cls: Any) -> Any:
    """Fill {many_classes} and {many_attributes} in a classifier's docstring."""
    if "multiclass" not in inspect.signature(cls).parameters:
        return cls
    default = inspect.signature(cls).parameters["multiclass"].default
    singles = getattr(cls, "_singles", ())
    names = "".join(f", {name!r}" for name in singles)
    text = MANY_CLASSES.replace("{default}", repr(default)).replace("{names}", names)
    text = text.replace(" {single}", " " + SINGLE[singles[-1]] if singles else "")
    return fill_docstring(cls, many_classes=text, many_attributes=MANY_ATTRIBUTES)
