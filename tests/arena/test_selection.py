"""The benchmark of searches at everyday sizes: the same grid on both sides, written and made into a table."""

import json

from benchmarks import selection
from benchmarks.report.__main__ import make


def test_an_everyday_search_is_measured_beside_grid_search(tmp_path, monkeypatch):
    monkeypatch.setattr(selection, "TABLES", {"everyday": (("diabetes", 80),)})
    monkeypatch.setattr(selection, "CS", selection.CS[:2])
    monkeypatch.setattr(selection, "GAMMAS", selection.GAMMAS[:2])
    monkeypatch.setattr(selection, "WARM_ROWS", 40)
    file = tmp_path / "selection.json"
    selection.main(["--only", "maxmargin", "GridSearchCV", "--repeat", "1", "--json", str(file)])
    report = json.loads(file.read_text())
    ours, theirs = report["rows"]
    assert (ours["competitor"], theirs["competitor"]) == ("maxmargin", "GridSearchCV")
    assert ours["rows"] == theirs["rows"] == 80
    assert ours["cells"] == theirs["cells"] == 4
    assert abs(ours["score"] - theirs["score"]) < 0.01
    assert "| diabetes | 80 | 10 |" in make([], searches=report)["selection-everyday"]
