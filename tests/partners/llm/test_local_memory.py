"""Reading on this machine: what all prompts begin with is read once, and memory stays within what is allowed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.game import Rules
from partners.llm.client import Query, SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.memory import Plan, Sizes, batches, sizes
from partners.llm.local.model import load_model
from partners.llm.occupant import llm
from partners.llm.prompt import Template, disagree_rule, load_template, openings
from partners.llm.reply import read_reply
from tests.partners.llm.test_local import asks
from tests.tiny_models import CHAT, SMALL, UNLIKE, tiny_model

LONG = Template("Rules of the game, told at length. " * 12 + "{disagree_rule} Pool {counts_csv}, {my_utils_csv}.")
BILLIONS = Sizes(layers=32, heads=32, kv_heads=8, head=128, hidden=4096, inner=14336, vocabulary=128_256, width=2)
GIGABYTE = 1 << 30


def both(folder, **changes) -> tuple[LocalClient, LocalClient]:
    """A client that keeps the beginning, and one that does not."""
    settings = LocalSettings(str(folder), **changes)
    return LocalClient(settings, openings=openings(LONG)), LocalClient(settings)


@pytest.mark.parametrize("chat", [None, CHAT])
def test_the_beginning_of_all_prompts_is_read_once_and_answers_stay_the_same(chat, tmp_path):
    folder = tiny_model(tmp_path, "llama", chat=chat)
    keeping, reading_all = both(folder)
    asked, later = asks(LONG, 12)[:8], asks(LONG, 12)[8:]
    told, known = keeping.complete(asked), reading_all.complete(asked)
    for ask, one, other in zip(asked, told, known, strict=True):
        here, there = read_reply(one.text, ask.legal), read_reply(other.text, ask.legal)
        assert here.action == there.action
        assert here.confidence == pytest.approx(there.confidence, abs=1e-5)
    model = load_model(str(folder))
    kept = len(model.beginnings(openings(LONG))[0])  # as DISAGREE ends the game here
    whole = {ask.prompt: len(model.prompts([ask.prompt])[0]) for ask in asked}
    assert keeping.tally["prompt_tokens"] == reading_all.tally["prompt_tokens"] == sum(whole.values())
    assert kept > 0.6 * max(whole.values()), "most of a prompt never changes"
    saved = reading_all.tally["read_tokens"] - keeping.tally["read_tokens"]
    assert saved == (len(asked) - 1) * kept
    before = keeping.tally["read_tokens"]
    keeping.complete(later)
    rest = sum(len(model.prompts([ask.prompt])[0]) - kept for ask in later)
    assert keeping.tally["read_tokens"] - before < rest + 40 * len(later), "it was kept from the asks before"


def test_what_logits_are_computed_from_lies_in_one_piece(tmp_path):
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
def test_any_architecture_knows_the_same_probabilities_with_and_without_the_kept_beginning(kind, tmp_path):
    """Those that count distances, or see no further than a window, read each prompt from its start."""
    keeping, reading_all = both(tiny_model(tmp_path, kind), temperature=1.0)
    asked = asks(LONG, 3)
    asked.append(asked[0]._replace(prompt="Something else. " + asked[0].prompt * 2))
    for one, other in zip(keeping.scores(asked), reading_all.scores(asked), strict=True):
        assert np.abs(one - other).max() < 1e-5
    reads_less = keeping.tally["read_tokens"] < reading_all.tally["read_tokens"]
    assert reads_less == (kind not in ("bloom", "mistral"))


def test_both_rules_of_disagree_have_a_beginning_of_their_own():
    shipped = load_template()
    ends, rejects = openings(shipped)
    assert disagree_rule(Rules()) in ends and disagree_rule(Rules(disagree="rejects")) in rejects
    assert ends.endswith("Pool: ") and len(ends) > 0.8 * len(shipped.text.split("Pool: {")[0])
    assert openings(Template("Pool {counts_csv}")) == ["Pool "]


def test_llm_keeps_the_beginning_of_its_own_prompt(tmp_path):
    player = llm("hf", str(tiny_model(tmp_path, "llama")))
    asked = asks(load_template(), 8)
    player.local.complete(asked)
    assert player.local.tally["read_tokens"] < 0.5 * player.local.tally["prompt_tokens"]


def test_a_short_beginning_is_not_worth_keeping(tmp_path):
    folder = tiny_model(tmp_path, "llama")
    short = Template("Pool {counts_csv}, values {my_utils_csv}.")
    told = [LocalClient(LocalSettings(str(folder)), openings=given) for given in (openings(short), ())]
    assert told[0].complete(asks(short)) == told[1].complete(asks(short))
    assert told[0].tally == told[1].tally


# ---------------------------------------------------------------- memory


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(20, 3000), st.integers(8, 60)), min_size=1, max_size=80),
    st.integers(400, 16_000), st.booleans(), st.booleans(), st.sampled_from([0, 600]),
)  # fmt: skip
def test_no_batch_of_a_large_model_takes_more_than_it_may(asked, megabytes, scored, shared, prefix):
    plan = Plan(BILLIONS, megabytes << 20, shared, prefix)
    prompts, lines = [prompt for prompt, _ in asked], [line for _, line in asked]
    if not plan.fits(1, max(prompts), max(lines), scored=scored):
        return  # told in words: see below
    seen = []
    for rows in batches(plan, prompts, lines, 64, scored):
        seen += rows
        widest, longest = max(prompts[row] for row in rows), max(lines[row] for row in rows)
        assert len(rows) <= 64 and plan.prompts(len(rows), widest, 0 if scored else longest) <= plan.bytes
        if scored:
            most = plan.most_lines(len(rows), widest, longest)
            assert most > 0 and plan.lines(most, len(rows), widest, longest) <= plan.bytes
    assert sorted(seen) == list(range(len(asked)))


def test_a_copy_of_the_prompt_for_every_line_is_what_it_no_longer_takes():
    """153 lines of 30 tokens after three prompts of 900, of a model of eight billion weights."""
    shared, copied = (Plan(BILLIONS, GIGABYTE, shared) for shared in (True, False))
    assert copied.lines(153, 3, 900, 30) > 17 * GIGABYTE
    assert shared.lines(153, 3, 900, 30) < 6 * GIGABYTE
    assert 1 <= shared.most_lines(1, 900, 30) < 153


def test_the_estimate_counts_the_sizes_that_the_config_tells(tmp_path):
    model = load_model(str(tiny_model(tmp_path, "llama"))).model
    told = sizes(model.config, model.dtype.itemsize)
    assert told == Sizes(2, 4, 2, 8, 32, 48, model.config.vocab_size, 4)
    past = model(input_ids=torch.zeros((1, 10), dtype=torch.long), use_cache=True).past_key_values
    held = sum(layer.keys.nbytes + layer.values.nbytes for layer in past.layers)
    assert held == 10 * told.token
    for kind in SMALL:
        config = load_model(str(tiny_model(tmp_path / kind, kind))).model.config
        assert sizes(config, 4).layers == 2 and sizes(config, 4).head == 8


@pytest.mark.parametrize("kind", ["llama", "bloom", "mistral"])
def test_little_memory_gives_the_same_answers_in_smaller_batches(kind, tmp_path):
    folder = tiny_model(tmp_path, kind)
    asked = asks(LONG, 6)
    roomy, tight = (
        LocalClient(LocalSettings(str(folder), temperature=1.0, memory_mb=megabytes), openings=openings(LONG))
        for megabytes in (1024, 5)
    )
    for one, other in zip(roomy.scores(asked), tight.scores(asked), strict=True):
        assert np.abs(one - other).max() < 1e-6
    assert [reply.text for reply in roomy.complete(asked)] == [reply.text for reply in tight.complete(asked)]
    assert tight.tally["read_tokens"] > roomy.tally["read_tokens"], "it did read in smaller batches"


def test_a_model_that_cannot_read_one_prompt_in_its_memory_says_how_much_it_needs(tmp_path):
    told = LocalClient(LocalSettings(str(tiny_model(tmp_path, "llama")), memory_mb=1))
    long = [Query(asks()[0].prompt * 40, asks()[0].legal)]
    with pytest.raises(SetupError, match=r"needs about \d+ MB to read a prompt, and memory_mb is 1: raise it"):
        told.complete(long)
    with pytest.raises(ValueError, match="memory_mb"):
        LocalSettings("folder", memory_mb=0)
