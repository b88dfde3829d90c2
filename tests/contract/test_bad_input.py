"""Input that makes no sense: the error scikit-learn's users expect, and an estimator that is what it was before."""

from __future__ import annotations

import faulthandler
import inspect
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import maxmargin
from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, certify
from tests.contract.estimators import (
    CLASSIFIERS,
    MAPS,
    NAMES,
    ONE_CLASS,
    REGRESSORS,
    SUPERVISED,
    answers,
    data,
    fitted,
    made,
    over,
)

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]
#: What refuses rows, and what is told which row belongs where.
TAUGHT = [name for name in NAMES if name not in {*ONE_CLASS, *MAPS}]
WEIGHTED = [name for name in NAMES if "sample_weight" in inspect.signature(getattr(maxmargin, name).fit).parameters]


@pytest.fixture(autouse=True)
def _no_hang():
    """A fit that hangs ends the run with a traceback."""
    faulthandler.dump_traceback_later(120, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def spoilt(values, wrong):
    values = np.array(values, dtype=float)
    values.flat[1] = wrong
    return values


@cache
def trained(name):
    """A model on good data, as bytes: every test has a copy of its own."""
    return pickle.dumps(fitted(made(name), *data(30)))


def assert_refused(kind, error, match, X, y, sample_weight=None, **options):
    """The fit raises, and neither a new estimator nor a fitted one remembers it."""
    name = kind if isinstance(kind, str) else kind.__name__
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    for model in (made(name), pickle.loads(trained(name))):
        model.set_params(**options)
        before = dict(vars(model))
        with pytest.raises(error, match=match):
            model.fit(X, y, **given)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[own] is before[own] for own in before)


@over(NAMES)
def test_features_that_are_not_finite(name):
    X, y = data(30)
    assert_refused(name, ValueError, "Input X contains NaN", spoilt(X, np.nan), y)
    assert_refused(name, ValueError, "Input X contains infinity", spoilt(X, np.inf), y)
    assert_refused(name, ValueError, "Input X contains infinity", spoilt(X, -np.inf).astype(np.float32), y)
    assert_refused(name, ValueError, "Input X contains NaN", sp.csr_array(spoilt(X, np.nan)), y)
    if made(name, kernel="precomputed").__sklearn_tags__().input_tags.pairwise:
        assert_refused(name, ValueError, "Input X contains NaN", spoilt(X @ X.T, np.nan), y, kernel="precomputed")
    with pytest.raises(ValueError, match="contains NaN"):
        answers(pickle.loads(trained(name)), spoilt(X, np.nan))


@over(TAUGHT)
def test_targets_that_are_not_finite(name):
    X, y = data(30)
    assert_refused(name, ValueError, "Input y contains NaN", X, spoilt(y, np.nan))
    assert_refused(name, ValueError, "Input y contains infinity", X, spoilt(y, np.inf))


@over(WEIGHTED)
def test_weights_that_make_no_sense(name):
    X, y = data(30)
    ones = np.ones(len(X))
    assert_refused(name, ValueError, "sample_weight contains NaN", X, y, spoilt(ones, np.nan))
    assert_refused(name, ValueError, "sample_weight contains infinity", X, y, spoilt(ones, np.inf))
    assert_refused(name, ValueError, "non-zero|zero or negative weights", X, y, 0 * ones)
    assert_refused(name, ValueError, "zero or negative weights", X, y, -ones)
    assert_refused(name, ValueError, "sample_weight", X, y, ones[:-1])
    assert_refused(name, ValueError, "[Ss]ample.weight", X, y, np.ones((len(X), 2)))


@over(CLASSIFIERS)
def test_one_class_is_not_enough_to_classify(name):
    X, y = data(30)
    too_few = "number of classes has to be greater than one|1 class"
    assert_refused(name, ValueError, too_few, X, np.ones(len(X), dtype=int))
    assert_refused(name, ValueError, too_few, X[:1], y[:1])
    if name in WEIGHTED:
        assert_refused(name, ValueError, too_few, X, y, np.where(y == 1, 1.0, 0.0))  # one class has no weight
    assert_refused(name, ValueError, "Unknown label type: continuous", X, X[:, 0])


