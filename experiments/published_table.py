"""Print figures that papers report of this game, with their sources, next to our own measurements of them.

Figures of sources that could not be opened are marked and not printed. Our own come from results files of dond
experiment published and of archived experiments (docs/ARCHIVE.md).

examples:
  dond experiment published-table
  dond experiment published-table --results docs/results/published.jsonl
  dond experiment published-table --json published.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal, NamedTuple

import click
import numpy as np

from dond_marl.dialogues.human_line import stored_human_line
from dond_marl.errors import InputError
from dond_marl.statistics import Estimate
from experiments.kit import experiment_command, show_sections, table_section, text_table, write_results
from experiments.published import LIKELIHOOD, MEASURES, PlayerRow, PublishedResults, parse_published
from league.cli.shell import FILE, WritableFile, print_line
from league.tables.blocks import Section, Table
from league.tables.figures import with_interval, with_margin

FIGURES_FILE = Path(__file__).with_name("published_figures.yaml")
Status = Literal["opened", "excerpt", "unread"]
STATUSES: dict[str, str] = {
    "opened": "the source was read",
    "excerpt": "only an excerpt was read",
    "unread": "not accessible",
}


class PublishedFigure(NamedTuple):
    """One published figure."""

    paper: str  # a key of :attr:`PublishedFigures.papers`
    where: str  # its place in the paper
    player: str
    against: str
    measure: str
    value: float | None  # None if unread
    status: Status
    read: str  # source that was read; empty if unread
    ours: str | None  # the counterpart among our players
    none: str  # reason for no counterpart


class PublishedFigures(NamedTuple):
    """The content of the file."""

    papers: dict[str, str]
    cells: tuple[PublishedFigure, ...]
    notes: tuple[str, ...]


@lru_cache(maxsize=1)
def published_figures() -> PublishedFigures:
    """The figures of the shipped file."""
    return parse_figures(FIGURES_FILE.read_text(encoding="utf-8"))


def parse_figures(text: str) -> PublishedFigures:
    """The figures in a file like ``published_figures.yaml``. Raises :class:`InputError` that names a wrong entry."""
    import yaml

    document = yaml.safe_load(text)
    cells: list[PublishedFigure] = []
    for number, entry in enumerate(document["entries"], start=1):
        wrong = _entry_error(entry, document["papers"])
        if wrong:
            raise InputError(f"entry {number} of the published figures ({entry.get('player')}): {wrong}")
        values: dict[str, float | None] = entry.get("cells") or dict.fromkeys(entry["measures"])
        common = {key: entry[key] for key in ("paper", "where", "player", "against", "status")}
        rest = {"read": entry.get("read", ""), "ours": entry.get("ours"), "none": entry.get("none", "")}
        cells += [PublishedFigure(measure=measure, value=value, **common, **rest) for measure, value in values.items()]
    return PublishedFigures(document["papers"], tuple(cells), tuple(document["notes"]))


def _entry_error(entry: dict[str, Any], papers: dict[str, str]) -> str:
    """The error of an entry; empty if it is valid."""
    if entry.get("paper") not in papers:
        return f"paper must be one of {', '.join(papers)}"
    if entry.get("status") not in STATUSES:
        return f"status must be one of {', '.join(STATUSES)}"
    named = entry["status"] == "opened" and "measures" in entry  # a source that was read and stores no figures
    if entry["status"] == "unread" and "cells" in entry:
        return "an unread source has no figures: give its measures alone"
    if entry["status"] != "unread" and not (("cells" in entry or named) and entry.get("read")):
        return "give the figures in cells, and their source in read"
    if ("ours" in entry) == ("none" in entry):
        return "give either our counterpart (ours) or the reason for having none (none)"
    return ""


IN_WORDS = "itself, in words"  # ``against`` in the rows of the archived experiment words
TITLE_OF_WORDS = "ours, in words"
COLUMN_FILES = ("published.jsonl", "published_weaker.jsonl", "self_taught.jsonl", "nash_products.jsonl", "words.jsonl")


def read_columns(paths: Iterable[Path]) -> list[PublishedResults]:
    """Results files of the published figures' counterparts, in order; files of one title become one column.

    Raises :class:`InputError` for other files.
    """
    columns: dict[str, PublishedResults] = {}
    for path in paths:
        read = _read_column(path.read_text(encoding="utf-8").splitlines())
        title = column_title(read)
        before = columns.get(title, PublishedResults({}, []))
        columns[title] = PublishedResults(before.settings or read.settings, [*before.rows, *read.rows])
    return list(columns.values())


def _read_column(lines: Sequence[str]) -> PublishedResults:
    try:
        rows = [json.loads(line) for line in lines]
        own = [row for row in rows if row.get("against") == IN_WORDS]
    except (ValueError, AttributeError) as error:
        raise InputError(f"no results for published figures ({error}); see `published-table --help`") from None
    if not own:
        return parse_published(lines)
    # Networks of sentences against themselves: the likelihood model of the paper at its own level.
    return PublishedResults(
        {"title": TITLE_OF_WORDS},
        [PlayerRow(LIKELIHOOD, row["seed"], row["games"], _word_means(row), []) for row in own],
    )


def _word_means(row: dict[str, Any]) -> dict[str, float]:
    return {measure: row[measure]["mean"] for measure in MEASURES if measure in row}


PERCENT = ("deals", "pareto")
SHOWN = ("points", "left", "points_agreed", "left_agreed", *PERCENT)


def players_section(results: PublishedResults) -> Section:
    """Each player against the likelihood model, means over seeds."""
    rows = []
    for player in results.players:
        own = [row for row in results.rows if row.player == player]
        figures = (with_margin(_in_unit(measure, results.mean(player, measure))) for measure in SHOWN)
        rows.append([player, str(len(own)), f"{sum(row.games for row in own):,}", *figures])
    heads = ("player", "seeds", "games", "points", "the likelihood model's", "in deals", "the likelihood model's",
             "deals, %", "Pareto, % of deals")  # fmt: skip
    return table_section(
        "Players at the level of acts",
        heads,
        rows,
        "Each player against the likelihood model of its seed, both sampling, on the scenarios of the published test "
        "dialogues in both seats; means over seeds with 95 % intervals, points of ten.",
    )


NEAR = 0.4  # points of ten


def reproduction_section(results: PublishedResults) -> Section:
    """Each learner's difference from the published row of RL, and the games of practice until it had its points."""
    own, other = (_paper_figure(measure) for measure in ("points", "left"))
    rows, passed = [], []
    for player in dict.fromkeys(row.player for row in results.rows if row.curve):
        pairs = (("points", own), ("left", other))
        differences = [_shifted(results.mean(player, measure), published) for measure, published in pairs]
        near = "yes" if all(abs(each.mean) <= NEAR for each in differences) else "no"
        rows.append([player, str(differences[0].n), *map(with_interval, differences), near])
        games = _games_until(results, player, own)
        if games is not None:
            passed.append(f"{player} after {games:,} games")
    heads = ("player", "seeds", "own points - published", "the other's", f"both means within {NEAR}")
    return table_section(
        "Difference from the published row of RL",
        heads,
        rows,
        f"The published row of RL has {own:g} against {other:g} points. Mean over the seeds of practice first at or "
        f"above {own:g} points: {', '.join(passed) or 'none'}.",
    )


