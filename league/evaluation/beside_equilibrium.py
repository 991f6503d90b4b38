"""A member beside an equilibrium: what it gets from one, what one gets from it, and what its exploitability is made of.

The parts of an exploitability are those of :mod:`dond_marl.yardsticks.equilibria.shares`.
"""

from __future__ import annotations

from typing import NamedTuple

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.scenarios.space import lewis_space
from dond_marl.seats import Partner
from dond_marl.statistics import points_of_ten
from dond_marl.yardsticks.equilibria.shares import shares
from dond_marl.yardsticks.equilibria.table import TEMPERATURES, Pair
from dond_marl.yardsticks.odds import has_odds
from dond_marl.yardsticks.values import Exploitability, policy_value
from partners.equilibrium import EquilibriumPartner, table_for


class Parted(NamedTuple):
    """What an exploitability is made of, by seat, each at least and at most, expected points of ten."""

    conceded: tuple[Pair, Pair]
    weak: tuple[Pair, Pair]


class BesideEquilibrium(NamedTuple):
    """Expected points of ten over all scenarios of ``lewis``, by seat."""

    values: Pair  # of an equilibrium against itself
    responses: tuple[Pair, Pair]  # of a best response to an equilibrium: at least, at most
    member: Pair  # against an equilibrium
    equilibrium: Pair  # against the member
    exact: bool  # the last two; otherwise each scenario is played once

    @property
    def fewer(self) -> Pair:
        """What the member gets less against an equilibrium than another equilibrium would."""
        return self.values[0] - self.member[0], self.values[1] - self.member[1]

    @property
    def more(self) -> Pair:
        """What an equilibrium gets more against the member than against itself."""
        return self.equilibrium[0] - self.values[0], self.equilibrium[1] - self.values[1]


def knows(source: ScenarioSource, rules: Rules) -> bool:
    """Whether a table knows the game, and somebody can get something in it, as nobody can in one turn."""
    return source.prior == "lewis" and rules.max_turns in TEMPERATURES and rules.max_turns > 1


def beside_equilibrium(member: Partner, source: ScenarioSource, rules: Rules) -> BesideEquilibrium | None:
    """``None`` where no table :func:`knows` the game."""
    if not knows(source, rules):
        return None
    player, exact = EquilibriumPartner(), has_odds(member, rules)
    opens = _points((member, player), rules, exact)
    answers = _points((player, member), rules, exact)
    pairs = (opens[0], answers[1]), (answers[0], opens[1])
    table = table_for(rules)
    return BesideEquilibrium(table.values, table.responses, *pairs, exact)


def parted(exploited: tuple[Exploitability, Exploitability], source: ScenarioSource, rules: Rules) -> Parted | None:
    """What each seat's exploitability is made of; ``None`` where no table :func:`knows` the game."""
    if not knows(source, rules):
        return None
    first, second = (
        shares(each.self_play, (each.response.low, each.response.high), rational)
        for each, rational in zip(exploited, table_for(rules).responses, strict=True)
    )
    return Parted((first.conceded, second.conceded), (first.weak, second.weak))


def _points(pair: tuple[Partner, Partner], rules: Rules, exact: bool) -> Pair:
    """Mean points of ten of both seats over all scenarios of ``lewis``, each played once where they are not exact."""
    scenarios = lewis_space()
    if exact:
        points = policy_value(pair, scenarios, rules, "lewis").points
    else:
        games = rollout(pair, scenarios, rules, seed=0, prior="lewis")
        points = points_of_ten(games.scores, scenarios.wholes)
    first, second = points.mean(axis=0).tolist()
    return first, second
