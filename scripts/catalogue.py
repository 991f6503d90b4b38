"""Who can sit in a seat: every occupant with its sentence, parameters and their defaults, traits and source.

examples:
  python scripts/catalogue.py
  python scripts/catalogue.py boulware llm          # all about these
  python scripts/catalogue.py --json                # for programs
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.catalogue import main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="tell all about these occupants (all, briefly)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--no-color", action="store_true", help="plain text, whatever the terminal can do")
    return parser.parse_args()


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(main(given.names, given.json, given.no_color))
