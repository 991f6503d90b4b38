"""Who is it, and what does it want: what a member believes of its partners, beside exact beliefs on the same turns.

Every member of the crowd is equally likely and plays every scenario once in each seat. On each own turn of the member
that is measured the history so far fixes an exact belief (:mod:`dond_marl.yardsticks.recognition`): nobody names the
partner more often than by its likeliest member, and nobody's expected Brier score is lower than that of the exact
belief about the values. Both are means over the same turns as the member's own figures; games that have ended have
none.

Games of one member with a crowd, kept as the turns on which it was asked.

How soon a member plays the best reply to a crowd: what each of its own turns loses, exact.

The best reply knows the programs of all members, but not which of them it faces (:mod:`league.bench.crowd`). What an
act loses is what the best reply would earn from here on less what it would earn after that act, given what the history
tells. These losses, summed over a game's own turns, are in expectation what the whole policy earns less than the best
reply (Kakade, Langford 2002, *Approximately optimal approximate reinforcement learning*, lemma 6.1), so that they say
when it is lost: before anything was heard, or after one, two, three answers. Members that gamble from act to act or
remember are not in the crowd.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dond_marl.game import Act, Rules
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Decisions, Doubles, History, Partner, Rows, Turns
from dond_marl.yardsticks.adaptive import Adaptive, Pool
from dond_marl.yardsticks.automata import personas_of
from dond_marl.yardsticks.beliefs import partner_beliefs
from dond_marl.yardsticks.contexts import Index, contexts_in, distinct_views
from dond_marl.yardsticks.recognition import Believes, Guess, Recognition, one_hot_values, recognize, value_marginals
from league.bench.protocol import NOISE_SEED
from league.bench.run import noise_index
from league.evaluation.matches import Witness
from partners.mixture import Mixture

PRIOR = "lewis"
NOT_BY_ROW = ("rules", "prior", "history")  # fields of Turns


class Asked(NamedTuple):
    """What a member was asked on one of its turns, in the games that had not ended, and what it said."""

    scenario: Rows  # [B] the number of each row's scenario
    turns: Turns
    said: Decisions


def asked(player: Partner, seat: int, partner: Partner, name: str, scenarios: Scenarios, rules: Rules) -> list[Asked]:
    """All that ``player`` in ``seat`` is asked in a game over each scenario with ``partner``.

    The partner's ``name`` fixes the luck of the games, as in the benchmark.
    """
    witness = Witness(player)
    pair = (witness, partner) if seat == 0 else (partner, witness)
    games = rollout(pair, scenarios, rules, seed=NOISE_SEED, index=(noise_index(name),), prior=PRIOR)
    return [
        Asked(np.flatnonzero(games.turns > turns.turns_taken), turns, said)
        for turns, said in zip(witness.turns, witness.said, strict=True)
    ]


def together(parts: Sequence[Turns]) -> Turns:
    """The rows of several batches, all on the same turn of games under the same rules, one after the other."""
    acts = np.concatenate([part.history.act for part in parts])
    offers = np.concatenate([part.history.oA for part in parts])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Turns._fields
        if name not in NOT_BY_ROW
    }
    history = History(
        np.ascontiguousarray(acts.T), np.ascontiguousarray(offers.transpose(1, 2, 0)), parts[0].turns_taken
    )
    return parts[0]._replace(history=history, **columns)


BLOCK = 1 << 11  # beliefs that are looked at together


class Lost(NamedTuple):
    """What one own turn of a member loses."""

    own: int  # own turns before it
    asked: float  # share of the games that go on for so long
    points: float  # of ten, per game of all
    exact: bool  # otherwise at most so many: the best reply is told whom it faces where beliefs are too many


def lost_by_turn(
    player: Partner, crowd: Sequence[str], partners: Sequence[Partner], seat: int, space: Scenarios, rules: Rules
) -> list[Lost]:
    """What ``player`` in ``seat`` loses to the best reply to ``partners``, which are equally likely, by own turn.

    Each scenario of ``space`` is played with each persona of each; exact for a player that is deterministic. No turns
    where there are no partners. Raises ``ValueError`` for partners that are not made of deterministic minds.
    """
    if not partners:
        return []
    by_turn: dict[int, list[tuple[float, Asked]]] = {}
    for name, partner in zip(crowd, partners, strict=True):
        for persona in personas_of(partner) or ():
            for each in asked(player, seat, persona.partner, name, space, rules):
                by_turn.setdefault(each.turns.turns_taken, []).append((persona.chance / len(partners), each))
    points, share, exact = dict.fromkeys(by_turn, 0.0), dict.fromkeys(by_turn, 0.0), True
    _, pool_of = distinct_views(space.counts, np.zeros_like(space.counts))
    for number in range(int(pool_of.max(initial=-1)) + 1):
        rows = np.flatnonzero(pool_of == number)
        table = Scenarios(*(array[rows] for array in space))
        contexts = contexts_in(table, seat)
        pool = Adaptive(Mixture(partners), contexts, seat, rules, PRIOR).pool(0)
        exact &= pool.exact
        context = np.zeros(space.size, dtype=np.int64)
        context[rows] = distinct_views(table.counts, table.utilities[:, seat])[1]
        for taken, parts in by_turn.items():
            chosen = [np.flatnonzero(pool_of[each.scenario] == number) for _, each in parts]
            some = [(chance, each, at) for (chance, each), at in zip(parts, chosen, strict=True) if len(at)]
            if some:
                weight = np.concatenate([np.full(len(at), chance) for chance, _, at in some]) / space.size
                loss = _losses(pool, [(each, at) for _, each, at in some], context)
                points[taken] += float(weight @ loss)
                share[taken] += float(weight.sum())
    return [Lost(taken // 2, share[taken], points[taken], exact) for taken in sorted(by_turn)]


def _losses(pool: Pool, parts: Sequence[tuple[Asked, Index]], context: Index) -> Doubles:
    """What each row's act loses, ``[R]`` points of ten."""
    turns = together([each.turns.rows(at) for each, at in parts])
    act = np.concatenate([each.said.act_type[at] for each, at in parts]).astype(np.int64)
    oA = np.concatenate([each.said.oA[at] for each, at in parts])
    of = np.concatenate([context[each.scenario[at]] for each, at in parts])
    n, left = pool.automaton.width, turns.rules.max_turns - turns.turns_taken
    said = np.where(act <= Act.INSIST, act * n + oA @ pool.automaton.strides, 2 * n + act - Act.AGREE)
    acts, offers = turns.history.act, turns.history.oA
    columns = np.column_stack([of, said, acts, offers.reshape(len(of), -1)])
    _, first, which = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    loss = np.empty(len(first))
    for begin in range(0, len(first), BLOCK):
        rows = first[begin : begin + BLOCK]
        belief = pool.beliefs_after(of[rows], acts[rows], offers[rows])
        agree, claims = pool.act_values(belief, left)
        best = np.maximum(np.maximum(agree, 0.0), claims.max(axis=1))
        agreed = np.maximum(agree, 0.0)
        closes = np.zeros(len(rows), dtype=bool)  # the seat's claim, as it stands after its act, is what is offered
        if turns.turns_taken:
            mine = np.where((act[rows] <= Act.INSIST)[:, None], oA[rows], offers[rows, max(turns.turns_taken - 2, 0)])
            closes = (mine == turns.counts[rows] - offers[rows, -1]).all(axis=1)
            closes &= (act[rows] <= Act.INSIST) | (turns.turns_taken > 1)
        worth = claims[np.arange(len(rows)), said[rows] % pool.automaton.claims]
        final = (act[rows] == Act.END) | (left == 1)
        worth = np.where(final, agreed * closes, worth)
        worth = np.where(act[rows] == Act.AGREE, agreed, np.where(act[rows] == Act.DISAGREE, 0.0, worth))
        chance = np.bincount(belief.row, pool.probabilities(belief, left), belief.size)
        loss[begin : begin + BLOCK] = (best - worth) / chance
    return loss[which.reshape(-1)]


