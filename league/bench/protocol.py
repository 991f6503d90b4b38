"""The protocol of the benchmark: the settings that all submissions share, printed with every result.

Scenarios are all 5,295 of ``lewis``, each played in both seats. Where both players are deterministic that is every game
that there is, and a figure has no error. Where chance is left every scenario is played several times with fresh noise;
what is uncertain then is the noise alone. Networks play their likeliest act. The headline is taken on the scenarios
with a view that is held out of training (:mod:`dond_marl.scenarios.sources`). Programs of people are played on the
scenarios of their own contest, once.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dond_marl.errors import InputError
from dond_marl.game import Rules
from dond_marl.occupants import CHALLENGE
from dond_marl.scenarios.haggling import POINTS, haggling_scenarios, read_seeds
from dond_marl.scenarios.sources import HELD_OUT_SEED, PARTS, ScenarioSource, beyond_lewis, open_source, view_parts
from dond_marl.seats import Bools
from partners.rosters import CLONE, TEST3, members_hash

VERSION = 1  # raised whenever the same submission would be measured differently
RULES = Rules()
REPLICATES = 8  # games of each scenario and seat where chance is left
NOISE_SEED = 0
SAMPLE_SEED = 0  # of the scenarios that --sample draws
BEYOND_SEED, BEYOND = 0, 5_000  # scenarios that no roster and no training uses
CONFIDENCE = 0.95
HEADLINE, ALL = "held-out views", "all scenarios"
SLICES = (HEADLINE, ALL, *PARTS)  # of the scenarios; a seat's slice depends on its own view


class Field(NamedTuple):
    """The N scenarios that are played, and which of them belong to each slice."""

    source: ScenarioSource
    name: str
    whole: bool  # every scenario of a finite source is played
    slices: dict[str, Bools]  # by name of SLICES: [2, N], by the member's seat

    @property
    def headline(self) -> str:
        """The slice that the first figures are taken on."""
        return HEADLINE if HEADLINE in self.slices else ALL


@lru_cache(maxsize=4)
def lewis_field(sample: int | None = None) -> Field:
    """All scenarios of ``lewis``, or ``sample`` of them drawn without replacement by a fixed seed."""
    source = open_source("lewis", split="all")
    assert source.table is not None
    if sample is not None and sample < source.table.size:
        source = ScenarioSource(source.name, source.split, source.block(SAMPLE_SEED, 0, sample), source.max_count)
    table = source.table
    assert table is not None
    part = np.stack([view_parts(table, seat) for seat in (0, 1)])
    slices = {HEADLINE: part > 0, ALL: np.ones_like(part, dtype=bool)}
    slices |= {name: part == i for i, name in enumerate(PARTS)}
    return Field(source, "lewis", sample is None, slices)


@lru_cache(maxsize=4)
def beyond_field(sample: int | None = None) -> Field:
    """Scenarios of pools and values that ``lewis`` does not hold, or ``sample`` of them: one slice, no references."""
    table = beyond_lewis(BEYOND_SEED, min(sample or BEYOND, BEYOND))
    source = ScenarioSource("uniform", None, table, int(table.counts.max()))
    return Field(source, "beyond lewis", False, {ALL: np.ones((2, table.size), dtype=bool)})


@lru_cache(maxsize=4)
def haggling_field(roster: str, sample: int | None = None) -> Field:
    """The scenarios of a roster of people: the challenge's own, of its finals for test3, of its first round otherwise.

    Each has 500; ``sample``: the first ones. Raises :class:`~dond_marl.errors.InputError` without its files.
    """
    stage = "finals" if roster == TEST3 else "round1"
    file = CLONE / "seeds" / f"{stage}.txt"
    if not file.is_file():
        raise InputError(f"{file} is not here: git clone {CHALLENGE} in {Path.cwd()}")
    table = haggling_scenarios(read_seeds(file)[:sample])
    source = ScenarioSource("uniform", None, table, int(table.counts.max()), POINTS)
    return Field(source, f"haggling {stage}", False, {ALL: np.ones((2, table.size), dtype=bool)})


def protocol_document(field: Field, roster: str, members: tuple[str, ...], replicates: int) -> dict[str, Any]:
    """The protocol as plain values, equal for results that can be compared."""
    table = field.source.table
    assert table is not None
    return {
        "version": VERSION,
        "roster": roster,
        "roster_sha256": members_hash(members),
        "partners": len(members),
        "scenarios": field.name,
        "scenarios_sha256": field.source.digest(),
        "number_of_scenarios": table.size,
        "every_scenario": field.whole,
        "views_held_out_by_seed": HELD_OUT_SEED,
        "headline": field.headline,
        "max_turns": RULES.max_turns,
        "disagree": RULES.disagree,
        "networks": "greedy",
        "replicates": replicates,
        "noise_seed": NOISE_SEED,
        "confidence": CONFIDENCE,
    }
