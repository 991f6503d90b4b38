"""Language model judges as rewards: prompts, verdicts, costs and failures."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from dond_marl.batch import Games
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import numbers_of, open_source
from dond_marl.statistics import points_of_ten
from partners.judges.language_model import (
    NUDGE,
    SYSTEM,
    JudgeError,
    JudgeReward,
    LLMJudge,
    Verdict,
    describe_games,
    explain_label,
    llm_judge,
    prompt_header,
    question,
    read_verdict,
    scripted_games,
    worked_episodes,
)
from partners.judges.styles import Style, shows_style
from partners.learning.rewards import RewardPerSeat, reward_of
from partners.llm.cache import CacheMiss
from partners.llm.client import Client, ModelReply, Query, SetupError
from partners.llm.local.client import LocalClient, LocalSettings, WordClient
from partners.llm.reply import Legal
from partners.mixture import Mixture
from tests.command import train_command
from tests.loopback import Heard, Page, Service, completion
from tests.tiny_models import CHAT, tiny_model

torch.set_num_threads(1)
LEWIS = open_source("lewis", split="train")
SENTINEL = "gsk_TESTsentinel0123456789"


def some_games(size: int = 60, seed: int = 3) -> Games:
    crowd = Mixture(of=["boulware", "naive_tit_for_tat", "pushover", "random", "stubborn"])
    return rollout((crowd, crowd), LEWIS.block(seed, 0, size), Rules(), seed=seed)


def paid(reward: JudgeReward, games: Games) -> np.ndarray:
    return reward(games, points_of_ten(games.scores, games.scenarios.pool_values), games.scenarios)


# -- what a judge is told --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", Style)
def test_judge_prompt(style):
    text = prompt_header(style)
    assert re.findall(r"^Episode (\d)$", text, re.M) == ["1", "2", "3"]
    assert text.count(f"Question: Is Alice a {style.word} negotiator?\nAnswer: ") == 3
    assert [answer[:3] for answer in re.findall(r"Answer: (.*)", text)] == ["Yes", "No,", "Yes"]
    assert all(re.fullmatch(r"(Yes|No), because .*\.", answer) for answer in re.findall(r"Answer: (.*)", text))
    assert text == prompt_header(style), "the same every time"
    assert text != prompt_header(style, seed=1) and prompt_header(style, 1).count("Episode") == 1


def test_episode_description():
    games = rollout((seat_occupant("tough"), seat_occupant("tough")), LEWIS.block(0, 4, 1), Rules(4), seed=0)
    assert not games.deal[0]
    first, second = describe_games(games, 0)[0].split("\n"), describe_games(games, 1)[0].split("\n")
    assert [line.split(":")[0] for line in first] == [
        *("Pool", "Alice's values", "Bob's values", "Alice", "Bob", "Alice", "Bob", "Outcome"),
        *("Alice earns 0 of 10 points.", "Bob earns 0 of 10 points."),
    ]
    assert "time is up" in first[-3]
    assert first[3].startswith("Alice: propose: I keep ") and "; you get " in first[3]
    swapped = [line.replace("Alice", "?").replace("Bob", "Alice").replace("?", "Bob") for line in second]
    assert swapped[3:8] == first[3:8] and swapped[1:3] == first[2:0:-1], "the judged seat is Alice, whichever it was"


def test_descriptions_show_the_points_of_both_seats():
    games = some_games(100)
    for text, deal, scores in zip(describe_games(games, 1), games.deal, games.scores.tolist(), strict=True):
        assert f"Alice earns {scores[1]} of" in text and f"Bob earns {scores[0]} of" in text
        assert ("Outcome: agreement." in text) == deal


@pytest.mark.parametrize("style", Style)
def test_worked_episodes_and_reasons_match_the_definition(style):
    games = some_games(200)
    for seat in (0, 1):
        labels = shows_style(style, games)[:, seat]
        for game in range(games.size):
            reason = explain_label(style, games, game, seat)
            assert read_verdict(reason) == labels[game]
            alike = {"more than Bob": 1, "less than Bob": -1, "more than once": 2, "never the same twice": 3}
            kinds = {Style.COMPETITIVE: 1, Style.PUSH_OVER: -1, Style.STUBBORN: 2, Style.VERSATILE: 3}
            assert labels[game] == any(words in reason for words, kind in alike.items() if kind == kinds[style])
    worked = worked_episodes(style, 9, seed=4)
    assert shows_style(style, worked)[:, 0].tolist() == [True, False] * 4 + [True]


@pytest.mark.parametrize("style", Style)
def test_worked_episodes_are_training_scenarios(style):
    shown, train = (
        numbers_of(scenarios.counts, scenarios.utilities.reshape(-1, 6))
        for scenarios in (worked_episodes(style, 60, seed=1).scenarios, LEWIS.table)
    )
    assert np.isin(shown, train).all()


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (" **Yes**: no split came twice", Verdict.YES),
        ("No, because Bob says yes.", Verdict.NO),
        ("Know what? Yes.", Verdict.NONE),  # the published code looks for the letters of no first
        ("Yes or no?", Verdict.NONE),
        ("", Verdict.NONE),
    ],
)
def test_read_verdict(text, verdict):
    assert read_verdict(text) is verdict


def test_lenient_judge_reads_behind_an_unopened_thought(services, judge_at):
    def thinking(heard: Heard, number: int) -> Page:
        page = json.loads(honest(heard, number).body)
        page["choices"][0]["message"]["content"] = (
            "\ufeffNo offer twice?\n</think>\n\n" + page["choices"][0]["message"]["content"]
        )
        return Page(body=json.dumps(page))

    games = some_games()
    reward = judge_at(services(thinking), reading="lenient")
    assert (paid(reward.for_seat(0), games)[:, 0] == 10 * shows_style(Style.STUBBORN, games)[:, 0]).all()
    assert reward.judge.tally["let_pass_thinking"] == len(TRUTH)


# -- a language model ------------------------------------------------------------------------------------------------

GAMES = some_games()
TRUTH = dict(zip(describe_games(GAMES, 0), shows_style(Style.STUBBORN, GAMES)[:, 0], strict=True))


def episode_of(prompt: str) -> str:
    """The last episode of a prompt."""
    return prompt.split("Episode 4\n")[1].split("\nQuestion:")[0]


def honest(heard: Heard, _number: int) -> Page:
    """A model that reads the episode and finds the repeated offer, as one would."""
    lines = re.findall(r"^Alice: \w+: (I keep .*)$", episode_of(heard.prompt), re.M)
    repeated = len(set(lines)) < len(lines)
    return completion(f"{'Yes' if repeated else 'No'}, because I looked.", usage=(700, 9))


@pytest.fixture
def judge_at():
    """Makes judges that query a service, and closes them."""
    judges: list[LLMJudge] = []

    def make(service: Service, **options) -> JudgeReward:
        reward = llm_judge("stubborn", provider="openai", model="m", base_url=service.url, **options)
        judges.append(reward.judge)
        return reward

    yield make
    for judge in judges:
        judge.close()


def test_verdicts_are_paid_and_cost_is_counted(services, judge_at):
    service = services(honest)
    reward = judge_at(service, prompt_price=1.0, completion_price=2.0, max_usd=1.0)
    games = some_games()
    twice = games.rows(np.repeat(np.arange(games.size), 2))
    pay = paid(reward.for_seat(0), twice)
    assert (pay[:, 0] == 10 * shows_style(Style.STUBBORN, twice)[:, 0]).all() and 0 < pay[:, 0].mean() < 10
    assert not pay[:, 1].any()
    tally, different = reward.judge.tally, len(TRUTH)
    assert len(service.heard) == tally["asked"] == tally["requests"] == different < tally["episodes"] == 120
    assert tally["yes"] + tally["no"] == 120
    assert tally["prompt_tokens"] == 700 * different and tally["completion_tokens"] == 9 * different
    body = service.heard[0].body
    assert body["messages"][0]["content"] == SYSTEM and "response_format" not in body and body["temperature"] == 0
    assert service.heard[0].prompt.endswith("Question: Is Alice a stubborn negotiator?\nAnswer:")


def test_both_seats_are_judged(services, judge_at):
    reward = judge_at(services(honest))
    games = some_games()
    assert (paid(reward, games) == 10 * shows_style(Style.STUBBORN, games)).all()
    assert isinstance(reward, RewardPerSeat) and not isinstance(reward_of("svo(45)"), RewardPerSeat)


def test_recorded_verdicts_are_replayed(services, judge_at, tmp_path):
    cache = {"cache": str(tmp_path / "verdicts.sqlite")}
    games, service = some_games(), services(honest)
    recorded = paid(judge_at(service, **cache, cache_mode="record").for_seat(0), games)
    asked = len(service.heard)
    again = judge_at(service, **cache, cache_mode="record")
    assert (paid(again.for_seat(0), games) == recorded).all() and len(service.heard) == asked
    replayed = judge_at(service, **cache, cache_mode="replay")
    assert (paid(replayed.for_seat(0), games) == recorded).all() and len(service.heard) == asked
    with pytest.raises(CacheMiss, match="in the cache"):
        paid(replayed.for_seat(0), some_games(seed=4))
    with pytest.raises(CacheMiss):  # another prompt is another question
        paid(judge_at(service, **cache, cache_mode="replay", examples=2).for_seat(0), games)


def test_unreadable_answers_are_repeated_and_counted(services, judge_at):
    def evasive(heard: Heard, number: int) -> Page:
        if NUDGE in heard.prompt:
            return honest(heard, number) if "1 hat" in episode_of(heard.prompt)[:40] else completion("Perhaps.")
        return completion("It depends.") if TRUTH[episode_of(heard.prompt)] else honest(heard, number)

    reward, games = judge_at(services(evasive)), some_games()
    truth = shows_style(Style.STUBBORN, games)[:, 0]
    pay = paid(reward.for_seat(0), games)[:, 0]
    tally = reward.judge.tally
    mended = (pay == 10) & truth
    assert tally["re_asked"] == len({text for text, yes in TRUTH.items() if yes})
    assert 0 < tally["unjudged_unreadable"] == truth.sum() - mended.sum()
    assert (pay[~truth] == 0).all() and tally["yes"] == mended.sum() and tally["no"] == (~truth).sum()
    unjudged = pay[truth & ~mended]
    judged = np.r_[pay[~truth], pay[mended]]
    assert unjudged == pytest.approx(judged.mean()) and 0 < unjudged[0] < 10, "neither a yes nor a no"


def test_spent_budget_gives_no_verdict(services, judge_at):
    service, games = services(honest), some_games()
    with pytest.raises(JudgeError, match="unjudged_budget"):
        paid(judge_at(service, max_requests=3).for_seat(0), games)
    assert len(service.heard) == 3
    enough = judge_at(service, max_requests=len(TRUTH) - 2)
    pay = paid(enough.for_seat(0), games)[:, 0]
    assert enough.judge.tally["unjudged_budget"] >= 2 and np.isfinite(pay).all()
    assert len(set(pay.tolist())) == 3, "yes, no, and the mean of the judged"


def test_judge_refused_key(services, judge_at, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", SENTINEL)
    service = services(Page(401))
    reward = judge_at(service, key_env="JUDGE_KEY").for_seat(0)
    with pytest.raises(SetupError, match="the key") as error:
        paid(reward, some_games())
    assert service.heard[0].headers["authorization"] == f"Bearer {SENTINEL}"
    assert SENTINEL not in str(error.value) + repr(reward) + repr(vars(reward.judge)) + str(reward.judge.tally)


def test_judge_by_name_opens_nothing(tmp_path):
    spec = f"llm_judge(style=versatile, cache='{tmp_path / 'no' / 'cache'}', cache_mode=record)"
    reward = reward_of(spec)
    assert reward is reward_of(spec), "one judge, one budget"
    assert list(tmp_path.iterdir()) == [] and reward.judge.tally == Counter()


# -- learning from a judge -------------------------------------------------------------------------------------------


SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4, partner: tough}
training: {rollout: 2, num_envs: 4, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: 20, reward: "REWARD"}
logging: {output_dir: "FOLDER", tensorboard: false}
"""


