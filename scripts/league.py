r"""Run a league: who meets whom, round by round, to a cross-play table and a ladder with intervals.

examples:
  python scripts/league.py --config configs/league.yaml
  python scripts/league.py --config configs/league.yaml --set league.rounds=2 --set members=[heuristic,tough]
  python scripts/league.py --config configs/league.yaml --set env.use_dataset=true --set env.dataset=self_play \
                           --set env.data_dir=FOLDER
  python scripts/league.py --config configs/league.yaml --dry-run    # what would be played, and what it would cost
  python scripts/league.py explain --run runs/league/0001 --round 3  # why every match of that round was played
  python scripts/league.py --resume                      # the newest run under runs/league
  python scripts/league.py --resume runs/league/0001     # that run, with its own settings
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.command import explained, main
except ModuleNotFoundError as missing:
    sys.exit(
        f"{missing.name} is not installed for {sys.executable}: run `make setup`, then .venv/bin/python {__file__}"
    )
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    summary, examples = (__doc__ or "").split("\n\n", maxsplit=1)
    parser = argparse.ArgumentParser(
        description=summary, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a YAML file, such as configs/league.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        type=Path,
        const=Path(),
        metavar="RUN",
        help="go on with a run (a folder), or with the newest one",
    )
    parser.add_argument("--dry-run", action="store_true", help="check the settings, tell the plan and its cost, stop")
    explaining = parser.add_argument_group("explain")
    explaining.add_argument("command", nargs="?", choices=["explain"], help="tell why a round was played as it was")
    explaining.add_argument("--run", type=Path, metavar="RUN", help="the run's folder")
    explaining.add_argument("--round", type=int, metavar="N", help="the round, counted from 0")
    arguments = parser.parse_args()
    if (arguments.command is not None) != (arguments.run is not None and arguments.round is not None):
        parser.error("explain is written: explain --run RUN --round N")
    if arguments.command is None and arguments.config is None and (arguments.resume is None or arguments.set):
        parser.error("--config FILE is needed; only --resume RUN, by itself, takes the run's own settings")
    if arguments.dry_run and arguments.config is None:
        parser.error("--dry-run needs --config FILE")
    return arguments


if __name__ == "__main__":
    given = parse_arguments()
    if given.command == "explain":
        sys.exit(explained(given.run, given.round))
    sys.exit(main(given.config, given.set, given.resume, given.dry_run))
