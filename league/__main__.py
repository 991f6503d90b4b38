"""``python -m league``: the same as ``dond-marl``."""

import sys

from league.cli.doors import main

sys.exit(main())
