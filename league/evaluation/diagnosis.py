"""Diagnosis of one member against one partner: the exact regret of each act, and scores of stated beliefs.

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

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, Rules
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource
from dond_marl.seats import Decisions, Doubles, Int8s, Partner, Rows, Turns, worth
from dond_marl.statistics import Estimate, mean_over_scenarios, points_of_ten, scenario_groups
from league.evaluation.matches import Witness
from partners.llm.budget import list_price
from partners.llm.cache import uncached_client
from partners.llm.client import Client
from partners.llm.diagnosis import ActValues, StatedBeliefs, belief_client, elicit_beliefs
from partners.llm.partner import LLMPartner
from partners.llm.remote.client import RemoteClient

_AGAIN = 1  # index of the second copy's noise
_BINS = 5  # of a calibration


_KEYS = {"queried": "asked", "stated": "said"}  # of the JSON document, where they differ from the fields


class ForecastBin(NamedTuple):
    """Stated probabilities in one fifth of 0..1: their number, their mean, and the share that came true."""

    number: int
    stated: float
    true: float


class StatedBeliefScores(NamedTuple):
    """Brier scores of the stated beliefs, of the exact posterior and of the prior, on the same turns."""

    queried: int
    answered: int
    brier: Estimate
    floor: Estimate
    before: Estimate
    calibration: tuple[ForecastBin, ...]


class Diagnosis(NamedTuple):
    """A member's regrets, offers and beliefs; estimates are over scenarios, points are points of ten."""

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
    believed: StatedBeliefScores | None
    note: str = ""  # reasons for unknown figures

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        made: dict[str, Any] = _json_value(self._asdict())
        return made


class _BeliefQueries:
    """The stated beliefs of a language model, turn by turn; none where the exact posterior is not known."""

    def __init__(self, player: Partner, partner: Partner) -> None:
        self.partner, self.note = partner, ""
        self.stated, self.groups = list[StatedBeliefs](), list[Rows]()
        self.client: Client | None = None
        if isinstance(player, LLMPartner):
            self.client = belief_client(player)
        else:
            self.note = "only language models state beliefs"

    def query(self, turns: Turns, partner_values: Int8s, groups: Rows) -> None:
        """Query the model, from the second turn of each seat on; ``groups`` are those of the rows' scenarios."""
        if self.client is None or turns.turns_taken < 2:
            return
        try:
            self.stated.append(elicit_beliefs(self.client, self.partner, turns, partner_values))
        except NotComputable as why:
            self.close()
            self.client, self.note = None, f"the partner's values have no exact posterior, so none was elicited: {why}"
            self.stated.clear()
        else:
            self.groups.append(groups)

    def close(self) -> None:
        """Close the connection that was opened for the queries."""
        client = None if self.client is None else uncached_client(self.client)
        if isinstance(client, RemoteClient):
            client.close()


class _Regrets:
    """The regrets of a player's acts, by game and by kind of act; none where act values are not known."""

    def __init__(self, partner: Partner, scenarios: Scenarios, rules: Rules, prior: str) -> None:
        self.scenarios, self.note = scenarios, ""
        self.by_game = np.zeros((2, scenarios.size))  # by seat
        self.by_act: dict[str, list[float]] = {}
        self.values: ActValues | None = None
        try:
            self.values = ActValues(partner, rules, prior)
        except NotComputable as why:
            self._give_up(why)

    def add(self, seat: int, turns: Turns, decisions: Decisions, rows: Rows) -> None:
        """Add the regret of each act of the games ``rows`` to its game and to its kind."""
        if self.values is None:
            return
        history, claims = turns.history.act, turns.history.oA
        try:
            for place, row in enumerate(rows.tolist()):
                state = self.values.position(self.scenarios.scenario(row), history[place], claims[place])
                act, (a, b, c) = Act(int(decisions.act_type[place])), decisions.oA[place].tolist()
                regret = self.values.regret(state, Action(act, (a, b, c)))
                self.by_game[seat, row] += regret
                self.by_act.setdefault(act.name, []).append(regret)
        except NotComputable as why:
            self._give_up(why)

    def means(self) -> dict[str, tuple[int, float]]:
        """The number and the mean regret of each kind of act."""
        if self.values is None:
            return {}
        return {name: (len(regrets), float(np.mean(regrets))) for name, regrets in sorted(self.by_act.items())}

    def _give_up(self, why: NotComputable) -> None:
        self.values, self.note = None, f"the regret of acts is not known: {why}"


