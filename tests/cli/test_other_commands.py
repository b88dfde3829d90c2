"""predict, inspect, certify, convert, compare, datasets, doctor, and help."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin import io

COMMANDS = ("train", "predict", "inspect", "certify", "convert", "compare", "datasets", "doctor")


def table(path: Path) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def model(run, people: Path) -> Path:
    """A model of the messy table, linear and calibrated."""
    assert run("train", people.name, "--kernel", "linear", "--C", "1").code == 0
    return people.with_suffix(".mm")


# -- predict --------------------------------------------------------------------------------------------------


def test_predictions_have_the_answer_first(run, model: Path, people: Path, tmp_path: Path) -> None:
    found = run("predict", model.name, people.name, "--out", "answers.csv", "--coverage", "0.9")
    assert found.code == 0, found.err
    lines = table(tmp_path / "answers.csv")
    assert list(lines[0]) == ["prediction", "score", "probability no", "probability yes", "set"]
    assert len(lines) == 240
    rows = io.read_table(people)
    X = rows.rows(["age", "income", "town"])
    whole = io.load(model)
    assert [line["prediction"] for line in lines] == whole.predict(X).tolist()
    np.testing.assert_array_equal([float(line["score"]) for line in lines], whole.decision_function(X))
    assert all(line["set"] in ("", "no", "yes", "no|yes") for line in lines)
    assert "ignored: constant, empty, id, note" in found.text
    assert "rows with a known answer are right" in found.text


def test_chunks_do_not_change_predictions(run, model: Path, people: Path, tmp_path: Path, monkeypatch) -> None:
    run("predict", model.name, people.name, "--out", "whole.csv")
    monkeypatch.setattr("maxmargin.cli._predict.ROWS", 7)
    run("predict", model.name, people.name, "--out", "parts.csv")
    for one, other in zip(table(tmp_path / "whole.csv"), table(tmp_path / "parts.csv"), strict=True):
        assert one["prediction"] == other["prediction"]
        assert float(one["score"]) == pytest.approx(float(other["score"]), abs=1e-9)


def test_predictions_go_to_standard_output(run, model: Path, people: Path) -> None:
    for more in ((), ("--out", "-")):
        found = run("predict", model.name, people.name, *more)
        assert found.out.startswith("prediction,score,")
        assert found.out.count("\n") == 241
        assert "ignored" in found.err


def test_order_of_columns_and_a_missing_target_do_not_matter(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("town,income,age\nUlm,20000,30\nnowhere,,\n")
    found = run("predict", model.name, "new.csv")
    assert found.code == 0, found.err
    assert len(found.out.splitlines()) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age,incom,town\n1,2,Ulm\n", "lacks 1 of the 3 columns that the model was trained on: 'income' ('incom' is"),
        ("age,income,town\nold,2,Ulm\n", "line 2, column 'age': 'old' is not a number"),
        ("age,income,town\n1,2\n", "line 2: 2 cells where the first line has 3"),
        ("", "is empty"),
    ],
)
def test_bad_rows_leave_no_half_written_file(run, model: Path, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "new.csv").write_text(text)
    before = set(tmp_path.iterdir())
    found = run("predict", model.name, "new.csv", "--out", "answers.csv")
    assert found.code == 2
    assert says in found.text
    assert set(tmp_path.iterdir()) == before


def test_answers_do_not_replace_the_data(run, model: Path, people: Path) -> None:
    before = people.read_bytes()
    assert run("predict", model.name, people.name, "--out", people.name).code == 2
    assert run("convert", people.name, people.name).code == 2
    assert people.read_bytes() == before


def test_an_error_far_down_keeps_the_old_file(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("old")
    (tmp_path / "new.csv").write_text("age,income,town\n" + "1,2,Ulm\n" * 10_000 + "x,2,Ulm\n")
    found = run("predict", model.name, "new.csv", "--out", "answers.csv")
    assert (found.code, (tmp_path / "answers.csv").read_text()) == (2, "old")
    assert "line 10002" in found.text


def test_a_category_that_looks_like_numbers(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    kinds = draw.choice(["1", "2", "x"], 90)
    lines = [f"{k},{v:.2f},{'a' if k == '1' else 'b'}" for k, v in zip(kinds, draw.normal(size=90), strict=True)]
    (tmp_path / "codes.csv").write_text("code,value,kind\n" + "\n".join(lines) + "\n")
    assert run("train", "codes.csv", "--kernel", "linear", "--C", "1").code == 0
    (tmp_path / "new.csv").write_text("code,value\n1,0\n2,0\n")
    answers = [line.split(",")[0] for line in run("predict", "codes.mm", "new.csv").out.splitlines()]
    assert answers == ["prediction", "a", "b"]


def test_a_sparse_model_reads_files_with_fewer_features(run, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    lines = [f"{1 if k % 2 else -1} {1 + k % 2}:{draw.random():.3f} 9:{draw.random():.3f}" for k in range(60)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    assert run("train", "rows.svm", "--kernel", "linear", "--C", "1").code == 0
    (tmp_path / "new.svm").write_text("0 1:1\n0 2:1\n")
    assert [line.split(",")[0] for line in run("predict", "rows.mm", "new.svm").out.splitlines()[1:]] == ["-1", "1"]
    (tmp_path / "wide.svm").write_text("0 1:1 10:1\n")
    assert run("predict", "rows.mm", "wide.svm").code == 2


# -- inspect and certify --------------------------------------------------------------------------------------


def test_inspect_finds_the_data_again(run, model: Path) -> None:
    told = run("inspect", model.name, "--json").document
    assert sum(told["zones"].values()) == 192
    assert sum(told["statuses"].values()) == 192
    assert told["proof"]["holds"]
    assert len(told["deciding"]) == 10
    shown = run("inspect", model.name)
    assert "Rows that decide most" in shown.out
    assert "LinearSVC" in shown.out


def test_inspect_without_the_data_says_what_is_missing(run, model: Path, people: Path) -> None:
    people.unlink()
    shown = run("inspect", model.name)
    assert shown.code == 0
    assert "need the data" in shown.text


def test_certify_recomputes_the_proof(run, model: Path, people: Path) -> None:
    told = run("certify", model.name, people.name, "--json").document
    assert told["checked"]
    assert told["rows"] == 192
    saved = io.load(model)[-1].certificate_
    assert told["proof"]["relative_gap"] == pytest.approx(saved.relative_gap, rel=1e-3)


def test_certify_sees_a_changed_file_and_a_changed_model(run, model: Path, people: Path) -> None:
    from sklearn.utils.validation import check_is_fitted

    whole = io.load(model)
    check_is_fitted(whole)
    whole[-1].dual_coef_ = 1.5 * whole[-1].dual_coef_
    whole[-1].coef_ = 1.5 * whole[-1].coef_
    io.save(whole, model, record=io.load_record(model))
    told = run("certify", model.name, people.name, "--json").document
    assert told["proof"]["relative_gap"] > 1e-3 or not told["proof"]["holds"]
    people.write_text(people.read_text(encoding="utf-8").replace("Ulm", "Ulm ", 1), encoding="utf-8")
    found = run("certify", model.name, people.name)
    assert found.code == 2
    assert "is not the file that" in found.text
    assert run("certify", model.name, people.name, "--changed").code in (0, 1)


def test_pickles_are_refused_unless_asked_for(run, tmp_path: Path, flowers: Path) -> None:
    import joblib
    from sklearn.svm import SVC

    rows = io.read_table(flowers)
    joblib.dump(SVC(C=1.0).fit(rows.rows("abcd"), rows["species"].astype(str)), tmp_path / "theirs.pkl")
    found = run("certify", "theirs.pkl", flowers.name)
    assert found.code == 2
    assert "--unsafe-pickle" in found.text
    told = run("certify", "theirs.pkl", flowers.name, "--unsafe-pickle", "--target", "species", "--json").document
    assert told["proof"]["holds"]
    assert told["proof"]["relative_gap"] < 1e-2


# -- the small ones -------------------------------------------------------------------------------------------


def test_compare_with_scikit_learn(run, flowers: Path) -> None:
    told = run("compare", flowers.name, "--kernel", "rbf", "--C", "1", "--no-tune", "--json").document
    ours, loose, tight = told["entries"]
    assert tight["relative_gap"] <= loose["relative_gap"] < 0.1
    assert ours["relative_gap"] < 1e-2
    assert ours["score"] > 0.8
    assert run("compare", flowers.name, "--kernel", "linear", "--C", "1").code == 0


def test_datasets_and_doctor(run) -> None:
    told = run("datasets", "--json").document
    assert {line["name"]: line["rows"] for line in told}["iris"] == 150
    found = run("doctor", "--json")
    assert found.code == 0
    assert found.document["healthy"]
    assert found.document["extras"]["cli"] == "yes"


def test_data_between_csv_and_svmlight(run, tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    assert run("convert", "rows.svm", "rows.csv").code == 0
    assert (tmp_path / "rows.csv").read_text() == "1,2,3,label\n0.5,0,2,1\n0,1,0,-1\n"


def test_converting_into_nothing_known(run, model: Path) -> None:
    found = run("convert", model.name, "model.what")
    assert found.code == 2
    assert "does not tell the format" in found.text
    found = run("convert", model.name, "model.csv")
    assert found.code == 2
    assert "is a model and model.csv would be data" in found.text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command: str) -> None:
    found = run(command, "--help")
    assert found.code == 0
    assert len(found.text) > 150


def test_help_lists_the_commands(run) -> None:
    found = run("--help")
    assert all(command in found.out for command in COMMANDS)
    import maxmargin

    assert run("--version").out.strip() == maxmargin.__version__


def test_without_the_extra_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['typer'] = None; from maxmargin.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    assert "pip install maxmargin[cli]" in ended.stderr


def loaded(doing: str) -> subprocess.CompletedProcess[str]:
    """The command in a process in which something happens while its modules are imported."""
    code = f"""
