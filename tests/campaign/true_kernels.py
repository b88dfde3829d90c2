"""What the kernels are, from the textbook, in any arithmetic.

A kernel is a nested tuple: a name, then numbers and kernels. Distances are taken by differences, column by column, so
that equal rows are at distance 0 and far rows lose no digits.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tests.campaign.arithmetic import Field

Spec = tuple[Any, ...]

#: Functions of rows that the generator hands to kernels; what they return counts as given, in float64.
GIVEN: dict[str, Any] = {
    "halves": lambda X: np.where(np.asarray(X)[:, 0] > 0, 0.5, 2.0),
    "first two": lambda X: np.asarray(X)[:, :2] * np.array([1.0, 0.5])[: np.asarray(X).shape[1]],
    "least": lambda X, Z: np.minimum(X[:, 0][:, None], Z[:, 0]),
    "negative distance": lambda X, Z: -np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2),
}


def gram(F: Field, spec: Spec, X: Any, Z: Any, given: Any = None) -> Any:
    """k(x, z) of all rows of X and Z (floats); ``given`` is the matrix of a precomputed kernel."""
    name, *options = spec
    if name == "precomputed":
        return F.array(given)
    if name == "callable":
        return F.array(GIVEN[options[0]](X.astype(np.float64), Z.astype(np.float64)))
    if name in COMPOSED:
        return COMPOSED[name](F, options, X, Z)
    return PLAIN[name](F, options, F.array(X), F.array(Z))


def diagonal(F: Field, spec: Spec, X: Any, given: Any = None) -> Any:
    """k(x, x) of all rows."""
    if spec[0] == "precomputed":
        return np.diagonal(F.array(given)).copy()
    return np.array(
        [gram(F, spec, X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))], dtype=F.array(X[:1]).dtype
    )


def _dot(X: Any, Z: Any) -> Any:
    return reduce(lambda a, b: a + b, (X[:, j][:, None] * Z[:, j] for j in range(X.shape[1])))


def _square(X: Any, Z: Any) -> Any:
    return reduce(lambda a, b: a + b, ((X[:, j][:, None] - Z[:, j]) ** 2 for j in range(X.shape[1])))


def _manhattan(X: Any, Z: Any) -> Any:
    return reduce(lambda a, b: a + b, (np.abs(X[:, j][:, None] - Z[:, j]) for j in range(X.shape[1])))


def _linear(F, options, X, Z):
    return _dot(X, Z)


def _poly(F, options, X, Z):
    degree, coef0, gamma = options
    return (F.number(gamma) * _dot(X, Z) + F.number(coef0)) ** int(degree)


def _rbf(F, options, X, Z):
    return F.exp(-F.number(options[0]) * _square(X, Z))


def _rbf_sigma(F, options, X, Z):
    return F.exp(-_square(X, Z) / (2 * F.number(options[0]) ** 2))


def _exponential(F, options, X, Z):
    return F.exp(-F.number(options[0]) * F.sqrt(_square(X, Z)))


def _matern(F, options, X, Z):
    twice = round(2 * options[0])
    r = F.sqrt(F.number(np.longdouble(twice)) * _square(X, Z)) / F.number(options[1])
    factor = {1: 1 + 0 * r, 3: 1 + r, 5: 1 + r + r * r / 3}[twice]
    return factor * F.exp(-r)


def _rational(F, options, X, Z):
    alpha, length = (F.number(v) for v in options)
    return F.power(1 + _square(X, Z) / (2 * alpha * length * length), -alpha)


def _laplacian(F, options, X, Z):
    return F.exp(-F.number(options[0]) * _manhattan(X, Z))


def _chi2(F, options, X, Z):
    total = 0
    for j in range(X.shape[1]):
        over, under = X[:, j][:, None] - Z[:, j], X[:, j][:, None] + Z[:, j]
        total = total + over * over / np.where(under == 0, 1, under)
    return F.exp(-F.number(options[0]) * total)


def _cosine(F, options, X, Z):
    left, right = (F.sqrt(reduce(lambda a, b: a + b, (R[:, j] ** 2 for j in range(R.shape[1])))) for R in (X, Z))
    norms = left[:, None] * right
    return _dot(X, Z) / np.where(norms == 0, 1, norms)


def _form(F, options, X, Z):
    A = F.array(np.array(options[0]))
    return (X @ A) @ Z.T


def _sigmoid(F, options, X, Z):
    return F.tanh(F.number(options[0]) * _dot(X, Z) + F.number(options[1]))


def _constant(F, options, X, Z):
    return F.number(options[0]) + 0 * _dot(X, Z)


PLAIN = {
    "linear": _linear, "poly": _poly, "rbf": _rbf, "rbf-sigma": _rbf_sigma, "exponential": _exponential,
    "matern": _matern, "rational": _rational, "laplacian": _laplacian, "chi2": _chi2, "cosine": _cosine,
    "form": _form, "sigmoid": _sigmoid, "constant": _constant,
}  # fmt: skip


def _over(F, options, X, Z):
    gamma, inner = options
    distance = diagonal(F, inner, X)[:, None] + diagonal(F, inner, Z) - 2 * gram(F, inner, X, Z)
    same = (X[:, None, :] == Z[None, :, :]).all(axis=2)
    return F.exp(-F.number(gamma) * np.where(same, 0, np.maximum(distance, 0)))


def _polynomial(F, options, X, Z):
    inner, coefficients = options
    values = gram(F, inner, X, Z)
    return reduce(lambda total, c: total * values + F.number(c), reversed(coefficients), 0 * values)


def _warp(F, options, X, Z):
    inner, function = options
    left, right = (F.array(GIVEN[function](R.astype(np.float64))) for R in (X, Z))
    return left[:, None] * gram(F, inner, X, Z) * right


def _of(F, options, X, Z):
    inner, function = options
    return gram(F, inner, *(GIVEN[function](R.astype(np.float64)) for R in (X, Z)))


COMPOSED = {
    "sum": lambda F, o, X, Z: gram(F, o[0], X, Z) + gram(F, o[1], X, Z),
    "product": lambda F, o, X, Z: gram(F, o[0], X, Z) * gram(F, o[1], X, Z),
    "power": lambda F, o, X, Z: gram(F, o[0], X, Z) ** int(o[1]),
    "exp": lambda F, o, X, Z: F.exp(gram(F, o[0], X, Z)),
    "over": _over, "polynomial": _polynomial, "warp": _warp, "of": _of,
}  # fmt: skip


def is_rational(spec: Spec) -> bool:
    """Whether fractions can say what the kernel is."""
    known = {"linear", "poly", "form", "constant", "sum", "product", "power", "polynomial", "precomputed", "callable"}
    return spec[0] in known and all(is_rational(part) for part in spec[1:] if isinstance(part, tuple) and part and
                                    isinstance(part[0], str))  # fmt: skip
