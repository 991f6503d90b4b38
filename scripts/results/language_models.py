"""Tables of experiments with language models: post-training, objectives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from league.experiments.language_models.objectives import experiment as objectives
from league.experiments.language_models.objectives import findings as aims
from league.experiments.language_models.post_training import findings as post_training
from league.experiments.language_models.post_training.figure import drawing
from scripts.results.files import FOLDER, ROOT, there

DRAWN_TRAINING = ROOT / "docs" / "post_training.svg"


def post_training_table(folder: Path) -> str:
    """Points of a model before and after it was trained on the game."""
    return post_training.markdown(*post_training.read_rows(folder / "post_training.jsonl"))


def post_training_figure(folder: Path = FOLDER) -> str:
    """The same by step, as a drawing; empty where nothing was measured."""
    name = "post_training.jsonl"
    return drawing(*post_training.read_rows(folder / name)) if there(name, folder) else ""


def objectives_table(folder: Path) -> str:
    """What one aims at, and what that does to deals."""
    return aims.markdown(*objectives.read_rows(folder / "objectives.jsonl"))


LANGUAGE_MODELS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "objectives": ("objectives.jsonl", objectives_table),
    "post_training": ("post_training.jsonl", post_training_table),
}
