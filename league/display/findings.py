"""Ratings and meta-game for people and for programs: tables that fit the screen, ``ratings.csv``, ``meta_game.*``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.game import SEATS
from dond_marl.records.files import write_whole
from league.display.tables import spared
from league.standings.crossplay import write_csv
from league.standings.findings import DRIFT, NASH, WELFARE, Findings, Solution
from league.standings.ratings import Rated

RATINGS_FILE, META_FILE, DOCUMENT = "ratings.csv", "meta_game.csv", "meta_game.json"
SHOWN = 0.005  # shares below it are not shown, and pairs with less chance are not listed
LONGEST_LABEL = 24  # characters of a member's name that a table shows
HEADINGS = {WELFARE: "welfare", NASH: "Nash", DRIFT: "replic."}


def print_findings(console: Console, found: Findings) -> None:
    """Both tables, and what their figures mean."""
    console.print("\nratings, most taken first")
    console.print(spared(ratings_table(found, console.width), console.width))
    console.print(
        "\nmeta-game: how often each member sits in each seat in mixtures that are stable, and what these pay"
    )
    for table in meta_tables(found, console.width):
        console.print(spared(table, console.width))
    for line in explained(found):
        console.print(Text(line), soft_wrap=True)


def ratings_table(found: Findings, width: int) -> Table:
    """What each member takes, gives and is worth; a narrow screen is spared the intervals."""
    order = np.argsort(-np.nan_to_num(found.take.value, nan=-math.inf), kind="stable").tolist()
    ratings = {
        "take": (found.take, ".2f"),
        "give": (found.give, ".2f"),
        "duplicate": (found.duplicates, ".1f"),
        **{f"deviation\n{seat}": (_row(found.deviation, place), ".2f") for place, seat in enumerate(SEATS)},
        "alpha-rank": (found.alpha_rank, ".1%"),
    }
    wide, narrow = (
        {head: [_with_half(_row(each, i), form, shown) for i in order] for head, (each, form) in ratings.items()}
        for shown in (True, False)
    )
    return _table([found.members[i] for i in order], wide, narrow, width)


def meta_tables(found: Findings, width: int) -> Iterator[Table]:
    """What each mixture pays, and who is in it."""
    worth: dict[str, list[str]] = {head: [] for head in (*SEATS, "welfare", "regret gap")}
    bare: dict[str, list[str]] = {head: [] for head in worth}
    for one in found.solutions:
        for head, each in zip(worth, (*(_row(one.values, seat) for seat in (0, 1)), one.welfare, one.gap), strict=True):
            worth[head].append(_with_bounds(each, ".2f", True))
            bare[head].append(_with_bounds(each, ".2f", False))
    yield _table([one.name for one in found.solutions], worth, bare, width, heading="")
    shares = np.stack([one.shares.value for one in found.solutions])  # [solution, seat, N]
    among = np.flatnonzero((shares >= SHOWN).any(axis=(0, 1)))
    among = among[np.argsort(-shares[:, :, among].sum(axis=(0, 1)), kind="stable")].tolist()
    wide, narrow = (
        {
            f"{HEADINGS[one.name]}\n{seat}": [_with_bounds(_row(_row(one.shares, s), i), ".0%", shown) for i in among]
            for one in found.solutions
            for s, seat in enumerate(SEATS)
        }
        for shown in (True, False)
    )
    yield _table([found.members[i] for i in among], wide, narrow, width)


def _table(
    labels: Sequence[str],
    wide: Mapping[str, Sequence[str]],
    narrow: Mapping[str, Sequence[str]],
    width: int,
    heading: str = "member",
) -> Table:
    """A row per label and a column per heading: the wide cells, or the narrow ones where these do not fit."""
    label = min(max(len(heading), *map(len, labels)), LONGEST_LABEL)
    needed = label + sum(max(map(len, (*head.split("\n"), *cells))) + 2 for head, cells in wide.items())
    table = Table(box=None, pad_edge=False)
    table.add_column(heading, overflow="ellipsis", no_wrap=True, width=label)
    for head in wide:
        table.add_column(head, justify="right", no_wrap=True)
    for place, name in enumerate(labels):
        chosen = wide if needed <= width else narrow
        table.add_row(Text(name), *(cells[place] for cells in chosen.values()))
    return table


def explained(found: Findings) -> Iterator[str]:
    """What the figures mean, and what to know of them."""
    predicted = "" if found.played == 1 else f" {1 - found.played:.0%} of the cells were not played and are predicted."
    yield (
        f"take, give: points of ten that a member gets more than others do, and that others get more from it; members "
        f"that play alike count as one. duplicate: skill (about 25) by who does better with the same cards against the "
        f"same partner. deviation: what naming the member would gain in the strictest equilibrium, at most 0: clones "
        f"move no rating. alpha-rank: how long a population that imitates who does better stays with it. CCE: nobody "
        f"gains by naming a member beforehand; {DRIFT}: where imitation drifts, its regret gap is what is left to "
        f"gain. ± is half the {found.confidence:.0%} interval over scenarios, {found.replicates} replicates.{predicted}"
    )


def write_findings(directory: Path, found: Findings) -> list[str]:
    """``ratings.csv``, ``meta_game.csv`` and ``meta_game.json`` in a run's folder; their names."""
    write_csv(directory / RATINGS_FILE, list(_ratings_rows(found)))
    write_csv(directory / META_FILE, list(_meta_rows(found)))
    write_whole(directory / DOCUMENT, json.dumps(to_json(found), indent=1, allow_nan=False, ensure_ascii=False) + "\n")
    return [RATINGS_FILE, META_FILE, DOCUMENT]


