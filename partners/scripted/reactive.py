"""Reactive partners: they answer the partner's concessions with concessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.seats import Decisions, Int8s, Traits, Turns
from partners.parameters import PointsOfTen, Share
from partners.scripted.base import MemorylessPartner, RandomPartner, ScriptedPartner
from partners.scripted.offers import (
    Claims,
    Points,
    answer,
    at_rank,
    claim_worth,
    fill_claim,
    keep_valued,
    nearest_split,
    offer_worth,
    own_claims,
    own_turn,
    partner_claims,
    points_needed,
    pool_worth,
    progress,
    ranking,
    worst_at_least,
    worth_left,
    worthwhile,
)


@dataclass(frozen=True)
class NaiveTitForTat(MemorylessPartner):
    """Concedes as much as the partner did: an offer that leaves it a third is answered with a demand for two thirds.

    Source: ``NaiveTitForTatNegotiator`` of NegMAS (Mohammad et al. 2020), a zero-sum model of the partner. It asks for
    its worst split worth 1 - u of its whole value, u being the share that the partner's latest claim leaves it, minus
    ``kindness``, and agrees to as much. On its first turn it concedes nothing, on its second at least its cheapest
    item.

    - ``kindness``: 0..1, share of its whole value that it concedes beyond the partner's concession.
    """

    kindness: Share = 0.0

    def act(self, turns: Turns) -> Decisions:
        wholes, gift = pool_worth(turns), offer_worth(turns)
        target = wholes
        if own_turn(turns):
            target = np.maximum(points_needed(1 - self.kindness, wholes) - gift, 0)
            if own_turn(turns) == 1:
                values = turns.my_utilities.T.astype(np.int32)
                cheapest = np.where((values > 0) & (turns.counts.T > 0), values, 100).min(axis=0)
                target = np.minimum(target, np.maximum(wholes - cheapest, 0))
        return answer(turns, gift >= target, worst_at_least(turns, target))


@dataclass(frozen=True)
class Micro(RandomPartner):
    """Makes its next smallest concession whenever its partner has made as many different offers as it has.

    Source: MiCRO, de Jonge 2022 (IJCAI, "An Analysis of the Linear Bilateral ANAC Domains Using the MiCRO Benchmark
    Strategy"). Its splits are ranked by its own points; having made m different claims and received n, it claims the
    next one if m <= n, otherwise it repeats one of its m best at random. It agrees to what is worth at least the lowest
    claim that it has made or is ready to make. It never claims items that are worthless to it, nor nothing at all.
    """

    traits: ClassVar[Traits] = Traits()

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the repetition is drawn from noise 0."""
        ranks = ranking(turns)
        made, received = own_claims(turns).distinct(), partner_claims(turns).distinct()
        ready = (made <= received) & (made < worthwhile(ranks))
        repeated = (turns.noise[:, 0] * made).astype(np.int64)
        claim = at_rank(turns, ranks, np.where(ready, made, repeated))
        lowest = at_rank(turns, ranks, np.where(ready, made, made - 1))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, lowest), claim)


_WEIGHTS = ((1.0,), (0.25, 0.75), (0.11, 0.22, 0.66), (0.05, 0.15, 0.3, 0.5))  # of the latest concessions, oldest first


@dataclass(frozen=True)
class Hybrid(ScriptedPartner):
    """Mixes a time-based target with the concessions that it receives, the deadline weighing more as it nears.

    Source: the Hybrid agent of Keskin, Çakan, Aydoğan 2021 (AAMAS), as in NegMAS ``HybridOfferingPolicy``. The time
    target is ``(1-t)^2 opening + 2t(1-t) middle + t^2 closing``, the behavior target its last own claim minus
    (.5 + .5t) of the weighted differences between the last (up to five) offers to it. From three offers on it aims at
    (1-t^2) behavior + t^2 time, before that at time, claims its nearest split, and agrees to what is worth at least
    that claim.

    - ``opening``: 0..1, share of its whole value that its time target begins at.
    - ``middle``: 0..1, share that bends the time target's way down.
    - ``closing``: 0..1, share that its time target ends at.
    """

    opening: Share = 1.0
    middle: Share = 0.75
    closing: Share = 0.8

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: the worth of its last claim and of the four offers before the present one, ``[B, 7]``.

        Also whether it has claimed, and the number of offers.
        """
        own, theirs = own_claims(turns), partner_claims(turns).before_the_last()
        last = np.where(own.number > 0, claim_worth(turns, own.latest()), -1)
        columns = [last, own.number > 0, np.minimum(theirs.number, len(_WEIGHTS)), *latest_offers(turns, theirs)[:-1]]
        return np.stack(columns, axis=1).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        t, wholes = progress(turns), np.maximum(pool_worth(turns), 1)
        time = (1 - t) ** 2 * self.opening + 2 * t * (1 - t) * self.middle + t * t * self.closing
        own, theirs = own_claims(turns), partner_claims(turns)
        last = np.where(own.number > 0, claim_worth(turns, own.latest()) / wholes, 1.0)
        behavior = last - (0.5 + 0.5 * t) * weighted_concessions(turns, theirs) / wholes
        target = np.where(theirs.number >= 3, (1 - t * t) * behavior + t * t * time, time)
        claim = nearest_split(turns, target)
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)


def weighted_concessions(turns: Turns, theirs: Claims) -> NDArray[np.float64]:
    """The weighted sum of the partner's concessions in its latest offers, ``[B]`` points; 0 before two offers."""
    latest, total = latest_offers(turns, theirs), np.zeros(turns.size)
    weights = _WEIGHTS_BY_AGE[:, np.minimum(theirs.number, len(_WEIGHTS) + 1)]
    for age, weight in enumerate(weights):
        total += weight * (latest[age] - latest[age + 1])
    return total


