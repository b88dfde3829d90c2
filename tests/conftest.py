"""What holds for the suite as a whole."""

from __future__ import annotations

import os
import signal
import threading

import pytest

# Processes side by side keep to one thread each: threads of BLAS that wait for a core in a loop take five times the
# time. What more threads do is tested with `n_jobs`, and by `make smoke`, which is one process.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell that starts the suite in the background has it ignore Ctrl-C, which many tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Threads that end by themselves when the process does: our pool's and joblib's.
LASTING = ("maxmargin", "QueueManagerThread", "QueueFeederThread", "ExecutorManagerThread")

try:
    from hypothesis import settings
except ModuleNotFoundError:  # the environments of `make smoke`, which tries no laws
    pass
else:  # `make quick` takes a fifth of the examples: see tests/laws.py
    settings.register_profile("suite", deadline=None)
    settings.register_profile("quick", deadline=None, max_examples=20, derandomize=True)
    settings.load_profile("suite")


def keeps_alive(thread: threading.Thread) -> bool:
    """Whether the end of the process would wait for it: a plain thread, or a test server's loop with open sockets."""
    if thread is threading.main_thread() or thread.name.startswith(LASTING):
        return False
    return not thread.daemon or thread.name.startswith("asyncio-portal")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """What a test has left running would keep the process alive, long after the last test has passed."""
    left = [thread.name for thread in threading.enumerate() if keeps_alive(thread)]
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nFAILED: threads that no test has ended: {', '.join(left)}")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Functions go by their names: an address would give a test another name in every process."""
    return getattr(val, "__name__", None) if callable(val) else None
