"""LIBSVM's model files, both ways, against Debian's svm-train and svm-predict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM, certify, io, kernels
from maxmargin.exceptions import ModelFileError
from tests.files.tools import blobs, predicted, run, tool, write_rows

KERNELS = {"linear": "0", "poly": "1", "rbf": "2", "sigmoid": "3"}
TYPES: dict[str, Any] = {"0": SVC, "1": NuSVC, "2": OneClassSVM, "3": SVR, "4": NuSVR}


def trained(folder: Path, X: Any, y: Any, *options: str, gram: bool = False) -> Path:
    data, model = folder / "train.svm", folder / "model"
    write_rows(X, data, y, gram)
    run(tool("svm-train"), "-q", *options, data, model)
    return model


def untied(model: Any, X: Any) -> Any:
    """Rows in which no two classes have equally many votes: between those the programs decide differently."""
    if len(model.classes_) == 2:
        return np.abs(model.decision_function(X)) > 1e-9
    votes = np.sort(np.round(model.decision_function(X)), axis=1)
    return votes[:, -1] > votes[:, -2]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("type", ["0", "1"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_classifiers_of_svm_train(kernel: str, type: str, k: int, tmp_path: Path) -> None:
    X, y = blobs(k)
    given = ("-n", "0.2") if type == "1" else ("-c", "3")
    path = trained(tmp_path, X, y, "-s", type, "-t", KERNELS[kernel], "-g", "0.2", "-r", "0.5", "-d", "2", *given)
    model = io.load_libsvm(path)
    assert isinstance(model, TYPES[type])
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    new = X + 0.1
    sure = untied(model, new)
    assert sure.mean() > 0.7
    theirs = predicted("svm-predict", path, new, tmp_path)
    np.testing.assert_array_equal(model.predict(new)[sure], theirs[sure])
    # and back: what we write is read as the same machine
    io.save_libsvm(model, tmp_path / "back")
    np.testing.assert_array_equal(predicted("svm-predict", tmp_path / "back", new, tmp_path)[sure], theirs[sure])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("type", ["2", "3", "4"])
def test_one_class_and_regression_of_svm_train(kernel: str, type: str, tmp_path: Path) -> None:
    X, _ = blobs(3)
    y = X[:, 0] + 0.1 * X[:, 1] ** 2
    path = trained(tmp_path, X, y, "-s", type, "-t", KERNELS[kernel], "-g", "0.2", "-r", "0.5", "-d", "2", "-n", "0.3")
    model = io.load_libsvm(path)
    assert isinstance(model, TYPES[type])
    new = X[::-1] + 0.1
    theirs = predicted("svm-predict", path, new, tmp_path)
    if type == "2":
        np.testing.assert_array_equal(model.predict(new), theirs)
    else:
        np.testing.assert_allclose(model.predict(new), theirs, rtol=1e-5, atol=1e-5)  # it prints six digits
    io.save_libsvm(model, tmp_path / "back")
    np.testing.assert_array_equal(predicted("svm-predict", tmp_path / "back", new, tmp_path), theirs)


def test_the_noise_level_of_a_regression_is_left_out_with_a_warning(tmp_path: Path) -> None:
    X, _ = blobs(3)
    path = trained(tmp_path, X, X[:, 0], "-s", "3", "-b", "1")
    with pytest.warns(UserWarning, match="probA says how sure"):
        model = io.load_libsvm(path)
    np.testing.assert_allclose(model.predict(X), predicted("svm-predict", path, X, tmp_path), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("type", ["0", "1", "2", "3", "4"])
def test_precomputed_kernels_of_svm_train(type: str, tmp_path: Path) -> None:
    X, y = blobs(3)
    K = X @ X.T
    path = trained(tmp_path, K, y, "-s", type, "-t", "4", "-n", "0.2", gram=True)
    model = io.load_libsvm(path, n_features=len(X))
    write_rows(K, tmp_path / "rows.svm", y, gram=True)
    run(tool("svm-predict"), tmp_path / "rows.svm", path, tmp_path / "out.txt")
    theirs = np.loadtxt(tmp_path / "out.txt")
    if type in ("0", "1"):
        sure = untied(model, K)
        np.testing.assert_array_equal(model.predict(K)[sure], theirs[sure])
    else:
        np.testing.assert_allclose(model.predict(K), theirs, rtol=1e-5, atol=1e-5)
    io.save_libsvm(model, tmp_path / "back")
    run(tool("svm-predict"), tmp_path / "rows.svm", tmp_path / "back", tmp_path / "again.txt")
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "again.txt"), theirs)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("type", ["0", "1"])
def test_probabilities_of_svm_train(k: int, type: str, tmp_path: Path) -> None:
    X, y = blobs(k)
    path = trained(tmp_path, X, y, "-s", type, "-b", "1", "-n", "0.2")
    model = io.load_libsvm(path)
    labels, theirs, order = predicted("svm-predict", path, X, tmp_path, "-b", "1")
    ours = model.predict_proba(X)
    assert sorted(order.tolist()) == model.classes_.tolist()
    columns = np.searchsorted(model.classes_, order)
    # for many classes LIBSVM ends its iteration at an error of 0.005 / k
    np.testing.assert_allclose(ours[:, columns], theirs, atol=0.006)
    top = np.sort(ours, axis=1)
    sure = top[:, -1] - top[:, -2] > 0.02
    assert sure.mean() > 0.8
    np.testing.assert_array_equal(model.predict(X)[sure], labels[sure])
    io.save_libsvm(model, tmp_path / "back")
    _, again, _ = predicted("svm-predict", tmp_path / "back", X, tmp_path, "-b", "1")
    np.testing.assert_allclose(again[:, np.argsort(np.sort(order))], ours, atol=0.006)
    with pytest.raises(NotFittedError, match="another program's file"):
        model.predict_set(X)


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_our_classifiers_in_svm_predict(machine: Any, kernel: str, k: int, tmp_path: Path) -> None:
    X, y = blobs(k)
    rows = X @ X.T if kernel == "precomputed" else X
    nu = {"nu": 0.4} if machine is NuSVC else {}
    model = machine(kernel=kernel, coef0=0.5, degree=2, gamma=0.2, **nu).fit(rows, y)
    io.save_libsvm(model, tmp_path / "model")
    write_rows(rows, tmp_path / "rows.svm", y, gram=kernel == "precomputed")
    run(tool("svm-predict"), tmp_path / "rows.svm", tmp_path / "model", tmp_path / "out.txt")
    sure = untied(model, rows)
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "out.txt")[sure], model.predict(rows)[sure])
    same = io.load_libsvm(tmp_path / "model", n_features=rows.shape[1])
    np.testing.assert_allclose(same.decision_function(rows), model.decision_function(rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("model", [SVR(), NuSVR(kernel="poly"), OneClassSVM(gamma=0.3)], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("sparse", [False, True])
def test_our_other_machines_in_svm_predict(model: Any, sparse: bool, tmp_path: Path) -> None:
    X, _ = blobs(3)
    rows = sp.csr_matrix(X) if sparse else X.astype(np.float32)
    model.fit(rows, X[:, 0])
    io.save_libsvm(model, tmp_path / "model")
    theirs = predicted("svm-predict", tmp_path / "model", rows, tmp_path)
    same = io.load_libsvm(tmp_path / "model", n_features=4)
    if isinstance(model, OneClassSVM):
        sure = np.abs(model.decision_function(rows)) > 1e-4  # free support vectors are on the boundary
        assert sure.mean() > 0.7
        np.testing.assert_array_equal(theirs[sure], model.predict(rows)[sure])
        np.testing.assert_allclose(same.decision_function(rows), model.decision_function(rows), atol=1e-4)
    else:  # float32 rows are predicted in float32
        np.testing.assert_allclose(theirs, model.predict(rows), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(same.predict(rows), model.predict(rows), rtol=1e-4, atol=1e-4)


def test_our_probabilities_in_svm_predict(tmp_path: Path) -> None:
    X, y = blobs(2)
    model = SVC(calibration="sigmoid").fit(X, y)
    io.save_libsvm(model, tmp_path / "model")
    _, theirs, order = predicted("svm-predict", tmp_path / "model", X, tmp_path, "-b", "1")
    np.testing.assert_allclose(theirs[:, np.argsort(order)], model.predict_proba(X), atol=1e-5)


# -- without the programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_file_keeps_every_digit(k: int, tmp_path: Path) -> None:
    X, y = blobs(k)
    model = SVC(gamma=0.1).fit(X / 3, y)
    io.save_libsvm(model, tmp_path / "model")
    same = io.load_libsvm(tmp_path / "model", C=1.0)
    for name in ("dual_coef_", "intercept_", "support_vectors_", "classes_", "n_support_"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name))
    np.testing.assert_array_equal(same.decision_function(X), model.decision_function(X))
    assert same.kernel_ == model.kernel_
    io.save(same, tmp_path / "same.mm")
    np.testing.assert_array_equal(io.load(tmp_path / "same.mm").predict(X), model.predict(X))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_labels_in_any_order(order: list[int], tmp_path: Path) -> None:
    """The same machine written with its classes in another order is read as the same machine."""
    X, y = blobs(3)
    model = SVC(gamma=0.1).fit(X, y)
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    pairs = {(0, 1): 0, (0, 2): 1, (1, 2): 2}
    rho, lines = [], []
    for i in range(3):
        for j in range(i + 1, 3):
            a, b = order[i], order[j]
            rho.append(-model.intercept_[pairs[min(a, b), max(a, b)]] * (1 if a < b else -1))
    for a in order:
        for row in range(ends[a], ends[a + 1]):
            coefs = []
            for b in order:
                if b != a:
                    line = model.dual_coef_[b - 1 if a < b else b, row]
                    ours_first, theirs_first = a < b, order.index(a) < order.index(b)
                    coefs.append(line if ours_first == theirs_first else -line)
            vector = " ".join(f"{c + 1}:{v!r}" for c, v in enumerate(model.support_vectors_[row].tolist()))
            lines.append(" ".join(map(repr, map(float, coefs))) + " " + vector)
    labels, counts = model.classes_[order], model.n_support_[order]
    header = ["svm_type c_svc", "kernel_type rbf", "gamma 0.1", "nr_class 3", f"total_sv {len(lines)}",
              "rho " + " ".join(repr(float(r)) for r in rho), "label " + " ".join(map(str, labels)),
              "nr_sv " + " ".join(map(str, counts)), "SV"]  # fmt: skip
    (tmp_path / "model").write_text("\n".join([*header, *lines, ""]))
    same = io.load_libsvm(tmp_path / "model")
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("model", "given"),
    [(SVC(C=3.0), {"C": 3.0}), (SVC(kernel="linear", C=0.5), {"C": 0.5}), (SVR(C=2.0), {"C": 2.0}),
     (NuSVC(nu=0.2), {}), (OneClassSVM(nu=0.2), {})],
    ids=str,
)  # fmt: skip
def test_loaded_models_are_certified(model: Any, given: dict[str, float], tmp_path: Path) -> None:
    X, y = blobs(3)
    X = np.vstack([X, X[:20]])  # copies of rows must not be taken for one
    y = np.concatenate([y, y[:20]])
    model.fit(X, y if hasattr(model, "multiclass") else X[:, 0])
    target = y if hasattr(model, "multiclass") else X[:, 0]
    io.save_libsvm(model, tmp_path / "model")
    parameters = {"nu": model.nu} if hasattr(model, "nu") else {}
    loaded = io.load_libsvm(tmp_path / "model", **parameters)
    certificate = certify(loaded, X, target, **given)
    assert certificate.holds
    assert certificate.relative_gap == pytest.approx(certify(model, X, target).relative_gap, abs=1e-9)
    with pytest.raises(ValueError, match="not among the rows"):
        certify(loaded, X + 1.0, target, **given)


def test_a_model_of_svm_train_is_certified(tmp_path: Path) -> None:
    X, y = blobs(4)
    path = trained(tmp_path, X / 7, y, "-c", "5", "-e", "1e-8")
    certificate = certify(io.load_libsvm(path, n_features=4), X / 7, y, C=5.0)
    assert certificate.holds
    assert certificate.relative_gap < 1e-5
    assert certify(io.load_libsvm(path, n_features=4), X / 7, y, C=50.0).relative_gap > 1e-2


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        (SVDD(), "has no SVDD"),
        (SVC(multiclass="ovr"), "multiclass='ovr'"),
        (SVC(approximation="nystroem", n_components=5), "on landmarks"),
        (SVC(multiclass="code"), "multiclass='code'"),
        (SVC(multiclass="crammer-singer"), "crammer-singer"),
        (SVC(kernel=kernels.Gaussian(1.0) + 1.0), "no kernel"),
        (SVC(kernel=kernels.Laplacian(1.0)), "no kernel"),
        (SVC(calibration="isotonic"), "probabilities=False"),
    ],
    ids=str,
)
def test_what_the_format_cannot_hold_is_refused(model: Any, complaint: str, tmp_path: Path) -> None:
    X, y = blobs(3)
    with pytest.raises(ModelFileError, match=complaint):
        io.save_libsvm(model.fit(X, y), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    if hasattr(model, "calibrators_"):
        io.save_libsvm(model, tmp_path / "model", probabilities=False)
        np.testing.assert_allclose(
            io.load_libsvm(tmp_path / "model").decision_function(X), model.decision_function(X), rtol=1e-12
        )


def test_labels_that_are_no_whole_numbers_are_refused(tmp_path: Path) -> None:
    X, y = blobs(2)
    for labels in (y.astype(str), y > 0):
        with pytest.raises(ModelFileError, match="whole numbers only"):
            io.save_libsvm(SVC().fit(X, labels), tmp_path / "model")
    io.save_libsvm(SVC().fit(X, y.astype(float)), tmp_path / "model")
    assert io.load_libsvm(tmp_path / "model").classes_.dtype == np.int64


GOOD = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.1
label 1 -1
nr_sv 1 1
SV
1 1:0.5 3:1
-1 2:1
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("c_svc", "d_svc", "line 1: svm_type is 'd_svc'"),
        ("rbf", "fbr", "line 2"),
        ("gamma 0.5\n", "", "no line 'gamma'"),
        ("gamma 0.5", "gamma -1", "line 3: gamma"),
        ("gamma 0.5", "gamma nan", "line 3"),
        ("gamma 0.5", "gamma 0.5 0.6", "line 3"),
        ("nr_class 2", "nr_class 99999999", "line 4"),
        ("nr_class 2", "nr_class 1", "at least 2"),
        ("nr_class 2", "nr_class 2.5", "whole"),
        ("total_sv 2", "total_sv 3", "nr_sv must be counts"),
        ("total_sv 2", "total_sv 999999999999", "whole"),
        ("rho 0.1", "rho 0.1 0.2", "line 4"),
        ("label 1 -1", "label 1 1", "twice"),
        ("label 1 -1", "label a b", "line 7"),
        ("label 1 -1\n", "", "no line 'label'"),
        ("nr_sv 1 1", "nr_sv 3 -1", "line 8"),
        ("SV\n", "", "no line 'SV'|begins no line"),
        ("1 1:0.5 3:1", "1 1:0.5 1:1", "line 10: indices must increase"),
        ("1 1:0.5 3:1", "1 0:0.5", "line 10"),
        ("1 1:0.5 3:1", "1 1:0.5 3", "line 10: .*index:value"),
        ("1 1:0.5 3:1", "", "line 10"),
        ("1 1:0.5 3:1", "1 1:inf", "line 10"),
        ("1 1:0.5 3:1", "1 1:1_0", "line 10"),
        ("1 1:0.5 3:1", "1 99999999999:1", "line 10"),
        ("-1 2:1\n", "", "2 support vectors|are 1 support"),
        ("rho", "evil", "line 6: 'evil' begins no line"),
        ("gamma 0.5", "gamma 0.5\ngamma 0.5", "twice"),
    ],
)
def test_files_that_are_wrong(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert io.load_libsvm(path).predict([[0.5, 0.0, 1.0]]).tolist() == [1]
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=complaint) as caught:
        io.load_libsvm(path)
    assert str(path) in str(caught.value)


def test_a_far_index_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "model").write_text(GOOD.replace("3:1", "2147483646:1"))
    model = io.load_libsvm(tmp_path / "model")
    assert sp.issparse(model.support_vectors_)
    assert model.n_features_in_ == 2147483646


def test_parameters_that_the_file_says_are_not_given_again(tmp_path: Path) -> None:
    (tmp_path / "model").write_text(GOOD)
    assert io.load_libsvm(tmp_path / "model", C=7.0, class_weight={1: 2.0}).C == 7.0
    with pytest.raises(ValueError, match="gamma is said by the file"):
        io.load_libsvm(tmp_path / "model", gamma=1.0)
    with pytest.raises(ValueError, match="n_features=2"):
        io.load_libsvm(tmp_path / "model", n_features=2)
    assert io.load_libsvm(tmp_path / "model", n_features=9).n_features_in_ == 9


def test_sigmoids_of_three_classes_are_saved_without_their_sharpening(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(calibration="sigmoid", random_state=0).fit(X, y)
    assert model.sharpness_ != 1.0
    with pytest.warns(UserWarning, match="no place for the sharpening"):
        io.save_libsvm(model, tmp_path / "model")
    same = io.load_libsvm(tmp_path / "model")
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X), atol=1e-12)
    model.sharpness_ = 1.0
    np.testing.assert_allclose(same.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(same.probB_, model.probB_)
