"""Each loss against its formula; its slopes, conjugate and prox against what defines them; its flags against facts."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

from maxmargin.losses import (
    LOSSES,
    Absolute,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Huber,
    Logistic,
    PerceptronLoss,
    Pinball,
    Sigmoid,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    ZeroOne,
    resolve_loss,
)
from tests.laws import examples

law = examples(200, derandomize=True, database=None)


def exp(a):
    return math.exp(a) if a < 709 else math.inf


def huber(delta):
    def value(t, y):
        r = abs(t - y)
        return r * r / 2 if r <= delta else delta * (r - delta / 2)

    return value


def tube(eps, power):
    def value(t, y):
        over = max(0.0, abs(t - y) - eps)
        return over if power == 1 else over * over

    return value


def pinball(q):
    return lambda t, y: max(q * (t - y), (q - 1) * (t - y))


FORMULAS = [
    (ZeroOne(), lambda t, y: 1.0 if t * y <= 0 else 0.0),
    (Sigmoid(), lambda t, y: 1 / (1 + exp(t * y))),
    (Hinge(), lambda t, y: max(0.0, 1 - t * y)),
    (SquaredHinge(), lambda t, y: max(0.0, 1 - t * y) * max(0.0, 1 - t * y)),
    (PerceptronLoss(), lambda t, y: max(0.0, -t * y)),
    (Logistic(), lambda t, y: (max(0.0, -t * y) + math.log1p(exp(-abs(t * y)))) / math.log(2)),
    (Exponential(), lambda t, y: exp(-t * y)),
    (Squared(), lambda t, y: (t - y) * (t - y)),
    (Absolute(), lambda t, y: abs(t - y)),
    (EpsilonInsensitive(), tube(0.0, 1)),
    (EpsilonInsensitive(0.25), tube(0.25, 1)),
    (SquaredEpsilonInsensitive(), tube(0.0, 2)),
    (SquaredEpsilonInsensitive(0.25), tube(0.25, 2)),
    (Huber(), huber(1.35)),
    (Huber(0.5), huber(0.5)),
    (Pinball(), pinball(0.5)),
    (Pinball(0.2), pinball(0.2)),
]
EVERY = [loss for loss, _ in FORMULAS]
CONVEX = [loss for loss in EVERY if loss.convex]
SMOOTH = [loss for loss in EVERY if loss.smooth]
EVERY_LOSS = pytest.mark.parametrize("loss", EVERY, ids=str)
CONVEX_LOSS = pytest.mark.parametrize("loss", CONVEX, ids=str)
SMOOTH_LOSS = pytest.mark.parametrize("loss", SMOOTH, ids=str)


def targets(loss):
    return [-1.0, 1.0] if loss.of_margin else [-2.5, -1.0, 0.0, 0.75, 1.0]


def kinks(loss, t):
    """Scores where the formula changes."""
    if loss.of_margin:
        return [0.0, t]
    width = getattr(loss, "epsilon", getattr(loss, "delta", 0.0))
    return [t, t - width, t + width]


def scores(loss, t, step=0.125):
    """A grid on which every kink lies."""
    return np.unique(np.concatenate([np.arange(-4.0, 4.0 + step, step), kinks(loss, t)]))


def away_from_kinks(loss, t, by=0.01):
    y = scores(loss, t)
    return y[np.min(np.abs(y[:, None] - np.array(kinks(loss, t))), axis=1) > by]


@st.composite
def rows(draw, losses):
    """A loss, a target it knows, and a score, often on a grid that meets the kinks."""
    loss = draw(st.sampled_from(losses))
    target = st.sampled_from([-1.0, 1.0]) if loss.of_margin else st.integers(-24, 24).map(lambda i: i / 8)
    return loss, draw(target), draw(score)


score = st.integers(-80, 80).map(lambda i: i / 16) | st.floats(-30, 30)


# values


@pytest.mark.parametrize(("loss", "formula"), FORMULAS, ids=lambda v: "" if callable(v) else None)
def test_a_loss_is_its_formula(loss, formula):
    for t in targets(loss):
        y = scores(loss, t)
        value = loss.value(np.full(len(y), t), y)
        np.testing.assert_allclose(value, [formula(t, float(at)) for at in y], rtol=1e-13, atol=1e-15)
        assert value.dtype == np.float64
        assert value.shape == y.shape


def test_the_usual_values_at_the_usual_points():
    assert [float(loss.value(1, 0)) for loss in (ZeroOne(), Hinge(), SquaredHinge(), Logistic(), Exponential())] == [
        1
    ] * 5
    assert float(PerceptronLoss().value(-1, 2)) == 2
    assert float(Hinge().value(-1, 2)) == 3
    assert float(Sigmoid().value(1, 0)) == 0.5
    assert float(Pinball(0.9).value(1, 0)) == 0.9
    assert float(Pinball(0.9).value(0, 1)) == pytest.approx(0.1)


def test_the_mean_of_pinball_losses_is_least_at_the_quantile():
    t, at = np.arange(1.0, 12.0), np.arange(1.0, 12.0)
    means = [Pinball(0.8).value(t, np.full(11, y)).mean() for y in at]
    assert at[np.argmin(means)] == 9.0


@EVERY_LOSS
def test_numbers_lists_and_integers_are_as_good_as_arrays(loss):
    t, y = np.array([1.0, -1.0, 1.0]), np.array([2.0, 1.0, -3.0])
    for method in (loss.value, loss.subgradient):
        expected = method(t, y)
        np.testing.assert_array_equal(method([1, -1, 1], [2, 1, -3]), expected)
        np.testing.assert_array_equal([float(method(a, b)) for a, b in zip(t, y, strict=True)], expected)
        np.testing.assert_array_equal(method(1.0, y), method(np.ones(3), y))


@EVERY_LOSS
def test_losses_of_the_margin_know_nothing_else_and_others_know_the_difference_alone(loss):
    y = np.linspace(-3.0, 3.0, 49)
    if loss.of_margin:
        np.testing.assert_array_equal(loss.value(1.0, y), loss.value(-1.0, -y))
    else:
        np.testing.assert_array_equal(loss.value(1.0, y), loss.value(3.0, y + 2.0))


# slopes


@law
@given(rows(CONVEX), score)
def test_a_line_with_the_slope_stays_below_the_loss(row, z):
    loss, t, y = row
    line = loss.value(t, y) + loss.subgradient(t, y) * (z - y)
    assert line <= loss.value(t, z) + 1e-12 * max(1.0, abs(float(line)))


@EVERY_LOSS
def test_the_slope_is_the_derivative(loss):
    h = 1e-6
    for t in targets(loss):
        y = away_from_kinks(loss, t)
        numeric = (loss.value(t, y + h) - loss.value(t, y - h)) / (2 * h)
        np.testing.assert_allclose(loss.subgradient(t, y), numeric, rtol=1e-7, atol=1e-8)


@SMOOTH_LOSS
def test_the_curvature_is_the_derivative_of_the_slope(loss):
    h = 1e-6
    for t in targets(loss):
        y = away_from_kinks(loss, t)
        numeric = (loss.subgradient(t, y + h) - loss.subgradient(t, y - h)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(t, y), numeric, rtol=1e-7, atol=1e-8)


@SMOOTH_LOSS
def test_the_curvature_at_a_kink_of_the_slope_is_one_of_its_sides_or_between(loss):
    h = 1e-9
    for t in targets(loss):
        y = np.array(kinks(loss, t))
        left, right = loss.curvature(t, y - h), loss.curvature(t, y + h)
        at, slack = loss.curvature(t, y), 1e-8
        assert np.all((at >= np.minimum(left, right) - slack) & (at <= np.maximum(left, right) + slack))


@pytest.mark.parametrize("loss", [loss for loss in EVERY if not loss.smooth], ids=str)
def test_losses_with_kinks_have_no_curvature(loss):
    with pytest.raises(TypeError, match=f"{loss.name} loss has no second derivative: it is not smooth"):
        loss.curvature(1.0, 0.5)


def test_a_perfect_fit_is_curved_where_nothing_is_ignored():
    assert Squared().curvature(3.0, 3.0) == 2
    assert SquaredEpsilonInsensitive().curvature(3.0, 3.0) == 2
    assert SquaredEpsilonInsensitive(0.5).curvature(3.0, 3.0) == 0
    assert Huber().curvature(3.0, 3.0) == 1


def test_the_hinge_is_flat_at_its_kink():
    for t in (-1.0, 1.0):
        assert Hinge().subgradient(t, t) == 0
        assert Hinge().subgradient(t, t * (1 - 1e-15)) == -t
        assert Hinge().subgradient(t, t * (1 + 1e-15)) == 0


def test_a_score_of_zero_is_a_mistake_of_the_perceptron():
    for t in (-1.0, 1.0):
        assert PerceptronLoss().subgradient(t, 0.0) == -t
        assert PerceptronLoss().subgradient(t, -0.0) == -t
        assert PerceptronLoss().subgradient(t, t * 1e-300) == 0
        assert PerceptronLoss().value(t, 0.0) == 0


@pytest.mark.parametrize("loss", [Absolute(), EpsilonInsensitive(0.25), Pinball(0.2)], ids=str)
def test_other_kinks_have_slope_zero(loss):
    assert [float(loss.subgradient(1.0, y)) for y in kinks(loss, 1.0)] == [0.0] * 3


# subdifferentials


def one_sided(loss, t, y, h):
    """(left, right) derivative by differences of values."""
    at = loss.value(t, y)
    return (at - loss.value(t, y - h)) / h, (loss.value(t, y + h) - at) / h


@CONVEX_LOSS
def test_the_subdifferential_of_a_convex_loss_lies_between_its_one_sided_derivatives(loss):
    for t in targets(loss):
        y = np.clip(scores(loss, t), -3.0, 3.0)
        low, high = loss.subdifferential(t, y)
        left, right = one_sided(loss, t, y, 2.0**-20)  # halves of the grid, so that y + h is exact
        np.testing.assert_allclose(low, left, atol=4e-5)
        np.testing.assert_allclose(high, right, atol=4e-5)
        assert low.shape == high.shape == y.shape


@law
@given(rows(CONVEX), st.floats(0, 1), score)
def test_lines_with_every_slope_between_the_ends_stay_below_the_loss(row, at, z):
    loss, t, y = row
    low, high = (float(end) for end in loss.subdifferential(t, y))
    assert low <= float(loss.subgradient(t, y)) <= high
    slope = low + at * (high - low)
    line = float(loss.value(t, y)) + slope * (z - y)
    assert line <= loss.value(t, z) + 1e-12 * max(1.0, abs(line))
    value, conjugate = float(loss.value(t, y)), float(loss.conjugate(t, np.clip(slope, *loss.dual_bounds(t))))
    assert abs(value + conjugate - slope * y) <= 1e-12 * (1 + value + abs(conjugate) + abs(slope * y))


@law
@given(rows(CONVEX))
def test_a_line_with_a_slope_beyond_the_ends_crosses_the_loss(row):
    loss, t, y = row
    y = round(16 * y) / 16  # so that a kink is at y or far away
    for slope, z in zip(loss.subdifferential(t, y), (y - 1e-4, y + 1e-4), strict=True):
        beyond = float(slope) + np.sign(z - y) * 1e-2 * max(1.0, abs(float(slope)))
        assert loss.value(t, y) + beyond * (z - y) > loss.value(t, z)


@EVERY_LOSS
def test_the_ends_differ_at_kinks_and_nowhere_else(loss):
    for t in targets(loss):
        y = scores(loss, t)
        low, high = loss.subdifferential(t, y)
        if loss.smooth:
            np.testing.assert_array_equal(low, high)
            np.testing.assert_array_equal(low, loss.subgradient(t, y))
        elif loss.convex:
            left, right = one_sided(loss, t, y, 2.0**-20)
            np.testing.assert_array_equal(low < high, np.abs(left - right) > 0.1)


def test_kinks_by_hand():
    cases = [
        (Hinge(), 1.0, 1.0, (-1.0, 0.0)),
        (Hinge(), -1.0, -1.0, (0.0, 1.0)),
        (PerceptronLoss(), 1.0, 0.0, (-1.0, 0.0)),
        (Absolute(), 2.0, 2.0, (-1.0, 1.0)),
        (EpsilonInsensitive(0.25), 1.0, 1.25, (0.0, 1.0)),
        (EpsilonInsensitive(0.25), 1.0, 0.75, (-1.0, 0.0)),
        (EpsilonInsensitive(0.25), 1.0, 1.0, (0.0, 0.0)),
        (EpsilonInsensitive(0.0), 1.0, 1.0, (-1.0, 1.0)),
        (Pinball(0.2), 1.0, 1.0, (-0.2, 0.8)),
    ]
    for loss, t, y, ends in cases:
        assert tuple(map(float, loss.subdifferential(t, y))) == ends


def test_no_line_through_the_top_of_the_step_stays_below_it():
    low, high = ZeroOne().subdifferential([1, 1, 1, -1], [-1.0, 0.0, 1e-300, 0.0])
    np.testing.assert_array_equal(low, [0.0, np.nan, 0.0, np.nan])
    np.testing.assert_array_equal(high, low)


# flags


def is_convex(loss):
    """Whether the middle is never above the mean of the ends."""
    for t in targets(loss):
        a, b = np.meshgrid(scores(loss, t), scores(loss, t))
        mean = (loss.value(t, a) + loss.value(t, b)) / 2
        if np.any(loss.value(t, (a + b) / 2) > mean * (1 + 1e-12) + 1e-12):
            return False
    return True


def largest_break(loss, h=1e-6):
    """The largest difference between the slope on the right and on the left, from values alone."""
    found = 0.0
    for t in targets(loss):
        y = scores(loss, t)
        right, left = loss.value(t, y + h) - loss.value(t, y), loss.value(t, y) - loss.value(t, y - h)
        found = max(found, float(np.max(np.abs(right - left))) / h)
    return found


def bounds_the_error(loss):
    for t in (-1.0, 1.0):
        y = np.concatenate([scores(loss, t), [1e-12, -1e-12, 1e-300, -1e-300]])
        if np.any(loss.value(t, y) < (t * y <= 0)):
            return False
    return True


@EVERY_LOSS
def test_convex_is_a_fact(loss):
    assert is_convex(loss) == loss.convex


@EVERY_LOSS
def test_smooth_is_a_fact(loss):
    assert (largest_break(loss) < 1e-3) == loss.smooth
    if loss.smooth:
        for t in targets(loss):
            y = scores(loss, t)
            np.testing.assert_allclose(loss.subgradient(t, y + 1e-9), loss.subgradient(t, y - 1e-9), atol=1e-6)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_bounding_the_error_is_a_fact(name):
    facts = [bounds_the_error(loss) for loss in EVERY if loss.name == name]
    assert facts
    assert all(facts) == LOSSES[name].bounds_zero_one


# conjugates


@law
@given(rows(CONVEX), st.floats(0, 1))
def test_fenchel_and_young(row, at):
    loss, t, y = row
    low, high = (float(np.clip(bound, -50, 50)) for bound in loss.dual_bounds(t))
    u = low + at * (high - low)
    conjugate = float(loss.conjugate(t, u))
    assert np.isfinite(conjugate)
    value = float(loss.value(t, y))
    assert value + conjugate - u * y >= -1e-12 * (1 + value + abs(conjugate) + abs(u * y))


@law
@given(rows(CONVEX))
def test_fenchel_and_young_are_equal_at_the_slope(row):
    loss, t, y = row
    u = float(loss.subgradient(t, y))
    value, conjugate = float(loss.value(t, y)), float(loss.conjugate(t, u))
    assert abs(value + conjugate - u * y) <= 1e-12 * (1 + value + abs(conjugate) + abs(u * y))
    low, high = loss.dual_bounds(t)
    assert low <= u <= high


@CONVEX_LOSS
def test_the_conjugate_is_the_highest_point_of_the_difference(loss):
    for t in targets(loss):
        y = np.unique(np.concatenate([np.arange(-20.0, 20.0, 1e-3), kinks(loss, t)]))
        low, high = (np.clip(bound, -6.0, 6.0) for bound in loss.dual_bounds(t))
        u = low + np.linspace(0.05, 0.95, 7) * (high - low)
        highest = np.max(u[:, None] * y - loss.value(t, y), axis=1)
        np.testing.assert_allclose(loss.conjugate(t, u), highest, rtol=0, atol=1e-5)


@CONVEX_LOSS
def test_the_conjugate_is_finite_at_the_ends_of_its_domain_and_infinite_beyond(loss):
    for t in targets(loss):
        low, high = (float(bound) for bound in loss.dual_bounds(t))
        assert low < high
        for end, outwards in ((low, -1.0), (high, 1.0)):
            if np.isfinite(end):
                assert np.isfinite(loss.conjugate(t, end))
                assert loss.conjugate(t, end + outwards * 1e-9) == np.inf
                assert loss.conjugate(t, end * (1 + 1e-14)) < np.inf  # rounding is forgiven
                assert loss.conjugate(t, end + outwards * 10.0) == np.inf
            else:
                assert np.isfinite(loss.conjugate(t, outwards * 1e100))


@CONVEX_LOSS
def test_bounds_have_the_shape_of_the_targets(loss):
    t = np.array([[1.0, -1.0, 1.0]])
    low, high = loss.dual_bounds(t)
    assert low.shape == high.shape == t.shape
    assert loss.conjugate(t, np.zeros_like(t)).shape == t.shape


# prox


@CONVEX_LOSS
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_the_prox_is_what_a_minimiser_finds(loss, step):
    for t in targets(loss):
        for y in (-3.25, -0.5, 0.0, 1.1, 2.5):
            z = float(loss.prox(t, y, step))

            def cost(at, t=t, y=y):
                return float(loss.value(t, at)) + (at - y) ** 2 / (2 * step)

            found = minimize_scalar(cost, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10})
            assert cost(z) <= found.fun * (1 + 1e-13) + 1e-15
            assert z == pytest.approx(found.x, abs=1e-6)


@law
@given(rows(CONVEX), st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 30.0, 1e3, 1e6]), st.sampled_from([1.0, 30.0]))
def test_the_prox_moves_along_a_slope_of_the_loss_where_it_arrives(row, step, scale):
    loss, t, y = row
    y = y * scale
    z = float(loss.prox(t, y, step))
    rounding = 4e-16 * (abs(y) + abs(z)) / step
    u = float(np.clip((y - z) / step, *loss.dual_bounds(t)))
    assert u == pytest.approx((y - z) / step, abs=rounding + 1e-12)
    value, conjugate = float(loss.value(t, z)), float(loss.conjugate(t, u))
    size = 1 + value + abs(conjugate) + abs(u * z)
    assert value + conjugate - u * z <= 1e-11 * size + rounding * (1 + abs(z))


@pytest.mark.parametrize("t", [-1.0, 1.0])
def test_the_prox_without_closed_form_arrives_from_anywhere(t):
    """Newton's method alone goes back and forth between margins -50 and 50 here."""
    m, step = np.meshgrid([-1e8, -1e3, -50.0, -5.0, 0.0, 3.0, 50.0, 1e3, 1e8], [1e-8, 0.1, 69.0, 1e4, 1e12])
    s = step / math.log(2)
    r = t * Logistic().prox(t, t * m, step)
    rounding = 1e-15 * (1 + np.abs(r)) * (np.abs(r) + np.abs(m) + s * expit(-r))
    assert np.all(np.abs(r - m - s * expit(-r)) <= rounding)
    r = t * Exponential().prox(t, t * m, step)
    assert np.all(r >= m)
    large = r - m > 1e-3 * (1 + np.abs(m))  # else the difference has no correct digits
    np.testing.assert_allclose(np.log((r - m)[large]) + r[large], np.log(step[large]), rtol=0, atol=1e-11)
    np.testing.assert_allclose(r[~large], (m + step * np.exp(-np.maximum(m, -1.0)))[~large], rtol=1e-2, atol=1e-2)


