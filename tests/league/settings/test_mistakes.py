"""Mistakes in settings: each is reported with its line or option, its key and the allowed values, all at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from league.settings.read import Config, ConfigError, load_config
from league.settings.training import TrainConfig

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


def mistakes(content: str | bytes, tmp_path: Path, *overrides: str, model: type = Config) -> list[tuple[str, str, str]]:
    """Every mistake as (line of the file or option, dotted key, rest of the message)."""
    path = tmp_path / "x.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides, model)
    found = []
    for origin, text in caught.value.complaints:
        label = origin.label.removeprefix(f"{path}:").removeprefix("--set ")
        assert label != origin.label
        found.append((label, *text.split(": ", 1)) if ": " in text else (label, "", text))
    return found


def check(found: list[tuple[str, str, str]], expected: list[tuple[object, str, str]]) -> None:
    """The expected mistakes in order: place, start of the key, and a pattern of the message."""
    assert [place for place, *_ in found] == [str(place) for place, *_ in expected], found
    for (_, key, text), (_, path, pattern) in zip(found, expected, strict=True):
        assert key.startswith(path) and re.search(pattern, f"{key}: {text}"), (key, text, pattern)


UNREADABLE = {
    "a tab as indentation": ("env:\n\tmax_turns: 3\n", 2),
    "an open bracket": ("env: {max_turns: 3\nleague: {}\n", 2),
    "a list at the top": ("- env\n- league\n", 1),
    "invalid UTF-8": (b"env:\n  max_turns: 3\n  id: \xff\n", 3),
    "a tag that does not fit": ("league:\n  seed: !!int ten\n", 2),
    "a tag without a value": ("league:\n  seed: !!int ''\n", 2),
    "a key twice": ("league:\n  seed: 1\n  rounds: 2\n  seed: 1\n", 4),
    "a merge key": ("env: &base {}\nleague:\n  <<: *base\n", 3),
    "no key": ("", 1),
    "a number as a key": ("env: {}\n3: x\n", 2),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_file_is_refused_with_its_line(case, tmp_path):
    content, line = UNREADABLE[case]
    assert [place for place, *_ in mistakes(content, tmp_path)] == [str(line)]


VALUES = {
    "an unknown section": ("envv: {}\n", [(1, "envv", "'env'")]),
    "an unknown key": ("env:\n\n  max_turnz: 3\n", [(3, "env.max_turnz", "'max_turns'.*id, partner, max_turns")]),
    "a list in a section": ("league:\n  members: [heuristic]\n", [(2, "league.members", "did you mean 'members'")]),
    "a number as text": ('env:\n  max_turns: "10"\n', [(2, "env.max_turns", r"1\.\.100; got '10'")]),
    "too many turns": ("env:\n  max_turns: 101\n", [(2, "env.max_turns", r"1\.\.100; got 101")]),
    "an unknown variant": ("env:\n  disagree: end\n", [(2, "env.disagree", "ends, rejects; got 'end'.*'ends'")]),
    "an unknown source": ("env:\n  scenarios: lewiss\n", [(2, "env.scenarios", "uniform, lewis, .*'lewis'")]),
    "an unknown split": (
        "env:\n  scenarios: lewis\n  split: val\n",
        [(3, "env.split", "train, test, paper_test, all; got 'val'")],
    ),
    "a budget of no scenario": (
        "env:\n  scenarios: lewis\n  normalize: true\n  points_budget: 9\n",
        [(4, "env.points_budget", "points_budget=9")],
    ),
    "pools larger than allowed": ("env:\n  scenarios: lewis\n  max_count: 3\n", [(3, "env.max_count", "max_count=3")]),
    "a share of nothing": ("league:\n  floor: 0\n", [(2, "league.floor", "above 0, up to 1")]),
    "kl without a reference": ("learners:\n- {name: a, kl: 0.1}\n", [(2, "learners[0].kl", "init_from")]),
    "an average with beliefs": (
        "learners:\n- {name: a, reservoir: 9, belief: 0.1}\n",
        [(2, "learners[0].reservoir", "belief")],
    ),
    "an unknown name": ("members:\n- tough\n- tugh\n", [(3, "members[1]", "'tugh'.*'tough'")]),
    "an unknown parameter": ("members:\n- heuristic(demandd=1)\n", [(2, "members[0]", "'demandd'")]),
    "a mapping without kind": ("members:\n- tough\n- name: x\n", [(3, "members[1]", "'kind'")]),
    "an unquoted comma": (
        "members: [heuristic(demand=1, accept_ratio=0.5)]\n",
        [(1, "members[0]", "quotes"), (1, "members[1]", "quotes")],
    ),
    "a member twice": ("members:\n- tough\n- random\n- tough\n", [(4, "members[2]", r"'tough'.*members\[0\]")]),
    "an unknown partner": ("env:\n  partner: heuristik\n", [(2, "env.partner", "'heuristik'.*'heuristic'")]),
}


@pytest.mark.parametrize("case", VALUES)
def test_wrong_values(case, tmp_path):
    content, expected = VALUES[case]
    check(mistakes(content, tmp_path), expected)


def test_references_across_sections_are_all_checked(tmp_path):
    content = """\
