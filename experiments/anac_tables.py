"""Tables of the ANAC results: points of our occupants, the ranking, and agents by their last claim and by year."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from dond_marl.statistics import Estimate, interquartile_mean
from experiments.kit import table_section
from league.tables.blocks import Section
from league.tables.figures import with_interval

SHOWN, ENOUGH = 12, 0.95  # players of the ranking; share of the best occupant's points
CLAIMS = ((0.95, "all or nearly all"), (0.8, "four fifths"), (0.65, "two thirds"), (0.0, "less"))  # of the last claim


class AnacPlayer(NamedTuple):
    """One player against all of our occupants, over both seats."""

    name: str
    year: str | None  # of its competition; None: one of our occupants
    points: Estimate
    ours: Estimate  # points of our occupants against it
    deals: float
    opens: float  # share of its value that its first offers claim; nan without offers
    closes: float  # the same for its last offers
    by_occupant: dict[str, float]  # points of each of our occupants against it, mean of both seats
    forfeits: Counter[str]  # by reason
    games: int


class AnacResults(NamedTuple):
    """The content of a results file."""

    header: dict[str, Any]
    players: list[AnacPlayer]  # by points, best first
    field: dict[tuple[str, int | None], tuple[Estimate, Estimate]]  # by occupant and seat: own points, the agents'
    seconds: float  # processor time of the agents' games

    @property
    def agents(self) -> list[AnacPlayer]:
        """Players that are not our occupants."""
        return [player for player in self.players if player.year is not None]

    @property
    def occupants(self) -> list[str]:
        """Names of our occupants."""
        return list(self.header["ours"])


def parse_anac(lines: Iterable[str]) -> AnacResults:
    """The results in the lines of a file."""
    rows = [json.loads(line) for line in lines if line.strip()]
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] == "cell":
            cells.setdefault(row["player"], []).append(row)
    players = [_parse_player(row, cells[row["who"]]) for row in rows if row["kind"] == "player"]
    players.sort(key=lambda player: (-player.points.mean, player.name))
    # Cells belong to the agents, so that "points" of a field row are theirs and "our_points" the occupant's.
    field = {
        (row["who"], row["seat"]): (_estimate(row, "our_points"), _estimate(row, "points"))
        for row in rows
        if row["kind"] == "field"
    }
    seconds = sum(cell["cpu_ms"] * cell["n"] for own in cells.values() for cell in own) / 1000
    return AnacResults(rows[0], players, field, seconds)


def _estimate(row: dict[str, Any], name: str) -> Estimate:
    mean, low, high = (math.nan if value is None else value for value in row[name])
    return Estimate(mean, row["n"], low, high)


def _parse_player(row: dict[str, Any], cells: Sequence[dict[str, Any]]) -> AnacPlayer:
    forfeits: Counter[str] = Counter()
    for cell in cells:
        forfeits.update(cell["forfeits"])
    names = dict.fromkeys(cell["ours"] for cell in cells)
    return AnacPlayer(
        row["who"],
        cells[0]["year"],
        _estimate(row, "points"),
        _estimate(row, "our_points"),
        fmean(cell["deals"] for cell in cells),
        _mean_known(cell["opens"] for cell in cells),
        _mean_known(cell["closes"] for cell in cells),
        {name: fmean(cell["our_points"][0] for cell in cells if cell["ours"] == name) for name in names},
        forfeits,
        row["n"],
    )


def _mean_known(values: Iterable[float | None]) -> float:
    numbers = [value for value in values if value is not None and not math.isnan(value)]
    return fmean(numbers) if numbers else math.nan


def shares_of_best(results: AnacResults, name: str) -> list[float]:
    """Points of occupant ``name`` by agent, as shares of the best occupant's; agents that yield no points left out."""
    shares = []
    for player in results.agents:
        best = max(player.by_occupant.values())
        if best > 0 and name in player.by_occupant:
            shares.append(player.by_occupant[name] / best)
    return shares


def short_name(name: str) -> str:
    """An agent's class name, with the package for NegoLog's, which repeats names of others."""
    package, _, short = name.rpartition(".")
    return name if not package else f"{short} (NegoLog)" if package == "negmas_negolog" else short


def anac_sections(results: AnacResults) -> list[Section]:
    """All tables; the last one has the notes on what was played."""
    years = years_section(results)
    return [
        occupants_section(results),
        ranking_section(results),
        claims_section(results),
        years._replace(notes=(anac_note(results),)),
    ]


