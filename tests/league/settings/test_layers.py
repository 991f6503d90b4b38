"""A file under options: a later layer overrides, and one that changes the scenario source drops the split."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from league.settings.read import Config, ConfigError, load_config
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


def test_option_value_can_hold_equals_signs(tmp_path):
    config = loaded(
        tmp_path, "env: {}", "members=['heuristic(demand=0.9, accept_ratio=0.4)']", "env.partner=boulware(exponent=2)"
    )
    assert config.members[0].spec == "heuristic(accept_ratio=0.4, demand=0.9)"
    assert config.env.partner == "boulware(exponent=2)"


def test_option_replaces_a_mistake_of_the_file(tmp_path):
    assert loaded(tmp_path, "env:\n  max_turns: ten\n", "env.max_turns=3").env.max_turns == 3


# The source after a layer, from the earlier source and the data set that use_dataset would select; None: contradiction.
def expected_source(layer: dict[str, object], before: str, meant: str) -> str | None:
    use, dataset, scenarios = layer.get("use_dataset"), layer.get("dataset"), layer.get("scenarios")
    if use is True:
        source = dataset or meant
        return source if scenarios in (None, source) else None
    if use is False:
        if scenarios is not None:
            return None if scenarios in ("self_play", "dialogues") else scenarios
        return "uniform" if before in ("self_play", "dialogues") else before
    if dataset is not None and scenarios is not None:
        return scenarios if dataset == scenarios else None
    return dataset or scenarios or before


LAYERS = [
    {
        key: value
        for key, value in zip(("use_dataset", "dataset", "scenarios"), values, strict=True)
        if value is not None
    }
    for values in itertools.product(
        (None, True, False),
        (None, "self_play", "dialogues"),
        (None, "uniform", "lewis", "self_play", "dialogues"),
    )
]


def source_of(env: EnvConfig) -> str:
    """The source, once it is sure that all keys say the same."""
    in_use = env.scenarios in ("self_play", "dialogues")
    assert env.use_dataset == in_use and (env.dataset == env.scenarios or not in_use)
    return env.scenarios


@pytest.mark.parametrize("below", LAYERS, ids=str)
def test_source_of_any_two_layers(below, tmp_path):
    first = expected_source(below, "uniform", "self_play")
    content = yaml.safe_dump({"env": {**below, "max_turns": 3}, "members": ["tough"]})
    path = tmp_path / "x.yaml"
    path.write_text(content)
    meant = first if first in ("self_play", "dialogues") else below.get("dataset", "self_play")
    for above in LAYERS:
        options = [f"env.{key}={str(value).lower()}" for key, value in above.items()]
        second = None if first is None else expected_source(above, first, meant)
        if second is not None:
            assert source_of(load_config(path, options).env) == second, (below, above)
            continue
        with pytest.raises(ConfigError) as caught:
            load_config(path, options)
        (complaint,) = caught.value.complaints[:1]
        culprit = str(path) if first is None else "--set env.scenarios="
        assert complaint.place.label.startswith(culprit), "the layer that contradicts itself"


@pytest.mark.parametrize(
    ("file", "options", "source", "split"),
    [
        # file                                  options                                   source       split
        ("scenarios: lewis, split: test", [], "lewis", "test"),
        ("scenarios: lewis", [], "lewis", "train"),
        ("scenarios: lewis, split: null", [], "lewis", "train"),
        ("scenarios: lewis, split: test", ["use_dataset=true"], "self_play", None),
        ("scenarios: lewis, split: test", ["dataset=dialogues"], "dialogues", "train"),
        ("scenarios: lewis, split: test", ["dataset=dialogues", "split=val"], "dialogues", "val"),
        ("scenarios: lewis, split: test", ["scenarios=uniform"], "uniform", None),
        ("scenarios: lewis, split: test", ["split=all"], "lewis", "all"),
        ("scenarios: lewis, split: test", ["split=null"], "lewis", "train"),
        ("scenarios: lewis, split: test", ["scenarios=lewis"], "lewis", "train"),
        ("scenarios: lewis, split: test", ["use_dataset=false"], "lewis", "train"),
        ("use_dataset: true, dataset: dialogues, split: val", ["use_dataset=false"], "uniform", None),
        ("use_dataset: true, dataset: dialogues, split: val", ["split=test"], "dialogues", "test"),
        ("use_dataset: true, dataset: dialogues, split: val", ["scenarios=lewis"], "lewis", "train"),
        ("use_dataset: false, dataset: dialogues", ["use_dataset=true", "split=test"], "dialogues", "test"),
        ("scenarios: dialogues", ["use_dataset=true"], "dialogues", "train"),
        ("dataset: dialogues", ["dataset=self_play"], "self_play", None),
    ],
)
def test_later_source_replaces_the_earlier_one_and_its_split(file, options, source, split, tmp_path):
    env = loaded(tmp_path, f"env: {{{file}}}\n", *(f"env.{option}" for option in options)).env
    assert (source_of(env), env.split) == (source, split)
