r"""Compare three ways to teach a negotiating style: the style itself as reward, a judge's word, a learned reward model.

examples:
  python scripts/styles.py                                     # the judge without a language model; minutes
  python scripts/styles.py --judges-only --set comparison.examples=10
  python scripts/styles.py --set comparison.styles=[stubborn] --set training.num_train_steps=400000
  GROQ_API_KEY=... python scripts/styles.py --judges-only --set comparison.episodes=50 --set comparison.seeds=1 \
      --set comparison.judge="llm_judge(max_requests=300, cache='runs/verdicts.sqlite', cache_mode=record)"
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from league.cli.experiments.styles import Request, main
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(f"{sys.executable} lacks {missing.name}: run `make setup`, then .venv/bin/python {__file__}")
except KeyboardInterrupt:
    sys.exit(130)


def parse_arguments() -> Request:
    """The command line."""
    parser = parser_of(__doc__)
    default = ROOT / "configs" / "styles.yaml"
    parser.add_argument("--config", type=Path, metavar="FILE", default=default, help="(configs/styles.yaml)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="override one setting; may be repeated"
    )
    most = min(os.cpu_count() or 1, 64)
    parser.add_argument(
        "--workers", type=int, choices=range(1, 65), metavar="N", default=most, help="learners at a time (%(default)s)"
    )
    parser.add_argument("--judges-only", action="store_true", help="how judges label; nothing is learned")
    given = parser.parse_args()
    return Request(given.config, given.set, given.workers, given.judges_only)


if __name__ == "__main__":
    sys.exit(main(parse_arguments()))
