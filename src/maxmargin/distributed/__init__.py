"""The same machines on a Dask cluster: rows stay where they are, and the optimum is the one of one computer.

>>> from dask.distributed import Client                                                  # doctest: +SKIP
>>> from maxmargin.distributed import SVC                                                # doctest: +SKIP
>>> client = Client()                                                                    # doctest: +SKIP
>>> model = SVC(C=10).fit(X, y)            # Dask arrays, data frames, delayed chunks, a folder     # doctest: +SKIP

Dask is imported when something is first fitted or predicted here; fitted models need none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.distributed._input import read_parts
    from maxmargin.distributed._kernel_machines import SVC, SVR
    from maxmargin.distributed._linear_machines import LinearClassifier, LinearRegressor, LinearSVC
    from maxmargin.distributed._predict import decision_function, predict, predict_proba
    from maxmargin.distributed._search import SVCCV

_HOMES = {
    "SVC": "_kernel_machines",
    "SVR": "_kernel_machines",
    "LinearClassifier": "_linear_machines",
    "LinearRegressor": "_linear_machines",
    "LinearSVC": "_linear_machines",
    "SVCCV": "_search",
    "decision_function": "_predict",
    "predict": "_predict",
    "predict_proba": "_predict",
    "read_parts": "_input",
}

__all__ = [
    "SVC",
    "SVCCV",
    "SVR",
    "LinearClassifier",
    "LinearRegressor",
    "LinearSVC",
    "decision_function",
    "predict",
    "predict_proba",
    "read_parts",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"maxmargin.distributed.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'maxmargin.distributed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
