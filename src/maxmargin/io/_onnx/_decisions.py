"""From the scores of two-class tasks to classes and probabilities, as :mod:`maxmargin.multiclass` decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import Array, FloatArray
from maxmargin.calibration import Isotonic, Sigmoid, VennAbers
from maxmargin.exceptions import ExportError
from maxmargin.io._onnx._graph import INT64, Graph
from maxmargin.multiclass import LEAST_PROBABILITY, CodeWords, OneVsOne, Scheme


def class_values(classes: Array) -> Array:
    """Classes as an ONNX constant: int64, bool, float64 or text."""
    classes = np.asarray(classes)
    if classes.dtype.kind in "iu":
        if classes.size and int(classes.max()) > np.iinfo(np.int64).max:
            raise ExportError(f"the class {classes.max()} is too large for ONNX's int64; rename the classes")
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind == "b":
        return classes
    if all(isinstance(one, str) for one in classes.tolist()):
        return classes.astype(object)
    raise ExportError(
        f"classes of type {type(classes.tolist()[0]).__name__} have no ONNX type; use text, whole numbers or bool"
    )


def chosen(graph: Graph, classes: Array, scores: str) -> str:
    """The class with the largest of (rows, classes) scores, the first of equal ones."""
    best = graph.op("ArgMax", scores, axis=1, keepdims=0)
    return graph.op("Gather", class_values(classes), best, axis=0)


def positive_or_not(graph: Graph, classes: Array, scores: str) -> str:
    """Of two classes the second where (rows, 1) scores are positive."""
    positive = graph.op("Cast", graph.op("Greater", graph.vector(scores), 0.0), to=INT64)
    return graph.op("Gather", class_values(classes), positive, axis=0)


def decided(graph: Graph, scheme: Scheme, scores: str) -> str:
    """(rows, classes) scores whose arg-max is the class, from (rows, tasks) ones; for more than two classes."""
    if isinstance(scheme, OneVsOne):
        sides = scheme.sides
        second = (sides < 0).sum(axis=0).astype(np.float64)  # how often a class is the second of a pair
        votes = graph.product(graph.number(graph.op("Greater", scores, 0.0)), sides)
        votes = graph.op("Add", votes, second)
        return graph.op("Add", votes, _squeezed(graph, graph.product(scores, sides)))
    if isinstance(scheme, CodeWords):
        words = scheme.words.T
        said = graph.op("Where", graph.op("Greater", scores, 0.0), 1.0, -1.0)
        differing = graph.affine(graph.product(said, words), -0.5, words.shape[0] / 2)
        return graph.op("Sub", _squeezed(graph, graph.product(scores, words)), differing)
    return scores


def _squeezed(graph: Graph, sums: str) -> str:
    """s / (3 (|s| + 1))."""
    return graph.op("Div", sums, graph.affine(graph.op("Abs", sums), 3.0, 3.0))


# -- calibration -----------------------------------------------------------------------------------------------


def calibrated(graph: Graph, calibrators: list[Any], scores: str) -> str:
    """Probabilities of the tasks' positive sides, (rows, tasks)."""
    if all(isinstance(one, Sigmoid) for one in calibrators):
        a, b = np.array([one.a for one in calibrators]), np.array([one.b for one in calibrators])
        odds = graph.op("Exp", graph.affine(scores, a, b))
        p = graph.op("Div", 1.0, graph.op("Add", odds, 1.0))
        return graph.op("Min", graph.op("Max", p, LEAST_PROBABILITY), 1.0 - LEAST_PROBABILITY)
    columns = [graph.take(scores, [k]) for k in range(len(calibrators))]
    return graph.join([_stepwise(graph, one, column) for one, column in zip(calibrators, columns, strict=True)])


def _stepwise(graph: Graph, calibrator: Any, column: str) -> str:
    if isinstance(calibrator, VennAbers):
        return _venn_abers(graph, calibrator, column)
    if isinstance(calibrator, Isotonic):
        return _interpolated(graph, calibrator, column)
    raise ExportError(f"a calibrator of type {type(calibrator).__name__} cannot be exported; use calibration='sigmoid'")


def _count(graph: Graph, operator: str, column: str, marks: FloatArray) -> str:
    """(rows, 1) numbers of marks for which ``column operator mark``."""
    found = graph.op("Cast", graph.op(operator, column, marks[None]), to=INT64)
    return graph.reduce("Sum", found)


def _venn_abers(graph: Graph, calibrator: VennAbers, column: str) -> str:
    below = _count(graph, "GreaterOrEqual", column, calibrator.scores)
    above = _count(graph, "Greater", column, calibrator.scores)
    p0 = graph.op("Gather", np.append(0.0, calibrator.lower), below)
    p1 = graph.op("Gather", np.append(calibrator.upper, 1.0), above)
    return graph.op("Div", p1, graph.op("Add", graph.op("Sub", 1.0, p0), p1))


