"""The leaderboard: results of one name are seeds of one arm; only results under the same protocol stand together.

A section per roster. Of several results of one name and seed the last counts. Over several seeds a figure is the
interquartile mean over them, with the interval of :mod:`dond_marl.statistics`; of one seed it is that run's own
figure, whose interval holds the noise of its games alone: it does not say what another training would have given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dond_marl import statistics
from dond_marl.errors import InputError
from dond_marl.seats import Doubles
from dond_marl.statistics import Estimate
from league.bench.figures import UNKNOWN, with_families, with_shares
from league.bench.results import Row
from league.tables.blocks import (
    Cell,
    Figure,
    Report,
    Section,
    Table,
    TableRow,
    Unit,
    align_columns,
    count_cell,
    number_cell,
)
from partners.rosters import ROSTERS

SAME = ("version", "roster", "roster_sha256", "scenarios", "scenarios_sha256", "headline")  # of the protocol
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # shares of the reference, of the performance profile
POINTS_AT = (2.0, 4.0, 5.0, 6.0, 7.0, 8.0)  # the same in points of ten, where no reference is known
SHOWN: dict[str, float] = {"points": 0.01, "share": 0.001, "ratio": 0.001}  # the last digit, by unit
TITLE = "Leaderboard"
COLUMNS: dict[str, tuple[str, Unit]] = {  # heading of the main table: the figure and its unit
    "points": ("points", "points"),
    "share of reference": ("share", "share"),
    "of exact ones": ("share_exact", "share"),
    "worst tenth": ("points_worst_tenth", "points"),
    "worst tenth, share": ("share_worst_tenth", "share"),
    "worst cell": ("points_worst_cell", "points"),
    "deals": ("deals", "share"),
    "welfare": ("welfare", "share"),
    "left to partner": ("left", "points"),
}
COMPARISON = ("more points", "chance of more", "p", "p, Holm")  # headings of the table of differences
WHAT = {"points": "Points of ten", "share": "Share of the reference"}


class Arm(NamedTuple):
    """All results of one name under one protocol, by seed."""

    name: str
    rows: tuple[Row, ...]

    def scores(self, shares: bool = False) -> Doubles:
        """Points of ten by seed, partner and seat, ``[n, W, 2]``, on the headline's scenarios; or their shares."""
        return np.array([scores_of(row, shares) for row in self.rows])


def scores_of(row: Row, shares: bool = False) -> Doubles:
    """Points of ten of one result by partner and seat, ``[W, 2]``; shares of the reference, ``nan`` without one."""
    head = row["benchmark"]["headline"]
    by_cell = {}
    for cell in row["cells"]:
        own, mark = cell["points"][head], (cell.get("reference") or {}).get(head)
        value = own if not shares else own / mark if mark else math.nan
        by_cell[cell["partner"], cell["seat"]] = math.nan if value is None else value
    partners = sorted({partner for partner, _ in by_cell})
    return np.array([[by_cell[partner, seat] for seat in (0, 1)] for partner in partners])


def arms_by_protocol(rows: Sequence[Row]) -> list[tuple[dict[str, Any], list[Arm]]]:
    """The arms of each protocol among the results, test rosters first."""
    found: dict[tuple[Any, ...], dict[tuple[str, Any], Row]] = {}
    for row in rows:
        key = tuple(row["benchmark"][name] for name in SAME)
        own = row["submission"]["name"], row["submission"]["seed"]
        found.setdefault(key, {}).pop(own, None)
        found[key][own] = row
    order = ROSTERS[::-1]
    keys = sorted(found, key=lambda key: (order.index(key[1]) if key[1] in order else len(order), key[3:], key[2]))
    groups = []
    for key in keys:
        results = list(found[key].values())
        names = dict.fromkeys(row["submission"]["name"] for row in results)
        arms = [Arm(name, tuple(row for row in results if row["submission"]["name"] == name)) for name in names]
        groups.append(
            (results[0]["benchmark"], sorted(arms, key=lambda arm: -_over_seeds(arm, "points").estimate.mean))
        )
    return groups


def leaderboard(rows: Sequence[Row], over: str | None = None) -> Report:
    """All sections; ``over``: the arm that the others are compared with, where a section has it."""
    groups = arms_by_protocol([with_families(with_shares(row)) for row in rows])
    sections = [
        section_of(benchmark, arms, over)._replace(key=f"bench-{number}")
        for number, (benchmark, arms) in enumerate(groups, start=1)
    ]
    if over is not None and not any(arm.name == over for _, arms in groups for arm in arms):
        names = sorted({row["submission"]["name"] for row in rows})
        raise InputError(f"no arm is called {over!r}; there are {', '.join(names) or 'none'}")
    summary = f"{len(rows)} results of `dond bench`" if rows else "No results yet"
    confidence = float(rows[0]["benchmark"]["confidence"]) if rows else 0.95
    return Report(TITLE, summary, confidence, tuple(sections))


