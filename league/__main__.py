"""``python -m league``: the same as ``dond``."""

from __future__ import annotations

import sys

from league.cli.stops import STOPS


def main() -> int:
    """Run ``dond`` in a process of its own, with stops handled from the start; returns the exit code."""
    STOPS.handle_from_the_start()
    from league.cli.main import main as dond

    return dond()


if __name__ == "__main__":
    sys.exit(main())
