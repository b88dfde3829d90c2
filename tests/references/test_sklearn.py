"""scikit-learn's machines on its bundled data sets: same scores, same attributes, never a better objective.

Where rows are weighted the kernel's width is given as a number: our ``gamma='scale'`` counts the weights.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import scale

import maxmargin as mm

#: scikit-learn's tolerance where it is asked to be exact, and how well the scores then agree: LIBSVM computes with
#: kernel values rounded to float32.
TIGHT, AGREE = 1e-8, 5e-5

pytestmark = pytest.mark.filterwarnings("ignore:Attribute `prob._` was deprecated:FutureWarning")


def bundled(name):
    """(X, y), features scaled to unit variance, rows shuffled and each of them once: so coefficients are unique."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X[:500] / 16.0, y[:500]
    loader = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer, "diabetes": load_diabetes}
    X, y = loader[name](return_X_y=True)
    order = np.random.default_rng(0).permutation(np.unique(X, axis=0, return_index=True)[1])
    X, y = scale(X)[order], y[order]
    return (X, scale(y.astype(float))) if name == "diabetes" else (X, y)


CLASSES = ["iris", "wine", "breast_cancer", "digits"]

CASES = [
    *[("SVC", name, options) for name in CLASSES for options in ({}, {"kernel": "linear", "C": 0.1})],
    ("SVC", "wine", {"kernel": "poly", "coef0": 1.0, "C": 3.0}),
    ("SVC", "breast_cancer", {"C": 100.0, "gamma": 0.01}),
    *[("NuSVC", name, {"nu": 0.2, "gamma": 0.05}) for name in CLASSES],
    ("SVR", "diabetes", {}),
    ("SVR", "diabetes", {"kernel": "linear", "C": 0.3}),
    ("SVR", "diabetes", {"C": 10.0, "epsilon": 0.5}),
    ("NuSVR", "diabetes", {"nu": 0.3}),
    ("NuSVR", "diabetes", {"C": 5.0, "nu": 0.8, "gamma": 0.02}),
    *[("OneClassSVM", name, {"nu": nu}) for name in ("iris", "breast_cancer") for nu in (0.1, 0.5)],
]


def fitted(machine, X, y, options, sample_weight=None, tol=TIGHT):
    """Our model and scikit-learn's of the same problem."""
    ours = getattr(mm, machine)(gap_tol=1e-10, **options).fit(X, y, sample_weight=sample_weight)
    theirs = getattr(svm, machine)(tol=tol, **options).fit(X, y, sample_weight=sample_weight)
    return ours, theirs


