"""Readers and loaders on inputs that went wrong: mutations of valid files, with and without right checksums.

``python -m tests.files.fuzzing`` (``make fuzz``) runs it at length, a million inputs in all, and can go on where it was
stopped. Every input must be read, or refused with an error that its reader documents, within ten seconds of processor
time and half a gigabyte; what was loaded must predict, be written as ONNX, or say why not. An input that does anything
else is kept, and named.
"""

from __future__ import annotations

import faulthandler
import hashlib
import json
import random
import signal
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.campaign._trials import Failure, Kind, run
from maxmargin import SGDSVC, SVC, SVCCV, SVR, KernelPegasosSVC, LinearSVC, OneClassSVM, io, kernels
from maxmargin.exceptions import ExportError, ModelFileError
from tests.cli import fuzz_tables

#: Seconds of processor time for one input, by the clock for one that waits, and bytes that the process may grow by.
PATIENCE, WAITING, GROWTH = 10.0, 600.0, 2**29
#: Inputs of a full run, over all readers.
INPUTS = 1_000_000
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
        Target("onnx", models[:3], _exported, (ModelFileError, ExportError), ".mm", mutated_model),
        *packed_targets("svmlight", svmlight, ".svm"),
        *packed_targets("csv", [text.encode() for text in csv], ".csv"),
        *table_targets(),
    ]


def packed_targets(name: str, corpus: list[bytes], ending: str) -> list[Target]:
    """Streams of chunks from compressed text, damaged before and after it was compressed."""
    read = lambda path: list(io.read_chunks(path, rows=7))  # noqa: E731
    return [
        Target(f"{name}{pack}", [press(data) for data in corpus], read, (ValueError, OSError), ending + pack,
               partial(mutated_packed, corpus, press))
        for pack, press in fuzz_tables.PACK.items() if pack
    ]  # fmt: skip


def mutated_packed(corpus: list[bytes], press: Callable[[bytes], bytes], rng: random.Random, data: bytes) -> bytes:
    """Compressed text with changes in the text, or in the compressed bytes, or bytes that a small file grows from."""
    way = rng.random()
    if way < 0.4:
        return press(mutated(rng, rng.choice(corpus)))
    if way < 0.41:
        size = 2 ** rng.randint(12, 20)  # right lines are fewer: they are read, seven at a time
        return press(rng.choice([b"0" * size, b"1 1:1\n" * (size // 64), b"\0" * size, b"," * size]))
    return mutated(rng, data)


def table_targets() -> list[Target]:
    """Whole tables of every format, as they are and compressed."""

    def mutate(good: bytes, press: Callable[[bytes], bytes], packed: bool, rng: random.Random, data: bytes) -> bytes:
        draw = np.random.default_rng(rng.getrandbits(64))
        data = press(fuzz_tables.damaged(good, draw))
        return fuzz_tables.damaged(data, draw) if packed and rng.random() < 0.3 else data

    return [
        Target(f"table{ending}{pack}", [press(good)], _tabled, (fuzz_tables.Refused,), ending + pack,
               partial(mutate, good, press, bool(pack)))
        for ending, good in sorted(fuzz_tables.seeds().items()) for pack, press in fuzz_tables.PACK.items()
    ]  # fmt: skip


def _tabled(path: Path) -> None:
    if not fuzz_tables.check(path):
        raise fuzz_tables.Refused("in words that name the file, which the check has seen")


def _exported(path: Path) -> None:
    """A model that loads and predicts is written as ONNX, which runs it in onnxruntime, or the reason is said."""
    model = io.load(path)
    try:
        model.predict(np.arange(6.0).reshape(2, 3))
    except Exception as error:
        raise ExportError(f"what does not predict is not exported ({error})") from error
    io.export_onnx(model, path.with_suffix(".onnx"))


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


def trial(target: Target, path: Path, seed: int) -> str:
    """One input of a reader, by its seed; one that does what it should not is kept in a file, and named."""
    rng = random.Random(f"{target.name} {seed}")
    data = (target.mutate or mutated)(rng, rng.choice(target.corpus))
    with watched():
        outcome = attempt(target, data, path)
    if outcome in ("read", "refused"):
        return outcome
    bad = Path(tempfile.gettempdir(), f"maxmargin-fuzz-{hashlib.sha256(data).hexdigest()[:12]}{target.ending}")
    bad.write_bytes(data)
    raise Failure(f"input kept as {bad}: {outcome[:300]}")


class watched:
    """No input may take longer than PATIENCE: the process then ends by a signal, with the line it was at.

    Processor time counts, so that other programs make no difference; what waits for something ends by the clock.
    """

    LIMITS = ((signal.SIGPROF, signal.ITIMER_PROF, PATIENCE), (signal.SIGALRM, signal.ITIMER_REAL, WAITING))

    def __enter__(self) -> None:
        for number, timer, seconds in self.LIMITS:
            faulthandler.register(number, file=sys.__stderr__, chain=True)  # the signal itself then ends the process
            signal.setitimer(timer, seconds)

    def __exit__(self, *exception: object) -> None:
        for number, timer, _ in self.LIMITS:
            signal.setitimer(timer, 0)
            faulthandler.unregister(number)


def largest_memory() -> int:
    """Bytes that the process ever had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main(words: list[str] | None = None) -> int:
    """Fuzz all readers, or those that are named; the exit code."""
    chosen = targets()  # compiled code and caches are no growth
    before = largest_memory()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        kinds = {}
        for target in chosen:
            path = Path(folder, f"input{target.ending}")
            for data in target.corpus:
                if attempt(target, data, path) != "read":
                    raise SystemExit(f"{target.name}: the valid input {data[:50]!r} is refused")
            kinds[target.name] = Kind(-(-INPUTS // len(chosen)), partial(trial, target, path))
        code = run("fuzz", kinds, __doc__, words)
    grown = largest_memory() - before
    print(f"fuzz: the process grew by {grown / 2**20:.0f} MiB at the most")
    return 1 if grown > GROWTH else code


if __name__ == "__main__":
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    sys.exit(main())
