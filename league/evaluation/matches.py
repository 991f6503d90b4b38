"""Games of a member in both seats of the same scenarios, and its scores.

Every scenario is played once in each seat, with the same noise for all players. K = scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import RunFailure, error_line
from dond_marl.game import SEATS, Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import UNREACHED_BOUND, Bools, Decisions, Doubles, HintSource, Partner, Turns
from dond_marl.statistics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups
from league.evaluation.outcomes import Outcomes, outcomes_of
from league.tasks.answers import Answers, answers_of, unreachable_member

MEMBER, PARTNER = "the member", "its partner"  # as a score's answers name them


class PlayError(RunFailure):
    """An occupant failed during an evaluation; ``player`` is its name, and the message adds the seat."""

    def __init__(self, player: str, seat: int, cause: BaseException) -> None:
        super().__init__(f"{player} failed as {SEATS[seat]}: {error_line(cause)}")
        self.player, self.cause = player, cause


class UnreachedError(RunFailure):
    """A player could not be reached in too many games, where its fallback played; ``answers`` by player."""

    def __init__(self, player: str, why: str, answers: Mapping[str, Answers]) -> None:
        super().__init__(f"no figures for {player}, they would be its fallback's: {why}")
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

    def games(
        self,
        players: tuple[Partner, Partner],
        against: Partner,
        *,
        hints: HintSource | None = None,
        index: tuple[int, ...] = (),
    ) -> Iterator[Games]:
        """The games of ``players[0]`` in seat_0, then those of ``players[1]`` in seat_1.

        ``hints`` advises the players; ``index`` names the noise besides the seed. Raises
        :class:`~dond_marl.rollout.OccupantError`.
        """
        for seat, player in enumerate(players):
            yield rollout(
                (player, against) if seat == 0 else (against, player),
                self.scenarios,
                self.rules,
                seed=self.seed,
                index=(*index, seat),
                reveal_partner_utilities=self.revealed,
                hints=(hints, None) if seat == 0 else (None, hints),
            )


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


class Scores(NamedTuple):
    """A member's scores over several opponents."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # points by opponent


def score(member: Partner, against: Partner, terms: Terms, hints: HintSource | None = None) -> Result:
    """Play ``member`` against one partner; ``hints`` advises ``member``. Raises :class:`UnreachedError`."""
    games, answers = collect_games(terms.games((member, member), against, hints=hints), MEMBER, PARTNER)
    groups, points = scenario_groups(terms.scenarios), _own_points(games, terms)
    first, second = (mean_over_scenarios(own, groups, terms.confidence, ~np.isnan(own)) for own in points)
    return Result(
        points=mean_over_scenarios(points, groups, terms.confidence, ~np.isnan(points)),
        as_seat=(first, second),
        deals=float(np.mean([each.deal[each.valid].mean() for each in games])),
        turns=float(np.mean([each.turns[each.valid].mean() for each in games])),
        answers={name: own for name, own in answers.items() if own.fallbacks},
    )


def collect_games(played: Iterable[Games], player: str, opponent: str) -> tuple[list[Games], dict[str, Answers]]:
    """The games of both seats, ``player`` in seat_0 first, and the answer counts of both players.

    Raises :class:`UnreachedError` where one of them was not reached in more than ``UNREACHED_BOUND`` of the games; once
    that is sure, the other seat is not played.
    """
    games: list[Games] = []
    answers: dict[str, Answers] = {}
    lost = 0
    for seat, each in enumerate(played):
        games.append(each)
        lost += int((~each.valid).sum())
        names = (player, opponent) if seat == 0 else (opponent, player)
        for name, own in zip(names, answers_of(each), strict=True):
            answers[name] = answers.get(name, Answers()) + own
        silent = unreachable_member(answers, lost, 2 * each.size, UNREACHED_BOUND)
        if silent is not None:
            raise UnreachedError(*silent, answers)
    return games, answers


def scores(
    member: Partner, opponents: Sequence[str], terms: Terms, report: Callable[[str], None] = lambda _: None
) -> Scores:
    """Play ``member`` against each of ``opponents``, named as in the catalogue.

    ``report`` receives each opponent's name. Raises :class:`UnreachedError`.
    """
    groups, deals, points = scenario_groups(terms.scenarios), [], []
    for name in opponents:
        report(name)
        games, _ = collect_games(terms.games((member, member), seat_occupant(name)), MEMBER, name)
        points.append(_own_points(games, terms))
        deals += [each.deal[each.valid].mean() for each in games]

    def mean(own: Doubles) -> Estimate:
        return mean_over_scenarios(own, groups, terms.confidence, ~np.isnan(own))

    return Scores(
        mean(np.concatenate(points)),
        float(np.mean(deals)),
        {name: mean(own) for name, own in zip(opponents, points, strict=True)},
    )


