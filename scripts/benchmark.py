"""Measure every speed figure of the project in one run, side by side with its peers, and print ratios.

Rates of one thread are per second of its processor time, those of several on the clock.
Peers that are not installed are left out and said so: pip install -e '.[bench]' brings them.

examples:
  python scripts/benchmark.py
  python scripts/benchmark.py --only engine --repeats 9 --json benchmark.json
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy loads: every row is one thread unless it says otherwise

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

import click

from dond.cli.shell import FILE, Command, run

SUITES = (
    *("aec", "backends", "engine", "growth", "imports", "league", "learning", "memory", "partners"),
    *("practice", "score", "time_to_score", "vector"),
)


@click.command(cls=Command, help=__doc__)
@click.option("--only", "suites", type=click.Choice(SUITES), multiple=True, help="measure only this; may be repeated")
@click.option("--repeats", type=int, default=5, metavar="N", help="alternating repeats of us and each peer (5)")
@click.option("--seconds", type=float, default=1.0, metavar="S", help="least length of one repeat (1)")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="also write the rows to a file")
def command(suites: tuple[str, ...], repeats: int, seconds: float, json_path: Path | None) -> int:
    """Run the chosen suites; exit code 1 if a bar is missed."""
    from scripts.bench.report import machine, print_row  # PyTorch is loaded from here on
    from scripts.bench.suites import measure

    rows = []
    for row in measure(suites or SUITES, repeats, seconds):
        print_row(row)
        rows.append(row)
    if json_path is not None:
        document = {"machine": machine(), "rows": [row._asdict() for row in rows]}
        json_path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(any(row.reached is False for row in rows))


if __name__ == "__main__":
    sys.exit(run(command, name=Path(__file__).name))
