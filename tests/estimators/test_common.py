"""scikit-learn's own checks, and the rest of its contract: parameters, copies, names, routing, workers."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM

MACHINES = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]

#: scikit-learn's outlier checks hand two columns to every machine, so its own OneClassSVM fails them with 'precomputed'.
CHECKED = [
    *[machine() for machine in MACHINES],
    *[machine(kernel="linear") for machine in MACHINES],
    *[machine(fit_intercept=False) for machine in MACHINES[:4]],
    *[machine(kernel="precomputed") for machine in MACHINES[:4]],
    *[machine(solver="interior-point") for machine in MACHINES],
]
EXPECTED_FAILURES: dict[str, str] = {}


@parametrize_with_checks(CHECKED, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


def test_no_failure_of_scikit_learns_checks_is_expected():
    assert EXPECTED_FAILURES == {}
