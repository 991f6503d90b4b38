"""``python -m dond``: the same as ``dond``."""

from __future__ import annotations

import sys

from dond.cli.stops import STOPS


def main() -> int:
    """Run ``dond`` in a process of its own, with stops handled from the start; returns the exit code."""
    STOPS.listen()
    from dond.cli.main import main as dond

    return dond()


if __name__ == "__main__":
    sys.exit(main())
