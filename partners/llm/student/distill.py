"""A language model made from nothing: lessons of a teacher's play, tokens for the prompt, a student that is taught.

The folder that comes out is an ordinary Hugging Face model: ``config.json``, ``model.safetensors``, a tokenizer; and
``distilled.json``, which says what it was made from.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.game import Rules
from dond_marl.occupants import spec_name
from partners.llm.local.model import without_bars
from partners.llm.prompt import Template
from partners.llm.student.lessons import lessons
from partners.llm.student.network import new_student, teach
from partners.llm.student.recipe import CARD, FORMAT, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEARSAY = 0.25  # of progress, between two lines about it


def distill(recipe: Recipe, template: Template, folder: Path, tell: Callable[[str], None]) -> dict[str, object]:
    """Make the model of ``recipe`` for prompts of ``template`` in ``folder``; the card that lies there.

    ``tell`` is handed a line now and then. Raises ``ValueError`` for a recipe that cannot be followed.
    """
    from partners.llm.student.tokens import prompt_tokenizer

    began = time.monotonic()
    with _threads(recipe.threads):
        cap = recipe.shown_acts()
        shown = lessons(
            recipe.teacher, recipe.games, template, history_cap=cap, rules=Rules(recipe.max_turns), seed=recipe.seed
        )
        tell(f"{len(shown):,} lessons from games of {spec_name(recipe.teacher)}")
        tokenizer = prompt_tokenizer(template)
        student = new_student(tokenizer, recipe.student, recipe.seed)
        watch = _Watch(recipe.student.steps, tell)
        teach(student, tokenizer, shown, recipe.student, recipe.seed, watch.step)
    folder.mkdir(parents=True, exist_ok=True)
    with without_bars():
        student.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    card: dict[str, object] = {
        "format": FORMAT,
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


class _Watch:
    """Says now and then how the teaching comes on."""

    def __init__(self, steps: int, tell: Callable[[str], None]) -> None:
        self._steps, self._tell, self._began = steps, tell, time.monotonic()
        self._loss, self._told = 0.0, 0.0

    def step(self, done: int, loss: float) -> None:
        self._loss = loss if done == 1 else 0.99 * self._loss + 0.01 * loss
        share = done / self._steps
        if share >= self._told + _HEARSAY and done < self._steps:
            self._told = share - share % _HEARSAY
            left = (time.monotonic() - self._began) * (1 / share - 1)
            self._tell(f"{share:.0%} taught, loss {self._loss:.3f}, about {left:.0f} s left")


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """With so many threads of arithmetic, and afterwards with as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
