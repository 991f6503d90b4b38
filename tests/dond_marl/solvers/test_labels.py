"""Labels: a partner that reads all offers with one label is played as by a policy that says no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from dond_marl.solvers.labels import LABELS, ReadsAs, reads_labels

LEWIS = open_source("lewis")
SHORT = Rules(4)


@dataclass(frozen=True)
class Says:
    """Plays as ``policy``, every offer with one label."""

    policy: Partner
    label: Act

    @property
    def traits(self) -> Traits:
        return self.policy.traits

    def act(self, turns: Turns) -> Decisions:
        decisions = self.policy.act(turns)
        offers = decisions.act_type <= Act.INSIST
        return decisions._replace(act_type=np.where(offers, self.label, decisions.act_type).astype(np.int8))


@dataclass(frozen=True)
class Offended:
    """Takes offers like the heuristic until the other seat has INSISTed three times, and then none."""

    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns: Turns) -> Decisions:
        decisions = seat_occupant("heuristic").act(turns)
        insisted = (turns.history.act[:, 1 - turns.seat :: 2] == Act.INSIST).sum(axis=1)
        agrees = (decisions.act_type == Act.AGREE) & (insisted >= 3)
        return decisions._replace(act_type=np.where(agrees, Act.PROPOSE, decisions.act_type).astype(np.int8))


@pytest.mark.parametrize("partner", ["heuristic(insist_ratio=0.2)", Offended(), "mixture(of=[heuristic, random])"])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("seat", [0, 1])
def test_a_reader_is_played_as_by_a_policy_with_one_label(partner, label, seat):
    policy, partner, table = seat_occupant("heuristic"), seat_occupant(partner), LEWIS.block(0, 0, 400)
    pairs = (Says(policy, label), partner), (policy, ReadsAs(partner, label))
    games = [rollout(pair if seat == 0 else pair[::-1], table, seed=1) for pair in pairs]
    assert (games[0].scores == games[1].scores).all() and (games[0].turns == games[1].turns).all()


def test_labels_are_read_where_any_answer_differs():
    alike = [
        "linear",
        "random",
        "mixed_thresholds",
        "nice_tit_for_tat",
        "heuristic(accept_ratio=0.5, insist_ratio=0.5)",
    ]
    assert [name for name in alike if reads_labels(seat_occupant(name), LEWIS, SHORT)] == []
    assert reads_labels(seat_occupant("heuristic"), LEWIS, SHORT) and reads_labels(Offended(), LEWIS, SHORT)
