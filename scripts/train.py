"""``dond train`` in a checkout: python scripts/train.py takes the same options."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond.cli.stops import STOPS

    if __name__ == "__main__":
        STOPS.listen()

    from dond.cli.shell import run
    from dond.cli.train import command
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")

if __name__ == "__main__":
    sys.exit(run(command, name=Path(__file__).name))
