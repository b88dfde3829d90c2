"""The command line of the campaign: a range of seeds, in a process of its own, resumable, with figures at the end.

The work is done in a child process, so that a fit that does not end, or ends everything, costs one problem: the parent
kills the child, notes the seed as lost and goes on behind it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing as mp
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: Problems per line of the state file, and seconds that one may take before it counts as lost (of many rows, more).
BLOCK, PATIENCE, LONG_PATIENCE = 100, 300.0, 1800.0


def commands() -> dict[str, tuple[Callable[[int, str | None], dict[str, Any]], int, str]]:
    """name -> (what to do with a seed, problems by default, what it is); imported late, as it loads the library."""
    from tests.campaign.definite import examine_definiteness
    from tests.campaign.many_rows import examine_many_rows
    from tests.campaign.silent import examine_silence
    from tests.campaign.truth import examine, examine_exactly

    return {
        "truth": (examine, 100_000, "all machines and kernels, judged in long doubles and 60 digits"),
        "truth-exact": (examine_exactly, 2_000, "at most 20 rows, judged in fractions and 60 digits"),
        "truth-psd": (examine_definiteness, 5_000, "kernels that are not quite positive semi-definite"),
        "truth-bounded": (examine_many_rows, 300, "3,000 to 30,000 rows, with planted large ones"),
        "truth-silent": (examine_silence, 50_000, "goals missed without a warning"),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 if nothing was false, lost or unexpected."""
    table = commands()
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("command", choices=sorted(table))
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, help="how many seeds")
    parser.add_argument("--only", help="machines whose name begins so (changes what a seed means)")
    parser.add_argument("--state", type=Path, help="JSON lines to write, and to resume from")
    parser.add_argument("--show", type=int, default=10, help="faults to print, the largest of every kind first")
    asked = parser.parse_args(arguments)
    examine, count, _ = table[asked.command]
    count = count if asked.count is None else asked.count
    key = {"command": asked.command, "only": asked.only, "code": fingerprint()}
    blocks, began = [], time.perf_counter()
    patience = LONG_PATIENCE if asked.command == "truth-bounded" else PATIENCE
    for block in run(examine, key, asked.seed, count, asked.state, patience):
        blocks.append(block)
        done = sum(b["problems"] for b in blocks)
        if sys.stderr.isatty() or done % (10 * BLOCK) == 0:
            print(f"{done} of {count}, {sum(len(b['faults']) for b in blocks)} faults", file=sys.stderr, flush=True)
    total = summed(blocks)
    print(report(asked.command, total, time.perf_counter() - began, asked.show))
    return int(bool(total["faults"] or total["lost"] or total["unexpected"]))


def fingerprint() -> str:
    """The same for the same sources: what a campaign has found of other code is not resumed."""
    import maxmargin

    known = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(maxmargin.__file__).parent.rglob("*.py")):
        known.update(path.read_bytes())
    return known.hexdigest()


def run(
    examine: Callable[..., dict[str, Any]],
    key: dict[str, Any],
    first: int,
    count: int,
    state: Path | None,
    patience: float = PATIENCE,
) -> Iterator[dict[str, Any]]:
    """Blocks of results, from the state file where they are there; complete ones are appended to it."""
    known = {}
    if state is not None and state.exists():
        for line in state.read_text(encoding="utf-8").splitlines():
            block = json.loads(line)
            if {name: block.get(name) for name in key} == key:
                known[block["first"], block["problems"]] = block
    worker: _Worker | None = None
    for start in range(first, first + count, BLOCK):
        size = min(BLOCK, first + count - start)
        if (start, size) in known:
            yield known[start, size]
            continue
        worker = worker or _Worker(examine, key["only"], patience)
        block = {**key, "first": start, **summed([worker.result(seed) for seed in range(start, start + size)])}
        if state is not None:
            with state.open("a", encoding="utf-8") as file:
                file.write(json.dumps(block) + "\n")
        yield block
    if worker is not None:
        worker.end()


