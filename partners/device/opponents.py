"""Opponents on a device: reply tables, networks, and partners that stay on the host.

A partner without memory or randomness becomes a table of its replies; a network plays on the device; every other
partner is called on the host at each turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.batch import check_decisions
from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import (
    NO_ACT_YET,
    Floats,
    HintSource,
    Int8s,
    Partner,
    Turns,
    expensive_to_query,
    turns_after,
)
from dond_marl.splits import action_at, action_count, grid_size
from dond_marl.yardsticks.contexts import Views
from dond_marl.yardsticks.replies import Replies
from partners.device.inputs import DealtScenarios, ScenarioDeck, Uniforms
from partners.device.policy import network_acts
from partners.device.table import DeviceTurns
from partners.mixture import BELOW_ONE, MEMBER_DRAW, Mixture, SaysPropose
from partners.network.network import copy_of
from partners.network.partner import NetworkPartner

DeviceActs = tuple[Tensor, Tensor, Tensor | None]  # act [B], items kept [3, B], cause [B] or None: all int8
TABLE, HOST, NETWORKS = 0, 1, 2  # kinds of members; network number n is kind NETWORKS + n
TURN_ROWS = 12  # int8 rows of a turn before its history: pool, both values, the offer


class SeatedOpponent(Protocol):
    """An opponent that plays one seat of a block of games."""

    def act(self, turns: DeviceTurns, noise: Uniforms) -> DeviceActs:
        """One act per open game."""
        ...


class Census(NamedTuple):
    """Numbers of an opponent's members that play as tables, as networks, and on the host."""

    tables: int
    networks: int
    on_host: int


def census_of(partner: Partner, listed_views: bool) -> Census:
    """How the members of ``partner`` play on a device; ``listed_views``: by :func:`has_listed_views`."""
    members = list(_members(partner))
    networks = sum(_network_of(member) is not None for member in members)
    tables = sum(listed_views and not _network_of(member) and is_tabular(member) for member in members)
    return Census(tables, networks, len(members) - tables - networks)


def has_listed_views(source: ScenarioSource, revealed: bool) -> bool:
    """Whether a source's private views can be listed, so that replies can be tables."""
    return source.table is not None and not revealed


def is_tabular(partner: Partner) -> bool:
    """Whether a partner can be a table: deterministic, without memory, and free to query."""
    traits = partner.traits
    return traits.memoryless and traits.deterministic and not traits.privileged and not expensive_to_query(traits)


class DeviceOpponent:
    """Any opponent on a device, prepared once and seated for every block.

    ``revealed``: whether seats see each other's values, which reply tables do not cover.
    """

    def __init__(self, partner: Partner, deck: ScenarioDeck, rules: Rules, *, revealed: bool) -> None:
        self.partner, self._device = partner, deck.device
        tables: list[Partner] = []
        self._networks: list[tuple[NetworkPartner, bool]] = []  # and whether it says PROPOSE alone
        listed = has_listed_views(deck.source, revealed)
        kinds, numbers = [], []  # of each member: its kind, and its number among the tables
        for member in _members(partner):
            if network := _network_of(member):
                kinds.append(NETWORKS + len(self._networks))
                self._networks.append((self._on_device(network), isinstance(member, SaysPropose)))
            elif listed and is_tabular(member):
                kinds.append(TABLE)
                tables.append(member)
            else:
                kinds.append(HOST)
            numbers.append(len(tables) - 1)
        self.host = HostPartner(partner)
        self._tables = ReplyTables(tables, rules, deck) if tables else None
        self._kinds, self._numbers = (torch.tensor(each, device=deck.device) for each in (kinds, numbers))
        self.census = census_of(partner, listed)

    @property
    def legal(self) -> bool:
        """Whether all acts are known to be legal: tables are checked when made, networks are masked."""
        return not self.census.on_host

    def in_seat(self, dealt: DealtScenarios, noise: Uniforms, seat: int) -> SeatedOpponent:
        """The opponent in ``seat`` of the games of one block."""
        if len(self._kinds) == 1:
            return _OneMember(self, int(self._kinds[0]), None if dealt.views is None else dealt.views[seat])
        member = torch.empty(dealt.size, dtype=torch.int64, device=self._device)
        _draw(
            self.partner, noise.game_noise(seat)[MEMBER_DRAW], torch.arange(dealt.size, device=self._device), member, 0
        )
        return _DrawnMembers(self, self._kinds[member], self._numbers[member], dealt.views, seat)

    def act(
        self, kind: int, turns: DeviceTurns, noise: Uniforms, table: Tensor | int, views: Tensor | None
    ) -> DeviceActs:
        """Acts of the members of one kind; ``table`` (number) and ``views`` are for tables."""
        if kind == TABLE:
            assert self._tables is not None and views is not None
            return *self._tables.act(turns, table, views), None
        if kind == HOST:
            return self.host.act(turns, noise)
        partner, says_propose = self._networks[kind - NETWORKS]
        act, oA = network_acts(partner.network, turns, None if partner.greedy else noise)
        return torch.where(act == Act.INSIST, Act.PROPOSE, act) if says_propose else act, oA, None

    def _on_device(self, partner: NetworkPartner) -> NetworkPartner:
        if partner.network.device == self._device:
            return partner
        return NetworkPartner(copy_of(partner.network).to(self._device), greedy=partner.greedy)


