"""The command ``maxmargin``: from a file of data to a trained, tuned, certified model."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; ends the process with its exit code."""
    try:
        import rich  # noqa: F401  # looked for, not used, here
        import typer  # noqa: F401  # as above
    except ImportError as error:
        sys.exit(f"The command needs {error.name}, which is not installed: pip install maxmargin[cli]")
    try:
        from maxmargin.cli._app import run

        sys.exit(run())
    except KeyboardInterrupt:  # while modules were being imported
        sys.exit(130)
