"""What a training would ask is said before anybody is asked."""

from __future__ import annotations

import pytest

from dond_marl.occupants import Spec, parse_spec
from league.settings.training import HintsConfig, TrainConfig
from league.tasks.hinters import QueryEstimate, hint_queries
from league.training.training import begin, own_decisions_per_game
from tests.command import dond
from tests.loopback import Service, completion

SMALL = ("training.num_train_steps=400", "training.num_envs=8", "training.rollout=4", "training.hidden=[8]")


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        (
            ("hints.mode=llm", "hints.provider=openai", "hints.models.openai=any", "hints.options={base_url: 'URL'}"),
            ("for hints in practice: about 400 queries", "for hints of the closing evaluation: about"),
        ),
        (
            ("env.partner=llm(provider=openai, base_url='URL', model=any, max_requests=7)",),
            ("which plays: about 400 queries", "the games of the closing evaluation", "past max_requests 7"),
        ),
        (("training.reward=llm_judge(style='competitive', provider='openai', model='any', base_url='URL')",),
         ("which judges: about",)),
    ],
    ids=["hints", "partner", "judge"],
)  # fmt: skip
def test_dry_run_lists_queries(asks, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Service(lambda heard, number: completion())
    try:
        overrides = (*SMALL, *(each.replace("URL", service.url) for each in asks))
        assert dond("train", "--algo", "ppo", "--dry-run", overrides=overrides) == 0
        said = capsys.readouterr().out
        assert not service.heard and not list(tmp_path.iterdir())
    finally:
        service.close()
    for words in (*told, "at 1 second a query", "on one core"):
        assert words in said, said


def test_dry_run_without_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert dond("train", "--algo", "reinforce", "--dry-run", overrides=SMALL) == 0
    said = capsys.readouterr().out
    assert "quer" not in said and "400 decisions" in said and not list(tmp_path.iterdir())


def test_hint_queries_follow_cadence():
    every = hint_queries(HintsConfig(mode="llm"), 100, 300, "for hints", Spec("llm"))
    assert (every.expected, every.bound) == (300, 300)
    seldom = hint_queries(HintsConfig(mode="llm", cadence_k=10), 100, 300, "for hints", Spec("llm"))
    assert 100 <= seldom.expected < 110 and seldom.bound == 130
    withheld = hint_queries(HintsConfig(mode="llm", dropout=0.5), 100, 300, "for hints", Spec("llm"))
    assert withheld.expected == 150


@pytest.mark.parametrize("partner", ["heuristic", "stubborn"])
def test_hint_estimate_is_close_to_what_is_queried(partner):
    small = {"num_train_steps": 400, "num_envs": 32, "rollout": 4, "hidden": [8]}
    hints = {"mode": "random", "cadence_k": 4}
    training = begin(TrainConfig.model_validate({"env": {"partner": partner}, "hints": hints, "training": small}))
    games = round(400 / own_decisions_per_game(training))
    expected = hint_queries(training.config.hints, games, 400, "for hints", Spec("llm")).expected
    while training.learner.decisions < 400:
        training.step()
    assert training.hints.tally["asked"] * 400 / training.learner.decisions == pytest.approx(expected, rel=0.2)


def test_prices_become_dollars():
    spec = "llm(provider=openai, base_url='http://127.0.0.1:9/v1', model=any, prompt_price=2.0, completion_price=10.0)"
    told = str(QueryEstimate("any", "which plays", 500, 1_000_000, 2_500_000, parse_spec(spec)))
    assert " US dollars" in told and "at most 2,500,000" in told and "12 days" in told


def test_a_spent_limit_ends_the_hints_where_a_member_has_a_fallback():
    spec = parse_spec("llm(provider=openai, base_url='http://127.0.0.1:9/v1', model=any, max_requests=9)")
    playing = str(QueryEstimate("any", "which plays", 5, 50, 50, spec))
    hinting = str(hint_queries(HintsConfig(mode="llm"), 10, 40, "for hints", spec))
    assert all("past max_requests 9" in text for text in (playing, hinting))
    assert "fallback" in playing and "fallback" not in hinting
