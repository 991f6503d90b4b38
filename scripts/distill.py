r"""Make a small language model that plays like one of the partners, from nothing, and say how well it does.

examples:
  python scripts/distill.py                            # the model that llm(provider=hf) uses, in the user's cache
  python scripts/distill.py --config configs/distill.yaml --set teacher=heuristic --out runs/models/heuristic
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.distill import main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--config", type=Path, metavar="FILE", help="a YAML file, such as configs/distill.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the model goes (default: the user's cache)")
    given = parser.parse_args()
    if given.set and given.config is None:
        parser.error("--set changes the settings of a file: name it with --config FILE")
    return given


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(main(given.config, given.set, given.out))