def test_steps_may_differ_by_row():
    t, y, step = np.array([1.0, -1.0, 1.0]), np.array([-2.0, -2.0, 0.5]), np.array([0.1, 1.0, 5.0])
    for loss in CONVEX:
        each = [float(loss.prox(*row)) for row in zip(t, y, step, strict=True)]
        np.testing.assert_allclose(loss.prox(t, y, step), each, rtol=1e-15)


# what does not exist


@pytest.mark.parametrize("loss", [ZeroOne(), Sigmoid()], ids=str)
def test_losses_that_are_not_convex_say_so(loss):
    for what, call in [
        ("conjugate", lambda: loss.conjugate(1.0, 0.5)),
        ("conjugate", lambda: loss.dual_bounds(1.0)),
        ("prox", lambda: loss.prox(1.0, 0.5, 1.0)),
    ]:
        with pytest.raises(TypeError, match=f"the {loss.name} loss has no {what}: it is not convex"):
            call()


# extremes

EXTREME = [1e300, -1e300, math.inf, -math.inf, 1e-300, -1e-300, 0.0]


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(("loss", "formula"), FORMULAS, ids=lambda v: "" if callable(v) else None)
def test_extreme_scores_have_their_values(loss, formula):
    for t in targets(loss):
        expected = [formula(t, y) for y in EXTREME]
        assert not np.isnan(expected).any()
        np.testing.assert_allclose(loss.value(t, np.array(EXTREME)), expected, rtol=1e-14, atol=0)
        np.testing.assert_allclose([float(loss.value(t, y)) for y in EXTREME], expected, rtol=1e-14, atol=0)


