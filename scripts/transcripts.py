"""Games as JSON lines: import people's talks and OpenSpiel's instances, replay a file, show its games in words.

examples:
  python scripts/transcripts.py dialogues --data-dir data --split test --out talks.jsonl
  python scripts/transcripts.py openspiel --max-count 5 --play heuristic nash_seeker --out games.jsonl
  python scripts/transcripts.py replay games.jsonl --show 2
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond_marl.scenarios.data import DIALOGUE_SPLITS
    from league.cli.data import Dialogues, OpenSpiel, Replay, main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")


def parse_arguments() -> Dialogues | OpenSpiel | Replay:
    """The command line."""
    parser = parser_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    talks = commands.add_parser("dialogues", help="people's talks, exact games and others, marked")
    talks.add_argument("--data-dir", type=Path, help="folder of the published files (default: data)")
    talks.add_argument("--split", choices=DIALOGUE_SPLITS, action="append", default=[], help="only this file")
    talks.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to write; replaces a file")
    tables = commands.add_parser("openspiel", help="play the instances of OpenSpiel's bargaining, both openers")
    tables.add_argument("--file", type=Path, help="its file of instances (default: the installed package's)")
    tables.add_argument("--max-count", type=int, default=4, help="items of one type; 5 plays all (default: 4)")
    tables.add_argument("--play", nargs=2, default=("heuristic", "heuristic"), metavar="OCCUPANT", help="the two")
    tables.add_argument("--seed", type=int, default=0, help="of the games (default: 0)")
    tables.add_argument("--out", type=Path, required=True, metavar="FILE", help="where to write; replaces a file")
    again = commands.add_parser("replay", help="replay every game of a file")
    again.add_argument("file", type=Path)
    again.add_argument("--show", type=int, default=0, metavar="N", help="tell the first N in words")
    given = parser.parse_args()
    if given.command == "dialogues":
        return Dialogues(given.data_dir, given.split, given.out)
    if given.command == "openspiel":
        return OpenSpiel(given.file, given.max_count, tuple(given.play), given.seed, given.out)
    return Replay(given.file, given.show)


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
