"""Games of a member in both seats of the same scenarios, and what it scores in them.

Every scenario is played once in each seat, with the same noise whoever plays. K = scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import RunFailure, error_line
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, open_source
from dond_marl.seats import Bools, Decisions, Doubles, HintSource, Partner, Turns
from dond_marl.statistics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups
from dond_marl.yardsticks.efficiency import check_joint
from league.evaluation.outcomes import Outcomes, outcomes_of
from league.settings.sections import UNREACHED_BOUND
from league.tasks.answers import Answers, answers_of, unreachable_member

MEMBER, PARTNER = "the member", "its partner"  # as a score's answers name them


class PlayError(RunFailure):
    """An occupant failed while it was evaluated: ``who`` it is and its ``cause``; the message adds the seat."""

    def __init__(self, who: str, seat: int, cause: BaseException) -> None:
        super().__init__(f"{who} failed as {SEATS[seat]}: {error_line(cause)}")
        self.who, self.cause = who, cause


class UnreachedError(RunFailure):
    """Somebody could not be reached in too many games, in which a fallback played for it; ``answers`` by who it is."""

    def __init__(self, who: str, why: str, answers: Mapping[str, Answers]) -> None:
        super().__init__(f"no figures for {who}, they would be its fallback's: {why}")
        self.who, self.answers = who, answers


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
        whisper: HintSource | None = None,
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
                hints=(whisper, None) if seat == 0 else (None, whisper),
            )


class Witness:
    """Keeps the turns on which somebody is asked, and what it says."""

    def __init__(self, player: Partner) -> None:
        self.player, self.traits = player, player.traits
        self.turns: list[Turns] = []
        self.said: list[Decisions] = []

    def act(self, turns: Turns) -> Decisions:
        decisions = self.player.act(turns)
        self.turns.append(turns)
        self.said.append(decisions)
        return decisions


def heldout_terms(rules: Rules = Rules(), seed: int = 0) -> Terms:
    """The held-out scenarios: those of the default source with a view that nobody learns on (split ``test``)."""
    source = open_source("lewis", split="test")
    assert source.table is not None
    return Terms(source, source.table, rules, seed)


class Result(NamedTuple):
    """Points of ten of the member scored, with intervals over scenarios, and the share of games with a deal."""

    points: Estimate  # both seats
    as_seat: tuple[Estimate, Estimate]
    deals: float
    turns: float  # acts of both seats per game
    answers: Mapping[str, Answers] = MappingProxyType({})  # of whoever did not always answer


class Scores(NamedTuple):
    """The same over several opponents."""

    points: Estimate  # mean over the opponents
    deals: float
    against: Mapping[str, Estimate]  # points by opponent


def score(member: Partner, against: Partner, terms: Terms, whisper: HintSource | None = None) -> Result:
    """Play ``member`` against one partner; ``whisper`` advises ``member``. Raises :class:`UnreachedError`."""
    games, answers = collect_games(terms.games((member, member), against, whisper=whisper), MEMBER, PARTNER)
    groups, points = scenario_groups(terms.scenarios), _own_points(games, terms)
    first, second = (mean_over_scenarios(own, groups, terms.confidence, ~np.isnan(own)) for own in points)
    return Result(
        points=mean_over_scenarios(points, groups, terms.confidence, ~np.isnan(points)),
        as_seat=(first, second),
        deals=float(np.mean([each.deal[each.valid].mean() for each in games])),
        turns=float(np.mean([each.turns[each.valid].mean() for each in games])),
        answers={who: own for who, own in answers.items() if own.fallbacks},
    )


def collect_games(played: Iterable[Games], player: str, opponent: str) -> tuple[list[Games], dict[str, Answers]]:
    """The games of both seats, ``player`` in seat_0 first, and who answered how often.

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
    """Play ``member`` against each of ``opponents``, named as in the catalogue; ``report`` receives whom it plays.

    Raises :class:`UnreachedError`.
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
    """Points of ten of the player who sat in seat_0 of the first games and in seat_1 of the second, ``[2, K]``.

    ``nan`` in games that count for nobody.
    """
    points = [points_of_ten(each.scores, terms.scenarios.pool_values)[:, seat] for seat, each in enumerate(games)]
    return np.where([each.valid for each in games], np.stack(points), np.nan)


class SeatGames(NamedTuple):
    """Outcomes by seat of one player against one partner, which games count, and who answered how often."""

    seats: tuple[Outcomes, Outcomes]  # of all games
    counted: tuple[Bools, Bools]
    answers: Mapping[str, Answers]


def play_seats(
    terms: Terms, player: str, players: tuple[Partner, Partner], opponent: str, partner: Partner
) -> tuple[Outcomes, Outcomes]:
    """The outcomes of ``players[seat]`` in each seat against ``partner``; ``player`` and ``opponent`` are their names.

    Raises :class:`PlayError`, also where somebody was not reached in a single game, and
    :class:`~dond_marl.yardsticks.efficiency.ImpossibleScore`.
    """
    try:
        played = play_reachable(terms, player, players, opponent, partner)
    except UnreachedError as error:
        raise PlayError(error.who, 0, error) from error
    for seat, counted in enumerate(played.counted):
        if not counted.all():
            who = max(played.answers, key=lambda name: played.answers[name].left_out)
            raise PlayError(who, seat, UnreachedError(who, f"it {played.answers[who]}", played.answers))
    return played.seats


def play_reachable(
    terms: Terms, player: str, players: tuple[Partner, Partner], opponent: str, partner: Partner
) -> SeatGames:
    """The same where somebody may be out of reach now and then. Raises :class:`UnreachedError` too."""
    games, answers = _attributed_games(terms, player, players, opponent, partner)
    first, second = (outcomes_of(each, seat) for seat, each in enumerate(games))
    for each in (first, second):
        check_joint(float((each.own + each.left).mean()), terms.scenarios)
    return SeatGames((first, second), (games[0].valid, games[1].valid), answers)


class Repeated(NamedTuple):
    """The same N scenarios played R times in each seat of one player; entry ``[seat, r, i]``.

    Where both players are deterministic R is 1, and a table that is played whole is *enumerated*: its means have no
    error at all.
    """

    points: Doubles  # [2, R, N] the player's points of ten; nan in games that count for nobody, and so the next three
    left: Doubles  # the partner's
    deal: Doubles  # 1 with a deal, else 0
    welfare: Doubles  # share of the largest joint points, no deal being 0
    answers: Mapping[str, Answers]


def play_repeatedly(
    terms: Terms, name: str, player: Partner, opponent: str, partner: Partner, times: int, index: tuple[int, ...] = ()
) -> Repeated:
    """Play all scenarios in both seats of ``player``, ``times`` over where either of the two reads noise, else once.

    ``index`` names the noise besides the terms' seed; whoever plays the same index has the same noise. Raises
    :class:`PlayError` and :class:`UnreachedError`.
    """
    chance = not (player.traits.deterministic and partner.traits.deterministic)
    kept: list[list[Doubles]] = [[], [], [], []]
    answers: dict[str, Answers] = {}
    for number in range(times if chance else 1):
        games, heard_of = _attributed_games(terms, name, (player, player), opponent, partner, (*index, number))
        answers = {who: answers.get(who, Answers()) + own for who, own in heard_of.items()}
        outcomes = [outcomes_of(each, seat) for seat, each in enumerate(games)]
        counted = [each.valid for each in games]
        for measure, values in zip(kept, ("own", "left", "deal", "welfare"), strict=True):
            got = np.stack([getattr(each, values).astype(np.float64) for each in outcomes])
            measure.append(np.where(counted, got, np.nan))
    points, left, deal, welfare = (np.stack(measure, axis=1) for measure in kept)
    return Repeated(points, left, deal, welfare, answers)


def _attributed_games(
    terms: Terms,
    player: str,
    players: tuple[Partner, Partner],
    opponent: str,
    partner: Partner,
    index: tuple[int, ...] = (),
) -> tuple[list[Games], dict[str, Answers]]:
    """What :func:`heard` hears; whoever fails is named, in a :class:`PlayError`."""
    begun = 0

    def one_by_one() -> Iterator[Games]:
        nonlocal begun
        for games in terms.games(players, partner, index=index):
            begun += 1
            yield games

    try:
        return collect_games(one_by_one(), player, opponent)
    except OccupantError as error:
        who = player if error.seat == begun else opponent
        raise PlayError(who, error.seat, error.__cause__ or error) from error