@over(NAMES)
def test_shapes_that_are_wrong(name):
    X, y = data(30)
    assert_refused(name, ValueError, r"0 sample\(s\)", X[:0], y[:0])
    assert_refused(name, ValueError, r"0 feature\(s\)", X[:, :0], y)
    assert_refused(name, ValueError, "Expected 2D array, got 1D", X[:, 0], y)
    assert_refused(name, ValueError, "dim 3", X[None], y)
    assert_refused(name, ValueError, "Expected 2D array, got scalar", 3.0, y)
    model = pickle.loads(trained(name))
    for wrong, match in ((X[:, :2], "expecting 3 features"), (X[:, 0], "2D array"), (X[:0], r"0 sample\(s\)")):
        with pytest.raises(ValueError, match=match):
            answers(model, wrong)


@over(TAUGHT)
def test_targets_of_wrong_shape(name):
    X, y = data(30)
    assert_refused(name, ValueError, "y has 29|inconsistent numbers of samples|incompatible", X, y[:-1])
    if "LeastSquares" not in name:  # which takes several targets
        assert_refused(name, ValueError, "1d array", X, np.column_stack([y, y]))
    assert_refused(name, ValueError, "requires y to be passed, but the target y is None", X, None)


@over(NAMES)
def test_values_that_are_no_numbers(name):
    X, y = data(30)
    assert_refused(name, ValueError, "could not convert string to float", np.full((30, 3), "text"), y)
    assert_refused(name, ValueError, "Complex data not supported", X + 1j, y)
    if name in REGRESSORS:
        assert_refused(name, ValueError, "could not convert string", X, np.where(y, "yes", "no"))


@over(CLASSIFIERS)
def test_text_labels_are_labels(name):
    X, y = data(30)
    expected = fitted(made(name, random_state=0), X, y).predict(X)
    for labels in (np.where(y, "yes", "no"), np.where(y, "yes", "no").astype(object), y == 1):
        model = fitted(made(name, random_state=0), X, labels)
        np.testing.assert_array_equal(model.classes_, np.unique(labels))
        np.testing.assert_array_equal(model.predict(X), model.classes_[expected])


@over(name for name in NAMES if "kernel" in made(name).get_params() and name != "RandomFourierMap")
def test_a_kernel_that_fails_leaves_no_trace(name):
    """Whenever in the fit it fails: when it is first asked, or last."""
    X, y = data(30)
    asked = []

    def kernel(A, B):
        asked.append(1)
        if len(asked) == limit:
            raise ZeroDivisionError("mine")
        return rbf_kernel(A, B, gamma=0.5)

    limit = 0
    fitted(made(name, kernel=kernel), X, y)
    for limit in {1, len(asked)}:  # noqa: B007
        for model in (made(name), pickle.loads(trained(name))):
            asked.clear()
            model.set_params(kernel=kernel)
            before = dict(vars(model))
            with pytest.raises(ZeroDivisionError, match="mine"):
                fitted(model, X, y)
            assert vars(model).keys() == before.keys()
            assert all(vars(model)[own] is before[own] for own in before)


# -- kernel machines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", MACHINES)
def test_parameters_out_of_range(machine):
    X, y = data(30)
    names = machine().get_params()
    for name, values in {"C": (-1.0, 0.0, np.nan), "nu": (-0.1, 0.0, 1.1), "gamma": (-1.0,), "tol": (-1.0,)}.items():
        for value in values if name in names else ():
            assert_refused(machine, ValueError, f"'{name}' parameter of {machine.__name__}", X, y, **{name: value})
    if machine is SVDD:
        assert_refused(machine, ValueError, r"C=0.001 is too small.*take C >= 0.033", X, y, C=0.001)


@pytest.mark.parametrize("machine", MACHINES)
def test_precomputed_matrices_that_are_none(machine):
    X, y = data(30)
    K = X @ X.T
    assert_refused(machine, ValueError, "square matrix.*30x10", K[:, :10], y, kernel="precomputed")
    assert_refused(machine, ValueError, "symmetric.*largest difference", np.triu(K), y, kernel="precomputed")
    assert_refused(machine, TypeError, "[Ss]parse precomputed", sp.csr_array(K), y, kernel="precomputed")
    model = machine(kernel="precomputed").fit(K, y)
    with pytest.raises(ValueError, match="30"):
        model.predict(K[:, :-1])


