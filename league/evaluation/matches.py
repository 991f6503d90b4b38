"""Games of a member in both seats of the same scenarios, and what it scores in them.

Every scenario is played once in each seat, with the same noise whoever plays. K = scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, one_line, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import Doubles, Partner, Whisper
from dond_marl.yardsticks.efficiency import check_joint
from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups
from league.evaluation.outcomes import Outcomes, outcomes_of


class PlayError(RunFailure):
    """An occupant failed while it was evaluated: ``who`` it is and its ``cause``; the message adds the seat."""

    def __init__(self, who: str, seat: int, cause: BaseException) -> None:
        super().__init__(f"{who} failed as {SEATS[seat]}: {one_line(cause)}")
        self.who, self.cause = who, cause


class Terms(NamedTuple):
    """What all games of an evaluation have in common."""

    source: ScenarioSource
    scenarios: Scenarios  # of the source
    rules: Rules
    seed: int = 0
    confidence: float = 0.95  # of intervals; two-sided, in (0, 1)
    revealed: bool = False  # both seats see each other's values

    def games(
        self,
        players: tuple[Partner, Partner],
        against: Partner,
        *,
        whisper: Whisper | None = None,
        index: tuple[int, ...] = (),
    ) -> Iterator[Games]:
        """The games of ``players[0]`` in seat_0, then those of ``players[1]`` in seat_1.

        ``whisper`` advises the players; ``index`` names the noise besides the seed. Raises
        :class:`~dond_marl.rollout.OccupantError`.
        """
        for seat, player in enumerate(players):
            yield rollout(
                (player, against) if seat == 0 else (against, player),
                self.scenarios,
                self.rules,
                seed=self.seed,
                index=(*index, seat),
                prior=self.source.prior,
                reveal_partner_utilities=self.revealed,
                whispers=(whisper, None) if seat == 0 else (None, whisper),
            )


def heldout_terms(rules: Rules = Rules(), seed: int = 0) -> Terms:
    """The scenarios of the default source on which nobody learns."""
    source = open_source("lewis", split="heldout")
    assert source.table is not None
    return Terms(source, source.table, rules, seed)


class Result(NamedTuple):
    """Points of ten of the member scored, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # both seats
    as_seat: tuple[Estimate, Estimate]
    deals: float
    turns: float  # acts of both seats per game


class Scores(NamedTuple):
    """The same over several opponents."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # points by opponent


def score(member: Partner, against: Partner, terms: Terms, whisper: Whisper | None = None) -> Result:
    """Play ``member`` against one partner; ``whisper`` advises ``member``."""
    games = list(terms.games((member, member), against, whisper=whisper))
    groups, points = scenario_groups(terms.scenarios), _own_points(games, terms)
    first, second = (mean_over_scenarios(own, groups, terms.confidence) for own in points)
    return Result(
        points=mean_over_scenarios(points, groups, terms.confidence),
        as_seat=(first, second),
        deals=float(np.mean([each.deal.mean() for each in games])),
        turns=float(np.mean([each.turns.mean() for each in games])),
    )


def scores(
    member: Partner, opponents: Sequence[str], terms: Terms, tell: Callable[[str], None] = lambda _: None
) -> Scores:
    """Play ``member`` against each of ``opponents``, named as in the catalogue; ``tell`` hears whom it plays."""
    groups, deals, points = scenario_groups(terms.scenarios), [], []
    for name in opponents:
        tell(name)
        games = list(terms.games((member, member), seat_occupant(name)))
        points.append(_own_points(games, terms))
        deals += [each.deal.mean() for each in games]
    return Scores(
        mean_over_scenarios(np.concatenate(points), groups, terms.confidence),
        float(np.mean(deals)),
        {name: mean_over_scenarios(own, groups, terms.confidence) for name, own in zip(opponents, points, strict=True)},
    )


def _own_points(games: Sequence[Games], terms: Terms) -> Doubles:
    """Points of ten of the player who sat in seat_0 of the first games and in seat_1 of the second, ``[2, K]``."""
    return np.stack([points_of_ten(each.scores, terms.scenarios.wholes)[:, seat] for seat, each in enumerate(games)])


def play_seats(
    terms: Terms, player: str, players: tuple[Partner, Partner], opponent: str, partner: Partner
) -> tuple[Outcomes, Outcomes]:
    """The outcomes of ``players[seat]`` in each seat against ``partner``; ``player`` and ``opponent`` are their names.

    Raises :class:`PlayError` and :class:`~dond_marl.yardsticks.efficiency.ImpossibleScore`.
    """
    seats: list[Outcomes] = []
    try:
        for seat, games in enumerate(terms.games(players, partner)):
            seats.append(outcomes_of(games, seat))
            check_joint(float((seats[seat].own + seats[seat].left).mean()), terms.scenarios)
    except OccupantError as error:
        who = player if error.seat == len(seats) else opponent
        raise PlayError(who, error.seat, error.__cause__ or error) from error
    return seats[0], seats[1]