def section_of(benchmark: dict[str, Any], arms: Sequence[Arm], over: str | None = None) -> Section:
    """The tables of one protocol."""
    blocks = [_main(benchmark, arms), *_parts(arms), *_profile(arms)]
    if over is not None:
        blocks += _comparison(arms, over)
    return Section(f"bench-{benchmark['roster']}", title_of(benchmark), tuple(notes_of(benchmark, arms)), tuple(blocks))


def title_of(benchmark: dict[str, Any]) -> str:
    """The title: partners and scenarios."""
    roster = benchmark["roster"]
    against = f"the roster {roster}" if roster in ROSTERS else _partners(benchmark)
    return f"Against {against}, {benchmark['scenarios']}"


def _partners(benchmark: dict[str, Any]) -> str:
    number = benchmark["partners"]
    return f"{number} partner{'s' if number > 1 else ''}"


def notes_of(benchmark: dict[str, Any], arms: Sequence[Arm]) -> list[str]:
    """Notes for the reader: the protocol, and remarks on submissions."""
    number = benchmark["number_of_scenarios"]
    every = f"all {number:,}" if benchmark["every_scenario"] else f"{number:,}"
    notes = [
        f"{_partners(benchmark)}, roster {benchmark['roster_sha256'][:12]}; {every} scenarios in both seats, "
        f"{benchmark['max_turns']} turns; networks play their likeliest act; a game with a stochastic player "
        f"is played {_replicates(arms)}.",
        f"Points of ten and shares of the reference on: {benchmark['headline']}. Intervals are "
        f"{benchmark['confidence']:.0%}: over seeds where there are several, else "
        + ("of the noise of the games alone" if benchmark["every_scenario"] else "over orbits of scenarios")
        + "; one that is narrower than the last digit is left out.",
    ]
    figures = arms[0].rows[0]["figures"]
    if figures.get("cells_with_reference"):
        notes.append(
            f"{figures['cells_with_reference']} of {2 * benchmark['partners']} cells (a partner and a seat) have a "
            f"reference, {figures['cells_with_exact_reference']} of them an exact one; the others' is an upper bound."
        )
    for arm in arms:
        remarks = dict.fromkeys(
            text for row in arm.rows for text in _submission_notes(row["submission"])
        )  # seeds may differ
        if remarks:
            notes.append(f"{arm.name}: {'; '.join(remarks)}.")
    return notes


def _submission_notes(own: Row) -> list[str]:
    """Remarks on one submission."""
    remarks = [own["met"]] if own["learned"] or own["declared"] else []
    remarks += [f"trained with {len(own['met_here'])} of these partners"] if own["met_here"] else []
    return remarks + (["has privileged information"] if own["sees_everything"] else [])


def _replicates(arms: Sequence[Arm]) -> str:
    """How often a game with a stochastic player was played; results may differ in it."""
    times = sorted({row["benchmark"]["replicates"] for arm in arms for row in arm.rows})
    return "once" if times == [1] else f"{' or '.join(map(str, times))} times"


def _table_of_arms(caption: str, arms: Sequence[Arm], rows: Sequence[dict[str, Cell]]) -> Table:
    heads, lines = align_columns(rows, [arm.name for arm in arms])
    return Table(caption, heads, lines, "arm")


def _main(benchmark: dict[str, Any], arms: Sequence[Arm]) -> Table:
    rows: list[dict[str, Cell]] = [
        {
            "seeds": count_cell(len(arm.rows)),
            **{head: _over_seeds(arm, figure, unit) for head, (figure, unit) in COLUMNS.items()},
        }
        for arm in arms
    ]
    return _table_of_arms(f"Arms, best first ({benchmark['headline']})", arms, rows)


def _parts(arms: Sequence[Arm]) -> list[Table]:
    """Points, and shares where a reference is known, by what training held of a scenario and of a partner."""
    units: tuple[Unit, ...] = ("points", "share")
    tables = [
        _table_of_arms(f"{WHAT[unit]} by what training held", arms, [_by_part(arm, unit) for arm in arms])
        for unit in units
    ]
    return [table for table in tables if table.heads]


def _by_part(arm: Arm, unit: Unit) -> dict[str, Cell]:
    parts = {
        name: _over_seeds(arm, f"{unit}_by_part", unit, name)
        for name in arm.rows[0]["figures"].get(f"{unit}_by_part", {})
    }
    return {
        **parts,
        "as seat_0": _over_seeds(arm, f"{unit}_by_seat", unit, 0),
        "as seat_1": _over_seeds(arm, f"{unit}_by_seat", unit, 1),
        "families of train": _over_seeds(arm, f"{unit}_families_of_train", unit),
        "other families": _over_seeds(arm, f"{unit}_other_families", unit),
    }


