"""Settings of a league's learners (role, matchmaking, snapshots) and of the stages of its curriculum.

A stage changes practice only. Matches are always played by the league's own rules, so that payoffs of all rounds are
comparable and every stage is judged by the league's own game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator, ValidationError, ValidationInfo, model_validator

from dond_marl.errors import quote
from dond_marl.game import Disagree
from dond_marl.occupants import OccupantNameError, Spec, missing_needs, names_file, pin_spec, read_spec
from dond_marl.scenarios.sources import SOURCE_NAMES
from league.settings.layers import format_path, replace_source
from league.settings.sections import AS_TEXT, EnvConfig, HintsConfig, Section, SourceName, optional, permission, wrong
from league.settings.training import Hyperparameters, RewardName

LearnerRole = Literal["main", "main_exploiter", "league_exploiter"]
Among = Literal["all", "fixed", "generated", "live", "mains", "others", "past_selves", "self", "snapshots"]
RuleName = Literal[  # the functions of league.rounds.matchmaking
    "forgotten", "losses", "meta_mixture", "oracles", "past_selves", "regret", "self_play", "skill_levels", "uniform",
    "variance", "within_reach",
]  # fmt: skip
AMONG = " among "
RULE_NAMES, GROUPS = get_args(RuleName), get_args(Among)
# The default matchmaking of each role. A main's is AlphaStar's (Vinyals et al. 2019, Methods) with regret in place of
# the loss rate.
MATCHMAKING: Mapping[LearnerRole, Mapping[str, float]] = {
    "main": {"regret": 0.5, "self_play": 0.35, "past_selves": 0.15},
    "main_exploiter": {"uniform among mains": 1.0},
    "league_exploiter": {"regret among snapshots": 0.5, "regret among mains": 0.5},
}


def _matchmaking(value: object) -> object:
    """A mapping of branches to shares, from one or from the name of a single rule."""
    if value is None:
        return value
    shares = {value: 1.0} if isinstance(value, str) else value
    if not isinstance(shares, Mapping) or not shares:
        raise wrong(f"a rule, or rules with their shares such as {{regret: 0.5, self_play: 0.5}}; got {quote(value)}")
    for branch, share in shares.items():
        rule, _, among = branch.partition(AMONG) if isinstance(branch, str) else ("", "", "")
        if rule not in RULE_NAMES or (AMONG in str(branch) and among not in GROUPS):
            raise wrong(
                f"a branch is a rule ({', '.join(RULE_NAMES)}), or 'rule among group' (groups: {', '.join(GROUPS)}); "
                f"got {quote(branch)}"
            )
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1e6:
            raise wrong(f"the share of {branch} is a number above 0; got {quote(share)}")
    return {branch: float(share) for branch, share in shares.items()}


@dataclass(frozen=True, slots=True)
class Branch:
    """A share of a learner's practice: a matchmaking rule and the group of opponents that it is applied to."""

    rule: RuleName
    share: float  # of the practice, more than 0; shares need not add up to 1
    among: Among = "others"