import importlib.abc, signal, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "maxmargin.cli._app":
            {doing}
sys.meta_path.insert(0, Finder())
sys.argv = ["maxmargin", "--version"]
from maxmargin.cli import main
main()
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("error", "words"),
    [("MemoryError", "not enough memory"), ("ImportError('failed to map it')", "cannot be loaded: failed to map it")],
)
def test_a_command_that_cannot_be_loaded_says_why(error: str, words: str) -> None:
    ended = loaded(f"raise {error}")
    assert ended.returncode == 1
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_an_interrupt_while_modules_are_imported_is_not_lost() -> None:
    """Whoever imports may catch the exception, as callbacks do."""
    ended = loaded("import contextlib\n            with contextlib.suppress(BaseException): signal.raise_signal(2)")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_a_reader_that_goes_away_is_no_error_to_shout_about(model: Path, people: Path) -> None:
    command = f"{sys.executable} -m maxmargin predict {model.name} {people.name} | head -1"
    ended = subprocess.run(command, shell=True, cwd=people.parent, capture_output=True, text=True, timeout=120)
    assert ended.stdout.startswith("prediction")
    assert "Traceback" not in ended.stderr


def test_json_of_an_error_is_a_document_too(run) -> None:
    found = run("train", "nothing.csv", "--json")
    assert found.code == 2
    assert json.loads(found.out) == {"error": json.loads(found.out)["error"], "exit_code": 2}


