"""What the results file says: who takes what from whom, where ours stand, and what those that take much have in common.

S = everybody of ours that was met.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from dond_marl.statistics import Estimate, interquartile_mean
from league.tables.figures import with_interval

BEST, ENOUGH = 12, 0.95  # players of the ranking that are shown; of the best member's points
HOLDS = ((0.95, "all or nearly all"), (0.8, "four fifths"), (0.65, "two thirds"), (0.0, "less"))  # of the last claim


class Player(NamedTuple):
    """Somebody against everybody of ours, over both seats."""

    who: str
    year: str | None  # of its competition; None: one of ours
    points: Estimate
    ours: Estimate  # what ours got from it
    deals: float
    opens: float  # the share of its own whole that its first offers claim
    closes: float  # the same of its last offers
    by_ours: dict[str, float]  # what each of ours got from it, the mean of both seats
    forfeits: dict[str, int]
    games: int


class Found(NamedTuple):
    """The file, read."""

    header: dict[str, Any]
    players: list[Player]  # by their points, the best first
    field: dict[tuple[str, int | None], tuple[Estimate, Estimate]]  # ours against the field: own, and the agents'
    seconds: float  # of processor time that the games of the agents took

    @property
    def agents(self) -> list[Player]:
        """Those that are not ours."""
        return [player for player in self.players if player.year is not None]

    @property
    def ours(self) -> list[str]:
        """The names of ours."""
        return list(self.header["ours"])


def found_in(lines: Iterable[str]) -> Found:
    """Read a results file's lines."""
    rows = [json.loads(line) for line in lines if line.strip()]
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["kind"] == "cell":
            cells.setdefault(row["player"], []).append(row)
    players = [_player(row, cells[row["who"]]) for row in rows if row["kind"] == "player"]
    players.sort(key=lambda player: (-player.points.mean, player.who))
    met = [row for row in rows if row["kind"] == "field"]
    field = {(row["who"], row["seat"]): (_of(row, "points"), _of(row, "our_points")) for row in met}
    # In a field row the first figures are the agents': the cells are theirs.
    seconds = sum(cell["cpu_ms"] * cell["n"] for own in cells.values() for cell in own) / 1000
    return Found(rows[0], players, {key: (ours, theirs) for key, (theirs, ours) in field.items()}, seconds)


def _of(row: dict[str, Any], name: str) -> Estimate:
    mean, low, high = (float("nan") if value is None else value for value in row[name])
    return Estimate(mean, row["n"], low, high)


def _player(row: dict[str, Any], cells: Sequence[dict[str, Any]]) -> Player:
    forfeits: dict[str, int] = {}
    for cell in cells:
        for why, times in cell["forfeits"].items():
            forfeits[why] = forfeits.get(why, 0) + times
    names = dict.fromkeys(cell["ours"] for cell in cells)
    return Player(
        row["who"],
        cells[0]["year"],
        _of(row, "points"),
        _of(row, "our_points"),
        fmean(cell["deals"] for cell in cells),
        _known(cell["opens"] for cell in cells),
        _known(cell["closes"] for cell in cells),
        {name: fmean(cell["our_points"][0] for cell in cells if cell["ours"] == name) for name in names},
        forfeits,
        row["n"],
    )


