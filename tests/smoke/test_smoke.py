"""All that is public, once: estimators, searches, files and the command.

``make smoke`` runs this on every declared Python that is found, and without docstrings and assertions (-OO); so it
needs nothing but the extra ``smoke``, and stays within three minutes on a machine that has compiled nothing yet.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import io

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = (part[::2] for part in load_iris(return_X_y=True))
X = (X - X.mean(axis=0)) / X.std(axis=0)
TARGET = X @ [1.0, -2.0, 0.5, 0.0] + 0.1 * y
HOMES = maxmargin._HOMES
MACHINES = sorted(name for name, home in HOMES.items() if home == "estimators")
MAPS = sorted(name for name, home in HOMES.items() if home == "maps")
SEARCHES = sorted(name for name in HOMES if name.endswith("CV"))
#: Lists that a search tries, short ones.
VALUES = {"Cs": [0.1, 1.0], "gammas": [0.1, 1.0], "nus": [0.2, 0.4], "lams": [1e-2, 1e-1]}
#: Machines whose model is no claim about an optimum, so that there is nothing to certify.
WITHOUT_PROOF = {"KernelDiscriminantAnalysis", "KernelLeastSquares", "KernelPerceptron", "Perceptron"}


def target_of(model: Any) -> Any:
    return y if is_classifier(model) else TARGET


def options(kind: Any) -> dict[str, Any]:
    """Short lists for a search; few passes for machines that count them."""
    known = inspect.signature(kind).parameters
    return {name: values for name, values in VALUES.items() if name in known} | (
        {"cv": 2} if kind.__name__.endswith("CV") else {}
    )


def fitted(name: str) -> Any:
    kind = getattr(maxmargin, name)
    return kind(**options(kind)).fit(X, target_of(kind()))


def answers(model: Any) -> Any:
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def test_every_public_name_is_there() -> None:
    names: dict[str, Any] = {}
    exec("from maxmargin import *", names)
    assert set(maxmargin.__all__) - {"__version__"} <= set(names)


def test_every_module_imports() -> None:
    extras = {"matplotlib", "starlette", "uvicorn", "websockets", "pyarrow", "pandas", "torch", "triton", "dask"}
    missing = set()
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
        if module.name != "maxmargin.__main__":
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                missing.add((error.name or "").partition(".")[0])
    assert missing <= extras


def test_docstrings_are_whole_or_left_out() -> None:
    for name in [*MACHINES, *SEARCHES]:
        kind = getattr(maxmargin, name)
        text = inspect.getdoc(kind) if kind.__doc__ else None
        assert (text is None) == (sys.flags.optimize >= 2)
        listed = (text or "").partition("Parameters\n----------\n")[2].partition("\nAttributes\n")[0].splitlines()
        named = {part for line in listed if line[:1].strip() and " : " in line
                 for part in line.partition(" : ")[0].split(", ")}  # fmt: skip
        assert text is None or named == set(inspect.signature(kind).parameters), name


@pytest.mark.parametrize("name", [*MACHINES, *MAPS, *SEARCHES])
def test_machines_fit_predict_and_come_back_from_their_file(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    expected = answers(model)
    assert len(expected) == len(y)
    assert np.isfinite(np.asarray(expected, dtype=np.float64)).all()
    if is_classifier(model):
        assert model.score(X, y) > 0.7
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert repr(model).startswith(name)
    if name in MACHINES and name not in WITHOUT_PROOF:
        assert model.certificate_.holds
        assert maxmargin.certify(model, X, target_of(model)).holds
    io.save(model, tmp_path / "model.mm")
    np.testing.assert_array_equal(answers(io.load(tmp_path / "model.mm")), expected)


@pytest.mark.parametrize("name", ["PegasosSVC", "SGDSVC", "Perceptron", "KernelPegasosSVC", "KernelPerceptron"])
def test_streams(name: str) -> None:
    model = getattr(maxmargin, name)()
    for part in (slice(0, None, 2), slice(1, None, 2)):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.chunks_ == 2
    assert np.isin(model.predict(X), [0, 1, 2]).all()


@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "venn-abers"])
def test_probabilities(calibration: str) -> None:
    model = maxmargin.SVC(calibration=calibration, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.predict_set(X, coverage=0.9).shape == (len(y), 3)


def test_paths_and_inspection() -> None:
    two = y > 0
    path = maxmargin.regularization_path(maxmargin.SVC(kernel="linear"), X, two, Cs=[0.1, 1.0])
    assert path.gaps.max() < 1e-3
    exact = maxmargin.regularization_path(maxmargin.SVC(kernel="linear"), X, two, Cs=[0.1, 1.0], exact=True)
    assert exact.exact
    model = path.models[-1]
    assert sum(maxmargin.inspection.status(model, X, two).counts().values()) == len(two)


def test_files_of_others(tmp_path: Path) -> None:
    model, linear = maxmargin.SVC(kernel="linear").fit(X, y), maxmargin.LinearSVC(fit_intercept=False).fit(X, y)
    io.save_libsvm(model, tmp_path / "m.model")
    io.save_liblinear(linear, tmp_path / "l.model")
    assert (io.load_libsvm(tmp_path / "m.model").predict(X) == model.predict(X)).all()
    assert (io.load_liblinear(tmp_path / "l.model").predict(X) == linear.predict(X)).all()
    io.save_svmlight(X, y, tmp_path / "rows.svm")
    (tmp_path / "rows.csv").write_text("a,b\n" + "\n".join(f"{a:.3f},{b:.3f}" for a, b in X[:, :2]) + "\n")
    assert sum(len(labels) for _, labels in io.read_chunks(tmp_path / "rows.svm", rows=20)) == len(y)
    assert len(io.read_table(tmp_path / "rows.csv")) == len(y)


def test_onnx_files(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="ONNX files need the extra `onnx`")
    io.export_onnx(maxmargin.SVC().fit(X, y), tmp_path / "m.onnx", X)
    assert (tmp_path / "m.onnx").stat().st_size > 1000


def command(*words: Any) -> str:
    """What ``maxmargin`` prints, run by this Python with its own switches."""
    switch = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
    run = subprocess.run(
        [sys.executable, *switch, "-m", "maxmargin", *map(str, words)], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_command(tmp_path: Path) -> None:
    pytest.importorskip("typer", reason="the command needs the extra `cli`")
    data, model, page = tmp_path / "rows.csv", tmp_path / "rows.mm", tmp_path / "rows.html"
    rows = "\n".join(",".join(f"{v:.4f}" for v in x) + f",{'abc'[k]}" for x, k in zip(X, y, strict=True))
    data.write_text(f"p,q,r,s,kind\n{rows}\n")
    trained = json.loads(command("train", data, "--target", "kind", "--out", model, "--report", page, "--json"))
    assert trained
    assert "</html>" in page.read_text(encoding="utf-8")
    command("predict", model, data, "--out", tmp_path / "answers.csv")
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == len(y) + 1
    assert "computed afresh from the data in float64" in " ".join(command("certify", model, data).split())
    for words in (("inspect", model, data), ("datasets",), ("doctor",), ("--help",), ("--version",)):
        assert command(*words).strip()
