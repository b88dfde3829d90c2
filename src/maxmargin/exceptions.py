"""Errors and warnings of maxmargin; each message says what was wrong, the value received and what to do."""

from __future__ import annotations

import numpy as np

from maxmargin._types import Array


class NotSeparableError(ValueError):
    """No hyperplane in feature space separates the two classes, as far as float64 can tell: there is no hard margin.

    Attributes
    ----------
    witness : tuple of two ndarrays, or ndarray
        With an intercept: weights ``(positive, negative)``, one per training row, each non-negative and
        summing to 1 over the rows of its class, that write the *same* point of feature space as a convex
        combination of each class. Without an intercept: one vector of weights that writes 0 as a convex
        combination of ``sign_i * phi(x_i)``.
    distance : float
        The distance in feature space that was left between the two points.
    rounding : float
        What rounding may make of a distance of 0. Where ``distance`` is larger, float64 could not tell whether the
        classes can be separated, and the message says so.
    """

    def __init__(
        self, message: str, witness: tuple[Array, Array] | Array, distance: float, rounding: float = float("inf")
    ):
        super().__init__(message)
        self.witness = witness
        self.distance = distance
        self.rounding = rounding

    def on_rows(self, rows: Array, n: int) -> NotSeparableError:
        """The same error with a witness that has one weight per training row, ``rows`` of ``n`` being concerned."""

        def spread(weights: Array) -> Array:
            whole = np.zeros(n)
            whole[rows] = weights
            return whole

        both = isinstance(self.witness, tuple)
        # mypy does not carry the test into the conditional expression, hence the ignore
        witness = (spread(self.witness[0]), spread(self.witness[1])) if both else spread(self.witness)  # type: ignore[arg-type]
        return NotSeparableError(self.args[0], witness, self.distance, self.rounding)

    def __reduce__(self):  # exceptions with arguments of their own must say how to be pickled
        return type(self), (self.args[0], self.witness, self.distance, self.rounding)


class NotPSDError(ValueError):
    """A construction or a check needed a positive semi-definite kernel and did not get one.

    Attributes
    ----------
    witness : ndarray or None
        A vector ``v`` with ``v' K v < 0``, where one was computed.
    """

    def __init__(self, message: str, witness: np.ndarray | None = None):
        super().__init__(message)
        self.witness = witness

    def __reduce__(self):
        return type(self), (self.args[0], self.witness)


class ClusterError(RuntimeError):
    """A cluster cannot do, or go on with, what was asked of it: it is gone, has no workers, or loses their data."""


class ExportError(ValueError):
    """A model cannot be written in another format, or what was written would predict something else.

    Attributes
    ----------
    row : int or None
        The row of the sample on which the predictions differ most; None where the model cannot be exported at all.
    expected, received : object
        The model's prediction for that row, and that of what was written.
    """

    def __init__(self, message: str, row: int | None = None, expected: object = None, received: object = None):
        super().__init__(message)
        self.row, self.expected, self.received = row, expected, received

    def __reduce__(self):
        return type(self), (self.args[0], self.row, self.expected, self.received)


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that no file can hold; nothing was changed.

    Attributes
    ----------
    path : str
        The file.
    part : str
        The part of it, the line or the attribute that is wrong; empty where it is the whole.
    """

    def __init__(self, message: str, path: object = "", part: str = ""):
        where = ", ".join(text for text in (str(path), part) if text)
        super().__init__(f"{where}: {message}" if where else message)
        self.message, self.path, self.part = message, str(path), part

    def __reduce__(self):
        return type(self), (self.message, self.path, self.part)
