"""Scenario sources and their splits.

``uniform``    counts 1..max_count, values 0..10, each seat values something; a pool may be worth up to 120 points.
               Its split ``near`` has pools of 5 to 7 items, as ``lewis``, and no held-out view of ``lewis``;
               ``beyond`` has the other pools.
``lewis``      the legal scenario space of Lewis et al. 2017 (section 2.1), enumerated: 5,295 ordered scenarios.
               Its splits are those of :mod:`dond_marl.scenarios.views`.
``self_play``  the scenarios of the 4,086 published self-play games (:mod:`dond_marl.scenarios.data`).
``dialogues``  the scenarios of the published human dialogues.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError, quote
from dond_marl.game import MAX_COUNT, Scenario, as_integer
from dond_marl.randomness import generator
from dond_marl.scenarios import data
from dond_marl.scenarios.space import (
    LEWIS_MAX_COUNT,
    LEWIS_POOL_VALUE,
    Scenarios,
    any_values,
    lewis_space,
    pack,
    value_vectors,
)
from dond_marl.scenarios.views import LEWIS_SPLITS, draw_beyond, draw_near, lewis_part

__all__ = [
    "DATASETS",
    "LEWIS_MAX_COUNT",
    "LEWIS_POOL_VALUE",
    "SOURCES",
    "SPLITS",
    "ScenarioError",
    "ScenarioSource",
    "Scenarios",
    "SourceName",
    "check_split",
    "lewis_space",
    "open_source",
    "pack",
    "source_name",
    "value_vectors",
]
SourceName = Literal["uniform", "lewis", "self_play", "dialogues"]
SOURCES: tuple[str, ...] = get_args(SourceName)
DATASETS = ("self_play", "dialogues")
SPLITS: dict[str, tuple[str, ...]] = {
    "uniform": ("near", "beyond"),
    "lewis": LEWIS_SPLITS,
    "self_play": (),
    "dialogues": data.DIALOGUE_SPLITS,
}
DEFAULT_SPLITS = {"lewis": "train", "dialogues": "train"}  # the other sources default to all of their scenarios
TO_TRAIN_ON = {("lewis", "train"), ("uniform", "near"), ("uniform", "beyond")}  # splits without held-out views


class ScenarioError(InputError):
    """A scenario source that does not exist, cannot be read, or has no scenario that fits the settings."""


@dataclass(frozen=True)
class ScenarioSource:
    """A distribution of scenarios: a finite ``table``, each row equally likely, or (``None``) the uniform source.

    ``prior`` is the name of the distribution that the seats observe.
    """

    name: str
    split: str | None = None
    table: Scenarios | None = None
    max_count: int = LEWIS_MAX_COUNT
    budget: int | None = None  # points; only scenarios worth exactly this to both seats
    _singles: dict[int, Scenario] = field(default_factory=dict, repr=False, compare=False)

    @property
    def prior(self) -> str:
        """The distribution's name without the split, which would reveal an evaluation subset to the seats."""
        return self.name if self.budget is None else f"{self.name}(budget={self.budget})"

    @property
    def label(self) -> str:
        return self.prior if self.split is None else f"{self.prior}, split {self.split}"

    def digest(self) -> str:
        """SHA-256 of the distribution, independent of where its files lie."""
        if self.table is None:
            content = f"{self.label} up to {self.max_count}".encode()
        else:
            content = self.table.counts.tobytes() + self.table.utilities.tobytes()
        return hashlib.sha256(content).hexdigest()

    def draw(self, rng: np.random.Generator, n: int) -> Scenarios:
        if self.table is not None:
            return self.table.rows(rng.integers(self.table.size, size=n))
        if self.budget is not None:
            return _draw_budgeted(rng, n, self.max_count, self.budget)
        if self.split is not None:
            return (draw_near if self.split == "near" else draw_beyond)(rng, n, self.max_count)
        counts = rng.integers(1, self.max_count + 1, size=(n, 3), dtype=np.int8)
        return Scenarios(counts, any_values(rng, n))

    def draw_one(self, rng: np.random.Generator) -> Scenario:
        if self.table is None:
            return self.draw(rng, 1).scenario(0)
        index = int(rng.integers(self.table.size))
        if index not in self._singles:
            self._singles[index] = self.table.scenario(index)
        return self._singles[index]

    def block(self, seed: int, start: int, n: int) -> Scenarios:
        """Scenarios ``start`` to ``start + n`` of the endless sequence of ``seed``.

        A table is dealt in shuffled passes, so that every scenario comes up equally often; the uniform source is drawn
        in independent blocks, which ``start`` names.
        """
        if self.table is None:
            return self.draw(generator(seed, "scenarios", start), n)
        return self.table.rows(self.places(seed, start, n))

    def places(self, seed: int, start: int, n: int) -> NDArray[np.int64]:
        """The rows of the table that :meth:`block` deals, ``[n]``; only for a source with a table."""
        assert self.table is not None, f"{self.label} has no table"
        size = self.table.size
        first, last = start // size, (start + max(n, 1) - 1) // size
        passes = [generator(seed, "scenarios", number).permutation(size) for number in range(first, last + 1)]
        offset = start - first * size
        return np.concatenate(passes)[offset : offset + n]


