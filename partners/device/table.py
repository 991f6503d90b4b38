"""The engine of :mod:`dond_marl.batch` in PyTorch: games in lock-step whose state stays on their device.

Tests compare the two turn by turn. Arrays have the games as last axis, as there. Inside a turn the shapes are fixed and
nothing is read back to the host: every open game's result is written as if it ended now, and is overwritten if it goes
on. Between turns one number is read back, how many games go on, and whether acts are illegal where they may be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dond_marl.batch import Games
from dond_marl.game import Act, Ending, IllegalAct, Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import UNREACHED


class DeviceTurns(NamedTuple):
    """Observations of the seat to move in B open games, all at the same turn; small integers are int8."""

    rules: Rules
    prior: str
    turns_taken: int  # acts so far, of both seats
    live: Tensor  # [B] int64, indices among the N games
    counts: Tensor  # [3, B]
    my_utilities: Tensor  # [3, B]
    partner_utilities: Tensor  # [3, B] zeros unless revealed
    last_partner_act: Tensor  # [B] END stands for "none yet"
    claim: Tensor  # [3, B] items kept in the partner's latest claim; zeros before its first
    claimed: Tensor  # [B] bool, whether the partner has claimed anything
    own_claim: Tensor  # [3, B] items kept in my latest claim; zeros before my first
    own_claimed: Tensor  # [B] bool
    acts: Tensor  # [taken, N] of all N games
    offers: Tensor  # [taken, 3, N]

    @property
    def size(self) -> int:
        """The number of games, B."""
        return len(self.live)

    @property
    def seat(self) -> int:
        """The seat to move."""
        return self.turns_taken % 2

    @property
    def turns_remaining(self) -> int:
        """Acts left, this one included."""
        return self.rules.max_turns - self.turns_taken

    @property
    def last_partner_offer_for_me(self) -> Tensor:
        """Items that the partner's latest claim leaves, ``[3, B]``; zeros before its first."""
        return (self.counts - self.claim) * self.claimed

    @property
    def act_mask(self) -> Tensor:
        """Legal acts, ``[5, B]`` bool."""
        mask = torch.ones(len(Act), self.size, dtype=torch.bool, device=self.live.device)
        mask[Act.AGREE] = self.last_partner_act <= Act.INSIST
        return mask

    def history(self) -> tuple[Tensor, Tensor]:
        """The acts of these games, ``[taken, B]``, and the items that each acting seat keeps, ``[taken, 3, B]``."""
        return self.acts.index_select(1, self.live), self.offers.index_select(2, self.live)

    def rows(self, index: Tensor) -> DeviceTurns:
        """The games at ``index``, in its order."""
        columns = {name: getattr(self, name).index_select(-1, index) for name in _COLUMNS}
        return self._replace(**columns)


_COLUMNS = (
    "live",
    "counts",
    "my_utilities",
    "partner_utilities",
    "last_partner_act",
    "claim",
    "claimed",
    "own_claim",
    "own_claimed",
)


class DeviceGames(NamedTuple):
    """N finished games on their device; T is ``rules.max_turns``."""

    rules: Rules
    act: Tensor  # [T, N] int8, -1 after the end
    oA: Tensor  # [T, 3, N] int8
    turns: Tensor  # [N] int8, number of acts
    ending: Tensor  # [N] int8, an Ending
    allocation: Tensor  # [2, 3, N] int8, zeros without a deal
    scores: Tensor  # [2, N] int16, points
    cause: Tensor | None  # [T, N] int8, a Cause; None if every act was a free choice

    @property
    def deal(self) -> Tensor:
        """Games that ended in a deal, ``[N]`` bool: a pool is never empty."""
        return self.allocation.flatten(0, 1).amax(dim=0) > 0

    @property
    def valid(self) -> Tensor | None:
        """Valid games, ``[N]`` bool, as in :attr:`dond_marl.batch.Games.valid`; None: all."""
        if self.cause is None:
            return None
        unreached = torch.tensor([int(cause) for cause in UNREACHED], device=self.cause.device)
        return ~torch.isin(self.cause, unreached).any(dim=0)

    def games(self, scenarios: Scenarios) -> Games:
        """The same games as NumPy arrays; ``scenarios``: those that were played."""
        cause = torch.zeros_like(self.act) if self.cause is None else self.cause
        return Games(
            scenarios=scenarios,
            rules=self.rules,
            act=self.act.t().cpu().numpy(),
            oA=self.oA.permute(2, 0, 1).cpu().numpy(),
            turns=self.turns.cpu().numpy(),
            ending=self.ending.cpu().numpy(),
            deal=self.deal.cpu().numpy(),
            allocation=self.allocation.permute(2, 0, 1).cpu().numpy(),
            scores=self.scores.t().cpu().numpy(),
            cause=cause.t().cpu().numpy(),
        )


