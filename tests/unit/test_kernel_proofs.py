"""``kernel.why()``: what it says follows is true on data, and it says no more than follows."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF

from maxmargin import kernels
from maxmargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Function,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Objects,
    Polynomial,
    Precomputed,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
    check_mercer,
    resolve_kernel,
)
from tests.laws import examples

law = examples(150, derandomize=True, database=None)

VALID = [
    Linear(), Constant(0.5), Polynomial(2), Polynomial(3, 0.0), Polynomial(0, -1.0), Polynomial(2, -1.0, -1.0),
    Cosine(), QuadraticForm(np.diag([1.0, 0.0])), Gaussian(gamma=0.7), Gaussian(sigma=0.5), Exponential(0.5),
    Gaussian(gamma=0.3, over=Polynomial(2)), Matern(0.5), Matern(2.5), RationalQuadratic(0.5), Laplacian(0.3),
    ChiSquared(), Sigmoid(0.0, 1.0),
]  # fmt: skip
FAILING = [
    Sigmoid(), Sigmoid(1.0, 1.0), Sigmoid(1.0, -1.0), Sigmoid(-1.0, 0.5), Sigmoid(0.0, -1.0), Polynomial(1, -1.0),
    Polynomial(2, -1.0), Polynomial(3, -0.5), Polynomial(3, 1.0, -1.0), Polynomial(3, 0.0, -1.0), Polynomial(3, -1, -1),
    Polynomial(1, -1.0, 0.0),
]  # fmt: skip
UNKNOWN = [Precomputed(), Function(np.dot), resolve_kernel(RBF(1.0)), Objects(np.dot)]


def verdict(kernel):
    return {"is a kernel": True, "is not a kernel": False, "is not known to be a kernel": None}[kernel.why().verdict]


@st.composite
def expressions(draw, leaves, depth=3):
    """A kernel made of others, up to so many operations deep."""
    leaf = st.sampled_from(leaves)
    if depth == 0 or draw(st.booleans()):
        return draw(leaf)
    inner = draw(expressions(leaves, depth=depth - 1))
    operation = draw(st.integers(0, 7))
    if operation < 2:
        other = draw(expressions(leaves, depth=depth - 1))
        return inner + other if operation else inner * other
    return [
        lambda: inner * 0.5,
        lambda: inner**2,
        lambda: (inner * 0.01).exp(),
        lambda: inner.polynomial([1.0, 0.0, 0.5]),
        lambda: inner.warp(lambda X: 1.0 + X[:, 0]),
        lambda: inner.of(np.abs),
    ][operation - 2]()


# -- it is true ---------------------------------------------------------------------------------------------------


@law
@given(expressions(VALID), st.integers(0, 2**31))
def test_what_is_a_kernel_has_no_negative_eigenvalue_on_any_rows(kernel, seed):
    assert kernel.why()
    assert kernel.why().missing == ()
    X = np.random.default_rng(seed).uniform(0.0, 1.5, size=(12, 2))  # ChiSquared takes non-negative rows
    assert check_mercer(kernel, X)


@pytest.mark.parametrize("kernel", FAILING, ids=str)
def test_what_is_not_a_kernel_has_a_negative_eigenvalue_on_some_rows(kernel):
    assert verdict(kernel) is False
    lines = [h * np.arange(-4.0, 5.0)[:, None] for h in (0.05, 0.3, 1.0, 2.0)]
    assert not all(check_mercer(kernel, rows) for rows in lines)


def test_powers_that_fail_are_the_first_negative_coefficients_of_the_series():
    """The difference of order i of k(u, v) in both, at 0, is the coefficient of (uv)^i but for a positive factor."""
    for kernel in (Sigmoid(1.0, 1.0), Sigmoid(2.0, -0.5), Sigmoid(1.0, 0.0), Sigmoid(-1.0, 0.5), Polynomial(3, -0.5)):
        rule = kernel.why().rule
        (power,) = (i for i in range(4) if f"that of (x.z)^{i};" in rule)
        h, row = 0.02, np.array([1.0])
        for _ in range(power):
            row = np.convolve(row, [1.0, -1.0])
        u = h * (np.arange(power + 1) - power / 2)[:, None]
        assert row @ kernel(u) @ row < 0


def leaves(kernel):
    """The kernels at the ends of an expression."""
    parts = [value for value in vars(kernel).values() if isinstance(value, Kernel)]
    return [leaf for part in parts for leaf in leaves(part)] or [kernel]


@law
@given(expressions(VALID[:5] + FAILING[:3] + UNKNOWN[1:2]))
def test_nothing_follows_from_parts_that_are_none(kernel):
    ends = leaves(kernel)
    wrong = [end for end in ends if any(end is one for one in FAILING + UNKNOWN)]
    proof = kernel.why()
    assert proof.holds == (not wrong)
    assert [step.kernel for step in proof.missing] == wrong
    assert len(ends) == 1 or proof.verdict != "is not a kernel"


# -- it is complete -----------------------------------------------------------------------------------------------


def test_every_kernel_of_the_library_has_a_reason():
    listed = {type(kernel) for kernel in VALID + FAILING + UNKNOWN}
    public = [thing for name in kernels.__all__ if inspect.isclass(thing := getattr(kernels, name))]
    assert {kind for kind in public if issubclass(kind, Kernel)} - {Kernel} == listed
    assert all(verdict(kernel) for kernel in VALID)
    assert all(verdict(kernel) is None for kernel in UNKNOWN)


@law
@given(expressions(VALID + FAILING + UNKNOWN[1:]))
def test_what_says_that_it_is_a_kernel_has_a_proof(kernel):
    """``is_psd`` is what certificates go by; a proof may know more."""
    assert kernel.why() or not kernel.is_psd


def test_widths_left_open_are_positive():
    for kernel in (Gaussian(), Exponential(), Laplacian(), ChiSquared(None), Polynomial(gamma=None)):
        assert kernel.why().holds
    assert not Sigmoid(c1=None).why()


# -- what it does not know ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mine(Kernel):
    """A kernel of somebody else's."""

    def _values(self, X, Z):
        return X @ Z.T

    def _diagonal(self, X):
        return np.sum(X**2, axis=1)

    def _emit(self, builder):
        builder.load("dot")


