"""Final evaluation of a league's main members, on held-out scenarios against held-out members.

Each is compared with a reference for the same partner on the same scenarios, in self-play, and by its exploitability.
The reference is a property of the partner alone: the points of the exact best response to it, or an upper bound that no
policy exceeds; never those of the mains, their snapshots or exploiters. Without either there is no share. The best
known points are another column. Both are read where they are stored; otherwise they are computed where that is quick
(:data:`AFFORDABLE`), and the best known points are then those of a scripted partner, or of a response by the partner's
answer probabilities, in the same games.

A member's share is its mean own points over the reference's, against one partner in one seat. The summary of the shares
is their mean, the mean of those against exact references alone, and the mean over the tenth of the partners where they
are worst: robustness shows where a member does badly, so nothing is left out (as ZSC-Eval does: Wang et al. 2024,
section 4). Intervals are Bayesian bootstraps over groups of scenarios, and of the mean another one over partners too.
W = partners, R = replicates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import NotComputable
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import ScenarioSource, view_parts
from dond_marl.seats import Bools, Doubles, Partner, expensive_to_query
from dond_marl.solvers.adaptive import is_enumerable
from dond_marl.solvers.best_response import exact_by_answers
from dond_marl.solvers.values import Exploitability
from dond_marl.statistics import GROUPS, Estimates, scenario_groups, worst_tenth_weights
from league.evaluation.evaluate import points_of_reference, scenarios_of
from league.evaluation.exploitability import (
    BEST,
    FOUND,
    best_known_response,
    exploitability_by_seat,
    gain_parts,
    play_response,
)
from league.evaluation.matches import PlayerLine, PlayError, SeatGames, Terms, play, played_rows, score
from league.figures.measures import NUMBER
from league.figures.rows import FigureRow, Figures, bounded_row, figure_row
from league.figures.tally import Tally, scenario_weights, with_interval
from league.play.occupant_kinds import IN_GAMES_ONLY, is_free
from league.standings.references import PRIOR, Side, reference_of, stored_references
from partners.provenance import identity
from partners.rosters import TRAIN, roster

EXACT, BOUND, NONE = "exact best response", "upper bound", "not known"
BY_ODDS, ON_FILE = "response by its odds", "stored response"
BEGAN, GAIN, DROP = "best response, before training", "gain", "victim drop"  # an exploiter, and figures of exploiters
REFERENCE, BEST_KNOWN, SHARE = "reference's points", "best known", "share"  # figures against one opponent
# Figures of games against each opponent, of self-play and of points of reference.
PLAYED = ("points", "left", "deals", "welfare", "nash", "egalitarian", "pareto", "turns")
REPLICATES = 1_000  # of the bootstraps
LEAST = 1e-9  # points of ten; a reference below it has no shares
AFFORDABLE = 5.0  # seconds of one core: slower responses to partners with memory are not computed


class ReferenceMark(NamedTuple):
    """The reference for a partner in one seat."""

    kind: str  # EXACT, BOUND or NONE
    points: Doubles  # [N] of ten in each game, or their mean in every one; nan where nothing is certain


class BestKnown(NamedTuple):
    """The best known points against a partner in one seat, of a player that did not train in this league.

    Stored points are means over the games of each part of the scenarios.
    """

    player: str
    points: float  # of ten, mean


class Proximity(NamedTuple):
    """Shares of the references' points; ``nan`` where no reference is certain or where it gets nothing."""

    cells: Estimates  # [W, 2] by partner and seat
    mean: Estimates  # [] of the cells, for these partners: over scenarios
    of_partners: Estimates  # [] the same for partners like these: over scenarios and partners
    exact: Estimates  # [] the mean of the cells whose reference is exact
    worst_tenth: Estimates  # [] the mean of the worst tenth of the partners, at least one, each the mean of its seats


class Matchup(NamedTuple):
    """A member against one opponent, with the references and the best known points."""

    opponent: str
    played: PlayerLine
    marks: tuple[ReferenceMark, ReferenceMark]  # by the member's seat
    known: tuple[BestKnown, BestKnown] | None  # None where the marks are exact


