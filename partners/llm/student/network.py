"""A small causal language model, its tokens, and how it is taught to reply: cross-entropy of the reply's tokens.

The tokens are made for one prompt template: what never changes in it is one token, so a long prompt is a short
sequence. Numbers in lists keep the comma before them, numbers of several digits are read digit by digit but for 10, and
anything else is read byte by byte. Of a reply, what is decided counts (the act, and the numbers of an offer), the rest
a little. Everything random is a function of the seed; with the same number of threads the same bits come out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dond_marl.game import Act, Rules
from dond_marl.randomness import generator
from partners.llm.prompt import HIDDEN, NONE_YET, Template, disagree_rule, fixed_parts
from partners.llm.student.recipe import StudentSettings

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

PAD, END = "<pad>", "<end>"
_NUMBERS = ("10", *"0123456789")
_SPACE = "\u0120"  # how byte-level tokens write one
_LONGEST = 1024  # tokens of a prompt and its reply
_UNDECIDED = 0.05  # weight of a token that decides nothing
_JITTER = 8  # tokens of length by which prompts are mixed among batches
_WARM = 100  # steps until lr is reached
_LAST = 0.02  # share of lr at the end


class Lesson(NamedTuple):
    """A prompt, and what is to be replied."""

    prompt: str
    reply: str
    decides: int  # how many of the reply's numbers are choices: the act, and for offers each item type


class _Texts(NamedTuple):
    """Prompts with their replies, filled up to one width."""

    tokens: Tensor  # [N, W] int64
    weights: Tensor  # [N, W - 1] of the token after each
    lengths: NDArray[np.int64]  # [N]


def prompt_tokenizer(template: Template) -> PreTrainedTokenizerFast:
    """A tokenizer for prompts of ``template`` and for the replies to them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    comma = f",{_SPACE}"
    merges = [("1", "0"), *((",", number) for number in _NUMBERS), (",", _SPACE)]
    merges += [(comma, number) for number in _NUMBERS]
    known = [PAD, END, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    made = Tokenizer(models.BPE(vocab={token: place for place, token in enumerate(known)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([PAD, END])
    made.add_tokens([AddedToken(text, normalized=False) for text in _phrases(template)])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, pad_token=PAD, eos_token=END, clean_up_tokenization_spaces=False
    )


def new_student(tokenizer: PreTrainedTokenizerFast, settings: StudentSettings, seed: int) -> GPT2LMHeadModel:
    """A student that knows nothing; its first weights are a function of ``seed``."""
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
    """Teach ``model`` in place; ``step_done(steps so far, loss)`` is called after every step.

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
    logits = model.lm_head(hidden[replied])  # [tokens of replies, V]: the prompt's own need none
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
    tokens = np.full((len(lessons), width), tokenizer.eos_token_id, dtype=np.int64)  # never looked at, nor answered for
    weights = np.zeros((len(lessons), width - 1), dtype=np.float32)
    for row, (prompt, reply, lesson) in enumerate(zip(prompts, replies, lessons, strict=True)):
        tokens[row, : lengths[row]] = [*prompt, *reply, tokenizer.eos_token_id]
        weights[row, len(prompt) - 1 : lengths[row] - 1] = _UNDECIDED
        weights[row, len(prompt) - 1 : len(prompt) - 1 + lesson.decides] = 1.0
    return _Texts(torch.from_numpy(tokens), torch.from_numpy(weights), lengths)


def _batches(lengths: NDArray[np.int64], size: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Endless batches of rows of about one length; every row once in each round."""
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
    """Texts that are a single token, none twice."""
    offers = [act for act in Act if act.is_offer]
    acts = [[act for act in Act if may_agree or act is not Act.AGREE] for may_agree in (False, True)]
    phrases = [
        *(part for part in fixed_parts(template) if len(part) > 1),
        *(disagree_rule(rules) for rules in (Rules(), Rules(disagree="rejects"))),
        HIDDEN, NONE_YET, "(nothing yet)", " earlier acts are not shown)",
        *(f". {who}: {act.name}, {who} keep{s} " for (who, s), act in product((("you", ""), ("partner", "s")), offers)),
        *(f", {who} get{s} " for who, s in (("you", ""), ("partner", "s"))),
        *(f". {who}: {act.name}" for who, act in product(("you", "partner"), Act) if not act.is_offer),
        *(", ".join(f"{int(act)} {act.name}" for act in open_) for open_ in acts),
        *(act.name for act in Act),
        *(f'{{"act_type": {int(act)}, "oA": [' for act in Act), '], "confidence": ',
        *(f"{tenth / 10}" for tenth in range(11)),
    ]  # fmt: skip
    return list(dict.fromkeys(phrases))
