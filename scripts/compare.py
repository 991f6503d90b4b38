r"""Compare leagues: run each with the same seeds, and measure its main member against members that it never met.

examples:
  python scripts/compare.py configs/league.yaml configs/league_self_play.yaml --seeds 1 2 3
  python scripts/compare.py configs/league_quick.yaml configs/league_win_rate.yaml     # what a win rate does to welfare
  python scripts/compare.py configs/league.yaml configs/league_self_play.yaml --set league.rounds=5
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.compare import main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(
        f"{missing.name} is not installed for {sys.executable}: run `make setup`, then .venv/bin/python {__file__}"
    )
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("configs", nargs="+", type=Path, metavar="CONFIG", help="YAML files of leagues that learn")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N", help="one run of each for every seed")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting of all; may be repeated"
    )
    parser.add_argument("--output-dir", type=Path, default=Path("runs/compare"), help="where the runs are kept")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the trials here too")
    return parser.parse_args()


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(main(given.configs, given.seeds, given.set, given.output_dir, given.csv))
