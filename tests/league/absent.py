"""A third party's partner that cannot be reached in some of its games, for the tests of what such games count for."""

from __future__ import annotations

from pathlib import Path

from tests.third_party import install

PLUGIN = """
import numpy as np
from dond_marl.seats import Cause, Traits, constant
from partners.scripted.heuristic import Heuristic

class Absent:
    '''The heuristic plays for it; in a share of its games that is so because of a cause, by its number.'''
    def __init__(self, share=1.0, cause=1, costly=True):
        self.share, self.cause = share, Cause(cause)
        self.traits = Traits(costly=costly, remote=costly)
    def act(self, turns):
        gone = turns.game_noise[:, 0] < self.share
        played = Heuristic().act(turns)
        return played._replace(cause=np.where(gone, self.cause, 0).astype(np.int8))
"""


def install_absent(folder: Path) -> Path:
    """Install the partner ``absent`` into ``folder``, which then goes on the path."""
    return install(folder, "absent_partner", PLUGIN, "absent = absent_partner:Absent")
