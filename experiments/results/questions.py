"""The short table of docs/RESULTS.md: the questions of the page, each with the figures that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from experiments.results.rows import every_row


class Question(NamedTuple):
    """What a section of the page asks, and which rows of a results file answer it."""

    text: str
    section: str  # its anchor
    file: str  # under docs/results
    rows: str = ""  # a pattern of what they are called


QUESTIONS = (
    Question("Is the default league better than plain PPO?", "what-a-league-has-to-be-better-than", "baselines.jsonl",
             r"`league`\) less"),
    Question("And with all of its acts?", "the-league-with-all-of-its-acts", "full_budget.jsonl", " less "),
    Question("Which of its parts help?", "what-each-part-of-a-league-is-worth", "ablation.jsonl",
             r"`(no|with)_\w+`\) less"),
    Question("How do the literature's leagues do?", "what-each-part-of-a-league-is-worth", "ablation.jsonl",
             r"`(?!no_|with_|pool)\w+`\) less"),
    Question("What does an exact best response get?", "exploit-and-repair", "exploited.jsonl",
             "`(league|with_repair|pool_ppo|self_play)`"),
    Question("And with all of their acts?", "exploit-and-repair", "exploited_whole.jsonl"),
    Question("What does it cost to leave it less?", "what-it-costs-to-leave-a-best-response-less", "robust.jsonl",
             r"itself_(10|50|100)`\) less"),
    Question("Does it help to begin with something easier?", "does-it-help-to-begin-with-something-easier",
             "curricula.jsonl", " less "),
    Question("Should a league select by points or by wins?", "selection-by-points-or-by-wins", "selection.jsonl",
             " less "),
    Question("Does a memory help?", "a-memory-and-a-joint-head", "memory.jsonl", r"`history`\) less"),
    Question("Does it, taught by the best reply?", "taught-by-the-best-reply", "taught.jsonl", " less "),
    Question("How good is the shipped expert?", "the-shipped-expert", "expert.jsonl"),
    Question("And PPO against one partner?", "the-shipped-expert", "ppo_fast.jsonl"),
    *(Question("How does a language model do?", "a-language-model-at-the-table", f"language_model_{who}.json")
      for who in ("heuristic", "expert", "boulware")),
    Question("Does a policy taught by people do as they do?", "learning-from-people", "people.json"),
    Question("How far can the labels of their acts be trusted?", "learning-from-people", "annotator.json"),
    Question("What does a pull towards people keep?", "learning-from-people", "humanlike.json", "people"),
    Question("What do hints do?", "what-hints-do", "hints.jsonl", "never|hints: (best|expert)"),
    Question("How fast is it?", "how-fast", "speed.json"),
)  # fmt: skip


def answers(folder: Path) -> Iterator[list[str]]:
    """The cells of each row of the table: a question stands beside the first of its answers alone."""
    rows, asked = every_row(folder), ""
    for question in QUESTIONS:
        for row in rows:
            if row.file == question.file and re.search(question.rows, row.what):
                text = f"[{question.text}](#{question.section})" if question.text != asked else ""
                asked = question.text
                yield [text, row.what, row.figure, row.over]
