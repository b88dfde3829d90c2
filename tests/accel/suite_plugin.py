"""A pytest plugin for scikit-learn's own tests: with our machines, only tests that use them, outcomes as JSON.

Environment: MAXMARGIN_OUTCOMES, the file to write; MAXMARGIN_PATCH=0 runs the same tests with scikit-learn's machines.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from typing import Any

import maxmargin

USES = re.compile(r"\bSVC\b|\bSVR\b|LinearSV[CR]|NuSV[CR]|OneClassSVM|KernelRidge|l1_min_c|\bsvm\.")
#: Nodes whose tests are all about these machines.
WHOLE = ("svm/tests/", "tests/test_kernel_ridge.py")

#: Tests that pass and take half of the time of all: left out so that the rest can run for every change.
SLOW = {
    "test_calibration_multiclass",
    "test_cross_val_predict_decision_function_shape",
    "test_oob_score_classification",
    "test_parallel_classification",
    "test_permutation_score",
    "test_stacking_cv_influence",
}

if os.environ.get("MAXMARGIN_PATCH") != "0":  # before any test module imports them
    maxmargin.patch_sklearn()

_outcomes: dict[str, tuple[str, str]] = {}


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Keep the tests that use an SVM or a kernel ridge: in their source, decorators included, or by parameter."""
    items[:] = [item for item in items if item.nodeid.partition("sklearn/")[2].startswith(WHOLE) or _uses(item)]
    items[:] = [item for item in items if item.originalname not in SLOW]


def _uses(item: Any) -> bool:
    given = getattr(getattr(item, "callspec", None), "params", {})
    return bool(USES.search(inspect.getsource(item.function)) or USES.search(repr(given)))


def pytest_runtest_logreport(report: Any) -> None:
    name = report.nodeid.partition("sklearn/")[2]
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        _outcomes[name] = report.outcome, crash.message if crash is not None else ""


def pytest_sessionfinish() -> None:
    with open(os.environ["MAXMARGIN_OUTCOMES"], "w", encoding="utf-8") as file:
        json.dump(_outcomes, file, indent=1)