class _OneMember:
    """The same member in all games."""

    def __init__(self, opponent: DeviceOpponent, kind: int, views: Tensor | None) -> None:
        self._opponent, self._kind, self._views = opponent, kind, views

    def act(self, turns: DeviceTurns, noise: Uniforms) -> DeviceActs:
        views = None if self._views is None else self._views[turns.live]
        return self._opponent.act(self._kind, turns, noise, 0, views)


class _DrawnMembers:
    """One of several members in each game."""

    def __init__(
        self, opponent: DeviceOpponent, kinds: Tensor, numbers: Tensor, views: Tensor | None, seat: int
    ) -> None:
        self._opponent, self._kinds, self._numbers = opponent, kinds, numbers
        self._views = None if views is None else views[seat]
        self._present = torch.unique(kinds).tolist()

    def act(self, turns: DeviceTurns, noise: Uniforms) -> DeviceActs:
        kinds = self._kinds[turns.live]
        act = torch.empty_like(turns.last_partner_act)
        oA = torch.empty_like(turns.counts)
        causes: Tensor | None = None
        for kind in self._present:
            rows = (kinds == kind).nonzero().flatten()
            if not len(rows):
                continue
            some = turns.rows(rows)
            views = None if self._views is None else self._views[some.live]
            acts, claims, cause = self._opponent.act(kind, some, noise, self._numbers[some.live], views)
            act.index_copy_(0, rows, acts)
            oA.index_copy_(1, rows, claims)
            if cause is not None:
                causes = torch.zeros_like(act).index_copy_(0, rows, cause)
        return act, oA, causes


def _network_of(member: Partner) -> NetworkPartner | None:
    """The network that ``member`` is, whatever labels it says, if any."""
    inner = member.of if isinstance(member, SaysPropose) else member
    return inner if isinstance(inner, NetworkPartner) else None


def _members(partner: Partner) -> Iterator[Partner]:
    """All partners that may be drawn, in the order in which :func:`_draw` numbers them."""
    if isinstance(partner, Mixture):
        for member in partner.partners:
            yield from _members(member)
    else:
        yield partner


def _draw(partner: Partner, draw: Tensor, games: Tensor, member: Tensor, first: int) -> int:
    """Fill in the partner index of each game from its draw; returns the next free index.

    ``draw[G]``: the uniforms of ``games[G]``; ``member[N]``: filled in at ``games``, from index ``first`` on.
    """
    if not isinstance(partner, Mixture):
        member[games] = first
        return first + 1
    ends = torch.from_numpy(partner.ends).to(draw.device)
    drawn = torch.searchsorted(ends[:-1], draw.contiguous(), right=True)
    for number, inner in enumerate(partner.partners):
        rows = (drawn == number).nonzero().flatten()
        start = ends[number - 1] if number else ends.new_zeros(())
        rest = ((draw[rows] - start) / (ends[number] - start)).clamp(0.0, BELOW_ONE)
        first = _draw(inner, rest, games[rows], member, first)
    return first


# A reply table. Such a partner's reply is a function of its private view, the last act and offer of the other seat and
# the turns left (dond_marl.yardsticks.replies), so it is computed once for all of them and then looked up. With K
# splits (dond_marl.splits.grid), the other seat's last act is numbered
#
#     0 .. K-1         PROPOSE of a claim
#     K .. 2K-1        INSIST of a claim
#     2K               nothing yet
#     2K+1 .. 3K       DISAGREE after a claim
#     3K+1             DISAGREE before any claim
#
# and the table of P partners is [P, T turns left, V views, 3K + 2] numbered acts (dond_marl.splits), flattened.


class ReplyTables:
    """The replies of several partners to every private view of a deck, on its device."""

    def __init__(self, partners: Sequence[Partner], rules: Rules, deck: ScenarioDeck) -> None:
        self._codes, self._views = LastActCodes(deck.max_count, deck.device), deck.views.size
        prior, device = deck.source.prior, deck.device
        tables = [reply_table(partner, rules, deck.views, prior, deck.max_count) for partner in partners]
        self._table = torch.from_numpy(np.stack(tables)).to(device).flatten()
        self._turns, _, self._codes_per_view = tables[0].shape
        act, oA = action_at(np.arange(action_count(deck.max_count)), deck.max_count)
        self._acts, self._offers = torch.from_numpy(act).to(device), torch.tensor(oA.T.copy(), device=device)

    def act(self, turns: DeviceTurns, table: Tensor | int, views: Tensor) -> tuple[Tensor, Tensor]:
        """The act ``[B]`` and the items kept ``[3, B]`` by the partner of each ``table[B]`` with view ``views[B]``."""
        row = (table * self._turns + (turns.turns_remaining - 1)) * self._views + views
        number = self._table[row * self._codes_per_view + self._codes.last_acts(turns)].int()
        return self._acts[number], self._offers.index_select(1, number)


