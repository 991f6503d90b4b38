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
from dond_marl.splits import action_index, grid_size
from dond_marl.yardsticks.contexts import Index, splits_of
from dond_marl.yardsticks.equilibria.table import NONE, SMALL, TEMPERATURES, Equilibrium


@dataclass(frozen=True)
class EquilibriumPartner:
    """Plays its part of an equilibrium: neither seat gains much by leaving it, if the other plays it as well.

    Source: quantal response equilibria (McKelvey, Palfrey 1998, *Quantal response equilibria for extensive form games*,
    section 2), found by magnetic mirror descent (Sokota et al. 2023, sections 3 and 4; see
    :mod:`dond_marl.yardsticks.equilibria`). Each act is said with the chance that the table of games with so many turns
    gives it; it remembers the last offer alone, takes INSIST for PROPOSE, and never says INSIST. There are tables of 1
    to 10 turns over the scenarios of ``lewis``; in any other game it raises
    :class:`~dond_marl.errors.InputError`. Where DISAGREE only refuses it plays the same table, never refuses, and
    answers a refusal as :mod:`dond_marl.yardsticks.equilibria.table` says.

    - ``temperature``: points of ten, one of those that have a table; the higher, the more often it says what is worth
      less. In games of less than 10 turns only the lowest has one.
    """

    temperature: float = SMALL
    traits: ClassVar[Traits] = Traits(memoryless=True)
    insist_is_propose: ClassVar[bool] = True

    def __post_init__(self) -> None:
        known = sorted({each for some in TEMPERATURES.values() for each in some})
        if isinstance(self.temperature, bool) or self.temperature not in known:
            raise ValueError(f"temperature must be one of {', '.join(map(str, known))}; got {quote(self.temperature)}")

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; its confidence is the probability of the decision."""
        chances, heard = self._chances(turns)
        n, ends = chances.shape[1] - 2, chances.cumsum(axis=1)
        place = np.minimum((ends <= turns.noise[:, :1] * ends[:, -1:]).sum(axis=1), n + 1)
        act, oA = _written(turns, place, n, heard)
        confidence = np.minimum(chances[np.arange(turns.size), place], 1).astype(np.float32)
        return Decisions(act, oA, confidence, constant(Cause.FREE, np.int8, turns.size))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``."""
        (chances, heard), size = self._chances(turns), grid_size(max_count)
        n = chances.shape[1] - 2
        row, place = np.nonzero(chances)
        act, oA = _written(turns.rows(row), place, n, heard[row])
        probs = np.zeros((turns.size, 2 * size + 3))
        probs[row, action_index(act, oA, max_count)] = chances[row, place]
        normal: Doubles = probs / probs.sum(axis=1, keepdims=True)
        return normal

    def _chances(self, turns: Turns) -> tuple[Doubles, Int8s]:
        """Of every split of the row's pool, of AGREE and of walking away, ``[B, N + 2]``; what was heard, ``[B, 3]``.

        A refusal is heard as what it is answered as (:mod:`dond_marl.yardsticks.equilibria.table`).
        """
        table = table_for(turns.rules, self.temperature)
        heard = turns.counts - turns.last_partner_offer_for_me
        heard = heard if turns.turns_taken else np.full_like(heard, NONE)
        early = _refused(turns) & (turns.turns_remaining > 1)
        heard = np.where(early[:, None], turns.counts, heard).astype(np.int8)
        chances = table.probs(turns.counts, turns.my_utilities, heard, turns.turns_remaining.astype(np.int64))
        chances[early, -1] += chances[early, -2]
        chances[early, -2] = 0
        return chances, heard


def table_for(rules: Rules, temperature: float = SMALL) -> Equilibrium:
    """The table of games under ``rules``; raises :class:`~dond_marl.errors.InputError` where there is none."""
    if rules.secret_claims:
        raise InputError("an equilibrium is of games whose acts bind; none is known with secret claims: leave them out")
    return Equilibrium.load(rules.max_turns, temperature, rules.disagree)


def check_game(occupants: Iterable[object], rules: Rules, source: ScenarioSource) -> None:
    """Raise :class:`~dond_marl.errors.InputError` if one of them is an equilibrium and no table knows the game.

    Said before the first game what it would say in it, of those too whom one of them draws for a game or is made of.
    """
    for occupant in chain.from_iterable(map(_parts, occupants)):
        if isinstance(occupant, EquilibriumPartner):
            known = source.table is not None and _knows(table_for(rules, occupant.temperature), source.table)
            if not known:
                raise InputError(
                    f"an equilibrium knows scenarios of 'lewis' alone; got {source.label}: take scenarios='lewis'"
                )


def _parts(occupant: object) -> Iterator[object]:
    """The occupant and everybody in it: whom it draws (``partners``), whom it follows (``of``) or answers (``to``)."""
    yield occupant
    inside = [getattr(occupant, "of", None), getattr(occupant, "to", None)]
    for part in (*getattr(occupant, "partners", ()), *inside):
        if part is not None and not isinstance(part, str):
            yield from _parts(part)


def is_known(rules: Rules, scenarios: Scenarios) -> bool:
    """Whether a table knows games under ``rules`` over all of ``scenarios``."""
    return rules.max_turns in TEMPERATURES and not rules.secret_claims and _knows(table_for(rules), scenarios)


def _knows(table: Equilibrium, scenarios: Scenarios) -> bool:
    return all((table.view_numbers(scenarios.counts, scenarios.utilities[:, seat]) >= 0).all() for seat in (0, 1))


def _refused(turns: Turns) -> Bools:
    """Whether the partner's last act was a refusal, ``[B]``."""
    refused: Bools = turns.last_partner_act == Act.DISAGREE
    return refused


def _written(turns: Turns, place: Index, n: int, heard: Int8s) -> tuple[Int8s, Int8s]:
    """The acts ``[B]`` and claims ``[B, 3]`` that the columns ``place[B]`` of chances stand for."""
    offers, agrees, walks = place < n, place == n, place == n + 1
    act = np.where(offers, Act.PROPOSE, Act.AGREE + place - n).astype(np.int8)
    oA = splits_of(turns.counts).oA[np.arange(turns.size), np.where(offers, place, 0)] * offers[:, None]
    if turns.rules.disagree == "rejects":
        last = turns.turns_remaining == 1
        takes, spoils = agrees & _refused(turns), walks & last
        act[walks] = Act.END
        act[takes | spoils] = Act.PROPOSE
        oA = np.where(takes[:, None], turns.counts - heard, oA)
        # What the partner left is never claimed: everything, or nothing where the partner keeps nothing.
        oA = np.where((spoils & heard.any(axis=1))[:, None], turns.counts, oA)
    return act, oA.astype(np.int8)
