"""Interrupted, killed, without disk or memory: ``python -m benchmarks.campaign.hostile`` (``make hostile``).

Trials run in forked children, so that what they break is theirs; kinds of trials:

=========  =========================================================================================================
memory     fits and ``train`` with an address space 300 MB above what imports have mapped: a model or an error in words
fits       Ctrl-C (SIGINT) at a random moment of a fit: a usable model, or the estimator as it was before, every value
           of it; the process can fit again
train      the same during ``maxmargin train``: exit code 0 or 130, no traceback, every file whole
saving     SIGKILL while a model is saved over another: the file is the old or the new one
disk       saving, ``train`` and ``predict`` on a disk that is full, or read-only: an error in words, exit code 1 or 2
=========  =========================================================================================================

Memory comes first: as long as this process has not fitted anything, children load compiled code themselves, within the
limit. All other children find it loaded.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import random
import re
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import maxmargin as mm
from benchmarks.campaign._trials import Failure, Kind, run
from maxmargin import io
from maxmargin._validation import WATCHING

#: Seconds after which a child that has not ended is a failure.
PATIENCE = 120.0
#: Bytes of address space above what is mapped.
ROOM = 300 * 2**20
#: A user without rights, for read-only folders; root may write everywhere.
NOBODY = 65534


class Ended(NamedTuple):
    """How a child ended: its exit code, negative for a signal, and what it printed."""

    code: int
    said: str

    def require(self, *codes: int) -> None:
        """Failure unless it ended with one of these codes, and without a traceback."""
        if self.code not in codes or "Traceback" in self.said:
            raise Failure(f"exit code {self.code}: {self.said.strip()[-2500:]}")


def child(work: Callable[[], int], after: Callable[[int], None] = lambda pid: None) -> Ended:
    """Run ``work`` in a forked child while ``after`` does something to it."""
    with tempfile.TemporaryFile("w+b") as printed:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child is where it matters
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(printed.fileno(), 1)
                os.dup2(printed.fileno(), 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                code = ending(work)
            finally:  # a child never goes on with what its parent was doing
                os._exit(code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        after(pid)
        code = awaited(pid)
        printed.seek(0)
        return Ended(code, printed.read().decode(errors="replace"))


def ending(work: Callable[[], int]) -> int:
    """The exit code of what a child does; an error that nobody caught is printed as Python would."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    faulthandler.dump_traceback_later(0.9 * PATIENCE, exit=True, file=sys.stderr)  # where it hangs
    try:
        code = work()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except KeyboardInterrupt:  # after the work
        code = 130
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    with contextlib.suppress(OSError):  # on a full disk there is no room for what was said, either
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def awaited(pid: int) -> int:
    """The exit code of a child, killed if it does not end."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise Failure(f"it had not ended after {PATIENCE:.0f} s")


def sent(number: int, delay: float) -> Callable[[int], None]:
    """Send a signal after a while, if the child is still there."""

    def send(pid: int) -> None:
        time.sleep(delay)
        os.kill(pid, number)  # a child that has ended is a zombie until it is awaited, and takes signals

    return send


# -- Ctrl-C -----------------------------------------------------------------------------------------------------------


def machine_of(draw: random.Random) -> Any:
    """A machine that takes a while."""
    made = draw.choice(
        [
            lambda: mm.SVC(C=1e4),
            lambda: mm.SVC(kernel="linear", C=1e3, multiclass="ovr"),
            lambda: mm.SVC(C=100.0, calibration="sigmoid"),
            lambda: mm.SVC(C=100.0, multiclass="crammer-singer", warm_start=True),
            lambda: mm.NuSVC(nu=0.1),
            lambda: mm.SVR(C=100.0, warm_start=True),
            lambda: mm.LinearSVC(C=100.0),
            lambda: mm.LinearClassifier("logistic", calibration="isotonic"),
            lambda: mm.SGDSVC(max_iter=200),
            lambda: mm.PegasosSVC(max_iter=200, warm_start=True),
            lambda: mm.Perceptron(max_iter=300),
            lambda: mm.KernelPegasosSVC(max_iter=20),
            lambda: mm.KernelPerceptron(max_iter=20),
            lambda: mm.LSSVC(),
            lambda: mm.KernelLeastSquares(),
            lambda: mm.KernelDiscriminantAnalysis(),
            lambda: mm.SVCCV(cv=3),
            lambda: mm.LinearSVCCV(cv=3),
            lambda: mm.KernelLeastSquaresCV(cv=3),
            lambda: mm.OneClassSVM(nu=0.4),
            lambda: mm.SVDD(C=0.05),
        ]
    )()
    return made


def state_of(machine: Any) -> dict[str, bytes]:
    """All values of an estimator, as bytes; what scikit-learn notes while a fit is watched is its own."""
    own = {name: value for name, value in vars(machine).items() if not name.startswith(WATCHING)}
    return {name: pickle.dumps(value) for name, value in own.items()}


def rows_of(seed: int, n: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])


def interrupted_fit(seed: int) -> str:
    """Ctrl-C in a fit, or in a chunk of a stream, once or twice."""
    draw = random.Random(seed)
    machine, n = machine_of(draw), draw.choice([100, 400, 1500])
    fitted_before, streams = draw.random() < 0.5, draw.random() < 0.5
    warm()

    def work() -> int:
        if fitted_before:
            machine.fit(*rows_of(seed + 1, 60))
        before = state_of(machine)
        X, y = rows_of(seed, n)
        fit = machine.partial_fit if fitted_before and streams and hasattr(machine, "partial_fit") else machine.fit
        try:
            fit(X, y)
        except KeyboardInterrupt:
            ended = 11 if state_of(machine) == before else 12
        else:
            ended = 10 if np.shape(machine.predict(X)) == (n,) else 12
        machine.fit(X[:50], y[:50])  # nothing that was interrupted holds what this needs
        return ended

    def after(pid: int) -> None:
        for _ in range(draw.choice([1, 1, 2])):
            sent(signal.SIGINT, draw.expovariate(6.0))(pid)

    ended = child(lambda: quiet(work), after)
    ended.require(10, 11)
    return "a model" if ended.code == 10 else "as before"


def quiet(work: Callable[[], int]) -> int:
    """The signal may come before the fit has begun, or after it has ended; that is no news."""
    code = 11
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        code = work()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


@lru_cache(maxsize=1)
def table() -> Path:
    """A file to train on."""
    path = Path(tempfile.mkdtemp(prefix="maxmargin-hostile-"), "rows.csv")
    X, y = rows_of(0, 240)
    lines = [",".join(map(str, [*row, "abc"[label]])) for row, label in zip(X.round(3).tolist(), y, strict=True)]
    path.write_text("\n".join(["p,q,r,s,t,kind", *lines]) + "\n")
    path.parent.chmod(0o755)
    return path


TRAININGS = (["--kernel", "linear"], ["--kernel", "rbf", "--C", "1", "--no-tune"], ["--kernel", "rbf"])


@lru_cache(maxsize=1)
def warm() -> list[float]:
    """Train, for a model beside the table and compiled code in this process; seconds that each training then takes."""
    path, seconds = table(), []
    for words in (*TRAININGS, *TRAININGS):
        began = time.monotonic()
        with contextlib.redirect_stdout(StringIO()), contextlib.redirect_stderr(StringIO()):
            command("train", str(path), "--out", str(path.with_suffix(".mm")), *words)
            command("predict", str(path.with_suffix(".mm")), str(path), "--out", str(path.with_suffix(".txt")))
        seconds.append(time.monotonic() - began)
    return seconds[len(TRAININGS) :]


def command(*words: str) -> int:
    """Run the command in this process; its exit code."""
    from maxmargin.cli import main

    before, sys.argv = sys.argv, ["maxmargin", *words]
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    except KeyboardInterrupt:  # before the command has begun
        return 130
    try:
        main()
    except SystemExit as ended:
        return int(ended.code or 0)
    except KeyboardInterrupt:
        print("Traceback: Ctrl-C went through the command")
    finally:
        sys.argv = before
    return 0


def training(folder: Path, draw: random.Random) -> list[str]:
    """The words of a training that takes a second or so."""
    report = ["--report", str(folder / "page.html")] if draw.random() < 0.3 else []
    return ["train", str(table()), "--out", str(folder / "m.mm"), *draw.choice(TRAININGS), *report]


def interrupted_training(seed: int) -> str:
    """Ctrl-C in ``maxmargin train``, once or twice."""
    draw = random.Random(seed)
    longest = max(warm())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = training(folder, draw)

        def after(pid: int) -> None:
            sent(signal.SIGINT, draw.uniform(0.0, longest))(pid)
            if draw.random() < 0.3:
                sent(signal.SIGINT, draw.uniform(0.0, 0.2 * longest))(pid)

        ended = child(lambda: command(*words), after)
        ended.require(0, 130)
        require_whole(folder)
        return "finished" if ended.code == 0 else "130"


def require_whole(folder: Path) -> None:
    """Failure unless every file is what its name says, and nothing is left over."""
    for path in folder.iterdir():
        if path.suffix == ".mm":
            io.load(path)
        elif path.suffix == ".html":
            if not path.read_text(encoding="utf-8").rstrip().endswith("</html>"):
                raise Failure(f"{path.name} is cut off")
        else:
            raise Failure(f"{path.name} was left behind")


# -- kill -------------------------------------------------------------------------------------------------------------


def killed_while_saving(seed: int) -> str:
    """SIGKILL while a model takes the place of another."""
    draw = random.Random(seed)
    record = {"rows": np.zeros(draw.choice([10, 10**5, 3 * 10**6]))}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "m.mm")
        io.save(mm.SVC(C=1.0), path)

        def work() -> int:
            while True:
                io.save(mm.SVC(C=2.0), path, record=record)

        child(work, sent(signal.SIGKILL, draw.uniform(0.0, 0.15)))
        found = io.load(path).C
        io.load_record(path)
        return {1.0: "the old model", 2.0: "the new model"}[found]


# -- disk and memory --------------------------------------------------------------------------------------------------


def full_disk(bytes_left: int) -> None:
    """No file may grow beyond so many bytes, which is how a full disk looks to a program."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))


