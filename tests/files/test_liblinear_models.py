"""LIBLINEAR's model files, both ways, against Debian's liblinear-train and liblinear-predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    SGDSVC,
    SVC,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    OneClassSVM,
    PegasosSVC,
    Perceptron,
    io,
    losses,
)
from maxmargin.exceptions import ModelFileError
from tests.files.tools import blobs, predicted, run, tool, write_rows

CLASSIFIERS = {"0": LinearClassifier, "1": LinearSVC, "2": LinearSVC, "3": LinearSVC, "4": LinearSVC, "5": LinearSVC,
               "6": LinearClassifier, "7": LinearClassifier}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def trained(folder: Path, X: Any, y: Any, *options: str) -> Path:
    write_rows(X, folder / "train.svm", y)
    run(tool("liblinear-train"), "-q", *options, folder / "train.svm", folder / "model")
    return folder / "model"


@pytest.mark.parametrize("bias", ["-1", "1", "2.5"])
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("solver", CLASSIFIERS)
def test_classifiers_of_liblinear_train(solver: str, k: int, bias: str, tmp_path: Path) -> None:
    X, y = blobs(k)
    path = trained(tmp_path, X, y, "-s", solver, "-B", bias)
    model = io.load_liblinear(path)
    assert type(model) is CLASSIFIERS[solver]
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    new = X + 0.1
    theirs = predicted("liblinear-predict", path, new, tmp_path)
    np.testing.assert_array_equal(model.predict(new), theirs)
    io.save_liblinear(model, tmp_path / "back")
    np.testing.assert_array_equal(predicted("liblinear-predict", tmp_path / "back", new, tmp_path), theirs)
    if solver in ("0", "6", "7"):
        _, probability, order = predicted("liblinear-predict", path, new, tmp_path, "-b", "1")
        np.testing.assert_allclose(
            model.predict_proba(new)[:, np.searchsorted(model.classes_, order)], probability, atol=1e-5
        )
        _, again, order = predicted("liblinear-predict", tmp_path / "back", new, tmp_path, "-b", "1")
        np.testing.assert_allclose(again[:, np.argsort(order)], model.predict_proba(new), atol=1e-5)


@pytest.mark.parametrize("bias", ["-1", "1"])
@pytest.mark.parametrize("solver", ["11", "12", "13"])
def test_regressions_of_liblinear_train(solver: str, bias: str, tmp_path: Path) -> None:
    X, _ = blobs(3)
    path = trained(tmp_path, X, X[:, 0] - 2 * X[:, 2] + 1, "-s", solver, "-B", bias)
    model = io.load_liblinear(path)
    assert type(model) is LinearSVR
    theirs = predicted("liblinear-predict", path, X, tmp_path)
    np.testing.assert_allclose(model.predict(X), theirs, rtol=1e-5, atol=1e-5)
    io.save_liblinear(model, tmp_path / "back")
    np.testing.assert_array_equal(predicted("liblinear-predict", tmp_path / "back", X, tmp_path), theirs)


def test_one_class_both_ways(tmp_path: Path) -> None:
    """Debian's programs are older than solver type 21, so the library itself is asked, where it is installed."""
    util = pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official (extra arena) is not installed")
    X, _ = blobs(3)
    X = X + 3.0
    theirs = util.train(util.problem(np.ones(len(X)), X), util.parameter("-s 21 -n 0.3 -q"))
    util.save_model(str(tmp_path / "theirs"), theirs)
    model = io.load_liblinear(tmp_path / "theirs", nu=0.3)
    _, _, scores = util.predict(np.ones(len(X)), X, theirs, "-q")
    np.testing.assert_allclose(model.decision_function(X), np.ravel(scores), rtol=1e-10, atol=1e-10)
    ours = OneClassSVM(kernel="linear", nu=0.3).fit(X)
    io.save_liblinear(ours, tmp_path / "ours")
    _, _, scores = util.predict(np.ones(len(X)), X, util.load_model(str(tmp_path / "ours")), "-q")
    np.testing.assert_allclose(ours.decision_function(X), np.ravel(scores), rtol=1e-10, atol=1e-10)


def test_a_one_class_file_word_for_word(tmp_path: Path) -> None:
    text = "solver_type ONECLASS_SVM\nnr_class 2\nnr_feature 2\nbias -1\nrho 3.5\nw\n1.5 \n2.0 \n"
    (tmp_path / "model").write_text(text)
    model = io.load_liblinear(tmp_path / "model")
    assert type(model) is OneClassSVM
    assert model.decision_function([[1.0, 1.0], [1.0, 2.0]]).tolist() == [0.0, 2.0]
    assert model.predict([[1.0, 0.0], [1.0, 2.0]]).tolist() == [-1, 1]
    io.save_liblinear(model, tmp_path / "back")
    assert (tmp_path / "back").read_text() == text


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(), LinearSVC(loss="hinge", fit_intercept=False), LinearSVC(penalty="l1"), LinearSVC(scale=True),
        LinearSVC(multi_class="crammer_singer"), LinearClassifier("logistic"), LinearClassifier("logistic", "l1"),
        PegasosSVC(max_iter=5), SGDSVC(max_iter=5), Perceptron(max_iter=5),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("k", [2, 4])
