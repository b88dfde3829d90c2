"""Values that models are made of: kernels, losses, penalties, certificates, calibrators, folds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from maxmargin import kernels, losses, penalties
from maxmargin.calibration import Conformal, Isotonic, Sigmoid, VennAbers
from maxmargin.certificates import Certificate, Scaling
from maxmargin.delivered import Folds, FoldTables, Support
from maxmargin.io._entry import Entry
from maxmargin.kernels import Function, Kernel, QuadraticForm
from maxmargin.kernels.compositions import Exp, PolynomialOf, Power, Product, Sum
from maxmargin.losses import Loss
from maxmargin.maps.monomials import Collapsed, Ordered
from maxmargin.multiclass import Fired
from maxmargin.penalties import Penalty
from maxmargin.solvers.seasons import Schedule
from maxmargin.solvers.stochastic import Progress, Vectors

#: Kernels whose meaning is data; those that hold a function (Function, Warp, Of) are not stored.
COMPOSITIONS = (Sum, Product, Power, Exp, PolynomialOf)
#: A power is computed by so many products: more of them are no kernel but a way to keep a machine busy.
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


def entries() -> list[Entry]:
    """All of them."""
    public = [kind for kind in vars(kernels).values() if _is_concrete(kind, Kernel) and kind is not Function]
    return [
        *[Entry(f"maxmargin.kernels.{kind.__name__}", kind, judge=_fields, others=_extra(kind))
          for kind in (*public, *COMPOSITIONS)],
        *[Entry(f"maxmargin.losses.{kind.__name__}", kind, judge=_fields)
          for kind in vars(losses).values() if _is_concrete(kind, Loss)],
        *[Entry(f"maxmargin.penalties.{kind.__name__}", kind, judge=_fields)
          for kind in vars(penalties).values() if _is_concrete(kind, Penalty)],
        Entry("maxmargin.Certificate", Certificate, judge=_fields),
        Entry("maxmargin.calibration.Sigmoid", Sigmoid, judge=_fields),
        Entry("maxmargin.calibration.Isotonic", Isotonic, {"scores": "f[n]", "values": "f[n]"}),
        Entry("maxmargin.calibration.VennAbers", VennAbers, dict.fromkeys(("scores", "lower", "upper"), "f[n]")),
        Entry("maxmargin.calibration.Conformal", Conformal, judge=_conformal),
        Entry("maxmargin.Fired", Fired, judge=_fields),
        Entry("maxmargin.Folds", Folds, {"number": "i[.]", "intercept": "f[.,.]"}),
        Entry("maxmargin.FoldTables", FoldTables, {"label": "i[n]", "tables": "f[.,.,n]"}, judge=_fold_tables),
        Entry("maxmargin.Support", Support, {"rows": "i[.]"}),
        Entry("maxmargin.Scaling", Scaling, {"center": "f[features]", "scale": "f[features]"}),
        Entry("maxmargin.Schedule", Schedule, judge=_fields),
        Entry("maxmargin.Reached", Progress, {"steps": "f[tasks]"}, judge=_fields),
        Entry("maxmargin.Vectors", Vectors, {"v": "f[d]", "u": "f[d]", "dual": "f[.,.]", "state": "f[.]"}),
        Entry("maxmargin.maps.Collapsed", Collapsed, judge=_fields),
        Entry("maxmargin.maps.Ordered", Ordered, judge=_fields),
    ]  # fmt: skip


def _is_concrete(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base) and not getattr(kind, "__abstractmethods__", None) and (
        not kind.__name__.startswith("_") and kind is not base
    )  # fmt: skip


def _extra(kind: type) -> frozenset[str]:
    return frozenset({"_root"}) if kind is QuadraticForm else frozenset()


def _fields(value: Any) -> None:
    """The fields of a value have the types that its class writes beside them."""
    annotations = {
        n: t for cls in reversed(type(value).__mro__) for n, t in vars(cls).get("__annotations__", {}).items()
    }
    names = value._fields if hasattr(value, "_fields") else [item.name for item in dataclasses.fields(value)]
    for name in names:
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
    if not isinstance(value.support, Support) or len(value.support.rows) != len(value.label):
        raise ValueError("a table of folds needs a row for every label")
