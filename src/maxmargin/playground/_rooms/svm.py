"""The SVM room: fits the points on the screen and says everything about the solution."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from maxmargin import NotSeparableError
from maxmargin.inspection import ZONES, margins
from maxmargin.playground._checks import FINEST_GRID, choice, view, whole
from maxmargin.playground._frames import Answer
from maxmargin.playground._jobs import Handler, Job
from maxmargin.playground._rooms._expressions import Call, script
from maxmargin.playground._rooms._machines import SCHEMES, Fitted, Request, fit, grid, proof, read_request
from maxmargin.playground._rooms._points import NAMES, part_names, point_facts, task_names, tube_of, without_noise
from maxmargin.playground._rooms._tables import read_table

#: Numbers of steps after which an animation shows where its solver is.
MOMENTS = {
    "decomposition": (1, 1.22, 2_000_000),
    "dual-gradient": (1, 1.25, 1000),
    "pegasos": (1, 1.3, 20_000),
    "sgd": (1, 1.15, 100),
    "perceptron": (1, 1.15, 100),
}
#: Passes of Pegasos in a feature space: a pass is many steps.
KERNEL_PASSES = (1, 1.15, 60)
#: While something is dragged: relative gap of one problem for all classes, and steps of the dual gradient.
SEEN, FEWER_STEPS = 1e-3, 200
#: No gap is drawn below this.
ROUNDING = 1e-16


def fit_points(body: Mapping[str, Any], job: Job) -> Answer:
    """The machine on the screen: its scores on a grid, and every point's part in it."""
    request = read_request(body)
    fine = choice(body, "detail", ("coarse", "fine"), "fine") == "fine"
    if not fine:
        request = _while_moving(request)
    try:
        fitted = fit(request.call, request.X, request.y, job)
    except NotSeparableError as error:
        return _not_separable(request, error)
    answer = _picture(request, fitted, body, job)
    return Answer({**answer.values, **_words(request, fitted)}, answer.arrays) if fine else answer


def animate(body: Mapping[str, Any], job: Job) -> Iterator[Answer]:
    """The solver at work: the machine after 1, 2, 3, ... steps, each a fit from the start with so many."""
    request = read_request(body)
    call = _scheduled(request, job)
    moments = _moments(request)
    for number, steps in enumerate(moments):
        so_far = request._replace(call=call.having(**{request.steps: steps}))
        try:
            fitted = fit(so_far.call, request.X, request.y, job)
        except NotSeparableError as error:
            yield _not_separable(request, error)
            return
        answer = _picture(so_far, fitted, body, job)
        words = {"steps": steps, "unit": request.unit, "frame": number, "frames": len(moments)}
        yield Answer({**answer.values, **words, "code": _code(so_far)}, answer.arrays)
        if _finished(fitted.model):
            return


def trace(body: Mapping[str, Any], job: Job) -> Iterator[Answer]:
    """How the gap falls: the certificates of fits that end after 1, 2, 4, ... steps."""
    request = read_request(body)
    call = _scheduled(request, job)
    for steps in _moments(request):
        try:
            model = fit(call.having(**{request.steps: steps}), request.X, request.y, job).model
        except NotSeparableError:
            return
        certificate = proof(model)
        if certificate is None:
            return
        gap = max(certificate["relative_gap"], ROUNDING)
        if np.isfinite(gap):  # a hard margin has no finite primal value before every row is beyond it
            yield Answer({**certificate, "relative_gap": gap, "steps": steps, "unit": request.unit})
        if _finished(model):
            return


def schemes(body: Mapping[str, Any], job: Job) -> Iterator[Answer]:
    """Ways to decide between many classes, one after the other."""
    for scheme in SCHEMES:
        request = read_request({**body, "multiclass": scheme, "solver": "decomposition"})
        try:
            fitted = fit(request.call, request.X, request.y, job)
        except NotSeparableError:
            yield Answer({"scheme": scheme, "separable": False, "message": "not separable"})
            continue
        except ValueError as error:  # this scheme has no such machine; the others may
            yield Answer({"scheme": scheme, "separable": False, "message": str(error)})
            continue
        model, answer = fitted.model, _picture(request, fitted, body, job)
        about = {"scheme": scheme, "machines": int(np.size(model.intercept_)), "vectors": len(model.support_)}
        yield Answer({**answer.values, **about}, answer.arrays)


#: Kinds of requests.
KINDS: dict[str, Handler] = {
    "fit": fit_points,
    "animate": animate,
    "trace": trace,
    "schemes": schemes,
    "table": read_table,
}


# -- what the answers hold ----------------------------------------------------------------------------------------


