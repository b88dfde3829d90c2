"""What of maxmargin a model file can hold: every public estimator with its attributes, and what they are made of.

The machines are those of :mod:`maxmargin.delivered`; what one has besides its family's attributes stands in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring

from maxmargin import estimators, kernels, losses, maps, penalties, selection
from maxmargin.calibration import Conformal, Isotonic, Sigmoid, VennAbers
from maxmargin.certificates import Certificate, Scaling
from maxmargin.delivered import KERNEL, LINEAR, Basis, FoldModels, FoldTables, has_scheme
from maxmargin.io._registry import Entry, check_array, check_shapes, field_names
from maxmargin.kernels import Function, Kernel, Objects, QuadraticForm
from maxmargin.kernels.compositions import Exp, PolynomialOf, Power, Product, Sum
from maxmargin.losses import Loss
from maxmargin.maps.monomials import Collapsed, Ordered
from maxmargin.multiclass import BINARY, SINGLE, Fired
from maxmargin.penalties import Penalty
from maxmargin.solvers.seasons import Schedule
from maxmargin.solvers.stochastic import Progress, Vectors

PROVEN = frozenset({"certificate_", "certificates_", "n_iter_", "shape_fit_", "C_", "fit_status_", "t_", "chunks_"})
SCHEME = frozenset({"multiclass_", "fired_", "folds_", "calibrators_", "sharpness_", "conformal_"})
CLASSES = {
    "classes_": "*[classes]",
    "class_weight_": "f[classes]",
    "code_words_": "f[classes,tasks]",
    "probA_": "f[tasks]",
    "probB_": "f[tasks]",
    "mistakes_": "i[tasks]",
    "mistake_bound_": "f[tasks]",
}
KERNEL_SHAPES = {
    "history_": "v[.]",
    "support_": "i[sv]",
    "support_vectors_": "f[.,.]",
    "dual_coef_": "f[lines,sv]",
    "intercept_": "f[tasks]",
    "n_support_": "i[.]",
    "n_vectors_": "i[tasks]",
    "offset_": "f[tasks]",
}
LINEAR_SHAPES = {
    "history_": "v[.]",
    "coef_": "f[tasks,features]",
    "intercept_": "f[tasks]",
    "margin_": "f[tasks]",
    "center_": "f[features]",
    "scale_": "f[features]",
    "support_": "i[sv]",
    "dual_coef_": "f[.,sv]",
    "schedule_": "f[tasks,.]",
    "held_out_": "i[.]",
    "_held_out": "i[.]",
}
STREAM = frozenset({"_stream", "_reached", "_schedules", "_drawn", "_lines", "_held"})
SEARCH = frozenset({
    "cv_results_", "method_", "best_index_", "best_params_", "best_score_", "n_splits_", "refit_time_",
    "best_estimator_",
})  # fmt: skip
#: Kernel machines besides those that solve a problem of their own.
FURTHER = ("KernelPegasosSVC", "KernelPerceptron", "KernelLeastSquares", "KernelDiscriminantAnalysis")
KERNEL_OTHERS = PROVEN | SCHEME | STREAM | {"kernel_", "radius_", "scaling_"}


#: What a machine has besides the attributes of its family, or has in another shape; an empty text takes a shape back.
SHAPES: dict[str, dict[str, str]] = {
    "SVC": {"landmarks_": "i[landmarks]", "landmark_vectors_": "f[.,.]", "landmark_coef_": "f[tasks,landmarks]"},
    "KernelLeastSquares": {"dual_coef_": ""},
    "KernelDiscriminantAnalysis": {
        "dual_coef_": "f[sv,directions]",
        "priors_": "f[classes]",
        "means_": "f[classes,directions]",
        **dict.fromkeys(("eigenvalues_", "explained_variance_ratio_", "intercept_"), "f[directions]"),
    },
    "LinearSVR": {"coef_": "f[features]"},
    "LinearRegressor": {"coef_": "f[features]"},
}
OTHERS = {
    "LSSVC": {"residual_", "loo_decision_"},
    "KernelLeastSquares": {"residual_", "rank_", "loo_residuals_", "dual_coef_"},
}


def entries() -> list[Entry]:
    """All of them, under their public names."""
    searches = [name for name in selection.__all__ if name.endswith("CV")]
    linear = [_machine(name, LINEAR_SHAPES, PROVEN | SCHEME | STREAM, _linear_machine) for name in LINEAR]
    kernel = [_machine(name, KERNEL_SHAPES, KERNEL_OTHERS, _kernel_machine) for name in (*KERNEL, *FURTHER)]
    return [*_values(), *kernel, *linear, *map(_search, searches), *_maps()]


def _machine(name: str, shapes: dict[str, str], others: frozenset[str], review: Callable[[Any], None]) -> Entry:
    """A machine with the attributes of its family and its own."""
    known = {attribute: text for attribute, text in {**shapes, **CLASSES, **SHAPES.get(name, {})}.items() if text}
    others |= OTHERS.get(name, set())
    dropped = frozenset({"fit_rows_"})  # of a kernel that is a function, which is what such a model is refused for
    return Entry(f"maxmargin.{name}", getattr(estimators, name), known, others, dropped, review=review)


def _search(name: str) -> Entry:
    cls, scorer = getattr(selection, name), frozenset({"scorer_"})
    return Entry(f"maxmargin.{name}", cls, others=SEARCH, dropped=scorer, review=_found, revive=_scorer)


def _maps() -> list[Entry]:
    landmarks = {"factor_": "f[sv,.]", "component_indices_": "i[sv]", "components_": "f[sv,features]"}
    waves = {"frequencies_": "f[features,waves]", "phase_": "f[waves]"}
    products = frozenset({"gamma_", "n_output_features_", "_expansion"})
    return [
        Entry("maxmargin.PolynomialMap", maps.PolynomialMap, others=products, review=_polynomial_map),
        Entry("maxmargin.NystroemMap", maps.NystroemMap, landmarks, frozenset({"kernel_"})),
        Entry("maxmargin.RandomFourierMap", maps.RandomFourierMap, waves, frozenset({"gamma_"})),
    ]


# -- what shapes cannot say ---------------------------------------------------------------------------------------


def _kernel_machine(model: Any) -> None:
    """Support vectors, coefficients and classes of a fitted kernel machine belong together."""
    _proof(model)
    if not hasattr(model, "support_"):
        return
    _require(isinstance(model.kernel_, Kernel), "kernel_ is no kernel")
    n = model.shape_fit_[0] if isinstance(model.shape_fit_, tuple) and len(model.shape_fit_) == 2 else -1
    _require(type(n) is int and n >= 0, f"shape_fit_ is {model.shape_fit_!r}")
    _basis(model, Basis(model.support_, model.support_vectors_), n)
    _coefficients(model)
    if hasattr(model, "scaling_"):
        known = isinstance(model.scaling_, Scaling) and len(model.scaling_.scale) == model.n_features_in_
        _require(known and bool((model.scaling_.scale > 0).all()), "scaling_ is none of the model's features")
    known = [name in vars(model) for name in ("landmarks_", "landmark_vectors_", "landmark_coef_")]
    _require(all(known) or not any(known), "a machine on landmarks needs their numbers, rows and coefficients")
    if any(known):
        _basis(model, Basis(model.landmarks_, model.landmark_vectors_), n)
    if has_scheme(model):
        tasks = _tasks(model, len(model.intercept_))
        lines = len(model.classes_) - 1 if model.multiclass_ == "ovo" and not hasattr(model, "n_vectors_") else tasks
        _require(model.dual_coef_.shape[0] == lines, f"dual_coef_ has shape {model.dual_coef_.shape}")
        if hasattr(model, "n_support_"):
            check_array("n_support_", model.n_support_, "i[classes]", {"classes": len(model.classes_)})
            total = int(model.n_support_.sum())
            _require(bool((model.n_support_ >= 0).all()) and total == len(model.support_), f"n_support_ is {total}")
        _kernel_folds(model, lines, tasks, n)
        if getattr(model, "_stream", None) is not None:
            table, state = model._stream
            check_array("_stream", table, "f[tasks,sv,two]", {"tasks": tasks, "sv": len(model.support_), "two": 2})
            check_array("_stream", state, "f[tasks,five]", {"tasks": tasks, "five": 5})


def _proof(model: Any) -> None:
    """What is said to be a certificate is one: others ask it for its gap."""
    one, many = vars(model).get("certificate_"), vars(model).get("certificates_", [])
    _require(one is None or isinstance(one, Certificate), "certificate_ is no certificate")
    _require(isinstance(many, list | tuple) and all(isinstance(each, Certificate) for each in many),
             "certificates_ holds something else than certificates")  # fmt: skip


def _coefficients(model: Any) -> None:
    """KernelLeastSquares may have one target or many, which is why its coefficients have no shape in the table."""
    if "dual_coef_" in vars(model) and model.dual_coef_.ndim == 1:
        check_array("dual_coef_", model.dual_coef_, "f[sv]", {"sv": len(model.support_)})
    elif isinstance(model, estimators.KernelLeastSquares):
        check_array("dual_coef_", model.dual_coef_, "f[sv,.]", {"sv": len(model.support_)})


def _basis(model: Any, basis: Any, n: int) -> None:
    """Numbers of training rows, and the rows themselves unless there are none: a precomputed matrix has columns."""
    _require(isinstance(basis, Basis), "there are no support vectors")
    rows, vectors = basis.rows, basis.vectors
    if len(rows):
        _require(int(rows.min()) >= -1 and int(rows.max()) < n, f"support vectors point outside of {n} rows")
    if model._precomputed:
        _require(not len(rows) or int(rows.min()) >= 0, "a support vector is no column of the matrix")
        return
    check_array("support_vectors_", vectors, "f[sv,features]", {"sv": len(rows), "features": model.n_features_in_})


def _kernel_folds(model: Any, lines: int, tasks: int, n: int) -> None:
    if not hasattr(model, "folds_"):
        return
    coef, count = model.folds_.coef, len(model.folds_.intercept)
    check_shapes(model.folds_, {"intercept": "f[folds,tasks]"}, {"folds": count, "tasks": tasks})
    if isinstance(coef, FoldTables):
        _require(coef.tables.shape[:2] == (count, lines), "the tables of the folds have another shape")
        _basis(model, coef.support, n)
        _require(_in_order(coef.label, len(model.classes_)), "the rows of the folds are not sorted by class")
        return
    if hasattr(model, "landmark_coef_"):
        sizes = {"folds": count, "tasks": tasks, "landmarks": len(model.landmarks_)}
        check_array("the coefficients of the folds", coef, "f[folds,tasks,landmarks]", sizes)
        return
    _require(isinstance(coef, list) and len(coef) == count, "there is not a model for every fold")
    for support, table in coef:
        _basis(model, support, n)
        check_array("a fold", table, "f[sv,tasks]", {"sv": len(support.rows), "tasks": tasks})


def _in_order(label: Any, classes: int) -> bool:
    return not len(label) or (label[0] >= 0 and label[-1] < classes and bool((np.diff(label) >= 0).all()))


def _linear_machine(model: Any) -> None:
    """Weights, classes and folds of a fitted linear machine belong together."""
    _proof(model)
    if not hasattr(model, "coef_"):
        return
    _require(hasattr(model, "n_features_in_"), "n_features_in_ is missing")
    if has_scheme(model):
        tasks = _tasks(model, len(model.intercept_))
        if hasattr(model, "folds_"):
            sizes = {"folds": len(model.folds_.intercept), "tasks": tasks, "features": model.n_features_in_}
            check_shapes(model.folds_, {"intercept": "f[folds,tasks]", "coef": "f[folds,tasks,features]"}, sizes)
        if getattr(model, "_stream", None) is not None:
            _require(isinstance(model._stream, list) and len(model._stream) == tasks, "_stream has too few vectors")
            for vectors in model._stream:
                sizes = {"d": model.n_features_in_, "two": 2, "seven": 7}
                _require(isinstance(vectors, Vectors), "_stream has no vectors")
                check_shapes(vectors, {"v": "f[d]", "u": "f[d]", "dual": "f[.,two]", "state": "f[seven]"}, sizes)
        if getattr(model, "_reached", None) is not None:
            _require(isinstance(model._reached, Progress), "_reached is of another kind")
            check_array("_reached", model._reached.steps, "f[tasks]", {"tasks": tasks})
        if hasattr(model, "_schedules"):
            sound = isinstance(model._schedules, list) and len(model._schedules) == tasks
            _require(
                sound and all(isinstance(s, Schedule | None) for s in model._schedules), "there are too few schedules"
            )


def _tasks(model: Any, found: int) -> int:
    """The number of tasks that the classes make, which must be the number of intercepts."""
    k, scheme = len(model.classes_), model.multiclass_
    _require(k >= 2 and scheme in (*BINARY, *SINGLE), f"multiclass_ is {scheme!r}, with {k} classes")
    if scheme == "code" and k > 2:
        _require(bool(np.isin(model.code_words_, (-1.0, 1.0)).all()), "code_words_ has other values than -1 and +1")
        tasks = model.code_words_.shape[1]
    else:
        tasks = 1 if k == 2 else k * (k - 1) // 2 if scheme == "ovo" else k
    _require(found == tasks, f"there are {found} intercepts for {tasks} tasks")
    calibrators = getattr(model, "calibrators_", None)
    if calibrators is not None:
        _require(isinstance(calibrators, list) and len(calibrators) > 0, "there are no calibrators")
        by_class = scheme == "ovo" and k > 2 and not isinstance(calibrators[0], Sigmoid)
        _require(len(calibrators) == (k if by_class else tasks), "there is not a calibrator for every task")
    return tasks


def _polynomial_map(model: Any) -> None:
    if hasattr(model, "n_features_in_"):
        _require(model._expansion.d == model.n_features_in_, "the expansion has another number of features")
        _require(model._expansion.degree == model.degree, "the expansion has another degree")


def _found(model: Any) -> None:
    if hasattr(model, "best_estimator_"):
        _require(isinstance(model.best_estimator_, BaseEstimator), "best_estimator_ is no estimator")


def _scorer(model: Any) -> None:
    """The scorer follows from ``scoring``, which is a name or None in a file."""
    if hasattr(model, "best_index_"):
        _require(model.scoring is None or isinstance(model.scoring, str), f"scoring is {model.scoring!r}")
        model.scorer_ = check_scoring(model._new_machine(), model.scoring)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)


# -- what estimators are made of ------------------------------------------------------------------------------------


#: Kernels whose meaning is data; those that hold a function (Function, Objects, Warp, Of) are not stored.
COMPOSITIONS = (Sum, Product, Power, Exp, PolynomialOf)
#: A power is computed by so many products: more of them are no kernel but a way to keep a computer busy.
MAX_POWER = 10_000
_REAL = (float, int, np.floating, np.integer)
#: By the annotation of a field: the types it may have.
FIELDS: dict[str, tuple[type, ...]] = {
    "float": _REAL,
    "float | None": (*_REAL, type(None)),
    "int": (int, np.integer),
    "bool": (bool, np.bool_),
    "str": (str,),
    "Kernel": (Kernel,),
    "Kernel | None": (Kernel, type(None)),
    "tuple[float, ...]": (tuple,),
    "FloatArray": (np.ndarray,),
    "Array": (np.ndarray,),
    "tuple[tuple[FloatArray, FloatArray], ...]": (tuple,),
}


def _values() -> list[Entry]:
    """Kernels, losses, penalties, certificates, calibrators, folds."""
    return [
        Entry("maxmargin.kernels.QuadraticForm", QuadraticForm, review=_fields, others=frozenset({"_root"})),
        *[Entry(f"maxmargin.kernels.{kind.__name__}", kind, review=_fields)
          for kind in (*_concrete(kernels, Kernel), *COMPOSITIONS) if kind not in (Function, Objects, QuadraticForm)],
        *[Entry(f"maxmargin.losses.{kind.__name__}", kind, review=_fields) for kind in _concrete(losses, Loss)],
        *[Entry(f"maxmargin.penalties.{kind.__name__}", kind, review=_fields)
          for kind in _concrete(penalties, Penalty)],
        Entry("maxmargin.Certificate", Certificate, review=_fields),
        Entry("maxmargin.calibration.Sigmoid", Sigmoid, review=_fields),
        Entry("maxmargin.calibration.Isotonic", Isotonic, {"scores": "f[n]", "values": "f[n]"}),
        Entry("maxmargin.calibration.VennAbers", VennAbers, dict.fromkeys(("scores", "lower", "upper"), "f[n]")),
        Entry("maxmargin.calibration.Conformal", Conformal, review=_conformal),
        Entry("maxmargin.Fired", Fired, review=_fields),
        Entry("maxmargin.Folds", FoldModels, {"number": "i[.]", "intercept": "f[.,.]"}),
        Entry("maxmargin.FoldTables", FoldTables, {"label": "i[n]", "tables": "f[.,.,n]"}, review=_fold_tables),
        Entry("maxmargin.Support", Basis, {"rows": "i[.]"}),
        Entry("maxmargin.Scaling", Scaling, {"center": "f[features]", "scale": "f[features]"}),
        Entry("maxmargin.Schedule", Schedule, review=_fields),
        Entry("maxmargin.Reached", Progress, {"steps": "f[tasks]"}, review=_fields),
        Entry("maxmargin.Vectors", Vectors, {"v": "f[d]", "u": "f[d]", "dual": "f[.,.]", "state": "f[.]"}),
        Entry("maxmargin.maps.Collapsed", Collapsed, review=_fields),
        Entry("maxmargin.maps.Ordered", Ordered, review=_fields),
    ]  # fmt: skip


def _concrete(module: Any, base: type) -> list[type]:
    """The public classes of a module that are of this kind and not abstract."""
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, base)]
    return [
        k
        for k in kinds
        if k is not base and not k.__name__.startswith("_") and not getattr(k, "__abstractmethods__", None)
    ]


def _fields(value: Any) -> None:
    """The fields of a value have the types that its class writes beside them."""
    annotations = {
        n: t for cls in reversed(type(value).__mro__) for n, t in vars(cls).get("__annotations__", {}).items()
    }
    for name in field_names(value):
        item, kind = getattr(value, name), annotations[name]
        kind = str(getattr(kind, "__forward_arg__", kind))  # as named tuples keep them
        if not isinstance(item, FIELDS[kind]) or (isinstance(item, bool) and "bool" not in kind):
            raise ValueError(f"{name} is a {type(item).__name__}, not a {kind}")
    for name in ("exponent", "degree"):
        if getattr(value, name, 0) > MAX_POWER:
            raise ValueError(f"{name}={getattr(value, name)} is more than {MAX_POWER}")
    if isinstance(value, PolynomialOf) and not all(isinstance(c, _REAL) for c in value.coefficients):
        raise ValueError("the coefficients must be numbers")
    if isinstance(value, QuadraticForm) and value._root.shape != value.A.shape:  # type: ignore[attr-defined]
        raise ValueError("the root of a quadratic form has another shape than its matrix")


def _conformal(value: Conformal) -> None:
    _fields(value)
    for pair in value.folds:
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(part, np.ndarray) for part in pair)):
            raise ValueError("a fold must be two arrays")
        if pair[0].shape != pair[1].shape or pair[0].ndim != 1 or any(part.dtype.kind != "f" for part in pair):
            raise ValueError("the arrays of a fold must have one length")


def _fold_tables(value: FoldTables) -> None:
    if not isinstance(value.support, Basis) or len(value.support.rows) != len(value.label):
        raise ValueError("a table of folds needs a row for every label")
