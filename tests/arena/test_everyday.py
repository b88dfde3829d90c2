"""The benchmark of everyday sizes: it measures, writes, reads again, and counts what is lost."""

import json

import pytest

from benchmarks import everyday
from benchmarks.report.__main__ import make


def line(**seconds):
    times = dict.fromkeys(("maxmargin", "maxmargin precomputed", *everyday.PEERS)) | seconds
    return everyday.Line("iris", "svc", 150, 4, 3, 1.0, "float64", times)


def test_a_run_is_written_and_read_again(tmp_path, capsys):
    file = tmp_path / "everyday.json"
    arguments = ["--sets", "iris", "--rows", "60", "--C", "1", "--dtypes", "float64", "--only", "scikit-learn"]
    everyday.main([*arguments, "--json", str(file)])
    first = capsys.readouterr().out
    everyday.main(["--read", str(file)])
    assert capsys.readouterr().out in first
    (own,) = everyday.lines_of(json.loads(file.read_text()))
    assert own.rows == 60
    assert own.classes >= 2
    assert own.seconds["maxmargin"] > 0
    assert own.ratio("scikit-learn") == own.seconds["scikit-learn"] / own.seconds["maxmargin"]
    assert own.ratio("sklearnex-f32") is None
    assert set(make([], small=json.loads(file.read_text()))) >= {"everyday", "everyday-means"}


def test_a_matrix_that_is_given_is_compared_with_ours_on_that_matrix():
    own = line(maxmargin=1.0, precomputed=6.0, **{"maxmargin precomputed": 2.0, "Gram + precomputed": 7.0})
    assert own.ratio("precomputed") == 3.0
    assert own.ratio("Gram + precomputed") == 7.0


@pytest.mark.parametrize(("theirs", "losses"), [(0.5, 1), (2.0, 0)])
def test_a_case_in_which_any_peer_is_faster_is_a_loss(theirs, losses):
    own = line(maxmargin=1.0, **{"scikit-learn": 3.0, "sklearnex-f32": theirs})
    assert f"Cases with a loss: {losses} of 1." in everyday.tables([own])["everyday"]
