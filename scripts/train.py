r"""Train one policy by PPO or REINFORCE against a partner, with or without hints, or by what people said (bc).

examples:
  python scripts/train.py --algo ppo --hint none --config configs/ppo_config.yaml
  python scripts/train.py --algo reinforce --hint expert --config configs/reinforce_config.yaml
  python scripts/train.py --algo ppo --hint llm --config configs/ppo_config.yaml
  python scripts/train.py --config configs/ppo_config.yaml --set env.partner="boulware(exponent=2)" \
                          --set training.num_train_steps=100000
  python scripts/train.py --algo bc --config configs/bc_config.yaml --set env.data_dir=data
  python scripts/train.py --resume                     # the newest run under runs/train, with its own settings
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.help_text import parser_of
    from league.cli.train import main
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--algo", choices=("ppo", "reinforce", "bc"), help="overrides training.algo")
    parser.add_argument("--hint", choices=("none", "random", "expert", "llm"), help="overrides hints.mode")
    parser.add_argument("--config", type=Path, metavar="FILE", help="a YAML file, such as configs/ppo_config.yaml")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    parser.add_argument(
        "--resume", nargs="?", type=Path, const=Path(), metavar="RUN", help="go on with a run, or with the newest one"
    )
    given = parser.parse_args()
    short = {"training.algo": given.algo, "hints.mode": given.hint}
    given.set = [*given.set, *(f"{key}={value}" for key, value in short.items() if value is not None)]
    if given.config is None and (given.resume is None or given.set):
        parser.error("--config FILE is needed; only --resume RUN, by itself, takes the run's own settings")
    return given


if __name__ == "__main__":
    given = parse_arguments()
    sys.exit(main(given.config, given.set, given.resume))