def final_evaluation(
    members: Mapping[str, Spec | Partner],
    opponents: Mapping[str, Spec | Partner],
    source: ScenarioSource,
    rules: Rules = Rules(),
    *,
    exploiters: Mapping[str, Spec | Partner] | None = None,
    began: Mapping[str, Partner] | None = None,
    revealed: bool = False,
    exact: bool = False,
    sample: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    report: Callable[[str], None] = lambda _: None,
) -> Figures:
    """Measure ``members`` against ``opponents`` on ``sample`` scenarios of ``source``, by default all.

    Rows of each main member: the summaries of its shares, agreement and welfare, its figures against each opponent and
    against itself, and the gains of exploiters and best responses; and rows of each point of reference.

    ``exploiters`` trained against the members; ``began``: members as they were before their training. Opponents that
    are specs may have stored references. ``revealed``: both seats see each other's values. ``exact``: code of others is
    queried for references too, and not in its games alone.
    A player that fails is noted and left out. Raises :class:`~dond_marl.occupants.OccupantNameError` and
    :class:`~dond_marl.solvers.efficiency.ImpossibleScore`.
    """
    mains, partners, exploiters_by_name = (
        {name: seat_occupant(occupant) for name, occupant in group.items()}
        for group in (members, opponents, exploiters or {})
    )
    terms = Terms(source, scenarios_of(source, sample, seed), rules, seed, confidence, revealed, exact)
    players = {**mains, **partners}.items()
    notes = [f"{name} sees what its seat cannot see" for name, player in players if player.traits.privileged]
    matchups: dict[str, list[Matchup]] = {name: [] for name in mains}
    for opponent, partner in partners.items():
        if expensive_to_query(partner.traits):
            notes.append(f"{opponent} is left out: it is expensive to query in so many games")
            continue
        report(f"the reference for {opponent}")
        try:
            lines = _play_mains(terms, opponent, partner, mains, notes)
            marks, best_known = _reference_and_best_known(terms, opponent, partner, opponents[opponent], notes, report)
        except PlayError as error:
            notes.append(f"{opponent} is left out: {error}")
            continue
        for name, played in lines.items():
            matchups[name].append(Matchup(opponent, played, marks, best_known))
    rows: dict[str, list[FigureRow]] = {}
    for name, player in mains.items():
        if not matchups[name]:
            notes.append(f"{name} is not evaluated: it played no opponent")
            continue
        report(f"the exploitability of {name}")
        try:
            first = (began or {}).get(name)
            rows[name] = list(_member_rows(terms, name, player, first, matchups[name], exploiters_by_name, notes))
        except PlayError as error:
            notes.append(f"{name} is not evaluated: {error}")
    points = points_of_reference(terms)
    document: dict[str, Any] = {
        **terms.document(),
        "notes": notes,
        "members": list(rows),
        "points_of_reference": [line.name for line in points],
    }
    of_points = (row for line in points for row in played_rows(line.name, "", line.figures, PLAYED))
    return Figures(document, (*chain.from_iterable(rows.values()), *of_points))


def _play_mains(
    terms: Terms, opponent: str, partner: Partner, mains: Mapping[str, Partner], notes: list[str]
) -> dict[str, PlayerLine]:
    """The games of every member against an opponent; a member that fails is noted and left out.

    Raises :class:`PlayError` where the opponent fails.
    """
    lines = {}
    for name, player in mains.items():
        try:
            lines[name] = score(player, partner, terms, names=(name, opponent), complete=True)
        except PlayError as error:
            if error.player == opponent:
                raise
            notes.append(f"{name} does not play {opponent}: {error}")
    return lines


