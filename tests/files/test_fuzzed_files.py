"""A short run of the fuzzer over every reader and loader, and the proof that it sees what it should."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from maxmargin import io
from tests.files import fuzzing


@pytest.mark.filterwarnings("ignore")
def test_every_reader_survives_a_thousand_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzzing.main(["--count", "25"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 56 + 1
    assert all("25 trials (seeds 0 to 24), 0 failures" in line for line in printed[:-1])


@pytest.mark.parametrize(
    ("error", "seen"), [(None, "read"), (ValueError("why"), "refused"), (ValueError(""), "without words"),
                        (IndexError("deep inside"), "IndexError: deep inside"), (MemoryError(), "MemoryError")]
)  # fmt: skip
def test_the_fuzzer_sees_what_is_wrong(error: Exception | None, seen: str, tmp_path: Path) -> None:
    def read(path: Path) -> None:
        if error is not None:
            raise error

    target = fuzzing.Target("any", [b"x"], read, (ValueError,))
    assert seen in fuzzing.attempt(target, b"x", tmp_path / "input")


@pytest.mark.parametrize(
    ("limit", "waiting", "ended"), [(0, "pass", signal.SIGPROF), (1, "time.sleep(60)", signal.SIGALRM)]
)
def test_an_input_that_does_not_end_ends_the_run_with_its_line(limit: int, waiting: str, ended: signal.Signals) -> None:
    program = (
        "import time\nfrom tests.files.fuzzing import watched\n"
        f"watched.LIMITS = [(*one[:2], 0.1) for one in watched.LIMITS[{limit}:][:1]]\n"
        f"with watched():\n    while True:\n        {waiting}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == -ended
    assert 'File "<string>", line' in done.stderr


def test_mutations_reach_behind_the_checksums(tmp_path: Path) -> None:
    """Of the mutated model files many have right checksums, or only the container would be tested."""
    rng, reasons = random.Random(0), []
    (corpus,) = [target.corpus for target in fuzzing.targets() if target.name == "model file"]
    for _ in range(200):
        (tmp_path / "m.mm").write_bytes(fuzzing.mutated_model(rng, rng.choice(corpus)))
        try:
            io.load(tmp_path / "m.mm")
            reasons.append("loaded")
        except ValueError as error:
            reasons.append(str(error))
    assert sum("fit together" in reason for reason in reasons) > 20
    assert sum("has no attribute" in reason or "no sense" in reason for reason in reasons) > 2
    assert sum("damaged" in reason or "no model file" in reason for reason in reasons) > 10
    assert reasons.count("loaded") > 5
