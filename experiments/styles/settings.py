"""The settings of a comparison of style rewards, section by section."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dond_marl.errors import quote
from dond_marl.occupants import parse_spec
from league.settings.sections import EnvConfig, PathText, Section, wrong
from league.settings.training import Hyperparameters
from partners.judges.styles import Style
from partners.learning.rewards import OWN, RewardError, reward_name, reward_of

# Who is compared, in this order: a learner of own points, of the style itself, of a language model's word, of a reward
# model's (the paper's baseline), and of a vote of rules (ours).
Source = Literal["own", "true", "judge", "supervised", "rules"]
SOURCES: tuple[Source, ...] = get_args(Source)
RULES_JUDGE = "local_judge"
JUDGES = (RULES_JUDGE, "llm_judge")


def _styles(value: object) -> object:
    """Styles in the order of their definition, each once."""
    known = [str(style) for style in Style]
    if not isinstance(value, list | tuple) or not value or any(style not in known for style in value):
        raise wrong(f"must be a list of styles out of {', '.join(known)}; got {quote(value)}")
    return tuple(style for style in known if style in value)


def _judge(judge: str) -> str:
    """The judge's spec; its style, episodes and seed come from the comparison."""
    try:
        kind, _ = parse_spec(reward_name(judge_of(judge, Style.STUBBORN, 3, 0)))
        reward_of(judge_of(judge, Style.STUBBORN, 3, 0))
    except ValueError as error:
        raise wrong(str(error)) from None
    if kind not in JUDGES:
        raise wrong(f"must be {' or '.join(JUDGES)}, with parameters or without; got {quote(judge)}")
    return judge


def judge_of(judge: str, style: Style, examples: int, seed: int) -> str:
    """The spec of ``judge`` asked about one style, shown ``examples`` worked episodes. Raises ``ValueError``."""
    kind, parameters = parse_spec(judge)
    taken = sorted({"style", "examples", "seed"} & parameters.keys())
    if taken:
        raise RewardError(f"a judge's {', '.join(taken)} is said by the comparison itself; leave it out of {judge}")
    arguments = {**parameters, "style": str(style), "examples": examples, "seed": seed}
    return reward_name(f"{kind}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")


class ComparisonConfig(Section):
    """What is compared, on how many labelled episodes, and how often."""

    styles: Annotated[tuple[str, ...], BeforeValidator(_styles)] = tuple(map(str, Style))
    judge: Annotated[str, AfterValidator(_judge)] = Field(
        default=RULES_JUDGE, description="a language model as judge, llm_judge(...); local_judge: none, the rules alone"
    )
    examples: int = Field(default=3, ge=2, le=20, description="labelled episodes")
    seeds: int = Field(default=3, ge=1, le=100, description="learners of each kind")
    seed: int = Field(default=0, ge=0, lt=2**31 - 1000)
    episodes: int = Field(
        default=392, ge=10, le=100_000, description="on which a judge is compared, and of each learner in each seat"
    )

    @property
    def sources(self) -> tuple[Source, ...]:
        """Whose rewards are compared; without a language model the vote of rules is the only judge."""
        of_rules = parse_spec(self.judge)[0] == RULES_JUDGE
        return tuple(source for source in SOURCES if source != "judge" or not of_rules)


class StyleTraining(Hyperparameters):
    """How every learner learns, and for how long."""

    num_train_steps: int = Field(default=200_000, ge=1, description="own decisions")

    @model_validator(mode="after")
    def _paid_by_the_comparison(self) -> StyleTraining:
        if self.reward != OWN:
            raise wrong(f"what each learner is paid is the comparison's to say; leave out {self.reward}", "reward")
        return self


class StyleLogging(Section):
    """Where a comparison is kept."""

    output_dir: PathText = Field(default="runs/styles", description="the path of a folder")


class StylesConfig(Section):
    """All settings of a comparison."""

    env: EnvConfig = Field(default_factory=lambda: EnvConfig(scenarios="lewis", split="train"))
    comparison: ComparisonConfig = Field(default_factory=ComparisonConfig)
    training: StyleTraining = Field(default_factory=StyleTraining)
    logging: StyleLogging = Field(default_factory=StyleLogging)

    @model_validator(mode="after")
    def _learns_where_it_is_not_measured(self) -> StylesConfig:
        """The published code learns and measures on the same scenarios."""
        if self.env.scenarios != "lewis" or self.env.split not in (None, "train"):
            got = f"scenarios: {self.env.scenarios}, split: {self.env.split}"
            raise wrong(
                f"must be scenarios: lewis, split: train, as figures are of its held-out part; got {got}", "env"
            )
        return self
