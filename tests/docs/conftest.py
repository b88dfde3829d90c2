"""Examples in Markdown pages and in docstrings are run, not believed."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(text: str) -> str:
    """The page with everything but its Python blocks blanked out, so that line numbers stay right."""
    kept = [""] * len(text.splitlines())
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        for number, line in enumerate(block.group(1).splitlines()):
            kept[first + number] = line
    return "\n".join(kept) + "\n"


def run(test: doctest.DocTest) -> str:
    """What went wrong, or an empty string."""
    report: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=report.append)
    return "".join(report)


@pytest.fixture(scope="session", autouse=True)
def no_notice() -> Iterator[None]:
    """The line that says that compilation is under way is no part of any example."""
    from maxmargin.backends._numba._jit import _Notice

    said, _Notice.said = _Notice.said, True
    yield
    _Notice.said = said


@pytest.fixture
def run_page() -> Callable[[str, str], tuple[int, str]]:
    """(number of examples, what went wrong) of a page's text."""

    def run_text(text: str, name: str) -> tuple[int, str]:
        test = doctest.DocTestParser().get_doctest(examples(text), {"__name__": "__main__"}, name, name, 0)
        return len(test.examples), run(test)

    return run_text


@pytest.fixture
def run_tests() -> Callable[[list[doctest.DocTest]], str]:
    """What went wrong in some doctests, one after the other."""
    return lambda tests: "".join(run(test) for test in tests)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).resolve().parents[2]
