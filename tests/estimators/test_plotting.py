"""Displays: what the artists of every picture say is true, and bad input is told apart from good."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import (
    SGDSVC,
    SVC,
    SVR,
    LinearClassifier,
    LinearSVC,
    NuSVC,
    OneClassSVM,
    PegasosSVC,
    Perceptron,
    plotting,
)
from maxmargin.inspection import STATUSES, mistake_bound, pegasos_bound, status, tolerance
from maxmargin.kernels import Gaussian, Linear
from maxmargin.losses import LOSSES, EpsilonInsensitive, Huber, Pinball, resolve_loss
from maxmargin.plotting import (
    DecisionDisplay,
    GapDisplay,
    GramDisplay,
    LossDisplay,
    PathDisplay,
    PegasosDisplay,
    PerceptronDisplay,
    ProjectionDisplay,
    ReliabilityDisplay,
    SaddleDisplay,
    SubgradientDisplay,
    SupportDisplay,
)
from maxmargin.plotting._shared import COLOURS

mpl = pytest.importorskip("matplotlib", reason="displays draw with matplotlib")
mpl.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

X, Y = load_iris(return_X_y=True)
PLANE = X[:, [2, 3]]
TWO = Y > 1


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    before = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == before


def texts(display) -> list[str]:
    """Labels of a display's legend."""
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def drawn(display):
    """The display, after its figure has been drawn: what fails only then fails here."""
    display.figure_.canvas.draw()
    return display


# -- what all displays share ----------------------------------------------------------------------------------


def test_importing_the_package_does_not_load_matplotlib() -> None:
    where = str(Path(maxmargin.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {where!r}); import maxmargin.plotting; print('matplotlib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert run.stdout.strip() == "False"


CALLS = {
    "DecisionDisplay": lambda ax: DecisionDisplay.from_estimator(SVC().fit(PLANE, TWO), PLANE, TWO, ax=ax),
    "GapDisplay": lambda ax: GapDisplay.from_estimator(SVC().fit(PLANE, TWO), ax=ax),
    "GramDisplay": lambda ax: GramDisplay.from_kernel("rbf", X, Y, ax=ax),
    "LossDisplay": lambda ax: LossDisplay.from_losses(ax=ax),
    "PathDisplay": lambda ax: PathDisplay.from_arrays([0.1, 1.0], [[0.0, 1.0], [2.0, 3.0]], ax=ax),
    "PegasosDisplay": lambda ax: PegasosDisplay.from_estimator(PegasosSVC(0.1, max_iter=9).fit(X, TWO), X, TWO, ax=ax),
    "PerceptronDisplay": lambda ax: PerceptronDisplay.from_data(PLANE, Y == 0, seeds=3, ax=ax),
    "ProjectionDisplay": lambda ax: ProjectionDisplay.from_transform(PLANE, Y, ax=ax),
    "ReliabilityDisplay": lambda ax: ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.1, 0.9, 0.6, 0.4], ax=ax),
    "SaddleDisplay": lambda ax: SaddleDisplay.from_estimator(SVC().fit(PLANE, TWO), PLANE, TWO, ax=ax),
    "SubgradientDisplay": lambda ax: SubgradientDisplay.from_loss("hinge", 1.0, ax=ax),
    "SupportDisplay": lambda ax: SupportDisplay.from_estimator(SVC().fit(PLANE, TWO), PLANE, TWO, ax=ax),
}


def test_every_display_is_in_the_lists_below() -> None:
    assert sorted(CALLS) == sorted(plotting.__all__)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_without_matplotlib_every_display_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=rf'{name} draws with matplotlib.*pip install "maxmargin\[plot\]"'):
        CALLS[name](None)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_display_draws_where_it_is_told_to(name: str) -> None:
    figure = Figure(figsize=(5, 4), layout="constrained")
    ax = figure.subplots()
    display = drawn(CALLS[name](ax))
    assert display.figure_ is figure
    assert display.ax_ is ax or ax in figure.axes
    assert plt.get_fignums() == []
    assert display.ax_.get_xlabel() or display.axes_[1].get_xlabel()
    assert display.ax_.get_ylabel()


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_display_opens_one_figure_and_draws_again(name: str) -> None:
    display = drawn(CALLS[name](None))
    assert plt.get_fignums() == [1]
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


@pytest.mark.parametrize("name", sorted(CALLS))
def test_something_else_than_axes_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        CALLS[name]("here")


def test_a_display_of_two_parts_takes_a_pair_of_axes_and_splits_one_of_a_grid() -> None:
    figure = Figure()
    pair = figure.subplots(1, 2)
    display = CALLS["ReliabilityDisplay"](pair)
    assert display.axes_ == tuple(pair)
    whole = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="only axes of a grid"):
        CALLS["ReliabilityDisplay"](whole)


