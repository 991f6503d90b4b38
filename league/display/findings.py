"""Ratings and meta-game for people: tables that fit the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dond_marl.game import SEATS
from league.display.tables import spared
from league.standings.as_csv import LEAST_SHARE
from league.standings.findings import DRIFT, NASH, WELFARE, Findings
from league.standings.ratings import Rated

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
        **{f"deviation\n{seat}": (found.deviation.at(place), ".2f") for place, seat in enumerate(SEATS)},
        "alpha-rank": (found.alpha_rank, ".1%"),
    }
    wide, narrow = (
        {head: [_with_half(each.at(i), form, shown) for i in order] for head, (each, form) in ratings.items()}
        for shown in (True, False)
    )
    return _table([found.members[i] for i in order], wide, narrow, width)


def meta_tables(found: Findings, width: int) -> Iterator[Table]:
    """What each mixture pays, and who is in it."""
    worth: dict[str, list[str]] = {head: [] for head in (*SEATS, "welfare", "regret gap")}
    bare: dict[str, list[str]] = {head: [] for head in worth}
    for one in found.solutions:
        for head, each in zip(worth, (*(one.values.at(seat) for seat in (0, 1)), one.welfare, one.gap), strict=True):
            worth[head].append(_with_bounds(each, ".2f", True))
            bare[head].append(_with_bounds(each, ".2f", False))
    yield _table([one.name for one in found.solutions], worth, bare, width, heading="")
    shares = np.stack([one.shares.value for one in found.solutions])  # [solution, seat, N]
    among = np.flatnonzero((shares >= LEAST_SHARE).any(axis=(0, 1)))
    among = among[np.argsort(-shares[:, :, among].sum(axis=(0, 1)), kind="stable")].tolist()
    wide, narrow = (
        {
            f"{HEADINGS[one.name]}\n{seat}": [_with_bounds(one.shares.at(s, i), ".0%", shown) for i in among]
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
