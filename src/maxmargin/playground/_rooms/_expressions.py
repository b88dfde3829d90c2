"""What a page asks for, in two forms that cannot differ: objects of the library, and the Python that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin
from maxmargin import kernels
from maxmargin.playground._checks import BadRequest, choice, number, part, whole

#: Names of kernels in requests.
LEAVES = ("linear", "polynomial", "gaussian", "sigmoid")
PAIRS = {"sum": "+", "product": "*"}
#: Numbers of the code per line.
PER_LINE = 8


@dataclass(frozen=True)
class Call:
    """A class of the library (or, among the options of another, of ``maxmargin.kernels``) and its keywords."""

    name: str
    options: Mapping[str, Any]

    def make(self) -> Any:
        """The object."""
        home = kernels if hasattr(kernels, self.name) else maxmargin
        return getattr(home, self.name)(**{name: made(value) for name, value in self.options.items()})

    def code(self) -> str:
        """The Python that makes it."""
        return f"{self.name}({', '.join(f'{name}={written(value)}' for name, value in self.options.items())})"

    def names(self) -> set[str]:
        """Kernels that the code needs."""
        own = {self.name} if hasattr(kernels, self.name) else set()
        return own.union(*(value.names() for value in self.options.values() if isinstance(value, Call | Pair)))

    def having(self, **options: Any) -> Call:
        """The same with other or further options."""
        return Call(self.name, {**self.options, **options})


@dataclass(frozen=True)
class Pair:
    """Two kernels, added or multiplied."""

    sign: str
    left: Call
    right: Call

    def make(self) -> Any:
        left, right = self.left.make(), self.right.make()
        return left + right if self.sign == "+" else left * right

    def code(self) -> str:
        return f"{self.left.code()} {self.sign} {self.right.code()}"

    def names(self) -> set[str]:
        return self.left.names() | self.right.names()


def made(value: Any) -> Any:
    """The value of an option."""
    return value.make() if isinstance(value, Call | Pair) else value


def written(value: Any) -> str:
    """The code of an option."""
    if isinstance(value, Call | Pair):
        return value.code()
    return "np.inf" if isinstance(value, float) and np.isinf(value) else repr(value)


def kernel_of(body: Mapping[str, Any]) -> Call | Pair | str:
    """The kernel of a request; the linear one by its name, with which machines have weights."""
    wanted = part(body, "kernel")
    name = choice(wanted, "name", (*LEAVES, *PAIRS))
    if name in PAIRS:
        return Pair(PAIRS[name], _leaf(part(wanted, "left")), _leaf(part(wanted, "right")))
    return "linear" if name == "linear" else _leaf(wanted)


def _leaf(wanted: Mapping[str, Any]) -> Call:
    name = choice(wanted, "name", LEAVES)
    if name == "linear":
        return Call("Linear", {})
    if name == "gaussian":
        return Call("Gaussian", {"gamma": number(wanted, "gamma", 1e-6, 1e6, 1.0)})
    gamma = number(wanted, "gamma", 1e-6, 1e6, 1.0)
    constant = number(wanted, "coef0", -1e3, 1e3, 1.0 if name == "polynomial" else 0.0)
    if name == "sigmoid":
        return Call("Sigmoid", {"c1": gamma, "c2": constant})
    if constant < 0:
        raise BadRequest(f"the constant of a polynomial kernel must not be negative, got {constant:g}")
    return Call("Polynomial", {"degree": whole(wanted, "degree", 1, 12, 3), "coef0": constant, "gamma": gamma})


def script(call: Call, X: np.ndarray, y: np.ndarray | None, closing: Sequence[str]) -> str:
    """A program that makes the data, fits the machine, and says how it did."""
    lines = ["import numpy as np", f"from maxmargin import {call.name}"]
    if call.names():
        lines.append(f"from maxmargin.kernels import {', '.join(sorted(call.names()))}")
    lines += ["", f"X = np.array({array_code(X)})"]
    if y is not None:
        lines.append(f"y = np.array({array_code(y)})")
    arguments = "X" if y is None else "X, y"
    return "\n".join([*lines, f"model = {call.code()}.fit({arguments})", *closing, ""])


def array_code(values: np.ndarray) -> str:
    """The list in the code from which an array is made."""
    items = [repr(one) for one in values.tolist()]
    per_line = PER_LINE // 2 if values.ndim == 2 else 2 * PER_LINE
    rows = [", ".join(items[first : first + per_line]) for first in range(0, len(items), per_line)]
    return "[" + rows[0] + "]" if len(rows) == 1 else "[\n    " + ",\n    ".join(rows) + ",\n]"
