"""Positions: what a person had in front of them when they spoke, and which act they said.

They are what a policy is taught people's play from, and what its likeness to people is measured on. A position is taken
from a talk where its own act was read, and where what its seat saw of the partner is certain: the partner's last
utterance was read as an act, and no later utterance of theirs can have moved the claim that stands. What a seat itself
had said before is not looked at, so the occupants that are asked at a position must be memoryless. After an AGREE the
game is over; what people then say belongs to no position.

People's refusals only refuse. Under rules where DISAGREE ends the game nobody in the talks said such a thing, so there
the positions in which somebody refuses, or has just been refused, are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.dialogues.games import Negotiation, acts, negotiations
from dond_marl.game import Act, Action, Rules, Triple, rest, worth
from dond_marl.scenarios.sources import pack
from dond_marl.scenarios.views import is_trainable
from dond_marl.seats import NO_ACT_YET, Bools, Doubles, History, Int8s, Partner, Rows, Turns, no_hints, no_noise
from dond_marl.statistics import scenario_groups

PRIOR = "lewis"  # the scenarios of the talks are of that space


class Positions(NamedTuple):
    """N positions in games under ``rules``."""

    rules: Rules
    counts: Int8s  # [N, 3]
    my_utilities: Int8s  # [N, 3] of whoever speaks
    last_partner_act: Int8s  # [N] END for none yet, as in :class:`dond_marl.seats.Turns`
    last_partner_offer_for_me: Int8s  # [N, 3]
    turns_remaining: Int8s  # [N]
    act: Int8s  # [N] what the person said
    oA: Int8s  # [N, 3] what they would keep; zeros where they made no offer
    share: Doubles  # [N] of their whole pool, what they got in the end; NaN where it is not known
    group: Rows  # [N] of the scenario, in 0..GROUPS - 1: the unit of doubt, see :mod:`dond_marl.statistics`

    @property
    def size(self) -> int:
        return len(self.act)

    @property
    def replies(self) -> Bools:
        """Where the partner has spoken before, ``[N]``; in an opening there is hardly a choice of act."""
        replied: Bools = self.last_partner_act != NO_ACT_YET
        return replied

    def rows(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Positions:
        return self._replace(**{name: getattr(self, name)[index] for name in self._fields if name != "rules"})

    def in_every_order(self) -> Positions:
        """Six times as many: the rules know no type of item by its name, so any order of the types is as good."""
        orders = [list(order) for order in itertools.permutations(range(3))]
        by_type = {
            name: np.concatenate([getattr(self, name)[:, order] for order in orders])
            for name in ("counts", "my_utilities", "last_partner_offer_for_me", "oA")
        }
        others = {
            name: np.tile(getattr(self, name), len(orders))
            for name in ("last_partner_act", "turns_remaining", "act", "share", "group")
        }
        return Positions(self.rules, **by_type, **others)

    def turns(self) -> Iterator[tuple[Rows, Turns]]:
        """The positions as turns to be answered, those of one turn together: their places, and what is seen there."""
        for left in np.unique(self.turns_remaining)[::-1]:
            places = np.flatnonzero(self.turns_remaining == left)
            yield places, self.rows(places)._turns(self.rules.max_turns - int(left))

    def _turns(self, taken: int) -> Turns:
        size = self.size
        acts, offers = np.full((taken, size), -1, dtype=np.int8), np.zeros((taken, 3, size), dtype=np.int8)
        offered = self.last_partner_act <= Act.INSIST
        if taken:  # of what was said before, a memoryless occupant may look at the last act alone
            acts[-1] = self.last_partner_act
            offers[-1] = ((self.counts - self.last_partner_offer_for_me) * offered[:, None]).T
        mask = np.ones((size, len(Act)), dtype=bool)
        mask[:, Act.AGREE] = offered
        return Turns(
            rules=self.rules,
            prior=PRIOR,
            counts=self.counts,
            my_utilities=self.my_utilities,
            partner_utilities=np.zeros((size, 3), dtype=np.int8),
            history=History(acts, offers, taken),
            last_partner_act=self.last_partner_act,
            last_partner_offer_for_me=self.last_partner_offer_for_me,
            turns_remaining=self.turns_remaining,
            act_mask=mask,
            hint_features=no_hints(size),
            noise=no_noise(size),
            game_noise=no_noise(size),
        )


def human_positions(
    split: str, rules: Rules, data_dir: str | Path | None = None, *, trainable_only: bool = False
) -> Positions:
    """Every position of ``train``, ``val`` or ``test`` that games under ``rules`` can reach.

    A turn of talk is a turn of the game, so those after ``max_turns`` are left out. ``trainable_only`` drops talks on
    scenarios that nobody trains on, see :mod:`dond_marl.scenarios.views`. Raises
    :class:`dond_marl.scenarios.data.DataError`.
    """
    talks = list(negotiations(split, data_dir))
    if trainable_only:
        kept = is_trainable(pack([talk.scenario for talk in talks]))
        talks = list(itertools.compress(talks, kept.tolist()))
    return positions_of(talks, rules)


def positions_of(talks: Iterable[Negotiation], rules: Rules) -> Positions:
    """The positions of some negotiations, in order."""
    talks = list(talks)
    groups = scenario_groups(pack([talk.scenario for talk in talks])).tolist()
    rows = [(*row, group) for talk, group in zip(talks, groups, strict=True) for row in _of(talk, rules)]

    def column(number: int) -> Int8s:
        return np.array([row[number] for row in rows], dtype=np.int8)

    def triples(number: int) -> Int8s:
        return column(number).reshape(-1, 3)

    share: Doubles = np.array([row[7] for row in rows], dtype=np.float64)
    group: Rows = np.array([row[8] for row in rows], dtype=np.int64)
    return Positions(
        rules, triples(0), triples(1), column(2), triples(3), column(4), column(5), triples(6), share, group
    )


def choices(partner: Partner, positions: Positions) -> tuple[Int8s, Int8s]:
    """What a deterministic, memoryless occupant says at each position: acts ``[N]`` and what it would keep ``[N, 3]``.

    Raises ``ValueError`` for any other occupant.
    """
    if not (partner.traits.deterministic and partner.traits.memoryless):
        raise ValueError(f"only a deterministic and memoryless occupant answers at a position; got {partner.traits}")
    act, oA = np.zeros(positions.size, dtype=np.int8), np.zeros((positions.size, 3), dtype=np.int8)
    for places, turns in positions.turns():
        decisions = partner.act(turns)
        act[places], oA[places] = decisions.act_type, decisions.oA * (decisions.act_type <= Act.INSIST)[:, None]
    return act, oA


Row = tuple[Triple, Triple, int, Triple, int, int, Triple, float]


def _of(talk: Negotiation, rules: Rules) -> Iterator[Row]:
    scenario, readings = talk.scenario, acts(talk)
    counts = scenario.counts
    shares = _shares(talk)
    claims: list[Triple | None] = [None, None]
    certain = [True, True]  # whether the seat's latest claim is known
    for taken, reading in enumerate(readings[: rules.max_turns]):
        seat, action = taken % 2, reading.action
        before = readings[taken - 1].action if taken else None
        if before is not None and before.act_type is Act.AGREE:
            return
        theirs = claims[1 - seat]
        seen = certain[1 - seat] and (before is not None or not taken)
        if action is not None and seen and _possible(before, action, rules):
            last = NO_ACT_YET if before is None else before.act_type
            offered = (0, 0, 0) if theirs is None else rest(counts, theirs)
            left = rules.max_turns - taken
            yield counts, scenario.utilities[seat], last, offered, left, action.act_type, action.oA, shares[seat]
        if action is not None and action.act_type.is_offer:
            claims[seat], certain[seat] = action.oA, True
        elif reading.unclear:
            certain[seat] = False


def _possible(before: Action | None, action: Action, rules: Rules) -> bool:
    """Whether games under ``rules`` know an act as this one, after the partner's one before."""
    if rules.disagree == "ends" and Act.DISAGREE in (action.act_type, before and before.act_type):
        return False
    return action.act_type is not Act.AGREE or (before is not None and before.act_type.is_offer)


def _shares(talk: Negotiation) -> tuple[float, float]:
    """Of their wholes, what the seats got; NaN for both if the talk was cut off."""
    if talk.cut_off:
        return math.nan, math.nan
    if talk.selected is None:
        return 0.0, 0.0
    scenario = talk.scenario
    first, second = talk.selected, rest(scenario.counts, talk.selected)
    return (
        worth(scenario.utilities[0], first) / max(scenario.pool_value(0), 1),
        worth(scenario.utilities[1], second) / max(scenario.pool_value(1), 1),
    )
