"""Exact posteriors over the identity and the values of a partner that is drawn from a mixture.

Bayes' rule along the history: the prior of a member with certain values times the probability of each of its acts, turn
by turn. The product needs no tree of other histories, so members may have memory. Each must be deterministic, or know
its probabilities, or be drawn for each game from such. Rows with the same history share one node of the computation.
J nodes, M members, K types, Q personas: all members' personas.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from dond_marl.errors import NotComputable
from dond_marl.game import MAX_VALUE, Act
from dond_marl.scenarios.sources import numbers_of
from dond_marl.seats import Doubles, Int8s, Partner, Turns, turns_after
from dond_marl.solvers.automata import Persona, drawn_personas
from dond_marl.solvers.contexts import Index, partner_beliefs
from dond_marl.solvers.replies import Probable
from dond_marl.splits import action_index

LEVELS = MAX_VALUE + 1  # possible values of one item: 0..10
BLOCK = 1 << 13  # rows that a partner is queried for in one call


class Guess(NamedTuple):
    """Beliefs about the partners of B games; every distribution sums to 1."""

    values: Doubles  # [B, 3, 11] of each item's value: 0..10 points
    members: tuple[str, ...]  # M names of possible partners; none without such a belief
    identity: Doubles  # [B, M] probability of each member


@runtime_checkable
class Believes(Protocol):
    """An occupant that states beliefs about its partner."""

    def beliefs(self, turns: Turns) -> Guess | None:
        """Beliefs on the rows' turns, before it acts; ``None`` where it has none."""
        ...


class Recognition:
    """Joint posterior of identity and values of the partners of B games; rows with one history share a node."""

    def __init__(self, node: Index, types: Int8s, chances: Doubles) -> None:
        self.node = node  # [B] each row's node
        self.types = types  # [J, K, 3] possible values of the partner
        self.chances = chances  # [J, M, K] probability of each member with each of them; sums to 1 per node

    @cached_property
    def identity(self) -> Doubles:
        """The probability of each member, ``[B, M]``."""
        by_member: Doubles = self.chances.sum(axis=2)
        return by_member[self.node]

    @cached_property
    def values(self) -> Doubles:
        """The probability of each value of each item, ``[B, 3, 11]``."""
        weights = self.chances.sum(axis=1)  # [J, K]
        levels = [(weights[:, :, None] * (self.types == level)).sum(axis=1) for level in range(LEVELS)]
        return np.stack(levels, axis=2)[self.node]


def recognizable_personas(partner: Partner) -> list[Persona] | None:
    """The personas of ``partner``, each deterministic or with known probabilities; ``None`` where one is neither."""
    personas = drawn_personas(partner)
    recognizable = (
        persona.partner.traits.deterministic or isinstance(persona.partner, Probable) for persona in personas
    )
    return personas if all(recognizable) else None


def recognize(members: Sequence[Partner], turns: Turns, weights: Sequence[float] | None = None) -> Recognition:
    """The posterior over ``members`` and their values after the histories of the rows.

    ``weights``: prior probability of each member, equal by default. The prior of the values is the scenario prior
    (:mod:`dond_marl.solvers.contexts`); revealed values are certain. Where no member with any values explains the
    history, the prior holds again from there on. Raises :class:`NotComputable` for a member without
    :func:`recognizable_personas`, and for members with memory where messages pass.
    """
    shares = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not len(members) or shares.shape != (len(members),) or (shares < 0).any() or not shares.any():
        raise ValueError(f"weights must be one number of at least 0 for each of the members; got {weights!r}")
    begins: list[int] = []  # each member's first persona
    personas: list[Persona] = []
    for member, share in zip(members, shares / shares.sum(), strict=True):
        drawn = recognizable_personas(member)
        if drawn is None:
            raise NotComputable(f"{member!r} is stochastic without known probabilities (probs): it has no posterior")
        begins.append(len(personas))
        personas += [Persona(share * persona.chance, persona.partner) for persona in drawn]
    moved = turns.rules.message_length and not all(persona.partner.traits.memoryless for persona in personas)
    if moved:
        raise NotComputable("acts alone give no posterior for partners that react to messages")
    node, types, chances = _posterior(personas, turns)
    by_member = np.add.reduceat(chances, begins, axis=1)
    # Contiguous, so that sums over types do not depend on how the prior shares memory.
    return Recognition(node, np.ascontiguousarray(types), np.ascontiguousarray(by_member))