# -- other programs' files ------------------------------------------------------------------------------------


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A sparse file whose last feature no support vector has."""
    draw = np.random.default_rng(0)
    lines = [f"{1 if k % 2 else -1} {1 + k % 2}:{draw.random():.3f} 3:{draw.random():.3f}" for k in range(80)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n-1 1:0.9 7:0.001\n")
    return tmp_path / "rows.svm"


@pytest.mark.parametrize(("kernel", "other"), [("rbf", "LIBSVM"), ("linear", "LIBLINEAR")])
def test_to_other_programs_and_back(run, rows: Path, kernel: str, other: str) -> None:
    options = ("--kernel", kernel, "--C", "1", *(("--gamma", "0.5") if kernel == "rbf" else ()))
    assert run("train", "rows.svm", *options, "--no-scale", "--calibration", "none").code == 0
    found = run("convert", "rows.mm", "rows.model")
    assert found.code == 0, found.text
    assert other in found.text
    assert run("convert", "rows.model", "back.mm", "--features", 7).code == 0
    ours, theirs, back = (run("predict", name, "rows.svm").out for name in ("rows.mm", "rows.model", "back.mm"))
    answers = [[line.split(",")[0] for line in text.splitlines()] for text in (ours, theirs, back)]
    assert answers[0] == answers[1] == answers[2]
    assert run("inspect", "rows.model").code == 0


def test_certify_a_model_of_libsvm(run, rows: Path, tmp_path: Path) -> None:
    from maxmargin import SVC

    table = io.read_table(rows)
    machine = SVC(C=2.0, gamma=0.5).fit(table.features, table["label"].astype(int))
    io.save_libsvm(machine, tmp_path / "rows.model")
    told = run("certify", "rows.model", "rows.svm", "--C", "2", "--json").document
    assert told["proof"]["holds"]
    assert told["proof"]["relative_gap"] < 1e-6
    found = run("certify", "rows.model", "rows.svm", "--C", "1", "--json")
    assert not found.document["proof"]["holds"]  # alpha exceeds that C
    assert found.code == 1


def test_a_pipeline_becomes_onnx(run, model: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="ONNX models run there")
    pytest.importorskip("onnx", reason="ONNX models are written with it")
    found = run("convert", model.name, "people.onnx")
    assert found.code == 0, found.text
    session = runtime.InferenceSession(str(tmp_path / "people.onnx"))
    assert len(session.get_inputs()) == 3


def test_tables_become_svmlight(run, flowers: Path, tmp_path: Path) -> None:
    (tmp_path / "numbers.csv").write_text("a,b,y\n1,0,1\n0,2.5,-1\n")
    assert run("convert", "numbers.csv", "numbers.svm").code == 0
    back = io.read_table(tmp_path / "numbers.svm")
    assert back["label"].tolist() == [1, -1]
    assert back.features.toarray().tolist() == [[1, 0], [0, 2.5]]
    found = run("convert", flowers.name, "flowers.svm")
    assert (found.code, "is text" in found.text) == (2, True)
