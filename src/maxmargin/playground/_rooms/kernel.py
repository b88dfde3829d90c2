"""The kernel room: a kernel's Gram matrix, its spectrum and Mercer's condition, and a map written out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from maxmargin.kernels import Polynomial, check_mercer
from maxmargin.maps import PolynomialMap
from maxmargin.playground._checks import FINEST_GRID, BadRequest, choice, number, points, view, whole
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Handler, Job
from maxmargin.playground._rooms._expressions import Call, array_code, composition_of
from maxmargin.playground._rooms._machines import fit, grid

#: Rows of a Gram matrix: its eigenvalues take time that grows with the third power.
MOST_ROWS = 400
#: Share of the trace that the leading eigenvalues of the page's remark hold.
MOST_OF_IT = 0.99


def gram(body: Mapping[str, Any], job: Job) -> Answer:
    """The Gram matrix with the points sorted by class, its eigenvalues, and whether it is one of a kernel."""
    X, y = points(body)
    if len(X) < 2:
        raise BadRequest("a Gram matrix needs two points at least; click to add some")
    order = np.argsort(y, kind="stable")
    if len(order) > MOST_ROWS:
        order = order[np.linspace(0, len(order) - 1, MOST_ROWS).astype(np.int64)]
    rows, composed = X[order], composition_of(body)
    kernel = composed.make()
    with np.errstate(over="ignore"):  # the check says it in words
        K = kernel(rows)
    check = check_mercer(K)
    spectrum = scipy.linalg.eigvalsh((K + K.T) / 2)[::-1]
    held = np.cumsum(np.maximum(spectrum, 0.0))
    values: dict[str, Any] = {
        "psd": check.psd,
        "promised": bool(kernel.is_psd),
        "smallest": check.smallest_eigenvalue,
        "tolerance": check.tolerance,
        "rows": len(order),
        "of": len(X),
        "classes": y[order],
        "leading": int(np.searchsorted(held, MOST_OF_IT * held[-1]) + 1) if held[-1] > 0 else 0,
        "share": MOST_OF_IT,
    }
    arrays = {"gram": K.astype(np.float32), "order": order.astype(np.int32), "spectrum": spectrum}
    if check.witness is not None:
        arrays["witness"] = check.witness
        values["form"] = float(check.witness @ K @ check.witness)
    if choice(body, "detail", ("coarse", "fine"), "fine") == "fine":
        values["code"] = _gram_code(composed, rows)
    return Answer(values, arrays)


def likeness(body: Mapping[str, Any], job: Job) -> Answer:
    """k(x, z) for a chosen z and every x of the plane."""
    columns, rows = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 75)
    left, right, bottom, top = view(body)
    z = np.array([[number(body, "zx", left, right), number(body, "zy", bottom, top)]])
    with np.errstate(over="ignore"):
        kernel = composition_of(body).make()
        found = job.drawn(lambda cells: kernel(cells, z), grid((left, right, bottom, top), columns, rows))
    if not np.isfinite(found).all():
        raise ValueError("the kernel is too large for the plane: it overflows; choose a smaller width or degree")
    return Answer({}, {"scores": found.astype(np.float32).reshape(rows, columns)})


def features(body: Mapping[str, Any], job: Job) -> Answer:
    """The degree-2 map of the points, the plane that separates them there, and the curve that this is in the plane."""
    X, y = points(body)
    if len(X) < 1:
        raise BadRequest("a map needs points; click to add some")
    constant, cost = number(body, "coef0", 0.0, 10.0, 0.0), number(body, "C", 1e-3, 1e6, 100.0)
    squares = PolynomialMap(degree=2, coef0=constant)
    Phi = squares.fit_transform(X)
    values: dict[str, Any] = {
        "names": squares.get_feature_names_out(["x", "y"]).tolist(),
        "difference": float(np.abs(Phi @ Phi.T - Polynomial(2, constant)(X)).max()),
    }
    arrays = {"features": Phi.astype(np.float32)}
    machine = len(np.unique(y)) == 2 and choice(body, "cut", ("yes", "no"), "yes") == "yes"
    if machine:
        model = fit(Call("SVC", {"C": cost, "kernel": "linear"}), Phi, y, job).model
        columns, rows = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 75)
        cells = grid(view(body), columns, rows)
        scores = job.drawn(lambda part: model.decision_function(squares.transform(part)), cells)
        arrays |= {"scores": scores.astype(np.float32).reshape(rows, columns), "normal": model.coef_[0]}
        values |= {"offset": float(model.intercept_[0]), "classes": model.classes_, "accuracy": model.score(Phi, y)}
    if choice(body, "detail", ("coarse", "fine"), "fine") == "fine":
        values["code"] = _map_code(X, y, constant, cost if machine else None)
    return Answer(values, arrays)


#: Kinds of requests.
KINDS: dict[str, Handler] = {"gram": gram, "likeness": likeness, "features": features}


def _gram_code(composed: Any, rows: np.ndarray) -> str:
    lines = [
        "import numpy as np",
        f"from maxmargin.kernels import {', '.join([*sorted(composed.names()), 'check_mercer'])}",
    ]
    lines += ["", f"X = np.array({array_code(rows)})  # sorted by class", *composed.code(), "K = kernel(X)"]
    lines += ["check = check_mercer(K)", "print('positive semi-definite:', check.psd)"]
    lines += ["print('eigenvalues', np.linalg.eigvalsh(K)[::-1])", "if check.witness is not None:"]
    return "\n".join([*lines, "    print('witness: v @ K @ v =', check.witness @ K @ check.witness)", ""])


def _map_code(X: np.ndarray, y: np.ndarray, constant: float, cost: float | None) -> str:
    lines = ["import numpy as np", "from maxmargin import SVC"] if cost else ["import numpy as np"]
    lines += ["from maxmargin.kernels import Polynomial", "from maxmargin.maps import PolynomialMap", ""]
    lines.append(f"X = np.array({array_code(X)})")
    lines += [f"squares = PolynomialMap(degree=2, coef0={constant!r})", "Phi = squares.fit_transform(X)"]
    lines.append(f"print('largest difference', np.abs(Phi @ Phi.T - Polynomial(2, {constant!r})(X)).max())")
    if cost is not None:
        lines.append(f"y = np.array({array_code(y)})")
        lines.append(f"model = SVC(C={cost!r}, kernel='linear').fit(Phi, y)")
        lines.append("print('accuracy', model.score(Phi, y))")
    return "\n".join([*lines, ""])
