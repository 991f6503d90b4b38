"""What a league's main members are worth at the end: on scenarios, and against members, that nobody learned from.

Each is measured beside the best that can be done against the same partner on the same scenarios
(:mod:`league.evaluation.proximity`), in self-play, and by what others can take from it. The reference is the exact
best response where it can be computed, otherwise the strongest response that is known, and says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Doubles, Partner, costs_to_ask
from dond_marl.yardsticks.best_response import OutOfReach
from dond_marl.yardsticks.metrics import Estimate, mean_over_scenarios
from dond_marl.yardsticks.values import Exploitability, self_play_values
from league.evaluation.best_reply import best_reply, reply_value
from league.evaluation.evaluate import FOUND, Line, line_of, points_of_reference, scenarios_of
from league.evaluation.matches import PlayError, Terms, play_seats
from league.evaluation.outcomes import Outcomes
from league.evaluation.proximity import Beside, Proximity, beside, proximity
from league.settings.rosters import zoo

EXACT, BY_ODDS = "exact best response", "response by its odds"
Games = tuple[Outcomes, Outcomes]  # of one player in each seat


class Meeting(NamedTuple):
    """A member against one opponent, and the reference in the same games."""

    opponent: str
    played: Line
    reference: Line
    kinds: tuple[str, str]  # what the reference is in each seat


class Exploited(NamedTuple):
    """What an exploiter does to a member, points of ten."""

    exploiter: str
    gain: tuple[Estimate, Estimate]  # by its seat: its points less the member's own against itself there
    drop: tuple[Estimate, Estimate]  # by the member's seat: its points against the opponents less those left here


class MemberEvaluation(NamedTuple):
    """What one main member is worth."""

    member: str
    meetings: tuple[Meeting, ...]
    proximity: Proximity  # to the references' own points
    agreement: Beside  # share of games with a deal, and the references' own
    welfare: Beside  # share of the largest joint points, no deal being 0
    self_play: Line  # one game per scenario
    exploiters: tuple[Exploited, ...]  # who gains most first
    exploitability: tuple[Exploitability, Exploitability] | None  # by the exploiting seat; None where it is not known


class FinalEvaluation(NamedTuple):
    """What all main members of a league are worth, and on what it was measured."""

    members: tuple[MemberEvaluation, ...]
    source: ScenarioSource
    scenarios: Scenarios  # that were played, each in both seats
    rules: Rules
    seed: int
    confidence: float
    points: tuple[Line, ...]  # of reference
    notes: tuple[str, ...]


def final_evaluation(
    members: Mapping[str, Spec | Partner],
    opponents: Mapping[str, Spec | Partner],
    source: ScenarioSource,
    rules: Rules = Rules(),
    *,
    exploiters: Mapping[str, Spec | Partner] | None = None,
    trained: Mapping[str, Spec | Partner] | None = None,
    revealed: bool = False,
    sample: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    exploitability: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> FinalEvaluation:
    """Measure ``members`` against ``opponents`` on ``sample`` scenarios of ``source``, by default all.

    ``exploiters`` learned against the members; they, ``trained``, the members and the scripted catalogue are tried as
    references where no best response is exact. ``revealed``: both seats see each other's values. Who breaks down is
    noted and left out. Raises :class:`~dond_marl.occupants.OccupantNameError` and
    :class:`~dond_marl.yardsticks.efficiency.ImpossibleScore`.
    """
    mains, partners = _seated(members), _seated(opponents)
    hunters = _seated(exploiters or {})
    strong = {**hunters, **mains, **_seated(trained or {})}
    terms = Terms(source, scenarios_of(source, sample, seed), rules, seed, confidence, revealed)
    everybody = {**mains, **partners}.items()
    notes = [f"{who} sees what its seat cannot see" for who, player in everybody if player.traits.privileged]
    met: dict[str, list[Meeting]] = {name: [] for name in mains}
    for opponent, partner in partners.items():
        if costs_to_ask(partner.traits):
            notes.append(f"{opponent} is left out: a reference would ask it thousands of times")
            continue
        tell(f"the best that can be done against {opponent}")
        try:
            known = _met(terms, opponent, partner, mains, notes)
            reference, kinds = _reference(terms, opponent, partner, known, strong, set(hunters))
        except PlayError as error:
            notes.append(f"{opponent} is left out: {error}")
            continue
        line = line_of("reference", reference, confidence)
        for name, games in known.items():
            met[name].append(Meeting(opponent, line_of(name, games, confidence), line, kinds))
    evaluations = []
    for name, player in mains.items():
        if not met[name]:
            notes.append(f"{name} is not evaluated: it has met nobody")
            continue
        tell(f"what can be gained against {name}")
        try:
            evaluations.append(_evaluated(terms, name, player, tuple(met[name]), hunters, exploitability, notes))
        except PlayError as error:
            notes.append(f"{name} is not evaluated: {error}")
    points = points_of_reference(terms.scenarios, rules, confidence)
    return FinalEvaluation(tuple(evaluations), source, terms.scenarios, rules, seed, confidence, points, tuple(notes))


def _met(
    terms: Terms, opponent: str, partner: Partner, mains: Mapping[str, Partner], notes: list[str]
) -> dict[str, Games]:
    """The games of every member against an opponent; a member that fails is noted and left out.

    Raises :class:`PlayError` where the opponent fails.
    """
    known = {}
    for name, player in mains.items():
        try:
            known[name] = play_seats(terms, name, (player, player), opponent, partner)
        except PlayError as error:
            if error.who == opponent:
                raise
            notes.append(f"{name} does not meet {opponent}: {error}")
    return known


def _reference(
    terms: Terms,
    opponent: str,
    partner: Partner,
    known: Mapping[str, Games],
    strong: Mapping[str, Partner],
    hunters: set[str],
) -> tuple[Games, tuple[str, str]]:
    """The games of the strongest known response in each seat, and what it is."""
    tried: dict[str, Games] = {}
    try:
        reply = best_reply(partner, terms.source, terms.rules, revealed=terms.revealed)
        games = play_seats(terms, FOUND, reply.players, opponent, partner)
        if reply.exact:
            return games, (EXACT, EXACT)
        tried[BY_ODDS] = games
    except ValueError:  # it remembers, or its odds are not known
        pass
    except PlayError as error:
        if not isinstance(error.cause, OutOfReach):
            raise
    kinds = dict.fromkeys(strong, "trained") | dict.fromkeys(hunters, "trained exploiter")
    scripted = {name: seat_occupant(name) for name in zoo() if name not in strong}
    for name, player in {**strong, **scripted}.items():
        try:
            games = known[name] if name in known else play_seats(terms, name, (player, player), opponent, partner)
        except PlayError as error:
            if error.who == opponent:
                raise
            continue  # it is noted where it is measured
        tried[f"{name}, {kinds.get(name, 'scripted')}"] = games
    best = [max(tried, key=lambda name: float(tried[name][seat].own.mean())) for seat in (0, 1)]
    first, second = (f"{name} (best of {len(tried)})" for name in best)
    return (tried[best[0]][0], tried[best[1]][1]), (first, second)


def _evaluated(
    terms: Terms,
    name: str,
    player: Partner,
    meetings: tuple[Meeting, ...],
    hunters: Mapping[str, Partner],
    exploitability: bool,
    notes: list[str],
) -> MemberEvaluation:
    own, reference = [each.played.seats for each in meetings], [each.reference.seats for each in meetings]
    opens = play_seats(terms, name, (player, player), name, player)[0]
    alone = opens, opens._replace(own=opens.left, left=opens.own)  # one game per scenario, seen from each seat
    exploited = []
    for hunter, exploiter in hunters.items():
        try:
            taken = play_seats(terms, hunter, (exploiter, exploiter), name, player)
            exploited.append(_exploited(hunter, taken, alone, own, terms.confidence))
        except PlayError as error:
            notes.append(f"the exploiter {hunter} is left out: {error}")
    return MemberEvaluation(
        name,
        meetings,
        proximity(own, reference, seed=terms.seed, confidence=terms.confidence),
        beside("deal", own, reference, seed=terms.seed, confidence=terms.confidence),
        beside("welfare", own, reference, seed=terms.seed, confidence=terms.confidence),
        line_of(name, alone, terms.confidence),
        tuple(sorted(exploited, key=lambda each: -(each.gain[0].mean + each.gain[1].mean))),
        _exploitability(terms, player) if exploitability else None,
    )


def _exploited(hunter: str, taken: Games, alone: Games, own: list[Games], confidence: float) -> Exploited:
    """``taken``: the exploiter's games by seat; ``alone``, ``own``: the member's with itself and with opponents."""

    def over_scenarios(difference: Doubles) -> Estimate:
        return mean_over_scenarios(difference, alone[0].groups, confidence)

    gain = [over_scenarios(taken[seat].own - alone[seat].own) for seat in (0, 1)]
    usual = [np.mean([games[seat].own for games in own], axis=0) for seat in (0, 1)]
    drop = [over_scenarios(usual[seat] - taken[1 - seat].left) for seat in (0, 1)]
    return Exploited(hunter, (gain[0], gain[1]), (drop[0], drop[1]))


def _exploitability(terms: Terms, player: Partner) -> tuple[Exploitability, Exploitability] | None:
    """What a best response in each seat gains over the member against itself, under the source's prior."""
    if terms.revealed or costs_to_ask(player.traits):
        return None
    try:
        reply = best_reply(player, terms.source, terms.rules)
        alone = self_play_values(player, terms.source, terms.rules)
        tried = [{"itself": player, FOUND: found} for found in reply.players]
        values = [reply_value(reply, player, terms.source, terms.rules, seat, tried[seat]) for seat in (0, 1)]
    except ValueError:  # it remembers, its odds are not known, or the distribution is out of reach
        return None
    return Exploitability(values[0], alone[0]), Exploitability(values[1], alone[1])


def _seated(occupants: Mapping[str, Spec | Partner]) -> dict[str, Partner]:
    return {name: seat_occupant(occupant) for name, occupant in occupants.items()}