def test_our_classifiers_in_liblinear_predict(model: Any, k: int, tmp_path: Path) -> None:
    X, y = blobs(k)
    model.fit(X, y)
    io.save_liblinear(model, tmp_path / "model")
    np.testing.assert_array_equal(predicted("liblinear-predict", tmp_path / "model", X, tmp_path), model.predict(X))
    same = io.load_liblinear(tmp_path / "model")
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "model",
    [LinearSVR(), LinearSVR(loss="squared_epsilon_insensitive"), LinearRegressor(losses.EpsilonInsensitive(0.1))],
    ids=str,
)  # fmt: skip
def test_our_regressions_in_liblinear_predict(model: Any, tmp_path: Path) -> None:
    X, _ = blobs(3)
    X = X + 3.0
    model.fit(X, X[:, 0] + 1.0)
    io.save_liblinear(model, tmp_path / "model")
    theirs = predicted("liblinear-predict", tmp_path / "model", X, tmp_path)
    np.testing.assert_allclose(theirs, model.predict(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(io.load_liblinear(tmp_path / "model").predict(X), model.predict(X), rtol=1e-10)


# -- without the programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_file_keeps_every_digit(k: int, sparse: bool, tmp_path: Path) -> None:
    X, y = blobs(k)
    model = LinearSVC().fit(sp.csr_array(X) if sparse else X, y)
    model = model.sparsify() if sparse else model
    io.save_liblinear(model, tmp_path / "model")
    same = io.load_liblinear(tmp_path / "model")
    np.testing.assert_array_equal(same.coef_, model.coef_.toarray() if sparse else model.coef_)
    np.testing.assert_array_equal(same.intercept_, model.intercept_)
    np.testing.assert_array_equal(same.classes_, model.classes_)
    io.save(same, tmp_path / "same.mm")
    np.testing.assert_array_equal(io.load(tmp_path / "same.mm").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVC(kernel="linear"), "has no SVC"),
        (OneClassSVM(), "no kernel"),
        (LinearSVC(loss="hinge", penalty="l1"), "no solver for the loss hinge with the penalty l1"),
        (LinearClassifier("exponential"), "no solver for the loss exponential"),
        (LinearClassifier("logistic", "elasticnet"), "elasticnet"),
        (LinearSVC(multiclass="ovo"), "multiclass='ovo'"),
        (LinearSVC(multiclass="weston-watkins"), "weston-watkins"),
        (LinearSVC(calibration="sigmoid"), "probabilities=False"),
    ],
    ids=str,
)
def test_what_the_format_cannot_hold_is_refused(model: Any, complaint: str, tmp_path: Path) -> None:
    X, y = blobs(3)
    with pytest.raises(ModelFileError, match=complaint):
        io.save_liblinear(model.fit(X, y), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    if hasattr(model, "calibrators_"):
        io.save_liblinear(model, tmp_path / "model", probabilities=False)
        np.testing.assert_allclose(io.load_liblinear(tmp_path / "model").coef_, model.coef_)


GOOD = """solver_type L2R_L2LOSS_SVC_DUAL
nr_class 3
label 5 2 9
nr_feature 2
bias 0.5
w
1 2 3
4 5 6
7 8 9
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("L2R_L2LOSS_SVC_DUAL", "L3R", "line 1: solver_type is 'L3R'"),
        ("nr_class 3", "nr_class 999999999", "need as many labels|weights"),
        ("nr_class 3", "nr_class 0", "at least 2"),
        ("label 5 2 9", "label 5 5 9", "twice"),
        ("label 5 2 9\n", "", "labels"),
        ("label 5 2 9", "label 5 2 9.5", "whole"),
        ("nr_feature 2", "nr_feature 3", "lines of weights"),
        ("nr_feature 2", "nr_feature 0", "at least 1"),
        ("nr_feature 2", "nr_feature 999999999999999", "whole"),
        ("bias 0.5", "bias -1", "lines of weights"),
        ("bias 0.5", "bias inf", "line 5"),
        ("4 5 6", "4 5", "line 8: there are 2 weights"),
        ("4 5 6", "4 5 x", "line 8"),
        ("4 5 6", "4 5 nan", "line 8"),
        ("w\n", "", "begins no line"),
        ("7 8 9\n", "", "lines of weights"),
    ],
)
def test_files_that_are_wrong(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(GOOD)
    model = io.load_liblinear(path)
    assert model.classes_.tolist() == [2, 5, 9]
    assert model.coef_.tolist() == [[2, 5], [1, 4], [3, 6]]
    assert model.intercept_.tolist() == [4.0, 3.5, 4.5]
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=complaint) as caught:
        io.load_liblinear(path)
    assert str(path) in str(caught.value)
