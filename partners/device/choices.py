"""A policy network in a seat of games on a device: what it says there, and what a learner notes of it."""

from __future__ import annotations

import torch
from torch import Tensor

from dond_marl.game import Act
from partners.device.features import features, mask
from partners.device.noise import Uniforms
from partners.device.table import Finished, Seen
from partners.learning.experience import Experience
from partners.network.network import PolicyNetwork
from partners.network.partner import Choices, chosen_from


@torch.no_grad()
def choose(network: PolicyNetwork, seen: Seen, noise: Uniforms | None, hints: Tensor | None = None) -> Choices:
    """What the network says in B games, by the noise of the turn; without noise the likeliest."""
    uniforms = None if noise is None else noise.of_turn(seen.taken).index_select(1, seen.live)
    return chosen_from(network, features(seen, network.adapter, hints), mask(seen, network.shape), uniforms)


def said(network: PolicyNetwork, seen: Seen, noise: Uniforms | None) -> tuple[Tensor, Tensor]:
    """The act ``[B]`` and what it would keep ``[3, B]``, int8."""
    return _spoken(choose(network, seen, noise))


def _spoken(choices: Choices) -> tuple[Tensor, Tensor]:
    act = choices.act.to(torch.int8)
    return act, choices.oA.t().to(torch.int8) * (act <= Act.INSIST)


class LearningChoices:
    """A network that plays one block of games on a device and remembers what it said; made anew for every block."""

    def __init__(self, network: PolicyNetwork) -> None:
        self.network = network
        self._choices: list[tuple[int, Tensor, Choices]] = []

    def say(self, seen: Seen, noise: Uniforms, hints: Tensor | None = None) -> tuple[Tensor, Tensor, None]:
        """One act per open game; see :class:`partners.device.seats.Seated`."""
        choices = choose(self.network, seen, noise, hints)
        self._choices.append((seen.taken, seen.live, choices))
        return *_spoken(choices), None

    def experience(self, finished: Finished, pay: Tensor, told: Tensor | None = None) -> Experience | None:
        """What it said, ``None`` where it never spoke; ``pay[N]`` float64: what it earned, as a share of the whole.

        ``told[N, 4]``: what learning alone is told of each game.

        As of the host's :class:`partners.learning.experience.LearningSeat`: of a game that counts for nobody nothing is
        learned.
        """
        counted = finished.counted
        if counted is not None:
            self._choices = [part for part in (_counting(counted, *said) for said in self._choices) if len(part[1])]
        if not self._choices:
            return None
        seat, size, device = self._choices[0][0] % 2, len(finished.turns), pay.device
        own_turns = (finished.rules.max_turns - seat + 1) // 2
        own = (finished.turns.long() + 1 - seat) // 2  # own decisions in each game
        acted = own > 0 if counted is None else (own > 0) & counted
        reward = torch.zeros(own_turns, size, device=device)
        reward.scatter_(0, (own - 1).clamp(min=0)[None], torch.where(acted, pay, 0.0).float()[None])
        rows = {
            name: torch.cat([getattr(choices, name) for _, _, choices in self._choices])
            for name in ("features", "mask", "act", "oA", "log_prob", "value")
        }
        of_told = None if told is None else torch.cat([told[live] for _, live, _ in self._choices])
        place = torch.cat([taken // 2 * size + live for taken, live, _ in self._choices])
        seats = torch.full((size,), seat, device=device)
        return Experience(**rows, place=place, reward=reward, seat=seats, told=of_told)


def _counting(counted: Tensor, taken: int, live: Tensor, choices: Choices) -> tuple[int, Tensor, Choices]:
    """Of what was said on one turn, that of the games that count."""
    rows = counted[live].nonzero().flatten()
    return taken, live[rows], Choices(*(part[rows] for part in choices))
