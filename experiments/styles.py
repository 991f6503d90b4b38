r"""Compare rewards that teach a negotiating style: the style itself, a language model's labels, a reward model.

Repeats Kwon et al. 2023: three labelled episodes with explanations, temperature 0, yes or no. Without a language model
as judge, a vote of rules is compared with the reward model, as a baseline. Training is on training scenarios, all
figures are of held-out play.

examples:
  dond experiment styles                 # the judge without a language model; minutes
  dond experiment styles --judges-only --set comparison.episodes=20 --json judges.json \
      --set comparison.judge="llm_judge(provider=hf, model=smollm2, dtype=bfloat16)"
  dond experiment styles --set comparison.styles=[stubborn] \
      --set training.num_train_steps=400000
  GROQ_API_KEY=... dond experiment styles --judges-only \
      --set comparison.episodes=50 --set comparison.seeds=1 --set \
      comparison.judge="llm_judge(max_requests=300, cache='runs/v.sqlite', cache_mode=record)"
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

import click
import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dond_marl.batch import Games
from dond_marl.errors import InputError, quote
from dond_marl.occupants import parse_spec, seat_occupant
from dond_marl.randomness import generator
from dond_marl.records.files import write_atomically
from dond_marl.rollout import OccupantError
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Int8s, Partner
from dond_marl.statistics import GROUPS, TEN, points_of_ten, scenario_groups, sums_by_group
from dond_marl.yardsticks.efficiency import efficiency_of
from experiments.kit import MOST_WORKERS, experiment_command, show_sections
from experiments.reward_model import RewardModel
from league.backends.pool import in_processes
from league.cli.shell import FILE, integer, print_line
from league.evaluation.matches import heldout_terms
from league.ledger.run_directory import SETTINGS, RunDirectory, RunError, new_run
from league.settings.read import dump, load_config
from league.settings.sections import EnvConfig, PathText, Section, wrong
from league.settings.training import Hyperparameters
from league.tasks.provenance import learner_ancestry
from partners.judges.episodes import scripted_games, worked_episodes
from partners.judges.judge import JudgeReward, Verdict
from partners.judges.language_model import LLMJudge
from partners.judges.styles import Style, StyleReward, count_offers, shows_style
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.learning.rewards import OWN, Own, Reward, RewardError, for_seat, reward_name, reward_of
from partners.network.checkpoint import CheckpointError, network_note, save_checkpoint
from partners.network.network import PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner
from partners.provenance import refuse_test_roster

# Rewards in this order: own points, the style itself, a language model's labels, a reward model's (the paper's
# baseline), and those of a vote of rules (our baseline).
Source = Literal["own", "true", "judge", "supervised", "rules"]
SOURCES: tuple[Source, ...] = get_args(Source)
RULES_JUDGE = "local_judge"
JUDGES = (RULES_JUDGE, "llm_judge")


def _parse_styles(value: object) -> object:
    """Styles in the order of their definition, each once."""
    known = [str(style) for style in Style]
    if not isinstance(value, list | tuple) or not value or any(style not in known for style in value):
        raise wrong(f"must be a list of styles out of {', '.join(known)}; got {quote(value)}")
    return tuple(style for style in known if style in value)


def _check_judge(judge: str) -> str:
    """Check a judge's spec; its style, episodes and seed come from the comparison."""
    try:
        kind, _ = parse_spec(reward_name(judge_spec(judge, Style.STUBBORN, 3, 0)))
        reward_of(judge_spec(judge, Style.STUBBORN, 3, 0))
    except ValueError as error:
        raise wrong(str(error)) from None
    if kind not in JUDGES:
        raise wrong(f"must be {' or '.join(JUDGES)}, with parameters or without; got {quote(judge)}")
    return judge


def judge_spec(judge: str, style: Style, examples: int, seed: int) -> str:
    """The spec of ``judge`` for one style with ``examples`` worked episodes. Raises ``ValueError``."""
    kind, parameters = parse_spec(judge)
    taken = sorted({"style", "examples", "seed"} & parameters.keys())
    if taken:
        raise RewardError(f"a judge's {', '.join(taken)} is set by the comparison; leave it out of {judge}")
    arguments = {**parameters, "style": str(style), "examples": examples, "seed": seed}
    return reward_name(f"{kind}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})")


