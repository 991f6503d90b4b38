"""Partners that answer concessions with concessions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.seats import Decisions, Int8s, Traits, Turns
from partners.parameters import check_number, check_share
from partners.scripted.offers import (
    Claims,
    Points,
    answer,
    at_rank,
    fill,
    keep_valued,
    nearest,
    needed,
    offered,
    on_the_table,
    own_claims,
    own_turn,
    own_worth,
    partner_claims,
    progress,
    ranking,
    whole,
    worst_at_least,
    worth_left,
    worthwhile,
)


@dataclass(frozen=True)
class NaiveTitForTat:
    """Concedes as much as it was conceded: an offer that leaves it a third is answered with a demand for two thirds.

    Source: ``NaiveTitForTatNegotiator`` of NegMAS (Mohammad et al. 2020), a zero-sum model of the partner. It asks for
    its worst split worth 1 - u of its whole value, u being the share that the partner's latest claim leaves it, less
    ``kindness``, and agrees to as much. On its first turn it concedes nothing, on its second at least its cheapest
    item.

    - ``kindness``: 0..1, share of its whole value that it concedes beyond what it was conceded.
    """

    kindness: float = 0.0
    traits: ClassVar[Traits] = Traits(deterministic=True, memoryless=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_share("kindness", self.kindness)

    def act(self, turns: Turns) -> Decisions:
        wholes, gift = whole(turns), offered(turns)
        target = wholes
        if own_turn(turns):
            target = np.maximum(needed(1 - self.kindness, wholes) - gift, 0)
            if own_turn(turns) == 1:
                values = turns.my_utilities.T.astype(np.int32)
                cheapest = np.where((values > 0) & (turns.counts.T > 0), values, 100).min(axis=0)
                target = np.minimum(target, np.maximum(wholes - cheapest, 0))
        return answer(on_the_table(turns) & (gift >= target), worst_at_least(turns, target))


@dataclass(frozen=True)
class Micro:
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
        return answer(on_the_table(turns) & (offered(turns) >= own_worth(turns, lowest)), claim)


_WEIGHTS = ((1.0,), (0.25, 0.75), (0.11, 0.22, 0.66), (0.05, 0.15, 0.3, 0.5))  # of the latest concessions, oldest first


@dataclass(frozen=True)
class Hybrid:
    """Mixes a time-based target with the concessions that it receives, the deadline weighing more as it nears.

    Source: the Hybrid agent of Keskin, Çakan, Aydoğan 2021 (AAMAS), as in NegMAS ``HybridOfferingPolicy``. The time
    target is ``(1-t)^2 opening + 2t(1-t) middle + t^2 closing``, the behavior target its last own claim less
    (.5 + .5t) of the weighted differences between the last (up to five) offers to it. From three offers on it aims at
    (1-t^2) behavior + t^2 time, before that at time, claims its nearest split, and agrees to what is worth at least
    that claim.

    - ``opening``: 0..1, share of its whole value that its time target begins at.
    - ``middle``: 0..1, share that bends the time target's way down.
    - ``closing``: 0..1, share that its time target ends at.
    """

    opening: float = 1.0
    middle: float = 0.75
    closing: float = 0.8
    traits: ClassVar[Traits] = Traits(deterministic=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("opening", "middle", "closing"):
            check_share(name, getattr(self, name))

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """What it remembers: the worth of its last claim and of the four offers before the present one, ``[B, 7]``.

        Beside them, whether it has claimed and how many offers there were.
        """
        own, theirs = own_claims(turns), partner_claims(turns).before_the_last()
        last = np.where(own.number > 0, own_worth(turns, own.latest()), -1)
        columns = [last, own.number > 0, np.minimum(theirs.number, len(_WEIGHTS)), *latest_offers(turns, theirs)[:-1]]
        return np.stack(columns, axis=1).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        t, wholes = progress(turns), np.maximum(whole(turns), 1)
        time = (1 - t) ** 2 * self.opening + 2 * t * (1 - t) * self.middle + t * t * self.closing
        own, theirs = own_claims(turns), partner_claims(turns)
        last = np.where(own.number > 0, own_worth(turns, own.latest()) / wholes, 1.0)
        behavior = last - (0.5 + 0.5 * t) * weighted_concessions(turns, theirs) / wholes
        target = np.where(theirs.number >= 3, (1 - t * t) * behavior + t * t * time, time)
        claim = nearest(turns, target)
        return answer(on_the_table(turns) & (offered(turns) >= own_worth(turns, claim)), claim)


def weighted_concessions(turns: Turns, theirs: Claims) -> NDArray[np.float64]:
    """How much more the latest offers leave the seat, one against the next, weighted, ``[B]`` points; 0 before two."""
    latest, total = latest_offers(turns, theirs), np.zeros(turns.size)
    weights = _WEIGHTS_BY_AGE[:, np.minimum(theirs.number, len(_WEIGHTS) + 1)]
    for age, weight in enumerate(weights):
        total += weight * (latest[age] - latest[age + 1])
    return total


# For each number of offers, 0..5, what each of their differences weighs, the latest first: [4, 6].
_WEIGHTS_BY_AGE = np.array([[0.0] * 4, *([*reversed(some), *[0.0] * (4 - len(some))] for some in ((), *_WEIGHTS))]).T


def latest_offers(turns: Turns, theirs: Claims) -> Points:
    """What the last five offers leave the seat, the latest first, ``[5, B]`` points; 0 where there were fewer."""
    # The offers close up: position p holds the p-th latest, whatever turns lie between them.
    latest = np.zeros((len(_WEIGHTS) + 1, turns.size), dtype=np.int32)
    age = theirs.made[::-1].cumsum(axis=0)[::-1] - 1
    turn, row = np.nonzero(theirs.made & (age < len(latest)))
    latest[age[turn, row], row] = worth_left(turns, theirs)[turn, row]
    return latest


@dataclass(frozen=True)
class ConcessionRule:
    """Gives up one item a turn, that which it misses least and its partner seems to want most, down to a bottom line.

    Source: the rule-based bot of He et al. 2018 (arXiv 1808.09637), as in stanfordnlp/cocoa
    ``dealornodeal/sessions/rulebased_session.py``. It opens with all that it values if something is worthless to it,
    otherwise fills up to ``target`` points of ten. Each turn it takes the partner's offer if it is worth ``target`` or
    as much as its own claim; else gives up the item with the smallest value (of ten) less interest, and takes what the
    partner does not want; interest starts at 1 and each partner claim adds 1 for an item type asked for and takes 1
    otherwise. A concession below ``bottom`` points of ten is not made: it INSISTs on its claim. One no better than the
    partner's offer is not either: it agrees.

    - ``target``: 0..10, points of ten that it opens with and takes at once.
    - ``bottom``: 0..10, points of ten below which it concedes nothing more.
    """

    target: float = 8.0
    bottom: float = 4.0
    traits: ClassVar[Traits] = Traits(deterministic=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("target", self.target, 0, 10)
        check_number("bottom", self.bottom, 0, 10)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """What it remembers: its last claim, whether either has claimed, and the interest shown, ``[B, 8]``."""
        own, theirs = own_claims(turns), partner_claims(turns).before_the_last()
        interest = np.where(theirs.made[:, None], np.where(theirs.oA > 0, 1, -1), 0).sum(axis=0)
        return np.column_stack([own.latest(), own.number > 0, theirs.number > 0, interest.T]).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; an offer it wants that is no longer on the table it claims itself."""
        wholes, gift, table = whole(turns), offered(turns), on_the_table(turns)
        high, low = needed(self.target / 10, wholes), needed(self.bottom / 10, wholes)
        own, theirs = own_claims(turns), partner_claims(turns)
        greedy = (turns.my_utilities == 0).any(axis=1)
        opening = np.where(greedy, keep_valued(turns).T, fill(turns, high).T)
        mine = np.where(own.number > 0, own.latest().T, opening).T
        interest = 1 + np.where(theirs.made[:, None], np.where(theirs.oA > 0, 1, -1), 0).sum(axis=0)
        conceded = _concede(turns, mine, interest, wholes)
        opened = own.number > 0
        happy = gift >= np.minimum(high, own_worth(turns, mine))
        settles = happy | (opened & (gift >= own_worth(turns, conceded)) & (gift >= low))
        settles &= theirs.number > 0
        firm = own_worth(turns, conceded) < low
        speaks = np.where(opened & ~firm, conceded.T, mine.T)
        claim = np.where(settles, turns.last_partner_offer_for_me.T, speaks).T
        act = np.where(opened & firm & ~settles, np.int8(Act.INSIST), np.int8(Act.PROPOSE))
        return answer(settles & table, claim, act)


def _concede(turns: Turns, mine: Int8s, interest: NDArray[np.int64], wholes: Points) -> Int8s:
    """The claim ``mine[B, 3]`` less the item missed least, plus what the partner (``interest[3, B]``) does not want."""
    values, claim = turns.my_utilities.T, mine.T
    loss = values.astype(np.int64) * 10 - interest * wholes  # value in points of ten less interest, times the whole
    loss[claim == 0] = np.iinfo(np.int64).max
    conceded_item = np.arange(3)[:, None] == loss.argmin(axis=0)
    unwanted = (values > 0) & (interest < 0) & ~conceded_item
    return np.where(unwanted, turns.counts.T, claim - (conceded_item & (claim > 0))).astype(np.int8).T
