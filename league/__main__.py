"""``python -m league``: the same as ``dond``."""

import sys

from league.cli.main import main

sys.exit(main())
