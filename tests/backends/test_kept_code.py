"""Compiled code on disk: what was not written as it stands there is never run."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from maxmargin.backends._numba import _jit, _kept_code
from maxmargin.backends._numba._kept_code import KeptCode
from tests.laws import examples

KEY, CODE = (("float64", "array"), ("x86", "cpu")), {"machine": b"code" * 50}


@pytest.fixture
def kept(tmp_path: Path) -> KeptCode:
    files = KeptCode(str(tmp_path), "f-12.py311")
    files.save(KEY, CODE)
    return files


def only(folder: Path) -> Path:
    (path,) = folder.glob("*.nbc")
    return path


def test_what_was_saved_is_loaded(kept: KeptCode, tmp_path: Path) -> None:
    assert KeptCode(str(tmp_path), "f-12.py311").load(KEY) == CODE
    assert kept.load((*KEY, "other")) is None
    assert [path.suffix for path in tmp_path.iterdir()] == [".nbc"]


@examples(200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_no_damage_goes_unnoticed(at: float, bit: int, cut: bool, tmp_path: Path, capsys) -> None:
    """Law: after any bit is flipped, or any part of the end cut off, the code is not run and a line says so."""
    files = KeptCode(str(tmp_path), "f")
    files.save(KEY, CODE)
    path = only(tmp_path)
    data = bytearray(path.read_bytes())
    place = int(at * len(data))
    data[place] ^= 1 << bit
    path.write_bytes(bytes(data[:place]) if cut else bytes(data))
    _kept_code._once.cache_clear()
    capsys.readouterr()
    assert files.load(KEY) is None
    assert "is damaged; it is compiled anew" in capsys.readouterr().err


def test_damage_is_said_once_per_process(kept: KeptCode, tmp_path: Path, capsys) -> None:
    only(tmp_path).write_bytes(b"")
    _kept_code._once.cache_clear()
    assert kept.load(KEY) is None
    assert kept.load(KEY) is None
    assert capsys.readouterr().err.count("\n") == 1


def test_code_of_other_sources_is_forgotten_without_a_word(kept: KeptCode, monkeypatch, capsys) -> None:
    monkeypatch.setattr(_kept_code, "sources", lambda: bytes(32))
    assert kept.load(KEY) is None
    assert capsys.readouterr().err == ""
    kept.save(KEY, CODE)
    assert kept.load(KEY) == CODE


def test_the_code_of_one_signature_is_never_another_s(kept: KeptCode, tmp_path: Path) -> None:
    """Numba's index could name the file of one signature for another, where two processes wrote it at the same time."""
    other = (("float32", "array"), ("x86", "cpu"))
    path = only(tmp_path)
    kept.save(other, {"machine": b"other"})
    (second,) = set(tmp_path.glob("*.nbc")) - {path}
    second.write_bytes(path.read_bytes())
    assert kept.load(other) is None
    assert kept.load(KEY) == CODE


def test_a_file_that_cannot_be_read_is_no_file(kept: KeptCode, tmp_path: Path) -> None:
    path = only(tmp_path)
    path.unlink()
    path.mkdir()
    assert kept.load(KEY) is None
    with pytest.raises(OSError):
        kept.save(KEY, CODE)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]  # no draft is left


def test_ctrl_c_waits_until_a_function_is_compiled() -> None:
    """Broken off inside, Numba's lock would stay taken, and every later fit would wait for it forever."""
    seen: list[str] = []

    class Dispatcher:
        def _compile_for_args(self, *args: object) -> int:
            signal.raise_signal(signal.SIGINT)
            seen.append("compiled whole")
            return 42

    dispatcher = _jit._uninterrupted(Dispatcher())
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        dispatcher._compile_for_args()
    assert seen == ["compiled whole"]
    assert signal.getsignal(signal.SIGINT) is before


def test_numba_compiles_through_that_door() -> None:
    function = _jit.jit(doubled)
    compiled = function._compile_for_args
    calls: list[object] = []
    function._compile_for_args = lambda *args, **keywords: (calls.append(args), compiled(*args, **keywords))[1]
    assert function(2.0) == 4.0
    assert function(3.0) == 6.0
    assert len(calls) == 1


def doubled(x):
    return 2 * x