def open_source(
    scenarios: str = "uniform",
    *,
    use_dataset: bool = False,
    dataset: str = "self_play",
    split: str | None = None,
    data_dir: str | Path | None = None,
    normalize: bool = False,
    points_budget: int = LEWIS_POOL_VALUE,
    max_count: int = LEWIS_MAX_COUNT,
) -> ScenarioSource:
    """The scenario source of these settings. Raises :class:`ScenarioError` or :class:`data.DataError`.

    ``use_dataset=True`` is the same as ``scenarios=dataset``. ``normalize=True`` keeps only the scenarios worth exactly
    ``points_budget`` to both seats.
    """
    for setting, value in (("use_dataset", use_dataset), ("normalize", normalize)):
        if not isinstance(value, bool):
            raise ScenarioError(f"{setting} must be True or False; got {quote(value)}")
    name = source_name(scenarios, use_dataset, dataset)
    split = check_split(name, split)
    if (limit := as_integer(max_count)) is None or not 1 <= limit <= MAX_COUNT:
        raise ScenarioError(f"max_count must be an integer in 1..{MAX_COUNT}; got {quote(max_count)}")
    if (budget := as_integer(points_budget)) is None:
        raise ScenarioError(f"points_budget must be an integer; got {quote(points_budget)}")
    max_count, points_budget = limit, budget
    if split in SPLITS["uniform"] and normalize:
        raise ScenarioError(f"split={split!r} of 'uniform' goes without normalize=True; leave one of the two out")
    if split == "near" and max_count == 1:
        raise ScenarioError("split='near' of 'uniform' has pools of 5 to 7 items, so max_count is at least 2; got 1")
    table = None
    if name == "lewis":
        table = lewis_part(split or "train")
    elif name == "self_play":
        table = Scenarios(*data.load_self_play(data_dir))
    elif name == "dialogues":
        table = Scenarios(*data.load_dialogue_scenarios(split or "train", data_dir))
    if table is not None and int(table.counts.max()) > max_count:
        raise ScenarioError(
            f"{name} holds pools with {int(table.counts.max())} items of one type, more than max_count={max_count}; "
            f"raise max_count or take another source"
        )
    if normalize and table is not None:
        table = table.rows(np.flatnonzero((table.pool_values == points_budget).all(axis=1)))
    source = ScenarioSource(name, split, table, max_count, points_budget if normalize else None)
    empty = (
        table.size == 0 if table is not None else normalize and not len(_budget_weights(max_count, points_budget)[0])
    )
    if empty:
        raise ScenarioError(
            f"normalize=True left no scenario of {name!r} worth exactly points_budget={points_budget} to both seats; "
            f"the published files and 'lewis' are worth {LEWIS_POOL_VALUE}"
        )
    return source


def source_name(scenarios: str, use_dataset: bool, dataset: str) -> str:
    """The source's name from the three settings. Raises :class:`ScenarioError` where they contradict each other."""
    for setting, value, names in (("scenarios", scenarios, SOURCES), ("dataset", dataset, DATASETS)):
        if value not in names:
            raise ScenarioError(f"{setting} must be one of {', '.join(names)}; got {quote(value)}")
    if not use_dataset and dataset not in ("self_play", scenarios):
        raise ScenarioError(f"dataset={dataset!r} needs use_dataset=True; or give scenarios={dataset!r} instead")
    if use_dataset and scenarios not in ("uniform", dataset):
        raise ScenarioError(f"dataset={dataset!r} contradicts scenarios={scenarios!r}; give one of the two")
    return dataset if use_dataset else scenarios


def check_split(name: str, split: str | None) -> str | None:
    """``split`` if the source has it; for ``None`` the source's default, which may be ``None``.

    Raises :class:`ScenarioError`.
    """
    splits = SPLITS[name]
    if split is None:
        return DEFAULT_SPLITS.get(name)
    if split not in splits:
        choices = f"one of {', '.join(splits)}" if splits else "left out: this source has no splits"
        if splits and name not in DEFAULT_SPLITS:
            choices += ", or left out"
        raise ScenarioError(f"split of scenarios={quote(name)} must be {choices}; got {quote(split)}")
    return split


def _draw_budgeted(rng: np.random.Generator, n: int, max_count: int, budget: int) -> Scenarios:
    """Uniform over every (counts, values, values) whose pool is worth ``budget`` to both: counts, then each seat."""
    pools, weights = _budget_weights(max_count, budget)
    chosen = rng.choice(len(pools), size=n, p=weights)
    picks = rng.random((n, 2))
    utilities = np.empty((n, 2, 3), dtype=np.int8)
    for pool in np.unique(chosen):
        rows = chosen == pool
        vectors = value_vectors(pools[pool], budget)
        utilities[rows] = vectors[(picks[rows] * len(vectors)).astype(np.int64)]
    return Scenarios(np.array(pools, dtype=np.int8)[chosen], utilities)


@lru_cache(maxsize=16)
def _budget_weights(max_count: int, budget: int) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.float64]]:
    pools = tuple(itertools.product(range(1, max_count + 1), repeat=3))
    ways = np.array([len(value_vectors(pool, budget)) if budget > 0 else 0 for pool in pools], dtype=np.float64) ** 2
    possible = tuple(pool for pool, number in zip(pools, ways, strict=True) if number)
    return possible, ways[ways > 0] / max(ways.sum(), 1.0)
