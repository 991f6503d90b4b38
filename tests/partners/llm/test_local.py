"""Local language models: legal lines only, exact probabilities, no network, no foreign code."""

from __future__ import annotations

import json
import pickle
import shutil
import socket
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.batch import GameBatch
from dond_marl.conformance import check_partner
from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import decide
from dond_marl.solvers.replies import Probable
from dond_marl.splits import action_index, legal_action_mask
from partners.llm.client import Client, Query, SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.decoding import Batch, choose, score
from partners.llm.local.legal_lines import Branch, legal_lines
from partners.llm.local.model import LocalModel, fingerprint, load_model
from partners.llm.occupant import llm
from partners.llm.partner import LLMPartner, LocalLLMPartner
from partners.llm.prompt import SYSTEM, Template, load_template, openings, sort_by_value
from partners.llm.reply import Legal, LegalReply, legal_rows, read_reply, reply_line
from partners.provenance import identity
from tests.partners.llm.test_partner import Model
from tests.tiny_models import (
    CHAT,
    NO_SYSTEM,
    SMALL,
    UNLIKE,
    small_model_tokenizer,
    tiny_model,
    tiny_tokenizer,
    untrained_small_model,
)

torch.set_num_threads(1)
SHORT = Template("Pool {counts_csv}, values {my_utils_csv}, {turns} turns, offered {last_offer_csv}.")
SCENARIOS = open_source("lewis").block(1, 0, 12)


def answering(size: int = 12):
    """The second turn: every act is open."""
    table = GameBatch(SCENARIOS.rows(np.arange(size)))
    table.step(decide(np.zeros(size), table.turns().counts))
    return table.turns()


def asks(template: Template = SHORT, size: int = 12) -> list[Query]:
    turns = answering(size)
    return [Query(prompt, legal) for prompt, legal in zip(template.render(turns), legal_rows(turns), strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model with random weights and the tokenizer of the small model: fast."""
    return untrained_small_model(tmp_path_factory.mktemp("model"))


def client(folder: Path, **changes) -> LocalClient:
    return LocalClient(LocalSettings(str(folder), **changes))


def partner(folder: Path, **changes) -> LocalLLMPartner:
    local = client(folder, **changes)
    return LocalLLMPartner(local, local)


# ---------------------------------------------------------------- the tree of lines


def spelled(branch: Branch, before: tuple[int, ...] = ()):
    here = before + branch.run
    if branch.line >= 0:
        yield branch.line, here
    for token, below in zip(branch.tokens.tolist(), branch.below, strict=True):
        assert below.run[0] == token
        yield from spelled(below, here)


@settings(max_examples=25)
@given(st.tuples(*[st.integers(0, 4)] * 3), st.booleans())
def test_tree_contains_exactly_the_legal_lines(counts, may_agree):
    legal = Legal(counts, (0, 1, 2, 3, 4) if may_agree else (0, 1, 3, 4))
    for tokenizer in (tiny_tokenizer(), small_model_tokenizer()):
        told = legal_lines(legal, lambda texts, own=tokenizer: own(texts)["input_ids"])
        lines = dict(spelled(told.tree))
        assert sorted(lines) == list(range(len(told.actions)))
        for number, tokens in lines.items():
            said = read_reply(tokenizer.decode(tokens) + "0.5}", legal)
            assert isinstance(said, LegalReply) and said.action == told.actions[number]
            assert len(tokens) == told.lengths[number]


def test_ambiguous_tokenizer_is_refused():
    with pytest.raises(SetupError, match="same tokens"):
        legal_lines(Legal((1, 0, 0), (0, 3)), lambda texts: [[7, 7]] * len(texts))
    with pytest.raises(SetupError):
        legal_lines(Legal((1, 0, 0), (0,)), lambda texts: [[7] * (2 + n) for n, _ in enumerate(texts)])


# ---------------------------------------------------------------- decoding


def batch(prompts: list[list[int]]) -> Batch:
    return Batch(list(range(len(prompts))), None, prompts, max(map(len, prompts)) + 40)


def brute_force(model, prompt, tree: Branch, size: int) -> np.ndarray:
    """Every line's probability, one text at a time, all of it read anew at every step."""
    probabilities = np.zeros(size)

    def walk(tokens, branch, log_prob):
        tokens = [*tokens, *branch.run]
        if branch.line >= 0:
            probabilities[branch.line] = np.exp(log_prob)
            return
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0, -1].double()
        log_probs = logits[torch.from_numpy(branch.tokens)].log_softmax(0).tolist()
        for below, log_odds in zip(branch.below, log_probs, strict=True):
            walk(tokens, below, log_prob + log_odds)

    walk(list(prompt), tree, 0.0)
    return probabilities / probabilities.sum()


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind not in UNLIKE)) for kind in SMALL]
)
def test_batched_equals_single_for_all_architectures(kind, tmp_path):
    read = load_model(str(tiny_model(tmp_path, kind)))
    asked = asks(size=4)
    asked[1] = asked[1]._replace(prompt=asked[1].prompt * 3)  # of another length
    prompts = read.prompts([ask.prompt for ask in asked])
    lines = [legal_lines(ask.legal, read.encode) for ask in asked]
    scored = score(read.model, batch(prompts), lines, tally=Counter())
    chosen = choose(read.model, batch(prompts), [told.tree for told in lines], 0.0, np.zeros(4), tally=Counter())
    for row in range(4):
        alone = score(read.model, batch(prompts[row : row + 1]), lines[row : row + 1], tally=Counter())[0]
        assert np.abs(alone - scored[row]).max() < 1e-5
        assert chosen.probability[row] == pytest.approx(scored[row][chosen.line[row]], abs=1e-6)
    exact = brute_force(read.model, prompts[1], lines[1].tree, len(scored[1]))
    assert np.abs(exact - scored[1]).max() < 1e-5
    assert scored[1].max() > 3 * scored[1].mean(), "the model has an opinion, or this shows nothing"


