"""The demonstration behind ``make demo``: handwritten digits, a certificate, a race, and a picture.

``python -m maxmargin.demo`` trains on data that come with scikit-learn and writes ``maxmargin-demo.png`` into the
working directory. The picture needs matplotlib (extra ``plot``); everything else does not.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
import sklearn.svm
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

import maxmargin
from maxmargin import SVC, Certificate, certify
from maxmargin.plotting import DecisionDisplay, GapDisplay

PICTURE = "maxmargin-demo.png"
PARAMETERS = {"C": 10.0, "gamma": "scale"}
#: scikit-learn's default tolerance, and one at which its model is nearly as good as ours.
PEER_TOLS = (1e-3, 1e-8)
#: Fits of each library, taken in turn; the best one counts.
REPEATS = 5
#: The two digits of the picture's left side, and the goal of its right side.
PAIR, GAP_TOL = (3, 8), 1e-8


class Digits(NamedTuple):
    """Images as rows of 64 grey values in [0, 1], split once and for all."""

    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any


def main() -> None:
    """Print what a fit gives, then draw it."""
    digits = load()
    print(f"maxmargin {maxmargin.__version__} on scikit-learn's handwritten digits")
    print(f"{len(digits.X_train):,} images to train on, {len(digits.X_test):,} to test on; SVC(C=10, gamma='scale')\n")
    model, first, ours, theirs = race(digits)
    proof = model.certificate_
    print(f"test accuracy     {model.score(digits.X_test, digits.y_test):.1%}")
    print(f"support vectors   {len(model.support_):,} of {len(digits.X_train):,} rows")
    print(f"certificate       {sentence(proof, len(model.certificates_))}\n")
    print("                            fit time   certified relative gap")
    print(f"{f'maxmargin {maxmargin.__version__}':<26}{ours * 1e3:7.1f} ms   {gap(proof)}")
    for tol, (peer, seconds) in theirs.items():
        name = f"scikit-learn, tol={tol:.0e}"
        print(f"{name:<26}{seconds * 1e3:7.1f} ms   {gap(certify(peer, digits.X_train, digits.y_train))}")
    print(f"\nBest of {REPEATS} fits each, in turn; scikit-learn {sklearn.__version__} at its default tol and at 1e-8.")
    print(f"Compiled code was warm: one fit before the race ({first:.2f} s) compiled it or loaded it from disk.")
    print("Our time includes the certificate.\n")
    draw(load_digits(), Path(PICTURE))
    print(f"picture           {Path(PICTURE).resolve()}")


def load() -> Digits:
    """The digits, a third of them kept for the test."""
    X, y = load_digits(return_X_y=True)
    return Digits(*train_test_split(X / 16, y, test_size=1 / 3, random_state=0, stratify=y))


def race(digits: Digits) -> tuple[SVC, float, float, dict[float, tuple[sklearn.svm.SVC, float]]]:
    """(our model, its first time, its best time, scikit-learn's models and best times by tol)."""
    first = timed_fit(SVC(**PARAMETERS), digits)
    models = [SVC(**PARAMETERS), *(sklearn.svm.SVC(**PARAMETERS, tol=tol) for tol in PEER_TOLS)]
    times = np.array([[timed_fit(model, digits) for model in models] for _ in range(REPEATS)])
    best = times.min(axis=0).tolist()
    return models[0], first, best[0], dict(zip(PEER_TOLS, zip(models[1:], best[1:], strict=True), strict=True))


def timed_fit(model: Any, digits: Digits) -> float:
    """Seconds of one fit."""
    began = time.perf_counter()
    model.fit(digits.X_train, digits.y_train)
    return time.perf_counter() - began


def sentence(proof: Certificate, n_tasks: int) -> str:
    """The certificate in words."""
    if not proof.holds:
        return f"no proof of optimality: {proof.reason}"
    return (
        f"all {n_tasks} two-class problems are proven optimal to a relative gap of {proof.relative_gap:.1e}\n"
        f"{'':18}(the worst of them: objective {proof.primal:.6g}, at most {proof.gap:.1e} above its optimum,\n"
        f"{'':18}KKT violation {proof.kkt:.1e}; {proof.method} in float64)"
    )


def gap(proof: Certificate) -> str:
    """A relative gap, or why there is none."""
    return f"{proof.relative_gap:.1e}" if proof.holds else f"none ({proof.reason})"


def draw(data: Any, path: Path) -> None:
    """Write the picture; ends the program with a hint where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("The picture needs matplotlib, which is not installed: pip install 'maxmargin[plot]'")
    figure = Figure(figsize=(14.5, 5.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_regions(left, data)
    draw_history(right, data)
    figure.savefig(path, dpi=150)


def draw_regions(axes: Any, data: Any) -> None:
    """Two digits in two dimensions: regions, boundary, margins, and what every image is to them."""
    chosen = np.isin(data.target, PAIR)
    plane = PCA(n_components=2, random_state=0).fit_transform(data.data[chosen] / 16)
    label = np.array([f"digit {digit}" for digit in data.target[chosen]])
    model = SVC(C=1.0).fit(plane, label)
    DecisionDisplay.from_estimator(model, plane, label, ax=axes)
    axes.set(xlabel="first principal component", ylabel="second principal component")
    axes.set_title(f"{PAIR[0]} against {PAIR[1]}: {len(label)} images, Gaussian kernel", loc="left")


def draw_history(axes: Any, data: Any) -> None:
    """The relative duality gap of one fit, round by round."""
    X, odd = data.data / 16, data.target % 2
    # a cache too small for the whole kernel matrix: the fit goes by working sets, one point of the curve each
    model = SVC(C=10.0, gap_tol=GAP_TOL, cache_size=4).fit(X, odd)
    GapDisplay.from_estimator(model, x="iteration", ax=axes)
    axes.set_xlabel("pairwise steps")
    axes.set_title(f"Even against odd: {len(X):,} images, 4 MB of kernel values", loc="left")


if __name__ == "__main__":
    main()
