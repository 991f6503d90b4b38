"""Diagnosis of one member against one partner: the exact regret of each act.

Where the partner's policy is known, every act has an exact value with the best response from there on. The regrets of a
game sum in expectation to the difference between the best response and the member (Kakade, Langford 2002, lemma 6.1).
The same games are played again by a second copy of the member with other noise: differences between members that are
smaller than between two copies mean nothing (the null variant of Kaggle's Game Arena). K games.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dond_marl.batch import Games
from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import Spec, occupant_name, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios
from dond_marl.seats import Decisions, Doubles, Partner, Rows, Turns, worth
from dond_marl.statistics import Estimate, points_of_ten, scenario_groups
from league.evaluation.matches import Witness
from league.figures.rows import plain_values
from league.figures.tally import Tally
from league.play.occupant_kinds import IN_GAMES_ONLY, is_free
from partners.best_response import ActValues
from partners.llm.cache import uncached_client
from partners.llm.partner import LLMPartner
from partners.llm.remote.client import RemoteClient

_AGAIN = 1  # index of the second copy's noise


class Diagnosis(NamedTuple):
    """A member's regrets and offers; estimates are over scenarios, points are points of ten."""

    member: str
    against: str
    games: int
    points: Estimate
    lost: Estimate | None  # regret summed over a game; None where the partner's policy is not known
    share: float  # points / (points + lost): share of the best response; nan where unknown
    by_act: Mapping[str, tuple[int, float]]  # number and mean regret of each kind of act
    demanded: tuple[tuple[int, Estimate], ...]  # by own turn: the share of its own whole that an offer keeps
    noise: Estimate  # points of a second copy - its own, on the same scenarios
    answers: Mapping[str, float]  # per game: decisions, re-asks, tokens, dollars (nan with a cache); legal is a share
    note: str = ""  # reasons for unknown figures

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        document: dict[str, Any] = plain_values(self)
        return document


class _OwnTurns(NamedTuple):
    """One turn of the diagnosed player in all games of one seat that got so far."""

    seat: int
    turns: Turns
    decisions: Decisions
    rows: Rows  # numbers of the games' scenarios


