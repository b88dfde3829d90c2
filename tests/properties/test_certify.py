"""certify sees what is wrong: a perturbed alpha, an infeasible one, an indefinite kernel, other data."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import svm

from maxmargin import SVC, SVR, NuSVC, OneClassSVM, certify
from maxmargin.kernels import Gaussian, Sigmoid
from tests.laws import examples

law = examples(40, derandomize=True, database=None)
cells = st.lists(st.integers(0, 80), min_size=6, max_size=14, unique=True)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + 0.7 * RNG.normal(size=40) > 0).astype(int)


def points(numbers):
    """Distinct points of a 9 x 9 lattice: a Gaussian of width 1/2 is safely positive definite on them."""
    return np.array([divmod(number, 9) for number in numbers], dtype=float)


def dual_coef(model, n):
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_.ravel()
    return beta


def publish(model, beta):
    """The same model with other dual variables; its intercept stays."""
    model.support_ = np.flatnonzero(beta).astype(np.int32)
    model.dual_coef_ = beta[model.support_][None]
    model.support_vectors_ = model.fitted_on[model.support_]
    return model


def fitted(cls, X, y, **options):
    model = cls(**options).fit(X, y)
    model.fitted_on = X
    return model


@law
@given(cells, st.data())
def test_a_perturbed_alpha_shows_in_the_gap(numbers, data):
    points_, n = points(numbers), len(numbers)
    y = data.draw(hnp.arrays(bool, n))
    assume(0 < y.sum() < n)
    C = data.draw(st.sampled_from([0.1, 1.0, 10.0]))
    model = fitted(SVC, points_, y, C=C, kernel=Gaussian(2.0), gap_tol=1e-9)
    before, beta = certify(model, points_, y), dual_coef(model, n)
    lower, upper = np.where(y, 0.0, -C), np.where(y, C, 0.0)
    i, j = (int(np.argmax(room)) for room in (upper - beta, beta - lower))
    assume(i != j)
    step = 0.5 * min(upper[i] - beta[i], beta[j] - lower[j])
    beta[i] += step
    beta[j] -= step
    after, K = certify(publish(model, beta), points_, y), Gaussian(2.0)(points_)
    assert before.holds
    assert after.holds
    assert after.gap >= 0.5 * step**2 * (K[i, i] + K[j, j] - 2 * K[i, j]) * (1 - 1e-6) - before.gap
    assert after.relative_gap > before.relative_gap
    assert after.kkt > before.kkt


@pytest.mark.parametrize("cls", [SVC, svm.SVC])
def test_alpha_that_breaks_a_constraint_is_no_proof(cls):
    for broken in ("sum", "box"):
        model = fitted(cls, X, Y, gamma=1.0)
        assert certify(model, X, Y).holds
        beta = dual_coef(model, len(X))
        free = np.flatnonzero((np.abs(beta) > 0.01) & (np.abs(beta) < 0.99))
        if broken == "sum":
            beta[free[0]] *= 0.5
        else:
            i, j = (int(np.argmax(side * beta)) for side in (1, -1))
            beta[i], beta[j] = beta[i] + 0.5, beta[j] - 0.5
        certificate = certify(publish(model, beta), X, Y)
        assert not certificate.feasible
        assert not certificate.holds
        assert "not feasible" in certificate.reason


@pytest.mark.parametrize("cls", [SVC, svm.SVC])
def test_a_shifted_intercept_shows_in_the_gap(cls):
    model = fitted(cls, X, Y, gamma=1.0)
    before = certify(model, X, Y)
    model.intercept_ = model.intercept_ + 0.1
    after = certify(model, X, Y)
    assert after.gap > before.gap + 1e-2
    assert after.holds


@pytest.mark.parametrize(
    ("model", "target"),
    [(SVC(max_iter=3), Y), (SVR(max_iter=3), X[:, 0]), (NuSVC(max_iter=3), Y), (OneClassSVM(nu=0.3, max_iter=3), None)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_cut_short_has_a_gap_that_says_so(model, target):
    certificate = certify(model.fit(X, target), X, target)
    full = certify(model.set_params(max_iter=-1).fit(X, target), X, target)
    assert certificate.holds
    assert certificate.relative_gap > 10 * full.relative_gap
    assert full.relative_gap < 1e-3


def test_an_indefinite_kernel_gets_no_proof():
    model = SVC(kernel=Sigmoid(1.0, -1.0)).fit(X, Y)
    certificate = certify(model, X, Y)
    assert not certificate.holds
    assert "not PSD" in certificate.reason


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_kernel_that_is_not_symmetric_gets_no_proof():
    twist = np.array([[1.0, 3.0], [-3.0, 1.0]])

    def kernel(P, Q):
        return P @ twist @ Q.T

    with pytest.raises(ValueError, match="no Gram matrix: Precomputed matrix must be symmetric"):
        SVC(kernel=kernel).fit(X, Y)
    model = SVC(kernel=kernel, max_iter=1000, cache_size=1e-3).fit(X, Y)  # its values do not fit: blocks of them
    assert not certify(model, X, Y).holds


def test_other_data_than_the_training_data_are_refused():
    model = SVC().fit(X, Y)
    with pytest.raises(ValueError, match="training data"):
        certify(model, X[::-1], Y)
    with pytest.raises(ValueError, match="training data"):
        certify(model, X[:5], Y[:5])


def test_other_labels_show_in_the_certificate():
    model = SVC().fit(X, Y)
    assert certify(model, X, Y).relative_gap < 1e-3
    other = certify(model, X, 1 - Y)
    assert not other.holds or other.relative_gap > 0.1
