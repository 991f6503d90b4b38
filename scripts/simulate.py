"""How a league behaves on 1 to 1,000 workers: what its parts cost here, measured, and who waits for whom, simulated.

examples:
  python scripts/simulate.py --config configs/league.yaml
  python scripts/simulate.py --config configs/league.yaml --json scaling.json --plot scaling.png    # needs matplotlib
  python scripts/simulate.py --config configs/league.yaml --costs scaling.json                      # measured before
  python scripts/simulate.py --config configs/league_quick.yaml --check          # the small end against real runs
"""

import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads: costs are those of one core

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.scaling import Request, main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the league's settings")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting")
    parser.add_argument("--costs", type=Path, metavar="FILE", help="what --json wrote before, instead of measuring")
    parser.add_argument("--most", type=int, default=1000, metavar="N", help="workers (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="costs and loads, every figure")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a figure, as .png, .svg or .pdf")
    parser.add_argument("--check", action="store_true", help="run the league on 1 and 2 workers, and compare")
    return Request(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
