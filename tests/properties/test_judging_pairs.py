"""All pairs judged in one sweep get the certificates they would get one by one."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_digits

from maxmargin import SVC
from maxmargin.certificates import Definiteness, judge, judge_all, proven_scores
from maxmargin.delivered import KernelTrained

X, Y = load_digits(n_class=5, return_X_y=True)
X = X[:300] / 16.0
Y = Y[:300]


@pytest.mark.parametrize("broken", ["", "outside", "unbalanced", "not a number", "not psd"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["recomputed", "bounded"])
def test_one_sweep_is_one_by_one(method, fit_intercept, broken):
    model = SVC(C=0.5, max_iter=20, fit_intercept=fit_intercept)
    with pytest.warns(match="max_iter"):
        model.fit(X, Y)  # stopped early, so that there are gaps to compare
    trained = KernelTrained.of(model, X, Y, None, None)
    kernel, rows, tasks = trained.fitted.kernel, trained.X, trained.tasks()
    if broken == "outside":
        tasks[1] = tasks[1]._replace(dual_coef=tasks[1].dual_coef * 1.5)
    elif broken == "unbalanced":
        coef = tasks[2].dual_coef.copy()
        coef[np.flatnonzero(coef > 0)[0]] *= 0.5
        tasks[2] = tasks[2]._replace(dual_coef=coef)
    definite = Definiteness(broken != "not psd", "unknown" if broken == "not psd" else "")
    scores = proven_scores(kernel, rows, tasks, definite)
    if broken == "not a number":
        scores[0] = scores[0]._replace(f=scores[0].f * np.nan)
    if method == "bounded":
        scores = [own._replace(f=own.f * (1 + 1e-7), error=own.error + 1e-6) for own in scores]
    together = judge_all(tasks, scores, definite, method)
    for certificate, task, own in zip(together, tasks, scores, strict=True):
        alone = judge(task, own, definite, method)
        for field in dataclasses.fields(alone):
            left, right = getattr(certificate, field.name), getattr(alone, field.name)
            if isinstance(right, float):
                assert left == pytest.approx(right, rel=1e-6, abs=1e-7, nan_ok=True), field.name
            else:
                assert left == right, field.name
        assert certificate.gap >= alone.gap * (1 - 1e-9) or np.isnan(alone.gap)