def without_disk(seed: int) -> str:
    """Saving, training and predicting where nothing, or little, can be written."""
    draw = random.Random(seed)
    where, what = draw.choice(["full", "read-only"]), draw.choice(["save", "train", "predict", "stdout"])
    warm()
    model = table().with_suffix(".mm")
    with tempfile.TemporaryDirectory() as name:
        folder, left = Path(name), draw.randrange(20_000)
        Path(folder, "m.mm").write_bytes(model.read_bytes())
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        folder.chmod(0o555 if where == "read-only" else 0o777)
        Path(folder, "m.mm").chmod(0o666)

        def work() -> int:
            if where == "full":
                full_disk(left)
            else:
                os.setegid(NOBODY)
                os.seteuid(NOBODY)
            return DISK[what](folder, draw)

        ended = child(work)
        folder.chmod(0o777)
        if what == "stdout":
            ended.require(1)
        else:
            ended.require(1 if where == "full" else 2, 0, 1)
        if ended.code and {path.name: path.read_bytes() for path in folder.iterdir()} != before:
            raise Failure(f"{where}, {what}: files have changed")
        if not ended.code:
            require_whole(folder) if what != "predict" else None
        return f"{where}: {'done' if not ended.code else ended.code}"


def saved(folder: Path, draw: random.Random) -> int:
    """Save a model; a failure of the system is 1."""
    try:
        io.save(mm.SVC(C=2.0), folder / "m.mm", record={"rows": np.zeros(draw.randrange(5000))})
    except OSError as error:
        print(error)
        return 1
    return 0


