"""A local Hugging Face model as a judge: probabilities of yes and no."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from dond_marl.statistics import points_of_ten
from partners.judges.episodes import describe_games, scripted_games
from partners.judges.judge import Verdict
from partners.judges.language_model import YesNoClient, llm_judge, prompt_header, question, read_verdict
from partners.judges.styles import Style
from partners.learning.rewards import reward_of
from partners.llm.client import Client, Query, SetupError
from partners.llm.local.client import LocalSettings
from partners.llm.reply import Legal
from tests.tiny_models import CHAT as LLAMA_CHAT
from tests.tiny_models import tiny_model

torch.set_num_threads(1)
LEGAL = Legal((0, 0, 0), ())
CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
)


def yes_no(folder: Path, system: str = "system", **settings) -> YesNoClient:
    return YesNoClient(LocalSettings(str(folder), **{"batch": 8, **settings}), system)


def make(folder: Path, *, positions: int = 4096, chat: str | None = None) -> Path:
    """A tiny model with weights of a fixed seed, one token per byte."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({letter: place for place, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=letters[0])
    fast.chat_template = chat
    fast.save_pretrained(folder)
    config = GPT2Config(
        vocab_size=256, n_positions=positions, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(config)
    drawn = np.random.default_rng(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(drawn.normal(0, 0.7, tuple(parameter.shape))))
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("model"))


def asks(number: int = 12) -> list[Query]:
    beginning = prompt_header(Style.STUBBORN, 1)
    return [
        Query(question(beginning, text, Style.STUBBORN, 1), LEGAL)
        for text in describe_games(scripted_games(2, number), 0)
    ]


def yes_by_hand(client: YesNoClient, prompt: str) -> float:
    """Read one prompt alone, with nothing filled up."""
    read = client._local
    (tokens,) = read.encode([prompt + " "])
    logits = read.model(torch.tensor([tokens])).logits[0, -1].double()
    yes, no = read.encode(["Y", "N"])
    return float(torch.softmax(logits[[yes[0], no[0]]], dim=0)[0].detach())


def test_yes_no_replies_do_not_depend_on_the_batch(folder):
    client = yes_no(folder, "system", batch=5)
    assert isinstance(client, Client)
    replies = client.complete(asks())
    for ask, reply in zip(asks(), replies, strict=True):
        yes = yes_by_hand(client, ask.prompt)
        assert read_verdict(reply.text) == (yes > 0.5)
        assert float(re.search(r"\((.*)\)", reply.text)[1]) == pytest.approx(max(yes, 1 - yes), abs=2e-4)
        assert reply.usage == (len(client._local.encode([ask.prompt])[0]) + 1, 1)
    assert yes_no(folder, "system", batch=1).complete(asks()[::-1]) == replies[::-1]
    assert client.tally["replies"] == 12 and client.tally["prompt_tokens"] == sum(r.usage[0] for r in replies)
    assert client.complete([]) == []


def test_yes_no_chat_template(tmp_path):
    client = yes_no(make(tmp_path, chat=CHAT), "You judge.")
    (tokens,) = [client._tokens("Well?")]
    assert client._local.tokenizer.decode(tokens) == "<user>You judge.\n\nWell?<a>"
    assert read_verdict(client.complete([Query("Well?", LEGAL)])[0].text) is not Verdict.NONE


def test_yes_no_identity(folder, tmp_path):
    elsewhere = make(tmp_path / "moved")
    assert yes_no(folder, "s").identity == yes_no(elsewhere, "s").identity
    assert yes_no(folder, "t").identity != yes_no(elsewhere, "s").identity


def test_yes_no_judge_records_and_replays(folder, tmp_path):
    games = scripted_games(4, 10)
    earned = points_of_ten(games.scores, games.scenarios.pool_values)
    spec = f"llm_judge(style=stubborn, provider=hf, model='{folder}', cache='{tmp_path / 'cache'}', cache_mode=MODE)"
    pays = []
    for mode in ("record", "replay"):
        reward = reward_of(spec.replace("MODE", mode))
        pays.append(reward.for_seat(0)(games, earned, games.scenarios))
        assert reward.judge.tally["cache_hits"] == (10 if mode == "replay" else 0)
        assert reward.judge.tally["yes"] + reward.judge.tally["no"] == 10
        reward.judge.close()
    assert (pays[0] == pays[1]).all() and set(pays[0].ravel().tolist()) <= {0.0, 10.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "provider hf needs a model"),
        ({"model": "x", "base_url": "http://127.0.0.1/v1"}, "no other takes one"),
        ({"model": "x", "max_usd": 1.0, "prompt_price": 1, "completion_price": 1}, "costs time only"),
        ({"model": "x", "batch": 0}, "batch must be"),
        ({"model": "x", "max_tokens": 3}, "max_tokens must be"),
        ({"model": " "}, "model must be"),
    ],
)
def test_invalid_local_judge_settings(options, message):
    with pytest.raises(ValueError, match=message):
        llm_judge("stubborn", provider="hf", **options)


def test_missing_or_too_small_model(tmp_path):
    games = scripted_games(4, 2)
    gone = llm_judge("stubborn", provider="hf", model=str(tmp_path / "gone"))
    with pytest.raises(SetupError, match="no model folder") as error:
        gone.judge.verdicts(games, 0)
    assert "\n" not in str(error.value)
    small = llm_judge("stubborn", provider="hf", model=str(make(tmp_path / "small", positions=64)))
    with pytest.raises(SetupError, match="64 tokens"):
        small.judge.verdicts(games, 0)


def test_yes_no_prefix_cache(tmp_path):
    """A Llama with byte-pair tokens, a chat template and weights in bfloat16, as people have on their disks."""
    folder = tiny_model(tmp_path / "model", chat=LLAMA_CHAT)
    kept = {name: value.bfloat16() for name, value in load_file(folder / "model.safetensors").items()}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})
    together, alone = (yes_no(folder, "system", batch=4, dtype="float32") for _ in range(2))
    asked = asks(9)
    replies = together.complete(asked)
    for one, other in zip(replies, [alone.complete([ask])[0] for ask in asked], strict=True):
        sure = [float(re.search(r"\((.*)\)", reply.text)[1]) for reply in (one, other)]
        assert sure[0] == pytest.approx(sure[1], abs=2e-4)
    assert together.tally["prompt_tokens"] == alone.tally["prompt_tokens"] == alone.tally["read_tokens"]
    assert together.tally["read_tokens"] < 0.5 * together.tally["prompt_tokens"]
    read = together.tally["read_tokens"]
    assert together.complete(asked[:4]) and together.tally["read_tokens"] - read < 0.5 * read, "it was kept"
    used, fresh = (yes_no(folder, "system", batch=4) for _ in range(2))
    used.complete(asked)
    assert used.complete(asked[:2]) == fresh.complete(asked[:2]), "an answer knows no earlier call"
    assert used._prefix[0] == fresh._prefix[0]
    sent = pickle.dumps(together)
    assert len(sent) < 2_000, "without what was kept"
    assert pickle.loads(sent).complete(asked[:1]) == alone.complete(asked[:1])
    assert together.identity != yes_no(folder, "system").identity
    with pytest.raises(ValueError, match="auto, float32"):
        yes_no(folder, "system", dtype="int8")
