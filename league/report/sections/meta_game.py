"""The meta-game as a section: what each member is worth in it, and which mixtures of members are stable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dond_marl.game import SEATS
from league.report.blocks import Cell, Figure, Row, Section, Table, Unit, in_columns, stored
from league.report.run_files import LeftFiles
from league.standings.as_csv import LEAST_SHARE, META_GAME_FILE, RATINGS_FILE
from league.standings.findings import DRIFT, NASH, WELFARE

TITLE = "Meta-game"
MIXTURES = (WELFARE, NASH, DRIFT)
RATINGS: dict[str, tuple[str, Unit]] = {
    "take": ("take", "points"),
    "give": ("give", "points"),
    "duplicate": ("duplicate", "skill"),
    "deviation as seat_0": ("deviation_seat_0", "points"),
    "deviation as seat_1": ("deviation_seat_1", "points"),
}


def meta_game(files: LeftFiles, games: int, played: int) -> Section:
    """Ratings, CCEs, replicator and alpha-rank.

    ``games`` is what the table of payoffs rests on, in which a learner's earlier rounds count for less; the duplicate
    rating rests on all that were ``played``.
    """
    if files.ratings is None or files.meta_game is None:
        notes = dict.fromkeys(files.why[name] for name in (RATINGS_FILE, META_GAME_FILE) if name in files.why)
        return Section("meta-game", TITLE, tuple(notes))
    found = files.meta_game
    try:
        tables = (_ratings(files, games, played), _worth(found, games), _shares(found, games))
    except (AttributeError, KeyError, TypeError, ValueError):
        damaged = f"{META_GAME_FILE} or {RATINGS_FILE} is damaged: it lacks what it should hold."
        return Section("meta-game", TITLE, (damaged,))
    predicted = 1 - float(found["cells_played"])
    notes_ = [
        "Take, give: points of ten that a member gets more than others do, and that others get more from it. "
        "Duplicate: skill (about 25) by who does better with the same cards against the same partner. Deviation: what "
        "naming the member would gain in the strictest equilibrium, at most 0: clones move no rating. Alpha-rank: how "
        "long a population that imitates who does better stays with it.",
        "CCE: a coarse correlated equilibrium, from which nobody gains by naming a member beforehand; replicator: "
        "where imitation drifts. The regret gap is what is left to gain.",
        f"Intervals are {found['confidence']:.0%}, over scenarios, {found['replicates']} replicates; n counts the "
        f"games of the whole table of payoffs, in which learners' earlier rounds count for less; of the duplicate "
        f"rating, which knows them apart, all games.",
    ]
    notes_ += [f"{predicted:.0%} of the cells were not played and are predicted."] if predicted else []
    return Section("meta-game", TITLE, tuple(notes_), tables)


def _ratings(files: LeftFiles, games: int, played: int) -> Table:
    assert files.ratings is not None
    assert files.meta_game is not None
    ranks = files.meta_game["alpha_rank"]
    rows: list[dict[str, Cell]] = []
    ordered = sorted(files.ratings, key=lambda row: -float(row["take"] or "-inf"))
    for row in ordered:
        told: dict[str, Cell] = {}
        for head, (key, unit) in RATINGS.items():
            value, low, high = (float(row[f"{key}{end}"] or "nan") for end in ("", "_low", "_high"))
            told[head] = Figure(value, low, high, played if key == "duplicate" else games, unit)
        rank = ranks.get(row["member"])
        told["alpha-rank"] = None if rank is None else stored(rank, "share", games)
        rows.append(told)
    heads, found = in_columns(rows, [row["member"] for row in ordered])
    return Table("Ratings, most taken first", heads, found)


def _worth(found: Mapping[str, Any], games: int) -> Table:
    rows = []
    for name in MIXTURES:
        one = found["solutions"][name]
        values = [stored(one["values"][seat], n=games) for seat in SEATS]
        cells = (*values, stored(one["welfare"], n=games), stored(one["regret_gap"], n=games))
        rows.append(Row(name, cells))
    return Table("What each mixture pays", (*SEATS, "both", "regret gap"), tuple(rows), label="mixture")


def _shares(found: Mapping[str, Any], games: int) -> Table:
    rows: list[dict[str, Cell]] = []
    labels = []
    for member in found["members"]:
        told: dict[str, Cell] = {}
        for name in MIXTURES:
            for seat in SEATS:
                told[f"{name}, {seat}"] = stored(found["solutions"][name]["shares"][seat][member], "share", games)
        if any(isinstance(cell, Figure) and cell.value >= LEAST_SHARE for cell in told.values()):
            rows.append(told)
            labels.append(member)
    heads, cells = in_columns(rows, labels)
    return Table(f"Who is in them, and how often (from {LEAST_SHARE:.1%})", heads, cells)
