"""Logistic regression has probabilities of its own: what its likelihood says, in the order of its predictions."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from maxmargin import LinearClassifier, LinearClassifierCV, LinearSVC
from maxmargin.inspection import certified_labels
from maxmargin.io import load, load_liblinear, save, save_liblinear
from maxmargin.losses import Logistic

IRIS, CANCER = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True)
Z = scale(CANCER[0])


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_two_classes_have_the_probabilities_of_scikit_learns_logistic_regression(C):
    ours = LinearClassifier("logistic", C=C, tol=1e-12).fit(Z, CANCER[1])
    theirs = LogisticRegression(C=C / np.log(2), tol=1e-10, max_iter=10_000).fit(Z, CANCER[1])
    np.testing.assert_allclose(ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(Z)[:, 1], expit(ours.decision_function(Z)), rtol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(Z), np.log(ours.predict_proba(Z)))


def test_the_base_of_the_logarithm_does_not_show():
    """The mean probability of a class is its share: the intercept's condition, true of log-odds only."""
    model = LinearClassifier("logistic", C=1.0, tol=1e-12).fit(Z, CANCER[1])
    assert model.predict_proba(Z)[:, 1].mean() == pytest.approx(CANCER[1].mean(), abs=1e-6)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo", "code"])
@pytest.mark.parametrize("rows", [IRIS, (Z, CANCER[1])], ids=["three", "two"])
def test_predictions_are_the_arg_max(rows, multiclass):
    X, y = rows
    model = LinearClassifier("logistic", multiclass=multiclass).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.score(X, y) > 0.93


def test_one_vs_all_divides_by_the_sum():
    X, y = IRIS
    model = LinearClassifier(Logistic()).fit(X, y)
    odds = expit(model.decision_function(X))
    np.testing.assert_allclose(model.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("model", [LinearClassifier(), LinearClassifier("squared_hinge"), LinearSVC()], ids=str)
def test_other_losses_have_none(model):
    model.fit(*IRIS)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")


def test_prediction_sets_and_other_probabilities_need_a_calibration():
    model = LinearClassifier("logistic").fit(*IRIS)
    assert not hasattr(model, "predict_set")
    calibrated = LinearClassifier("logistic", calibration="isotonic", random_state=0).fit(*IRIS)
    assert calibrated.predict_set(IRIS[0]).shape == (150, 3)
    assert np.abs(calibrated.predict_proba(IRIS[0]) - model.predict_proba(IRIS[0])).max() > 0.01


def test_searches_and_files_keep_them(tmp_path):
    X, y = IRIS
    search = LinearClassifierCV("logistic", Cs=[0.1, 1.0]).fit(X, y)
    p = search.predict_proba(X)
    np.testing.assert_array_equal(p, search.best_estimator_.predict_proba(X))
    model = LinearClassifier("logistic").fit(X, y)
    save(model, tmp_path / "model.mm")
    np.testing.assert_array_equal(load(tmp_path / "model.mm").predict_proba(X), model.predict_proba(X))
    save_liblinear(model, tmp_path / "model.txt")
    np.testing.assert_allclose(load_liblinear(tmp_path / "model.txt").predict_proba(X), model.predict_proba(X))


def test_labels_are_certified_where_they_follow_the_scores():
    X, y = IRIS
    assert certified_labels(LinearClassifier("logistic", tol=1e-9).fit(X, y), X, X, y).certain.mean() > 0.9
    with pytest.raises(ValueError, match="largest probability"):
        certified_labels(LinearClassifier("logistic", multiclass="ovo").fit(X, y), X, X, y)
