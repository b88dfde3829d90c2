"""PegasosSVC: primal estimated subgradient steps."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin._types import FloatArray
from maxmargin.estimators._stochastic_base import StochasticMachine
from maxmargin.estimators._stochastic_params import documented_stochastic
from maxmargin.solvers.stochastic import Pegasos

#: What max_iter=None means: so many visits, in no fewer and no more than so many passes.
VISITS, LEAST, MOST = 800_000, 10, 2000


@documented_stochastic
class PegasosSVC(StochasticMachine):
    r"""Linear support vector classifier by Pegasos, for data of any size, with the gap it stopped at.

    .. math:: \min_w\; \tfrac{\lambda}{2}\|w\|^2 + \tfrac1n \sum_i \max(0, 1 - t_i\, w\cdot x_i)

    Step t takes a row (or a batch of them) at random: with :math:`\eta_t = 1/(\lambda (t_0 + t))`,

    .. math:: w \leftarrow (1 - \eta_t\lambda)\, w + \eta_t\, 1[t_i\, w\cdot x_i < 1]\; t_i x_i .

    The number of steps to an accuracy does not depend on n. To a high accuracy :class:`~maxmargin.LinearSVC` is faster.

    Parameters
    ----------
    lam : float, default=1e-4
        Weight of the penalty against the mean loss: lam = 1 / (n C).
    {batch}
    project : bool, default=False
        Project every iterate onto the ball of radius 1 / sqrt(lam), in which the optimum lies (times the root of the
        rows' mean class weight, if there are class weights).
    offset : float or 'auto', default='auto'
        :math:`t_0`. 0 is the published algorithm, whose first steps are very long if lam is small: it then takes many
        times 1 / lam steps to forget them. 'auto' is the median of ||x||^2 over lam (times the mean class weight),
        with which the first step moves its row's own score by about 1.
    max_iter : int or None, default=None
        Passes over the data. None: as many as visit 800,000 rows, but 10 at least and 2,000 at most.
    steps : int or None, default=None
        Number of steps, instead of ``max_iter``: fewer than a pass if n is very large.
    tol : float or None, default=None
        Stop when the relative duality gap is this small, which is looked at after 1, 2, 4, ... passes, and warn if it
        is not reached. None: make all passes.
    average : bool, default=True
        Deliver the average of the iterates of the last tenth of the passes (at least one pass), weighted by t, instead
        of the last iterate, which jumps about the optimum.
    fit_intercept : bool, default=False
        Whether there is an unpenalised intercept, moved by the same steps; the algorithm as published has none.
    {shared}

    Attributes
    ----------
    {attributes}

    References
    ----------
    Shalev-Shwartz, Singer, Srebro and Cotter 2011, fig. 1 and 2; Lacoste-Julien, Schmidt and Bach 2012 for averages
    weighted by t.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from maxmargin import PegasosSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PegasosSVC(lam=1e-2, scale=True, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.certificate_.holds, bool(model.certificate_.relative_gap < 0.02)
    (0.99, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StochasticMachine._parameter_constraints,
        "project": ["boolean"],
        "offset": [Interval(Real, 0.0, None, closed="left"), StrOptions({"auto"})],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "steps": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0.0, None, closed="neither"), None],
    }

    def __init__(
        self,
        lam=1e-4,
        *,
        batch_size=1,
        project=False,
        offset="auto",
        max_iter=None,
        steps=None,
        tol=None,
        order="shuffle",
        average=True,
        fit_intercept=False,
        class_weight=None,
        scale=False,
        time_limit=None,
        certify=True,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        random_state=None,
        multiclass="ovr",
        code_words="one-hot",
        calibration=None,
    ):
        self._store(locals())

    def _first_step(self, design, weight, gain, lam):
        if self.offset != "auto":
            return float(self.offset)
        return steps_skipped(design.squares, weight, gain, lam, self.fit_intercept)

    def _radius(self, gain, lam):
        return float(np.sqrt(gain / lam)) if self.project else 0.0

    def _goal(self):
        return self.tol

    def _run(self, problem, run, visits, watch, number):
        if self.steps is not None:
            total = int(self.steps) * run.batch
        elif self.max_iter is not None:
            total = int(self.max_iter) * visits.length
        else:
            total = min(max(-(-VISITS // visits.length), LEAST), MOST) * visits.length
        return Pegasos(total, self.average, self._proves).solve(problem, run, visits, watch)

    def _stream_steps(self, run, visits, number):
        run.advance(visits.take(1), averaged=self.average)


def steps_skipped(squares: FloatArray, weight: FloatArray, gain: float, lam: float, bias: bool) -> float:
    """Steps that ``offset='auto'`` takes for made: as many as make the first one move the score of a row by about 1."""
    steps = np.floor(gain * (_median(squares, weight) + bias) / lam)
    if not np.isfinite(steps):
        raise ValueError(
            f"the squares of the rows divided by lam={lam:.3g} leave the range of floating-point numbers; scale the "
            "features to unit variance, or choose a larger lam"
        )
    return float(steps)


def _median(values: FloatArray, weight: FloatArray) -> float:
    """The value below which half of the weight lies; copies in place of weights make no difference."""
    if (weight == weight[0]).all():
        return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])
    order = np.argsort(values)
    sums = np.cumsum(weight[order])
    return float(values[order[np.searchsorted(sums, sums[-1] / 2)]])