def _reference_and_best_known(
    terms: Terms,
    opponent: str,
    partner: Partner,
    occupant: Spec | Partner,
    notes: list[str],
    report: Callable[[str], None],
) -> tuple[tuple[ReferenceMark, ReferenceMark], tuple[BestKnown, BestKnown] | None]:
    """The reference for a partner in each seat and, unless both are exact, the best known points.

    Read where they are stored. Otherwise one response is computed and played for both, or none where that is slow.
    """
    nothing = ReferenceMark(NONE, np.full(terms.scenarios.size, np.nan))
    ordinary = terms.source.prior == PRIOR and terms.rules == Rules() and not terms.revealed
    spec = occupant if isinstance(occupant, Spec) else None
    stored = reference_of(spec) if ordinary and spec is not None else None
    if stored is not None:
        # In each game the stored mean points over the games of its part.
        first, second = (
            nothing
            if side is None
            else ReferenceMark(
                EXACT if side.exact else BOUND, np.array(side.high_in)[view_parts(terms.scenarios, seat)]
            )
            for seat, side in enumerate(stored.seats)
        )
        if stored.exact:
            return (first, second), None
        opens, answers = stored.seats
        if opens is None or answers is None:
            return (first, second), _best_of_zoo(terms, opponent, partner, None)
        return (first, second), (_stored_response(terms, 0, opens), _stored_response(terms, 1, answers))
    if not (terms.exact or is_free(partner)):
        notes.append(f"no reference for {opponent}: {IN_GAMES_ONLY}")
        return (nothing, nothing), None
    played = None
    if _affordable(partner, spec, terms.rules):
        report(f"a response to {opponent}: none is stored for these rules and scenarios")
        try:
            response = best_known_response(partner, terms.source, terms.rules, revealed=terms.revealed)
            played = play_response(terms, FOUND, response, opponent, partner)
        except NotComputable:
            pass
        else:
            if response.exact:
                first, second = (ReferenceMark(EXACT, outcomes[:, 0]) for outcomes in played.outcomes)
                return (first, second), None
    else:
        notes.append(
            f"no reference is computed for {opponent}: with its memory that takes minutes, and none is stored for it "
            f"with these rules and scenarios (some of lewis under the default rules are stored)"
        )
    return (nothing, nothing), _best_of_zoo(terms, opponent, partner, played)


def _affordable(partner: Partner, spec: Spec | None, rules: Rules) -> bool:
    """Whether a response is quick to compute, by the stored durations for partners of its kind, not by a clock."""
    if exact_by_answers(partner, rules) or not is_enumerable(partner, rules):
        return True
    name = "" if spec is None else identity(spec)
    seconds = {
        other: sum(math.inf if side is None else side.seconds for side in reference.seats)
        for other, reference in stored_references().items()
        if other.partition("(")[0] == name.partition("(")[0]
    }
    duration = seconds.get(name, max(seconds.values(), default=math.inf))
    return duration * rules.max_turns / Rules().max_turns <= AFFORDABLE


def _stored_response(terms: Terms, seat: int, side: Side) -> BestKnown:
    """Points of the stored response of ``seat``: in each game its mean over the games of that part."""
    return BestKnown(ON_FILE, float(np.array(side.low_in)[view_parts(terms.scenarios, seat)].mean()))


def _best_of_zoo(
    terms: Terms, opponent: str, partner: Partner, by_odds: PlayerLine | None
) -> tuple[BestKnown, BestKnown]:
    """The best points against a partner in each seat: of the scripted zoo, and of a response by its odds."""
    tried = {} if by_odds is None else {BY_ODDS: by_odds}
    for name in roster(TRAIN):
        try:
            tried[name] = score(seat_occupant(name), partner, terms, names=(name, opponent), complete=True)
        except PlayError as error:
            if error.player == opponent:
                raise
    first, second = (
        max(
            (BestKnown(name, float(line.outcomes[seat][:, 0].mean())) for name, line in tried.items()),
            key=lambda best: best.points,
        )
        for seat in (0, 1)
    )
    return first, second