def _interpolated(graph: Graph, calibrator: Isotonic, column: str) -> str:
    """Straight lines between the corners, level outside of them."""
    x, y = calibrator.scores, calibrator.values
    if len(x) == 1:
        return graph.affine(column, 0.0, y[0])
    inside = graph.op("Min", graph.op("Max", column, x[0]), x[-1])
    piece = _count(graph, "GreaterOrEqual", inside, x[1:-1])
    start, value = graph.op("Gather", x[:-1], piece), graph.op("Gather", y[:-1], piece)
    slope = graph.op("Gather", np.diff(y) / np.diff(x), piece)
    return graph.op("Add", graph.op("Mul", slope, graph.op("Sub", inside, start)), value)


def distribution(graph: Graph, scheme: Scheme, p: str, sharpness: float | None) -> str:
    """(rows, classes) probabilities from those of the tasks; nothing is impossible."""
    if scheme.n_classes == 2:
        found = graph.join([graph.op("Sub", 1.0, p), p])
    else:
        found = _coupled(graph, scheme, p)
    found = _shares(graph, graph.op("Max", found, LEAST_PROBABILITY))
    if sharpness is None:
        return found
    z = graph.op("Mul", graph.op("Log", found), sharpness)
    return _shares(graph, graph.op("Exp", graph.op("Sub", z, graph.reduce("Max", z))))


def own_distribution(graph: Graph, scheme: Scheme, scores: str) -> str:
    """(rows, classes) probabilities of a machine whose tasks' scores are log-odds."""
    p = graph.op("Sigmoid", scores)
    if scheme.n_classes > 2:
        return _coupled(graph, scheme, p)
    return graph.join([graph.op("Sigmoid", graph.op("Neg", scores)), p])


def _shares(graph: Graph, values: str) -> str:
    return graph.op("Div", values, graph.reduce("Sum", values))


def _coupled(graph: Graph, scheme: Scheme, p: str) -> str:
    if isinstance(scheme, OneVsOne):
        return _coupled_pairs(graph, scheme, p)
    if isinstance(scheme, CodeWords) and scheme.claimed is None:
        # the least-squares solution of scheme.couple is linear in p and 1: columns of a pseudo-inverse
        k, A = scheme.n_classes, np.where(scheme.words.T > 0, 1.0, 0.0)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k], system[:k, k], system[k, :k] = A.T @ A, 1.0, 1.0
        inverse = np.linalg.pinv(system, rcond=np.finfo(float).eps * (k + 1))[:k]
        p = graph.op("Max", graph.op("Add", graph.product(p, A @ inverse[:, :k].T), inverse[:, k]), 0.0)
    elif scheme.claimed is not None:
        p = graph.take(p, np.argsort(scheme.claimed).tolist())
    total = graph.reduce("Sum", p)
    some = graph.op("Greater", total, 0.0)
    return graph.op("Where", some, graph.op("Div", p, graph.op("Where", some, total, 1.0)), 1.0 / scheme.n_classes)


def _coupled_pairs(graph: Graph, scheme: OneVsOne, p: str) -> str:
    """min q'Qq with sum q = 1, Q_aa = sum_b r_ba^2 and Q_ab = -r_ab r_ba: q is (Q + 11')^-1 1, divided by its sum.

    With 11' added the matrix is positive definite, so that elimination needs no pivots: k steps on all rows at once.
    """
    k, pairs = scheme.n_classes, np.array(scheme.pairs)
    place = np.full((k, k), 2 * len(pairs))
    place[pairs[:, 0], pairs[:, 1]] = np.arange(len(pairs))
    place[pairs[:, 1], pairs[:, 0]] = len(pairs) + np.arange(len(pairs))
    known = graph.join([p, graph.op("Sub", 1.0, p), graph.op("Mul", graph.take(p, [0]), 0.0)])
    r = graph.op("Gather", known, place.astype(np.int64), axis=1)  # (rows, k, k), r_ab
    turned = graph.op("Transpose", r, perm=[0, 2, 1])
    diagonal = graph.op("Mul", graph.reduce("SumSquare", r), np.eye(k)[None])
    Q = graph.op("Add", graph.op("Sub", diagonal, graph.op("Mul", r, turned)), 1.0)
    ones = graph.affine(graph.op("Gather", Q, np.array([0]), axis=2), 0.0, 1.0)
    system = graph.op("Concat", Q, ones, axis=2)
    for i in range(k):  # Gauss and Jordan: the first column becomes a unit vector, and is dropped
        line = graph.op("Gather", system, np.array([i]), axis=1)
        line = graph.op("Div", _rest(graph, line), _first(graph, line))
        factor = graph.op("Sub", _first(graph, system), np.eye(k)[None, :, i : i + 1])
        system = graph.op("Sub", _rest(graph, system), graph.op("Mul", factor, line))
    found = graph.op("Squeeze", system, np.array([2]))
    return _shares(graph, graph.op("Max", found, 0.0))


def _first(graph: Graph, system: str) -> str:
    """The first column of every system."""
    return graph.op("Slice", system, np.array([0]), np.array([1]), np.array([2]))


def _rest(graph: Graph, system: str) -> str:
    """The columns after it."""
    return graph.op("Slice", system, np.array([1]), np.array([np.iinfo(np.int64).max]), np.array([2]))
