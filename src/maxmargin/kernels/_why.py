"""Why an expression is a kernel: a rule for every node, from the standard kernels up.

A kernel is a dot product of features, k(x, z) = phi(x).phi(z). Every rule here says what the features are, or why there
are some. Where a rule needs parts that are not known to be kernels, nothing follows: the whole may be one or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from maxmargin.kernels import _given as outside
from maxmargin.kernels import _standard as standard
from maxmargin.kernels import _stationary as stationary
from maxmargin.kernels import compositions as made
from maxmargin.kernels._base import Kernel

#: What can be said of a node, with its mark and its colour on a page.
VERDICTS = {
    "is a kernel": ("✓", "#1b7f4f"),
    "is not a kernel": ("✗", "#b83232"),
    "is not known to be a kernel": ("?", "#8a5a00"),
}
VALID, FAILS, UNKNOWN = VERDICTS


@dataclass(frozen=True, eq=False)
class KernelProof:
    """Why an expression is a kernel, or which step is missing; true in a condition when every step is there.

    ``print`` shows it as a tree, and a notebook as a list.

    Attributes
    ----------
    kernel : Kernel
        The expression.
    verdict : {'is a kernel', 'is not a kernel', 'is not known to be a kernel'}
        What follows. 'is not a kernel': there are rows on which its matrix has a negative eigenvalue; on other rows it
        may have none, which :func:`check_mercer` can see.
    rule : str
        The closure rule, or the property of a standard kernel, that makes it one; or why there is none.
    parts : tuple of KernelProof
        The same for the kernels that it is made of.
    """

    kernel: Kernel
    verdict: str
    rule: str
    parts: tuple[KernelProof, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the expression is a kernel by these rules."""
        return self.verdict == VALID

    @property
    def missing(self) -> tuple[KernelProof, ...]:
        """The steps at which the proof ends: what fails or is unknown by itself, not for its parts."""
        below = tuple(step for part in self.parts for step in part.missing)
        return below if below or self.holds else (self,)

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{expression(self.kernel)} {self.verdict}: {self.rule}"
        for number, part in enumerate(self.parts, start=1):
            first, later = ("└─ ", "   ") if number == len(self.parts) else ("├─ ", "│  ")
            for k, line in enumerate(part._lines()):
                yield (later if k else first) + line

    def _repr_html_(self) -> str:
        return f'<ul style="list-style: none; padding-left: 0">{self._item()}</ul>'

    def _item(self) -> str:
        mark, colour = VERDICTS[self.verdict]
        below = f'<ul style="list-style: none">{"".join(p._item() for p in self.parts)}</ul>' if self.parts else ""
        said = f'<b style="color: {colour}">{mark} {self.verdict}</b>: {escape(self.rule)}'
        return f"<li><code>{escape(expression(self.kernel))}</code> {said}{below}</li>"


def proof(kernel: Kernel) -> KernelProof:
    """Why ``kernel`` is one, node by node."""
    kind = type(kernel)  # and none that derives from it: what a class changes is unknown
    if kind in LEAVES:
        return KernelProof(kernel, *LEAVES[kind](kernel))
    if kind in RULES:
        return _composed(kernel, *RULES[kind])
    if type(kernel) is stationary.Gaussian:
        return _gaussian(kernel)
    said = "its class says so (is_psd), which is no proof" if kernel.is_psd else "its class does not say that it is one"
    return KernelProof(kernel, UNKNOWN, said)


def expression(kernel: Kernel) -> str:
    """The kernel in a few signs: a composite by its operation, k1 and k2 being its parts; others with their options."""
    if isinstance(kernel, made.Product) and _number(kernel) is not None:
        return f"{_number(kernel):g} k"
    if isinstance(kernel, made.PolynomialOf):
        powers = ("", " k", *(f" k^{i}" for i in range(2, len(kernel.coefficients))))
        terms = zip(kernel.coefficients, powers, strict=False)
        return " + ".join(f"{c:g}{power}" for c, power in terms if c) or "0"
    for kind, text in SIGNS.items():
        if isinstance(kernel, kind):
            return text.format(kernel=kernel)
    return _options(kernel)


def _options(kernel: Kernel) -> str:
    """The name of the kernel with what it was given."""
    if not is_dataclass(kernel):
        return repr(kernel)
    shown = []
    for field in fields(kernel):
        value = getattr(kernel, field.name)
        if isinstance(value, np.ndarray):
            shown.append(f"{field.name} of shape {value.shape}")
        elif callable(value) and not isinstance(value, Kernel):
            shown.append(getattr(value, "__name__", type(value).__name__))
        elif value is not None and not (isinstance(value, Kernel) and field.default is not MISSING):
            shown.append(f"{field.name}={value!r}")
    return f"{type(kernel).__name__}({', '.join(shown)})"


# -- composites ---------------------------------------------------------------------------------------------------


def _composed(kernel: Any, rule: str, needs: str) -> KernelProof:
    """A composite: a kernel if its parts are; otherwise nothing follows."""
    inner = list(kernel._parts().values())
    if isinstance(kernel, made.Product) and _number(kernel) is not None:
        rule, needs = "the features of k times the root of a positive number", "multiples of a kernel need a kernel"
        inner = [next(part for part in inner if not isinstance(part, standard.Constant))]
    parts = tuple(proof(part) for part in inner)
    if all(part.holds for part in parts):
        return KernelProof(kernel, VALID, rule, parts)
    return KernelProof(kernel, UNKNOWN, f"{needs}, and a part below is not known to be one", parts)


