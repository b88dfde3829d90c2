"""The mechanism of every search: parameters of the machine and of the search, fit, results, and the fitted winner."""

from __future__ import annotations

import inspect
import math
import time
import warnings
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import Interval, Options
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from maxmargin._stop import Stopped, stops_when
from maxmargin._validation import unchanged_by_errors
from maxmargin.backends import effective_threads, single_threaded_blas
from maxmargin.estimators.interface import InterruptFlag, KernelModel, Machine, fitted_scaling, levels_to_caller, scaled
from maxmargin.selection._cells import Cell
from maxmargin.selection._document import search_docstring
from maxmargin.selection._folds import make_folds
from maxmargin.selection._grid import applied, default_values, finer_cells, make_cells
from maxmargin.selection._kernel_least_squares import (
    LeastSquaresTrainer,
    LeftOutTrainer,
    can_share_kernel,
    leaves_one_out,
)
from maxmargin.selection._least_squares import ClosedFormTrainer, has_closed_form
from maxmargin.selection._linear import LinearTrainer, can_share_rows
from maxmargin.selection._progress import ProgressBar
from maxmargin.selection._results import best_cell, cv_results
from maxmargin.selection._run import Search
from maxmargin.selection._scoring import Scorer
from maxmargin.selection._stored import StoredTrainer, can_store
from maxmargin.selection._trainer import FitTrainer, SearchInput, Trainer

#: How often a grid that the search picked by itself is made finer around the best cell.
REFINEMENTS = 2
#: Share of a time limit that is for the search where the winner is to be fitted after it.
FOR_THE_SEARCH = 0.75
#: Parameters of every search with their defaults, after the lists of values.
SEARCH_PARAMETERS: dict[str, Any] = {
    "param_grid": None,
    "cv": None,
    "scoring": None,
    "scale": False,
    "refit": True,
    "one_standard_error": False,
    "drop": True,
    "error_score": "raise",
    "time_limit": None,
    "n_jobs": None,
    "verbose": 0,
}


