"""docs/differences.md is complete: every difference from scikit-learn is on it, and everything on it is one."""

from __future__ import annotations

import inspect
import re
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from joblib import cpu_count
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import make_constraint

import maxmargin
from maxmargin import SVC, SVR, NotSeparableError, NuSVC, OneClassSVM, certify

MACHINES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
LINEAR = ("LinearSVC", "LinearSVR")
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
X, Y = load_iris(return_X_y=True)
#: Properties scikit-learn's classifiers have whether or not they were asked for probabilities.
ONLY_WITH_PROBABILITY = {"probA_", "probB_"}


def section(title: str, page: str = PAGE) -> str:
    """The text under a heading of the second level."""
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(title: str, page: str = PAGE) -> set[tuple[str, str]]:
    """(machine, name) pairs that a section's table lists."""
    pairs = set()
    for line in section(title, page).splitlines():
        if line.startswith("| `"):
            names, machines = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:3])
            everyone = LINEAR if title.startswith("Linear") else MACHINES
            pairs |= {(machine, name) for machine in machines or everyone for name in names}
    return pairs


def constraint(owner: Any, name: str) -> set[str]:
    """What a parameter accepts, in words that do not depend on the order of a set."""
    rules = [make_constraint(rule) for rule in owner._parameter_constraints.get(name, [])]
    return {str(sorted(map(repr, rule.options))) if hasattr(rule, "options") else str(rule) for rule in rules}


def parameter_differences(theirs: Any, ours: Any) -> set[str]:
    """Parameters that one of them lacks, or whose default or accepted values differ."""
    left, right = (dict(inspect.signature(machine).parameters) for machine in (theirs, ours))
    both = left.keys() & right.keys()
    changed = {n for n in both if left[n].default != right[n].default or constraint(theirs, n) != constraint(ours, n)}
    return (left.keys() ^ right.keys()) | changed


def published(model: Any) -> set[str]:
    """Fitted attributes and methods."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {name for name in dir(model) if not name.startswith("_")}
        return {name for name in names if name.endswith("_") or callable(getattr(model, name, None))}


@pytest.mark.parametrize("machine", MACHINES + LINEAR)
def test_every_parameter_that_differs_is_listed_and_no_other(machine: str) -> None:
    title = "Linear machines: parameters" if machine in LINEAR else "Parameters"
    found = parameter_differences(getattr(sklearn.svm, machine), getattr(maxmargin, machine))
    assert found == {name for owner, name in table(title) if owner == machine}


@pytest.mark.parametrize("machine", MACHINES + LINEAR)
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_every_attribute_that_differs_is_listed_and_no_other(machine: str) -> None:
    title = "Linear machines: attributes and methods" if machine in LINEAR else "Attributes and methods"
    theirs, ours = (getattr(library, machine)().fit(X, Y) for library in (sklearn.svm, maxmargin))
    found = (published(theirs) ^ published(ours)) - ONLY_WITH_PROBABILITY
    assert found == {name for owner, name in table(title) if owner == machine}


@pytest.mark.parametrize("machine", MACHINES + LINEAR)
def test_parameters_keep_scikit_learns_order(machine: str) -> None:
    left, right = (list(inspect.signature(getattr(lib, machine)).parameters) for lib in (sklearn.svm, maxmargin))
    assert [name for name in right if name in left] == left


def test_the_comparison_sees_a_difference() -> None:
    class Changed(sklearn.svm.SVC):
        _parameter_constraints = {**sklearn.svm.SVC._parameter_constraints, "tol": ["boolean"]}

        def __init__(self, *, C=2.0, tol=1e-3, novelty=None):
            """Another default, another type, a new parameter, and many missing."""

    found = parameter_differences(sklearn.svm.SVC, Changed)
    assert {"C", "tol", "novelty", "kernel"} <= found
    assert parameter_differences(sklearn.svm.SVC, sklearn.svm.SVC) == set()
    assert table(
        "Parameters", "\n## Parameters\n| `a`, `b` | `SVC` | | |\n| `c` | all | |\n## Next\n| `d` | all |"
    ) == {
        ("SVC", "a"),
        ("SVC", "b"),
        *((machine, "c") for machine in MACHINES),
    }


# -- behaviour: one test per point of the list ---------------------------------------------------------------------

POINTS = re.findall(r"^- \*\*(.+?)\.?\*\*", section("Behaviour") + section("Linear machines: behaviour"), re.MULTILINE)
SHOWN: dict[str, Callable[[], None]] = {}


def shows(point: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register the test of a point of the list."""

    def register(test: Callable[[], None]) -> Callable[[], None]:
        assert point not in SHOWN
        SHOWN[point] = test
        return test

    return register