def _posterior(personas: Sequence[Persona], turns: Turns) -> tuple[Index, Int8s, Doubles]:
    """Each row's node ``[B]``, the nodes' types ``[J, K, 3]`` and the posterior of all personas ``[J, Q, K]``."""
    history = _act_numbers(turns)  # [B, t]
    start = numbers_of(turns.counts, np.hstack([turns.my_utilities, turns.partner_utilities]))
    _, first, node = np.unique(start, return_index=True, return_inverse=True)
    node = node.reshape(-1)
    before = partner_beliefs(turns.rows(first))
    types = np.asarray(before.types)
    prior = before.weights[:, None] * np.array([persona.chance for persona in personas])[:, None]
    chances, at_first = prior, np.arange(len(first))  # of each node: its place at the beginning
    for turn in range(1 - turns.seat, turns.turns_taken, 2):
        columns = history[:, max(turn - 1, 0) : turn + 1]
        keys = np.column_stack([node, columns])
        steps, rows, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        parent, node = steps[:, 0], inverse.reshape(-1)
        at_first, chances = at_first[parent], chances[parent]
        node_turns = turns.rows(rows)
        for number, persona in enumerate(personas):
            at_node, kind = np.nonzero(chances[:, number])
            for begin in range(0, len(at_node), BLOCK):
                nodes, kinds = at_node[begin : begin + BLOCK], kind[begin : begin + BLOCK]
                values = types[at_first[nodes], kinds]
                chances[nodes, number, kinds] *= _likelihood(persona.partner, node_turns.rows(nodes), values, turn)
        total = chances.sum(axis=(1, 2))
        lost = total == 0
        chances[lost], total[lost] = prior[at_first[lost]], 1.0
        chances /= total[:, None, None]
    return node, types[at_first], chances


def _act_numbers(turns: Turns) -> Index:
    """The number of every act of the history, ``[B, t]``."""
    return action_index(turns.history.act, turns.history.oA, int(turns.counts.max(initial=0)))


def _likelihood(partner: Partner, turns: Turns, utilities: Int8s, turn: int) -> Doubles:
    """The probability of the act on ``turn`` of the history if it is ``partner`` with these values, ``[R]``."""
    partner_turns = _as_partner(turns, utilities, turn)
    act, oA = turns.history.act[:, turn], turns.history.oA[:, turn]
    if partner.traits.deterministic:
        reply = partner.act(partner_turns)
        same = (reply.act_type == act) & ((act > Act.INSIST) | (reply.oA == oA).all(axis=1))
        return np.asarray(same, dtype=np.float64)
    assert isinstance(partner, Probable)
    most = int(turns.counts.max())
    return partner.probs(partner_turns, most)[np.arange(turns.size), action_index(act, oA, most)]


def _as_partner(turns: Turns, utilities: Int8s, turn: int) -> Turns:
    """The earlier ``turn`` from the view of the partner of the seat to move, with its values ``[R, 3]``."""
    acts, offers = turns.history.act[:, :turn], turns.history.oA[:, :turn]
    offered = np.zeros((turns.size, 3), dtype=np.int8)
    for earlier in range((turn + 1) % 2, turn, 2):
        claimed = np.less_equal(acts[:, earlier], Act.INSIST)[:, None]
        offered = np.where(claimed, turns.counts - offers[:, earlier], offered)
    # Where one seat is shown the other's values, so is the other.
    revealed = turns.partner_utilities.any(axis=1, keepdims=True)
    history = np.ascontiguousarray(acts.T), np.ascontiguousarray(offers.transpose(1, 2, 0))
    return turns_after(
        turns.rules, turns.prior, turns.counts, utilities, *history, offered, turns.my_utilities * revealed
    )
