"""Sums that the rows can only just hold: rounding may not cost a machine its proof."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import SVDD, NuSVC, NuSVR, OneClassSVM
from tests.laws import examples


def one_class(X, sign, weight, options):
    return OneClassSVM(nu=1.0, **options).fit(X, sample_weight=weight)


def ball(X, sign, weight, options):
    return SVDD(C=1.0 / weight.sum(), **options).fit(X, sample_weight=weight)


def lighter_class(X, sign, weight, options):
    """A nu that is cut to what the lighter class can hold."""
    return NuSVC(nu=1.0, **options).fit(X, sign, weight)


def no_intercept(X, sign, weight, options):
    return NuSVC(nu=1.0, fit_intercept=False, **options).fit(X, sign, weight)


def one_sided(X, sign, weight, options):
    """All residuals have one sign, so that all dual variables have."""
    return NuSVR(nu=0.7, C=1e-3, fit_intercept=False, **options).fit(X, 5.0 + np.abs(X[:, 0]), weight)


@pytest.mark.filterwarnings("ignore:specified nu is infeasible", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("fit", [one_class, ball, lighter_class, no_intercept, one_sided])
@examples(40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), even=st.booleans())
def test_rows_that_are_full_leave_a_proof(fit, seed, n, even):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, 2)), np.ones(n) if even else rng.uniform(0.1, 3.0, n)
    sign = np.where(np.arange(n) < max(1, n // 3), 1.0, -1.0)
    certificate = fit(X, sign, weight, {"gamma": 0.5}).certificate_
    assert certificate.holds, str(certificate)
    assert certificate.gap <= 1e-3 * max(1.0, abs(certificate.primal))


def test_a_ball_whose_rows_cannot_hold_it_is_refused_with_the_cost_that_can():
    X = np.random.default_rng(0).normal(size=(3, 2))
    with pytest.raises(ValueError, match=r"take C >= 0\.3333333333333333") as refusal:
        SVDD(C=0.333333333333).fit(X)
    enough = float(str(refusal.value).rsplit(">= ", 1)[1])
    assert SVDD(C=enough).fit(X).certificate_.holds