def _number(product: made.Product) -> float | None:
    """The number in a product of a number and a kernel."""
    numbers = [part.c for part in (product.left, product.right) if isinstance(part, standard.Constant)]
    return numbers[0] if len(numbers) == 1 else None


def _gaussian(kernel: stationary.Gaussian) -> KernelProof:
    if kernel.over is None:
        rule = "f(x) e^{2 gamma x.z} f(z) with f(x) = e^{-gamma |x|^2}: the exponential of a kernel, warped"
        return KernelProof(kernel, VALID, rule)
    part = proof(kernel.over)
    if part.holds:
        rule = "f(x) e^{2 gamma k(x, z)} f(z) with f(x) = e^{-gamma k(x, x)}: the exponential of a kernel, warped"
        return KernelProof(kernel, VALID, rule, (part,))
    return KernelProof(
        kernel, UNKNOWN, "distances in feature space need a kernel, and a part below is not known to be one", (part,)
    )


#: How composites are written.
SIGNS: dict[type[Kernel], str] = {
    made.Sum: "k1 + k2",
    made.Product: "k1 * k2",
    made.Power: "k ** {kernel.exponent}",
    made.Exp: "e^k",
    made.Warp: "f(x) k(x, z) f(z)",
    made.Of: "k(phi(x), phi(z))",
}
#: (the rule, what it needs) of every composite.
RULES: dict[type[Kernel], tuple[str, str]] = {
    made.Sum: ("the features of both, side by side", "sums need two kernels"),
    made.Product: ("the features are all products of one of k1 and one of k2", "products need two kernels"),
    made.Power: ("a product of kernels", "powers need a kernel"),
    made.Exp: ("the limit of polynomials of a kernel with coefficients 1 / i! >= 0", "the exponential needs a kernel"),
    made.PolynomialOf: ("a sum of products of kernels, with coefficients >= 0", "polynomials need a kernel"),
    made.Warp: ("the features of k at x times the number f(x)", "warping needs a kernel"),
    made.Of: ("the features of k at phi(x)", "a kernel of mapped rows needs a kernel"),
}


# -- standard kernels ---------------------------------------------------------------------------------------------


def _polynomial(kernel: standard.Polynomial) -> tuple[str, str]:
    """By the signs of binomial(m, i) gamma^i coef0^(m - i); the two highest decide where both numbers are not 0."""
    m, c = int(kernel.degree), float(np.sign(kernel.coef0))
    g = 1.0 if kernel.gamma is None else float(np.sign(kernel.gamma))  # a width left open will be positive
    powers = (m, m - 1) if c and g and m else (m,) if g else (0,)
    negative = [i for i in powers if g**i * c ** (m - i) < 0]
    if not negative:
        return VALID, "a polynomial of x.z with coefficients >= 0"
    return FAILS, (
        f"as a polynomial of x.z it has a negative coefficient, that of (x.z)^{negative[0]}; on a line the powers are "
        "independent features, and one of them has a negative weight"
    )


def _sigmoid(kernel: standard.Sigmoid) -> tuple[str, str]:
    """tanh(c + u) = tanh c + u / cosh^2 c - u^2 tanh c / cosh^2 c + ...: at c = 0 the third power has -1/3."""
    if kernel.c1 == 0 and kernel.c2 >= 0:
        return VALID, "the number tanh(c2) >= 0"
    if kernel.c1 is not None and kernel.c1 <= 0:
        power = 0 if kernel.c1 == 0 or kernel.c2 < 0 else 1
    else:
        power = 0 if kernel.c2 < 0 else 2 if kernel.c2 > 0 else 3
    return FAILS, (
        f"its power series in x.z has a negative coefficient, that of (x.z)^{power}; the matrix of some rows has "
        "a negative eigenvalue, and check_mercer(kernel, X) says whether that of yours has"
    )


def _always(rule: str) -> Callable[[Any], tuple[str, str]]:
    return lambda kernel: (VALID, rule)


def _never_known(reason: str) -> Callable[[Any], tuple[str, str]]:
    return lambda kernel: (UNKNOWN, reason)


#: (verdict, reason) of kernels that are made of no others.
LEAVES: dict[type[Kernel], Callable[[Any], tuple[str, str]]] = {
    standard.Linear: _always("the features are x itself"),
    standard.Constant: _always("one feature, the root of a positive number"),
    standard.Polynomial: _polynomial,
    standard.Sigmoid: _sigmoid,
    standard.Cosine: _always("the features are x / |x|"),
    standard.QuadraticForm: _always(
        "A is positive semi-definite, which was checked: A = B'B, and the features are B x"
    ),
    stationary.Exponential: _always("a mixture of Gaussian kernels: e^{-r} is a completely monotone function of r^2"),
    stationary.Matern: _always("its Fourier transform is a positive density, Student's (Bochner)"),
    stationary.RationalQuadratic: _always("a mixture of Gaussian kernels, their widths gamma-distributed"),
    stationary.Laplacian: _always("a product over the features of e^{-gamma |x_j - z_j|}, each a kernel (Bochner)"),
    stationary.ChiSquared: _always(
        "for rows of non-negative values: sum (x_j - z_j)^2 / (x_j + z_j) is conditionally negative definite, and then "
        "e to minus it is a kernel (Schoenberg)"
    ),
    outside.Objects: _never_known("a function says nothing about itself; check_mercer(kernel, X) looks at the data"),
    outside.Function: _never_known("a function says nothing about itself; check_mercer(kernel, X) looks at the data"),
    outside.Precomputed: _never_known("a table of values may be anything; check_mercer(K) looks at it"),
}
