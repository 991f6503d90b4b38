"""Computing references: the best response to a partner, played over the whole legal space, or a certified bound.

An exact response plays every scenario once, so that what it earns in a part of the scenarios is a sum over that part's
games. Where the response is not exact the reference is an upper bound: the seat has more information than it can have
(:mod:`dond_marl.solvers.odds`, :mod:`dond_marl.solvers.adaptive`), in each part by itself.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.game import SEATS, Rules
from dond_marl.occupants import OccupantNameError, Spec, SpecLike, find_factory, seat_occupant
from dond_marl.records.files import write_atomically
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import PARTS, Scenarios, lewis_space, view_parts
from dond_marl.seats import Doubles, Partner, expensive_to_query
from dond_marl.solvers.adaptive import Adaptive, is_enumerable
from dond_marl.solvers.best_response import SAME, OutOfReach
from dond_marl.solvers.contexts import Contexts, Index, contexts_in
from dond_marl.solvers.odds import Odds, has_odds, upper_bound
from dond_marl.statistics import points_of_ten
from league.standings.references import (
    PRIOR,
    STORED,
    VERSION,
    Reference,
    Side,
    stored_references,
)
from partners.best_response import BestResponse
from partners.catalogue import PARTNERS
from partners.provenance import identity
from partners.rosters import DEV, DEV2, TRAIN, roster

DIGITS = 9  # of a number in the file
REPLICATES = 4  # games of each scenario where a partner gambles
RULES = Rules()


def reference_to(partner: Partner) -> Reference:
    """The reference against ``partner`` in each seat."""
    if expensive_to_query(partner.traits):
        return Reference((None, None), "")
    first, second = (_side(partner, seat) for seat in (0, 1))
    return Reference((first, second), fingerprint_of(partner))


def ship_references(
    specs: Iterable[Spec],
    target: Path = STORED,
    *,
    again: bool = False,
    report: Callable[[str, Reference], None] = lambda *_: None,
) -> None:
    """Compute the references for ``specs`` and add each to ``target`` as soon as it is known.

    Existing ones whose partner still plays the same are kept, unless ``again``.
    """
    for spec in specs:
        name, partner = identity(spec), seat_occupant(spec)
        current = stored_references(target).get(name)
        if current is None or again or current.fingerprint != fingerprint_of(partner):
            current = reference_to(partner)
            write_references(target, {**stored_references(target), name: current})
        report(name, current)


def references_to_ship(partners: Iterable[SpecLike], rosters: Iterable[str] = ()) -> list[Spec]:
    """The partners to ship references for: by default all rosters but test2, and the catalogue; quickest first."""
    chosen, named = [find_factory(spec)[0] for spec in partners], list(rosters)
    if not chosen and not named:
        named, chosen = [TRAIN, DEV, DEV2], _freely_queried_occupants()
    every: dict[str, Spec] = {}
    for spec in [*chosen, *(member for name in named for member in roster(name))]:
        every.setdefault(identity(spec), spec)
    return sorted(every.values(), key=lambda spec: not seat_occupant(spec).traits.memoryless)


def _freely_queried_occupants() -> list[Spec]:
    """Every occupant of the catalogue that needs no parameters and is free to query."""
    found: list[Spec] = []
    for name in PARTNERS:
        try:
            free = not expensive_to_query(seat_occupant(name).traits)
        except OccupantNameError:  # it needs parameters
            continue
        if free:
            found.append(Spec(name))
    return found


def _side(partner: Partner, seat: int) -> Side | None:
    began = time.process_time()
    try:
        if is_enumerable(partner, RULES):
            exact, how, low, high, bounds = _by_enumeration(partner, seat)
        elif has_odds(partner, RULES):
            exact, how, low, high, bounds = _by_probabilities(partner, seat)
        else:
            return None
    except OutOfReach:
        return None
    which = view_parts(lewis_space(), seat)
    means = [float(low[which == part].mean()) for part in range(len(PARTS))]
    if exact:
        high, bounds = float(low.mean()), means
    low_in = tuple(min(mean, bound) for mean, bound in zip(means, bounds, strict=True))  # luck is cut off
    return Side(exact, how, min(float(low.mean()), high), high, low_in, tuple(bounds), time.process_time() - began)


def _by_enumeration(partner: Partner, seat: int) -> tuple[bool, str, Doubles, float, list[float]]:
    """Pool by pool: the response's points in each scenario, and the bounds over all and by part."""
    space, which = lewis_space(), view_parts(lewis_space(), seat)
    _, pool_of = np.unique(space.counts, axis=0, return_inverse=True)
    earned, revealed = np.zeros(space.size), np.zeros(space.size)
    total, exact = 0.0, True
    for pool in range(int(pool_of.max()) + 1):
        rows = np.flatnonzero(pool_of.reshape(-1) == pool)
        table = space.rows(rows)
        contexts = contexts_in(table, seat)
        game = Adaptive(partner, contexts, seat, RULES, PRIOR)
        value, sure = game.value()
        total, exact = total + value * len(rows), exact and sure
        solved = game.pool(0)
        earned[rows] = _by_scenario(game, solved.response_points(), table, seat)
        revealed[rows] = _by_scenario(game, solved.values_if_revealed(), table, seat)
    assert not exact or abs(earned.mean() - total / space.size) < SAME
    bounds = [float(revealed[which == part].mean()) for part in range(len(PARTS))]
    return exact, "expectimax over beliefs" if exact else "told in the end", earned, total / space.size, bounds


