"""The grid of a search: values given or picked from the data, checked one by one, laid out in lines of cells."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.model_selection import ParameterGrid

from maxmargin._rows import count
from maxmargin._types import Array, FloatArray
from maxmargin._validation import resolve_gamma
from maxmargin.estimators.interface import Machine, Training
from maxmargin.kernels import Kernel, Linear
from maxmargin.selection._cells import Cell

#: Characters of a value in a message.
LONG = 200
#: Values that are told apart by what they are; others by being the same object.
PLAIN = (str, bool, int, float, type(None))
#: Values that a search tries by default: strengths and widths relative to the scale of the data.
DEFAULT_CS, DEFAULT_WIDTHS = np.logspace(-2, 3, 8), np.logspace(-2, 1, 7)
DEFAULT_RIDGES = np.logspace(-4, 2, 7)
DEFAULT_LINEAR_CS, DEFAULT_LAMS, DEFAULT_NUS = np.logspace(-4, 2, 10), np.logspace(-6, -1, 11), np.linspace(0.1, 0.8, 8)


def default_values(machine: Machine, name: str, X: Any, y: Array, weight: FloatArray) -> list[Any]:
    """Values of a parameter that suit the data.

    C is measured in 1 / mean k(x, x), which is 1 for the Gaussian kernel and undoes the size of the features for the
    linear one, and for regressors whose loss grows like |y| in the spread of y; the ridge of a kernel machine in
    mean k(x, x); gamma in 1 / (features * variance), scikit-learn's 'scale'.
    """
    if name == "lam" and hasattr(machine, "kernel"):
        values, unit = DEFAULT_RIDGES, _mean_square(machine, X, weight)
    elif name == "lam":
        values, unit = DEFAULT_LAMS, 1.0
    elif name == "nu":
        values, unit = DEFAULT_NUS[1::2] if hasattr(machine, "C") else DEFAULT_NUS, 1.0  # beside C, half as many
    elif name == "gamma":
        if not _has_open_width(machine.kernel):
            return [machine.gamma]
        values, unit = DEFAULT_WIDTHS, resolve_gamma("scale", X, weight)
    else:
        values = DEFAULT_CS if hasattr(machine, "kernel") else DEFAULT_LINEAR_CS
        unit = _spread(machine, y, weight) / _mean_square(machine, X, weight)
    return [float(value) for value in unit * values]


def _has_open_width(kernel: Any) -> bool:
    """Whether gamma is the width of a Gaussian and the like, so that its scale can be told from the data."""
    if isinstance(kernel, Kernel):
        return kernel.resolved(1.0) != kernel
    return kernel in ("rbf", "laplacian", "chi2")


def _spread(machine: Machine, y: Array, weight: FloatArray) -> float:
    """In what C grows: the standard deviation of the targets, where the loss is not a square."""
    squared = "squared" in str(getattr(machine, "loss", ""))
    spread = _deviation(y, weight) if is_regressor(machine) and not squared else 1.0
    return spread if spread > 0 and np.isfinite(spread) else 1.0


def _deviation(y: Array, weight: FloatArray) -> float:
    """Standard deviation of the targets, a row of weight 2 being the row twice."""
    mean = np.average(y, axis=0, weights=weight)
    return float(np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight).mean()))


def _mean_square(machine: Machine, X: Any, weight: FloatArray) -> float:
    """The mean of k(x, x)."""
    n = count(X)
    rows = np.arange(n)
    kernel = machine._resolve_kernel(Training(X, None, weight, rows, n)) if hasattr(machine, "kernel") else Linear()
    mean = float(np.average(kernel.diag(X), weights=weight))
    return mean if mean > 0 and np.isfinite(mean) else 1.0


def make_cells(
    machine: Machine, strength: str, grids: list[dict[str, list[Any]]], folds: int, raises: bool
) -> list[Cell]:
    """All cells in scikit-learn's order; those with nonsense in them are an error, or closed from the start."""
    wrong: dict[str, str] = {}
    sound: set[str] = set()
    lines: dict[str, int] = {}
    known, cells = sorted(machine.get_params()), []
    for params in (params for grid in grids for params in ParameterGrid(grid)):
        rest = _key({name: value for name, value in params.items() if name != strength})
        cell = Cell.fresh(dict(params), lines.setdefault(rest, len(lines)), np.nan, folds)
        why = _fault(machine, known, params, wrong, sound)
        if why is None:
            cell.strength = float(params[strength])
        else:
            cell.status = f"invalid: {why}"
        cells.append(cell)
    if wrong and raises:
        raise ValueError(
            f"the grid has values that {type(machine).__name__} cannot take: {'; '.join(wrong.values())}. Remove them, "
            "or set error_score=numpy.nan to go on without their cells."
        )
    return cells


