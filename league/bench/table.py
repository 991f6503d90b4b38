"""The leaderboard: only results under the same protocol stand together, a section for each.

Points stand next to what an adversary gains: points say what a policy earns from partners, the other what a best
response gains by knowing the policy: exact (NashConv), or at least, by a trained exploiter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dond_marl import statistics
from dond_marl.errors import InputError
from dond_marl.seats import Doubles
from dond_marl.statistics import SEED_CONFIDENCE, Estimate
from league.bench.arms import ADVERSARY, MAIN, NASHCONV, PARTS, Arm, Column, arms_by_protocol
from league.bench.differences import SMALLEST_EFFECT, Difference, differences
from league.bench.figures import with_references
from league.bench.protocol import CONFIDENCE, RULES
from league.bench.results import Row
from league.figures.rows import Figure, Unit
from league.tables.blocks import Cell, Report, Section, Table, align_columns, count_cell, number_cell
from partners.equilibrium import table_for
from partners.rosters import LOGGED, ROSTERS

SHOWN: dict[str, float] = {"points": 0.01, "share": 0.001}  # the last digit, by unit
TITLE = "Leaderboard"
WORST_TENTH = "worst tenth (CVaR)"  # heading
EXACT, AT_LEAST = "= ", "\N{GREATER-THAN OR EQUAL TO} "  # signs of gains of an adversary


class Board(NamedTuple):
    """The results under one protocol: arms, best first, their differences from one of them, and all as tables."""

    benchmark: dict[str, Any]
    arms: list[Arm]
    compared: list[Difference]
    section: Section


def boards(rows: Sequence[Row], over: str | None = None, effect: float = SMALLEST_EFFECT) -> list[Board]:
    """The results of each protocol; ``over``: the arm that the others are compared with, where it is among them.

    ``effect``: the smallest difference of interest, points of ten.
    """
    result = []
    for number, (benchmark, arms) in enumerate(arms_by_protocol([with_references(row) for row in rows]), start=1):
        compared = [] if over is None else differences(arms, over, effect)
        section = section_of(benchmark, arms, compared)._replace(key=f"bench-{number}")
        result.append(Board(benchmark, arms, compared, section))
    return result


def leaderboard(rows: Sequence[Row], over: str | None = None, effect: float = SMALLEST_EFFECT) -> Report:
    """The sections of all :func:`boards`. Raises :class:`InputError` where none has the arm ``over``."""
    names = sorted({row["submission"]["name"] for row in rows})
    if over is not None and over not in names:
        raise InputError(f"no arm is called {over!r}; there are {', '.join(names) or 'none'}")
    summary = f"{len(rows)} results of `dond bench`" if rows else "No results yet"
    return Report(TITLE, summary, CONFIDENCE, tuple(board.section for board in boards(rows, over, effect)))


def section_of(benchmark: dict[str, Any], arms: Sequence[Arm], compared: Sequence[Difference] = ()) -> Section:
    """The tables of one protocol."""
    notes = (*notes_of(benchmark, arms), *(difference.sentence for difference in compared))
    blocks = (*_main(benchmark, arms), *_responses(arms), *_comparison(compared))
    return Section(f"bench-{benchmark['roster']}", title_of(benchmark), notes, blocks)


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
    number, families = benchmark["number_of_scenarios"], len(set(arms[0].families))
    every = f"all {number:,}" if benchmark["every_scenario"] else f"{number:,}"
    if benchmark["roster"] in ROSTERS:
        interval = "for seeds (of one seed: that one) and partners like these, by resampling both"
    else:
        noise = "the noise of the games alone" if benchmark["every_scenario"] else "orbits of scenarios"
        interval = f"over seeds where there are several, else of {noise}"
    notes = [
        f"{_partners(benchmark)} of {families} famil{'y' if families == 1 else 'ies'}, roster "
        f"{benchmark['roster_sha256'][:12]}; {every} scenarios in both seats, {benchmark['max_turns']} turns; networks "
        f"play their likeliest act; a game with a stochastic player is played {_replicates(arms)}.",
        f"Points of ten on: {benchmark['headline']}; means over families of the means over their members. "
        f"{benchmark['confidence']:.0%} intervals are {interval}; those of {ADVERSARY} and of the {WORST_TENTH} are "
        "over seeds. One that is narrower than the last digit is left out.",
    ]
    if any(arm.adversary_gains() for arm in arms):
        notes.append(
            f"{ADVERSARY.capitalize()}: points over self-play, the sum of both seats; {EXACT.strip()} by an exact "
            f"best response ({NASHCONV}), {AT_LEAST.strip()} at least, by a trained exploiter."
        )
    cells = arms[0].rows[0]["cells"]
    exact = [cell["reference_exact"] for cell in cells if (cell.get("reference") or {}).get(benchmark["headline"])]
    if exact:
        notes.append(
            f"BR-Prox: Best-Response Proximity, the share of the reference. {len(exact)} of {len(cells)} cells (a "
            f"partner and a seat) have one, {sum(exact)} of them an exact one; the others' is an upper bound."
        )
    if changed := [row for arm in arms for row in arm.rows if row["code"].get("changed_since")]:
        total = sum(len(arm.rows) for arm in arms)
        notes.append(f"{len(changed)} of {total} results were measured by sources that no commit holds.")
    for name in LOGGED:
        if logged := [row[name]["earlier_evaluations"] for arm in arms for row in arm.rows if name in row]:
            times = " to ".join(f"{number:,}" for number in sorted({min(logged), max(logged)}))
            notes.append(f"Evaluations against {name} that were logged before these: {times}.")
    by_remark: dict[str, list[str]] = {}
    for arm in arms:
        remarks = dict.fromkeys(text for row in arm.rows for text in _submission_notes(row["submission"]))
        by_remark.setdefault("; ".join(remarks), []).append(arm.name)  # seeds may differ
    return notes + [f"{', '.join(names)}: {remark}." for remark, names in by_remark.items() if remark]


def _submission_notes(submission: Row) -> list[str]:
    """Remarks on one submission."""
    remarks = [submission["met"]] if submission["learned"] or submission["declared"] else []
    remarks += [f"trained with {len(submission['met_here'])} of these partners"] if submission["met_here"] else []
    return remarks + (["has privileged information"] if submission["sees_everything"] else [])


def _replicates(arms: Sequence[Arm]) -> str:
    """Number of times that a game with a stochastic player was played, in words; results may differ in it."""
    times = sorted({row["benchmark"]["replicates"] for arm in arms for row in arm.rows})
    return "once" if times == [1] else f"{' or '.join(map(str, times))} times"


def _main(benchmark: dict[str, Any], arms: Sequence[Arm]) -> list[Table]:
    """Points next to the gain of an adversary, then points by partners, seats and scenarios."""
    head, names = benchmark["headline"], [arm.name for arm in arms]
    lines = [{"seeds": count_cell(len(arm.rows)), **main_cells(arm)} for arm in arms]
    parts = {**PARTS, **{part: Column(part=part) for part in arms[0].rows[0]["cells"][0]["points"] if part != head}}
    points = [{name: _figure(arm.headline(column), column.unit) for name, column in parts.items()} for arm in arms]
    tables = ((f"Arms, best first ({head})", lines), ("Points of ten by partners, seat and scenarios", points))
    return [Table(caption, *align_columns(rows, names), "arm") for caption, rows in tables]


def main_cells(arm: Arm) -> dict[str, Cell]:
    """The figures of an arm by heading: points, the gain of an adversary, and others."""
    seeds = statistics.mean_of(statistics.headline_scores(arm.scores(), arm.families).tolist(), SEED_CONFIDENCE)
    inserted: dict[str, dict[str, Cell]] = {  # after each heading of the columns
        "points": {"± over seeds": number_cell(seeds.margin), ADVERSARY: adversary_cell(arm)},
        "exact BR-Prox": {WORST_TENTH: _over_seeds(arm.worst_tenth())},
    }
    cells: dict[str, Cell] = {}
    for head, column in MAIN.items():
        cells |= {head: _figure(arm.headline(column), column.unit), **inserted.get(head, {})}
    figures = [figure for row in arm.rows if (figure := row["figures"].get("insists"))]  # older rows: none
    shares = [float(figure["value"]) for figure in figures]
    insists = np.array(shares) if len(shares) == len(arm.rows) else None
    return {**cells, "INSIST": _over_seeds(insists, "share"), "best labels": _over_seeds(arm.label_gains())}


def adversary_cell(arm: Arm) -> Figure | None:
    """The mean gain of an adversary over seeds, marked as exact or as a lower bound."""
    gains = arm.adversary_gains()
    if gains is None:
        return None
    by_seed, exact = gains
    return _figure(statistics.mean_of(by_seed.tolist(), SEED_CONFIDENCE))._replace(sign=EXACT if exact else AT_LEAST)


def _over_seeds(values: Doubles | None, unit: Unit = "points") -> Figure | None:
    """The mean of one number per seed, with Student's interval."""
    return None if values is None else _figure(statistics.mean_of(values.tolist(), SEED_CONFIDENCE), unit)


