"""Experience: the own decisions of a learning seat in complete games, with their rewards and targets.

Every decision is included: dropping a surplus would favour short games. A game's reward is at the last own decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.batch import Games
from dond_marl.game import Act
from dond_marl.seats import Bools, Cause, Decisions, Floats, Rows, Traits, Turns, constant
from partners.network.network import PolicyNetwork
from partners.network.partner import Choices, NetworkPartner

TargetFunction = Callable[[Turns, Rows], Floats]  # targets [B, ...] of B turns, which are of these games


class Experience(NamedTuple):
    """M own decisions, laid out in N games of at most T own turns."""

    features: Tensor  # [M, F]
    mask: Tensor  # [M, 4, W] bool
    act: Tensor  # [M] int64
    oA: Tensor  # [M, 3] int64
    log_prob: Tensor  # [M]
    label_log_odds: Tensor  # [M] of INSIST to PROPOSE
    value: Tensor  # [M]
    slot: Tensor  # [M] index into a flat [T, N]
    reward: Tensor  # [T, N] share of the seat's whole, at the last own decision
    seat: Tensor  # [N] the learner's seat in each game
    targets: Tensor | None = None  # [M, 4] int64: the partner's values and number; for learning only
    regrets: Tensor | None = None  # [M, A] of every act; see partners.learning.exact_targets
    posterior: Tensor | None = None  # [M, 33 + K] exact belief about values and identity; NaN where unknown
    unread: Tensor | None = None  # [M] bool: the partner reads no labels, so that the act's label had no effect

    @property
    def size(self) -> int:
        return len(self.act)

    @property
    def unread_label(self) -> Tensor | None:
        """The label of each offer that the partner does not read, ``[M]``: 1 INSIST, -1 PROPOSE; 0 for other rows."""
        return None if self.unread is None else (self.unread & (self.act <= Act.INSIST)) * (2.0 * self.act - 1)

    def on_device(self, device: torch.device) -> Experience:
        return Experience(*(None if tensor is None else tensor.to(device) for tensor in self))  # type: ignore[arg-type]

    @property
    def is_decision(self) -> Tensor:
        """Mask of the decisions, ``[T, N]``."""
        return self.dense(torch.ones_like(self.slot, dtype=torch.bool))

    def dense(self, values: Tensor) -> Tensor:
        """``values[M]`` laid out as [T, N], zeros elsewhere."""
        laid = torch.zeros(self.reward.numel(), dtype=values.dtype, device=values.device)
        laid[self.slot] = values
        return laid.view_as(self.reward)


# Columns of an Experience that a network's choices hold.
ROWS = ("features", "mask", "act", "oA", "log_prob", "label_log_odds", "value")


class LearningSeat:
    """A network that plays one batch of games and records its choices; a new one is made for every batch.

    ``greedy``: it takes its likeliest acts; then only targets of all acts are to be learned from, not its rewards.
    """

    def __init__(self, network: PolicyNetwork, *, greedy: bool = False) -> None:
        self._partner = NetworkPartner(network, greedy=greedy)
        self._choices: list[tuple[Turns, Choices]] = []

    @property
    def traits(self) -> Traits:
        return self._partner.traits

    def act(self, turns: Turns) -> Decisions:
        choices = self._partner.choose(turns)
        self._choices.append((turns, choices))
        return Decisions(
            choices.act.numpy().astype(np.int8),
            choices.oA.numpy().astype(np.int8),
            choices.log_prob.exp().clamp(max=1.0).numpy(),
            constant(Cause.FREE, np.int8, turns.size),
        )

    def experience(
        self,
        games: Games,
        rewards: NDArray[np.float64],
        targets: NDArray[np.int64] | None = None,
        regrets: TargetFunction | None = None,
        beliefs: TargetFunction | None = None,
        unread: Bools | None = None,
    ) -> Experience | None:
        """The recorded decisions of ``games``; ``None`` if there are none.

        ``rewards[N, 2]``: of each seat. ``targets[N, 4]``: privileged targets of each game. ``regrets``, ``beliefs``:
        exact targets, see :mod:`partners.learning.exact_targets`. ``unread[N]``: games whose partner reads no labels.
        Games that are not valid (:attr:`dond_marl.batch.Games.valid`) are left out.
        """
        if not games.valid.all():
            self._choices = self._valid_choices(games)
        if not self._choices:
            return None
        seat = self._choices[0][0].turns_taken % 2
        own_turns = (games.rules.max_turns - seat + 1) // 2
        # The rows of a turn are the games that had not ended, in order.
        live = [np.flatnonzero((games.turns > turns.turns_taken) & games.valid) for turns, _ in self._choices]
        places = [
            turns.turns_taken // 2 * games.size + rows for (turns, _), rows in zip(self._choices, live, strict=True)
        ]

        def of_all_turns(targets_of: TargetFunction | None) -> Tensor | None:
            if targets_of is None:
                return None
            parts = [targets_of(turns, rows) for (turns, _), rows in zip(self._choices, live, strict=True)]
            return torch.from_numpy(np.concatenate(parts))

        reward = np.zeros((own_turns, games.size), dtype=np.float32)
        decisions = (games.turns.astype(np.int64) + 1 - seat) // 2  # own decisions in each game
        acted = np.flatnonzero((decisions > 0) & games.valid)
        reward[decisions[acted] - 1, acted] = rewards[acted, seat]
        return Experience(
            **{name: torch.cat([getattr(choices, name) for _, choices in self._choices]) for name in ROWS},
            slot=torch.from_numpy(np.concatenate(places)),
            reward=torch.from_numpy(reward),
            seat=torch.full((games.size,), seat),
            targets=None if targets is None else torch.from_numpy(targets[np.concatenate(live)]),
            regrets=of_all_turns(regrets),
            posterior=of_all_turns(beliefs),
            unread=None if unread is None else torch.from_numpy(unread[np.concatenate(live)]),
        )

    def split_blocks(self, blocks: Sequence[Games]) -> list[LearningSeat]:
        """One learning seat per block of a batch that was played in one call, in the order of the blocks."""
        seats = [LearningSeat(self._partner.network) for _ in blocks]
        for turns, choices in self._choices:
            start = 0
            for seat, games in zip(seats, blocks, strict=True):
                end = start + int(
                    (games.turns > turns.turns_taken).sum()
                )  # a turn's rows are the games that had not ended
                if end > start:
                    block_rows = slice(start, end)
                    seat._choices.append((turns.rows(block_rows), Choices(*(part[block_rows] for part in choices))))
                start = end
        return seats

    def _valid_choices(self, games: Games) -> list[tuple[Turns, Choices]]:
        result = []
        for turns, choices in self._choices:
            rows = np.flatnonzero(games.valid[games.turns > turns.turns_taken])
            if len(rows):
                index = torch.from_numpy(rows)
                result.append((turns.rows(rows), Choices(*(part[index] for part in choices))))
        return result


def join_experience(parts: Sequence[Experience]) -> Experience:
    """The experience of several blocks as one."""
    length = max(len(part.reward) for part in parts)
    games = np.cumsum([0, *(part.reward.shape[1] for part in parts)])
    places = []
    for part, start in zip(parts, games[:-1].tolist(), strict=True):
        turn, game = part.slot // part.reward.shape[1], part.slot % part.reward.shape[1]
        places.append(turn * int(games[-1]) + game + start)
    reward = torch.cat([torch.nn.functional.pad(p.reward, (0, 0, 0, length - len(p.reward))) for p in parts], dim=1)
    columns: dict[str, Any] = {name: torch.cat([getattr(part, name) for part in parts]) for name in (*ROWS, "seat")}
    for name in ("targets", "regrets", "posterior", "unread"):
        present = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        columns[name] = torch.cat(present) if present else None
    return Experience(slot=torch.cat(places), reward=reward, **columns)
