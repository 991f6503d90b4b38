"""Run every example of scripts/examples and tell with which versions it works and what it came to.

Examples whose library pins other versions than this project get a virtual environment of their own in build/plug_in.

examples:
  python scripts/plug_in/__main__.py                          # all; half an hour, most of it training
  python scripts/plug_in/__main__.py --only sb3_ppo --only rllib_ppo --steps 20000
  python scripts/plug_in/__main__.py --write                  # and put the rows into docs/PLUG_IN.md
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

from league.cli.help_text import parser_of
from scripts.plug_in.matrix import PAGE, run, table, write
from scripts.plug_in.places import EXAMPLES


def main() -> int:
    """Exit code 0 if every example works, 1 otherwise."""
    parser = parser_of(__doc__)
    names = [example.name for example in EXAMPLES]
    told = f"run only this, may be repeated: {', '.join(names)}"
    parser.add_argument("--only", choices=names, metavar="NAME", action="append", help=told)
    parser.add_argument("--steps", type=int, metavar="N", help="decisions to learn from (each example's own default)")
    parser.add_argument("--write", action="store_true", help=f"put the rows into {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    if arguments.steps is not None and arguments.steps < 1:
        parser.error(f"--steps must be at least 1; got {arguments.steps}")
    rows = []
    for example in EXAMPLES:
        if not arguments.only or example.name in arguments.only:
            print(f"{example.name} ...", file=sys.stderr, flush=True)
            rows.append(run(example, arguments.steps))
    print(table(rows))
    if arguments.write:
        write(rows)
    return int(not all(row.works for row in rows))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