class _Offers:
    """The share of its own whole that each offer of a player keeps, by number of own turns before it."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.by_turn: dict[int, list[Doubles]] = {}  # [K] for each seat, nan without an offer

    def add(self, turns: Turns, decisions: Decisions, rows: Rows) -> None:
        """Add the offers of the games ``rows``."""
        kept, offered = np.full(self.size, np.nan), decisions.act_type <= Act.INSIST
        whole = np.maximum(worth(turns.my_utilities, turns.counts), 1)
        kept[rows[offered]] = (worth(turns.my_utilities, decisions.oA) / whole)[offered]
        self.by_turn.setdefault(turns.turns_taken // 2, []).append(kept)

    def means(self, groups: Rows, confidence: float) -> tuple[tuple[int, Estimate], ...]:
        """The mean share by own turn."""
        turns = sorted(self.by_turn.items())
        return tuple((number, _mean_of_known(shares, groups, confidence)) for number, shares in turns)


def diagnose(
    member: Spec | Partner,
    against: Spec | Partner,
    source: ScenarioSource,
    scenarios: Scenarios,
    rules: Rules = Rules(),
    *,
    seed: int = 0,
    confidence: float = 0.95,
    beliefs: bool = False,
    player: Partner | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Play ``member`` in both seats of ``scenarios``, twice, and score its acts and, with ``beliefs``, its beliefs.

    Parameters
    ----------
    member, against : the occupants; only ``member`` is diagnosed.
    source : gives the prior of the partner's values.
    scenarios : K scenarios, each played in both seats.
    confidence : of all intervals, two-sided, in (0, 1).
    beliefs : query a language model for the partner's values.
    player : ``member``, where it is seated already and its budget is counted.
    report : receives progress messages.

    Unknown figures are explained in the ``note``. Raises what :func:`dond_marl.rollout.rollout` does.
    """
    player, partner = seat_occupant(member) if player is None else player, seat_occupant(against)
    groups, before = scenario_groups(scenarios), _usage_counts(player)
    report("each act is compared with the best one")
    regrets, offers = _Regrets(partner, scenarios, rules, source.prior), _Offers(scenarios.size)
    queries = _BeliefQueries(player, partner) if beliefs else None

    def points_of(witness: Partner, index: tuple[int, ...]) -> Doubles:
        """The points of ten of ``witness`` in seat ``index[0]``, ``[K]``, and the lengths of its games."""
        pair = (witness, partner) if index[0] == 0 else (partner, witness)
        games.append(rollout(pair, scenarios, rules, seed=seed, index=index, prior=source.prior))
        return points_of_ten(games[-1].scores, scenarios.pool_values)[:, index[0]]

    games, own = list[Any](), list[Doubles]()
    for seat in (0, 1):
        witness = Witness(player)
        own.append(points_of(witness, (seat,)))
        for turns, decisions in zip(witness.turns, witness.decisions, strict=True):
            rows = np.flatnonzero(games[-1].turns > turns.turns_taken)
            offers.add(turns, decisions, rows)
            regrets.add(seat, turns, decisions, rows)
            if queries is not None:
                queries.query(turns, scenarios.utilities[rows, 1 - seat], groups[rows])
    spent = {name: number - before.get(name, 0) for name, number in _usage_counts(player).items()}
    if queries is not None:
        queries.close()
    # The same occupant with other noise is a second copy: it has no memory of games, and both share one budget.
    again = [points_of(player, (seat, _AGAIN)) for seat in (0, 1)]
    points = mean_over_scenarios(np.stack(own), groups, confidence)
    lost = None if regrets.values is None else mean_over_scenarios(regrets.by_game, groups, confidence)
    stated = queries is not None and bool(queries.stated)
    return Diagnosis(
        member=member if isinstance(member, str) else repr(member),
        against=against if isinstance(against, str) else repr(against),
        games=2 * scenarios.size,
        points=points,
        lost=lost,
        share=math.nan if lost is None else points.mean / max(points.mean + lost.mean, 1e-9),
        by_act=regrets.means(),
        demanded=offers.means(groups, confidence),
        noise=mean_over_scenarios(np.stack(again) - np.stack(own), groups, confidence),
        answers=_usage_per_game(spent, player, 2 * scenarios.size),
        believed=_score_stated_beliefs(queries.stated, np.concatenate(queries.groups), confidence)
        if queries is not None and stated
        else None,
        note="; ".join(filter(None, (regrets.note, "" if queries is None else queries.note))),
    )


