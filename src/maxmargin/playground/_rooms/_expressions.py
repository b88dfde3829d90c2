"""What a page asks for, in two forms that cannot differ: objects of the library, and the Python that makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import maxmargin
from maxmargin import kernels
from maxmargin.kernels import Gaussian
from maxmargin.playground._checks import BadRequest, choice, number, part, whole

#: Names of kernels in requests.
LEAVES = ("linear", "polynomial", "gaussian", "sigmoid")
PAIRS = {"sum": "+", "product": "*"}
#: Leaves without options, and those with a width alone; some are for the kernel room only.
PLAIN = {"linear": "Linear", "cosine": "Cosine"}
WIDTHS = {"gaussian": "Gaussian", "exponential": "Exponential", "laplacian": "Laplacian"}
MORE_LEAVES = (*LEAVES, "exponential", "laplacian", "cosine")
#: Numbers of the code per line.
PER_LINE = 8


@dataclass(frozen=True)
class Call:
    """A class of the library (or, among the options of another, of ``maxmargin.kernels``) and its keywords."""

    name: str
    options: Mapping[str, Any]

    def make(self) -> Any:
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


def _leaf(wanted: Mapping[str, Any], names: Sequence[str] = LEAVES) -> Call:
    name = choice(wanted, "name", names)
    if name in PLAIN:
        return Call(PLAIN[name], {})
    gamma = number(wanted, "gamma", 1e-6, 1e6, 1.0)
    if name in WIDTHS:
        return Call(WIDTHS[name], {"gamma": gamma})
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


# -- Kernels of the kernel room: more leaves than machines offer, and the algebra of kernels on one or two of them ---


#: What is made of one kernel A, or of two, A and B: its Python, twice.
OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "none": ("A", lambda A, B: A),
    "sum": ("A + B", lambda A, B: A + B),
    "product": ("A * B", lambda A, B: A * B),
    "difference": ("A - B", lambda A, B: A - B),
    "square": ("A**2", lambda A, B: A**2),
    "exp": ("A.exp()", lambda A, B: A.exp()),
    "over": ("Gaussian(gamma=1.0, over=A)", lambda A, B: Gaussian(gamma=1.0, over=A)),
}


@dataclass(frozen=True)
class Composition:
    """Kernels, and what is made of them."""

    operation: str
    left: Call
    right: Call | None
    weight: float = 1.0

    def make(self) -> Any:
        """The kernel; the library refuses what would be none."""
        B = None if self.right is None else self.right.make()
        if B is not None and self.weight != 1.0:
            B = self.weight * B
        return OPERATIONS[self.operation][1](self.left.make(), B)

    def code(self) -> list[str]:
        """Lines of Python that make it, as ``kernel``."""
        if self.operation == "none":
            return [f"kernel = {self.left.code()}"]
        lines = [f"A = {self.left.code()}"]
        if self.right:
            lines.append(f"B = {'' if self.weight == 1.0 else f'{self.weight!r} * '}{self.right.code()}")
        return [*lines, f"kernel = {OPERATIONS[self.operation][0]}"]

    def names(self) -> set[str]:
        """What the code imports."""
        own = {"Gaussian"} if self.operation == "over" else set()
        return own | self.left.names() | (self.right.names() if self.right else set())


def composition_of(body: Mapping[str, Any]) -> Composition:
    """The kernel of a request: ``operation``, ``left``, and where it takes two ``right`` and its ``weight``."""
    operation = choice(body, "operation", tuple(OPERATIONS), "none")
    two = "B" in OPERATIONS[operation][0]
    right = _leaf(part(body, "right"), MORE_LEAVES) if two else None
    left = _leaf(part(body, "left"), MORE_LEAVES)
    return Composition(operation, left, right, number(body, "weight", 1e-3, 1e3, 1.0) if two else 1.0)
