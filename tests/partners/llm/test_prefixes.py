"""Prefix cache and batches of local models."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dond_marl.game import Rules
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.decoding import score
from partners.llm.local.legal_lines import legal_lines
from partners.llm.local.model import load_model
from partners.llm.occupant import llm
from partners.llm.prompt import Template, disagree_rule, load_template, openings
from partners.llm.reply import read_reply
from tests.partners.llm.test_local import asks, batch
from tests.tiny_models import CHAT, SMALL, UNLIKE, tiny_model

LONG = Template("Rules of the game, told at length. " * 12 + "{disagree_rule} Pool {counts_csv}, {my_utils_csv}.")


def both(folder, **changes) -> tuple[LocalClient, LocalClient]:
    """A client that keeps the beginning, and one that does not."""
    settings = LocalSettings(str(folder), **changes)
    return LocalClient(settings, openings=openings(LONG)), LocalClient(settings)


@pytest.mark.parametrize("chat", [None, CHAT])
def test_common_prefix_is_read_once(chat, tmp_path):
    folder = tiny_model(tmp_path, "llama", chat=chat)
    keeping, reading_all = both(folder)
    asked, later = asks(LONG, 12)[:8], asks(LONG, 12)[8:]
    told, known = keeping.complete(asked), reading_all.complete(asked)
    for ask, one, other in zip(asked, told, known, strict=True):
        here, there = read_reply(one.text, ask.legal), read_reply(other.text, ask.legal)
        assert here.action == there.action
        assert here.confidence == pytest.approx(there.confidence, abs=1e-5)
    model = load_model(str(folder))
    kept = len(model.common_prefixes(openings(LONG))[0])  # as DISAGREE ends the game here
    whole = {ask.prompt: len(model.prompts([ask.prompt])[0]) for ask in asked}
    assert keeping.tally["prompt_tokens"] == reading_all.tally["prompt_tokens"] == sum(whole.values())
    assert kept > 0.6 * max(whole.values()), "most of a prompt never changes"
    saved = reading_all.tally["read_tokens"] - keeping.tally["read_tokens"]
    assert saved == (len(asked) - 1) * kept
    before = keeping.tally["read_tokens"]
    keeping.complete(later)
    rest = sum(len(model.prompts([ask.prompt])[0]) - kept for ask in later)
    assert keeping.tally["read_tokens"] - before < rest + 40 * len(later), "it was kept from the asks before"


def test_logits_input_is_contiguous(tmp_path):
    """Where no gradient is wanted, as beside an adapter, PyTorch multiplies a slice row by row: 100 times slower."""
    reading, seen = LocalClient(LocalSettings(str(tiny_model(tmp_path, "llama")))), []
    head = reading.load().model.get_output_embeddings()
    head.register_forward_pre_hook(lambda _module, given: seen.append((given[0].shape[0], given[0].is_contiguous())))
    reading.complete(asks(LONG, 12)[:8])
    assert max(rows for rows, _ in seen) > 1
    assert all(whole for _, whole in seen)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind not in UNLIKE)) for kind in SMALL]
)
def test_prefix_cache_keeps_probabilities(kind, tmp_path):
    """Those that count distances, or see no further than a window, read each prompt from its start."""
    keeping, reading_all = both(tiny_model(tmp_path, kind), temperature=1.0)
    asked = asks(LONG, 3)
    asked.append(asked[0]._replace(prompt="Something else. " + asked[0].prompt * 2))
    for one, other in zip(keeping.scores(asked), reading_all.scores(asked), strict=True):
        assert np.abs(one - other).max() < 1e-5
    reads_less = keeping.tally["read_tokens"] < reading_all.tally["read_tokens"]
    assert reads_less == (kind not in ("bloom", "mistral"))


def test_openings_per_disagree_rule():
    shipped = load_template()
    ends, rejects = openings(shipped)
    assert disagree_rule(Rules()) in ends and disagree_rule(Rules(disagree="rejects")) in rejects
    assert ends.endswith("Pool: ") and len(ends) > 0.8 * len(shipped.text.split("Pool: {")[0])
    assert openings(Template("Pool {counts_csv}")) == ["Pool "]


def test_llm_caches_its_prompt_prefix(tmp_path):
    player = llm("hf", str(tiny_model(tmp_path, "llama")))
    asked = asks(load_template(), 8)
    player.local.complete(asked)
    assert player.local.tally["read_tokens"] < 0.5 * player.local.tally["prompt_tokens"]


def test_short_prefix_is_not_cached(tmp_path):
    folder = tiny_model(tmp_path, "llama")
    short = Template("Pool {counts_csv}, values {my_utils_csv}.")
    told = [LocalClient(LocalSettings(str(folder)), openings=given) for given in (openings(short), ())]
    assert told[0].complete(asks(short)) == told[1].complete(asks(short))
    assert told[0].tally == told[1].tally


@pytest.mark.parametrize("kind", ["llama", "bloom", "mistral"])
def test_small_batches_give_the_same_answers(kind, tmp_path):
    folder = tiny_model(tmp_path, kind)
    queries = asks(LONG, 6)
    large, small = (
        LocalClient(LocalSettings(str(folder), temperature=1.0, batch=size), openings=openings(LONG))
        for size in (64, 2)
    )
    for one, other in zip(large.scores(queries), small.scores(queries), strict=True):
        assert np.abs(one - other).max() < 1e-6
    assert [reply.text for reply in large.complete(queries)] == [reply.text for reply in small.complete(queries)]


def test_lines_are_scored_in_shares_that_bound_the_memory(tmp_path):
    local = load_model(str(tiny_model(tmp_path, "llama")))
    queries = asks(LONG, 3)
    prompts = batch(local.prompts([query.prompt for query in queries]))
    lines = [legal_lines(query.legal, local.encode) for query in queries]
    together, one_by_one = (score(local.model, prompts, lines, tally=Counter(), max_tokens=most) for most in (10**9, 1))
    for one, other in zip(one_by_one, together, strict=True):
        assert np.abs(one - other).max() < 1e-6
