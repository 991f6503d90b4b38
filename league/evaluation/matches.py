"""Games of a player in both seats of the same scenarios, against one partner, their tally and their figures.

``dond evaluate``, a league's final evaluation, the benchmark, the arena and the closing score of a training all
:func:`play`, and sum their games with :func:`league.figures.measures.tally_of`. Every scenario is played once in each
seat, with the same noise for all players.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import RunFailure, error_line
from dond_marl.game import SEATS, Rules
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import UNREACHED_BOUND, Bools, Decisions, Doubles, HintSource, Partner, Turns
from dond_marl.statistics import Estimate, scenario_groups
from league.figures.measures import FIGURES, Measures, PlayedFigures, figures, measures_of_games, tally_of
from league.figures.rows import FigureRow, figure_row
from league.figures.tally import Tally
from league.play.values import Answers, answers_of, unreachable_member

MEMBER, PARTNER = "the member", "its partner"  # as a score's answers name them
BOTH = "both seats"
VIEWS = (BOTH, *SEATS)


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

    def document(self) -> dict[str, Any]:
        """The terms of a table of figures, as plain values."""
        source, rules = self.source, self.rules
        return {
            "scenarios": {"source": source.label, "number": self.scenarios.size, "sha256": source.digest()},
            "rules": {"max_turns": rules.max_turns, "disagree": rules.disagree},
            "seed": self.seed,
            "confidence": self.confidence,
        }

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


@dataclass(frozen=True)
class PlayerLine:
    """One player or one point of reference: the outcomes of its games in each seat, their tally, and its figures."""

    name: str
    outcomes: tuple[Doubles, Doubles]  # by seat: own and the partner's points of ten in each game that counts, [N, 2]
    tally: Tally  # [seat, figure, GROUPS]
    confidence: float
    counted: tuple[Bools, Bools]  # by seat: mask of the games that count
    answers: Mapping[str, Answers]  # of both players, by name

    @cached_property
    def figures(self) -> Mapping[str, PlayedFigures]:
        """The figures by view: of both seats, and of each."""
        return {view: figures(cell, self.confidence) for view, cell in by_view(self.tally).items()}

    @property
    def points(self) -> Estimate:
        """Own points of ten, both seats."""
        return self.figures[BOTH].points

    @property
    def deals(self) -> float:
        """Share of games with a deal, both seats."""
        return self.figures[BOTH].deals.mean


def played_rows(
    member: str, against: str, by_view: Mapping[str, PlayedFigures], names: Iterable[str] = FIGURES
) -> Iterator[FigureRow]:
    """The rows of one player's games, or of a point of reference: figures of each view."""
    for view in VIEWS:
        for name in names:
            seat = "" if view == BOTH else view
            yield figure_row(member, against, name, seat, getattr(by_view[view], name), FIGURES[name].cell_unit)


def by_view(tally: Tally) -> dict[str, Tally]:
    """A tally ``[seat, ...]`` pooled over both seats, and that of each seat."""
    return dict(zip(VIEWS, (tally.pooled(), tally[0], tally[1]), strict=True))


def line_of(
    name: str,
    terms: Terms,
    seats: tuple[Measures, Measures],
    counted: tuple[Bools, Bools] | None = None,
    answers: Mapping[str, Answers] = MappingProxyType({}),
) -> PlayerLine:
    """The line of games by seat, one per scenario of the terms, of which only the ``counted`` enter, by default all."""
    groups = scenario_groups(terms.scenarios)
    masks = counted or (np.ones(len(groups), dtype=np.bool_), np.ones(len(groups), dtype=np.bool_))
    tally = Tally.stack([tally_of(measured, groups, mask) for measured, mask in zip(seats, masks, strict=True)])
    first, second = (
        np.stack([measured["own"], measured["left"]], axis=1)[mask] for measured, mask in zip(seats, masks, strict=True)
    )
    return PlayerLine(name, (first, second), tally, terms.confidence, masks, answers)


class SeatGames(NamedTuple):
    """The games of one player against one partner, in seat_0 and in seat_1, and the answer counts of both by name."""

    games: tuple[Games, Games]
    answers: Mapping[str, Answers]

    def measures(self) -> tuple[Measures, Measures]:
        """The measures of all games by the player's seat."""
        return measures_of_games(self.games[0], 0), measures_of_games(self.games[1], 1)

    def line(self, name: str, terms: Terms, counted: tuple[Bools, Bools] | None = None) -> PlayerLine:
        """The player's line under ``name``, by default over all games in which both seats were reached."""
        first, second = self.games
        return line_of(name, terms, self.measures(), counted or (first.valid, second.valid), self.answers)


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


def score(
    member: Partner,
    against: Partner,
    terms: Terms,
    hints: HintSource | None = None,
    *,
    names: tuple[str, str] = (MEMBER, PARTNER),
    complete: bool = False,
) -> PlayerLine:
    """:func:`play` ``member`` in both seats against one partner, and return its line; ``hints`` advises ``member``."""
    played = play(terms, names[0], (member, member), names[1], against, hints=hints, complete=complete)
    return played.line(names[0], terms)
