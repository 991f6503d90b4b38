"""Download the four published data files (Lewis et al. 2017, CC BY-NC 4.0) and verify them by SHA-256.

examples:
  python scripts/fetch_data.py
  python scripts/fetch_data.py --data-dir ~/negotiation-data
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

try:
    from dond_marl.scenarios.data import BASE_URL, DEFAULT_DATA_DIR
    from dond_marl.scenarios.fetch import FetchError, fetch
    from league.cli.help_text import parser_of
except ModuleNotFoundError as missing:
    sys.exit(
        f"{missing.name} is not installed for {sys.executable}: run `make setup`, then .venv/bin/python {__file__}"
    )


def main() -> int:
    """Exit code 0 once every file is there and verified, 1 otherwise."""
    parser = parser_of(__doc__)
    parser.add_argument("--data-dir", default=str(DEFAULT_DATA_DIR), help="folder for the files (default: %(default)s)")
    parser.add_argument("--url", default=BASE_URL, help="where the files lie (default: %(default)s)")
    options = parser.parse_args()
    try:
        fetch(options.data_dir, options.url)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; files that were not complete have been removed", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
