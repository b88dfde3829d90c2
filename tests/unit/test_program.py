"""Lowering: what an expression becomes, and that compiled code numbers the operations alike."""

import numpy as np
import pytest

from maxmargin.backends import prepare
from maxmargin.backends._numba import program as compiled
from maxmargin.kernels import (
    ChiSquared,
    Constant,
    Cosine,
    Exponential,
    Function,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Op,
    Polynomial,
    Precomputed,
    QuadraticForm,
    RationalQuadratic,
    Sigmoid,
)
from tests.names import name_of
from tests.reference_backend import get_backend

X = np.random.default_rng(0).uniform(size=(6, 3))
OF_THE_DOT_PRODUCT = [
    Linear(),
    Polynomial(3),
    Gaussian(1.0),
    Sigmoid(),
    Exponential(1.0),
    Matern(0.5),
    Matern(2.5),
    RationalQuadratic(),
    Cosine(),
    Gaussian(1.0, over=Polynomial(2)),
    Gaussian(1.0, over=Gaussian(2.0) + Linear()),
    (Gaussian(1.0) + 0.5 * Linear() ** 2) * Matern(1.5) + Cosine().exp(),
    (Linear() + Gaussian(2.0)).polynomial([1.0, 0.5, 0.25, 0.125]),
    Gaussian(1.0).warp(lambda P: P[:, 0]) + Linear().warp(lambda P: P[:, 1]),
]


def test_compiled_code_numbers_the_operations_alike():
    assert {name: getattr(compiled, name) for name in Op.__members__} == {op.name: op.value for op in Op}


@pytest.mark.parametrize("kernel", OF_THE_DOT_PRODUCT, ids=name_of)
def test_a_composite_of_dot_product_kernels_has_one_base(kernel):
    program = kernel.lower()
    assert [base.kind for base in program.bases] == ["dot"]
    assert len({(s.kind, s.base, s.function) for s in program.scalars}) == len(program.scalars)


@pytest.mark.parametrize("kernel", OF_THE_DOT_PRODUCT, ids=name_of)
def test_a_composite_costs_one_product_per_tile(kernel, monkeypatch):
    backend = get_backend("numpy")
    kinds = []
    fill = type(backend)._base_tile
    monkeypatch.setattr(
        type(backend), "_base_tile", lambda self, base, *a: (kinds.append(base.kind), fill(self, base, *a))
    )
    program = kernel.lower()
    rows = prepare(program, X, np.float64)
    np.testing.assert_allclose(backend.tile(program, rows, rows), kernel(X), atol=1e-6)
    assert kinds == ["dot"]


def test_other_kinds_of_pairs_have_bases_of_their_own():
    kernel = Gaussian(1.0) + Laplacian(1.0) * ChiSquared() + Laplacian(2.0)
    assert sorted(base.kind for base in kernel.lower().bases) == ["chi2", "dot", "l1"]
    assert [base.kind for base in Precomputed().lower().bases] == ["precomputed"]
    assert Constant(2.0).lower().bases == ()


def test_a_mapped_kernel_has_the_base_of_its_map_once():
    of = (Linear() + Gaussian(1.0)).of(lambda P: P[:, :2])
    assert len(of.lower().bases) == 1
    assert len((of + of**2).lower().bases) == 1
    assert len((of + Linear()).lower().bases) == 2
    form = QuadraticForm(np.eye(3))
    assert len((form + form * Gaussian(1.0)).lower().bases) == 2


def test_a_callable_is_evaluated_once_however_often_it_is_used():
    calls = []

    def count(P, Q):
        calls.append(1)
        return P @ Q.T

    kernel = Function(count)
    program = (kernel.polynomial([1.0, 1.0, 1.0, 1.0]) + kernel).lower()
    rows = prepare(program, X, np.float64)
    get_backend("numpy").tile(program, rows, rows)
    assert len(program.bases) == 1
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("kernel", "depth"),
    [
        (Linear(), 1),
        (Constant(1.0), 1),
        (Polynomial(3).exp(), 1),
        (Linear() + 1, 2),
        (((Linear() + 1) + 1) + 1, 2),
        (1 + (Linear() * (Linear() + (Linear() * Gaussian(1.0)))), 4),
        (Linear().polynomial([1.0, 1.0, 1.0]), 2),
    ],
    ids=name_of,
)
def test_depth_is_the_height_of_the_stack(kernel, depth):
    assert kernel.lower().depth == depth


