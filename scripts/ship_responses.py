"""Compute what the exact best response to every occupant of the catalogue earns, and store it for the ladders.

examples:
  python scripts/ship_responses.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.help_text import parser_of
    from league.standings.best_response_values import STORED, store
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")


def main() -> int:
    """Exit code 0 once the values are written."""
    parser = parser_of(__doc__)
    parser.add_argument("--target", type=Path, default=STORED, help="where to write them (default: %(default)s)")
    options = parser.parse_args()
    for name, (first, second) in store(options.target).items():
        print(f"{name:24} {first:6.3f} as seat_0, {second:6.3f} as seat_1")
    print(f"written to {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
