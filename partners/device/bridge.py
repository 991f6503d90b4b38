"""The way to the host and back, for whoever is no table and no network: turns go over, decisions come back."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dond_marl.batch import checked
from dond_marl.game import Act
from dond_marl.seats import (
    Floats,
    History,
    Int8s,
    Partner,
    Turns,
    Whisper,
    constant,
    no_hints,
    no_noise,
)
from partners.device.noise import Uniforms
from partners.device.table import Seen

WORDS = 13  # int8 numbers of a turn: pool, both values, the last act, what was offered


class Bridge:
    """A partner on the host that answers games of a device; ``decisions``: how many it has answered."""

    def __init__(self, partner: Partner) -> None:
        self.partner = partner
        self.decisions = 0

    def say(self, seen: Seen, noise: Uniforms) -> tuple[Tensor, Tensor, Tensor | None]:
        """The act ``[B]``, what it would keep ``[3, B]``, and why, ``[B]`` or None for free choices.

        Raises ``ValueError`` for decisions that cannot be read.
        """
        deterministic, device = self.partner.traits.deterministic, seen.live.device
        turns = turns_of(seen)
        if not deterministic:
            drawn = [uniforms.index_select(1, seen.live) for uniforms in _of_seat(seen, noise)]
            fresh, lasting = torch.stack(drawn).cpu().numpy()
            turns = turns._replace(noise=fresh.T, game_noise=lasting.T)
        decisions = self.partner.act(turns)
        act, oA = checked(decisions, seen.size)
        self.decisions += seen.size
        said = torch.from_numpy(np.concatenate([act[None], oA])).to(device)
        cause = np.asarray(decisions.cause)
        why = torch.from_numpy(cause.astype(np.int8)).to(device) if cause.any() else None
        return said[0], said[1:], why


def hints_of(whisper: Whisper, seen: Seen, noise: Uniforms, partner_utilities: Tensor) -> Tensor:
    """What a seat is told, ``[B, 10]`` float32 on its device; ``partner_utilities[3, B]`` for whom they are shown."""
    turns = turns_of(seen)
    if not whisper.deterministic:
        drawn = noise.of_hint(seen.taken).index_select(1, seen.live)
        turns = turns._replace(noise=drawn.cpu().numpy().T)
    if whisper.privileged:
        turns = turns._replace(partner_utilities=partner_utilities.cpu().numpy().T)
    told: Floats = np.ascontiguousarray(whisper.tell(turns))
    return torch.from_numpy(told).to(seen.live.device)


def turns_of(seen: Seen) -> Turns:
    """The same turns on the host, without noise; they cannot be written."""
    acts, offers = seen.history()
    numbers = [
        seen.counts,
        seen.my_utilities,
        seen.partner_utilities,
        seen.last_partner_act[None],
        seen.last_partner_offer_for_me,
        acts,
        offers.flatten(0, 1),
    ]
    rows: Int8s = torch.cat(numbers).cpu().numpy()  # one crossing
    rows.flags.writeable = False
    size, taken = seen.size, seen.taken
    last: Int8s = rows[9]
    mask = np.ones((size, len(Act)), dtype=bool)
    mask[:, Act.AGREE] = last <= Act.INSIST
    said = rows[WORDS:]
    return Turns(
        rules=seen.rules,
        prior=seen.prior,
        counts=rows[0:3].T,
        my_utilities=rows[3:6].T,
        partner_utilities=rows[6:9].T,
        history=History(said[:taken], said[taken:].reshape(taken, 3, size), taken),
        last_partner_act=last,
        last_partner_offer_for_me=rows[10:WORDS].T,
        turns_remaining=constant(seen.turns_remaining, np.int8, size),
        act_mask=mask,
        hint_features=no_hints(size),
        noise=no_noise(size),
        game_noise=no_noise(size),
    )


def _of_seat(seen: Seen, noise: Uniforms) -> tuple[Tensor, Tensor]:
    return noise.of_turn(seen.taken), noise.of_game(seen.seat)
