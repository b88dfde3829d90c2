"""scikit-learn's own tests of its SVMs, and those of other modules that use them, run with our machines in their place.

What fails then is listed below, with the point of docs/differences.md that is the reason; anything else fails here, and
so does an entry that no longer does.
"""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn

SKLEARN, HERE = Path(sklearn.__file__).parent, Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "differences.md").read_text(encoding="utf-8")

#: scikit-learn's test modules; of those outside ``svm`` the tests that mention one of the machines.
MODULES = {
    "svm": ["svm/tests"],
    "others": [
        "ensemble/tests/test_bagging.py",
        "ensemble/tests/test_stacking.py",
        "ensemble/tests/test_voting.py",
        "ensemble/tests/test_weight_boosting.py",
        "feature_selection/tests/test_from_model.py",
        "feature_selection/tests/test_rfe.py",
        "model_selection/tests/test_classification_threshold.py",
        "model_selection/tests/test_search.py",
        "model_selection/tests/test_successive_halving.py",
        "model_selection/tests/test_validation.py",
        "tests/test_calibration.py",
        "tests/test_kernel_approximation.py",
        "tests/test_kernel_ridge.py",
        "tests/test_multiclass.py",
        "tests/test_multioutput.py",
    ],
}
#: The least number of tests that must have run: a module that moved is not a success.
LEAST = {"svm": 300, "others": 150}

#: Points of docs/differences.md, by the tests (patterns of fnmatch) that are different for their sake.
EXPECTED = {
    "The intercept is never penalised": [
        "svm/tests/test_bounds.py::test_l1_min_c?fit-intercept-squared_hinge-*",
        "svm/tests/test_*.py::test_*_liblinear_intercept_handling",
        "feature_selection/tests/test_rfe.py::test_rfe_wrapped_estimator?RFECV-*",
    ],
    "The same problem given in another way is solved to the same `tol`": [
        "svm/tests/test_sparse.py::test_svc?*",
        "svm/tests/test_sparse.py::test_svc_iris?*",
        "svm/tests/test_sparse.py::test_sparse_oneclasssvm?*",
    ],
    "`n_iter_` counts our steps": [
        "svm/tests/test_sparse.py::test_timeout?*",
        "svm/tests/test_svm.py::test_libsvm_convergence_warnings*",
        "svm/tests/test_svm.py::test_linear_svm_convergence_warnings*",
    ],
    "Private attributes are ours": [
        "svm/tests/test_svm.py::test_tweak_params",
        "svm/tests/test_svm.py::test_gamma_scale",
        "svm/tests/test_svm.py::test_svc_raises_error_internal_representation",
    ],
    "`classes_` are those of rows with positive weight": [
        "svm/tests/test_svm.py::test_negative_weights_svc_leave_just_one_label?mask-label-*-NuSVC?",
    ],
    "Sparse rows can be predicted after a dense fit": ["svm/tests/test_svm.py::test_bad_input*"],
    "Messages are ours": ["svm/tests/test_svm.py::test_svc_nonfinite_params*"],
    "Every loss goes with every penalty": ["svm/tests/test_svm.py::test_linearsvc_parameters?*"],
    "Callable kernels get blocks of rows where all values do not fit": ["svm/tests/test_svm.py::test_svr_errors"],
    "`predict` is the arg-max of `decision_function`": ["svm/tests/test_svm.py::test_svc_ovr_tie_breaking*"],
    "must be finite": ["svm/tests/test_svm.py::test_svm_with_infinite_C*SVR*"],
    "With `probability=True`, `predict` is the arg-max of `predict_proba`": [
        "svm/tests/test_svm.py::test_probability_raises_futurewarning?*",
        "svm/tests/test_svm.py::test_svc_nusvc_probA_probB_deprecated?*",
    ],
}


def outcomes(modules: list[str], folder: Path, patched: bool = True) -> dict[str, tuple[str, str]]:
    """{test: (outcome, message)} of a run of its own, with our machines."""
    file = folder / "outcomes.json"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        "MAXMARGIN_OUTCOMES": str(file),
        "MAXMARGIN_PATCH": str(int(patched)),
    }
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-c", os.devnull, f"--rootdir={SKLEARN.parent}"]
    command += ["-p", "suite_plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "-W", "ignore"]
    done = subprocess.run(
        [*command, *(str(SKLEARN / module) for module in modules)],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert file.exists(), done.stdout + done.stderr
    return {name: (outcome, message) for name, (outcome, message) in json.loads(file.read_text()).items()}


def reason_of(name: str) -> str | None:
    """The point of the page that explains why a test fails, if one does."""
    found = (point for point, patterns in EXPECTED.items() if any(fnmatch.fnmatchcase(name, p) for p in patterns))
    return next(found, None)


@pytest.mark.slow
@pytest.mark.parametrize("part", MODULES)
def test_what_fails_is_what_is_listed(part: str, tmp_path: Path) -> None:
    found = outcomes(MODULES[part], tmp_path)
    assert len(found) >= LEAST[part]
    failed = {name: message for name, (outcome, message) in found.items() if outcome == "failed"}
    assert {name: message for name, message in failed.items() if reason_of(name) is None} == {}
    mine = [p for patterns in EXPECTED.values() for p in patterns if p.startswith("svm/") == (part == "svm")]
    assert [pattern for pattern in mine if not fnmatch.filter(failed, pattern)] == []


def test_every_reason_stands_on_the_page() -> None:
    assert [point for point in EXPECTED if point not in PAGE] == []


@pytest.mark.slow
def test_a_run_sees_our_machines_and_a_failure(tmp_path: Path) -> None:
    """One module, with and without the patch: a test of a private attribute tells them apart."""
    name = "svm/tests/test_svm.py::test_gamma_scale"
    for patched, expected in ((True, "failed"), (False, "passed")):
        assert outcomes([name], tmp_path, patched)[name][0] == expected
