"""The equilibria of games of every length, and who else gets how much: measured, and written as lines of JSON.

Every figure but people's is an exact expectation over the 5,295 scenarios of ``lewis``, both seats taken by the same
player, in points of ten.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError
from dond_marl.game import SEATS, Disagree, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.space import lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.equilibria.table import SMALL, TEMPERATURES, Equilibrium, Pair
from dond_marl.yardsticks.equilibria.tree import Tree, lewis_pools
from dond_marl.yardsticks.solve import solve
from dond_marl.yardsticks.values import policy_value
from league.bench.submission import Submission

DIGITS = 4  # of a point in the results file
EQUILIBRIUM, PEOPLE, NASH = "equilibrium", "people", "the Nash point"
LARGEST, FAIR, ULTIMATUM = "the largest sum", "the fairest split", "with all values known, an ultimatum of"
LENGTH = 10  # turns of the game that players are compared in, and in the figure
PLAYERS = ("expert", "heuristic", "boulware")  # each against itself
IN_EVERY_GAME = ("expert",)  # in games of every length
DISAGREE: tuple[Disagree, ...] = ("ends", "rejects")


@dataclass(frozen=True)
class Worth:
    """What somebody gets against itself, or a solution of bargaining theory gives."""

    who: str
    turns: int | None  # of the game; None where the length does not matter or is not known
    points: Pair  # of ten, by seat
    deals: float  # the share of games that end in one
    temperature: float | None = None  # of an equilibrium, points of ten
    closes: tuple[float, ...] = ()  # the share of games that close with a deal on each turn
    gains: tuple[Pair, Pair] | None = None  # of a best response that remembers all, by seat: at least, at most
    disagree: Disagree = "ends"  # what DISAGREE does in its games
    identity: str = ""  # of a member of a league, which no catalogue has: its weights

    @property
    def welfare(self) -> float:
        """Points of both seats together."""
        return sum(self.points)


def measured(horizons: Sequence[int] = tuple(TEMPERATURES), players: Sequence[str] = PLAYERS) -> Iterator[Worth]:
    """Everything, the equilibria first."""
    for disagree in DISAGREE:
        for turns in horizons:
            for temperature in TEMPERATURES[turns]:
                yield of_table(turns, temperature, disagree)
    for who in players:
        for turns in horizons if who in IN_EVERY_GAME else (LENGTH,):
            yield of_player(who, turns)
    figures = stored_human_line().figures
    yield Worth(PEOPLE, None, _rounded((figures["first"].mean, figures["second"].mean)), figures["deals"].mean)
    solutions = solve(lewis_space())
    concepts = {
        NASH: solutions.nash,
        FAIR: solutions.egalitarian,
        LARGEST: solutions.utilitarian,
        **{f"{ULTIMATUM} {seat}": solutions.ultimatum[number] for number, seat in enumerate(SEATS)},
    }
    for name, concept in concepts.items():
        means = concept.means()
        yield Worth(name, None, _rounded((means.seat_0, means.seat_1)), round(float((concept.ties > 0).mean()), DIGITS))


def of_table(turns: int, temperature: float = SMALL, disagree: Disagree = "ends") -> Worth:
    """A shipped table."""
    table = Equilibrium.load(turns, temperature, disagree)
    closes = list(table.end_deals.closes)
    for pool, policy in zip(lewis_pools(), table.policies, strict=True):
        tree = Tree(pool, turns)
        for turn, reach in enumerate(tree.reach(policy)):
            closes[turn] += float((reach.sum(axis=1) * policy[turn][..., tree.width]).sum())
    first, second = table.gains
    return Worth(
        EQUILIBRIUM,
        turns,
        _rounded(table.values),
        round(table.deals, DIGITS),
        temperature,
        tuple(round(share, DIGITS) for share in closes),
        (_rounded(first), _rounded(second)),
        disagree,
    )


def of_player(who: str, turns: int) -> Worth:
    """An occupant that remembers nothing and knows its probabilities, against itself."""
    return _against_itself(who, seat_occupant(who), turns)


def of_member(member: Submission, league: str) -> Worth:
    """A member of a league of that name against itself, playing its likeliest act. Raises what its weights raise."""
    found = _against_itself(f"{league}: {member.name}", member.player.partner(), LENGTH)
    return replace(found, identity=member.known.identity)


def _against_itself(who: str, partner: Partner, turns: int) -> Worth:
    found = policy_value((partner, partner), lewis_space(), Rules(turns), "lewis")
    first, second = found.points.mean(axis=0).tolist()
    return Worth(who, turns, _rounded((first, second)), round(float(found.deals.mean()), DIGITS))


def lines(found: Iterable[Worth]) -> str:
    """A line of JSON each."""
    return "".join(json.dumps(asdict(worth)) + "\n" for worth in found)


def parsed(text: Iterable[str]) -> list[Worth]:
    """The inverse of :func:`lines`. Raises :class:`~dond_marl.errors.InputError` for other lines."""
    try:
        return [_parsed(json.loads(line)) for line in text]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"no worths of equilibria ({error}); make them again: dond experiment equilibria") from None


def _parsed(row: dict[str, Any]) -> Worth:
    gains = row.pop("gains")
    pairs = None if gains is None else (_pair(gains[0]), _pair(gains[1]))
    return Worth(points=_pair(row.pop("points")), closes=tuple(row.pop("closes")), gains=pairs, **row)


def _pair(values: Iterable[float]) -> Pair:
    first, second = values
    return first, second


def _rounded(values: Pair) -> Pair:
    return round(values[0], DIGITS), round(values[1], DIGITS)
