"""A competitor seen from the arena: a worker process that is asked, waited for, and cut off."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
GRACE = 60.0  # seconds beyond the limit for what is no fit: starting, reading data
COMMAND = (sys.executable, "-m", "benchmarks.arena.worker")


class CutOff(Exception):
    """No answer within the limit; the worker was ended."""


class Failed(Exception):
    """The worker answered with an error or died; the message says how."""


class Contender:
    """One competitor on one case, in a subprocess that speaks JSON lines."""

    def __init__(self, name: str, setup: dict[str, Any], limit: float, command: tuple[str, ...] = COMMAND):
        self.name, self.setup, self.limit, self.command = name, setup, limit, command
        self.fits = 0  # of the running process: the first is the first call
        self._start()

    def _start(self) -> None:
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed in `close`)
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            bufsize=1,
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=(self.process.stdout, self.answers), daemon=True).start()
        self.fits = 0

    @staticmethod
    def _listen(stream: Any, answers: queue.Queue[str]) -> None:
        for line in stream:
            answers.put(line)
        answers.put("")  # the process has ended

    def load(self) -> dict[str, Any]:
        """Give the worker its data and its competitor."""
        return self.ask("load", self.limit + GRACE, competitor=self.name, **self.setup)

    def warm(self) -> None:
        """Have the worker fit a few rows, so that the next fit is a warm one."""
        self.ask("warm", self.limit)
        self.fits += 1

    def fit(self, tol: float | None) -> dict[str, Any]:
        """Fit at `tol`; the first fit of a process is made once, later ones are repeated if short."""
        reply = self.ask("fit", self.limit, tol=tol, once=self.fits == 0)
        self.fits += 1
        return reply

    def restart(self) -> None:
        """A new process with the same data, after the old one was cut off."""
        self.close()
        self._start()
        self.load()

    def ask(self, do: str, limit: float, **request: Any) -> dict[str, Any]:
        """Send one request and wait for its answer, at most `limit` seconds."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
            line = self.answers.get(timeout=limit)
        except queue.Empty:
            self.process.kill()
            raise CutOff(f"{do} cut off at {limit:g} s") from None
        except OSError:
            line = ""
        if not line:
            raise Failed(f"{do}: the process ended ({self._last_words()})")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise Failed(f"{do}: {reply['error']}")
        return reply

    def _last_words(self) -> str:
        code = self.process.wait(timeout=GRACE)
        self.said.seek(0)
        lines = self.said.read().strip().splitlines()
        return f"exit {code}" + (f": {lines[-1]}" if lines else "")

    def close(self) -> None:
        """End the process and forget what it said."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.said):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
