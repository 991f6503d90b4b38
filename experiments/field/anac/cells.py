"""One cell: somebody against somebody of ours, in one seat of the same scenarios with the same noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.game import SEATS, Act, Rules
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import Partner

SOURCE, SPLIT = "lewis", "paper_test"
DIGITS = 4


class Cell(NamedTuple):
    """What came of it; K = scenarios."""

    player: str  # a dotted path, or a name of ours
    ours: str
    seat: int  # the player's
    points: list[int]  # [K] of the player
    our_points: list[int]  # [K] of ours
    deals: float  # the share of games with one
    turns: float  # acts of both a game
    opens: float  # the share of its own whole that the player's first offers claim; nan where it made none
    closes: float  # the same of its last offers
    offered: int  # games in which it made an offer
    forfeits: dict[str, int]  # how often it forfeited, by why
    cpu_ms: float  # processor time a game, of the player's process and this one

    @property
    def size(self) -> int:
        """How many games, K."""
        return len(self.points)


def sample(number: int, seed: int) -> Scenarios:
    """``number`` of the 392 scenarios of the paper's test set, in an order that is drawn once for the seed."""
    table = open_source(SOURCE, split=SPLIT).table
    assert table is not None
    return table.rows(generator(seed, "anac").permutation(table.size)[:number])


def play(
    player: Partner, ours: Partner, seat: int, scenarios: Scenarios, max_turns: int, seed: int, block: int = 0
) -> Games:
    """The games of ``player`` in ``seat``; the noise is the block's, the same whoever plays."""
    both = (player, ours) if seat == 0 else (ours, player)
    return rollout(both, scenarios, Rules(max_turns), seed=seed, index=(seat, block), prior=SOURCE)


def cell(who: str, ours: str, seat: int, games: Games, forfeits: dict[str, int], cpu_ms: float) -> Cell:
    """The figures of these games."""
    opens, closes, offered = claimed(games, seat)
    return Cell(
        who,
        ours,
        seat,
        games.scores[:, seat].tolist(),
        games.scores[:, 1 - seat].tolist(),
        round(float(games.deal.mean()), DIGITS),
        round(float(games.turns.mean()), DIGITS),
        round(opens, DIGITS),
        round(closes, DIGITS),
        offered,
        forfeits,
        round(cpu_ms, 2),
    )


def whole(blocks: Sequence[Cell]) -> Cell:
    """The blocks of one cell, in their order, as one."""
    games = [block.size for block in blocks]
    offered = [block.offered for block in blocks]
    forfeits: Counter[str] = Counter()
    for block in blocks:
        forfeits.update(block.forfeits)
    return Cell(
        *blocks[0][:3],
        [points for block in blocks for points in block.points],
        [points for block in blocks for points in block.our_points],
        _weighted([block.deals for block in blocks], games),
        _weighted([block.turns for block in blocks], games),
        _weighted([block.opens for block in blocks], offered),
        _weighted([block.closes for block in blocks], offered),
        sum(offered),
        dict(forfeits),
        _weighted([block.cpu_ms for block in blocks], games),
    )


def _weighted(values: Sequence[float], weights: Sequence[int]) -> float:
    """The mean of what has a weight; nan where nothing has one."""
    some = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    return round(sum(v * w for v, w in some) / sum(w for _, w in some), DIGITS) if some else math.nan


def claimed(games: Games, seat: int) -> tuple[float, float, int]:
    """The mean share of its own whole that a seat claims in its first offer, the same of its last, and how many games.

    The shares are nan without offers.
    """
    own = np.arange(games.act.shape[1]) % len(SEATS) == seat
    offers = np.isin(games.act, (Act.PROPOSE, Act.INSIST)) & own
    some = offers.any(axis=1)
    if not some.any():
        return math.nan, math.nan, 0
    values = games.scenarios.utilities[:, seat].astype(np.int64)
    wholes = (values * games.scenarios.counts).sum(axis=1)
    shares = (games.oA * values[:, None]).sum(axis=2) / wholes[:, None]
    rows = np.flatnonzero(some)
    first = shares[rows, offers[rows].argmax(axis=1)]
    last = shares[rows, offers.shape[1] - 1 - offers[rows, ::-1].argmax(axis=1)]
    return float(first.mean()), float(last.mean()), len(rows)


def as_document(found: Cell) -> dict[str, Any]:
    """A cell as plain values; no number is written where there is none."""
    return {key: None if value != value else value for key, value in found._asdict().items()}


def from_document(document: dict[str, Any]) -> Cell:
    """The cell of :func:`as_document`."""
    read: dict[str, Any] = {key: math.nan if value is None else value for key, value in document.items()}
    return Cell(**read)