def searches(machine: type, strength: str, **lists: str) -> Any:
    """Class decorator: a search over ``machine``; ``lists`` are its lists of values, by the parameter they are for."""

    def decorate(cls: Any) -> Any:
        cls._machine_class, cls._strength, cls._lists = machine, strength, lists
        own = inspect.signature(machine.__init__).parameters  # type: ignore[misc]  # of the class, on purpose
        taken = {"self", "warm_start", *lists.values(), *SEARCH_PARAMETERS}
        passed = {name: p.default for name, p in own.items() if name not in taken}
        cls._passed = tuple(passed)
        defaults = {**dict.fromkeys(lists), **SEARCH_PARAMETERS, **passed}
        ordered = [p for name, p in own.items() if name in passed and p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        named = [name for name in defaults if name not in {p.name for p in ordered}]
        parameters = [inspect.Parameter(name, keyword, default=defaults[name]) for name in named]
        signature = inspect.Signature([first, *(p.replace(annotation=p.empty) for p in ordered), *parameters])

        def __init__(self, *values, **given):
            try:
                bound = signature.bind(self, *values, **given)
            except TypeError as error:
                listed = ", ".join(f"{name}=[...] for {parameter}" for name, parameter in lists.items())
                raise TypeError(f"{cls.__name__}: {error}; values to try are lists: {listed}") from None
            bound.apply_defaults()
            for name in defaults:
                setattr(self, name, bound.arguments[name])

        __init__.__signature__ = signature  # type: ignore[attr-defined]  # what scikit-learn reads the parameters from
        cls.__init__ = __init__
        if cls.__doc__:  # there is none under python -OO
            cls.__doc__ = search_docstring(machine, strength, lists, cls._passed, cls.__doc__)
        return cls

    return decorate


def _refitted(name: str) -> Any:
    """For available_if: whether the machine has the method, and the winner was fitted."""

    def check(self: Any) -> bool:
        getattr(self.best_estimator_ if hasattr(self, "best_estimator_") else self._new_machine(), name)
        return True

    return check


class CrossValidated(MetaEstimatorMixin, BaseEstimator):
    """Base of the searches."""

    _machine_class: ClassVar[Any]
    _strength: ClassVar[str]
    _lists: ClassVar[dict[str, str]]
    _passed: ClassVar[tuple[str, ...]]
    _search_class: ClassVar[type[Search]] = Search  # on a cluster another

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "param_grid": [dict, list, None],
        "scale": ["boolean"],
        "refit": ["boolean"],
        "one_standard_error": ["boolean"],
        "drop": ["boolean"],
        "error_score": [Options(str, {"raise"}), Real],
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    # -- fit --------------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Search the grid, then fit the winner to all rows.

        Ctrl-C and ``time_limit`` end the search: what is finished is kept, and the best of it is fitted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,), or (n_samples, n_outputs) for machines that take several
            Class labels or real targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, in training and in the scores; rows of weight 0 or less are left out.
        groups : array-like of shape (n_samples,), optional
            For splitters that keep groups together.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self._validate_params()
        machine = self._new_machine()
        machine._validate_params()
        checked = machine._validate(X, y, sample_weight)
        weight = np.zeros(checked.n)
        weight[checked.kept] = checked.weight
        targets = checked.y[:, 0] if np.shape(checked.y)[1:] == (1,) else checked.y
        folds = make_folds(machine, self.cv, checked.X, targets, groups, checked.kept)
        data = SearchInput(checked.X, targets, weight, sample_weight is not None, checked.kept, folds)
        raises = self.error_score == "raise"
        grids = [self._grid(machine, data, given) for given in self._given_grids()]
        cells = make_cells(machine, self._strength, grids, len(folds), raises)
        scorer = Scorer(machine, self.scoring)
        trainer = self._trainer(machine, data, cells, scorer)
        ended = self._search(trainer, cells, scorer, began)
        with unchanged_by_errors(self):
            self._publish(machine, trainer, cells, scorer, ended)
            if self.refit:
                self._refit(machine, X, y, sample_weight, began)
        return self

    def _new_machine(self) -> Any:
        machine = self._machine_class(**{name: getattr(self, name) for name in self._passed})
        if "scale" in machine.get_params():
            machine.set_params(scale=self.scale and not self._scales_here)
        return machine

    @property
    def _scales_here(self) -> bool:
        """Whether the search scales, so that its cells share kernel values; linear machines do it themselves."""
        return self.scale and issubclass(self._machine_class, KernelModel)

    def _given_grids(self) -> list[dict[str, Any]]:
        """``param_grid``, one dict or several."""
        given = self.param_grid or {}
        return [given] if isinstance(given, dict) else list(given)

    def _grid(self, machine: Machine, data: SearchInput, given: dict[str, Any]) -> dict[str, list[Any]]:
        given = dict(given)
        for name, parameter in self._lists.items():
            values = getattr(self, name)
            if parameter in given and values is not None:
                raise ValueError(f"values of {parameter} are given twice, as {name} and in param_grid; give them once")
            if parameter in given:
                values = given[parameter]
            if values is None:
                rows, weight = _safe_indexing(data.X, data.kept), data.weight[data.kept]
                if getattr(machine, "_precomputed", False):
                    rows = rows[:, data.kept]
                if self.scale:
                    rows = scaled(rows, fitted_scaling(rows, weight))
                values = default_values(machine, parameter, rows, data.y[data.kept], weight)
            given[parameter] = values
        for name, values in given.items():
            listed = list(values) if np.iterable(values) and not isinstance(values, str) else []
            if not listed:
                raise ValueError(f"the values of {name} must be a list with at least one of them; got {values!r}")
            given[name] = [v.item() if isinstance(v, np.generic) else v for v in listed]
        return given

    def _picks(self, name: str, parameter: str) -> bool:
        """Whether the search picked the values of a list by itself, so that it may go on picking."""
        return getattr(self, name) is None and not any(parameter in given for given in self._given_grids())

    def _trainer(self, machine: Machine, data: SearchInput, cells: list[Cell], scorer: Scorer) -> Trainer:
        """The fastest that serves every line."""
        if not any(cell.open for cell in cells):
            raise ValueError(f"no cell of the grid makes sense: {cells[0].status}")
        strengths = [cell.strength for cell in cells if cell.open]
        lines = {cell.line: self._line_parameters(machine, cell.params) for cell in cells if cell.open}
        machines = [clone(machine).set_params(**params) for params in lines.values()]
        threads, n = effective_threads(self.n_jobs), len(data.kept)
        if self._scales_here and any(one._precomputed for one in machines):
            raise ValueError("scale=True scales features, and a precomputed kernel has none; scale before computing it")
        if not scorer.knows_rows:
            return FitTrainer(machine, self._strength, data, threads, self._scales_here)
        if self._strength == "C" and all(can_store(one, strengths, data) for one in machines):
            return StoredTrainer(machine, data, threads, self._scales_here)
        if all(can_share_kernel(one, strengths, data) for one in machines):
            alone = not self._scales_here and leaves_one_out(data)
            return (LeftOutTrainer if alone else LeastSquaresTrainer)(machine, data, threads, self._scales_here)
        if all(has_closed_form(one, self.cv, n) for one in machines):
            return ClosedFormTrainer(machine, data)
        if all(can_share_rows(one, strengths) for one in machines):
            return LinearTrainer(machine, self._strength, data)
        return FitTrainer(machine, self._strength, data, threads, self._scales_here)

    def _line_parameters(self, machine: Machine, params: dict[str, Any]) -> dict[str, Any]:
        """The machine's parameters of a cell, without the strength."""
        return applied(machine, {name: value for name, value in params.items() if name != self._strength})

    def _search(self, trainer: Trainer, cells: list[Cell], scorer: Scorer, began: float) -> str | None:
        bar = ProgressBar(type(self).__name__, bool(self.verbose))
        searching = FOR_THE_SEARCH if self.refit else 1.0
        limit = math.inf if self.time_limit is None else began + searching * self.time_limit
        with InterruptFlag() as interrupted, single_threaded_blas(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap of a cell says it
            search = self._search_class(
                cells, trainer, scorer, partial(self._line_parameters, trainer.machine), len(trainer.data.folds),
                effective_threads(self.n_jobs), self.drop, self.error_score == "raise", limit, interrupted, bar,
            )  # fmt: skip
            ended = search.run()
            found = any(cell.open and cell.known for cell in cells)
            picked = [parameter for name, parameter in self._lists.items() if self._picks(name, parameter)]
            for turn in range(REFINEMENTS if picked and found else 0):
                if ended is None:
                    more = finer_cells(cells, self._winning(cells, plain=True), picked, self._strength)
                    cells.extend(more)
                    ended = search.add(f"finer grid {turn + 1}", more)
            while found and ended is None and not (chosen := cells[self._winning(cells)]).tight:
                ended = search.add("winner", [chosen])
        bar.close()
        if not found:
            if ended == "interrupted":
                raise KeyboardInterrupt
            why = f"{ended} was reached before the first was" if ended else cells[0].status
            raise ValueError(f"no cell of the grid was finished: {why}")
        return ended

    def _winning(self, cells: list[Cell], plain: bool = False) -> int:
        """The number of the best cell; ``plain`` is without the one-standard-error rule."""
        simplest = 1 if self._strength == "C" else -1  # much lambda, or nu, is little C
        return best_cell(cells, self.one_standard_error and not plain, simplest)

    def _publish(
        self, machine: Machine, trainer: Trainer, cells: list[Cell], scorer: Scorer, ended: str | None
    ) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.cv_results_, self.method_ = cv_results(cells), trainer.method
        self.best_index_ = self._winning(cells)
        self.best_params_ = dict(cells[self.best_index_].params)
        self.best_score_ = cells[self.best_index_].mean
        self.n_splits_, self.scorer_ = len(cells[0].scores), scorer.function
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(machine, name):
                setattr(self, name, getattr(machine, name))
        if ended is not None:
            finished = sum(cell.done for cell in cells)
            what = "interrupted" if ended == "interrupted" else f"time_limit={self.time_limit} was reached"
            warnings.warn(
                f"The search was ended early ({what}) with {finished} of {len(cells)} cells finished; the best of "
                "what there is was taken. cv_results_['status'] says what became of each cell.",
                ConvergenceWarning,
                stacklevel=levels_to_caller(),
            )

    def _refit(self, machine: Machine, X: Any, y: Any, sample_weight: Any, began: float) -> None:
        """Fit the winner to all rows, within what is left of the time limit; not at all if that is too little."""
        start, end = time.perf_counter(), math.inf if self.time_limit is None else began + self.time_limit
        model = clone(machine).set_params(**applied(machine, self.best_params_))
        own = model.get_params()
        if "n_jobs" in own:
            model.set_params(n_jobs=self.n_jobs)
        if "time_limit" in own and end < math.inf:
            model.set_params(time_limit=max(1e-3, end - start))
            end = math.inf  # the others, closed forms, have nothing to deliver before they are done
        try:
            with stops_when(lambda: time.perf_counter() >= end):
                self.best_estimator_ = self._fitted_to(model, X, y, sample_weight)
        except Stopped:
            if time.perf_counter() < end:  # somebody else asked
                raise
            told = f"time_limit={self.time_limit} was reached before a model with best_params_ was fitted to all rows"
            warnings.warn(told, ConvergenceWarning, stacklevel=levels_to_caller())
        self.refit_time_ = time.perf_counter() - start

    def _fitted_to(self, model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
        """The model fitted to all rows, in a Pipeline where the search scales."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if self._scales_here:
            scaler = StandardScaler(with_mean=not hasattr(X, "tocsr")).fit(X, **given)
            return Pipeline([("scale", scaler), ("machine", model.fit(scaler.transform(X), y, **given))])
        return model.fit(X, y, **given)

    # -- the fitted winner ------------------------------------------------------------------------------------

    def _fitted(self) -> Any:
        """The fitted winner, in its Pipeline if it has one."""
        if hasattr(self, "cv_results_") and not hasattr(self, "best_estimator_"):
            why = "time_limit was reached; raise it" if self.refit else "refit=False; set refit=True"
            raise AttributeError(f"{type(self).__name__} chose {self.best_params_} and fitted no model, because {why}")
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @property
    def _winner(self) -> Any:
        """The fitted machine itself."""
        return self._fitted()["machine"] if isinstance(self._fitted(), Pipeline) else self._fitted()

    @property
    def classes_(self):
        """Classes of the fitted winner."""
        return self._winner.classes_

    @property
    def n_iter_(self):
        """Steps of the fitted winner."""
        return self._winner.n_iter_

    @property
    def certificate_(self):
        """Proof of optimality of the fitted winner."""
        return self._winner.certificate_

    def predict(self, X):
        """Prediction of the fitted winner for every row."""
        return self._fitted().predict(X)

    @available_if(_refitted("decision_function"))
    def decision_function(self, X):
        """Scores of the fitted winner."""
        return self._fitted().decision_function(X)

    @available_if(_refitted("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the fitted winner; needs a calibration."""
        return self._fitted().predict_proba(X)

    @available_if(_refitted("predict_set"))
    def predict_set(self, X, coverage=0.9):
        """Prediction sets of the fitted winner; needs a calibration."""
        rows = self._fitted()["scale"].transform(X) if isinstance(self._fitted(), Pipeline) else X
        return self._winner.predict_set(rows, coverage)

    def score(self, X, y, sample_weight=None):
        """Score of the fitted winner, by ``scoring``."""
        model, given = self._fitted(), {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.scorer_(model, X, y, **given)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._new_machine())
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.input_tags = inner.regressor_tags, inner.input_tags
        tags.target_tags = inner.target_tags
        return tags
