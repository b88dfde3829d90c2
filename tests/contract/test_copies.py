"""Copies, second fits and threads: the same input gives the same bits, and nothing of an earlier fit is left."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from tests.contract.estimators import NAMES, answers, data, fitted, made, over
from tests.names import name_of

#: Configurations that keep other things of their data than the default does.
CASES = [(name, {}) for name in NAMES] + [
    ("SVC", {"kernel": "linear"}),
    ("NuSVR", {"kernel": "precomputed"}),
    ("SVC", {"calibration": "sigmoid"}),
    ("SVC", {"multiclass": "crammer-singer"}),
    ("SVC", {"approximation": "nystroem", "n_components": 10}),
    ("LinearSVC", {"scale": True}),
    ("LinearSVC", {"penalty": "l1"}),
    ("LinearRegressor", {"penalty": "l1"}),
    ("KernelPegasosSVC", {"budget": 10}),
    ("KernelPerceptron", {"budget": 10, "multiclass": "ovo"}),
    ("KernelDiscriminantAnalysis", {"n_landmarks": 10}),
    ("SVCCV", {"scale": True}),
]


def bits(value):
    """A fitted attribute: of numbers every bit, of anything else what it prints."""
    if isinstance(value, dict):
        return {key: bits(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return str(value.tolist()) if value.dtype.hasobject else (value.shape, value.dtype, value.tobytes())
    return name_of(value)


def state(model):
    return {name: bits(value) for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_copies_and_second_fits_are_the_model(name, options):
    X, y = data()
    X = X @ X.T if options.get("kernel") == "precomputed" else X
    model = fitted(made(name, random_state=0, **options), X, y)
    expected, attributes = answers(model, X), sorted(state(model))
    copy = pickle.loads(pickle.dumps(model))
    assert state(copy) == state(model)
    np.testing.assert_array_equal(answers(copy, X), expected)
    fresh = clone(model)
    assert state(fresh) == {}
    assert repr(fresh) == repr(model)
    for again in (fitted(fresh, X, y), fitted(copy, X, y)):
        np.testing.assert_array_equal(answers(again, X), expected)
        assert sorted(state(again)) == attributes
    assert str(getattr(fresh, "certificate_", None)) == str(getattr(model, "certificate_", None))
    # other data: nothing of the first fit is left
    other, labels = data(30, seed=1)
    other = other @ other.T if options.get("kernel") == "precomputed" else other
    new = fitted(clone(model), other, labels)
    np.testing.assert_array_equal(answers(fitted(model, other, labels), other), answers(new, other))
    assert sorted(state(model)) == sorted(state(new))


@over(name for name in NAMES if "random_state" in inspect.signature(getattr(maxmargin, name)).parameters)
def test_seeds_are_the_only_chance(name):
    """Two fits of one seed have the same bits with two threads as well; chance comes from nowhere else."""
    X, y = data(60)
    options = {"n_jobs": 2, "random_state": 7}
    one, two = (fitted(made(name, **options), X.copy(), y.copy()) for _ in range(2))
    np.testing.assert_array_equal(answers(one, X), answers(two, X))


@over(name for name in NAMES if "n_jobs" in inspect.signature(getattr(maxmargin, name)).parameters)
def test_two_threads_say_what_one_says(name):
    X, y = data(60)
    y = y + (X[:, 2] > 0.5)  # three classes, some tasks to share
    one, two = (fitted(made(name, n_jobs=n, random_state=0), X, y) for n in (1, 2))
    np.testing.assert_allclose(answers(two, X), answers(one, X), rtol=1e-8, atol=1e-8)


def test_the_comparison_sees_a_bit_and_a_forgotten_attribute():
    X, y = data()
    model = fitted(made("SVC"), X, y)
    copy = pickle.loads(pickle.dumps(model))
    copy.dual_coef_[0, 0] = np.nextafter(copy.dual_coef_[0, 0], np.inf)
    assert state(copy) != state(model)
    model.left_over_ = 1
    assert sorted(state(model)) != sorted(state(copy))
