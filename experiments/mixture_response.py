"""Bayes-optimal response to a mixture of known partners: an upper bound for any player that cannot see the draw.

The members of the mixture are equally likely. The seat knows each of their programs, but neither the drawn member nor
its values; every answer is evidence (:mod:`dond_marl.yardsticks.adaptive`). *The price of not knowing the partner* is
the mean over members of the points of a best response to each - the points of the best response to the mixture. Points
of ten over all scenarios of ``lewis`` under the default rules. Members that have memory, or choose acts at random, are
left out by default.

examples:
  dond experiment crowd --of train
  dond experiment crowd --of dev --with-memory --results docs/results/crowd.jsonl
  dond experiment crowd --of dev --with-gamblers
  dond experiment crowd --of heuristic --of boulware --of "linear(floor=0.6)"
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
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
from dond_marl.yardsticks.odds import EXACT_TURNS, Odds, exact_value, personas_have_odds, upper_bound
from experiments.bounded_memory import bounded_memory_response
from experiments.kit import experiment_command, show_sections
from league.bench.results import check_writable, read_rows, replace_row
from league.bench.run import opponents_of
from league.cli.shell import FILE, output_console, print_line
from league.standings.references import PRIOR, reference_of
from league.tables.blocks import Figure, Section, Table, TableRow
from partners.mixture import Mixture

RULES = Rules()
RESULTS = Path("runs/crowd.jsonl")
DIGITS = 6
GAMBLES = "it gambles from act to act"
REMEMBERS = "it remembers; --with-memory takes it in"


class ValueBounds(NamedTuple):
    """Bounds of a value in points of ten; equal where it is exact."""

    low: float
    high: float


class PartnerMixture(NamedTuple):
    """Equally likely partners, and the named ones that are left out, with the reason."""

    name: str
    members: tuple[str, ...]  # specs
    left_out: Mapping[str, str]
    with_memory: bool
    with_gamblers: bool


class MixtureResponse(NamedTuple):
    """The best response of one seat to a mixture."""

    value: ValueBounds
    against: tuple[float, ...]  # points of ten against each member


def enumerable_mixture(
    name: str, specs: Iterable[str], *, with_memory: bool = False, with_gamblers: bool = False
) -> PartnerMixture:
    """The mixture of those of ``specs`` that are enumerable: deterministic, or drawn for each game from such.

    ``with_memory``: partners with memory too; responses to them take longer and may be bounded. ``with_gamblers``:
    memoryless stochastic partners with known probabilities too; the response is bounded. Raises :class:`InputError`
    for both options together, and where no partner is left.
    """
    if with_memory and with_gamblers:
        raise InputError(
            "a response to members with memory and to stochastic ones is not computed together; leave out "
            "--with-memory or --with-gamblers"
        )
    members, left_out = [], {}
    for spec in specs:
        partner = seat_occupant(spec)
        personas = personas_of(partner)
        if personas is None or not is_enumerable(partner, RULES):
            if with_gamblers and personas_have_odds(partner, RULES):
                members.append(spec)
            else:
                left_out[spec] = GAMBLES
        elif not with_memory and not all(each.partner.traits.memoryless for each in personas):
            left_out[spec] = REMEMBERS
        else:
            members.append(spec)
    if not members:
        reasons = "; ".join(f"{spec}: {reason}" for spec, reason in left_out.items())
        raise InputError(f"no partner of {name} is enumerable ({reasons}); name a deterministic one")
    return PartnerMixture(name, tuple(members), left_out, with_memory, with_gamblers)


def mixture_response(
    partners: Sequence[Partner], seat: int, space: Scenarios, *, rules: Rules = RULES, effort: int = EFFORT
) -> MixtureResponse:
    """The best response of ``seat`` to equally likely partners, over the scenarios of ``space``.

    Solved pool by pool. Exact unless a member is stochastic in a game of more than four turns, or a turn of some pool
    has more beliefs than ``effort``; then ``high`` is a certified upper bound and ``low`` the points of a response.
    """
    enumerable = [number for number, partner in enumerate(partners) if personas_of(partner) is not None]
    stochastic = len(enumerable) < len(partners)
    earned, total, exact = np.zeros(len(partners)), 0.0, True
    for pool in np.unique(space.counts, axis=0):
        rows = np.flatnonzero((space.counts == pool).all(axis=1))
        contexts, share = contexts_in(Scenarios(*(array[rows] for array in space)), seat), len(rows) / space.size
        if stochastic:
            value, sure, by_member = _response_to_stochastic(partners, enumerable, contexts, seat, rules, effort)
        else:
            value, sure, by_member = _response_to_enumerable(partners, contexts, seat, rules, effort)
        total, exact, earned = total + value * share, exact and sure, earned + by_member * share
    low = float(earned.sum())
    assert not exact or stochastic or abs(low - total) < SAME
    return MixtureResponse(
        ValueBounds(total if exact else min(low, total), total), tuple((earned * len(partners)).tolist())
    )


def _response_to_enumerable(
    partners: Sequence[Partner], contexts: Contexts, seat: int, rules: Rules, effort: int
) -> tuple[float, bool, Doubles]:
    """Over one pool: the value, whether it is exact, and the response's points by member, which add up to it."""
    game = Adaptive(Mixture(partners), contexts, seat, rules, PRIOR, effort=effort)
    value, sure = game.value()
    solved = game.pool(0)
    by_policy = contexts.shares @ (solved.response_points() * solved.chances)
    by_persona = by_policy.reshape(len(game.personas), -1).sum(axis=1)
    return value, sure, _by_member(by_persona, partners)


