"""Examples in docstrings run, and public classes document what they take."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable

import pytest

import maxmargin

MODULES = ["maxmargin", *sorted(m.name for m in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."))]
ESTIMATORS = sorted(name for name, home in maxmargin._HOMES.items() if home in ("estimators", "maps", "selection"))
#: Public callables that need an example of their own: everything but results and errors.
WITH_EXAMPLE = [*ESTIMATORS, "certify", "kernels.Kernel", "kernels.check_mercer"]


def load(name: str) -> types.ModuleType:
    """The module, or a skip where the extra it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("maxmargin"):
            raise
        pytest.skip(f"{name} needs {error.name}")


def public(name: str) -> object:
    """A public object by its path inside the package."""
    found: object = maxmargin
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_run(name: str, run_tests: Callable[[list[doctest.DocTest]], str]) -> None:
    assert run_tests(doctest.DocTestFinder().find(load(name))) == ""


def test_a_wrong_example_is_seen(run_tests: Callable[[list[doctest.DocTest]], str]) -> None:
    module = types.ModuleType("wrong", ">>> 1 + 1\n3\n")
    assert "Expected" in run_tests(doctest.DocTestFinder().find(module))


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_public_objects_have_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(public(name)) or "")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_is_documented_and_no_other(name: str) -> None:
    estimator = public(name)
    text = (inspect.getdoc(estimator) or "").partition("Parameters\n----------\n")[2].partition("\nAttributes\n")[0]
    documented = {part for line in text.splitlines() if " : " in line and not line.startswith(" ")
                  for part in line.partition(" : ")[0].split(", ")}  # fmt: skip
    # the parameter is annotated as any object, signature() wants a callable
    assert documented == set(inspect.signature(estimator).parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    assert len((load(name).__doc__ or "").splitlines()[0]) > 15
