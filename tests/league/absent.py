"""A third party's partner that cannot be reached in some of its games, for the tests of what such games count for."""

from __future__ import annotations

from pathlib import Path

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
    (folder / "absence-1.0.dist-info").mkdir(parents=True)
    (folder / "absent_partner.py").write_text(PLUGIN)
    (folder / "absence-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: absence\nVersion: 1.0\n")
    (folder / "absence-1.0.dist-info" / "entry_points.txt").write_text(
        "[dond_marl.partners]\nabsent = absent_partner:Absent\n"
    )
    return folder
