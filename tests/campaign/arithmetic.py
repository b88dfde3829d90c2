"""Numbers to judge with: the same NumPy formulas run on long doubles, on 60 decimal digits and on exact fractions.

A formula may use +, -, *, /, @, comparisons, np.maximum, np.abs, sums and whole numbers, and the functions of its
field. A decimal refuses to meet a float, so that a formula with a float literal fails instead of losing digits.
"""

from __future__ import annotations

import decimal
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

#: Digits that every operation of :class:`Digits` keeps, and room for any exponent.
CONTEXT = decimal.Context(
    prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.InvalidOperation, decimal.DivisionByZero]
)


class Field(ABC):
    """A kind of number; arrays of it are NumPy arrays."""

    name: str
    #: What an objective of size 1 may be off by: of 60 digits, most are beyond what any cancellation here eats.
    rounding: Any = 0

    @abstractmethod
    def array(self, values: Any) -> Any:
        """Floats or long doubles as they are, without rounding."""

    def number(self, value: Any) -> Any:
        """One of them."""
        return self.array(value)[()]

    @abstractmethod
    def exp(self, x: Any) -> Any: ...

    @abstractmethod
    def log(self, x: Any) -> Any: ...

    @abstractmethod
    def sqrt(self, x: Any) -> Any: ...

    @abstractmethod
    def power(self, x: Any, p: Any) -> Any:
        """x^p for x >= 0 and any real p, which is a number of the field."""

    def tanh(self, x: Any) -> Any:
        """Hyperbolic tangent, of x bounded to where it is 1 to any precision used here."""
        e = self.exp(-2 * np.abs(x))
        return np.where(x < 0, -1, 1) * (1 - e) / (1 + e)

    def softplus(self, x: Any) -> Any:
        """log(1 + e^x), without overflow."""
        return np.maximum(x, 0) + self.log(1 + self.exp(-np.abs(x)))

    def within(self) -> Any:
        """The context in which its operations are meant to run."""
        return np.errstate(all="ignore")


class LongDouble(Field):
    """80-bit numbers: 64 bits of mantissa, exponents to 10^4932."""

    name = "long double"

    def array(self, values):
        return np.asarray(values, dtype=np.longdouble)

    def exp(self, x):
        return np.exp(x)

    def log(self, x):
        return np.log(x)

    def sqrt(self, x):
        return np.sqrt(x)

    def power(self, x, p):
        return np.power(x, p)

    def tanh(self, x):
        return np.tanh(x)

    def softplus(self, x):
        return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _elementwise(function: Callable[..., Any], *arguments: Any) -> Any:
    return np.frompyfunc(function, len(arguments), 1)(*arguments)


class Digits(Field):
    """Decimals of 60 digits."""

    name = "60 digits"
    rounding = Decimal("1e-36")

    def array(self, values):
        values = np.asarray(values)
        if values.dtype == object:
            return values
        out = np.empty(values.shape, dtype=object)
        for at, value in np.ndenumerate(values):
            out[at] = _decimal(value)
        return out

    def exp(self, x):
        return _elementwise(lambda v: v.exp(), x)

    def log(self, x):
        return _elementwise(lambda v: v.ln(), x)

    def sqrt(self, x):
        return _elementwise(lambda v: v.sqrt(), x)

    def power(self, x, p):
        return _elementwise(lambda v: v**p if v else v, x)

    def within(self):
        return decimal.localcontext(CONTEXT)


def _decimal(value: Any) -> Decimal:
    if not np.isfinite(value):
        return Decimal(str(float(value)))
    over, under = value.as_integer_ratio()
    return CONTEXT.divide(Decimal(over), Decimal(under))


class Fractions(Field):
    """Exact rationals: for linear and polynomial kernels, and losses without exp and log."""

    name = "fractions"

    def array(self, values):
        values = np.asarray(values)
        if values.dtype == object:
            return values
        out = np.empty(values.shape, dtype=object)
        for at, value in np.ndenumerate(values):
            out[at] = Fraction(*value.as_integer_ratio())
        return out

    def exp(self, x):
        raise NotImplementedError("fractions know no exponential; judge with 60 digits")

    log = sqrt = exp

    def power(self, x, p):
        raise NotImplementedError("fractions know no real powers; judge with 60 digits")


LONG, DIGITS, FRACTIONS = LongDouble(), Digits(), Fractions()