members:
- tough
- tough
- random
heldout:
- random
learners: [{name: ann}, {name: ann, exploits: bob, role: main_exploiter}, {name: eve, exploits: ann}]
stages:
- name: first
- name: last
  learners: {bob: {}}
"""
    expected = [
        (3, "members[1]", r"'tough'.*members\[0\]"),
        (6, "heldout[0]", r"'random'.*members\[2\]"),
        (7, "learners[1]", r"'ann'.*learners\[0\]"),
        (7, "learners[1].exploits", "'bob'.*ann"),
        (7, "learners[2].exploits", "main_exploiter"),
        (9, "stages[0]", "rounds, until"),
        (10, "stages[1]", "bob.*ann"),
    ]
    found = mistakes(content, tmp_path)
    check(sorted(found, key=lambda each: (int(each[0]), each[1], each[2])), expected)


def test_all_mistakes_are_reported_in_the_order_of_the_lines(tmp_path):
    content = """\
members:
- tough
- tugh
- {kind: heuristic, demandd: 1}
league:
  seed: -1
  confidence: 3
env:
  max_turns: ten
  disagre: ends
  scenarios: lewis
  split: val
loging: {}
"""
    found = mistakes(content, tmp_path, "env.max_count=0", "league", "logging.output_dir=[1")
    places = [place for place, *_ in found]
    assert places == ["3", "4", "6", "7", "9", "10", "12", "13", "env.max_count=0", "league", "logging.output_dir=[1"]


@pytest.mark.parametrize("name", ["nowhere.yaml", "."])
def test_file_that_cannot_be_read_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("x.yaml").write_text("env: {}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(name)
    (complaint,) = caught.value.complaints
    assert complaint.origin.label.startswith(name)


def test_missing_file_suggests_a_shipped_one():
    with pytest.raises(ConfigError, match=r"'ppo_fast\.yaml'"):
        load_config("configs/ppo_fats.yaml")


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["env.max_turns"], [("env.max_turns", "", "")]),
        (["env.max_turns=x"], [("env.max_turns=x", "env.max_turns", "got 'x'")]),
        (["max_turns=3"], [("max_turns=3", "max_turns", "'env.max_turns'")]),
        (["members=[tugh]", "env.partner=x"], [("members=[tugh]", "members[0]", ""), ("env.partner=x", "env", "'x'")]),
    ],
)
def test_wrong_option_is_reported_as_written(overrides, expected, tmp_path):
    check(mistakes("env: {max_turns: 3}\n", tmp_path, *overrides), expected)


@pytest.mark.parametrize(
    ("file", "options", "place", "key"),
    [
        ("scenarios: lewis\n  split: train", ["split=val"], "env.split=val", "env.split"),
        ("scenarios: lewis\n  use_dataset: true", [], "3", "env.use_dataset"),
        ("dataset: dialogues\n  scenarios: lewis", [], "2", "env.dataset"),
    ],
)
def test_contradiction_is_reported_at_its_key(file, options, place, key, tmp_path):
    options = [f"env.{option}" for option in options]
    check(mistakes(f"env:\n  {file}\n", tmp_path, *options), [(place, key, "")])


@pytest.mark.parametrize(
    ("override", "suggestion"),
    [
        ("lr=0.001", "'training.lr'"),
        ("training.partner=tough", "'env.partner'"),
        ("training.clipp=0.1", "'clip'"),
    ],
)
def test_key_of_another_section_is_suggested(override, suggestion, tmp_path):
    ((place, _, text),) = mistakes("env: {}", tmp_path, override, model=TrainConfig)
    assert place == override and suggestion in text


@pytest.mark.parametrize(
    ("name", "model", "command"),
    [("league.yaml", TrainConfig, "dond league"), ("ppo_config.yaml", Config, "dond train")],
)
def test_config_of_another_command_names_that_command(name, model, command):
    with pytest.raises(ConfigError) as caught:
        load_config(CONFIGS / name, [], model)
    (complaint,) = caught.value.complaints
    assert f"{command} --config {CONFIGS / name}" in complaint.text


def test_whole_numbers_of_any_form_are_counts(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("training: {num_train_steps: 1e6, num_envs: 10, lr: 1e0}\n")
    training = load_config(path, ["training.rollout=1e2"], TrainConfig).training
    assert (training.num_train_steps, training.num_envs, training.rollout) == (1_000_000, 10, 100)
    assert training.lr == 1.0 and type(training.lr) is float
