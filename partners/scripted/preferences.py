"""Partners with social preferences: kindness, envy, guilt.

The partner's share is its expectation under the beliefs of :mod:`partners.scripted.bayesian`. Their memory is
the sum and the number of the partner's claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dond_marl.seats import Decisions, Turns
from partners.parameters import Range, Rationality, Share
from partners.scripted.bayesian import Believer, expected_values
from partners.scripted.menu import (
    NEVER,
    favourite,
    menu,
    own_share_of_offer,
    own_shares,
    share_of_offer,
    shares_left,
)
from partners.scripted.offers import answer, pool_worth, progress

_UNIT = 1 << 10  # the whole of a weight
_ROUNDED = 16 * _UNIT  # sums of shares that differ by less than this are equal: each was rounded

Shares = NDArray[np.int64]


@dataclass(frozen=True)
class SocialValue(Believer):
    """Weighs the partner's share against its own by an angle, from competitor to altruist.

    Source: social value orientation as an angle (Griesinger, Livingston 1973; Murphy, Ackermann, Handgraaf 2011,
    *Measuring social value orientation*, section 2: competitors below -12.04 degrees, individualists to 22.45,
    prosocials to 57.15, altruists above). It claims the split with the largest cos(``angle``) own share +
    sin(``angle``) expected partner share, and agrees to an offer worth ``accept_ratio`` of that.

    - ``angle``: -90..90 degrees.
    - ``accept_ratio``: 0..1, share of the value of its claim that an offer must reach.
    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    angle: Annotated[float, Range(-90, 90)] = 30.0
    accept_ratio: Share = 0.8
    rationality: Rationality = 8.0

    def act(self, turns: Turns) -> Decisions:
        wholes, splits, values = pool_worth(turns), menu(turns), expected_values(turns, self.rationality)
        claim, best = favourite(splits, self._worth(own_shares(splits, wholes), shares_left(turns, splits, values)))
        gift = self._worth(own_share_of_offer(turns), share_of_offer(turns, values))
        return answer(turns, gift + _ROUNDED >= self.accept_ratio * best, claim)

    def _worth(self, own: Shares, theirs: Shares) -> Shares:
        return round(cos(radians(self.angle)) * _UNIT) * own + round(sin(radians(self.angle)) * _UNIT) * theirs


@dataclass(frozen=True)
class InequityAverse(Believer):
    """Dislikes having less than the partner, and a little also having more.

    Source: Fehr, Schmidt 1999, *A theory of fairness, competition, and cooperation*, section II, equation 2, on shares
    of each seat's whole value: own - ``alpha`` max(theirs - own, 0) - ``beta`` max(own - theirs, 0). As in their
    ultimatum game (section III) it claims what is best for it among the splits that a partner like itself would rather
    have than nothing. It agrees to an offer worth (1 - t) times that, t running from 0 on its first turn to 1 on its
    last, where it still refuses what is worse for it than nothing.

    - ``alpha``: at least ``beta``, at most 10: envy.
    - ``beta``: 0..1, less than 1: guilt.
    - ``rationality``: 0..100, how surely the partner claims what is best for it; 0: at random.
    """

    alpha: Annotated[float, Range(0, 10)] = 1.0
    beta: Share = 0.25
    rationality: Rationality = 8.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta == 1 or self.beta > self.alpha:
            raise ValueError(f"beta must be less than 1 and at most alpha, {self.alpha:g}; got {self.beta:g}")

    def act(self, turns: Turns) -> Decisions:
        wholes, splits, values = pool_worth(turns), menu(turns), expected_values(turns, self.rationality)
        own, left = own_shares(splits, wholes), shares_left(turns, splits, values)
        claim, best = favourite(splits, np.where(self._worth(left, own) >= 0, self._worth(own, left), NEVER))
        gift = self._worth(own_share_of_offer(turns), share_of_offer(turns, values))
        return answer(turns, gift + _ROUNDED >= (1 - progress(turns)) * np.maximum(best, 0), claim)

    def _worth(self, own: Shares, theirs: Shares) -> Shares:
        envy, guilt = round(self.alpha * _UNIT), round(self.beta * _UNIT)
        worth: Shares = own * _UNIT - envy * np.maximum(theirs - own, 0) - guilt * np.maximum(own - theirs, 0)
        return worth
