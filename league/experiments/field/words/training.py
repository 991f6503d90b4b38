"""Learning people's words by likelihood, until unseen dialogues are foreseen no better."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from dond_marl.randomness import generator
from league.experiments.field.words.corpus import Line
from league.experiments.field.words.network import WORD, TalkNetwork, padded
from league.experiments.field.words.settings import LearningSection

CLIP = 0.5  # of the gradient's norm, as in the paper's published code


class Epoch(NamedTuple):
    """One pass over the dialogues, numbered from 1, and how well unseen ones are foreseen after it."""

    number: int
    perplexity: float  # of val.txt
    best: bool


def learn(
    taught: Sequence[Line], unseen: Sequence[Line], words: int, chosen: LearningSection, seed: int,
    tell: Callable[[Epoch], None] = lambda _: None,
) -> tuple[TalkNetwork, list[Epoch]]:  # fmt: skip
    """A network with the weights of the best epoch, a function of the settings, the seed and the data alone."""
    torch.set_num_threads(1)
    network = TalkNetwork(words, seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=chosen.lr)
    batches = _batches(taught, chosen.minibatch)
    steps = chosen.epochs * len(batches)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    epochs: list[Epoch] = []
    best = copy.deepcopy(network.state_dict())
    for number in range(1, chosen.epochs + 1):
        drawn = generator(seed, "words", number)
        network.train()
        for place in drawn.permutation(len(batches)).tolist():
            goals, table, lengths = batches[place]
            uniforms = torch.from_numpy(drawn.random((len(goals), 1, WORD)))
            keep = (uniforms >= chosen.dropout).float() / (1 - chosen.dropout)
            loss, told = _nats(network, goals, table, lengths, keep)
            optimiser.zero_grad()
            (loss / told).backward()  # type: ignore[no-untyped-call]  # PyTorch says no more
            torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
            optimiser.step()
            schedule.step()
        now = perplexity(network, unseen)
        better = not epochs or now < min(each.perplexity for each in epochs)
        epochs.append(Epoch(number, now, better))
        tell(epochs[-1])
        if better:
            best = copy.deepcopy(network.state_dict())
        elif number - max(each.number for each in epochs if each.best) >= chosen.patience:
            break
    network.load_state_dict(best)
    return network.eval(), epochs


def perplexity(network: TalkNetwork, lines: Sequence[Line], minibatch: int = 256) -> float:
    """The exponential of the mean nats of a word, of both speakers, markers of turns among them; not of the first."""
    total = count = 0.0
    network.eval()
    with torch.no_grad():
        for goals, table, lengths in _batches(lines, minibatch):
            nats, told = _nats(network, goals, table, lengths)
            total, count = total + float(nats), count + told
    return math.exp(total / count)


Batch = tuple[list[tuple[int, ...]], Tensor, Tensor]


def _batches(lines: Sequence[Line], minibatch: int) -> list[Batch]:
    """Lines of like length together, so that little is padded."""
    order = sorted(lines, key=lambda line: len(line.words))
    parts = [order[start : start + minibatch] for start in range(0, len(order), minibatch)]
    return [([line.goal for line in part], *padded([line.words for line in part])) for part in parts]


def _nats(
    network: TalkNetwork, goals: list[tuple[int, ...]], table: Tensor, lengths: Tensor, keep: Tensor | None = None
) -> tuple[Tensor, int]:
    """The nats of all words but the first, and how many they are."""
    scores, _ = network(network.aims(torch.tensor(goals)), table[:, :-1], keep=keep)
    wanted = table[:, 1:]
    nats = functional.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=0, reduction="sum")
    return nats, int((lengths - 1).sum())
