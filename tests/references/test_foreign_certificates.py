"""``certify`` judges scikit-learn's models: LIBSVM's own objective, the textbook's formulas, every kind of input."""

from __future__ import annotations

import ctypes
import re
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.preprocessing import scale

import maxmargin as mm

IRIS, CANCER, DIABETES = (
    (scale(load(return_X_y=True)[0]), load(return_X_y=True)[1])
    for load in (load_iris, load_breast_cancer, load_diabetes)
)
DIABETES = DIABETES[0], scale(DIABETES[1])


def libsvm_values(machine, X, y, options, capfd):
    """(model, objective, 1 / scale) as LIBSVM prints them; it minimises, so its objective is minus the dual value."""
    capfd.readouterr()
    model = getattr(svm, machine)(verbose=1, **options).fit(X, y)
    ctypes.CDLL(None).fflush(None)
    printed = capfd.readouterr().out
    scale = re.findall(r"C = ([-\d.e+]+)", printed)
    return model, float(re.findall(r"obj = ([-\d.e+]+)", printed)[-1]), float(scale[-1]) if scale else 1.0


@pytest.mark.skipif(sys.platform == "win32", reason="reads what the C library prints")
@pytest.mark.parametrize(
    ("machine", "options"),
    [
        ("SVC", {"C": 2.0, "gamma": 0.1}),
        ("SVC", {"C": 0.5, "kernel": "linear"}),
        ("NuSVC", {"nu": 0.2, "gamma": 0.1}),
        ("SVR", {"C": 2.0, "gamma": 0.1}),
        ("NuSVR", {"C": 2.0, "gamma": 0.1}),
        ("OneClassSVM", {"nu": 0.3, "gamma": 0.1}),
    ],
)
def test_certificate_of_a_foreign_model_is_the_objective_of_libsvm(machine, options, capfd):
    X, y = DIABETES if machine.endswith("R") else CANCER
    model, objective, scale = libsvm_values(machine, X, y, options, capfd)
    certificate = mm.certify(model, X, y)
    assert certificate.holds
    rows = len(X) if machine == "NuSVC" else 1  # LIBSVM's nu-SVC is n^2 times the textbook's
    assert certificate.dual == pytest.approx(-objective / scale**2 / rows**2, rel=1e-5)
    assert 0 <= certificate.gap <= 0.02 * abs(certificate.dual)


@pytest.mark.parametrize("machine", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_foreign_models_of_every_kind_are_certified(machine):
    X, y = DIABETES if machine.endswith("R") else IRIS
    nu = {"nu": 0.2} if machine == "NuSVC" else {}
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], size=len(X))
    K, rows = rbf_kernel(X, gamma=0.2), sp.csr_matrix(X)
    kinds = [({}, X, None), ({"gamma": "auto"}, X, weight), ({"gamma": 0.2}, rows, None)]
    kinds += [({"kernel": "precomputed"}, K, weight), ({"kernel": laplacian_kernel}, X, None)]
    kinds += [({"class_weight": "balanced"}, X, None), ({"class_weight": {0: 4.0}}, rows, weight)] * (machine == "SVC")
    for options, given, weights in kinds:
        model = getattr(svm, machine)(tol=1e-6, **options, **nu).fit(given, y, sample_weight=weights)
        certificate = mm.certify(model, given, y, sample_weight=weights)
        assert certificate.holds, (options, str(certificate))
        assert certificate.relative_gap < 1e-3, (options, str(certificate))
        assert certificate.kkt < 1e-4, (options, str(certificate))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_foreign_models_with_rows_of_no_weight_are_certified(kernel):
    """scikit-learn then counts ``support_`` without those rows."""
    X, y = IRIS
    X = rbf_kernel(X, gamma=0.2) if kernel == "precomputed" else X
    weight = np.where(np.arange(len(X)) % 4 == 0, 0.0, 1.0)
    model = svm.SVC(kernel=kernel, gamma=0.2, tol=1e-6).fit(X, y, sample_weight=weight)
    certificate = mm.certify(model, X, y, sample_weight=weight)
    assert certificate.holds
    assert certificate.relative_gap < 1e-4


def test_primal_value_of_a_foreign_model_is_the_textbook_formula():
    X, y = CANCER
    model = svm.SVC(C=2.0, gamma=0.1).fit(X, y)
    coef, K = model.dual_coef_.ravel(), rbf_kernel(model.support_vectors_, gamma=0.1)
    hinge = np.maximum(0, 1 - np.where(y == 1, 1, -1) * model.decision_function(X))
    primal, textbook = mm.certify(model, X, y).primal, 0.5 * coef @ K @ coef + 2 * hinge.sum()
    assert textbook * (1 - 1e-13) <= primal <= textbook * (1 + 1e-9)  # an upper bound, but for rounding of ours here
    X, y = DIABETES
    model = svm.SVR(C=2.0, gamma=0.1, epsilon=0.2).fit(X, y)
    coef, K = model.dual_coef_.ravel(), pairwise_kernels(model.support_vectors_, metric="rbf", gamma=0.1)
    loss = np.maximum(0, np.abs(y - model.predict(X)) - 0.2)
    primal, textbook = mm.certify(model, X, y).primal, 0.5 * coef @ K @ coef + 2 * loss.sum()
    assert textbook * (1 - 1e-13) <= primal <= textbook * (1 + 1e-9)


class Derived(mm.SVC):
    """A user's own class counts rows as ours do, wherever it is defined."""


def test_a_class_derived_from_ours_is_read_as_ours():
    X, y = IRIS
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    own, derived = (machine().fit(X, y, weight) for machine in (mm.SVC, Derived))
    assert mm.certify(derived, X, y, weight) == mm.certify(own, X, y, weight)
