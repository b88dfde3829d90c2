"""probability=True: Platt's sigmoid on cross-validated scores."""

import numpy as np
import pytest
import sklearn.svm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from maxmargin import SVC, NuSVC
from maxmargin.calibration import couple_pairs

BOTH = pytest.mark.parametrize("load", [load_breast_cancer, load_iris])


@BOTH
@pytest.mark.parametrize("machine", [SVC(C=10), NuSVC(nu=0.1), SVC(class_weight="balanced")])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_probabilities_are_as_good_as_scikit_learns(machine, load):
    train, test, y_train, y_test = train_test_split(*load(return_X_y=True), random_state=0)
    model = machine.set_params(probability=True, random_state=0).fit(train, y_train)
    options = {k: v for k, v in machine.get_params().items() if k in ("C", "nu", "class_weight")}
    peer = getattr(sklearn.svm, type(machine).__name__)(probability=True, random_state=0, **options).fit(train, y_train)
    p = model.predict_proba(test)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    assert log_loss(y_test, p) <= log_loss(y_test, peer.predict_proba(test)) + 0.05
    np.testing.assert_array_equal(model.predict(test), model.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(test), np.log(p))
    assert model.probA_.shape == model.probB_.shape == model.intercept_.shape


def test_without_asking_there_are_no_probabilities():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(NotFittedError, match="probability=False"):
        model.set_params(probability=True).predict_proba(X)


def test_the_seed_decides_the_folds():
    X, y = load_breast_cancer(return_X_y=True)
    fits = [SVC(probability=True, random_state=seed).fit(X, y).probA_ for seed in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert fits[0] != fits[2]


def test_a_class_of_one_row_is_calibrated_on_what_there_is():
    X, y = load_iris(return_X_y=True)
    X, y = X[:60], np.where(np.arange(60) == 0, 5, y[:60])
    p = SVC(probability=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_consistent_pairs_couple_to_the_distribution_they_came_from():
    p = np.random.default_rng(0).dirichlet(np.ones(4), size=20)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    r = np.column_stack([p[:, a] / (p[:, a] + p[:, b]) for a, b in pairs])
    np.testing.assert_allclose(couple_pairs(r, pairs, 4), p, atol=1e-9)
