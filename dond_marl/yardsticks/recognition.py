"""Who sits opposite, and what it wants: exact beliefs about the members of a crowd and their values.

Bayes' rule along the history that was played: a member with certain values is as likely as it was before, times the
probability with which it would have said what was said, turn by turn. That is a product; it needs no tree of what might
have been said, and so no member needs to be without memory. It needs each member to be deterministic, or to know its
probabilities, or to be drawn for each game from such. Rows with the same history share one node of the computation.
J nodes, M members, K types, Q minds: the members, each persona apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dond_marl.game import MAX_VALUE, Act
from dond_marl.seats import NO_ACT_YET, Doubles, History, Int8s, Partner, Turns, constant, no_hints, no_noise
from dond_marl.splits import action_index
from dond_marl.yardsticks.automata import Assorted, Persona
from dond_marl.yardsticks.beliefs import Beliefs, numbers_of, partner_beliefs
from dond_marl.yardsticks.contexts import Index
from dond_marl.yardsticks.replies import Probable

LEVELS = MAX_VALUE + 1  # what one item may be worth: 0..10
VIEWS = 64  # private views that are looked at together
BLOCK = 1 << 13  # rows that a partner is asked at once


class Guess(NamedTuple):
    """What is believed of the partners of B games; every distribution sums to 1."""

    values: Doubles  # [B, 3, 11] of each item's value: 0..10 points
    members: tuple[str, ...]  # who it might be, M names; none where nothing is believed of that
    who: Doubles  # [B, M]


@runtime_checkable
class Believes(Protocol):
    """An occupant that says what it believes of its partner."""

    def beliefs(self, turns: Turns) -> Guess | None:
        """Beliefs on the rows' turns, before it speaks; ``None`` where it has none to tell."""
        ...


class Recognition:
    """Who and what the partners of B games may be, jointly; rows with the same history are one node."""

    def __init__(self, node: Index, types: Int8s, chances: Doubles) -> None:
        self.node = node  # [B] each row's node
        self.types = types  # [J, K, 3] the values that the partner may have
        self.chances = chances  # [J, M, K] of each member with each of them; a node's sum to 1

    @cached_property
    def who(self) -> Doubles:
        """The probability of each member, ``[B, M]``."""
        of_member: Doubles = self.chances.sum(axis=2)
        return of_member[self.node]

    @cached_property
    def values(self) -> Doubles:
        """The probability of each value of each item, ``[B, 3, 11]``."""
        return values_in(Beliefs(self.types, self.chances.sum(axis=1)))[self.node]


def minds_of(partner: Partner) -> list[Persona] | None:
    """Whom ``partner`` may be, each deterministic or knowing its probabilities; ``None`` where it is not made of such.

    A partner that knows its probabilities but not from act to act, because it is drawn for each game, is not asked for
    them.
    """
    if isinstance(partner, Assorted):
        found: list[Persona] = []
        for chance, one in partner.personas():
            inner = minds_of(one)
            if inner is None:
                return None
            found += [Persona(chance * each.chance, each.partner) for each in inner if chance * each.chance > 0]
        return found
    return [Persona(1.0, partner)] if partner.traits.deterministic or isinstance(partner, Probable) else None


def recognized(members: Sequence[Partner], turns: Turns, weights: Sequence[float] | None = None) -> Recognition:
    """What the rows' histories tell about who of ``members`` sits opposite and what its values are.

    ``weights``: how probable each member is beforehand, equally by default. The values beforehand are those that the
    scenario prior allows (:mod:`dond_marl.yardsticks.beliefs`); where they are revealed, they are certain. Where nobody
    with any values would have said what was said, all is believed as before the game from there on. Raises
    ``ValueError`` for a member that is not made of :func:`minds_of`, and where acts alone do not tell who says them:
    with secret claims, and of members that remember where messages pass.
    """
    shares = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(members) or shares.shape != (len(members),) or (shares < 0).any() or not shares.any():
        raise ValueError(f"weights must be one number of at least 0 for each of the members; got {weights!r}")
    begins: list[int] = []  # each member's first mind
    minds: list[Persona] = []
    for member, share in zip(members, shares / shares.sum(), strict=True):
        found = minds_of(member)
        if found is None:
            raise ValueError(f"{member!r} gambles and does not know its probabilities (probs): it cannot be recognized")
        begins.append(len(minds))
        minds += [Persona(share * each.chance, each.partner) for each in found]
    moved = turns.rules.message_length and not all(mind.partner.traits.memoryless for mind in minds)
    if turns.rules.secret_claims or moved:
        raise ValueError("nobody is recognized by acts alone with secret claims, or who may be moved by messages")
    views = numbers_of(turns.counts, np.hstack([turns.my_utilities, turns.partner_utilities]))
    _, view = np.unique(views, return_inverse=True)
    order = np.argsort(view.reshape(-1), kind="stable")
    cuts = np.searchsorted(view.reshape(-1)[order], np.arange(0, int(view.max(initial=-1)) + 1, VIEWS))
    node, first = np.zeros(turns.size, dtype=np.int64), 0
    types, chances = [], []
    for rows in np.split(order, cuts[1:]) if turns.size else []:
        of_row, some_types, some = _followed(minds, turns.rows(rows))
        node[rows] = of_row + first
        first += len(some)
        types.append(some_types)
        chances.append(np.add.reduceat(some, begins, axis=1))
    width = max((each.shape[1] for each in types), default=1)
    return Recognition(
        node,
        np.concatenate([np.zeros((0, width, 3), np.int8), *(_wider(each, 1, width) for each in types)]),
        np.concatenate([np.zeros((0, len(members), width)), *(_wider(each, 2, width) for each in chances)]),
    )