def _picture(request: Request, fitted: Fitted, body: Mapping[str, Any], job: Job) -> Answer:
    """Scores (two classes, one class), classes (more of them) or a curve (regression) on the grid, and the points."""
    model, task = fitted.model, request.task
    columns, rows = whole(body, "columns", 2, FINEST_GRID, 100), whole(body, "rows", 2, FINEST_GRID, 80)
    began, where = time.perf_counter(), view(body)
    arrays: dict[str, np.ndarray] = {}
    values: dict[str, Any] = {"task": task, "separable": True}
    if task == "regress":
        x = np.linspace(where[0], where[1], columns)
        arrays["curve"] = job.drawn(model.predict, x[:, None]).astype(np.float32)
        values["tube"] = tube_of(model, request.X, request.y)
    else:
        cells = grid(where, columns, rows)
        if task == "classify" and len(model.classes_) > 2:
            arrays["regions"] = job.drawn(model.predict, cells).astype(np.uint8).reshape(rows, columns)
        else:
            scores = without_noise(model, job.drawn(model.decision_function, cells))
            arrays["scores"] = scores.astype(np.float32).reshape(rows, columns)
            values["constant"] = bool(np.ptp(scores) == 0)
    values["milliseconds"] = {"fit": fitted.milliseconds, "grid": 1e3 * (time.perf_counter() - began)}
    if task == "classify":
        values |= {"classes": model.classes_, "width": _width(model, request)}
    facts = point_facts(model, task, request.X, request.y, _near(request, model))
    values |= {"certificate": proof(model), "vectors": int(facts["support"].sum()) if "support" in facts else None}
    if hasattr(model, "mistakes_"):
        values["mistakes"] = int(np.sum(model.mistakes_))
    if "wrong" in facts:
        values["accuracy"] = 1.0 - float(facts["wrong"].mean())
    return Answer(values, {**arrays, **facts})


def _while_moving(request: Request) -> Request:
    """The same, only as exact as a moving picture shows, for solvers that spend most of their time on the rest."""
    if request.single:
        return request._replace(call=request.call.having(gap_tol=SEEN))
    if request.solver == "dual-gradient":
        return request._replace(call=request.call.having(max_iter=FEWER_STEPS))
    return request


def _near(request: Request, model: Any) -> float | None:
    """How near to a margin is on it: what inspection says; of a rough picture as near as the fit was asked to come."""
    return min(0.4, max(1e-3, 2 * model.certificate_.kkt)) if "gap_tol" in request.call.options else None


def _words(request: Request, fitted: Fitted) -> dict[str, Any]:
    """What is said of a model when it is not being dragged about."""
    model = fitted.model
    words: dict[str, Any] = {
        "names": NAMES[request.task],
        "zones": ZONES,
        "code": _code(request),
        "stopped": int(getattr(model, "fit_status_", 0)) != 0,
        "machine": request.call.name,
        "unit": request.unit,
    }
    if request.task == "classify":
        words |= {"tasks": task_names(model, request.X, request.y), "parts": part_names(model)}
    return words


def _width(model: Any, request: Request) -> float | None:
    """The width of the strip between two classes."""
    if len(model.classes_) > 2 or request.solver == "perceptron":  # whose scale means nothing
        return None
    try:
        return float(margins(model, request.X, request.y).width)
    except (TypeError, ValueError):  # machines that inspection does not read
        return None


def _not_separable(request: Request, error: NotSeparableError) -> Answer:
    """No hard margin: the weights that write one point as a mean of the rows of each class."""
    weights = error.witness if isinstance(error.witness, tuple) else (error.witness,)
    arrays = {"positive": weights[0], "negative": weights[-1]}
    values = {"task": request.task, "separable": False, "message": str(error), "code": _code(request)}
    return Answer(values, {name: np.asarray(w, dtype=np.float32) for name, w in arrays.items()})


def _code(request: Request) -> str:
    if request.solver == "perceptron":  # which has no optimum, hence no certificate
        closing = ["print(model.mistakes_, 'mistakes')"]
    elif request.single or "multiclass" not in request.call.options:
        closing = ["print(model.certificate_)"]
    else:
        closing = ["print('primal', sum(one.primal for one in model.certificates_))"]
        closing.append("print('dual', sum(one.dual for one in model.certificates_))")
    if request.task == "classify":
        closing.append("print('accuracy', model.score(X, y))")
    return script(request.call, request.X, request.y, closing)


# -- animations ---------------------------------------------------------------------------------------------------


def _scheduled(request: Request, job: Job) -> Call:
    """SGD's steps as the whole fit would choose them, so that every moment belongs to one and the same run.

    Machines for many classes choose each for itself, and are left to it.
    """
    if request.solver != "sgd":
        return request.call
    schedules = fit(request.call, request.X, request.y, job).model.schedule_
    if len(schedules) > 1:
        return request.call
    return request.call.having(schedule=tuple(float(value) for value in schedules[0]))


def _moments(request: Request) -> list[int]:
    first, ratio, last = KERNEL_PASSES if request.call.name == "KernelPegasosSVC" else MOMENTS[request.solver]
    found = [first]
    while found[-1] < last:
        found.append(min(last, max(found[-1] + 1, int(found[-1] * ratio))))
    return found


def _finished(model: Any) -> bool:
    """Whether more steps would change nothing."""
    if hasattr(model, "mistakes_"):  # of a perceptron: none in the last pass
        name = "mistakes" if "mistakes" in model.history_.dtype.names else "violations"
        last = model.history_["iteration"] == model.n_iter_
        return not model.history_[name][last].any()
    return bool(hasattr(model, "fit_status_") and model.fit_status_ == 0 and not hasattr(model, "schedule_"))
