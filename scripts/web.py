r"""Open the local web page: play any occupant, follow a league, replay games, let two occupants meet.

examples:
  python scripts/web.py                                  # or: make play
  python scripts/web.py --run runs/league/0001           # or: make watch RUN=runs/league/0001
  python scripts/web.py --data-dir FOLDER --port 9000 --no-browser
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.help_text import parser_of
    from league.display.session import RECORDS
    from league.cli.web import RUNS, Request, main
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    what, how = map(parser.add_argument_group, ("what is shown", "how it is served"))
    what.add_argument("--run", type=Path, metavar="DIR", help="a league to follow, running or over")
    what.add_argument("--runs", type=Path, default=RUNS, metavar="DIR", help="under which leagues lie (%(default)s)")
    what.add_argument("--record", type=Path, metavar="FILE", help=f"your games are added here ({RECORDS})")
    what.add_argument("--data-dir", type=Path, metavar="FOLDER", help="of the published files (data)")
    how.add_argument("--port", type=int, metavar="N", help="0 for any (8080 if it is free, else any)")
    how.add_argument(
        "--pause", type=float, default=0.7, metavar="S", help="seconds that a partner thinks (%(default)s)"
    )
    how.add_argument("--no-browser", dest="open", action="store_false", help="open none")
    return Request(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
