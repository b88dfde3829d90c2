"""Findings of small real runs, by the public API alone: what the command would find out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import SVCCV, SVRCV, LinearSVCCV, __version__
from maxmargin.inspection import ZONES, margins, support_table, zones
from maxmargin.report import _findings as values

LOADERS = {
    "iris": load_iris,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
    "diabetes": load_diabetes,
}
CODE = """from sklearn.datasets import load_{name}
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from maxmargin import {machine}

X, y = load_{name}(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
model = make_pipeline(StandardScaler(), {model!r}).fit(X, y)
print(model.score(X_test, y_test))
"""


def findings_of(name: str, machine: str = "SVC", **options: Any) -> values.Findings:
    """A search and a fit on a built-in data set."""
    data = LOADERS[name]()
    regression = name == "diabetes"
    y = data.target if regression else np.asarray(data.target_names)[data.target].astype(str)
    split = train_test_split(data.data, y, test_size=0.25, random_state=0, stratify=None if regression else y)
    X, X_test, y, y_test = split
    scale = StandardScaler().fit(X)
    X, X_test = scale.transform(X), scale.transform(X_test)
    search = {"SVC": SVCCV, "SVR": SVRCV, "LinearSVC": LinearSVCCV}[machine](**options).fit(X, y)
    model = search.best_estimator_
    kernel = "linear" if machine == "LinearSVC" else "rbf"
    return values.Findings(
        title=f"{name}: {machine}",
        source=name,
        checksum="ab" * 32,
        version=__version__,
        created="2025-01-31T12:00:00",
        task="regression" if regression else "two classes" if len(model.classes_) == 2 else "many classes",
        target="target",
        rows=len(data.data),
        train_rows=len(y),
        test_rows=len(y_test),
        columns=columns_of(data),
        notices=[
            values.Notice("duplicates", "2 rows occur twice; both copies are on the same side of the split."),
            values.Notice("unscaled", "Columns differ in size by a factor of 4,000; they were scaled."),
        ],
        choices=[
            values.Choice("kernel", kernel, "the best of the kernels in cross-validation", "--kernel"),
            values.Choice("test rows", "25 %", "held back at random, drawn within each class", "--test-size"),
            values.Choice("scaling", "unit variance", "columns differ in size", "--no-scale"),
        ],
        tuning=tuning_of(search, kernel),
        test=regression_test(model, y, X_test, y_test) if regression else class_test(model, y, X_test, y_test),
        cross_validated=float(search.best_score_),
        proof=proof_of(model),
        support=support_of(model, X, y, regression, list(data.feature_names)),
        code=CODE.format(name=name, machine=machine, model=model),
        seconds={"read": 0.004, "tune": 1.84, "train": 0.021, "test": 0.003},
        class_counts={} if regression else {str(c): int(np.sum(y == c)) for c in model.classes_},
        versions={"NumPy": np.__version__},
    )


def columns_of(data: Any) -> list[values.Column]:
    return [
        values.Column(str(name), "number", 0, len(np.unique(x)), f"{x.min():.3g} to {x.max():.3g}, mean {x.mean():.3g}")
        for name, x in zip(data.feature_names, data.data.T, strict=True)
    ]


def tuning_of(search: Any, kernel: str) -> values.Tuning:
    found = search.cv_results_
    cells = len(found["params"])
    return values.Tuning(
        scorer="R2" if hasattr(search.best_estimator_, "epsilon") else "accuracy",
        folds=5,
        kernels=[kernel] * cells,
        strengths=np.array(found["param_C"], dtype=float),
        widths=np.array(found["param_gamma"], dtype=float) if "param_gamma" in found else np.full(cells, np.nan),
        means=np.array(found["mean_test_score"], dtype=float),
        deviations=np.array(found["std_test_score"], dtype=float),
        best=int(search.best_index_),
        dropped=np.array([str(status).startswith("dropped") for status in found["status"]]),
    )


def class_test(model: Any, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> values.Test:
    answer = model.predict(X_test)
    accuracy = float(np.mean(answer == y_test))
    classes, counts = np.unique(y, return_counts=True)
    common = np.full(len(y_test), classes[np.argmax(counts)])
    half = 1.96 * np.sqrt(accuracy * (1 - accuracy) / len(y_test))
    return values.Test(
        metrics={"accuracy": accuracy, "balanced accuracy": balanced_accuracy_score(y_test, answer)},
        baseline={"accuracy": float(np.mean(common == y_test)), "balanced accuracy": 1 / len(classes)},
        intervals={"accuracy": (accuracy - half, min(1.0, accuracy + half))},
        target=y_test,
        predicted=answer,
        labels=[str(c) for c in model.classes_],
        confusion=confusion_matrix(y_test, answer, labels=model.classes_),
        scores=model.decision_function(X_test),
        probabilities=model.predict_proba(X_test) if getattr(model, "calibration", None) else None,
    )


def regression_test(model: Any, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> values.Test:
    answer, common = model.predict(X_test), np.full(len(y_test), y.mean())
    scores = {"R2": r2_score, "mean absolute error": mean_absolute_error}
    return values.Test(
        metrics={name: float(score(y_test, answer)) for name, score in scores.items()},
        baseline={name: float(score(y_test, common)) for name, score in scores.items()},
        intervals={},
        target=y_test,
        predicted=answer,
    )


def proof_of(model: Any) -> values.Proof:
    found = model.certificate_
    return values.Proof(
        primal=found.primal,
        dual=found.dual,
        gap=found.gap,
        relative_gap=found.relative_gap,
        kkt=found.kkt,
        holds=found.holds,
        method=found.method,
        sentence=f"Proven optimal to a relative gap of {found.relative_gap:.1e}.",
        tasks=len(model.certificates_),
    )


def support_of(model: Any, X: np.ndarray, y: np.ndarray, regression: bool, names: list[str]) -> values.Margins:
    if regression:
        spare = np.abs(y - model.predict(X)) - model.epsilon
        counts = {"inside the tube": int(np.sum(spare < -1e-3)), "on the tube": int(np.sum(np.abs(spare) <= 1e-3))}
        counts["outside the tube"] = len(y) - sum(counts.values())
        found = spare
    else:
        found = margins(model, X, y).functional
        where = zones(model, X, y)
        counts = {zone: int(np.sum(where == zone)) for zone in ZONES}
    listed = support_table(model, X, y)
    heaviest = listed.sort_values("influence", ascending=False).head(10)
    deciding = [
        {
            "row": int(line["row"]),
            "label": line["class"],
            "coefficient": float(line["alpha"]),
            "margin": float(line["margin"]),
            **{name: float(X[int(line["row"]), k]) for k, name in enumerate(names[:3])},
        }
        for _, line in heaviest.iterrows()
    ]
    return values.Margins(found, counts, int(listed["row"].nunique()), len(y), deciding)
