"""Recognition of partners: the results row of a member's beliefs about a mixture, with file and tables."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dond_marl.errors import InputError
from dond_marl.game import SEATS
from dond_marl.occupants import seat_occupant
from dond_marl.statistics import Estimate
from dond_marl.yardsticks.recognition import recognizable_personas
from league.bench.mixture_response import GAMBLES, enumerable_mixture
from league.bench.protocol import ALL, HEADLINE, RULES, lewis_field
from league.bench.recognition_scores import APART, belief_scores, regret_by_turn
from league.bench.results import read_rows, replace_row
from league.bench.submission import Submission, provenance
from league.tables.blocks import Figure, Section, Table, TableRow, Unit

DEFAULT = Path("runs/recognition.jsonl")
DIGITS = 5
SLICES = (ALL, HEADLINE)


def recognition_row(
    submission: Submission, crowd: str, specs: Sequence[str], report: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """The beliefs of ``submission`` about the mixture of ``specs``, named ``crowd``, in both seats, against exact ones.

    Raises :class:`~dond_marl.errors.InputError` for a submission that may not be measured against them, and where none
    of them has known probabilities.
    """
    began = time.process_time()
    identity = provenance(submission, specs).identity
    player, occupants = submission.player.partner(), {spec: seat_occupant(spec) for spec in specs}
    partners = {spec: partner for spec, partner in occupants.items() if recognizable_personas(partner) is not None}
    if not partners:
        raise InputError(f"no partner of {crowd} has known probabilities; name others")
    enumerable = _enumerable(crowd, list(partners))
    field = lewis_field()
    assert field.source.table is not None
    table, seats = field.source.table, []
    for seat, name in enumerate(SEATS):
        report(f"{name}: beliefs about the partner")
        slices = {each: field.slices[each][seat] for each in SLICES}
        turns = belief_scores(player, list(partners), list(partners.values()), seat, table, RULES, slices)
        report(f"{name}: regret of each turn")
        lost = regret_by_turn(player, enumerable, [occupants[spec] for spec in enumerable], seat, table, RULES)
        seats.append(
            {
                "slices": {
                    each: [_json_value(scores._asdict()) for scores in by_turn] for each, by_turn in turns.items()
                },
                "lost": [_json_value(regret.document()) for regret in lost],
            }
        )
    return {
        "who": submission.name,
        "seed": submission.seed,
        "identity": identity,
        "crowd": crowd,
        "members": list(partners),
        "left_out": {spec: GAMBLES for spec in specs if spec not in partners},
        "followed": list(enumerable),
        "seats": seats,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def _enumerable(crowd: str, specs: Sequence[str]) -> tuple[str, ...]:
    """The enumerable members, for which regrets are exact; none where all are stochastic or have memory."""
    try:
        return enumerable_mixture(crowd, specs).members
    except InputError:
        return ()


def read(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return read_rows(path, recognition_section, "lines of `dond bench beliefs`")


def store_recognition_row(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, replacing an older one of the same member, seed and mixture."""
    replace_row(path, read(path), row, _same)


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["crowd"], row["who"], row["seed"], *row["members"]


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_value(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def recognition_section(row: Mapping[str, Any]) -> Section:
    """A line as tables: by seat and own turn, over all scenarios."""
    tables = []
    for seat, side in zip(SEATS, row["seats"], strict=True):
        by_turn = side["slices"][ALL]
        heads = (
            "games", "identity, right", "identity, exact", f"{APART:.0%} identified", "identity, right there",
            "Brier, stated", "Brier, exact", "Brier, prior",
        )  # fmt: skip
        rows = [
            TableRow(
                f"{each['own']} own turns",
                (
                    _figure(each["games"], "count"),
                    _figure(each["right"], "share"),
                    _figure(each["right_exact"], "share"),
                    _figure(each["apart"] / each["games"], "share"),
                    _figure(each["right_apart"], "share"),
                    _figure(each["brier"], "ratio"),
                    _figure(each["brier_exact"], "ratio"),
                    _figure(each["brier_prior"], "ratio"),
                ),
            )
            for each in by_turn
        ]
        tables.append(Table(f"{seat}: identity and values of the partner", heads, tuple(rows), label="after"))
        if not row["followed"]:
            continue
        lost = [
            TableRow(f"{each['own']} own turns", (_figure(each["points"], "points"), _figure(each["asked"], "share")))
            for each in side["lost"]
        ]
        total = _figure(sum(each["points"] for each in side["lost"]), "points")
        caption = f"{seat}: regret of its next act against the best response to {len(row['followed'])} members"
        tables.append(
            Table(caption, ("regret, points", "games"), (*lost, TableRow("in all", (total, None))), label="after")
        )
    notes: tuple[str, ...] = (
        f"{len(row['members'])} members, equally likely, over all scenarios of lewis. Brier: of each item's value.",
    )
    if row["left_out"]:
        notes += (f"Left out: {'; '.join(f'{name} ({why})' for name, why in row['left_out'].items())}.",)
    return Section("recognition", f"Beliefs of {row['who']} about {row['crowd']}", notes, tuple(tables))


def _figure(value: float | None, unit: Unit) -> Figure:
    return Figure(Estimate(math.nan if value is None else value, 0, math.nan, math.nan), unit)
