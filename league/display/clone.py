"""What a person sees of a policy that is taught people's acts: an epoch in a line, and what it is worth as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from dond_marl.statistics import Estimate
from league.display.tables import line
from league.display.training import share_line
from league.tables.figures import with_margin
from league.training.clone import Lessons, Report
from partners.learning.cloning import Epoch


def status(epoch: Epoch) -> str:
    """The losses of one epoch, in nats, in one line."""
    return (
        f"epoch {epoch.epoch}: surprised by what others said {epoch.act:.3f} nats by the act and {epoch.oA:.3f} by the "
        f"split, by what it was taught {epoch.learned_act:.3f} and {epoch.learned_oA:.3f}{', the best' * epoch.best}"
    )


def print_report(console: Console, report: Report, lessons: Lessons) -> None:
    """What the expert is worth, as tables; ``lessons``: what it was taught and examined on."""
    unseen, likeness = lessons.unseen, report.likeness
    line(
        console,
        f"\nbeside people, at {unseen.size:,} positions of test that nothing was taught from, "
        f"{int(unseen.replies.sum()):,} of them replies; 95 % intervals over scenarios",
    )
    table = _table("says", "the same act", "in replies", "the same split, of offers")
    rows = {
        "supervised expert": likeness.accuracy,
        "what people say most": report.majority,
        "heuristic": report.heuristic,
    }
    for name, row in rows.items():
        table.add_row(name, *(with_margin(share, "share") for share in row))
    console.print(table)
    everywhere, replies = report.more_than_majority
    line(
        console,
        f"more than the majority: {_points(everywhere)} points of accuracy, in replies {_points(replies)}; "
        f"cross-entropy {with_margin(likeness.act_nats)} nats of an act, "
        f"{with_margin(likeness.oA_nats)} of an offer's split",
    )
    table = _table("act", "said", "expected", "of said, expected", "of expected, said")
    for act in likeness.acts:
        table.add_row(
            act.act, f"{act.said:,}", f"{act.expected:,}", _share(act.both, act.said), _share(act.both, act.expected)
        )
    console.print(table)
    line(console, f"calibration of the act: expected error {likeness.calibration_error:.1%}")
    table = _table("probability", "positions", "mean", "said")
    for bucket in filter(lambda bucket: bucket.n, likeness.reliability):
        span = f"{bucket.low:.1f} to {bucket.high:.1f}"
        table.add_row(span, f"{bucket.n:,}", f"{bucket.confidence:.1%}", f"{bucket.accuracy:.1%}")
    console.print(table)
    line(console, "play on the held-out scenarios, where DISAGREE ends the game: own points of ten")
    table = _table("against", "greedy", "sampled")
    table.add_row("zoo", with_margin(report.greedy.zoo.points), with_margin(report.sampled.zoo.points))
    for name, points in report.greedy.zoo.against.items():
        table.add_row(name, with_margin(points), with_margin(report.sampled.zoo.against[name]))
    table.add_row("deals with the zoo", f"{report.greedy.zoo.deals:.1%}", f"{report.sampled.zoo.deals:.1%}")
    console.print(table)
    for name, share in report.greedy.shares.items():
        line(console, share_line(name, share, "against the heuristic greedy play"))


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table


def _points(estimate: Estimate) -> str:
    return f"{100 * estimate.mean:+.1f} ±{100 * estimate.margin:.1f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
