"""Who sits opposite on a device: tables, networks and whoever is asked through the bridge, each in its own games.

A mixture is taken apart, mixtures in it too, and draws by the same numbers as :class:`partners.mixture.Mixture`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from dond_marl.game import Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner
from partners.device.bridge import Bridge
from partners.device.choices import said
from partners.device.noise import Uniforms
from partners.device.replies import ReplyTables, tabulates
from partners.device.scenarios import Dealt, Deck
from partners.device.table import Seen
from partners.mixture import BELOW_ONE, MEMBER_DRAW, Mixture
from partners.network.network import copy_of
from partners.network.partner import NetworkPartner

TABLE, BRIDGE, NETWORKS = 0, 1, 2  # kinds of members; each network is one of its own, from the last number on

Said = tuple[Tensor, Tensor, Tensor | None]  # the act [B], what it would keep [3, B], why [B] or None: all int8


class Seated(Protocol):
    """Whoever answers the turns of one seat of a block of games."""

    def say(self, seen: Seen, noise: Uniforms) -> Said:
        """One act per open game."""
        ...


class Census(NamedTuple):
    """How the members of an opponent play on a device: how many as tables, as networks, and through the bridge."""

    tables: int
    networks: int
    bridged: int


def census_of(partner: Partner, known: bool) -> Census:
    """How ``partner`` plays on a device where its views are ``known`` or not (:func:`views_known`)."""
    members = list(_members(partner))
    networks = sum(isinstance(member, NetworkPartner) for member in members)
    tables = sum(known and not isinstance(member, NetworkPartner) and tabulates(member) for member in members)
    return Census(tables, networks, len(members) - tables - networks)


def views_known(source: ScenarioSource, revealed: bool) -> bool:
    """Whether all that a seat may see when it sits down is a short list, so that replies can be tables."""
    return source.table is not None and not revealed


class Opposite:
    """An opponent on a device, whoever it is: made once, seated for every block.

    ``revealed``: whether seats see each other's values, which no table of replies knows.
    """

    def __init__(self, partner: Partner, deck: Deck, rules: Rules, *, revealed: bool) -> None:
        self.partner, self._device = partner, deck.device
        tables: list[Partner] = []
        self._networks: list[NetworkPartner] = []
        known = views_known(deck.source, revealed)
        kinds, numbers = [], []  # of each member: its kind, and its number among the tables
        for member in _members(partner):
            if isinstance(member, NetworkPartner):
                kinds.append(NETWORKS + len(self._networks))
                self._networks.append(self._here(member))
            elif known and tabulates(member):
                kinds.append(TABLE)
                tables.append(member)
            else:
                kinds.append(BRIDGE)
            numbers.append(len(tables) - 1)
        self.bridge = Bridge(partner)
        self._tables = ReplyTables(tables, rules, deck) if tables else None
        self._kinds, self._numbers = (torch.tensor(each, device=deck.device) for each in (kinds, numbers))
        self.census = census_of(partner, known)

    @property
    def legal(self) -> bool:
        """Whether nobody can say what may not be said: tables were checked when they were made, networks are masked."""
        return not self.census.bridged

    def seated(self, dealt: Dealt, noise: Uniforms, seat: int) -> Seated:
        """For the games of one block."""
        if len(self._kinds) == 1:
            kind = int(self._kinds[0])
            return _Alone(self, kind, None if dealt.views is None else dealt.views[seat])
        member = torch.empty(dealt.size, dtype=torch.int64, device=self._device)
        _draw(self.partner, noise.of_game(seat)[MEMBER_DRAW], torch.arange(dealt.size, device=self._device), member, 0)
        return _Among(self, self._kinds[member], self._numbers[member], dealt.views, seat)

    def say(self, kind: int, seen: Seen, noise: Uniforms, who: Tensor | int, views: Tensor | None) -> Said:
        """What the members of one kind say; ``who`` and ``views`` are for tables."""
        if kind == TABLE:
            assert self._tables is not None and views is not None
            return *self._tables.say(seen, who, views), None
        if kind == BRIDGE:
            return self.bridge.say(seen, noise)
        partner = self._networks[kind - NETWORKS]
        return *said(partner.network, seen, None if partner.greedy else noise), None

    def _here(self, partner: NetworkPartner) -> NetworkPartner:
        if partner.network.device == self._device:
            return partner
        return NetworkPartner(copy_of(partner.network).to(self._device), greedy=partner.greedy)


class _Alone:
    """One member that plays all games."""

    def __init__(self, opposite: Opposite, kind: int, views: Tensor | None) -> None:
        self._opposite, self._kind, self._views = opposite, kind, views

    def say(self, seen: Seen, noise: Uniforms) -> Said:
        views = None if self._views is None else self._views[seen.live]
        return self._opposite.say(self._kind, seen, noise, 0, views)


class _Among:
    """Several members, one of them in each game."""

    def __init__(self, opposite: Opposite, kinds: Tensor, numbers: Tensor, views: Tensor | None, seat: int) -> None:
        self._opposite, self._kinds, self._numbers = opposite, kinds, numbers
        self._views = None if views is None else views[seat]
        self._present = torch.unique(kinds).tolist()

    def say(self, seen: Seen, noise: Uniforms) -> Said:
        kinds = self._kinds[seen.live]
        act = torch.empty_like(seen.last_partner_act)
        oA = torch.empty_like(seen.counts)
        why: Tensor | None = None
        for kind in self._present:
            rows = (kinds == kind).nonzero().flatten()
            if not len(rows):
                continue
            some = seen.rows(rows)
            views = None if self._views is None else self._views[some.live]
            acts, claims, cause = self._opposite.say(kind, some, noise, self._numbers[some.live], views)
            act.index_copy_(0, rows, acts)
            oA.index_copy_(1, rows, claims)
            if cause is not None:
                why = torch.zeros_like(act).index_copy_(0, rows, cause)
        return act, oA, why


def _members(partner: Partner) -> Iterator[Partner]:
    """Whom a partner may turn out to be in a game, in the order in which :func:`_draw` numbers them."""
    if isinstance(partner, Mixture):
        for member in partner.partners:
            yield from _members(member)
    else:
        yield partner


def _draw(partner: Partner, draw: Tensor, games: Tensor, member: Tensor, first: int) -> int:
    """Write who plays in ``games`` by their ``draw``, numbered from ``first`` on; the first number after them."""
    if not isinstance(partner, Mixture):
        member[games] = first
        return first + 1
    ends = torch.from_numpy(partner.ends).to(draw.device)
    who = torch.searchsorted(ends[:-1], draw.contiguous(), right=True)
    for number, inner in enumerate(partner.partners):
        rows = (who == number).nonzero().flatten()
        start = ends[number - 1] if number else ends.new_zeros(())
        rest = ((draw[rows] - start) / (ends[number] - start)).clamp(0.0, BELOW_ONE)
        first = _draw(inner, rest, games[rows], member, first)
    return first
