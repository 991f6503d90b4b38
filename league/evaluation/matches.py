"""Games of a player in both seats of the same scenarios, against one partner, and its scores.

Every scenario is played once in each seat, with the same noise for all players. K = scenarios.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import RunFailure, error_line
from dond_marl.game import SEATS, Rules
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import UNREACHED_BOUND, Decisions, HintSource, Partner, Turns
from dond_marl.statistics import Estimate, points_of_ten, scenario_groups
from league.figures.measures import Measures, measures_of_games
from league.figures.tally import Tally
from league.play.values import Answers, answers_of, unreachable_member

MEMBER, PARTNER = "the member", "its partner"  # as a score's answers name them


class PlayError(OccupantError):
    """An occupant failed during an evaluation; ``player`` is its name, and the message adds the seat."""

    def __init__(self, player: str, seat: int, cause: BaseException) -> None:
        RunFailure.__init__(self, f"{player} failed as {SEATS[seat]}: {error_line(cause)}")
        self.player, self.seat, self.cause = player, seat, cause


class UnreachedError(RunFailure):
    """A player could not be reached in too many games, where its fallback played; ``answers`` by player."""

    def __init__(self, player: str, reason: str, answers: Mapping[str, Answers]) -> None:
        super().__init__(f"no figures for {player}, they would be its fallback's: {reason}")
        self.player, self.answers = player, answers


class Terms(NamedTuple):
    """The settings that all games of an evaluation share."""

    source: ScenarioSource
    scenarios: Scenarios  # of the source
    rules: Rules
    seed: int = 0
    confidence: float = 0.95  # of intervals; two-sided, in (0, 1)
    revealed: bool = False  # both seats see each other's values
    exact: bool = False  # whether references may query code of others beyond its games

    def play_seat(
        self,
        seat: int,
        player: Partner,
        against: Partner,
        *,
        hints: HintSource | None = None,
        index: tuple[int, ...] = (),
    ) -> Games:
        """The games of ``player`` in one seat; ``hints`` advises it, ``index`` names the noise besides the seed.

        Raises :class:`~dond_marl.rollout.OccupantError`.
        """
        return rollout(
            (player, against) if seat == 0 else (against, player),
            self.scenarios,
            self.rules,
            seed=self.seed,
            index=(*index, seat),
            reveal_partner_utilities=self.revealed,
            hints=(hints, None) if seat == 0 else (None, hints),
        )


class SeatGames(NamedTuple):
    """The games of one player against one partner, in seat_0 and in seat_1, and the answer counts of both by name."""

    games: tuple[Games, Games]
    answers: Mapping[str, Answers]

    def measures(self) -> tuple[Measures, Measures]:
        """The measures of all games by the player's seat."""
        return measures_of_games(self.games[0], 0), measures_of_games(self.games[1], 1)

    def tally(self) -> Tally:
        """Own points, deals and turns, ``[seat, 3, GROUPS]``, by the player's seat; they need no solved scenarios.

        Games in which a seat was not reached are left out.
        """
        groups, tallies = scenario_groups(self.games[0].scenarios), []
        for seat, games in enumerate(self.games):
            points = points_of_ten(games.scores, games.scenarios.pool_values)[:, seat]
            values = np.stack([points, games.deal, games.turns])
            tallies.append(Tally.of(values, groups, np.broadcast_to(games.valid, values.shape)))
        return Tally.stack(tallies)


def play(
    terms: Terms,
    player: str,
    players: tuple[Partner, Partner],
    opponent: str,
    partner: Partner,
    *,
    hints: HintSource | None = None,
    index: tuple[int, ...] = (),
    complete: bool = False,
) -> SeatGames:
    """The games of ``players[seat]`` in each seat against ``partner``; ``player`` and ``opponent`` are their names.

    Raises :class:`PlayError`, and :class:`UnreachedError` where one of them was not reached in more than
    ``UNREACHED_BOUND`` of the games; once that is sure, the other seat is not played. With ``complete`` a player that
    was not reached in a single game is a :class:`PlayError`. ``hints`` and ``index``: see :meth:`Terms.play_seat`.
    """
    games: list[Games] = []
    answers: dict[str, Answers] = {}
    lost = 0
    for seat, seated in enumerate(players):
        names = (player, opponent) if seat == 0 else (opponent, player)
        try:
            batch = terms.play_seat(seat, seated, partner, hints=hints, index=index)
        except OccupantError as error:
            cause = error.__cause__ or error
            raise PlayError(names[error.seat], error.seat, cause) from cause
        games.append(batch)
        lost += int((~batch.valid).sum())
        for name, counts in zip(names, answers_of(batch), strict=True):
            answers[name] = answers.get(name, Answers()) + counts
        silent = unreachable_member(answers, lost, 2 * batch.size, 0.0 if complete else UNREACHED_BOUND)
        if silent is not None:
            unreached = UnreachedError(*silent, answers)
            if complete:
                raise PlayError(silent[0], seat, unreached) from unreached
            raise unreached
    return SeatGames((games[0], games[1]), answers)


class Witness:
    """A player that records the turns of its queries and copies of its decisions, whose arrays it may use again."""

    def __init__(self, player: Partner) -> None:
        self.player, self.traits = player, player.traits
        self.turns: list[Turns] = []
        self.decisions: list[Decisions] = []

    def act(self, turns: Turns) -> Decisions:
        decisions = self.player.act(turns)
        self.turns.append(turns)
        self.decisions.append(decisions._replace(act_type=np.array(decisions.act_type), oA=np.array(decisions.oA)))
        return decisions


def heldout_terms(rules: Rules = Rules(), seed: int = 0) -> Terms:
    """The held-out scenarios: those of the default source with a view that is held out of training (split ``test``)."""
    source = open_source("lewis", split="test")
    assert source.table is not None
    return Terms(source, source.table, rules, seed)


class Result(NamedTuple):
    """Points of ten of the member scored, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # both seats
    as_seat: tuple[Estimate, Estimate]
    deals: float
    turns: float  # acts of both seats per game
    answers: Mapping[str, Answers] = MappingProxyType({})  # of players with fallback acts


def score(member: Partner, against: Partner, terms: Terms, hints: HintSource | None = None) -> Result:
    """Play ``member`` against one partner; ``hints`` advises ``member``. Raises as :func:`play` does."""
    played = play(terms, MEMBER, (member, member), PARTNER, against, hints=hints)
    tally, confidence = played.tally(), terms.confidence
    points, deals, turns = (tally[:, i] for i in range(3))
    return Result(
        points=points.pooled().mean(confidence),
        as_seat=(points[0].mean(confidence), points[1].mean(confidence)),
        deals=float(deals.pooled().means()),
        turns=float(turns.pooled().means()),
        answers={name: counts for name, counts in played.answers.items() if counts.fallbacks},
    )
