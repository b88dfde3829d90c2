"""What must not change the model: weights or repetition, the order of rows, duplicates merged, precision of X."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from tests.laws import examples

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
CLASSIFIERS = MACHINES[:2]

#: The same examples in every run, as many as fit into a few seconds.
laws = examples(
    20,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much],
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
each_machine = pytest.mark.parametrize("machine", MACHINES)


@st.composite
def problems(draw, classes=2, least=6, most=20):
    """(X, y, weight): rows on a grid, so that some repeat; labels that also serve as targets; weights 1 to 3."""
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 3))
    X = draw(npst.arrays(np.int64, (n, d), elements=st.integers(-12, 12))) / 4.0
    y = draw(npst.arrays(np.int64, n, elements=st.integers(0, classes - 1)))
    y[:classes] = np.arange(classes)
    return X, y, draw(npst.arrays(np.int64, n, elements=st.integers(1, 3)))


costs = st.sampled_from([0.1, 1.0, 10.0])


def made(machine, cost, kernel="rbf", **options):
    """A machine with a tight goal; ``cost`` says C or nu, whichever it has."""
    names = machine().get_params()
    if "C" in names and machine is not SVDD:
        options = {"C": cost, **options}
    if "nu" in names:
        options = {"nu": {0.1: 0.9, 1.0: 0.5, 10.0: 0.2}[cost], **options}
    return machine(kernel=kernel, gamma=1.0, gap_tol=1e-10, **options)


def fitted(model, X, y, sample_weight=None):
    """Fit; nu that the classes cannot balance, and optima of 0 that have no relative gap, are no concern here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="specified nu is infeasible")
        return model.fit(X, y, sample_weight=sample_weight)


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def assert_same_function(a, b, X):
    if isinstance(a, NuSVC):  # where the margin is nothing but rounding, so is the function
        assume(np.abs(a.dual_coef_).sum() < 1e4 and np.abs(b.dual_coef_).sum() < 1e4)
        assume(np.abs(scores(a, X)).max() > 1e-6)
    size = max(1.0, float(np.abs(scores(a, X)).max()))
    np.testing.assert_allclose(scores(a, X), scores(b, X), rtol=0, atol=1e-6 * size)


