"""Train the same learner with no hints, random, expert and language-model hints; say what they are worth.

examples:
  python scripts/hint_experiment.py --config configs/hint_experiment.yaml
  python scripts/hint_experiment.py --config configs/hint_experiment.yaml --set experiment.seeds=10 --plot hints.png
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.hints import main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--config", type=Path, required=True, metavar="FILE", help="a YAML file, such as configs/hint_experiment.yaml"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write the figure here too (.png, .svg, .pdf)")
    return parser.parse_args()


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(main(given.config, given.set, given.plot))
