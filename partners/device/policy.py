"""A policy network in a seat of games on a device: what it says there, and what a learner notes of it."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dond_marl.envs.features import BaseLayout
from dond_marl.game import ITEMS, Act
from hints import HintAdapter
from partners.device.inputs import Uniforms
from partners.device.table import Finished, Seen
from partners.learning.experience import Experience
from partners.network.network import PolicyNetwork
from partners.network.partner import Choices, chosen_from
from partners.network.shape import PARTS, NetworkShape


def features(seen: Seen, adapter: HintAdapter, hints: Tensor | None = None) -> Tensor:
    """The features of B turns, ``[B, F]`` float32 in [0, 1]; ``hints[B, 10]``: what the seat was told, or None."""
    base = _base(seen, adapter.base)
    if not adapter.hints:
        return base
    told = base.new_zeros(seen.size, adapter.width - base.shape[1]) if hints is None else hints
    return torch.cat([base, told], dim=1)


def mask(seen: Seen, shape: NetworkShape) -> Tensor:
    """What may be said, ``[B, 4, W]`` bool, as in :meth:`partners.network.shape.NetworkShape.mask`."""
    device = seen.counts.device
    allowed = torch.zeros(PARTS, shape.width, seen.size, dtype=torch.bool, device=device)
    allowed[0, : len(Act)] = seen.act_mask
    entries = torch.arange(shape.max_count + 1, dtype=torch.int8, device=device)[:, None]
    allowed[1:, : shape.max_count + 1] = entries <= seen.counts[:, None]
    return allowed.permute(2, 0, 1)


def _base(seen: Seen, layout: BaseLayout) -> Tensor:
    """The base features, ``[B, width]``; in memory the B lie side by side."""
    columns = torch.zeros(layout.width, seen.size, device=seen.counts.device)
    start = 0
    for name, width in layout.pieces:
        if start == layout.base_width:
            break
        piece = columns[start : start + width]
        if name == "last_partner_act":
            torch.eq(seen.last_partner_act, _acts(piece), out=piece)
        elif name == "turns_remaining":
            piece.fill_(float(np.float32(seen.turns_remaining) * _share(layout.max_turns)))
        else:
            torch.mul(getattr(seen, name), _share(layout.top(name)), out=piece)
        start += width
    if layout.history:
        _write_history(seen, layout, columns[layout.base_width :])
    return columns.t()


def _write_history(seen: Seen, layout: BaseLayout, columns: Tensor) -> None:
    """My latest claim, then all that was said, theirs and mine by turns, as codes over the largest."""
    claim, said = columns[: len(ITEMS)], columns[len(ITEMS) :]
    torch.mul((seen.own_claim + 1) * seen.own_claimed, _share(layout.max_count + 1), out=claim)
    if not seen.taken:
        return
    acts, keeps = seen.history()
    offers = (acts <= Act.INSIST)[:, None]
    own = torch.arange(seen.taken, device=acts.device) % 2 == seen.seat
    left = torch.where(own[:, None, None], keeps, seen.counts - keeps)
    # Who opened has said its first act before the partner's first, which comes first all the same.
    slots = said.view(layout.max_turns - 1, 1 + len(ITEMS), seen.size)[: seen.taken]
    places = torch.arange(len(slots), device=acts.device) ^ (1 - seen.seat)  # in a longer game the first acts
    slots[:, 0] = ((acts + 1) * _share(len(Act))).index_select(0, places)
    slots[:, 1:] = ((left + 1) * offers * _share(layout.max_count + 1)).index_select(0, places)


def _acts(like: Tensor) -> Tensor:
    return torch.arange(len(Act), dtype=torch.int8, device=like.device)[:, None]


def _share(top: int | None) -> float:
    """One over the largest number of a piece, in the precision of the features."""
    assert top is not None
    return float(np.float32(1 / top))


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
        """One act per open game; see :class:`partners.device.opponents.Seated`."""
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
