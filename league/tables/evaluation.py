"""The final evaluation: the main members beside references, themselves, exploiters and people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from dond_marl.dialogues.human_line import CONFIDENCE, HumanLine
from dond_marl.game import SEATS
from dond_marl.statistics import Estimate
from league.evaluation.evaluate import BOTH, HUMANS, human_figures
from league.evaluation.final import BOUND, EXACT
from league.tables.blocks import (
    Cell,
    Figure,
    Section,
    Table,
    TableRow,
    Unit,
    align_columns,
    figure_from_json,
    number_cell,
)

KEY, TITLE = "evaluation", "Held-out evaluation"
PLAYED: dict[str, tuple[str, Unit]] = {  # heading: the figure's name and unit
    "points of ten": ("points", "points"),
    "deals": ("deals", "share"),
    "welfare efficiency": ("welfare", "share"),
    "Nash efficiency": ("nash", "share"),
    "fairness": ("egalitarian", "share"),
    "Pareto-optimal of deals": ("pareto", "share"),
    "acts": ("turns", "acts"),
}


def final_evaluation(document: Mapping[str, Any], human: HumanLine) -> Section:
    """The document of ``evaluation.json`` as a section, beside people.

    Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``ValueError`` where it lacks what it should hold.
    """
    tables = tuple(table for name in document["members"] for table in _member(name, document, human))
    return Section(KEY, TITLE, (*_notes(document), about_people(human)), tables)


def names_in(document: Mapping[str, Any]) -> Iterator[str]:
    """The names of everybody in the document, some of them more than once."""
    for name, member in document["members"].items():
        yield from (name, *member["against"], *member["exploiters"])


def people(human: HumanLine) -> Table:
    """The figures of people alone."""
    return Table("What people come to", *align_columns([_human(human)], [HUMANS]), label="who")


def about_people(human: HumanLine) -> str:
    """A note on who the people are, and how their games differ."""
    return (
        f"{HUMANS.capitalize()}: {human.perspectives:,} sides of published negotiations, on their own scenarios and by "
        f"talking; seat_0 speaks first; acts are turns, with the closing selection; {CONFIDENCE:.0%} intervals. "
        f"{human.source}."
    )


def _notes(document: Mapping[str, Any]) -> tuple[str, ...]:
    scenarios, rules = document["scenarios"], document["rules"]
    return (
        f"On {scenarios['source']}: {scenarios['number']:,} scenarios, each in both seats; max_turns "
        f"{rules['max_turns']}, disagree {rules['disagree']}.",
        *(f"{note[0].upper()}{note[1:]}." for note in document["notes"]),
        "The reference is the most that can be earned from the same partner in the same seat: the exact best "
        "response, or (at most) a certified upper bound, for which the share is at most the true one; no member of "
        "this league is a reference. Best known: what the response stored with the bound earns or, without a bound, "
        "the most that a scripted partner or a response by the partner's odds earns in the same games. Worst tenth: "
        "of the partners, at least one. Gain: an exploiter's points minus what the member gets against itself in that "
        "seat; drop: what the member gets from its held-out opponents minus what it gets from the exploiter.",
        *_of_parts(document),
        f"Intervals are {document['confidence']:.0%}, over scenarios; n counts games (against itself and for people: "
        f"sides of games). Points of reference are what the same scenarios pay at the split of that name.",
    )


def _of_parts(document: Mapping[str, Any]) -> Iterator[str]:
    """What the parts of an exploitability mean, where there are any."""
    if any(member.get("exploitability_parted") for member in document["members"].values()):
        yield (
            "Conceded: what a best response to an equilibrium gets in that seat, minus what the member takes there "
            "against itself; any rational partner grants it when asked. Weak is the rest: what the member's own "
            "answers and offers give away."
        )


def _member(name: str, document: Mapping[str, Any], human: HumanLine) -> list[Table]:
    member, scenarios = document["members"][name], int(document["scenarios"]["number"])
    lines = {f"{name}, against itself": _line(member["self_play"], scenarios)}
    lines |= {reference: _line(line, scenarios) for reference, line in document["points_of_reference"].items()}
    lines[HUMANS] = _human(human)
    columns = align_columns(list(lines.values()), list(lines))
    return [
        _summary(name, member, 2 * scenarios),
        _meetings(name, member, scenarios),
        Table(f"{name} against itself, beside points of reference and people", *columns, label="who"),
        _exploited(name, member, scenarios),
    ]


def _summary(name: str, member: Mapping[str, Any], games: int) -> Table:
    met = games * len(member["against"])
    kinds = [each["kind"] for meeting in member["against"].values() for each in meeting["reference"].values()]
    near = member["proximity"]
    rows = [
        TableRow("share of the references' points, mean", (figure_from_json(near["mean"], "share", met),)),
        TableRow("  over partners like these", (figure_from_json(near["of_partners"], "share", met),)),
        TableRow("  where the reference is exact", (figure_from_json(near["exact"], "share", met),)),
        TableRow("  worst tenth of the partners", (figure_from_json(near["worst_tenth"], "share", met),)),
    ]
    if (worst := member["worst"]) is not None:
        label = f"  worst: {worst['opponent']}, as {worst['seat']}"
        rows.append(TableRow(label, (figure_from_json(worst["share"], "share", games // 2),)))
    rows.append(TableRow("references that are exact", (f"{kinds.count(EXACT)} of {len(kinds)}",)))
    rows.append(TableRow("references that are upper bounds", (f"{kinds.count(BOUND)} of {len(kinds)}",)))
    rows.append(TableRow("agreement", (figure_from_json(member["agreement"], "share", met),)))
    rows.append(TableRow("welfare efficiency", (figure_from_json(member["welfare_efficiency"], "share", met),)))
    return Table(f"{name} against all held-out members", ("value",), tuple(rows), label="figure")


def _meetings(name: str, member: Mapping[str, Any], scenarios: int) -> Table:
    """The games with each opponent beside the reference's, worst share first."""
    rows: dict[str, dict[str, Cell]] = {}
    means: dict[str, float] = {}  # of the shares in both seats
    for opponent, meeting in member["against"].items():
        played = meeting["played"][BOTH]
        shares = {f"share as {seat}": figure_from_json(meeting["share"][seat], "share", scenarios) for seat in SEATS}
        rows[opponent] = {
            "points of ten": figure_from_json(played["points"], n=2 * scenarios),
            **{f"as {seat}": figure_from_json(meeting["played"][seat]["points"], n=scenarios) for seat in SEATS},
            **{f"best response as {seat}": _mark(meeting["reference"][seat]) for seat in SEATS},
            **shares,
            "deals": figure_from_json(played["deals"], "share", 2 * scenarios),
            **{f"best known as {seat}": _known(meeting["best_known"], seat) for seat in SEATS},
        }
        known = [share.estimate.mean for share in shares.values() if not math.isnan(share.estimate.mean)]
        means[opponent] = sum(known) / len(known) if known else math.nan
    ordered = sorted(rows, key=lambda opponent: math.inf if math.isnan(means[opponent]) else means[opponent])
    columns = align_columns([rows[opponent] for opponent in ordered], ordered)
    return Table(f"{name} against each", *columns, label="against")


