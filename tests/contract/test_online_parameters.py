"""Every constructor parameter of the machines that learn online, and of least squares, flipped: something changes."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris

import maxmargin
from tests.contract.estimators import answers, fitted, made, over
from tests.contract.test_copies import state

ONLINE = ["PegasosSVC", "SGDSVC", "Perceptron", "KernelPegasosSVC", "KernelPerceptron"]
MACHINES = [*ONLINE, "KernelLeastSquares"]

#: parameter: (what else is set, its other value).
FLIPS = {
    "lam": ({}, 0.1),
    "batch_size": ({}, 8),
    "project": ({"lam": 0.5, "offset": 0.0, "max_iter": 1}, True),
    "offset": ({}, 3.0),
    "max_iter": ({}, 2),
    "steps": ({}, 30),
    "tol": ({}, 0.5),
    "order": ({}, "given"),
    "average": ({}, False),
    "class_weight": ({}, {0: 5.0}),
    "scale": ({}, True),
    "penalty": ({}, "l2"),
    "alpha": ({"penalty": "l2"}, 0.05),
    "l1_ratio": ({"penalty": "elasticnet", "alpha": 0.05}, 0.9),
    "time_limit": ({}, 1e-9),
    "certify": ({}, False),
    "warm_start": ({}, True),
    "verbose": ({}, 1),
    "random_state": ({}, 1),
    "multiclass": ({}, "ovo"),
    "code_words": ({"multiclass": "code"}, "exhaustive"),
    "calibration": ({}, "sigmoid"),
    "steps_per_season": ({}, 7),
    "schedule": ({}, (0.5, 2.0)),
    "error_goal": ({"validation_fraction": 0.3}, 0.9),
    "patience": ({"validation_fraction": 0.3, "max_iter": 50}, 1),
    "validation_fraction": ({}, 0.3),
    "init": ({"max_iter": 1}, "random"),
    "shuffle": ({}, False),
    "bound": ({}, True),
    "kernel": ({}, "linear"),
    "degree": ({"kernel": "poly"}, 2),
    "gamma": ({}, 0.9),
    "coef0": ({"kernel": "poly"}, 1.0),
    "budget": ({}, 10),
    "maintenance": ({"budget": 10}, "remove"),
}
#: Least squares has parameters of the same names with other meanings.
OF_LEAST_SQUARES = {
    "lam": ({}, 0.1),
    "solver": ({"lam": 0.1}, "cg"),
    "rank_tol": ({"lam": 0.0}, 0.5),
    "n_landmarks": ({}, 10),
    "landmarks": ({"n_landmarks": 10}, "k-means++"),
    "leave_one_out": ({}, True),
    "tol": ({"solver": "cg", "lam": 0.1}, 0.5),
    "max_iter": ({"solver": "cg", "tol": 1e-14}, 1),
    "random_state": ({"n_landmarks": 10}, 1),
}
#: What more threads and less memory do is seen in test_copies.py and in tests/estimators; there is one device.
ELSEWHERE = {"n_jobs", "cache_size", "device"}
PARAMETERS = [(name, key) for name in MACHINES for key in inspect.signature(getattr(maxmargin, name)).parameters]


def observed(name, options, capsys):
    """Everything a user can see of two fits in a row: scores, attributes, output."""
    X, y = (part[::3] for part in load_iris(return_X_y=True))
    X = X[:, :2] + 0.3 * np.random.default_rng(0).normal(size=(len(X), 2))
    capsys.readouterr()
    model = made(name, **{"random_state": 0, **options})
    first = fitted(model, X, y)
    seen = [answers(first, X).tobytes(), getattr(first, "n_iter_", None)]
    again = fitted(model, X, y)
    attributes = {key: value for key, value in state(again).items() if key != "history_"}
    return [*seen, answers(again, X).tobytes(), attributes, capsys.readouterr().out != ""]


@pytest.mark.parametrize(("name", "key"), PARAMETERS)
def test_flipped_parameter_has_an_effect(name, key, capsys):
    if key in ELSEWHERE:
        return
    if key == "fit_intercept":
        base, other = {}, not made(name).fit_intercept
    else:
        base, other = (OF_LEAST_SQUARES if name == "KernelLeastSquares" else {}).get(key) or FLIPS[key]
    before = observed(name, base, capsys)
    assert observed(name, {**base, key: other}, capsys) != before


@over(MACHINES)
def test_same_parameters_have_no_effect(name, capsys):
    assert observed(name, {}, capsys) == observed(name, {}, capsys)