APART = 0.9  # an exact belief at least so sure of one member: behaviour has told it from the others
BINS = 10  # of a calibration: 0-10 %, ..., 90-100 % said to be probable


class Bin(NamedTuple):
    """Of all values of items that were said to be about so probable: how many, how probable, and how many were true."""

    number: int
    said: float  # mean probability
    true: float  # share


class ByTurn(NamedTuple):
    """What was believed after ``own`` own turns, over the games that went on for so long. ``None``: it did not say."""

    own: int
    games: int
    # Share of games in which the likeliest member was the partner; one of the crowd whom it does not know counts
    # as wrong. A league's network knows members by their names there; where it shares none, it says nothing.
    right: float | None
    right_exact: float  # the same of exact beliefs, expected: the mean probability of the likeliest
    apart: int  # games in which the exact belief is at least APART sure
    right_apart: float | None
    right_apart_exact: float | None
    brier: float | None  # mean over items and games, 0 best, 2 worst (Brier 1950)
    brier_exact: float  # expected
    brier_prior: float  # of the belief before the game
    calibration: tuple[Bin, ...]  # of what the member said of values


def believed(
    player: Partner,
    crowd: Sequence[str],
    partners: Sequence[Partner],
    seat: int,
    scenarios: Scenarios,
    rules: Rules,
    slices: Mapping[str, Bools],
) -> dict[str, list[ByTurn]]:
    """What ``player`` in ``seat`` believes of ``partners``, which have the names ``crowd``, by own turn.

    ``slices``: which of ``scenarios`` count, ``[N]``; the figures are given for each slice.
    """
    by_turn: dict[int, list[tuple[int, Asked]]] = {}
    for number, (name, partner) in enumerate(zip(crowd, partners, strict=True)):
        for each in asked(player, seat, partner, name, scenarios, rules):
            by_turn.setdefault(each.turns.turns_taken // 2, []).append((number, each))
    found: dict[str, list[ByTurn]] = {name: [] for name in slices}
    for own, parts in sorted(by_turn.items()):
        turns = together([each.turns for _, each in parts])
        true = np.concatenate([np.full(each.turns.size, number) for number, each in parts])
        scenario = np.concatenate([each.scenario for _, each in parts])
        guess = player.beliefs(turns) if isinstance(player, Believes) else None
        forecasts = _forecasts(crowd, turns, recognize(partners, turns), guess, true)
        truth = one_hot_values(scenarios.utilities[scenario, 1 - seat])
        for name, chosen in slices.items():
            if (rows := np.flatnonzero(chosen[scenario])).size:
                found[name].append(_scored(own, forecasts.rows(rows), truth[rows]))
    return found


class _Forecasts(NamedTuple):
    """What was believed in B games, and by whom; ``None`` where nothing was said of it."""

    surest: Doubles  # [B] the probability of the likeliest member, exact
    exact: Doubles  # [B, 3, 11]
    prior: Doubles  # [B, 3, 11]
    right: Bools | None  # [B]
    said: Doubles | None  # [B, 3, 11]

    def rows(self, rows: Rows) -> _Forecasts:
        return _Forecasts(*(None if each is None else each[rows] for each in self))  # type: ignore[arg-type]


def _forecasts(crowd: Sequence[str], turns: Turns, exact: Recognition, guess: Guess | None, true: Rows) -> _Forecasts:
    right = None
    if guess is not None and set(crowd) & set(guess.members):
        who = np.full((turns.size, len(crowd)), -1.0)  # of the crowd alone: others that it knows do not sit here
        for number, name in enumerate(crowd):
            if name in guess.members:
                who[:, number] = guess.identity[:, guess.members.index(name)]
        right = (who.argmax(axis=1) == true) & (who.max(axis=1) >= 0)
    prior = value_marginals(partner_beliefs(turns))
    return _Forecasts(exact.identity.max(axis=1), exact.values, prior, right, None if guess is None else guess.values)


def _scored(own: int, of: _Forecasts, truth: Doubles) -> ByTurn:
    apart = of.surest >= APART
    return ByTurn(
        own,
        len(truth),
        None if of.right is None else float(of.right.mean()),
        float(of.surest.mean()),
        int(apart.sum()),
        None if of.right is None or not apart.any() else float(of.right[apart].mean()),
        float(of.surest[apart].mean()) if apart.any() else None,
        None if of.said is None else _brier(of.said, truth),
        float((1 - (of.exact**2).sum(axis=2)).mean()),
        _brier(of.prior, truth),
        () if of.said is None else calibration(of.said, truth),
    )


def _brier(said: Doubles, truth: Doubles) -> float:
    return float(((said - truth) ** 2).sum(axis=2).mean())


def calibration(said: Doubles, truth: Doubles) -> tuple[Bin, ...]:
    """Probabilities beside how often they came true; both ``[B, 3, 11]``, each entry a forecast. Empty bins too."""
    which = np.minimum((said * BINS).astype(np.int64), BINS - 1).reshape(-1)
    number = np.bincount(which, minlength=BINS)
    sums = (np.bincount(which, of.reshape(-1), BINS) / np.maximum(number, 1) for of in (said, truth))
    return tuple(Bin(int(n), float(p), float(t)) for n, p, t in zip(number, *sums, strict=True))
