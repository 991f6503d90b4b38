"""Files of a league's standings: tables as CSV and the meta-game as JSON, every figure with its bounds.

Points are points of ten. An unknown value is an empty field, or ``null``; ladder, cross-play and curves write ``nan``.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np

from dond_marl.game import SEATS
from dond_marl.records.files import atomic_replace, write_atomically
from dond_marl.statistics import Estimates
from league.play.values import CAUSES
from league.standings.crossplay import CrossPlay
from league.standings.findings import Findings, Solution
from league.standings.history import CurvePoint
from league.standings.ladder import Standing

RATINGS_FILE, META_GAME_TABLE, META_GAME_FILE = "ratings.csv", "meta_game.csv", "meta_game.json"
FORMULA = frozenset("=+-@\t\r\n＝＋－＠")  # noqa: RUF001  # first letters of formulas; some spreadsheets fold widths
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?(e[+-]?\d+)?|inf|nan)", re.ASCII)
LEAST_SHARE = 0.005  # of a mixture: members and pairs of members below it are not listed


def escape_formula(text: str) -> str:
    """A cell that no spreadsheet reads as a formula: such a text gets an apostrophe before it; numbers stay."""
    return f"'{text}" if text.lstrip("'")[:1] in FORMULA and not NUMBER.fullmatch(text) else text


def unescape_formula(cell: str) -> str:
    """The text of a cell written by :func:`escape_formula`."""
    return cell[1:] if cell[:1] == "'" and escape_formula(cell[1:]) == cell else cell


def write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Write rows of text, the header first, with formulas escaped; the file is replaced atomically."""
    with atomic_replace(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([escape_formula(cell) for cell in row] for row in rows)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document of plain values; every number in it must be finite."""
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def format_digits(*values: SupportsFloat) -> list[str]:
    """Numbers with six decimals; empty for ``nan``."""
    return ["" if math.isnan(value) else f"{value:.6f}" for value in map(float, values)]


def finite_or_none(value: SupportsFloat) -> float | None:
    """A number; ``None`` for ``nan``."""
    return None if math.isnan(float(value)) else float(value)


def plain_values(value: Any, digits: int | None = None) -> Any:
    """``value`` as plain JSON values: named tuples by field, floats with so many ``digits``, unknown ones ``None``."""
    value = value._asdict() if hasattr(value, "_asdict") else value
    if isinstance(value, Mapping):
        return {str(name): plain_values(each, digits) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(each, digits) for each in value]
    if isinstance(value, float):
        return None if not math.isfinite(value) else value if digits is None else round(value, digits)
    return value


def interval_json(value: SupportsFloat, low: SupportsFloat, high: SupportsFloat) -> dict[str, float | None]:
    """A number with its interval as JSON values."""
    return {"value": finite_or_none(value), "low": finite_or_none(low), "high": finite_or_none(high)}


def write_ladder(path: Path, standings: Sequence[Standing]) -> None:
    """Write the ladder, a row per member; members without games that count have no rank but a reason."""
    header = ["rank", "member", "games"]
    header += [f"{name}{end}" for name in ("points", *SEATS, "of_nash", "of_response") for end in ("", "_low", "_high")]
    header += ["of_response_games", "left_to_partner", "deal_rate", "points_agreed", "turns", "self_play"]
    causes = [cause.name.lower() for cause in CAUSES]
    rows = [
        [*header, "asked", "answered", "fallbacks", *causes, "games_left_out", "failed_matches", "unranked_because"]
    ]
    for rank, row in enumerate(standings, start=1):
        estimates = [row.points, *row.as_seat, row.of_nash, row.of_response]
        figures = [f"{v:.6f}" for e in estimates for v in (e.mean, e.low, e.high)]
        rest = [f"{v:.6f}" for v in (row.left, row.deals, row.agreed, row.turns, row.self_play)]
        answers = row.answers
        counts = (
            answers.decisions,
            answers.own_decisions,
            answers.fallbacks,
            *answers.causes,
            answers.left_out,
            row.failed,
        )
        counted = [str(row.of_response.n), *rest, *map(str, counts), row.unranked_because]
        rows.append([str(rank) if row.has_rank else "", row.member, str(row.points.n), *figures, *counted])
    write_csv(path, rows)


def write_crossplay(path: Path, cross: CrossPlay, confidence: float) -> None:
    """Write every cell: points of ``member`` against ``against``, mean of both seats."""
    rows = [["member", "against", "games", "points", "points_low", "points_high"]]
    for row in cross.members:
        for column in cross.members:
            cell = cross.cell(row, column, confidence)
            rows.append([row, column, str(cell.n), *(f"{v:.6f}" for v in (cell.mean, cell.low, cell.high))])
    write_csv(path, rows)


def write_curves(path: Path, curves: Sequence[CurvePoint]) -> None:
    """Write the learning curves, a row per learner and round; ``after_rounds`` of practice, 0 being the start."""
    rows = [["after_rounds", "member", "decisions", "games", "points", "points_low", "points_high"]]
    for point in curves:
        mean, n, low, high = point.points
        figures = [f"{value:.6f}" for value in (mean, low, high)]
        rows.append([str(point.round), point.member, str(point.decisions), str(n), *figures])
    write_csv(path, rows)


def write_findings(directory: Path, findings: Findings) -> list[str]:
    """Write ``ratings.csv``, ``meta_game.csv`` and ``meta_game.json`` to a run's folder; returns their names."""
    write_csv(directory / RATINGS_FILE, ratings_rows(findings))
    write_csv(directory / META_GAME_TABLE, _meta_game_rows(findings))
    write_json(directory / META_GAME_FILE, meta_game_document(findings))
    return [RATINGS_FILE, META_GAME_TABLE, META_GAME_FILE]


def meta_game_document(findings: Findings) -> dict[str, Any]:
    """The meta-game as plain JSON values: values, mixtures and the pairs with a chance."""
    return {
        "members": list(findings.members),
        "confidence": findings.confidence,
        "replicates": findings.replicates,
        "cells_played": findings.played,
        "units": {"values": "points of ten", "welfare": "points of ten", "regret_gap": "points of ten"},
        "solutions": {solution.name: _solution_json(findings, solution) for solution in findings.solutions},
    }


def _solution_json(findings: Findings, solution: Solution) -> dict[str, Any]:
    chances = solution.chances
    listed = np.argwhere(chances >= LEAST_SHARE)
    listed = listed[np.argsort(-chances[listed[:, 0], listed[:, 1]], kind="stable")]
    return {
        "values": {seat: interval_json(*solution.values.entry(place)) for place, seat in enumerate(SEATS)},
        "welfare": interval_json(*solution.welfare),
        "regret_gap": interval_json(*solution.gap),
        "shares": {seat: _by_member(findings, solution.shares.entry(place)) for place, seat in enumerate(SEATS)},
        "support": [
            {"seat_0": findings.members[a], "seat_1": findings.members[b], "chance": float(chances[a, b])}
            for a, b in listed.tolist()
        ],
    }


def _by_member(findings: Findings, rated: Estimates) -> dict[str, Any]:
    return {member: interval_json(*rated.entry(place)) for place, member in enumerate(findings.members)}


def ratings_rows(findings: Findings) -> Iterator[list[str]]:
    """The rows of :data:`RATINGS_FILE`, the header first."""
    ratings = {
        "take": findings.take,
        "give": findings.give,
        **{f"deviation_{seat}": findings.deviation.entry(place) for place, seat in enumerate(SEATS)},
    }
    yield ["member", *(f"{name}{end}" for name in ratings for end in ("", "_low", "_high"))]
    for place, member in enumerate(findings.members):
        yield [member, *(text for rating in ratings.values() for text in format_digits(*rating.entry(place)))]


def _meta_game_rows(findings: Findings) -> Iterator[list[str]]:
    yield ["solution", "figure", "seat", "member", "value", "low", "high"]
    for solution in findings.solutions:
        for place, seat in enumerate(SEATS):
            yield [solution.name, "points of ten", seat, "", *format_digits(*solution.values.entry(place))]
        yield [solution.name, "welfare", "", "", *format_digits(*solution.welfare)]
        yield [solution.name, "regret gap", "", "", *format_digits(*solution.gap)]
        for place, seat in enumerate(SEATS):
            for number, member in enumerate(findings.members):
                yield [solution.name, "share", seat, member, *format_digits(*solution.shares.entry(place, number))]
