"""A local Hugging Face model as a judge: probabilities of yes and no."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.statistics import points_of_ten
from partners.judges.episodes import describe_games, scripted_games
from partners.judges.language_model import llm_judge, prompt_header, question, read_verdict
from partners.judges.styles import Style
from partners.learning.rewards import reward_of
from partners.llm.client import Client, ModelReply, Query, SetupError
from partners.llm.local.client import LocalClient, LocalSettings
from partners.llm.local.words import WordClient
from partners.llm.reply import Legal
from tests.tiny_models import CHAT, tiny_model

torch.set_num_threads(1)
LEGAL = Legal((0, 0, 0), ())


def yes_no(folder: Path, system: str = "system", words=("Yes", "No"), **settings) -> WordClient:
    return WordClient(LocalClient(LocalSettings(str(folder), **{"batch": 8, **settings})), system, words)


@pytest.fixture(scope="module", params=[None, CHAT], ids=["plain", "chat"])
def folder(tmp_path_factory, request) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model"), chat=request.param)


def asks(number: int = 9) -> list[Query]:
    beginning = prompt_header(Style.STUBBORN, 1)
    return [
        Query(question(beginning, text, Style.STUBBORN, 1), LEGAL)
        for text in describe_games(scripted_games(2, number), 0)
    ]


def probability(reply: ModelReply) -> float:
    return json.loads(reply.text)["Yes"]


def yes_by_hand(client: WordClient, prompt: str) -> float:
    """Read one prompt with each word, alone."""
    read, chances = client.local.load(), []
    if read.tokenizer.chat_template:
        prompt = read.render_chat([{"role": "user", "content": f"{client.system}\n\n{prompt}"}])
    (tokens,) = read.encode([prompt])
    for word in ("Yes", "No"):
        (spelled,) = read.encode([word if read.tokenizer.chat_template else f" {word}"])
        with torch.inference_mode():
            logits = read.model(torch.tensor([[*tokens, *spelled]])).logits[0, len(tokens) - 1 : -1].double()
        chances.append(float(logits.log_softmax(dim=1)[range(len(spelled)), spelled].sum().exp()))
    return chances[0] / sum(chances)


def test_yes_no_replies_do_not_depend_on_the_batch(folder):
    together, alone = yes_no(folder, batch=5), yes_no(folder)
    assert isinstance(together, Client)
    replies = together.complete(asks())
    assert together.complete([]) == []
    for ask, reply in zip(asks(), replies, strict=True):
        yes = yes_by_hand(together, ask.prompt)
        assert probability(reply) == pytest.approx(yes, abs=1e-4)
        assert probability(alone.complete([ask])[0]) == pytest.approx(yes, abs=1e-4)
        assert read_verdict(reply.text) == (yes > 0.5)
    assert together.tally["replies"] == 9
    assert together.tally["prompt_tokens"] == alone.tally["prompt_tokens"] == alone.tally["read_tokens"]
    assert together.tally["read_tokens"] < 0.5 * together.tally["prompt_tokens"], "the common beginning is read once"


def test_identity_covers_model_system_and_words(folder, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    identity = yes_no(folder).identity
    assert identity == yes_no(tmp_path).identity
    others = yes_no(folder, "other"), yes_no(folder, words=("Yes",)), yes_no(folder, dtype="float32")
    assert all(other.identity != identity for other in others)


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
    assert np.array_equal(*pays) and set(pays[0].ravel().tolist()) <= {0.0, 10.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "provider hf"),
        ({"model": "x", "base_url": "http://127.0.0.1/v1"}, "base_url"),
        ({"model": "x", "max_usd": 1.0, "prompt_price": 1, "completion_price": 1}, "spending"),
        ({"model": "x", "batch": 0}, "batch"),
        ({"model": "x", "max_tokens": 3}, "max_tokens"),
        ({"model": " "}, "model"),
        ({"model": "x", "dtype": "int8"}, "dtype"),
    ],
)
def test_invalid_local_judge_settings(options, message):
    with pytest.raises(ValueError, match=message):
        llm_judge("stubborn", provider="hf", **options)


def test_missing_or_too_small_model(tmp_path):
    games = scripted_games(4, 2)
    small = tiny_model(tmp_path / "small", max_position_embeddings=64)
    for model, why in ((tmp_path / "gone", "gone"), (small, "64")):
        judge = llm_judge("stubborn", provider="hf", model=str(model)).judge
        with pytest.raises(SetupError, match=why) as error:
            judge.verdicts(games, 0)
        assert "\n" not in str(error.value)


def test_words_of_equal_tokens_are_refused(folder):
    with pytest.raises(SetupError, match="same tokens"):
        yes_no(folder, words=("Yes", "Yes")).complete(asks(1))