def _known(values: Iterable[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if known else float("nan")


def of_best(found: Found, name: str) -> list[float]:
    """What ``name`` got from each agent as a share of the best of ours there; agents that gave nobody anything go."""
    shares = []
    for player in found.agents:
        best = max(player.by_ours.values())
        if best > 0 and name in player.by_ours:
            shares.append(player.by_ours[name] / best)
    return shares


def short(who: str) -> str:
    """A class's name, with the package where another has the same."""
    package, _, name = who.rpartition(".")
    return who if not package else f"{name} (NegoLog)" if package == "negmas_negolog" else name


def markdown(found: Found) -> str:
    """All tables."""
    return "\n\n".join(part(found) for part in PARTS)


def ours_table(found: Found) -> str:
    """Ours against the field."""
    rows = []
    for name in found.ours:
        if (name, None) not in found.field:
            continue
        own, theirs = found.field[name, None]
        first, second = found.field[name, 0][0], found.field[name, 1][0]
        shares = of_best(found, name)
        enough = fmean(share >= ENOUGH for share in shares) if shares else float("nan")
        rows.append([name, with_interval(own), with_interval(first), with_interval(second), with_interval(theirs),
                     f"{float(interquartile_mean(np.asarray(shares))):.0%}", f"{enough:.0%}"])  # fmt: skip
    heads = ("of ours", "own points", "as seat_0", "as seat_1", "the agents' points", "of the best of ours, IQM",
             "agents with 95% of it")  # fmt: skip
    return table(heads, rows)


def ranking_table(found: Found) -> str:
    """The best players against ours, and every one of ours; who played fewer games is told."""
    most = max((player.games for player in found.agents), default=0)
    rows = []
    for place, player in enumerate(found.players, start=1):
        if place <= BEST or player.year is None:
            claims = [_share(player.opens), _share(player.closes)]
            points = [with_interval(player.points), with_interval(player.ours), f"{player.deals:.0%}"]
            fewer = f" ({player.games} games)" if player.year is not None and player.games < most else ""
            rows.append([str(place), short(player.who) + fewer, player.year or "ours", *points, *claims])
    heads = ("place", "who", "from", "own points", "ours got", "deals", "first claim", "last claim")
    return table(heads, rows)


def holding_table(found: Found) -> str:
    """The agents by what they still claim in their last offer."""
    rows, high = [], 1.01
    for low, words in HOLDS:
        some = [player for player in found.agents if low <= player.closes < high]
        high = low
        if some:
            rows.append([f"{words} ({low:.0%} and more)" if low else words, str(len(some)), *_means(some, found)])
    return table(("last claim", "agents", "own points", *_heads(found)), rows)


def years_table(found: Found) -> str:
    """The agents by the year of their competition, or their package."""
    rows = []
    for year in sorted({player.year or "" for player in found.agents}):
        some = [player for player in found.agents if player.year == year]
        closes = _known(player.closes for player in some if player.closes == player.closes)
        rows.append([year, str(len(some)), *_means(some, found), _share(closes)])
    return table(("from", "agents", "own points", *_heads(found), "last claim"), rows)


def _heads(found: Found) -> tuple[str, ...]:
    return ("deals", *(f"{name} got" for name in found.ours))


def _means(some: Sequence[Player], found: Found) -> list[str]:
    ours = [fmean(player.by_ours[name] for player in some) for name in found.ours]
    return [
        f"{fmean(player.points.mean for player in some):.2f}",
        f"{fmean(player.deals for player in some):.0%}",
        *(f"{each:.2f}" for each in ours),
    ]


def notes(found: Found) -> str:
    """What was played, who forfeited, who did not load."""
    header = found.header
    games = sum(player.games for player in found.agents)
    lost = {short(p.who): sum(p.forfeits.values()) for p in found.agents if p.forfeits}
    whose = "; ".join(f"{short(p.who)}: {_reasons(p)} of {p.games} games" for p in found.agents if p.forfeits)
    refused = header["refused"]
    fewest, most = (choose(player.games for player in found.agents) for choose in (min, max))
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items())
    said = [
        f"{len(found.agents)} agents, {games:,} games of {header['max_turns']} turns: {header['scenarios']}, both "
        f"seats, one game each; {most} games an agent{f', {fewest} of the slowest' if fewest < most else ''}, "
        f"{found.seconds:,.0f} CPU seconds in all. "
        f"Intervals of {header['confidence']:.0%} over scenarios. {versions}, {header['day']}.",
        f"Forfeits: {whose}." if lost else "Nobody forfeited a game.",
        f"Not loaded: {', '.join(sorted(refused))}." if refused else "",
    ]
    return " ".join(each for each in said if each)


def _reasons(player: Player) -> str:
    """How often a player forfeited by each of the two commonest reasons, and how often by others."""
    ordered = sorted(player.forfeits.items(), key=lambda item: -item[1])
    others = sum(times for _, times in ordered[2:])
    return ", ".join([f"{times} {why}" for why, times in ordered[:2]] + [f"{others} for other reasons"] * (others > 0))


def _share(value: float) -> str:
    return "-" if value != value else f"{value:.0%}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


PARTS: tuple[Callable[[Found], str], ...] = (ours_table, ranking_table, holding_table, years_table, notes)
