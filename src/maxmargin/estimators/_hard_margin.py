"""The hard margin (C = inf) of a linear classifier: the nearest points of two hulls, by the kernel machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.certificates import worst
from maxmargin.estimators._classifiers import SVC
from maxmargin.estimators._linear_model import LinearFit, publish_fit
from maxmargin.estimators._machine import Training
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.exceptions import NotSeparableError


def fit_hard_margin(estimator: Any, data: Training) -> Any:
    """Fit ``estimator`` (a LinearSVC with C = inf) on every task of its scheme.

    Raises :class:`~maxmargin.exceptions.NotSeparableError` if the two sides of a task cannot be told apart.
    """
    if estimator.penalty != "l2":
        raise ValueError(f"C=inf is the hard margin, which needs penalty='l2'; got penalty={estimator.penalty!r}")
    rows = data.rows
    scaling = fitted_scaling(rows, data.weight) if estimator.scale else None
    inputs = scaled(rows, scaling)
    tasks = data.extra.scheme.tasks(data.extra.label)
    machines = []
    for task in tasks:
        machine = SVC(
            C=np.inf,
            kernel="linear",
            gap_tol=estimator.tol,
            fit_intercept=estimator.fit_intercept,
            time_limit=estimator.time_limit,
            certify="full" if estimator.certify else False,
            n_jobs=estimator.n_jobs,
        )
        try:
            machines.append(machine.fit(inputs[task.rows], task.sign))
        except NotSeparableError as error:
            raise error.on_rows(data.kept[task.rows], data.n) from None
    estimator._forget()
    beta = np.zeros((len(machines), len(data.kept)))
    for line, task, machine in zip(beta, tasks, machines, strict=True):
        line[task.rows[machine.support_]] = _dense(machine.dual_coef_).ravel()
    fit = LinearFit(
        np.vstack([_dense(machine.coef_) for machine in machines]),
        np.concatenate([machine.intercept_ for machine in machines]),
        beta,
        np.inf,
        max(int(machine.n_iter_.max()) for machine in machines),
        np.concatenate([_numbered(machine.history_, k) for k, machine in enumerate(machines)]),
    )
    publish_fit(estimator, data, fit, scaling)
    if estimator.certify:
        estimator.certificates_ = [machine.certificate_ for machine in machines]
        estimator.certificate_ = worst(estimator.certificates_)
    return estimator


def _numbered(history: np.ndarray, k: int) -> np.ndarray:
    history = history.copy()
    history["task"] = k
    return history


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