def test_every_point_is_shown_and_nothing_else() -> None:
    assert sorted(POINTS) == sorted(SHOWN)


@pytest.mark.parametrize("point", POINTS)
def test_difference(point: str) -> None:
    SHOWN[point]()


@shows("Every fit ends")
def _() -> None:
    rows, label = [[0.3, 1e3], [1.5, 1e3]], [0, 1]  # nearly parallel: single steps would need millions
    ours = SVC(kernel="linear", C=25, fit_intercept=False).fit(rows, label)
    assert ours.max_iter == -1
    assert ours.n_iter_[0] < 1000
    assert ours.certificate_.relative_gap < 1e-6  # what rounding leaves of rows of this size


@shows("`predict` is the arg-max of `decision_function`")
def _() -> None:
    rng = np.random.default_rng(0)
    rows, label, new = rng.normal(size=(30, 2)), np.arange(30) % 3, 2 * rng.normal(size=(2000, 2))
    disagree = [
        np.count_nonzero(model.predict(new) != np.argmax(model.decision_function(new), axis=1))
        for model in (library.SVC(gamma=1.0).fit(rows, label) for library in (sklearn.svm, maxmargin))
    ]
    assert disagree[0] > 0
    assert disagree[1] == 0
    ties = SVC(gamma=1.0, break_ties=True).fit(rows, label)
    np.testing.assert_array_equal(ties.predict(new), SVC(gamma=1.0).fit(rows, label).predict(new))
    with pytest.raises(ValueError, match="break_ties"):
        ties.set_params(decision_function_shape="ovo").predict(new)


@shows("With `probability=True`, `predict` is the arg-max of `predict_proba`")
def _() -> None:
    rng = np.random.default_rng(0)
    rows, label = rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.warns(FutureWarning, match="probability"):
        theirs = sklearn.svm.SVC(gamma=1.0, probability=True, random_state=0).fit(rows, label)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = SVC(gamma=1.0, probability=True, random_state=0).fit(rows, label)
    assert (theirs.predict(rows) != theirs.predict_proba(rows).argmax(axis=1)).any()
    np.testing.assert_array_equal(ours.predict(rows), ours.predict_proba(rows).argmax(axis=1))


@shows("A score of exactly 0 is the first class")
def _() -> None:
    rows, middle = [[-1.0], [1.0]], [[0.0]]
    theirs, ours = (library.SVC(kernel="linear").fit(rows, [0, 1]) for library in (sklearn.svm, maxmargin))
    assert theirs.decision_function(middle) == ours.decision_function(middle) == 0
    assert (theirs.predict(middle), ours.predict(middle)) == (1, 0)


@shows("`OneClassSVM` counts rows on the boundary as inside")
def _() -> None:
    for library, inside in ((sklearn.svm, False), (maxmargin, True)):
        model = library.OneClassSVM(nu=0.3).fit(X)
        alpha = model.dual_coef_.ravel()
        free = model.support_[(alpha > 1e-9) & (alpha < alpha.max() - 1e-9)]
        assert len(free) > 0
        assert (model.predict(X[free]) == 1).all() == inside


@shows("Sparse rows can be predicted after a dense fit")
def _() -> None:
    with pytest.raises(ValueError, match="sparse"):
        sklearn.svm.SVC().fit(X, Y).predict(sp.csr_array(X))
    model = SVC().fit(X, Y)
    np.testing.assert_array_equal(model.predict(sp.csr_array(X)), model.predict(X))