def scores(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


def dense(values):
    return values.toarray() if sp.issparse(values) else np.asarray(values)


@pytest.mark.parametrize(("machine", "name", "options"), CASES)
def test_scores_agree_with_an_exact_fit(machine, name, options):
    X, y = bundled(name)
    ours, theirs = fitted(machine, X, y, options)
    expected = scores(theirs, X)
    np.testing.assert_allclose(scores(ours, X), expected, rtol=AGREE, atol=AGREE * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(("machine", "name", "options"), [case for case in CASES if case[0] in ("SVC", "SVR")])
def test_weights_differ_by_no_more_than_the_two_gaps_allow(machine, name, options):
    """1/2 ||w - w*||^2 <= gap, so scores without intercept differ by at most sqrt(2 gap k(x, x)) from the optimum's."""
    X, y = bundled(name)
    if machine == "SVC":  # one binary task, whose scores are sums over its support vectors
        X, y = X[y <= 1], y[y <= 1]
    ours, theirs = fitted(machine, X, y, options, tol=1e-3)
    gaps = [mm.certify(model, X, y).gap for model in (ours, theirs)]
    difference = (scores(ours, X) - ours.intercept_) - (scores(theirs, X) - theirs.intercept_)
    allowed = (np.sqrt(2 * gaps[0]) + np.sqrt(2 * gaps[1])) * np.sqrt(ours.kernel_.diag(X))
    assert (np.abs(difference) <= allowed + 1e-9).all()
    assert gaps[0] <= gaps[1]


@pytest.mark.parametrize(("machine", "name", "options"), CASES)
def test_our_objective_is_never_worse(machine, name, options):
    X, y = bundled(name)
    ours, theirs = fitted(machine, X, y, options, tol=1e-3)
    for own, other in zip(
        mm.certificates.certify_tasks(ours, X, y), mm.certificates.certify_tasks(theirs, X, y), strict=True
    ):
        rounding = 1e-10 * max(abs(own.primal), abs(own.dual))
        assert own.holds
        assert own.primal <= other.primal + rounding
        assert own.dual >= other.dual - rounding


@pytest.mark.parametrize(("machine", "name", "options"), CASES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_attributes_look_alike(machine, name, options, kind):
    X, y = bundled(name)
    ours, theirs = fitted(machine, kind(X), y, options)
    for attribute in ("intercept_", "n_iter_", "classes_", "class_weight_", "fit_status_", "shape_fit_", "offset_"):
        assert hasattr(ours, attribute) == hasattr(theirs, attribute), attribute
        if hasattr(theirs, attribute):
            own, other = np.asarray(getattr(ours, attribute)), np.asarray(getattr(theirs, attribute))
            assert (own.shape, own.dtype.kind) == (other.shape, other.dtype.kind), attribute
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-4, atol=1e-5 * np.abs(ours.intercept_).max())
    for attribute in ("support_vectors_", "dual_coef_"):
        own, other = getattr(ours, attribute), getattr(theirs, attribute)
        assert sp.issparse(own) == sp.issparse(other)
        assert own.shape[1 - ("vectors" in attribute)] == len(ours.support_)
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.n_support_.shape == theirs.n_support_.shape
    assert ours.n_support_.sum() == len(ours.support_)
    # same rows in the same order, up to coefficients that are 0 to the tolerance of either
    own, other = (matter(model) for model in (ours, theirs))
    np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(dense(ours.support_vectors_), X[ours.support_])
    if options.get("kernel") == "linear":
        assert ours.coef_.shape == theirs.coef_.shape
        assert sp.issparse(ours.coef_) == sp.issparse(theirs.coef_)
        np.testing.assert_allclose(dense(ours.coef_), dense(theirs.coef_), rtol=1e-4, atol=1e-5)
    else:
        assert not hasattr(ours, "coef_")


def matter(model):
    """Rows whose coefficients are not tiny, in the model's own order."""
    size = np.abs(dense(model.dual_coef_)).max(axis=0)
    return model.support_[size > 1e-4 * size.max()]


@pytest.mark.parametrize("machine", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_give_the_dense_model(machine, kernel):
    X, y = bundled("diabetes" if machine.endswith("R") else "iris")
    X = np.where(np.abs(X) < 0.5, 0.0, np.abs(X))
    options = {"kernel": kernel, "gamma": 0.3, "nu": 0.5, "C": 2.0}
    options = {k: v for k, v in options.items() if k in getattr(mm, machine)().get_params()}
    options["gap_tol"] = 1e-10
    model = getattr(mm, machine)(**options).fit(X, y)
    for index in (np.int32, np.int64):
        for container in (sp.csr_matrix, sp.csr_array, sp.csc_array):
            rows = container(X)
            rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
            sparse = getattr(mm, machine)(**options).fit(rows, y)
            np.testing.assert_allclose(
                scores(sparse, rows), scores(model, X), atol=1e-7 * np.abs(scores(model, X)).max()
            )
            np.testing.assert_allclose(scores(sparse, X), scores(sparse, rows), rtol=1e-9, atol=1e-9)
            assert rows.indices.dtype == index


@pytest.mark.parametrize("machine", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_sample_weights_zero_and_negative_ones_included(machine):
    X, y = bundled("diabetes" if machine.endswith("R") else "iris")
    weight = np.random.default_rng(1).choice([-1.0, 0.0, 0.5, 1.0, 3.0], size=len(X))
    options = {"gamma": 0.3} | ({"nu": 0.1} if machine == "NuSVC" else {})
    ours, theirs = fitted(machine, X, y, options, weight)
    expected = scores(theirs, X)
    np.testing.assert_allclose(scores(ours, X), expected, rtol=AGREE, atol=AGREE * np.abs(expected).max())
    kept = weight > 0
    without = getattr(mm, machine)(gap_tol=1e-10, **options).fit(X[kept], y[kept], sample_weight=weight[kept])
    np.testing.assert_allclose(scores(ours, X), scores(without, X), rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("class_weight", ["balanced", {0: 10.0}, {1: 0.2, 2: 5.0}])
def test_class_weights(class_weight):
    X, y = bundled("wine")
    X, y = X[20:], y[20:]  # unbalanced
    ours, theirs = fitted("SVC", X, y, {"class_weight": class_weight, "C": 0.05})
    np.testing.assert_allclose(ours.class_weight_, theirs.class_weight_, rtol=1e-12)
    np.testing.assert_allclose(scores(ours, X), scores(theirs, X), atol=1e-5)


@pytest.mark.parametrize("machine", ["SVC", "NuSVC"])
def test_shapes_of_the_decision_function(machine):
    X, y = bundled("iris")
    for shape, columns in (("ovo", 3), ("ovr", 3)):
        ours, theirs = fitted(
            machine, X, y, {"decision_function_shape": shape} | ({"nu": 0.1} if machine == "NuSVC" else {})
        )
        assert scores(ours, X).shape == (len(X), columns)
        np.testing.assert_allclose(scores(ours, X), scores(theirs, X), rtol=1e-4, atol=1e-4)
    digits, labels = bundled("digits")
    assert mm.SVC(decision_function_shape="ovo").fit(digits, labels).decision_function(digits).shape == (500, 45)
    two = mm.SVC().fit(X[y < 2], y[y < 2])
    assert two.decision_function(X).shape == (len(X),)


def test_ties_are_broken_as_scikit_learn_does_when_asked():
    X, y = bundled("digits")
    ours, theirs = fitted("SVC", X[:250], y[:250], {"kernel": "linear", "break_ties": True})
    X = X + 0.5 * np.random.default_rng(0).normal(size=X.shape)
    assert (theirs.set_params(break_ties=False).predict(X) != theirs.set_params(break_ties=True).predict(X)).any()
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.set_params(break_ties=False).predict(X), theirs.predict(X))


@pytest.mark.parametrize("machine", ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"])
def test_callable_and_precomputed_kernels(machine):
    X, y = bundled("diabetes" if machine.endswith("R") else "iris")
    nu = {"nu": 0.1} if machine == "NuSVC" else {}
    ours, theirs = fitted(machine, X[::2], y[::2], {"kernel": laplacian_kernel} | nu)
    expected, size = scores(theirs, X), np.abs(scores(theirs, X)).max()
    np.testing.assert_allclose(scores(ours, X), expected, rtol=AGREE, atol=AGREE * size)
    K = laplacian_kernel(X, X[::2])
    ours, theirs = fitted(machine, K[::2], y[::2], {"kernel": "precomputed"} | nu)
    np.testing.assert_allclose(scores(ours, K), expected, rtol=AGREE, atol=AGREE * size)
    assert ours.support_vectors_.shape == theirs.support_vectors_.shape
    np.testing.assert_array_equal(matter(ours), matter(theirs))
    assert ours.certificate_.holds  # checked by an eigendecomposition


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("machine", ["SVC", "NuSVC"])
@pytest.mark.parametrize("name", ["breast_cancer", "wine"])
def test_probabilities_are_near_those_of_other_folds(machine, name):
    X, y = bundled(name)
    options = {"probability": True, "random_state": 0} | ({"nu": 0.2} if machine == "NuSVC" else {})
    ours, theirs = fitted(machine, X[::2], y[::2], options)
    own, other = ours.predict_proba(X), theirs.predict_proba(X)
    assert own.shape == other.shape
    np.testing.assert_allclose(own.sum(axis=1), 1.0)
    np.testing.assert_array_equal(ours.predict(X), ours.classes_[own.argmax(axis=1)])
    coupled = ours._coupled(ours._task_scores(X))  # before they are sharpened, which scikit-learn does not do
    assert np.abs(coupled - other).mean() < 0.03
    held_out = np.arange(1, len(X), 2)
    assert log_loss(y[held_out], own[held_out]) <= log_loss(y[held_out], other[held_out]) + 0.01
