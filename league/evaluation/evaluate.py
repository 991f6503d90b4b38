"""Evaluation of one member against one partner: paired games in both seats, compared with the best response.

Every scenario is played twice, the member opening once. The exact best response to the same partner plays the same
games, with the same noise: the member's share of its points is a *paired* comparison, a ratio of two means with an
interval for the same scenarios. The solutions of bargaining theory (:mod:`dond_marl.solvers.solve`) are lines of the
same table: the points of the seat if every game ended there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from dond_marl.dialogues.human_line import HumanLine
from dond_marl.errors import NotComputable
from dond_marl.game import Rules
from dond_marl.occupants import Spec, occupant_name, seat_occupant
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Bools, Partner, expensive_to_query
from dond_marl.solvers.solve import solve
from dond_marl.solvers.values import Value
from dond_marl.statistics import UNKNOWN, Estimate
from league.evaluation.exploitability import (
    BEST,
    FOUND,
    ResponsePair,
    best_known_response,
    play_response,
    response_values,
)
from league.evaluation.matches import VIEWS, PlayerLine, Terms, by_view, line_of, score
from league.figures.measures import FIGURES, NUMBER, PlayedFigures, measures_of_concepts
from league.play.occupant_kinds import IN_GAMES_ONLY, is_free
from league.play.values import Answers
from partners.catalogue import scripted_names
from partners.mixture import Mixture

HELDOUT = {"lewis": "test", "dialogues": "test"}  # the default split of an evaluation
ENDLESS = 1_000  # default number of scenarios from a source without a table
HUMANS = "humans"
GREEDY, SAMPLED = "greedy", "sampled"
PROTOCOLS = {  # how a network plays: stated in every output, because figures depend on it
    GREEDY: "plays its likeliest act every time (greedy)",
    SAMPLED: "samples its acts (sampled; greedy=True in its brackets plays the likeliest)",
}
MIXED = "is a mixture that contains a network; the network samples (put greedy=True on the network to change that)"
NASH, FAIR, LARGEST, LAST = "Nash", "egalitarian, Kalai-Smorodinsky", "utilitarian", "ultimatum"


class Evaluation(NamedTuple):
    """One member against one partner; the tables, the files and the plot are made from this alone."""

    member: str
    against: str
    terms: Terms
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
    name: str | None = None,
    exact: bool = False,
) -> Evaluation:
    """Play ``member`` and the best response against ``against`` on ``sample`` scenarios of ``source``, by default all.

    Code of others is queried in these games alone, so it has no best response; with ``exact`` it is queried for one.

    ``confidence`` is two-sided, in (0, 1); ``report`` receives progress messages; ``name``: the member's name in the
    tables. Raises :class:`~dond_marl.occupants.OccupantNameError`, :class:`~league.evaluation.matches.PlayError`,
    :class:`~league.evaluation.matches.UnreachedError` where one of them could not be reached too often, and
    :class:`~dond_marl.solvers.efficiency.ImpossibleScore` where games pay more than there is: a bug. Games in which
    a player could not be reached are left out of every line.
    """
    player, partner = seat_occupant(member), seat_occupant(against)
    name, opponent = name or occupant_name(member), occupant_name(against)
    terms = Terms(source, scenarios_of(source, sample, seed), rules, seed, confidence)
    sighted = {name: player, opponent: partner}
    report(f"{name} plays {opponent}")
    played = score(player, partner, terms, names=(name, opponent))
    protocols, notes = _protocols(sighted)
    best, values = None, None
    if exact or is_free(partner):
        tried = {name: player} if is_free(player) else {}
        if not expensive_to_query(player.traits):
            tried |= {scripted: seat_occupant(scripted) for scripted in scripted_names()}
        best, values = _best_response(terms, tried, opponent, partner, played.counted, notes, report)
    else:
        notes.append(f"no best response to {opponent}: {IN_GAMES_ONLY}")
    points = points_of_reference(terms, played.counted)
    costly = {seated for seated, occupant in sighted.items() if expensive_to_query(occupant.traits)}
    rivals = [line for line in (best, *points) if line is not None and line.name in (BEST, FOUND, NASH)]
    return Evaluation(
        member=name,
        against=opponent,
        terms=terms,
        notes=tuple(notes),
        played=played,
        best=best,
        values=values,
        points=points,
        shares={rival.name: _shares(played, rival, confidence) for rival in rivals},
        answers={seated: counts for seated, counts in played.answers.items() if counts.fallbacks or seated in costly},
        protocols=protocols,
    )


def _protocols(sighted: Mapping[str, Partner]) -> tuple[dict[str, str], list[str]]:
    """Play of each network, greedy or sampled, and the notes on it and on privileged players."""
    notes = [
        f"{name} sees what its seat cannot see" for name, occupant in sighted.items() if occupant.traits.privileged
    ]
    networks = {
        name: occupant for name, occupant in sighted.items() if occupant.traits.learned and not occupant.traits.costly
    }
    protocols = {name: GREEDY if occupant.traits.deterministic else SAMPLED for name, occupant in networks.items()}
    notes += [
        f"{name} {MIXED if isinstance(networks[name], Mixture) else PROTOCOLS[protocol]}"
        for name, protocol in protocols.items()
    ]
    return protocols, notes


def _best_response(
    terms: Terms,
    tried: Mapping[str, Partner],
    opponent: str,
    partner: Partner,
    counted: tuple[Bools, Bools],
    notes: list[str],
    report: Callable[[str], None],
) -> tuple[PlayerLine | None, tuple[Value, Value] | None]:
    """The line of the best known response in the same games, and its value by seat; ``None`` where it is not known.

    ``tried``: partners to play for a lower bound of the value. ``notes`` receives the reasons.
    """
    response: ResponsePair | None = None
    values: tuple[Value, Value] | None = None
    try:
        response = best_known_response(partner, terms.source, terms.rules)
    except NotComputable as reason:
        notes.append(f"no best response to {opponent} is played: {reason}")
    report(f"the value of a best response to {opponent}")
    try:
        values = response_values(partner, terms.source, terms.rules, response, tried)
    except NotComputable as reason:
        notes.append(f"the value of a best response to {opponent} is not known: {reason}")
    if response is None:
        return None, values
    exact = values is not None and mean_of_seats(values).exact
    label = BEST if exact else FOUND
    report(f"{label} plays {opponent}")
    try:
        best = play_response(terms, label, response, opponent, partner, counted)
    except NotComputable as reason:
        notes.append(f"no best response to {opponent} is played: {reason}")
        return None, values
    if not exact:
        notes.append(f"the response to {opponent} that is played is the best one found: there may be better ones")
    return best, values


def mean_of_seats(values: tuple[Value, Value]) -> Value:
    """The mean of the values of the two seats."""
    first, second = values
    how = first.how if first.how == second.how else f"{first.how}; {second.how}"
    return Value((first.low + second.low) / 2, (first.high + second.high) / 2, first.exact and second.exact, how)


def ultimatum_seat(rules: Rules) -> int | None:
    """The seat that makes the last offer that can still be answered; ``None`` where no offer can be."""
    return rules.max_turns % 2 if rules.max_turns > 1 else None


def points_of_reference(terms: Terms, counted: tuple[Bools, Bools] | None = None) -> tuple[PlayerLine, ...]:
    """A line for each solution of bargaining theory: the outcomes if every game ended there."""
    solutions, last = solve(terms.scenarios), ultimatum_seat(terms.rules)
    concepts = {NASH: solutions.nash, FAIR: solutions.egalitarian, LARGEST: solutions.utilitarian}
    if last is not None:
        concepts[LAST] = solutions.ultimatum[last]
    by_concept = measures_of_concepts(solutions, concepts)
    return tuple(line_of(name, terms, seats, counted) for name, seats in by_concept.items())


def human_figures(line: HumanLine) -> dict[str, PlayedFigures]:
    """The human line as figures by view: the first speaker is ``seat_0``; figures without data are ``nan``."""
    names = {figure: terms.human for figure, terms in FIGURES.items()}
    all_sides = PlayedFigures(
        **{figure: UNKNOWN if name is None else line.figures[name] for figure, name in names.items()}
    )
    seats = [
        all_sides._replace(
            points=line.figures[speaker],
            points_agreed=line.figures[f"{speaker}_of_deals"],
            left=line.figures[listener],
            left_agreed=line.figures[f"{listener}_of_deals"],
        )
        for speaker, listener in (("first", "second"), ("second", "first"))
    ]
    return dict(zip(VIEWS, (all_sides, *seats), strict=True))


def _shares(line: PlayerLine, rival: PlayerLine, confidence: float) -> dict[str, Estimate]:
    """Own points as a share of the rival's in the same games, paired, by view."""
    points, rival_points = (by_view(player.tally[:, NUMBER["points"]]) for player in (line, rival))
    return {view: points[view].ratio(rival_points[view], confidence) for view in VIEWS}


def scenarios_of(source: ScenarioSource, sample: int | None, seed: int) -> Scenarios:
    """``sample`` scenarios of a source, by default all of them, or of an endless one ``ENDLESS``."""
    if sample is None and source.table is not None:
        return source.table
    return source.block(seed, 0, ENDLESS if sample is None else sample)
