"""Readers and loaders on inputs that went wrong: mutations of valid files, with and without right checksums.

``python -m tests.files.fuzzing --inputs 100000`` (``make fuzz``) runs it at length. Every input must be read, or
refused with an error that its reader documents, within a few seconds and little memory; what was loaded must predict,
or say why not. An input that does anything else is kept, and named.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import random
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin import SGDSVC, SVC, SVCCV, SVR, KernelPegasosSVC, LinearSVC, OneClassSVM, io, kernels
from maxmargin.exceptions import ModelFileError

#: Seconds for one input, and bytes that the process may grow by over all of them.
PATIENCE, GROWTH = 20, 2 * 2**30
NUMBERS = [
    b"0",
    b"-1",
    b"1e308",
    b"1e-320",
    b"nan",
    b"inf",
    b"99999999999999999999",
    b"2147483648",
    b"0.5",
    b"1_0",
    b"",
]
VALUES = [None, True, -1, 0, 1, 10**9, 2**63, 1e308, "", "x", "rbf", [], [1], {}, {"kind": "tuple", "items": []},
          {"kind": "float", "value": "nan"}, {"kind": "array", "part": "arrays/0.npy"},
          {"kind": "object", "class": "maxmargin.SVC", "state": {}},
          {"kind": "object", "class": "maxmargin.kernels.Linear", "state": {}}]  # fmt: skip


@dataclass(frozen=True)
class Target:
    """A reader: valid inputs, how it is called, and what it may raise."""

    name: str
    corpus: list[bytes]
    read: Callable[[Path], Any]
    allowed: tuple[type[Exception], ...]
    ending: str = ""
    mutate: Callable[[random.Random, bytes], bytes] | None = None


# -- mutations --------------------------------------------------------------------------------------------------------


def flip(rng: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def cut(rng: random.Random, data: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:a] + data[b:] if rng.random() < 0.5 else data[:a]


def repeat(rng: random.Random, data: bytes) -> bytes:
    a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:b] + data[a : min(b, a + 200)] * rng.choice([1, 3]) + data[b:]


def strange(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice([rng.randbytes(4), b"\0", b"\n", b" ", b":", b",", b"#", b'"', *NUMBERS]) + data[at:]


def swap_words(rng: random.Random, data: bytes) -> bytes:
    words = data.split(b" ")
    for _ in range(rng.choice([1, 2])):
        at = rng.randrange(len(words))
        words[at] = rng.choice([*NUMBERS, rng.choice(words), words[at] + b":1"])
    return b" ".join(words)


PLAIN = [flip, cut, repeat, strange, swap_words]


def mutated(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        data = rng.choice(PLAIN)(rng, data)
    return data


def mutated_model(rng: random.Random, data: bytes) -> bytes:
    """A model file with bytes changed anywhere, or with changed parts and right checksums."""
    if rng.random() < 0.25:
        return mutated(rng, data)
    with zipfile.ZipFile(BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice([*["model.json"] * 3, *parts])
        if name.endswith(".json"):
            parts[name] = changed_json(rng, parts[name])
        elif rng.random() < 0.5:
            parts[name] = mutated(rng, parts[name][:128]) + parts[name][128:]
        else:
            parts[name] = parts[rng.choice([other for other in parts if other.endswith(".npy")])]
    return archived(rng, parts)


def changed_json(rng: random.Random, text: bytes) -> bytes:
    """JSON with one value exchanged, removed, moved or added."""
    try:
        tree = json.loads(text)
    except ValueError:
        return mutated(rng, text)
    places = list(containers(tree))
    if not places or rng.random() < 0.1:
        return mutated(rng, text)
    place = rng.choice(places)
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if not keys:
        return text
    key, action = rng.choice(keys), rng.randrange(4)
    if action == 0:
        del place[key]
    elif action == 1:
        place[key] = rng.choice(VALUES)
    elif action == 2:
        other = rng.choice(places)
        place[key] = rng.choice(list(other.values() if isinstance(other, dict) else other) or [None])
    elif isinstance(place, dict):
        place[rng.choice(["predict", "kind", "state", "C", "coef_", "__class__"])] = rng.choice(VALUES)
    try:
        return json.dumps(tree).encode()
    except ValueError:  # it contains itself now
        return text


def containers(tree: Any) -> Iterator[Any]:
    if isinstance(tree, dict | list):
        yield tree
        for value in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(value)


def archived(rng: random.Random, parts: dict[str, bytes]) -> bytes:
    """A file of these parts, whose manifest says what they are."""
    others = {name: data for name, data in parts.items() if name != "manifest.json"}
    try:
        manifest = json.loads(parts["manifest.json"])
        manifest["parts"] = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in others.items()}
        text = json.dumps(manifest).encode()
    except (ValueError, TypeError):
        text = parts["manifest.json"]
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.02 else zipfile.ZIP_STORED) as archive:
        for name, data in (*others.items(), ("manifest.json", text)):
            archive.writestr(name, data)
    return file.getvalue()


# -- readers ----------------------------------------------------------------------------------------------------------


def targets() -> list[Target]:
    """All readers, each with valid inputs of several kinds."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(24, 3)), 3)
    y = np.arange(24) % 3
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(name)
        models = [_saved(io.save, model, folder) for model in _models(X, y)]
        libsvm = [_saved(io.save_libsvm, model.fit(X, y), folder) for model in
                  (SVC(), SVC(kernel="poly"), SVR(), OneClassSVM(kernel="linear"))]  # fmt: skip
        libsvm.append(_saved(io.save_libsvm, SVC(calibration="sigmoid").fit(X, y // 2), folder))
        libsvm.append(_saved(io.save_libsvm, SVC(kernel="precomputed").fit(X @ X.T, y), folder))
        liblinear = [_saved(io.save_liblinear, model.fit(X, y), folder) for model in
                     (LinearSVC(), LinearSVC(multi_class="crammer_singer"), OneClassSVM(kernel="linear"))]  # fmt: skip
        io.save_svmlight(X, y, folder / "rows.svm")
        svmlight = [(folder / "rows.svm").read_bytes(), b"+1 1:0.5 3:2  # comment\n-1 2:1\n"]
    lines = [",".join(map(str, [*row, label])) for row, label in zip(X.tolist(), y, strict=True)]
    csv = ["a,b,c,label\n" + "\n".join(lines), "\n".join(lines), 'a,"b ""x""",label\n1,2,yes\n3,4,no\n']
    read_svmlight = lambda path: list(io.read_chunks(path, rows=7))  # noqa: E731
    read_csv = lambda path: list(io.read_chunks(path, rows=7))  # noqa: E731
    return [
        Target("model file", models, _loaded, (ModelFileError,), ".mm", mutated_model),
        Target("LIBSVM model", libsvm, lambda path: _asked(io.load_libsvm(path)), (ModelFileError,)),
        Target("LIBLINEAR model", liblinear, lambda path: _asked(io.load_liblinear(path)), (ModelFileError,)),
        Target("svmlight", svmlight, read_svmlight, (ValueError,), ".svm"),
        Target("csv", [text.encode() for text in csv], read_csv, (ValueError,), ".csv"),
    ]


def _models(X: Any, y: Any) -> list[Any]:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    return [
        SVC(calibration="sigmoid").fit(X, y),
        SVC(kernel=kernels.Gaussian(0.5) + kernels.Linear() ** 2).fit(X, y.astype(str)),
        LinearSVC().fit(X, y),
        SGDSVC(max_iter=2).partial_fit(X, y, classes=[0, 1, 2]),
        KernelPegasosSVC(max_iter=2).fit(X, y),
        make_pipeline(StandardScaler(), SVC()).fit(X, y),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearSVC()).fit(np.round(X), y),
        SVCCV(Cs=[1.0], gammas=[0.5], cv=2).fit(X, y),
    ]


def _saved(save: Any, model: Any, folder: Path) -> bytes:
    save(model, folder / "model")
    return (folder / "model").read_bytes()


def _loaded(path: Path) -> None:
    io.load_record(path)
    _asked(io.load(path))


def _asked(model: Any) -> None:
    """Have a loaded model predict: nonsense may be refused, by any error that Python raises, but must not crash."""
    width = getattr(model, "n_features_in_", 3)
    rows = np.arange(6.0).reshape(2, 3) if width != 24 else np.ones((2, 24))
    try:
        model.predict(rows if width in (3, 24) else np.ones((2, min(int(width), 50))))
    except Exception as error:  # an error is an answer; MemoryError is none
        if isinstance(error, MemoryError):
            raise


# -- the run ----------------------------------------------------------------------------------------------------------


def attempt(target: Target, data: bytes, path: Path) -> str:
    """'read', 'refused', or what went wrong."""
    path.write_bytes(data)
    try:
        target.read(path)
    except target.allowed as error:
        return "refused" if str(error).strip() else "an error without words"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "read"


def fuzz(inputs: int, seed: int = 0, only: str = "", report: Callable[[str], None] = lambda line: None) -> list[str]:
    """Complaints about so many inputs, spread evenly over the readers; an input that fails is kept in a file."""
    rng, complaints, chosen = random.Random(seed), [], [t for t in targets() if only in t.name]
    kept = Path(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for target in chosen:
            began, counts, path = time.perf_counter(), {"read": 0, "refused": 0}, Path(folder, f"input{target.ending}")
            refused = [data for data in target.corpus if attempt(target, data, path) != "read"]
            complaints += [f"{target.name}: the valid input {data[:50]!r} is refused" for data in refused]
            for number in range(inputs // len(chosen)):
                data = (target.mutate or mutated)(rng, rng.choice(target.corpus))
                with watched():
                    outcome = attempt(target, data, path)
                if outcome in counts:
                    counts[outcome] += 1
                    continue
                bad = kept / f"maxmargin-fuzz-{hashlib.sha256(data).hexdigest()[:12]}{target.ending}"
                bad.write_bytes(data)
                complaints.append(f"{target.name}, input {number} (kept as {bad}): {outcome[:300]}")
            report(f"{target.name:16} {counts} in {time.perf_counter() - began:.1f} s")
    return complaints


class watched:
    """No input may take longer than PATIENCE: the interpreter then ends, with the line it was at."""

    def __enter__(self) -> None:
        faulthandler.dump_traceback_later(PATIENCE, exit=True)

    def __exit__(self, *exception: object) -> None:
        faulthandler.cancel_dump_traceback_later()


def largest_memory() -> int:
    """Bytes that the process ever had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000, help="how many, over all readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="readers whose name contains this")
    given = parser.parse_args()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    targets()  # compiled code and caches are no growth
    before, began = largest_memory(), time.perf_counter()
    complaints = fuzz(given.inputs, given.seed, given.only, lambda line: print(line, flush=True))
    grown = largest_memory() - before
    if grown > GROWTH:
        complaints.append(f"the process grew by {grown} bytes")
    print(f"{given.inputs} inputs in {time.perf_counter() - began:.0f} s, {len(complaints)} complaints, "
          f"{grown / 2**20:.0f} MiB more at the most")  # fmt: skip
    print(*complaints[:50], sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
