"""How well a distilled model imitates its teacher: the same games, seat by seat, on scenarios that it never saw."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dond_marl.batch import Table
from dond_marl.game import Act, Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Decisions, Partner, Traits, Turns
from league.evaluation.matches import Result, score
from partners.llm.local.partner import LocalLLMPartner

IN_FLIGHT = 64  # games that are asked about at once
_ROUNDS = 20  # of them


class Imitation(NamedTuple):
    """The teacher and its student against the same partner, and how alike they are."""

    teacher: Result
    student: Result
    acts: float  # share of the teacher's decisions in which the student says the same act
    whole: float  # the same act, and the same split where it is an offer
    decisions: int  # that they were compared on
    moves: float  # per second, with 64 games in flight, none of them remembered

    @property
    def agreement(self) -> float:
        """The student's share of deals, as a share of the teacher's."""
        return self.student.deals / self.teacher.deals if self.teacher.deals else float("nan")

    @property
    def score(self) -> float:
        """The student's points, as a share of the teacher's."""
        return self.student.points.mean / self.teacher.points.mean if self.teacher.points.mean else float("nan")


def imitation(
    student: LocalLLMPartner, teacher: Partner, against: Partner, source: ScenarioSource, rules: Rules, seed: int
) -> Imitation:
    """Play every scenario of ``source``, in each seat; it must be one that can be listed."""
    assert source.table is not None
    table = source.table
    results = [score(who, against, table, rules, seed=seed, prior=source.prior) for who in (teacher, student)]
    shadow = _Shadow(teacher, student)
    for seat in (0, 1):
        players = (shadow, against) if seat == 0 else (against, shadow)
        rollout(players, table, rules, seed=seed, index=(seat,), prior=source.prior)
    compared = np.concatenate(shadow.alike, axis=1)
    return Imitation(
        results[0], results[1], float(compared[0].mean()), float(compared[1].mean()), compared.shape[1],
        moves_per_second(student),
    )  # fmt: skip


def moves_per_second(student: LocalLLMPartner, in_flight: int = IN_FLIGHT) -> float:
    """Moves of new positions, ``in_flight`` at a time, whole decisions from turns to acts."""
    from dond_marl.scenarios.sources import open_source

    scenarios = open_source("uniform").block(1, 0, in_flight * (_ROUNDS + 1))  # hardly two are alike
    turns = Table(scenarios, Rules()).turns()
    blocks = [turns.rows(np.arange(start, start + in_flight)) for start in range(0, turns.size, in_flight)]
    student.act(blocks[0])
    began = time.perf_counter()
    for block in blocks[1:]:
        student.act(block)
    return in_flight * _ROUNDS / (time.perf_counter() - began)


@dataclass
class _Shadow:
    """The teacher, while its student is asked the same."""

    teacher: Partner
    student: Partner

    def __post_init__(self) -> None:
        self.alike: list[np.ndarray] = []  # [2, B] each: the same act, and the same decision

    @property
    def traits(self) -> Traits:
        """Those of the teacher."""
        return self.teacher.traits

    def act(self, turns: Turns) -> Decisions:
        """What the teacher says."""
        said, echoed = self.teacher.act(turns), self.student.act(turns)
        act = said.act_type == echoed.act_type
        offer = said.act_type <= Act.INSIST
        self.alike.append(np.array([act, act & (~offer | (said.oA == echoed.oA).all(axis=1))]))
        return said
