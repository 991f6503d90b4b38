"""The best reply to a crowd: what nobody exceeds who knows who may sit opposite, but not who does.

The members of a crowd are equally likely. The seat knows each of their programs, but neither which of them it faces nor
what that one's values are; it learns from every answer (:mod:`dond_marl.yardsticks.adaptive`). *The price of not
knowing whom* is what the best responses to the members earn, each told whom it faces, mean over the members, less what
the best reply to the crowd earns. Points of ten over all scenarios of ``lewis`` under the default rules.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import SEATS, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import Scenarios, lewis_space
from dond_marl.seats import Partner
from dond_marl.yardsticks.adaptive import EFFORT, Adaptive, has_minds
from dond_marl.yardsticks.automata import personas_of
from dond_marl.yardsticks.best_response import SAME
from dond_marl.yardsticks.contexts import contexts_in
from dond_marl.yardsticks.metrics import Estimate
from league.bench.lines import replace, rows_in
from league.standings.references import PRIOR, reference_of
from league.tables.blocks import Figure, Row, Section, Table
from partners.mixture import Mixture

RULES = Rules()
DEFAULT = Path("runs/crowd.jsonl")
DIGITS = 6
GAMBLES = "it gambles from act to act"
REMEMBERS = "it remembers; --with-memory takes it in"


class Between(NamedTuple):
    """Points of ten, somewhere in ``low .. high``; both the same where they are exact."""

    low: float
    high: float


class Crowd(NamedTuple):
    """Who may sit opposite, each equally often, and who of those named is not in it and why."""

    name: str
    members: tuple[str, ...]  # specs
    left_out: Mapping[str, str]
    with_memory: bool


class Reply(NamedTuple):
    """The best reply of one seat to a crowd."""

    value: Between
    against: tuple[float, ...]  # what it earns against each member, points of ten


def crowd_of(name: str, specs: Iterable[str], *, with_memory: bool = False) -> Crowd:
    """Those of ``specs`` that can be followed: deterministic, or drawn for each game from such as are.

    ``with_memory``: those too that remember what was said; replies to them take longer and may be bounded. Raises
    :class:`InputError` where nobody is left.
    """
    members, left_out = [], {}
    for spec in specs:
        personas = personas_of(seat_occupant(spec))
        if personas is None or not has_minds(seat_occupant(spec), RULES):
            left_out[spec] = GAMBLES
        elif not with_memory and not all(each.partner.traits.memoryless for each in personas):
            left_out[spec] = REMEMBERS
        else:
            members.append(spec)
    if not members:
        reasons = "; ".join(f"{spec}: {reason}" for spec, reason in left_out.items())
        raise InputError(f"nobody of {name} can be followed ({reasons}); name a partner that is deterministic")
    return Crowd(name, tuple(members), left_out, with_memory)


def best_reply(
    partners: Sequence[Partner], seat: int, space: Scenarios, *, rules: Rules = RULES, effort: int = EFFORT
) -> Reply:
    """The best reply of ``seat`` to partners that are equally likely, over the scenarios of ``space``.

    Solved pool by pool, each forgotten before the next. Exact unless a turn of some pool has more beliefs than
    ``effort``; then ``high`` is a certified upper bound and ``low`` is what the reply that was found earns.
    """
    crowd = Mixture(partners)
    personas = [len(personas_of(partner) or ()) for partner in partners]
    member_of = np.repeat(np.arange(len(partners)), personas)
    earned, total, exact = np.zeros(len(partners)), 0.0, True
    for pool in np.unique(space.counts, axis=0):
        rows = np.flatnonzero((space.counts == pool).all(axis=1))
        contexts = contexts_in(Scenarios(*(array[rows] for array in space)), seat)
        game = Adaptive(crowd, contexts, seat, rules, PRIOR, effort=effort)
        value, sure = game.value()
        solved, share = game.pool(0), len(rows) / space.size
        total, exact = total + value * share, exact and sure
        by_mind = contexts.shares @ (solved.earned() * solved.chances) * share
        np.add.at(earned, member_of, by_mind.reshape(len(member_of), -1).sum(axis=1))
    low = float(earned.sum())
    assert not exact or abs(low - total) < SAME
    return Reply(Between(total if exact else min(low, total), total), tuple((earned * len(partners)).tolist()))


def known_value(spec: str, seat: int) -> Between:
    """What the best response of ``seat`` earns that knows it meets ``spec``: as stored, else solved."""
    stored = reference_of(spec)
    side = None if stored is None else stored.seats[seat]
    if side is not None:
        return Between(side.low, side.high)
    return best_reply([seat_occupant(spec)], seat, lewis_space()).value


def measured(crowd: Crowd, *, effort: int = EFFORT, tell: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """One line of the results file: both seats' replies, member by member, and the price of not knowing whom."""
    began = time.process_time()
    partners = [seat_occupant(spec) for spec in crowd.members]
    seats = []
    cells: list[dict[str, Any]] = [{"partner": spec, "known": [], "earned": []} for spec in crowd.members]
    for seat, name in enumerate(SEATS):
        tell(f"the reply of {name} to {len(partners)} members")
        reply = best_reply(partners, seat, lewis_space(), effort=effort)
        known = [known_value(spec, seat) for spec in crowd.members]
        for cell, value, earned in zip(cells, known, reply.against, strict=True):
            cell["known"].append([round(each, DIGITS) for each in value])
            cell["earned"].append(round(earned, DIGITS))
        low, high = (float(np.mean([getattr(value, end) for value in known])) for end in ("low", "high"))
        seats.append(
            {
                "known": [round(low, DIGITS), round(high, DIGITS)],
                "reply": [round(each, DIGITS) for each in reply.value],
                "price": [round(low - reply.value.high, DIGITS), round(high - reply.value.low, DIGITS)],
            }
        )
    return {
        "crowd": crowd.name,
        "with_memory": crowd.with_memory,
        "left_out": dict(crowd.left_out),
        "seats": seats,
        "cells": cells,
        "effort": effort,
        "processor_seconds": round(time.process_time() - began, 1),
    }


