"""The command ``maxmargin``: from a file of data to a trained, tuned, certified model."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator

__all__ = ["main"]


def main() -> None:
    """Run the command; ends the process with its exit code."""
    try:
        with left_by_interrupts():
            require_packages()
            from maxmargin.cli._app import run
        sys.exit(run())
    except KeyboardInterrupt:  # before anything was begun
        sys.exit(130)
    except MemoryError:
        sys.exit("There is not enough memory to load the command. Close other programs, or raise its limit.")
    except ImportError as error:  # a library that is broken, or that the system has no room to map
        sys.exit(f"The command cannot be loaded: {error}")


@contextlib.contextmanager
def left_by_interrupts() -> Iterator[None]:
    """Ctrl-C in this block ends the process at once."""
    # an exception can get lost while modules are imported: Python prints those of callbacks, and goes on
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, lambda *pressed: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def require_packages() -> None:
    """End with a sentence if the extra is not installed."""
    try:
        import rich  # noqa: F401  # looked for, not used, here
        import typer  # noqa: F401  # as above
    except ImportError as error:
        sys.exit(f"The command needs {error.name}, which is not installed: pip install maxmargin[cli]")
