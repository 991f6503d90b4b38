"""Settings: shipped configs, round trips, differences, schedules, and settings made in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from dond_marl.game import Rules
from dond_marl.scenarios.data import DataError
from league.ledger.verify import differences
from league.settings.learners import LearnerConfig
from league.settings.read import Config, ConfigError, dump, load_config, parse
from league.settings.sections import EnvConfig, MemberConfig
from partners.rosters import DEV, DEV2, TEST2, TRAIN, bank, plain_name, roster

ROOT = Path(__file__).resolve().parents[3]
LEAGUE = ROOT / "configs" / "league.yaml"


@pytest.mark.parametrize(
    "content", ["", "# nothing\n", "env:\nleague:\nlogging:\n", "{}", "\ufeffenv: {}\n", "---\n...\n"]
)
def test_empty_file_means_the_defaults(content):
    assert parse(content) == Config()


def source_of(env: EnvConfig) -> str:
    """The source, once it is sure that all keys say the same."""
    in_use = env.scenarios in ("self_play", "dialogues")
    assert env.use_dataset == in_use and (env.dataset == env.scenarios or not in_use)
    return env.scenarios


# --- The default league ---------------------------------------------------------------------------------------------


def test_default_league_trains_on_the_training_split():
    config = load_config(LEAGUE)
    assert (config.env.scenarios, config.env.split) == ("lewis", "train")
    assert config.env.open_source().table.size == 3084
    assert config.env.rules() == Rules()


def test_zoo_is_the_roster_train():
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
        ("members: [heuristic]\nheldout: dev2", ("heuristic",), roster("dev2")),
        ("members: [expert, zoo]\nheldout: [linear]", ("expert", *(set(roster("train")) - {"linear"})), ("linear",)),
        ("members: [zoo, 'linear(exponent=1, floor=0.5)']", (*roster("train"),), ()),
        ("members: [zoo, {kind: linear, name: slow}]", (*roster("train"),), ()),
        ("members: bank", bank(), ()),
        ("members: [zoo, bank]", tuple({*roster("train"), *bank()}), ()),
    ],
)
def test_roster_expands_to_members_that_no_list_names(text, members, heldout):
    config = parse(f"{text}\n")
    written = [plain_name(member.spec) for member in config.members]
    assert sorted(written) == sorted(members) and tuple(member.spec for member in config.heldout) == heldout


def test_programs_of_people_are_members_under_their_short_names():
    config = parse("members: [zoo, people_train]\nheldout: people_dev\n")
    programs = [member for member in config.members if member.spec.kind == "agent"]
    assert [member.spec for member in programs] == list(roster("people_train"))
    assert all(member.name.startswith("agent 5b") for member in programs)
    assert parse(dump(config)) == config


def test_missing_data_folder_is_an_error_on_opening(tmp_path):
    env = load_config(LEAGUE, ["env.scenarios=self_play", f"env.data_dir={tmp_path / 'none'}"]).env
    with pytest.raises(DataError, match="no such data file"):
        env.open_source()


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
def test_dump_parse_round_trip(content):
    config = parse(content)
    text = dump(config)
    assert parse(text) == config and dump(parse(text)) == text
    assert differences(config, parse(text)) == []


def test_differences_by_key_and_member():
    old = parse("members: [tough, random, linear]\n")
    new = parse("env: {scenarios: lewis, max_turns: 6}\nmembers: [tough, {kind: heuristic, name: random}, micro]\n")
    assert differences(old, new) == [
        "env.max_turns: 10 -> 6",
        "env.scenarios: uniform -> lewis",
        "env.split: none -> train",
        "members.random.spec: random -> heuristic",
        "members.linear.spec: linear -> absent",
        "members.micro.spec: absent -> micro",
    ]
    assert differences(old, old) == []


def test_order_of_members_is_a_difference():
    assert len(differences(parse("members: [tough, random]"), parse("members: [random, tough]"))) == 1


# --- Made in Python -------------------------------------------------------------------------------------------------


def test_settings_made_in_python_are_checked():
    env = EnvConfig(scenarios="lewis")
    assert env.split == "train" and hash(env) == hash(EnvConfig(scenarios="lewis", split="train"))
    assert source_of(EnvConfig(use_dataset=True)) == "self_play"
    for wrong in ({"scenarios": "lewis", "use_dataset": True}, {"max_turns": True}, {"max_turnz": 1}, {"partner": "x"}):
        with pytest.raises(ValidationError):
            EnvConfig(**wrong)
    with pytest.raises(ValidationError, match="frozen"):
        env.max_turns = 3


def test_member_can_play_twice_under_two_names():
    config = Config(members=["tough", {"kind": "tough", "name": "second"}])
    assert [(member.name, member.spec) for member in config.members] == [("tough", "tough"), ("second", "tough")]
    assert config.members[1] == MemberConfig(name="second", spec="tough")
    with pytest.raises(ValidationError, match="is taken by"):
        Config(members=["tough", "tough"])


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
def test_resume_allows_settings_outside_the_ledger(change, same):
    assert (Config().portable() == Config.model_validate(change).portable()) == same


@pytest.mark.parametrize(
    ("section", "names"),
    [
        (LearnerConfig(name="main"), ("magnet", "reservoir", "anticipation", "keeps_first", "device")),
        (EnvConfig(), ("message_length",)),
    ],
)
def test_optional_features_are_not_written_at_their_defaults(section, names):
    assert not set(names) & section.model_dump().keys()


# -- Rosters in a league's settings


LEAGUES = [*sorted((ROOT / "configs").glob("league*.yaml")), ROOT / "configs" / "pool_ppo.yaml"]
TEST_MEMBER = roster(DEV2)[0]


@pytest.mark.parametrize("path", LEAGUES, ids=lambda path: path.name)
def test_shipped_leagues_keep_held_out_members_apart(path):
    config = load_config(path)
    opponents = {plain_name(member.spec) for member in (*config.members, *config.gate)}
    assert all(opponents.isdisjoint(roster(name)) for name in (DEV, DEV2, TEST2))
    held = {plain_name(member.spec) for member in config.heldout}
    assert held <= set(roster(DEV)) and held.isdisjoint(opponents)


@pytest.mark.parametrize(
    "text",
    [
        "members: dev2",
        f"members: [heuristic, '{TEST_MEMBER}']",
        "members: [heuristic]\ngate: dev2",
        "members: [heuristic, 'linear(exponent=1, floor=0.35)']",
    ],
)
def test_roster_dev2_is_refused_outside_of_heldout(text):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert {origin.label for origin, _ in refused.value.complaints} <= {"settings:1", "settings:2"}
    assert all(complaint.startswith(("members[", "gate[")) for _, complaint in refused.value.complaints)
    assert len(refused.value.complaints) == (len(roster(DEV2)) if "dev2" in text else 1)


def test_roster_dev2_can_be_held_out():
    config = parse("members: zoo\nheldout: dev2\n")
    assert tuple(member.spec for member in config.heldout) == roster(DEV2)
    assert parse(dump(config)) == config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"members: zoo\nheldout: [{roster(TEST2)[-1]!r}]" if roster(TEST2) else "heldout: test2", "--reason"),
    ],
)
def test_rosters_that_no_league_plays_are_refused_with_the_way_out(text, said):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert any(said in complaint for _, complaint in refused.value.complaints)


def test_installed_packages_do_not_join_the_zoo(monkeypatch):
    from dond_marl import occupants

    before = parse("members: zoo\n")
    known = {**occupants.catalogue(), "aaa_stranger": occupants.catalogue()["tough"]}
    monkeypatch.setattr(occupants, "catalogue", lambda: known)
    assert parse("members: [aaa_stranger]\n").members[0].name == "aaa_stranger"
    assert parse("members: zoo\n") == before
    assert tuple(member.spec for member in before.members) == roster(TRAIN)


@pytest.mark.parametrize(("text", "key"), [("members: [trian]", "members[0]"), ("heldout: tset", "heldout")])
def test_misspelt_roster_is_refused(text, key):
    with pytest.raises(ConfigError) as refused:
        parse(f"{text}\n")
    assert [complaint.partition(":")[0] for _, complaint in refused.value.complaints] == [key]