def read(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return rows_in(path, section, "crowds")


def keep(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, in the place of an older one of the same crowd."""
    replace(path, read(path), row, _same)


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["crowd"], row["with_memory"], *(cell["partner"] for cell in row["cells"])


def section(row: Mapping[str, Any]) -> Section:
    """A line as tables: the price by seat, and what the reply earns against each member."""
    heads = tuple(SEATS)
    names = {"known": "told whom it faces", "reply": "best reply to the crowd", "price": "price of not knowing whom"}
    price = [Row(words, tuple(between(side[key]) for side in row["seats"])) for key, words in names.items()]
    members = [
        Row(
            cell["partner"],
            tuple(of for pair in zip(cell["known"], cell["earned"], strict=True) for of in _pair(*pair)),
        )
        for cell in row["cells"]
    ]
    split = tuple(f"{seat}, {what}" for seat in heads for what in ("told", "reply"))
    notes: tuple[str, ...] = ("Points of ten over all scenarios of lewis; an interval holds the value for certain.",)
    if row["left_out"]:
        notes += (f"Left out: {'; '.join(f'{name} ({why})' for name, why in row['left_out'].items())}.",)
    tables = (
        Table(f"{len(row['cells'])} members, equally likely", heads, tuple(price), label=""),
        Table("What it earns against each member", split, tuple(members)),
    )
    return Section("crowd", f"The best reply to the crowd {row['crowd']}", notes, tables)


def between(ends: Sequence[float]) -> Figure:
    """An exact figure, or one that lies between two ends."""
    low, high = ends
    if abs(high - low) < SAME:
        return Figure(Estimate(high, 0, math.nan, math.nan))
    return Figure(Estimate((low + high) / 2, 0, low, high))


def _pair(known: Sequence[float], earned: float) -> tuple[Figure, Figure]:
    return between(known), between((earned, earned))
