"""Differences of arms on the same partners, with a verdict in words: better, worse, equivalent or undecided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dond_marl import statistics
from dond_marl.statistics import UNKNOWN, Comparison, Estimate
from league.bench.arms import NASHCONV, Arm
from partners.rosters import ROSTERS

SMALLEST_EFFECT = 0.10  # points of ten; a smaller difference of arms is of no interest
MINUS = "\N{MINUS SIGN}"


class Difference(NamedTuple):
    """An arm - the reference arm, in points and in NashConv, and the verdict in words."""

    name: str
    over: str
    points: Comparison
    nashconv: Estimate  # nan where one of them has none
    partners: tuple[str, ...]
    effect: float

    @property
    def sentence(self) -> str:
        """The names of the arms, and :attr:`words`."""
        return f"{self.name} {MINUS} {self.over}: {self.words}."

    @property
    def words(self) -> str:
        """The difference, its verdict with the reason, the partner that matters most, and that of NashConv."""
        effect, points = f"±{self.effect:.2f}", self.points
        reason = {
            "better": "the 95 % interval is above 0",
            "worse": "the 95 % interval is below 0",
            "equivalent": f"the 90 % interval lies within {effect}",
            "undecided": f"the 95 % interval holds 0, the 90 % interval does not lie within {effect}",
        }
        text = f"{signed_interval(points.difference)} points of ten, {points.verdict} ({reason[points.verdict]})"
        if points.without:
            changed = f"the verdict changes without {self.changes}" if self.changes else "the verdict stays"
            text += f"; without any one partner {self.range}, moved most by {self.mover}, and {changed}"
        return text + ("" if math.isnan(self.nashconv.mean) else f"; {NASHCONV} {signed_interval(self.nashconv)}")

    @property
    def range(self) -> str | None:
        """The difference without any one partner, least and most."""
        means = [estimate.mean for estimate, _ in self.points.without]
        return f"{min(means):+.2f}..{max(means):+.2f}" if means else None

    @property
    def mover(self) -> str | None:
        """The partner whose omission moves the difference most."""
        moves = [abs(estimate.mean - self.points.difference.mean) for estimate, _ in self.points.without]
        return self.partners[moves.index(max(moves))] if moves else None

    @property
    def changes(self) -> str | None:
        """The partners without one of which the verdict is another, at most three by name, with that verdict."""
        pairs = zip(self.partners, self.points.without, strict=False)
        named = [f"{partner} ({verdict})" for partner, (_, verdict) in pairs if verdict != self.points.verdict]
        further = f" and {len(named) - 3} others" if len(named) > 3 else ""
        return ", ".join(named[:3]) + further if named else None

    def format_p(self, p: float) -> str:
        """A p-value; where it is the least that so many seeds can give it is a bound."""
        test = self.points.test
        at_floor = test.p <= test.floor * (1 + statistics.ROUNDING)
        return "-" if math.isnan(p) else f"{'≤ ' if at_floor else ''}{p:.2g}"


def differences(arms: Sequence[Arm], over: str, effect: float = SMALLEST_EFFECT) -> list[Difference]:
    """Every other arm - the arm ``over``; none without it. Of a learned policy one seed alone is not compared."""
    named = {arm.name: arm for arm in arms if len(arm.rows) > 1 or not arm.learned}
    if over not in named or len(named) < 2:
        return []
    reference, scores = named[over], {name: arm.scores() for name, arm in named.items()}
    fixed = reference.rows[0]["benchmark"]["roster"] not in ROSTERS
    compared = statistics.compare_arms(scores, over, reference.families, effect, fixed=fixed)
    reference_nashconv = reference.exploitability("nashconv")
    compared_arms = []
    for name, comparison in compared.items():
        arm_nashconv = named[name].exploitability("nashconv")
        nashconv = (
            UNKNOWN
            if arm_nashconv is None or reference_nashconv is None
            else statistics.mean_difference(arm_nashconv, reference_nashconv)
        )
        compared_arms.append(Difference(name, over, comparison, nashconv, tuple(reference.partners), effect))
    return compared_arms


def signed_interval(estimate: Estimate) -> str:
    """A difference with its sign, and both ends of its interval where it has one."""
    return f"{estimate.mean:+.2f}" + (
        "" if math.isnan(estimate.low) else f" [{estimate.low:+.2f}, {estimate.high:+.2f}]"
    )