def _figure(estimate: Estimate, unit: Unit = "points") -> Figure:
    """A cell without its number of seeds, which has a column of its own, and without an interval too narrow to show."""
    mean, _, low, high = estimate
    if high - low < SHOWN[unit]:
        low = high = math.nan
    return Figure(Estimate(mean, 0, low, high), unit)


def _responses(arms: Sequence[Arm]) -> list[Table]:
    """Parts of NashConv by seat, and its part beyond first-mover power, for arms that have it."""
    conceded = np.array([low for low, _ in table_for(RULES).responses])
    lines, names = [], []
    for arm in arms:
        itself, best = arm.exploitability("self_play"), arm.exploitability("response")
        if itself is None or best is None:
            continue
        parts = {
            "against itself": itself,
            "best response gets": best,
            "its gain": best - itself,
            "beyond first-mover power": best - np.maximum(itself, conceded),
        }
        lines.append(
            {f"{head}, seat_{seat}": _over_seeds(part[:, seat]) for head, part in parts.items() for seat in (0, 1)}
        )
        names.append(arm.name)
    caption = (
        "Exact best responses, over all scenarios; first-mover power is relative to one equilibrium of the game, the "
        "table that `equilibrium` plays: others share otherwise (of three turns they pay the opener 5.0 to 6.6 points "
        "instead of 3.8)"
    )
    return [Table(caption, *align_columns(lines, names), "arm")] if names else []


