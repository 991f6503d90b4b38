"""Partners that remember nothing and gamble with nothing, as tables on a device: what each says to all it can hear.

Such a partner answers by its view, the last act and offer that it heard, and the turns left. It is asked once about all
of that (:mod:`dond_marl.yardsticks.replies`); from then on its answers are looked up, those of any number of partners
at once. With K the offers of :func:`dond_marl.splits.grid`, what is *heard* is numbered 0..K-1 PROPOSE and K..2K-1
INSIST of a claim, 2K nothing yet, 2K+1..3K DISAGREE after a claim, 3K+1 DISAGREE before any; what is *said* as in
:mod:`dond_marl.splits`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.game import Act, Rules
from dond_marl.seats import NO_ACT_YET, Partner, costs_to_ask
from dond_marl.splits import action_at, action_count, grid_size
from dond_marl.yardsticks.contexts import Views
from dond_marl.yardsticks.replies import Replies
from partners.device.scenarios import Deck
from partners.device.table import Seen


def tabulates(partner: Partner) -> bool:
    """Whether a partner can be a table: it says that its answers depend on nothing else, and asking it is free."""
    traits = partner.traits
    return traits.memoryless and traits.deterministic and not traits.privileged and not costs_to_ask(traits)


class ReplyTables:
    """The replies of several partners to every view that a deck deals, on its device."""

    def __init__(self, partners: Sequence[Partner], rules: Rules, deck: Deck) -> None:
        self._ear, self._views = Ear(deck.max_count, deck.device), deck.views.size
        prior, device = deck.source.prior, deck.device
        tables = [said_to_everything(partner, rules, deck.views, prior, deck.max_count) for partner in partners]
        self._table = torch.from_numpy(np.stack(tables)).to(device).flatten()
        self._turns, _, self._hearable = tables[0].shape
        act, oA = action_at(np.arange(action_count(deck.max_count)), deck.max_count)
        self._acts, self._offers = torch.from_numpy(act).to(device), torch.tensor(oA.T.copy(), device=device)

    def say(self, seen: Seen, who: Tensor | int, views: Tensor) -> tuple[Tensor, Tensor]:
        """What partner ``who[B]`` with view ``views[B]`` says: the act ``[B]`` and what it would keep ``[3, B]``."""
        row = (who * self._turns + (seen.turns_remaining - 1)) * self._views + views
        number = self._table[row * self._hearable + self._ear.heard(seen)].int()
        return self._acts[number], self._offers.index_select(1, number)


class Ear:
    """Numbers what is heard in games whose pools hold up to ``max_count`` items of one type."""

    def __init__(self, max_count: int, device: torch.device) -> None:
        self._size = grid_size(max_count)
        base = max_count + 1
        self._weights = torch.tensor([[base * base], [base], [1]], device=device)
        first = {Act.PROPOSE: 0, Act.INSIST: self._size, Act.DISAGREE: 2 * self._size + 1, NO_ACT_YET: 2 * self._size}
        self._first = torch.tensor([first.get(act, -1) for act in Act], device=device)  # nobody hears AGREE

    def heard(self, seen: Seen) -> Tensor:
        """The number of what the seat to move has heard, ``[B]`` int64."""
        number = self._first[seen.last_partner_act.int()] + (seen.claim * self._weights).sum(dim=0)
        if seen.rules.disagree == "rejects":  # a refusal by one that has claimed nothing is heard as a claim beyond all
            number += self._size * ((seen.last_partner_act == Act.DISAGREE) & ~seen.claimed)
        return number


def said_to_everything(partner: Partner, rules: Rules, views: Views, prior: str, max_count: int) -> NDArray[np.int16]:
    """What a partner says, ``[T, V, 3K + 2]``, with 1 to T turns left; -1 to what cannot be heard then.

    Raises ``ValueError`` where it says what may not be said.
    """
    replies, size = Replies(partner, rules, views, prior), grid_size(max_count)
    base = max_count + 1
    place = replies.splits.oA.astype(np.int64) @ np.array([base * base, base, 1])  # [V, n]
    # Views hold n splits at most and number theirs; here all are numbered alike.
    rest = np.broadcast_to(2 * size + np.arange(3), (views.size, 3))
    said = np.hstack([place, place + size, rest])
    nothing = np.full((views.size, 1), 2 * size)
    hears = np.hstack([place, place + size, nothing, 2 * size + 1 + place, nothing + size + 1])
    table = np.full((rules.max_turns, views.size, 3 * size + 2), -1, dtype=np.int16)
    for left in range(1, rules.max_turns + 1):
        codes = replies.codes(left)
        if (codes[:, 2 * replies.width :] == 2 * replies.width).any():
            raise ValueError(f"{partner!r} agrees where nothing is offered")
        view, number = np.nonzero(codes >= 0)
        table[left - 1, view, hears[view, number]] = said[view, codes[view, number]]
    return table