def _member_rows(
    terms: Terms,
    name: str,
    player: Partner,
    began: Partner | None,
    matchups: Sequence[Matchup],
    exploiters: Mapping[str, Partner],
    notes: list[str],
) -> Iterator[FigureRow]:
    """The rows of one member; ``began``: the member before its training. Raises :class:`PlayError`."""
    played = Tally.stack([matchup.played.tally for matchup in matchups])  # [W, 2, figures, GROUPS]
    points, deals, welfare = (played[:, :, NUMBER[figure]] for figure in ("points", "deals", "welfare"))
    marks = np.array([[mark.points for mark in matchup.marks] for matchup in matchups])
    reference = Tally.of(marks, scenario_groups(terms.scenarios))
    exact = np.array([[mark.kind == EXACT for mark in matchup.marks] for matchup in matchups])
    seed, confidence, games = terms.seed, terms.confidence, 2 * terms.scenarios.size  # against each opponent
    near = proximity(points, reference, exact, seed=seed, confidence=confidence)
    for figure in Proximity._fields[1:]:
        estimates = getattr(near, figure)
        yield _share_row(name, "", f"proximity, {figure.replace('_', ' ')}", "", estimates, games * len(matchups))
    for figure, measure in (("agreement", deals), ("welfare", welfare)):
        estimates = over_cells(measure, seed=seed, confidence=confidence)
        yield _share_row(name, "", figure, "", estimates, games * len(matchups))
    for i, matchup in enumerate(matchups):
        yield from _matchup_rows(name, matchup, [near.cells.entry(i, seat) for seat in (0, 1)], games)
    opened, answers = play(terms, name, (player, player), name, player, complete=True)
    alone = SeatGames((opened[0], opened[0]), answers).line(name, terms)  # one game, seen from each seat
    yield from played_rows(name, name, alone.figures, PLAYED)
    exploited = []
    for exploiter_name, exploiter in exploiters.items():
        try:
            tally = score(exploiter, player, terms, names=(exploiter_name, name), complete=True).tally
            exploited.append(_exploiter_rows(name, exploiter_name, tally, alone.tally, points, confidence))
        except PlayError as error:
            notes.append(f"the exploiter {exploiter_name} is left out: {error}")
    for rows in sorted(exploited, key=lambda rows: -sum(row.value for row in rows if row.figure == GAIN)):
        yield from rows
    gains = _exploitability(terms, player)
    for response, by_seat in ((BEST, gains), (BEGAN, None if began is None else _exploitability(terms, began))):
        for seat, gain in zip(SEATS, by_seat or (), strict=bool(by_seat)):
            yield bounded_row(name, response, GAIN, seat, *gain.gain, exact=gain.response.exact)
    if gains is not None:
        yield from gain_parts(name, BEST, GAIN, gains, terms.source, terms.rules)


def _share_row(member: str, against: str, figure: str, seat: str, estimates: Estimates, n: int) -> FigureRow:
    value, low, high = map(float, estimates)
    return FigureRow(member, against, figure, seat, value, low, high, n, "share")