def _own_points(games: Sequence[Games], terms: Terms) -> Doubles:
    """Points of ten of the player in seat_0 of the first games and in seat_1 of the second, ``[2, K]``.

    ``nan`` in invalid games.
    """
    points = [points_of_ten(each.scores, terms.scenarios.pool_values)[:, seat] for seat, each in enumerate(games)]
    return np.where([each.valid for each in games], np.stack(points), np.nan)


class SeatGames(NamedTuple):
    """Outcomes by seat of one player against one partner, the valid games, and the answer counts."""

    seats: tuple[Outcomes, Outcomes]  # of all games
    counted: tuple[Bools, Bools]
    answers: Mapping[str, Answers]


def play_seats(
    terms: Terms, player: str, players: tuple[Partner, Partner], opponent: str, partner: Partner
) -> tuple[Outcomes, Outcomes]:
    """The outcomes of ``players[seat]`` in each seat against ``partner``; ``player`` and ``opponent`` are their names.

    Raises :class:`PlayError`, also where a player was not reached in a single game, and
    :class:`~dond_marl.solvers.efficiency.ImpossibleScore`.
    """
    try:
        played = play_reachable(terms, player, players, opponent, partner)
    except UnreachedError as error:
        raise PlayError(error.player, 0, error) from error
    for seat, counted in enumerate(played.counted):
        if not counted.all():
            name = max(played.answers, key=lambda name: played.answers[name].left_out)
            raise PlayError(name, seat, UnreachedError(name, f"it {played.answers[name]}", played.answers))
    return played.seats


def play_reachable(
    terms: Terms, player: str, players: tuple[Partner, Partner], opponent: str, partner: Partner
) -> SeatGames:
    """As :func:`play_seats`, but some games may be invalid; raises :class:`UnreachedError` too."""
    games, answers = _attributed_games(terms, player, players, opponent, partner)
    first, second = (outcomes_of(each, seat) for seat, each in enumerate(games))
    return SeatGames((first, second), (games[0].valid, games[1].valid), answers)


class Repeated(NamedTuple):
    """The same N scenarios played R times in each seat of one player; entry ``[seat, r, i]``.

    Where both players are deterministic R is 1, and a table that is played whole is *enumerated*: its means have no
    error at all.
    """

    points: Doubles  # [2, R, N] the player's points of ten; nan in invalid games, and so the next three
    left: Doubles  # the partner's
    deal: Doubles  # 1 with a deal, else 0
    welfare: Doubles  # share of the largest joint points, no deal being 0
    answers: Mapping[str, Answers]
    offers: int = 0  # of the player in valid games
    insists: int = 0  # those with INSIST


def play_repeatedly(
    terms: Terms, name: str, player: Partner, opponent: str, partner: Partner, times: int, index: tuple[int, ...] = ()
) -> Repeated:
    """Play all scenarios in both seats of ``player``, ``times`` over if one of the two is stochastic, else once.

    ``index`` names the noise besides the terms' seed; all players have the same noise at one index. Raises
    :class:`PlayError` and :class:`UnreachedError`.
    """
    chance = not (player.traits.deterministic and partner.traits.deterministic)
    measures: list[list[Doubles]] = [[], [], [], []]
    answers: dict[str, Answers] = {}
    offers = insists = 0
    for number in range(times if chance else 1):
        games, new_answers = _attributed_games(terms, name, (player, player), opponent, partner, (*index, number))
        answers = {each: answers.get(each, Answers()) + own for each, own in new_answers.items()}
        outcomes = [outcomes_of(each, seat) for seat, each in enumerate(games)]
        counted = [each.valid for each in games]
        for measure, values in zip(measures, ("own", "left", "deal", "welfare"), strict=True):
            got = np.stack([getattr(each, values).astype(np.float64) for each in outcomes])
            measure.append(np.where(counted, got, np.nan))
        own = [each.act[each.valid, seat::2] for seat, each in enumerate(games)]
        insists += sum(int((acts == Act.INSIST).sum()) for acts in own)
        offers += sum(int(np.isin(acts, (Act.PROPOSE, Act.INSIST)).sum()) for acts in own)
    points, left, deal, welfare = (np.stack(measure, axis=1) for measure in measures)
    return Repeated(points, left, deal, welfare, answers, offers, insists)


def _attributed_games(
    terms: Terms,
    player: str,
    players: tuple[Partner, Partner],
    opponent: str,
    partner: Partner,
    index: tuple[int, ...] = (),
) -> tuple[list[Games], dict[str, Answers]]:
    """What :func:`collect_games` returns; raises a :class:`PlayError` that names the player that failed."""
    begun = 0

    def one_by_one() -> Iterator[Games]:
        nonlocal begun
        for games in terms.games(players, partner, index=index):
            begun += 1
            yield games

    try:
        return collect_games(one_by_one(), player, opponent)
    except OccupantError as error:
        failed = player if error.seat == begun else opponent
        raise PlayError(failed, error.seat, error.__cause__ or error) from error
