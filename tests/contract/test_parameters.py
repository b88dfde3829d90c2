"""Every constructor parameter, flipped, has an effect that can be seen, or raises."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import maxmargin.estimators._proof as proof
from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from maxmargin.backends import KernelGram

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]

#: Kept for compatibility, without effect: 'auto' and 'cpu' are one device for now.
WITHOUT_EFFECT = {"shrinking": [True, False], "device": ["auto", "cpu"]}

#: parameter: (what else is set, its other value).
FLIPS = {
    "C": ({}, 0.3),
    "nu": ({}, 0.2),
    "epsilon": ({}, 0.5),
    "kernel": ({}, "linear"),
    "scale": ({}, True),
    "degree": ({"kernel": "poly"}, 2),
    "gamma": ({}, "auto"),
    "coef0": ({"kernel": "poly"}, 1.0),
    "probability": ({}, True),
    "tol": ({}, 1.0),
    "cache_size": ({}, 3.0),
    "class_weight": ({}, {0: 0.1}),
    "verbose": ({}, True),
    "max_iter": ({}, 3),
    "decision_function_shape": ({}, "ovo"),
    "break_ties": ({"decision_function_shape": "ovo"}, True),
    "random_state": ({"random_state": 0, "calibration": "sigmoid"}, 1),
    "fit_intercept": ({}, False),
    "solver": ({}, "interior-point"),
    "multiclass": ({}, "ovr"),
    "code_words": ({"multiclass": "code"}, "exhaustive"),
    "calibration": ({}, "isotonic"),
    "gap_tol": ({}, 0.5),
    "time_limit": ({"solver": "dual-gradient", "gap_tol": 1e-13, "max_iter": 100}, 1e-6),
    "certify": ({}, False),
    "n_jobs": ({"n_jobs": 1}, 2),
    "warm_start": ({}, True),
    "approximation": ({"n_components": 10}, "nystroem"),
    "n_components": ({"approximation": "nystroem", "n_components": 10}, 20),
}

#: Their other values are errors.
RAISING = {"break_ties"}

WITH_PARAMETERS = [
    (machine, name)
    for machine in MACHINES
    for name in inspect.signature(machine).parameters
    if name not in WITHOUT_EFFECT
]


def data():
    """Three overlapping classes whose labels also serve as targets."""
    X, y = load_iris(return_X_y=True)
    return X[:, :2] + 0.3 * np.random.default_rng(0).normal(size=(len(X), 2)), y


def observed(machine, options, monkeypatch, capsys):
    """Everything a user can see of two fits in a row: scores, attributes, output, and the resources asked for."""
    X, y = data()
    asked = []
    original = KernelGram.__init__

    def spied(self, *args, **kwargs):
        asked.append((kwargs.get("cache_bytes"), kwargs.get("threads")))
        original(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(KernelGram, "__init__", spied)
        patch.setattr(proof, "CHEAP_VALUES", 0)  # certificates by a fresh pass, or by sampling, as for many rows
        patch.setattr(proof, "AFFORDABLE_VALUES", 0)
        patch.setattr(proof, "SAMPLE", 40)
        capsys.readouterr()
        model = machine(**options).fit(X, y)
        first = np.sum(model.n_iter_)
        model.fit(X, y)
    score = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    certificate = getattr(model, "certificate_", None)
    seen = [score.shape, score.tobytes(), first, np.sum(model.n_iter_), model.predict(X).tobytes(), str(certificate)]
    seen += [hasattr(model, "predict_proba")]
    return [*seen, len(model.history_), getattr(certificate, "error_bound", 0), asked, capsys.readouterr().out != ""]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("machine", "name"), WITH_PARAMETERS, ids=lambda value: getattr(value, "__name__", value))
def test_flipped_parameter_has_an_effect_or_raises(machine, name, monkeypatch, capsys):
    assert name in FLIPS, f"{name} is new: say here how to see its effect, or that it has none"
    base, other = FLIPS[name]
    base = {k: v for k, v in base.items() if k in inspect.signature(machine).parameters}
    before = observed(machine, base, monkeypatch, capsys)
    if name in RAISING:
        with pytest.raises(ValueError, match=name):
            observed(machine, {**base, name: other}, monkeypatch, capsys)
        return
    after = observed(machine, {**base, name: other}, monkeypatch, capsys)
    assert before != after


@pytest.mark.parametrize("machine", MACHINES)
def test_same_parameters_have_no_effect(machine, monkeypatch, capsys):
    """The comparison above sees no difference where there is none."""
    assert observed(machine, {}, monkeypatch, capsys) == observed(machine, {}, monkeypatch, capsys)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_parameter_kept_for_compatibility_changes_nothing(machine, name, monkeypatch, capsys):
    results = [observed(machine, {name: value}, monkeypatch, capsys) for value in WITHOUT_EFFECT[name]]
    assert results[0] == results[1]


@pytest.mark.parametrize("machine", MACHINES)
def test_values_that_make_no_sense_are_named(machine):
    X, y = data()
    wrong = {
        "C": [-1.0, 0.0],
        "nu": [0.0, 1.5],
        "epsilon": [-0.1],
        "kernel": ["rbff", 3],
        "degree": [-1],
        "gamma": [-1.0, "scales"],
        "tol": [0.0, -1.0],
        "cache_size": [0, "much"],
        "max_iter": [-2, 1.5],
        "solver": ["smo"],
        "gap_tol": [0.0],
        "time_limit": [0.0, -1.0],
        "certify": [True, "perhaps"],
        "device": ["cuda:0", "tpu"],
        "fit_intercept": ["yes"],
        "class_weight": ["even"],
        "decision_function_shape": ["ova"],
        "multiclass": ["ova"],
        "code_words": ["long", 3],
        "calibration": ["platt", True],
        "warm_start": ["yes"],
        "n_jobs": [1.5, "all"],
    }
    for name in set(wrong) & set(machine().get_params()):
        for value in wrong[name]:
            with pytest.raises(ValueError, match=name):
                machine(**{name: value}).fit(X, y)
            with pytest.raises(TypeError):
                machine(**{name + "s": value})


@pytest.mark.parametrize("machine", [SVR, NuSVR])
def test_regression_has_no_hard_margin(machine):
    X, y = data()
    with pytest.raises(ValueError, match="C"):
        machine(C=np.inf).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_kernel_of_every_kind_gives_the_same_model(machine):
    from sklearn.gaussian_process.kernels import RBF

    from maxmargin.kernels import Gaussian, Precomputed

    X, y = data()
    K = rbf_kernel(X, gamma=2.0)
    kernels = [
        "rbf",
        Gaussian(gamma=2.0),
        Gaussian(sigma=0.5),
        Gaussian(),
        RBF(0.5),
        lambda A, B: rbf_kernel(A, B, gamma=2.0),
    ]
    models = [machine(kernel=kernel, gamma=2.0, gap_tol=1e-12).fit(X, y) for kernel in kernels]
    expected = models[0].predict(X)
    for model in models:
        np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
        assert model.certificate_.holds
    if machine is SVDD:
        return  # needs k(x, x) of the rows it predicts
    for kernel in ("precomputed", Precomputed()):
        np.testing.assert_allclose(machine(kernel=kernel, gap_tol=1e-12).fit(K, y).predict(K), expected, atol=1e-8)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("certify", ["auto", "full", False])
def test_certificates_are_published_as_asked(machine, certify):
    X, y = data()
    model = machine(certify=certify).fit(X, y)
    assert hasattr(model, "certificate_") == hasattr(model, "certificates_") == (certify is not False)
    if certify:
        tasks = 3 if machine in (SVC, NuSVC) else 1
        assert len(model.certificates_) == tasks
        assert model.certificate_ == max(model.certificates_, key=lambda c: c.relative_gap)
        assert model.certificate_.method in (["recomputed"] if certify == "full" else ["recomputed", "bounded"])
        assert str(model.certificate_).startswith("certificate holds")


def test_warning_names_the_gap_and_what_to_do():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match=r"max_iter was reached; .*warm_start=True.*gap reached: \d"):
        SVC(max_iter=3).fit(X, y)
