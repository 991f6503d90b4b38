"""A line of plain values about what a member makes of a crowd, and how it is read and shown."""

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
from league.bench.crowd import GAMBLES, crowd_of
from league.bench.protocol import ALL, HEADLINE, RULES, lewis_field
from league.bench.recognition_scores import APART, believed, lost_by_turn
from league.bench.results import replace, rows_in
from league.bench.submission import Submission, provenance
from league.tables.blocks import Figure, Section, Table, TableRow, Unit

DEFAULT = Path("runs/recognition.jsonl")
DIGITS = 5
SLICES = (ALL, HEADLINE)


def recognition_row(
    submission: Submission, crowd: str, specs: Sequence[str], tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """What ``submission`` makes of the occupants ``specs``, called ``crowd``, each equally often, in both seats.

    Raises :class:`~dond_marl.errors.InputError` for a submission that may not be measured against them, and where none
    of them can be recognized or followed.
    """
    began = time.process_time()
    identity = provenance(submission, specs).identity
    player, everybody = submission.who.partner(), {spec: seat_occupant(spec) for spec in specs}
    partners = {spec: partner for spec, partner in everybody.items() if recognizable_personas(partner) is not None}
    if not partners:
        raise InputError(f"nobody of {crowd} can be recognized: they gamble and do not know how; name others")
    followed = _followed(crowd, list(partners))
    field = lewis_field()
    assert field.source.table is not None
    table, seats = field.source.table, []
    for seat, name in enumerate(SEATS):
        tell(f"{name}: who sits opposite")
        slices = {each: field.slices[each][seat] for each in SLICES}
        turns = believed(player, list(partners), list(partners.values()), seat, table, RULES, slices)
        tell(f"{name}: what each turn loses")
        lost = lost_by_turn(player, followed, [everybody[spec] for spec in followed], seat, table, RULES)
        seats.append(
            {
                "slices": {each: [_plain(one._asdict()) for one in by_turn] for each, by_turn in turns.items()},
                "lost": [_plain(one._asdict()) for one in lost],
            }
        )
    return {
        "who": submission.name,
        "seed": submission.seed,
        "identity": identity,
        "crowd": crowd,
        "members": list(partners),
        "left_out": {spec: GAMBLES for spec in specs if spec not in partners},
        "followed": list(followed),
        "seats": seats,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def _followed(crowd: str, specs: Sequence[str]) -> tuple[str, ...]:
    """Those to whom a best reply is looked for; none where all gamble or remember."""
    try:
        return crowd_of(crowd, specs).members
    except InputError:
        return ()


def read(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return rows_in(path, section, "lines of `dond bench beliefs`")


def keep(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, in the place of an older one of the same member, seed and crowd."""
    replace(path, read(path), row, _same)


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["crowd"], row["who"], row["seed"], *row["members"]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def section(row: Mapping[str, Any]) -> Section:
    """A line as tables: by seat and own turn, over all scenarios."""
    tables = []
    for seat, side in zip(SEATS, row["seats"], strict=True):
        by_turn = side["slices"][ALL]
        heads = (
            "games", "who, right", "who, exact", f"{APART:.0%} told apart", "who, right there", "Brier, said",
            "Brier, exact", "Brier, before",
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
        tables.append(Table(f"{seat}: who is it, and what does it want", heads, tuple(rows), label="after"))
        if not row["followed"]:
            continue
        lost = [
            TableRow(f"{each['own']} own turns", (_figure(each["points"], "points"), _figure(each["asked"], "share")))
            for each in side["lost"]
        ]
        total = _figure(sum(each["points"] for each in side["lost"]), "points")
        caption = f"{seat}: what its next act loses to the best reply to {len(row['followed'])} members"
        tables.append(
            Table(caption, ("points lost", "games"), (*lost, TableRow("in all", (total, None))), label="after")
        )
    notes: tuple[str, ...] = (
        f"{len(row['members'])} members, equally likely, over all scenarios of lewis. Brier: of each item's value.",
    )
    if row["left_out"]:
        notes += (f"Left out: {'; '.join(f'{name} ({why})' for name, why in row['left_out'].items())}.",)
    return Section("recognition", f"What {row['who']} makes of {row['crowd']}", notes, tuple(tables))


def _figure(value: float | None, unit: Unit) -> Figure:
    return Figure(Estimate(math.nan if value is None else value, 0, math.nan, math.nan), unit)
