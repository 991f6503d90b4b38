"""Who sits opposite on a device: tables, networks and whoever is asked through the bridge, each in its own games.

A mixture is taken apart, mixtures in it too, and draws by the same numbers as :class:`partners.mixture.Mixture`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.batch import checked
from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import (
    NO_ACT_YET,
    Floats,
    History,
    Int8s,
    Partner,
    Turns,
    Whisper,
    constant,
    costs_to_ask,
    no_hints,
    no_noise,
)
from dond_marl.splits import action_at, action_count, grid_size
from dond_marl.yardsticks.contexts import Views
from dond_marl.yardsticks.replies import Replies
from partners.device.inputs import Dealt, Deck, Uniforms
from partners.device.policy import said
from partners.device.table import Seen
from partners.mixture import BELOW_ONE, MEMBER_DRAW, Mixture
from partners.network.network import copy_of
from partners.network.partner import NetworkPartner


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
