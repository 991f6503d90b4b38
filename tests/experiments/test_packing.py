"""Prompts and lines in one sequence are read as if each stood alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from experiments.post_training.packing import line_log_probs, pack_prompts, token_losses
from partners.llm.client import Query
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.legal_lines import line_stem
from partners.llm.reply import Legal
from tests.tiny_models import tiny_model

ASKS = (
    Query("Pool 2,1,1. Your values 2,3,3. The partner messages nothing.", Legal((2, 1, 1), (0, 1, 3, 4))),
    Query("Pool 2,1,1. Your values 0,4,6. Its offer is worth 6, take it?", Legal((2, 1, 1), (0, 1, 2, 3, 4))),
    Query("Pool 1,1,3.", Legal((1, 1, 3), (2, 3))),
)


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> LocalClient:
    return LocalClient(LocalSettings(str(tiny_model(tmp_path_factory.mktemp("packing") / "model")), 1.0))


def test_line_probabilities_equal_those_of_play(client):
    """Of prompts of different lengths with different lines; each prompt's sum to 1."""
    read = client.load()
    pack = pack_prompts(
        read.prompts([ask.prompt for ask in ASKS]),
        [read.encode([line_stem(action) for action in ask.legal.actions()]) for ask in ASKS],
    )
    probs = line_log_probs(read.model, pack).exp().detach().numpy()
    for number, scores in enumerate(client.scores(ASKS)):
        own = probs[pack.prompt == number]
        assert own.sum() == pytest.approx(1, abs=1e-4)
        assert np.allclose(own, scores, atol=1e-5)


def test_packed_loss_equals_single_loss(client):
    read = client.load()
    prompts = read.prompts([ask.prompt for ask in ASKS])
    replies = read.encode(['{"act_type": 0}', '{"act_type": 2, "oA": [0, 0, 0]}', "x"])
    losses = token_losses(read.model, pack_prompts(prompts, [[reply] for reply in replies])).detach()
    alone = []
    for prompt, reply in zip(prompts, replies, strict=True):
        tokens = torch.tensor([[*prompt, *reply]])
        logits = read.model(tokens).logits[0, len(prompt) - 1 : -1]
        alone.append(torch.nn.functional.cross_entropy(logits, tokens[0, len(prompt) :], reduction="none"))
    assert torch.allclose(losses, torch.cat(alone).detach(), atol=1e-4)


def test_common_prefixes_are_shared():
    """Two prompts of 3 tokens that share 2, two lines of 2 tokens that share 1 behind each: 2 + 2 * (1 + 3)."""
    pack = pack_prompts([[1, 2, 3], [1, 2, 4]], [[[5, 6], [5, 7]], [[5, 6], [5, 8]]])
    assert pack.tokens.tolist() == [1, 2, 3, 5, 6, 7, 4, 5, 6, 8]
    assert pack.places.tolist() == [0, 1, 2, 3, 4, 4, 2, 3, 4, 4]
    assert pack.seen[5].nonzero()[0].tolist() == [0, 1, 2, 3, 5]  # neither its sister nor the other prompt
    assert pack.prompt.tolist() == [0, 0, 1, 1]
