"""``python -m maxmargin.demo``: what it prints and what it draws."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from maxmargin import SVC, demo
from maxmargin.certificates import Certificate


def test_it_prints_the_figures_and_writes_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="the demo draws a picture")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "REPEATS", 1)
    demo.main()
    printed = capsys.readouterr().out
    accuracy = re.search(r"test accuracy +([\d.]+)%", printed)
    assert accuracy is not None
    assert float(accuracy[1]) > 98
    assert re.search(r"support vectors +\d+ of 1,198 rows", printed)
    assert "all 45 two-class problems are proven optimal to a relative gap of" in printed
    assert re.search(r"maxmargin [\d.]+ +[\d.]+ ms +\d\.\de-\d\d", printed)
    for tol in demo.PEER_TOLS:
        assert re.search(rf"scikit-learn, tol={tol:.0e} +[\d.]+ ms +\d\.\de-\d\d", printed)
    picture = (tmp_path / demo.PICTURE).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000


def test_both_sides_of_the_picture_show_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = pytest.importorskip("matplotlib.figure", reason="the demo draws a picture")
    fitted: list[SVC] = []
    monkeypatch.setattr(demo, "SVC", lambda **options: fitted.append(SVC(**options)) or fitted[-1])
    left, right = figure.Figure().subplots(1, 2)
    data = demo.load_digits()
    demo.draw_regions(left, data)
    demo.draw_history(right, data)
    plane, curve = fitted
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert f"support vectors ({len(plane.support_)})" in labels
    assert len(curve.history_) >= 5  # a curve, not a dot
    assert curve.certificate_.holds
    assert curve.certificate_.relative_gap <= demo.GAP_TOL
    assert right.get_yscale() == "log"


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SystemExit, match=r"pip install 'maxmargin\[plot\]'"):
        demo.draw(SimpleNamespace(), tmp_path / "picture.png")


def test_a_certificate_that_does_not_hold_is_not_called_a_proof() -> None:
    broken = Certificate(1.0, 0.5, 0.5, 0.5, 0.1, feasible=True, holds=False, reason="not known to be PSD")
    assert demo.sentence(broken, 1) == "no proof of optimality: not known to be PSD"
    assert demo.gap(broken) == "none (not known to be PSD)"