def repeated() -> tuple[Any, Any, Any]:
    """Weights, and the rows and labels repeated as they say."""
    weight = np.where(Y == 0, 5, 1)
    return weight, np.repeat(X, weight, axis=0), np.repeat(Y, weight)


@shows("`gamma='scale'` uses the weighted variance")
def _() -> None:
    weight, rows, label = repeated()
    gamma = SVC().fit(X, Y, weight).kernel_.gamma
    assert gamma == pytest.approx(1 / (4 * rows.var()))
    assert gamma == pytest.approx(SVC().fit(rows, label).kernel_.gamma)
    assert sklearn.svm.SVC().fit(X, Y, weight)._gamma == pytest.approx(1 / (4 * X.var()))


@shows("`class_weight='balanced'` uses the weighted counts")
def _() -> None:
    weight, rows, label = repeated()
    theirs, ours = (
        lib.SVC(class_weight="balanced").fit(X, Y, weight).class_weight_ for lib in (sklearn.svm, maxmargin)
    )
    np.testing.assert_allclose(theirs, [1, 1, 1])
    np.testing.assert_allclose(ours, SVC(class_weight="balanced").fit(rows, label).class_weight_)
    assert ours[0] < 0.5


@shows("`classes_` are those of rows with positive weight")
def _() -> None:
    weight = np.where(Y == 2, 0.0, 1.0)
    theirs, ours = (library.SVC().fit(X, Y, weight) for library in (sklearn.svm, maxmargin))
    assert list(theirs.classes_) == [0, 1, 2]
    assert list(ours.classes_) == [0, 1]
    with pytest.raises(IndexError):
        theirs.decision_function(X)
    assert ours.decision_function(X).shape == (150,)


@shows("`NuSVC` takes `class_weight`")
def _() -> None:
    rows, label, weights = X[:, :2], Y > 1, {True: 5.0}
    for library, moves in ((sklearn.svm, False), (maxmargin, True)):
        scores = [library.NuSVC(class_weight=w).fit(rows, label).decision_function(rows) for w in (None, weights)]
        assert np.allclose(*scores) != moves
    nu = NuSVC(class_weight=weights).fit(rows, label)
    same = SVC(C=nu.C_[0], class_weight=weights).fit(rows, label)
    np.testing.assert_allclose(nu.decision_function(rows), same.decision_function(rows), atol=1e-6)


@shows("An infeasible `nu` is cut")
def _() -> None:
    label = np.arange(150) < 15
    with pytest.raises(ValueError, match="infeasible"):
        sklearn.svm.NuSVC(nu=0.9).fit(X, label)
    with pytest.warns(UserWarning, match=r"nu is infeasible.*0\.2"):
        cut = NuSVC(nu=0.9).fit(X, label)
    np.testing.assert_allclose(cut.decision_function(X), NuSVC(nu=0.2).fit(X, label).decision_function(X), atol=1e-6)


@shows("`C=np.inf` is the hard margin")
def _() -> None:
    model = SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    np.testing.assert_allclose(model.decision_function([[1.0], [2.0], [3.0]]), [-1, 0, 1], atol=1e-9)
    with pytest.raises(NotSeparableError) as caught:
        SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    positive, negative = caught.value.witness
    assert positive @ [0, 1, 2] == pytest.approx(negative @ [0, 1, 2])
    with pytest.raises(ValueError, match="'C' parameter of SVR"):
        SVR(C=np.inf).fit(X, Y)


@shows("A precomputed matrix must be symmetric")
def _() -> None:
    K = X @ X.T
    K[0, 1] += 5
    sklearn.svm.SVC(kernel="precomputed").fit(K, Y)
    with pytest.raises(ValueError, match="symmetric; the largest difference from its transpose is 5"):
        SVC(kernel="precomputed").fit(K, Y)


