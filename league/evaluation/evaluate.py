"""Evaluation of one member against one partner: paired games in both seats, compared with the best response.

Every scenario is played twice, the member opening once. The exact best response to the same partner plays the same
games, with the same noise: the member's share of its points is a *paired* comparison, a ratio of two means with an
interval for the same scenarios. The solutions of bargaining theory (:mod:`dond_marl.solvers.solve`) are lines of the
same table: the points of the seat if every game ended there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.errors import NotComputable
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import Spec, occupant_name, seat_occupant
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Bools, Partner, expensive_to_query
from dond_marl.solvers.best_response import OutOfReach
from dond_marl.solvers.solve import solve
from dond_marl.solvers.values import Value
from dond_marl.statistics import Estimate
from league.evaluation.exploitability import best_known_response, known_response_value
from league.evaluation.matches import PlayError, Terms, UnreachedError, play_reachable, play_seats
from league.evaluation.outcomes import (
    FIGURES,
    Figures,
    Outcomes,
    figures,
    join_seats,
    outcomes_of_concepts,
    points_ratio,
    select_games,
)
from league.tasks.answers import Answers
from league.tasks.attribution import IN_GAMES_ONLY, is_free
from partners.catalogue import scripted_names
from partners.mixture import Mixture

BOTH = "both seats"
VIEWS = (BOTH, *SEATS)
HELDOUT = {"lewis": "test", "dialogues": "test"}  # the default split of an evaluation
ENDLESS = 1_000  # default number of scenarios from a source without a table
HUMANS = "humans"
UNKNOWN = Estimate(math.nan, 0, math.nan, math.nan)
GREEDY, SAMPLED = "greedy", "sampled"
PROTOCOLS = {  # how a network plays: stated in every output, because figures depend on it
    GREEDY: "plays its likeliest act every time (greedy)",
    SAMPLED: "samples its acts (sampled; greedy=True in its brackets plays the likeliest)",
}
MIXED = "is a mixture that contains a network; the network samples (put greedy=True on the network to change that)"
BEST, FOUND = "best response", "best response found"  # the second where a better one may exist
NASH, FAIR, LARGEST, LAST = "Nash", "egalitarian, Kalai-Smorodinsky", "utilitarian", "ultimatum"


class PlayerLine(NamedTuple):
    """One player or one point of reference: its outcomes in each seat, and its figures by view."""

    name: str
    seats: tuple[Outcomes, Outcomes]
    figures: Mapping[str, Figures]


class Evaluation(NamedTuple):
    """One member against one partner; the tables, the files and the plot are made from this alone."""

    member: str
    against: str
    source: ScenarioSource
    scenarios: Scenarios  # that were played, each in both seats
    rules: Rules
    seed: int
    confidence: float
    notes: tuple[str, ...]  # remarks for the reader of the figures
    played: PlayerLine
    best: PlayerLine | None  # the best response, in the same games: exact, or the best one found
    values: tuple[Value, Value] | None  # of a best response, by seat, under the source's prior
    points: tuple[PlayerLine, ...]  # of reference
    shares: Mapping[str, Mapping[str, Estimate]]  # of own points, by the line they are a share of and by view
    answers: Mapping[str, Answers]  # by name: of costly players, and of those with fallback acts
    protocols: Mapping[str, str]  # how each network among the two plays: greedy or sampled

    @property
    def lines(self) -> tuple[PlayerLine, ...]:
        """All lines that have figures, in the order in which they are shown."""
        return (self.played, *([self.best] if self.best else []), *self.points)


def evaluate(
    member: Spec | Partner,
    against: Spec | Partner,
    source: ScenarioSource,
    rules: Rules = Rules(),
    *,
    sample: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    report: Callable[[str], None] = lambda _: None,
    player: Partner | None = None,
    name: str | None = None,
    exact: bool = False,
) -> Evaluation:
    """Play ``member`` and the best response against ``against`` on ``sample`` scenarios of ``source``, by default all.

    Code of others is queried in these games alone, so it has no best response; with ``exact`` it is queried for one.

    ``confidence`` is two-sided, in (0, 1); ``report`` receives progress messages. ``player``: ``member``, where it is
    seated already; ``name``: its name in the tables. Raises :class:`~dond_marl.occupants.OccupantNameError`,
    :class:`PlayError`,
    :class:`~league.evaluation.matches.UnreachedError` where one of them could not be reached too often, and
    :class:`~dond_marl.solvers.efficiency.ImpossibleScore` where games pay more than there is: a bug. Games in which
    a player could not be reached are left out of every line.
    """
    player, partner = seat_occupant(member) if player is None else player, seat_occupant(against)
    name, opponent = name or occupant_name(member), occupant_name(against)
    terms = Terms(source, scenarios_of(source, sample, seed), rules, seed, confidence)
    sighted = {name: player, opponent: partner}
    report(f"{name} plays {opponent}")
    games = play_reachable(terms, name, (player, player), opponent, partner)
    played = _line(name, games.seats, games.counted, confidence)
    protocols, notes = _protocols(sighted)
    reference = _Reference(None, None, (f"no best response to {opponent}: {IN_GAMES_ONLY}",))
    if exact or is_free(partner):
        zoo = () if expensive_to_query(player.traits) else scripted_names()
        tried = {**({name: player} if is_free(player) else {}), **{each: seat_occupant(each) for each in zoo}}
        reference = _reference(terms, tried, opponent, partner, games.counted, report)
    points = points_of_reference(terms.scenarios, rules, confidence)
    if not all(counted.all() for counted in games.counted):
        points = tuple(_line(at.name, at.seats, games.counted, confidence) for at in points)
    costly = {occupant for occupant, each in sighted.items() if expensive_to_query(each.traits)}
    rivals = [line for line in (reference.best, *points) if line is not None and line.name in (BEST, FOUND, NASH)]
    return Evaluation(
        member=name,
        against=opponent,
        source=source,
        scenarios=terms.scenarios,
        rules=rules,
        seed=seed,
        confidence=confidence,
        notes=(*notes, *reference.notes),
        played=played,
        best=reference.best,
        values=reference.values,
        points=points,
        shares={rival.name: _shares(played, rival, confidence) for rival in rivals},
        answers={each: own for each, own in games.answers.items() if own.fallbacks or each in costly},
        protocols=protocols,
    )


def _protocols(sighted: Mapping[str, Partner]) -> tuple[dict[str, str], list[str]]:
    """How each network plays, greedy or sampled, and the notes on it and on privileged players."""
    notes = [f"{name} sees what its seat cannot see" for name, each in sighted.items() if each.traits.privileged]
    networks = {name: each for name, each in sighted.items() if each.traits.learned and not each.traits.costly}
    protocols = {name: GREEDY if each.traits.deterministic else SAMPLED for name, each in networks.items()}
    notes += [
        f"{name} {MIXED if isinstance(networks[name], Mixture) else PROTOCOLS[protocol]}"
        for name, protocol in protocols.items()
    ]
    return protocols, notes


class _Reference(NamedTuple):
    """The best response that is compared with: its games, its value by seat, and notes on what is not known."""

    best: PlayerLine | None
    values: tuple[Value, Value] | None
    notes: tuple[str, ...]


def _reference(
    terms: Terms, tried: Mapping[str, Partner], opponent: str, partner: Partner, counted: tuple[Bools, Bools],
    report: Callable[[str], None],
) -> _Reference:  # fmt: skip
    """The best known response to ``partner``, valued and played where that can be done.

    ``tried``: partners to play for a lower bound of the value.
    """
    best, values, response, notes = None, None, None, list[str]()
    try:
        response = best_known_response(partner, terms.source, terms.rules)
    except NotComputable as why:
        notes.append(f"no best response to {opponent} is played: {why}")
    report(f"the value of a best response to {opponent}")
    try:
        players = (None, None) if response is None else response.players
        candidates = [tried if found is None else {**tried, FOUND: found} for found in players]
        opens, answers = (
            known_response_value(response, partner, terms.source, terms.rules, seat, candidates[seat])
            for seat in (0, 1)
        )
        values = opens, answers
    except NotComputable as why:
        notes.append(f"the value of a best response to {opponent} is not known: {why}")
    exact = values is not None and mean_of_seats(values).exact
    if response is not None:
        label = BEST if exact else FOUND
        report(f"{label} plays {opponent}")
        try:
            seats = play_seats(terms, label, response.players, opponent, partner)
            best = _line(label, seats, counted, terms.confidence)
        except PlayError as error:
            if not isinstance(error.cause, OutOfReach | UnreachedError):
                raise
            notes.append(f"no best response to {opponent} is played: {error.cause}")
    if best is not None and not exact:
        notes.append(f"the response to {opponent} that is played is the best one found: there may be better ones")
    return _Reference(best, values, tuple(notes))


def _line(name: str, seats: tuple[Outcomes, Outcomes], counted: tuple[Bools, Bools], confidence: float) -> PlayerLine:
    """The line of the games that count."""
    opens, answers = (select_games(own, valid) for own, valid in zip(seats, counted, strict=True))
    return line_of(name, (opens, answers), confidence)


def mean_of_seats(values: tuple[Value, Value]) -> Value:
    """The mean of the values of the two seats."""
    first, second = values
    how = first.how if first.how == second.how else f"{first.how}; {second.how}"
    return Value((first.low + second.low) / 2, (first.high + second.high) / 2, first.exact and second.exact, how)


def ultimatum_seat(rules: Rules) -> int | None:
    """The seat that makes the last offer that can still be answered; ``None`` where no offer can be."""
    return rules.max_turns % 2 if rules.max_turns > 1 else None


def points_of_reference(scenarios: Scenarios, rules: Rules, confidence: float) -> tuple[PlayerLine, ...]:
    """A line for each solution of bargaining theory: the outcomes if every game ended there."""
    solutions, last = solve(scenarios), ultimatum_seat(rules)
    concepts = {NASH: solutions.nash, FAIR: solutions.egalitarian, LARGEST: solutions.utilitarian}
    if last is not None:
        concepts[LAST] = solutions.ultimatum[last]
    outcomes = outcomes_of_concepts(solutions, concepts)
    return tuple(line_of(name, seats, confidence) for name, seats in outcomes.items())


def human_figures(line: HumanLine) -> dict[str, Figures]:
    """The human line as figures by view: the first speaker is ``seat_0``; figures without data are ``nan``."""
    names = {figure: terms.human for figure, terms in FIGURES.items()}
    all_sides = Figures(**{figure: UNKNOWN if name is None else line.figures[name] for figure, name in names.items()})
    seats = [
        all_sides._replace(
            points=line.figures[own],
            points_agreed=line.figures[f"{own}_of_deals"],
            left=line.figures[other],
            left_agreed=line.figures[f"{other}_of_deals"],
        )
        for own, other in (("first", "second"), ("second", "first"))
    ]
    return dict(zip(VIEWS, (all_sides, *seats), strict=True))


def line_of(name: str, seats: tuple[Outcomes, Outcomes], confidence: float) -> PlayerLine:
    """The line of outcomes in both seats, with figures by view."""
    views = zip(VIEWS, (join_seats(seats), *seats), strict=True)
    return PlayerLine(name, seats, {view: figures(outcomes, confidence) for view, outcomes in views})


def _shares(own: PlayerLine, rival: PlayerLine, confidence: float) -> dict[str, Estimate]:
    views = zip(VIEWS, (join_seats(own.seats), *own.seats), (join_seats(rival.seats), *rival.seats), strict=True)
    return {view: points_ratio(mine, theirs, confidence) for view, mine, theirs in views}


def scenarios_of(source: ScenarioSource, sample: int | None, seed: int) -> Scenarios:
    """``sample`` scenarios of a source, by default all of them, or of an endless one ``ENDLESS``."""
    if sample is None and source.table is not None:
        return source.table
    return source.block(seed, 0, ENDLESS if sample is None else sample)
