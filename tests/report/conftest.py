"""Real runs, made once."""

from __future__ import annotations

import pytest

from maxmargin.report import Findings
from tests.report.report_fits import findings_of

GRID = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.01, 0.1]}


@pytest.fixture(scope="session")
def runs() -> dict[str, Findings]:
    """Runs by name: many classes, two with probabilities, a linear machine, ten classes, regression."""
    return {
        "iris": findings_of("iris"),
        "breast_cancer": findings_of("breast_cancer", calibration="sigmoid", random_state=0, **GRID),
        "linear": findings_of("breast_cancer", "LinearSVC", Cs=[0.001, 0.01, 0.1]),
        "digits": findings_of("digits", Cs=[1.0, 10.0], gammas=[0.003, 0.01]),
        "diabetes": findings_of("diabetes", "SVR", epsilon=20.0, Cs=[10.0, 100.0], gammas=[0.01, 0.1]),
    }