# Weights of the differences between offers, the latest first, for each number of offers 0..5: [4, 6].
_WEIGHTS_BY_AGE = np.array([[0.0] * 4, *([*reversed(some), *[0.0] * (4 - len(some))] for some in ((), *_WEIGHTS))]).T


def latest_offers(turns: Turns, theirs: Claims) -> Points:
    """The seat's points in the last five offers, the latest first, ``[5, B]``; 0 where there were fewer."""
    # Row p holds the p-th latest offer, however many turns without an offer lie between.
    latest = np.zeros((len(_WEIGHTS) + 1, turns.size), dtype=np.int32)
    age = theirs.made[::-1].cumsum(axis=0)[::-1] - 1
    turn, row = np.nonzero(theirs.made & (age < len(latest)))
    latest[age[turn, row], row] = worth_left(turns, theirs)[turn, row]
    return latest


@dataclass(frozen=True)
class ConcessionRule(ScriptedPartner):
    """Gives up one item a turn, of least value to it and of most interest to its partner, down to a bottom line.

    Source: the rule-based bot of He et al. 2018 (arXiv 1808.09637), as in stanfordnlp/cocoa
    ``dealornodeal/sessions/rulebased_session.py``. It opens with all that it values if something is worthless to it,
    otherwise fills up to ``target`` points of ten. Each turn it takes the partner's offer if it is worth ``target`` or
    as much as its own claim; else gives up the item with the smallest value (of ten) minus interest, and takes what the
    partner does not want; interest starts at 1 and each partner claim adds 1 for an item type asked for and takes 1
    otherwise. A concession below ``bottom`` points of ten is not made: it INSISTs on its claim. One no better than the
    partner's offer is not either: it agrees.

    - ``target``: 0..10, points of ten that it opens with and takes at once.
    - ``bottom``: 0..10, points of ten below which it concedes nothing more.
    """

    target: PointsOfTen = 8.0
    bottom: PointsOfTen = 4.0

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: its last claim, whether either has claimed, and the interest shown, ``[B, 8]``."""
        own, theirs = own_claims(turns), partner_claims(turns).before_the_last()
        interest = np.where(theirs.made[:, None], np.where(theirs.oA > 0, 1, -1), 0).sum(axis=0)
        return np.column_stack([own.latest(), own.number > 0, theirs.number > 0, interest.T]).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; an acceptable offer that is no longer on the table becomes its own claim."""
        wholes, gift = pool_worth(turns), offer_worth(turns)
        high, low = points_needed(self.target / 10, wholes), points_needed(self.bottom / 10, wholes)
        own, theirs = own_claims(turns), partner_claims(turns)
        greedy = (turns.my_utilities == 0).any(axis=1)
        opening = np.where(greedy, keep_valued(turns).T, fill_claim(turns, high).T)
        mine = np.where(own.number > 0, own.latest().T, opening).T
        interest = 1 + np.where(theirs.made[:, None], np.where(theirs.oA > 0, 1, -1), 0).sum(axis=0)
        conceded = _concede(turns, mine, interest, wholes)
        opened = own.number > 0
        happy = gift >= np.minimum(high, claim_worth(turns, mine))
        settles = happy | (opened & (gift >= claim_worth(turns, conceded)) & (gift >= low))
        settles &= theirs.number > 0
        firm = claim_worth(turns, conceded) < low
        speaks = np.where(opened & ~firm, conceded.T, mine.T)
        claim = np.where(settles, turns.last_partner_offer_for_me.T, speaks).T
        act = np.where(opened & firm & ~settles, np.int8(Act.INSIST), np.int8(Act.PROPOSE))
        return answer(turns, settles, claim, act)


def _concede(turns: Turns, mine: Int8s, interest: NDArray[np.int64], wholes: Points) -> Int8s:
    """The claim ``mine[B, 3]`` minus the item of least loss, plus items of negative ``interest[3, B]``."""
    values, claim = turns.my_utilities.T, mine.T
    loss = values.astype(np.int64) * 10 - interest * wholes  # value in points of ten minus interest, times the whole
    loss[claim == 0] = np.iinfo(np.int64).max
    conceded_item = np.arange(3)[:, None] == loss.argmin(axis=0)
    unwanted = (values > 0) & (interest < 0) & ~conceded_item
    return np.where(unwanted, turns.counts.T, claim - (conceded_item & (claim > 0))).astype(np.int8).T
