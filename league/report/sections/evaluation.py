"""The final evaluation as a section: the main members beside references, themselves, exploiters, and people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dond_marl.dialogues.human_line import CONFIDENCE, HumanLine, stored_human_line
from dond_marl.game import SEATS
from dond_marl.scenarios.data import DEFAULT_DATA_DIR, checksum
from league.evaluation.as_json import FINAL_FILE
from league.evaluation.evaluate import BOTH, HUMANS, human_figures
from league.report.blocks import Cell, Figure, Row, Section, Table, Unit, figure, in_columns, stored
from league.report.run_files import LeftFiles

TITLE = "Held-out evaluation"
PLAYED: dict[str, tuple[str, Unit]] = {  # heading: the figure's name and unit
    "points of ten": ("points", "points"),
    "deals": ("deals", "share"),
    "welfare efficiency": ("welfare", "share"),
    "Nash efficiency": ("nash", "share"),
    "fairness": ("egalitarian", "share"),
    "Pareto-optimal of deals": ("pareto", "share"),
    "acts": ("turns", "acts"),
}


def evaluation(files: LeftFiles, data_dir: str | None) -> Section:
    """What the main members are worth on scenarios, and against members, that nobody learned from."""
    human = stored_human_line()
    if files.evaluation is None:
        table = Table("What people come to", *_people(human), label="who")
        return Section("evaluation", TITLE, (files.why[FINAL_FILE], *_about(human, data_dir)), (table,))
    found = files.evaluation
    try:
        tables = [table for name in found["members"] for table in _member(name, found, human)]
        notes = _notes(found)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Section("evaluation", TITLE, (f"{FINAL_FILE} is damaged: it lacks what it should hold.",))
    return Section("evaluation", TITLE, (*notes, *_about(human, data_dir)), tuple(tables))


def _notes(found: Mapping[str, Any]) -> tuple[str, ...]:
    where, rules = found["scenarios"], found["rules"]
    return (
        f"On {where['source']}: {where['number']:,} scenarios, each in both seats; max_turns {rules['max_turns']}, "
        f"disagree {rules['disagree']}.",
        *(f"{note[0].upper()}{note[1:]}." for note in found["notes"]),
        "The reference is the best that is known against the same partner in the same seat on the same scenarios. The "
        "interquartile mean of the shares of its points leaves out the best and the worst quarter. Gain: an "
        "exploiter's points less what the member gets against itself in that seat; drop: what the member gets from "
        "its held-out opponents less what the exploiter leaves it.",
        f"Intervals are {found['confidence']:.0%}, over scenarios; n counts games (against itself and for people: "
        f"sides of games). Points of reference say what the same scenarios would pay at the split of that name.",
    )


def _about(human: HumanLine, data_dir: str | None) -> tuple[str, ...]:
    """Where the human line is from, and whether the files that it was computed from are here."""
    folder = DEFAULT_DATA_DIR if data_dir is None else Path(data_dir).expanduser()
    try:
        same = all(checksum((folder / name).read_bytes()) == told for name, told in human.files.items())
        files = "the data files at hand are the ones that it was computed from" if same else "the data files differ"
    except OSError:
        files = "the data files are not here: these are the figures kept in the package"
    return (
        f"{HUMANS.capitalize()}: {human.perspectives:,} sides of published negotiations, on their own scenarios and by "
        f"talking; seat_0 is who speaks first; acts are turns, with the closing selection; {CONFIDENCE:.0%} intervals. "
        f"{human.source}; {files}.",
    )


def _member(name: str, found: Mapping[str, Any], human: HumanLine) -> list[Table]:
    one, scenarios = found["members"][name], int(found["scenarios"]["number"])
    both = 2 * scenarios
    tables = [_summary(name, one, both), _meetings(name, one, scenarios)]
    lines: dict[str, dict[str, Cell]] = {f"{name}, against itself": _line(one["self_play"], scenarios)}
    lines |= {reference: _line(line, scenarios) for reference, line in found["points_of_reference"].items()}
    people = [_human(human)]
    heads, rows = in_columns([*lines.values(), *people], [*lines, HUMANS])
    tables.append(Table(f"{name} against itself, beside points of reference and people", heads, rows, label="who"))
    return [*tables, _exploited(name, one, scenarios)]


def _summary(name: str, one: Mapping[str, Any], games: int) -> Table:
    met = games * len(one["against"])
    near = one["proximity"]
    rows = [
        Row("share of the reference's points, over scenarios", (stored(near["interquartile_mean"], "share", met),)),
        Row("the same, over partners too", (stored(near["over_partners_too"], "share", met),)),
    ]
    for told, key in (("agreement", "agreement"), ("welfare efficiency", "welfare_efficiency")):
        rows.append(Row(told, (stored(one[key]["own"], "share", met),)))
        rows.append(Row(f"{told}, the references' own", (stored(one[key]["reference"], "share", met),)))
        rows.append(Row(f"{told}, ratio", (stored(one[key]["ratio"], "ratio", met),)))
    return Table(f"{name} against all held-out members", ("value",), tuple(rows), label="figure")


def _meetings(name: str, one: Mapping[str, Any], scenarios: int) -> Table:
    rows: list[dict[str, Cell]] = []
    for met in one["against"].values():
        played, reference, kinds = met["played"][BOTH], met["reference"][BOTH], met["reference_is"]
        first, second = (kinds[seat] for seat in SEATS)
        rows.append(
            {
                "points of ten": stored(played["points"], n=2 * scenarios),
                "the reference's": stored(reference["points"], n=2 * scenarios),
                **{f"share as {seat}": stored(met["share"][seat], "share", scenarios) for seat in SEATS},
                "deals": stored(played["deals"], "share", 2 * scenarios),
                "deals of the reference": stored(reference["deals"], "share", 2 * scenarios),
                "the reference is": first if first == second else f"{first}; {second}",
            }
        )
    heads, found = in_columns(rows, list(one["against"]))
    return Table(f"{name} against each", heads, found, label="against")


def _line(line: Mapping[str, Any], scenarios: int) -> dict[str, Cell]:
    """One player's figures, or a point of reference's; a share of deals is out of the deals."""
    both = line[BOTH]
    told: dict[str, Cell] = {}
    for head, (key, unit) in PLAYED.items():
        n = 2 * scenarios
        if key == "pareto":
            n = round(n * float(both["deals"]["value"] or 0))
        told[head] = stored(both[key], unit, n)
        if key == "points":
            told |= {f"as {seat}": stored(line[seat]["points"], n=scenarios) for seat in SEATS}
    return told


def _human(human: HumanLine) -> dict[str, Cell]:
    figures = human_figures(human)
    told: dict[str, Cell] = {}
    for head, (key, unit) in PLAYED.items():
        estimate = getattr(figures[BOTH], key)
        told[head] = None if math.isnan(estimate.mean) else figure(estimate, unit)
        if key == "points":
            told |= {f"as {seat}": figure(figures[seat].points) for seat in SEATS}
    return told


def _people(human: HumanLine) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    return in_columns([_human(human)], [HUMANS])


def _exploited(name: str, one: Mapping[str, Any], scenarios: int) -> Table:
    rows = []
    if one["exploitability"] is not None:
        gains = []
        for seat in SEATS:
            known = one["exploitability"][seat]
            value = known["low"] if math.isclose(known["low"], known["high"], abs_tol=1e-9) else math.nan
            gains.append(Figure(value, *((math.nan, math.nan) if value == value else (known["low"], known["high"]))))
        rows.append(Row("best response, under the whole prior", (*gains, None, None)))
    for hunter, taken in one["exploiters"].items():
        cells = (stored(taken[key][seat], n=scenarios) for key in ("gain", "victim_drop") for seat in SEATS)
        rows.append(Row(hunter, tuple(cells)))
    heads = tuple(f"{what} as {seat}" for what in ("gain", "drop") for seat in SEATS)
    return Table(f"What others can take from {name}, points of ten", heads, tuple(rows), label="exploiter")
