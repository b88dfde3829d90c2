"""Every fit ends: ``python -m benchmarks.campaign.ends --first 0 --count 20000`` (``make ends``).

Problems of at most 45 rows, of every machine and solver, with and without an intercept, well and badly scaled
(:mod:`.ends_cases`), are fitted one after the other in a process of their own. A fit may raise one of the documented
errors or warn that its goal was not reached; what it must not do is take longer than five seconds. One that takes
longer than ``--patience`` is killed, and the next fit gets a new process. Every outcome is a line of ``--out``; a
second run goes on where the first one ended, and every case is repeated by its seed.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from benchmarks.campaign.ends_cases import SCHEMES, Case, case

#: Seconds that a fit may take, and after which one that has not ended is killed.
LIMIT, PATIENCE = 5.0, 30.0
#: What a fit may raise: these name what was wrong and what to do.
DOCUMENTED = (ValueError,)
#: Seconds that a process may take to start and to load, or compile, the inner loops.
START = 300.0


INTERCEPTS = [{"fit_intercept": True}, {"fit_intercept": False}]


class Outcome(NamedTuple):
    """What became of one fit."""

    seed: int
    seconds: float
    cpu: float  # seconds of the processor: the computer may be busy with other things
    ended: str  # 'reached', 'warned', 'killed', or the name of an error
    steps: int
    what: str


def outcome(one: Case) -> Outcome:
    """Fit, and say how it went."""
    began, busy, ended, steps = time.perf_counter(), time.process_time(), "reached", 0
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = one.fit()
        ended = "warned" if any(issubclass(w.category, ConvergenceWarning) for w in heard) else ended
        steps = int(np.sum(getattr(model, "n_iter_", 0)))
    except DOCUMENTED as error:
        ended = type(error).__name__
    except Exception as error:
        ended = f"undocumented {type(error).__name__}"
    return Outcome(one.seed, time.perf_counter() - began, time.process_time() - busy, ended, steps, str(one))


# -- processes --------------------------------------------------------------------------------------------------------


def work(seeds: Iterable[int]) -> None:
    """The fits of a process: a line when one begins and a line when it has ended."""
    warm_up()
    for seed in seeds:
        one = case(seed)
        print(json.dumps({"begins": seed}), flush=True)
        print(json.dumps(outcome(one)._asdict()), flush=True)


def warm_up() -> None:
    """Compile, or load, the inner loops before anything is timed."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0) + (X[:, 1] > 0)
    kernels = (mm.SVC, mm.NuSVC, mm.SVR, mm.NuSVR, mm.OneClassSVM)
    online = (mm.PegasosSVC, mm.SGDSVC, mm.KernelPegasosSVC, mm.Perceptron, mm.KernelPerceptron)
    for make in (*kernels, mm.LinearSVC, mm.LinearSVR, *online):
        for options in INTERCEPTS if "fit_intercept" in make().get_params() else [{}]:
            outcome(Case(-1, make(**options), X, y, None))
    for multiclass in SCHEMES:
        outcome(Case(-1, mm.SVC(multiclass=multiclass), X, y, None))
        outcome(Case(-1, mm.LinearSVC(multiclass=multiclass, loss="hinge", solver="auto"), X, y, None))


def watched(seeds: list[int], patience: float, command: list[str]) -> Iterator[Outcome]:
    """Outcomes of ``seeds`` in worker processes; one that is silent for too long is killed and the fit named."""
    left = list(seeds)
    while left:
        # one thread per worker, as in a worker of joblib's
        process = subprocess.Popen([*command, *map(str, left[:500])], stdout=subprocess.PIPE, text=True)
        begun, line = None, None
        for line in _lines(process, patience):
            if line is None:
                process.kill()
                break
            said = json.loads(line)
            if "begins" in said:
                begun = said["begins"]
            else:
                left.remove(said["seed"])
                begun = None
                yield Outcome(**said)
        process.wait()
        if begun is not None:
            left.remove(begun)
            yield Outcome(begun, patience, patience, "killed" if line is None else "crashed", 0, str(case(begun)))
        elif process.returncode != 0:
            raise RuntimeError(
                f"a worker ended with {process.returncode} before its first fit; run it by hand to see why"
            )


def _lines(process: subprocess.Popen[str], patience: float) -> Iterator[str | None]:
    """What the process prints, line by line; None when nothing more came for so long, once it had begun."""
    said: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line)
        said.put(None)

    threading.Thread(target=read, daemon=True).start()
    wait = START
    while True:
        try:
            line = said.get(timeout=wait)
            wait = patience
        except queue.Empty:
            yield None
            return
        if line is None:
            return
        yield line


# -- the campaign -----------------------------------------------------------------------------------------------------


def figures(outcomes: list[Outcome]) -> list[str]:
    """What was tried and what came of it, as lines of text."""
    slow = sorted((o for o in outcomes if o.cpu > LIMIT or o.ended in ("killed", "crashed")), key=lambda o: -o.seconds)
    wrong = [o for o in outcomes if o.ended.startswith("undocumented")]
    counts = Counter(o.ended for o in outcomes)
    times = sorted(o.seconds for o in outcomes)
    lines = [
        f"{len(outcomes)} fits in {sum(times):.0f} s: " + ", ".join(f"{n} {name}" for name, n in counts.most_common()),
        f"median {times[len(times) // 2]:.4f} s, 99.9 % below {times[int(0.999 * (len(times) - 1))]:.3f} s, "
        f"slowest {times[-1]:.2f} s, most steps {max(o.steps for o in outcomes)}",
        f"{len(slow)} above {LIMIT:.0f} s, {len(wrong)} undocumented errors",
    ]
    return lines + [
        f"  {o.seconds:7.2f} s ({o.cpu:.2f} s of the processor) {o.ended}, {o.steps} steps: {o.what}"
        for o in slow + wrong
    ]


def failures(outcomes: list[Outcome]) -> list[Outcome]:
    """The fits that broke the rule."""
    bad = ("killed", "crashed")
    return [o for o in outcomes if o.cpu > LIMIT or o.ended in bad or o.ended.startswith("undocumented")]


def known(path: Path) -> list[Outcome]:
    """Outcomes of earlier runs; a last line that was cut off counts as not run."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(Outcome(**json.loads(line)))
        except (json.JSONDecodeError, TypeError):
            continue
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=20_000, help="how many seeds")
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds after which a fit is killed")
    parser.add_argument("--out", type=Path, default=Path("ends.jsonl"), help="one line per fit; a second run goes on")
    parser.add_argument("--work", type=int, nargs="*", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.work is not None:
        work(given.work)
        return 0
    seeds = range(given.first, given.first + given.count)
    outcomes = [o for o in known(given.out) if o.seed in seeds]
    done = {o.seed for o in outcomes}
    command = [sys.executable, "-m", "benchmarks.campaign.ends", "--work"]
    cut_off = given.out.exists() and not given.out.read_text(encoding="utf-8").endswith("\n")
    with given.out.open("a", encoding="utf-8") as out:
        out.write("\n" * cut_off)
        for one in watched([seed for seed in seeds if seed not in done], given.patience, command):
            outcomes.append(one)
            out.write(json.dumps(one._asdict()) + "\n")
            out.flush()
            if len(outcomes) % 1000 == 0:
                print(f"{len(outcomes)} of {len(seeds)}, {len(failures(outcomes))} failures", flush=True)
    print(*figures(outcomes), sep="\n")
    return 1 if failures(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
