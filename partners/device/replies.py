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
from dond_marl.seats import Partner, costs_to_ask
from dond_marl.splits import grid, grid_size
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
        self.max_count, self._views = deck.max_count, deck.views.size
        prior = deck.source.prior
        tables = [said_to_everything(partner, rules, deck.views, prior, deck.max_count) for partner in partners]
        self._table = torch.from_numpy(np.stack(tables)).to(deck.device).flatten()
        self._turns, _, self._hearable = tables[0].shape
        self._offers = torch.tensor(grid(self.max_count).T.copy(), device=deck.device)  # [3, K]

    def say(self, seen: Seen, who: Tensor | int, views: Tensor) -> tuple[Tensor, Tensor]:
        """What partner ``who[B]`` with view ``views[B]`` says: the act ``[B]`` and what it would keep ``[3, B]``."""
        size = grid_size(self.max_count)
        row = (who * self._turns + (seen.turns_remaining - 1)) * self._views + views
        number = self._table[row * self._hearable + heard(seen, self.max_count)].long()
        offers = number < 2 * size
        act = torch.where(offers, number // size, number - 2 * size + Act.AGREE).to(torch.int8)
        oA = self._offers.index_select(1, torch.where(offers, number % size, 0))
        return act, oA * offers


def heard(seen: Seen, max_count: int) -> Tensor:
    """The number of what the seat to move has heard, ``[B]`` int64."""
    size, width = grid_size(max_count), max_count + 1
    last, claim = seen.last_partner_act.long(), seen.claim.long()
    place = (claim[0] * width + claim[1]) * width + claim[2]
    refused = 2 * size + 1 + torch.where(seen.claimed, place, size)
    number = torch.where(last == Act.DISAGREE, refused, last * size + place)
    return torch.where(last == Act.END, 2 * size, number)


def said_to_everything(partner: Partner, rules: Rules, views: Views, prior: str, max_count: int) -> NDArray[np.int16]:
    """What a partner says, ``[T, V, 3K + 2]``, with 1 to T turns left; -1 to what cannot be heard then."""
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
        view, number = np.nonzero(codes >= 0)
        table[left - 1, view, hears[view, number]] = said[view, codes[view, number]]
    return table
