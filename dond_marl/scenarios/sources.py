"""Scenarios as arrays, their sources and splits, and the private views that are held out from training.

``uniform``    counts 1..max_count, values 0..10, each seat values something; a pool may be worth up to 120 points.
               Its split ``near`` has pools of 5 to 7 items, as ``lewis``, and no held-out view of ``lewis``;
               ``beyond`` has the other pools.
``lewis``      the legal scenario space of Lewis et al. 2017 (section 2.1), enumerated: 5,295 ordered scenarios.
``self_play``  the scenarios of the 4,086 published self-play games (:mod:`dond_marl.scenarios.data`).
``dialogues``  the scenarios of the published human dialogues.
``FILE``       the scenarios of a file of one's own (:mod:`dond_marl.scenarios.own_files`). They count as a part of
               ``lewis`` where all are legal there, otherwise of ``uniform``, with a budget if all pools are worth it.

A *private view* is a pool with the values of one seat: all that a seat observes before the first act. Two views that
become equal when the items are renamed are one *canonical* view; ``lewis`` holds 80 of them, numbered here in
lexicographic order of their sorted (count, value) pairs. A held-out pairing of two views would hide nothing from a
player, which observes one of the two; therefore 16 views are held out, with every scenario that contains one of them in
either seat.

The *orbit* of a scenario is the set of scenarios that become equal to it by renaming the items or swapping the seats.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.errors import InputError, quote
from dond_marl.game import MAX_COUNT, MAX_VALUE, Scenario, as_integer
from dond_marl.randomness import generator
from dond_marl.scenarios import data
from dond_marl.scenarios.own_files import SUFFIXES, is_file_name, read_scenarios
from dond_marl.splits import grid

LEWIS_MAX_COUNT = 4  # items of one type in every published pool
LEWIS_POOL = range(5, 8)  # items in all: 5 to 7 (Lewis et al. 2017, section 2.1)
LEWIS_POOL_VALUE = 10  # points that the whole pool is worth to each seat (Lewis et al. 2017, section 2.1)
HAGGLING_PRIOR = f"uniform(budget={LEWIS_POOL_VALUE})"  # of the public contest: any values worth as much
HELD_OUT_SEED = 2017  # the year of Lewis et al. 2017
# The first 16 of generator(HELD_OUT_SEED, "held-out views").permutation(80), sorted; drawn before any training.
HELD_OUT_VIEWS = (0, 6, 7, 9, 10, 13, 20, 30, 32, 36, 39, 43, 52, 58, 64, 75)
PARTS = ("both views known", "partner's view unknown", "own view unknown")
LEWIS_SPLITS = ("train", "test", "paper_test", "all")
DIGIT = max(MAX_COUNT, MAX_VALUE) + 1  # counts and values are digits of this base
# The test set of Lewis et al. 2017: the 200 scenarios of the published ``test.txt`` and their swaps, as indices into
# lewis_space(), 392 of 5,295. None occurs in ``selfplay.txt``. They hold out pairings only: each of their 253 views
# occurs in other scenarios too, in the same seat. A test rebuilds the list from the file.
PAPER_TEST = Path(__file__).with_name("paper_test.json")
SOURCES = ("uniform", "lewis", "self_play", "dialogues")
SOURCE_NAMES = f"one of {', '.join(SOURCES)}, or the path of a file ({', '.join(SUFFIXES)})"
DATASETS = ("self_play", "dialogues")
OF_CONTESTS = {"haggling": 7, "contest": 6}  # splits of uniform: the most items of their pools, of which 3 is the least
SPLITS: dict[str, tuple[str, ...]] = {
    "uniform": ("near", "beyond", *OF_CONTESTS),
    "lewis": LEWIS_SPLITS,
    "self_play": (),
    "dialogues": data.DIALOGUE_SPLITS,
}
DEFAULT_SPLITS = {"lewis": "train", "dialogues": "train"}  # the other sources default to all of their scenarios
# Splits without held-out views.
TO_TRAIN_ON = {("lewis", "train"), *(("uniform", split) for split in SPLITS["uniform"])}


class Scenarios(NamedTuple):
    """N scenarios as arrays: ``counts[N, 3]`` items, ``utilities[N, 2, 3]`` points per item and seat, both int8.

    ``prior``: the name of the distribution that they are from, as in :attr:`ScenarioSource.prior`. Both seats know it,
    and many partners play by it; without one (``""``) scenarios can be solved and counted, but not played.
    """

    counts: NDArray[np.int8]
    utilities: NDArray[np.int8]
    prior: str = ""

    @property
    def size(self) -> int:
        return len(self.counts)

    @property
    def pool_values(self) -> NDArray[np.int16]:
        """The value of the whole pool to each seat, ``[N, 2]`` points."""
        worth: NDArray[np.int16] = np.einsum("ni,nsi->ns", self.counts, self.utilities, dtype=np.int16)
        return worth

    def rows(self, index: NDArray[np.int64] | slice) -> Scenarios:
        """Some of the scenarios, in the order of ``index``."""
        return self._replace(counts=self.counts[index], utilities=self.utilities[index])

    def swap_seats(self) -> Scenarios:
        return self._replace(utilities=self.utilities[:, ::-1])

    def scenario(self, index: int) -> Scenario:
        first, second = self.utilities[index].tolist()
        return Scenario(tuple(self.counts[index].tolist()), (tuple(first), tuple(second)))


def pack(scenarios: Iterable[Scenario], prior: str = "") -> Scenarios:
    """Arrays from single scenarios; the inverse of :meth:`Scenarios.scenario`.

    ``prior``: the name of the distribution that both seats take them to be from, which only playing them needs.
    """
    rows = list(scenarios)
    counts = np.array([s.counts for s in rows], dtype=np.int8).reshape(-1, 3)
    return Scenarios(counts, np.array([s.utilities for s in rows], dtype=np.int8).reshape(-1, 2, 3), prior)


def played_prior(scenarios: Scenarios) -> str:
    """The prior of scenarios to play. Raises :class:`ScenarioError` if there is none, or a number is outside 0..10."""
    for numbers in scenarios[:2]:
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < DIGIT:
            raise ScenarioError(f"counts and values are in 0..{DIGIT - 1}; got {numbers.min()}..{numbers.max()}")
    if re.sub(r"\(budget=\d+\)\Z", "", scenarios.prior) not in SOURCES:
        names, prior = ", ".join(SOURCES), quote(scenarios.prior)
        raise ScenarioError(f"scenarios to play name their prior, as in pack(..., 'lewis'): {names}; got {prior}")
    return scenarios.prior


def join(parts: Sequence[Scenarios]) -> Scenarios:
    """All scenarios of ``parts``, in order, read-only. Raises :class:`ScenarioError` for parts of different priors."""
    counts, utilities, priors = zip(*parts, strict=True)
    if len(set(priors)) > 1:
        raise ScenarioError(f"scenarios of one prior are played together; got {', '.join(sorted(set(priors)))}")
    return Scenarios(read_only(np.concatenate(counts)), read_only(np.concatenate(utilities)), priors[0])


@lru_cache(maxsize=1)
def lewis_space() -> Scenarios:
    """All 5,295 legal ordered scenarios, in lexicographic order of (counts, seat_0's values, seat_1's values).

    Legal: counts 1..4, 5 to 7 items, the pool worth exactly 10 to each seat, every item type worth something to some
    seat, and some type worth something to both (Lewis et al. 2017, section 2.1).
    """
    tables = []
    for counts in itertools.product(range(1, LEWIS_MAX_COUNT + 1), repeat=3):
        if sum(counts) not in LEWIS_POOL:
            continue
        vectors = value_vectors(counts, LEWIS_POOL_VALUE)
        first, second = np.repeat(vectors, len(vectors), axis=0), np.tile(vectors, (len(vectors), 1))
        valued, shared = (first | second) > 0, (first > 0) & (second > 0)
        legal = valued.all(axis=1) & shared.any(axis=1)
        utilities = np.stack([first[legal], second[legal]], axis=1)
        tables.append(Scenarios(np.tile(np.array(counts, dtype=np.int8), (len(utilities), 1)), utilities, "lewis"))
    return join(tables)


@lru_cache(maxsize=4096)
def value_vectors(counts: tuple[int, ...], total: int) -> NDArray[np.int8]:
    """Every value vector in 0..10 under which the pool is worth exactly ``total``, ``[K, 3]``, counting up."""
    every = grid(MAX_VALUE)
    return read_only(every[every @ np.array(counts) == total])


def pools(max_count: int, beyond: bool) -> NDArray[np.int8]:
    """Every pool of 1..max_count items a type and 5 to 7 items in all, as in ``lewis``, ``[P, 3]``.

    ``beyond``: the pools with another number of items instead.
    """
    every = grid(max_count)
    total = every.sum(axis=1)
    inside = (total >= LEWIS_POOL.start) & (total < LEWIS_POOL.stop)
    possible: NDArray[np.int8] = every[every.all(axis=1) & (inside != beyond)]
    return possible


def any_values(rng: np.random.Generator, n: int) -> NDArray[np.int8]:
    """Values ``[n, 2, 3]``, uniform in 0..10, under which each seat values something."""
    utilities = rng.integers(0, MAX_VALUE + 1, size=(n, 2, 3), dtype=np.int8)
    while (worthless := ~utilities.any(axis=2)).any():
        utilities[worthless] = rng.integers(0, MAX_VALUE + 1, size=(int(worthless.sum()), 3), dtype=np.int8)
    return utilities


def read_only(array: NDArray[np.int8]) -> NDArray[np.int8]:
    """The same array, made read-only."""
    array.flags.writeable = False
    return array


class ScenarioError(InputError):
    """A scenario source that does not exist, cannot be read, or has no scenario that fits the settings."""


@dataclass(frozen=True)
class ScenarioSource:
    """A distribution of scenarios: a finite ``table``, each row equally likely, or (``None``) the uniform source.

    ``prior`` is the name of the distribution that the seats observe.
    """

    name: str
    split: str | None = None  # or the name of a file, without its folder
    table: Scenarios | None = None
    max_count: int = LEWIS_MAX_COUNT
    budget: int | None = None  # points; only scenarios worth exactly this to both seats
    _singles: dict[int, Scenario] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.table is not None:
            object.__setattr__(self, "table", self.table._replace(prior=self.prior))

    @property
    def prior(self) -> str:
        """The distribution's name without the split, which would reveal an evaluation subset to the seats."""
        return self.name if self.budget is None else f"{self.name}(budget={self.budget})"

    @property
    def label(self) -> str:
        if self.split is None:
            return self.prior
        return f"{self.prior}, {self.split if is_file_name(self.split) else f'split {self.split}'}"

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
        if self.split in OF_CONTESTS:
            return draw_haggling(rng, n, self.max_count, OF_CONTESTS[self.split])
        if self.budget is not None:
            return Scenarios(*_draw_budgeted(rng, n, self.max_count, self.budget), self.prior)
        if self.split is not None:
            return _draw_part(rng, n, self.max_count, beyond=self.split == "beyond")
        counts = rng.integers(1, self.max_count + 1, size=(n, 3), dtype=np.int8)
        return Scenarios(counts, any_values(rng, n), self.prior)

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

    ``scenarios`` may be the path of a file. ``use_dataset=True`` is the same as ``scenarios=dataset``.
    ``normalize=True`` keeps only the scenarios worth exactly ``points_budget`` to both seats.
    """
    name = source_name(scenarios, use_dataset, dataset)
    split = check_split(name, split)
    if (limit := as_integer(max_count)) is None or not 1 <= limit <= MAX_COUNT:
        raise ScenarioError(f"max_count must be an integer in 1..{MAX_COUNT}; got {quote(max_count)}")
    if (points := as_integer(points_budget)) is None:
        raise ScenarioError(f"points_budget must be an integer; got {quote(points_budget)}")
    max_count, points_budget = limit, points
    if split in OF_CONTESTS and points_budget != LEWIS_POOL_VALUE:
        raise ScenarioError(f"every pool of split={split!r} is worth points_budget={LEWIS_POOL_VALUE} to both seats")
    normalize = normalize or split in OF_CONTESTS
    if split in ("near", "beyond") and normalize:
        raise ScenarioError(f"split={split!r} of 'uniform' goes without normalize=True; leave one of the two out")
    if split == "near" and max_count == 1:
        raise ScenarioError("split='near' of 'uniform' has pools of 5 to 7 items, so max_count is at least 2; got 1")
    table = None
    if name == "lewis":
        table = lewis_part(split or "train")
    elif name == "self_play":
        table = Scenarios(*data.load_self_play(data_dir), name)
    elif name == "dialogues":
        table = Scenarios(*data.load_dialogue_scenarios(split or "train", data_dir), name)
    elif is_file_name(name):
        table, split = Scenarios(*read_scenarios(name)), Path(name).name
    if table is not None and int(table.counts.max()) > max_count:
        raise ScenarioError(
            f"{name} holds pools with {int(table.counts.max())} items of one type, more than max_count={max_count}; "
            f"raise max_count or take another source"
        )
    if normalize and table is not None:
        table = table.rows(np.flatnonzero((table.pool_values == points_budget).all(axis=1)))
    budget: int | None = points_budget if normalize else None
    if is_file_name(name) and table is not None:
        name, budget = _family(table, budget)
    source = ScenarioSource(name, split, table, max_count, budget)
    empty = (
        table.size == 0 if table is not None else normalize and not len(_budget_weights(max_count, points_budget)[0])
    )
    if empty:
        raise ScenarioError(
            f"normalize=True left no scenario of {name!r} worth exactly points_budget={points_budget} to both seats; "
            f"the published files and 'lewis' are worth {LEWIS_POOL_VALUE}"
        )
    return source


def _family(table: Scenarios, budget: int | None) -> tuple[str, int | None]:
    """The source that scenarios of a file count as a part of, and the worth of every pool, if it limits the values."""
    space = numbers_of(lewis_space().counts, lewis_space().utilities.reshape(-1, 6))
    if np.isin(numbers_of(table.counts, table.utilities.reshape(-1, 6)), space).all():
        return "lewis", budget
    worth = np.unique(table.pool_values)
    return "uniform", int(worth[0]) if len(worth) == 1 else budget


def is_source_name(scenarios: str) -> bool:
    """Whether a text names a source, or by its suffix a file of scenarios."""
    return scenarios in SOURCES or is_file_name(scenarios)


def source_name(scenarios: str, use_dataset: bool, dataset: str) -> str:
    """The source's name from the three settings. Raises :class:`ScenarioError` where they contradict each other."""
    if not is_source_name(scenarios):
        raise ScenarioError(f"scenarios must be {SOURCE_NAMES}; got {quote(scenarios)}")
    if dataset not in DATASETS:
        raise ScenarioError(f"dataset must be one of {', '.join(DATASETS)}; got {quote(dataset)}")
    if not use_dataset and dataset not in ("self_play", scenarios):
        raise ScenarioError(f"dataset={dataset!r} needs use_dataset=True; or give scenarios={dataset!r} instead")
    if use_dataset and scenarios not in ("uniform", dataset):
        raise ScenarioError(f"dataset={dataset!r} contradicts scenarios={scenarios!r}; give one of the two")
    return dataset if use_dataset else scenarios


