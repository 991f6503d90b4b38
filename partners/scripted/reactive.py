"""Reactive partners: their concessions, aspirations or patience answer the partner's offers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import Act
from dond_marl.seats import Decisions, Int8s, Traits, Turns, decide
from partners.parameters import PointsOfTen, Range, Rationality, Share, check_order
from partners.scripted.base import MemorylessPartner, RandomPartner, ScriptedPartner
from partners.scripted.bayesian import claimed_in_all, expected_values
from partners.scripted.menu import NEVER, favourite, menu, share_of_offer, shares_left
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
    """Concedes as much as the partner did.

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
    """Concedes a smallest step once its partner has made as many new offers.

    Source: MiCRO, de Jonge 2022 (IJCAI, "An Analysis of the Linear Bilateral ANAC Domains Using the MiCRO Benchmark
    Strategy"). Its splits are ranked by its own points; having made m different claims and received n, it claims the
    next one if m <= n, otherwise it repeats one of its m best at random. It agrees to what is worth at least the lowest
    claim that it has made or is ready to make. It never claims items that are worthless to it, nor nothing at all.
    """

    traits: ClassVar[Traits] = Traits()

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the repetition is drawn from noise 0."""
        ranks = ranking(turns)
        claimed, received = own_claims(turns).distinct(), partner_claims(turns).distinct()
        ready = (claimed <= received) & (claimed < worthwhile(ranks))
        repeated = (turns.noise[:, 0] * claimed).astype(np.int64)
        claim = at_rank(turns, ranks, np.where(ready, claimed, repeated))
        lowest = at_rank(turns, ranks, np.where(ready, claimed, claimed - 1))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, lowest), claim)


_WEIGHTS = ((1.0,), (0.25, 0.75), (0.11, 0.22, 0.66), (0.05, 0.15, 0.3, 0.5))  # of the latest concessions, oldest first


@dataclass(frozen=True)
class Hybrid(ScriptedPartner):
    """Mixes a time-based target with the concessions that it receives.

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
        """Memory: the worth of its last claim and of the four offers before the present one, ``[B, 7]``.

        Also whether it has claimed, and the number of offers.
        """
        claims, offers = own_claims(turns), partner_claims(turns).before_the_last()
        last = np.where(claims.number > 0, claim_worth(turns, claims.latest()), -1)
        number, points = np.minimum(offers.number, len(_WEIGHTS)), latest_offers(turns, offers)
        columns = [last, claims.number > 0, number, *points[:-1]]
        return np.stack(columns, axis=1).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        t, wholes = progress(turns), np.maximum(pool_worth(turns), 1)
        time = (1 - t) ** 2 * self.opening + 2 * t * (1 - t) * self.middle + t * t * self.closing
        claims, offers = own_claims(turns), partner_claims(turns)
        last = np.where(claims.number > 0, claim_worth(turns, claims.latest()) / wholes, 1.0)
        behavior = last - (0.5 + 0.5 * t) * weighted_concessions(turns, offers) / wholes
        target = np.where(offers.number >= 3, (1 - t * t) * behavior + t * t * time, time)
        claim = nearest_split(turns, target)
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)


def weighted_concessions(turns: Turns, offers: Claims) -> NDArray[np.float64]:
    """The weighted sum of the partner's concessions in its latest offers, ``[B]`` points; 0 before two offers."""
    latest, total = latest_offers(turns, offers), np.zeros(turns.size)
    weights = _WEIGHTS_BY_AGE[:, np.minimum(offers.number, len(_WEIGHTS) + 1)]
    for age, weight in enumerate(weights):
        total += weight * (latest[age] - latest[age + 1])
    return total


# Weights of the differences between offers, the latest first, for each number of offers 0..5: [4, 6].
_WEIGHTS_BY_AGE = np.array([[0.0] * 4, *([*reversed(row), *[0.0] * (4 - len(row))] for row in ((), *_WEIGHTS))]).T


def latest_offers(turns: Turns, offers: Claims) -> Points:
    """The seat's points in the last five offers, the latest first, ``[5, B]``; 0 where there were fewer."""
    # Row p holds the p-th latest offer, however many turns without an offer lie between.
    latest = np.zeros((len(_WEIGHTS) + 1, turns.size), dtype=np.int32)
    age = offers.has_claim[::-1].cumsum(axis=0)[::-1] - 1
    turn, row = np.nonzero(offers.has_claim & (age < len(latest)))
    latest[age[turn, row], row] = worth_left(turns, offers)[turn, row]
    return latest