@pytest.mark.parametrize(
    ("kernel", "invariant"),
    [
        (Gaussian(1.0), True),
        (Exponential(1.0) + Matern(2.5) * RationalQuadratic(), True),
        (Gaussian(1.0) + 3, True),
        (Gaussian(1.0).of(lambda P: P), True),
        (Gaussian(1.0).warp(lambda P: P[:, 0]), True),
        (Linear(), False),
        (Gaussian(1.0) + Linear(), False),
        (Gaussian(1.0) * Cosine(), False),
        (Gaussian(1.0, over=Polynomial(2)), False),
        (Laplacian(1.0), False),
        (Polynomial(2), False),
    ],
    ids=name_of,
)
def test_only_functions_of_the_distance_may_be_centred(kernel, invariant):
    assert kernel.lower().shift_invariant(0) is invariant


def test_centred_rows_keep_distances_accurate_far_from_the_origin():
    program = Gaussian(1.0).lower()
    rows = prepare(program, X + 1e7, np.float64)
    values = get_backend("numpy").tile(program, rows, rows)
    np.testing.assert_allclose(values, Gaussian(1.0)(X), atol=1e-7)
    assert prepare(Linear().lower(), X + 1e7, np.float64).centers == (None,)


def test_the_code_holds_one_line_per_operation():
    program = (Polynomial(2, coef0=0.5, gamma=0.3) + 1).lower()
    operations, constants, depth = program.code
    assert operations[:, 0].tolist() == [Op.LOAD, Op.AFFINE, Op.POWER, Op.CONSTANT, Op.ADD]
    assert constants.tolist() == [[0.0, 0.0], [0.3, 0.5], [2.0, 0.0], [1.0, 0.0], [0.0, 0.0]]
    assert operations.dtype == np.int64
    assert depth == 2


def test_a_gaussian_is_one_operation():
    program = Gaussian(0.7).lower()
    assert [op for op, _ in program.operations] == [Op.LOAD, Op.DISTANCE, Op.AFFINE, Op.EXP]
    operations, constants, depth = program.code
    assert operations[:, 0].tolist() == [Op.LOAD, Op.GAUSSIAN]
    assert constants[1].tolist() == list(program.constants[2]) == [-0.7, 0.0]
    assert depth == 1


def test_every_gaussian_of_a_composite_keeps_its_own_constants_and_norms():
    program = (Gaussian(0.7) * Linear() + Gaussian(0.2).of(lambda P: P[:, :2])).lower()
    operations, constants, depth = program.code
    assert operations[:, 0].tolist() == [Op.LOAD, Op.GAUSSIAN, Op.LOAD, Op.MULTIPLY, Op.LOAD, Op.GAUSSIAN, Op.ADD]
    assert constants[[1, 5], 0].tolist() == [-0.7, -0.2]
    norms = [program.scalars[operand] for operand in operations[[1, 5], 1]]
    assert [(norm.kind, norm.base) for norm in norms] == [("sq_norm", 0), ("sq_norm", 1)]
    assert depth == program.depth


WITHOUT_A_GAUSSIAN = [
    Linear(),
    Polynomial(3),
    Sigmoid(),
    Exponential(1.0),
    Matern(0.5),
    Matern(2.5),
    RationalQuadratic(),
    Cosine().exp(),
    Laplacian(1.0),
    (2 * Linear()).exp(),
    Constant(2.0),
]


@pytest.mark.parametrize("kernel", WITHOUT_A_GAUSSIAN, ids=name_of)
def test_a_program_without_a_gaussian_is_coded_as_it_is(kernel):
    program = kernel.lower()
    assert program.code.operations.tolist() == [list(operation) for operation in program.operations]
    assert program.code.constants.tolist() == [list(pair) for pair in program.constants]
    assert program.code.depth == program.depth


def test_squares_that_overflow_are_refused_with_advice():
    with pytest.raises(ValueError, match=r"overflow.*StandardScaler"):
        prepare(Gaussian(1.0).lower(), np.array([[1e200], [-1e200]]), np.float64)