class ComparisonConfig(Section):
    """Styles, judge, labelled episodes and seeds of the comparison."""

    styles: Annotated[tuple[str, ...], BeforeValidator(_parse_styles)] = tuple(map(str, Style))
    judge: Annotated[str, AfterValidator(_check_judge)] = Field(
        default=RULES_JUDGE, description="llm_judge(...), or local_judge: rules without a language model"
    )
    examples: int = Field(default=3, ge=2, le=20, description="labelled episodes")
    seeds: int = Field(default=3, ge=1, le=100, description="learners of each kind")
    seed: int = Field(default=0, ge=0, lt=2**31 - 1000)
    episodes: int = Field(
        default=392, ge=10, le=100_000, description="for comparing judges, and of each learner in each seat"
    )

    @property
    def sources(self) -> tuple[Source, ...]:
        """The rewards that are compared; without a language model the vote of rules is the only judge."""
        of_rules = parse_spec(self.judge)[0] == RULES_JUDGE
        return tuple(source for source in SOURCES if source != "judge" or not of_rules)


class StyleTraining(Hyperparameters):
    """Training of every learner."""

    num_train_steps: int = Field(default=200_000, ge=1, description="own decisions")

    @model_validator(mode="after")
    def _check_reward(self) -> StyleTraining:
        if self.reward != OWN:
            raise wrong(f"the comparison sets each learner's reward; leave out {self.reward}", "reward")
        return self


class StyleLogging(Section):
    """Output folder."""

    output_dir: PathText = Field(default="runs/styles", description="the path of a folder")


class StylesConfig(Section):
    """All settings of a comparison."""

    env: EnvConfig = Field(default_factory=lambda: EnvConfig(scenarios="lewis", split="train"))
    comparison: ComparisonConfig = Field(default_factory=ComparisonConfig)
    training: StyleTraining = Field(default_factory=StyleTraining)
    logging: StyleLogging = Field(default_factory=StyleLogging)

    @model_validator(mode="after")
    def _check_scenarios(self) -> StylesConfig:
        """Training and measurement need different scenarios; the published code uses the same."""
        if self.env.scenarios != "lewis" or self.env.split not in (None, "train"):
            got = f"scenarios: {self.env.scenarios}, split: {self.env.split}"
            raise wrong(
                f"must be scenarios: lewis, split: train, as figures are of its held-out part; got {got}", "env"
            )
        return self


