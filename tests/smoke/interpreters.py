"""``make smoke``: the smoke part of the suite on every declared Python that is found, and under -OO.

The declared ones are those of pyproject.toml's classifiers. They are looked for on the PATH, among pyenv's, and in
PYTHONS (names or paths); each gets an environment of its own beside .venv. The Python that runs this does the -OO part.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Seconds of a processor that the part may take on one interpreter, and those after which it must be hanging. The first
#: says the same on a machine that is busy with other things; what is compiled on the way is kept for the next run.
LIMIT, HANGS = 180, 1800.0
HERE = "{}.{}".format(*sys.version_info)


def declared() -> list[str]:
    """Versions that the package says it runs on, such as '3.11'."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]


def version_of(command: str) -> str | None:
    """'3.12' if the command runs and is that; None for what is no Python, such as a shim that leads nowhere."""
    ask = [command, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        run = subprocess.run(ask, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def of_pyenv(version: str) -> list[str]:
    """Interpreters of this version that pyenv has, the newest first."""
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return []
    root, names = (
        subprocess.run([pyenv, *words], capture_output=True, text=True, timeout=60).stdout.split()
        for words in (["root"], ["versions", "--bare"])
    )
    known = sorted((name for name in names if re.fullmatch(re.escape(version) + r"\.\d+", name)), key=_last_number)
    return [str(Path(folder) / "versions" / name / "bin" / "python") for folder in root for name in reversed(known)]


def _last_number(name: str) -> int:
    return int(name.rpartition(".")[2])


def interpreters(named: list[str]) -> dict[str, str | None]:
    """A command for each declared version but this one, None where there is none; those of PYTHONS go first."""
    asked = {name: version_of(name) for name in named}
    broken = [name for name, version in asked.items() if version is None]
    if broken:
        raise SystemExit(f"PYTHONS names {', '.join(broken)}, which does not run as a Python; give names or paths")
    chosen: dict[str, str | None] = {str(version): name for name, version in asked.items()}
    for version in declared():
        if version not in chosen and version != HERE:
            candidates = [f"python{version}", *of_pyenv(version)]
            chosen[version] = next((name for name in candidates if version_of(name) == version), None)
    return chosen


def environment(version: str, command: str) -> str:
    """The Python of an environment with the package and what the smoke part needs, made if it is not there."""
    folder = ROOT / f".venv-{version}"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / ".smoke"
    if not stamp.exists() or stamp.stat().st_mtime < (ROOT / "pyproject.toml").stat().st_mtime:
        subprocess.run([command, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--editable", f"{ROOT}[smoke]"], check=True)
        stamp.touch()
    return str(python)


def passes(what: str, command: list[str]) -> bool:
    """Run the smoke part and say in a line how it went."""
    print(f"{what}: the smoke part", flush=True)
    began = time.perf_counter()
    words = [*command, "-m", "pytest", "tests/smoke"]
    try:
        code = subprocess.run(
            words, cwd=ROOT, timeout=HANGS, preexec_fn=None if os.name == "nt" else bounded
        ).returncode
    except subprocess.TimeoutExpired:
        code = 1
    if code == -getattr(signal, "SIGXCPU", 0):
        print(f"{what}: more than {LIMIT} s of processor time; another run takes less, as what it compiled is kept")
    print(f"{what}: {'passed' if code == 0 else 'FAILED'} in {time.perf_counter() - began:.0f} s", flush=True)
    return code == 0


def bounded() -> None:
    """Let this process, which is about to become the tests, have no more than so many seconds of a processor."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT + 10))


def main() -> int:
    good = [passes(f"Python {HERE} -OO", [sys.executable, "-OO"])]
    for version, command in interpreters(os.environ.get("PYTHONS", "").split()).items():
        if command is None:
            print(f"Python {version}: none was found, so nothing was run on it; PYTHONS=/path/to/python names one")
        else:
            good.append(passes(f"Python {version}", [environment(version, command)]))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
