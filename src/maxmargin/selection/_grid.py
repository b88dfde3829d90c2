"""The grid of a search: values given or picked from the data, checked one by one, laid out in lines of cells."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from maxmargin._types import FloatArray
from maxmargin.kernels import Kernel
from maxmargin.selection._cells import Cell

#: Values that a search tries by default: strengths and widths relative to the scale of the data.
DEFAULT_CS, DEFAULT_WIDTHS = np.logspace(-2, 3, 8), np.logspace(-2, 1, 7)
DEFAULT_LINEAR_CS, DEFAULT_LAMS, DEFAULT_NUS = np.logspace(-4, 2, 10), np.logspace(-6, -1, 11), np.linspace(0.1, 0.8, 8)


def default_values(machine: Any, name: str, X: Any, weight: FloatArray) -> list[Any]:
    """Values of a parameter that suit the data.

    C is measured in 1 / mean k(x, x), which is 1 for the Gaussian kernel and undoes the size of the features for the
    linear one; gamma in 1 / (features * variance), scikit-learn's 'scale'.
    """
    if name == "lam":
        return [float(v) for v in DEFAULT_LAMS]
    if name == "nu":
        return [float(v) for v in DEFAULT_NUS]
    kernel = getattr(machine, "kernel", "linear")
    if name == "gamma":
        if not _has_open_width(kernel):
            return [machine.gamma]
        from maxmargin._validation import resolve_gamma

        return [float(v) for v in resolve_gamma("scale", X, weight) * DEFAULT_WIDTHS]
    if kernel == "linear" and not isinstance(X, list):
        values = DEFAULT_CS if hasattr(machine, "kernel") else DEFAULT_LINEAR_CS
        return [float(v) for v in values / _mean_square(X, weight)]
    return [float(v) for v in DEFAULT_CS]


def _has_open_width(kernel: Any) -> bool:
    """Whether gamma is the width of a Gaussian and the like, so that its scale can be told from the data."""
    if isinstance(kernel, Kernel):
        return kernel.resolved(1.0) != kernel
    return bool(kernel == "rbf")


def _mean_square(X: Any, weight: FloatArray) -> float:
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
    mean = float(np.average(np.asarray(squares).ravel(), weights=weight))
    return mean if mean > 0 and np.isfinite(mean) else 1.0


def make_cells(machine: Any, strength: str, grid: dict[str, list[Any]], folds: int, raises: bool) -> list[Cell]:
    """All cells in scikit-learn's order; those with nonsense in them are an error, or closed from the start."""
    wrong = {name: faults for name in grid if (faults := _faults(machine, name, grid[name]))}
    if wrong and raises:
        listed = "; ".join(f"{name}={value!r}: {why}" for name, f in wrong.items() for value, why in f)
        raise ValueError(
            f"the grid has values that {type(machine).__name__} cannot take: {listed}. Remove them, or set "
            "error_score=numpy.nan to go on without their cells."
        )
    lines: dict[str, int] = {}
    cells = []
    for params in ParameterGrid(grid):
        rest = repr(sorted((name, repr(value)) for name, value in params.items() if name != strength))
        why = next((w for n, f in wrong.items() for v, w in f if params[n] is v), None)
        cell = Cell.fresh(dict(params), lines.setdefault(rest, len(lines)), np.nan, folds)
        if why is None:
            cell.strength = float(params[strength])
        else:
            cell.status = f"invalid: {why}"
        cells.append(cell)
    return cells


def finer_cells(cells: list[Cell], best: int, names: list[str], strength: str) -> list[Cell]:
    """Cells around the best: half a step to either side, in powers; a whole one beyond the edge of the grid."""
    centre = cells[best].params
    around = {name: _neighbours(name, centre[name], cells) for name in names}
    known = {repr(sorted(cell.params.items(), key=str)) for cell in cells}
    number, more = max(cell.line for cell in cells) + 1, []
    lines: dict[str, int] = {}
    for change in ParameterGrid({name: [centre[name], *values] for name, values in around.items()}):
        params = {**centre, **change}
        if repr(sorted(params.items(), key=str)) not in known:
            rest = repr(sorted((k, repr(v)) for k, v in params.items() if k != strength))
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


def _faults(machine: Any, name: str, values: list[Any]) -> list[tuple[Any, str]]:
    """(value, what is wrong with it) of the values that the machine cannot take."""
    known = machine.get_params()
    if name.split("__")[0] not in known:
        raise ValueError(f"{type(machine).__name__} has no parameter {name!r}; it has {', '.join(sorted(known))}")
    found = []
    for value in values:
        try:
            clone(machine).set_params(**applied(machine, {name: value}))._validate_params()
        except (ValueError, TypeError) as error:
            found.append((value, str(error).split("\n")[0]))
    return found


def applied(machine: Any, params: dict[str, Any]) -> dict[str, Any]:
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