def to_full_device(folder: Path, draw: random.Random) -> int:
    """Print answers to a device that is always full."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
    return command("predict", str(table().with_suffix(".mm")), str(table()))


DISK: dict[str, Callable[[Path, random.Random], int]] = {
    "save": saved,
    "train": lambda folder, draw: command(*training(folder, draw)),
    "predict": lambda folder, draw: command(
        "predict", str(table().with_suffix(".mm")), str(table()), "--out", str(folder / "answers.csv")
    ),
    "stdout": to_full_device,
}


def without_memory(seed: int) -> str:
    """A fit, or a training, in an address space that is nearly full."""
    import resource

    from maxmargin.backends import backend_for
    from maxmargin.cli import _app  # noqa: F401  # what the command imports is no part of the room

    draw = random.Random(seed)
    n, d, trains = draw.choice([300, 2000, 7000, 30_000]), draw.choice([5, 5, 400]), draw.random() < 0.3
    machine: Any = draw.choice([mm.SVC(time_limit=1.0), mm.LSSVC(), mm.KernelLeastSquares(), mm.SVR(time_limit=1.0),
                           mm.LinearSVC(time_limit=1.0), mm.SVCCV(cv=2, time_limit=2.0)])  # fmt: skip
    backend_for("cpu")
    table()

    def work() -> int:
        mapped = int(re.findall(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())[0]) * 1024
        resource.setrlimit(resource.RLIMIT_AS, (mapped + ROOM, mapped + ROOM))
        if trains:
            with tempfile.TemporaryDirectory() as name:
                return command(*training(Path(name), draw))
        before = state_of(machine)
        try:
            X, y = rows_of(seed, n, d)
            machine.fit(X, y)
            machine.predict(X[:5])
        except (MemoryError, ValueError) as error:
            print(type(error).__name__, error)
            return 11 if state_of(machine) == before else 12
        return 0

    ended = child(work)
    ended.require(0, 1 if trains else 11)
    what = "train" if trains else "fit"
    return f"{what}: " + {0: "done", 1: "exit code 1", 11: "an error, as before"}[ended.code]


KINDS = {
    "memory": Kind(500, without_memory),
    "fits": Kind(900, interrupted_fit),
    "train": Kind(100, interrupted_training),
    "saving": Kind(200, killed_while_saving),
    "disk": Kind(500, without_disk),
}

if __name__ == "__main__":
    sys.exit(run("hostile", KINDS, __doc__))
