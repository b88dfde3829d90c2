"""What README.md, CONTRIBUTING.md and docs/architecture.md name in backticks exists: files, code, targets, commands.

A name is looked for in an index of the sources, which are parsed, not imported. What is none of ours stands in
``OTHERS``, with what it is.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md")
#: Folders below which a page may name a path; inside the package, names of modules may stand alone.
BELOW = ("", "src/maxmargin", "tests")
#: Spans that name nothing of ours.
OTHERS: dict[str, str] = {
    "*": "an operator of kernels",
    "**": "an operator of kernels",
    "+": "an operator of kernels",
    "-OO": "an option of Python's",
    ".venv": "made by make",
    ".venv-3.12": "made by make smoke",
    "dist/maxmargin-*.whl": "made by make wheel",
    "C=inf": "a value: infinity",
    "git clone <this repository> && cd maxmargin && pip install .": "a shell line",
    "pip install": "a shell line",
    'pip install ".[cli,playground]"': "a shell line",
    "gaussian_process": "a module of scikit-learn's",
    "sklearn.svm": "a module of scikit-learn's",
    "libsvm-tools": "a package of Debian's",
    "liblinear-tools": "a package of Debian's",
    "workqueue": "a thread pool of Numba's",
}
#: Formulas of docs/architecture.md.
FORMULAS = {
    "K beta", "X'DX", "X'b", "Xw", "b = shift + rate sum(beta)", "beta = clip(centre + rate (linear - f))",
    "f = K beta", "f = Xw + b", "sum(b) = total", "sum|b| = budget", "v = X'beta", "≤ budget",
}  # fmt: skip
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"\.(py|md|toml|txt|html|js|css|json|svg)$")


@dataclass
class Index:
    """Names of the sources: what classes and modules have, what is bound anywhere, and the strings that occur."""

    root: Path
    classes: dict[str, list[tuple[set[str], list[str]]]] = field(default_factory=dict)  # (members, bases)
    modules: dict[str, set[str]] = field(default_factory=dict)  # by path without suffix, and by the last part of it
    top: set[str] = field(default_factory=set)  # at the top of some module
    bound: set[str] = field(default_factory=set)  # anywhere: parameters and variables too
    strings: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    commands: set[str] = field(default_factory=set)

    def members(self, name: str) -> set[str]:
        """What a class has, inherited or not."""
        found: set[str] = set()
        for members, bases in self.classes.get(name, []):
            found |= members.union(*(self.members(base) for base in bases if base != name))
        return found


@cache
def index_of(root: Path) -> Index:
    index, package = Index(root), root / "src" / "maxmargin"
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = path.relative_to(package).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        names = set(_bound(tree.body))
        index.top |= names
        for key in {"/".join(parts), parts[-1] if parts else "maxmargin"}:
            index.modules.setdefault(key, set()).update(names)
        for node in ast.walk(tree):
            _add(index, node)
    index.bound |= index.top | set(index.modules)
    makefile = (root / "Makefile").read_text(encoding="utf-8")
    index.targets.update(*(line.split() for line in re.findall(r"^([\w -]+):(?!=)", makefile, re.MULTILINE)))
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    index.bound |= set(extras)
    return index


def _add(index: Index, node: ast.AST) -> None:
    if isinstance(node, ast.ClassDef):
        own = {*_bound(node.body), *_assigned_to_self(node)}
        bases = [ast.unparse(base).split(".")[-1] for base in node.bases]
        index.classes.setdefault(node.name, []).append((own, bases))
        index.bound |= own
    elif isinstance(node, ast.FunctionDef):
        index.bound |= set(_assigned_to_draft(node))
        index.bound |= {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
        for decorator in node.decorator_list:
            if ast.unparse(decorator).startswith("app.command("):
                index.commands.add(ast.literal_eval(decorator.args[0]))  # type: ignore[attr-defined]  # it is a call
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        index.bound.add(node.id)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        index.strings.add(node.value)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Names that the statements of a module or class define, or import."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from _bound(node.body)


def _assigned_to_self(node: ast.ClassDef) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store) and ast.unparse(child.value) == "self":
            yield child.attr


def _assigned_to_draft(node: ast.FunctionDef) -> Iterator[str]:
    """Fitted attributes: a fit writes them to a draft of the estimator."""
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Attribute)
            and isinstance(child.ctx, ast.Store)
            and ast.unparse(child.value) == "draft"
        ):
            yield child.attr


def spans(page: str) -> set[str]:
    """What stands in backticks, and the paths in fenced pictures; examples in other languages are run elsewhere."""
    pictures = [text for language, text in FENCE.findall(page) if not language]
    paths = {
        word
        for text in pictures
        for words in re.findall(r"[\w./{},]+", text)
        for word in _expanded(words)
        if word.endswith("/") or FILE.search(word)
    }
    return set(SPAN.findall(FENCE.sub("", page))) | paths


def _expanded(word: str) -> list[str]:
    """``a/{b,c}/`` is two paths."""
    before, brace, rest = word.partition("{")
    inside, _, after = rest.partition("}")
    return [f"{before}{part}{after}" for part in inside.split(",")] if brace else [word]


def exists(span: str, index: Index) -> bool:
    """Whether a span names something that is there."""
    first, *words = span.split()
    if "make" in (first, *words[:1]):
        return words[0 if first == "make" else 1] in index.targets
    if first == "maxmargin" and words:
        return words[0] in index.commands
    if span.startswith("python -m "):
        return _module_exists(words[1], index)
    if "/" in span or FILE.search(span):
        return _path_exists(span, index)
    return _code_exists(span, index)


def _module_exists(name: str, index: Index) -> bool:
    """A module that ``python -m`` runs: a file, or a package with a ``__main__``."""
    path = name.replace(".", "/")
    files = (f"{below}/{path}{suffix}" for below in ("src", ".") for suffix in (".py", "/__main__.py"))
    return any((index.root / file).exists() for file in files)


def _path_exists(span: str, index: Index) -> bool:
    if any((index.root / below / f"{span}{suffix}").exists() for below in BELOW for suffix in ("", ".py")):
        return True
    if "/" not in span:  # a module by its file's name alone
        return any((index.root / "src" / "maxmargin").rglob(span))
    module, *names = span.split(".")
    if not names or names[0] not in index.modules.get(module, set()):
        return False
    return all(name in index.members(owner) for owner, name in pairwise(names))


def _code_exists(span: str, index: Index) -> bool:
    try:
        tree = ast.parse(span.lstrip("."))
    except SyntaxError:
        return False
    owners = {id(_owner(node)) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return all(_is_there(node, index) for node in ast.walk(tree) if id(node) not in owners)


def _owner(node: ast.Attribute) -> ast.expr:
    """What stands before the dot; an instance counts as its class."""
    return node.value.func if isinstance(node.value, ast.Call) else node.value


def _is_there(node: ast.AST, index: Index) -> bool:
    match node:
        case ast.Attribute(attr=name):
            owner = ast.unparse(_owner(node)).removeprefix("maxmargin.")
            return owner == "np" or name in {*index.members(owner), *index.modules.get(owner, ())}
        case ast.Name(id=name):
            return _is_name(name, index)
        case ast.keyword(arg=name):
            return name in index.bound
        case ast.Constant(value=str() as text):
            return text in index.strings
    return True


def _is_name(name: str, index: Index) -> bool:
    """Classes are at the top of a module; all else may be a parameter, a field or a variable."""
    if re.match(r"_?[A-Z]\w*[a-z]", name):
        return name in index.top
    return name in index.bound or name == "maxmargin"


def missing(page: str, index: Index) -> set[str]:
    """Spans that name nothing."""
    return {span for span in spans(page) if span not in OTHERS and span not in FORMULAS and not exists(span, index)}


@pytest.mark.parametrize("page", PAGES)
def test_everything_named_is_there(page: str) -> None:
    assert missing((ROOT / page).read_text(encoding="utf-8"), index_of(ROOT)) == set()


def test_the_exceptions_are_needed() -> None:
    named = set().union(*(spans((ROOT / page).read_text(encoding="utf-8")) for page in PAGES))
    listed = {*OTHERS, *FORMULAS}
    assert listed <= named
    assert {span for span in listed if exists(span, index_of(ROOT))} == set()


def test_every_make_target_is_on_the_way_in() -> None:
    named = spans((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert index_of(ROOT).targets - {span.split()[1] for span in named if span.startswith("make ")} == set()


@pytest.mark.parametrize(
    "span",
    [
        "smo_block",
        "Backend.matvec",
        "dispersed/",
        "backends/_triton",
        "backends/_nowhere.py",
        "SVX",
        "SVC.fits",
        "SVC().fits(X, y)",
        "solvers/_newton.face_stop",
        "backends/_cache.RowCash.slots",
        "backends/_cache.RowCache.slats",
        "_newton.face_stop",
        "maxmargin.inspections",
        "fit_intercepts=False",
        "calibration='sigmoids'",
        "'venn-abres'",
        "certifies(model, X, y)",
        ".polynomials()",
        "make tset",
        "PYTHON=python3.13 make tset",
        "maxmargin tran mine.csv",
        "python -m benchmarks.chairs",
        "python -m benchmarks",
        "tests/unittests",
        "f = K gamma",
    ],
)
def test_a_wrong_name_is_seen(span: str) -> None:
    assert missing(f"Words, `{span}`, and `SVC`.", index_of(ROOT)) == {span}


def test_a_wrong_folder_in_a_picture_is_seen() -> None:
    picture = "```\nsolvers   solvers/   dispersed/   losses.py   loses.py   backends/{_numba,_triton}/\n```\n"
    page = picture + "\n```python\n>>> nothing/\n```\n"
    assert missing(page, index_of(ROOT)) == {"dispersed/", "loses.py", "backends/_triton/"}


@pytest.mark.parametrize(
    "span",
    [
        "pair_block",
        "Backend.product",
        "backends/",
        "backends/_numba/smo",
        "_rows.py",
        "SVC.fit",
        "SVC().fit(X, y)",
        "solvers/_newton.face_step",
        "backends/_cache.RowCache.slots",
        "maxmargin.inspection",
        "fit_intercept=False",
        "C=np.inf",
        "'venn-abers'",
        "certify(model, X, y)",
        ".polynomial()",
        "make test",
        "maxmargin train mine.csv",
        "python -m benchmarks.tables --read",
        "python -m maxmargin",
        "tests/unit",
        "f = K beta",
        "gpu",
    ],
)
def test_a_right_name_is_not(span: str) -> None:
    assert missing(f"`{span}`", index_of(ROOT)) == set()
