"""``python -m maxmargin.accel script.py ...`` or ``-m module ...``: scikit-learn code with our machines.

Arguments after the script or module are its own, and its exit code is the process's.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys

from maxmargin.accel._patch import log, patch_sklearn

USAGE = "usage: python -m maxmargin.accel [--searches] [--quiet] (SCRIPT | -m MODULE) [ARGUMENT ...]"


def main(arguments: list[str]) -> None:
    """Patch, then run what the arguments name as ``__main__``."""
    options, target = [], list(arguments)
    while target and target[0].startswith("-") and target[0] != "-m":
        options.append(target.pop(0))
    if {"-h", "--help"} & set(options):
        print(USAGE, __doc__, sep="\n\n")
        return
    unknown = [option for option in options if option not in ("--searches", "--quiet")]
    if unknown or not target or target == ["-m"]:
        what = f"unknown option {unknown[0]}" if unknown else "name a script, or -m and a module"
        raise SystemExit(_refused(what))
    if "--quiet" not in options:
        _show_log()
    patch_sklearn(searches="--searches" in options)
    if target[0] == "-m":
        sys.argv = target[1:]  # the first becomes the module's file
        runpy.run_module(target[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = target
    if not sys.flags.safe_path:  # where Python itself would have put the script's folder
        sys.path[0] = os.path.dirname(os.path.realpath(target[0]))
    runpy.run_path(target[0], run_name="__main__")


def _refused(what: str) -> int:
    print(f"{what}\n{USAGE}", file=sys.stderr)
    return 2


def _show_log() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("maxmargin.accel: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


if __name__ == "__main__":
    main(sys.argv[1:])
