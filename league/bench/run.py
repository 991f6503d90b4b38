"""Benchmark of one submission: all games against a roster, in one or several processes, and the results line."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from dond_marl import __version__
from dond_marl.errors import InputError
from dond_marl.occupants import check_spec, seat_occupant, spec_name
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import expensive_to_query
from league.backends.pool import in_processes
from league.bench.figures import answers_of, cells_of, figures_of, with_shares
from league.bench.protocol import (
    CONFIDENCE,
    NOISE_SEED,
    REPLICATES,
    RULES,
    beyond_field,
    lewis_field,
    protocol_document,
)
from league.bench.results import FORMAT, Row, digest, seal_row
from league.bench.submission import PlayerSource, Submission, greedy_spec, provenance
from league.evaluation.matches import MEMBER, Repeated, Terms, play_repeatedly
from league.ledger.run_directory import source_commit
from league.tasks.values import machine
from partners.rosters import ROSTERS, roster


def noise_index(partner: str) -> int:
    """The index of the noise of all games with this partner, a function of its spec alone."""
    return int.from_bytes(hashlib.sha256(partner.encode()).digest()[:8])


def play_partner(player: PlayerSource, partner: str, source: ScenarioSource, replicates: int) -> Repeated:
    """All games of ``player`` with one partner, a spec, on the source's table.

    Raises :class:`~league.evaluation.matches.PlayError`, :class:`~league.evaluation.matches.UnreachedError`.
    """
    assert source.table is not None
    terms = Terms(source, source.table, RULES, NOISE_SEED, CONFIDENCE)
    index = (noise_index(partner),)
    return play_repeatedly(terms, MEMBER, player.partner(), partner, seat_occupant(partner), replicates, index)


def play_roster(
    player: PlayerSource,
    partners: Sequence[str],
    source: ScenarioSource,
    replicates: int,
    *,
    workers: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, Repeated]:
    """The games with every partner, by its spec, in the order given; the same whatever ``workers`` is.

    ``report`` receives the progress.
    """
    played: dict[str, Repeated] = {}
    calls = [(player, partner, source, replicates) for partner in partners]
    for done, (place, games) in enumerate(in_processes(play_partner, calls, workers), start=1):
        played[partners[place]] = games
        report(f"{done} of {len(partners)} partners")
    return {partner: played[partner] for partner in partners}


OWN = "own list"  # the roster's name where partners are named one by one


class Opponents(NamedTuple):
    """The partners of a measurement: a roster, or a list of specs."""

    name: str
    partners: tuple[str, ...]  # specs, networks greedy


def opponents_of(words: Sequence[str], option: str = "--against") -> Opponents:
    """The opponents that ``words`` name: one roster, or specs.

    Raises :class:`~dond_marl.errors.InputError`, also for a roster among specs.
    """
    if not words:
        raise InputError(f"name the opponents with {option}: one of {', '.join(ROSTERS)}, or occupants")
    if len(words) == 1 and words[0] in ROSTERS:
        if not roster(words[0]):
            raise InputError(f"the roster {words[0]} has no members yet")
        return Opponents(words[0], roster(words[0]))
    if named := [word for word in words if word in ROSTERS]:
        raise InputError(f"{option} takes one roster or several occupants; got {named[0]} among {len(words)}")
    for word in words:
        check_spec(word)
    return Opponents(OWN, tuple(sorted({spec_name(greedy_spec(word)) for word in words})))


def measure(
    submission: Submission,
    opponents: Opponents,
    *,
    beyond: bool = False,
    sample: int | None = None,
    replicates: int = REPLICATES,
    workers: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> Row:
    """Play all games and return the results line. ``sample``: number of scenarios instead of all, for costly players.

    Raises :class:`~dond_marl.errors.InputError` for a submission that may not be measured against these partners,
    :class:`~league.evaluation.matches.PlayError` and :class:`~league.evaluation.matches.UnreachedError`.
    """
    began = time.perf_counter()
    origin = provenance(submission, opponents.partners)
    player = submission.player.partner()
    field = beyond_field() if beyond else lewis_field(sample)
    if not field.slices[field.headline].any(axis=1).all():
        raise InputError(f"a sample of {sample} scenarios holds none of {field.headline} in both seats; take more")
    costly = [name for name in opponents.partners if expensive_to_query(seat_occupant(name).traits)]
    if sample is None and (expensive_to_query(player.traits) or costly):
        name = submission.name if expensive_to_query(player.traits) else costly[0]
        raise InputError(f"{name} is costly to query in more than 10,000 games per partner: give --sample N")
    times = 1 if sample is not None else replicates
    games = play_roster(submission.player, opponents.partners, field.source, times, workers=workers, report=report)
    benchmark = protocol_document(field, opponents.name, opponents.partners, times)
    about = {
        "name": submission.name,
        "seed": submission.seed,
        "identity": origin.identity,
        "learned": player.traits.learned,
        "deterministic": player.traits.deterministic,
        "sees_everything": player.traits.privileged,
        "met": origin.training,
        "met_here": list(origin.seen),
        "declared": submission.declared,
        "settings_sha256": submission.settings_sha256,
        "acts": submission.acts,
    }
    row: Row = {
        "format": FORMAT,
        "submission": about,
        "benchmark": benchmark,
        "config_sha256": digest({"submission": about, "benchmark": benchmark}),
        "code": {"version": __version__, **source_commit(), **json.loads(machine())},
        "figures": figures_of(games, field),
        "cells": cells_of(games, field),
        "answers": answers_of(games),
    }
    row["clock"] = {"at": datetime.now(UTC).isoformat("T", "seconds"), "seconds": _seconds(began)}
    return seal_row(with_shares(row))


def _seconds(began: float) -> float:
    return round(time.perf_counter() - began, 1)
