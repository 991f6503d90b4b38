"""The tree of exceptions: whose mistake something is decides the exit code of every command.

::

    DondError
    ├── InputError   what the caller gave is wrong (exit code 2): a setting (ConfigError, ScenarioError, RewardError,
    │                OccupantNameError), an action (InvalidAction), a file that was named (RecordError, DataError,
    │                CheckpointError)
    └── RunFailure   the run could not go on (exit code 1): somebody or something that was asked failed (OccupantError,
                     PartnerError, HinterError, JudgeError, BackendError, FetchError), a folder of a run is damaged or
                     in use (RunError, LedgerError, BlobError), a call came too early or too late (OrderError)

Every error of this project is one of the two, but for :class:`dond_marl.game.IllegalAct`, a ``ValueError``, because the
rules need nothing but the standard library. A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations


class DondError(Exception):
    """Anything that this project raises on purpose; the message is written for the user."""


class InputError(DondError, ValueError):
    """What the caller gave is wrong."""


class RunFailure(DondError, RuntimeError):
    """The run could not go on, through no mistake in what the caller gave."""
