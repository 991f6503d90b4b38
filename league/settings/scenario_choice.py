"""Which scenario source the settings ``scenarios``, ``use_dataset``, ``dataset`` and ``split`` mean, layer by layer.

Within one layer they must not contradict each other; a later layer that names a source replaces the earlier source and
its split.
Saying ``use_dataset: true`` is the specification's way of saying ``scenarios: <dataset>``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dond_marl.scenarios.sources import DATASETS, SOURCES, ScenarioError, check_split

KEYS = ("scenarios", "use_dataset", "dataset", "split")
DEFAULT_SOURCE = "uniform"
DEFAULT_DATASET = "self_play"


class Choice(NamedTuple):
    """The source, the split asked of it (``None``: its default) and the data set that ``use_dataset`` would mean."""

    source: str = DEFAULT_SOURCE
    split: str | None = None
    dataset: str = DEFAULT_DATASET


class Contradiction(NamedTuple):
    """What does not go together in one layer, and the key to change."""

    key: str
    text: str


def clear(said: Mapping[str, Any]) -> bool:
    """Whether each of the four keys holds a value that it takes; with another, nobody knows what was meant."""
    return all(_takes(key, said[key]) for key in KEYS if key in said)


def choose(before: Choice, said: Mapping[str, Any]) -> tuple[Choice, Contradiction | None]:
    """The choice once a layer has ``said`` some of the four keys, which are :func:`clear`."""
    dataset = said.get("dataset")
    source, wrong = _source(before, said.get("use_dataset"), dataset, said.get("scenarios"))
    if wrong is not None:
        return before, wrong
    kept = None if said.keys() & {"scenarios", "use_dataset", "dataset"} else before.split
    split = said.get("split", kept)
    meant = source if source in DATASETS else dataset or before.dataset
    try:
        check_split(source, split)
    except ScenarioError as error:
        return Choice(source, None, meant), Contradiction("split", str(error))
    return Choice(source, split, meant), None


def agreeing(said: Mapping[str, Any], choice: Choice) -> dict[str, Any]:
    """``said`` with all four keys saying what was chosen."""
    use = choice.source in DATASETS
    return {
        **said,
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
        said = f"use_dataset: true with dataset: {named} contradicts scenarios: {scenarios}"
    elif use is False:
        if scenarios not in DATASETS:  # a data set named beside use_dataset: false is not in use
            return scenarios or (DEFAULT_SOURCE if before.source in DATASETS else before.source), None
        said = f"use_dataset: false contradicts scenarios: {scenarios}"
    else:
        if scenarios is None or dataset in (None, scenarios):
            return scenarios or dataset or before.source, None
        said = f"dataset: {dataset} contradicts scenarios: {scenarios}"
    return before.source, Contradiction("scenarios", f"{said}; give one of the two")
