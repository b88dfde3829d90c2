"""Dependencies: ``python -m benchmarks.campaign.audit`` (``make audit``).

Three questions, each answered or said to be unanswered, with the reason:

- does any package of ``constraints.txt`` have a known weakness (``pip-audit``, where it and its data can be had);
- do the tests pass with the *lowest* versions that ``pyproject.toml`` allows of what the core needs (the extras' lowest
  ones exclude each other: pyarrow 15 wants an older NumPy);
- do they pass with the *newest* ones that the package index has.

``--write`` writes ``constraints.txt``: the versions that are installed here, by name and number only, with which
``pip install -c constraints.txt ".[test]"`` repeats them. ``--tests`` chooses what is run in the new environments.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
HEADER = (
    "# The versions that the tests were last run with; pip install -c constraints.txt '.[test]' repeats them.\n"
    "# Written by python -m benchmarks.campaign.audit --write. Names and versions only: the index is your own.\n"
)
#: Tests that touch every dependency and take a few minutes.
TESTS = ("tests/unit", "tests/files", "tests/backends", "tests/cli", "tests/references/test_onnx_machines.py")


def requirements(extras: tuple[str, ...] = ("test",)) -> list[str]:
    """What ``pyproject.toml`` asks for, with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]


def lowest(lines: list[str]) -> dict[str, str]:
    """The lowest allowed version of every package that has one."""
    found = (re.match(r"([A-Za-z0-9_.-]+)(?:\[[^\]]*\])?>=([0-9][0-9.]*)", line) for line in lines)
    return {normal(match[1]): match[2] for match in found if match}


def normal(name: str) -> str:
    """A package's name as indices write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(names: list[str]) -> dict[str, str]:
    """Versions of these packages and of all they need, as they are installed here."""
    found: dict[str, str] = {}
    waiting = [normal(name) for name in names]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = package.version
        needed = [line for line in package.requires or () if "extra ==" not in line]
        waiting += [normal(match[0]) for line in needed if (match := re.match(r"[A-Za-z0-9_.-]+", line))]
    return dict(sorted(found.items()))


def constraints() -> str:
    """The text of ``constraints.txt``."""
    names = [re.split(r"[\[<>=; ]", line)[0] for line in requirements()]
    return HEADER + "".join(f"{name}=={version}\n" for name, version in installed(names).items())


def ran(words: list[Any], **how: Any) -> tuple[int, str]:
    """(exit code, the end of what was printed)."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **how)
    return ended.returncode, (ended.stdout + ended.stderr).strip()[-1500:]


def audited() -> str:
    """What pip-audit knows of the packages."""
    words = [sys.executable, "-m", "pip_audit", "--requirement", str(CONSTRAINTS), "--no-deps", "--disable-pip"]
    ended = subprocess.run([*words, "--format", "json"], capture_output=True, text=True, check=False)
    if "No module named pip_audit" in ended.stderr:
        return "unanswered: pip-audit is not installed (pip install pip-audit)"
    try:
        return answer_of(json.loads(ended.stdout)["dependencies"])
    except (ValueError, KeyError):
        return f"unanswered: the data cannot be had ({ended.stderr.splitlines()[-1:]})"


def answer_of(packages: list[dict[str, Any]]) -> str:
    """What pip-audit's document says in a line; it calls packages clean, too, of which the index told it nothing."""
    weak = [f"{one['name']} {one['version']}: {each['id']}" for one in packages for each in one.get("vulns", ())]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    if weak:
        return "FOUND: " + "; ".join(weak)
    if unknown:
        return f"unanswered: nothing is known of {len(unknown)} of {len(packages)} packages, no weakness of the others"
    return f"clean: no known weakness of {len(packages)} packages"


def tested(which: str, tests: list[str]) -> str:
    """The tests in an environment of their own, with the lowest or the newest versions."""
    with tempfile.TemporaryDirectory(prefix=f"maxmargin-{which}-") as folder:
        python = Path(folder, "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        limits = Path(folder, "limits.txt")
        pins = lowest(requirements(())) if which == "lowest" else {}
        limits.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
        newest = ["--upgrade", "--upgrade-strategy", "eager"] if which == "newest" else []
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *newest]
        code, said = ran([*install, "--constraint", limits, f"{ROOT}[test]"])
        if code:
            return f"unanswered: the packages cannot be installed: {said.splitlines()[-4:]}"
        options = ["-o", "addopts=--strict-markers", "--disable-warnings", "-p", "no:cacheprovider"]
        code, said = ran([python, "-m", "pytest", *options, *tests], cwd=ROOT)
        numpy, sklearn = (ran([python, "-c", f"import {m}; print({m}.__version__)"])[1] for m in ("numpy", "sklearn"))
        lines = said.splitlines()
        failed = [line for line in lines[:-1] if line.startswith(("FAILED", "ERROR"))]
        ended = "\n  ".join(["".join(lines[-1:]), *failed])
        return f"{'passed' if code == 0 else 'FAILED'} with NumPy {numpy}, scikit-learn {sklearn}: {ended}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write constraints.txt and end")
    parser.add_argument("--only", nargs="*", choices=["weaknesses", "lowest", "newest"])
    parser.add_argument("--tests", nargs="*", default=list(TESTS))
    given = parser.parse_args()
    if given.write:
        CONSTRAINTS.write_text(constraints(), encoding="utf-8")
        return 0
    # a shell's background processes ignore Ctrl-C, and so would all tests that press it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = {}
    for name in given.only or ["weaknesses", "lowest", "newest"]:
        answers[name] = audited() if name == "weaknesses" else tested(name, given.tests)
        print(f"audit {name}: {answers[name]}", flush=True)
    return 1 if any(answer.startswith(("FOUND", "FAILED")) for answer in answers.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