class DeviceTable:
    """N negotiations in progress on one device, all at the same turn.

    ``counts[N, 3]`` and ``utilities[N, 2, 3]`` are int8 tensors on it.
    """

    def __init__(
        self,
        counts: Tensor,
        utilities: Tensor,
        rules: Rules = Rules(),
        *,
        prior: str,
        reveal_partner_utilities: bool = False,
    ) -> None:
        if rules.message_length or rules.secret_claims:
            raise ValueError(
                "a device plays no games with messages or secret claims: play on the host (rollouts: host)"
            )
        size, length, device = len(counts), rules.max_turns, counts.device
        self.rules, self.prior, self._reveal = rules, prior, reveal_partner_utilities
        self._utilities = utilities
        self.turns_taken = 0
        self.live = torch.arange(size, device=device)

        def full(value: int, *shape: int) -> Tensor:
            return torch.full(shape, value, dtype=torch.int8, device=device)

        # Acts and results of all N games, one column each.
        self._acts, self._offers = full(-1, length, size), full(0, length, 3, size)
        self._causes: Tensor | None = None
        endings = {Act.AGREE: Ending.AGREE, Act.END: Ending.END}
        if rules.disagree == "ends":
            endings[Act.DISAGREE] = Ending.DISAGREE
        by_act = [int(endings.get(act, Ending.TURN_LIMIT)) for act in Act]
        self._ending_of = torch.tensor(by_act, dtype=torch.int8, device=device)  # by the last act
        self._turns, self._ending = full(0, size), full(0, size)
        self._allocation = full(0, 2, 3, size)
        # The open games only, one column each, in the order of ``live``.
        self._counts = counts.t().contiguous()
        self._values = [utilities[:, seat].t().contiguous() for seat in (0, 1)]
        self._claims = [full(0, 3, size) for _ in (0, 1)]
        self._claimed = [torch.zeros(size, dtype=torch.bool, device=device) for _ in (0, 1)]
        self._last_act = full(Act.END, size)

    @property
    def open(self) -> int:
        """The number of games that go on."""
        return len(self.live)

    @property
    def seat(self) -> int:
        """The seat to move."""
        return self.turns_taken % 2

    def turns(self) -> DeviceTurns:
        """The observations of the seat to move, one per open game."""
        mine, other = self.seat, 1 - self.seat
        theirs = self._values[other] if self._reveal else torch.zeros_like(self._counts)
        return DeviceTurns(
            rules=self.rules,
            prior=self.prior,
            turns_taken=self.turns_taken,
            live=self.live,
            counts=self._counts,
            my_utilities=self._values[mine],
            partner_utilities=theirs,
            last_partner_act=self._last_act,
            claim=self._claims[other],
            claimed=self._claimed[other],
            own_claim=self._claims[mine],
            own_claimed=self._claimed[mine],
            acts=self._acts[: self.turns_taken],
            offers=self._offers[: self.turns_taken],
        )

    def partner_utilities(self) -> Tensor:
        """The other seat's values in each open game, ``[3, open]``, for privileged hints."""
        return self._values[1 - self.seat]

    def step(self, act: Tensor, oA: Tensor, cause: Tensor | None = None, *, legal: bool = False) -> None:
        """Play ``act[open]`` in every open game, with ``oA[3, open]`` as the items kept in an offer; both int8.

        ``cause[open]``: a Cause, None for free choices. ``legal``: whether all acts are known to be legal, as a masked
        network's are; otherwise raises :class:`IllegalAct` before anything changes.
        """
        offers = act <= Act.INSIST
        if not legal:
            self._refuse_illegal(act, oA, offers)
        oA = oA * offers
        turn, seat, live = self.turns_taken, self.seat, self.live
        self._acts[turn].index_copy_(0, live, act)
        self._offers[turn].index_copy_(1, live, oA)
        if cause is not None:
            if self._causes is None:
                self._causes = torch.zeros_like(self._acts)
            self._causes[turn].index_copy_(0, live, cause)
        self._claims[seat] = torch.where(offers, oA, self._claims[seat])
        self._claimed[seat] = self._claimed[seat] | offers
        self.turns_taken += 1
        self._last_act = act
        self._record(act)
        self._close_ranks(act, offers)

    def finished_games(self) -> DeviceGames:
        """All games, when none is open."""
        assert self.open == 0, f"{self.open} games are still open"
        utilities = self._utilities.permute(1, 2, 0)  # [2, 3, N]
        scores = (self._allocation.to(torch.int16) * utilities).sum(dim=1, dtype=torch.int16)
        return DeviceGames(
            self.rules, self._acts, self._offers, self._turns, self._ending, self._allocation, scores, self._causes
        )

    def _refuse_illegal(self, act: Tensor, oA: Tensor, offers: Tensor) -> None:
        beyond = ((oA < 0) | (oA > self._counts)).any(dim=0) & offers
        illegal = beyond | ((act == Act.AGREE) & (self._last_act > Act.INSIST)) | (act < 0) | (act > Act.END)
        if not bool(illegal.any()):
            return
        row = int(illegal.to(torch.int8).argmax())
        number = int(act[row])
        problem = Act(number).name if 0 <= number <= Act.END else f"act {number}"
        if bool(beyond[row]):
            problem += f" of {oA[:, row].tolist()} from a pool of {self._counts[:, row].tolist()}"
        raise IllegalAct(
            f"illegal in {int(illegal.sum())} of {len(act)} games; first in game {int(self.live[row])}: {problem}"
        )

    def _record(self, act: Tensor) -> None:
        """Write each open game's result as if it ended now; that of a game that goes on is overwritten next turn."""
        seat, live = (self.turns_taken - 1) % 2, self.live
        first, second = self._claims
        agreed = act == Act.AGREE
        selected = ((first + second) == self._counts).all(dim=0) & self._claimed[0] & self._claimed[1]
        if self.rules.disagree == "ends":
            selected &= act != Act.DISAGREE
        deal = agreed | selected
        # AGREE closes at the partner's claim; a final selection at claims that add up to the pool, so either will do.
        share = torch.where(agreed, first if seat == 1 else self._counts - second, first) * deal
        self._turns.index_fill_(0, live, self.turns_taken)
        self._ending.index_copy_(0, live, self._ending_of[act.int()])
        self._allocation[0].index_copy_(1, live, share)
        self._allocation[1].index_copy_(1, live, (self._counts - share) * deal)

    def _close_ranks(self, act: Tensor, offers: Tensor) -> None:
        """Drop the games that have ended."""
        if self.turns_taken == self.rules.max_turns:
            open_games = self.live[:0]
        elif self.rules.disagree == "ends":
            open_games = offers.nonzero().flatten()
        else:
            open_games = ((act != Act.AGREE) & (act != Act.END)).nonzero().flatten()
        if len(open_games) == self.open:
            return
        self.live = self.live[open_games]
        self._counts = self._counts.index_select(1, open_games)
        self._values = [values.index_select(1, open_games) for values in self._values]
        self._claims = [claims.index_select(1, open_games) for claims in self._claims]
        self._claimed = [claimed[open_games] for claimed in self._claimed]
        self._last_act = act[open_games]


def to_device(device: torch.device, scenarios: Scenarios) -> tuple[Tensor, Tensor]:
    """Scenarios on a device: counts ``[N, 3]`` and utilities ``[N, 2, 3]``, int8."""
    counts, utilities = (np.ascontiguousarray(array, dtype=np.int8) for array in scenarios[:2])
    return torch.tensor(counts, device=device), torch.tensor(utilities, device=device)
