"""What the command says of optimality and of usefulness is what was proven and measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVC, io
from maxmargin.certificates import Certificate
from maxmargin.cli._proof import goal_of, proof_of
from maxmargin.cli._results import combined, recalls

QUICK = ("--kernel", "rbf", "--no-tune", "--calibration", "none")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A model whose training was cut short, and its data beside it."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 3)).round(3)
    y = (X[:, 0] + draw.normal(size=150) > 0).astype(int)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    with pytest.warns(ConvergenceWarning):
        machine = SVC(C=10, max_iter=1, random_state=0).fit(X, y)
    io.save(machine, tmp_path / "stopped.mm")
    return tmp_path / "stopped.mm"


def test_what_was_cut_short_is_not_proven_optimal(run, stopped: Path) -> None:
    shown = run("certify", stopped.name, "rows.npz")
    assert shown.code == 1
    assert "not there yet" in shown.text
    assert "proven optimal" not in shown.text
    assert "proven optimal" not in run("inspect", stopped.name).text


def test_certify_holds_a_model_against_the_gap_that_is_asked_for(run, stopped: Path) -> None:
    gap = run("certify", stopped.name, "rows.npz", "--json").document["proof"]["relative_gap"]
    assert gap > 0
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 1.005 * gap).code == 0
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 0.995 * gap).code == 1
    assert run("certify", stopped.name, "rows.npz", "--max-gap", 2).code == 2


def test_a_training_that_was_cut_short_writes_its_model_and_says_so(
    run, flowers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.cli._machine.final_parameters", lambda *_: {"max_iter": 1})
    shown = run("train", flowers.name, *QUICK, "--C", "100", "--report", "page.html")
    assert shown.code == 0, shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (tmp_path / "flowers.mm").exists()
    assert "not there yet" in shown.text
    assert "proven optimal" not in shown.text
    assert "Training stopped early" in page
    assert "proven optimal" not in page


def test_no_gap_is_printed_that_float64_cannot_tell_from_none() -> None:
    tiny = Certificate(
        primal=12.0, dual=12.0, gap=7e-25, relative_gap=6e-26, kkt=1e-13, feasible=True, holds=True, rounding=6e-25
    )
    told = proof_of([tiny], goal_of(SVC()))
    assert told.gap >= 2**-52 * 12
    assert told.relative_gap >= 2**-52
    assert "2.2e-16" in told.sentence
    assert "2.22e-16" in str(tiny)
    assert "rounding" in str(tiny)
    rough = replace(tiny, gap=1e-9, rounding=1e-6, relative_gap=1e-10)
    assert proof_of([rough], goal_of(SVC())).gap == 1e-6
    plain = replace(tiny, gap=1e-4, relative_gap=1e-5)
    assert proof_of([plain], goal_of(SVC())).gap == 1e-4


@pytest.mark.parametrize("name", ["wine", "iris"])
def test_the_rounding_bound_holds_for_real_fits(run, name: str) -> None:
    proof = run("train", name, "--json", "--kernel", "linear", "--C", "1e-8", "--calibration", "none").document["proof"]
    assert proof["gap"] >= 2**-52 * proof["primal"]


def test_words_follow_the_method_of_the_proof(run, flowers: Path, tmp_path: Path) -> None:
    independent = "shares nothing with the code that trained"
    shown = run("train", flowers.name, *QUICK, "--report", "page.html")
    assert "given the arithmetic of the compiled kernel" in shown.text
    assert "--certify full makes it independent" in shown.text
    assert "kernel values" in shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert independent not in shown.text + page
    assert "given the arithmetic of the compiled kernel" in page
    assert "--certify full makes it independent" in page
    full = run("train", flowers.name, *QUICK, "--certify", "full", "--report", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (" ".join(full.text.split()), page):
        assert independent in text
        assert "--certify full makes" not in text
        assert "given the arithmetic" not in text
    assert 'certify="full"' in full.out
    assert run("train", flowers.name, "--certify", "half").code == 2


def rows_of(path: Path, X: np.ndarray, y: np.ndarray) -> str:
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.round(3).tolist(), y.tolist(), strict=True)]
    names = [f"x{k}" for k in range(X.shape[1])]
    path.write_text(",".join([*names, "answer"]) + "\n" + "\n".join(lines) + "\n")
    return path.name


def worth(run, tmp_path: Path, y: np.ndarray, *options: str) -> tuple[str, str, str]:
    """First line of the terminal, first tile of the page and the verdict of `inspect`."""
    X = np.random.default_rng(1).normal(size=(len(y), 3))
    X[:, 0] += 3.0 * (y == "strong")
    name = rows_of(tmp_path / "rows.csv", X, y)
    shown = run("train", name, *QUICK, "--report", "page.html", *options)
    assert shown.code == 0, shown.text
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    tile = page.split('<dl class="figures">')[1].split("</div>")[0]
    assert "an optimal model of noise is optimal, too" in page
    assert "whether the model is of use, the verdict says" in page
    first = " ".join(shown.out.split("\n!")[0].split("\n\n")[0].split())
    return first, tile, run("inspect", "rows.mm").text


def test_frauds_that_are_never_found_are_the_first_thing_said(run, tmp_path: Path) -> None:
    y = np.where(np.arange(1000) % 125 == 0, "fraud", "fine")
    for said in worth(run, tmp_path, y):
        assert "not better than always answering 'fine'" in said.lower().replace("&#x27;", "'")
    for said in worth(run, tmp_path, y, "--threshold", "99"):
        assert "not better than always answering 'fine'" in said.lower().replace("&#x27;", "'")
        assert "none of the 2 rows of 'fraud'" in said.replace("&#x27;", "'")


def test_random_labels_are_worth_nothing(run, tmp_path: Path) -> None:
    y = np.random.default_rng(5).choice(["yes", "no"], 300)
    for said in worth(run, tmp_path, y):
        assert "not better than always answering" in said.lower()


def test_random_numbers_are_worth_nothing(run, tmp_path: Path) -> None:
    y = np.random.default_rng(5).normal(size=300).round(4)
    for said in worth(run, tmp_path, y):
        assert "not better than always answering the mean" in said.lower()
        assert "R2" in said


def test_a_model_of_worth_is_better_and_its_interval_is_shown(run, tmp_path: Path) -> None:
    y = np.random.default_rng(5).choice(["strong", "weak"], 400)
    first, tile, inspected = worth(run, tmp_path, y)
    assert first.startswith("Verdict: Better than always answering")
    for said in (first, tile, inspected):
        assert "95 % interval" in said
        assert "not better" not in said.lower()


def test_two_rows_of_a_class_prove_little() -> None:
    truth = np.array(["rare"] * 2 + ["usual"] * 198)
    answer = np.array(["rare"] * 2 + ["rare"] * 180 + ["usual"] * 18)  # nearly everything is called rare
    low, high = combined(recalls(truth, answer), (1.0 + 18 / 198) / 2)
    assert low < 0.5 < (1.0 + 18 / 198) / 2 < high
    draw = np.random.default_rng(0)  # of many such tests the interval holds the truth in about 95 %
    inside = 0
    for _ in range(400):
        hits, alarms = draw.binomial(8, 0.7), draw.binomial(200, 0.9)
        value = (hits / 8 + alarms / 200) / 2
        low, high = combined([(hits, 8, 0.5), (alarms, 200, 0.5)], value)
        inside += low <= 0.8 <= high
    assert inside >= 370


def test_a_certificate_is_a_card_in_a_notebook() -> None:
    good = Certificate(primal=2.0, dual=2.0, gap=1e-8, relative_gap=5e-9, kkt=1e-6, feasible=True, holds=True)
    card = good._repr_html_()
    assert "Proven" in card
    assert "5.00e-09" in card
    places = [float(replace(good, gap=g, relative_gap=g / 2)._repr_html_().split("cx='")[1].split("'")[0])
              for g in (1e-14, 1e-8, 1e-2)]  # fmt: skip
    assert places == sorted(set(places))
    none = replace(good, holds=False, reason="scores <were> sampled")._repr_html_()
    assert "Not proven" in none
    assert "&lt;were&gt;" in none
