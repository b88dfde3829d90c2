"""What the proof of a default fit costs: ``python -m benchmarks.proofs --data DIR`` (``make proofs``).

Every kernel case of the arena, fitted without a certificate and with the default one, in turns, the best of a few; the
third column says how the proof was made. ``--before SRC`` names the ``src`` folder of an older checkout, whose fits
take part in the same turns, in a process of their own: so a change of the judge is measured in one run. Times are those
of the processor, all threads together, which other work on the computer disturbs least.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.arena.case import Missing, fix_gamma, open_source, read, save
from benchmarks.arena.competitors.maxmargin_ import make
from benchmarks.arena.sets import discover

#: Seconds of a fit from which on the mean of all ratios counts it: below, it is overhead that is compared.
LARGE = 0.05


def answer() -> None:
    """A worker: a line with a path, a task, its parameters and ``certify`` comes in, seconds and the method go out."""
    warnings.simplefilter("ignore")
    known: dict[str, Any] = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if known.get("path") != asked["path"]:
            known = {"path": asked["path"], "split": read(asked["path"])}
        split, model = known["split"], make(asked["task"], asked["params"], None).set_params(certify=asked["certify"])
        began = time.process_time()
        model.fit(split.X, split.y)
        seconds = time.process_time() - began
        certificate = getattr(model, "certificate_", None)
        method = certificate.method if certificate is not None else ""
        print(json.dumps([seconds, method]), flush=True)


class Worker:
    """A process that fits with the library in ``src``."""

    def __init__(self, src: Path):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(src), str(Path.cwd())])}
        command = [sys.executable, "-m", "benchmarks.proofs", "--work"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment, text=True, **pipes)

    def fit(self, asked: dict[str, Any]) -> tuple[float, str]:
        """(seconds, method of the certificate) of one fit."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        seconds, method = json.loads(self.process.stdout.readline())
        return seconds, method


def measured(workers: list[Worker], asked: dict[str, Any], repeat: int) -> tuple[list[float], str]:
    """([without, with] of every worker, the method of the last one's certificate): the best of some turns."""
    best = [math.inf] * (2 * len(workers))
    method = ""
    for turn in range(repeat + 1):
        for k, worker in enumerate(workers):
            for certify in (False, "auto"):
                seconds, said = worker.fit({**asked, "certify": certify})
                at = 2 * k + bool(certify)
                best[at] = min(best[at], seconds) if turn else best[at]  # the first turn loads compiled code
                method = said or method
    return best, method


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with a load.py for the sets that no package carries")
    parser.add_argument("--sets", nargs="*", help="cases; all kernel cases that are not large by default")
    parser.add_argument("--before", type=Path, help="src folder of an older version")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        answer()
        return
    own = Path(__file__).resolve().parent.parent / "src"
    workers = [Worker(given.before), Worker(own)] if given.before else [Worker(own)]
    heads = ["before, without", "with", "now, without", "with"] if given.before else ["without", "with"]
    print("| case | " + " | ".join(heads) + " | cost of the proof | slower than before | method |")
    print("|" + "---|" * (len(heads) + 4))
    source, ratios = open_source(given.data), []
    for name, (data, case) in discover().items():
        if "linear" in case.task or (case.large if given.sets is None else name not in given.sets):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "case.npz"
            try:
                split = data.load(source, case.rows)
            except Missing as why:
                print(f"| {name} | {why} |")
                continue
            save(path, split)
            params = fix_gamma(case.params, split.X)
            times, method = measured(workers, {"path": str(path), "task": case.task, "params": params}, given.repeat)
        slower = times[-1] / times[1] - 1.0
        if given.before and times[1] >= LARGE:
            ratios.append(1.0 + slower)
        cells = [f"{1e3 * seconds:.1f} ms" for seconds in times]
        change = f"{100 * slower:+.0f} %" if given.before else ""
        cost = f"{100 * (times[-1] / times[-2] - 1.0):.0f} %"
        print(f"| {name} | " + " | ".join([*cells, cost, change, method]) + " |", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nDefault fits of {1e3 * LARGE:.0f} ms and more: {100 * (mean - 1):+.1f} % in the geometric mean, "
              f"at most {100 * (max(ratios) - 1):+.0f} %, {len(ratios)} cases.")  # fmt: skip
    for worker in workers:
        worker.process.kill()


if __name__ == "__main__":
    main()
