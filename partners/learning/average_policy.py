"""The average of all that a best responder has ever done, learned beside it: neural fictitious self-play's result.

Best responses circle; what settles, where fictitious play does, is the average of them all over time. A second network
learns it by imitation: every act of the responder is offered to a reservoir, which keeps an even sample of all acts
since the beginning, and the network is taught what it keeps (Heinrich & Silver 2016, *Deep Reinforcement Learning from
Self-Play in Imperfect-Information Games*, section 3, algorithm 1; reservoir sampling: Vitter 1985, algorithm R). The
average is what is ranked, frozen and evaluated; the responder practices against it and, in a share of the games,
against itself. Not as there: the responder learns by this project's learners from its own games alone, where theirs
learns from the average's games too. R = acts kept, M = acts of an update.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.randomness import generator
from partners.learning.adam import Adam, moments, set_moments
from partners.learning.experience import Experience
from partners.learning.settings import LearnerSettings
from partners.network.checkpoint import NETWORK, part_of
from partners.network.network import PolicyNetwork

RESERVOIR, MOMENTS = "reservoir.", "average_optimizer."  # before the names of their tensors


class Kept(NamedTuple):
    """An even sample of all acts so far."""

    features: Tensor  # [R, F]
    mask: Tensor  # [R, 4, W] bool
    act: Tensor  # [R] int64
    oA: Tensor  # [R, 3] int64


class AveragePolicy:
    """A network that imitates what was done so far, all of it alike, from a reservoir of ``capacity`` acts.

    ``network``: where it starts, its own from then on. ``anticipation`` (0..1): in which share of its games the
    responder meets itself and not the average (eta of the paper). Randomness is a function of (seed, update).
    """

    def __init__(
        self, network: PolicyNetwork, settings: LearnerSettings, seed: int, capacity: int, anticipation: float
    ) -> None:
        self.network, self.anticipation = network, anticipation
        self._settings, self._seed, self._capacity = settings, seed, capacity
        self._optimizer = Adam(network.parameters(), lr=settings.lr, fused=True)
        self._kept: Kept | None = None

    def learn(self, experience: Experience, update: int, seen: int) -> float:
        """Offer the acts of one update to the reservoir and imitate what it keeps; nats an act is surprised by.

        ``seen``: how many acts were offered before. As many acts are gone through as were offered.
        """
        self._kept = self._with(experience, update, seen)
        kept, size, step = self._kept, len(self._kept.act), self._settings.minibatch
        rows = torch.from_numpy(generator(self._seed, "average", update).integers(0, size, experience.size))
        total = 0.0
        self.network.train()
        for part in torch.split(rows.to(self.network.device), step):
            read = self.network.read(kept.features.index_select(0, part))
            logits, _ = self.network.answer(read)
            said = self.network.said(logits, kept.mask.index_select(0, part), read)
            taken = said.taken(kept.act.index_select(0, part), kept.oA.index_select(0, part))
            loss = -taken.log_prob.mean()
            self._optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # PyTorch's own
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._settings.grad_norm)
            self._optimizer.step()
            total += float(loss.detach()) * len(part)
        self.network.eval()
        return total / experience.size

    def state(self) -> dict[str, Tensor]:
        """Everything that the next update depends on, by name; the network is the one that plays for the learner."""
        tensors = {f"{NETWORK}{name}": value for name, value in self.network.state_dict().items()}
        tensors |= moments(self._optimizer, list(self.network.parameters()), MOMENTS)
        if self._kept is not None:
            tensors |= {f"{RESERVOIR}{name}": value for name, value in self._kept._asdict().items()}
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.network.load_state_dict(part_of(tensors, NETWORK))
        set_moments(self._optimizer, list(self.network.parameters()), part_of(tensors, MOMENTS))
        kept = part_of(tensors, RESERVOIR)
        self._kept = Kept(**{name: value.clone() for name, value in kept.items()}) if kept else None

    def _with(self, experience: Experience, update: int, seen: int) -> Kept:
        """What is kept once the acts of ``experience`` were offered, ``seen`` before them."""
        offered = Kept(experience.features, experience.mask, experience.act, experience.oA)
        places, rows = placed(self._capacity, seen, experience.size, generator(self._seed, "reservoir", update))
        device = offered.act.device
        before = 0 if self._kept is None else len(self._kept.act)
        size = max(before, int(places.max(initial=-1)) + 1)
        where, whence = torch.from_numpy(places).to(device), torch.from_numpy(rows).to(device)
        parts = []
        for name, new in offered._asdict().items():
            own = new.new_zeros((size, *new.shape[1:]))
            if self._kept is not None:
                own[:before] = getattr(self._kept, name)
            own[where] = new.index_select(0, whence)
            parts.append(own)
        return Kept(*parts)


def placed(
    capacity: int, seen: int, offered: int, draws: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where in a reservoir the acts that are kept go, no place twice, and which of the ``offered`` they are.

    The n-th act of all takes place n while there is room, then a place drawn from n, if the reservoir has that one: at
    any time every act so far is kept with the same probability.
    """
    number = seen + np.arange(1, offered + 1)
    place = np.where(number <= capacity, number - 1, (draws.random(offered) * number).astype(np.int64))
    rows = np.flatnonzero(place < capacity)[::-1]  # the last that is put into a place stays there
    places, first = np.unique(place[rows], return_index=True)
    return places, rows[first]