@pytest.mark.usefixtures("no_warnings")
@EVERY_LOSS
def test_extreme_scores_have_the_extreme_slopes(loss):
    for t in targets(loss):
        assert not np.isnan(loss.subgradient(t, np.array(EXTREME))).any()
        low, high = loss.dual_bounds(t) if loss.convex else (0.0, 0.0)
        assert loss.subgradient(t, -math.inf) == low
        assert loss.subgradient(t, math.inf) == high
        if loss.smooth:
            assert not np.isnan(loss.curvature(t, np.array(EXTREME))).any()
            if np.isfinite(low):
                assert loss.curvature(t, -math.inf) == 0


@pytest.mark.usefixtures("no_warnings")
@CONVEX_LOSS
def test_extreme_slopes_have_a_conjugate(loss):
    for t in targets(loss):
        low, high = loss.dual_bounds(t)
        conjugate = loss.conjugate(t, np.array(EXTREME))
        assert not np.isnan(conjugate).any()
        assert np.all(conjugate[(np.array(EXTREME) < low) | (np.array(EXTREME) > high)] == np.inf)
        assert conjugate[-1] == 0  # no loss is negative, and each comes as near to 0 as one likes


@pytest.mark.usefixtures("no_warnings")
@CONVEX_LOSS
def test_extreme_scores_have_a_prox(loss):
    for t in targets(loss):
        for y in (1e300, -1e300, 1e-300, -1e-300):
            z = loss.prox(t, y, 0.5)
            assert np.isfinite(z)
            if np.isfinite(loss.dual_bounds(t)).all():
                assert abs(z - y) <= 1.0 + 1e-15 * abs(y)
            elif isinstance(loss, Squared):
                np.testing.assert_allclose(z, (y + t) / 2, rtol=1e-14, atol=0)


