"""What could have been had: references by partner, seat and slice of the scenarios, never the judged policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from league.bench.protocol import Field


class References(NamedTuple):
    """Of one partner: points of ten by slice and by the member's seat, and whether they are exact in that seat.

    What is not exact is a certified upper bound: a share of it is at most the true share.
    """

    values: Mapping[str, tuple[float, float]]  # by slice
    exact: tuple[bool, bool]


def references_to(_partners: Sequence[str], _field: Field) -> dict[str, References]:
    """The stored references to those partners that have one, on the slices of the field."""
    return {}
