"""Settings of learning: hyperparameters (of trainings and of a league's learners), and ``dond train``.

Networks, learners and practices are made of them in :mod:`league.play.practice`. Reading them loads no PyTorch.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo, model_validator

from dond_marl.occupants import Spec, missing_needs
from league.settings.sections import (
    AS_TEXT,
    EnvConfig,
    HintsConfig,
    LoggingConfig,
    PathText,
    Section,
    optional,
    permission,
    wrong,
)
from partners.learning.first_weights import FirstWeightsError, init_name
from partners.learning.rewards import OWN, RewardError, reward_name, reward_of
from partners.learning.settings import LearnerSettings

MAX_LAYERS, MAX_WIDTH = 8, 4_096
_LEARNER = LearnerSettings()  # its defaults are those of the settings


def _reward(value: object, info: ValidationInfo) -> Spec:
    try:
        name = reward_name(value, permission(info))  # type: ignore[arg-type]  # other types are refused
        if not missing_needs(name, permission(info)):
            reward_of(name)
        return name
    except RewardError as error:
        raise wrong(str(error)) from None


def _init_from(value: object) -> object:
    """The canonical text of ``init_from``. Raises if it has no valid form; no weights are read."""
    try:
        return None if value is None else init_name(value)
    except FirstWeightsError as error:
        raise wrong(f"must be {error}" if str(error).startswith("the path") else str(error)) from None


RewardName = Annotated[Spec, PlainValidator(_reward), AS_TEXT]
InitFrom = Annotated[str | None, BeforeValidator(_init_from)]


class Hyperparameters(Section):
    """Hyperparameters of a network: algorithm, optimizer, layers and reward."""

    algo: Literal["ppo", "reinforce"] = _LEARNER.algo
    lr: float = Field(default=_LEARNER.lr, gt=0, le=1)
    gamma: float = Field(default=_LEARNER.gamma, ge=0, le=1, description="per own decision")
    lam: float = Field(default=_LEARNER.lam, ge=0, le=1)
    clip: float = Field(default=_LEARNER.clip, gt=0, lt=1)
    epochs: int = Field(default=_LEARNER.epochs, ge=1, le=100)
    minibatch: int = Field(default=_LEARNER.minibatch, ge=2, le=1_000_000, description="decisions")
    ent: float = Field(default=_LEARNER.ent, ge=0, le=10)
    vf: float = Field(default=_LEARNER.vf, ge=0, le=10)
    grad_norm: float = Field(default=_LEARNER.grad_norm, gt=0, le=1000)
    rollout: int = Field(default=128, ge=1, le=100_000, description="decisions per env")
    num_envs: int = Field(default=8, ge=2, le=65_536, description="games in parallel")
    anneal: bool = Field(default=_LEARNER.anneal, description="lr and ent fall to 0 by the end")
    hidden: tuple[Annotated[int, Field(ge=1, le=MAX_WIDTH)], ...] = Field(
        default=(128, 128),
        strict=False,
        min_length=1,
        max_length=MAX_LAYERS,
        description=f"a list of 1 to {MAX_LAYERS} layer widths in 1..{MAX_WIDTH}, such as [128, 128]",
    )
    sorted_items: bool = Field(default=False, description="sort the item types by own value, lowest first")
    history: Literal["none", "flat"] = optional("none", description="flat: the network also reads all earlier acts")
    head: Literal["factored", "joint"] = optional(
        "factored", description="joint: one softmax over all splits of a pool"
    )
    reward: RewardName = Field(default=OWN, description="a reward, such as own or svo(angle=45)")
    init_from: InitFrom = Field(default=None, description="initial weights, or left out")
    kl: float = Field(default=_LEARNER.kl, ge=0, le=1000, description="KL penalty toward init_from, or the magnet")
    magnet: float = optional(
        _LEARNER.magnet, ge=0, le=1, description="step of the KL reference toward the policy after each update"
    )
    belief: float = optional(
        _LEARNER.belief, ge=0, le=1000, description="weight of the belief heads' cross-entropy, nats"
    )
    labels_from: Literal["all", "readers"] = optional(
        "all", description="readers: PROPOSE or INSIST is learned from partners that may tell them apart"
    )
    critic: Literal["own", "both"] = optional("own", description="both: the critic sees both seats' values")
    device: Literal["cpu", "cuda"] = optional("cpu", description="device of the weights and of updates")

    @model_validator(mode="after")
    def _check_together(self) -> Hyperparameters:
        if self.kl and self.init_from is None and not self.magnet:
            raise wrong("is a penalty toward the initial weights: it needs init_from, or a magnet above 0", "kl")
        if self.magnet and not self.kl:
            raise wrong("moves the reference of kl: it needs kl above 0", "magnet")
        if self.critic == "both" and self.algo != "ppo":
            raise wrong("reinforce and bc have no critic: leave critic out, or set algo: ppo", "critic")
        return self


class TrainingConfig(Hyperparameters):
    """Training of the learner, and its length.

    ``bc`` clones people's acts (:mod:`partners.learning.cloning`) and uses lr, epochs, minibatch, vf, grad_norm,
    anneal, hidden, device, patience, balance, seed and threads only.
    """

    algo: Literal["ppo", "reinforce", "bc"] = "ppo"  # type: ignore[assignment]  # bc is not for leagues
    num_train_steps: int = Field(default=500_000, ge=1, description="decisions")
    exact_reply: float = optional(
        0.0, ge=0, le=1000, description="weight of each act's exact regret against enumerable partners"
    )
    likeliest: float = optional(0.0, ge=0, le=1, description="share of practice with greedy acts; needs exact_reply")
    past_selves: float = Field(default=0.0, ge=0, lt=1, description="share against snapshots")
    seed: int = Field(default=0, ge=0, lt=2**63)
    threads: int = Field(default=1, ge=1, le=256, description="threads of PyTorch")
    patience: int = Field(default=5, ge=1, le=1000, description="epochs without improvement before bc stops")
    balance: float = Field(default=0.0, ge=0, le=1, description="extra weight of rare acts in bc, 0..1")


class TrainLoggingConfig(LoggingConfig):
    """Logs and checkpoints of a training run, and their folder."""

    output_dir: PathText = Field(default="runs/train", description="the path of a folder")
    csv: bool = True
    save_every: int = Field(default=100_000, ge=1, description="decisions between checkpoints")


class TrainConfig(Section):
    """All settings of a training run."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    logging: TrainLoggingConfig = Field(default_factory=TrainLoggingConfig)

    def with_partner(self) -> TrainConfig:
        """The settings with the partner that will play: see :meth:`EnvConfig.resolve_partner`."""
        return self.model_copy(update={"env": self.env.resolve_partner()})

    def portable(self) -> TrainConfig:
        """The settings without those that change no weight: paths and logs."""
        unused = {"scenarios": self.env.portable_scenarios(), "data_dir": None}
        env = self.env.model_copy(update=unused)
        logging = TrainLoggingConfig(save_every=self.logging.save_every)
        return self.model_copy(update={"env": env, "logging": logging})

    @model_validator(mode="after")
    def _check_sections_together(self) -> TrainConfig:
        env, training = self.env, self.training
        if training.likeliest and not training.exact_reply:
            raise wrong("greedy practice has no policy gradient: set exact_reply too", "training.likeliest")
        if training.likeliest and training.past_selves:
            raise wrong("a past self is not enumerable: leave past_selves out", "training.likeliest")
        if training.exact_reply:
            if training.algo != "ppo":
                raise wrong("is for ppo: set algo: ppo", "training.exact_reply")
            if env.scenarios != "lewis" or env.disagree != "ends" or env.reveal_partner_utilities:
                needed = "needs scenarios: lewis, disagree: ends, and values that are not revealed"
                raise wrong(needed, "training.exact_reply")
            if training.reward != OWN:
                raise wrong("regret is in own points: leave reward out", "training.exact_reply")
        if training.algo == "bc":
            if env.scenarios != "dialogues" or env.split not in (None, "train"):
                raise wrong("bc learns from the human dialogues: set scenarios: dialogues, split: train", "env")
            if env.reveal_partner_utilities:
                raise wrong("people did not see their partner's values: leave reveal_partner_utilities out", "env")
            if training.history != "none":
                raise wrong("the positions of bc hold the last act only: leave history out", "training")
            if self.hints.mode != "none":
                raise wrong("the human dialogues have no hints: set mode: none", "hints")
        return self
