"""Section of the final evaluation: mains compared with best responses, self-play, exploiters and people."""

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
    """The section from the document of ``evaluation.json``, with the figures of people for comparison.

    Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``ValueError`` if the document lacks a field.
    """
    tables = tuple(table for name in document["members"] for table in _member_tables(name, document, human))
    return Section(KEY, TITLE, (*_notes(document), about_people(human)), tables)


def names_in(document: Mapping[str, Any]) -> Iterator[str]:
    """All names of members in the document, some more than once."""
    for name, member in document["members"].items():
        yield from (name, *member["against"], *member["exploiters"])


def people(human: HumanLine) -> Table:
    """The figures of people, as a table of one row."""
    return Table("Figures of people", *align_columns([_human_cells(human)], [HUMANS]), label="who")


def about_people(human: HumanLine) -> str:
    """A note on the data of people and how their games differ."""
    return (
        f"{HUMANS.capitalize()}: {human.perspectives:,} sides of published negotiations, on their own scenarios and by "
        f"talking; seat_0 speaks first; their utterances and the closing selection count as acts; {CONFIDENCE:.0%} "
        f"intervals. {human.source}."
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
        *_exploitability_note(document),
        f"Intervals are {document['confidence']:.0%}, over scenarios; n counts games (against itself and for people: "
        f"sides of games). Points of reference are what the same scenarios pay at the split of that name.",
    )


def _exploitability_note(document: Mapping[str, Any]) -> Iterator[str]:
    if any(member.get("exploitability_parted") for member in document["members"].values()):
        yield (
            "Conceded: what a best response to an equilibrium gets in that seat, minus what the member takes there "
            "against itself; it is relative to the equilibrium of the shipped table, and others share otherwise. Weak "
            "is the rest: what the member's own answers and offers give away."
        )


def _member_tables(name: str, document: Mapping[str, Any], human: HumanLine) -> list[Table]:
    member, scenarios = document["members"][name], int(document["scenarios"]["number"])
    lines = {f"{name}, against itself": _played_cells(member["self_play"], scenarios)}
    lines |= {reference: _played_cells(line, scenarios) for reference, line in document["points_of_reference"].items()}
    lines[HUMANS] = _human_cells(human)
    columns = align_columns(list(lines.values()), list(lines))
    return [
        _summary_table(name, member, 2 * scenarios),
        _opponents_table(name, member, scenarios),
        Table(f"{name} against itself, with points of reference and people", *columns, label="who"),
        _exploiters_table(name, member, scenarios),
    ]


