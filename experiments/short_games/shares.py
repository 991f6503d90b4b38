"""How far a policy is from an equilibrium, and whose doing that is.

The parts of an exploitability are those of :mod:`dond_marl.yardsticks.values`; here all of them are exact.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from dond_marl.game import SEATS, Rules
from dond_marl.scenarios.sources import open_source
from dond_marl.scenarios.space import lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.equilibria import Equilibrium
from dond_marl.yardsticks.equilibria.table import Pair
from dond_marl.yardsticks.values import ExploitabilityParts, policy_value, response_value, split_exploitability

# Points of ten: an equilibrium is found where NashConv is at most this, and this one where values are, too.
FOUND = 0.25


class Standing(NamedTuple):
    """Values of a policy against itself, and of best responses to it, by seat, expected points of ten, exact."""

    values: Pair
    responses: Pair

    @property
    def exploitability(self) -> Pair:
        """By seat."""
        return self.responses[0] - self.values[0], self.responses[1] - self.values[1]

    @property
    def nash_conv(self) -> float:
        return sum(self.exploitability)

    def conceded(self, equilibrium: Standing) -> Pair:
        """By seat: what it would gain by a best response to the equilibrium, more than it takes against itself."""
        first, second = (part.conceded[0] for part in self._shares(equilibrium))
        return first, second

    def weak(self, equilibrium: Standing) -> Pair:
        """By seat: what a best response gets from it, more than from the equilibrium."""
        first, second = (part.weak[0] for part in self._shares(equilibrium))
        return first, second

    def _shares(self, equilibrium: Standing) -> list[ExploitabilityParts]:
        seats = zip(self.values, self.responses, equilibrium.responses, strict=True)
        return [split_exploitability(own, (response,) * 2, (rational,) * 2) for own, response, rational in seats]

    def distance(self, equilibrium: Standing) -> float:
        """Of its values to the equilibrium's, in the seat in which that is larger."""
        return max(abs(own - other) for own, other in zip(self.values, equilibrium.values, strict=True))

    @property
    def is_equilibrium(self) -> bool:
        """Whether no seat gains much by leaving it: some equilibrium, within :data:`FOUND`."""
        return self.nash_conv <= FOUND

    def found(self, equilibrium: Standing) -> bool:
        """Whether it is an equilibrium with the values of this one, within :data:`FOUND`."""
        return self.is_equilibrium and self.distance(equilibrium) <= FOUND


def standing_of(partner: Partner, turns: int) -> Standing:
    """Of a memoryless partner that knows its probabilities, over all scenarios of ``lewis``; at most four turns."""
    source, rules = open_source("lewis", split="all"), Rules(turns)
    first, second = policy_value((partner, partner), lewis_space(), rules, source.prior).points.mean(axis=0).tolist()
    responses = [response_value(partner, source, rules, seat) for seat in range(len(SEATS))]
    assert all(response.exact for response in responses)
    return Standing((first, second), (float(responses[0].low), float(responses[1].low)))


@cache
def equilibrium(turns: int) -> Standing:
    """Of the shipped equilibrium, with best responses that remember everything; exact, as there are at most four turns.

    There are others: who is offered what is worth nothing may take it or not. At two turns this one takes it half the
    time.
    """
    table = Equilibrium.load(turns)
    (_, first), (_, second) = table.responses
    return Standing(table.values, (first, second))
