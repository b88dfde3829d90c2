"""The campaign's commands: ``python -m tests.campaign truth --seed 0 --count 100000 --state truth.jsonl``."""

from __future__ import annotations

from tests.campaign.commands import main

if __name__ == "__main__":
    raise SystemExit(main())
