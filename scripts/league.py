r"""Run a league: who meets whom, round by round, to a cross-play table and a ladder with intervals.

examples:
  python scripts/league.py --config configs/league.yaml
  python scripts/league.py --config configs/league.yaml --set league.rounds=2 --set members=[heuristic,tough]
  python scripts/league.py --config configs/league.yaml --set env.use_dataset=true --set env.dataset=self_play \
                           --set env.data_dir=FOLDER
  python scripts/league.py --config configs/league.yaml --dry-run    # what would be played, and what it would cost
  python scripts/league.py explain --run runs/league/0001 --round 3  # why every match of that round was played
  python scripts/league.py --config configs/league.yaml --workers 2  # the same rows, sooner
  python scripts/league.py --resume                      # the newest run under runs/league
  python scripts/league.py --resume runs/league/0001     # that run, with its own settings
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.command_line import run
except ModuleNotFoundError as missing:
    sys.exit(
        f"{missing.name} is not installed for {sys.executable}: run `make setup`, then .venv/bin/python {__file__}"
    )
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(run(__doc__ or "", sys.argv[1:]))
