"""The certificate of every machine is about the objective that its docstring states, written out here in plain loops.

The published model is put into that objective; nothing else of maxmargin is used. scikit-learn's models are judged by
the same sums.
"""

from __future__ import annotations

import math

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm

import maxmargin as mm

GAMMA = 0.4
RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
SIGN = np.where(X[:, 0] + 0.7 * RNG.normal(size=40) > 0, 1, -1)
Y = X[:, 1] + 0.3 * RNG.normal(size=40)
WEIGHTS = {"plain": None, "weighted": RNG.choice([0.5, 1.0, 3.0], size=40)}


def k(x, z):
    return math.exp(-GAMMA * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def square_of_w(model):
    """||sum_i coef_i phi(x_i)||^2 over the published coefficients."""
    coef, rows = model.dual_coef_[0], model.support_vectors_
    return sum(a * b * k(x, z) for a, x in zip(coef, rows, strict=True) for b, z in zip(coef, rows, strict=True))


def sums(model):
    """sum_i coef_i k(x_i, x) of every training row, without intercept."""
    return [sum(a * k(z, x) for a, z in zip(model.dual_coef_[0], model.support_vectors_, strict=True)) for x in X]


def svc(model, v):
    f = [g + model.intercept_[0] for g in sums(model)]
    loss = sum(u * max(0.0, 1 - t * s) for u, t, s in zip(v, SIGN, f, strict=True))
    return square_of_w(model) / 2 + model.C * loss


def nu_svc(model, v):
    """1/2||w||^2 - nu rho + (1 / sum v) sum v_i xi_i; the published model is (w, b) / rho, and sum alpha = nu."""
    rho = model.nu / sum(abs(c) for c in model.dual_coef_[0])
    f = [rho * (g + model.intercept_[0]) for g in sums(model)]
    xi = sum(u * max(0.0, rho - t * s) for u, t, s in zip(v, SIGN, f, strict=True))
    return rho**2 * square_of_w(model) / 2 - model.nu * rho + xi / sum(v)


def svr(model, v):
    f = [g + model.intercept_[0] for g in sums(model)]
    loss = sum(u * max(0.0, abs(y - s) - model.epsilon) for u, y, s in zip(v, Y, f, strict=True))
    return square_of_w(model) / 2 + model.C * loss


def nu_svr(model, v):
    """With the best epsilon, which is one of the residuals (or 0): the objective is piecewise linear in it."""
    residual = [abs(y - g - model.intercept_[0]) for y, g in zip(Y, sums(model), strict=True)]

    def paid(epsilon):
        loss = sum(u * max(0.0, r - epsilon) for u, r in zip(v, residual, strict=True))
        return model.C * (model.nu * sum(v) * epsilon + loss)

    return square_of_w(model) / 2 + min(paid(e) for e in [0.0, *residual])


def one_class(model, v):
    rho = -model.intercept_[0]
    loss = sum(u * max(0.0, rho - g) for u, g in zip(v, sums(model), strict=True))
    return square_of_w(model) / 2 - model.nu * rho * sum(v) + loss


def svdd(model, v):
    a2 = square_of_w(model)
    outside = [k(x, x) - 2 * g + a2 - model.radius_**2 for x, g in zip(X, sums(model), strict=True)]
    return model.radius_**2 + model.C_ * sum(u * max(0.0, o) for u, o in zip(v, outside, strict=True))


STATED = {
    "SVC": (svc, {"C": 2.0}),
    "NuSVC": (nu_svc, {"nu": 0.4}),
    "SVR": (svr, {"C": 2.0, "epsilon": 0.2}),
    "NuSVR": (nu_svr, {"C": 2.0, "nu": 0.4}),
    "OneClassSVM": (one_class, {"nu": 0.3}),
    "SVDD": (svdd, {}),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("library", [mm, sklearn.svm], ids=["maxmargin", "scikit-learn"])
@pytest.mark.parametrize("machine", STATED)
def test_the_certificate_is_that_of_the_objective_in_the_docstring(machine, library, weights):
    stated, options = STATED[machine]
    if not hasattr(library, machine):
        assert machine == "SVDD"  # scikit-learn has none
        return
    y = Y if machine.endswith("SVR") else SIGN
    tight = {"gap_tol": 1e-11} if library is mm else {"tol": 1e-9}
    v = WEIGHTS[weights]
    model = getattr(library, machine)(gamma=GAMMA, **options, **tight).fit(X, y, sample_weight=v)
    certificate = mm.certify(model, X, y, sample_weight=v)
    assert certificate.holds
    value = stated(model, np.ones(40) if v is None else v)
    assert certificate.primal == pytest.approx(value, rel=1e-7)
    assert certificate.dual == pytest.approx(value, rel=1e-6)
    if library is mm:
        assert model.certificate_.primal == pytest.approx(value, rel=1e-7)
        assert model.history_["primal"][-1] == pytest.approx(value, rel=1e-6)


def ball(rows, cost):
    """(centre, R^2) of min R^2 + sum C_i max(0, ||x_i - a||^2 - R^2), by a conic solver in (a, R^2 - ||a||^2, xi)."""
    n, d = rows.shape
    P = sp.diags_array(np.concatenate([np.full(d, 2.0), np.zeros(1 + n)])).tocsc()
    q = np.concatenate([np.zeros(d), [1.0], cost])
    far = np.hstack([-2 * rows, -np.ones((n, 1)), -np.eye(n)])  # ||x||^2 - 2 a.x - s - xi <= 0
    positive = np.hstack([np.zeros((n, d + 1)), -np.eye(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    A, b = sp.csc_array(np.vstack([far, positive])), np.concatenate([-np.square(rows).sum(axis=1), np.zeros(n)])
    x = np.array(clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)], settings).solve().x)
    return x[:d], x[d] + x[:d] @ x[:d]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # C = 1e6 leaves 1e-10
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("C", [0.06, 0.2, 1.0, 1e6])
def test_the_smallest_ball_has_its_centre_and_radius_in_input_units(C, weights, kind):
    v = WEIGHTS[weights]
    model = mm.SVDD(kernel="linear", C=C, gap_tol=1e-12).fit(kind(X), sample_weight=v)
    centre, square = ball(X, C * (np.ones(40) if v is None else v))
    coef = model.dual_coef_.toarray() if sp.issparse(model.dual_coef_) else model.dual_coef_
    assert coef.sum() == pytest.approx(1.0, rel=1e-12)
    assert model.center_.shape == (3,)
    np.testing.assert_allclose(model.center_, centre, atol=1e-6)
    assert model.radius_ == pytest.approx(math.sqrt(square), rel=1e-6)
    distance = np.linalg.norm(X - model.center_, axis=1)
    np.testing.assert_allclose(model.decision_function(kind(X)), model.radius_**2 - distance**2, atol=1e-9)
    curved = mm.SVDD(gamma=GAMMA).fit(kind(X))
    assert 0 < curved.radius_ < 1
    with pytest.raises(AttributeError, match="only available when using a linear kernel"):
        curved.center_  # asking is the test