def _mean_of_known(values: list[Doubles], groups: Rows, confidence: float) -> Estimate:
    cells = np.stack(values)
    return mean_over_scenarios(np.nan_to_num(cells), groups, confidence, (~np.isnan(cells)).astype(np.float64))


def _usage_counts(player: Partner) -> dict[str, int]:
    """The usage counts of a language model so far."""
    if not isinstance(player, LLMPartner):
        return {}
    client = uncached_client(player.client)
    cached = {name: times for name, times in player.client.tally.items() if name == "cache_hits"}
    return {**dict(client.tally), **cached, **dict(player.tally)}


def _usage_per_game(spent: Mapping[str, float], player: Partner, games: int) -> dict[str, float]:
    if not isinstance(player, LLMPartner):
        return {}
    prompt, completion = spent.get("prompt_tokens", 0), spent.get("completion_tokens", 0)
    client, usd = uncached_client(player.client), 0.0
    if isinstance(client, RemoteClient):
        settings, known = client.settings, list_price(client.settings.url, client.settings.name)
        first, second = settings.prompt_price, settings.completion_price
        if first is None and second is None and known is not None:
            first, second = known.price.prompt, known.price.completion
        usd = (
            math.nan if first is None and second is None else (prompt * (first or 0) + completion * (second or 0)) / 1e6
        )
    if spent.get("cache_hits", 0):  # usage of cached replies is not counted
        prompt = completion = usd = math.nan
    decisions = max(spent.get("decisions", 0), 1)
    return {
        "decisions": spent.get("decisions", 0) / games,
        "re_asks": spent.get("re_asked", 0) / games,
        "prompt_tokens": prompt / games,
        "completion_tokens": completion / games,
        "dollars": usd / games,
        "legal": spent.get("free", 0) / decisions,
    }


def _score_stated_beliefs(parts: list[StatedBeliefs], groups: Rows, confidence: float) -> StatedBeliefScores:
    whole = StatedBeliefs(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    valid = ~np.isnan(whole.stated).any(axis=1)
    some = StatedBeliefs(*(each[valid] for each in whole))
    scores = some.brier()
    stated, floor, before = (mean_over_scenarios(score, groups[valid], confidence) for score in scores)
    which = np.minimum((some.stated * _BINS).astype(int), _BINS - 1).reshape(-1)
    number = np.bincount(which, minlength=_BINS)
    sums = [
        np.bincount(which, values.reshape(-1), _BINS) / np.maximum(number, 1) for values in (some.stated, some.truth)
    ]
    bins = tuple(ForecastBin(int(n), float(p), float(t)) for n, p, t in zip(number, *sums, strict=True))
    return StatedBeliefScores(len(whole.stated), int(valid.sum()), stated, floor, before, bins)


def _json_value(value: Any) -> Any:
    """``value`` as plain JSON values; ``None`` for unknown numbers."""
    if hasattr(value, "_asdict"):
        return {_KEYS.get(name, name): _json_value(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _json_value(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_json_value(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
