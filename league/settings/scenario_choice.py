"""The scenario source that the settings ``scenarios``, ``use_dataset``, ``dataset`` and ``split`` name, layer by layer.

``use_dataset: true`` is another way to write ``scenarios: <dataset>``. Within one layer the keys must not contradict
each other; a later layer that names a source replaces the earlier source and its split.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dond_marl.errors import InputError
from dond_marl.scenarios.sources import DATASETS, SOURCES, ScenarioError, check_split

NAMING = ("scenarios", "use_dataset", "dataset")  # keys that name a source
DEFAULT_SOURCE = "uniform"
DEFAULT_DATASET = "self_play"


class ContradictionError(InputError):
    """Keys of one layer contradict each other; ``key`` is the one to change."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key


class ScenarioChoice(NamedTuple):
    """A source, its split (``None``: its default), and the data set that ``use_dataset: true`` would select."""

    source: str = DEFAULT_SOURCE
    split: str | None = None
    dataset: str = DEFAULT_DATASET

    def then(self, env: Mapping[str, Any]) -> ScenarioChoice:
        """The choice after a layer ``env``, whose values are :func:`valid`. Raises :class:`ContradictionError`."""
        use, dataset, scenarios = (env.get(key) for key in ("use_dataset", "dataset", "scenarios"))
        if use:
            source, text = dataset or self.dataset, "use_dataset: true with dataset: {0} contradicts scenarios: {1}"
        elif use is False:  # a data set that is named here is not in use
            before = DEFAULT_SOURCE if self.source in DATASETS else self.source
            source = scenarios if scenarios not in (None, *DATASETS) else before
            text = "use_dataset: false contradicts scenarios: {1}"
        else:
            source, text = dataset or scenarios or self.source, "dataset: {0} contradicts scenarios: {1}"
        if scenarios not in (None, source):
            raise ContradictionError("scenarios", f"{text.format(source, scenarios)}; give one of the two")
        split = env.get("split", None if env.keys() & set(NAMING) else self.split)
        try:
            check_split(source, split)
        except ScenarioError as error:
            raise ContradictionError("split", str(error)) from None
        return ScenarioChoice(source, split, source if source in DATASETS else dataset or self.dataset)

    def settings(self) -> dict[str, Any]:
        """The four keys of ``env``, in agreement."""
        use = self.source in DATASETS
        return {
            "scenarios": self.source,
            "use_dataset": use,
            "dataset": self.source if use else DEFAULT_DATASET,
            "split": check_split(self.source, self.split),
        }


def valid(env: Mapping[str, Any]) -> bool:
    """Whether each of the four keys in ``env`` has a value of its type; only then can they be interpreted."""
    return (
        isinstance(env.get("split", ""), str | None)
        and isinstance(env.get("use_dataset", False), bool)
        and env.get("scenarios", DEFAULT_SOURCE) in SOURCES
        and env.get("dataset", DEFAULT_DATASET) in DATASETS
    )
