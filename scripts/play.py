r"""Sit down at the table yourself: negotiate with any partner, in short commands or in sentences.

examples:
  python scripts/play.py --partner expert
  python scripts/play.py --partner "boulware(exponent=2)" --seat 0 --games 3 --max-turns 6
  python scripts/play.py --partner heuristic --scenarios self_play --data-dir FOLDER --disagree rejects
  python scripts/play.py --partner expert --seed 7 --record my_games.jsonl     # the same games again, kept elsewhere
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond_marl.scenarios.sources import SOURCES
    from league.cli.help_text import parser_of
    from league.cli.play import Request, main
    from league.display.session import RECORDS
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    who, games, rest = map(parser.add_argument_group, ("who plays", "what is played", "screen and file"))
    who.add_argument("--partner", default="expert", metavar="SPEC", help="name or name(parameter=value) (%(default)s)")
    who.add_argument("--seat", choices=("0", "1", "random"), default="random", help="yours; 0 opens (%(default)s)")
    games.add_argument("--scenarios", choices=SOURCES, default="lewis", help="where they come from (%(default)s)")
    games.add_argument("--split", help="of the source (its first: train)")
    games.add_argument("--data-dir", type=Path, metavar="FOLDER", help="of the published files (data)")
    games.add_argument("--seed", type=int, metavar="N", help="of all chance (another one every time; it is shown)")
    games.add_argument("--games", type=int, default=1, metavar="N", help="one after the other (%(default)s)")
    games.add_argument("--max-turns", type=int, default=10, metavar="N", help="acts of both seats (%(default)s)")
    games.add_argument("--disagree", choices=("ends", "rejects"), default="ends", help="what it does (%(default)s)")
    rest.add_argument("--record", type=Path, metavar="FILE", help=f"games are added here as JSON lines ({RECORDS})")
    rest.add_argument("--no-color", action="store_true", help="plain text, whatever the terminal can do")
    return Request(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
