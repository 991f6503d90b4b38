"""Outcome sentences: what an evaluation, a league or a report says first, in at most three sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from dond_marl.game import SEATS
from league.evaluation.evaluate import BEST, BOTH, Evaluation, PlayerLine
from league.play.values import Member, oracles_among
from league.standings.crossplay import CrossPlay, lead
from league.standings.ladder import Standing
from league.tables.figures import with_margin

SMALL_GAP = 0.005  # points of ten; smaller losses are not reported


def pair_summary(evaluation: Evaluation) -> tuple[str, ...]:
    """Outcome of one pair: points, share of the best response's points, deals, and where the difference is lost."""
    played, best = evaluation.played.figures[BOTH], evaluation.best
    member, against = (
        f"{name} ({evaluation.protocols[name]})" if name in evaluation.protocols else name
        for name in (evaluation.member, evaluation.against)
    )
    answers = evaluation.answers.get(evaluation.member)
    if answers is not None and answers.decisions and not answers.own_decisions:  # the points are the fallback's
        return (f"{member} has no points against {against}: it made none of its {answers.decisions:,} decisions.",)
    earned = f"{member} gets {with_margin(played.points)} points of ten from {against}"
    if best is not None:
        reference = "the exact best response gets" if best.name == BEST else "the best response that was found gets"
        earned += f", {with_margin(evaluation.shares[best.name][BOTH], 'share')} of what {reference} in the same games"
    pareto = "" if math.isnan(played.pareto.mean) else f", {played.pareto.mean:.1%} of them Pareto-optimal"
    sentences = (f"{earned}.", f"It closes a deal in {played.deals.mean:.1%} of its games{pareto}.")
    return sentences if best is None else (*sentences, _loss_sentence(evaluation.played, best))


def _loss_sentence(played: PlayerLine, best: PlayerLine) -> str:
    own, most = played.figures[BOTH], best.figures[BOTH]
    gap = most.points.mean - own.points.mean
    if gap < SMALL_GAP:
        return "Nothing is lost to the best response in these games."
    agreed = 0.0 if math.isnan(most.points_agreed.mean) else most.points_agreed.mean
    unclosed = min(max((most.deals.mean - own.deals.mean) * agreed, 0.0), gap)
    seats = [best.figures[seat].points.mean - played.figures[seat].points.mean for seat in SEATS]
    worse = round(gap, 2) - round(unclosed, 2)  # so that the parts add up as they are shown
    return (
        f"It loses {gap:.2f} points to that response, {unclosed:.2f} in games without a deal and {worse:.2f} in worse "
        f"deals; {seats[0]:.2f} as seat_0, {seats[1]:.2f} as seat_1."
    )


def practice_warning(without: Mapping[str, int]) -> str | None:
    """The learners that learned nothing in some rounds, ``without`` their numbers; ``None`` if there are none."""
    if not without:
        return None
    each = (f"{name} learned nothing in {rounds:,} round{'s' * (rounds > 1)}" for name, rounds in without.items())
    return f"{'; '.join(each)}: the practice could not be finished."


def league_summary(
    cross: CrossPlay,
    standings: Sequence[Standing],
    confidence: float,
    mains: Sequence[str],
    members: Iterable[Member] = (),
) -> str:
    """Outcome of a league: the first of the ladder, its lead over the second with interval, and the mains' ranks.

    Best responses among ``members`` are left out: they know the weights of their target.
    """
    oracles = oracles_among(members)
    standings = [row for row in standings if row.member not in oracles]
    ranked = [row for row in standings if row.has_rank]
    if not ranked:
        failed = sum(row.failed for row in standings)
        many = f"all {failed:,} matches" if failed > 1 else "the only match"
        return f"No member has a rank: {many} failed." if failed else "No games were played yet."
    leader = ranked[0]
    first = f"{leader.member} gets the most from all others, {with_margin(leader.points)} points of ten"
    if len(ranked) > 1:
        second = ranked[1]
        ahead = lead(cross, leader.member, second.member, confidence)
        interval = "" if math.isnan(ahead.low) else f" ({ahead.low:.2f} to {ahead.high:.2f})"
        if ahead.low <= 0:
            first = (
                f"{leader.member} and {second.member} do not differ significantly: "
                f"{with_margin(leader.points)} and {with_margin(second.points)} points of ten from all "
                f"others, difference {ahead.mean:.2f}{interval}"
            )
        else:
            first += f", {ahead.mean:.2f}{interval} more than {second.member}"
    places = {row.member: place for place, row in enumerate(ranked, start=1)}
    among = f"{len(ranked)} without best responses," if oracles else f"{len(ranked)}"
    others = [
        f"{name} is number {places[name]} of {among} with {with_margin(ranked[places[name] - 1].points)}"
        for name in mains
        if places.get(name, 1) > 1
    ]
    unranked = {row.member: row.unranked_because for row in standings if not row.has_rank}
    without_rank = [f"{name} has no rank: {unranked[name]}" for name in mains if name in unranked]
    return f"{'; '.join([first, *others, *without_rank])}."
