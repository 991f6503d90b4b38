"""The default heuristic partner and its relatives: they ask for what they value and accept what is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.seats import Decisions, Turns
from partners.parameters import PointsOfTen, Range, Share
from partners.scripted.base import MemorylessPartner, ScriptedPartner
from partners.scripted.offers import (
    answer,
    best_allowed,
    claim_worth,
    fill_claim,
    has_offer,
    item_numbers,
    keep_valued,
    offer_worth,
    own_claims,
    own_turn,
    points_needed,
    pool_worth,
    worst_at_least,
)


@dataclass(frozen=True)
class Heuristic(MemorylessPartner):
    """Accepts an offer worth enough of its whole value, else asks greedily.

    Source: this project. It agrees to at least ``accept_ratio`` of its whole value (``insist_ratio`` if the offer on
    the table was INSISTed), otherwise, and in the opening, it PROPOSEs to keep every item that it values; with
    ``demand`` < 1, its most valuable items, item by item, until that share is reached.
    On the last turn it does the same, although no answer can follow.

    - ``accept_ratio``: 0..1, share of its whole value that an offer must reach.
    - ``insist_ratio``: 0..1, the same for an offer that was INSISTed.
    - ``demand``: 0..1, share of its whole value that it asks for.
    """

    accept_ratio: Share = 0.55
    insist_ratio: Share = 0.5
    demand: Share = 1.0
    insist_is_propose: ClassVar[bool] = False

    def act(self, turns: Turns) -> Decisions:
        wholes = pool_worth(turns)
        insisted = turns.last_partner_act == Act.INSIST
        enough = np.where(insisted, points_needed(self.insist_ratio, wholes), points_needed(self.accept_ratio, wholes))
        claim = keep_valued(turns) if self.demand == 1 else fill_claim(turns, points_needed(self.demand, wholes))
        return answer(turns, offer_worth(turns) >= enough, claim)


@dataclass(frozen=True)
class Tough(MemorylessPartner):
    """Asks for its own best every time and accepts nothing less.

    Source: ``ToughNegotiator`` of NegMAS (Mohammad et al. 2020), the hard-headed limit of time-based play.
    """

    def act(self, turns: Turns) -> Decisions:
        return answer(turns, offer_worth(turns) >= pool_worth(turns), keep_valued(turns))


@dataclass(frozen=True)
class FirstAcceptableOffer(MemorylessPartner):
    """Repeats a greedy opening, takes the first offer worth ``tau`` of ten.

    Source: the First-Acceptable-Offer threshold baseline of public evaluations of language models on this game.

    - ``tau``: 0..10, points of ten that an offer must reach.
    """

    tau: PointsOfTen = 5.0

    def act(self, turns: Turns) -> Decisions:
        enough = points_needed(self.tau / 10, pool_worth(turns))
        return answer(turns, offer_worth(turns) >= enough, keep_valued(turns))


@dataclass(frozen=True)
class Pushover(MemorylessPartner):
    """Agrees to any offer, and asks for little when it must speak first.

    Source: the push-over style of Kwon et al. 2023 (arXiv 2303.00001, section 4.3), which ends with less than its
    partner. ``demand`` is the share of its whole value that its worst acceptable split, its claim, must reach.

    - ``demand``: 0..1, share of its whole value that it asks for.
    """

    demand: Share = 0.25

    def act(self, turns: Turns) -> Decisions:
        return answer(turns, has_offer(turns), worst_at_least(turns, points_needed(self.demand, pool_worth(turns))))


@dataclass(frozen=True)
class Stubborn(MemorylessPartner):
    """INSISTs on one claim until its last offer that counts is due.

    Source: the stubborn style of Kwon et al. 2023 (arXiv 2303.00001, section 4.3), which repeats a claim; the late
    concession is this project's. Its claim fills up to ``demand`` of its whole value. Once ``late`` or fewer turns
    remain (three or two: its last offer that can still be answered) it PROPOSEs its worst split worth ``floor`` of its
    whole value and takes any offer worth as much.

    - ``demand``: 0..1, share of its whole value that it claims.
    - ``floor``: 0..1, share of its whole value that it comes down to at the end.
    - ``late``: 0..100, turns that are left when it comes down.
    """

    demand: Share = 1.0
    floor: Share = 0.5
    late: Annotated[int, Range(0, 100)] = 3

    def act(self, turns: Turns) -> Decisions:
        if turns.rules.max_turns - turns.turns_taken <= self.late:
            act, claim = Act.PROPOSE, worst_at_least(turns, points_needed(self.floor, pool_worth(turns)))
        else:
            act = Act.INSIST if own_turn(turns) else Act.PROPOSE
            claim = fill_claim(turns, points_needed(self.demand, pool_worth(turns)))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim, act)


@dataclass(frozen=True)
class Versatile(ScriptedPartner):
    """Never makes the same claim twice: each time the best one not yet made.

    Source: the versatile style of Kwon et al. 2023 (arXiv 2303.00001, section 4.3). It agrees to an offer worth
    ``accept_ratio`` of its whole value or as much as its next claim. It leaves out splits that keep something worthless
    to it; with all others claimed it begins again.

    - ``accept_ratio``: 0..1, share of its whole value that an offer must reach.
    """

    accept_ratio: Share = 0.6

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Memory: the partner's own claims, sorted, ``[B, H]``."""
        claims = own_claims(turns)
        codes = (claims.oA[:, 0].astype(np.int64) * 11 + claims.oA[:, 1]) * 11 + claims.oA[:, 2]
        return np.sort(np.where(claims.has_claim, codes, -1), axis=0).T

    def act(self, turns: Turns) -> Decisions:
        claims, base = own_claims(turns), len(item_numbers(turns))
        code = np.ravel_multi_index(tuple(claims.oA.transpose(1, 0, 2).astype(np.int64)), (base, base, base))
        claimed = np.zeros((base**3, turns.size), dtype=bool)
        turn, row = np.nonzero(claims.has_claim)
        claimed[code[turn, row], row] = True
        claim = best_allowed(turns, claimed)
        enough = np.minimum(claim_worth(turns, claim), points_needed(self.accept_ratio, pool_worth(turns)))
        return answer(turns, offer_worth(turns) >= enough, claim)