def test_small_slopes_keep_their_digits():
    """1/2 (1 + tanh) would round them to 0."""
    for t in (-1.0, 1.0):
        assert float(Sigmoid().value(t, 50 * t)) == pytest.approx(math.exp(-50), rel=1e-13, abs=0)
        assert float(Logistic().subgradient(t, 50 * t)) == pytest.approx(
            -t * math.exp(-50) / math.log(2), rel=1e-13, abs=0
        )
        assert float(Logistic().curvature(t, 50 * t)) == pytest.approx(math.exp(-50) / math.log(2), rel=1e-13, abs=0)


# names and options


def test_every_name_resolves_to_its_loss():
    assert len(LOSSES) == 13
    assert {type(loss) for loss in EVERY} == set(LOSSES.values())
    for name, kind in LOSSES.items():
        assert type(resolve_loss(name)) is kind
        assert resolve_loss(name) == kind()
        assert kind.name == name


def test_options_reach_the_loss_that_has_them():
    assert resolve_loss("epsilon_insensitive", epsilon=0.3, delta=2.0, quantile=0.1) == EpsilonInsensitive(0.3)
    assert resolve_loss("squared_epsilon_insensitive", epsilon=0.3).epsilon == 0.3
    assert resolve_loss("huber", epsilon=0.3, delta=2.0).delta == 2.0
    assert resolve_loss("pinball", quantile=0.1).quantile == 0.1
    assert resolve_loss("hinge", epsilon=0.3) == Hinge()


