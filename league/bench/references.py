"""What could have been had: references by partner, seat and slice of the scenarios, never the judged policy.

They are those of :mod:`league.standings.references`, stored with the package: a property of the partner alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dond_marl.scenarios.views import PARTS
from league.bench.protocol import ALL, HEADLINE, SLICES
from league.standings.references import reference_of

PARTS_OF = {HEADLINE: (1, 2), ALL: (0, 1, 2), **{name: (number,) for number, name in enumerate(PARTS)}}


class References(NamedTuple):
    """Of one partner: points of ten by slice and by the member's seat, and whether they are exact in that seat.

    What is not exact is a certified upper bound: a share of it is at most the true share. ``nan`` where nothing is
    certain.
    """

    values: Mapping[str, tuple[float, float]]  # by slice
    exact: tuple[bool, bool]


def references_to(partners: Sequence[str]) -> dict[str, References]:
    """The stored references to those of ``partners``, specs, that have one; on all scenarios of ``lewis``."""
    found = {}
    for partner in partners:
        stored = reference_of(partner)
        if stored is None:
            continue
        values = {}
        for name in SLICES:
            first, second = (
                math.nan if side is None else side.over(seat, PARTS_OF[name])[1]
                for seat, side in enumerate(stored.seats)
            )
            values[name] = first, second
        first_exact, second_exact = (side is not None and side.exact for side in stored.seats)
        found[partner] = References(values, (first_exact, second_exact))
    return found
