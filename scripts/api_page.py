"""Write into docs/API.md, beside every public name, what the code says that it is; a name is added there by hand.

examples:
  python scripts/api_page.py
  python scripts/api_page.py --check    # change nothing; exit code 1 if the page is not what the code says
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # this folder's league.py would shadow the package league

from league.cli.help_text import parser_of
from scripts.docs_site.api_page import described

PAGE = ROOT / "docs" / "API.md"


def main() -> int:
    """Exit code 0, or 1 for a page that is not as the code says."""
    parser = parser_of(__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, only say whether the page is right")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    try:
        right = described(page)
    except (AttributeError, ModuleNotFoundError) as error:
        print(f"{PAGE.name} names what is not there: {error}; take it off the page, or put it back", file=sys.stderr)
        return 1
    if check and right != page:
        print(f"{PAGE.name} is not what the code says: run python scripts/api_page.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(right, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
