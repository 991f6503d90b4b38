"""Settings as layers of plain data: YAML, files and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dond_marl.scenarios.sources import DATASETS, SOURCES
from league.settings.layers import read_yaml, write_yaml
from league.settings.read import Config, load_config
from league.settings.sections import EnvConfig, LeagueConfig


def loaded(tmp_path: Path, content: str, *overrides: str) -> Config:
    (tmp_path / "x.yaml").write_text(content)
    return load_config(tmp_path / "x.yaml", overrides)


def test_option_overrides_the_file_by_key(tmp_path):
    config = loaded(
        tmp_path,
        "env: {max_turns: 6, disagree: rejects}\nmembers: [random]\n",
        "env.max_turns=4",
        "league.confidence=9e-1",
        "members=[tough, linear]",
        "env.partner={kind: boulware, exponent: 4}",
        "league={seed: 3, rounds: 2}",
        "logging.output_dir=elsewhere",
    )
    assert (config.env.max_turns, config.env.disagree, config.env.partner) == (4, "rejects", "boulware(exponent=4)")
    assert config.league == LeagueConfig(seed=3, rounds=2, confidence=0.9)
    assert [member.name for member in config.members] == ["tough", "linear"]
    assert config.logging.output_dir == "elsewhere"


def test_option_replaces_a_mistake_of_the_file(tmp_path):
    assert loaded(tmp_path, "env:\n  max_turns: ten\n", "env.max_turns=3").env.max_turns == 3


def source_of(env: EnvConfig) -> str:
    """The source, once it is sure that all keys name the same."""
    in_use = env.scenarios in DATASETS
    assert env.use_dataset == in_use and (env.dataset == env.scenarios or not in_use)
    return env.scenarios


@pytest.mark.parametrize("use", [None, True, False])
@pytest.mark.parametrize("dataset", [None, *DATASETS])
@pytest.mark.parametrize("scenarios", [None, *SOURCES])
def test_source_of_any_combination_of_keys(use, dataset, scenarios):
    written = {"use_dataset": use, "dataset": dataset, "scenarios": scenarios}
    env = {key: value for key, value in written.items() if value is not None}
    if use is False:
        expected = None if scenarios in DATASETS else scenarios or "uniform"
    elif scenarios is None:
        expected = dataset or ("self_play" if use else "uniform")
    elif scenarios in DATASETS:
        expected = scenarios if dataset in (None, scenarios) else None
    else:  # a data set that is not in use may be named as it is by default
        expected = scenarios if use is None and dataset in (None, "self_play") else None
    if expected is None:
        with pytest.raises(ValidationError, match="contradicts"):
            EnvConfig(**env)
    else:
        assert source_of(EnvConfig(**env)) == expected


@pytest.mark.parametrize(
    ("file", "options", "source", "split"),
    [
        # file                                  options                                   source       split
        ("scenarios: lewis, split: test", [], "lewis", "test"),
        ("scenarios: lewis, split: test", ["use_dataset=true"], "self_play", None),
        ("scenarios: lewis, split: test", ["dataset=dialogues", "split=val"], "dialogues", "val"),
        ("scenarios: lewis, split: test", ["scenarios=uniform"], "uniform", None),
        ("scenarios: lewis, split: test", ["split=all"], "lewis", "all"),
        ("use_dataset: true, dataset: dialogues, split: val", ["use_dataset=false"], "uniform", None),
        ("use_dataset: false, dataset: dialogues", ["use_dataset=true", "split=test"], "dialogues", "test"),
    ],
)
def test_later_source_replaces_the_earlier_one_and_its_split(file, options, source, split, tmp_path):
    env = loaded(tmp_path, f"env: {{{file}}}\n", *(f"env.{option}" for option in options)).env
    assert (source_of(env), env.split) == (source, split)


# -- YAML as plain data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3e-4", 3e-4),
        ("1e6", 1_000_000),
        ("", None),
        ("1.5E-3", 0.0015),
    ],
)
def test_scalar_types_of_the_core_schema(text, value):
    read_value = read_yaml(f"key: {text}\n")[0]["key"]
    assert read_value == value and type(read_value) is type(value)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["3e-4", "on", "yes", "~", "1_000", "2024-01-01", "0o17", "!!x", "<<", "=", "&a", "*a"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_write_read_round_trip(data):
    assert repr(read_yaml(write_yaml({"key": data}))[0]) == repr({"key": data}), "types and order too"


def test_lines_of_keys_and_items():
    lines = read_yaml("a:\n  b: 1\n\n  c:\n  - x\n  - d: 2\n# end\ne: [1,\n  2]\n")[1]
    assert {path: line for path, line in lines.items() if path} == {
        ("a",): 1,
        ("a", "b"): 2,
        ("a", "c"): 4,
        ("a", "c", 0): 5,
        ("a", "c", 1): 6,
        ("a", "c", 1, "d"): 6,
        ("e",): 8,
        ("e", 0): 8,
        ("e", 1): 9,
    }
