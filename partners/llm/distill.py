"""Distillation of a small language model: lessons from a teacher's games, a tokenizer, a network, its training.

A lesson is a prompt from a game, and the line that the teacher would reply. Sometimes another legal act is played in
place of the teacher's, so that lessons also cover positions its own play would not reach. Source: Ross, Gordon, Bagnell
2011 (arXiv 1011.0686). The result is an ordinary Hugging Face model and a card, ``distilled.json``.

The tokenizer is made for one prompt template: each of its constant parts is one token, so a long prompt is a short
sequence. Numbers in lists include the comma before them, numbers of several digits are read digit by digit except 10,
and other text byte by byte. The loss is the cross-entropy of the reply: full weight for the tokens that decide (the
act, and the numbers of an offer), little for the rest. Everything random is a function of the seed; with the same
number of threads the weights are equal bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.files import user_folder
from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import seat_occupant, spec_name
from dond_marl.randomness import generator
from dond_marl.records.files import write_atomically
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Decisions, Partner, Traits, Turns
from partners.llm.local.files import build_once
from partners.llm.local.model import hide_progress_bars
from partners.llm.prompt import HIDDEN, NONE_YET, Template, disagree_rule, fixed_parts
from partners.llm.reply import reply_line
from partners.llm.student import CARD, FORMAT, ITSELF, LessonGames, Recipe, StudentSettings
from partners.provenance import refuse_test_roster
from partners.scripted.chance import Random

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

PAD, END = "<pad>", "<end>"
_NUMBERS = ("10", *"0123456789")
_SPACE = "\u0120"  # a space in byte-level tokens
_LONGEST = 1024  # tokens of a prompt and its reply
_UNDECIDED = 0.05  # weight in the loss of a token that decides nothing
_JITTER = 8  # tokens of random length added when prompts are sorted into batches
_WARM = 100  # steps until lr is reached
_LAST = 0.02  # share of lr at the end
_LATEST = 100  # steps whose mean loss is reported
_STRAY = 7  # index of the turn's uniform that decides whether a random act is played
_BLOCK = 4096  # scenarios played together
_log = logging.getLogger("dond_marl.local_model")
MINUTES = "about two minutes of one core"


class Lesson(NamedTuple):
    """A prompt and the reply to learn."""

    prompt: str
    reply: str
    decides: int  # numbers in the reply that are choices: the act, and for offers each item type


class _Texts(NamedTuple):
    """Prompts with their replies, padded to one width."""

    tokens: Tensor  # [N, W] int64
    weights: Tensor  # [N, W - 1] of the next token in the loss
    lengths: NDArray[np.int64]  # [N]


def distill(recipe: Recipe, template: Template, folder: Path, report: Callable[[str], None]) -> dict[str, object]:
    """Train the model of ``recipe`` for prompts of ``template`` into ``folder``, and return its card.

    ``report`` is called with lines about the progress. Raises ``ValueError``, and, before anything is written,
    :class:`partners.provenance.ProvenanceError` if the recipe has a partner of a held-out roster.
    """
    past = recipe.ancestry()
    refuse_test_roster(past, "the student")
    began, threads = time.monotonic(), torch.get_num_threads()
    torch.set_num_threads(recipe.threads)
    try:
        cap = recipe.prompt_history()
        taught = lessons(
            recipe.teacher, recipe.games, template, history_cap=cap, rules=Rules(recipe.max_turns), seed=recipe.seed
        )
        report(f"{len(taught):,} lessons from games of {spec_name(recipe.teacher)}")
        tokenizer = prompt_tokenizer(template)
        student = new_student(tokenizer, recipe.student, recipe.seed)
        losses: deque[float] = deque(maxlen=_LATEST)

        def step_done(done: int, loss: float) -> None:
            losses.append(loss)
            if done % max(recipe.student.steps // 4, 1) == 0 and done < recipe.student.steps:
                report(f"{done / recipe.student.steps:.0%} trained, loss {sum(losses) / len(losses):.3f}")

        train_student(student, tokenizer, taught, recipe.student, recipe.seed, step_done)
    finally:
        torch.set_num_threads(threads)
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
        "lessons": len(taught),
        "parameters": sum(weight.numel() for weight in student.parameters()),
        "seconds": round(time.monotonic() - began, 1),
        "recipe": asdict(recipe),
    }
    write_atomically(folder / CARD, json.dumps(card, indent=1) + "\n")
    return card


def lessons(
    teacher: str, sets: Sequence[LessonGames], template: Template, *, history_cap: int, rules: Rules, seed: int
) -> list[Lesson]:
    """The replies of ``teacher`` in all games of ``sets``, each prompt once, in the order of play.

    Raises :class:`dond_marl.occupants.OccupantNameError` or :class:`dond_marl.scenarios.sources.ScenarioError`.
    """
    imitated = seat_occupant(teacher)
    collected: dict[str, Lesson] = {}
    for number, games in enumerate(sets):
        source = open_source(games.scenarios, split=games.split)
        other = imitated if games.against == ITSELF else seat_occupant(games.against)
        table = source.table if games.number is None else source.block(seed, 0, games.number)
        if table is None:
            raise ValueError(f"the source {games.scenarios} cannot be listed: set number, of scenarios")
        recorder = _Recorder(imitated, template, history_cap, games.strays, collected)
        for start in range(0, table.size, _BLOCK):
            block = table.rows(np.arange(start, min(start + _BLOCK, table.size)))
            for seat in (0, 1):
                players = (recorder, other) if seat == 0 else (other, recorder)
                rollout(players, block, rules, seed=seed, index=(number, start, seat))
    return list(collected.values())


@dataclass(frozen=True)
class _Recorder:
    """Seats the teacher, adds its reply to each new prompt to ``lessons``, and sometimes plays a random act."""

    teacher: Partner
    template: Template
    history_cap: int
    strays: float  # probability of a random act
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


def prompt_tokenizer(template: Template) -> PreTrainedTokenizerFast:
    """A tokenizer for prompts of ``template`` and for the replies to them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    comma = f",{_SPACE}"
    merges = [("1", "0"), *((",", number) for number in _NUMBERS), (",", _SPACE)]
    merges += [(comma, number) for number in _NUMBERS]
    vocabulary = [PAD, END, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(vocabulary)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([PAD, END])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in _phrases(template)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, clean_up_tokenization_spaces=False
    )


