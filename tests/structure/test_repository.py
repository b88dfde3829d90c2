"""The repository itself: nothing that ties it to one machine or registry, and a wheel that works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parents[2]
LOCKS = re.compile(
    r"(^|/)([^/]*\.lock|[^/]*-lock\.(json|ya?ml)|[Pp]ipfile.*|pylock.*\.toml|\.pypirc|pip\.conf|\.npmrc)$"
)
#: Written in pieces, so that this file is not its own first finding.
REGISTRIES = re.compile("|".join(["pypi" + r"\.org", "python" + "hosted", "index" + "-url", "find" + "-links",
                                  "trusted" + "-host", "/simple" + "/", "arti" + "factory", "npm" + "js"]))  # fmt: skip
MACHINES = re.compile(
    r"(?<![\w.\])}~])/(?:ro" + r"ot|ho" + r"me|Us" + r"ers|wo" + r"rk|op" + r"t|mnt|tmp)/|[A-Z]:\\\\?Users"
)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def tracked() -> list[Path]:
    """Files that git knows or would add; every file where this is no checkout."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split("\0")
        files = [ROOT / name for name in names if name]
    except (OSError, subprocess.CalledProcessError):
        files = [path for path in ROOT.rglob("*") if not any(part.startswith(".") for part in path.parts)]
    return [path for path in files if path.is_file()]


def findings(pattern: re.Pattern[str], text: str) -> list[str]:
    """Lines in which the pattern occurs."""
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


def text_of(path: Path) -> str:
    """The file as text, whatever bytes it holds."""
    return path.read_text(encoding="utf-8", errors="replace")


def test_there_are_files_to_look_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in tracked()}
    assert {"README.md", "pyproject.toml", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", ".ci/run"} <= names


def test_no_lock_file() -> None:
    assert [path.name for path in tracked() if LOCKS.search(path.relative_to(ROOT).as_posix())] == []


@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINES], ids=["registries", "machines"])
def test_no_address_of_a_registry_and_no_path_of_a_machine(pattern: re.Pattern[str]) -> None:
    assert {path.name: found for path in tracked() if (found := findings(pattern, text_of(path)))} == {}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (LOCKS, "uv.lock"),
        (LOCKS, "web/package-lock.json"),
        (LOCKS, "Pipfile"),
        (REGISTRIES, "url = https://pypi" + ".org/simple"),
        (REGISTRIES, "--extra-index" + "-url=http://somewhere"),
        (MACHINES, "sys.path.append('/ho" + "me/me/project')"),
        (MACHINES, "data: /ro" + "ot/data"),
    ],
)
def test_the_patterns_see_what_they_should(pattern: re.Pattern[str], text: str) -> None:
    assert findings(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(LOCKS, "src/maxmargin/backends/_cache.py"), (MACHINES, "open('/proc/meminfo')"), (MACHINES, "a/home/b")],
)
def test_the_patterns_see_no_more(pattern: re.Pattern[str], text: str) -> None:
    assert not findings(pattern, text)


# -- what a visitor reads -------------------------------------------------------------------------------------------


def test_the_readme_is_short_and_begins_with_the_two_commands() -> None:
    lines = text_of(ROOT / "README.md").splitlines()
    assert len(lines) <= 150
    screen = "\n".join(lines[:30])
    assert "make demo" in screen
    assert "make test" in screen


def test_the_version_is_in_the_changelog() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", maxmargin.__version__)
    released = re.escape(maxmargin.__version__.partition(".dev")[0])
    changelog = text_of(ROOT / "CHANGELOG.md")
    assert re.search(rf"^## \[{released}\]", changelog, re.MULTILINE)
    assert re.search(r"^## \[Unreleased\]", changelog, re.MULTILINE)


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name
)
def test_links_between_pages_lead_somewhere(path: Path) -> None:
    targets = [target for target in LINK.findall(text_of(path)) if "://" not in target]
    assert [target for target in targets if not (path.parent / target).exists()] == []


# -- the wheel ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the build back end itself: nothing is fetched."""
    pytest.importorskip("hatchling", reason="the wheel is built by hatchling")
    folder = tmp_path_factory.mktemp("dist")
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(folder)!r}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return folder / run.stdout.split()[-1]


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"maxmargin-{maxmargin.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if ".dist-info/" not in name}
    source = ROOT / "src" / "maxmargin"
    page = [path for path in (source / "playground" / "static").rglob("*") if path.is_file()]
    assert len(page) > 5
    assert package == {
        f"maxmargin/{path.relative_to(source).as_posix()}" for path in [*source.rglob("*.py"), *page]
    } | {"maxmargin/py.typed"}
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_wheel_asks_for_four_packages_only(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    fields = Parser().parsestr(archive.read(name).decode())
    needed = [value for value in fields.get_all("Requires-Dist", []) if "extra ==" not in value]
    assert {re.split(r"[^\w-]", value)[0] for value in needed} == {"numpy", "scipy", "scikit-learn", "numba"}
    assert fields["Requires-Python"] == ">=3.11"
    assert fields["License-Expression"] == "BSD-3-Clause"
    everything = [value for value in fields.get_all("Requires-Dist", []) if "extra == 'all'" in value]
    assert everything
    assert not any("gpu" in value or "torch" in value for value in everything)


def test_the_installed_wheel_works(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(target),
        str(wheel),
    ]
    subprocess.run([*pip, "--disable-pip-version-check"], check=True, capture_output=True, timeout=120)
    code = (
        "import maxmargin, numpy as np; X = np.arange(6.0)[:, None]; y = [0, 0, 0, 1, 1, 1]; "
        "model = maxmargin.SVC(kernel='linear').fit(X, y); "
        "print(maxmargin.__file__, maxmargin.__version__, model.score(X, y), model.certificate_.holds)"
    )
    environment = {**os.environ, "PYTHONPATH": str(target), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    where, version, score, holds = run.stdout.split()[-4:]
    assert Path(where).is_relative_to(target)
    assert (version, score, holds) == (maxmargin.__version__, "1.0", "True")
