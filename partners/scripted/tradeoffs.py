"""Trade-off partners: they concede with time, and among equally good splits choose the best for the partner.

The aspiration falls as in :mod:`partners.scripted.time_based`. All splits worth at least that and at most ``slack`` of
the whole value more, or else the least that is enough, are as good for them: they trade off along an indifference
curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from dond_marl.seats import Bools, Decisions, Traits, Turns
from partners.parameters import Range, Share
from partners.scripted.bayesian import claimed_in_all, prior_values
from partners.scripted.menu import NEVER, Menu, favourite, menu
from partners.scripted.offers import (
    Points,
    answer,
    claim_worth,
    offer_worth,
    partner_claims,
    points_needed,
    pool_worth,
)
from partners.scripted.time_based import Exponent, TimeBased

_SHARES = 2520  # the whole of an item type: every count up to 10 divides it


@dataclass(frozen=True)
class _Trader(TimeBased):
    """Concedes with time; see the module."""

    exponent: Exponent = 1.0
    slack: Share = 0.1

    def _as_good(self, turns: Turns, splits: Menu) -> tuple[Points, Bools]:
        """The points that are enough, ``[B]``, and the splits as good as that, ``[N, B]``."""
        wholes = pool_worth(turns)
        enough = points_needed(self.aspiration(turns), wholes)
        reaches = splits.fits & (splits.points >= enough)
        least = np.where(reaches, splits.points, wholes).min(axis=0)
        most = np.maximum(least, enough + (self.slack * wholes).astype(np.int32))
        return enough, reaches & (splits.points <= most)


@dataclass(frozen=True)
class Similarity(_Trader):
    """Concedes with time, and among equally good splits claims the one most similar to the partner's offer.

    Source: similarity trade-offs (Faratin, Sierra, Jennings 2002, *Using similarity criteria to make issue trade-offs
    in automated negotiations*, section 4). Two splits differ by the sum over the items of how many more or fewer it
    keeps, times what one of them is expected to be worth to the partner under the prior. It agrees to what reaches its
    aspiration. Before the partner's first claim that is taken to be for everything.

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it comes down to on its last turn.
    - ``slack``: 0..1, share of its whole value by which splits may differ and are as good for it.
    """

    def act(self, turns: Turns) -> Decisions:
        splits, values = menu(turns), prior_values(turns)
        enough, as_good = self._as_good(turns, splits)
        offer = turns.last_partner_offer_for_me.T
        far = sum(np.abs(splits.items[item] - offer[item]) * values[item] for item in range(3))
        claim, _ = favourite(splits, np.where(as_good, -np.asarray(far), NEVER))
        return answer(turns, offer_worth(turns) >= enough, claim)


@dataclass(frozen=True)
class FrequencyModel(_Trader):
    """Models the partner's values by how often it claims items, and trades off along its own indifference curve.

    Source: the frequency models of automated negotiators: Agent Smith (van Galen Last 2012, *Agent Smith: opponent
    model estimation in bilateral multi-issue negotiation*, section 3) and HardHeaded (van Krimpen, Looije, Hajizadeh
    2013); trading off by it as in Hindriks, Tykhonov 2008, *Opponent modelling in automated multi-issue negotiation*.
    An item type weighs 1 plus ``learning`` for each claim of the whole of it, less for claims of a part; its items
    share that weight equally. It claims what leaves the partner most weight, and agrees to what is worth its claim. Its
    memory is the sum of the partner's claims.

    - ``exponent``: more than 0; 1 concedes in equal steps, more holds out for longer, less concedes sooner.
    - ``floor``: 0..1, the share of its whole value that it comes down to on its last turn.
    - ``slack``: 0..1, share of its whole value by which splits may differ and are as good for it.
    - ``learning``: 0..100, the weight of a claim against the prior weight 1; 0: no learning.
    """

    exponent: Exponent = 2.0
    floor: Share = 0.6
    slack: Share = 0.15
    learning: Annotated[int, Range(0, 100)] = 3
    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns: Turns) -> Decisions:
        splits = menu(turns)
        _, as_good = self._as_good(turns, splits)
        counts = turns.counts.T.astype(np.int64)
        per_item = np.where(counts > 0, _SHARES // np.maximum(counts, 1), 0)
        claims = partner_claims(turns)
        claimed = (claims.oA * claims.made[:, None]).sum(axis=0, dtype=np.int64)
        weights = per_item * (_SHARES + self.learning * claimed * per_item)
        taken = sum(splits.items[item] * weights[item] for item in range(3))
        claim, _ = favourite(splits, np.where(as_good, -np.asarray(taken), NEVER))
        return answer(turns, offer_worth(turns) >= claim_worth(turns, claim), claim)

    def summary(self, turns: Turns) -> NDArray[np.int64]:
        """Its memory: how many of each item the partner has claimed in all, ``[B, 3]``."""
        return claimed_in_all(turns)[:, 1:]