@dataclass(frozen=True)
class ConcessionRule(ScriptedPartner):
    """Gives up one item a turn, of least value to it, down to a bottom line.

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
        """Memory: its last claim, whether either seat has claimed, and the interest shown, ``[B, 8]``."""
        claims, offers = own_claims(turns), partner_claims(turns).before_the_last()
        interest = np.where(offers.has_claim[:, None], np.where(offers.oA > 0, 1, -1), 0).sum(axis=0)
        return np.column_stack([claims.latest(), claims.number > 0, offers.number > 0, interest.T]).astype(np.int64)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; an acceptable offer that is no longer on the table becomes its own claim."""
        wholes, gift = pool_worth(turns), offer_worth(turns)
        high, low = points_needed(self.target / 10, wholes), points_needed(self.bottom / 10, wholes)
        claims, offers = own_claims(turns), partner_claims(turns)
        greedy = (turns.my_utilities == 0).any(axis=1)
        opening = np.where(greedy, keep_valued(turns).T, fill_claim(turns, high).T)
        latest = np.where(claims.number > 0, claims.latest().T, opening).T
        interest = 1 + np.where(offers.has_claim[:, None], np.where(offers.oA > 0, 1, -1), 0).sum(axis=0)
        conceded = _concede(turns, latest, interest, wholes)
        opened = claims.number > 0
        happy = gift >= np.minimum(high, claim_worth(turns, latest))
        settles = happy | (opened & (gift >= claim_worth(turns, conceded)) & (gift >= low))
        settles &= offers.number > 0
        firm = claim_worth(turns, conceded) < low
        speaks = np.where(opened & ~firm, conceded.T, latest.T)
        claim = np.where(settles, turns.last_partner_offer_for_me.T, speaks).T
        act = np.where(opened & firm & ~settles, np.int8(Act.INSIST), np.int8(Act.PROPOSE))
        return answer(turns, settles, claim, act)


def _concede(turns: Turns, latest: Int8s, interest: NDArray[np.int64], wholes: Points) -> Int8s:
    """The claim ``latest[B, 3]`` minus the item of least loss, plus items of negative ``interest[3, B]``."""
    values, claim = turns.my_utilities.T, latest.T
    loss = values.astype(np.int64) * 10 - interest * wholes  # value in points of ten minus interest, times the whole
    loss[claim == 0] = np.iinfo(np.int64).max
    conceded_item = np.arange(3)[:, None] == loss.argmin(axis=0)
    unwanted = (values > 0) & (interest < 0) & ~conceded_item
    return np.where(unwanted, turns.counts.T, claim - (conceded_item & (claim > 0))).astype(np.int8).T


@dataclass(frozen=True)
class AspirationAdaptation(ScriptedPartner):
    """Wants more after a generous offer, less after one that is no better.

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
        """Memory: the number of steps by which its aspiration has fallen, and the best offer's points, ``[B, 2]``."""
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
    """Asks for a fair share, and ends the game after too many insulting offers.

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
        """Memory: the number of insults, up to ``patience + 1``, ``[B, 1]``."""
        return np.minimum(self._insults(turns, partner_claims(turns).before_the_last()), self.patience + 1)[:, None]

    def _insults(self, turns: Turns, claims: Claims) -> NDArray[np.int64]:
        points = worth_left(turns, claims)
        insults: NDArray[np.int64] = ((points >= 0) & (points < points_needed(self.insult, pool_worth(turns)))).sum(
            axis=0
        )
        return insults


@dataclass(frozen=True)
class Zeuthen(ScriptedPartner):
    """Concedes when it has more to lose from a breakdown than the partner.

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
        claims = own_claims(turns)
        latest = np.where(claims.number > 0, claims.latest().T, keep_valued(turns).T).T
        to_partner = np.maximum((values * (turns.counts - latest).T).sum(axis=0), 0)
        product_of_offer = gift * share_of_offer(turns, values)
        products = splits.points * shares_left(turns, splits, values)
        concedes = (claims.number > 0) & (claim_worth(turns, latest) * to_partner <= product_of_offer)
        conceded, points = favourite(splits, np.where(products > product_of_offer, splits.points, NEVER))
        gives_in = concedes & ((points < 0) | (points <= gift))
        accept = gives_in | (gift >= claim_worth(turns, latest))
        if turns.rules.max_turns - turns.turns_taken == 1:
            accept |= gift > 0
        return answer(turns, accept, np.where(concedes & ~gives_in, conceded.T, latest.T).T)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Memory: its latest claim, whether it has claimed, and the partner's claims in all, ``[B, 8]``."""
        claims = own_claims(turns)
        return np.hstack([claims.latest(), (claims.number > 0)[:, None], claimed_in_all(turns)])
