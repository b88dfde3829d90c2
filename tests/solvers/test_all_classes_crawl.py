"""One problem for all classes: kernels of low rank and large costs, where blocks of rows crawl."""

import numpy as np
import pytest

from maxmargin import SVC, LinearSVC


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("multiclass", ["crammer-singer", "weston-watkins"])
@pytest.mark.parametrize("cost", [1e4, 1e6])
def test_few_features_and_a_large_cost_reach_the_goal(multiclass, fit_intercept, cost):
    rng = np.random.default_rng(0)
    for rows, d in ((5, 1), (60, 2)):
        X, y = rng.normal(size=(rows, d)), np.arange(rows) % 3
        model = SVC(kernel="linear", C=cost, multiclass=multiclass, fit_intercept=fit_intercept, gap_tol=1e-3)
        model.fit(X, y)
        assert model.certificate_.holds
        assert model.certificate_.relative_gap <= 1e-3
        assert model.n_iter_[0] < 1000  # blocks alone take tens of thousands of rounds


def test_the_method_that_takes_over_finds_the_optimum_of_the_linear_machine():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 3
    kernel = SVC(kernel="linear", C=1e3, multiclass="crammer-singer", gap_tol=1e-6).fit(X, y)
    linear = LinearSVC(C=1e3, multiclass="crammer-singer", tol=1e-6).fit(X, y)
    assert kernel.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-5)