def test_draws_match_probabilities(folder):
    """500 evenly spread uniforms: every line comes within one draw per choice of its probability."""
    read = load_model(str(folder))
    (ask,) = asks(size=1)
    prompt, told = read.prompts([ask.prompt]), legal_lines(ask.legal, read.encode)
    probs = score(read.model, batch(prompt), [told], 0.7, tally=Counter())[0]
    uniforms = (np.arange(500) + 0.5) / 500
    said = choose(read.model, batch(prompt * 500), [told.tree] * 500, 0.7, uniforms, tally=Counter())
    often = np.bincount(said.line, minlength=len(probs)) / 500
    assert np.abs(often - probs).max() <= 5 / 500
    assert np.allclose(said.probability, probs[said.line], atol=1e-5)
    assert (np.abs(probs - score(read.model, batch(prompt), [told], tally=Counter())[0])).max() > 1e-3, (
        "the temperature is heeded"
    )


# ---------------------------------------------------------------- in a seat


@pytest.mark.slow
def test_partner_contract(folder):
    """A model that knows nothing is in every odd position, and plays legally in all of them."""
    check_partner(partner(folder), games=2, sources=("by_hand",))
    sampling = client(folder, temperature=1.0)
    check_partner(
        LocalLLMPartner(sampling, sampling, samples=1000), max_count=3, games=3, sources=("uniform",),
        variants=((Rules(4, "rejects"), True), (Rules(3), False)),
    )  # fmt: skip


def test_memoryless_trait_without_history(folder):
    local = client(folder)
    told = LocalLLMPartner(local, local, history_cap=1)
    assert told.traits.memoryless and not LocalLLMPartner(local, local, history_cap=2).traits.memoryless
    check_partner(told, max_count=4, games=3, sources=("lewis",), variants=((Rules(5, "rejects"), False),))


def test_probabilities_of_legal_acts_sum_to_one(folder):
    turns = answering()
    for temperature in (0.0, 1.0):
        player = partner(folder, temperature=temperature)
        assert isinstance(player, Probable)
        probs = player.probs(turns, 4)
        legal = legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], 4)
        assert np.allclose(probs.sum(axis=1), 1) and not probs[~legal].any()
        assert ((probs[legal] > 0).all()) == (temperature > 0)


# ---------------------------------------------------------------- the client


def test_equal_queries_are_computed_once(folder):
    told = client(folder)
    assert isinstance(told, Client)
    first = told.complete(asks())
    again = told.complete(asks())
    assert first == again
    assert told.tally["replies"] == 24 and told.tally["remembered"] == 12
    legal = asks()[0].legal
    for one, other in zip(client(folder, batch=1).complete(asks()), first, strict=True):
        line, other_line = (json.loads(reply.text) for reply in (one, other))
        assert line["confidence"] == pytest.approx(other_line["confidence"], abs=2e-6), "rounding of another width"
        assert {**line, "confidence": 0} == {**other_line, "confidence": 0}
    assert isinstance(read_reply(first[0].text, legal), LegalReply)


def test_pickle_holds_settings_only(folder):
    told = client(folder)
    first = told.complete(asks())
    sent = pickle.dumps(told)
    assert len(sent) < 2000
    assert pickle.loads(sent).complete(asks()) == first


