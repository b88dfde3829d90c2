"""Public names exist, and importing the package loads nothing heavy."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin

#: What ``import maxmargin`` must not load; each comes in where it is first used.
HEAVY = ("numba", "torch", "triton", "dask", "distributed", "matplotlib", "sklearn", "scipy", "joblib", "pandas")
#: What using a class without fitting it must not load either.
LATER = ("numba", "torch", "triton", "dask", "matplotlib")
PUBLIC_MODULES = sorted(
    f"maxmargin.{module.name}" for module in pkgutil.iter_modules(maxmargin.__path__) if not module.name.startswith("_")
)


def modules_after(statement: str) -> set[str]:
    """Names in ``sys.modules`` of a new process that ran ``statement``."""
    where = str(Path(maxmargin.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {where!r}); {statement}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return set(run.stdout.split())


def loaded_after(statement: str) -> set[str]:
    """Top-level modules in ``sys.modules`` of a new process that ran ``statement``."""
    return {name.partition(".")[0] for name in modules_after(statement)}


@pytest.mark.parametrize("name", maxmargin.__all__)
def test_every_name_of_the_package_resolves(name: str) -> None:
    assert getattr(maxmargin, name) is not None
    assert name in dir(maxmargin)


def test_lazy_names_and_all_agree() -> None:
    assert set(maxmargin.__all__) == {*maxmargin._HOMES, *maxmargin._MODULES, "__version__"}
    assert len(set(maxmargin.__all__)) == len(maxmargin.__all__)


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'SVX'"):
        _ = maxmargin.SVX


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_sub_module_keeps_its_word(module: str) -> None:
    imported = importlib.import_module(module)
    names = getattr(imported, "__all__", ())
    assert [name for name in names if not hasattr(imported, name)] == []
    assert len(set(names)) == len(names)
    assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize(
    "module", ["maxmargin.kernels", "maxmargin.problems", "maxmargin.solvers", "maxmargin.backends"]
)
def test_packages_list_their_names(module: str) -> None:
    assert importlib.import_module(module).__all__


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import maxmargin") & set(HEAVY) == set()


def test_classes_kernels_and_certificates_load_no_compiler() -> None:
    loaded = loaded_after("from maxmargin import SVC, SVR, SVDD, certify, kernels; SVC(kernel=kernels.Gaussian(1.0))")
    assert "sklearn" in loaded
    assert loaded & set(LATER) == set()


#: What a small fit of ``SVC`` does without: other machines, and parts of scikit-learn that take long to import.
OTHERS = {
    "maxmargin.estimators._linear_svm",
    "maxmargin.estimators._approximation",
    "maxmargin.inspection",
    "maxmargin.solvers.all_classes",
    "maxmargin.backends._numba.stochastic",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.svm",
}


def test_a_fit_imports_what_it_uses() -> None:
    loaded = modules_after("from maxmargin import SVC; SVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1])")
    assert {"maxmargin.estimators._classifiers", "maxmargin.backends._numba.stored"} <= loaded
    assert loaded & OTHERS == set()


def test_that_check_sees_what_is_imported() -> None:
    statement = "from maxmargin import *; import sklearn.svm, sklearn.metrics; inspection; KernelPegasosSVC"
    assert {"maxmargin.inspection", "sklearn.svm", "sklearn.metrics"} <= modules_after(statement) & OTHERS


def test_the_check_sees_a_heavy_import() -> None:
    assert "numba" in loaded_after("import maxmargin, numba") & set(HEAVY)
