"""Practice and training sessions: a network plays blocks of games from both seats and is updated from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import Rules
from dond_marl.randomness import generator
from dond_marl.rollout import Block, Noise, rollout_blocks
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Bools, Doubles, Floats, HintSource, Partner, Rows, Turns, expensive_to_query
from dond_marl.splits import action_count
from dond_marl.statistics import TEN, points_of_ten
from partners.learning.exact_targets import VALUES, ExactTargets
from partners.learning.experience import Experience, LearningSeat, TargetFunction, join_experience
from partners.learning.rewards import Own, Reward, pay
from partners.mixture import SaysPropose, in_seat, privileged_targets, reads_labels
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner

if TYPE_CHECKING:
    from torch import Tensor

    from partners.learning.learners import Learner

SPARE = 0.25  # of a block: the share of a batch's last block that must be expected to be needed


LabelsFrom = Literal["all", "readers"]


@dataclass(frozen=True)
class Practice:
    """Settings of practice: the scenarios, the rules, the targets and how many decisions make one update.

    ``decisions``: the least number of own decisions per update. ``games``: games per block, half of them in each seat.
    """

    source: ScenarioSource
    rules: Rules
    decisions: int
    games: int
    seed: int
    reveal_partner_utilities: bool = False
    reward: Reward = field(default_factory=Own)
    privileged: bool = False  # whether experience carries the partner's values and its number as targets
    exact: ExactTargets | None = None  # source of every act's regret, as further targets
    labels_from: LabelsFrom = "all"  # readers: labels are learned where the partner may read them
    likeliest: float = 0.0  # share of the blocks, 0..1, that the network plays greedily
    unreached: float = 0.05  # share of an update's games, 0..1, in which the opponent may be out of reach


class OpponentUnreached(RunFailure):
    """The opponent could not be reached in too many games of an update; the update is dropped."""


class Opponent(NamedTuple):
    """A partner to practice against, and its share of the blocks."""

    partner: Partner
    share: float  # shares sum to 1


def in_practice(partner: Partner, labels_from: LabelsFrom) -> Partner:
    """``partner`` as it plays in practice: a network says PROPOSE alone where labels are learned from readers."""
    proposing = labels_from == "readers" and isinstance(partner, NetworkPartner)
    return SaysPropose(partner) if proposing else partner


class Score(NamedTuple):
    """Results of one practice (sampled play, training scenarios): means over the valid games.

    Games in which the opponent was out of reach are not valid: see :attr:`dond_marl.batch.Games.valid`.
    """

    games: int  # played, valid or not
    points: float  # own points of ten per game, no deal being 0
    deals: float  # share of the games
    turns: float  # acts of both seats per game
    paid: float  # points of ten per game by the plan's reward: own points where that is ``own``


@dataclass(kw_only=True)
class Session:
    """One learner in training: practice and update in turn, from the start or from any saved state, to the same bits.

    ``learner``: improved in place. ``opponents``: one of them is drawn for every block. ``hints``: for the learner's
    seat.
    """

    learner: Learner
    plan: Practice
    opponents: Sequence[Opponent] = ()
    hints: HintSource | None = None
    games: int = 0  # that the learner has played so far
    score: Score | None = None  # of the latest update's practice

    def step(self) -> tuple[Score, dict[str, float]]:
        """Practice and update once; returns the practice's score and the learner's metrics, means over the decisions.

        Raises what :func:`practice` and :meth:`~partners.learning.learners.Learner.update` raise.
        """
        # Equal after an interruption, so that cheap hints, which are counted, are played ahead in the same blocks.
        decisions_per_game = self.learner.decisions / max(self.games, 1)
        experience, score = practice(
            self.learner.network,
            self.opponents,
            self.plan,
            update=self.learner.updates,
            games_before=self.games,
            hints=self.hints,
            decisions_per_game=decisions_per_game,
        )
        metrics = self.learner.update(experience)
        self.games += score.games
        self.score = score
        return score, metrics

    def state(self) -> tuple[dict[str, Tensor], dict[str, int]]:
        """Everything that the next update depends on: tensors by name, and counters."""
        tensors, counters = self.learner.state()
        return tensors, {**counters, "games": self.games}

    def restore(self, tensors: Mapping[str, Tensor], counters: dict[str, int]) -> None:
        """Load what :meth:`state` returned, on the device of the learner's network."""
        device = self.learner.network.device
        self.learner.restore({name: value.to(device) for name, value in tensors.items()}, counters)
        self.games = counters["games"]


