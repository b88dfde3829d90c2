"""A Dask cluster on this computer: ``python -m benchmarks.cluster --data DIR``.

Worker processes of one thread each fit covtype and mnist with kernels and two Gaussian classes with linear machines,
from parts that they read or draw themselves. Told are seconds, seconds of processor time of all processes together,
rounds, bytes per round, the relative gap and the peak of resident memory of each process. A cost model with measured
rates says what more workers would take, and how far it is off where that was measured. ``--sets outofcore`` fits a
linear machine to a folder of Parquet parts three times as large as the workers' memory limit.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arena import sets
from benchmarks.arena.__main__ import environment
from benchmarks.arena.case import open_source

SETS = ("covtype", "mnist", "gaussians", "outofcore")
#: Rows of the run on one worker where a set is too large for it, and parts per worker.
ALONE, PARTS = 100_000, 2
#: Two Gaussian classes: rows, columns, error of the best rule and the relative gap to reach.
GAUSSIANS, COLUMNS, BAYES, GAUSSIAN_GAP = 2_000_000, 20, 0.01, 1e-3
#: Out of core: bytes of a worker's limit, how many times as much the folder holds, and the relative gap to reach.
LIMIT, TIMES, CORE_GAP = 2**30, 3, 1e-6
#: Columns of its rows, beside which the numbers that a fit keeps for each row are few.
WIDE = 400
#: Share of the limit that Dask keeps in memory.
TARGET = 0.25
#: Workers of the table.
MANY = (8, 16, 32, 64, 128, 256, 512, 1000)
#: A network to imagine for them: bytes per second and seconds of a message. Here they are measured.
BANDWIDTH, LATENCY = 1.25e9, 5e-4


@dataclass
class Line:
    """One fit."""

    set: str
    rows: int
    columns: int
    workers: int
    seconds: float
    processor: float  # seconds of all processes
    rounds: int
    per_round: float  # bytes
    gap: float
    support: int
    peaks: list[float]  # megabytes: driver, workers
    moved: float = 0.0  # rows that moved, summed over the rounds: each meets all rows
    driver: float = 0.0  # seconds that the driver solves
    calls: int = 0
    bytes: float = 0.0
    predicted: float = float("nan")


@dataclass
class Watched:
    """Peaks of resident memory of processes, sampled."""

    processes: list[Any]
    peaks: dict[int, float] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def sample(self) -> None:
        """Until told to stop."""
        while not self.over.wait(0.05):
            for process in self.processes:
                with contextlib.suppress(Exception):
                    used = process.memory_info().rss / 2**20
                    self.peaks[process.pid] = max(self.peaks.get(process.pid, 0.0), used)


@contextlib.contextmanager
def cluster_of(workers: int, limit: int | float = 0) -> Iterator[tuple[Any, list[Any]]]:
    """(client, processes: this one and the workers)."""
    import dask
    import psutil
    from dask.distributed import Client, LocalCluster

    # of a small limit Python itself takes a large part, which Dask's own shares leave no room for
    shares = {"distributed.worker.memory.target": TARGET} if limit else {}
    with dask.config.set(shares):
        own = LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=limit,
            silence_logs=50,
        )  # fmt: skip
    with own, Client(own) as client:
        yield client, [psutil.Process(), *(psutil.Process(nanny.pid) for nanny in own.workers.values())]


def processor_time(processes: list[Any]) -> float:
    """Seconds of processor time, of all."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def parts_of(name: str, rows: int, parts: int, folder: Path, data: str | None) -> tuple[list[Any], list[Any], int]:
    """Delayed chunks of rows and targets that workers read or draw, and their number of columns."""
    from dask import delayed

    if name == "gaussians":
        sizes = np.diff(np.linspace(0, rows, parts + 1).astype(int))
        both = [delayed(drawn)(int(size), number) for number, size in enumerate(sizes)]
        return [part[0] for part in both], [part[1] for part in both], COLUMNS
    split = next(found for found, _ in sets.discover().values() if name == found.NAME).load(open_source(data), None)
    order = np.random.default_rng(0).permutation(len(split.y))[:rows]
    for number, own in enumerate(np.array_split(order, parts)):
        X = split.X[own]
        np.save(folder / f"{name}-{rows}-X{number}.npy", np.asarray(X.toarray() if hasattr(X, "toarray") else X, "f"))
        np.save(folder / f"{name}-{rows}-y{number}.npy", split.y[own])
    places = [[str(folder / f"{name}-{rows}-{what}{k}.npy") for k in range(parts)] for what in "Xy"]
    return *([delayed(np.load)(place) for place in own] for own in places), split.X.shape[1]


