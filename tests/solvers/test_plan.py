"""The model of cost: what it decides, that two processes decide alike, and that verbose says it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from maxmargin import SVC
from maxmargin.backends import KernelGram, _touch
from maxmargin.backends import backend_for as get_backend
from maxmargin.kernels import Gaussian
from maxmargin.solvers import plan


def of(n, d, C=1.0, tasks=1, touch=0.0, monkeypatch=None):
    """The plan for some tasks on all of n rows."""
    if monkeypatch is not None:
        monkeypatch.setattr("maxmargin.solvers._plan.first_touch", lambda: touch)
    gram = KernelGram(get_backend("cpu"), Gaussian(0.1), np.random.default_rng(0).normal(size=(n, d)), dtype=None)
    return plan(gram, np.full(tasks, n), np.full(n, C))


def test_small_matrices_are_stored_whatever_memory_costs(monkeypatch):
    assert of(1500, 2, touch=1e-3, monkeypatch=monkeypatch).stores


def test_dear_memory_narrow_rows_and_a_moderate_C_speak_against_a_matrix(monkeypatch):
    assert not of(4000, 2, touch=2e-10, monkeypatch=monkeypatch).stores
    assert of(4000, 2, touch=5e-11, monkeypatch=monkeypatch).stores
    assert of(4000, 2, C=1e3, touch=2e-10, monkeypatch=monkeypatch).stores
    assert of(4000, 500, touch=2e-10, monkeypatch=monkeypatch).stores
    assert of(4000, 2, tasks=20, touch=2e-10, monkeypatch=monkeypatch).stores


def test_what_memory_costs_is_measured_once(tmp_path, monkeypatch):
    turns = []
    monkeypatch.setattr(_touch, "_turn", lambda: turns.append(1) or 3e-10)
    first = _touch.kept(tmp_path / "file")
    assert first == 2.0**-31 >= 3e-10 > 2.0**-32
    assert len(turns) == _touch.TURNS
    monkeypatch.setattr(_touch, "_turn", lambda: turns.append(1) or 5e-9)
    assert _touch.kept(tmp_path / "file") == first
    assert len(turns) == _touch.TURNS
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("text", ["", "nan", "-1.0", "7", "two"])
def test_a_file_that_says_nothing_sensible_is_not_believed(text, tmp_path):
    (tmp_path / "file").write_text(text)
    assert _touch.kept(tmp_path / "file") == _touch.ASSUMED


def test_where_nothing_can_be_kept_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(_touch, "_turn", lambda: pytest.fail("measured"))
    monkeypatch.setattr("maxmargin.backends._numba._kept_code.kept_folder", lambda: None)
    assert _touch.first_touch.__wrapped__() == _touch.ASSUMED
    monkeypatch.setattr(_touch, "_turn", lambda: 1e-9)
    assert _touch.kept(tmp_path / "no folder" / "file") == _touch.ASSUMED


def test_a_real_measurement_is_a_plausible_power_of_two():
    value = _touch.measured()
    assert 1e-13 < value < 1e-6
    assert np.log2(value) == round(np.log2(value))


def test_the_plan_decides_whether_a_matrix_is_stored(monkeypatch):
    X, y = make_classification(2300, 5, random_state=0)
    asked = []
    stored = KernelGram.stored
    monkeypatch.setattr(KernelGram, "stored", lambda self, *rest: (asked.append(1), stored(self, *rest))[1])
    alone = SVC(gap_tol=None, tol=1e-4).fit(X, y)
    assert asked == [1]
    monkeypatch.setattr("maxmargin.solvers._plan.PER_TASK", -1.0)
    other = SVC(tol=1e-4).fit(X, y)
    assert asked == [1]
    assert other.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-3)


def test_verbose_says_what_was_decided(capsys, monkeypatch):
    X, y = make_classification(2300, 5, random_state=0)
    SVC(verbose=True).fit(X, y)
    assert "[SVC] the kernel matrix of 2,300 rows (20.2 MB) is stored: about" in capsys.readouterr().out
    monkeypatch.setattr("maxmargin.solvers._plan.PER_TASK", -1.0)
    SVC(verbose=True).fit(X, y)
    assert "[SVC] kernel rows are computed on demand: about" in capsys.readouterr().out
    SVC(verbose=True, cache_size=1).fit(X, y)
    assert "on demand: 20 MB, or tasks of 2,300 rows, are too much to store" in capsys.readouterr().out