def trained(folder: Path, reward: str) -> int:
    path = folder / "settings.yaml"
    path.write_text(SETTINGS.replace("REWARD", reward).replace("FOLDER", str(folder / "runs")))
    try:
        return train_command(path, (), None)
    finally:
        if reward.startswith("llm_judge"):
            reward_of(reward).judge.close()


def test_training_reports_the_judge(services, tmp_path, capsys):
    service = services(honest)
    spec = f"llm_judge(style=stubborn, provider=openai, model=m, base_url='{service.url}')"
    assert trained(tmp_path, spec) == 0
    out = capsys.readouterr().out
    text = " ".join(out.partition("judge of style stubborn in practice: ")[2].split())
    assert f"requests {len(service.heard)}" in text and "prompt_tokens" in text


def test_training_without_verdicts_ends(services, tmp_path, capsys):
    assert trained(tmp_path, "llm_judge(style=stubborn)") == 1
    told_of_key = capsys.readouterr().err
    assert "GROQ_API_KEY" in told_of_key and "Traceback" not in told_of_key
    gone = tmp_path / "gone.sqlite"
    spec = f"llm_judge(style=stubborn, cache='{gone}', cache_mode=replay)"
    assert trained(tmp_path, spec) == 1
    assert str(gone) in capsys.readouterr().err
    service = services(completion("Hm."))
    spec = f"llm_judge(style=stubborn, provider=openai, model=m, base_url='{service.url}', re_asks=0)"
    assert trained(tmp_path, spec) == 1
    error = capsys.readouterr().err
    assert "stubborn" in error and error.count("\n") == 1


