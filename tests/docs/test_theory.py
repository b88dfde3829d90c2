"""docs/theory.md: every entry is whole, every name on it exists, and the sources say methods by name, not by number."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
#: Spans in backticks that are no names of the package's.
OTHERS = {
    "sign": "a variable, in the page's notation",
    "maxmargin playground": "a command; docs/playground.md is about it",
}
#: Ids such as an M with a number: they stand in no file of the repository that could explain them.
NUMBERED = re.compile(r"\bM\d{1,2}\b")
SECTIONS = re.compile(r'See ((?:"[^"]+"(?:, | and )?)+) in ``docs/theory\.md``')


def entries(page: str) -> dict[str, str]:
    """The text under every heading of the third level."""
    parts = re.split(r"^### (.+)$", page, flags=re.MULTILINE)
    texts = (re.split(r"^## ", text, flags=re.MULTILINE)[0] for text in parts[2::2])
    return dict(zip(parts[1::2], texts, strict=True))


def lacking(entry: str) -> list[str]:
    """What an entry should have and has not."""
    wanted = {
        "a formula": r"^    \S",
        "a sentence": r"^[^\s-].*\.$",
        "a reference with a year and a title": r"^- Reference: [^*]+ (?:19|20)\d\d,\s+\*",
        "a name": r"^- In maxmargin: .*`",
    }
    return [what for what, pattern in wanted.items() if not re.search(pattern, entry, re.MULTILINE)]


@cache
def public_classes() -> tuple[type, ...]:
    found = (getattr(maxmargin, name) for name in maxmargin._HOMES)
    return tuple(thing for thing in found if inspect.isclass(thing))


def exists(name: str) -> bool:
    """Whether a span names something public, a parameter (``scale=True``), or an attribute of a public class."""
    if "=" in name:
        parameter = name.partition("=")[0]
        return any(parameter in inspect.signature(one).parameters for one in public_classes())
    first, *rest = name.removeprefix("maxmargin.").split(".")
    if not rest and any(hasattr(one, name) or f"{name} :" in (one.__doc__ or "") for one in public_classes()):
        return True
    try:
        thing = getattr(maxmargin, first, None) or importlib.import_module(f"maxmargin.{first}")
    except ModuleNotFoundError:
        return False
    for part in rest:
        if part.startswith("_") or not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True


def missing(page: str) -> set[str]:
    return {name for name in re.findall(r"`([^`\n]+)`", page) if name not in OTHERS and not exists(name)}


def numbered(root: Path) -> list[str]:
    """Lines that cite a method by number; pictures (svg, html) have such letters in their paths."""
    files = [path for folder in ("src", "docs", "tests", "benchmarks") for path in sorted((root / folder).rglob("*"))]
    files = [path for path in [*files, *sorted(root.glob("*.md"))] if path.suffix in (".py", ".js", ".css", ".md")]
    return [
        f"{path.relative_to(root)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if NUMBERED.search(line)
    ]


def unknown_sections(text: str, titles: set[str]) -> set[str]:
    """Sections of the theory page that a source refers to and the page does not have."""
    return {title for group in SECTIONS.findall(text) for title in re.findall(r'"([^"]+)"', group)} - titles


@pytest.mark.parametrize("title", entries(PAGE))
def test_every_entry_is_whole(title: str) -> None:
    assert lacking(entries(PAGE)[title]) == []


def test_every_name_on_the_page_exists() -> None:
    assert missing(PAGE) == set()
    assert all(f"`{name}`" in PAGE for name in OTHERS)


def test_every_machine_is_on_the_page() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    homes = ("estimators", "maps", "selection")
    assert {name for name, home in maxmargin._HOMES.items() if home in homes} <= named


def test_no_method_is_cited_by_number() -> None:
    assert numbered(ROOT) == []


def test_sources_refer_to_sections_that_exist() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.py")))
    assert unknown_sections(text, set(entries(PAGE))) == set()
    assert len(SECTIONS.findall(text)) == text.count("docs/theory.md") > 20


# -- the checkers can fail ------------------------------------------------------------------------------------------


def test_a_wrong_name_is_seen() -> None:
    page = "`SVC` `SVX` `inspection.margins` `inspection.margin` `scale=True` `scales=True` `predict_set` `dual_coef_`"
    assert missing(page) == {"SVX", "inspection.margin", "scales=True"}


def test_a_missing_part_is_seen() -> None:
    whole = "\n    min x\n\nThe least x.\n\n- Reference: Somebody 1999, *A title*\n- In maxmargin: `SVC`\n"
    assert lacking(whole) == []
    assert lacking(whole.replace("    min x", "")) == ["a formula"]
    assert lacking(whole.replace("1999", "once")) == ["a reference with a year and a title"]
    assert lacking(whole.replace("`SVC`", "something")) == ["a name"]


def test_a_number_is_seen(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("# the soft margin\n# the soft margin (M" + "6)\n# EM64, M100\n")
    assert numbered(tmp_path) == ["src/a.py:2"]


def test_a_wrong_section_is_seen() -> None:
    text = 'See "Losses", "Lasses" and "Zones" in ``docs/theory.md``.'
    assert unknown_sections(text, {"Losses", "Zones"}) == {"Lasses"}
