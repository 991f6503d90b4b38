"""The settings of one learner's training (``scripts/train.py``)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from league.hyperparameters import Hyperparameters
from league.settings import EnvConfig, PathText, Section

HintMode = Literal["none", "random", "expert"]


class HintsConfig(Section):
    """Who whispers to the learner, and at which of its own steps."""

    mode: HintMode = "none"
    cadence_k: int = Field(default=1, ge=1, le=100, description="an integer in 1..100, own steps from hint to hint")


class TrainingConfig(Hyperparameters):
    """How the learner learns, for how long, and on what."""

    num_train_steps: int = Field(default=500_000, ge=1, description="an integer above 0, own decisions")
    past_selves: float = Field(default=0.0, ge=0, lt=1, description="a number in 0..1: share against snapshots")
    seed: int = Field(default=0, ge=0, lt=2**63, description="an integer in 0..2**63 - 1")
    threads: int = Field(default=1, ge=1, le=256, description="an integer in 1..256, of the arithmetic")
    device: Literal["cpu", "cuda"] = "cpu"


class TrainLoggingConfig(Section):
    """What is kept of a training run, and where."""

    output_dir: PathText = Field(default="runs/train", description="the path of a folder")
    csv: bool = Field(default=True, description="true or false")
    tensorboard: bool = Field(default=True, description="true or false")
    save_every: int = Field(default=100_000, ge=1, description="an integer above 0, own decisions between checkpoints")


class TrainConfig(Section):
    """All settings of a training run."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    logging: TrainLoggingConfig = Field(default_factory=TrainLoggingConfig)
