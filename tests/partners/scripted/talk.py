"""Talk at the table: what a partner says after it, for tests of single partners.

The usual table: a pool of 1 book, 2 hats, 3 balls, of which the seat values a book at 4, a hat at 3, a ball at 0, so
that the whole is worth 10. What it can get is worth 0, 3 (a hat), 4 (the book), 6 (two hats), 7 (book and hat) or 10.
"""

from __future__ import annotations

import numpy as np

from dond_marl.batch import GameBatch
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import pack
from dond_marl.seats import decide

P, INS, A, D, E = Act
POOL, MINE = (1, 2, 3), (4, 3, 0)
TRIPLE = (1, 1, 1)  # one of each: what is kept is easily named


def turns_after(
    *talk, pool=POOL, values=MINE, partner_values=(1, 1, 1), rules=None, prior="uniform", reveal=False, draw=0.0
):
    """The turn of the seat to move after ``talk``, a list of (act, oA); every uniform of its noise is ``draw``."""
    seat = len(talk) % 2
    scenario = Scenario(pool, (values, partner_values) if seat == 0 else (partner_values, values))
    table = GameBatch(pack([scenario], prior), rules or Rules(), reveal_partner_utilities=reveal)
    for act, oA in talk:
        table.step(decide(np.array([act]), np.array([oA])))
    return table.turns(np.full((1, 8), draw), np.full((1, 8), draw))


def says(partner, *talk, **view):
    """The partner's act after ``talk``, with its claim if it is an offer."""
    decisions = seat_occupant(partner).act(turns_after(*talk, **view))
    act = Act(int(decisions.act_type[0]))
    return (act, tuple(decisions.oA[0].tolist())) if act.is_offer else act


def claims(partner, length, **view):
    """The claims of ``seat_0`` on its turns in a game of ``length`` turns if its partner rejects everything."""
    view = {**view, "rules": Rules(length, "rejects")}
    talk = []
    for turn in range(length):
        talk.append((D, (0, 0, 0)) if turn % 2 else says(partner, *talk, **view))
    return [oA for _, oA in talk[::2]]
