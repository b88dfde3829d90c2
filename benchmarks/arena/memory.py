"""Peak memory of this process, as exactly as the system tells it."""

from __future__ import annotations

import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): 5 resets the peak resident set size to the current one


def current() -> float:
    """Resident memory in MB."""
    if _STATUS.exists():
        return _field("VmRSS")
    import psutil

    return psutil.Process().memory_info().rss / 2**20


def peak() -> float:
    """Highest resident memory in MB, since `reset_peak` where the system can reset it, else since the start."""
    if _STATUS.exists():
        return _field("VmHWM")
    if sys.platform == "win32":
        import psutil

        return psutil.Process().memory_info().peak_wset / 2**20
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**20 if sys.platform == "darwin" else used / 2**10  # macOS counts bytes, others kilobytes


def reset_peak() -> None:
    """Forget the peak so far; does nothing where the system cannot."""
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return


def _field(name: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name + ":"))
    return int(line.split()[1]) / 2**10