def _mark(reference: Mapping[str, Any]) -> Cell:
    """A best response's points in one seat: a number, or at most that."""
    if reference["points"] is None:
        return None
    points = float(reference["points"])
    return number_cell(points) if reference["kind"] == EXACT else f"at most {points:.2f}"


def _known(best: Mapping[str, Any] | None, seat: str) -> Cell:
    """The most that somebody earned in one seat, and who; nothing beside exact references."""
    return None if best is None else f"{best[seat]['points']:.2f}, {best[seat]['who']}"


def _line(line: Mapping[str, Any], scenarios: int) -> dict[str, Cell]:
    """The figures of one player or point of reference; those of deals count the deals alone."""
    both = line[BOTH]
    cells: dict[str, Cell] = {}
    for head, (key, unit) in PLAYED.items():
        deals = float(both["deals"]["value"] or 0)
        cells[head] = figure_from_json(
            both[key], unit, round(2 * scenarios * deals) if key == "pareto" else 2 * scenarios
        )
        if key == "points":
            cells |= {f"as {seat}": figure_from_json(line[seat]["points"], n=scenarios) for seat in SEATS}
    return cells


def _human(human: HumanLine) -> dict[str, Cell]:
    figures = human_figures(human)
    cells: dict[str, Cell] = {}
    for head, (key, unit) in PLAYED.items():
        estimate = getattr(figures[BOTH], key)
        cells[head] = None if math.isnan(estimate.mean) else Figure(estimate, unit)
        if key == "points":
            cells |= {f"as {seat}": Figure(figures[seat].points) for seat in SEATS}
    return cells


def _exploited(name: str, member: Mapping[str, Any], scenarios: int) -> Table:
    """What others gain, by their seat, and what they leave the member, by its seat."""
    rows = []
    if (found := member["exploitability"]) is not None:
        rows.append(TableRow("best response, under the whole prior", (*_between(found), None, None)))
        # Of older runs it is not known.
        for part, by_seat in (member.get("exploitability_parted") or {}).items():
            rows.append(TableRow(f"  {part}", (*_between(by_seat), None, None)))
    for exploiter, taken in member["exploiters"].items():
        cells = (figure_from_json(taken[key][seat], n=scenarios) for key in ("gain", "victim_drop") for seat in SEATS)
        rows.append(TableRow(exploiter, tuple(cells)))
    heads = tuple(f"{what} as {seat}" for what in ("gain", "drop") for seat in SEATS)
    return Table(f"What others can take from {name}, points of ten", heads, tuple(rows), label="exploiter")


def _between(bounds: Mapping[str, Mapping[str, float]]) -> Iterator[Cell]:
    """A number by seat, exact or in a range."""
    for seat in SEATS:
        low, high = bounds[seat]["low"], bounds[seat]["high"]
        exact = math.isclose(low, high, abs_tol=1e-9)
        yield number_cell(low) if exact else Figure(Estimate(math.nan, 0, low, high))
