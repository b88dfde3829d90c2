"""Damaged and hostile model files: always an error that names the file, never a crash, code or a large allocation."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from maxmargin import SGDSVC, SVC, LinearSVC, NystroemMap, io, kernels
from maxmargin.exceptions import ModelFileError
from maxmargin.io._archive import read_npy

X, y = (part[::3] for part in load_iris(return_X_y=True))


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, parts: dict[str, bytes], compress: int = zipfile.ZIP_STORED) -> Path:
    """A file of these parts, with a manifest that is right about them."""
    manifest = json.loads(parts["manifest.json"])
    others = {name: data for name, data in parts.items() if name != "manifest.json"}
    manifest["parts"] = {n: {"bytes": len(d), "sha256": hashlib.sha256(d).hexdigest()} for n, d in others.items()}
    with zipfile.ZipFile(path, "w", compress) as archive:
        for name, data in (*others.items(), ("manifest.json", json.dumps(manifest).encode())):
            archive.writestr(name, data)
    return path


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good") / "good.mm"
    io.save(SVC(calibration="sigmoid").fit(X, y), path, record={"rows": np.arange(3)})
    return path


def edited(good: Path, target: Path, edit: Callable[[Any], Any]) -> Path:
    """A copy of a file whose model.json was changed, all checksums being right."""
    parts = parts_of(good)
    tree = json.loads(parts["model.json"])
    changed = edit(tree)
    parts["model.json"] = json.dumps(tree if changed is None else changed).encode()
    return write(target, parts)


def with_array(good: Path, target: Path, attribute: str, change: Callable[[Any], Any]) -> Path:
    """A copy of a file in which one array attribute is another one."""
    parts = parts_of(good)
    part = json.loads(parts["model.json"])["state"][attribute]["part"]
    parts[part] = npy(change(read_npy(parts[part])))
    return write(target, parts)


def npy(array: Any) -> bytes:
    from io import BytesIO

    file = BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


def refused(path: Path, match: str = "") -> None:
    with pytest.raises(ModelFileError, match=match or ".") as caught:
        io.load(path)
    assert str(path) in str(caught.value)
    assert caught.value.path == str(path)
    bare = caught.value.with_traceback(None)  # where Dask was imported, exceptions are pickled with all their frames
    bare.__cause__ = bare.__context__ = None
    assert str(pickle.loads(pickle.dumps(bare))) == str(caught.value)


# -- damage -----------------------------------------------------------------------------------------------------------


def test_every_truncation_is_seen(good: Path, tmp_path: Path) -> None:
    data = good.read_bytes()
    for size in sorted({*range(0, len(data), 97), len(data) - 1}):
        (tmp_path / "cut.mm").write_bytes(data[:size])
        refused(tmp_path / "cut.mm")


def test_every_flipped_bit_is_seen_or_does_no_harm(good: Path, tmp_path: Path) -> None:
    data, model = good.read_bytes(), io.load(good)
    for position in range(0, len(data), 53):
        (tmp_path / "bad.mm").write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        try:
            found = io.load(tmp_path / "bad.mm")
        except ModelFileError:
            continue
        np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))  # a date in a header


def test_other_files_are_no_model_files(tmp_path: Path) -> None:
    for content in (b"", b"no zip at all", pickle.dumps(SVC()), b"PK\x05\x06" + bytes(18)):
        (tmp_path / "other.mm").write_bytes(content)
        refused(tmp_path / "other.mm")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        io.load(tmp_path / "nothing.mm")
    with pytest.raises(IsADirectoryError):
        io.load(tmp_path)


# -- containers -------------------------------------------------------------------------------------------------------


def test_a_newer_format_is_refused_with_a_sentence(good: Path, tmp_path: Path) -> None:
    parts = parts_of(good)
    manifest = json.loads(parts["manifest.json"])
    parts["manifest.json"] = json.dumps({**manifest, "version": 2}).encode()
    refused(write(tmp_path / "new.mm", parts), "format 2, and this maxmargin reads formats up to 1; update")
    for version in (0, -1, "1", None, True, 1.0):
        parts["manifest.json"] = json.dumps({**manifest, "version": version}).encode()
        refused(write(tmp_path / "odd.mm", parts), "no format number")


def test_a_wrong_checksum_is_refused(good: Path, tmp_path: Path) -> None:
    parts = parts_of(good)
    manifest = json.loads(parts["manifest.json"])
    manifest["parts"]["model.json"]["sha256"] = "0" * 64
    with zipfile.ZipFile(tmp_path / "m.mm", "w") as archive:
        for name, data in {**parts, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
    refused(tmp_path / "m.mm", "checksum")


@pytest.mark.parametrize(
    "name", ["../evil.json", "/etc/passwd", "arrays/../../x.npy", "code.py", "arrays/x.npy", "C:\\x"]
)
def test_a_part_with_another_name_is_refused(good: Path, tmp_path: Path, name: str) -> None:
    refused(write(tmp_path / "m.mm", {**parts_of(good), name: b"1"}), "no part called")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_part_that_is_there_twice_is_refused(good: Path, tmp_path: Path) -> None:
    (tmp_path / "m.mm").write_bytes(good.read_bytes())
    with zipfile.ZipFile(tmp_path / "m.mm", "a") as archive:
        archive.writestr("model.json", b"{}")
    refused(tmp_path / "m.mm", "twice")


def test_bombs_are_refused_before_they_are_unpacked(good: Path, tmp_path: Path) -> None:
    bomb = write(tmp_path / "bomb.mm", {**parts_of(good), "arrays/99.npy": bytes(10**8)}, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    refused(bomb, "compressed")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_parts_that_claim_more_than_the_file_has_are_refused(good: Path, tmp_path: Path) -> None:
    data = bytearray(good.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)  # both sizes of the last part
    (tmp_path / "m.mm").write_bytes(bytes(data))
    refused(tmp_path / "m.mm")


def test_a_file_over_the_limit_is_refused(good: Path) -> None:
    with pytest.raises(ModelFileError, match="max_bytes=1000"):
        io.load(good, max_bytes=1000)
    with pytest.raises(ModelFileError, match="max_bytes=1000"):
        io.load_record(good, max_bytes=1000)


def test_missing_and_superfluous_parts_are_refused(good: Path, tmp_path: Path) -> None:
    parts = parts_of(good)
    refused(write(tmp_path / "m.mm", {k: v for k, v in parts.items() if k != "arrays/0.npy"}), "no part")
    refused(write(tmp_path / "m.mm", {k: v for k, v in parts.items() if k != "model.json"}), "model.json")
    (tmp_path / "n.mm").write_bytes(good.read_bytes())
    with zipfile.ZipFile(tmp_path / "n.mm", "a") as archive:
        archive.writestr("arrays/77.npy", b"x")
    refused(tmp_path / "n.mm", "other parts than there are")


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"kind": "object", "class": "os.system", "state": {}}, "no class 'os.system'"),
        ({"kind": "object", "class": "maxmargin.kernels.Function", "state": {}}, "no class"),
        ({"kind": "object", "class": ["maxmargin.SVC"], "state": {}}, "makes no sense"),
        ({"kind": "function", "name": "builtins.eval"}, "no function"),
        ({"kind": "type", "value": "subprocess.Popen"}, "makes no sense"),
        ({"kind": "dtype", "value": "O8, O8"}, "no such data type"),
        ({"kind": "pickle", "value": "gASV"}, "no kind of value"),
        ({"kind": ["tuple"]}, "no kind of value"),
        ({"value": 1}, "no kind of value"),
        ({"kind": "array", "part": "manifest.json"}, "no part with an array"),
        ({"kind": "array", "part": "arrays/999.npy"}, "no part"),
        ({"kind": "tuple"}, "needs a list"),
        ({"kind": "dict", "keys": ["a", "a"], "values": [1, 2]}, "twice"),
        ({"kind": "dict", "keys": [[1]], "values": [1]}, "key of a dict"),
        ({"kind": "dict", "keys": ["a"], "values": []}, "makes no sense"),
        ({"kind": "objects", "shape": [10**12], "items": []}, "do not fill"),
        ({"kind": "objects", "shape": [-1], "items": []}, "do not fill"),
        ({"kind": "slice", "items": [1, "x", None]}, "whole numbers"),
        ({"kind": "scalar", "dtype": "<i8", "value": 1.5}, "cannot be"),
        ({"kind": "scalar", "dtype": "<i1", "value": 10**9}, "makes no sense"),
        ({"kind": "scalar", "dtype": "O", "value": 1}, "needs a number"),
        ({"kind": "float", "value": "one"}, "makes no sense"),
        ({"kind": "RandomState", "state": 1}, "makes no sense"),
        (10**40, "64 bits"),
        ("no such kernel", "do not fit together"),
        (17, "do not fit together"),
    ],
)
def test_values_that_no_file_should_hold(good: Path, tmp_path: Path, value: Any, complaint: str) -> None:
    def edit(tree: Any) -> None:
        tree["state"]["kernel"] = value

    refused(edited(good, tmp_path / "m.mm", edit), complaint)


@pytest.mark.parametrize("name", ["predict", "__class__", "note", "coefs_", "_predict", "__dict__"])
def test_attributes_that_the_class_does_not_have(good: Path, tmp_path: Path, name: str) -> None:
    refused(edited(good, tmp_path / "m.mm", lambda tree: tree["state"].update({name: 1})), "has no attribute")


ENDLESS = [b"[" * 100_000, b'{"kind":"tuple","items":[' * 5000, b"[" + b"[]," * 5_000_000 + b"[]]"]


@pytest.mark.parametrize("text", [*ENDLESS, b"\xff\xfe", b"NaN", b'{"a":1,"a":2}'], ids=lambda text: str(text[:20]))
def test_json_that_is_none_or_endless(good: Path, tmp_path: Path, text: bytes) -> None:
    refused(write(tmp_path / "m.mm", {**parts_of(good), "model.json": text}), "JSON|deeply")


def test_values_inside_values_without_end(good: Path, tmp_path: Path) -> None:
    value: Any = 1
    for _ in range(300):
        value = {"kind": "tuple", "items": [value]}
    refused(edited(good, tmp_path / "m.mm", lambda tree: tree["state"].update({"C": value})), "nested too deeply")


def test_a_model_that_is_none(good: Path, tmp_path: Path) -> None:
    refused(edited(good, tmp_path / "m.mm", lambda tree: [1, 2]), "no estimator")
    kernel = {"kind": "object", "class": "maxmargin.kernels.Linear", "state": {}}
    refused(edited(good, tmp_path / "m.mm", lambda tree: kernel), "no estimator")


# -- arrays -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (0,), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os'),), }",
        "__import__('os').system('true')",
        "{'descr': '<f8'}",
        "(" * 3000,
    ],
)
def test_headers_of_arrays(good: Path, tmp_path: Path, header: str) -> None:
    text = header.encode() + b"\n"
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(16)
    tracemalloc.start()
    refused(write(tmp_path / "m.mm", {**parts_of(good), "arrays/0.npy": data}), "arrays/0.npy")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


def test_an_array_of_objects_is_never_unpickled(good: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return (pytest.fail, ("a pickle was run",))

    array = np.empty(1, dtype=object)
    array[0] = Evil()
    refused(write(tmp_path / "m.mm", {**parts_of(good), "arrays/0.npy": npy(array)}), "does not describe an array")


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("dual_coef_", lambda a: a[:, :-1]),
        ("dual_coef_", lambda a: a[:1]),
        ("dual_coef_", lambda a: a.ravel()),
        ("dual_coef_", lambda a: a.astype(int)),
        ("dual_coef_", lambda a: a.astype(np.float16)),
        ("dual_coef_", lambda a: a.astype(str)),
        ("support_vectors_", lambda a: a[:-1]),
        ("support_vectors_", lambda a: a[:, :-1]),
        ("support_vectors_", lambda a: a[None]),
        ("support_", lambda a: a + 1000),
        ("support_", lambda a: a - 1000),
        ("support_", lambda a: a.astype(float)),
        ("intercept_", lambda a: a[:-1]),
        ("intercept_", lambda a: a[:, None]),
        ("classes_", lambda a: a[:-1]),
        ("classes_", lambda a: a[:1]),
        ("n_support_", lambda a: a + 1),
        ("n_support_", lambda a: np.array([-5, 5, a.sum()])),
        ("n_support_", lambda a: a[:2]),
        ("class_weight_", lambda a: a[:1]),
        ("probA_", lambda a: a[:1]),
    ],
)
def test_shapes_and_types_that_do_not_fit_together(good: Path, tmp_path: Path, attribute: str, change: Any) -> None:
    refused(with_array(good, tmp_path / "m.mm", attribute, change), "do not fit together")


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("n_features_in_", 10**9),
        ("n_features_in_", -1),
        ("n_features_in_", "4"),
        ("shape_fit_", 5),
        ("shape_fit_", {"kind": "tuple", "items": [5, 4]}),
        ("multiclass_", "ovx"),
        ("multiclass_", "ovr"),
        ("kernel_", "rbf"),
        ("kernel_", None),
        ("calibrators_", []),
        ("C", "one"),
        ("C", -1.0),
        ("folds_", 3),
    ],
)
def test_attributes_of_wrong_kinds(good: Path, tmp_path: Path, attribute: str, value: Any) -> None:
    refused(edited(good, tmp_path / "m.mm", lambda tree: tree["state"].update({attribute: value})), "fit together")


@pytest.mark.parametrize("attribute", ["support_vectors_", "dual_coef_", "intercept_", "kernel_", "C", "classes_"])
def test_attributes_that_are_missing(good: Path, tmp_path: Path, attribute: str) -> None:
    refused(edited(good, tmp_path / "m.mm", lambda tree: tree["state"].pop(attribute) and None), "fit together")


def tampered(model: Any, tmp_path: Path, edit: Callable[[Any], Any]) -> Path:
    io.save(model, tmp_path / "good.mm")
    return edited(tmp_path / "good.mm", tmp_path / "bad.mm", edit)


def test_sparse_matrices_that_point_outside_themselves(tmp_path: Path) -> None:
    import scipy.sparse as sp

    io.save(SVC().fit(sp.csr_array(X), y), tmp_path / "good.mm")
    parts = parts_of(tmp_path / "good.mm")
    vectors = json.loads(parts["model.json"])["state"]["support_vectors_"]
    changes = [("indices", lambda a: a + 7), ("indices", lambda a: a - 1), ("indptr", lambda a: a[::-1]),
               ("indptr", lambda a: a[:-1]), ("data", lambda a: a[:-1]), ("indptr", lambda a: a * 2)]  # fmt: skip
    for name, change in changes:
        part = vectors[name]
        changed = {**parts, part: npy(np.ascontiguousarray(change(read_npy(parts[part]))))}
        refused(write(tmp_path / "bad.mm", changed), "sparse matrix")


def test_kernels_that_are_none(tmp_path: Path) -> None:
    model = SVC(kernel=kernels.Polynomial(2) + kernels.Gaussian(1.0)).fit(X, y)
    refused(tampered(model, tmp_path, lambda t: t["state"]["kernel_"]["state"].update(left=3)), "fit together")
    refused(
        tampered(model, tmp_path, lambda t: t["state"]["kernel_"]["state"]["right"]["state"].update(gamma=-1.0)), "fit"
    )
    for degree in (10**9, "two", -1):
        edit = lambda t, d=degree: t["state"]["kernel_"]["state"]["left"]["state"].update(degree=d)  # noqa: E731
        refused(tampered(model, tmp_path, edit), "fit together")


def test_transformers_that_would_write_outside_their_columns(tmp_path: Path) -> None:
    texts = ["red house", "blue car"] * 4
    words = make_pipeline(CountVectorizer(), LinearSVC()).fit(texts, [0, 1] * 4)
    step = lambda tree: tree["state"]["steps"][0]["items"][1]["state"]  # noqa: E731
    refused(tampered(words, tmp_path, lambda t: step(t)["vocabulary_"].update(values=[0, 1, 2, 10**6])), "numbered")
    hot = make_pipeline(OneHotEncoder(), LinearSVC()).fit(X, y)
    refused(tampered(hot, tmp_path, lambda t: step(t).update(_n_features_outs=[1, 1, 1, 1])), "columns")
    scaled = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    refused(tampered(scaled, tmp_path, lambda t: step(t).update(n_features_in_=7)), "fit together")
    refused(tampered(scaled, tmp_path, lambda t: t["state"].update(memory="cache")), "pickles")
    mapped = make_pipeline(NystroemMap(n_components=5), SVC()).fit(X, y)
    refused(tampered(mapped, tmp_path, lambda t: step(t).update(n_features_in_=7)), "fit together")


def test_streams_that_do_not_fit_their_weights(tmp_path: Path) -> None:
    model = SGDSVC().partial_fit(X, y, classes=[0, 1, 2])
    refused(tampered(model, tmp_path, lambda t: t["state"].update(_stream=t["state"]["_stream"][:1])), "vectors")

    def shorten(tree: Any) -> None:
        vectors = tree["state"]["_stream"][0]["state"]
        vectors["v"], vectors["u"] = copy.copy(vectors["state"]), copy.copy(vectors["state"])

    refused(tampered(model, tmp_path, shorten), "fit together")


def test_records_are_as_safe_as_models(good: Path, tmp_path: Path) -> None:
    parts = parts_of(good)
    for text in (b"[1]", b'{"kind":"object","class":"x","state":{}}', b"{"):
        path = write(tmp_path / "m.mm", {**parts, "record.json": text})
        with pytest.raises(ModelFileError):
            io.load_record(path)
        io.load(path)  # the model is not concerned


def test_certificates_that_are_none(tmp_path: Path) -> None:
    model = SVC().fit(X, y)
    refused(tampered(model, tmp_path, lambda t: t["state"].update(certificate_="holds")), "no certificate")
    refused(tampered(model, tmp_path, lambda t: t["state"].update(certificates_=["holds"])), "something else")
