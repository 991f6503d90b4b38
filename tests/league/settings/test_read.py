"""Settings as they are run: the default league, written down, compared, and made in Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from dond_marl.game import Rules
from dond_marl.scenarios.data import DataError
from league.settings.read import (
    Config,
    ConfigError,
    differences,
    dump,
    load_config,
    other_settings,
    parse,
)
from league.settings.sections import EnvConfig, MemberConfig
from league.settings.training import TrainConfig
from league.settings.yaml import read
from partners.rosters import plain_name, roster

ROOT = Path(__file__).resolve().parents[3]
LEAGUE = ROOT / "configs" / "league.yaml"


@pytest.mark.parametrize(
    "content", ["", "# nothing\n", "env:\nleague:\nlogging:\n", "{}", "\ufeffenv: {}\n", "---\n...\n"]
)
def test_a_file_without_differences_means_the_defaults(content):
    assert parse(content) == Config()


def source_of(env: EnvConfig) -> str:
    """The source, once it is sure that all keys say the same."""
    in_use = env.scenarios in ("self_play", "dialogues")
    assert env.use_dataset == in_use and (env.dataset == env.scenarios or not in_use)
    return env.scenarios


# --- The default league ---------------------------------------------------------------------------------------------


def test_the_default_league_trains_on_the_training_split_of_the_legal_space():
    config = load_config(LEAGUE)
    assert (config.env.scenarios, config.env.split) == ("lewis", "train")
    assert config.env.open_source().table.size == 3084
    assert config.env.rules() == Rules()


def test_the_zoo_of_a_config_is_the_roster_train_and_the_standard_of_held_out_members_the_roster_dev():
    league = load_config(LEAGUE)
    assert {member.spec for member in league.members} >= {*roster("train"), "expert"}
    assert tuple(member.spec for member in league.heldout) == roster("dev")
    scripted = load_config(LEAGUE.with_name("league_scripted.yaml"))
    assert tuple(member.name for member in scripted.members) == roster("train")


@pytest.mark.parametrize(
    ("text", "members", "heldout"),
    [
        ("members: zoo", roster("train"), ()),
        ("members: train\nheldout: dev", roster("train"), roster("dev")),
        ("members: [heuristic]\nheldout: test", ("heuristic",), roster("test")),
        ("members: [expert, zoo]\nheldout: [linear]", ("expert", *(set(roster("train")) - {"linear"})), ("linear",)),
        ("members: [zoo, 'linear(exponent=1, floor=0.5)']", (*roster("train"),), ()),
        ("members: [zoo, {kind: linear, name: slow}]", (*roster("train"),), ()),
    ],
)
def test_a_roster_stands_for_those_of_its_members_that_no_list_names(text, members, heldout):
    config = parse(f"{text}\n")
    written = [plain_name(member.spec) for member in config.members]
    assert sorted(written) == sorted(members) and tuple(member.spec for member in config.heldout) == heldout


def test_the_default_league_runs_on_the_published_games_by_options_alone(data_dir):
    options = ["env.use_dataset=true", "env.dataset=self_play", f"env.data_dir={data_dir}"]
    env = load_config(LEAGUE, options).env
    assert source_of(env) == "self_play" and env.split is None
    assert env.open_source().table.size == 4086


def test_a_missing_data_folder_is_told_when_the_scenarios_are_opened(tmp_path):
    env = load_config(LEAGUE, ["env.scenarios=self_play", f"env.data_dir={tmp_path / 'none'}"]).env
    with pytest.raises(DataError, match="no such data file"):
        env.open_source()


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("league*.yaml")), ids=lambda path: path.name)
def test_every_league_config_loads_and_says_nothing_that_is_a_default(path):
    config, said = load_config(path), read(path.read_bytes()).data
    assert dump(config) == dump(load_config(path))
    for section in said.keys() - {"members", "gate", "heldout", "learners", "stages"}:
        for key in said[section].keys() - {"rounds", "block_size", "output_dir"}:
            default = getattr(getattr(Config(), section), key)
            assert said[section][key] != default, f"{section}.{key}"


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_no_config_asks_for_more_than_one_thread(path):
    """Beside other work on the same cores two threads take several times the processor time of one."""
    said = read(path.read_bytes()).data
    assert said.get("threads", 1) == said.get("training", {}).get("threads", 1) == TrainConfig().training.threads == 1


def test_reading_settings_loads_no_heavy_library():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from league.settings.read import load_config; "
        f"load_config({str(LEAGUE)!r}); print(sorted({{'torch', 'transformers', 'groq', 'ray'}} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- Written down and compared --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        "",
        LEAGUE.read_text(),
        "env: {use_dataset: true, dataset: dialogues, split: val, data_dir: ~/x, disagree: rejects}\n",
        "members: [{kind: boulware, exponent: 4, name: 'on'}, boulware(exponent=4.0), {kind: random, name: '3e-4'}]\n",
        "league: {seed: 9223372036854775807, confidence: 0.75}\nlogging: {output_dir: 'ünï: code # x'}\n",
    ],
)
def test_settings_written_down_are_read_back_the_same(content):
    config = parse(content)
    text = dump(config)
    assert parse(text) == config and dump(parse(text)) == text
    assert differences(config, parse(text)) == []


def test_differences_are_told_key_by_key_and_member_by_member():
    old = parse("members: [tough, random, linear]\n")
    new = parse("env: {scenarios: lewis, max_turns: 6}\nmembers: [tough, {kind: heuristic, name: random}, micro]\n")
    assert differences(old, new) == [
        "env.max_turns: 10 -> 6",
        "env.scenarios: uniform -> lewis",
        "env.split: none -> train",
        "members, random: random -> heuristic",
        "members, linear: linear -> absent",
        "members, micro: absent -> micro",
    ]
    assert differences(old, old) == []


def test_another_order_of_the_members_is_a_difference():
    assert differences(parse("members: [tough, random]"), parse("members: [random, tough]")) == [
        "members: another order, tough, random -> random, tough"
    ]


# --- Made in Python -------------------------------------------------------------------------------------------------


def test_settings_made_in_python_are_held_to_the_same_rules():
    env = EnvConfig(scenarios="lewis")
    assert env.split == "train" and hash(env) == hash(EnvConfig(scenarios="lewis", split="train"))
    assert source_of(EnvConfig(use_dataset=True)) == "self_play"
    for wrong in ({"scenarios": "lewis", "use_dataset": True}, {"max_turns": True}, {"max_turnz": 1}, {"partner": "x"}):
        with pytest.raises(ValidationError):
            EnvConfig(**wrong)
    with pytest.raises(ValidationError, match="frozen"):
        env.max_turns = 3


def test_a_member_may_play_twice_under_two_names():
    config = Config(members=["tough", {"kind": "tough", "name": "the other one"}])
    assert [(member.name, member.spec) for member in config.members] == [("tough", "tough"), ("the other one", "tough")]
    assert config.members[1] == MemberConfig(name="the other one", spec="tough")
    with pytest.raises(ValidationError, match="is taken by"):
        Config(members=["tough", "tough"])


# --- What is derived from the settings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "allowed"),
    [
        ("league.rounds=0", "an integer in 1..100000"),
        ("league.seed=-1", "an integer in 0..2**63 - 1"),
        ("league.floor=0", "a number above 0, up to 1, of practice spread evenly"),
        ("league.confidence=2", "a number between 0.5 and 0.9999"),
        ("league.evaluate=3", "true or false: the mains on held-out scenarios at the end"),
        ("backend.workers=0", "an integer in 1..4096; left out: one for every core"),
        ("env.illegal=3", "one of raise, forfeit, or left out"),
        ("env.split=3", "text, or left out"),
        ("logging=3", "a section of keys and values"),
    ],
)
def test_what_a_key_takes_is_told_from_its_type_bounds_and_unit(tmp_path, setting, allowed):
    (tmp_path / "empty.yaml").write_text("")
    with pytest.raises(ConfigError) as error:
        load_config(tmp_path / "empty.yaml", [setting])
    assert allowed in str(error.value)


def test_a_league_in_which_somebody_learns_measures_once_more_after_its_last_round_of_practice():
    rounds = Config.model_validate({"league": {"rounds": 3}, "learners": [{"name": "main"}]})
    assert rounds.schedule.total == 4
    assert [rounds.schedule.phase(number) for number in range(4)] == ["practice", "practice", "last", "measures"]
    nobody = Config.model_validate({"league": {"rounds": 3}})
    assert nobody.schedule.total == 3 and nobody.schedule.phase(2) == "last"


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"logging": {"output_dir": "elsewhere"}}, True),
        ({"backend": {"workers": 2, "kind": "process"}}, True),
        ({"env": {"data_dir": "elsewhere", "partner": "tough"}}, True),
        ({"league": {"confidence": 0.9, "evaluate": False}}, True),
        ({"league": {"rounds": 9}}, False),
        ({"members": ["tough"]}, False),
    ],
)
def test_a_run_goes_on_under_settings_that_change_nothing_in_its_ledger(change, same):
    refused = other_settings(Path("run"), Config().portable(), Config.model_validate(change).portable())
    assert (refused is None) == same
    assert same or (refused.startswith("run was started with other settings:") and "--resume run without" in refused)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("kl: 0.1", "kl: pulls toward the weights that it starts with, so it needs init_from, or a magnet above 0"),
        ("magnet: 0.1", "magnet: moves what kl pulls toward, so it needs kl above 0"),
        ("reservoir: 100, belief: 0.1", "reservoir: the average imitates acts and learns no beliefs"),
    ],
)
def test_a_magnet_without_a_pull_and_an_average_with_beliefs_are_refused_in_words(keys, told):
    with pytest.raises(ConfigError) as caught:
        parse(f"members: [random]\nlearners: [{{name: main, {keys}}}]")
    assert told in str(caught.value)


def test_settings_of_the_literatures_leagues_are_not_written_where_they_are_not_used():
    written = parse("members: [random]\nlearners: [{name: main}]").model_dump()["learners"][0]
    assert not {"magnet", "reservoir", "anticipation", "keeps_first"} & written.keys()
