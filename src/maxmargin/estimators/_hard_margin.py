"""The hard margin (C = inf) of a linear classifier: the nearest points of two hulls, by the kernel machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.certificates import worst
from maxmargin.estimators._classifiers import SVC
from maxmargin.estimators._linear_base import margins_of
from maxmargin.estimators._machine import Training
from maxmargin.estimators._scaling import fitted_scaling, scaled
from maxmargin.exceptions import NotSeparableError
from maxmargin.multiclass import OneVsRest


def fit_hard_margin(estimator: Any, data: Training) -> Any:
    """Fit ``estimator`` (a LinearSVC with C = inf) on every class against the rest.

    Raises :class:`~maxmargin.exceptions.NotSeparableError` if a class cannot be told from the rest without slack.
    """
    if estimator.penalty != "l2":
        raise ValueError(f"C=inf is the hard margin, which needs penalty='l2'; got penalty={estimator.penalty!r}")
    rows = data.X if len(data.kept) == data.n else data.X[data.kept]
    scaling = fitted_scaling(rows, data.weight) if estimator.scale else None
    labels, inputs = data.extra, scaled(rows, scaling)
    machines = []
    for task in OneVsRest(len(labels.classes)).tasks(labels.label):
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
            machines.append(machine.fit(inputs, task.sign))
        except NotSeparableError as error:
            raise error.on_rows(data.kept, data.n) from None
    estimator._forget()
    coef = np.vstack([_dense(machine.coef_) for machine in machines])
    estimator.coef_ = coef if scaling is None else coef / scaling.scale
    intercept = np.concatenate([machine.intercept_ for machine in machines])
    estimator.intercept_ = intercept if scaling is None else intercept - estimator.coef_ @ scaling.center
    if scaling is not None:
        estimator.center_, estimator.scale_ = scaling
    used = np.unique(np.concatenate([machine.support_ for machine in machines]))
    estimator.support_ = data.kept[used]
    estimator.dual_coef_ = np.zeros((len(machines), len(used)))
    for k, machine in enumerate(machines):
        estimator.dual_coef_[k, np.searchsorted(used, machine.support_)] = _dense(machine.dual_coef_).ravel()
    estimator.C_, estimator.margin_ = np.inf, margins_of(coef)
    estimator.n_iter_ = max(int(machine.n_iter_.max()) for machine in machines)
    estimator.history_ = np.concatenate([_numbered(machine.history_, k) for k, machine in enumerate(machines)])
    estimator.shape_fit_ = data.X.shape
    estimator._publish_labels(data)
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