@pytest.mark.parametrize("solver", ["auto", "dual-gradient"])
@pytest.mark.parametrize("machine", MACHINES)
def test_kernel_that_is_not_psd_has_no_certificate(machine, solver):
    X, y = data(30)
    K = X @ X.T - 2.0 * np.eye(len(X))
    model = machine(kernel="precomputed", solver=solver, max_iter=10_000).fit(K, y)
    assert not model.certificate_.holds
    assert "not PSD: smallest eigenvalue -2" in model.certificate_.reason
    assert "does not hold" in str(model.certificate_)
    assert np.isfinite(model.dual_coef_).all()
    assert model.certificate_.kkt <= 1e-3  # a stationary point all the same
    bent = machine(kernel="sigmoid", gamma=1.0, coef0=-1.0, solver=solver, max_iter=10_000).fit(X, y)
    assert not bent.certificate_.holds
    assert "PSD" in bent.certificate_.reason


@pytest.mark.parametrize("machine", MACHINES)
def test_interior_point_refuses_a_kernel_that_is_not_psd(machine):
    X, y = data(30)
    K = X @ X.T - 2.0 * np.eye(len(X))
    assert_refused(machine, ValueError, "eigenvalue -2", K, y, kernel="precomputed", solver="interior-point")


def test_kernel_too_large_to_check_is_not_said_to_be_psd():
    X, y = data(1100)
    model = SVC(kernel="sigmoid", gamma=0.01).fit(X, y)
    assert not model.certificate_.holds
    assert "not known to be PSD" in model.certificate_.reason


@pytest.mark.parametrize("intercept", [True, False])
def test_nu_that_is_not_feasible_becomes_the_largest(intercept):
    X, y = data(30)
    y = (np.arange(len(X)) < 6).astype(int)  # a fifth of the rows: nu up to 0.4
    model = NuSVC(nu=0.9, fit_intercept=intercept)
    if not intercept:  # without an intercept the classes need not balance
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.fit(X, y).certificate_.holds
        return
    with pytest.warns(UserWarning, match=r"nu is infeasible.*0\.4"):
        model.fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), NuSVC(nu=0.4).fit(X, y).decision_function(X), rtol=1e-6, atol=1e-9
    )
    assert model.certificate_.holds
    with pytest.raises(ValueError, match="specified nu is infeasible"):  # what we do instead of this
        svm.NuSVC(nu=0.9).fit(X, y)


@pytest.mark.parametrize("machine", MACHINES)
def test_certify_refuses_other_data(machine):
    X, y = data(30)
    model = machine().fit(X, y)
    assert certify(model, X, y).holds
    for wrong in (X[:10], X[::-1], X + 1.0, X[:, :2]):
        with pytest.raises(ValueError, match=r"training data|features"):
            certify(model, wrong, y[: len(wrong)])
    if machine.__name__ in SUPERVISED:
        other = certify(model, X, 1 - y)
        assert not other.holds or other.relative_gap > 0.1
        with pytest.raises((ValueError, TypeError)):
            certify(model, X)
        with pytest.raises(ValueError):
            certify(model, X, y[:-1])
    with pytest.raises(ValueError):
        certify(model, X, y, sample_weight=np.ones(len(X) - 1))
    weighted = machine().fit(X, y, sample_weight=np.where(np.arange(len(X)) % 3 == 0, 7.0, 1.0))
    unweighted = certify(weighted, X, y)
    assert not unweighted.holds or unweighted.relative_gap > 1e-3


@pytest.mark.parametrize("machine", MACHINES)
def test_models_that_are_not_fitted_or_not_known(machine):
    X, y = data(30)
    for call in (
        lambda: certify(machine(), X, y),
        lambda: machine().predict(X),
        lambda: machine(kernel="linear").coef_,
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call()
    with pytest.raises(TypeError, match="KMeans"):
        certify(KMeans(2, n_init=1).fit(X), X, y)
    with pytest.raises(AttributeError, match="linear kernel"):
        machine().fit(X, y).coef_
