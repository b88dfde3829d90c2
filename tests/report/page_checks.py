"""What any page and any chart of the report must be, whatever is in it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

VOID = {"meta", "br", "hr", "img", "input", "link"}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
GEOMETRY = ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """Elements, and what is wrong with their nesting."""

    elements: list[Element] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.problems.append(f"<{tag}> has an attribute twice: {names}")
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            self.problems.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def with_id(self, name: str) -> Element:
        (found,) = [element for element in self.elements if element.attributes.get("id") == name]
        return found


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    page.problems += [f"<{element.tag}> is never closed" for element in page._open]
    return page


def page_problems(text: str) -> list[str]:
    """Everything that makes a page ill-formed, unsafe or dependent on something else."""
    page = parsed(text)
    found = list(page.problems)
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    found += [f"id {name!r} occurs twice" for name in {name for name in ids if ids.count(name) > 1}]
    for element in page.elements:
        for name, value in element.attributes.items():
            if name in ("src", "srcset", "action", "data", "style", "xlink:href") or name.startswith("on"):
                found.append(f"<{element.tag}> has {name}={value!r}")
            if name == "href" and value.removeprefix("#") not in ids:
                found.append(f"link to {value!r}")
            if name == "aria-labelledby":
                found += [f"{name} names {part!r}" for part in value.split() if part not in ids]
        if element.tag in ("link", "img", "iframe", "object", "embed", "base", "form"):
            found.append(f"there is a <{element.tag}>")
    found += [f"{len(page.all('script'))} scripts"] if len(page.all("script")) != 1 else []
    style = page.all("style")[0].text if page.all("style") else ""
    found += [f"the style has {word}" for word in ("url(", "@import", "http") if word in style]
    found += ["a control character"] if re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", text) else []
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        found += [f"a table without {part}" for part in ("<caption>", 'scope="col"') if part not in table]
    return found


def charts(text: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", text, re.DOTALL)


def chart_problems(svg: str) -> list[str]:
    """What is wrong with a chart: no name, coordinates that are no numbers or outside of the picture."""
    try:
        root = ET.fromstring(svg)
    except ET.ParseError as error:
        return [f"no XML: {error}"]
    found = [] if root.get("role") == "img" else ["no role"]
    found += [f"no {tag}" for tag in ("title", "desc") if not (root.findtext(tag) or "").strip()]
    _, _, width, height = map(float, root.get("viewBox", "0 0 0 0").split())
    for element in root.iter():
        values = [element.get(name, "0") for name in GEOMETRY]
        values += element.get("points", "").replace(",", " ").split()
        values += NUMBER.findall(element.get("d", "")) if "nan" not in element.get("d", "") else ["nan"]
        try:
            numbers = [float(value) for value in values]
        except ValueError as error:
            found.append(str(error))
            continue
        if not all(math.isfinite(number) for number in numbers):
            found.append(f"{element.tag}: {values}")
        if element is not root and not all(-1 <= number <= max(width, height) + 1 for number in numbers):
            found.append(f"{element.tag} outside: {values}")
    return found
