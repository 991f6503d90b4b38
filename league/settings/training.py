"""The settings of one learner's training (``dond train``)."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dond_marl.occupants import OccupantNameError, check_spec
from league.settings.sections import (
    UNBOUND,
    UNREACHED_BOUND,
    EnvConfig,
    Occupant,
    OtherTrackers,
    PathText,
    Section,
    wrong,
)
from league.settings.yaml import quote
from partners.learning.first_weights import FirstWeightsError, first_network, init_name
from partners.learning.rewards import OWN, RewardError, reward_name, reward_of
from partners.learning.settings import LearnerSettings
from partners.llm.service import GROQ_MODEL, Provider

if TYPE_CHECKING:
    from dond_marl.scenarios.sources import ScenarioSource
    from partners.learning.practice import Practice
    from partners.network.network import NetworkShape, PolicyNetwork

MAX_LAYERS, MAX_WIDTH = 8, 4_096
_LEARNER = LearnerSettings()  # its defaults are those of the settings


def _widths(value: object) -> object:
    """Layer widths as a tuple; whatever is wrong with them is one complaint."""
    widths = value if isinstance(value, list | tuple) else ()
    whole = all(type(width) is int and 1 <= width <= MAX_WIDTH for width in widths)
    if not whole or not 1 <= len(widths) <= MAX_LAYERS:
        expected = f"a list of 1 to {MAX_LAYERS} layer widths in 1..{MAX_WIDTH}, such as [128, 128]"
        raise wrong(f"must be {expected}; got {quote(value)}")
    return tuple(widths)


def _reward(value: object) -> object:
    try:
        reward_of(value)  # type: ignore[arg-type]  # whatever else it is, it is refused
        return reward_name(value)  # type: ignore[arg-type]  # a text, by now
    except RewardError as error:
        raise wrong(str(error)) from None


def _init_from(value: object) -> object:
    """The canonical text of ``init_from``. Raises if it is of no known form; no weights are read."""
    try:
        return None if value is None else init_name(value)
    except FirstWeightsError as error:
        raise wrong(f"must be {error}" if str(error).startswith("the path") else str(error)) from None


RewardName = Annotated[str, BeforeValidator(_reward)]
InitFrom = Annotated[str | None, BeforeValidator(_init_from)]


class Hyperparameters(Section):
    """How a network learns."""

    LATER: ClassVar[tuple[str, ...]] = ("history", "head", "magnet", "belief", "critic", "device", "rollouts")
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
    num_envs: int = Field(default=8, ge=2, le=65_536, description="games side by side")
    anneal: bool = Field(default=_LEARNER.anneal, description="lr and ent fall to 0 by the end")
    hidden: Annotated[tuple[int, ...], BeforeValidator(_widths)] = (128, 128)
    sorted_items: bool = Field(default=False, description="items are read least valued first")
    history: Literal["none", "flat"] = Field(default="none", description="what was said before is read too")
    head: Literal["factored", "joint"] = Field(default="factored", description="joint: all splits of a pool together")
    reward: RewardName = Field(default=OWN, description="a reward, such as own or svo(angle=45)")
    init_from: InitFrom = Field(default=None, description="the weights it starts with, or left out")
    kl: float = Field(default=_LEARNER.kl, ge=0, le=1000, description="the pull toward init_from, or the magnet")
    magnet: float = Field(default=_LEARNER.magnet, ge=0, le=1, description="how far kl's reference follows each update")
    belief: float = Field(default=_LEARNER.belief, ge=0, le=1000, description="weight of learning what the partner is")
    critic: Literal["own", "both"] = Field(default="own", description="both: in training it sees both seats' values")
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="where the weights lie and improve")
    rollouts: Literal["auto", "host", "device"] = Field(default="auto", description="auto: device with cuda, else host")

    @property
    def plays_on_device(self) -> bool:
        """Whether games of practice are played on the device, by :mod:`partners.device`."""
        return self.rollouts == "device" or (self.rollouts == "auto" and self.device != "cpu")

    @model_validator(mode="after")
    def _pulled_somewhere(self) -> Hyperparameters:
        if self.kl and self.init_from is None and not self.magnet:
            raise wrong(
                "pulls toward the weights that it starts with, so it needs init_from, or a magnet above 0", "kl"
            )
        if self.magnet and not self.kl:
            raise wrong("moves what kl pulls toward, so it needs kl above 0", "magnet")
        return self

    @property
    def privileged_targets(self) -> bool:
        """Whether learning uses privileged targets, which no seat sees: the partner's values and its identity."""
        return self.belief > 0 or self.critic == "both"

    @model_validator(mode="after")
    def _critic_of_ppo(self) -> Hyperparameters:
        if self.critic == "both" and self.algo != "ppo":
            raise wrong("reinforce and bc have no critic: leave critic out, or say algo: ppo", "critic")
        return self

    def learner(self, total_decisions: int) -> LearnerSettings:
        """The settings of a learner that makes ``total_decisions`` own decisions in all."""
        own = {each.name: getattr(self, each.name) for each in fields(_LEARNER) if each.name in type(self).model_fields}
        return LearnerSettings(**own, total_decisions=total_decisions)

    def shape(self, env: EnvConfig, hints: bool, members: tuple[str, ...] = ()) -> NetworkShape:
        """The network that this game needs; ``hints``: whether it is told any; ``members``: who its partner may be.

        Members count where it learns what it believes alone.
        """
        from partners.network.network import NetworkShape

        revealed = env.reveal_partner_utilities
        return NetworkShape(
            env.max_count,
            env.max_turns,
            revealed,
            hints,
            self.hidden,
            self.sorted_items,
            self.history,
            self.head,
            self.belief > 0,
            members if self.belief else (),
        )

    def first_network(self, env: EnvConfig, *, hints: bool, seed: int, members: tuple[str, ...] = ()) -> PolicyNetwork:
        """The network that a learner of this game starts with, its weights drawn from ``seed`` or from ``init_from``.

        ``members``: who its partner may be, as far as they have names. Raises
        :class:`partners.learning.first_weights.FirstWeightsError`.
        """
        return first_network(self.shape(env, hints, members), self.init_from, disagree=env.disagree, seed=seed)

    def practice(
        self, env: EnvConfig, source: ScenarioSource, seed: int, unreached: float = UNREACHED_BOUND
    ) -> Practice:
        """How much is played for one update: at least ``rollout`` own decisions per env.

        ``unreached``: the share of an update's games, 0..1, in which the opponent may be out of reach.
        """
        from partners.learning.practice import Practice

        own_turns = (env.max_turns + 1) // 2
        return Practice(
            source=source,
            rules=env.rules(),
            decisions=self.num_envs * self.rollout,
            games=self.num_envs * -(-self.rollout // own_turns),
            seed=seed,
            reveal_partner_utilities=env.reveal_partner_utilities,
            reward=reward_of(self.reward),
            unreached=unreached,
            privileged=self.privileged_targets,
        )


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
