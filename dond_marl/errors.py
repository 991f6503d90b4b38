"""The tree of exceptions: whose mistake something is decides the exit code of every command.

::

    DondError
    ├── InputError      what the caller gave is wrong: a setting, a name, a file's content (exit code 2)
    └── RunFailure      the run could not go on: a damaged file, a full disk, a service out of reach (exit code 1)

Every exception of this project is one of the two, but for :class:`dond_marl.game.IllegalAct`, because the rules need
nothing but the standard library. A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations


class DondError(Exception):
    """Anything that this project raises on purpose; the message is written for the user."""


class InputError(DondError, ValueError):
    """What the caller gave is wrong."""


class RunFailure(DondError, RuntimeError):
    """The run could not go on, through no mistake in what the caller gave."""