def test_identity_is_the_hash_of_the_folder(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert client(folder).identity == client(tmp_path).identity
    assert str(folder) not in json.dumps(dict(client(folder).identity))
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert fingerprint(tmp_path) != fingerprint(folder)
    assert client(folder, temperature=1.0).identity != client(folder).identity


def test_replies_are_recorded_and_replayed(folder, tmp_path):
    turns, cache, played = answering(), str(tmp_path / "replies.sqlite"), []
    for mode in ("record", "replay"):
        player = llm("hf", str(folder), cache=cache, cache_mode=mode)
        played.append(player.act(turns)[:4])
        counted = player.client.tally
        player.client.close()
    np.testing.assert_equal(played[1], played[0])
    assert counted["cache_hits"] > 0 == counted["cache_misses"] == counted["replies"]


@pytest.mark.parametrize(
    ("template", "begins"),
    [(None, "Pool"), (CHAT, f"<|system|>\n{SYSTEM}"), (NO_SYSTEM, f"<|user|>\n{SYSTEM}\n\nPool")],
)
def test_chat_template(template, begins, tmp_path):
    read = load_model(str(tiny_model(tmp_path, "gpt2", chat=template)))
    text = read.tokenizer.decode(read.prompts([asks(size=1)[0].prompt])[0])
    assert text.startswith(begins)
    assert text.endswith("<|assistant|>\n" if template else ".")
    assert text.count("Pool 1") <= 1


def rendering(template: str | dict) -> LocalModel:
    """A model of which only the chat template is needed."""
    return LocalModel(None, tiny_tokenizer(template), "m")


DATED = "{% if strftime_now is defined %}Today: {{ strftime_now('%d %b %Y, %B %-d, %Y-%m-%d, %F') }}\n{% endif %}"


def test_date_in_a_chat_template_is_fixed():
    text = rendering(DATED + CHAT).render_chat([{"role": "user", "content": "Pool"}])
    assert text.startswith("Today: 26 Jul 2024, July 26, 2024-07-26, 2024-07-26\n<|user|>")


@pytest.mark.parametrize(
    "template",
    [
        "{% for part in messages[-1].content %}{{ part.text }}{% endfor %}",  # it wants a list of parts
        "{{ raise_exception('never') }}",
    ],
)
def test_unusable_chat_template_is_refused(template):
    with pytest.raises(SetupError, match="chat template of the model m "):
        rendering(template).prompts(["Pool 1 " * 50])


def test_start_token_is_added_once(tmp_path):
    read = load_model(str(tiny_model(tmp_path, "llama")))
    assert read.prompts(["Pool"])[0].count(0) == 1
    assert read.prompts(["Pool"])[0][0] == 0


# ---------------------------------------------------------------- what must not happen


def test_local_model_sends_nothing(folder, tmp_path, monkeypatch):
    """A folder, a model in the Hugging Face cache, and one that is nowhere: not one connection is tried."""
    from huggingface_hub import constants

    kept = tmp_path / "models--some--body"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text("0123456789")
    tiny_model(kept / "snapshots" / "0123456789", "llama")
    tried = []

    def refuse(*told, **_):
        tried.append(told)
        raise OSError("there is no network")

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for owner, name in ((socket.socket, "connect"), (socket, "getaddrinfo"), (socket, "create_connection")):
        monkeypatch.setattr(owner, name, refuse)
    for model in (folder, "some/body"):
        assert len(client(model).complete(asks())) == 12
    with pytest.raises(SetupError, match="download"):
        client("no/body").complete(asks())
    assert tried == []


def test_model_code_is_never_run(tmp_path):
    folder = tiny_model(tmp_path / "model", "gpt2")
    mark = tmp_path / "ran"
    (folder / "theirs.py").write_text(f"open({str(mark)!r}, 'w').write('ran')\n")
    config = json.loads((folder / "config.json").read_text())
    auto_map = {"AutoConfig": "theirs.Config", "AutoModelForCausalLM": "theirs.Model"}
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "theirs", "auto_map": auto_map}))
    with pytest.raises(SetupError, match="cannot be"):
        client(folder).complete(asks())
    assert not mark.exists()