def new_student(tokenizer: PreTrainedTokenizerFast, settings: StudentSettings, seed: int) -> GPT2LMHeadModel:
    """An untrained student; its weights are a function of ``seed``."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=_LONGEST,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.heads,
        n_inner=settings.inner,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT2LMHeadModel(config)


def train_student(
    model: GPT2LMHeadModel,
    tokenizer: PreTrainedTokenizerFast,
    lessons: Sequence[Lesson],
    settings: StudentSettings,
    seed: int,
    step_done: Callable[[int, float], None],
) -> None:
    """Train ``model`` in place; ``step_done(steps so far, loss)`` is called after every step.

    Raises ``ValueError`` for prompts that are too long.
    """
    texts = _texts(tokenizer, lessons)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.lr, betas=(0.9, 0.98), weight_decay=settings.decay, foreach=True
    )
    model.train()
    for step, rows in zip(range(settings.steps), _batches(texts.lengths, settings.batch, seed), strict=False):
        optimizer.param_groups[0]["lr"] = settings.lr * _rate(step, settings.steps)
        loss = _loss(model, texts, rows)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.grad_norm)
        optimizer.step()
        step_done(step + 1, loss.item())
    model.eval()  # type: ignore[no-untyped-call]


def _loss(model: GPT2LMHeadModel, texts: _Texts, rows: NDArray[np.int64]) -> Tensor:
    width = int(texts.lengths[rows].max())
    tokens, weights = texts.tokens[rows, :width], texts.weights[rows, : width - 1]
    replied = weights > 0
    hidden = model.transformer(input_ids=tokens, use_cache=False).last_hidden_state[:, :-1]
    logits = model.lm_head(hidden[replied])  # [tokens of replies, V]: prompt tokens need no logits
    losses = torch.nn.functional.cross_entropy(logits, tokens[:, 1:][replied], reduction="none")
    return (losses * weights[replied]).sum() / weights[replied].sum()


def _texts(tokenizer: PreTrainedTokenizerFast, lessons: Sequence[Lesson]) -> _Texts:
    prompts = tokenizer([lesson.prompt for lesson in lessons])["input_ids"]
    replies = tokenizer([lesson.reply for lesson in lessons])["input_ids"]
    lengths = np.array([len(prompt) + len(reply) + 1 for prompt, reply in zip(prompts, replies, strict=True)])
    width = int(lengths.max())
    if width > _LONGEST:
        raise ValueError(
            f"a prompt with its reply takes {width} tokens, and a student reads {_LONGEST}: use a shorter prompt"
        )
    tokens = np.full((len(lessons), width), tokenizer.eos_token_id, dtype=np.int64)  # padding: not attended to, no loss
    weights = np.zeros((len(lessons), width - 1), dtype=np.float32)
    for row, (prompt, reply, lesson) in enumerate(zip(prompts, replies, lessons, strict=True)):
        tokens[row, : lengths[row]] = [*prompt, *reply, tokenizer.eos_token_id]
        weights[row, len(prompt) - 1 : lengths[row] - 1] = _UNDECIDED
        weights[row, len(prompt) - 1 : len(prompt) - 1 + lesson.decides] = 1.0
    return _Texts(torch.from_numpy(tokens), torch.from_numpy(weights), lengths)


def _batches(lengths: NDArray[np.int64], size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Endless batches of rows of similar length; every row once in each round."""
    round_ = 0
    while True:
        rng = generator(seed, "lessons", round_)
        order = np.argsort(lengths + rng.random(len(lengths)) * _JITTER, kind="stable")
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        yield from (batches[place] for place in rng.permutation(len(batches)))
        round_ += 1


