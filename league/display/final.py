"""A final evaluation for people and for programs: tables that fit the screen, and the same figures as JSON and CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.game import SEATS
from dond_marl.records.files import write_whole
from dond_marl.yardsticks.metrics import Estimate
from league.display.tables import spared
from league.evaluation.evaluate import BOTH, LAST, NASH, VIEWS, Line
from league.evaluation.final import EXACT, FinalEvaluation, MemberEvaluation
from league.evaluation.outcomes import Figures
from league.evaluation.proximity import Beside
from league.standings.crossplay import write_csv
from league.standings.ratings import Rated

DOCUMENT, TABLE = "evaluation.json", "evaluation.csv"
MOST_EXPLOITERS = 5  # that are shown; all are written
PLAYED = ("points", "left", "deals", "welfare", "nash", "egalitarian", "pareto", "turns")  # figures that are written
LONGEST_LABEL = 24  # characters of a member's name that a table shows


def print_final(console: Console, found: FinalEvaluation) -> None:
    """The tables of every member, and what their figures mean."""
    told = f"{found.source.label}: {found.scenarios.size:,} scenarios, each in both seats"
    console.print(Text(f"\nfinal evaluation on {told}; max_turns {found.rules.max_turns}"), soft_wrap=True)
    for note in found.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    for one in found.members:
        console.print(Text(f"\n{one.member} against members that it never met"))
        console.print(spared(meetings_table(one), console.width))
        for line in shares_told(one):
            console.print(Text(line), soft_wrap=True)
        console.print(Text(f"\n{one.member} against itself"))
        console.print(spared(self_play_table(found, one), console.width))
        console.print(Text(f"\nwhat others can take from {one.member}, points of ten"))
        console.print(spared(exploited_table(one), console.width))
    for line in explained(found):
        console.print(Text(line), soft_wrap=True)


def meetings_table(one: MemberEvaluation) -> Table:
    """Own points beside the reference's, by opponent, worst share first."""
    table = _table("against", ("points", "reference", "share as\nseat_0", "share as\nseat_1", "deals", "of ref."))
    table.add_column("the reference is", overflow="fold")
    cells = one.proximity.cells.value
    order = np.argsort(np.nan_to_num(cells.mean(axis=1), nan=2.0), kind="stable")
    for place in order.tolist():
        met = one.meetings[place]
        mine, theirs = met.played.figures[BOTH], met.reference.figures[BOTH]
        first, second = met.kinds
        kinds = first if first == second else f"{first.partition(' (')[0]}; {second}"
        table.add_row(
            Text(met.opponent),
            f"{mine.points.mean:.2f}",
            f"{theirs.points.mean:.2f}",
            *(_percent(share) for share in cells[place]),
            f"{mine.deals.mean:.0%}",
            f"{theirs.deals.mean:.0%}",
            Text(kinds),
        )
    return table


def shares_told(one: MemberEvaluation) -> Iterator[str]:
    """The figures over all opponents, in words."""
    near = one.proximity
    exact = sum(kind == EXACT for met in one.meetings for kind in met.kinds)
    yield (
        f"share of the reference's points, interquartile mean: {_rated(near.middle)} over scenarios, "
        f"{_bounds(near.of_partners)} over partners too; {exact} of {2 * len(one.meetings)} references are exact"
    )
    for name, figure in (("agreement", one.agreement), ("welfare efficiency", one.welfare)):
        yield (
            f"{name}: {_rated(figure.own)}, the references' own {_rated(figure.reference)}; "
            f"ratio {_rated(figure.ratio, '.3f')}"
        )


def self_play_table(found: FinalEvaluation, one: MemberEvaluation) -> Table:
    """Its games with itself, by seat, beside the points of reference of the same scenarios."""
    lines = [one.self_play, *(line for line in found.points if line.name in (LAST, NASH))]
    heads = {LAST: "ultimatum", NASH: "Nash"}
    table = _table("", [heads.get(line.name, line.name) for line in lines])
    for label, view in (("own points", BOTH), *((f"  as {seat}", seat) for seat in SEATS)):
        table.add_row(label, *(f"{line.figures[view].points.mean:.2f}" for line in lines))
    for label, figure in (("deals", "deals"), ("welfare efficiency", "welfare"), ("Pareto-optimal deals", "pareto")):
        estimates = [getattr(line.figures[BOTH], figure) for line in lines]
        table.add_row(label, *(_estimate(each, ".1%") for each in estimates))
    return table