class Agreement(NamedTuple):
    """Games by label and truth; agreements add up with :meth:`plus`."""

    yes_yes: int = 0  # labelled yes, and the game is in the style
    yes_no: int = 0  # labelled yes, and it is not
    no_yes: int = 0
    no_no: int = 0
    unjudged: int = 0  # no label: excluded from all shares

    @property
    def size(self) -> int:
        """Games with a verdict."""
        return self.yes_yes + self.yes_no + self.no_yes + self.no_no

    @property
    def accuracy(self) -> float:
        """Share of correct labels; ``nan`` without labels."""
        return (self.yes_yes + self.no_no) / self.size if self.size else math.nan

    @property
    def majority(self) -> float:
        """Accuracy of the majority class; ``nan`` without labels."""
        yes = self.yes_yes + self.no_yes
        return max(yes, self.size - yes) / self.size if self.size else math.nan

    @property
    def kappa(self) -> float:
        """Agreement beyond chance, 1 at most, 0 for chance; ``nan`` if labels and truth are constant.

        Source: Cohen 1960, "A coefficient of agreement for nominal scales".
        """
        if not self.size:
            return math.nan
        verdicts, truths = self.yes_yes + self.yes_no, self.yes_yes + self.no_yes
        chance = (verdicts * truths + (self.size - verdicts) * (self.size - truths)) / self.size**2
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else math.nan

    def plus(self, other: Agreement) -> Agreement:
        """The sum of the counts."""
        return Agreement(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


def count_agreement(verdicts: Int8s, labels: Bools) -> Agreement:
    """The agreement of ``verdicts`` (a :class:`Verdict` each) with the true ``labels``, both ``[N]``."""
    yes, no = verdicts == Verdict.YES, verdicts == Verdict.NO
    counts = (yes & labels, yes & ~labels, no & labels, no & ~labels, ~(yes | no))
    return Agreement(*(int(np.count_nonzero(games)) for games in counts))


# Of held-out play, per game. The paper's columns are advantage (own points - the partner's), diversity (distinct
# splits that it offers), deals and pareto (games whose deal is Pareto-optimal); the definitions are ours.
FIGURES = ("points", "joint", "deals", "turns", "advantage", "diversity", "pareto", *map(str, Style))


@dataclass(frozen=True, slots=True)
class Trial:
    """One learner; ``style`` is ``None`` for the learner of own points, which serves all styles."""

    config: StylesConfig
    source: Source
    style: Style | None
    number: int  # which of the ``seeds``


class JudgeScore(NamedTuple):
    """One judge of one style on the same held-out episodes of scripted play."""

    style: Style
    source: Source
    agreement: Agreement
    requests: int
    tokens: int
    usd: float
    seconds: float


class HeldOutPlay(NamedTuple):
    """Held-out play of one learner: sums per figure, seat and group of scenarios ``[F, 2, GROUPS]``, and games."""

    sums: NDArray[np.float64]
    games: NDArray[np.float64]  # [2, GROUPS]

    def mean(self, figure: str) -> float:
        """The figure's mean over both seats."""
        return float((self.sums[FIGURES.index(figure)].sum(axis=1) / self.games.sum(axis=1)).mean())


class TrialResult(NamedTuple):
    """The figures and weights of one trial."""

    trial: Trial
    played: HeldOutPlay
    practiced: Agreement | None  # of the reward's labels with the definition, on training games
    labelled: Agreement | None  # the same on its held-out games
    tally: Counter[str]  # of its judge
    decisions: int
    seconds: float
    weights: dict[str, NDArray[np.float32]]


class CountedReward:
    """A reward of 10 for yes and 0 for no that counts its correct labels of ``style``."""

    def __init__(self, reward: Reward, style: Style) -> None:
        self.reward, self.style, self.agreement = reward, style, Agreement()

    def for_seat(self, seat: int) -> Reward:
        """The same reward, compared with the definition in that seat's games only."""

        def count(games: Games, earned: NDArray[np.float64], scenarios: Scenarios, /) -> NDArray[np.float64]:
            paid = for_seat(self.reward, seat)(games, earned, scenarios)
            verdicts = np.where(paid == TEN, Verdict.YES, np.where(paid == 0, Verdict.NO, Verdict.NONE)).astype(np.int8)
            self.agreement = self.agreement.plus(
                count_agreement(verdicts[:, seat], shows_style(self.style, games)[:, seat])
            )
            return paid

        return count

    def __call__(self, games: Games, earned: NDArray[np.float64], scenarios: Scenarios, /) -> NDArray[np.float64]:
        return np.stack([self.for_seat(seat)(games, earned, scenarios)[:, seat] for seat in (0, 1)], axis=1)


def run_trial(trial: Trial) -> TrialResult:
    """Train and play one trial. Raises what the judge and the occupants raise."""
    began = time.perf_counter()
    torch.set_num_threads(1)
    config, settings = trial.config, trial.config.training
    seed = config.comparison.seed + trial.number
    partner, source = seat_occupant(config.env.partner), config.env.open_source()
    reward = trial_reward(trial)
    before = _judge_tally(reward)
    counted_reward = None if trial.style is None else CountedReward(reward, trial.style)
    plan = replace(
        settings.practice(config.env, source, seed), reward=reward if counted_reward is None else counted_reward
    )
    network = settings.first_network(config.env, hints=False, seed=seed)
    start = copy_of(network) if settings.kl else None
    learner = Learner(network, settings.learner(settings.num_train_steps), seed, start)
    play = partial(practice, plan=plan)
    for _ in train_until(learner, play, [Opponent(partner, 1.0)], decisions=settings.num_train_steps):
        pass
    played, labelled = play_held_out(NetworkPartner(learner.network), partner, trial, reward)
    return TrialResult(
        trial,
        played,
        None if counted_reward is None else counted_reward.agreement,
        labelled,
        _judge_tally(reward) - before,
        learner.decisions,
        time.perf_counter() - began,
        {f"network.{name}": value.numpy() for name, value in learner.network.state_dict().items()},
    )


def _judge_tally(reward: Reward) -> Counter[str]:
    """The judge's counts so far; one judge serves every trial of its name in a process."""
    return Counter(reward.judge.tally) if isinstance(reward, JudgeReward) else Counter()


def trial_reward(trial: Trial) -> Reward:
    """The training reward of a trial."""
    comparison = trial.config.comparison
    if trial.source == "own" or trial.style is None:
        return Own()
    if trial.source == "true":
        return StyleReward(str(trial.style))
    seed = comparison.seed + trial.number
    if trial.source in ("judge", "rules"):
        judge = comparison.judge if trial.source == "judge" else RULES_JUDGE
        return reward_of(judge_spec(judge, trial.style, comparison.examples, seed))
    return JudgeReward(RewardModel(trial.style, worked_episodes(trial.style, comparison.examples, seed), seed))


def play_held_out(
    member: Partner, partner: Partner, trial: Trial, reward: Reward
) -> tuple[HeldOutPlay, Agreement | None]:
    """Play every held-out scenario once in each seat; count correct labels of ``reward`` on ``episodes`` of them."""
    config = trial.config
    terms = heldout_terms(config.env.rules(), config.comparison.seed + trial.number)
    terms, table = terms._replace(revealed=config.env.reveal_partner_utilities), terms.scenarios
    groups = scenario_groups(table)
    sums, counts = np.zeros((len(FIGURES), 2, GROUPS)), np.zeros((2, GROUPS))
    counted_reward = None if trial.style is None else CountedReward(reward, trial.style)
    order = generator(config.comparison.seed, "labelled games").permutation(table.size)
    some = np.sort(order[: config.comparison.episodes])
    for seat, games in enumerate(terms.games((member, member), partner, index=(0,))):
        earned = points_of_ten(games.scores, table.pool_values)
        figures = [earned[:, seat], earned.sum(axis=1), games.deal, games.turns]
        figures += [earned[:, seat] - earned[:, 1 - seat], count_offers(games).different[:, seat]]
        figures += [efficiency_of(games).pareto]
        sums[:, seat], games_of_group = sums_by_group(
            np.stack([*figures, *(shows_style(style, games)[:, seat] for style in Style)]), groups
        )
        counts[seat] = games_of_group[0]
        if counted_reward is not None:
            counted_reward.for_seat(seat)(games.rows(some), earned[some], table.rows(some))
    return HeldOutPlay(sums, counts), None if counted_reward is None else counted_reward.agreement


FIGURES_FILE = "figures.json"


@experiment_command(
    __doc__, "styles.yaml", stopped="no figures are written", results=False, run_errors=(CheckpointError,)
)
@click.option(
    "--workers", type=integer(1, MOST_WORKERS), metavar="N", help="learners trained in parallel (one per core)"
)
@click.option("--judges-only", is_flag=True, help="only compare the judges' labels; train nothing")
@click.option("--json", "json_path", type=FILE, metavar="FILE", help="with --judges-only: write the comparison")
def command(
    config_path: Path, overrides: tuple[str, ...], workers: int | None, judges_only: bool, json_path: Path | None
) -> None:
    """Compare and report."""
    from experiments.style_tables import judges_section, style_document

    if json_path is not None and not judges_only:
        raise InputError(f"--json needs --judges-only; a full comparison writes {FIGURES_FILE} into its run's folder")
    if json_path is not None:
        json_path.parent.mkdir(parents=True, exist_ok=True)
    config = load_config(config_path, overrides, StylesConfig)
    config = config.model_copy(update={"env": config.env.resolve_partner()})
    refuse_test_roster(learner_ancestry(config.env, config.training.init_from))
    began = time.perf_counter()
    scores = list(_score_judges(config))
    document = style_document(config, [], scores, time.perf_counter() - began)
    show_sections(judges_section(document))
    if json_path is not None:
        write_atomically(json_path, json.dumps(document, indent=1) + "\n")
    if not judges_only:
        _train_all(config, scores, _worker_count(workers, config), began)


def _train_all(config: StylesConfig, scores: Sequence[JudgeScore], workers: int, began: float) -> None:
    """Train every learner, and write its checkpoint and all figures; ``began``: start time of the command."""
    from experiments.style_tables import learners_section, style_document, style_rows

    trials = all_trials(config)
    with new_run(Path(config.logging.output_dir).expanduser()) as directory:
        write_atomically(directory.path / SETTINGS, dump(config))
        print_line(
            f"{len(trials)} learners of {config.training.num_train_steps:,} own decisions each against "
            f"{config.env.partner}, {workers} at a time; run folder {directory.path}"
        )
        results: list[TrialResult | None] = [None] * len(trials)
        calls = in_processes(_run_in_process, [(trial,) for trial in trials], workers)
        for done, (place, result) in enumerate(calls, start=1):
            results[place] = result
            _save_learner(directory, result)
            print_line(f"{done}/{len(trials)} {_progress_line(result)}")
        rows = style_rows(config, [result for result in results if result is not None])
        seconds = time.perf_counter() - began
        document = style_document(config, rows, scores, seconds)
        show_sections(learners_section(document))
        write_atomically(directory.path / FIGURES_FILE, json.dumps(document, indent=1) + "\n")
        print_line(f"{seconds:.0f} s; written: {directory.path / FIGURES_FILE}, and every learner's checkpoint")


def all_trials(config: StylesConfig) -> list[Trial]:
    """All trials of a comparison."""
    styles = [Style(style) for style in config.comparison.styles]
    kinds: list[tuple[Source, Style | None]] = [("own", None)]
    kinds += [(source, style) for source in config.comparison.sources if source != "own" for style in styles]
    return [
        Trial(config, source, style, number) for source, style in kinds for number in range(config.comparison.seeds)
    ]


def _score_judges(config: StylesConfig) -> Iterator[JudgeScore]:
    """Score judge and reward model on the same held-out episodes of scripted play, as seat_0."""
    settings = config.comparison
    games = scripted_games(settings.seed, settings.episodes, "test")
    for style in map(Style, settings.styles):
        truth = shows_style(style, games)[:, 0]
        for source in config.comparison.sources[2:]:
            agreed, requests, tokens, usd, seconds = Agreement(), 0, 0, 0.0, 0.0
            for number in range(settings.seeds):
                reward = trial_reward(Trial(config, source, style, number))
                assert isinstance(reward, JudgeReward)
                began = time.perf_counter()
                agreed = agreed.plus(count_agreement(reward.judge.verdicts(games, 0), truth))
                seconds += time.perf_counter() - began
                if isinstance(reward.judge, LLMJudge):
                    cost = reward.judge.cost
                    requests, tokens, usd = requests + cost.requests, tokens + cost.tokens, usd + cost.usd
            yield JudgeScore(style, source, agreed, requests, tokens, usd, seconds)


def _worker_count(workers: int | None, config: StylesConfig) -> int:
    """Number of parallel learners; one with a language model as judge, for one model in memory and one budget."""
    if parse_spec(config.comparison.judge)[0] == "llm_judge":
        return 1
    return workers or min(os.cpu_count() or 1, MOST_WORKERS)


def _run_in_process(trial: Trial) -> TrialResult:
    try:
        return run_trial(trial)
    except OccupantError as error:  # cannot be pickled
        raise RunError(str(error)) from None


def _save_learner(directory: RunDirectory, result: TrialResult) -> None:
    """Write a learner's checkpoint, to be seated as ``checkpoint(path=...)``."""
    trial = result.trial
    network = PolicyNetwork(trial.config.training.shape(trial.config.env, hints=False), seed=None)
    name = f"{trial.style or 'no_style'}_{trial.source}_{trial.number}.json"
    weights = {key: torch.from_numpy(value) for key, value in result.weights.items()}
    past = learner_ancestry(trial.config.env, trial.config.training.init_from)
    about = {
        **past.note(),
        "reward": f"{trial.source}: {trial.style}" if trial.style else "own",
        "decisions": result.decisions,
    }
    save_checkpoint(directory.path / "checkpoints" / name, weights, {**network_note(network), **about})


def _progress_line(result: TrialResult) -> str:
    trial, deals = result.trial, result.played.mean("deals")
    reward = f"reward {trial.source}, seed {trial.number}"
    if trial.style is None:
        return f"{reward}: {result.played.mean('points'):.2f} points of ten, {deals:.1%} deals ({result.seconds:.0f} s)"
    labels = result.practiced
    right = "" if labels is None or trial.source == "true" else f", {labels.accuracy:.1%} of labels correct"
    rate = f"{result.played.mean(trial.style):.1%} of games in the style"
    return f"{trial.style.word}, {reward}: {rate}, {deals:.1%} deals{right} ({result.seconds:.0f} s)"
