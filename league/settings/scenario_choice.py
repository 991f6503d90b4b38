"""Which scenario source the settings ``scenarios``, ``use_dataset``, ``dataset`` and ``split`` mean, layer by layer.

Within one layer they must not contradict each other; a later layer that names a source replaces the earlier source and
its split. ``use_dataset: true`` is another way to write ``scenarios: <dataset>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dond_marl.scenarios.sources import DATASETS, SOURCES, ScenarioError, check_split

KEYS = ("scenarios", "use_dataset", "dataset", "split")
DEFAULT_SOURCE = "uniform"
DEFAULT_DATASET = "self_play"


class Choice(NamedTuple):
    """The source, its split (``None``: its default) and the data set that ``use_dataset: true`` would select."""

    source: str = DEFAULT_SOURCE
    split: str | None = None
    dataset: str = DEFAULT_DATASET


class Contradiction(NamedTuple):
    """Keys of one layer that contradict each other, and the key to change."""

    key: str
    text: str


def clear(env: Mapping[str, Any]) -> bool:
    """Whether each of the four keys in ``env`` holds a value that it takes; only then can they be interpreted."""
    return all(_takes(key, env[key]) for key in KEYS if key in env)


def choose(before: Choice, env: Mapping[str, Any]) -> tuple[Choice, Contradiction | None]:
    """The choice after a layer whose ``env`` holds some of the four keys, all of them :func:`clear`."""
    dataset = env.get("dataset")
    source, wrong = _source(before, env.get("use_dataset"), dataset, env.get("scenarios"))
    if wrong is not None:
        return before, wrong
    kept = None if env.keys() & {"scenarios", "use_dataset", "dataset"} else before.split
    split = env.get("split", kept)
    meant = source if source in DATASETS else dataset or before.dataset
    try:
        check_split(source, split)
    except ScenarioError as error:
        return Choice(source, None, meant), Contradiction("split", str(error))
    return Choice(source, split, meant), None


def agreeing(env: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """``env`` with all four keys set to what was chosen."""
    use = choice.source in DATASETS
    return {
        **env,
        "scenarios": choice.source,
        "use_dataset": use,
        "dataset": choice.source if use else DEFAULT_DATASET,
        "split": check_split(choice.source, choice.split),
    }


def _takes(key: str, value: Any) -> bool:
    if key == "split":
        return value is None or isinstance(value, str)
    if key == "use_dataset":
        return isinstance(value, bool)
    return value in (SOURCES if key == "scenarios" else DATASETS)


def _source(
    before: Choice, use: bool | None, dataset: str | None, scenarios: str | None
) -> tuple[str, Contradiction | None]:
    if use:
        named = dataset or before.dataset
        if scenarios in (None, named):
            return named, None
        problem = f"use_dataset: true with dataset: {named} contradicts scenarios: {scenarios}"
    elif use is False:
        if scenarios not in DATASETS:  # a data set named beside use_dataset: false is not in use
            return scenarios or (DEFAULT_SOURCE if before.source in DATASETS else before.source), None
        problem = f"use_dataset: false contradicts scenarios: {scenarios}"
    else:
        if scenarios is None or dataset in (None, scenarios):
            return scenarios or dataset or before.source, None
        problem = f"dataset: {dataset} contradicts scenarios: {scenarios}"
    return before.source, Contradiction("scenarios", f"{problem}; give one of the two")