class LastActCodes:
    """The numbers of the other seat's last act, in games whose pools hold up to ``max_count`` items of one type."""

    def __init__(self, max_count: int, device: torch.device) -> None:
        self._size = grid_size(max_count)
        base = max_count + 1
        self._weights = torch.tensor([[base * base], [base], [1]], device=device)
        first = {Act.PROPOSE: 0, Act.INSIST: self._size, Act.DISAGREE: 2 * self._size + 1, NO_ACT_YET: 2 * self._size}
        self._first = torch.tensor([first.get(act, -1) for act in Act], device=device)  # AGREE ends the game

    def last_acts(self, turns: DeviceTurns) -> Tensor:
        """The number of the last act of each game, ``[B]`` int64."""
        number = self._first[turns.last_partner_act.int()] + (turns.claim * self._weights).sum(dim=0)
        if turns.rules.disagree == "rejects":  # a DISAGREE before any claim has the last number
            number += self._size * ((turns.last_partner_act == Act.DISAGREE) & ~turns.claimed)
        return number


def reply_table(partner: Partner, rules: Rules, views: Views, prior: str, max_count: int) -> NDArray[np.int16]:
    """A partner's replies, ``[T, V, 3K + 2]``, with 1 to T turns left; -1 to last acts that are impossible then.

    Raises ``ValueError`` for an illegal reply.
    """
    replies, size = Replies(partner, rules, views, prior), grid_size(max_count)
    base = max_count + 1
    place = replies.splits.oA.astype(np.int64) @ np.array([base * base, base, 1])  # [V, n]
    # Each view numbers its own at most n splits; here all views number them alike.
    rest = np.broadcast_to(2 * size + np.arange(3), (views.size, 3))
    replied = np.hstack([place, place + size, rest])
    nothing = np.full((views.size, 1), 2 * size)
    last_act = np.hstack([place, place + size, nothing, 2 * size + 1 + place, nothing + size + 1])
    table = np.full((rules.max_turns, views.size, 3 * size + 2), -1, dtype=np.int16)
    for left in range(1, rules.max_turns + 1):
        codes = replies.codes(left)
        if (codes[:, 2 * replies.width :] == 2 * replies.width).any():
            raise ValueError(f"{partner!r} agrees where nothing is offered")
        view, number = np.nonzero(codes >= 0)
        table[left - 1, view, last_act[view, number]] = replied[view, codes[view, number]]
    return table


class HostPartner:
    """A partner on the host that plays in games of a device; ``decisions``: how many it has made."""

    def __init__(self, partner: Partner) -> None:
        self.partner = partner
        self.decisions = 0

    def act(self, turns: DeviceTurns, noise: Uniforms) -> DeviceActs:
        """Decisions for the turns. Raises ``ValueError`` for decisions that cannot be read."""
        device, seen = turns.live.device, host_turns(turns)
        if not self.partner.traits.deterministic:
            uniforms = noise.turn_noise(turns.turns_taken), noise.game_noise(turns.seat)
            fresh, lasting = torch.stack([each.index_select(1, turns.live) for each in uniforms]).cpu().numpy()
            seen = seen._replace(noise=fresh.T, game_noise=lasting.T)
        decisions = self.partner.act(seen)
        act, oA = check_decisions(decisions, turns.size)
        self.decisions += turns.size
        acts = torch.from_numpy(np.concatenate([act[None], oA])).to(device)
        cause = np.asarray(decisions.cause)
        return acts[0], acts[1:], torch.from_numpy(cause.astype(np.int8)).to(device) if cause.any() else None


def hint_features(hints: HintSource, turns: DeviceTurns, noise: Uniforms, partner_utilities: Tensor) -> Tensor:
    """A seat's hints, ``[B, 10]`` float32 on its device; ``partner_utilities[3, B]``: for privileged hints only."""
    seen = host_turns(turns)
    if not hints.deterministic:
        drawn = noise.hint_noise(turns.turns_taken).index_select(1, turns.live)
        seen = seen._replace(noise=drawn.cpu().numpy().T)
    if hints.privileged:
        seen = seen._replace(partner_utilities=partner_utilities.cpu().numpy().T)
    features: Floats = np.ascontiguousarray(hints.hint_features(seen))
    return torch.from_numpy(features).to(turns.live.device)


def host_turns(turns: DeviceTurns) -> Turns:
    """The same turns on the host, read-only and without noise."""
    acts, offers = turns.history()
    numbers = [
        turns.counts,
        turns.my_utilities,
        turns.partner_utilities,
        turns.last_partner_offer_for_me,
        acts,
        offers.flatten(0, 1),
    ]
    rows: Int8s = torch.cat(numbers).cpu().numpy()  # one transfer
    rows.flags.writeable = False
    counts, mine, theirs, offered, history = np.split(rows, np.arange(3, TURN_ROWS + 1, 3))
    taken = turns.turns_taken
    acts_so_far, offers_so_far = history[:taken], history[taken:].reshape(taken, 3, turns.size)
    return turns_after(turns.rules, turns.prior, counts.T, mine.T, acts_so_far, offers_so_far, offered.T, theirs.T)
