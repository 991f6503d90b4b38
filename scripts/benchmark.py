"""Measure every speed figure of the project in one run, side by side with its peers, and print ratios.

Peers that are not installed are left out and said so: pip install -e '.[bench]' brings them.

examples:
  python scripts/benchmark.py
  python scripts/benchmark.py --only engine --repeats 9 --json benchmark.json
"""

import json
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads: every row is one thread unless it says otherwise

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

from league.cli.help_text import parser_of
from scripts.bench.report import machine, print_rows
from scripts.bench.rows import SUITES, measure


def main() -> int:
    """Run the chosen suites; exit code 1 if a bar is missed."""
    parser = parser_of(__doc__)
    told = f"measure only this, may be repeated: {', '.join(sorted(SUITES))}"
    parser.add_argument("--only", choices=sorted(SUITES), metavar="SUITE", action="append", help=told)
    parser.add_argument("--repeats", type=int, default=5, help="alternating repeats of us and each peer (default 5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="least length of one repeat (default 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    arguments = parser.parse_args()
    rows = []
    for row in measure(arguments.only or sorted(SUITES), arguments.repeats, arguments.seconds):
        print_rows([row])
        rows.append(row)
    if arguments.json:
        document = {"machine": machine(), "rows": [row._asdict() for row in rows]}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(any(row.reached is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
