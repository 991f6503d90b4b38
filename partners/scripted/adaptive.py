"""Adaptive partners: their aspirations, or their patience, change with the partner's offers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.seats import Decisions, Turns, decide
from partners.parameters import Range, Rationality, Share, check_order
from partners.scripted.base import ScriptedPartner
from partners.scripted.bayesian import claimed_in_all, expected_values
from partners.scripted.menu import NEVER, favourite, menu, share_of_offer, shares_left
from partners.scripted.offers import (
    Claims,
    Points,
    answer,
    claim_worth,
    keep_valued,
    offer_worth,
    own_claims,
    partner_claims,
    points_needed,
    pool_worth,
    worst_at_least,
    worth_left,
)


@dataclass(frozen=True)
class AspirationAdaptation(ScriptedPartner):
    """Wants more after a generous offer and less after one that is no better than before.

    Source: aspiration adaptation (Selten 1998, *Aspiration adaptation theory*, section 2; Tietz, Weber 1978, in
    bargaining). It aspires to ``start`` of its whole value at first. An offer worth at least ``step`` of that whole
    more than every earlier one raises the aspiration by ``step``, at most to ``start``; a turn of the partner without a
    better offer lowers it by ``step``, at most to ``floor``; a smaller improvement leaves it. It agrees to what reaches
    the aspiration, otherwise it claims its worst split that does. Its memory is the aspiration and the best offer.

    - ``start``: 0..1, share of its whole value that it aspires to at first.
    - ``step``: 0..1, more than 0: share of its whole value by which it moves.
    - ``floor``: 0..1, at most ``start``: share of its whole value below which it never goes.
    """

    start: Share = 0.9
    step: Annotated[float, Range(0, 1, above=True)] = 0.1
    floor: Share = 0.3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_order(self, "floor", "start")

    def act(self, turns: Turns) -> Decisions:
        down, _ = self._steps(turns, partner_claims(turns))
        aspiration = np.maximum(self.start - self.step * down, self.floor)
        enough = points_needed(aspiration, pool_worth(turns))
        return answer(turns, offer_worth(turns) >= enough, worst_at_least(turns, enough))

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: by how many steps it has come down, and the best offer's points, ``[B, 2]``."""
        return np.stack(self._steps(turns, partner_claims(turns).before_the_last()), axis=1).astype(np.int64)

    def _steps(self, turns: Turns, claims: Claims) -> tuple[Points, Points]:
        most = ceil((self.start - self.floor) / self.step - 1e-9)
        better = points_needed(self.step, pool_worth(turns))
        down, best = np.zeros(turns.size, dtype=np.int32), np.zeros(turns.size, dtype=np.int32)
        for point in worth_left(turns, claims):  # -1 without a claim
            generous, no_better = (point >= best + better) & (point > best), point <= best
            down = np.clip(down + no_better - generous, 0, most)
            best = np.maximum(best, point)
        return down, best


@dataclass(frozen=True)
class Punisher(ScriptedPartner):
    """Asks for a fair share, and ends the game after too many offers that it takes for insults.

    Source: costly punishment of unfair offers (Güth, Schmittberger, Schwarze 1982, *An experimental analysis of
    ultimatum bargaining*, section 4; Fehr, Gächter 2000). A claim of the partner that leaves it less than ``insult`` of
    its whole value is an insult. After more than ``patience`` of them it says END. Until then it agrees to ``fair`` of
    its whole value and claims its worst split worth that. Its memory is the number of insults.

    - ``fair``: 0..1, share of its whole value that it wants.
    - ``insult``: 0..1, share of its whole value below which an offer insults it.
    - ``patience``: 0..100, insults without consequence.
    """

    fair: Share = 0.6
    insult: Share = 0.3
    patience: Annotated[int, Range(0, 100)] = 1

    def act(self, turns: Turns) -> Decisions:
        enough = points_needed(self.fair, pool_worth(turns))
        calm = answer(turns, offer_worth(turns) >= enough, worst_at_least(turns, enough))
        angry = self._insults(turns, partner_claims(turns)) > self.patience
        return decide(np.where(angry, np.int8(Act.END), calm.act_type), (calm.oA.T * ~angry).T)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: the number of insults, up to ``patience + 1``, ``[B, 1]``."""
        return np.minimum(self._insults(turns, partner_claims(turns).before_the_last()), self.patience + 1)[:, None]

    def _insults(self, turns: Turns, claims: Claims) -> NDArray[np.int64]:
        points = worth_left(turns, claims)
        insults: NDArray[np.int64] = ((points >= 0) & (points < points_needed(self.insult, pool_worth(turns)))).sum(
            axis=0
        )
        return insults


@dataclass(frozen=True)
class Zeuthen(ScriptedPartner):
    """Concedes just enough whenever it has more to lose from a breakdown than the partner.

    Source: Zeuthen 1930, *Problems of monopoly and economic warfare*, chapter 4, in the form of Harsanyi 1956; the
    monotonic concession protocol of Rosenschein, Zlotkin 1994, *Rules of encounter*, section 3.5. The seat with less to
    lose is the one whose claim has the smaller product of both shares. It begins with all that it values. While the
    product of its own claim is larger than that of the partner's it repeats its claim; otherwise it claims its best
    split with a larger product than the partner's, and agrees if that is no better for it than the offer, or if there
    is none. On the last turn of all it takes anything worth a point. The partner's share of a split is its expectation
    under the beliefs of :mod:`partners.scripted.bayesian`. Its memory is its own claim, and the sum and number of the
    partner's claims.

    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    rationality: Rationality = 8.0

    def act(self, turns: Turns) -> Decisions:
        values, splits, gift = expected_values(turns, self.rationality), menu(turns), offer_worth(turns)
        own = own_claims(turns)
        mine = np.where(own.number > 0, own.latest().T, keep_valued(turns).T).T
        to_partner = np.maximum((values * (turns.counts - mine).T).sum(axis=0), 0)
        theirs = gift * share_of_offer(turns, values)
        products = splits.points * shares_left(turns, splits, values)
        concedes = (own.number > 0) & (claim_worth(turns, mine) * to_partner <= theirs)
        conceded, points = favourite(splits, np.where(products > theirs, splits.points, NEVER))
        gives_in = concedes & ((points < 0) | (points <= gift))
        accept = gives_in | (gift >= claim_worth(turns, mine))
        if turns.rules.max_turns - turns.turns_taken == 1:
            accept |= gift > 0
        return answer(turns, accept, np.where(concedes & ~gives_in, conceded.T, mine.T).T)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: its latest claim, whether it has claimed, and the partner's claims in all, ``[B, 8]``."""
        own = own_claims(turns)
        return np.hstack([own.latest(), (own.number > 0)[:, None], claimed_in_all(turns)])
