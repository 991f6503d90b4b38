"""Tables of experiments with language models: post-training, objectives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from league.experiments.language_models.objectives import experiment as objectives
from league.experiments.language_models.objectives import findings as aims
from league.experiments.language_models.post_training import findings as post_training


def post_training_table(folder: Path) -> str:
    """Points of a model before and after it was trained on the game."""
    return post_training.markdown(*post_training.read_rows(folder / "post_training.jsonl"))


def objectives_table(folder: Path) -> str:
    """What one aims at, and what that does to deals."""
    return aims.markdown(*objectives.read_rows(folder / "objectives.jsonl"))


LANGUAGE_MODELS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "objectives": ("objectives.jsonl", objectives_table),
    "post_training": ("post_training.jsonl", post_training_table),
}
