"""Lessons for a small language model: prompts out of games, and the line that a teacher would reply.

The teacher plays both seats against other partners, and now and then another legal act is played in place of its own,
so that it is also seen where its own play would not have led; what is taught is always what it says itself. Learning
from what an expert says where its pupil goes: Ross, Gordon, Bagnell 2011 (arXiv 1011.0686).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from partners.llm.prompt import Template
from partners.llm.reply import reply_line
from partners.llm.student.recipe import ITSELF, Games
from partners.scripted.chance import Random

_STRAY = 7  # which of the turn's uniforms decides whether another act is played
_BLOCK = 4096  # scenarios played together


class Lesson(NamedTuple):
    """A prompt, and what is to be replied."""

    prompt: str
    reply: str
    decides: int  # how many of the reply's numbers are choices: the act, and for offers each item type


class _Recorder:
    """The teacher in its seat; it strays at times, and what it would have said is written down."""

    traits = Traits()

    def __init__(self, teacher: Partner, template: Template, history_cap: int, strays: float) -> None:
        self._teacher, self._template, self._cap, self._strays = teacher, template, history_cap, strays
        self._other = Random()
        self.lessons: dict[str, Lesson] = {}

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, the teacher's or a stray one."""
        said = self._teacher.act(turns)
        for prompt, act, oA, confidence in zip(
            self._template.render(turns, self._cap), said.act_type.tolist(), said.oA.tolist(),
            said.confidence.tolist(), strict=True,
        ):  # fmt: skip
            if prompt not in self.lessons:
                action = Action(Act(act), (oA[0], oA[1], oA[2]))
                line = reply_line(action, round(min(max(confidence, 0.0), 1.0), 1))
                self.lessons[prompt] = Lesson(prompt, line, 4 if action.act_type.is_offer else 1)
        strays = np.flatnonzero(turns.noise[:, _STRAY] < self._strays)
        if not len(strays):
            return said
        other = self._other.act(turns.rows(strays))
        act_type, kept = said.act_type.copy(), said.oA.copy()
        act_type[strays], kept[strays] = other.act_type, other.oA
        return said._replace(act_type=act_type, oA=kept)


def lessons(
    teacher: str, played: Sequence[Games], template: Template, *, history_cap: int, rules: Rules, seed: int
) -> list[Lesson]:
    """What ``teacher`` says in all of the games, each prompt once, in the order of play.

    Raises :class:`dond_marl.occupants.OccupantNameError` or :class:`dond_marl.scenarios.sources.ScenarioError`.
    """
    imitated = seat_occupant(teacher)
    found: dict[str, Lesson] = {}
    for number, games in enumerate(played):
        source = open_source(games.scenarios, split=games.split)
        other = imitated if games.against == ITSELF else seat_occupant(games.against)
        table = source.table if games.number is None else source.block(seed, 0, games.number)
        if table is None:
            raise ValueError(f"the source {games.scenarios} cannot be listed: say how many scenarios (number)")
        for start in range(0, table.size, _BLOCK):
            block = table.rows(np.arange(start, min(start + _BLOCK, table.size)))
            for seat in (0, 1):
                recorder = _Recorder(imitated, template, history_cap, games.strays)
                rollout(
                    (recorder, other) if seat == 0 else (other, recorder),
                    block, rules, seed=seed, index=(number, start, seat), prior=source.prior,
                )  # fmt: skip
                for prompt, lesson in recorder.lessons.items():
                    found.setdefault(prompt, lesson)
    return list(found.values())