def _matchup_rows(name: str, matchup: Matchup, shares: Sequence[Estimates], games: int) -> Iterator[FigureRow]:
    """The rows of a member against one opponent; ``shares``: of the references' points, by seat."""
    opponent = matchup.opponent
    for seat, (seat_name, mark, share) in enumerate(zip(SEATS, matchup.marks, shares, strict=True)):
        yield _share_row(name, opponent, SHARE, seat_name, share, games // 2)
        most = float(mark.points.mean())
        least = most if mark.kind == EXACT else math.nan
        yield FigureRow(name, opponent, REFERENCE, seat_name, least, least, most, note=mark.kind)
        if matchup.known is not None:
            best_known = matchup.known[seat]
            points = (best_known.points, best_known.points, best_known.points)
            yield FigureRow(name, opponent, BEST_KNOWN, seat_name, *points, note=best_known.player)
    yield from played_rows(name, opponent, matchup.played.figures, PLAYED)


def _exploiter_rows(
    name: str, exploiter: str, games: Tally, alone: Tally, points: Tally, confidence: float
) -> list[FigureRow]:
    """Gain of an exploiter over the member against itself in that seat, and drop of the member by the member's seat.

    The drop: the member's points against the opponents less those that it gets from the exploiter. ``games``,
    ``alone``: of the exploiter and of the member with itself, ``[2, figures, GROUPS]``. ``points``: the member's
    against all opponents, ``[W, 2, GROUPS]``.
    """
    gained, left_points = games[:, NUMBER["points"]], games[:, NUMBER["left"]]
    usual = points.averaged()  # the scenarios are the same with all opponents
    rows = []
    for seat, seat_name in enumerate(SEATS):
        gain, drop = gained[seat] - alone[seat, NUMBER["points"]], usual[seat] - left_points[1 - seat]
        rows.append(figure_row(name, exploiter, GAIN, seat_name, gain.mean(confidence)))
        rows.append(figure_row(name, exploiter, DROP, seat_name, drop.mean(confidence)))
    return rows


def _exploitability(terms: Terms, player: Partner) -> tuple[Exploitability, Exploitability] | None:
    """The member's exploitability by each seat; ``None`` where it is unknown or not to be computed."""
    if terms.revealed or not (terms.exact or is_free(player)):
        return None
    try:
        response = best_known_response(player, terms.source, terms.rules)
        return exploitability_by_seat(player, terms.source, terms.rules, response)
    except NotComputable:
        return None


def proximity(points: Tally, reference: Tally, exact: Bools, *, seed: int, confidence: float) -> Proximity:
    """The member's points as shares of the reference's in the same games, by partner and in both seats.

    ``points[W, 2, GROUPS]`` and ``reference[W, 2, GROUPS]``, without games where it is unknown; ``exact[W, 2]``.
    """
    shares = _shares(points, reference, _weights(seed))  # [1 + R, W, 2]
    picked = generator(seed, "partners").integers(shares.shape[1], size=(REPLICATES, shares.shape[1]))
    again = shares[np.arange(1, REPLICATES + 1)[:, None], picked]  # partners drawn again in each replicate
    worst = _worst_weights(shares[0])

    def estimates(values: Doubles, drawn: Doubles | None = None) -> Estimates:
        """The first of ``values[1 + R, ...]``, with the interval of the others or of those ``drawn``."""
        return with_interval(values[0], values[1:] if drawn is None else drawn, confidence, enough=points.has_interval)

    mean = _over_cells(shares)
    return Proximity(
        cells=estimates(shares),
        mean=estimates(mean),
        of_partners=estimates(mean, _over_cells(again)),
        exact=estimates(_over_cells(np.where(exact, shares, np.nan))),
        worst_tenth=estimates(np.nansum(shares * worst, axis=(1, 2)) if worst.any() else mean),
    )


def over_cells(measure: Tally, *, seed: int, confidence: float) -> Estimates:
    """The mean of a measure ``[W, 2, GROUPS]`` over its cells, every cell with games weighing alike."""
    values = np.nanmean(measure.means(_weights(seed)), axis=(0, 1))
    return with_interval(values[0], values[1:], confidence, enough=measure.has_interval)


def _weights(seed: int) -> Doubles:
    """Weights of the groups of scenarios, ``[1 + R, GROUPS]``: all equal, then those of the replicates."""
    return np.vstack([np.ones(GROUPS), scenario_weights(generator(seed, "final evaluation"), REPLICATES)])


def _shares(points: Tally, reference: Tally, weights: Doubles) -> Doubles:
    """The shares ``[1 + R, W, 2]``; ``nan`` where the reference is unknown or gets nothing."""
    sums, most = points.sums @ weights.T, reference.sums @ weights.T
    shares = np.divide(sums, most, out=np.full(sums.shape, np.nan), where=most > LEAST)
    return np.moveaxis(shares, -1, 0)


def _over_cells(values: Doubles) -> Doubles:
    """The mean of each row, ``[R]``, over the entries that are known; ``nan`` without any."""
    flat = values.reshape(len(values), -1)
    counted = ~np.isnan(flat)
    with np.errstate(invalid="ignore"):
        mean: Doubles = np.where(counted, flat, 0.0).sum(axis=1) / counted.sum(axis=1)
    return mean


def _worst_weights(shares: Doubles) -> Doubles:
    """The weight of each cell in the mean of the worst tenth, ``[W, 2]``; the sum is 1, or 0 without any share.

    A partner's share is the mean of its seats that have one; a fraction of a partner counts by its fraction.
    """
    counted = ~np.isnan(shares)
    seats = counted.sum(axis=1)
    partners = np.flatnonzero(seats)
    weights = np.zeros(shares.shape)
    if len(partners):
        per_partner = worst_tenth_weights(_over_cells(shares[partners]))
        weights[partners] = counted[partners] * (per_partner / seats[partners])[:, None]
    return weights
