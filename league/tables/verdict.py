"""Verdict on a league: what its mains learned, what they get from strangers, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from league.evaluation.exploitability import BEST
from league.evaluation.final import BEGAN, BOUND, GAIN, REFERENCE, SHARE
from league.figures.rows import Figures
from league.standings.crossplay import CrossPlay, lead
from league.standings.history import CurvePoint
from league.standings.ladder import Standing
from league.tables.figures import count_noun, with_margin
from league.tables.final import worst_share


class Verdict(NamedTuple):
    """Phrases, empty where nothing is known; all but ``learned`` are on the first main."""

    learned: str  # by all mains, or the first of the ladder in a league without mains
    adversary: str  # what the best response gains
    strangers: str  # the share of the best possible against the held-out members
    weakest: str  # the held-out member with the smallest share
    cost: str  # the time of all rounds

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        weakest = f", weakest against {self.weakest}" if self.weakest else ""
        return "; ".join(filter(None, (self.learned, self.strangers + weakest, self.adversary, self.cost))) + "."

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The verdict as labelled facts."""
        learned = "; ".join(filter(None, (self.learned, self.adversary)))
        texts = (learned, self.strangers, self.weakest, self.cost)
        labels = ("Learned", "Against strangers", "Weakest against", "Cost")
        return tuple((label, text) for label, text in zip(labels, texts, strict=True) if text)


def verdict_of(
    curves: Sequence[CurvePoint],
    mains: Sequence[str],
    cross: CrossPlay,
    standings: Sequence[Standing],
    final: Figures | None,
    confidence: float,
    cost: str,
) -> Verdict:
    """The verdict; ``final``: the held-out evaluation, if there is one; ``cost``: in words, or empty."""
    by_main = {name: [point for point in curves if point.member == name] for name in mains}
    learned = list(filter(None, (_learned(name, by_main[name]) for name in mains)))
    rounds = max((point.round for point in curves), default=0)
    unranked = {row.member: row.unranked_because for row in standings if not row.has_rank}
    failed = [f"; {name} has no rank: {unranked[name]}" for name in mains if name in unranked and standings[0].has_rank]
    when = f"in {count_noun(rounds, 'round')}" if rounds else "before any practice"
    in_rounds = f" of ten from the fixed members {when}"
    text = ", ".join(learned) + in_rounds if learned else leader(cross, standings, confidence)
    text += "".join(failed)
    if not mains:
        return Verdict(text, "", "", "", cost)
    figures = final if final is not None and mains[0] in final.terms["members"] else None
    strangers, weakest = ("", "") if figures is None else _against_strangers(figures, mains[0])
    return Verdict(text, _adversary(by_main[mains[0]], figures, mains[0]), strangers, weakest, cost)


def _learned(name: str, curve: Sequence[CurvePoint]) -> str:
    """Points at the start and now: ``main: from 1.2 to 6.6 points``; empty without any."""
    means = [f"{point.points.mean:.1f}" for point in curve if point.points.n]
    return (
        f"{name}: from {means[0]} to {means[-1]} points" if means[1:] else f"{name}: {means[0]} points" if means else ""
    )


def _adversary(curve: Sequence[CurvePoint], final: Figures | None, name: str) -> str:
    """The gain of the exact best response at the end and before training, the sum of both seats; else that in matches.

    A best response of the league answers the learner's likeliest acts, which samples in matches: the gain is at least
    the measured one.
    """
    now, before = (None, None) if final is None else (_exact_gain(final, name, by) for by in (BEST, BEGAN))
    measured = [point.gain.mean for point in curve if point.gain.n]
    if now is None:
        return f"an adversary gains at least {measured[-1]:.1f} points (both seats added)" if measured else ""
    return f"an adversary gains {now:.1f} points (both seats added)" + (
        "" if before is None else f", {'down' if now < before else 'up'} from {before:.1f} untrained"
    )


def _exact_gain(final: Figures, name: str, response: str) -> float | None:
    rows = list(final.select(member=name, against=response, figure=GAIN))
    return sum(row.high for row in rows) if rows and all(row.note == "exact" for row in rows) else None


def _against_strangers(final: Figures, name: str) -> tuple[str, str]:
    mean, worst = final.row(name, "", "proximity, mean"), worst_share(final, name)
    if mean is None or worst is None or math.isnan(mean.value):
        return "", ""
    bounded = any(row.note == BOUND for row in final.select(member=name, figure=REFERENCE))
    partners = count_noun(len(final.opponents(name, SHARE)), "partner")
    share = f"{'at least ' if bounded else ''}{mean.value:.0%} of the best possible"
    return f"{share} against {partners} it never met", f"{worst.against} as {worst.seat} ({worst.value:.0%})"


def leader(cross: CrossPlay, standings: Sequence[Standing], confidence: float) -> str:
    """The first of the ladder, and its lead over the second with interval."""
    ranked = [row for row in standings if row.has_rank]
    if not ranked:
        failed = sum(row.failed for row in standings)
        many = f"all {failed:,} matches" if failed > 1 else "the only match"
        return f"no member has a rank: {many} failed" if failed else "no games were played yet"
    first, mean = ranked[0], with_margin(ranked[0].points)
    most = f"{first.member} gets the most from all others, {mean} points of ten"
    if len(ranked) == 1:
        return most
    second = ranked[1]
    ahead = lead(cross, first.member, second.member, confidence)
    interval = "" if math.isnan(ahead.low) else f" ({ahead.low:.2f} to {ahead.high:.2f})"
    if ahead.low <= 0:
        return (
            f"{first.member} and {second.member} do not differ significantly: {mean} and {with_margin(second.points)} "
            f"points of ten from all others, difference {ahead.mean:.2f}{interval}"
        )
    return f"{most}, {ahead.mean:.2f}{interval} more than {second.member}"