def to_json(found: Findings) -> dict[str, Any]:
    """The meta-game as plain JSON values: worth, mixtures and the pairs that have a chance; an unknown is ``None``."""
    return {
        "members": list(found.members),
        "confidence": found.confidence,
        "replicates": found.replicates,
        "cells_played": found.played,
        "units": {"values": "points of ten", "welfare": "points of ten", "regret_gap": "points of ten"},
        "solutions": {one.name: _solution(found, one) for one in found.solutions},
        "alpha_rank": _by_member(found, found.alpha_rank),
    }


def _solution(found: Findings, one: Solution) -> dict[str, Any]:
    listed = np.argwhere(one.chances >= SHOWN)
    listed = listed[np.argsort(-one.chances[listed[:, 0], listed[:, 1]], kind="stable")]
    return {
        "values": {seat: _bounds(_row(one.values, place)) for place, seat in enumerate(SEATS)},
        "welfare": _bounds(one.welfare),
        "regret_gap": _bounds(one.gap),
        "shares": {seat: _by_member(found, _row(one.shares, place)) for place, seat in enumerate(SEATS)},
        "support": [
            {"seat_0": found.members[a], "seat_1": found.members[b], "chance": float(one.chances[a, b])}
            for a, b in listed.tolist()
        ],
    }


def _ratings_rows(found: Findings) -> Iterator[list[str]]:
    ratings = {
        "take": found.take,
        "give": found.give,
        "duplicate": found.duplicates,
        **{f"deviation_{seat}": _row(found.deviation, place) for place, seat in enumerate(SEATS)},
    }
    yield ["member", *(f"{name}{end}" for name in ratings for end in ("", "_low", "_high"))]
    for place, member in enumerate(found.members):
        yield [member, *(_digits(float(each[place])) for rating in ratings.values() for each in rating)]


def _meta_rows(found: Findings) -> Iterator[list[str]]:
    yield ["solution", "figure", "seat", "member", "value", "low", "high"]
    for one in found.solutions:
        for place, seat in enumerate(SEATS):
            yield [one.name, "points of ten", seat, "", *_triple(_row(one.values, place))]
        yield [one.name, "welfare", "", "", *_triple(one.welfare)]
        yield [one.name, "regret gap", "", "", *_triple(one.gap)]
        for place, seat in enumerate(SEATS):
            for number, member in enumerate(found.members):
                yield [one.name, "share", seat, member, *(_digits(each[place, number]) for each in one.shares)]
    for number, member in enumerate(found.members):
        yield ["alpha-rank", "share", "", member, *(_digits(each[number]) for each in found.alpha_rank)]


def _row(rated: Rated, place: int) -> Rated:
    return Rated(*(each[place] for each in rated))


def _with_half(rated: Rated, form: str, interval: bool) -> str:
    """A figure with half the width of its interval."""
    if math.isnan(rated.value):
        return "-"
    half = float(rated.high - rated.low) / 2
    return f"{float(rated.value):{form}}" + ("" if math.isnan(half) or not interval else f" ±{half:{form}}")


def _with_bounds(rated: Rated, form: str, interval: bool) -> str:
    """A figure with the ends of its interval: a share or a gap, which never fall below nothing, lie aside in it."""
    value, low, high = (f"{float(each):{form}}" for each in rated)
    return value if math.isnan(rated.low) or not interval else f"{value} ({low}..{high})"


def _by_member(found: Findings, rated: Rated) -> dict[str, Any]:
    return {member: _bounds(_row(rated, place)) for place, member in enumerate(found.members)}


def _bounds(rated: Rated) -> dict[str, float | None]:
    told = {"value": float(rated.value), "low": float(rated.low), "high": float(rated.high)}
    return {key: None if math.isnan(value) else value for key, value in told.items()}


def _triple(rated: Rated) -> list[str]:
    return [_digits(float(each)) for each in rated]


def _digits(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6f}"