def occupants_section(results: AnacResults) -> Section:
    """Our occupants against the field of agents."""
    rows = []
    for name in results.occupants:
        if (name, None) in results.field:
            own, agents = results.field[name, None]
            seats = (results.field[name, seat][0] for seat in (0, 1))
            shares = shares_of_best(results, name)
            enough = fmean(share >= ENOUGH for share in shares) if shares else math.nan
            rows.append([name, *map(with_interval, (own, *seats, agents)),
                         f"{float(interquartile_mean(np.asarray(shares))):.0%}", f"{enough:.0%}"])  # fmt: skip
    heads = ("occupant", "own points", "as seat_0", "as seat_1", "the agents' points", "share of our best, IQM",
             "agents with 95% of it")  # fmt: skip
    return table_section("Our occupants against the agents", heads, rows)


def ranking_section(results: AnacResults) -> Section:
    """The best players against our occupants, and each of our occupants; fewer games than usual are noted."""
    most = max((player.games for player in results.agents), default=0)
    rows = []
    for place, player in enumerate(results.players, start=1):
        if place <= SHOWN or player.year is None:
            fewer = f" ({player.games} games)" if player.year is not None and player.games < most else ""
            rows.append([str(place), short_name(player.name) + fewer, player.year or "ours",
                         with_interval(player.points), with_interval(player.ours), f"{player.deals:.0%}",
                         _percent(player.opens), _percent(player.closes)])  # fmt: skip
    heads = ("place", "player", "from", "own points", "our points", "deals", "first claim", "last claim")
    return table_section("Ranking against our occupants", heads, rows)


def claims_section(results: AnacResults) -> Section:
    """Agents grouped by the share of their value that their last offer claims."""
    rows, high = [], 1.01
    for low, words in CLAIMS:
        group = [player for player in results.agents if low <= player.closes < high]
        high = low
        if group:
            label = f"{words} ({low:.0%} and more)" if low else words
            rows.append([label, str(len(group)), *_mean_cells(group, results)])
    heads = ("last claim", "agents", "own points", *_own_heads(results))
    return table_section("Agents by their last claim", heads, rows)


def years_section(results: AnacResults) -> Section:
    """Agents grouped by the year of their competition, or their package."""
    rows = []
    for year in sorted({player.year or "" for player in results.agents}):
        group = [player for player in results.agents if player.year == year]
        closes = _mean_known(player.closes for player in group)
        rows.append([year, str(len(group)), *_mean_cells(group, results), _percent(closes)])
    heads = ("from", "agents", "own points", *_own_heads(results), "last claim")
    return table_section("Agents by year", heads, rows)


def _own_heads(results: AnacResults) -> tuple[str, ...]:
    return ("deals", *(f"points of {name}" for name in results.occupants))


def _mean_cells(group: Sequence[AnacPlayer], results: AnacResults) -> list[str]:
    return [
        f"{fmean(player.points.mean for player in group):.2f}",
        f"{fmean(player.deals for player in group):.0%}",
        *(f"{fmean(player.by_occupant[name] for player in group):.2f}" for name in results.occupants),
    ]


def anac_note(results: AnacResults) -> str:
    """Games, versions, forfeits, and agents that did not load."""
    header, agents = results.header, results.agents
    forfeits = "; ".join(
        f"{short_name(player.name)}: {forfeit_reasons(player)} of {player.games} games"
        for player in agents
        if player.forfeits
    )
    fewest, most = (choose(player.games for player in agents) for choose in (min, max))
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items())
    parts = [
        f"{len(agents)} agents, {sum(player.games for player in agents):,} games of {header['max_turns']} turns: "
        f"{header['scenarios']}, both seats, one game each; {most} games an agent"
        f"{f', {fewest} for the slowest' if fewest < most else ''}, {results.seconds:,.0f} CPU seconds in all. "
        f"Intervals of {header['confidence']:.0%} over scenarios. {versions}, {header['day']}.",
        f"Forfeits: {forfeits}." if forfeits else "No forfeits.",
        f"Not loaded: {', '.join(sorted(header['refused']))}." if header["refused"] else "",
    ]
    return " ".join(filter(None, parts))


def forfeit_reasons(player: AnacPlayer) -> str:
    """Counts of the two most common reasons for a player's forfeits, and of all others together."""
    ordered = player.forfeits.most_common()
    others = sum(times for _, times in ordered[2:])
    return ", ".join([f"{times} {why}" for why, times in ordered[:2]] + [f"{others} for other reasons"] * (others > 0))


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0%}"
