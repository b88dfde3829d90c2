"""Every public estimator once, small and quick: what the contract suite runs over."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning

import maxmargin

#: Lists that a search tries, short ones.
GRIDS = {"Cs": [0.1, 1.0], "gammas": [0.1], "nus": [0.3], "lams": [1e-3, 1e-2]}
#: What a quick instance needs besides its defaults.
QUICK = {"KernelPegasosSVC": {"max_iter": 100}, "KernelLeastSquares": {"lam": 1e-3}}

NAMES = sorted(
    name for name, home in maxmargin._HOMES.items()
    if home in ("estimators", "maps", "selection") and inspect.isclass(getattr(maxmargin, name))
)  # fmt: skip
SEARCHES = [name for name in NAMES if name.endswith("CV")]
MAPS = [name for name in NAMES if name.endswith("Map")]
#: The estimators that train in one fit and predict.
MACHINES = [name for name in NAMES if name not in {*SEARCHES, *MAPS}]


def made(name: str, **options: Any) -> Any:
    """A quick instance; options that the class does not know are left out."""
    kind = getattr(maxmargin, name)
    known = inspect.signature(kind).parameters
    if name in SEARCHES:
        options = {"cv": 3, **{grid: values for grid, values in GRIDS.items() if grid in known}, **options}
    return kind(**{key: value for key, value in {**QUICK.get(name, {}), **options}.items() if key in known})


CLASSIFIERS = [name for name in MACHINES if is_classifier(made(name))]
ONE_CLASS = [name for name in MACHINES if is_outlier_detector(made(name))]
REGRESSORS = [name for name in MACHINES if name not in {*CLASSIFIERS, *ONE_CLASS}]
SUPERVISED = [*CLASSIFIERS, *REGRESSORS]
#: Machines with a kernel that solve the dual programme, and linear ones with a loss and a penalty.
KERNEL = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "SVDD"]
LINEAR = ["LinearSVC", "LinearSVR", "LinearClassifier", "LinearRegressor"]


def over(names: Iterable[str]) -> Any:
    """Run a test for each of these estimators."""
    return pytest.mark.parametrize("name", list(names))


def data(n: int = 40, seed: int = 0) -> tuple[Any, Any]:
    """Two noisy classes, 0 and 1, that also serve as targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] - 0.5 * X[:, 1] + 0.4 * rng.normal(size=n) > 0.1).astype(int)


def fitted(model: Any, X: Any, y: Any = None, **options: Any) -> Any:
    """Fit; that a few passes were not enough is no concern here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="n_components=")
        warnings.filterwarnings("ignore", message="specified nu is infeasible")
        return model.fit(X, y, **options)


def answers(model: Any, X: Any) -> Any:
    """What the model says about rows: its scores if it has any."""
    for method in ("decision_function", "predict", "transform"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found.toarray() if hasattr(found, "toarray") else found
    raise TypeError(f"{model!r} answers nothing")
