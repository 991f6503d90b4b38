"""Dry run of a training: expensive queries are counted, and none is made."""

from __future__ import annotations

import pytest

from league.play.hinters import hint_queries
from league.settings.sections import HintsConfig
from league.settings.training import TrainConfig
from league.training.training import begin, own_decisions_per_game
from tests.command import dond
from tests.loopback import Service, completion

SMALL = ("training.num_train_steps=400", "training.num_envs=8", "training.rollout=4", "training.hidden=[8]")


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        (
            ("hints.mode=llm", "hints.provider=openai", "hints.models.openai=any", "hints.options={base_url: 'URL'}"),
            ("for hints in practice: about 400 queries", "for hints of the closing evaluation: about"),
        ),
        (
            ("env.partner=llm(provider=openai, base_url='URL', model=any, max_requests=7)",),
            ("which plays: about 400 queries", "the games of the closing evaluation"),
        ),
        (("training.reward=llm_judge(style='competitive', provider='openai', model='any', base_url='URL')",),
         ("which judges: about",)),
    ],
    ids=["hints", "partner", "judge"],
)  # fmt: skip
def test_dry_run_lists_queries(settings, lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    service = Service(lambda heard, number: completion())
    try:
        overrides = (*SMALL, *(each.replace("URL", service.url) for each in settings))
        assert dond("train", "--algo", "ppo", "--dry-run", overrides=overrides) == 0
        out = capsys.readouterr().out
        assert not service.heard and not list(tmp_path.iterdir())
    finally:
        service.close()
    for line in (*lines, "at 1 second a query"):
        assert line in out, out


def test_dry_run_without_queries(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert dond("train", "--algo", "reinforce", "--dry-run", overrides=SMALL) == 0
    out = capsys.readouterr().out
    assert "quer" not in out and "400 decisions" in out and not list(tmp_path.iterdir())


def test_hint_queries_follow_cadence():
    every = hint_queries(HintsConfig(mode="llm"), 100, 300, "for hints")
    assert (every.expected, every.bound) == (300, 300)
    seldom = hint_queries(HintsConfig(mode="llm", cadence_k=10), 100, 300, "for hints")
    assert 100 <= seldom.expected < 110 and seldom.bound == 130
    withheld = hint_queries(HintsConfig(mode="llm", dropout=0.5), 100, 300, "for hints")
    assert withheld.expected == 150


@pytest.mark.parametrize("partner", ["heuristic", "stubborn"])
def test_estimated_hints_are_close_to_those_of_a_training(partner):
    small = {"num_train_steps": 400, "num_envs": 32, "rollout": 4, "hidden": [8]}
    hints = {"mode": "random", "cadence_k": 4}
    training = begin(TrainConfig.model_validate({"env": {"partner": partner}, "hints": hints, "training": small}))
    games = round(400 / own_decisions_per_game(training))
    expected = hint_queries(training.config.hints, games, 400, "for hints").expected
    while training.learner.decisions < 400:
        training.step()
    assert training.hints.tally["asked"] * 400 / training.learner.decisions == pytest.approx(expected, rel=0.2)
