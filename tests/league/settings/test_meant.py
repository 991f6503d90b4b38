"""A key of another library, one without its section, a config of another command: the message says what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.settings.read import Config, ConfigError, load_config
from league.settings.training import TrainConfig

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


def complaint(path: Path, overrides: list[str], model: type) -> str:
    with pytest.raises(ConfigError) as error:
        load_config(path, overrides, model)
    return str(error.value)


@pytest.mark.parametrize(
    ("override", "meant"),
    [
        ("training.learning_rate=0.1", "did you mean 'lr'?"),
        ("training.total_timesteps=100", "did you mean 'num_train_steps'?"),
        ("lr=0.001", "did you mean 'training.lr'?"),
        ("learning_rate=0.001", "did you mean 'training.lr'?"),
        ("training.partner=tough", "did you mean 'env.partner'?"),
        ("training.clipp=0.1", "did you mean 'clip'?"),
    ],
)
def test_a_key_of_another_name_or_without_its_section_is_recognised(override, meant):
    assert meant in complaint(CONFIGS / "ppo_config.yaml", [override], TrainConfig)


def test_a_leagues_config_given_to_a_training_is_named_as_one_in_a_single_line():
    told = complaint(CONFIGS / "league.yaml", [], TrainConfig)
    assert "this is a league's config" in told and f"use dond league --config {CONFIGS / 'league.yaml'}" in told
    assert "\n" not in told


def test_a_trainings_config_given_to_a_league_is_named_as_one():
    told = complaint(CONFIGS / "ppo_config.yaml", [], Config)
    assert f"use dond train --config {CONFIGS / 'ppo_config.yaml'}" in told and "\n" not in told


def test_misspelt_members_do_not_print_the_list_of_all_names():
    told = complaint(CONFIGS / "league_quick.yaml", ["members=[heuristc,tugh,zzz]"], Config)
    assert "did you mean 'heuristic'?" in told and "did you mean 'tough'?" in told
    assert len(told.splitlines()) == 3 and "nice_tit_for_tat" not in told
