"""Make the newest checkpoint of a training run the shipped expert, and write its card.

examples:
  python scripts/ship_expert.py --run runs/expert
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.help_text import parser_of
    from league.ledger.run_directory import RunError
    from league.training.expert import ship
    from partners.network.checkpoint import CheckpointError
    from partners.network.saved import EXPERT
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")


def main() -> int:
    """Exit code 0 once the expert and its card are written, 1 otherwise."""
    parser = parser_of(__doc__)
    parser.add_argument("--run", type=Path, required=True, help="a run folder, or a folder of runs for its newest")
    parser.add_argument("--target", type=Path, default=EXPERT, help="where to write it (default: %(default)s)")
    options = parser.parse_args()
    try:
        card = ship(options.run.expanduser(), options.target)
    except (RunError, CheckpointError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, told in card["scores"]["greedy"].items():
        print(f"{name:24} {told['points']:5.2f} [{told['low']:.2f}, {told['high']:.2f}]  {told['deals']:.1%} deals")
    print(f"written to {options.target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