Matchmaking = Annotated[dict[str, float], BeforeValidator(_matchmaking)]
LearnerName = Annotated[
    str, Field(max_length=60, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", description="letters, digits, _ and -")
]


def _class_in_file(value: object, info: ValidationInfo) -> Spec | None:
    """The spec of a class in a file, pinned; what is not allowed is not read, and nothing of it runs."""
    try:
        spec = read_spec(value) if isinstance(value, str | Mapping) else None
        if value is not None and (spec is None or not names_file(spec.kind)):
            raise wrong(f"a learner of your own is a class in a file, my_file.py:Name; got {quote(value)}")
        return spec if spec is None or missing_needs(spec, permission(info)) else pin_spec(spec)
    except OccupantNameError as error:
        raise wrong(str(error)) from None


def branches_of(matchmaking: Mapping[str, float]) -> tuple[Branch, ...]:
    """The branches of a validated ``matchmaking``."""
    parts = ((*written.partition(AMONG), share) for written, share in matchmaking.items())
    return tuple(Branch(rule, share, among or "others") for rule, _, among, share in parts)  # type: ignore[arg-type]


class Gate(Section):
    """The test that a learner must pass before a snapshot of it joins the league."""

    kind: Literal["points", "win_rate"] = "points"
    # That the learner outscores its last snapshot: one-sided, over all tests together.
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    # Share of the games against each opponent that it must win; for kind win_rate only.
    win_rate: float = Field(default=0.7, gt=0, le=1)
    # After this many rounds since the last snapshot the next one joins without passing.
    timeout: int = Field(default=20, ge=1, le=100_000, description="rounds")


class LearnerConfig(Hyperparameters):
    """A league member that learns: hyperparameters, amount of practice, matchmaking and snapshots.

    A snapshot is due ``snapshot_every`` rounds after the last one (0: never) if the weights have changed since; with
    ``keeps_first`` the first weights join too. With a ``gate`` a snapshot joins once it passes, and after it the
    learner restarts with probability ``reset``. With a ``reservoir`` its snapshots and its player are its average
    policy (neural fictitious self-play, NFSP).
    """

    name: LearnerName
    role: LearnerRole = "main"
    exploits: str | None = optional(None, description="the main that a main exploiter is for; left out: all mains")
    decisions: int = Field(default=50_000, ge=1, le=10**9, description="decisions per round")
    snapshot_every: int = Field(default=5, ge=0, le=100_000, description="rounds; 0: never")
    gate: Gate | None = None
    reset: float = Field(default=0.0, ge=0, le=1, description="probability")
    keeps_first: bool = optional(False, description="the first weights join the league as a snapshot")
    reservoir: int = optional(0, ge=0, le=10_000_000, description="decisions stored to learn the average policy (NFSP)")
    anticipation: float = optional(
        0.1, ge=0, le=1, description="share of self-play that is not against the average policy"
    )
    matchmaking: Matchmaking = Field(default_factory=dict)
    train: Annotated[Spec | None, PlainValidator(_class_in_file), AS_TEXT] = optional(
        None, description="a learner of another library, my_file.py:Name"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_its_role_does(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping) or settings.get("matchmaking") is not None:
            return settings
        preset = MATCHMAKING.get(settings.get("role", "main"))
        return {**settings, "matchmaking": dict(preset)} if preset is not None else settings

    @property
    def is_oracle(self) -> bool:
        """Whether it practices against a solution of the meta-game (PSRO)."""
        return any(branch.rule == "meta_mixture" for branch in branches_of(self.matchmaking))

    @model_validator(mode="after")
    def _check_snapshots(self) -> LearnerConfig:
        if self.is_oracle and self.snapshot_every < 2:
            raise wrong(
                "meta_mixture is solved once a snapshot has played its first matches: set it to 2 rounds or more",
                "snapshot_every",
            )
        if self.reservoir and self.belief:
            raise wrong("the average policy imitates acts and has no beliefs: leave belief out", "reservoir")
        for key, field in LearnerConfig.model_fields.items() if self.train is not None else ():
            if (key in Hyperparameters.model_fields or key == "reservoir") and getattr(self, key) != field.default:
                raise wrong(f"is for learners of this project: write train: 'my_file.py:Name({key}=...)'", key)
        return self


class OracleConfig(Section):
    """Exact best responses to a learner, one after every few rounds of its practice: opponents by the rule ``oracles``.

    Its newest ones practice with the learner (fictitious play over best responses: Brown 1951, if they have equal
    shares). Against ``likeliest`` acts it is exact; against ``sampled`` ones in games of at most four turns (see
    :class:`partners.best_response.BestResponse`).
    """

    name: LearnerName = "oracle"
    of: str = Field(description="the name of a learner without memory")
    every: int = Field(default=1, ge=1, le=100_000, description="rounds")
    kept: int = Field(default=3, ge=0, le=100_000, description="newest ones to practice with; 0: all of them")
    newest: float | None = Field(default=0.6, gt=0, le=1, description="share of the newest one; null: as the others")
    play: Literal["likeliest", "sampled"] = "likeliest"

    def member_name(self, born: int) -> str:
        """The name of the best response after ``born`` rounds."""
        return f"{self.name}@{born}"


class StageEnv(Section):
    """Changes of a stage to the league's ``env``; keys that are left out stay as they are."""

    max_turns: int | None = Field(default=None, ge=1, le=100)
    disagree: Disagree | None = None
    scenarios: SourceName | None = Field(default=None, description=SOURCE_NAMES)
    split: str | None = Field(default=None, description="text")
    reveal_partner_utilities: bool | None = None

    def apply_to(self, env: EnvConfig) -> EnvConfig:
        """The environment of the stage. Raises if the changes contradict ``env``."""
        changes = self.model_dump(exclude_none=True)
        try:
            return EnvConfig.model_validate({**replace_source(env.model_dump(), changes), **changes})
        except ValidationError as error:
            mistake = error.errors()[0]
            raise wrong(f"{format_path(('env', *mistake['loc']))}: {mistake['msg']}") from None


class StageLearner(Section):
    """Changes of a stage to one learner; keys that are left out stay as they are."""

    learns: bool = Field(default=True, description="false: its weights do not change in this stage")
    matchmaking: Matchmaking | None = None
    reward: RewardName | None = None
    decisions: int | None = Field(default=None, ge=1, le=10**9, description="per round")
    hints: HintsConfig | None = None

    def changes(self) -> dict[str, Any]:
        """The changed keys of the learner, with their values."""
        return self.model_dump(exclude={"learns", "hints"}, exclude_none=True)


class Until(Section):
    """End of a stage by the points of the first learner from all others: their lower bound reaches ``at_least``."""

    at_least: float = Field(ge=0, le=10, description="points of ten")
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    games: int = Field(default=1_000, ge=1, description="minimum number of games")


class StageConfig(Section):
    """One stage of the curriculum; it ends when its figure is reached, or after ``rounds``."""

    name: str = Field(min_length=1, max_length=60, description="text")
    rounds: int | None = Field(default=None, ge=1, le=100_000, description="left out: to the end")
    until: Until | None = None
    env: StageEnv = Field(default_factory=StageEnv)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    learners: dict[str, StageLearner] = Field(default_factory=dict, description="changes by learner")

    def learner(self, learner: LearnerConfig) -> LearnerConfig | None:
        """A learner's settings in this stage; ``None`` if it does not learn."""
        stage = self.learners.get(learner.name, StageLearner())
        return learner.model_copy(update=stage.changes()) if stage.learns else None

    def hints_of(self, learner: str) -> HintsConfig:
        hints = self.learners.get(learner, StageLearner()).hints
        return self.hints if hints is None else hints