def check_split(name: str, split: str | None) -> str | None:
    """``split`` if the source has it; for ``None`` the source's default, which may be ``None``.

    Raises :class:`ScenarioError`.
    """
    splits = SPLITS.get(name, ())  # a file has none
    if split is None:
        return DEFAULT_SPLITS.get(name)
    if split not in splits:
        choices = f"one of {', '.join(splits)}" if splits else "left out: this source has no splits"
        if splits and name not in DEFAULT_SPLITS:
            choices += ", or left out"
        raise ScenarioError(f"split of scenarios={quote(name)} must be {choices}; got {quote(split)}")
    return split


def _draw_budgeted(rng: np.random.Generator, n: int, max_count: int, budget: int) -> data.Tables:
    """Uniform over every (counts, values, values) whose pool is worth ``budget`` to both: counts, then each seat."""
    pools, weights = _budget_weights(max_count, budget)
    chosen = rng.choice(len(pools), size=n, p=weights)
    picks = rng.random((n, 2))
    utilities = np.empty((n, 2, 3), dtype=np.int8)
    for pool in np.unique(chosen):
        rows = chosen == pool
        vectors = value_vectors(pools[pool], budget)
        utilities[rows] = vectors[(picks[rows] * len(vectors)).astype(np.int64)]
    return np.array(pools, dtype=np.int8)[chosen], utilities