# ---------------------------------------------------------------- a local model that says yes or no

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
    """Read one prompt alone, up to where the words differ."""
    read = client.local.load()
    if read.tokenizer.chat_template:
        prompt = read.render_chat([{"role": "user", "content": f"{client.system}\n\n{prompt}"}])
    (tokens,) = read.encode([prompt])
    yes, no = read.encode([word if read.tokenizer.chat_template else f" {word}" for word in ("Yes", "No")])
    same = next(i for i, (one, other) in enumerate(zip(yes, no, strict=False)) if one != other)
    with torch.inference_mode():
        logits = read.model(torch.tensor([[*tokens, *yes[:same]]])).logits[0, -1].double()
    return float(logits[[yes[same], no[same]]].softmax(dim=0)[0])


@pytest.mark.slow
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
    assert together.tally["prompt_tokens"] == alone.tally["prompt_tokens"] <= alone.tally["read_tokens"]
    assert together.tally["read_tokens"] < 0.5 * together.tally["prompt_tokens"], "the common beginning is read once"


def test_identity_covers_model_system_and_words(folder, tmp_path):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    identity = yes_no(folder).identity
    assert identity == yes_no(tmp_path).identity
    clients = yes_no(folder, "other"), yes_no(folder, words=("Yes",)), yes_no(folder, dtype="float32")
    assert all(other.identity != identity for other in clients)


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
        ({"model": "x", "max_usd": 1.0, "prompt_price": 1, "completion_price": 1}, "spending"),
    ],
)
def test_invalid_local_judge_settings(options, message):
    with pytest.raises(ValueError, match=message):
        llm_judge("stubborn", provider="hf", **options)
