"""A language model made from nothing: lessons of a teacher's play, tokens for the prompt, a student that is taught.

A lesson is a prompt out of a game, and the line that the teacher would reply. Now and then another legal act is played
in place of the teacher's, so that it is also seen where its own play would not have led. Source: Ross, Gordon, Bagnell
2011 (arXiv 1011.0686). What comes out is an ordinary Hugging Face model, and a card, ``distilled.json``.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import seat_occupant, spec_name
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from partners.llm.local.model import hide_progress_bars
from partners.llm.prompt import Template
from partners.llm.reply import reply_line
from partners.llm.student.network import Lesson, new_student, prompt_tokenizer, train_student
from partners.llm.student.recipe import CARD, FORMAT, ITSELF, LessonGames, Recipe
from partners.provenance import refuse_test_roster
from partners.scripted.chance import Random

_REPORT_EVERY = 0.25  # of progress
_STRAY = 7  # which of the turn's uniforms decides whether another act is played
_BLOCK = 4096  # scenarios played together


def distill(recipe: Recipe, template: Template, folder: Path, tell: Callable[[str], None]) -> dict[str, object]:
    """Make the model of ``recipe`` for prompts of ``template`` in ``folder``, and return its card.

    ``tell`` is called with a line about the progress now and then. Raises ``ValueError``, before anything is written
    :class:`partners.provenance.ProvenanceError` where somebody of the roster test would be learned from.
    """
    past = recipe.ancestry()
    refuse_test_roster(past, "the student")
    began = time.monotonic()
    with _threads(recipe.threads):
        cap = recipe.prompt_history()
        shown = lessons(
            recipe.teacher, recipe.games, template, history_cap=cap, rules=Rules(recipe.max_turns), seed=recipe.seed
        )
        tell(f"{len(shown):,} lessons from games of {spec_name(recipe.teacher)}")
        tokenizer = prompt_tokenizer(template)
        student = new_student(tokenizer, recipe.student, recipe.seed)
        train_student(student, tokenizer, shown, recipe.student, recipe.seed, _progress(recipe.student.steps, tell))
    folder.mkdir(parents=True, exist_ok=True)
    with hide_progress_bars():
        student.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    card: dict[str, object] = {
        "format": FORMAT,
        "name": recipe.digest(template),
        **past.note(),
        "teacher": spec_name(recipe.teacher),
        "history_cap": cap,
        "prompt_sha256": hashlib.sha256(template.text.encode()).hexdigest(),
        "lessons": len(shown),
        "parameters": sum(weight.numel() for weight in student.parameters()),
        "seconds": round(time.monotonic() - began, 1),
        "recipe": asdict(recipe),
    }
    (folder / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    return card


def lessons(
    teacher: str, played: Sequence[LessonGames], template: Template, *, history_cap: int, rules: Rules, seed: int
) -> list[Lesson]:
    """What ``teacher`` replies in all of the games, each prompt once, in the order of play.

    Raises :class:`dond_marl.occupants.OccupantNameError` or :class:`dond_marl.scenarios.sources.ScenarioError`.
    """
    imitated = seat_occupant(teacher)
    collected: dict[str, Lesson] = {}
    for number, games in enumerate(played):
        source = open_source(games.scenarios, split=games.split)
        other = imitated if games.against == ITSELF else seat_occupant(games.against)
        table = source.table if games.number is None else source.block(seed, 0, games.number)
        if table is None:
            raise ValueError(f"the source {games.scenarios} cannot be listed: say how many scenarios (number)")
        recorder = _Recorder(imitated, template, history_cap, games.strays, collected)
        for start in range(0, table.size, _BLOCK):
            block = table.rows(np.arange(start, min(start + _BLOCK, table.size)))
            for seat in (0, 1):
                players = (recorder, other) if seat == 0 else (other, recorder)
                rollout(players, block, rules, seed=seed, index=(number, start, seat), prior=source.prior)
    return list(collected.values())


@dataclass(frozen=True)
class _Recorder:
    """The teacher in its seat; it strays at times, and its own reply to each new prompt is kept in ``lessons``."""

    teacher: Partner
    template: Template
    history_cap: int
    strays: float  # probability of another act
    lessons: dict[str, Lesson]  # by prompt
    traits = Traits()

    def act(self, turns: Turns) -> Decisions:
        own = self.teacher.act(turns)
        for prompt, act, oA, confidence in zip(
            self.template.render(turns, self.history_cap), own.act_type.tolist(), own.oA.tolist(),
            own.confidence.tolist(), strict=True,
        ):  # fmt: skip
            if prompt not in self.lessons:
                action = Action(Act(act), (oA[0], oA[1], oA[2]))
                line = reply_line(action, round(min(max(confidence, 0.0), 1.0), 1))
                self.lessons[prompt] = Lesson(prompt, line, 4 if action.act_type.is_offer else 1)
        strays = np.flatnonzero(turns.noise[:, _STRAY] < self.strays)
        if not len(strays):
            return own
        other = Random().act(turns.rows(strays))
        act_type, oA = own.act_type.copy(), own.oA.copy()
        act_type[strays], oA[strays] = other.act_type, other.oA
        return own._replace(act_type=act_type, oA=oA)


def _progress(steps: int, tell: Callable[[str], None]) -> Callable[[int, float], None]:
    """What :func:`teach` calls after each step; it tells now and then how far the teaching is."""
    began, mean_loss, reported = time.monotonic(), 0.0, 0.0

    def step_done(done: int, loss: float) -> None:
        nonlocal mean_loss, reported
        mean_loss = loss if done == 1 else 0.99 * mean_loss + 0.01 * loss
        share = done / steps
        if share >= reported + _REPORT_EVERY and done < steps:
            reported = share - share % _REPORT_EVERY
            left = (time.monotonic() - began) * (1 / share - 1)
            tell(f"{share:.0%} taught, loss {mean_loss:.3f}, about {left:.0f} s left")

    return step_done


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
