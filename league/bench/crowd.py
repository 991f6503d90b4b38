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
from dond_marl.seats import Doubles, Partner
from dond_marl.statistics import Estimate
from dond_marl.yardsticks.adaptive import EFFORT, Adaptive, is_enumerable
from dond_marl.yardsticks.automata import drawn_personas, personas_of
from dond_marl.yardsticks.best_response import SAME
from dond_marl.yardsticks.contexts import Contexts, Index, contexts_in
from dond_marl.yardsticks.forgetful import forgetful_reply
from dond_marl.yardsticks.odds import EXACT_TURNS, Odds, exact_value, stochastic_personas, upper_bound
from league.bench.results import replace, rows_in
from league.standings.references import PRIOR, reference_of
from league.tables.blocks import Figure, Section, Table, TableRow
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
    with_gamblers: bool


class Reply(NamedTuple):
    """The best reply of one seat to a crowd."""

    value: Between
    against: tuple[float, ...]  # what it earns against each member, points of ten


def crowd_of(name: str, specs: Iterable[str], *, with_memory: bool = False, with_gamblers: bool = False) -> Crowd:
    """Those of ``specs`` that can be followed: deterministic, or drawn for each game from such as are.

    ``with_memory``: those too that remember what was said; replies to them take longer and may be bounded.
    ``with_gamblers``: those too that gamble from act to act, have no memory and know their odds; the reply is bounded.
    Raises :class:`InputError` for both, and where nobody is left.
    """
    if with_memory and with_gamblers:
        raise InputError(
            "a reply is looked for to members that remember or to those that gamble, not to both at once; leave out "
            "--with-memory or --with-gamblers"
        )
    members, left_out = [], {}
    for spec in specs:
        partner = seat_occupant(spec)
        personas = personas_of(partner)
        if personas is None or not is_enumerable(partner, RULES):
            if with_gamblers and stochastic_personas(partner, RULES) is not None:
                members.append(spec)
            else:
                left_out[spec] = GAMBLES
        elif not with_memory and not all(each.partner.traits.memoryless for each in personas):
            left_out[spec] = REMEMBERS
        else:
            members.append(spec)
    if not members:
        reasons = "; ".join(f"{spec}: {reason}" for spec, reason in left_out.items())
        raise InputError(f"nobody of {name} can be followed ({reasons}); name a partner that is deterministic")
    return Crowd(name, tuple(members), left_out, with_memory, with_gamblers)


def best_reply(
    partners: Sequence[Partner], seat: int, space: Scenarios, *, rules: Rules = RULES, effort: int = EFFORT
) -> Reply:
    """The best reply of ``seat`` to partners that are equally likely, over the scenarios of ``space``.

    Solved pool by pool, each forgotten before the next. Exact unless somebody gambles in a game of more than four
    turns, or a turn of some pool has more beliefs than ``effort``; then ``high`` is a certified upper bound and ``low``
    is what the reply that was found earns.
    """
    minds = [number for number, partner in enumerate(partners) if personas_of(partner) is not None]
    gamble = len(minds) < len(partners)
    earned, total, exact = np.zeros(len(partners)), 0.0, True
    for pool in np.unique(space.counts, axis=0):
        rows = np.flatnonzero((space.counts == pool).all(axis=1))
        contexts, share = contexts_in(Scenarios(*(array[rows] for array in space)), seat), len(rows) / space.size
        if gamble:
            value, sure, by_member = _to_gamblers(partners, minds, contexts, seat, rules, effort)
        else:
            value, sure, by_member = _to_minds(partners, contexts, seat, rules, effort)
        total, exact, earned = total + value * share, exact and sure, earned + by_member * share
    low = float(earned.sum())
    assert not exact or gamble or abs(low - total) < SAME
    return Reply(Between(total if exact else min(low, total), total), tuple((earned * len(partners)).tolist()))


def _to_minds(
    partners: Sequence[Partner], contexts: Contexts, seat: int, rules: Rules, effort: int
) -> tuple[float, bool, Doubles]:
    """Over one pool: the value, whether it is exact, and what the reply earns by member, all adding up to it."""
    game = Adaptive(Mixture(partners), contexts, seat, rules, PRIOR, effort=effort)
    value, sure = game.value()
    solved = game.pool(0)
    by_mind = contexts.shares @ (solved.response_points() * solved.chances)
    by_persona = by_mind.reshape(len(game.personas), -1).sum(axis=1)
    return value, sure, _by_member(by_persona, partners)


def _to_gamblers(
    partners: Sequence[Partner], minds: Sequence[int], contexts: Contexts, seat: int, rules: Rules, effort: int
) -> tuple[float, bool, Doubles]:
    """The same where somebody gambles.

    Above: who is told who sits opposite after its first act gets no less, nor does who is told beforehand whether that
    one gambles, and then replies to those who do not as to a crowd of their own.
    """
    odds = Odds(Mixture(partners), contexts, rules, PRIOR)
    member_of = _members(partners)
    by_type = contexts.shares @ (forgetful_reply(odds, seat, member_of) * odds.contexts.weights)
    by_member = _by_member(by_type.reshape(len(member_of), -1).sum(axis=1), partners)
    if rules.max_turns <= EXACT_TURNS:
        return exact_value(odds, seat), True, by_member
    high = upper_bound(odds, seat)
    if minds:
        views = odds.contexts.types.shape[1] // len(member_of)
        gambling = np.repeat(~np.isin(member_of, minds), views)
        share = len(minds) / len(partners)
        value, _, _ = _to_minds([partners[number] for number in minds], contexts, seat, rules, effort)
        high = min(high, value * share + upper_bound(odds, seat, np.tile(gambling, (contexts.size, 1))))
    return high, False, by_member


def _members(partners: Sequence[Partner]) -> Index:
    """Whose each persona of all of them together is, ``[P]``."""
    return np.repeat(np.arange(len(partners)), [len(drawn_personas(partner)) for partner in partners])


def _by_member(by_persona: Doubles, partners: Sequence[Partner]) -> Doubles:
    """Sums over the personas of each member."""
    total = np.zeros(len(partners))
    np.add.at(total, _members(partners), by_persona)
    return total


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
        "with_gamblers": crowd.with_gamblers,
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
    return (
        row["crowd"],
        row["with_memory"],
        row.get("with_gamblers", False),
        *(cell["partner"] for cell in row["cells"]),
    )


def section(row: Mapping[str, Any]) -> Section:
    """A line as tables: the price by seat, and what the reply earns against each member."""
    heads = tuple(SEATS)
    names = {"known": "told whom it faces", "reply": "best reply to the crowd", "price": "price of not knowing whom"}
    price = [TableRow(words, tuple(between(side[key]) for side in row["seats"])) for key, words in names.items()]
    members = [
        TableRow(
            cell["partner"],
            tuple(of for pair in zip(cell["known"], cell["earned"], strict=True) for of in _pair(*pair)),
        )
        for cell in row["cells"]
    ]
    split = tuple(f"{seat}, {what}" for seat in heads for what in ("told", "reply"))
    notes: tuple[str, ...] = ("Points of ten over all scenarios of lewis; an interval holds the value for certain.",)
    if row.get("with_gamblers", False):
        notes += ("Against each member: what the reply earns that was found, the lower end of the interval.",)
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
