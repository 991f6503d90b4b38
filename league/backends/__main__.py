"""``python -P -m league.backends LINK PAGE PARENT``: a worker process, see :mod:`league.backends.worker`."""

import sys

from league.backends.worker import serve

if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
