"""What of maxmargin a skops file may name: the classes that model files of ours may name."""

from __future__ import annotations

from maxmargin.io._registry import registry

#: Of scikit-learn, what a search keeps that has no ``scoring``: it calls the model's own ``score``.
SCORER = "sklearn.metrics._scorer._PassthroughScorer"


def skops_trusted_types() -> list[str]:
    """Names of the types that ``skops.io.load(file, trusted=...)`` must be allowed to make for models of maxmargin.

    They are those of the fixed list that :func:`maxmargin.io.load` goes by: data, none of which runs code when it is
    loaded. Functions (callable kernels) are not among them.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from maxmargin.io import skops_trusted_types
    >>> "maxmargin.estimators._classifiers.SVC" in skops_trusted_types()
    True
    """
    own = (kind for kind in registry().by_class if kind.__module__.partition(".")[0] == "maxmargin")
    return sorted([SCORER, *(f"{kind.__module__}.{kind.__qualname__}" for kind in own)])