def _games_until(results: PublishedResults, player: str, points: float) -> int | None:
    """Games of practice until its mean points over seeds first reached ``points``."""
    curves = [row.curve for row in results.rows if row.player == player]
    for steps in zip(*curves, strict=False):
        if float(np.mean([step.points for step in steps])) >= points:
            return int(steps[0].games)
    return None


def _shifted(estimate: Estimate, by: float) -> Estimate:
    return estimate._replace(mean=estimate.mean - by, low=estimate.low - by, high=estimate.high - by)


def _paper_figure(measure: str) -> float:
    """A figure of the published row of RL against the likelihood model."""
    row = [cell for cell in published_figures().cells if (cell.paper, cell.player) == ("lewis2017", "RL")]
    [value] = [cell.value for cell in row if cell.measure == measure and cell.value is not None]
    return value


PEOPLE = "people"  # value of ``ours``: people of the published dialogues, from the shipped figures
OF_PEOPLE = {"points": "score", "deals": "deals", "pareto": "pareto_of_deals", "nash": "nash_product_of_means"}
MEASURE_NAMES = {
    "points": "points",
    "left": "the other's points",
    "points_agreed": "points in deals",
    "left_agreed": "the other's points in deals",
    "deals": "deals, %",
    "pareto": "Pareto-optimal, % of deals",
    "turns": "turns",
    "joint": "mean points of both",
    "reward": "joint reward",
    "nash": "Nash product",
    "accuracy": "accuracy",
    "factor_low": "times the score before, from",
    "factor_high": "times the score before, to",
}


class OwnFigure(NamedTuple):
    """Our measurement of a published figure."""

    estimate: Estimate  # in the figure's unit
    over: str  # meaning of its n


def own_figure(cell: PublishedFigure, results: PublishedResults | None) -> OwnFigure | None:
    """Our measurement of ``cell`` in ``results``; ``None`` if there is none."""
    if cell.ours == PEOPLE:
        estimate = stored_human_line().figures[OF_PEOPLE[cell.measure]]
        return OwnFigure(_in_unit(cell.measure, estimate), f"{estimate.n:,} perspectives")
    rows = [row for row in results.rows if row.player == cell.ours] if results is not None else []
    if results is None or cell.ours is None or not rows or not all(cell.measure in row.measures for row in rows):
        return None
    estimate, games = results.mean(cell.ours, cell.measure), sum(row.games for row in rows)
    return OwnFigure(_in_unit(cell.measure, estimate), f"{len(rows)} seed{'s' * (len(rows) > 1)}, {games:,} games")