@each_machine
@laws
@given(problem=problems(), cost=costs)
def test_weight_is_repetition(machine, problem, cost):
    X, y, weight = problem
    weighted = fitted(made(machine, cost), X, y, weight.astype(float))
    repeated = fitted(made(machine, cost), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_function(weighted, repeated, X + 0.1)


@pytest.mark.parametrize("options", [{"gamma": "scale"}, {"class_weight": "balanced"}, {"class_weight": {0: 3.0}}])
@laws
@given(problem=problems(), cost=costs)
def test_weight_is_repetition_for_what_is_derived_from_the_data(options, problem, cost):
    X, y, weight = problem
    assume(X.std() > 0)
    weighted = fitted(made(SVC, cost).set_params(**options), X, y, weight.astype(float))
    repeated = fitted(made(SVC, cost).set_params(**options), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_function(weighted, repeated, X + 0.1)


@pytest.mark.parametrize("machine", MACHINES[:4])
@laws
@given(problem=problems(), cost=costs)
def test_weight_is_repetition_without_an_intercept(machine, problem, cost):
    X, y, weight = problem
    weighted = fitted(made(machine, cost, fit_intercept=False), X, y, weight.astype(float))
    repeated = fitted(made(machine, cost, fit_intercept=False), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_function(weighted, repeated, X + 0.1)


@pytest.mark.parametrize("machine", CLASSIFIERS)
@laws
@given(problem=problems(classes=3, least=9), cost=costs)
def test_weight_is_repetition_for_many_classes(machine, problem, cost):
    X, y, weight = problem
    options = {"decision_function_shape": "ovo"}
    weighted = fitted(made(machine, cost, **options), X, y, weight.astype(float))
    repeated = fitted(made(machine, cost, **options), np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_same_function(weighted, repeated, X + 0.1)


@each_machine
@laws
@given(problem=problems(), cost=costs, seed=st.integers(0, 2**16))
def test_order_of_rows_does_not_matter(machine, problem, cost, seed):
    X, y, weight = problem
    order = np.random.default_rng(seed).permutation(len(X))
    given_order = fitted(made(machine, cost), X, y, weight.astype(float))
    other = fitted(made(machine, cost), X[order], y[order], weight[order].astype(float))
    assert_same_function(given_order, other, X + 0.1)


@each_machine
@laws
@given(problem=problems(), cost=costs)
def test_duplicates_may_be_merged(machine, problem, cost):
    X, y, weight = problem
    keys = np.column_stack([X, y]) if machine in MACHINES[:4] else X
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    merged = np.bincount(inverse.ravel(), weights=weight)
    split = fitted(made(machine, cost), X, y, weight.astype(float))
    together = fitted(made(machine, cost), X[first], y[first], merged)
    assert_same_function(split, together, X + 0.1)


@each_machine
@laws
@given(problem=problems(), cost=costs)
def test_rows_without_weight_do_not_exist(machine, problem, cost):
    X, y, weight = problem
    weight = np.where(np.arange(len(X)) % 3 == 2, 0.0, weight)
    kept = weight > 0
    with_zeros = fitted(made(machine, cost), X, y, weight)
    without = fitted(made(machine, cost), X[kept], y[kept], weight[kept])
    assert_same_function(with_zeros, without, X + 0.1)
    assert not np.isin(with_zeros.support_, np.flatnonzero(~kept)).any()


@pytest.mark.parametrize("machine", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3, 5])
@laws
@given(data=st.data(), cost=costs)
def test_prediction_is_the_arg_max_of_the_decision_function(machine, classes, data, cost):
    X, y, weight = data.draw(problems(classes, least=2 * classes))
    model = fitted(made(machine, cost), X, y, weight.astype(float))
    Z = np.vstack([X, X + 0.3, -X])
    score = model.decision_function(Z)
    winner = (score > 0).astype(int) if classes == 2 else score.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(Z), model.classes_[winner])


@pytest.mark.parametrize("machine", MACHINES[4:])
@laws
@given(problem=problems(), cost=costs)
def test_inside_is_where_the_decision_function_is_not_negative(machine, problem, cost):
    X, _, weight = problem
    model = fitted(made(machine, cost), X, None, weight.astype(float))
    score = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), np.where(score >= 0, 1, -1))
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, score, atol=1e-12)


@each_machine
@laws
@given(problem=problems(), cost=costs)
def test_precision_of_the_rows_asked_for_does_not_matter(machine, problem, cost):
    X, y, weight = problem  # multiples of 1/4 are the same in float32
    model = fitted(made(machine, cost), X, y, weight.astype(float))
    np.testing.assert_allclose(scores(model, X.astype(np.float32)), scores(model, X), rtol=1e-9, atol=1e-9)
    trained = fitted(made(machine, cost), X.astype(np.float32), y, weight.astype(float))
    assert_same_function(model, trained, X)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@laws
@given(problem=problems())
def test_hard_margin_is_the_limit_of_large_costs(kernel, intercept, problem):
    X, y, _ = problem
    X = X + np.where(y == 1, 4.0, -4.0)[:, None]  # apart, on both sides of the origin
    hard = fitted(made(SVC, np.inf, kernel, fit_intercept=intercept), X, y)
    enough = 2.0 * float(np.abs(hard.dual_coef_).max())
    soft = fitted(made(SVC, enough, kernel, fit_intercept=intercept), X, y)
    assert_same_function(hard, soft, X + 0.1)
    assert hard.certificate_.primal == pytest.approx(soft.certificate_.primal, rel=1e-6)
    assert (np.where(y == 1, 1, -1) * hard.decision_function(X)).min() == pytest.approx(1.0, abs=1e-6)


@examples(5, derandomize=True, database=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(problem=problems())
def test_law_fails_for_weights_that_are_not_repetition(problem):
    """The comparison notices a weight that was forgotten, unless it changes nothing: most do."""
    X, y, weight = problem
    assume(len(np.unique(X, axis=0)) == len(X) and (weight == 3).sum() >= 2 and (weight == 1).sum() >= 2)
    weighted, ignored = fitted(made(SVR, 0.1), X, y, weight.astype(float)), fitted(made(SVR, 0.1), X, y)
    assume(np.abs(scores(weighted, X) - scores(ignored, X)).max() > 1e-5)
    with pytest.raises(AssertionError):
        assert_same_function(weighted, ignored, X)
