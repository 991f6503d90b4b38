"""The settings of one learner's training (``dond train``)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from dond_marl.occupants import OccupantNameError, check_spec
from league.settings.hyperparameters import Hyperparameters
from league.settings.sections import UNBOUND, EnvConfig, Occupant, OtherTrackers, PathText, Section, wrong
from partners.learning.rewards import OWN
from partners.llm.service import GROQ_MODEL, Provider

HintMode = Literal["none", "random", "expert", "llm"]
_TAKEN = {"kind", "provider", "model", "prompt_path", "max_requests"}


class HintModels(Section):
    """Which model each provider of hints asks."""

    groq: str = Field(default=GROQ_MODEL, min_length=1, max_length=200, description="the name of a model")
    openai: str | None = Field(default=None, min_length=1, max_length=200, description="the name of a model")
    hf: PathText | None = Field(default=None, description="a model's folder; left out: the project's own model")


class HintsConfig(Section):
    """Who gives hints to the learner, and at which of its own steps.

    ``provider``, ``models``, ``prompt_path``, ``max_requests`` (of a service, counted in each process: a league's
    learners in one process share it, in all rounds; so are the limits among the options) and ``options`` (any other
    parameters of the occupant ``llm``, such as base_url, cache and cache_mode) are for mode ``llm``, as is
    ``privileged``, which shows the hinter the partner's values. ``dropout`` applies while the learner learns, not when
    it is scored. ``closing_scenarios``: how many of the held-out scenarios the learner is scored on under hints of a
    language model, each in both seats, greedy and sampled; all other hints cost nothing, so that all are played.
    """

    LATER = ("closing_scenarios",)
    mode: HintMode = "none"
    expert: Occupant = Field(default="expert", description="the occupant that whispers where mode is expert")
    cadence_k: int = Field(default=1, ge=1, le=100, description="own steps from hint to hint")
    dropout: float = Field(default=0.0, ge=0, le=1, description="share of hints withheld in training")
    provider: Provider = "auto"
    models: HintModels = Field(default_factory=HintModels)
    prompt_path: PathText | None = Field(default=None, description="a prompt file; left out: the shipped prompt")
    max_requests: int | None = Field(default=10_000, ge=1, description="or null for no limit")
    closing_scenarios: int = Field(default=20, ge=1, le=10_000, description="played under a model's hints at the end")
    options: dict[str, object] = Field(default_factory=dict, description="further parameters of the occupant llm")
    privileged: bool = False

    @property
    def privileged_note(self) -> str:
        """A warning beside figures that were reached with more than a seat may see; otherwise empty."""
        return ", PRIVILEGED: the hinter sees the partner's values" if self.privileged else ""

    @model_validator(mode="after")
    def _can_be_asked(self) -> HintsConfig:
        if self.privileged and self.mode != "llm":
            raise wrong(
                "only hints of mode llm can make use of the partner's values: leave privileged out", "privileged"
            )
        taken = sorted(self.options.keys() & _TAKEN)
        if taken:
            raise wrong(f"{', '.join(taken)}: the hints' own keys say that, beside options", "options")
        try:
            check_spec({"kind": "llm", **self.options})
        except OccupantNameError as error:
            raise wrong(str(error), "options") from None
        at = "base_url" in self.options
        if self.mode == "llm" and ((self.provider == "openai" and not at) or (self.provider in ("hf", "auto") and at)):
            raise wrong(
                "provider openai needs options: {base_url: ...}, groq may have one, and no other takes one", "provider"
            )
        return self


class TrainingConfig(Hyperparameters):
    """How the learner learns, for how long, and on what.

    ``bc`` learns what people said (:mod:`partners.learning.cloning`): of a league's keys it heeds lr, epochs,
    minibatch, vf, grad_norm, anneal, hidden and device, of these patience, balance, seed and threads.
    """

    # A training has had ``device`` from the start.
    LATER = (*(key for key in Hyperparameters.LATER if key != "device"), "exact_reply", "likeliest")
    algo: Literal["ppo", "reinforce", "bc"] = "ppo"  # type: ignore[assignment]  # one more than a league's learners
    num_train_steps: int = Field(default=500_000, ge=1, description="own decisions")
    exact_reply: float = Field(
        default=0.0, ge=0, le=1000, description="weight of what each act loses to the best reply to those it can follow"
    )
    likeliest: float = Field(
        default=0.0, ge=0, le=1, description="share of practice in which it plays its likeliest acts; needs exact_reply"
    )
    past_selves: float = Field(default=0.0, ge=0, lt=1, description="share against snapshots")
    seed: int = Field(default=0, ge=0, lt=2**63)
    threads: int = Field(default=1, ge=1, le=256, description="of the arithmetic")
    patience: int = Field(default=5, ge=1, le=1000, description="epochs without getting better")
    balance: float = Field(default=0.0, ge=0, le=1, description="how much more a rare act counts")


class TrainLoggingConfig(Section):
    """What is kept of a training run, and where."""

    LATER = ("trackers",)
    output_dir: PathText = Field(default="runs/train", description="the path of a folder")
    csv: bool = True
    tensorboard: bool = True
    trackers: OtherTrackers = ()
    save_every: int = Field(default=100_000, ge=1, description="own decisions between checkpoints")
    expert: PathText | None = Field(
        default=None, description="where bc puts the supervised expert, a .json; left out: the user's cache"
    )

    @property
    def tracked(self) -> tuple[str, ...]:
        """Every tracker, TensorBoard among them."""
        return (*(["tensorboard"] if self.tensorboard else []), *self.trackers)


class TrainConfig(Section):
    """All settings of a training run."""

    env: EnvConfig = Field(default_factory=EnvConfig)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    training: TrainingConfig = Field(default_factory=TrainingConfig)
    logging: TrainLoggingConfig = Field(default_factory=TrainLoggingConfig)

    def portable(self) -> TrainConfig:
        """The settings without what changes no weight: where things lie and what is logged beside them."""
        env = self.env.model_copy(update={"data_dir": None, "render_mode": None})
        logging = TrainLoggingConfig(save_every=self.logging.save_every)
        return self.model_copy(update={"env": env, "logging": logging})

    @model_validator(mode="after")
    def _acts_that_bind(self) -> TrainConfig:
        if self.env.secret_claims:
            raise wrong(UNBOUND, "env.secret_claims")
        if self.env.message_length and self.training.plays_on_device:
            raise wrong("on a device no text passes: leave it out, or say rollouts: host", "env.message_length")
        return self

    @model_validator(mode="after")
    def _taught_by_the_best_reply(self) -> TrainConfig:
        if not self.training.exact_reply:
            if self.training.likeliest:
                raise wrong("rewards of likeliest acts teach nothing: say exact_reply too", "training.likeliest")
            return self
        if self.training.likeliest and self.training.past_selves:
            raise wrong("a past self cannot be followed: leave past_selves out", "training.likeliest")
        if self.training.algo != "ppo" or self.training.plays_on_device:
            raise wrong("is for ppo on the host alone: say algo: ppo, rollouts: host", "training.exact_reply")
        if self.env.scenarios != "lewis" or self.env.disagree != "ends" or self.env.reveal_partner_utilities:
            raise wrong(
                "the best reply is known under scenarios: lewis, disagree: ends, with values that are not revealed",
                "training.exact_reply",
            )
        if self.training.reward != OWN:
            raise wrong("the best reply earns own points: leave reward out", "training.exact_reply")
        return self

    @model_validator(mode="after")
    def _taught_by_people(self) -> TrainConfig:
        if self.training.algo != "bc":
            return self
        if self.env.scenarios != "dialogues" or self.env.split not in (None, "train"):
            raise wrong("bc learns from the human dialogues: say scenarios: dialogues, split: train", "env")
        if self.env.reveal_partner_utilities:
            raise wrong("people did not see their partner's values: leave reveal_partner_utilities out", "env")
        if self.training.history != "none":
            raise wrong("the positions that bc learns hold the last act alone: leave history out", "training")
        if self.hints.mode != "none":
            raise wrong("nobody whispered to the people that bc learns from: say mode: none", "hints")
        return self
