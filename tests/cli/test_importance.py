"""What a model looks at: measured on held-out rows, in the terminal, the page, the model file and the answers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, LinearSVC
from maxmargin.cli._importance import effect_of, importance_of, reasons, refits, response_of, typical_row

NAMES = ["much", "little", "none"]


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    X = draw.normal(size=(400, 3))
    return X, np.where(2 * X[:, 0] + 0.6 * X[:, 1] + 0.3 * draw.normal(size=400) > 0, "yes", "no")


def test_shuffling_agrees_with_scikit_learn(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = make_pipeline(StandardScaler(), SVC()).fit(X[:250], y[:250])
    found = importance_of(model, NAMES, (X[:250], X[250:]), (y[:250], y[250:]), ("accuracy", accuracy_score), 0)
    theirs = permutation_importance(model, X[250:], y[250:], n_repeats=30, random_state=0)
    np.testing.assert_allclose(found.means, theirs.importances_mean, atol=0.04)
    assert found.means[0] > found.means[1] > found.means[2]
    assert abs(found.means[2]) < 0.05
    assert [effect.name for effect in found.effects][:2] == ["much", "little"]


def test_effects_are_partial_dependence(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    response, what = response_of(model, y)
    own = effect_of(X, 0, "much", response)
    theirs = partial_dependence(
        model, X, [0], custom_values={0: np.array(own.values)}, response_method="decision_function", method="brute"
    )
    np.testing.assert_allclose(own.means, theirs["average"][0], rtol=1e-9)
    assert what == "score of yes"


def test_weights_have_intervals_that_cover(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = make_pipeline(LinearSVC(C=0.1)).fit(X, y)
    found = importance_of(model, NAMES, (X, X), (y, y), ("accuracy", accuracy_score), 0)
    weights = {weight.name: weight for weight in found.weights}
    assert next(iter(weights)) == "much"
    assert abs(weights["much"].value) > weights["much"].margin  # its sign is sure
    assert abs(weights["none"].value) < weights["none"].margin  # and of this one it is not
    again = refits(model[-1], X, y, 0)
    np.testing.assert_allclose(1.96 * again.std(axis=0, ddof=1)[0], weights["much"].margin)


def test_reasons_are_what_replacing_a_value_changes(data: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = data
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, y)
    typical = typical_row(X, NAMES)
    line = reasons(model, X[:1], NAMES, typical)[0]
    name, moved = line.split("; ")[0].split(" ")
    other = X[:1].copy()
    other[0, NAMES.index(name)] = typical[name]
    sign = 1 if model.predict(X[:1])[0] == "yes" else -1
    change = sign * (model.decision_function(X[:1]) - model.decision_function(other))[0]
    assert float(moved) == pytest.approx(change, rel=1e-2)


def test_importance_is_everywhere(run, people: Path, tmp_path: Path) -> None:
    shown = run("train", people.name, "--kernel", "linear", "--C", "0.1", "--report", "page.html", "--no-code")
    assert "What the model looks at" in shown.text
    assert "town_Ulm" in shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    section = page.split('<section id="importance"')[1].split("</section>")[0]
    for words in ("Loss of accuracy", "Probability of yes over age", "town_Ulm", "95 % interval"):
        assert words in section
    assert "looks at" in run("inspect", "people.mm").text
    run("predict", "people.mm", people.name, "--explain", "--out", "why.csv")
    lines = list(csv.DictReader((tmp_path / "why.csv").open(encoding="utf-8")))
    assert any(line["because"].startswith("age ") for line in lines)
    assert any("town " in line["because"] for line in lines)


def test_many_classes_numbers_and_sparse_rows(run, flowers: Path, tmp_path: Path) -> None:
    run("train", flowers.name, "--no-tune", "--report", "page.html")
    assert "Loss of accuracy" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "because" in run("predict", "flowers.mm", flowers.name, "--explain").out
    told = run("train", "diabetes", "--no-tune", "--json").document
    assert told["importance"]["response"] == "prediction"
    assert told["importance"]["metric"] == "R2"
    assert "because" in run("predict", "diabetes.mm", "diabetes", "--explain").out
    draw = np.random.default_rng(0)
    rows = [f"{int(a > 0)} 1:{a:.3f} 2:{b:.3f}" for a, b in draw.normal(size=(60, 2))]
    (tmp_path / "rows.svm").write_text("\n".join(rows) + "\n")
    run("train", "rows.svm", "--no-tune", "--report", "page.html")
    assert "have no names" in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused = run("predict", "rows.mm", "rows.svm", "--explain")
    assert refused.code == 2
    assert "typical" in refused.text