class _Worker:
    """A child process that examines one seed at a time."""

    def __init__(self, examine: Callable[..., dict[str, Any]], only: str | None, patience: float):
        self.examine, self.only, self.patience = examine, only, patience
        self._start()

    def _start(self) -> None:
        context = mp.get_context("fork" if "fork" in mp.get_all_start_methods() else "spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.examine, self.only), daemon=True)
        self.process.start()
        other.close()

    def result(self, seed: int) -> dict[str, Any]:
        """What the child says of a seed, or that it was lost over it."""
        self.pipe.send(seed)
        try:
            if self.pipe.poll(self.patience):
                return self.pipe.recv()
            why = f"no answer within {self.patience:g} s"
        except (EOFError, ConnectionError):
            why = "the process died"
        self.end()
        self._start()
        return {"problems": 1, "lost": [{"seed": seed, "why": why}]}

    def end(self) -> None:
        """Stop the child."""
        self.process.kill()
        self.process.join()


def _serve(pipe: Any, examine: Callable[..., dict[str, Any]], only: str | None) -> None:
    while True:
        try:
            seed = pipe.recv()
        except EOFError:
            return
        try:
            result = {"problems": 1, **examine(seed, only)}
            for entry in result["faults"]:
                entry["seed"] = seed
        except Exception:  # whatever a fit raises that it should not is a finding, not the campaign's end
            result = {"problems": 1, "unexpected": [{"seed": seed, "what": traceback.format_exc(limit=-4)}]}
        pipe.send(result)


#: What results are made of: numbers that add up, and lists that grow.
NUMBERS = ("problems", "fits", "refused", "certificates", "holding", "missed", "needless", "bounded")
LISTS = ("faults", "lost", "unexpected")


def summed(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of many results."""
    total: dict[str, Any] = {name: sum(result.get(name, 0) for result in results) for name in NUMBERS}
    for name in LISTS:
        total[name] = [entry for result in results for entry in result.get(name, [])]
    return total


def report(command: str, total: dict[str, Any], seconds: float, show: int) -> str:
    """The figures as text."""
    lines = [
        f"{command}: "
        + ", ".join(f"{total[name]:,} {name}" for name in NUMBERS if total[name])
        + f" in {seconds:.0f} s"
    ]
    faults = total["faults"]
    for rule in sorted({fault["rule"] for fault in faults}):
        sizes = [fault["excess"] for fault in faults if fault["rule"] == rule]
        over = ", ".join(f"{sum(size > bar for size in sizes)} above {bar:g}" for bar in (1e-12, 1e-6, 1e-2))
        lines.append(f"  FALSE {rule}: {len(sizes)} ({over}; worst {max(sizes):.3g})")
    by_machine = Counter((fault["rule"], fault["machine"]) for fault in faults)
    lines += [f"    {rule} of {machine}: {n}" for (rule, machine), n in by_machine.most_common(40)]
    for rule in sorted({fault["rule"] for fault in faults}):
        worst = sorted((f for f in faults if f["rule"] == rule), key=lambda fault: -fault["excess"])[:show]
        lines += [f"  {f['rule']} {f['excess']:.2e} seed {f['seed']} {_words(f)}" for f in worst]
    lines += [f"  LOST seed {entry['seed']}: {entry['why']}" for entry in total["lost"][:show]]
    lines += [f"  UNEXPECTED seed {entry['seed']}: {entry['what']}" for entry in total["unexpected"][:show]]
    lines.append(f"  {len(faults)} false, {len(total['lost'])} lost, {len(total['unexpected'])} unexpected errors")
    return "\n".join(lines)


def _words(fault: dict[str, Any]) -> str:
    """A fault in a line."""
    words = [
        str(fault.get(name, "")) for name in ("machine", "n", "kernel", "recipe", "configuration", "params", "method")
    ]
    return "; ".join(words) + "\n      " + fault["detail"]
