"""No training uses held-out scenarios: neither shipped configs nor training code without a config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from dond_marl.scenarios.sources import (
    HELD_OUT_VIEWS,
    SPLITS,
    TO_TRAIN_ON,
    Scenarios,
    ScenarioSource,
    is_trainable,
    open_source,
    view_numbers,
)
from experiments.hints import HintExperimentConfig
from league.settings.read import Config, load_config
from league.settings.sections import EnvConfig, Section
from league.settings.training import TrainConfig
from league.training.clone import load_positions
from partners.judges.language_model import scripted_games
from partners.llm.local.model import SMALL_MODEL, model_path
from partners.llm.occupant import read_card

ROOT = Path(__file__).resolve().parents[2]
CONFIGS, STUDIES = ROOT / "configs", ROOT / "experiments" / "configs"
KINDS: dict[str, type[Section]] = {  # of those that are no league's and no list of arms
    "hint_experiment.yaml": HintExperimentConfig,
    "ppo_config.yaml": TrainConfig,
    "ppo_fast.yaml": TrainConfig,
    "ppo_memory.yaml": TrainConfig,
    "ppo_mixture.yaml": TrainConfig,
    "ppo_taught.yaml": TrainConfig,
    "reinforce_config.yaml": TrainConfig,
}
BY_PEOPLE = CONFIGS / "bc_config.yaml"
NO_TRAINING = (CONFIGS / "study.yaml",)
DRAWN = 60_000  # scenarios of a source without end: some 250 of them have a view of the legal space in either seat


def sources(config: Section) -> Iterator[ScenarioSource]:
    """Every source of training scenarios under these settings."""
    env: EnvConfig = config.env
    yield env.open_source()
    for stage in getattr(config, "stages", ()):
        yield stage.env.apply_to(env).open_source()


def loaded(path: Path) -> Iterator[Section]:
    """The settings in a file; of a comparison of arms, those of each arm that learns."""
    keys = yaml.safe_load(path.read_text(encoding="utf-8"))
    arms = keys.get("arms")
    if arms is None:
        yield load_config(path, (), KINDS.get(path.name, Config))
        return
    for arm in arms:
        if "config" in arm:
            yield load_config(CONFIGS / arm["config"], arm.get("set", ()), KINDS.get(arm["config"], Config))


def held_out(source: ScenarioSource) -> int:
    """Number of scenarios not permitted for training; of an infinite source, among those drawn."""
    table = source.block(0, 0, DRAWN) if source.table is None else source.table
    return int((~is_trainable(table)).sum())


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted((*CONFIGS.glob("*.yaml"), *STUDIES.glob("*.yaml")))
        if path not in (BY_PEOPLE, *NO_TRAINING)
    ],
    ids=lambda path: path.name,
)
def test_configs_train_on_permitted_scenarios(path):
    found = {source.digest(): source for config in loaded(path) for source in sources(config)}
    assert found and [source.label for source in found.values() if held_out(source)] == []


@pytest.mark.slow
def test_cloning_skips_held_out_views(data_dir):
    """People's dialogues cover every view, so those with held-out views are left out."""
    given = load_positions(load_config(BY_PEOPLE, [f"env.data_dir={data_dir}"], TrainConfig))
    for positions in (given.train, given.val):
        seen = Scenarios(positions.counts, np.repeat(positions.my_utilities[:, None], 2, axis=1))
        assert positions.size > 1000 and not np.isin(view_numbers(seen), HELD_OUT_VIEWS).any()


def test_held_out_scenarios_are_detected():
    for name, split in (("lewis", "all"), ("lewis", "test"), ("lewis", "paper_test"), ("uniform", None)):
        assert held_out(open_source(name, split=split)) > 0
    league = load_config(CONFIGS / "league_quick.yaml", ['stages=[{name: all, env: {split: "all"}}]'], Config)
    assert [bool(held_out(source)) for source in sources(league)] == [False, True]


def test_small_model_and_judges_use_permitted_scenarios():
    games = read_card(model_path(SMALL_MODEL))["recipe"]["games"]
    sources = [open_source(row["scenarios"], split=row["split"]) for row in games]
    assert [source.label for source in sources if held_out(source)] == []
    assert is_trainable(scripted_games(0, 1000).scenarios).all()


@pytest.mark.parametrize(("name", "split"), [(name, split) for name in SPLITS for split in (*SPLITS[name], None)])
def test_splits_without_held_out_scenarios(name, split, data_dir):
    source = open_source(name, split=split, data_dir=data_dir)
    assert ((name, source.split) in TO_TRAIN_ON) == (held_out(source) == 0)
