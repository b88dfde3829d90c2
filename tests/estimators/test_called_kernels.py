"""Kernels that are a user's function: called once with all rows, which may be anything."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.svm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from maxmargin import (
    LSSVC,
    SVC,
    SVR,
    KernelDiscriminantAnalysis,
    KernelLeastSquares,
    KernelPegasosSVC,
    KernelPerceptron,
    NuSVC,
    NuSVR,
    NystroemMap,
    OneClassSVM,
    io,
)
from maxmargin.exceptions import ModelFileError
from maxmargin.kernels import Gaussian, Objects

X, Y = load_iris(return_X_y=True)
FEW = np.r_[0:20, 50:70, 100:120]
X, Y = X[FEW], Y[FEW]


def scores(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


def centred(A, B):
    """A function that looks at all the rows it is given, as scikit-learn calls it: not one of two rows alone."""
    centre = B.mean(axis=0)
    return (A - centre) @ (B - centre).T


@pytest.mark.parametrize("machine", [SVC, NuSVC, SVR, NuSVR, OneClassSVM])
def test_a_function_of_the_whole_block_is_what_it_is_in_scikit_learn(machine):
    rows, tight = X + 3.0, {"tol": 1e-8}
    ours = machine(kernel=centred, gap_tol=1e-10).fit(rows, Y)
    theirs = getattr(sklearn.svm, machine.__name__)(kernel=centred, **tight).fit(rows, Y)
    np.testing.assert_allclose(scores(ours, rows[::3]), scores(theirs, rows[::3]), atol=1e-3)


def test_the_function_is_called_once_with_all_rows():
    seen = []

    def kernel(A, B):
        seen.append((len(A), len(B)))
        return A @ B.T

    model = SVC(kernel=kernel).fit(X, Y)
    assert seen == [(60, 60)]
    model.decision_function(X[:7])
    assert seen == [(60, 60), (7, 60)]
    linear = SVC(kernel="linear").fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), linear.decision_function(X), atol=2e-2)
    assert model.certificate_.holds


def test_a_function_whose_values_do_not_fit_is_called_with_blocks_and_must_not_look_at_them():
    rng = np.random.default_rng(0)
    rows, label = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    small = {"cache_size": 1.0}  # a megabyte: the table takes 1.28
    plain = SVC(kernel=lambda A, B: A @ B.T, **small).fit(rows, label)
    np.testing.assert_allclose(
        plain.decision_function(rows), SVC(kernel="linear").fit(rows, label).decision_function(rows), atol=2e-2
    )
    with pytest.raises(ValueError, match="must depend on the two rows only"):
        SVC(kernel=centred, **small).fit(rows + 3.0, label)


@pytest.mark.parametrize(
    "machine",
    [
        KernelLeastSquares(lam=1.0),
        KernelDiscriminantAnalysis(),
        KernelPegasosSVC(max_iter=10),
        KernelPerceptron(),
        SVC(multiclass="crammer-singer"),
        SVC(approximation="nystroem", n_components=10),
        NystroemMap(n_components=10),
    ],
)
def test_machines_that_call_it_with_blocks_notice_one_that_looks_at_them(machine):
    with pytest.raises(ValueError, match="must depend on the two rows only"):
        clone(machine).set_params(kernel=centred).fit(X + 3.0, Y)


def same_kind(A, B):
    """A kernel of dicts."""
    return np.array([[float(a["kind"] == b["kind"]) + a["x"] * b["x"] for b in B] for a in A])


def of_frames(A, B):
    return np.equal.outer(A["kind"].to_numpy(), B["kind"].to_numpy()) + np.outer(A["x"], B["x"])


def of_matrices(A, B):
    return np.einsum("aij,bij->ab", A, B)


def of_lengths(A, B):
    return np.array([[float(min(len(a), len(b))) for b in B] for a in A])


def of_gaps(A, B):
    A, B = np.nan_to_num(A), np.nan_to_num(B)
    return A @ B.T


rng = np.random.default_rng(0)
KINDS, NUMBERS = rng.choice(["a", "b"], 40), rng.normal(size=40)
LABEL = (KINDS == "a").astype(int)
GAPS = np.where(rng.random((40, 3)) < 0.2, np.nan, rng.normal(size=(40, 3))) + LABEL[:, None]
OBJECTS = {
    "dicts": (same_kind, [{"kind": str(k), "x": float(x)} for k, x in zip(KINDS, NUMBERS, strict=True)]),
    "frames": (of_frames, pd.DataFrame({"kind": KINDS, "x": NUMBERS})),
    "matrices": (of_matrices, rng.normal(size=(40, 3, 2)) + LABEL[:, None, None]),
    "ragged": (of_lengths, [[1.0] * (1 + 3 * k + int(x > 0)) for k, x in zip(LABEL, NUMBERS, strict=True)]),
    "strings": (of_lengths, ["x" * (1 + 3 * k) for k in LABEL]),
    "gaps": (of_gaps, GAPS),
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("machine", [SVC(), SVR(), OneClassSVM(), LSSVC(), SVC(calibration="sigmoid", random_state=0)])
def test_rows_may_be_anything_that_the_function_understands(kind, machine):
    kernel, rows = OBJECTS[kind]
    model = clone(machine).set_params(kernel=kernel).fit(rows, LABEL)
    given = clone(machine).set_params(kernel="precomputed").fit(np.asarray(kernel(rows, rows), dtype=float), LABEL)
    new = rows.iloc[:9] if hasattr(rows, "iloc") else rows[:9]
    expected = scores(given, np.asarray(kernel(new, rows), dtype=float))
    np.testing.assert_allclose(scores(model, new), expected, atol=1e-9)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if is_classifier(model):
        assert model.score(rows, LABEL) > 0.7


def test_objects_are_cross_validated_and_weighted():
    kernel, rows = OBJECTS["frames"]
    assert cross_val_score(SVC(kernel=kernel), rows, LABEL, cv=4).mean() == 1.0
    weight = np.arange(40) % 3
    weighted = SVC(kernel=kernel, gap_tol=1e-10).fit(rows, LABEL, weight)
    repeated = rows.iloc[np.repeat(np.arange(40), weight)]
    whole = SVC(kernel=kernel, gap_tol=1e-10).fit(repeated, np.repeat(LABEL, weight))
    np.testing.assert_allclose(weighted.decision_function(rows), whole.decision_function(rows), atol=1e-6)


def test_a_frame_too_large_for_a_table_is_refused_in_words():
    rows = pd.DataFrame({"kind": ["a", "b"] * 200, "x": np.arange(400.0)})
    with pytest.raises(ValueError, match="raise cache_size"):
        SVC(kernel=of_frames, cache_size=1.0).fit(rows, [0, 1] * 200)


def test_values_that_are_no_gram_matrix_are_refused():
    with pytest.raises(ValueError, match="no Gram matrix"):
        SVC(kernel=lambda A, B: A @ B[:, ::-1].T + np.arange(len(A))[:, None]).fit(X, Y)


# -- functions of two objects ---------------------------------------------------------------------------------------


def alike(a, b):
    return float(a["kind"] == b["kind"]) + a["x"] * b["x"]


def test_objects_are_a_kernel_in_the_algebra():
    rows = OBJECTS["dicts"][1]
    K = same_kind(rows, rows)
    for kernel, values in ((Objects(alike), K), (2 * Objects(alike) + 1, 2 * K + 1), (Objects(alike) ** 2, K**2)):
        np.testing.assert_allclose(kernel(rows), values)
        np.testing.assert_allclose(kernel.diag(rows), np.diag(values))
        np.testing.assert_allclose(kernel(rows[:3], rows[3:]), values[:3, 3:])
        model = SVC(kernel=kernel).fit(rows, LABEL)
        given = SVC(kernel="precomputed").fit(values, LABEL)
        np.testing.assert_allclose(model.decision_function(rows[:9]), given.decision_function(values[:9]), atol=1e-9)
    assert not Objects(alike).why()


def test_objects_that_are_rows_of_numbers_go_with_other_kernels():
    dot = Objects(lambda a, b: float(a @ b))
    mixed = SVC(kernel=Gaussian() + dot, gamma="scale").fit(X, Y)
    assert mixed.kernel_.left.gamma == pytest.approx(1 / (4 * X.var()))
    plain = SVC(kernel=Gaussian(1 / (4 * X.var())) + 1.0 * dot).fit(X, Y)
    np.testing.assert_allclose(mixed.decision_function(X), plain.decision_function(X), atol=1e-9)
    frame = pd.DataFrame({"kind": KINDS, "x": NUMBERS})
    of_tuples = SVC(kernel=Objects(lambda a, b: float(a.kind == b.kind) + a.x * b.x)).fit(frame, LABEL)
    assert of_tuples.score(frame, LABEL) == 1.0


def test_landmarks_may_be_objects():
    rows = OBJECTS["dicts"][1]
    features = NystroemMap(Objects(alike), n_components=40).fit_transform(rows)
    np.testing.assert_allclose(features @ features.T, same_kind(rows, rows), atol=1e-8)


def test_a_model_of_objects_is_no_data(tmp_path):
    rows = OBJECTS["dicts"][1]
    with pytest.raises(ModelFileError, match="is code, and a model file holds data only"):
        io.save(SVC(kernel=Objects(alike)).fit(rows, LABEL), tmp_path / "model.mm")


def test_values_of_pairs_must_be_finite():
    with pytest.raises(ValueError, match="NaN or infinity"):
        SVC(kernel=Objects(lambda a, b: float("nan"))).fit(OBJECTS["dicts"][1], LABEL)