class Changed(Linear):
    """Derives from a kernel that is known, and has other values."""

    def _values(self, X, Z):
        return -(X @ Z.T)


@pytest.mark.parametrize("kernel", [Mine(), Changed()])
def test_a_class_of_somebody_elses_is_unknown_whatever_it_says(kernel):
    found = kernel.why()
    assert found.verdict == "is not known to be a kernel"
    assert found.rule == "its class says so (is_psd), which is no proof"


def test_missing_steps_are_named_where_they_are():
    proof = ((Linear() + Sigmoid(1.0, -1.0)) * Gaussian(gamma=1.0, over=Function(np.dot)) + 2.0).why()
    assert not proof
    assert [type(step.kernel) for step in proof.missing] == [Sigmoid, Function]
    assert [part.holds for part in proof.parts] == [False, True]
    assert "sums need two kernels, and a part below is not known to be one" in proof.rule


# -- how it looks -------------------------------------------------------------------------------------------------


def nodes(proof):
    return [proof, *(node for part in proof.parts for node in nodes(part))]


@law
@given(expressions(VALID + FAILING))
def test_text_has_a_line_and_a_page_an_item_for_every_node(kernel):
    proof = kernel.why()
    lines, items = str(proof).splitlines(), list(ET.fromstring(proof._repr_html_()).iter("li"))
    assert len(lines) == len(items) == len(nodes(proof))
    for line, item, node in zip(lines, items, nodes(proof), strict=True):
        assert line.endswith(f"{node.verdict}: {node.rule}")
        assert item.find("b").text[2:] == node.verdict


def test_a_tree_by_hand():
    kernel = (3.0 * Linear() + Function(len)).exp()
    assert str(kernel.why()) == (
        "e^k is not known to be a kernel: the exponential needs a kernel, and a part below is not known to be one\n"
        "└─ k1 + k2 is not known to be a kernel: sums need two kernels, and a part below is not known to be one\n"
        "   ├─ 3 k is a kernel: the features of k times the root of a positive number\n"
        "   │  └─ Linear() is a kernel: the features are x itself\n"
        "   └─ Function(len) is not known to be a kernel: a function says nothing about itself; "
        "check_mercer(kernel, X) looks at the data"
    )


def test_options_are_shown_and_escaped():
    def angle(A, B):
        return A @ B.T

    angle.__name__ = "<b>"
    html = Function(angle).why()._repr_html_()
    assert "<code>Function(&lt;b&gt;)</code>" in html
    assert str(QuadraticForm(np.eye(2)).why()).startswith("QuadraticForm(A of shape (2, 2)) is a kernel")
    assert str(Linear().polynomial([0.0, 1.0, 2.5]).why()).startswith("1 k + 2.5 k^2 is a kernel")
    assert str(Linear().polynomial([0.0]).why()).startswith("0 is a kernel")
    assert str(Gaussian().why()).startswith("Gaussian() is a kernel")


def test_a_proof_can_be_kept():
    proof = (Linear() ** 3).why()
    assert str(pickle.loads(pickle.dumps(proof))) == str(proof)