def _response_to_stochastic(
    partners: Sequence[Partner], enumerable: Sequence[int], contexts: Contexts, seat: int, rules: Rules, effort: int
) -> tuple[float, bool, Doubles]:
    """As :func:`_response_to_enumerable`, for mixtures with stochastic members.

    Upper bounds: the value if the member is revealed after the seat's first act, and the value if it is revealed
    beforehand whether the member is stochastic, with the exact response to the mixture of the others.
    """
    odds = Odds(Mixture(partners), contexts, rules, PRIOR)
    member_of = _member_of_persona(partners)
    by_type = contexts.shares @ (bounded_memory_response(odds, seat, member_of) * odds.contexts.weights)
    by_member = _by_member(by_type.reshape(len(member_of), -1).sum(axis=1), partners)
    if rules.max_turns <= EXACT_TURNS:
        return exact_value(odds, seat), True, by_member
    high = upper_bound(odds, seat)
    if enumerable:
        views = odds.contexts.types.shape[1] // len(member_of)
        is_stochastic = np.repeat(~np.isin(member_of, enumerable), views)
        share = len(enumerable) / len(partners)
        value, _, _ = _response_to_enumerable(
            [partners[number] for number in enumerable], contexts, seat, rules, effort
        )
        high = min(high, value * share + upper_bound(odds, seat, np.tile(is_stochastic, (contexts.size, 1))))
    return high, False, by_member


def _member_of_persona(partners: Sequence[Partner]) -> Index:
    """The member of each persona of all of them together, ``[P]``."""
    return np.repeat(np.arange(len(partners)), [len(drawn_personas(partner)) for partner in partners])


def _by_member(by_persona: Doubles, partners: Sequence[Partner]) -> Doubles:
    """Sums over the personas of each member."""
    total = np.zeros(len(partners))
    np.add.at(total, _member_of_persona(partners), by_persona)
    return total


def member_response_value(spec: str, seat: int) -> ValueBounds:
    """The value of a best response of ``seat`` to ``spec`` alone: as stored, else solved."""
    stored = reference_of(spec)
    side = None if stored is None else stored.seats[seat]
    if side is not None:
        return ValueBounds(side.low, side.high)
    return mixture_response([seat_occupant(spec)], seat, lewis_space()).value


