"""One learner of a comparison: which reward it learns from, how truly that labels its games, and how it plays then.

A trial is a value and its result a function of it (and of a judge's recorded answers), so that trials may run in any
order and on any number of workers. Learning is on training scenarios, every reported figure of play on held-out ones.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.occupants import seat_occupant
from dond_marl.randomness import generator
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Partner
from dond_marl.statistics import GROUPS, TEN, points_of_ten, scenario_groups, sums_by_group
from dond_marl.yardsticks.efficiency import efficiency_of
from experiments.styles.agreement import Agreement, agreement
from experiments.styles.settings import RULES_JUDGE, Source, StylesConfig, judge_of
from league.evaluation.matches import heldout_terms
from partners.judges.episodes import worked_episodes
from partners.judges.judge import JudgeReward, Verdict
from partners.judges.reward_model import RewardModel
from partners.judges.styles import Style, StyleReward, count_offers, shows_style
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, practice, train_until
from partners.learning.rewards import Own, Reward, for_seat, reward_of
from partners.network.network import copy_of
from partners.network.partner import NetworkPartner

# Of held-out play, per game. The paper's columns are advantage (own points less the partner's), diversity (different
# splits that it offers), deals and pareto (games whose deal is Pareto-optimal); the definitions are ours.
FIGURES = ("points", "joint", "deals", "turns", "advantage", "diversity", "pareto", *map(str, Style))


@dataclass(frozen=True, slots=True)
class Trial:
    """One learner; ``style`` is ``None`` for the learner of own points, which serves all styles."""

    config: StylesConfig
    source: Source
    style: Style | None
    number: int  # which of the ``seeds``


class Played(NamedTuple):
    """Held-out play of one learner: sums per figure, seat and group of scenarios ``[F, 2, GROUPS]``, and games."""

    sums: NDArray[np.float64]
    games: NDArray[np.float64]  # [2, GROUPS]

    def mean(self, figure: str) -> float:
        """The figure's mean over both seats."""
        return float((self.sums[FIGURES.index(figure)].sum(axis=1) / self.games.sum(axis=1)).mean())


class TrialResult(NamedTuple):
    """The figures and weights of one trial."""

    trial: Trial
    played: Played
    practiced: Agreement | None  # of its reward with the definition, on the games it learned from
    labelled: Agreement | None  # the same on its held-out games
    tally: Counter[str]  # of its judge
    decisions: int
    seconds: float
    weights: dict[str, NDArray[np.float32]]


class Watched:
    """A reward of 10 for yes and 0 for no that counts how often it was right about ``style``."""

    def __init__(self, reward: Reward, style: Style) -> None:
        self.reward, self.style, self.seen = reward, style, Agreement()

    def for_seat(self, seat: int) -> Reward:
        """The same reward, compared with the definition in that seat's games only."""

        def watched(games: Games, earned: NDArray[np.float64], scenarios: Scenarios, /) -> NDArray[np.float64]:
            paid = for_seat(self.reward, seat)(games, earned, scenarios)
            verdicts = np.where(paid == TEN, Verdict.YES, np.where(paid == 0, Verdict.NO, Verdict.NONE)).astype(np.int8)
            self.seen = self.seen.plus(agreement(verdicts[:, seat], shows_style(self.style, games)[:, seat]))
            return paid

        return watched

    def __call__(self, games: Games, earned: NDArray[np.float64], scenarios: Scenarios, /) -> NDArray[np.float64]:
        return np.stack([self.for_seat(seat)(games, earned, scenarios)[:, seat] for seat in (0, 1)], axis=1)


def run(trial: Trial) -> TrialResult:
    """Learn and play. Raises what the judge and the occupants raise."""
    began = time.perf_counter()
    torch.set_num_threads(1)
    config, settings = trial.config, trial.config.training
    seed = config.comparison.seed + trial.number
    partner, source = seat_occupant(config.env.partner), config.env.open_source()
    reward = reward_in(trial)
    counted = _counted(reward)
    watched = None if trial.style is None else Watched(reward, trial.style)
    plan = replace(settings.practice(config.env, source, seed), reward=reward if watched is None else watched)
    network = settings.first_network(config.env, hints=False, seed=seed)
    start = copy_of(network) if settings.kl else None
    learner = Learner(network, settings.learner(settings.num_train_steps), seed, start)
    play = partial(practice, plan=plan)
    for _ in train_until(learner, play, [Opponent(partner, 1.0)], decisions=settings.num_train_steps):
        pass
    played, labelled = held_out(NetworkPartner(learner.network), partner, trial, reward)
    return TrialResult(
        trial,
        played,
        None if watched is None else watched.seen,
        labelled,
        _counted(reward) - counted,
        learner.decisions,
        time.perf_counter() - began,
        {f"network.{name}": value.numpy() for name, value in learner.network.state_dict().items()},
    )


def _counted(reward: Reward) -> Counter[str]:
    """What a judge has counted so far; one judge serves every trial of its name in a process."""
    return Counter(reward.judge.tally) if isinstance(reward, JudgeReward) else Counter()


def reward_in(trial: Trial) -> Reward:
    """The reward that the learner of a trial learns from."""
    comparison = trial.config.comparison
    if trial.source == "own" or trial.style is None:
        return Own()
    if trial.source == "true":
        return StyleReward(str(trial.style))
    seed = comparison.seed + trial.number
    if trial.source in ("judge", "rules"):
        judge = comparison.judge if trial.source == "judge" else RULES_JUDGE
        return reward_of(judge_of(judge, trial.style, comparison.examples, seed))
    return JudgeReward(RewardModel(trial.style, worked_episodes(trial.style, comparison.examples, seed), seed))


def held_out(member: Partner, partner: Partner, trial: Trial, reward: Reward) -> tuple[Played, Agreement | None]:
    """Play every held-out scenario once in each seat; and how truly ``reward`` labels ``episodes`` of them in each."""
    config = trial.config
    terms = heldout_terms(config.env.rules(), config.comparison.seed + trial.number)
    terms, table = terms._replace(revealed=config.env.reveal_partner_utilities), terms.scenarios
    groups = scenario_groups(table)
    sums, counts = np.zeros((len(FIGURES), 2, GROUPS)), np.zeros((2, GROUPS))
    watched = None if trial.style is None else Watched(reward, trial.style)
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
        if watched is not None:
            watched.for_seat(seat)(games.rows(some), earned[some], table.rows(some))
    return Played(sums, counts), None if watched is None else watched.seen
