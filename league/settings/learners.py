"""What may be set of a league member that learns: its role, whom it meets, and when it leaves a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, cast, get_args

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from dond_marl.errors import InputError, error_line
from dond_marl.game import Disagree
from dond_marl.occupants import DIGEST, OccupantNameError, check_factory, names_file, parse_spec, pin_spec
from dond_marl.scenarios.sources import SourceName
from league.settings.scenario_choice import Choice, agreeing, choose
from league.settings.sections import EnvConfig, Section, wrong
from league.settings.training import HintsConfig, Hyperparameters, RewardName
from league.settings.yaml import quote

LearnerRole = Literal["main", "main_exploiter", "league_exploiter"]
Among = Literal["all", "fixed", "live", "mains", "others", "past_selves", "self", "snapshots"]
RuleName = Literal[  # the functions of league.rounds.matchmaking
    "coverage", "forgotten", "latest", "learning_progress", "losses", "meta_mixture", "past_selves",
    "regret", "self_play", "skill_levels", "uniform", "variance", "within_reach",
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
    """A mapping of branches to shares; the name of a single rule has all of it."""
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
    """A part of a learner's meetings: a rule and the group of opponents that it is applied to."""

    rule: RuleName
    share: float  # of all meetings, more than 0; shares of a role need not add up to 1
    among: Among = "others"


Matchmaking = Annotated[dict[str, float], BeforeValidator(_matchmaking)]


def branches_of(matchmaking: Mapping[str, float]) -> tuple[Branch, ...]:
    """The branches of a validated ``matchmaking``."""
    parts = ((*written.partition(AMONG), share) for written, share in matchmaking.items())
    return tuple(Branch(rule, share, among or "others") for rule, _, among, share in parts)  # type: ignore[arg-type]


class Gate(Section):
    """The test that a learner must pass to leave a snapshot."""

    kind: Literal["points", "win_rate"] = "points"
    # How much more than its last snapshot the learner must score, and how sure it must be that it is more at all:
    # one-sided, over all looks at it together.
    delta: float = Field(default=0.0, ge=0, le=10, description="points of ten")
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    # How much less it may score against any one opponent, at the same confidence.
    forgetting: float = Field(default=0.5, ge=0, le=10, description="points of ten")
    # Share of the games against each opponent that it must win; for kind win_rate alone.
    win_rate: float = Field(default=0.7, gt=0, le=1)
    # After so many rounds since the last snapshot there is one anyway.
    timeout: int = Field(default=20, ge=1, le=100_000, description="rounds")


class LearnerConfig(Hyperparameters):
    """A league member that learns: how, from how much play, against whom, and what it leaves behind.

    A snapshot is due ``snapshot_every`` rounds after the last one (0: never), where the weights have changed since, and
    one of the weights that it begins with after the first round, where it ``keeps_first``. With a ``gate`` it joins
    once the gate lets it pass, and with ``novelty`` where it can do what no mixture of the snapshots can
    (:mod:`league.rounds.diversity`). After a snapshot the learner starts over with probability ``reset``. With a
    ``reservoir`` what it leaves behind, and what plays for it, is the average of all that it has done (neural
    fictitious self-play).
    """

    LATER = (*Hyperparameters.LATER, "exploits", "reservoir", "anticipation", "novelty", "keeps_first")
    name: str = Field(
        min_length=1, max_length=60, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$", description="letters, digits, _ and -"
    )
    role: LearnerRole = "main"
    exploits: str | None = Field(default=None, description="the main that a main exploiter is for; left out: all mains")
    decisions: int = Field(default=50_000, ge=1, le=10**9, description="own decisions per round")
    snapshot_every: int = Field(default=5, ge=0, le=100_000, description="rounds; 0: never")
    gate: Gate | None = None
    # How far what it earns from the fixed members must be from what mixtures of all snapshots earn, per cell.
    novelty: float = Field(default=0.0, ge=0, le=10, description="points of ten; 0: a snapshot need add nothing")
    reset: float = Field(default=0.0, ge=0, le=1, description="probability")
    keeps_first: bool = Field(default=False, description="the weights that it begins with join the league too")
    reservoir: int = Field(
        default=0, ge=0, le=10_000_000, description="own decisions kept to learn their average, which is the result"
    )
    anticipation: float = Field(default=0.1, ge=0, le=1, description="share of self-play not against that average")
    matchmaking: Matchmaking = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _as_its_role_does(cls, settings: Any) -> Any:
        if not isinstance(settings, Mapping) or settings.get("matchmaking") is not None:
            return settings
        preset = MATCHMAKING.get(settings.get("role", "main"))
        return {**settings, "matchmaking": dict(preset)} if preset is not None else settings

    @property
    def is_oracle(self) -> bool:
        """Whether it practices against a solution of the meta-game."""
        return any(branch.rule == "meta_mixture" for branch in branches_of(self.matchmaking))

    @model_validator(mode="after")
    def _solved_anew_in_time(self) -> LearnerConfig:
        if self.is_oracle and self.snapshot_every < 2:
            raise wrong(
                "meta_mixture is solved once a snapshot has joined, and waits a round for its matches: leave one every "
                "2 rounds or more",
                "snapshot_every",
            )
        return self

    @model_validator(mode="after")
    def _average_of_acts(self) -> LearnerConfig:
        if self.reservoir and self.belief:
            raise wrong("the average imitates acts and learns no beliefs: leave belief out", "reservoir")
        return self


