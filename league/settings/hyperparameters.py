"""How a network learns: keys for a training run and for a league's learners.

Reading them loads no PyTorch; that is loaded when a network is made.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from league.settings.sections import UNREACHED_BOUND, EnvConfig, Section, wrong
from league.settings.yaml import shown
from partners.learning.first_weights import FirstWeightsError, first_network, init_name
from partners.learning.rewards import OWN, RewardError, reward_name, reward_of
from partners.learning.settings import LearnerSettings

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
        raise wrong(f"must be {expected}; got {shown(value)}")
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