def exploited_table(one: MemberEvaluation) -> Table:
    """What trained exploiters and a best response gain, by their seat; what they leave the member, by its seat."""
    gains, drops = (f"gain as\n{seat}" for seat in SEATS), (f"drop as\n{seat}" for seat in SEATS)
    table = _table("", [*gains, *drops])
    if one.exploitability is not None:
        kind = "best response" if all(each.response.exact for each in one.exploitability) else "best response, bounds"
        table.add_row(kind, *(_range(*each.gain) for each in one.exploitability), "", "")
    for each in one.exploiters[:MOST_EXPLOITERS]:
        table.add_row(Text(each.exploiter), *(_estimate(e, "+.2f") for e in (*each.gain, *each.drop)))
    if not table.row_count:
        table.add_row("nobody was trained to, and no bound is known", "", "", "", "")
    return table


def explained(found: FinalEvaluation) -> Iterator[str]:
    """What the figures mean."""
    yield (
        f"\npoints: own points of ten per game, no deal being 0. share: of the reference's points in the same seat, "
        f"against the same partner, on the same scenarios, at most 100%; the interquartile mean leaves out the best "
        f"and the worst quarter. gain: an exploiter's points less what the member gets "
        f"against itself in that seat; drop: what the member gets from the opponents above less what the exploiter "
        f"leaves it. ± and ranges: {found.confidence:.0%} intervals over scenarios."
    )


def write_final(directory: Path, found: FinalEvaluation) -> list[str]:
    """``evaluation.json`` and ``evaluation.csv`` in a run's folder; their names."""
    write_document(directory / DOCUMENT, found)
    write_table(directory / TABLE, found)
    return [DOCUMENT, TABLE]