@lru_cache(maxsize=16)
def _budget_weights(max_count: int, budget: int) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.float64]]:
    pools = tuple(itertools.product(range(1, max_count + 1), repeat=3))
    ways = np.array([len(value_vectors(pool, budget)) if budget > 0 else 0 for pool in pools], dtype=np.float64) ** 2
    possible = tuple(pool for pool, number in zip(pools, ways, strict=True) if number)
    return possible, ways[ways > 0] / max(ways.sum(), 1.0)


def orbits(scenarios: Scenarios) -> NDArray[np.int64]:
    """The orbit number of each scenario, ``[N]``: equal exactly for renamings and swaps of each other.

    Defined for any counts and values, also outside ``lewis``; the numbers are the same in every call.
    """
    return np.minimum(*_sides(scenarios))


def swapped_in_orbit(scenarios: Scenarios) -> NDArray[np.bool_]:
    """The side of its orbit on which each scenario lies, ``[N]``: the same for renamings, the other for swaps."""
    first, second = _sides(scenarios)
    return first > second


def _sides(scenarios: Scenarios) -> list[NDArray[np.int64]]:
    """A number for each scenario and one for its swap, both invariant under renaming of the items: two ``[N]``."""
    counts, values = scenarios.counts.astype(np.int64), scenarios.utilities.astype(np.int64)
    return [_sort_digits((counts * DIGIT + values[:, seat]) * DIGIT + values[:, 1 - seat], DIGIT**3) for seat in (0, 1)]


