"""The results of the players at the level of acts: a file of lines, and means over seeds. No PyTorch is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from dond_marl.errors import InputError
from dond_marl.statistics import Estimate, mean_of

DIGITS = 4  # of a point in the results file
CONFIDENCE = 0.95
MEASURES = ("points", "left", "points_agreed", "left_agreed", "deals", "pareto", "turns")


class Step(NamedTuple):
    """Where learning stood after so many games: means per game of its latest update, sampled, on training scenarios."""

    games: int
    points: float
    deals: float
    turns: float


class Row(NamedTuple):
    """One player against the likelihood model, both sampling: means over games on the test scenarios."""

    who: str
    seed: int
    games: int
    measures: dict[str, float]  # by :data:`MEASURES`, as in :class:`league.evaluation.outcomes.Figures`
    curve: list[Step]  # of its learning; empty where it did not learn
    date: str | None = None  # when it was played; None where that was not written down
    versions: dict[str, str | None] | None = None  # of what it was played with


class Found(NamedTuple):
    """What was found, in the order of players and seeds, and what the players are."""

    settings: dict[str, Any]
    rows: list[Row]

    def of(self, who: str, measure: str) -> Estimate:
        """The mean of a measure over seeds, with Student's interval; n counts seeds."""
        return mean_of([row.measures[measure] for row in self.rows if row.who == who], CONFIDENCE)

    @property
    def players(self) -> list[str]:
        return list(dict.fromkeys(row.who for row in self.rows))


def lines(found: Found) -> str:
    """Everything as lines of JSON: the settings, then a player of a seed a line."""
    rows = [{"settings": found.settings}, *map(plain_of, found.rows)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def parsed(text: Iterable[str]) -> Found:
    """The inverse of :func:`lines`, but for what they round. Raises :class:`InputError` for other lines."""
    try:
        rows = [json.loads(line) for line in text]
        return Found(rows[0]["settings"], [row_of(row) for row in rows[1:] if "who" in row])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"no results of dond experiment published ({error}); make them again with it") from None


def plain_of(row: Row) -> dict[str, Any]:
    """A row as plain values, rounded."""

    def rounded(values: Iterable[float]) -> list[float]:
        return [round(value, DIGITS) for value in values]

    measures = dict(zip(row.measures, rounded(row.measures.values()), strict=True))
    return {**row._asdict(), "measures": measures, "curve": [rounded(step) for step in row.curve]}


def row_of(plain: dict[str, Any]) -> Row:
    """The inverse of :func:`plain_of`, but for what it rounds."""
    curve = [Step(int(step[0]), *step[1:]) for step in plain["curve"]]
    made = plain.get("date"), plain.get("versions")
    return Row(plain["who"], plain["seed"], plain["games"], plain["measures"], curve, *made)