def _comparison(compared: Sequence[Difference]) -> list[Table]:
    """Every other arm - the reference arm, with Holm's correction."""
    lines: list[dict[str, Cell]] = [
        {
            "more points": Figure(difference.points.difference._replace(n=0), "difference"),
            "verdict": difference.points.verdict,
            "p": difference.format_p(difference.points.test.p),
            "p, Holm": difference.format_p(difference.points.adjusted),
            "without one partner": difference.range,
            "moved most by": difference.mover,
            "verdict changes without": difference.changes,
            f"more {NASHCONV}": Figure(difference.nashconv._replace(n=0), "difference"),
        }
        for difference in compared
    ]
    if not lines:
        return []
    caption = (
        f"Differences from the arm {compared[0].over}; p of permutations of seeds, for these partners alone; smallest "
        f"effect of interest {compared[0].effect:.2f}"
    )
    return [Table(caption, *align_columns(lines, [difference.name for difference in compared]), "arm")]


def _by_seat(gains: Sequence[float]) -> str:
    return " and ".join(f"{gain:.2f} as seat_{seat}" for seat, gain in enumerate(gains))


def summary_sentences(row: Row) -> list[str]:
    """One result in sentences."""
    submission, benchmark = row["submission"], row["benchmark"]
    arm = Arm(submission["name"], (with_references(row),))
    against = title_of(benchmark).removeprefix("Against ")
    sentences = [
        f"{arm.name} has {arm.headline().mean:.2f} points of ten against {against} ({benchmark['headline']}), the mean "
        f"over {len(set(arm.families))} families of partners."
    ]
    if "exploitability" in row:
        exact = row["exploitability"]
        gains = _by_seat(exact["gain"])
        sentences.append(f"An exact best response to it gains {gains}: {NASHCONV} {exact['nashconv']:.2f}.")
    if "adversary" in row:
        bound = row["adversary"]
        gains = _by_seat(bound["gain"])
        sentences.append(f"A trained exploiter gains {gains}: an adversary gains at least {bound['at_least']:.2f}.")
    share = arm.headline(MAIN["BR-Prox"]).mean
    if not math.isnan(share):
        sentences.append(f"Its Best-Response Proximity is {share:.1%}, the share of what a best response earns.")
    worst = row["figures"]["points_worst_cell"]
    sentences.append(f"Its worst cell is {worst['partner']}, seat_{worst['seat']}: {worst['value']:.2f}.")
    return sentences


def result_section(row: Row) -> Section:
    """One result: its figures, and a row for each partner."""
    row = with_references(row)
    arm = Arm(row["submission"]["name"], (row,))
    head = row["benchmark"]["headline"]
    cells = {(cell["partner"], cell["seat"]): cell for cell in row["cells"]}
    partners = list(dict.fromkeys(partner for partner, _ in cells))
    lines: list[dict[str, Cell]] = []
    for partner in partners:
        seats = [cells[partner, seat] for seat in (0, 1)]
        line: dict[str, Cell] = {}
        for seat, cell in enumerate(seats):
            value, margin = cell["points"][head], cell["margin"].get(head, math.nan)
            line[f"as seat_{seat}"] = Figure(Estimate(value, 1, value - margin, value + margin))
            mark = (cell.get("reference") or {}).get(head)
            if mark:
                line[f"reference, seat_{seat}"] = number_cell(mark)
                line[f"share, seat_{seat}"] = number_cell(value / mark, "share")
        line["deals"] = number_cell(float(np.mean([cell["deal"] for cell in seats])), "share")
        line["left to partner"] = number_cell(float(np.mean([cell["left"] for cell in seats])))
        lines.append(line)
    table = Table(f"Points of ten by partner ({head})", *align_columns(lines, partners), "partner")
    section = section_of(row["benchmark"], [arm])
    return section._replace(key="bench", blocks=(*section.blocks, table))
