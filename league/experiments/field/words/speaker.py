"""An occupant that speaks: it writes a sentence, which our annotator reads as its act, and hears acts in English.

It remembers what the history holds: acts, which it hears, its own too, in the wordings of
:mod:`dond_marl.records.wording`. A sentence that is read as no legal act is drawn anew, as often as ``attempts`` says;
after that it says its latest claim again (INSIST), or claims all that it values (PROPOSE), and the cause of the
decision is ``UNPARSABLE``. A bare no is such a sentence where DISAGREE would end the game: people who say it talk on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.dialogues.annotator import Reading, Said, read
from dond_marl.game import Act, Action, Triple
from dond_marl.seats import Cause, Decisions, Floats, Int8s, Traits, Turns
from league.experiments.field.words.corpus import THEM, YOU, Goal, goal, worded
from league.experiments.field.words.drawing import Voice

SPOKEN = 4  # the uniform of a turn that its words are drawn from


class Spoken(NamedTuple):
    """What was said on some turns: sentences, the acts that they are read as, and how often each was drawn."""

    texts: list[str]  # the last drawn
    decisions: Decisions
    drawn: list[int]  # 1 where the first sentence was read


class _Row(NamedTuple):
    """What one speaker goes by."""

    counts: Triple
    goal: Goal
    talk: tuple[int, ...]
    said: Said
    mask: tuple[bool, ...]
    ends: bool  # DISAGREE ends the game


class Speaker:
    """Plays what its sentences are read as. Source: Lewis et al. 2017, section 4, read as in Kwon et al. 2023."""

    traits = Traits(learned=True, costly=False)

    def __init__(self, voice: Voice, name: str = "words") -> None:
        self.voice, self.name = voice, name

    def __repr__(self) -> str:
        return f"Speaker({self.name!r})"

    def act(self, turns: Turns) -> Decisions:
        """One decision a row."""
        return self.speak(turns).decisions

    def speak(self, turns: Turns) -> Spoken:
        """The same with the sentences."""
        rows = [self._row(turns, row) for row in range(turns.size)]
        texts, drawn = [""] * turns.size, [0] * turns.size
        found: list[Action | None] = [None] * turns.size
        uniforms = turns.noise[:, SPOKEN]
        for attempt in range(self.voice.attempts):
            left = [row for row in range(turns.size) if found[row] is None]
            if not left:
                break
            said = self.voice.sentences(
                [rows[row].goal for row in left], [rows[row].talk for row in left], uniforms[left], attempt
            )
            for row, words in zip(left, said, strict=True):
                texts[row], drawn[row] = " ".join(words), attempt + 1
                found[row] = legal(read(texts[row], rows[row].counts, rows[row].said), rows[row])
        return Spoken(texts, _decisions(rows, found), drawn)

    def _row(self, turns: Turns, row: int) -> _Row:
        counts, values = _triple(turns.counts[row]), _triple(turns.my_utilities[row])
        acts, offers = turns.history.act[row], turns.history.oA[row]
        talk: list[int] = []
        latest: list[Triple | None] = [None, None]  # the partner's claim, and the speaker's
        for turn in range(turns.taken):
            own = (turns.taken - turn) % 2 == 0
            action = Action(Act(int(acts[turn])), _triple(offers[turn]))
            talk += self.voice.known.numbers((YOU if own else THEM, *worded(action, counts, turn)))
            if action.act_type.is_offer:
                latest[own] = action.oA
        answers = Act(int(turns.last_partner_act[row])) if turns.taken else None
        talk.append(self.voice.known.number(YOU))
        return _Row(
            counts, goal(counts, values), tuple(talk), Said(latest[1], latest[0], answers),
            tuple(turns.act_mask[row].tolist()), turns.rules.disagree == "ends",
        )  # fmt: skip


def legal(reading: Reading, row: _Row) -> Action | None:
    """The act that a sentence is read as, if the speaker may play it and means it."""
    action = reading.action
    if action is None or not row.mask[action.act_type] or (action.act_type is Act.DISAGREE and row.ends):
        return None
    return action


def fallback(row: _Row) -> Action:
    """What is played for a speaker of whom no sentence was read."""
    if row.said.mine is not None:
        return Action(Act.INSIST, row.said.mine)
    a, b, c = (number if value else 0 for number, value in zip(row.goal[:3], row.goal[3:], strict=True))
    return Action(Act.PROPOSE, (a, b, c))


def _decisions(rows: list[_Row], found: list[Action | None]) -> Decisions:
    actions = [fallback(row) if action is None else action for row, action in zip(rows, found, strict=True)]
    act: Int8s = np.array([action.act_type for action in actions], dtype=np.int8)
    oA: Int8s = np.array([action.oA for action in actions], dtype=np.int8).reshape(-1, 3)
    causes = [Cause.UNPARSABLE if action is None else Cause.FREE for action in found]
    confidence: Floats = np.ones(len(rows), dtype=np.float32)
    return Decisions(act, oA, confidence, np.array(causes, dtype=np.int8))


def _triple(numbers: Int8s) -> Triple:
    a, b, c = numbers.tolist()
    return a, b, c