def test_a_loss_resolves_to_itself():
    loss = Huber(0.3)
    assert resolve_loss(loss) is loss
    assert resolve_loss(loss, delta=5.0) is loss


def test_losses_are_equal_if_kind_and_options_are():
    assert EpsilonInsensitive(0.2) == EpsilonInsensitive(0.2)
    assert EpsilonInsensitive(0.2) != EpsilonInsensitive(0.3)
    assert EpsilonInsensitive(0.2) != SquaredEpsilonInsensitive(0.2)
    assert Absolute() != Hinge()
    assert len({Huber(1.0), Huber(1.0), Huber(2.0), Hinge(), Hinge()}) == 3
    assert repr(Huber(2.0)) == "Huber(delta=2.0)"
    with pytest.raises(AttributeError):
        Huber(1.0).delta = 2.0


@pytest.mark.parametrize("wrong", ["hing", "", None, 3, Hinge])
def test_unknown_losses_are_told_the_known_ones(wrong):
    with pytest.raises(ValueError, match=r"one of absolute, .*hinge, .*zero_one; got") as error:
        resolve_loss(wrong)
    assert repr(wrong) in str(error.value)


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        *((kind, value, "epsilon must be non-negative and finite")
          for kind in (EpsilonInsensitive, SquaredEpsilonInsensitive) for value in (-0.1, math.nan, math.inf)),
        *((Huber, value, "delta must be positive and finite") for value in (0.0, -1.0, math.nan, math.inf)),
        *((Pinball, value, "quantile must lie strictly between 0 and 1") for value in (0.0, 1.0, -0.1, 1.1, math.nan)),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(kind, wrong, message):
    with pytest.raises(ValueError, match=message):
        kind(wrong)
    option = next(iter(kind().__dict__))
    with pytest.raises(ValueError, match=f"{message}, got {wrong!r}"):
        resolve_loss(kind.name, **{option: wrong})