class StageEnv(Section):
    """What a stage changes in the league's ``env``; keys that are left out stay."""

    max_turns: int | None = Field(default=None, ge=1, le=100)
    disagree: Disagree | None = None
    scenarios: SourceName | None = None
    split: str | None = Field(default=None, description="text")
    reveal_partner_utilities: bool | None = None

    def over(self, env: EnvConfig) -> EnvConfig:
        """The environment of the stage. Raises if the changes contradict it."""
        changes = self.model_dump(exclude_none=True)
        choice, contradiction = choose(Choice(env.scenarios, env.split, env.dataset), changes)
        if contradiction is not None:
            raise wrong(f"env.{contradiction.key}: {contradiction.text}")
        try:
            return EnvConfig.model_validate(agreeing({**env.model_dump(), **changes}, choice))
        except ValidationError as error:
            raise wrong(f"env: {error.errors()[0]['msg']}") from None


class StageLearner(Section):
    """What a stage changes for one learner; keys that are left out stay."""

    learns: bool = Field(default=True, description="one that does not learn stays as it is")
    matchmaking: Matchmaking | None = None
    reward: RewardName | None = None
    decisions: int | None = Field(default=None, ge=1, le=10**9, description="per round")
    hints: HintsConfig | None = None

    def changes(self) -> dict[str, Any]:
        """The keys of a learner that the stage changes."""
        return self.model_dump(exclude={"learns", "hints"}, exclude_none=True)


class Until(Section):
    """A figure of a learner in the league's matches that ends a stage: its lower bound reaches ``at_least``."""

    metric: Literal["points", "deals", "of_nash"] = "points"
    member: str | None = Field(default=None, description="the name of a learner; left out: the first")
    against: str = Field(default="all", description="all, or the name of a member")
    at_least: float = Field(ge=0, le=10)
    confidence: float = Field(default=0.95, gt=0.5, lt=0.9999)
    games: int = Field(default=1_000, ge=1, description="the fewest that count")


def _predicate(value: object) -> object:
    try:
        name = None if value is None else predicate_name(value)
        if name is not None:
            predicate_of(name)
        return name
    except PredicateError as error:
        raise wrong(str(error)) from None


class StageConfig(Section):
    """One stage; it lasts until its figure is reached, or its predicate says so, and at most ``rounds``."""

    LATER = ("ends_when",)
    name: str = Field(min_length=1, max_length=60, description="text")
    rounds: int | None = Field(default=None, ge=1, le=100_000, description="left out: to the end")
    until: Until | None = None
    ends_when: Annotated[str | None, BeforeValidator(_predicate)] = Field(
        default=None, description="a predicate in a file, my_file.py:Name; left out: none"
    )
    env: StageEnv = Field(default_factory=StageEnv)
    hints: HintsConfig = Field(default_factory=HintsConfig)
    learners: dict[str, StageLearner] = Field(default_factory=dict, description="what changes, by learner")

    def learner(self, learner: LearnerConfig) -> LearnerConfig | None:
        """A learner's settings in this stage; ``None`` where it does not learn."""
        own = self.learners.get(learner.name, StageLearner())
        return learner.model_copy(update=own.changes()) if own.learns else None

    def hints_of(self, learner: str) -> HintsConfig:
        own = self.learners.get(learner, StageLearner()).hints
        return self.hints if own is None else own

    @property
    def hinted(self) -> bool:
        everybody = (self.hints, *(learner.hints for learner in self.learners.values()))
        return any(hints is not None and hints.mode != "none" for hints in everybody)


Predicate = Callable[[Any], bool]


class PredicateError(InputError):
    """A predicate that is none, or that cannot be made. The message says which and why."""


def predicate_name(spec: object) -> str:
    """The one way to write a predicate, with the digest of its file. Raises :class:`PredicateError`."""
    expected = f"a predicate is code in a file, my_file.py:Name or my_file.py:Name(parameter=value); got {quote(spec)}"
    if not isinstance(spec, str):
        raise PredicateError(expected)
    try:
        kind, parameters = parse_spec(spec)
        if not names_file(kind):
            raise PredicateError(expected)
        check_factory("predicate", {}, kind, parameters)
        return pin_spec(spec)
    except OccupantNameError as error:
        raise PredicateError(str(error)) from None


@lru_cache(maxsize=64)
def predicate_of(name: str) -> Predicate:
    """The predicate that :func:`predicate_name` wrote. Raises :class:`PredicateError`, also of another file by now."""
    kind, parameters = parse_spec(name)
    try:
        factory: Callable[..., object] = check_factory("predicate", {}, kind, parameters)
        made = factory(**{key: value for key, value in parameters.items() if key != DIGEST})
    except OccupantNameError as error:
        raise PredicateError(f"the predicate {kind} cannot be made: {error}") from None
    except Exception as error:  # whatever somebody's own code raises
        raise PredicateError(f"the predicate {kind} cannot be made: {error_line(error)}") from error
    if not callable(made):
        raise PredicateError(f"the predicate {kind} made no function of what a league knows, but {quote(made)}")
    return cast("Predicate", made)
