"""The settings of one learner's training (``scripts/train.py``): the keys of the specification, section 3.2."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from dond_marl.scenarios import ScenarioSource
from league.settings import EnvConfig, PathText, Section
from partners.learners import LearnerSettings
from partners.network import NetworkShape
from partners.practice import Practice

HintMode = Literal["none", "random", "expert"]


def _widths(given: object) -> object:
    return tuple(given) if isinstance(given, list) else given


class HintsConfig(Section):
    """Who whispers to the learner, and at which of its own steps."""

    mode: HintMode = "none"
    cadence_k: int = Field(default=1, ge=1, le=100, description="an integer in 1..100, own steps from hint to hint")


class TrainingConfig(Section):
    """How the learner learns."""

    algo: Literal["ppo", "reinforce"] = "ppo"
    lr: float = Field(default=3e-4, gt=0, le=1, description="a number above 0, up to 1")
    gamma: float = Field(default=0.99, ge=0, le=1, description="a number in 0..1, per own decision")
    lam: float = Field(default=0.95, ge=0, le=1, description="a number in 0..1")
    clip: float = Field(default=0.2, gt=0, lt=1, description="a number between 0 and 1")
    epochs: int = Field(default=4, ge=1, le=100, description="an integer in 1..100")
    minibatch: int = Field(default=64, ge=2, le=1_000_000, description="an integer in 2..1000000, decisions")
    ent: float = Field(default=0.0, ge=0, le=10, description="a number in 0..10")
    vf: float = Field(default=0.5, ge=0, le=10, description="a number in 0..10")
    grad_norm: float = Field(default=0.5, gt=0, le=1000, description="a number above 0")
    rollout: int = Field(default=128, ge=1, le=100_000, description="an integer in 1..100000, decisions per env")
    num_envs: int = Field(default=8, ge=2, le=65_536, description="an integer in 2..65536, games side by side")
    num_train_steps: int = Field(default=500_000, ge=1, description="an integer above 0, own decisions")
    anneal: bool = Field(default=False, description="true or false: lr and ent fall to 0 over num_train_steps")
    hidden: Annotated[tuple[int, ...], BeforeValidator(_widths)] = Field(
        default=(128, 128), min_length=1, max_length=8, description="a list of layer widths, such as [128, 128]"
    )
    past_selves: float = Field(
        default=0.0, ge=0, lt=1, description="a number in 0..1: share of games against snapshots"
    )
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

    def learner(self) -> LearnerSettings:
        """What the learner is told."""
        told = self.training
        return LearnerSettings(
            algo=told.algo,
            lr=told.lr,
            gamma=told.gamma,
            lam=told.lam,
            clip=told.clip,
            epochs=told.epochs,
            minibatch=told.minibatch,
            ent=told.ent,
            vf=told.vf,
            grad_norm=told.grad_norm,
            anneal=told.anneal,
            total_decisions=told.num_train_steps,
        )

    def shape(self) -> NetworkShape:
        """The network that this game and these hints need."""
        env = self.env
        return NetworkShape(
            max_count=env.max_count,
            max_turns=env.max_turns,
            partner_utilities=env.reveal_partner_utilities,
            hints=self.hints.mode != "none",
            hidden=self.training.hidden,
        )

    def practice(self, source: ScenarioSource) -> Practice:
        """How much is played for one update: at least ``rollout`` own decisions per env."""
        own_turns = (self.env.max_turns + 1) // 2
        games = self.training.num_envs * -(-self.training.rollout // own_turns)
        return Practice(
            source=source,
            rules=self.env.rules(),
            decisions=self.training.num_envs * self.training.rollout,
            games=games,
            seed=self.training.seed,
            reveal_partner_utilities=self.env.reveal_partner_utilities,
        )