def view_numbers(scenarios: Scenarios) -> NDArray[np.int16]:
    """The number of each seat's canonical view in 0..79, ``[N, 2]``; -1 for a view of no scenario of ``lewis``."""
    keys, views = _view_keys(scenarios), _lewis_views()
    places = np.minimum(np.searchsorted(views, keys), len(views) - 1)
    return np.where(views[places] == keys, places, -1).astype(np.int16)


def view_parts(scenarios: Scenarios, seat: int) -> NDArray[np.int8]:
    """Index into :data:`PARTS` of each scenario for the player in ``seat`` (0 or 1), ``[N]``.

    A view is known if scenarios of the split ``train`` hold it: it is one of the 80 and not held out. Where both views
    are unknown the player's own decides.
    """
    is_known = _known_views(scenarios)
    return np.where(~is_known[:, seat], 2, np.where(~is_known[:, 1 - seat], 1, 0)).astype(np.int8)


def is_trainable(scenarios: Scenarios) -> NDArray[np.bool_]:
    """Whether each scenario may be used in training, ``[N]``: no held-out view, and not one of the paper's 392."""
    held_out = np.isin(view_numbers(scenarios), HELD_OUT_VIEWS).any(axis=1)
    numbers, paper = (
        numbers_of(part.counts, part.utilities.reshape(-1, 6)) for part in (scenarios, lewis_part("paper_test"))
    )
    return ~(held_out | np.isin(numbers, paper))