# How an update's games are laid out. A block is plan.games games against one opponent, which is drawn for the block;
# the learner has seat 0 in the first half of its games and seat 1 in the rest. Scenarios follow each other without
# gaps, from games_before on:
#
#     block       0             1             2             3           ...
#     opponent    heuristic     conceder      conceder      heuristic   a function of (seed, update, block)
#     scenarios   0 ... 63      64 ... 127    128 ... 191   192 ...     64 games a block
#     seat        0 ..., 1 ...  0 ..., 1 ...  0 ..., 1 ...
#     calls       '----1----'   '----------2-------------'
#
# Blocks are added until there are plan.decisions own decisions, so block b + 1 is needed only if 0..b gave too few.
# Played one by one, every block costs two rollouts of few games. Therefore blocks in a row with the same opponent that
# will probably all be needed (from the decisions per game so far) are played in one call per seat. If fewer were
# enough, the rest is discarded: the experience is the same as of one block at a time. That holds only because a game
# is a function of its names (seed, update, block, seat, scenario), and it wastes queries, so costly partners and hints
# of a service or a person are never played ahead.


def practice(
    network: PolicyNetwork,
    opponents: Sequence[Opponent],
    plan: Practice,
    *,
    update: int,
    games_before: int,
    hints: HintSource | None = None,
    decisions_per_game: float = 0.0,
) -> tuple[Experience, Score]:
    """The experience of one update, a function of the network, the plan and the two counters.

    ``games_before``: the place of the update's first scenario in the plan's endless sequence. ``hints``: hints for the
    learner's seat. ``decisions_per_game``: expected own decisions per game (0 = unknown); only a batching hint: no
    result but the number of hints depends on it. Games in which the opponent is out of reach teach nothing. Raises
    :class:`OpponentUnreached` where there are more of them than the plan allows.
    """
    draws = BlockDraws(opponents, plan, update)
    parts: list[Experience] = []
    totals, block, decisions = _Totals(), 0, 0
    while decisions < plan.decisions:
        partner, ahead = draws.partner(block), 0.0
        costly = expensive_to_query(partner.traits) or (hints is not None and hints.expensive)
        if decisions_per_game and not costly:
            ahead = (plan.decisions - decisions) / (plan.games * decisions_per_game) - SPARE
        blocks = draws.batch(block, ahead)
        for played in _play_seats(network, draws, plan, blocks, games_before + totals.games, hints):
            if played.seat == 0 and decisions >= plan.decisions:
                break  # the rest of the batch was not needed
            games = played.games
            earned = points_of_ten(games.scores, games.scenarios.pool_values)
            rewards = pay(plan.reward, played.seat, games, earned)
            part = played.learner.experience(
                games,
                rewards / TEN,
                _privileged_targets(network, partner, plan, update, played),
                *_exact_targets(network, partner, plan, update, played),
                _unread_labels(partner, plan, update, played),
            )
            if part is not None:
                parts.append(part)
                decisions += part.size
            totals.add(games, earned[:, played.seat], rewards[:, played.seat])
            refuse_unreached(totals.games, totals.valid, plan)
        block = blocks.stop
    return join_experience(parts), totals.score()


class BlockDraws:
    """The opponent of each block of an update, and whether the network plays it greedily."""

    def __init__(self, opponents: Sequence[Opponent], plan: Practice, update: int) -> None:
        self.update, self._opponents, self._plan = update, opponents, plan
        shares = np.array([opponent.share for opponent in opponents])
        self._shares = shares / shares.sum()

    def partner(self, block: int) -> Partner:
        return self._opponents[self._number(block)].partner

    def greedy(self, block: int) -> bool:
        """Whether the network takes its likeliest acts in this block."""
        share, names = self._plan.likeliest, (self._plan.seed, "likeliest", self.update, block)
        return bool(share) and generator(*names).random() < share

    def batch(self, block: int, ahead: float) -> range:
        """Block number ``block`` and those after it that are like it, while they are fewer than ``ahead``."""
        chosen, greedy, stop = self._number(block), self.greedy(block), block + 1
        while stop < block + ahead and self._number(stop) == chosen and self.greedy(stop) == greedy:
            stop += 1
        return range(block, stop)

    def _number(self, block: int) -> int:
        draw = generator(self._plan.seed, "opponents", self.update, block)
        return int(draw.choice(len(self._opponents), p=self._shares))


@dataclass
class _Totals:
    """Sums over the games of an update; all but ``games`` over its valid games."""

    games: int = 0
    valid: int = 0
    points: float = 0.0
    deals: int = 0
    turns: int = 0
    paid: float = 0.0

    def add(self, games: Games, points: Doubles, paid: Doubles) -> None:
        """Add games with the learner's ``points[N]`` and pay ``paid[N]``, both points of ten."""
        valid = games.valid
        self.games += games.size
        self.valid += int(valid.sum())
        self.points += float(points[valid].sum())
        self.paid += float(paid[valid].sum())
        self.deals += int(games.deal[valid].sum())
        self.turns += int(games.turns[valid].sum(dtype=np.int64))

    def score(self) -> Score:
        totals = (self.points, self.deals, self.turns, self.paid)
        return Score(self.games, *(total / self.valid for total in totals))


