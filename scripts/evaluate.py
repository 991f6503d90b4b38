r"""Measure a member against a partner, and against the best that anybody can do: exact where it is known.

With --run, the main members of a league against its held-out members, in self-play, and what others can take from them.

examples:
  python scripts/evaluate.py --member expert --against heuristic
  python scripts/evaluate.py --member "checkpoint(path='FILE.json')" --against "boulware(exponent=2)" --max-turns 6
  python scripts/evaluate.py --member heuristic --against expert --json evaluation.json --csv evaluation.csv
  python scripts/evaluate.py --member expert --against linear --scenarios self_play --data-dir FOLDER --sample 1000
  python scripts/evaluate.py --member expert --against heuristic --plot plane.png         # needs matplotlib
  python scripts/evaluate.py --member stubborn --against boulware --probe                 # what could be gained
  python scripts/evaluate.py --run runs/league                                            # a league's main members
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond_marl.scenarios.sources import SOURCES
    from league.cli.evaluate import Request, main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    who, games, files = map(parser.add_argument_group, ("who plays", "what is played", "files, besides the tables"))
    who.add_argument("--member", metavar="SPEC", help="whom to measure: name or name(parameter=value)")
    who.add_argument("--against", metavar="SPEC", help="its partner, in all games")
    who.add_argument("--run", type=Path, metavar="DIR", help="instead: a league's folder, or the newest of those in it")
    who.add_argument("--sampling", action="store_true", help="with --run: networks sample, as they practiced")
    games.add_argument("--scenarios", choices=SOURCES, help="where they come from (lewis; of a run: its own)")
    games.add_argument("--split", help="of the source (its held-out part: heldout of lewis, test of dialogues)")
    games.add_argument("--data-dir", type=Path, metavar="FOLDER", help="of the published files (data)")
    games.add_argument("--sample", type=int, metavar="N", help="play N of its scenarios (all; 1000 of uniform)")
    games.add_argument("--max-turns", type=int, metavar="N", help="acts of both seats (10; of a run: its own)")
    games.add_argument("--disagree", choices=("ends", "rejects"), help="what it does (ends; of a run: its own)")
    games.add_argument("--seed", type=int, metavar="N", help="of all chance (0; of a run: made from its own)")
    games.add_argument("--confidence", type=float, default=0.95, metavar="P", help="of intervals (%(default)s)")
    games.add_argument("--probe", action="store_true", help="exploitability, safety and value of information too")
    files.add_argument("--json", type=Path, metavar="FILE", help="every figure, its unit and interval")
    files.add_argument("--csv", type=Path, metavar="FILE", help="the same, a row per figure")
    files.add_argument("--plot", type=Path, metavar="FILE", help="the bargaining plane, as .png, .svg or .pdf")
    return Request(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