@lru_cache(maxsize=len(LEWIS_SPLITS))
def lewis_part(split: str) -> Scenarios:
    """The scenarios of ``lewis`` in one of :data:`LEWIS_SPLITS`, in the order of the whole space.

    ``test`` holds every scenario with a held-out view in either seat, ``paper_test`` the 392 of Lewis et al., ``train``
    the scenarios of neither, ``all`` all scenarios.
    """
    space = lewis_space()
    paper = np.zeros(space.size, dtype=bool)
    paper[json.loads(PAPER_TEST.read_text(encoding="ascii"))] = True
    test = ~_known_views(space).all(axis=1)
    part = {"train": ~test & ~paper, "test": test, "paper_test": paper, "all": np.ones_like(test)}[split]
    return join([space.rows(np.flatnonzero(part))])


def beyond_lewis(seed: int, n: int) -> Scenarios:
    """``n`` scenarios with pools outside ``lewis``: 3, 4 or more than 7 items instead of 5 to 7; a function of both.

    Pools are uniform over those of 1 to 4 items a type, values as in the source ``uniform``: a network made for
    ``lewis`` can play them.
    """
    return _draw_part(generator(seed, "beyond lewis", LEWIS_MAX_COUNT), n, LEWIS_MAX_COUNT, beyond=True)