def _summary_table(name: str, member: Mapping[str, Any], games: int) -> Table:
    total = games * len(member["against"])
    kinds = [each["kind"] for meeting in member["against"].values() for each in meeting["reference"].values()]
    near = member["proximity"]
    rows = [
        TableRow("share of the references' points, mean", (figure_from_json(near["mean"], "share", total),)),
        TableRow("  over partners like these", (figure_from_json(near["of_partners"], "share", total),)),
        TableRow("  where the reference is exact", (figure_from_json(near["exact"], "share", total),)),
        TableRow("  worst tenth of the partners", (figure_from_json(near["worst_tenth"], "share", total),)),
    ]
    if (worst := member["worst"]) is not None:
        label = f"  worst: {worst['opponent']}, as {worst['seat']}"
        rows.append(TableRow(label, (figure_from_json(worst["share"], "share", games // 2),)))
    rows.append(TableRow("references that are exact", (f"{kinds.count(EXACT)} of {len(kinds)}",)))
    rows.append(TableRow("references that are upper bounds", (f"{kinds.count(BOUND)} of {len(kinds)}",)))
    rows.append(TableRow("agreement", (figure_from_json(member["agreement"], "share", total),)))
    rows.append(TableRow("welfare efficiency", (figure_from_json(member["welfare_efficiency"], "share", total),)))
    return Table(f"{name} against all held-out members", ("value",), tuple(rows), label="figure")


def _opponents_table(name: str, member: Mapping[str, Any], scenarios: int) -> Table:
    """Points and shares of the reference per opponent, worst share first."""
    rows: dict[str, dict[str, Cell]] = {}
    means: dict[str, float] = {}  # of the shares in both seats
    for opponent, meeting in member["against"].items():
        played = meeting["played"][BOTH]
        shares = {f"share as {seat}": figure_from_json(meeting["share"][seat], "share", scenarios) for seat in SEATS}
        rows[opponent] = {
            "points of ten": figure_from_json(played["points"], n=2 * scenarios),
            **{f"as {seat}": figure_from_json(meeting["played"][seat]["points"], n=scenarios) for seat in SEATS},
            **{f"best response as {seat}": _reference_cell(meeting["reference"][seat]) for seat in SEATS},
            **shares,
            "deals": figure_from_json(played["deals"], "share", 2 * scenarios),
            **{f"best known as {seat}": _best_known_cell(meeting["best_known"], seat) for seat in SEATS},
        }
        defined = [share.estimate.mean for share in shares.values() if not math.isnan(share.estimate.mean)]
        means[opponent] = sum(defined) / len(defined) if defined else math.nan
    ordered = sorted(rows, key=lambda opponent: math.inf if math.isnan(means[opponent]) else means[opponent])
    columns = align_columns([rows[opponent] for opponent in ordered], ordered)
    return Table(f"{name} against each", *columns, label="against")


def _reference_cell(reference: Mapping[str, Any]) -> Cell:
    if reference["points"] is None:
        return None
    points = float(reference["points"])
    return number_cell(points) if reference["kind"] == EXACT else f"at most {points:.2f}"


def _best_known_cell(best: Mapping[str, Any] | None, seat: str) -> Cell:
    """The most points of any known policy in one seat, and its name; empty where the reference is exact."""
    return None if best is None else f"{best[seat]['points']:.2f}, {best[seat]['who']}"


def _played_cells(line: Mapping[str, Any], scenarios: int) -> dict[str, Cell]:
    """The figures of one player or point of reference; shares of deals are over the games with a deal."""
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


def _human_cells(human: HumanLine) -> dict[str, Cell]:
    figures = human_figures(human)
    cells: dict[str, Cell] = {}
    for head, (key, unit) in PLAYED.items():
        estimate = getattr(figures[BOTH], key)
        cells[head] = None if math.isnan(estimate.mean) else Figure(estimate, unit)
        if key == "points":
            cells |= {f"as {seat}": Figure(figures[seat].points) for seat in SEATS}
    return cells


def _exploiters_table(name: str, member: Mapping[str, Any], scenarios: int) -> Table:
    """Gain of each exploiter by its seat, and drop of the member by the member's seat."""
    rows = []
    if (exploitability := member["exploitability"]) is not None:
        rows.append(TableRow("best response, under the whole prior", (*_bound_cells(exploitability), None, None)))
        for part, by_seat in (member.get("exploitability_parted") or {}).items():
            rows.append(TableRow(f"  {part}", (*_bound_cells(by_seat), None, None)))
    for exploiter, taken in member["exploiters"].items():
        cells = (figure_from_json(taken[key][seat], n=scenarios) for key in ("gain", "victim_drop") for seat in SEATS)
        rows.append(TableRow(exploiter, tuple(cells)))
    heads = tuple(f"{figure} as {seat}" for figure in ("gain", "drop") for seat in SEATS)
    return Table(f"Exploitability of {name}, points of ten", heads, tuple(rows), label="exploiter")


def _bound_cells(bounds: Mapping[str, Mapping[str, float]]) -> Iterator[Cell]:
    for seat in SEATS:
        low, high = bounds[seat]["low"], bounds[seat]["high"]
        exact = math.isclose(low, high, abs_tol=1e-9)
        yield number_cell(low) if exact else Figure(Estimate(math.nan, 0, low, high))
