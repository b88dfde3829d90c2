"""scikit-learn's GridSearchCV, inside the solver where the same cells can be searched there."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import sklearn.model_selection
from sklearn.model_selection import ParameterGrid

from maxmargin import SVC
from maxmargin.selection import SVCCV

log = logging.getLogger("maxmargin.accel")

#: Parameters whose values the search may take from the grid, all of them numbers.
SEARCHED = ("C", "gamma", "coef0", "degree")


class GridSearchCV(sklearn.model_selection.GridSearchCV):
    """Parameters, attributes and methods are scikit-learn's; ``cv_results_`` has the gap of every cell beside them."""

    def fit(self, X, y=None, **params):
        """Run the search; parameters as in scikit-learn."""
        reason = why_not(self, params)
        if reason is not None:
            log.info("GridSearchCV(%s) runs as scikit-learn's: %s", type(self.estimator).__name__, reason)
            return super().fit(X, y, **params)
        log.info("GridSearchCV(%s) runs inside the solver, as maxmargin.SVCCV", type(self.estimator).__name__)
        self._validate_params()
        search = self._own_search().fit(X, y, **params)
        self._publish(search)
        return self

    def _own_search(self) -> SVCCV:
        """The search of the same cells: all of them, on all folds, to the end."""
        given = {"C": [self.estimator.C], "gamma": [self.estimator.gamma]}
        fixed = set(SVCCV().get_params()) & set(self.estimator.get_params()) - {"scale", *given}
        passed = {name: getattr(self.estimator, name) for name in fixed}
        grid = {**given, **{name: list(values) for name, values in self.param_grid.items()}}
        return SVCCV(
            param_grid=grid,
            cv=self.cv,
            scoring=self.scoring,
            drop=False,
            error_score=self.error_score,
            **{**passed, "n_jobs": self.n_jobs, "verbose": self.verbose},
        )

    def _publish(self, search: SVCCV) -> None:
        """What scikit-learn publishes, cells in its order."""
        found = [{name: params[name] for name in self.param_grid} for params in search.cv_results_["params"]]
        wanted = list(ParameterGrid(self.param_grid))
        order = [found.index(cell) for cell in wanted]
        results = {name: np.ma.asarray(v)[order] if name.startswith("param_") else np.asarray(v)[order]
                   for name, v in search.cv_results_.items() if name != "params"
                   and (not name.startswith("param_") or name[6:] in self.param_grid)}  # fmt: skip
        self.cv_results_: Any = {**results, "params": wanted}
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = wanted[self.best_index_]
        self.best_score_ = self.cv_results_["mean_test_score"][self.best_index_]
        self.best_estimator_, self.refit_time_ = search.best_estimator_, search.refit_time_
        self.scorer_, self.n_splits_, self.multimetric_ = search.scorer_, search.n_splits_, False
        for name in ("feature_names_in_",):
            if hasattr(search.best_estimator_, name):
                setattr(self, name, getattr(search.best_estimator_, name))


def why_not(search: GridSearchCV, params: dict[str, Any]) -> str | None:
    """Why the cells cannot be searched inside the solver; None if they can."""
    machine, grid = search.estimator, search.param_grid
    if type(machine) is not SVC:
        return f"it searches {type(machine).__name__}, and only for SVC are both searches known to be the same"
    if not isinstance(grid, Mapping) or not set(grid) <= set(SEARCHED):
        return f"param_grid has other parameters than {', '.join(SEARCHED)}"
    values = [value for listed in grid.values() for value in listed]
    if not values or not all(isinstance(value, Real) and math.isfinite(value) for value in values):
        return "a value in param_grid is no finite number"
    if not isinstance(machine.kernel, str) or machine.kernel == "precomputed":
        return "the kernel is no name of one"
    if "gamma" not in grid and not isinstance(machine.gamma, Real) and machine.kernel not in ("linear", "cosine"):
        return f"gamma={machine.gamma!r} has another value in every fold"
    plain = search.scoring is None or isinstance(search.scoring, str)
    if not plain or search.refit is not True or search.return_train_score:
        return "scoring is no name, refit is not True, or training scores are wanted"
    if set(params) - {"sample_weight", "groups"}:
        return f"fit was given {', '.join(sorted(params))}"
    return "sample weights count in the scores of one search only" if params.get("sample_weight") is not None else None
