"""Ladder and meta-game beside each other: what each means, where they disagree, and which to trust for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dond_marl.game import SEATS
from league.standings.findings import DRIFT, NASH
from league.standings.ladder import Standing
from league.tables.blocks import Cell, Figure, Section, Table, TableRow, figure_from_json, number_cell

KEY, TITLE = "trust", "Ladder or meta-game"
MIXTURES = (DRIFT, NASH)
NOTES = (
    "The ladder is a mean: what a member gets if it meets every other member alike, in both seats. Trust it for how "
    "well somebody does with this company. Members that the league has many copies of count many times, and one member "
    "that exploits the first hardly shows.",
    "The meta-game asks who would still be chosen if both seats chose among these members, each for its own points. "
    "Trust it for what lasts where others answer: copies and weak company change nothing. It need not be what one "
    "wants: whoever makes the last offer that can be answered may take nearly all, and a mixture that ends there pays "
    "one seat much and the other little.",
    "So they may disagree, and neither is wrong. For partners who are in neither, trust neither: the held-out "
    "evaluation says what a main gets from them.",
)


def trust(standings: Sequence[Standing], document: Mapping[str, Any] | None, mains: Sequence[str]) -> Section:
    """The ladder's first, the ``mains`` and who weighs most in a seat of a mixture, by both.

    ``document`` is that of ``meta_game.json``, or ``None`` where there is none. Raises ``AttributeError``,
    ``KeyError``, ``TypeError`` or ``ValueError`` where it lacks what it should hold.
    """
    ranked = [row for row in standings if row.ranked]
    if document is None or not ranked:
        return Section(KEY, TITLE, NOTES)
    solutions = {name: document["solutions"][name] for name in MIXTURES}
    places = {row.member: place for place, row in enumerate(ranked, start=1)}
    shares = {
        (name, seat): {member: float(share["value"]) for member, share in solution["shares"][seat].items()}
        for name, solution in solutions.items()
        for seat in SEATS
    }
    heaviest = [max(of_seat, key=lambda member: (of_seat[member], member)) for of_seat in shares.values()]
    shown = [name for name in dict.fromkeys((ranked[0].member, *mains, *heaviest)) if name in places]
    rows = []
    for name in shown:
        standing = ranked[places[name] - 1]
        cells: tuple[Cell, ...] = (
            number_cell(places[name], "count"),
            Figure(standing.points),
            *map(Figure, standing.as_seat),
        )
        weights = (figure_from_json(solutions[which]["shares"][seat].get(name), "share") for which, seat in shares)
        rows.append(TableRow(name, (*cells, *weights)))
    heads = ("ladder's place", "points", *(f"as {seat}" for seat in SEATS), *(f"{n}, {seat}" for n, seat in shares))
    return Section(KEY, TITLE, (_beside(ranked[0], solutions), *NOTES), (Table("By both", heads, tuple(rows)),))


def _beside(first: Standing, solutions: Mapping[str, Mapping[str, Any]]) -> str:
    """The two figures of the run side by side."""
    drift = solutions[DRIFT]
    pays = " and ".join(f"{float(drift['values'][seat]['value']):.2f} as {seat}" for seat in SEATS)
    plays = " and ".join(f"{float(drift['shares'][seat][first.member]['value']):.0%} of {seat}'s" for seat in SEATS)
    return (
        f"The ladder's first, {first.member}, gets {first.as_seat[0].mean:.2f} points of ten as {SEATS[0]} and "
        f"{first.as_seat[1].mean:.2f} as {SEATS[1]} from all others. Where imitation ends (the replicator's mixture) a "
        f"member gets {pays}; {first.member} plays {plays} games there."
    )