def _draw_part(rng: np.random.Generator, n: int, max_count: int, *, beyond: bool) -> Scenarios:
    """``n`` scenarios of the split ``beyond`` of ``uniform``, or of ``near``, for which ``max_count`` is at least 2.

    Those of ``near`` have pools of 5 to 7 items, as ``lewis``, and no held-out view.
    """
    possible = pools(max_count, beyond)
    drawn = Scenarios(possible[rng.integers(len(possible), size=n)], any_values(rng, n), "uniform")
    while not beyond and (again := np.isin(view_numbers(drawn), HELD_OUT_VIEWS).any(axis=1)).any():
        drawn.utilities[again] = any_values(rng, int(again.sum()))
    return drawn


def draw_haggling(rng: np.random.Generator, n: int, max_count: int, most: int) -> Scenarios:
    """``n`` scenarios of a split of ``uniform``: ``contest``, those of the public contest, or ``haggling``.

    The latter has those of ``lewis`` too. Pools of 3 to ``most`` items are equally likely, then the two seats' values:
    different, and each worth 10. All may be trained on (:func:`is_trainable`). (:mod:`dond_marl.scenarios.haggling` has
    the contest's own scenarios.)
    """
    table, start = _haggling_space(max_count, most)
    pool, place = rng.integers(len(start) - 1, size=n), rng.random(n)
    return table.rows(start[pool] + (place * np.diff(start)[pool]).astype(np.int64))


@lru_cache(maxsize=4)
def _haggling_space(max_count: int, most: int) -> tuple[Scenarios, NDArray[np.int64]]:
    """All scenarios of that split, pool by pool, and where each pool's begin; then their number."""
    every = grid(max_count)
    parts = []
    for pool in every[every.all(axis=1) & (every.sum(axis=1) <= most)]:
        vectors = value_vectors(tuple(pool.tolist()), LEWIS_POOL_VALUE)
        first, second = (index.reshape(-1) for index in np.indices((len(vectors), len(vectors))))
        utilities = np.stack([vectors[first], vectors[second]], axis=1)[first != second]
        part = Scenarios(np.tile(pool, (len(utilities), 1)), utilities, HAGGLING_PRIOR)
        parts.append(part.rows(np.flatnonzero(is_trainable(part))))
    return join(parts), np.cumsum([0, *(part.size for part in parts)])


def _sort_digits(items: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """The three numbers of each row, sorted and combined to one: ``[N, 3]`` in 0..base - 1 to ``[N]``."""
    first, second, third = items.T
    low, high = np.minimum(first, second), np.maximum(first, second)
    middle = np.maximum(low, np.minimum(high, third))
    code: NDArray[np.int64] = (np.minimum(low, third) * base + middle) * base + np.maximum(high, third)
    return code


def numbers_of(counts: NDArray[np.int8], utilities: NDArray[np.int8]) -> NDArray[np.int64]:
    """One number for each pool ``[B, 3]`` and its values, 3 or 6 a row: ``[B]``, ascending in their order."""
    columns = np.concatenate([counts, utilities], axis=1, dtype=np.int64)
    return columns @ DIGIT ** np.arange(columns.shape[1])[::-1]


def _view_keys(scenarios: Scenarios) -> NDArray[np.int64]:
    counts, values = scenarios.counts.astype(np.int64), scenarios.utilities.astype(np.int64)
    return np.stack([_sort_digits(counts * DIGIT + values[:, seat], DIGIT**2) for seat in (0, 1)], axis=1)


@lru_cache(maxsize=1)
def lewis_orbits() -> NDArray[np.int64]:
    """The 475 orbits of the legal space, counting up, as :func:`orbits` numbers them."""
    return np.unique(orbits(lewis_space()))


@lru_cache(maxsize=1)
def _lewis_views() -> NDArray[np.int64]:
    """The keys of the 80 canonical views, counting up."""
    return np.unique(_view_keys(lewis_space()))


def _known_views(scenarios: Scenarios) -> NDArray[np.bool_]:
    """Whether ``train`` contains each seat's view, ``[N, 2]``."""
    numbers = view_numbers(scenarios)
    return (numbers >= 0) & ~np.isin(numbers, HELD_OUT_VIEWS)