#: Linear RGB as people without one kind of cone see it: Machado, Oliveira and Fernandes 2009, severity 1.
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def seen(colour: str, kind: str) -> np.ndarray:
    """CIELAB of a colour as somebody sees it; a distance of 2 is just visible."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    linear = np.array(BLINDNESS[kind]) @ np.array(mpl.colors.to_rgb(colour)) ** 2.2
    f = np.cbrt(to_xyz @ np.clip(linear, 0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def nearest(colours, kind: str) -> float:
    """The distance of the two colours that are hardest to tell apart."""
    return min(float(np.linalg.norm(seen(a, kind) - seen(b, kind))) for a, b in combinations(colours, 2))


@pytest.mark.parametrize("kind", sorted(BLINDNESS))
def test_colours_are_told_apart_by_people_who_see_fewer(kind: str) -> None:
    assert nearest(COLOURS, kind) > 15
    assert nearest([*COLOURS, "#14532d"], "protanopia") < 10  # a dark green is brown to many


# -- decisions ------------------------------------------------------------------------------------------------


def level_points(display) -> dict[float, np.ndarray]:
    """Points of every level line of a picture of two classes."""
    (contours,) = display.contours_
    return {float(level): path.vertices for level, path in zip(contours.levels, contours.get_paths(), strict=True)}


MACHINES = {
    "kernel": SVC(C=5.0),
    "nu": NuSVC(nu=0.2),
    "linear": LinearSVC(loss="hinge", C=10.0, tol=1e-8),
    "stochastic": PegasosSVC(lam=1e-3, scale=True, fit_intercept=True),
    "perceptron": Perceptron(),
    "pipeline": make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2)),
}


@pytest.mark.parametrize("name", sorted(MACHINES))
@pytest.mark.filterwarnings("ignore:.*perceptrons still made mistakes")
def test_the_lines_lie_where_the_score_is_minus_1_0_and_1(name: str) -> None:
    model = MACHINES[name].fit(PLANE, TWO)
    display = drawn(DecisionDisplay.from_estimator(model, PLANE, TWO))
    found = level_points(display)
    assert set(found) <= {-1.0, 0.0, 1.0}
    assert 0.0 in found
    for level, path in found.items():
        f = model.decision_function(path)
        np.testing.assert_allclose(f, level, atol=0.01 * np.ptp(display.f))
        assert len(path) > 10
    on_grid = model.decision_function([[display.x[3], display.y[7]]])
    assert display.f[7, 3] == pytest.approx(float(on_grid[0]))
    assert {"boundary, f = 0", "margins, f = ±1"} <= set(texts(display))


def test_lines_of_a_linear_machine_are_exact() -> None:
    model = LinearSVC(loss="hinge", C=10.0, tol=1e-8).fit(PLANE, TWO)
    display = DecisionDisplay.from_estimator(model, PLANE, TWO, grid_resolution=20)
    for level, path in level_points(display).items():
        np.testing.assert_allclose(model.decision_function(path), level, atol=1e-9)


@pytest.mark.parametrize("name", ["kernel", "nu", "linear", "pipeline"])
def test_every_row_is_marked_by_its_status(name: str) -> None:
    model = MACHINES[name].fit(PLANE, TWO)
    display = drawn(DecisionDisplay.from_estimator(model, PLANE, TWO, support="status"))
    last = model[-1] if name == "pipeline" else model
    rows = model[:-1].transform(PLANE) if name == "pipeline" else PLANE
    found = status(last, rows, TWO).status
    assert sum(map(len, (mark.rows for mark in display.marks))) == len(PLANE)
    for kind in STATUSES[1:]:
        own = PLANE[found == kind]
        assert (kind in display.marks_) == (len(own) > 0)
        if len(own):
            np.testing.assert_array_equal(display.marks_[kind].get_offsets(), own)
            assert f"{kind} ({len(own)})" in texts(display)
    assert f"not a support vector ({np.sum(found == STATUSES[0])})" in texts(display)
    assert f"support vectors ({len(last.support_)})" in texts(display)


def test_rows_on_the_margin_lie_on_the_dashed_lines() -> None:
    model = SVC(kernel="linear", C=1.0, gap_tol=1e-10).fit(PLANE, TWO)
    display = DecisionDisplay.from_estimator(model, PLANE, TWO)
    on_margin = np.asarray(display.marks_["on the margin"].get_offsets())
    np.testing.assert_allclose(np.abs(model.decision_function(on_margin)), 1.0, atol=1e-6)
    assert len(on_margin) >= 2


def test_points_are_those_of_every_class() -> None:
    names = np.where(TWO, "yes", "no")
    display = DecisionDisplay.from_estimator(SVC().fit(PLANE, names), PLANE, names)
    assert texts(display)[:2] == ["no", "yes"]
    np.testing.assert_array_equal(display.points_[0].get_offsets(), PLANE[~TWO])
    np.testing.assert_array_equal(display.points_[1].get_offsets(), PLANE[TWO])


@pytest.mark.parametrize("multiclass", ["ovo", "ovr", "crammer-singer"])
def test_many_classes_have_a_region_each(multiclass: str) -> None:
    model = SVC(multiclass=multiclass).fit(PLANE, Y)
    display = drawn(DecisionDisplay.from_estimator(model, PLANE, Y, grid_resolution=60))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(display.x, display.y)])
    np.testing.assert_array_equal(display.regions.ravel(), model.predict(grid))
    np.testing.assert_array_equal(display.regions_[0].get_array().ravel(), display.regions.ravel())
    np.testing.assert_array_equal(display.marks_["support vectors"].get_offsets(), PLANE[model.support_])
    wrong = model.predict(PLANE) != Y
    np.testing.assert_array_equal(display.marks_["misclassified"].get_offsets(), PLANE[wrong])
    assert len(display.contours_) == 3


def test_a_machine_for_one_class_has_an_inside_and_an_outside() -> None:
    model = OneClassSVM(nu=0.1).fit(PLANE)
    display = drawn(DecisionDisplay.from_estimator(model, PLANE))
    assert list(level_points(display)) == [0.0]
    assert len(display.points_[0].get_offsets()) == np.sum(model.predict(PLANE) < 0)
    assert texts(display) == ["outside", "inside", "boundary, f = 0", f"support vectors ({len(model.support_)})"]


def test_other_rows_than_the_training_rows_are_marked_by_their_margin() -> None:
    model = SVC(C=5.0).fit(PLANE[::2], TWO[::2])
    rows, label = PLANE[1::2], TWO[1::2]
    display = drawn(DecisionDisplay.from_estimator(model, rows, label))
    margin = np.where(label, 1, -1) * model.decision_function(rows)
    np.testing.assert_array_equal(display.marks_["misclassified"].get_offsets(), rows[margin <= 0])
    np.testing.assert_array_equal(display.marks_["inside the strip"].get_offsets(), rows[(margin > 0) & (margin < 1)])
    for support in ("status", "all"):
        with pytest.raises(ValueError, match="support vectors"):
            DecisionDisplay.from_estimator(model, rows, label, support=support)


@pytest.mark.parametrize("model", [LinearClassifier(loss="logistic"), Perceptron(), PegasosSVC(lam=1e-3)])
@pytest.mark.filterwarnings("ignore:.*perceptrons still made mistakes")
def test_models_without_statuses_show_what_is_misclassified(model) -> None:
    display = drawn(DecisionDisplay.from_estimator(model.fit(PLANE, TWO), PLANE, TWO))
    wrong = model.predict(PLANE) != TWO
    np.testing.assert_array_equal(display.marks_["misclassified"].get_offsets(), PLANE[wrong])
    assert "on the margin" not in display.marks_


def test_support_vectors_can_be_marked_alike_or_not_at_all() -> None:
    model = SVC().fit(PLANE, TWO)
    alike = DecisionDisplay.from_estimator(model, PLANE, TWO, support="all")
    np.testing.assert_array_equal(alike.marks_["support vectors"].get_offsets(), PLANE[model.support_])
    assert DecisionDisplay.from_estimator(model, PLANE, TWO, support="none").marks_ == {}


def test_rows_of_weight_0_have_no_status() -> None:
    weight = np.where(np.arange(150) % 10, 1.0, 0.0)
    model = SVC(C=5.0).fit(PLANE, TWO, weight)
    display = DecisionDisplay.from_estimator(model, PLANE, TWO, sample_weight=weight, support="status")
    marked = np.concatenate([mark.rows for mark in display.marks])
    assert (np.sort(marked) == np.flatnonzero(weight)).all()


def test_columns_of_a_data_frame_name_the_axes() -> None:
    pandas = pytest.importorskip("pandas", reason="a data frame")
    frame = pandas.DataFrame(PLANE, columns=["length", "width"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = drawn(DecisionDisplay.from_estimator(SVC().fit(frame, TWO), frame, TWO))
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")


def test_a_score_that_never_reaches_a_level_has_no_line_there() -> None:
    for low, high, labels in ((3.0, 3.0, []), (0.5, 2.0, ["margins, f = ±1"]), (-0.5, 0.5, ["boundary, f = 0"])):
        model = SimpleNamespace(
            classes_=np.array([False, True]),
            predict=lambda rows: np.ones(len(rows), dtype=bool),
            decision_function=lambda rows, low=low, high=high: np.linspace(low, high, len(rows)),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            display = drawn(DecisionDisplay.from_estimator(model, PLANE, TWO, support="none"))
        assert len(display.contours_) == len(labels)
        assert texts(display)[2:] == labels


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DecisionDisplay.from_estimator(SVC().fit(X, Y), X, Y), r"X has 4 features: fit on two columns.*PCA"),
        (lambda: DecisionDisplay.from_estimator(SVR().fit(PLANE, Y), PLANE, Y), "SVR has no decision_function"),
        (lambda: DecisionDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE), "y is None: the classes"),
        (lambda: DecisionDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y + 1), r"does not know: \[3\]; it knows"),
        (lambda: DecisionDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y[:5]), r"got shape \(5,\)"),
        (lambda: DecisionDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y, support="some"), "got 'some'"),
        (lambda: DecisionDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y, grid_resolution=1), "at least 2; got 1"),
        (
            lambda: DecisionDisplay.from_estimator(Perceptron().fit(PLANE, Y == 0), PLANE, Y == 0, support="all"),
            "Perceptron keeps no support vectors; draw its decisions with support='none'",
        ),
    ],
)
def test_decisions_that_cannot_be_drawn(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# -- dual variables and slacks --------------------------------------------------------------------------------


def heights(bars) -> float:
    """The sum of the bars of a histogram."""
    return sum(bar.get_height() for bar in bars)


def test_the_bars_count_support_vectors_and_slacks() -> None:
    model = SVC(C=2.0).fit(PLANE, TWO)
    display = drawn(SupportDisplay.from_estimator(model, PLANE, TWO, bins=7))
    found = status(model, PLANE, TWO)
    free, bound = display.alpha_bars_
    assert len(free) == len(bound) == 7
    assert heights(bound) == np.sum(found.bound)
    assert heights(free) + heights(bound) == len(model.support_)
    inside, wrong = display.slack_bars_
    assert heights(inside) == np.sum((found.slack > found.tol) & (found.slack <= 1 + found.tol))
    assert heights(wrong) == np.sum(found.slack > 1)
    assert min(bar.get_x() for bar in wrong if bar.get_height()) >= 1 - 1e-9
    assert max(bar.get_x() + bar.get_width() for bar in inside if bar.get_height()) <= 1 + 1e-9
    labels = [text.get_text() for ax in display.axes_ for text in ax.get_legend().get_texts()]
    assert f"α = 0: {150 - len(model.support_)} rows" in labels
    assert f"ξ = 0: {np.sum(found.slack <= found.tol)} rows" in labels
    assert f"bound, α = C: {np.sum(found.bound)}" in labels


def test_one_task_or_all_of_them_together() -> None:
    model = SVC().fit(PLANE, Y)
    one = drawn(SupportDisplay.from_estimator(model, PLANE, Y, task=2))
    together = SupportDisplay.from_estimator(model, PLANE, Y)
    assert one.ax_.get_title(loc="left") == "1 against 2"
    assert (len(one.alpha), len(together.alpha)) == (100, 300)
    np.testing.assert_allclose(np.sort(one.alpha[one.alpha > 0])[-1], 1.0)


def test_a_hard_margin_has_no_slack() -> None:
    model = SVC(kernel="linear", C=np.inf).fit(PLANE, Y == 0)
    display = drawn(SupportDisplay.from_estimator(model, PLANE, Y == 0))
    assert [heights(bars) for bars in display.slack_bars_] == [0, 0]
    assert heights(display.alpha_bars_[0]) == len(model.support_)
    (line,) = (text.get_text() for text in display.axes_[1].get_legend().get_texts())
    assert line == "ξ = 0: 150 rows"


def test_regressors_machines_for_one_class_and_pipelines_have_them_too() -> None:
    regressor = SVR(C=2.0, epsilon=0.2).fit(PLANE, X[:, 0])
    display = drawn(SupportDisplay.from_estimator(regressor, PLANE, X[:, 0]))
    away = np.abs(X[:, 0] - regressor.predict(PLANE)) - 0.2
    assert heights(display.slack_bars_[0]) == np.sum(away > tolerance(regressor, PLANE))
    assert heights(display.alpha_bars_[0]) + heights(display.alpha_bars_[1]) == len(regressor.support_)
    one_class = OneClassSVM(nu=0.3).fit(PLANE)
    assert heights(SupportDisplay.from_estimator(one_class, PLANE).alpha_bars_[1]) > 0
    pipeline = make_pipeline(StandardScaler(), SVC()).fit(PLANE, TWO)
    assert (SupportDisplay.from_estimator(pipeline, PLANE, TWO).alpha > 0).sum() == len(pipeline[-1].support_)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SupportDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y, task=3), r"0 ... 2, or None; got 3"),
        (lambda: SupportDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE, Y, bins=0), "bins must be .* got 0"),
        (lambda: SupportDisplay.from_estimator(SVC().fit(PLANE, Y), PLANE[::-1], Y[::-1]), "training data"),
    ],
)
def test_supports_that_cannot_be_drawn(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# -- losses ---------------------------------------------------------------------------------------------------


def test_every_loss_of_the_margin_is_drawn_against_it() -> None:
    names = [name for name, loss in LOSSES.items() if loss.of_margin]
    display = drawn(LossDisplay.from_losses(names))
    assert display.against == "margin"
    for line, name in zip(display.lines_, [n for n in names if n != "zero_one"], strict=True):
        x, y = line.get_data()
        np.testing.assert_allclose(y, resolve_loss(name).value(-1.0, -x), atol=1e-12)
    x, y = display.zero_one_.get_data()
    assert (x[0], y[0], x[1], y[1]) == (-2.5, 1.0, 0.0, 1.0)
    assert texts(display)[-1] == "0/1"


def test_losses_of_the_residual_have_their_options_in_the_legend() -> None:
    losses = ["squared", "absolute", EpsilonInsensitive(0.25), Huber(0.5), Pinball(0.9)]
    display = drawn(LossDisplay.from_losses(losses, limits=(-2, 2), n_points=101))
    assert display.against == "residual"
    assert display.zero_one_ is None
    assert texts(display) == ["squared", "absolute", "ε-insensitive, ε = 0.25", "Huber, δ = 0.5", "pinball, q = 0.9"]
    x, y = display.lines_[-1].get_data()
    np.testing.assert_allclose(y, np.maximum(0.9 * x, -0.1 * x))


def test_a_symmetric_loss_may_be_drawn_against_the_margin_too() -> None:
    display = LossDisplay.from_losses(["hinge", "squared"], zero_one=False)
    np.testing.assert_allclose(display.values[1], (1 - display.x) ** 2)
    assert display.zero_one_ is None


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        (["hinge", Pinball(0.9)], {}, "pinball, q = 0.9 is not a function of the margin"),
        (["hinge"], {"against": "residual"}, "hinge is a function of the margin t y, not of the residual"),
        (["hinges"], {}, "loss must be a Loss or one of .*; got 'hinges'"),
        (["hinge"], {"against": "time"}, "against must be 'auto', 'margin' or 'residual'; got 'time'"),
        (["hinge"], {"limits": (1, -1)}, r"limits must be two finite numbers, the smaller one first; got \(1, -1\)"),
        ([], {}, "losses is empty"),
    ],
)
def test_losses_that_cannot_be_drawn(losses, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        LossDisplay.from_losses(losses, **options)


# -- slopes of losses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "at", "target"),
    [("hinge", 1, 1), ("perceptron", 0, -1), (Pinball(0.2), 2, 2), ("logistic", 0.5, 1), ("squared", 3, 0)],
)
def test_every_line_of_a_fan_touches_the_loss_and_stays_below_it(loss, at, target) -> None:
    display = drawn(SubgradientDisplay.from_loss(loss, at, target=target))
    x, curve = display.curve_.get_data()
    np.testing.assert_array_equal(curve, resolve_loss(loss).value(target, x))
    for line in display.lines_:
        y = line.get_data()[1]
        assert np.all(y <= curve + 1e-12)
        assert y[x == at] == pytest.approx(display.height, abs=1e-12)
    smooth = resolve_loss(loss).smooth
    assert (len(display.lines_) == 1) == smooth == (not display.fan_)
    assert texts(display)[0].startswith("tangent" if smooth else "supporting lines")


def test_slopes_of_a_fan_run_from_one_end_to_the_other() -> None:
    display = SubgradientDisplay.from_loss(EpsilonInsensitive(0.5), 1.5, limits=(0.0, 3.0))
    slopes = [np.ptp(line.get_data()[1]) / 3.0 for line in display.lines_]
    np.testing.assert_allclose(slopes, np.linspace(0.0, 1.0, len(slopes)), atol=1e-12)
    assert texts(display) == ["supporting lines, slopes from 0 to 1", "ε-insensitive, ε = 0.5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "sigmoid", "at": 0.0}, "lines support a convex loss, and sigmoid is not convex"),
        ({"loss": "hinge", "at": 0.0, "target": 2.0}, "hinge needs a target of -1 or 1; got 2.0"),
        ({"loss": "hinge", "at": np.nan}, "must be finite numbers; got at=nan"),
        ({"loss": "hinge", "at": 3.0, "limits": (0, 2)}, r"with at=3 between them; got \(0, 2\)"),
    ],
)
def test_fans_that_cannot_be_drawn(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        SubgradientDisplay.from_loss(**arguments)


# -- the saddle -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [SVC(kernel="linear", C=1.0, gap_tol=1e-10), SVC(C=1e4, gap_tol=1e-8), SVC(C=0.01, gap_tol=1e-10)]
)
def test_the_fitted_point_is_lowest_along_w_and_highest_along_alpha(model) -> None:
    rows, y = (PLANE[50:], Y[50:]) if model.C < 1e4 else (PLANE[:100], Y[:100])
    display = drawn(SaddleDisplay.from_estimator(model.fit(rows, y), rows, y))
    m, task = display.multiples, display.task
    assert m[np.argmin(display.values[m == 1.0])] == 1.0
    allowed = m <= task.largest_multiple * (1 + 1e-9)
    along = display.values[:, m == 1.0][:, 0]
    assert along[allowed].max() <= task.value * (1 + 1e-6)
    primal, dual = display.primal_.get_ydata(), display.dual_.get_ydata()
    assert dual.max() <= primal.min() * (1 + 1e-9)
    assert dual.max() == pytest.approx(primal.min(), rel=1e-6)
    assert len(dual) == allowed.sum()


def test_the_valley_is_where_the_least_value_lies() -> None:
    rough = PegasosSVC(lam=0.01, max_iter=5, random_state=0).fit(PLANE[50:], Y[50:])  # whose w is not made of alpha
    display = SaddleDisplay.from_estimator(rough, PLANE[50:], Y[50:], reach=4.0)
    s, r = display.valley_.get_data()
    for at, k in ((s[20], 20), (s[60], 60)):
        least = display.task.value_at(at, r[k])
        assert np.all(display.task.value_at(at + np.array([-0.1, 0.1]), r[k]) > least)


def test_saddles_that_cannot_be_drawn() -> None:
    model = SVC().fit(PLANE, TWO)
    with pytest.raises(ValueError, match=r"task must be the number of a task, 0 \.\.\. 0; got 1"):
        SaddleDisplay.from_estimator(model, PLANE, TWO, task=1)
    with pytest.raises(ValueError, match=r"reach must be a finite number above 1, .*; got 0.5"):
        SaddleDisplay.from_estimator(model, PLANE, TWO, reach=0.5)
    with pytest.raises(ValueError, match="lagrangian is about the soft margin"):
        SaddleDisplay.from_estimator(SVC(C=np.inf).fit(PLANE, Y == 0), PLANE, Y == 0)


# -- the gap --------------------------------------------------------------------------------------------------


def test_the_gap_of_one_task_is_its_history_and_ends_with_the_certificate() -> None:
    rows, label = load_breast_cancer(return_X_y=True)
    model = LinearSVC(scale=True, tol=1e-6).fit(rows, label)
    display = drawn(GapDisplay.from_estimator(model))
    seconds, gap = display.lines_[0].get_data()
    history = model.history_
    expected = history["gap"] / np.maximum(np.abs(history["primal"]), np.abs(history["dual"]))
    np.testing.assert_array_equal(seconds, history["seconds"])
    np.testing.assert_allclose(gap, np.maximum(expected, 1e-17))
    assert display.goal_line_.get_ydata()[0] == 1e-6
    assert display.certificate_lines_[0].get_ydata()[0] == max(model.certificate_.relative_gap, 1e-17)
    assert display.ax_.get_yscale() == "log"
    assert texts(display) == [
        "gap after each round", "goal, 1e-06", f"certificate: {model.certificate_.relative_gap:.1e}"
    ]  # fmt: skip


def test_the_goal_of_a_kernel_machine_is_its_gap_tol() -> None:
    fits = [SVC(gap_tol=gap_tol).fit(PLANE, TWO) for gap_tol in (None, 1e-5)]
    assert [GapDisplay.from_estimator(model).goal for model in fits] == [None, 1e-5]


def test_every_task_has_its_line_and_name() -> None:
    model = LinearSVC(C=10).fit(X, Y)
    display = drawn(GapDisplay.from_estimator(make_pipeline(StandardScaler(), model).fit(X, Y), x="iteration"))
    assert list(display.lines_) == [0, 1, 2]
    assert texts(display)[:3] == [f"{k} against the rest" for k in range(3)]
    pairs = GapDisplay.from_estimator(SVC().fit(X, Y))
    assert texts(pairs)[:3] == ["0 against 1", "0 against 2", "1 against 2"]


def test_the_worst_of_many_tasks_is_the_one_with_the_largest_gap() -> None:
    kinds = [("task", int), ("iteration", int), ("seconds", float), ("primal", float), ("dual", float), ("gap", float)]
    history = np.array([(k, 1, 0.5, 2.0, 1.0, (k % 7) / 10) for k in range(12)], dtype=kinds)
    display = drawn(GapDisplay(history).plot())
    assert list(display.lines_) == [6]
    assert display.ax_.get_legend().get_title().get_text() == "the worst of 12 tasks"
    assert display.lines_[6].get_ydata()[0] == pytest.approx(0.3)
    assert list(drawn(display.plot(tasks="all")).lines_) == list(range(12))
    assert list(display.plot(tasks=[3, 0]).lines_) == [3, 0]
    assert display.plot(tasks=0).lines_[0].get_ydata()[0] == 1e-17  # a logarithm has no 0
    assert display.ax_.get_legend().get_title().get_text() == "1 of 12 tasks"


def test_primal_and_dual_values_enclose_the_optimum() -> None:
    model = LinearSVC(loss="hinge", tol=1e-8).fit(PLANE, TWO)
    display = drawn(GapDisplay.from_estimator(model, kind="values"))
    primal, dual = (line.get_ydata() for line in display.lines_[0])
    np.testing.assert_array_equal(primal, model.history_["primal"])
    np.testing.assert_array_equal(dual, model.history_["dual"])
    low, high = display.ax_.get_ylim()
    assert low < model.certificate_.dual <= model.certificate_.primal < high
    assert texts(display) == ["primal value", "dual value"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GapDisplay.from_estimator(SVC()), "SVC has no history_: fit it first"),
        (lambda: GapDisplay.from_estimator(Perceptron().fit(PLANE, Y == 0)), "the history has no primal, dual, gap"),
        (lambda: GapDisplay.from_estimator(SGDSVC().fit(PLANE, Y == 0)), "the history has no"),
        (lambda: GapDisplay.from_estimator(SVC().fit(X, Y), tasks=[5]), r"some of 0 ... 2; got \[5\]"),
        (lambda: GapDisplay.from_estimator(SVC().fit(X, Y), tasks="best"), "'worst' or numbers of tasks; got 'best'"),
        (lambda: GapDisplay.from_estimator(SVC().fit(X, Y), kind="gaps"), "kind must be 'gap' or 'values'"),
        (lambda: GapDisplay.from_estimator(SVC().fit(X, Y), x="hours"), "x must be 'seconds' or 'iteration'"),
        (lambda: GapDisplay(SVC().fit(X, Y).history_[:0]), "the history is empty"),
    ],
)
def test_histories_that_cannot_be_drawn(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# -- bound, certificate and truth of Pegasos ------------------------------------------------------------------


def pegasos(**options):
    options = {"lam": 0.05, "order": "draw", "offset": 0, "max_iter": 40, "tol": 1e-12, "random_state": 0} | options
    with warnings.catch_warnings(action="ignore"):  # the goal is out of reach, so that the fit looks on its way
        return PegasosSVC(**options).fit(X, TWO)


@pytest.mark.parametrize("options", [{}, {"batch_size": 4}, {"scale": True, "project": True}, {"steps": 1000}])
def test_the_curves_of_pegasos_are_the_bound_the_gap_and_the_distance_from_the_optimum(options) -> None:
    model = pegasos(**options)
    display = drawn(PegasosDisplay.from_estimator(model, X, TWO))
    assert display.unmet == ()
    assert display.steps[-1] == model.t_
    np.testing.assert_allclose(display.gap, 0.05 * model.history_["gap"])
    assert display.gap[-1] == pytest.approx(0.05 * model.certificate_.gap, rel=1e-6)
    rows = StandardScaler().fit_transform(X) if model.scale else X
    bound = pegasos_bound(rows, 0.05, display.steps, project=model.project).bound
    np.testing.assert_allclose(display.bound, bound, rtol=1e-9)
    w = model.coef_[0] * (model.scale_ if model.scale else 1.0)
    now = 0.025 * w @ w + np.maximum(0.0, 1 - np.where(TWO, 1, -1) * model.decision_function(X)).mean()
    best = LinearSVC(loss="hinge", C=model.C_, fit_intercept=False, scale=model.scale, tol=1e-9).fit(X, TWO)
    assert display.truth[-1] == pytest.approx(now - 0.05 * best.certificate_.primal, abs=1e-8)
    assert np.all(display.truth <= display.gap * (1 + 1e-6))
    for line, values in ((display.bound_, display.bound), (display.gap_, display.gap), (display.truth_, display.truth)):
        np.testing.assert_array_equal(line.get_xydata().T, [display.steps, values])


def test_what_the_bound_asks_for_is_named() -> None:
    display = PegasosDisplay.from_estimator(pegasos(order="shuffle", offset="auto", fit_intercept=True), X, TWO)
    assert display.ax_.get_legend().get_title().get_text() == "the bound asks for order='draw', offset=0, no intercept"
    sparse = sp.csr_array(X)
    with warnings.catch_warnings(action="ignore"):
        model = PegasosSVC(0.1, scale=True, max_iter=8, tol=1e-9).fit(sparse, TWO)
    assert PegasosDisplay.from_estimator(model, sparse, TWO).unmet == ("order='draw'", "offset=0")


def test_histories_that_are_not_those_of_pegasos() -> None:
    with pytest.raises(TypeError, match="this is the history of a PegasosSVC; got SVC"):
        PegasosDisplay.from_estimator(SVC().fit(X, TWO), X, TWO)
    with pytest.raises(ValueError, match="a task for each of 3 classes; fit on two"):
        PegasosDisplay.from_estimator(PegasosSVC(0.1).fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="has no history_: fit it first"):
        PegasosDisplay.from_estimator(PegasosSVC(0.1), X, TWO)


# -- many perceptrons -----------------------------------------------------------------------------------------


def perceptron_by_loops(rows, t, order):
    """(w, b, mistakes) of a perceptron that takes the rows in these orders, one after the other."""
    w, b, mistakes = np.zeros(rows.shape[1]), 0.0, 0
    for i in order:
        if t[i] * (rows[i] @ w + b) <= 0:
            w, b, mistakes = w + t[i] * rows[i], b + t[i], mistakes + 1
    return w, b, mistakes


def test_every_line_separates_the_classes_and_none_is_farther_from_them_than_the_widest() -> None:
    t = np.where(Y == 0, 1, -1)
    display = drawn(PerceptronDisplay.from_data(PLANE, Y == 0, seeds=[3, 1, 4, 1]))
    assert len(display.lines_) == 4
    np.testing.assert_array_equal(display.coefs[1], display.coefs[3])
    assert not np.array_equal(display.coefs[0], display.coefs[1])
    for line, (a, b, c), margin in zip(display.lines_, display.coefs, display.margins, strict=True):
        np.testing.assert_allclose(line.get_xydata() @ [a, b] + c, 0.0, atol=1e-9 * np.hypot(a, b))
        assert margin == pytest.approx(np.min(t * (PLANE @ [a, b] + c)) / np.hypot(a, b))
        assert 0 < margin <= display.widest_margin * (1 + 1e-6)
    corners = display.strip_.get_xy()[:4] @ display.widest[0] + display.widest[1]
    np.testing.assert_allclose(np.abs(corners), 1.0, atol=1e-6)
    assert np.all(t * (PLANE @ display.widest[0] + display.widest[1]) >= 1 - 1e-6)


def test_mistakes_stay_below_novikoffs_bound() -> None:
    display = drawn(PerceptronDisplay.from_data(PLANE, Y == 0, seeds=8))
    np.testing.assert_array_equal(display.marks_.get_xydata().T, [display.mistakes, display.margins])
    assert display.bound == mistake_bound(PLANE, Y == 0).bound
    assert np.all((display.mistakes >= 1) & (display.mistakes <= display.bound))
    assert display.bound_line_.get_xdata()[0] == display.bound
    t, rng = np.where(Y == 0, 1, -1), np.random.default_rng(0)
    for _ in range(5):  # whatever the order
        order = np.concatenate([rng.permutation(150) for _ in range(30)])
        assert perceptron_by_loops(PLANE, t, order)[2] <= display.bound


def test_a_model_is_the_one_that_its_seed_makes() -> None:
    display = PerceptronDisplay.from_data(PLANE, Y == 0, seeds=[7])
    model = Perceptron(random_state=7).fit(PLANE, Y == 0)
    np.testing.assert_array_equal(display.coefs, [[*model.coef_[0], model.intercept_[0]]])
    assert display.mistakes.tolist() == model.mistakes_.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PerceptronDisplay.from_data(X, Y == 0), "lines are drawn in the plane, but X has 4 features"),
        (lambda: PerceptronDisplay.from_data(PLANE, Y), "tells two classes apart; y has 3"),
        (lambda: PerceptronDisplay.from_data(PLANE, TWO), "no hyperplane separates the classes"),
        (lambda: PerceptronDisplay.from_data(PLANE, Y == 0, seeds=[]), r"or several seeds; got \[\]"),
    ],
)
def test_perceptrons_that_cannot_be_drawn(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# -- paths ----------------------------------------------------------------------------------------------------


def test_a_path_is_drawn_in_the_order_of_c() -> None:
    values = np.array([[3.0, -1.0], [1.0, 0.0], [2.0, -0.5]])
    display = drawn(PathDisplay.from_arrays([100, 1, 10], values, ["a", "b"], chosen=10))
    assert display.ax_.get_xscale() == "log"
    for line, expected in zip(display.lines_, ([1, 2, 3], [0, -0.5, -1]), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [1, 10, 100])
        np.testing.assert_array_equal(line.get_ydata(), expected)
    assert texts(display) == ["a", "b", "chosen, C = 10"]
    assert display.chosen_line_.get_xdata()[0] == 10


def test_of_many_lines_those_that_reach_farthest_are_named() -> None:
    values = np.outer([0.0, 1.0], np.arange(30) - 5.0)
    display = drawn(PathDisplay.from_arrays([1, 10], values, [f"w{k}" for k in range(30)]))
    assert len(display.lines_) == 30
    assert texts(display) == [*(f"w{k}" for k in range(20, 30)), "20 others"]


def test_a_path_is_any_object_with_the_arrays() -> None:
    path = SimpleNamespace(Cs=[1, 2], coefs=[[1, 2], [3, 4]], alphas=[[0, 1], [1, 1]])
    assert PathDisplay.from_path(path).ax_.get_ylabel() == "coefficient"
    assert PathDisplay.from_path(path, values="alphas").ax_.get_ylabel() == "dual variable α"
    with pytest.raises(ValueError, match="SimpleNamespace has no margins: a path has Cs and margins"):
        PathDisplay.from_path(path, values="margins")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1], [[1], [2]]), r"positive, finite numbers; got \[1.0, -1.0\]"),
        (([1, np.inf], [[1], [2]]), "positive, finite"),
        (([1, 2], [[1], [2], [3]]), r"a row for each of the 2 values of C.*got shape \(3, 1\)"),
        (([1, 2], [[1, 1], [2, 2]], ["a"]), "2 columns but there are 1 labels"),
    ],
)
def test_paths_that_cannot_be_drawn(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        PathDisplay.from_arrays(*arguments)


# -- reliability ----------------------------------------------------------------------------------------------


def forecasts(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return p, (rng.uniform(size=n) < p**2).astype(int)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_points_are_the_frequencies_of_the_bins(strategy: str) -> None:
    p, y = forecasts()
    display = drawn(ReliabilityDisplay.from_predictions(y, p, n_bins=5, strategy=strategy))
    predicted, observed = display.line_.get_data()
    bins = np.digitize(p, display.edges[1:-1], right=True)
    for k in range(5):
        own = bins == k
        assert predicted[k] == pytest.approx(p[own].mean())
        assert observed[k] == pytest.approx(y[own].mean())
        assert display.bars_[k].get_height() == own.sum()
    assert display.brier == pytest.approx(brier_score_loss(y, p))
    assert display.log_loss == pytest.approx(log_loss(y, p))
    assert texts(display)[1] == f"Brier score {display.brier:.3g}\nlog loss {display.log_loss:.3g}"
    if strategy == "quantile":
        assert np.ptp(display.counts) <= 1


def test_empty_bins_have_no_point_but_a_bar_of_height_0() -> None:
    display = drawn(ReliabilityDisplay.from_predictions([0, 1, 1], [0.05, 0.95, 1.0], n_bins=10))
    assert len(display.line_.get_xdata()) == 2
    assert [bar.get_height() for bar in display.bars_] == [1, *[0] * 8, 2]


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_a_weight_of_2_is_the_row_twice(strategy: str) -> None:
    p, y = forecasts(60)
    weight = np.random.default_rng(1).integers(0, 3, size=60)
    one = ReliabilityDisplay.from_predictions(y, p, sample_weight=weight, n_bins=4, strategy=strategy)
    two = ReliabilityDisplay.from_predictions(np.repeat(y, weight), np.repeat(p, weight), n_bins=4, strategy=strategy)
    for name in ("prob_pred", "prob_true", "counts", "edges", "brier", "log_loss"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name))


def test_with_many_classes_the_likeliest_one_counts() -> None:
    model = LinearSVC(calibration="sigmoid").fit(X, Y)
    names = np.array(["c", "a", "b"])
    p = model.predict_proba(X)
    display = drawn(ReliabilityDisplay.from_predictions(names[Y], p, classes=names, n_bins=4))
    right = p.argmax(axis=1) == Y
    own = np.searchsorted([0.25, 0.5, 0.75], p.max(axis=1)) == 2
    assert display.line_.get_ydata()[-2] == pytest.approx(right[own].mean())
    assert display.top_label
    assert display.ax_.get_ylabel() == "accuracy"
    assert display.brier == pytest.approx(brier_score_loss(Y, p, scale_by_half=False))
    assert display.log_loss == pytest.approx(log_loss(Y, p))
    same = ReliabilityDisplay.from_estimator(model, X, Y, n_bins=4)
    np.testing.assert_array_equal(same.prob_true, display.prob_true)


def test_of_two_classes_the_second_one_is_meant() -> None:
    model = SVC(calibration="sigmoid").fit(PLANE, np.where(TWO, "yes", "no"))
    display = ReliabilityDisplay.from_estimator(model, PLANE, np.where(TWO, "yes", "no"))
    assert display.ax_.get_ylabel() == "observed frequency of class yes"
    assert display.axes_[1].get_xlabel() == "predicted probability of class yes"
    assert display.brier == pytest.approx(brier_score_loss(TWO, model.predict_proba(PLANE)[:, 1]))


@pytest.mark.parametrize(
    ("y", "p", "options", "message"),
    [
        ([0, 1], [0.5, 1.5], {}, "between 0 and 1; p goes from 0.5 to 1.5"),
        ([0, 1], [0.5, np.nan], {}, "between 0 and 1"),
        ([0, 1, 1], [0.5, 0.5], {}, r"one label for each of the 2 rows of p; got shape \(3,\)"),
        ([0, 2], [0.5, 0.5], {"classes": [0, 1]}, r"not among \[0, 1\]: \[2\]"),
        ([0, 1, 2], [0.5, 0.5, 0.5], {}, r"p is of 2 classes but there are 3: \[0, 1, 2\]"),
        ([0, 1], [[0.5, 0.2], [0.5, 0.5]], {}, "with sum 1"),
        ([0, 1], [0.5, 0.5], {"n_bins": 0}, "n_bins must be a whole number of at least 1; got 0"),
        ([0, 1], [0.5, 0.5], {"strategy": "equal"}, "strategy must be 'uniform' or 'quantile'; got 'equal'"),
        ([0, 1], [0.5, 0.5], {"sample_weight": [1, -1]}, "sample_weight must have a non-negative number"),
    ],
)
def test_probabilities_that_cannot_be_drawn(y, p, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(y, p, **options)


def test_a_model_without_probabilities_is_told_how_to_get_them() -> None:
    with pytest.raises(ValueError, match="SVC has no predict_proba: fit a classifier with calibration='sigmoid'"):
        ReliabilityDisplay.from_estimator(SVC().fit(PLANE, TWO), PLANE, TWO)


# -- the Gram matrix ------------------------------------------------------------------------------------------


def test_rows_are_sorted_by_class_and_borders_lie_between_them() -> None:
    order = np.random.default_rng(0).permutation(150)
    rows, label = X[order], np.array(["x", "y", "z"])[Y[order]]
    display = drawn(GramDisplay.from_kernel(Gaussian(gamma=0.5), rows, label))
    expected = Gaussian(gamma=0.5)(rows[display.order])
    np.testing.assert_allclose(display.image_.get_array(), expected, atol=1e-12)
    assert (np.sort(display.order) == np.arange(150)).all()
    assert (label[display.order] == np.repeat(["x", "y", "z"], 50)).all()
    assert [line.get_ydata()[0] for line in display.borders_[::2]] == [49.5, 99.5]
    assert [line.get_xdata()[0] for line in display.borders_[1::2]] == [49.5, 99.5]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["x", "y", "z"]
    np.testing.assert_allclose(display.ax_.get_yticks(), [24.5, 74.5, 124.5])


def test_negative_values_make_the_scale_symmetric() -> None:
    centred = X - X.mean(axis=0)
    display = GramDisplay.from_kernel("linear", centred, Y)
    low, high = display.image_.get_clim()
    assert low == -high < 0
    assert GramDisplay.from_kernel("rbf", X, Y).image_.get_clim() == (0.0, 1.0)


def test_the_kernel_of_a_machine_is_the_one_it_was_fitted_with() -> None:
    model = SVC(C=3.0).fit(X, Y)
    np.testing.assert_allclose(GramDisplay.from_estimator(model, X, Y).K, model.kernel_(X))
    np.testing.assert_allclose(GramDisplay.from_kernel("rbf", X, Y).K, model.kernel_(X))  # gamma='scale' too
    linear = GramDisplay.from_estimator(LinearSVC().fit(X, Y), X, Y)
    np.testing.assert_allclose(linear.K, Linear()(X))
    pipeline = make_pipeline(StandardScaler(), SVC(kernel="linear")).fit(X, Y)
    np.testing.assert_allclose(
        GramDisplay.from_estimator(pipeline, X, Y).K, Linear()(StandardScaler().fit_transform(X))
    )


def test_of_many_rows_some_of_each_class_are_drawn() -> None:
    display = drawn(GramDisplay.from_kernel("rbf", X, Y, max_rows=31))
    assert display.K.shape == (31, 31)
    assert set(display.sizes.tolist()) <= {10, 11}
    assert len(np.unique(display.order)) == 31


def test_matrices_strings_and_rows_without_classes_can_be_drawn_too() -> None:
    K = Linear()(X)
    np.testing.assert_array_equal(GramDisplay.from_kernel("precomputed", K, Y).K, K)
    plain = GramDisplay.from_kernel("linear", X)
    assert (plain.borders_, plain.ax_.get_xlabel()) == ([], "row")
    words = ["ab", "b", "abc"]
    shared = GramDisplay.from_kernel(
        lambda a, b: [[float(len(set(s) & set(t))) for t in b] for s in a], words, [1, 0, 1]
    )
    np.testing.assert_array_equal(shared.K, [[1, 1, 1], [1, 2, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GramDisplay.from_estimator(SVC(), X, Y), "neither kernel_ nor coef_: fit it first"),
        (lambda: GramDisplay.from_kernel("precomputed", X, Y), r"square matrix of values; got shape \(150, 4\)"),
        (lambda: GramDisplay.from_kernel("rbf", X, Y[:9]), r"each of the 150 rows of X; got shape \(9,\)"),
        (lambda: GramDisplay.from_kernel("gauss", X, Y), "kernel must be one of"),
        (lambda: GramDisplay.from_kernel("rbf", X, Y, max_rows=0), "max_rows must be a whole number"),
    ],
)
def test_kernels_that_cannot_be_drawn(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# -- projections ----------------------------------------------------------------------------------------------


def test_two_directions_are_a_scatter_of_every_class() -> None:
    display = drawn(ProjectionDisplay.from_transform(X[:, :3], Y, names=["a", "b", "c"]))
    for k, dots in enumerate(display.points_):
        np.testing.assert_array_equal(dots.get_offsets(), X[k == Y, :2])
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("a", "b")
    assert texts(display) == ["0", "1", "2"]


def test_one_direction_is_a_density_of_every_class_above_its_points() -> None:
    display = drawn(ProjectionDisplay.from_transform(X[:, 2], Y))
    for k, (dots, curve) in enumerate(zip(display.points_, display.densities_, strict=True)):
        np.testing.assert_array_equal(dots.get_xdata(), X[k == Y, 2])
        assert (dots.get_ydata() < 0).all()
        x, density = curve.get_data()
        if k == 1:  # the others reach beyond the picture
            assert np.trapezoid(density, x) == pytest.approx(1.0, abs=0.01)
    assert (display.ax_.get_yticks() >= 0).all()


def test_a_class_of_one_value_has_points_but_no_density() -> None:
    display = drawn(ProjectionDisplay.from_transform([1.0, 1.0, 2.0, 3.0, 3.5], [0, 0, 1, 1, 1]))
    assert display.densities_[0] is None
    assert display.densities_[1] is not None
    assert len(display.points_[0].get_xdata()) == 2


def test_points_without_classes_have_no_legend() -> None:
    assert drawn(ProjectionDisplay.from_transform(PLANE)).ax_.get_legend() is None


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((PLANE, Y[:3]), {}, r"each of the 150 rows of Z; got shape \(3,\)"),
        ((PLANE, Y), {"names": ["a"]}, "Z has 2 columns but there are 1 names"),
        ((np.full((3, 2), np.nan),), {}, "Z holds NaN or infinity"),
        ((np.zeros((0, 2)),), {}, "Z has no rows"),
        ((np.zeros((2, 0)),), {}, "Z has no columns"),
        ((np.zeros((2, 2, 2)),), {}, r"two dimensions, \(rows, columns\); got shape \(2, 2, 2\)"),
        (([["a", "b"]],), {}, "Z must be numbers"),
    ],
)
def test_projections_that_cannot_be_drawn(arguments, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        ProjectionDisplay.from_transform(*arguments, **options)