def _rate(step: int, steps: int) -> float:
    falling = _LAST + (1 - _LAST) * 0.5 * (1 + math.cos(math.pi * step / steps))
    return min(1.0, (step + 1) / _WARM) * falling


def _phrases(template: Template) -> list[str]:
    """Texts that are a single token, without duplicates."""
    offers, sides = [act for act in Act if act.is_offer], (("you", ""), ("partner", "s"))
    acts = [[act for act in Act if may_agree or act is not Act.AGREE] for may_agree in (False, True)]
    phrases = [
        *(part for part in fixed_parts(template) if len(part) > 1),
        *(disagree_rule(rules) for rules in (Rules(), Rules(disagree="rejects"))),
        HIDDEN, NONE_YET, "(nothing yet)", " earlier acts are not shown)",
        *(f". {side}: {act.name}, {side} keep{s} " for (side, s), act in product(sides, offers)),
        *(f", {side} get{s} " for side, s in sides),
        *(f". {side}: {act.name}" for side, act in product(("you", "partner"), Act) if not act.is_offer),
        *(", ".join(f"{int(act)} {act.name}" for act in open_) for open_ in acts),
        *(act.name for act in Act),
        *(f'{{"act_type": {int(act)}, "oA": [' for act in Act), '], "confidence": ',
        *(f"{tenth / 10}" for tenth in range(11)),
    ]  # fmt: skip
    return list(dict.fromkeys(phrases))


def own_model_folder(recipe: Recipe, template: Template) -> Path:
    """The folder of the model of ``recipe`` for prompts of ``template``, trained first if it is missing.

    The training is logged, with its expected duration. Raises :class:`SetupError` if the folder cannot be written.
    """
    folder = user_folder("cache") / "models" / recipe.digest(template)

    def build(temporary: Path) -> None:
        message = "making the local language model, which imitates %s: this takes %s, once; it will be stored in %s"
        _log.warning(message, recipe.teacher, MINUTES, folder)  # first of all, as it takes a while
        card = distill(recipe, template, temporary, lambda line: _log.warning("local language model: %s", line))
        _log.warning("the local language model is made: %.0f s", card["seconds"])

    return build_once(folder, CARD, build)
