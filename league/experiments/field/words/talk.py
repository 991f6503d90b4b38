"""Two models that talk in words alone: each hears what the other wrote, and the split is read from the whole talk.

As in Lewis et al. 2017, section 5, the talk goes on until somebody writes ``<selection>``. There both then choose by a
classifier; here our annotator reads what is on the table at the end
(:func:`dond_marl.dialogues.annotator.on_the_table`), and both get that. A talk that leaves nothing certain there, or
does not end, is no deal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dond_marl.dialogues.annotator import Utterance, annotate, on_the_table
from dond_marl.game import Triple, rest
from dond_marl.randomness import generator
from dond_marl.scenarios.space import Scenarios
from dond_marl.yardsticks.efficiency import Efficiency, efficiency
from league.experiments.field.words.corpus import END_OF_TURN, SELECTION, THEM, YOU, goal
from league.experiments.field.words.drawing import Voice


class Talk(NamedTuple):
    """One talk in words: the utterances, who opened being speaker 0, and what it comes to."""

    utterances: tuple[Utterance, ...]
    ended: bool  # somebody wrote <selection>
    kept: Triple | None  # by speaker 0; None without a deal


class Talks(NamedTuple):
    """Several, one on each scenario."""

    talks: list[Talk]
    reached: Efficiency
    unread: int  # utterances, the bare <selection> apart, that are read as no act
    utterances: int


def talk(voices: tuple[Voice, Voice], scenarios: Scenarios, *, seed: int, most: int) -> Talks:
    """One talk on each scenario, ``voices[0]`` opening, of at most so many utterances; ``seed`` decides every word."""
    size = scenarios.size
    heard = [[list[int](), list[int]()] for _ in range(size)]  # the talk so far, from either side
    said: list[list[Utterance]] = [[] for _ in range(size)]
    ended = [False] * size
    goals = [
        [goal(pool, values) for values in pair]
        for pool, pair in zip(scenarios.counts.tolist(), scenarios.utilities.tolist(), strict=True)
    ]
    for turn in range(most):
        open_rows, side = [row for row in range(size) if not ended[row]], turn % 2
        if not open_rows:
            break
        voice = voices[side]
        uniforms = generator(seed, "talk in words", turn).random(size)
        known = voice.known
        begun = [[*heard[row][side], known.number(YOU)] for row in open_rows]
        for row, words in zip(
            open_rows, voice.sentences([goals[row][side] for row in open_rows], begun, uniforms[open_rows]), strict=True
        ):
            said[row].append(Utterance(side, " ".join(words)))
            ended[row] = words == (SELECTION,)
            for speaker, listener in ((side, YOU), (1 - side, THEM)):
                heard[row][speaker] += voices[speaker].known.numbers((listener, *words, END_OF_TURN))
    return _read(scenarios, said, ended)


def _read(scenarios: Scenarios, said: list[list[Utterance]], ended: list[bool]) -> Talks:
    talks: list[Talk] = []
    scores = np.zeros((scenarios.size, 2), dtype=np.int16)
    unread = 0
    for row, (lines, over) in enumerate(zip(said, ended, strict=True)):
        a, b, c = scenarios.counts[row].tolist()
        counts: Triple = (a, b, c)
        readings = annotate(lines, counts)
        unread += sum(reading.action is None for reading in readings)
        kept = on_the_table(lines, readings, counts) if over else None
        if kept is not None:
            shares = np.array([kept, rest(counts, kept)], dtype=np.int16)
            scores[row] = (shares * scenarios.utilities[row]).sum(axis=1)
        talks.append(Talk(tuple(lines), over, kept))
    deal = np.array([each.kept is not None for each in talks])
    spoken = sum(line.text != SELECTION for lines in said for line in lines)
    return Talks(talks, efficiency(scenarios, scores, deal), unread, spoken)
