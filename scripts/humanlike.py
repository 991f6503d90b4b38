"""Strong and like people: the same training from scratch, from people's play, and pulled toward it, in one table.

It needs the supervised expert (scripts/train.py --algo bc) and the published dialogues.

examples:
  python scripts/humanlike.py --data-dir data
  python scripts/humanlike.py --data-dir data --kl 0.03 --kl 0.3 --json humanlike.json
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.humanlike import Request, main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument(
        "--config", type=Path, default=ROOT / "configs" / "humanlike.yaml", help="settings of scripts/train.py"
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting")
    parser.add_argument("--kl", action="append", default=[], type=float, help="a pull (default: training.kl)")
    parser.add_argument("--data-dir", type=Path, help="folder of the published files (default: data)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to a file")
    parser.add_argument("--against", action="append", default=[], metavar="OCCUPANT", help="whom they play (the zoo)")
    given = parser.parse_args()
    return Request(given.config, given.set, given.kl, given.data_dir, given.json, given.against)


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
