"""scikit-learn's own checks: all of them for one instance of every public estimator, those of fits for variants."""

from __future__ import annotations

from functools import partial

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from maxmargin import (
    LSSVC,
    SGDSVC,
    SVC,
    SVCCV,
    SVDD,
    SVR,
    KernelDiscriminantAnalysis,
    KernelLeastSquares,
    KernelLeastSquaresCV,
    KernelPegasosSVC,
    KernelPerceptron,
    LinearClassifier,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PegasosSVC,
    Perceptron,
)
from maxmargin.maps import NystroemMap, PolynomialMap, RandomFourierMap
from tests.contract.estimators import NAMES, made

#: Configurations whose fits run other code than the default's. scikit-learn's outlier checks hand two columns to every
#: machine, so that no one-class machine is 'precomputed': its own OneClassSVM fails them.
VARIANTS = [
    NuSVC(kernel="linear"),
    SVDD(kernel="linear"),
    SVC(kernel="precomputed"),
    NuSVR(kernel="precomputed"),
    SVC(fit_intercept=False),
    NuSVR(fit_intercept=False),
    NuSVC(solver="interior-point"),
    SVR(solver="interior-point"),
    OneClassSVM(solver="interior-point"),
    SVC(calibration="sigmoid"),
    SVC(multiclass="ovr"),
    SVC(multiclass="code"),
    NuSVC(multiclass="ovr"),
    # weights are repetitions to seven digits where the fit is that exact
    SVC(multiclass="weston-watkins", gap_tol=1e-12),
    SVC(multiclass="crammer-singer", gap_tol=1e-12),
    SVC(approximation="nystroem", n_components=5),
    LinearSVR(fit_intercept=False),  # classes need not lie around 0
    LinearRegressor(fit_intercept=False),
    LinearClassifier(scale=True),
    LinearSVR(scale=True),
    LinearSVC(solver="dual-coordinate", tol=1e-13, max_iter=10**5),
    LinearRegressor(solver="dual-coordinate", tol=1e-13, max_iter=10**5),
    LinearSVC(penalty="l1", tol=1e-13),
    LinearRegressor(penalty="l1", tol=1e-13),
    LinearSVC(multiclass="ovo"),
    LinearSVC(multiclass="crammer-singer", tol=1e-13, max_iter=10**5),
    LinearSVC(multiclass="weston-watkins", tol=1e-13, max_iter=10**5),
    LinearClassifier("logistic"),
    LinearClassifier("logistic", multiclass="softmax", tol=1e-13),
    LSSVC(fit_intercept=False),
    LSSVC(kernel="precomputed", multiclass="ovo"),
    LSSVC(multiclass="code", code_words="exhaustive", leave_one_out=True),
    LSSVC(solver="cg", tol=1e-12),
    PegasosSVC(average=False, order="draw", fit_intercept=True, max_iter=100),
    PegasosSVC(multiclass="ovo"),
    SGDSVC(batch_size=4, steps_per_season=50),
    SGDSVC(multiclass="code"),
    Perceptron(shuffle=False, fit_intercept=False),
    KernelPegasosSVC(budget=10, max_iter=20),
    KernelPegasosSVC(kernel="precomputed", max_iter=50),
    KernelPerceptron(kernel="poly", budget=10, maintenance="project", shuffle=False),
    KernelLeastSquares("linear", 0.1, solver="cholesky"),
    KernelLeastSquares(lam=0.1, solver="cg", tol=1e-12),
    KernelLeastSquares(lam=0.1, n_landmarks=100, tol=1e-12),
    KernelLeastSquares("precomputed", lam=0.1),
    KernelDiscriminantAnalysis(n_landmarks=8),
    KernelDiscriminantAnalysis(1, kernel="poly", coef0=1.0),
    PolynomialMap(degree=3, coef0=0.0, gamma="scale"),
    PolynomialMap(collapse=False),
    NystroemMap(kernel="precomputed"),
    NystroemMap(n_components=10, landmarks="k-means++"),
    NystroemMap(n_components=10, landmarks="leverage"),
    RandomFourierMap(orthogonal=True, n_components=7),
    RandomFourierMap(kernel="laplacian"),
    SVCCV(Cs=[0.1, 1.0], gammas=["scale"], cv=3, scale=True),
    SVCCV(Cs=[0.1, 1.0], kernel="precomputed", cv=3),
    KernelLeastSquaresCV("precomputed", lams=[0.1, 1.0], cv=3),
]

#: Checks whose verdict depends on what a fit computes. The others look at classes, parameters, tags and refusals, which
#: all configurations of an estimator share.
OF_FITS = {
    "check_class_weight_classifiers",
    "check_classifiers_classes",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_train",
    "check_decision_proba_consistency",
    "check_estimator_sparse_array",
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_non_transformer_estimators_n_iter",
    "check_nonsquare_error",
    "check_outliers_train",
    "check_readonly_memmap_input",
    "check_regressors_int",
    "check_regressors_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:n_components="),
    pytest.mark.filterwarnings("ignore:the kernel is not positive"),
]


def name_of(check) -> str:
    return (check.func if isinstance(check, partial) else check).__name__


def calls(check) -> str:
    """The check with its options, as scikit-learn names it."""
    options = check.keywords if isinstance(check, partial) else {}
    return name_of(check) + (f"({', '.join(f'{k}={v}' for k, v in options.items())})" if options else "")


#: Known failures, each with its reason; one that passes again fails here (`xfail_strict`).
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


@parametrize_with_checks(
    [made(name) for name in NAMES],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {}),
)
def test_every_estimator_passes_all_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(estimator, check, id=f"{estimator!r}-{calls(check)}".replace("\n", "").replace("  ", ""))
        for variant in VARIANTS
        for estimator, check in estimator_checks_generator(variant, legacy=True, mark="skip")
        if name_of(check) in OF_FITS
    ],
)
def test_variants_pass_the_checks_of_fits(estimator, check):
    check(estimator)


def test_the_checks_of_fits_are_checks_of_scikit_learn():
    tried = [*map(made, NAMES), *VARIANTS]
    known = {name_of(check) for one in tried for _, check in estimator_checks_generator(one, legacy=True)}
    assert known >= OF_FITS
    assert len(known - OF_FITS) > 30
