"""Positions of human dialogues: a person's observation before an utterance, and the act of that utterance.

They are the data for behaviour cloning and for the measure of human likeness. A dialogue gives a position where the
utterance was read as an act and the observation of the partner is certain: the partner's last utterance was read as an
act, and no later utterance can have changed the partner's claim. The seat's own earlier acts are not included, so only
memoryless occupants can be queried at a position. Utterances after an AGREE give no positions.

People's refusals do not end their dialogues. Under rules where DISAGREE ends the game, positions with a refusal, or
directly after one, are left out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import check_decisions
from dond_marl.dialogues.games import Negotiation, acts, negotiations
from dond_marl.game import Act, Action, Rules, Triple, rest, worth
from dond_marl.scenarios.sources import is_trainable, pack
from dond_marl.seats import NO_ACT_YET, Bools, Doubles, Int8s, Partner, Rows, Turns, turns_after
from dond_marl.statistics import scenario_groups

PRIOR = "lewis"  # the scenarios of the talks are of that space


class Positions(NamedTuple):
    """N positions in games under ``rules``."""

    rules: Rules
    counts: Int8s  # [N, 3]
    my_utilities: Int8s  # [N, 3] of the speaker
    last_partner_act: Int8s  # [N] END for none yet, as in :class:`dond_marl.seats.Turns`
    last_partner_offer_for_me: Int8s  # [N, 3]
    turns_remaining: Int8s  # [N]
    act: Int8s  # [N] the person's act
    oA: Int8s  # [N, 3] items that they would keep; zeros where the act is no offer
    share: Doubles  # [N] their final points divided by the pool's value to them; NaN where unknown
    group: Rows  # [N] of the scenario, in 0..GROUPS - 1: the unit of doubt, see :mod:`dond_marl.statistics`

    @property
    def size(self) -> int:
        return len(self.act)

    @property
    def replies(self) -> Bools:
        """Mask of positions after an act of the partner, ``[N]``; in an opening there is hardly a choice of act."""
        replied: Bools = self.last_partner_act != NO_ACT_YET
        return replied

    def rows(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Positions:
        return self._replace(**{name: getattr(self, name)[index] for name in self._fields if name != "rules"})

    def in_every_order(self) -> Positions:
        """The positions in all six orders of the item types, ``[6 N]``: the rules are symmetric in the types."""
        orders = [list(order) for order in itertools.permutations(range(3))]
        by_type = {
            name: np.concatenate([getattr(self, name)[:, order] for order in orders])
            for name in ("counts", "my_utilities", "last_partner_offer_for_me", "oA")
        }
        without_types = {
            name: np.tile(getattr(self, name), len(orders))
            for name in ("last_partner_act", "turns_remaining", "act", "share", "group")
        }
        return Positions(self.rules, **by_type, **without_types)

    def turns(self) -> Iterator[tuple[Rows, Turns]]:
        """The positions as batches of turns, one batch per turn number: the positions' indices and their turns."""
        for turns_remaining in np.unique(self.turns_remaining)[::-1]:
            index = np.flatnonzero(self.turns_remaining == turns_remaining)
            yield index, self.rows(index)._turns(self.rules.max_turns - int(turns_remaining))

    def _turns(self, length: int) -> Turns:
        acts, offers = np.full((length, self.size), -1, dtype=np.int8), np.zeros((length, 3, self.size), dtype=np.int8)
        if length:  # of the history, a memoryless occupant may use the last act only
            acts[-1] = self.last_partner_act
            offered = self.last_partner_act <= Act.INSIST
            offers[-1] = ((self.counts - self.last_partner_offer_for_me) * offered[:, None]).T
        view = self.counts, self.my_utilities
        return turns_after(self.rules, PRIOR, *view, acts, offers, self.last_partner_offer_for_me)


