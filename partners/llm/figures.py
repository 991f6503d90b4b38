"""How a language model's games failed, told apart: its replies, the way to it, who played instead, and no deal at all.

The four are different troubles with different remedies (a prompt, a network, a budget, a negotiator), and one of them
must never be read as another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from dond_marl.batch import Games
from dond_marl.game import Ending
from dond_marl.seats import Cause


class Figures(NamedTuple):
    """Four numbers that are never added up, and what they are out of."""

    decisions: int  # of the model's seat
    parse_failures: int  # replies refused, those that a re-ask then mended included
    transport_failures: int  # asks without a reply, for want of a service or of budget
    fallbacks: int  # decisions that the fallback made
    games: int
    legal_no_deals: int  # games without a deal in which every act was legal and its seat's own choice

    def __str__(self) -> str:
        return (
            f"{self.decisions} decisions: {self.parse_failures} replies refused, {self.transport_failures} without a "
            f"reply, {self.fallbacks} by the fallback; {self.games} games, {self.legal_no_deals} legal ones without a "
            "deal"
        )


def figures(tally: Mapping[str, int], games: Games) -> Figures:
    """The figures of the games that were played while an :class:`LLMPartner` counted ``tally``."""

    def total(prefix: str) -> int:
        return sum(times for name, times in tally.items() if name.startswith(prefix))

    own = (games.cause == Cause.FREE).all(axis=1)
    legal_no_deals = ~games.deal & own & (games.ending != Ending.ILLEGAL)
    return Figures(
        decisions=tally.get("decisions", 0),
        parse_failures=total("rejected_"),
        transport_failures=total("failed_"),
        fallbacks=total("fallback_"),
        games=games.size,
        legal_no_deals=int(legal_no_deals.sum()),
    )
