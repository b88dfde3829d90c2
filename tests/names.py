"""Names of parametrised tests that are the same in every process, so that processes can share the work."""

from __future__ import annotations

import re
from typing import Any


def name_of(value: Any) -> str:
    """``str`` without the addresses of objects."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", str(value))