@shows("Callable kernels get blocks of rows where all values do not fit")
def _() -> None:
    shapes: list[tuple[int, int]] = []

    def kernel(A: Any, B: Any) -> Any:
        shapes.append((len(A), len(B)))
        return A @ B.T

    sklearn.svm.SVC(kernel=kernel).fit(X, Y)
    assert shapes == [(150, 150)]
    shapes.clear()
    SVC(kernel=kernel).fit(X, Y)
    assert shapes == [(150, 150)]
    shapes.clear()
    ours = SVC(kernel=kernel, gap_tol=1e-10, cache_size=0.1).fit(X, Y)
    assert len(shapes) > 1
    np.testing.assert_allclose(
        ours.decision_function(X), SVC(kernel="linear", gap_tol=1e-10).fit(X, Y).decision_function(X), atol=1e-6
    )


@shows("`support_vectors_` are kept for callable kernels")
def _() -> None:
    theirs, ours = (lib.SVC(kernel=lambda A, B: A @ B.T).fit(X, Y) for lib in (sklearn.svm, maxmargin))
    assert theirs.support_vectors_.size == 0
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])


@shows("float32 stays float32")
def _() -> None:
    theirs, ours = (library.SVC().fit(X.astype(np.float32), Y) for library in (sklearn.svm, maxmargin))
    assert (theirs.support_vectors_.dtype, ours.support_vectors_.dtype) == (np.float64, np.float32)
    assert theirs.dual_coef_.dtype == ours.dual_coef_.dtype == np.float64


@shows("A failed fit leaves no trace")
def _() -> None:
    theirs, ours = (library.SVC().fit(X, Y) for library in (sklearn.svm, maxmargin))
    for model in (theirs, ours):
        with pytest.raises(ValueError, match="class"):
            model.fit(X[:, :2], np.zeros(150))
    with pytest.raises(ValueError, match="features"):
        theirs.predict(X)
    assert ours.score(X, Y) > 0.9


@shows("Tiny problems end far below `tol`")
def _() -> None:
    few = slice(None, None, 3)  # 50 rows
    rows, labels = X[few], Y[few]
    theirs, ours = (certify(m.SVC(tol=1e-3).fit(rows, labels), rows, labels) for m in (sklearn.svm, maxmargin))
    assert 1e-5 < theirs.kkt < 2e-3
    assert ours.kkt < 1e-10
    assert ours.relative_gap < 1e-10 < theirs.relative_gap
    default, tight = (SVC(gap_tol=goal).fit(X, Y).certificate_ for goal in (None, 1e-10))
    assert 1e-6 < default.kkt <= 1e-3
    assert tight.relative_gap <= 1e-10


@shows("Private attributes are ours")
def _() -> None:
    theirs, ours = (library.SVC().fit(X, Y) for library in (sklearn.svm, maxmargin))
    assert theirs._gamma == pytest.approx(ours.kernel_.gamma)
    assert not {"_gamma", "_n_support", "_dual_coef_", "_sparse"} & set(dir(ours))


@shows("The same problem given in another way is solved to the same `tol`")
def _() -> None:
    for library in (sklearn.svm, maxmargin):
        dense, sparse, called = (
            library.SVC(kernel=kernel).fit(rows, Y).decision_function(rows)
            for kernel, rows in (("linear", X), ("linear", sp.csr_array(X)), (lambda A, B: A @ B.T, X))
        )
        np.testing.assert_allclose(sparse, dense, atol=1e-2)
        np.testing.assert_allclose(called, dense, atol=1e-2)


@shows("Messages are ours")
def _() -> None:
    for library, message in ((sklearn.svm, "coefficients or intercepts are not finite"), (maxmargin, "overflow")):
        with pytest.raises(ValueError, match=message):
            library.SVC().fit(1e200 * X, Y)


@shows("`n_iter_` counts our steps")
def _() -> None:
    theirs, ours = (library.SVC().fit(X, Y) for library in (sklearn.svm, maxmargin))
    assert theirs.n_iter_.shape == ours.n_iter_.shape == (3,)
    last = [ours.history_["iteration"][ours.history_["task"] == task].max() for task in range(3)]
    np.testing.assert_array_equal(ours.n_iter_, last)
    assert not np.array_equal(ours.n_iter_, theirs.n_iter_)


@shows("`shrinking` has no effect")
def _() -> None:
    on, off = (SVC(shrinking=flag).fit(X, Y) for flag in (True, False))
    np.testing.assert_array_equal(on.dual_coef_, off.dual_coef_)


