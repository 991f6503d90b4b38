"""What two memoryless partners that know their probabilities score against each other, without sampling.

Given the scenario, what a seat says depends on the other's last act alone, so the distribution over what was last said
is carried from turn to turn, with the mover's own claim beside it for the final selection. Only for
``disagree="ends"``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Doubles, Partner
from dond_marl.yardsticks.contexts import Views, splits_of
from dond_marl.yardsticks.metrics import TEN
from dond_marl.yardsticks.odds import check_odds
from dond_marl.yardsticks.replies import Replies

BLOCK = 256  # scenarios that are looked at together


class Expected(NamedTuple):
    """Expectations of every scenario's game."""

    points: Doubles  # [S, 2] points of ten
    deals: Doubles  # [S] probability
    turns: Doubles  # [S] acts of both seats


def policy_value(partners: tuple[Partner, Partner], scenarios: Scenarios, rules: Rules, prior: str) -> Expected:
    """The exact expectations of ``partners[0]`` opening against ``partners[1]``; raises ``ValueError`` without odds."""
    for partner in partners:
        check_odds(partner, rules)
    parts = [
        _block(partners, scenarios.rows(slice(start, start + BLOCK)), rules, prior)
        for start in range(0, scenarios.size, BLOCK)
    ]
    return Expected(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _block(partners: tuple[Partner, Partner], scenarios: Scenarios, rules: Rules, prior: str) -> Expected:
    size, rows = scenarios.size, np.arange(scenarios.size)
    replies = [
        Replies(partner, rules, Views(scenarios.counts, scenarios.utilities[:, seat]), prior)
        for seat, partner in enumerate(partners)
    ]
    splits, n = splits_of(scenarios.counts), replies[0].width
    rest, fits = splits.rest, np.arange(n) < splits.number[:, None]
    worth = np.einsum("sni,spi->spn", splits.oA, scenarios.utilities, dtype=np.int64)
    worth = worth * (TEN / np.maximum(scenarios.wholes, 1)[:, :, None])  # [S, 2, N] of keeping each split
    points, deals, turns = np.zeros((size, 2)), np.zeros(size), np.zeros(size)
    heard = np.zeros((size, 2 * n))  # [S, 2N] how likely each offer was said last, the game being open
    mirrored = np.zeros((size, 2 * n))  # of that, with the mover's own claim the rest of it
    for turn in range(rules.max_turns):
        mover, left = turn % 2, rules.max_turns - turn
        said = replies[mover].probs(left, rows)  # [S, 2N + 1, 2N + 3]
        answers = said[:, :-1] if turn else said[:, -1:]
        weight = heard if turn else np.ones((size, 1))
        turns += weight.sum(axis=1)
        spoken = weight[:, :, None] * answers  # [S, H, X]
        if turn:
            kept = np.tile(rest, 2)[:, :, None]  # what each offer leaves to the mover
            closed = spoken[:, :, 2 * n] + mirrored * answers[:, :, 2 * n + 2]
            if left == 1:
                closed += sum(np.take_along_axis(spoken, kept + kind * n, axis=2)[:, :, 0] for kind in (0, 1))
            deals += closed.sum(axis=1)
            claims = np.tile(np.arange(n), 2)
            points[:, 1 - mover] += (closed * worth[:, 1 - mover][:, claims]).sum(axis=1)
            points[:, mover] += (closed * np.take_along_axis(worth[:, mover], kept[:, :, 0], axis=1)).sum(axis=1)
            mirrors = [np.take_along_axis(spoken, kept + kind * n, axis=2)[:, :, 0] for kind in (0, 1)]
            # Where this offer claims what the last one left, the next mover's own claim is the rest of this one.
            both = [(mirror[:, :n] + mirror[:, n:]) * fits for mirror in mirrors]  # [S, N] by the last one's split
            mirrored = np.concatenate([np.take_along_axis(part, rest, axis=1) * fits for part in both], axis=1)
        heard = spoken[:, :, : 2 * n].sum(axis=1)
    return Expected(points, deals, turns)
