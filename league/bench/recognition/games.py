"""Games of one member with a crowd, kept as the turns on which it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, History, Partner, Rows, Turns
from league.bench.play import noise_index
from league.bench.protocol import NOISE_SEED
from league.evaluation.matches import Witness

PRIOR = "lewis"
NOT_BY_ROW = ("rules", "prior", "history")  # fields of Turns


class Asked(NamedTuple):
    """What a member was asked on one of its turns, in the games that had not ended, and what it said."""

    scenario: Rows  # [B] the number of each row's scenario
    turns: Turns
    said: Decisions


def asked(player: Partner, seat: int, partner: Partner, name: str, scenarios: Scenarios, rules: Rules) -> list[Asked]:
    """All that ``player`` in ``seat`` is asked in a game over each scenario with ``partner``.

    The partner's ``name`` fixes the luck of the games, as in the benchmark.
    """
    witness = Witness(player)
    pair = (witness, partner) if seat == 0 else (partner, witness)
    games = rollout(pair, scenarios, rules, seed=NOISE_SEED, index=(noise_index(name),), prior=PRIOR)
    return [
        Asked(np.flatnonzero(games.turns > turns.taken), turns, said)
        for turns, said in zip(witness.turns, witness.said, strict=True)
    ]


def together(parts: Sequence[Turns]) -> Turns:
    """The rows of several batches, all on the same turn of games under the same rules, one after the other."""
    acts = np.concatenate([part.history.act for part in parts])
    offers = np.concatenate([part.history.oA for part in parts])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Turns._fields
        if name not in NOT_BY_ROW
    }
    history = History(np.ascontiguousarray(acts.T), np.ascontiguousarray(offers.transpose(1, 2, 0)), parts[0].taken)
    return parts[0]._replace(history=history, **columns)