@shows("`random_state` seeds only folds and code words")
def _() -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 2))  # too many for a cheap certificate
    label = np.random.default_rng(1).integers(0, 2, size=3000)
    models = [SVC(random_state=seed, gap_tol=1e-2).fit(rows, label) for seed in (0, 1)]
    assert models[0].certificate_.method == "bounded"
    assert models[0].certificate_ == models[1].certificate_
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@shows("All cores are used")
def _() -> None:
    from maxmargin.backends import effective_threads

    inside: list[int] = []
    worker = threading.Thread(target=lambda: inside.append(effective_threads(SVC().n_jobs)))
    worker.start()
    worker.join()
    assert inside == [1]
    assert effective_threads(SVC(n_jobs=-1).n_jobs) == cpu_count()
    assert 1 <= effective_threads(SVC().n_jobs) <= cpu_count()


@shows("`verbose` shows our progress line")
def _() -> None:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        SVC(verbose=True).fit(X, Y)
    assert re.search(r"\[SVC\] task 2 of 3 .* relative gap \d", out.getvalue())


@shows("Ctrl-C ends the fit with a usable model")
def _() -> None:
    def kernel(A: Any, B: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return A @ B.T

    with pytest.raises(KeyboardInterrupt):
        sklearn.svm.SVC(kernel=kernel).fit(X, Y)

    pressed: list[bool] = []

    def once(A: Any, B: Any) -> Any:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)
        return A @ B.T

    with pytest.warns(ConvergenceWarning, match="interrupted; fit again with warm_start=True"):
        model = SVC(kernel=once, gap_tol=1e-300).fit(X, Y)
    assert model.certificate_.feasible
    assert model.score(X, Y) > 0.3


@shows("`ConvergenceWarning` says more")
def _() -> None:
    with pytest.warns(
        ConvergenceWarning, match=r"terminated early in . of 3 tasks: max_iter was reached.*[Gg]ap reached: \d"
    ):
        SVC(max_iter=1).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="time_limit was reached"):
        SVC(time_limit=1e-9, gap_tol=1e-300).fit(X, Y)
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        sklearn.svm.SVC(max_iter=1).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneClassSVM().fit(X)


@shows("The intercept is never penalised")
def _() -> None:
    far = X[:100] + 50.0
    ours = [maxmargin.LinearSVC(loss="hinge", tol=1e-10, intercept_scaling=s).fit(far, Y[:100]) for s in (1, 100)]
    centred = maxmargin.LinearSVC(loss="hinge", tol=1e-10).fit(X[:100], Y[:100])
    np.testing.assert_allclose(ours[0].coef_, centred.coef_, atol=1e-5)  # where the origin is does not matter
    np.testing.assert_array_equal(ours[0].coef_, ours[1].coef_)
    theirs = [
        sklearn.svm.LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6).fit(rows, Y[:100]) for rows in (far, X[:100])
    ]
    assert np.abs(theirs[0].coef_ - theirs[1].coef_).max() > 1e-2


@shows("Where an interval of intercepts is equally good, its middle is taken")
def _() -> None:
    few, sign = np.array([[-2.0], [-1.0], [1.0], [3.0]]), [-1, -1, 1, 1]
    ours = maxmargin.LinearSVC(loss="hinge", C=0.01).fit(few, sign)
    kernel = maxmargin.SVC(kernel="linear", C=0.01).fit(few, sign)
    np.testing.assert_allclose(ours.intercept_, kernel.intercept_, atol=1e-9)


@shows("Every loss goes with every penalty")
def _() -> None:
    for dual in (True, False):
        assert maxmargin.LinearSVC("l1", "hinge", dual=dual).fit(X, Y).certificate_.holds
    with pytest.raises(ValueError, match="Unsupported set of arguments"):
        sklearn.svm.LinearSVC("l1", "hinge").fit(X, Y)


@shows("`tol` is the relative duality gap")
def _() -> None:
    for tol in (1e-2, 1e-6):
        model = maxmargin.LinearSVC(loss="hinge", tol=tol).fit(X, Y)
        assert model.certificate_.relative_gap <= tol
