"""Kernels of the kernel room: more leaves than machines offer, and the algebra of kernels on one or two of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from maxmargin.kernels import Gaussian
from maxmargin.playground._checks import choice, number, part
from maxmargin.playground._rooms._expressions import LEAVES, Call, kernel_of

#: Leaves with one width.
WIDTHS = {"exponential": "Exponential", "laplacian": "Laplacian"}
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
    right = _leaf(part(body, "right")) if two else None
    return Composition(
        operation, _leaf(part(body, "left")), right, number(body, "weight", 1e-3, 1e3, 1.0) if two else 1.0
    )


def _leaf(wanted: Mapping[str, Any]) -> Call:
    name = choice(wanted, "name", (*LEAVES, *WIDTHS, "cosine"))
    if name == "linear":
        return Call("Linear", {})
    if name == "cosine":
        return Call("Cosine", {})
    if name in WIDTHS:
        return Call(WIDTHS[name], {"gamma": number(wanted, "gamma", 1e-6, 1e6, 1.0)})
    found = kernel_of({"kernel": wanted})
    assert isinstance(found, Call)  # a leaf that is not linear
    return found
