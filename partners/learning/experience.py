"""What a learner learns from: the own decisions of a learning seat in complete games.

Every decision is kept: dropping a surplus would favor short games. A game's reward is that of the last own decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.batch import Games
from dond_marl.seats import Cause, Decisions, Floats, Rows, Traits, Turns, constant
from partners.network.network import PolicyNetwork
from partners.network.partner import Choices, NetworkPartner

Exactly = Callable[[Turns, Rows], Floats]  # what is known exactly, [B, ...], on these turns of these games


class Experience(NamedTuple):
    """M own decisions and how they lie in N games of T own turns at most."""

    features: Tensor  # [M, F]
    mask: Tensor  # [M, 4, W] bool
    act: Tensor  # [M] int64
    oA: Tensor  # [M, 3] int64
    log_prob: Tensor  # [M]
    value: Tensor  # [M]
    place: Tensor  # [M] where each lies in a flat [T, N]
    reward: Tensor  # [T, N] share of the seat's whole, at its own last decision
    seat: Tensor  # [N] which seat each game's learner had
    told: Tensor | None = None  # [M, 4] int64: the partner's values and who it was, for learning alone
    lost: Tensor | None = None  # [M, A] what every numbered act loses; see partners.learning.exact_targets
    posterior: Tensor | None = None  # [M, 33 + K] the exact belief about values and who it was; NaN where unknown

    @property
    def size(self) -> int:
        return len(self.act)

    def to(self, device: torch.device) -> Experience:
        return Experience(*(None if tensor is None else tensor.to(device) for tensor in self))  # type: ignore[arg-type]

    @property
    def played(self) -> Tensor:
        """Which of [T, N] is a decision."""
        return self.dense(torch.ones_like(self.place, dtype=torch.bool))

    def dense(self, values: Tensor) -> Tensor:
        """``values[M]`` laid out as [T, N], zeros elsewhere."""
        laid = torch.zeros(self.reward.numel(), dtype=values.dtype, device=values.device)
        laid[self.place] = values
        return laid.view_as(self.reward)


class LearningSeat:
    """A network that plays one block of games and remembers what it said; made anew for every block.

    ``greedy``: it says its likeliest acts; only what is told of every act is to be learned from these.
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
        told: NDArray[np.int64] | None = None,
        losses: Exactly | None = None,
        beliefs: Exactly | None = None,
    ) -> Experience | None:
        """What it said in ``games``, ``None`` where it never spoke; ``rewards[N, 2]``: what each seat earned.

        ``told[N, 4]``: what learning alone is told of each game (:mod:`partners.learning.told`); ``losses``: what the
        acts of some games lose, and ``beliefs``: the exact beliefs there (:mod:`partners.learning.exact_targets`). Of a
        game that counts for nobody (:attr:`dond_marl.batch.Games.counted`) nothing is learned, as of one in which it
        never acted.
        """
        if not games.counted.all():
            self._choices = self._of(games)
        if not self._choices:
            return None
        seat = self._choices[0][0].taken % 2
        own_turns = (games.rules.max_turns - seat + 1) // 2
        # The rows of a turn are the games that had not ended, in order.
        live = [np.flatnonzero((games.turns > turns.taken) & games.counted) for turns, _ in self._choices]
        places = [turns.taken // 2 * games.size + rows for (turns, _), rows in zip(self._choices, live, strict=True)]

        def every(known: Exactly | None) -> Tensor | None:
            if known is None:
                return None
            asked = [known(turns, rows) for (turns, _), rows in zip(self._choices, live, strict=True)]
            return torch.from_numpy(np.concatenate(asked))

        reward = np.zeros((own_turns, games.size), dtype=np.float32)
        own = (games.turns.astype(np.int64) + 1 - seat) // 2  # own decisions in each game
        acted = np.flatnonzero((own > 0) & games.counted)
        reward[own[acted] - 1, acted] = rewards[acted, seat]
        rows = {
            name: torch.cat([getattr(choices, name) for _, choices in self._choices])
            for name in ("features", "mask", "act", "oA", "log_prob", "value")
        }
        return Experience(
            **rows,
            place=torch.from_numpy(np.concatenate(places)),
            reward=torch.from_numpy(reward),
            seat=torch.full((games.size,), seat),
            told=None if told is None else torch.from_numpy(told[np.concatenate(live)]),
            lost=every(losses),
            posterior=every(beliefs),
        )

    def apart(self, blocks: Sequence[Games]) -> list[LearningSeat]:
        """Itself in each of the blocks that it played side by side, in their order."""
        seats = [LearningSeat(self._partner.network) for _ in blocks]
        for turns, choices in self._choices:
            start = 0
            for seat, games in zip(seats, blocks, strict=True):
                end = start + int((games.turns > turns.taken).sum())  # a turn's rows are the games that had not ended
                if end > start:
                    some = slice(start, end)
                    seat._choices.append((turns.rows(some), Choices(*(part[some] for part in choices))))
                start = end
        return seats

    def _of(self, games: Games) -> list[tuple[Turns, Choices]]:
        """What it said in the games that count."""
        kept = []
        for turns, choices in self._choices:
            rows = np.flatnonzero(games.counted[games.turns > turns.taken])
            if len(rows):
                some = torch.from_numpy(rows)
                kept.append((turns.rows(rows), Choices(*(part[some] for part in choices))))
        return kept


def joined(parts: Sequence[Experience]) -> Experience:
    """The experience of several blocks as one."""
    length = max(len(part.reward) for part in parts)
    games = np.cumsum([0, *(part.reward.shape[1] for part in parts)])
    places = []
    for part, start in zip(parts, games[:-1].tolist(), strict=True):
        turn, game = part.place // part.reward.shape[1], part.place % part.reward.shape[1]
        places.append(turn * int(games[-1]) + game + start)
    reward = torch.cat([torch.nn.functional.pad(p.reward, (0, 0, 0, length - len(p.reward))) for p in parts], dim=1)
    rows = {
        name: torch.cat([getattr(part, name) for part in parts])
        for name in ("features", "mask", "act", "oA", "log_prob", "value", "seat")
    }
    told = [part.told for part in parts if part.told is not None]
    lost = [part.lost for part in parts if part.lost is not None]
    posterior = [part.posterior for part in parts if part.posterior is not None]
    return Experience(
        place=torch.cat(places),
        reward=reward,
        told=torch.cat(told) if told else None,
        lost=torch.cat(lost) if lost else None,
        posterior=torch.cat(posterior) if posterior else None,
        **rows,
    )
