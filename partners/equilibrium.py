"""An equilibrium of the game as a partner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.game import Act, Rules
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Bools, Cause, Decisions, Doubles, Int8s, Traits, Turns, constant
from dond_marl.solvers.contexts import Index, splits_of
from dond_marl.solvers.equilibria import NONE, SMALL, TEMPERATURES, Equilibrium
from dond_marl.splits import action_index, grid_size


@dataclass(frozen=True)
class EquilibriumPartner:
    """Plays its part of an equilibrium: neither seat gains much by leaving it.

    Source: quantal response equilibria (McKelvey, Palfrey 1998, *Quantal response equilibria for extensive form games*,
    section 2), found by magnetic mirror descent (Sokota et al. 2023, sections 3 and 4; see
    :mod:`dond_marl.solvers.equilibria`). The probabilities of its acts are in a table for games with so many turns;
    it uses the last offer only, treats INSIST as PROPOSE, and never plays INSIST. There are tables of 1
    to 10 turns over the scenarios of ``lewis``; in any other game it raises
    :class:`~dond_marl.errors.InputError`. Where DISAGREE only refuses it plays the same table, never refuses, and
    answers a refusal as described in :mod:`dond_marl.solvers.equilibria`.

    - ``temperature``: points of ten, one of those that have a table; the higher, the more often it plays acts of
      less value. Games of less than 10 turns have a table for the lowest only.
    """

    temperature: float = SMALL
    traits: ClassVar[Traits] = Traits(memoryless=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        allowed = sorted({temperature for row in TEMPERATURES.values() for temperature in row})
        if isinstance(self.temperature, bool) or self.temperature not in allowed:
            raise ValueError(
                f"temperature must be one of {', '.join(map(str, allowed))}; got {quote(self.temperature)}"
            )

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; its confidence is the probability of the decision."""
        chances, answered_offer = self._chances(turns)
        n, ends = chances.shape[1] - 2, chances.cumsum(axis=1)
        column = np.minimum((ends <= turns.noise[:, :1] * ends[:, -1:]).sum(axis=1), n + 1)
        act, oA = _acts_of_columns(turns, column, n, answered_offer)
        confidence = np.minimum(chances[np.arange(turns.size), column], 1).astype(np.float32)
        return Decisions(act, oA, confidence, constant(Cause.FREE, np.int8, turns.size))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        (chances, answered_offer), size = self._chances(turns), grid_size(max_count)
        n = chances.shape[1] - 2
        row, column = np.nonzero(chances)
        act, oA = _acts_of_columns(turns.rows(row), column, n, answered_offer[row])
        probs = np.zeros((turns.size, 2 * size + 3))
        probs[row, action_index(act, oA, max_count)] = chances[row, column]
        normal: Doubles = probs / probs.sum(axis=1, keepdims=True)
        return normal

    def _chances(self, turns: Turns) -> tuple[Doubles, Int8s]:
        """Probabilities of every split, of AGREE and of walking away, ``[B, N + 2]``; the offer to answer, ``[B, 3]``.

        A refusal counts as the offer that the table answers it as (:mod:`dond_marl.solvers.equilibria`).
        """
        table = table_for(turns.rules, self.temperature)
        answered_offer = turns.counts - turns.last_partner_offer_for_me
        answered_offer = answered_offer if turns.turns_taken else np.full_like(answered_offer, NONE)
        early = _is_refusal(turns) & (turns.turns_remaining > 1)
        answered_offer = np.where(early[:, None], turns.counts, answered_offer).astype(np.int8)
        chances = table.probs(turns.counts, turns.my_utilities, answered_offer, turns.turns_remaining.astype(np.int64))
        chances[early, -1] += chances[early, -2]
        chances[early, -2] = 0
        return chances, answered_offer


def table_for(rules: Rules, temperature: float = SMALL) -> Equilibrium:
    """The table of games under ``rules``; raises :class:`~dond_marl.errors.InputError` where there is none."""
    return Equilibrium.load(rules.max_turns, temperature, rules.disagree)


def check_game(occupants: Iterable[object], rules: Rules, source: ScenarioSource) -> None:
    """Raise :class:`~dond_marl.errors.InputError` if an occupant is an equilibrium without a table for the game.

    Checked before the first game, for occupants inside mixtures and other occupants too.
    """
    for occupant in chain.from_iterable(map(_parts, occupants)):
        if isinstance(occupant, EquilibriumPartner):
            table = source.table
            if table is None or not _covers(table_for(rules, occupant.temperature), table):
                raise InputError(
                    f"an equilibrium has tables for scenarios of 'lewis' only; got {source.label}: "
                    "take scenarios='lewis'"
                )


def _parts(occupant: object) -> Iterator[object]:
    """The occupant and all occupants in it: ``partners`` of a mixture, ``of`` and ``to`` of others."""
    yield occupant
    inside = [getattr(occupant, "of", None), getattr(occupant, "to", None)]
    for part in (*getattr(occupant, "partners", ()), *inside):
        if part is not None and not isinstance(part, str):
            yield from _parts(part)


def has_table(rules: Rules, scenarios: Scenarios) -> bool:
    """Whether there is a table for games under ``rules`` over all of ``scenarios``."""
    return rules.max_turns in TEMPERATURES and _covers(table_for(rules), scenarios)


def _covers(table: Equilibrium, scenarios: Scenarios) -> bool:
    return all((table.view_numbers(scenarios.counts, scenarios.utilities[:, seat]) >= 0).all() for seat in (0, 1))


def _is_refusal(turns: Turns) -> Bools:
    """Whether the partner's last act was a refusal, ``[B]``."""
    refused: Bools = turns.last_partner_act == Act.DISAGREE
    return refused


def _acts_of_columns(turns: Turns, column: Index, n: int, answered_offer: Int8s) -> tuple[Int8s, Int8s]:
    """The acts ``[B]`` and claims ``[B, 3]`` of the columns ``column[B]`` of probabilities."""
    offers, agrees, walks = column < n, column == n, column == n + 1
    act = np.where(offers, Act.PROPOSE, Act.AGREE + column - n).astype(np.int8)
    oA = splits_of(turns.counts).oA[np.arange(turns.size), np.where(offers, column, 0)] * offers[:, None]
    if turns.rules.disagree == "rejects":
        last = turns.turns_remaining == 1
        takes, spoils = agrees & _is_refusal(turns), walks & last
        act[walks] = Act.END
        act[takes | spoils] = Act.PROPOSE
        oA = np.where(takes[:, None], turns.counts - answered_offer, oA)
        # The partner's offer is never claimed: the claim is everything, or nothing if the partner keeps nothing.
        oA = np.where((spoils & answered_offer.any(axis=1))[:, None], turns.counts, oA)
    return act, oA.astype(np.int8)
