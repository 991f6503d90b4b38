r"""Write a report on a league's run: one file that holds everything and asks for nothing, to be read, kept or sent.

examples:
  python scripts/report.py --run runs/league                           # the newest run: report.html in its folder
  python scripts/report.py --run runs/league/0001 --format md --out -  # to be read here
  python scripts/report.py --run runs/league/0001 --format csv         # one long table: a row per figure
  python scripts/report.py --run runs/league/0001 --format json --out report.json
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.help_text import parser_of
    from league.cli.report import FORMATS, Request, main
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--run", type=Path, required=True, metavar="DIR", help="a run, or the newest of those in it")
    parser.add_argument("--format", choices=FORMATS, default="html", help="of the file (%(default)s)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="- for the screen (report.FORMAT in the run's folder)")
    return Request(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
