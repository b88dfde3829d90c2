"""Taking the place of scikit-learn's classes, and giving it back."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger("maxmargin.accel")

#: (scikit-learn's public module, name in it, where ours is).
MACHINES = (
    ("sklearn.svm", "SVC", "maxmargin"),
    ("sklearn.svm", "NuSVC", "maxmargin"),
    ("sklearn.svm", "SVR", "maxmargin"),
    ("sklearn.svm", "NuSVR", "maxmargin"),
    ("sklearn.svm", "OneClassSVM", "maxmargin"),
    ("sklearn.svm", "LinearSVC", "maxmargin"),
    ("sklearn.svm", "LinearSVR", "maxmargin"),
    ("sklearn.svm", "l1_min_c", "maxmargin.accel._bounds"),
    ("sklearn.kernel_ridge", "KernelRidge", "maxmargin.accel._kernel_ridge"),
)
SEARCHES = (("sklearn.model_selection", "GridSearchCV", "maxmargin.accel._grid_search"),)

#: What is replaced at present: (public module, name): (theirs, ours).
_replaced: dict[tuple[str, str], tuple[Any, Any]] = {}


def patch_sklearn(*, searches: bool = False) -> None:
    """Put maxmargin's machines in the place of scikit-learn's, for all code that imports them from now on.

    After it ``from sklearn.svm import SVC`` gives :class:`maxmargin.SVC` in every module of the process, those of
    scikit-learn included. ``NuSVC``, ``SVR``, ``NuSVR``, ``OneClassSVM``, ``LinearSVC``, ``LinearSVR``, ``l1_min_c``
    and ``sklearn.kernel_ridge.KernelRidge`` are replaced in the same way. Names that other modules imported before,
    and models fitted before, stay scikit-learn's. Calling it again changes nothing. What was replaced, and what was
    not, is said by the logger ``'maxmargin.accel'`` at level INFO.

    Parameters
    ----------
    searches : bool, default=False
        Whether ``GridSearchCV`` is replaced, too, by one that searches inside the solver where that gives the same
        cells (an SVC, numbers as values of C and gamma, ...), and is scikit-learn's own everywhere else; the log says
        which it was, and why.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.patch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__.split(".")[0]
    'maxmargin'
    >>> maxmargin.unpatch_sklearn()
    >>> from sklearn.svm import SVC
    >>> SVC.__module__.split(".")[0]
    'sklearn'
    """
    for module, name, home in (*MACHINES, *SEARCHES) if searches else MACHINES:
        if (module, name) in _replaced:
            continue
        theirs, ours = getattr(importlib.import_module(module), name), getattr(importlib.import_module(home), name)
        _rebind(theirs, ours, module)
        _replaced[module, name] = theirs, ours
        log.info("%s.%s is now %s.%s", module, name, ours.__module__, ours.__qualname__)
    if not any(key[1] == "GridSearchCV" for key in _replaced):
        log.info("sklearn.model_selection.GridSearchCV stays scikit-learn's: searches=True was not asked for")


def unpatch_sklearn() -> None:
    """Give scikit-learn its own classes back; modules that imported ours in between keep what they have.

    See :func:`patch_sklearn`.
    """
    while _replaced:
        (module, name), (theirs, ours) = _replaced.popitem()
        _rebind(ours, theirs, module)
        log.info("%s.%s is scikit-learn's again", module, name)


@contextmanager
def patched_sklearn(*, searches: bool = False) -> Iterator[None]:
    """:func:`patch_sklearn` for the length of a ``with`` block; what was replaced before it stays so after it.

    Examples
    --------
    >>> import maxmargin
    >>> with maxmargin.patched_sklearn():
    ...     from sklearn.svm import SVR
    >>> SVR.__module__.split(".")[0]
    'maxmargin'
    """
    before = set(_replaced)
    patch_sklearn(searches=searches)
    try:
        yield
    finally:
        after = dict(_replaced)
        unpatch_sklearn()
        for (module, name), (theirs, ours) in after.items():
            if (module, name) in before:
                _rebind(theirs, ours, module)
                _replaced[module, name] = theirs, ours


def _rebind(old: Any, new: Any, public: str) -> None:
    """Let every name of scikit-learn's loaded modules that means ``old`` mean ``new``.

    The private module that defines a class keeps it: that is where pickles of fitted models look for it.
    """
    defining = {thing.__module__ for thing in (old, new)} - {public}
    for where, module in list(sys.modules.items()):
        if where.partition(".")[0] != "sklearn" or where in defining:
            continue
        for name, value in list(vars(module).items() if module is not None else ()):
            if value is old:
                setattr(module, name, new)