def test_damaged_model_raises_setup_error(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(SetupError, match="cannot be") as caught:
        client(tmp_path).complete(asks())
    assert "\n" not in str(caught.value)


def test_setup_errors_name_the_remedy(folder, tmp_path):
    with pytest.raises(SetupError, match="no model folder"):
        client(tmp_path / "nowhere").complete(asks())
    with pytest.raises(SetupError, match=r"40 tokens, .*history_cap"):
        client(tiny_model(tmp_path, "gpt2", max_position_embeddings=40)).complete(asks())
    for wrong in ({"temperature": -1}, {"revision": "main"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            client(folder, **wrong)
    with pytest.raises(ValueError, match="model must"):
        LocalSettings(" ")


# ---------------------------------------------------------------- items sorted by value

DRAWN = open_source("lewis").block(3, 0, 40)
ORDERS = np.array(list(permutations(range(3))))


def replace_names(order) -> Scenarios:
    """The same scenarios, in which other items are called books, hats and balls."""
    return Scenarios(DRAWN.counts[:, order], DRAWN.utilities[:, :, order], DRAWN.prior)


def third_turn(order):
    """The third turn, after an offer of each side."""
    table = GameBatch(replace_names(order), Rules(6))
    for keeps in (DRAWN.counts, DRAWN.counts // 2):
        table.step(decide(np.zeros(DRAWN.size), keeps[:, order]))
    return table.turns()


def keeps_the_last(ask) -> str:
    """A partner that keeps all of the last item of its view: it depends on the names of items."""
    return reply_line(Action(Act.PROPOSE, (0, 0, ask.legal.counts[2])), 0.5)


def test_sorted_items_share_prompts():
    prompts, kept, asked_by_name = set(), set(), set()
    for order in ORDERS:
        turns = third_turn(order)
        told, places = sort_by_value(turns)
        assert (np.diff(told.my_utilities.astype(int), axis=1) >= 0).all()
        assert (np.take_along_axis(turns.history.oA[:, 1], places, axis=1) == told.history.oA[:, 1]).all()
        prompts.add(tuple(load_template().render(told)))
        asked_by_name.add(tuple(load_template().render(turns)))
        said = LLMPartner(Model(keeps_the_last), sorted_items=True).act(turns)
        kept.add(tuple(np.sum(said.oA * turns.my_utilities, axis=1, dtype=int).tolist()))
        best = turns.my_utilities.max(axis=1)
        assert (said.cause == 0).all() and ((said.oA * turns.my_utilities).max(axis=1) >= best * (best > 0)).all()
    assert len(prompts) == len(kept) == 1 and len(asked_by_name) == 6


def test_items_are_not_sorted_in_games_with_messages():
    """A message about “hats” means hats."""
    turns = GameBatch(replace_names(ORDERS[3]), Rules(6, message_length=40)).turns()
    kept = LLMPartner(Model(keeps_the_last), sorted_items=True).act(turns).oA
    assert (kept[:, :2] == 0).all() and kept[:, 2].any()


@pytest.mark.parametrize("sorted_items", [False, True])
def test_confidence_of_a_local_model_is_the_probability(folder, sorted_items):
    def seated(**changes) -> LocalLLMPartner:
        local = client(folder, **changes)
        return LocalLLMPartner(local, local, sorted_items=sorted_items)

    check_partner(seated(), max_count=3, games=3, sources=("uniform",), variants=((Rules(4, "rejects"), True),))
    player, turns = seated(temperature=1.0), third_turn(ORDERS[3])
    said, probs = player.act(turns), player.probs(turns, 4)
    chosen = probs[np.arange(turns.size), action_index(said.act_type, said.oA, 4)]
    assert np.allclose(said.confidence, chosen, atol=2e-6) and np.allclose(probs.sum(axis=1), 1)
    assert player.local.tally["prompt_tokens"] > 0


def test_sorted_items_is_in_the_identity(folder):
    plain, told = (f"llm(provider=hf, model='{folder}'{more})" for more in ("", ", sorted_items=True"))
    assert identity(plain) != identity(told) and seat_occupant(told).sorted_items
    with pytest.raises(ValueError, match="got 'yes'"):
        llm("hf", str(folder), sorted_items="yes")


# ---------------------------------------------------------------- prefix cache and batches

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
    replies, expected = keeping.complete(asked), reading_all.complete(asked)
    for ask, one, other in zip(asked, replies, expected, strict=True):
        result, other_result = read_reply(one.text, ask.legal), read_reply(other.text, ask.legal)
        assert result.action == other_result.action
        assert result.confidence == pytest.approx(other_result.confidence, abs=1e-5)
    model = load_model(str(folder))
    kept = len(model.common_prefixes(openings(LONG))[0])  # as DISAGREE ends the game here
    all_tokens = {ask.prompt: len(model.prompts([ask.prompt])[0]) for ask in asked}
    assert keeping.tally["prompt_tokens"] == reading_all.tally["prompt_tokens"] == sum(all_tokens.values())
    assert kept > 0.6 * max(all_tokens.values()), "most of a prompt never changes"
    saved = reading_all.tally["read_tokens"] - keeping.tally["read_tokens"]
    assert saved == (len(asked) - 1) * kept
    before = keeping.tally["read_tokens"]
    keeping.complete(later)
    remaining = sum(len(model.prompts([ask.prompt])[0]) - kept for ask in later)
    assert keeping.tally["read_tokens"] - before < remaining + 40 * len(later), "it was kept from the asks before"


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


def test_small_batches_give_the_same_answers(tmp_path):
    queries = [ask._replace(prompt=ask.prompt * (1 + row % 2), sample=row) for row, ask in enumerate(asks(size=4))]
    folder = str(tiny_model(tmp_path, "llama"))
    large, small = (LocalClient(LocalSettings(folder, temperature=1.0, batch=size)) for size in (64, 2))
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