def write_document(path: Path, found: FinalEvaluation) -> None:
    """Everything as a JSON file."""
    write_whole(path, json.dumps(to_json(found), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def write_table(path: Path, found: FinalEvaluation) -> None:
    """Every figure as CSV, a row each."""
    write_csv(path, list(_rows(found)))


def to_json(found: FinalEvaluation) -> dict[str, Any]:
    """Everything as plain JSON values; an unknown number is ``None``."""
    return {
        "scenarios": {"source": found.source.label, "number": found.scenarios.size, "sha256": found.source.digest()},
        "rules": {"max_turns": found.rules.max_turns, "disagree": found.rules.disagree},
        "seed": found.seed,
        "confidence": found.confidence,
        "notes": list(found.notes),
        "points_of_reference": {line.name: _line(line) for line in found.points},
        "members": {one.member: _member(one) for one in found.members},
    }


def _member(one: MemberEvaluation) -> dict[str, Any]:
    shares = one.proximity.cells
    return {
        "proximity": {
            "interquartile_mean": _plain(one.proximity.middle),
            "over_partners_too": _plain(one.proximity.of_partners),
        },
        "agreement": _beside(one.agreement),
        "welfare_efficiency": _beside(one.welfare),
        "against": {
            met.opponent: {
                "played": _line(met.played),
                "reference": _line(met.reference),
                "reference_is": dict(zip(SEATS, met.kinds, strict=True)),
                "share": {seat: _plain(Rated(*(each[place, s] for each in shares))) for s, seat in enumerate(SEATS)},
            }
            for place, met in enumerate(one.meetings)
        },
        "self_play": _line(one.self_play),
        "exploiters": {
            each.exploiter: {
                "gain": {seat: _known(e) for seat, e in zip(SEATS, each.gain, strict=True)},
                "victim_drop": {seat: _known(e) for seat, e in zip(SEATS, each.drop, strict=True)},
            }
            for each in one.exploiters
        },
        "exploitability": None
        if one.exploitability is None
        else {
            seat: {"low": each.gain[0], "high": each.gain[1], "exact": each.response.exact}
            for seat, each in zip(SEATS, one.exploitability, strict=True)
        },
    }


def _rows(found: FinalEvaluation) -> Iterator[list[str]]:
    yield ["member", "against", "figure", "seat", "value", "low", "high"]
    for one in found.members:
        near = one.proximity
        yield [one.member, "", "proximity, interquartile mean", "", *_digits(near.middle)]
        yield [one.member, "", "proximity, over partners too", "", *_digits(near.of_partners)]
        for name, figure in (("agreement", one.agreement), ("welfare", one.welfare)):
            for part, rated in figure._asdict().items():
                yield [one.member, "", f"{name}, {part}", "", *_digits(rated)]
        for place, met in enumerate(one.meetings):
            for seat, name in enumerate(SEATS):
                share = Rated(*(each[place, seat] for each in near.cells))
                yield [one.member, met.opponent, "share", name, *_digits(share)]
            for name in VIEWS:
                yield from _figures(one.member, met.opponent, "", name, met.played.figures[name])
                yield from _figures(one.member, met.opponent, "reference's ", name, met.reference.figures[name])
        for name in VIEWS:
            yield from _figures(one.member, one.member, "", name, one.self_play.figures[name])
        for each in one.exploiters:
            for seat, name in enumerate(SEATS):
                yield [one.member, each.exploiter, "gain", name, *_bare(each.gain[seat])]
                yield [one.member, each.exploiter, "victim drop", name, *_bare(each.drop[seat])]
        for each_seat, gained in zip(SEATS, one.exploitability or (), strict=False):
            low, high = (f"{bound:.6f}" for bound in gained.gain)
            yield [one.member, "best response", "gain", each_seat, low if low == high else "", low, high]


def _figures(member: str, against: str, whose: str, view: str, figures: Figures) -> Iterator[list[str]]:
    for name in PLAYED:
        yield [member, against, f"{whose}{name}", "" if view == BOTH else view, *_bare(getattr(figures, name))]


def _table(label: str, heads: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(label, overflow="ellipsis", no_wrap=True, max_width=2 * LONGEST_LABEL)
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    return table


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{share:.1%}"


def _rated(rated: Rated, form: str = ".1%") -> str:
    value = float(rated.value)
    return "-" if math.isnan(value) else f"{value:{form}} ({_bounds(rated, form)})"


def _bounds(rated: Rated, form: str = ".1%") -> str:
    low, high = float(rated.low), float(rated.high)
    return "?" if math.isnan(low) else f"{low:{form}}..{high:{form}}"


def _estimate(estimate: Estimate, form: str) -> str:
    if math.isnan(estimate.mean):
        return "-"
    half = "" if math.isnan(estimate.margin) else f" ±{estimate.margin:{form.replace('+', '')}}"
    return f"{estimate.mean:{form}}{half}"


def _range(low: float, high: float) -> str:
    return f"{low:+.2f}" if math.isclose(low, high, abs_tol=5e-3) else f"{low:+.2f}..{high:+.2f}"


def _line(line: Line) -> dict[str, Any]:
    return {view: {name: _known(getattr(line.figures[view], name)) for name in PLAYED} for view in VIEWS}


def _beside(figure: Beside) -> dict[str, Any]:
    return {name: _plain(rated) for name, rated in figure._asdict().items()}


def _plain(rated: Rated) -> dict[str, float | None]:
    return {name: _number(float(each)) for name, each in zip(("value", "low", "high"), rated, strict=True)}


def _known(estimate: Estimate) -> dict[str, float | int | None]:
    return {"value": _number(estimate.mean), "low": _number(estimate.low), "high": _number(estimate.high)}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _digits(rated: Rated) -> list[str]:
    return ["" if math.isnan(each) else f"{float(each):.6f}" for each in rated]


def _bare(estimate: Estimate) -> list[str]:
    return ["" if math.isnan(v) else f"{v:.6f}" for v in (estimate.mean, estimate.low, estimate.high)]