def _key(params: dict[str, Any]) -> str:
    """Tells combinations apart: numbers and names by value, kernels and the like by being the same object."""
    return repr(sorted((name, repr(v) if isinstance(v, PLAIN) else f"at {id(v)}") for name, v in params.items()))


def _fault(
    machine: Machine, known: list[str], params: dict[str, Any], wrong: dict[str, str], sound: set[str]
) -> str | None:
    """What is wrong with a cell; values that are wrong by themselves are added to ``wrong``, each once.

    Those that are right are added to ``sound``: every value is asked about once, not in every cell.
    """
    for name in params:
        if name not in known and not (name.startswith("kernel__") and "kernel" in known):
            raise ValueError(f"{type(machine).__name__} has no parameter {name!r}; it has {', '.join(known)}")
    first = None
    kernel = {"kernel": params["kernel"]} if "kernel" in params else {}
    for name, value in params.items():
        with_kernel = {**kernel, name: value} if name.startswith("kernel__") else {name: value}
        key = _key(with_kernel)
        if key in sound:
            continue
        place = f"{name}={value!r}" + (f" in {kernel['kernel']!r}" if len(with_kernel) > 1 else "")
        place = place if len(place) <= LONG else f"{place[:LONG]}..."
        if place not in wrong:
            try:
                clone(machine).set_params(**applied(machine, with_kernel))._validate_params()
                sound.add(key)
                continue
            except (ValueError, TypeError) as error:
                why = str(error).split(chr(10))[0].rstrip(".")
                wrong[place] = f"{place}: {why}"
        first = first or wrong[place]
    return first


def finer_cells(cells: list[Cell], best: int, names: list[str], strength: str) -> list[Cell]:
    """Cells around the best: half a step to either side, in powers; a whole one beyond the edge of the grid."""
    centre = cells[best].params
    around = {name: _neighbours(name, centre[name], cells) for name in names}
    known = {_key(cell.params) for cell in cells}
    number, more = max(cell.line for cell in cells) + 1, []
    lines: dict[str, int] = {}
    for change in ParameterGrid({name: [centre[name], *values] for name, values in around.items()}):
        params = {**centre, **change}
        if _key(params) not in known:
            rest = _key({name: value for name, value in params.items() if name != strength})
            line = lines.setdefault(rest, number + len(lines))
            more.append(Cell.fresh(params, line, float(params[strength]), len(cells[best].scores)))
    return more


def _neighbours(name: str, value: Any, cells: list[Cell]) -> list[float]:
    """Values next to one of a parameter; none for names such as 'scale'."""
    if not isinstance(value, float):
        return []
    values = np.array(sorted({cell.params[name] for cell in cells if isinstance(cell.params[name], float)}))
    at = int(np.searchsorted(values, value))
    if len(values) < 2:
        return []
    if name == "nu":  # a share, in steps of equal size
        return [float((values[k] + value) / 2) for k in (at - 1, at + 1) if 0 <= k < len(values)]
    left = np.sqrt(values[at - 1] * value) if at > 0 else value**2 / values[1]
    right = np.sqrt(values[at + 1] * value) if at + 1 < len(values) else value**2 / values[-2]
    return [float(left), float(right)]


def applied(machine: Machine, params: dict[str, Any]) -> dict[str, Any]:
    """The machine's own parameters: names such as ``kernel__left__gamma`` become a kernel with that value in it."""
    own = {name: value for name, value in params.items() if not name.startswith("kernel__")}
    inside = {name: value for name, value in params.items() if name.startswith("kernel__")}
    if inside:
        kernel = own.get("kernel", machine.kernel)
        for name, value in inside.items():
            kernel = _with_value(kernel, name.split("__")[1:], value, name)
        own["kernel"] = kernel
    return own


def _with_value(kernel: Any, path: list[str], value: Any, name: str) -> Any:
    """A kernel expression with one of its values replaced."""
    if not (isinstance(kernel, Kernel) and is_dataclass(kernel)) or path[0] not in {f.name for f in fields(kernel)}:
        has = ", ".join(f.name for f in fields(kernel)) if is_dataclass(kernel) else "no parameters"
        raise ValueError(f"there is no {name!r}: {kernel!r} has {has}")
    inner = value if len(path) == 1 else _with_value(getattr(kernel, path[0]), path[1:], value, name)
    return replace(kernel, **{path[0]: inner})