def measure_mixture(
    crowd: PartnerMixture, *, effort: int = EFFORT, report: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """A row of the results file: the responses of both seats by member, and the price of not knowing the partner."""
    began = time.process_time()
    partners = [seat_occupant(spec) for spec in crowd.members]
    seats = []
    cells: list[dict[str, Any]] = [{"partner": spec, "known": [], "earned": []} for spec in crowd.members]
    for seat, name in enumerate(SEATS):
        report(f"the response of {name} to {len(partners)} members")
        reply = mixture_response(partners, seat, lewis_space(), effort=effort)
        known = [member_response_value(spec, seat) for spec in crowd.members]
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


def read_mixtures(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a results file, none where there is no file. Raises :class:`InputError` for a damaged one."""
    return read_rows(path, mixture_section, "crowds")


def store_mixture_row(path: Path, row: Mapping[str, Any]) -> None:
    """Write ``row`` to the file, replacing an older one of the same mixture."""
    replace_row(path, read_mixtures(path), row, _same)


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        row["crowd"],
        row["with_memory"],
        row.get("with_gamblers", False),
        *(cell["partner"] for cell in row["cells"]),
    )


def mixture_section(row: Mapping[str, Any]) -> Section:
    """A row as tables: the price by seat, and the response's points against each member."""
    heads = tuple(SEATS)
    names = {
        "known": "member revealed",
        "reply": "best response to the mixture",
        "price": "price of not knowing the partner",
    }
    price = [TableRow(words, tuple(bounds_cell(side[key]) for side in row["seats"])) for key, words in names.items()]
    members = [
        TableRow(
            cell["partner"],
            tuple(of for pair in zip(cell["known"], cell["earned"], strict=True) for of in _pair(*pair)),
        )
        for cell in row["cells"]
    ]
    split = tuple(f"{seat}, {value}" for seat in heads for value in ("revealed", "response"))
    notes: tuple[str, ...] = ("Points of ten over all scenarios of lewis; an interval holds the value for certain.",)
    if row.get("with_gamblers", False):
        notes += ("Against each member: the points of the response found, the lower end of the interval.",)
    if row["left_out"]:
        notes += (f"Left out: {'; '.join(f'{name} ({why})' for name, why in row['left_out'].items())}.",)
    tables = (
        Table(f"{len(row['cells'])} members, equally likely", heads, tuple(price), label=""),
        Table("Points against each member", split, tuple(members)),
    )
    return Section("crowd", f"The best response to the mixture {row['crowd']}", notes, tables)


def bounds_cell(ends: Sequence[float]) -> Figure:
    """The cell of an exact value, or of its bounds."""
    low, high = ends
    if abs(high - low) < SAME:
        return Figure(Estimate(high, 0, math.nan, math.nan))
    return Figure(Estimate((low + high) / 2, 0, low, high))


def _pair(known: Sequence[float], earned: float) -> tuple[Figure, Figure]:
    return bounds_cell(known), bounds_cell((earned, earned))


@experiment_command(__doc__, stopped="nothing is written", results=False)
@click.option("--of", "words", multiple=True, metavar="OCCUPANT", help="or a roster: train, dev, test; may be repeated")
@click.option("--with-memory", is_flag=True, help="include members that remember: half an hour, and bounds")
@click.option(
    "--with-gamblers", is_flag=True, help="include members that choose acts with known odds: minutes, and bounds"
)
@click.option("--results", type=FILE, default=RESULTS, metavar="FILE", help=f"results file ({RESULTS})")
def command(words: tuple[str, ...], with_memory: bool, with_gamblers: bool, results: Path) -> None:
    """Compute the best response to a mixture of partners, and the price of not knowing which member plays."""
    opponents = opponents_of(words, "--of")
    check_writable(results)
    read_mixtures(results)
    with output_console().status("") as status:  # shown on a terminal only
        mixture = enumerable_mixture(
            opponents.name, opponents.partners, with_memory=with_memory, with_gamblers=with_gamblers
        )
        row = measure_mixture(mixture, report=status.update)
    store_mixture_row(results, row)
    show_sections(mixture_section(row))
    print_line(f"written: {results}")
