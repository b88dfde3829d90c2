"""Each penalty against its formula; its prox, conjugate and projections against what defines them."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize, minimize_scalar

from maxmargin.penalties import (
    L0,
    L1,
    L2,
    PENALTIES,
    ElasticNet,
    NoPenalty,
    PNorm,
    project_to_ball,
    resolve_penalty,
)
from tests.laws import examples

law = examples(200, derandomize=True, database=None)
EXPONENTS = [1.0, 1.2, 1.5, 2.0, 3.0, math.inf]


def norm(w, p):
    largest = max(abs(c) for c in w)
    if math.isinf(p) or largest == 0:
        return largest
    return largest * sum((abs(c) / largest) ** p for c in w) ** (1 / p)


def dual(p):
    return math.inf if p == 1 else 1.0 if math.isinf(p) else p / (p - 1)


def elastic(r):
    return lambda w: sum(r * abs(c) + (1 - r) / 2 * c * c for c in w)


FORMULAS = [
    (NoPenalty(), lambda w: 0.0),
    (L0(), lambda w: float(sum(c != 0 for c in w))),
    (L1(), lambda w: sum(abs(c) for c in w)),
    (L2(), lambda w: sum(c * c for c in w) / 2),
    (ElasticNet(), elastic(0.5)),
    (ElasticNet(0.0), elastic(0.0)),
    (ElasticNet(0.3), elastic(0.3)),
    (ElasticNet(1.0), elastic(1.0)),
    *((PNorm(p), lambda w, p=p: norm(w, p)) for p in EXPONENTS),
]
EVERY = [penalty for penalty, _ in FORMULAS]
CONVEX = [penalty for penalty in EVERY if penalty.convex]
CONVEX_PENALTY = pytest.mark.parametrize("penalty", CONVEX, ids=str)
EXPONENT = pytest.mark.parametrize("p", EXPONENTS)

grid = st.integers(-24, 24).map(lambda i: i / 8)
vectors = st.tuples(*(hnp.arrays(np.float64, 4, elements=grid | st.floats(-3, 3)) for _ in range(2)))
convex = st.sampled_from(CONVEX)


def samples(n=40, d=4):
    """Vectors with some zeros, the first of nothing but zeros."""
    rng = np.random.default_rng(0)
    w = rng.normal(scale=2.0, size=(n, d)) * (rng.random((n, d)) < 0.8)
    w[0] = 0.0
    return w


# values


@pytest.mark.parametrize(("penalty", "formula"), FORMULAS, ids=lambda v: "" if callable(v) else None)
def test_a_penalty_is_its_formula(penalty, formula):
    for w in samples():
        value = penalty.value(w)
        assert value == pytest.approx(formula(w), rel=1e-13, abs=0)
        assert isinstance(value, float)
    assert penalty.value(np.zeros(0)) == 0


@pytest.mark.parametrize("penalty", EVERY, ids=str)
def test_convex_is_a_fact(penalty):
    W = samples()
    middles = [penalty.value((a + b) / 2) - (penalty.value(a) + penalty.value(b)) / 2 for a in W for b in W]
    assert (max(middles) <= 1e-12) == penalty.convex


@pytest.mark.parametrize("penalty", EVERY, ids=str)
def test_separable_ones_are_squares_and_absolute_values(penalty):
    parts = [penalty.quadratic / 2 * (w @ w) + penalty.absolute * np.abs(w).sum() for w in samples()]
    assert np.allclose(parts, [penalty.value(w) for w in samples()], rtol=1e-13) == penalty.separable


@pytest.mark.parametrize(("ratio", "end"), [(0.0, L2()), (1.0, L1())])
def test_the_ends_of_the_elastic_net_are_l2_and_l1(ratio, end):
    net = ElasticNet(ratio)
    assert (net.quadratic, net.absolute) == (end.quadratic, end.absolute)
    for w in samples():
        assert net.value(w) == end.value(w)
        assert net.conjugate(w) == end.conjugate(w)
        assert net.into_domain(w) == end.into_domain(w)
        np.testing.assert_array_equal(net.prox(w, 0.7), end.prox(w, 0.7))
        np.testing.assert_array_equal(net.subgradient(w), end.subgradient(w))


def test_the_p_norm_has_the_1_norm_as_its_first_case():
    for w in samples():
        assert PNorm(1.0).value(w) == pytest.approx(L1().value(w), rel=1e-14)
        assert PNorm(1.0).conjugate(w) == L1().conjugate(w)
        assert PNorm(1.0).into_domain(w) == pytest.approx(L1().into_domain(w), rel=1e-15)
        np.testing.assert_array_equal(PNorm(1.0).subgradient(w), L1().subgradient(w))
        threshold = L1().prox(w, 0.7)
        np.testing.assert_allclose(PNorm(1.0).prox(w, 0.7), threshold, rtol=1e-13)
        np.testing.assert_array_equal(PNorm(1.0).prox(w, 0.7) == 0, threshold == 0)


def test_the_2_norm_is_not_half_its_square():
    w = np.array([3.0, -4.0])
    assert PNorm(2.0).value(w) == pytest.approx(5.0)
    assert L2().value(w) == 12.5
    np.testing.assert_allclose(PNorm(2.0).prox(w, 1.0), 0.8 * w)


# subgradients


@law
@given(convex, vectors)
def test_a_plane_with_the_slope_stays_below_the_penalty(penalty, pair):
    w, z = pair
    plane = penalty.value(w) + float(penalty.subgradient(w) @ (z - w))
    assert plane <= penalty.value(z) + 1e-12 * (1 + abs(plane))


@CONVEX_PENALTY
def test_the_slope_is_the_gradient(penalty):
    w, h = np.array([1.5, -0.7, 0.4, -2.5]), 1e-6
    numeric = [(penalty.value(w + h * e) - penalty.value(w - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(penalty.subgradient(w), numeric, atol=1e-8)


@CONVEX_PENALTY
def test_the_slope_is_zero_where_the_weight_is(penalty):
    for w in samples():
        assert np.all(penalty.subgradient(w)[w == 0] == 0)


# prox


@CONVEX_PENALTY
@pytest.mark.parametrize("step", [0.3, 2.0])
def test_the_prox_is_what_a_minimiser_finds(penalty, step):
    for v in (np.array([1.5, -0.7]), np.array([-4.0, 0.5]), np.array([0.0, 3.0])):
        z = penalty.prox(v, step)

        def cost(w, v=v):
            return penalty.value(w) + float((w - v) @ (w - v)) / (2 * step)

        options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 2000}
        found = minimize(cost, v + 0.3, method="Nelder-Mead", options=options)
        np.testing.assert_allclose(z, found.x, atol=1e-5)
        assert cost(z) <= found.fun + 1e-14


@pytest.mark.parametrize("penalty", [penalty for penalty in CONVEX if penalty.separable], ids=str)
def test_the_prox_of_a_sum_is_taken_weight_by_weight(penalty):
    v = np.array([-3.0, -0.2, 0.0, 0.4, 2.0])
    each = [
        minimize_scalar(
            lambda w, at=at: penalty.value(np.array([w])) + (w - at) ** 2 / 1.4,
            bounds=(-5, 5),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        for at in v
    ]
    np.testing.assert_allclose(penalty.prox(v, 0.7), each, atol=1e-7)


@law
@given(convex, vectors, st.sampled_from([1e-6, 0.1, 1.0, 4.0, 1e3]))
def test_the_prox_moves_along_a_slope_of_the_penalty_where_it_arrives(penalty, pair, step):
    """u = (v - z) / step is a subgradient at z if and only if Fenchel and Young are equal."""
    v, _ = pair
    z = penalty.prox(v, step)
    u = (v - z) / step
    rounding = 1e-15 * np.abs(v).max() / step
    factor = penalty.into_domain(u)
    assert (1 - factor) * np.abs(u).max() <= 10 * rounding + 1e-12
    gap = penalty.value(z) + penalty.conjugate(factor * u) - float(factor * u @ z)
    assert abs(gap) <= (1e-11 + 100 * rounding) * (1 + penalty.value(z))


@EXPONENT
def test_a_long_step_goes_to_zero_and_not_almost(p):
    rng = np.random.default_rng(1)
    for v in rng.normal(size=(50, 6)):
        longest = norm(v, dual(p))
        assert np.all(PNorm(p).prox(v, 1.0001 * longest) == 0)
        assert np.any(PNorm(p).prox(v, 0.9999 * longest) != 0)


def test_the_prox_leaves_its_argument_alone():
    for penalty in CONVEX:
        v = np.array([0.1, -2.0, 3.0])
        penalty.prox(v, 0.5)[:] = 7.0
        np.testing.assert_array_equal(v, [0.1, -2.0, 3.0])


# conjugates


@law
@given(convex, vectors)
def test_fenchel_and_young(penalty, pair):
    w, v = pair
    assert penalty.value(w) + penalty.conjugate(v) - float(v @ w) >= -1e-12 * (1 + float(np.abs(v) @ np.abs(w)))


@law
@given(convex, vectors)
def test_fenchel_and_young_are_equal_at_the_slope(penalty, pair):
    w, _ = pair
    v = penalty.subgradient(w)
    value, conjugate = penalty.value(w), penalty.conjugate(v)
    assert np.isfinite(conjugate)
    assert value + conjugate == pytest.approx(float(v @ w), rel=1e-12, abs=1e-12)


@CONVEX_PENALTY
def test_the_conjugate_is_the_highest_point_of_the_difference(penalty):
    axis = np.arange(-6.0, 6.01, 0.1)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = np.array([penalty.value(w) for w in points])
    for v in (np.zeros(2), np.array([0.4, -0.3]), np.array([0.9, 0.9]), np.array([1.2, -2.0])):
        highest = np.max(points @ v - values)
        conjugate = penalty.conjugate(v)
        if np.isfinite(conjugate):
            assert conjugate == pytest.approx(highest, abs=4e-3)
        else:
            assert highest > 0.05  # it grows with the grid: a cone's supremum is 0 or infinite
            assert np.abs(points[np.argmax(points @ v - values)]).max() == pytest.approx(6.0)


@law
@given(convex, vectors)
def test_the_factor_into_the_domain_is_the_largest_that_will_do(penalty, pair):
    v, _ = pair
    factor = penalty.into_domain(v)
    assert 0 <= factor <= 1
    assert np.isfinite(penalty.conjugate(factor * v))
    if factor < 1:
        assert penalty.conjugate(v * min(1.0, factor * (1 + 1e-9) + 1e-9)) == np.inf
    if np.isfinite(penalty.conjugate(v)):
        assert factor == pytest.approx(1.0, abs=1e-11)


def test_domains_are_what_they_should_be():
    v = np.array([3.0, -4.0])
    assert NoPenalty().into_domain(v) == 0
    assert NoPenalty().into_domain(0 * v) == 1
    assert L1().into_domain(v) == 0.25
    assert PNorm(2.0).into_domain(v) == pytest.approx(0.2)
    assert PNorm(math.inf).into_domain(v) == pytest.approx(1 / 7)
    assert L2().into_domain(v) == ElasticNet(0.3).into_domain(v) == 1


# p-norms and projections


@EXPONENT
def test_dual_exponents_belong_together(p):
    q = PNorm(p).dual_exponent
    assert 1 / p + 1 / q == pytest.approx(1.0)
    assert PNorm(q).dual_exponent == pytest.approx(p)


def nearest_point(v, q, radius=1.0):
    """The projection, checked: v - z is normal to the ball at z, that is, z maximises (v - z).x over its points x."""
    z = project_to_ball(v, q, radius)
    size = norm(z, q)
    assert size <= radius * (1 + 1e-13)
    if norm(v, q) <= radius * (1 - 1e-13):
        np.testing.assert_array_equal(z, v)
    elif norm(v, q) > radius * (1 + 1e-13):
        assert size == pytest.approx(radius, rel=1e-12)
    reach = radius * norm(v - z, dual(q))
    assert float((v - z) @ z) == pytest.approx(reach, rel=1e-11, abs=1e-13 * radius * norm(v, dual(q)))
    return z


@law
@given(st.sampled_from([*EXPONENTS, 1.05, 6.0, 20.0]), vectors, st.sampled_from([0.01, 1.0, 3.0]))
def test_projections_end_at_the_nearest_point(q, pair, radius):
    nearest_point(pair[0], q, radius)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1e17, 1e40, 1e300])
@pytest.mark.parametrize("q", [*EXPONENTS, 6.0])
def test_projections_of_very_short_and_very_long_vectors(q, scale):
    ties = nearest_point(scale * np.array([1.0, -1.0, 0.0]), q)
    if scale > 1:
        np.testing.assert_allclose(ties, norm([1.0, 1.0], q) ** -1 * np.array([1.0, -1.0, 0.0]), rtol=1e-12)
    nearest_point(scale * np.array([1.0, -2.0, 0.5]), q)


def test_a_projection_is_no_view_of_its_argument():
    v = np.array([0.1, 0.2])
    for q in EXPONENTS:
        project_to_ball(v, q)[:] = 5.0
        np.testing.assert_array_equal(v, [0.1, 0.2])
    assert project_to_ball(np.zeros(0), 1.5).shape == (0,)


# extremes


@pytest.mark.parametrize("penalty", CONVEX, ids=str)
def test_extreme_weights(penalty):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for scale in (1e300, 1e-300):
            w = scale * np.array([1.0, -1.0, 0.0])
            value = penalty.value(w)
            assert value >= 0
            if penalty.quadratic == 0:
                assert value == pytest.approx(dict(FORMULAS)[penalty](w / scale) * scale, rel=1e-13, abs=0)
            else:
                assert value == (np.inf if scale > 1 else pytest.approx(penalty.absolute * 2 * scale, rel=1e-13, abs=0))
            for result in (penalty.conjugate(w), penalty.into_domain(w)):
                assert not np.isnan(result)
            for result in (penalty.subgradient(w), penalty.prox(w, 0.5)):
                assert np.isfinite(result).all()
                assert result[2] == 0
        assert penalty.value(np.array([math.inf, 0.5])) in (0.0, math.inf)


# refusals


def test_the_0_norm_has_a_value_only_and_names_its_relative():
    w = np.array([0.0, 2.0, -3.0])
    assert L0().value(w) == 2
    for call in (
        lambda: L0().prox(w, 1.0),
        lambda: L0().subgradient(w),
        lambda: L0().conjugate(w),
        lambda: L0().into_domain(w),
    ):
        with pytest.raises(TypeError, match=r"0-norm is not convex.*'l1'"):
            call()


@pytest.mark.parametrize("p", [0.99, 0.0, -1.0, math.nan])
def test_exponents_below_1_are_refused(p):
    with pytest.raises(ValueError, match=f"p must be at least 1, or the penalty is not convex; got {p!r}"):
        PNorm(p)


@pytest.mark.parametrize("ratio", [-0.1, 1.1, math.nan, math.inf])
def test_ratios_outside_0_and_1_are_refused(ratio):
    with pytest.raises(ValueError, match=f"l1_ratio must lie between 0 and 1, got {ratio!r}"):
        ElasticNet(ratio)


# names and options


def test_every_name_resolves_to_its_penalty():
    assert set(PENALTIES) == {"none", "l0", "l1", "l2", "elasticnet", "pnorm"}
    assert {type(penalty) for penalty in EVERY} == set(PENALTIES.values())
    for name, kind in PENALTIES.items():
        assert resolve_penalty(name) == kind()
        assert type(resolve_penalty(name)) is kind
        assert kind.name == name
    assert resolve_penalty(None) == NoPenalty()


def test_options_reach_the_penalty_that_has_them():
    assert resolve_penalty("elasticnet", l1_ratio=0.2, p=3.0) == ElasticNet(0.2)
    assert resolve_penalty("pnorm", l1_ratio=0.2, p=3.0) == PNorm(3.0)
    assert resolve_penalty("l2", l1_ratio=0.2, p=3.0) == L2()
    with pytest.raises(ValueError, match="l1_ratio"):
        resolve_penalty("elasticnet", l1_ratio=2.0)


def test_a_penalty_resolves_to_itself():
    penalty = PNorm(3.0)
    assert resolve_penalty(penalty, p=2.0) is penalty


def test_penalties_are_equal_if_kind_and_options_are():
    assert ElasticNet(0.2) == ElasticNet(0.2)
    assert ElasticNet(0.2) != ElasticNet(0.3)
    assert ElasticNet(1.0) != L1()
    assert L1() != L2()
    assert repr(PNorm(3.0)) == "PNorm(p=3.0)"


@pytest.mark.parametrize("wrong", ["l3", "", 2, L1])
def test_unknown_penalties_are_told_the_known_ones(wrong):
    with pytest.raises(ValueError, match="None or one of elasticnet, l0, l1, l2, none, pnorm; got") as error:
        resolve_penalty(wrong)
    assert repr(wrong) in str(error.value)