def drawn(size: int, number: int) -> tuple[Any, Any]:
    """Rows of two Gaussian classes whose best rule errs with the probability BAYES."""
    from scipy.special import ndtri

    random = np.random.default_rng(number)
    y = random.integers(0, 2, size)
    X = random.standard_normal((size, COLUMNS))
    X[:, 0] += np.where(y == 1, 1.0, -1.0) * -ndtri(BAYES)
    return X, y


def machine_of(name: str, client: Any) -> Any:
    """The machine that a set is fitted with."""
    from maxmargin import distributed

    if name == "covtype":
        return distributed.SVC(C=1.0, gamma="auto", scale=True, client=client)
    if name == "mnist":
        return distributed.SVC(C=10.0, gamma=0.03, client=client)
    if name == "gaussians":
        return distributed.LinearSVC(loss="hinge", tol=GAUSSIAN_GAP, client=client)
    return distributed.LinearSVC(tol=CORE_GAP, client=client)


@contextlib.contextmanager
def noting(line: dict[str, float]) -> Iterator[None]:
    """Note rows that move and the seconds that the driver solves, in any fit meanwhile."""
    from maxmargin.distributed._kernel_rounds import Rounds

    plain = Rounds._solve_candidates

    def noted(self: Any, *given: Any) -> Any:
        start = time.thread_time()
        found = plain(self, *given)
        line["driver"] = line.get("driver", 0.0) + time.thread_time() - start
        moved = found[0]
        share = sum(self.sizes) * (0 if moved is None else len(moved.delta))
        line["values"] = line.get("values", 0.0) + share
        return found

    Rounds._solve_candidates = noted  # type: ignore[method-assign,assignment]  # for the time of this measurement
    try:
        yield
    finally:
        Rounds._solve_candidates = plain  # type: ignore[method-assign]  # as it was


def measured(name: str, rows: int, workers: int, data: str | None) -> Line:
    """One fit on a cluster of its own."""
    with tempfile.TemporaryDirectory() as folder, cluster_of(workers) as (client, processes):
        X, y, columns = parts_of(name, rows, PARTS * 4 if name != "mnist" else 8, Path(folder), data)
        warm_up(name, client)
        watched, noted = Watched(processes), dict[str, float]()
        sampler = threading.Thread(target=watched.sample, daemon=True)
        sampler.start()
        with warnings.catch_warnings(), noting(noted):
            warnings.simplefilter("ignore")
            before, start = processor_time(processes), time.perf_counter()
            model = machine_of(name, client).fit(X, y)
            seconds, spent = time.perf_counter() - start, processor_time(processes) - before
        watched.over.set()
        sampler.join()
    total = model.traffic_.total
    kernel = "round" in model.traffic_.by_operation
    steps = model.traffic_.by_operation["round" if kernel else "look"]
    rounds = int(np.sum(getattr(model, "rounds_", model.n_iter_)))
    work = [own for what, own in model.traffic_.by_operation.items() if what in ROUND]
    per_round = sum(own.sent + own.received for own in work) / max(1, steps.calls)
    peaks = [watched.peaks.get(process.pid, 0.0) for process in processes]
    support = len(model.support_)
    return Line(
        name, rows, columns, workers, seconds, spent, rounds, per_round, model.certificate_.relative_gap, support,
        peaks,
        noted.get("values", 0.0) / rows, noted.get("driver", 0.0), total.calls, float(total.sent + total.received),
    )  # fmt: skip


