"""A real browser: Chromium, found or installed, driven by Selenium."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

#: Set by CI: a browser that is not there is then a failure, not a reason to skip.
REQUIRED = "MAXMARGIN_BROWSER_REQUIRED"
#: A browser under test talks to nobody but the server under test.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
)


@lru_cache(maxsize=1)
def programs() -> tuple[str, str] | str:
    """(Chromium, its driver), or why there are none. Installs Debian's packages where that is allowed."""
    found = _found()
    if found is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "chromium", "chromium-driver"]):
            run = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            )
            if run.returncode:
                return f"{' '.join(command)} failed: {run.stderr.strip()[-300:]}"
        found = _found()
    return found or "no Chromium with its driver: install the packages chromium and chromium-driver"


def _found() -> tuple[str, str] | None:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser, driver = next(filter(None, map(shutil.which, names)), None), shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def browser(width: int = 1360, height: int = 900, phone: bool = False) -> Iterator[Any]:
    """A fresh browser window."""
    from selenium import webdriver

    found = programs()
    assert isinstance(found, tuple), found
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = found[0]
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if phone:
            metrics = {"width": width, "height": height, "pixelRatio": 2.0, "touch": True}
            options.add_experimental_option("mobileEmulation", {"deviceMetrics": metrics})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
        try:
            driver.set_page_load_timeout(60)
            driver.set_script_timeout(60)
            yield driver
        finally:
            driver.quit()


@contextmanager
def server(port: int = 0) -> Iterator[tuple[str, Any]]:
    """(address, process) of a server of its own."""
    command = [sys.executable, "-m", "maxmargin", "playground", "--port", str(port), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://\S+/", line)
            assert found, line
            yield found[0], process
        finally:
            process.terminate()
            process.wait(30)


def axe(folder: Path) -> str | None:
    """The text of axe-core, from the npm registry; None where it cannot be had."""
    if shutil.which("npm") is None:
        return None
    command = ["npm", "pack", "axe-core@4", "--silent"]
    try:
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    packages = sorted(folder.glob("axe-core-*.tgz"))
    if run.returncode or not packages:
        return None
    with tarfile.open(packages[-1]) as package:
        member = package.extractfile("package/axe.min.js")
        return None if member is None else member.read().decode()
