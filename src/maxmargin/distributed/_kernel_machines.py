"""SVC and SVR on a cluster."""

from __future__ import annotations

from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from maxmargin import estimators
from maxmargin._rows import dense
from maxmargin.distributed._crew import Apart, Crew
from maxmargin.distributed._facts import all_moments, scaling_of, variance_of
from maxmargin.distributed._kernel_fit import ClusterKernelTasks
from maxmargin.distributed._kernel_part import Plan
from maxmargin.distributed._kernel_rounds import Variables
from maxmargin.distributed._machine import OnCluster, on_cluster
from maxmargin.distributed._predict import lazily
from maxmargin.distributed._vault import Vault
from maxmargin.kernels import Precomputed, resolve_kernel
from maxmargin.multiclass import SINGLE


class KernelOnCluster(OnCluster):
    """What the kernel machines of this package share."""

    def _refuse(self):
        machine: Any = self
        if machine._precomputed or isinstance(machine.kernel, Precomputed):
            raise ValueError("kernel='precomputed' has no rows that could lie on a cluster; give rows and a kernel")
        if machine.solver not in ("auto", "decomposition"):
            raise ValueError(f"on a cluster kernel machines are solved by decomposition; got solver={machine.solver!r}")
        if np.isinf(machine.C):
            raise ValueError("C=inf, the hard margin, is there on one computer only; give a finite C")
        if getattr(machine, "_multiclass", "ovo") in SINGLE:
            raise ValueError(
                f"multiclass={machine._multiclass!r} is one problem for all classes, there on one computer only; "
                "use 'ovo', 'ovr' or 'code'"
            )
        if getattr(machine, "approximation", None) is not None:
            raise ValueError("approximation='nystroem' is there on one computer only; approximation=None is exact")
        if getattr(machine, "_wanted_calibration", None) is not None:
            raise ValueError(
                "calibrations of kernel machines are there on one computer only; use decision_function, or calibrate "
                "it with sklearn.calibration on rows that were held out"
            )

    def _cluster_family(self, data, crew, found):
        machine: Any = self
        numeric = isinstance(machine.gamma, Real) or machine.gamma == "auto"
        known = None if numeric and not machine.scale else all_moments(crew)
        scaling = scaling_of(known, found.sparse) if machine.scale and known is not None else None
        gamma = float(machine.gamma) if isinstance(machine.gamma, Real) else 1.0 / max(found.d, 1)
        if machine.gamma == "scale" and known is not None:
            variance = variance_of(known, scaling)
            gamma = 1.0 / (found.d * variance) if variance > 0 else 1.0
        kernel = resolve_kernel(machine.kernel, gamma, machine.degree, machine.coef0)
        plan = Plan(
            self._parameters_alone(),
            kernel,
            scaling,
            data.extra if self._is_classifier else None,
            self.checkpoint is not None,
        )
        return ClusterKernelTasks(self, data._replace(scaling=scaling), crew, plan, self._starts(crew, plan, data))

    def _starts(self, crew: Crew, plan: Plan, data: Any) -> list[Variables] | None:
        """The dual variables of the last fit, or of the checkpoint, at the rows that they belong to."""
        machine: Any = self
        if not machine.warm_start:
            return None
        model: Any = machine if hasattr(machine, "support_") else self._from_checkpoint()
        if model is None or tuple(model.shape_fit_) != data.X.shape:
            return None
        if self._is_classifier and not model._same_scheme(data.extra):
            return None
        return starts_of(model, crew, plan)

    def _new_vault(self, data: Any, crew: Crew, plan: Plan) -> Vault | None:
        return None if self.checkpoint is None else Vault(self, data, plan, crew.call("size"))


def starts_of(model: Any, crew: Crew, plan: Plan) -> list[Variables] | None:
    """Where every task starts: the coefficients of a model, made feasible."""
    sizes = crew.call("size")
    edges = np.concatenate([[0], np.cumsum(sizes)])
    support = np.asarray(model.support_)
    own = [np.flatnonzero((support >= a) & (support < b)) for a, b in pairwise(edges.tolist())]
    numbers = [support[rows] - a for rows, a in zip(own, edges, strict=False)]
    positions = crew.call("positions", plan, Apart(dict(enumerate(numbers))))
    table = dense(model.dual_coef_)
    coef = table.T
    if plan.labels is not None:
        coef = plan.labels.scheme.per_task(table, model._support_label)
    tasks = coef.shape[1]
    values = crew.call(
        "nearby", plan, Apart({p: [positions[p][k] for k in range(tasks)] for p in range(len(crew))}),
        Apart({p: coef[own[p]] for p in range(len(crew))}),
    )  # fmt: skip
    starts = []
    for k in range(tasks):
        clipped = [values[p][k] for p in range(len(crew))]
        above = sum(float(v[v > 0].sum()) for v in clipped)
        below = sum(float(-v[v < 0].sum()) for v in clipped)
        if plan.machine.fit_intercept:  # the heavier side shrinks until the sum is 0
            up, down = (min(1.0, below / above) if above else 1.0), (min(1.0, above / below) if below else 1.0)
            clipped = [np.where(v > 0, v * up, v * down) for v in clipped]
        start = Variables([{} for _ in range(len(crew))])
        for p, v in enumerate(clipped):
            inside = positions[p][k] >= 0
            start.move(p, positions[p][k][inside], v[inside])
        starts.append(start)
    return starts


@on_cluster
class SVC(KernelOnCluster, estimators.SVC):
    """Support vector classifier, exact, with a proof of optimality, of rows on a Dask cluster."""

    def decision_function(self, X):
        """As on one computer; of a Dask collection a lazy one."""
        return lazily(self, super().decision_function, "decision_function", X)


@on_cluster
class SVR(KernelOnCluster, estimators.SVR):
    """Support vector regression with an epsilon-insensitive tube, exact, of rows on a Dask cluster."""
