"""Playing to learn: whole blocks of games from both seats against opponents, until there is enough to learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import RunFailure
from dond_marl.game import Rules
from dond_marl.randomness import generator
from dond_marl.rollout import Block, Noise, rollout_blocks
from dond_marl.scenarios.sources import ScenarioSource
from dond_marl.seats import Doubles, Floats, Partner, Rows, Turns, Whisper, costs_to_ask
from dond_marl.splits import action_count
from dond_marl.yardsticks.metrics import TEN, points_of_ten
from partners.learning.exact_reply import VALUES, ExactReply
from partners.learning.experience import Exactly, Experience, LearningSeat, joined
from partners.learning.rewards import Own, Reward, for_seat
from partners.learning.told import told
from partners.mixture import in_seat
from partners.network.network import PolicyNetwork

SPARE = 0.25  # of a block: how much of the last one must seem to be needed before it is played beside the others


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
    told: bool = False  # whether learning is told the partner's values and who it was
    exact: ExactReply | None = None  # by which learning is told what every act loses
    likeliest: float = 0.0  # share of the blocks, 0..1, in which the network plays its likeliest acts
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
    own_turns: float = 0.0,
) -> tuple[Experience, Score]:
    """The experience of one update, a function of the network, the plan and the two counters.

    Each block is played against one opponent, drawn by its share. ``games_before``: the place of the update's first
    scenario in their endless sequence. Nothing is learned from a game in which the opponent could not be reached.
    ``own_turns``: about how many own decisions a game has, 0 where nobody knows. It changes nothing but the time that
    it takes: blocks that will be needed anyway are then played side by side. Raises :class:`OpponentUnreached` where
    they are more than the plan lets pass.
    """
    shares = np.array([opponent.share for opponent in opponents])
    parts: list[Experience] = []
    points, paid, deals, turns, block, decisions = 0.0, 0.0, 0, 0, 0, 0
    games_played, counted = 0, 0

    def who(block: int) -> int:
        return int(generator(plan.seed, "opponents", update, block).choice(len(opponents), p=shares / shares.sum()))

    def greedy(block: int) -> bool:
        return bool(plan.likeliest) and generator(plan.seed, "likeliest", update, block).random() < plan.likeliest

    while decisions < plan.decisions:
        chosen, last = who(block), block + 1
        likeliest = greedy(block)
        partner = opponents[chosen].partner
        if whisper is None and not costs_to_ask(partner.traits):  # who costs nothing may answer in vain
            needed = (plan.decisions - decisions) / (plan.games * own_turns) - SPARE if own_turns else 0.0
            while last < block + needed and who(last) == chosen and greedy(last) == likeliest:
                last += 1
        first = games_before + games_played
        for leg in _legs(network, partner, plan, update, range(block, last), first, whisper, likeliest):
            if leg.seat == 0 and decisions >= plan.decisions:
                break  # fewer blocks were enough
            games = leg.games
            earned = points_of_ten(games.scores, games.scenarios.wholes)
            rewards = for_seat(plan.reward, leg.seat)(games, earned, games.scenarios)
            told_of = _told(network, partner, plan, update, leg)
            part = leg.learner.experience(games, rewards / TEN, told_of, *_exactly(network, partner, plan, update, leg))
            if part is not None:
                parts.append(part)
                decisions += part.size
            heard = games.counted
            games_played += games.size
            counted += int(heard.sum())
            points += float(earned[heard, leg.seat].sum())
            paid += float(rewards[heard, leg.seat].sum())
            deals += int(games.deal[heard].sum())
            turns += int(games.turns[heard].sum(dtype=np.int64))
            refuse_unreached(games_played, counted, plan)
        block = last
    totals = (points, deals, turns, paid)
    return joined(parts), Score(games_played, *(total / counted for total in totals))


class _Leg(NamedTuple):
    """The games of a block in which the learner has one of the seats."""

    block: int
    seat: int
    games: Games
    learner: LearningSeat


def _legs(
    network: PolicyNetwork,
    partner: Partner,
    plan: Practice,
    update: int,
    blocks: range,
    games_before: int,
    whisper: Whisper | None,
    likeliest: bool,
) -> Iterator[_Leg]:
    """Blocks in their order, of each first the games in which the learner opens; all of a seat are played at once."""
    sizes = (plan.games - plan.games // 2, plan.games // 2)
    of_seat: list[list[_Leg]] = []
    for seat, size in enumerate(sizes):
        learner = LearningSeat(network, greedy=likeliest)
        starts = [games_before + place * plan.games + seat * sizes[0] for place in range(len(blocks))]
        games = rollout_blocks(
            (learner, partner) if seat == 0 else (partner, learner),
            [
                Block(plan.source.block(plan.seed, start, size), (update, block, seat))
                for block, start in zip(blocks, starts, strict=True)
                if size
            ],
            plan.rules,
            seed=plan.seed,
            prior=plan.source.prior,
            reveal_partner_utilities=plan.reveal_partner_utilities,
            whispers=(whisper, None) if seat == 0 else (None, whisper),
        )
        apart = zip(blocks, games, learner.apart(games), strict=False)  # no games where a seat has none
        of_seat.append([_Leg(block, seat, some, own) for block, some, own in apart])
    if not sizes[1]:
        return iter(of_seat[0])
    return (leg for legs in zip(*of_seat, strict=True) for leg in legs)


def _told(network: PolicyNetwork, partner: Partner, plan: Practice, update: int, leg: _Leg) -> NDArray[np.int64] | None:
    """What learning alone is told of a leg's games, ``[N, 4]``; None where the plan says nothing of that."""
    if not plan.told:
        return None
    theirs = leg.games.scenarios.utilities[:, 1 - leg.seat]
    who = in_seat(partner, 1 - leg.seat)
    return told(who, network.shape.members, theirs, _game_noise(plan, update, leg))


def _exactly(
    network: PolicyNetwork, partner: Partner, plan: Practice, update: int, leg: _Leg
) -> tuple[Exactly | None, Exactly | None]:
    """What says what every act of a leg's games loses and what to believe, where who sat opposite can be followed."""
    if plan.exact is None:
        return None, None
    exact, most, members = plan.exact, network.shape.max_count, network.shape.members
    met = exact.meets(partner, leg.games.scenarios.utilities[:, 1 - leg.seat], _game_noise(plan, update, leg))

    def where_met(found: Callable[[Turns], Floats], columns: int) -> Exactly:
        def known(turns: Turns, games: Rows) -> Floats:
            laid = np.full((turns.size, columns), np.nan, dtype=np.float32)
            rows = np.flatnonzero(met[games])
            laid[rows] = found(turns.rows(rows))
            return laid

        return known

    losses = where_met(lambda turns: exact.losses(turns, most), action_count(most))
    if not (plan.told and network.shape.beliefs):
        return losses, None
    return losses, where_met(lambda turns: exact.beliefs(turns, members), VALUES + len(members))


def _game_noise(plan: Practice, update: int, leg: _Leg) -> Doubles:
    """By what the partner of a leg drew for each game, ``[N, 8]``."""
    return Noise(plan.seed, (update, leg.block, leg.seat), leg.games.size).of_game(1 - leg.seat)


def refuse_unreached(games: int, counted: int, plan: Practice) -> None:
    """Raise :class:`OpponentUnreached` if of the ``games`` of an update fewer are ``counted`` than the plan demands."""
    if games - counted > plan.unreached * max(games, plan.games):
        raise OpponentUnreached(
            f"the opponent could not be reached in {games - counted:,} of {games:,} games of an update "
            f"({plan.unreached:.0%} may be), so a fallback played for it; nothing is learned from them"
        )