def _profile(arms: Sequence[Arm]) -> list[Table]:
    """The performance profile of arms with several seeds."""
    several = [arm for arm in arms if len(arm.rows) > 1]
    if not several:
        return []
    shares = all(not np.isnan(arm.scores(shares=True)).all() for arm in several)
    at = THRESHOLDS if shares else POINTS_AT
    lines = []
    for arm in several:
        profile = statistics.performance_profile(arm.scores(shares), at)
        lines.append(TableRow(arm.name, tuple(_figure(each, "share") for each in profile.above)))
    heads = tuple(f"above {t:.0%}" if shares else f"above {t:g}" for t in at)
    measure = "share of the reference" if shares else "points of ten"
    caption = f"Performance profile: how many seeds, partners and seats have a {measure} above"
    return [Table(caption, heads, tuple(lines), "arm")]


def _comparison(arms: Sequence[Arm], over: str) -> list[Table]:
    """Every other arm against one, with Holm's correction."""
    named = {arm.name: arm.scores() for arm in arms}
    if over not in named or len(named) < 2:
        return []
    lines = [
        TableRow(
            name,
            (
                _figure(comparison.difference, "points"),
                _figure(comparison.improvement, "share"),
                number_cell(comparison.p, "ratio"),
                number_cell(comparison.adjusted, "ratio"),
            ),
        )
        for name, comparison in statistics.compare_arms(named, over).items()
    ]
    return [Table(f"Against the arm {over}", COMPARISON, tuple(lines), "arm")]


def _over_seeds(arm: Arm, figure: str, unit: Unit = "points", key: Any = None) -> Figure:
    """A figure of an arm over its seeds, or of its only run; ``key``: the part or the seat of a figure with several.

    The interval of a single run is left out where it is narrower than the last digit that is shown.
    """
    found = [row["figures"].get(figure) for row in arm.rows]
    if key is not None:
        found = [each and (each[key] if isinstance(each, list) else each.get(key)) for each in found]
    values = [math.nan if each is None or each["value"] is None else float(each["value"]) for each in found]
    if len(values) > 1:
        return _figure(UNKNOWN if np.isnan(values).any() else statistics.iqm_over_seeds(values), unit)
    low, high = ((found[0] or {}).get(end) for end in ("low", "high"))
    if low is None or high is None or high - low < SHOWN[unit]:
        low = high = math.nan
    return Figure(Estimate(values[0], 0, low, high), unit)


def _figure(estimate: Estimate, unit: Unit) -> Figure:
    """A cell without its number of seeds, which has a column of its own."""
    return Figure(estimate._replace(n=0), unit)


def summary_sentences(row: Row) -> list[str]:
    """One result in sentences."""
    own, benchmark, figures = row["submission"], row["benchmark"], row["figures"]
    against = title_of(benchmark).removeprefix("Against ")
    points = figures["points"]
    sentences = [f"{own['name']} has {points['value']:.2f} points of ten against {against} ({benchmark['headline']})."]
    if figures.get("share") is not None:
        sentences.append(
            f"That is {figures['share']['value']:.1%} of the reference"
            + (f", {figures['share_exact']['value']:.1%} where it is exact." if figures["share_exact"] else ".")
        )
    worst = figures["points_worst_cell"]
    sentences.append(f"Its worst cell is {worst['partner']}, seat_{worst['seat']}: {worst['value']:.2f}.")
    return sentences


def result_section(row: Row) -> Section:
    """One result: its figures, and a row for each partner."""
    arm = Arm(row["submission"]["name"], (row,))
    head = row["benchmark"]["headline"]
    cells = {(cell["partner"], cell["seat"]): cell for cell in row["cells"]}
    partners = list(dict.fromkeys(partner for partner, _ in cells))
    lines: list[dict[str, Cell]] = []
    for partner in partners:
        both = [cells[partner, seat] for seat in (0, 1)]
        line: dict[str, Cell] = {}
        for seat, cell in enumerate(both):
            value, margin = cell["points"][head], cell["margin"].get(head, math.nan)
            line[f"as seat_{seat}"] = Figure(Estimate(value, 1, value - margin, value + margin))
            mark = (cell.get("reference") or {}).get(head)
            if mark:
                line[f"reference, seat_{seat}"] = number_cell(mark)
                line[f"share, seat_{seat}"] = number_cell(value / mark, "share")
        line["deals"] = number_cell(float(np.mean([cell["deal"] for cell in both])), "share")
        line["left to partner"] = number_cell(float(np.mean([cell["left"] for cell in both])))
        lines.append(line)
    heads, rows = align_columns(lines, partners)
    table = Table(f"Points of ten by partner ({head})", heads, rows, "partner")
    blocks = (_main(row["benchmark"], [arm]), *_parts([arm]), table)
    return Section("bench", title_of(row["benchmark"]), tuple(notes_of(row["benchmark"], [arm])), blocks)
