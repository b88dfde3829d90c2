"""The page: sections in their order, one file, written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from maxmargin.report import _sections, _sections_importance, _sections_model, _sections_test
from maxmargin.report._findings import Findings
from maxmargin.report._style import POLICY, SCRIPT, STYLE
from maxmargin.report._text import escaped, foreign, moment

#: Anchor, words of the navigation, and who writes the section.
SECTIONS: tuple[tuple[str, str, Callable[[Findings], str]], ...] = (
    ("summary", "In short", _sections.summary),
    ("choices", "What was done", _sections.choices),
    ("data", "Data", _sections.data),
    ("tuning", "Tuning", _sections.tuning),
    ("test", "Test results", _sections_test.results),
    ("importance", "Importance", _sections_importance.importance),
    ("calibration", "Calibration", _sections_test.calibration),
    ("margins", "Margins", _sections_model.margins),
    ("certificate", "Certificate", _sections_model.certificate),
    ("support", "Support vectors", _sections_model.support),
    ("code", "Code", _sections.code),
    ("timings", "Times and versions", _sections.timings),
)


def render(findings: Findings) -> str:
    """The report of a run as one HTML page that needs nothing else: no network, no fonts, no scripts.

    Parameters
    ----------
    findings : Findings
        What the run found out.

    Returns
    -------
    str
        The page. All text that comes from the data is escaped.
    """
    links = "".join(f'<li><a href="#{name}">{words}</a></li>' for name, words, _ in SECTIONS)
    body = "".join(write(findings) for _, _, write in SECTIONS)
    made = f"Made by maxmargin {escaped(findings.version)}, {escaped(moment(findings.created))}".rstrip(", ") + "."
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="generator" content="maxmargin">\n'
        f"<title>{escaped(findings.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header><h1>{foreign(findings.title)}</h1><p class="lead">{made}</p></header>\n'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n<main>\n{body}\n</main>\n'
        f"<footer><p>{made} This page is one file and loads nothing.</p></footer>\n<script>{SCRIPT}</script>\n"
        "</body>\n</html>\n"
    )


def require_writable(path: str | os.PathLike[str]) -> Path:
    """The place of a report, or an error that says why nothing can be written there; nothing is changed.

    Call it before long work whose report must not be lost.

    Parameters
    ----------
    path : str or path
        Where the report is to be.

    Returns
    -------
    Path
        The file itself, links followed.

    Raises
    ------
    OSError
        If the folder is not there or not to be written to, or the path is a folder.

    Examples
    --------
    >>> from maxmargin.report import require_writable
    >>> require_writable("no such folder/report.html")
    Traceback (most recent call last):
        ...
    FileNotFoundError: cannot write the report to 'no such folder/report.html': there is no folder ...
    """
    wanted, target = os.fspath(path), Path(os.path.realpath(path))
    problem = f"cannot write the report to {wanted!r}"
    if target.is_dir():
        raise IsADirectoryError(f"{problem}: that is a folder; give the name of a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{problem}: there is no folder {str(target.parent)!r}; create it, or write elsewhere")
    if target.exists() and not target.is_file():
        raise OSError(f"{problem}: that is no ordinary file; give the name of one")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"{problem}: the folder {str(target.parent)!r} is not yours to write to; write elsewhere")
    return target


def write_report(findings: Findings, path: str | os.PathLike[str]) -> Path:
    """Write the report of a run: the whole page, or, after an error, what was there before.

    Parameters
    ----------
    findings : Findings
        What the run found out.
    path : str or path
        The file; one that is there is replaced.

    Returns
    -------
    Path
        The file that was written.

    Raises
    ------
    OSError
        If it cannot be written; the message says why and what to do.
    """
    target = require_writable(path)
    page = render(findings).encode("utf-8")
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except OSError as error:
        raise type(error)(f"cannot write the report to {os.fspath(path)!r}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)
    return target
