"""What an output opens with: its outcome in at most three sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dond_marl.game import SEATS
from dond_marl.statistics import Estimate
from league.evaluation.evaluate import BEST, BOTH, Evaluation, Line
from league.standings.crossplay import CrossPlay, lead
from league.standings.ladder import Standing

ENOUGH = 0.005  # points of ten: less is not worth a sentence


def of_pair(evaluation: Evaluation) -> tuple[str, ...]:
    """What a member gets from a partner, what share that is of the possible, and where the rest is lost."""
    played, best = evaluation.played.figures[BOTH], evaluation.best
    member, against = (
        f"{name} ({evaluation.protocols[name]})" if name in evaluation.protocols else name
        for name in (evaluation.member, evaluation.against)
    )
    earned = f"{member} gets {_points(played.points)} points of ten from {against}"
    if best is not None:
        what = "the exact best response gets" if best.name == BEST else "the best response that was found gets"
        earned += f", {_share(evaluation.shares[best.name][BOTH])} of what {what} in the same games"
    pareto = "" if math.isnan(played.pareto.mean) else f", {played.pareto.mean:.1%} of them Pareto-optimal"
    sentences = (f"{earned}.", f"It closes a deal in {played.deals.mean:.1%} of its games{pareto}.")
    return sentences if best is None else (*sentences, _lost(evaluation.played, best))


def _lost(played: Line, best: Line) -> str:
    """Where the points are that the best response gets and the member does not: in no deals, or in worse ones."""
    own, most = played.figures[BOTH], best.figures[BOTH]
    gap = most.points.mean - own.points.mean
    if gap < ENOUGH:
        return "Nothing is lost to the best response in these games."
    unclosed = (most.deals.mean - own.deals.mean) * _known(most.points_agreed.mean)
    seats = [best.figures[seat].points.mean - played.figures[seat].points.mean for seat in SEATS]
    if unclosed <= 0:  # it closes no fewer deals
        where = "all of them in deals that give it less"
    elif unclosed >= gap:  # its deals give it no less
        where = "all of them for want of a deal"
    else:
        where = f"{unclosed:.2f} of them for want of a deal and {gap - unclosed:.2f} in deals that give it less"
    return f"It falls short by {gap:.2f} points, {where}: by {seats[0]:.2f} as seat_0, by {seats[1]:.2f} as seat_1."


def of_league(cross: CrossPlay, standings: Sequence[Standing], confidence: float, mains: Sequence[str]) -> str:
    """Who gets most from all others, by how much over whom or that this is not known, and where the mains stand."""
    ranked = [row for row in standings if row.ranked]
    if not ranked:
        failed = sum(row.failed for row in standings)
        many = f"all {failed:,} matches" if failed > 1 else "the only match"
        return f"Nobody has a rank: {many} failed." if failed else "No games were played yet."
    leader = ranked[0]
    first = f"{leader.member} gets the most from all others, {_points(leader.points)} points of ten"
    if len(ranked) > 1:
        behind = ranked[1]
        ahead = lead(cross, leader.member, behind.member, confidence)
        between = "" if math.isnan(ahead.low) else f" ({ahead.low:.2f} to {ahead.high:.2f})"
        if ahead.low <= 0:
            first = (
                f"{leader.member} and {behind.member} cannot be told apart: {_points(leader.points)} and "
                f"{_points(behind.points)} points of ten from all others, {ahead.mean:.2f}{between} between them"
            )
        else:
            first += f", {ahead.mean:.2f}{between} more than {behind.member}"
    places = {row.member: place for place, row in enumerate(ranked, start=1)}
    others = [
        f"{name} is number {places[name]} of {len(ranked)} with {_points(ranked[places[name] - 1].points)}"
        for name in mains
        if places.get(name, 1) > 1
    ]
    unranked = {row.member: row.unranked_because for row in standings if not row.ranked}
    silent = [f"{name} has no rank: {unranked[name]}" for name in mains if name in unranked]
    return f"{'; '.join([first, *others, *silent])}."


def of_final(document: Mapping[str, Any]) -> tuple[str, ...]:
    """What a best response takes from the first main, and how it does against held-out members, the worst one named.

    ``document`` is that of ``evaluation.json``. Raises ``AttributeError``, ``KeyError``, ``TypeError`` or
    ``ValueError`` where it lacks what it should hold.
    """
    if not document["members"]:
        return ()
    name, member = next(iter(document["members"].items()))
    sentences = []
    if (gains := member["exploitability"]) is not None:
        most = [float(gains[seat]["high"]) for seat in SEATS]
        bound = "" if all(gains[seat]["exact"] for seat in SEATS) else "at most "
        sentences.append(
            f"A best response to {name} gets {bound}{most[0]:.2f} points more as seat_0, and {bound}{most[1]:.2f} more "
            f"as seat_1, than {name} gets there against itself."
        )
    near, worst = member["proximity"]["mean"]["value"], member["worst"]
    if worst is not None and near is not None:
        sentences.append(
            f"Against the held-out members {name} gets {float(near):.1%} of what a best response would get (mean), "
            f"and least, {float(worst['share']['value']):.1%}, from {worst['opponent']} as {worst['seat']}."
        )
    return tuple(sentences)


def _points(estimate: Estimate) -> str:
    return f"{estimate.mean:.2f}" + ("" if math.isnan(estimate.low) else f" ±{estimate.margin:.2f}")


def _share(estimate: Estimate) -> str:
    return f"{estimate.mean:.1%}" + ("" if math.isnan(estimate.low) else f" ±{estimate.margin:.1%}")


def _known(value: float) -> float:
    return 0.0 if math.isnan(value) else value