def human_positions(
    split: str, rules: Rules, data_dir: str | Path | None = None, *, trainable_only: bool = False
) -> Positions:
    """Every position of ``train``, ``val`` or ``test`` that games under ``rules`` can reach.

    A turn of talk is a turn of the game, so those after ``max_turns`` are left out. ``trainable_only`` drops talks on
    scenarios held out from training, see :mod:`dond_marl.scenarios.sources`. Raises
    :class:`dond_marl.scenarios.data.DataError`.
    """
    talks = list(negotiations(split, data_dir))
    if trainable_only:
        trainable = is_trainable(pack([talk.scenario for talk in talks]))
        talks = list(itertools.compress(talks, trainable.tolist()))
    return positions_of(talks, rules)


def positions_of(talks: Iterable[Negotiation], rules: Rules) -> Positions:
    """The positions of some negotiations, in order."""
    talks = list(talks)
    groups = scenario_groups(pack([talk.scenario for talk in talks])).tolist()
    rows = [(*row, group) for talk, group in zip(talks, groups, strict=True) for row in _positions_in(talk, rules)]
    kinds = [(np.int8, 3), (np.int8, 3), np.int8, (np.int8, 3), np.int8, np.int8, (np.int8, 3), np.float64, np.int64]
    table = np.array(rows, dtype=[(f"{number}", kind) for number, kind in enumerate(kinds)])
    return Positions(rules, *(np.ascontiguousarray(table[name]) for name in table.dtype.names or ()))


def choices(partner: Partner, positions: Positions) -> tuple[Int8s, Int8s]:
    """The acts ``[N]`` and offers ``[N, 3]`` of a deterministic, memoryless occupant at each position.

    Raises ``ValueError`` for any other occupant.
    """
    if not (partner.traits.deterministic and partner.traits.memoryless):
        raise ValueError(f"only a deterministic and memoryless occupant answers at a position; got {partner.traits}")
    act, oA = np.zeros(positions.size, dtype=np.int8), np.zeros((positions.size, 3), dtype=np.int8)
    for index, turns in positions.turns():
        act[index], items = check_decisions(partner.act(turns), turns.size)
        oA[index] = items.T * (act[index] <= Act.INSIST)[:, None]
    return act, oA


Row = tuple[Triple, Triple, int, Triple, int, int, Triple, float]


def _positions_in(talk: Negotiation, rules: Rules) -> Iterator[Row]:
    scenario, readings = talk.scenario, acts(talk)
    counts = scenario.counts
    shares = _point_shares(talk)
    claims: list[Triple | None] = [None, None]
    certain = [True, True]  # whether the seat's latest claim is known
    for turn, reading in enumerate(readings[: rules.max_turns]):
        seat, action = turn % 2, reading.action
        before = readings[turn - 1].action if turn else None
        if before is not None and before.act_type is Act.AGREE:
            return
        partner_claim = claims[1 - seat]
        observed = certain[1 - seat] and (before is not None or not turn)
        if action is not None and observed and _possible(before, action, rules):
            last = NO_ACT_YET if before is None else before.act_type
            offered = (0, 0, 0) if partner_claim is None else rest(counts, partner_claim)
            remaining = rules.max_turns - turn
            yield counts, scenario.utilities[seat], last, offered, remaining, action.act_type, action.oA, shares[seat]
        if action is not None and action.act_type.is_offer:
            claims[seat], certain[seat] = action.oA, True
        elif reading.unclear:
            certain[seat] = False


def _possible(before: Action | None, action: Action, rules: Rules) -> bool:
    """Whether ``action`` can follow the partner's act ``before`` in games under ``rules``."""
    if rules.disagree == "ends" and Act.DISAGREE in (action.act_type, before and before.act_type):
        return False
    return action.act_type is not Act.AGREE or (before is not None and before.act_type.is_offer)


def _point_shares(talk: Negotiation) -> tuple[float, float]:
    """Points of both seats divided by the pool's value to them; NaN for both if the dialogue was cut off."""
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
