"""The average policy of neural fictitious self-play (NFSP): a network that imitates all past play of a best responder.

Best responses cycle; where fictitious play converges, their average over time does. A second network learns it by
imitation from a reservoir buffer, a uniform sample of all acts of the responder so far (Heinrich & Silver 2016, *Deep
Reinforcement Learning from Self-Play in Imperfect-Information Games*, section 3, algorithm 1; reservoir sampling:
Vitter 1985, algorithm R). The average policy is ranked, frozen and evaluated; the responder practices against it and,
in a share of the games, against itself. Unlike there, the responder learns by this project's learners, and from its own
games only. R = acts in the reservoir, M = acts of an update.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.randomness import generator
from partners.learning.adam import Adam
from partners.learning.experience import Experience
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import NETWORK, with_prefix
from partners.network.network import PolicyNetwork

RESERVOIR, MOMENTS = "reservoir.", "average_optimizer."  # before the names of their tensors


class Reservoir(NamedTuple):
    """A uniform sample of all acts so far."""

    features: Tensor  # [R, F]
    mask: Tensor  # [R, 4, W] bool
    act: Tensor  # [R] int64
    oA: Tensor  # [R, 3] int64


class AveragePolicy:
    """A network trained to imitate the acts in a reservoir of ``capacity`` acts.

    ``network``: the initial one, trained in place. ``anticipation`` (0..1): the share of the responder's games that are
    against itself instead of the average policy (eta of the paper). Randomness is a function of (seed, update).
    """

    def __init__(
        self, network: PolicyNetwork, settings: LearnerSettings, seed: int, capacity: int, anticipation: float
    ) -> None:
        self.network, self.anticipation = network, anticipation
        self._settings, self._seed, self._capacity = settings, seed, capacity
        self._optimizer = Adam(network.parameters(), settings.lr)
        self._reservoir: Reservoir | None = None

    def learn(self, experience: Experience, update: int, acts_before: int) -> float:
        """Add the acts of one update to the reservoir, train on as many acts of it, and return the mean cross-entropy.

        ``acts_before``: the number of acts before this update. The cross-entropy is in nats per act.
        """
        self._reservoir = self._add(experience, update, acts_before)
        buffer, size, step = self._reservoir, len(self._reservoir.act), self._settings.minibatch
        rows = torch.from_numpy(generator(self._seed, "average", update).integers(0, size, experience.size))
        total = 0.0
        self.network.train()
        for part in torch.split(rows.to(self.network.device), step):
            inputs = self.network.prepare(buffer.features.index_select(0, part))
            logits, _ = self.network.evaluate(inputs)
            policy = self.network.distribution(logits, buffer.mask.index_select(0, part), inputs)
            loss = -policy.log_probs(buffer.act.index_select(0, part), buffer.oA.index_select(0, part)).log_prob.mean()
            self._optimizer.descend(loss, self._settings.grad_norm)
            total += float(loss.detach()) * len(part)
        self.network.eval()
        return total / experience.size

    def state(self) -> dict[str, Tensor]:
        """Everything that the next update depends on, tensors by name."""
        tensors = {f"{NETWORK}{name}": value for name, value in self.network.state_dict().items()}
        tensors |= self._optimizer.state(MOMENTS)
        if self._reservoir is not None:
            tensors |= {f"{RESERVOIR}{name}": value for name, value in self._reservoir._asdict().items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.network.load_state_dict(with_prefix(tensors, NETWORK))
        self._optimizer.restore(with_prefix(tensors, MOMENTS))
        columns = with_prefix(tensors, RESERVOIR)
        self._reservoir = Reservoir(**{name: value.clone() for name, value in columns.items()}) if columns else None

    def _add(self, experience: Experience, update: int, acts_before: int) -> Reservoir:
        """The reservoir after the acts of ``experience``, with ``acts_before`` acts before them."""
        offered = Reservoir(experience.features, experience.mask, experience.act, experience.oA)
        places, rows = reservoir_places(
            self._capacity, acts_before, experience.size, generator(self._seed, "reservoir", update)
        )
        device = offered.act.device
        before = 0 if self._reservoir is None else len(self._reservoir.act)
        size = max(before, int(places.max(initial=-1)) + 1)
        target, source = torch.from_numpy(places).to(device), torch.from_numpy(rows).to(device)
        parts = []
        for name, column in offered._asdict().items():
            stored = column.new_zeros((size, *column.shape[1:]))
            if self._reservoir is not None:
                stored[:before] = getattr(self._reservoir, name)
            stored[target] = column.index_select(0, source)
            parts.append(stored)
        return Reservoir(*parts)


def reservoir_places(
    capacity: int, acts_before: int, offered: int, draws: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places in a reservoir that get a new act, each once, and the number of that act among the ``offered`` ones.

    The n-th act of all goes to place n while there is room, then to a place drawn uniformly from n, if that is below
    ``capacity``: at any time every act so far is in the reservoir with the same probability.
    """
    number = acts_before + np.arange(1, offered + 1)
    slot = np.where(number <= capacity, number - 1, (draws.random(offered) * number).astype(np.int64))
    rows = np.flatnonzero(slot < capacity)[::-1]  # the last that is put into a place stays there
    places, first = np.unique(slot[rows], return_index=True)
    return places, rows[first]
