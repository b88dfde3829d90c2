"""A release, built and tried: ``python -m benchmarks.release`` (``make release``).

The version must be the same everywhere and dated in CHANGELOG.md; the source archive and the wheel are built, their
contents and (where ``twine`` is installed) their metadata are checked, and each is installed into a new environment of
its own in which a model is fitted, certified, saved and loaded. Nothing is uploaded. ``--offline`` installs without an
index, on top of the packages that are here.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: What a source archive may hold: no data, no models, no compiled code.
SUFFIXES = {".py", ".typed", ".md", ".toml", ".txt", ".js", ".css", ".html", ".svg", ".cff", ""}
TRIAL = """
import pathlib, maxmargin
from maxmargin import SVC, io
X, y = [[float(i)] for i in range(6)], [0, 0, 0, 1, 1, 1]
model = SVC(kernel="linear").fit(X, y)
io.save(model, "trial.mm")
assert model.certificate_.holds and (io.load("trial.mm").predict(X) == y).all()
print(maxmargin.__version__, pathlib.Path(maxmargin.__file__).parent)
"""


def version() -> str:
    """The version as the package says it."""
    found = re.search(r'__version__ = "(.+)"', (ROOT / "src/maxmargin/_version.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def disagreements(own: str, changelog: str, citation: str) -> list[str]:
    """Places that say another version, or no date."""
    found = []
    dated = re.search(rf"^## \[{re.escape(own)}\] - (\d{{4}}-\d\d-\d\d)$", changelog, re.MULTILINE)
    if dated is None:
        found.append(f"CHANGELOG.md has no section [{own}] with a date")
    if f"version: {own}\n" not in citation:
        found.append(f"CITATION.cff does not say version: {own}")
    if dated is not None and f"date-released: {dated[1]}\n" not in citation:
        found.append(f"CITATION.cff does not say date-released: {dated[1]}, as CHANGELOG.md does")
    return found


def strangers(names: list[str]) -> list[str]:
    """Files that do not belong into an archive."""
    return [name for name in names if not name.endswith("/") and Path(name).suffix not in SUFFIXES]


def built(folder: Path) -> tuple[Path, Path]:
    """(source archive, wheel), the wheel made from the unpacked source archive as an installer makes it."""
    run = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run([*run, "-t", "sdist"], cwd=ROOT, check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as unpacked, tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
        (source,) = Path(unpacked).iterdir()
        subprocess.run([*run, "-t", "wheel"], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def contents(archive: Path) -> list[str]:
    """Names of the files in it."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).namelist()
    with tarfile.open(archive) as tar:
        return [member.name for member in tar.getmembers() if member.isfile()]


def tried(archive: Path, offline: bool) -> str:
    """What the trial says in a new environment with the archive installed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True, system_site_packages=False)
        python = Path(folder, "Scripts" if os.name == "nt" else "bin", "python")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        options = ["--quiet", "--disable-pip-version-check"]
        if offline:  # the packages of this environment are lent to the new one
            options += ["--no-index", "--no-deps", "--no-build-isolation"]
            ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
            where = subprocess.check_output([python, "-c", ask], text=True)
            Path(where.strip(), "lent.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
        install: list[str | Path] = [python, "-m", "pip", "install", *options, "--ignore-installed", archive]
        subprocess.run(install, check=True, env=environment)
        done = subprocess.run([python, "-c", TRIAL], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{archive.name}: installed, but does not work:\n{done.stderr}")
        said, where = done.stdout.split(maxsplit=1)
        if said != version() or not Path(where.strip()).is_relative_to(Path(folder).resolve()):
            raise SystemExit(f"{archive.name}: another maxmargin answered: {done.stdout}")
        return said


def main() -> None:
    """Build, check, install, try; the first thing that is wrong ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="install without an index")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the two files go")
    options = parser.parse_args()
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")]
    wrong = disagreements(version(), *texts)
    if wrong:
        raise SystemExit("\n".join(wrong))
    options.out.mkdir(exist_ok=True, parents=True)
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        archives = built(Path(folder))
        for archive in archives:
            if odd := strangers(contents(archive)):
                raise SystemExit(f"{archive.name} holds what does not belong there: {', '.join(odd[:5])}")
        if importlib.util.find_spec("twine") is not None:
            subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *archives], check=True)
        else:
            print("twine is not installed: the metadata were not checked by it")
        for archive in archives:
            said = tried(archive, options.offline)
            print(f"{archive.name}: {len(contents(archive))} files, installed and tried: {said}")
        for archive in archives:
            os.replace(archive, options.out / archive.name)


if __name__ == "__main__":
    main()
