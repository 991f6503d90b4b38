"""Who is it, and what does it want: what a member believes of its partners, beside exact beliefs on the same turns.

Every member of the crowd is equally likely and plays every scenario once in each seat. On each own turn of the member
that is measured the history so far fixes an exact belief (:mod:`dond_marl.yardsticks.recognition`): nobody names the
partner more often than by its likeliest member, and nobody's expected Brier score is lower than that of the exact
belief about the values. Both are means over the same turns as the member's own figures; games that have ended have
none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dond_marl.game import Rules
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Bools, Doubles, Partner, Rows, Turns
from dond_marl.yardsticks.beliefs import partner_beliefs
from dond_marl.yardsticks.recognition import Believes, Guess, Recognition, certain_values, recognized, values_in
from league.bench.recognition.games import Asked, asked, together

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
            by_turn.setdefault(each.turns.taken // 2, []).append((number, each))
    found: dict[str, list[ByTurn]] = {name: [] for name in slices}
    for own, parts in sorted(by_turn.items()):
        turns = together([each.turns for _, each in parts])
        true = np.concatenate([np.full(each.turns.size, number) for number, each in parts])
        scenario = np.concatenate([each.scenario for _, each in parts])
        guess = player.beliefs(turns) if isinstance(player, Believes) else None
        forecasts = _forecasts(crowd, turns, recognized(partners, turns), guess, true)
        truth = certain_values(scenarios.utilities[scenario, 1 - seat])
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
                who[:, number] = guess.who[:, guess.members.index(name)]
        right = (who.argmax(axis=1) == true) & (who.max(axis=1) >= 0)
    prior = values_in(partner_beliefs(turns))
    return _Forecasts(exact.who.max(axis=1), exact.values, prior, right, None if guess is None else guess.values)


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
