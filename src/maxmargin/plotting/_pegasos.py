"""Pegasos on its way: what theory promises, what the certificate proves, and what is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin import LinearSVC
from maxmargin.inspection import pegasos_bound
from maxmargin.plotting._shared import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    OnePart,
    before_last,
    final_step,
    require_fitted,
)

#: Relative gap to which the optimum is solved: what the truth is not known better than.
OPTIMUM_TOL = 1e-10


@dataclass(eq=False, repr=False)
class PegasosDisplay(OnePart):
    """How far from the optimum a fit of Pegasos was after so many steps: at most, provably, and really.

    All three are in units of lambda/2 ||w||^2 + mean hinge loss. The *bound* is that of
    :func:`maxmargin.inspection.pegasos_bound`, known before the first step and true on average over the rows drawn, for
    the mean of all iterates. The *certificate* is the duality gap of the model at hand whenever the fit looked. The
    *truth* needs the optimum, which another machine has solved. Make one with :meth:`from_estimator`.

    Parameters
    ----------
    steps : ndarray of shape (n_looks,)
        Steps made at every look.
    bound, gap, truth : ndarrays of shape (n_looks,)
        The three distances.
    unmet : tuple of str, default=()
        What the bound asks for and this fit did not do.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the curves are.
    bound_, gap_, truth_ : Line2D
        The curves.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import PegasosSVC
    >>> from maxmargin.plotting import PegasosDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PegasosSVC(lam=0.1, order="draw", offset=0, scale=True, max_iter=64, tol=1e-9, random_state=0)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):                # the goal makes the fit look on its way
    ...     display = PegasosDisplay.from_estimator(model.fit(X, y), X, y)
    >>> display.unmet, bool((display.truth <= display.gap).all() and (display.truth <= display.bound).all())
    ((), True)
    """

    SIZE = (6.4, 4.8)

    steps: NDArray[Any]
    bound: NDArray[Any]
    gap: NDArray[Any]
    truth: NDArray[Any]
    unmet: tuple[str, ...] = ()

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> PegasosDisplay:
        """Draw the history of a fitted PegasosSVC.

        Parameters
        ----------
        model : PegasosSVC
            Fitted on two classes with ``tol``, so that it looked at its gap on the way, or a pipeline that ends with
            one. A ``tol`` out of reach makes all passes.
        X, y
            The training data, without weights. The optimum is solved on them.
        ax : matplotlib Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        PegasosDisplay
        """
        cls._require_matplotlib()
        machine, rows = final_step(model), before_last(model, X)
        if not all(hasattr(machine, name) for name in ("lam", "project", "offset")):
            raise TypeError(f"this is the history of a PegasosSVC; got {type(machine).__name__}")
        history = require_fitted(machine, "history_", "fit it first; chunks (partial_fit) have no history")
        if len(machine.classes_) != 2:
            raise ValueError(
                f"the history has a task for each of {len(machine.classes_)} classes; fit on two, for example y == "
                f"{machine.classes_[0]!r}"
            )
        best = LinearSVC(
            loss="hinge", C=machine.C_, fit_intercept=machine.fit_intercept, class_weight=machine.class_weight,
            scale=machine.scale, tol=OPTIMUM_TOL,
        ).fit(rows, y)  # fmt: skip
        steps, lam = _steps(machine, history, len(y)), float(machine.lam)
        seen = _scaled(machine, rows) if machine.scale else rows
        bound = pegasos_bound(seen, lam, steps, project=machine.project).bound
        truth = lam * np.maximum(history["primal"] - best.certificate_.dual, 0.0)
        return cls(steps, np.asarray(bound), lam * history["gap"], truth, _unmet(machine)).plot(ax)

    def _draw(self, ax: Any) -> None:
        style = {"linewidth": 1.8, "markersize": 5}
        (self.bound_,) = ax.plot(
            self.steps, self.bound, ":", color=ORANGE, marker="s", label="bound, for the mean of all iterates", **style
        )
        (self.gap_,) = ax.plot(self.steps, self.gap, "-", color=BLUE, marker="o", label="certificate: the gap", **style)
        (self.truth_,) = ax.plot(
            self.steps, self.truth, "--", color=INK, marker="^", label="truth: above the optimum", **style
        )
        ax.set(xscale="log", yscale="log", xlabel="steps", ylabel="λ/2 ‖w‖² + mean hinge loss, above its least")
        ax.grid(True, alpha=0.25, color=GREY)
        title = f"the bound asks for {', '.join(self.unmet)}" if self.unmet else None
        ax.legend(loc="best", fontsize=9, framealpha=0.9, title=title, title_fontsize=9)


def _scaled(machine: Any, X: Any) -> Any:
    """Rows as the machine saw them; sparse ones are not centred."""
    if sp.issparse(X):
        return sp.csr_array(X) @ sp.diags_array(1.0 / machine.scale_)
    return (np.asarray(X) - machine.center_) / machine.scale_


def _steps(machine: Any, history: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Steps made at every look: passes times the batches of a pass, or as many as were asked for."""
    steps = history["iteration"].astype(np.int64) * -(-n // int(machine.batch_size))
    if machine.steps is not None:
        steps[-1] = int(machine.steps)
    return steps


def _unmet(machine: Any) -> tuple[str, ...]:
    """What the bound asks for and the machine did not do."""
    asked = {
        "order='draw'": machine.order == "draw",
        "offset=0": machine.offset == 0,
        "no intercept": not machine.fit_intercept,
        "no class weights": machine.class_weight is None,
    }
    return tuple(name for name, met in asked.items() if not met)