def diagnose(
    member: Spec | Partner,
    against: Spec | Partner,
    scenarios: Scenarios,
    rules: Rules = Rules(),
    *,
    seed: int = 0,
    confidence: float = 0.95,
    name: str | None = None,
    exact: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Play ``member`` in both seats of ``scenarios``, twice, and score its acts.

    Parameters
    ----------
    member, against : the occupants; only ``member`` is diagnosed.
    scenarios : K scenarios, each played in both seats.
    confidence : of all intervals, two-sided, in (0, 1).
    name : of the member, instead of its spec.
    exact : also query code of others beyond its games, for the regrets.
    report : receives progress messages.

    Unknown figures are explained in the ``note``. Raises what :func:`dond_marl.rollout.rollout` does.
    """
    player, partner = seat_occupant(member), seat_occupant(against)
    groups, before = scenario_groups(scenarios), _usage_counts(player)
    own_turns, first = list[_OwnTurns](), []
    for seat in (0, 1):
        witness = Witness(player)
        games = _play_seat(seat, witness, partner, scenarios, rules, seed)
        first.append(_points(games, seat))
        for turns, decisions in zip(witness.turns, witness.decisions, strict=True):
            own_turns.append(_OwnTurns(seat, turns, decisions, np.flatnonzero(games.turns > turns.turns_taken)))
    report("each act is compared with the best one")
    note, by_game, by_act = "", None, dict[str, list[float]]()
    try:
        if not (exact or is_free(partner)):
            raise NotComputable(IN_GAMES_ONLY)
        by_game, by_act = _regrets(own_turns, partner, scenarios, rules)
    except NotComputable as error:
        note = f"the regret of acts is not known: {error}"
    usage = _usage_per_game(before, player, 2 * scenarios.size)
    # The same occupant with other noise is a second copy: it has no memory of games, and both share one budget.
    again = [_points(_play_seat(seat, player, partner, scenarios, rules, seed, _AGAIN), seat) for seat in (0, 1)]
    points = Tally.of(np.stack(first), groups)  # [2, GROUPS] by seat, as all tallies here
    mean, lost = points.mean(confidence), None if by_game is None else Tally.of(by_game, groups).mean(confidence)
    return Diagnosis(
        member=name or occupant_name(member),
        against=occupant_name(against),
        games=2 * scenarios.size,
        points=mean,
        lost=lost,
        share=math.nan if lost is None else mean.mean / max(mean.mean + lost.mean, 1e-9),
        by_act={name: (len(regrets), float(np.mean(regrets))) for name, regrets in sorted(by_act.items())},
        demanded=_demands(own_turns, groups, confidence),
        noise=(Tally.of(np.stack(again), groups) - points).mean(confidence),
        answers=usage,
        note=note,
    )


def _play_seat(
    seat: int, player: Partner, partner: Partner, scenarios: Scenarios, rules: Rules, seed: int, *index: int
) -> Games:
    pair = (player, partner) if seat == 0 else (partner, player)
    return rollout(pair, scenarios, rules, seed=seed, index=(seat, *index))


def _points(games: Games, seat: int) -> Doubles:
    return points_of_ten(games.scores, games.scenarios.pool_values)[:, seat]


def _regrets(
    own_turns: list[_OwnTurns], partner: Partner, scenarios: Scenarios, rules: Rules
) -> tuple[Doubles, dict[str, list[float]]]:
    """The regrets of all acts: summed by seat and game, ``[2, K]``, and by kind of act. Raises ``NotComputable``."""
    values, by_act = ActValues(partner, rules, scenarios.prior), dict[str, list[float]]()
    by_game = np.zeros((2, scenarios.size))
    for seat, turns, decisions, rows in own_turns:
        for i, row in enumerate(rows.tolist()):
            state = values.position(scenarios.scenario(row), turns.history.act[i], turns.history.oA[i])
            act, (a, b, c) = Act(int(decisions.act_type[i])), decisions.oA[i].tolist()
            regret = values.regret(state, Action(act, (a, b, c)))
            by_game[seat, row] += regret
            by_act.setdefault(act.name, []).append(regret)
    return by_game, by_act


def _demands(own_turns: list[_OwnTurns], groups: Rows, confidence: float) -> tuple[tuple[int, Estimate], ...]:
    """The mean share of its own whole that the player's offers keep, by number of own turns before them."""
    by_turn: dict[int, list[Doubles]] = {}  # [K] for each seat, nan without an offer
    for _, turns, decisions, rows in own_turns:
        demanded, offered = np.full(len(groups), np.nan), decisions.act_type <= Act.INSIST
        pool = np.maximum(worth(turns.my_utilities, turns.counts), 1)
        demanded[rows[offered]] = (worth(turns.my_utilities, decisions.oA) / pool)[offered]
        by_turn.setdefault(turns.turns_taken // 2, []).append(demanded)
    return tuple(
        (turn, Tally.of(np.stack(shares), groups).mean(confidence)) for turn, shares in sorted(by_turn.items())
    )


def _usage_counts(player: Partner) -> dict[str, int]:
    """The usage counts of a language model so far."""
    if not isinstance(player, LLMPartner):
        return {}
    client = uncached_client(player.client)
    cached = {name: times for name, times in player.client.tally.items() if name == "cache_hits"}
    return {**dict(client.tally), **cached, **dict(player.tally)}


def _usage_per_game(before: Mapping[str, int], player: Partner, games: int) -> dict[str, float]:
    """The usage of a language model since the counts ``before``, per game."""
    if not isinstance(player, LLMPartner):
        return {}
    spent = {name: count - before.get(name, 0) for name, count in _usage_counts(player).items()}
    prompt, completion = spent.get("prompt_tokens", 0), spent.get("completion_tokens", 0)
    client, usd, cached = uncached_client(player.client), 0.0, spent.get("cache_hits", 0) > 0
    if isinstance(client, RemoteClient):
        settings = client.settings
        stated = settings.prompt_price is not None or settings.completion_price is not None
        usd = settings.cost(prompt, completion).usd if stated else math.nan
    decisions = max(spent.get("decisions", 0), 1)
    return {
        "decisions": spent.get("decisions", 0) / games,
        "re_asks": spent.get("re_asked", 0) / games,
        "prompt_tokens": math.nan if cached else prompt / games,  # usage of cached replies is not counted
        "completion_tokens": math.nan if cached else completion / games,
        "dollars": math.nan if cached else usd / games,
        "legal": spent.get("free", 0) / decisions,
    }