def values_in(held: Beliefs) -> Doubles:
    """Beliefs about whole values as the probability of each value of each item, ``[B, 3, 11]``."""
    levels = [(held.weights[:, :, None] * (held.types == level)).sum(axis=1) for level in range(LEVELS)]
    of_item: Doubles = np.stack(levels, axis=2)
    return of_item


def certain_values(utilities: Int8s) -> Doubles:
    """Values ``[B, 3]`` as distributions that are sure of them, ``[B, 3, 11]``."""
    sure: Doubles = (utilities[:, :, None] == np.arange(LEVELS)).astype(np.float64)
    return sure


def _wider(array: NDArray[np.generic], axis: int, width: int) -> NDArray[np.generic]:
    pads = [(0, 0)] * array.ndim
    pads[axis] = (0, width - array.shape[axis])
    return np.pad(array, pads)


def _followed(minds: Sequence[Persona], turns: Turns) -> tuple[Index, Int8s, Doubles]:
    """Each row's node ``[B]``, the nodes' types ``[J, K, 3]`` and the chances of all minds ``[J, Q, K]``."""
    said = _numbers(turns)  # [B, t]
    start = numbers_of(turns.counts, np.hstack([turns.my_utilities, turns.partner_utilities]))
    _, first, node = np.unique(start, return_index=True, return_inverse=True)
    node = node.reshape(-1)
    before = partner_beliefs(turns.rows(first))
    types = np.asarray(before.types)
    prior = before.weights[:, None] * np.array([mind.chance for mind in minds])[:, None]
    chances, at_first = prior, np.arange(len(first))  # of each node: its place at the beginning
    for turn in range(1 - turns.seat, turns.turns_taken, 2):
        columns = said[:, max(turn - 1, 0) : turn + 1]
        steps, rows, which = np.unique(np.column_stack([node, columns]), axis=0, return_index=True, return_inverse=True)
        parent, node = steps[:, 0], which.reshape(-1)
        at_first, chances = at_first[parent], chances[parent]
        told = turns.rows(rows)
        for number, mind in enumerate(minds):
            row, kind = np.nonzero(chances[:, number])
            for begin in range(0, len(row), BLOCK):
                some, of = row[begin : begin + BLOCK], kind[begin : begin + BLOCK]
                chances[some, number, of] *= _likely(mind.partner, told.rows(some), types[at_first[some], of], turn)
        total = chances.sum(axis=(1, 2))
        lost = total == 0
        chances[lost], total[lost] = prior[at_first[lost]], 1.0
        chances /= total[:, None, None]
    return node, types[at_first], chances


def _numbers(turns: Turns) -> Index:
    """Every act of the history by its number, ``[B, t]``."""
    return action_index(turns.history.act, turns.history.oA, int(turns.counts.max(initial=0)))


def _likely(partner: Partner, told: Turns, utilities: Int8s, turn: int) -> Doubles:
    """How probably ``partner`` with these values says on ``turn`` what was said, ``[R]``."""
    seen = _as_partner(told, utilities, turn)
    act, oA = told.history.act[:, turn], told.history.oA[:, turn]
    if partner.traits.deterministic:
        says = partner.act(seen)
        same = (says.act_type == act) & ((act > Act.INSIST) | (says.oA == oA).all(axis=1))
        return np.asarray(same, dtype=np.float64)
    assert isinstance(partner, Probable)
    most = int(told.counts.max())
    likely: Doubles = partner.probs(seen, most)[np.arange(told.size), action_index(act, oA, most)]
    return likely


def _as_partner(told: Turns, utilities: Int8s, turn: int) -> Turns:
    """What the partner of the seat to move saw on an earlier ``turn``, if these are its values ``[R, 3]``."""
    acts, offers = told.history.act[:, :turn], told.history.oA[:, :turn]
    size = told.size
    mask = np.ones((size, len(Act)), dtype=bool)
    last = acts[:, -1] if turn else constant(NO_ACT_YET, np.int8, size)
    mask[:, Act.AGREE] = last <= Act.INSIST
    offered = np.zeros((size, 3), dtype=np.int8)
    for of in range((turn + 1) % 2, turn, 2):
        claimed = np.less_equal(acts[:, of], Act.INSIST)[:, None]
        offered = np.where(claimed, told.counts - offers[:, of], offered)
    # Where one seat is shown the other's values, so is the other.
    revealed = told.partner_utilities.any(axis=1, keepdims=True)
    return Turns(
        rules=told.rules,
        prior=told.prior,
        counts=told.counts,
        my_utilities=utilities,
        partner_utilities=told.my_utilities * revealed,
        history=History(np.ascontiguousarray(acts.T), np.ascontiguousarray(offers.transpose(1, 2, 0)), turn),
        last_partner_act=last,
        last_partner_offer_for_me=offered,
        turns_remaining=constant(told.rules.max_turns - turn, np.int8, size),
        act_mask=mask,
        hint_features=no_hints(size),
        noise=no_noise(size),
        game_noise=no_noise(size),
    )