def _by_scenario(game: Adaptive, worth: Doubles, table: Scenarios, seat: int) -> Doubles:
    """Values by context and policy ``[C, M]`` as expectations over personas in each of a pool's scenarios, ``[N]``."""
    pool = game.pool(0)
    mine, theirs = table.utilities[:, seat], table.utilities[:, 1 - seat]
    views = pool.automaton.views.utilities
    context = (pool.own_views.utilities[None] == mine[:, None]).all(axis=2).argmax(axis=1)
    view = (views[None] == theirs[:, None]).all(axis=2).argmax(axis=1)
    total = np.zeros(table.size)
    for number, persona in enumerate(game.personas):
        total += persona.chance * worth[context, number * len(views) + view]
    return total


def _by_probabilities(partner: Partner, seat: int) -> tuple[bool, str, Doubles, float, list[float]]:
    space, which = lewis_space(), view_parts(lewis_space(), seat)
    contexts = contexts_in(space, seat)
    odds = Odds(partner, contexts, RULES, PRIOR)
    part_of = _part_of(contexts, space, seat)
    bounds = []
    for part in range(len(PARTS)):
        bounds.append(upper_bound(odds, seat, part_of == part) * space.size / int((which == part).sum()))
    response = BestResponse(partner, contexts)
    games = [_response_points(response, partner, space, seat, number) for number in range(REPLICATES)]
    return False, "told after its first act", np.mean(games, axis=0), upper_bound(odds, seat), bounds


def _part_of(contexts: Contexts, space: Scenarios, seat: int) -> Index:
    """The part of the scenarios of each context and type, ``[C, K]``; -1 where there is none."""
    part = view_parts(space, seat)
    place: dict[bytes, int] = {}
    for row in range(space.size):
        view = space.counts[row].tobytes() + space.utilities[row, seat].tobytes()
        place[view + space.utilities[row, 1 - seat].tobytes()] = int(part[row])
    found = np.full(contexts.types.shape, -1, dtype=np.int64)
    for context, kind in zip(*np.nonzero(contexts.weights), strict=True):
        view = contexts.own_views.counts[context].tobytes() + contexts.own_views.utilities[context].tobytes()
        theirs = contexts.partner_views.utilities[contexts.types[context, kind]]
        found[context, kind] = place[view + theirs.tobytes()]
    return found


def _response_points(response: Partner, partner: Partner, table: Scenarios, seat: int, number: int) -> Doubles:
    """The response's points of ten in each scenario, ``[N]``."""
    pair = (response, partner) if seat == 0 else (partner, response)
    games = rollout(pair, table, RULES, seed=0, index=(number, seat))
    points: Doubles = points_of_ten(games.scores, table.pool_values)[:, seat]
    return points


def write_references(path: Path, references: Mapping[str, Reference]) -> None:
    """Write ``references``, by identity, as a file that :func:`stored_references` reads."""
    document = {
        "version": VERSION,
        "prior": PRIOR,
        "max_turns": Rules().max_turns,
        "disagree": Rules().disagree,
        "parts": list(PARTS),
        "partners": {
            name: {
                **{seat: _side_json(side) for seat, side in zip(SEATS, reference.seats, strict=True)},
                "fingerprint": reference.fingerprint,
            }
            for name, reference in sorted(references.items())
        },
    }
    write_atomically(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def fingerprint_of(partner: Partner) -> str:
    """A digest of a partner's scores on 353 scenarios against two others, 16 hexadecimal digits.

    The digest of a network may differ between kinds of machines, by rounding between nearly equal actions.
    """
    space = lewis_space()
    some = space.rows(slice(None, None, 15))
    digest = hashlib.sha256()
    for number, name in enumerate(("heuristic", "random")):
        other = seat_occupant(name)
        for seat in (0, 1):
            pair = (partner, other) if seat == 0 else (other, partner)
            games = rollout(pair, some, seed=0, index=(number, seat))
            digest.update(np.ascontiguousarray(games.scores, dtype=np.int16).tobytes())
    return digest.hexdigest()[:16]


def _side_json(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    low, high = (
        {name: round(value, DIGITS) for name, value in zip(("all", *PARTS), values, strict=True)}
        for values in ((side.low, *side.low_in), (side.high, *side.high_in))
    )
    return {"exact": side.exact, "how": side.how, "low": low, "high": high, "seconds": round(side.seconds, 1)}
