"""One name for a task, and one number, wherever somebody reads of it: from 0, as in ``intercept_`` and ``history_``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_iris

import maxmargin
from maxmargin import SVC, LinearSVC, certify, inspection
from maxmargin.delivered import read
from maxmargin.multiclass import make_words

X, Y = load_iris(return_X_y=True)
X, NAMED = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape), np.array(["setosa", "versicolor", "virginica"])[Y]
PAIRS = ["setosa against versicolor", "setosa against virginica", "versicolor against virginica"]
REST = [f"{name} against the rest" for name in ("setosa", "versicolor", "virginica")]
#: Two bits that tell three classes apart: the second is the one that names virginica.
WORDS = [[0, 1], [1, 1], [0, 0]]
#: A machine, and what its tasks are called.
CALLED = [
    (SVC(), PAIRS),
    (SVC(multiclass="ovr"), REST),
    (SVC(multiclass="code"), REST),
    (SVC(multiclass="code", code_words=WORDS), ["bit 0", "bit 1"]),
    (LinearSVC(loss="hinge"), REST),
    (LinearSVC(loss="hinge", multiclass="ovo"), PAIRS),
    (LinearSVC(loss="hinge", multiclass="code", code_words=WORDS), ["bit 0", "bit 1"]),
]


@pytest.fixture(params=CALLED, ids=lambda case: str(case[0]))
def case(request):
    model, names = request.param
    return model.fit(X, NAMED), names


def test_inspection_calls_a_task_what_the_model_does(case) -> None:
    model, names = case
    assert read(model).names == names
    assert list(inspection.margins(model, X, NAMED).tasks) == names
    assert list(inspection.status(model, X, NAMED).tasks) == names
    for many in (inspection.kkt(model, X, NAMED), inspection.lagrangian(model, X, NAMED)):
        assert [task.task for task in many.tasks] == names
    explained = inspection.explain(model, X[0])
    assert [task.task for task in explained.tasks] == names
    assert [line.partition(":")[0] for line in str(explained).split("\n") if ": score" in line] == names
    assert set(inspection.support_table(model, X, NAMED)["task"]) <= set(names)


def test_plots_call_a_task_what_the_model_does(case) -> None:
    pytest.importorskip("matplotlib", reason="displays draw with matplotlib").use("Agg")
    from matplotlib import pyplot as plt

    from maxmargin.plotting import GapDisplay, SupportDisplay

    model, names = case
    history = GapDisplay.from_estimator(model, tasks="all")
    legend = [text.get_text() for text in history.ax_.get_legend().get_texts()]
    assert history.names == names
    assert legend[: len(names)] == names
    for number, name in enumerate(names):
        assert history.lines_[number].get_label() == name
        assert SupportDisplay.from_estimator(model, X, NAMED, task=number).name == name
    bare = GapDisplay(model.history_)
    assert bare.names == [f"task {number}" for number in range(len(names))]
    plt.close("all")


def test_the_playground_calls_a_task_what_the_model_does(case) -> None:
    points = pytest.importorskip("maxmargin.playground._rooms._points", reason="the playground needs its extra")
    model, names = case
    assert list(points.task_names(model, X, NAMED)) == names


def test_messages_call_a_task_what_the_model_does() -> None:
    with pytest.raises(ValueError, match="no row of y is in task 'versicolor against virginica'"):
        inspection.margin_error_bound(SVC().fit(X, NAMED), X[:50], NAMED[:50], c=1.0)
    with pytest.raises(ValueError, match="bit 1 of code_words is the same for all classes"):
        make_words([[0, 1], [1, 1]], 2, 0)


@pytest.mark.parametrize("machine", [SVC, LinearSVC])
def test_a_bit_has_the_number_of_its_column_its_intercept_and_its_certificate(machine) -> None:
    model = machine(loss="hinge", multiclass="code", code_words=WORDS) if machine is LinearSVC else None
    model = (model or SVC(multiclass="code", code_words=WORDS)).fit(X, NAMED)
    for number, bit in enumerate(inspection.margins(model, X, NAMED).tasks):
        assert bit == f"bit {number}"
        sides = machine(loss="hinge") if machine is LinearSVC else SVC()
        alone = sides.fit(X, model.code_words_[Y, number])
        np.testing.assert_allclose(alone.intercept_, model.intercept_[number], rtol=1e-4, atol=1e-6)
        assert certify(alone, X, model.code_words_[Y, number]).primal == pytest.approx(
            model.certificates_[number].primal, rel=1e-4
        )


def test_the_progress_line_has_the_numbers_of_the_history(capsys) -> None:
    model = SVC(verbose=True).fit(X, NAMED)
    shown = {int(number) for number in re.findall(r"\] task (\d+) of 3", capsys.readouterr().out)}
    assert shown
    assert shown <= set(model.history_["task"].tolist()) == {0, 1, 2}


def test_two_classes_and_other_libraries_models_have_the_same_names() -> None:
    two = NAMED != "virginica"
    for machine in (SVC, LinearSVC, svm.SVC, svm.LinearSVC):
        assert read(machine().fit(X[two], NAMED[two])).names == ["versicolor against setosa"]
    assert read(svm.SVC().fit(X, NAMED)).names == PAIRS
    assert read(svm.LinearSVC().fit(X, NAMED)).names == REST
    assert read(SVC(multiclass="crammer-singer").fit(X, NAMED)).names == ["setosa", "versicolor", "virginica"]


#: A task's number in the text of a source, one more than it is.
FROM_ONE = re.compile(r"\b(task|bit) \$?\{[^}]*\+ *1 *\}")


def test_no_source_numbers_tasks_from_one() -> None:
    assert FROM_ONE.search('f"bit {k + 1}"')
    assert FROM_ONE.search("`task ${k+1}`")
    root = Path(maxmargin.__file__).parent
    sources = [path for kind in ("*.py", "*.js") for path in root.rglob(kind)]
    assert [path.name for path in sources if FROM_ONE.search(path.read_text(encoding="utf-8"))] == []