ROUND = ("round", "look", "curvature", "curvature_times", "direct", "along", "sides", "balanced", "feasible_values")


def warm_up(name: str, client: Any) -> None:
    """Have every process load what it will run."""
    from dask import delayed

    parts = [drawn(300, number) for number in range(2 * len(client.scheduler_info()["workers"]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine_of(name, client).fit([delayed(X) for X, _ in parts], [delayed(y) for _, y in parts])


# -- the cost model ---------------------------------------------------------------------------------------------------


@dataclass
class Rates:
    """What this computer does, measured: the inputs of the model."""

    cores: int
    call: float  # seconds of a call on one partition that does nothing
    bandwidth: float  # bytes per second through the driver
    tile: dict[int, float]  # seconds of a kernel value in float64, by the number of columns


def rates(columns: list[int], workers: int) -> Rates:
    """Measure them."""
    import os

    from maxmargin.backends import backend_for, single_threaded_blas
    from maxmargin.kernels import Gaussian

    backend, program, tile = backend_for("cpu"), Gaussian(0.1).lower(), {}
    for d in columns:
        A, B = np.random.default_rng(0).standard_normal((2, 2048, d))
        left = backend.prepare(program, A)
        right, spent = backend.prepare(program, B, like=left), []
        with single_threaded_blas():
            for _ in range(5):
                start = time.perf_counter()
                backend.product(program, left, right, np.ones(2048))
                spent.append(time.perf_counter() - start)
        tile[d] = min(spent) / 2048**2
    with cluster_of(workers) as (client, _):
        from maxmargin.distributed._input import Partition, seated

        crew = seated(client, [Partition(np.zeros((10, 2)), np.zeros(10), None) for _ in range(8)])
        crew.call("size")
        start = time.perf_counter()
        for _ in range(20):
            crew.call("size")
        call = (time.perf_counter() - start) / 20 / 8
        block, start = np.random.default_rng(0).bytes(2**24), time.perf_counter()
        for _ in range(3):
            client.submit(len, client.scatter(block, hash=False), pure=False).result()
        bandwidth = 3 * 2**24 / (time.perf_counter() - start)
        crew.close()
    return Rates(os.cpu_count() or 1, call, bandwidth, tile)


def predicted(line: Line, workers: int, known: Rates, cores: int, call: float, bandwidth: float) -> float:
    """Seconds of the same fit on so many workers: what the driver solves, what workers compute, and what travels.

    Every moved row and, once more for the proof, every support vector meets all rows. The proof has three sums where a
    round has one, at twice the price of a value.
    """
    values = line.rows * (line.moved + 2 * line.support)
    down = line.bytes * (1.0 if workers == line.workers else (workers + 1) / (line.workers + 1))
    partitions = max(8, 2 * workers)
    travel = line.calls * call * min(partitions, 8 + math.log2(partitions)) + down / bandwidth
    return line.driver + values * known.tile[line.columns] / min(workers, cores) + travel


def table(lines: list[Line], known: Rates) -> None:
    """What was measured beside what the model says, and what it says of more workers, each with a core of its own."""
    print(f"\ncost model: {asdict(known)}")
    for line in (line for line in lines if line.moved):
        line.predicted = predicted(line, line.workers, known, known.cores, known.call, known.bandwidth)
        off = line.predicted / line.seconds - 1
        print(
            f"{line.set}, {line.workers} workers: {line.seconds:.1f} s, {line.predicted:.1f} s predicted ({off:+.0%})"
        )
    for line in {line.set: line for line in lines if line.moved}.values():
        print(f"\n{line.set}, {line.rows:,} rows: workers, seconds predicted")
        for workers in MANY:
            seconds = predicted(line, workers, known, workers, LATENCY, BANDWIDTH)
            print(f"  {workers:5}  {seconds:8.1f}")


# -- out of core ------------------------------------------------------------------------------------------------------


def out_of_core(workers: int) -> Line:
    """A linear fit to a Parquet folder larger than the workers' memory."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_parts(Path(folder), int(TIMES * workers * LIMIT))
        with cluster_of(workers, LIMIT) as (client, processes):
            watched = Watched(processes)
            sampler = threading.Thread(target=watched.sample, daemon=True)
            sampler.start()
            before, start = processor_time(processes), time.perf_counter()
            model = machine_of("outofcore", client).fit(folder, "target")
            seconds, spent = time.perf_counter() - start, processor_time(processes) - before
            watched.over.set()
            sampler.join()
    total, peaks = model.traffic_.total, [watched.peaks.get(process.pid, 0.0) for process in processes]
    per_round = (total.sent + total.received) / max(1, model.traffic_.by_operation["look"].calls)
    return Line(
        "outofcore", rows, WIDE, workers, seconds, spent, int(model.n_iter_), per_round,
        model.certificate_.relative_gap,
        len(model.support_), peaks,
    )  # fmt: skip


def write_parts(folder: Path, size: int) -> int:
    """Parts of 16 MB of float64 rows, drawn one by one; the number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    height, columns, number, written = 2**24 // (8 * WIDE), WIDE, 0, 0
    w = np.random.default_rng(1).standard_normal(columns)
    while written < size:
        random = np.random.default_rng(number)
        X = random.standard_normal((height, columns))
        y = np.where(X @ w + random.standard_normal(height) * 3 > 0, 1, 0)
        names = {f"f{j}": X[:, j] for j in range(columns)}
        pq.write_table(pa.table({**names, "target": y}), folder / f"{number:05}.parquet", compression="none")
        number, written = number + 1, written + X.nbytes
    return number * height


def run(options: argparse.Namespace) -> None:
    """Measure and print line by line."""
    lines: list[Line] = []
    for name in options.sets:
        for workers in options.workers:
            if name == "outofcore":
                if workers == min(2, max(options.workers)):
                    lines.append(told(out_of_core(workers)))
                continue
            full = {"covtype": 581_012, "mnist": 60_000, "gaussians": GAUSSIANS}[name]
            rows = min(full, options.rows or full)
            if name == "covtype" and workers == 1:
                rows = min(rows, ALONE)
            lines.append(told(measured(name, rows, workers, options.data)))
    if any(line.moved for line in lines):
        table(lines, rates(sorted({line.columns for line in lines if line.moved}), max(options.workers)))
    if options.json is not None:
        found = {"environment": environment(), "rows": [asdict(line) for line in lines]}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def told(line: Line) -> Line:
    """Printed."""
    peaks = ", ".join(f"{peak:,.0f}" for peak in line.peaks)
    print(
        f"{line.set} ({line.rows:,} rows), {line.workers} workers: {line.seconds:.1f} s, {line.processor:.1f} s of "
        f"processors, {line.rounds} rounds of {line.per_round / 1e6:.2f} MB, gap {line.gap:.1e}, {line.support:,} "
        f"support vectors, peaks {peaks} MB (driver, workers)",
        flush=True,
    )
    return line


def main(arguments: list[str] | None = None) -> None:
    """Parse and run."""
    p = argparse.ArgumentParser("python -m benchmarks.cluster", description=(__doc__ or "").partition("\n")[0])
    p.add_argument("--data", metavar="DIR", help="folder with a load.py, as for the arena")
    p.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="default: all")
    p.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4], help="default: 1 2 4")
    p.add_argument("--rows", type=int, help="at most so many rows of each set")
    p.add_argument("--json", metavar="FILE", type=Path, help="also write everything here")
    run(p.parse_args(arguments))


if __name__ == "__main__":
    main()