def comparison_sections(published: PublishedFigures, results: Sequence[PublishedResults]) -> list[Section]:
    """A section of one table per paper, with a column for each of ``results``, and one of notes."""
    read = sum(cell.value is not None for cell in published.cells)
    both = sum(cell.value is not None and _has_own(cell, results) for cell in published.cells)
    tables = []
    for paper, title in published.papers.items():
        cells = [cell for cell in published.cells if cell.paper == paper]
        sources = list(dict.fromkeys(cell.read for cell in cells if cell.read))
        letters = dict(zip(sources, ascii_lowercase, strict=False))
        note = "; ".join(f"{letter}: {source}" for source, letter in letters.items())
        tables.append(Section(paper, title, (f"Read in: {note}.",) if note else (),
                              (_paper_table(cells, results, letters),)))  # fmt: skip
    summary = (
        f"{len(published.papers)} sources, {len(published.cells)} figures, {read} of which were read; {both} of these "
        "have a measurement of ours. Points of ten per game, no deal counting 0; 95 % intervals over seeds; status: "
        + "; ".join(f"{name}: {meaning}" for name, meaning in STATUSES.items()) + ".",
    )  # fmt: skip
    return [*tables, Section("published", "Notes", (*summary, *(note.strip() for note in published.notes)))]


def comparison_document(published: PublishedFigures, results: Sequence[PublishedResults]) -> dict[str, Any]:
    """All figures as JSON values, published and own in the same unit."""
    cells = []
    for cell in published.cells:
        own = [(column_title(column), own_figure(cell, column)) for column in results]
        shown = [
            {"title": title, **{end: getattr(each.estimate, end) for end in ("mean", "low", "high")}, "over": each.over}
            for title, each in own
            if each is not None
        ]
        plain = {key: value for key, value in cell._asdict().items() if key != "ours"}
        plain["who"], plain["player"] = plain["player"], cell.ours
        cells.append({**plain, "ours": json.loads(json.dumps(shown).replace("NaN", "null"))})
    return {"papers": published.papers, "cells": cells, "notes": list(published.notes)}


def column_title(results: PublishedResults) -> str:
    """The heading of a column."""
    return str(results.settings.get("title", "ours"))


def _paper_table(
    cells: Sequence[PublishedFigure], results: Sequence[PublishedResults], letters: dict[str, str]
) -> Table:
    others = [
        column for column in results[1:] if any(own_figure(cell, column) for cell in cells if cell.ours != PEOPLE)
    ]
    columns: list[PublishedResults | None] = [*results[:1], *others] or [None]
    titles = ["ours" if column is None else column_title(column) for column in columns]
    rows = []
    for cell in cells:
        value = "-" if cell.value is None else f"{cell.value:g}"
        status = cell.status + (f" {letters[cell.read]}" if cell.read else "")
        own = [own_figure(cell, column) for column in columns]
        figures = [cell.none or "-" if each is None else with_interval(each.estimate) for each in own]
        if cell.ours == PEOPLE:
            figures = [*figures[:1], *("" for _ in figures[1:])]
        over = " and ".join(dict.fromkeys(each.over for each in own if each is not None))
        rows.append([cell.player, cell.against, MEASURE_NAMES[cell.measure], value, status, *figures, over])
    return text_table(("player", "against", "figure", "published", "status", *titles, "over"), rows)


def _has_own(cell: PublishedFigure, results: Sequence[PublishedResults]) -> bool:
    return any(own_figure(cell, column) is not None for column in [*results, None])


def _in_unit(measure: str, estimate: Estimate) -> Estimate:
    """The estimate in percent if the measure is a share in percent."""
    if measure not in PERCENT:
        return estimate
    return estimate._replace(mean=100 * estimate.mean, low=100 * estimate.low, high=100 * estimate.high)


@experiment_command(__doc__, results=False, stopped="nothing is written")
@click.option("--results", type=FILE, multiple=True, metavar="FILE", help="own results; may be repeated (docs/results)")
@click.option("--json", "json_path", type=WritableFile(), metavar="FILE", help="also write everything as JSON")
def command(results: tuple[Path, ...], json_path: Path | None) -> None:
    """Print the tables."""
    paths = results or tuple(path for name in COLUMN_FILES if (path := Path("docs/results") / name).is_file())
    columns = read_columns(paths)
    show_sections(*comparison_sections(published_figures(), columns))
    for path in paths:
        print_line(f"own results: {path}")
    if json_path is not None:
        document = comparison_document(published_figures(), columns)
        write_results(json_path, json.dumps(document, indent=1) + "\n")
