"""Ratings and meta-game: what each member is worth, and which mixtures of members are stable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dond_marl.game import SEATS
from dond_marl.statistics import Estimate
from league.standings.as_csv import LEAST_SHARE, meta_game_document, ratings_rows
from league.standings.crossplay import CrossPlay
from league.standings.findings import DRIFT, NASH, WELFARE, Findings
from league.tables.blocks import Cell, Figure, Section, Table, TableRow, Unit, align_columns, figure_from_json

KEY, TITLE = "meta-game", "Meta-game"
MIXTURES = (WELFARE, NASH, DRIFT)
RATINGS: dict[str, tuple[str, Unit]] = {  # heading: the column of ratings.csv, and its unit
    "take": ("take", "points"),
    "give": ("give", "points"),
    "duplicate": ("duplicate", "log-odds"),
    "deviation as seat_0": ("deviation_seat_0", "points"),
    "deviation as seat_1": ("deviation_seat_1", "points"),
}


def of_findings(findings: Findings, cross: CrossPlay) -> Section:
    """The section from the findings themselves, as their files would hold them."""
    header, *rows = ratings_rows(findings)
    return meta_game([dict(zip(header, row, strict=True)) for row in rows], meta_game_document(findings), cross)


def meta_game(ratings: Sequence[Mapping[str, str]], document: Mapping[str, Any], cross: CrossPlay) -> Section:
    """The rows of ``ratings.csv`` and the document of ``meta_game.json`` as a section.

    Figures rest on the games of the table of payoffs, in which a learner's earlier rounds count for less; the duplicate
    rating rests on all that were played. Raises ``AttributeError``, ``KeyError``, ``TypeError`` or ``ValueError`` where
    the documents lack what they should hold.
    """
    games = round(float(cross.payoffs().games.sum()) / 2)
    ranked = _ratings(ratings, document, games, cross.total_games)
    tables = (ranked, _worth(document, games), _shares(document, games))
    predicted = 1 - float(document["cells_played"])
    notes = [
        "Take, give: how many more points of ten a member gets than others do, and others get from it; members that "
        "play alike count as one. Duplicate: log-odds of beating other members with the same scenarios and partner "
        "(0: as often ahead as behind; with a difference of 1 the better member gets 73 % of the match points). "
        "Deviation: what a player would gain by switching to the member in the strictest equilibrium, at most 0; "
        "duplicates of a member change no rating. Alpha-rank: the share of time that a population which imitates the "
        "more successful spends on the member.",
        "CCE: a coarse correlated equilibrium, in which nobody gains by committing to a member beforehand; replicator: "
        "where imitation leads. The regret gap is how much could still be gained.",
        f"Intervals are {document['confidence']:.0%}, over scenarios, {document['replicates']} replicates; n counts "
        f"the games of the payoff table, in which earlier rounds of learners have less weight; for the duplicate "
        f"rating, which treats them as separate members, it counts all games.",
    ]
    notes += [f"{predicted:.0%} of the cells were not played and are predicted."] if predicted else []
    return Section(KEY, TITLE, tuple(notes), tables)


def _ratings(ratings: Sequence[Mapping[str, str]], document: Mapping[str, Any], games: int, played: int) -> Table:
    ranks = document["alpha_rank"]
    ordered = sorted(ratings, key=lambda row: -float(row["take"] or "-inf"))
    rows: list[dict[str, Cell]] = []
    for row in ordered:
        cells: dict[str, Cell] = {}
        for head, (key, unit) in RATINGS.items():
            value, low, high = (float(row[f"{key}{end}"] or "nan") for end in ("", "_low", "_high"))
            cells[head] = Figure(Estimate(value, played if key == "duplicate" else games, low, high), unit)
        rank = ranks.get(row["member"])
        cells["alpha-rank"] = None if rank is None else figure_from_json(rank, "share", games)
        rows.append(cells)
    return Table("Ratings, most taken first", *align_columns(rows, [row["member"] for row in ordered]))


def _worth(document: Mapping[str, Any], games: int) -> Table:
    rows = []
    for name in MIXTURES:
        solution = document["solutions"][name]
        figures = (*(solution["values"][seat] for seat in SEATS), solution["welfare"], solution["regret_gap"])
        rows.append(TableRow(name, tuple(figure_from_json(figure, n=games) for figure in figures)))
    return Table("What each mixture pays", (*SEATS, "both", "regret gap"), tuple(rows), label="mixture")


def _shares(document: Mapping[str, Any], games: int) -> Table:
    shares: dict[str, dict[str, Figure]] = {}
    for member in document["members"]:
        figures = {
            f"{name}, {seat}": figure_from_json(document["solutions"][name]["shares"][seat][member], "share", games)
            for name in MIXTURES
            for seat in SEATS
        }
        if any(figure.estimate.mean >= LEAST_SHARE for figure in figures.values()):
            shares[member] = figures
    ordered = sorted(shares, key=lambda member: -sum(figure.estimate.mean for figure in shares[member].values()))
    caption = f"Who is in them, and how often (from {LEAST_SHARE:.1%})"
    return Table(caption, *align_columns([shares[member] for member in ordered], ordered))
