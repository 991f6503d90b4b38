"""Playing to learn: whole blocks of games from both seats against opponents, until there is enough to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dond_marl.errors import RunFailure
from dond_marl.game import Rules
from dond_marl.randomness import generator
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Partner, Whisper
from dond_marl.yardsticks.metrics import TEN, points_of_ten
from partners.learning.experience import Experience, LearningSeat, joined
from partners.learning.rewards import Own, Reward, for_seat
from partners.network.network import PolicyNetwork


@dataclass(frozen=True)
class Practice:
    """Where a network practices: the scenarios, the rules, and how much of it makes one update.

    ``decisions``: the least number of own decisions per update. ``games``: games per block, half of them in each seat.
    """

    source: ScenarioSource
    rules: Rules
    decisions: int
    games: int
    seed: int
    reveal_partner_utilities: bool = False
    reward: Reward = field(default_factory=Own)
    unreached: float = 0.05  # share of an update's games, 0..1, in which the opponent may be out of reach


class OpponentUnreached(RunFailure):
    """The opponent could not be reached in too many games of an update, of which nothing is kept."""


class Opponent(NamedTuple):
    """Somebody to play against, and how often."""

    partner: Partner
    share: float  # of the blocks; shares sum to 1


class Score(NamedTuple):
    """How the learning seat did while it practiced (sampled play, training scenarios).

    Figures are of the games that count: see :attr:`dond_marl.batch.Games.counted`.
    """

    games: int  # all of them
    points: float  # own points of ten per game, no deal being 0
    deals: float  # share of the games
    turns: float  # acts of both seats per game
    paid: float  # points of ten per game by the plan's reward: own points where that is ``own``


def practice(
    network: PolicyNetwork,
    opponents: Sequence[Opponent],
    plan: Practice,
    *,
    update: int,
    games_before: int,
    whisper: Whisper | None = None,
) -> tuple[Experience, Score]:
    """The experience of one update, a function of the network, the plan and the two counters.

    Each block is played against one opponent, drawn by its share. ``games_before``: the place of the update's first
    scenario in their endless sequence. Nothing is learned from a game in which the opponent could not be reached.
    Raises :class:`OpponentUnreached` where they are more than the plan lets pass.
    """
    shares = np.array([opponent.share for opponent in opponents])
    parts: list[Experience] = []
    points, paid, deals, turns, block, decisions = 0.0, 0.0, 0, 0, 0, 0
    games_played, counted = 0, 0
    while decisions < plan.decisions:
        chosen = generator(plan.seed, "opponents", update, block).choice(len(opponents), p=shares / shares.sum())
        for seat, size in enumerate((plan.games - plan.games // 2, plan.games // 2)):
            if not size:
                continue
            scenarios = plan.source.block(plan.seed, games_before + games_played, size)
            learner, other = LearningSeat(network), opponents[chosen].partner
            games = rollout(
                (learner, other) if seat == 0 else (other, learner),
                scenarios,
                plan.rules,
                seed=plan.seed,
                index=(update, block, seat),
                prior=plan.source.prior,
                reveal_partner_utilities=plan.reveal_partner_utilities,
                whispers=(whisper, None) if seat == 0 else (None, whisper),
            )
            earned = points_of_ten(games.scores, scenarios.wholes)
            rewards = for_seat(plan.reward, seat)(games, earned, scenarios)
            part = learner.experience(games, rewards / TEN)
            if part is not None:
                parts.append(part)
                decisions += part.size
            heard = games.counted
            games_played += size
            counted += int(heard.sum())
            points += float(earned[heard, seat].sum())
            paid += float(rewards[heard, seat].sum())
            deals += int(games.deal[heard].sum())
            turns += int(games.turns[heard].sum(dtype=np.int64))
            if games_played - counted > plan.unreached * max(games_played, plan.games):
                raise OpponentUnreached(
                    f"the opponent could not be reached in {games_played - counted:,} of {games_played:,} games of an "
                    f"update ({plan.unreached:.0%} may be), so a fallback played for it; nothing is learned from them"
                )
        block += 1
    totals = (points, deals, turns, paid)
    return joined(parts), Score(games_played, *(total / counted for total in totals))