class SeatGames(NamedTuple):
    """The games of a block in which the learner has one of the seats."""

    block: int
    seat: int
    games: Games
    learner: LearningSeat


def _play_seats(
    network: PolicyNetwork,
    draws: BlockDraws,
    plan: Practice,
    blocks: range,
    games_before: int,
    hints: HintSource | None,
) -> Iterator[SeatGames]:
    """The games of a batch of blocks, block by block, each first with the learner in seat 0.

    All games of a seat are played in one call, and each block's part is cut out of it.
    """
    partner, greedy = draws.partner(blocks.start), draws.greedy(blocks.start)
    sizes = (plan.games - plan.games // 2, plan.games // 2)
    by_seat: list[list[SeatGames]] = []
    for seat, size in enumerate(sizes):
        learner = LearningSeat(network, greedy=greedy)
        starts = [games_before + number * plan.games + seat * sizes[0] for number in range(len(blocks))]
        games = rollout_blocks(
            (learner, partner) if seat == 0 else (partner, learner),
            [
                Block(plan.source.block(plan.seed, start, size), (draws.update, block, seat))
                for block, start in zip(blocks, starts, strict=True)
                if size
            ],
            plan.rules,
            seed=plan.seed,
            reveal_partner_utilities=plan.reveal_partner_utilities,
            hints=(hints, None) if seat == 0 else (None, hints),
        )
        apart = zip(blocks, games, learner.split_blocks(games), strict=False)  # shorter where the seat has no games
        by_seat.append([SeatGames(block, seat, seat_games, seat_part) for block, seat_games, seat_part in apart])
    if not sizes[1]:
        return iter(by_seat[0])
    return (played for pair in zip(*by_seat, strict=True) for played in pair)


def _privileged_targets(
    network: PolicyNetwork, partner: Partner, plan: Practice, update: int, played: SeatGames
) -> NDArray[np.int64] | None:
    """Partner values and partner number of each game, ``[N, 4]``, as targets; None unless the plan wants them."""
    if not plan.privileged:
        return None
    other = 1 - played.seat
    utilities = played.games.scenarios.utilities[:, other]
    noise = _game_noise(plan, update, played)
    return privileged_targets(in_seat(partner, other), network.shape.members, utilities, noise)


def _exact_targets(
    network: PolicyNetwork, partner: Partner, plan: Practice, update: int, played: SeatGames
) -> tuple[TargetFunction | None, TargetFunction | None]:
    """Functions for the regret of every act and for the exact belief, NaN in games whose partner is intractable."""
    if plan.exact is None:
        return None, None
    exact, most, members = plan.exact, network.shape.max_count, network.shape.members
    utilities = played.games.scenarios.utilities[:, 1 - played.seat]
    tractable = exact.covers(partner, utilities, _game_noise(plan, update, played))

    def where_tractable(compute: Callable[[Turns], Floats], columns: int) -> TargetFunction:
        def targets(turns: Turns, games: Rows) -> Floats:
            laid = np.full((turns.size, columns), np.nan, dtype=np.float32)
            rows = np.flatnonzero(tractable[games])
            laid[rows] = compute(turns.rows(rows))
            return laid

        return targets

    losses = where_tractable(lambda turns: exact.regrets(turns, most), action_count(most))
    if not (plan.privileged and network.shape.beliefs):
        return losses, None
    return losses, where_tractable(lambda turns: exact.beliefs(turns, members), VALUES + len(members))


def _unread_labels(partner: Partner, plan: Practice, update: int, played: SeatGames) -> Bools | None:
    """The games whose partner reads no labels, ``[N]``; None where labels are learned in all games."""
    if plan.labels_from == "all":
        return None
    return ~reads_labels(in_seat(partner, 1 - played.seat), _game_noise(plan, update, played))


def _game_noise(plan: Practice, update: int, played: SeatGames) -> Doubles:
    """The noise by which the partner drew its member in each game, ``[N, 8]``."""
    return Noise(plan.seed, (update, played.block, played.seat), played.games.size).game_noise(1 - played.seat)


def refuse_unreached(games: int, valid: int, plan: Practice) -> None:
    """Raise :class:`OpponentUnreached` if too few of an update's ``games`` are ``valid``: see ``plan.unreached``."""
    if games - valid > plan.unreached * max(games, plan.games):
        raise OpponentUnreached(
            f"the opponent could not be reached in {games - valid:,} of {games:,} games of an update "
            f"({plan.unreached:.0%} may be), so a fallback played for it; nothing is learned from them"
        )
