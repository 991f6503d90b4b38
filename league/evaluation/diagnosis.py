"""A diagnosis of one member against one partner, by the truth: what each act lost, and what was believed.

Where the partner's answers are known, every act has an exact worth, the best response's from there on; what acts lose,
summed over a game, is in expectation what the member earns less than the best response (Kakade, Langford 2002, lemma
6.1). The same games are played once more by a second copy of the member with luck of its own: two copies of one prompt
differ by that much, and less between two members means nothing (the null variant of Kaggle's Game Arena). K games.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

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

_AGAIN = 1  # the index of the second copy's luck
_BINS = 5  # of a calibration


class Bin(NamedTuple):
    """Of all probabilities that were said in one fifth of 0..1: how many, their mean, and the share that was true."""

    number: int
    said: float
    true: float


class StatedBeliefScores(NamedTuple):
    """Brier scores of what was said, of the exact posterior and of the prior, on the same turns."""

    asked: int
    answered: int
    brier: Estimate
    floor: Estimate
    before: Estimate
    calibration: tuple[Bin, ...]


class Diagnosis(NamedTuple):
    """All estimates are over scenarios; points are points of ten."""

    member: str
    against: str
    games: int
    points: Estimate
    lost: Estimate | None  # by all acts of a game together; None where the partner's answers are not known
    share: float  # points over points and what was lost: of the best response; nan where that is not known
    by_act: Mapping[str, tuple[int, float]]  # how often it was said, and what it lost on average
    demanded: tuple[tuple[int, Estimate], ...]  # by own offer: how many, and the share of its own whole that it kept
    noise: Estimate  # the points of a second copy less its own, on the same scenarios
    answers: Mapping[
        str, float
    ]  # a game: decisions, re-asks, tokens, dollars, nan where a cache answered; legal, a share
    believed: StatedBeliefScores | None
    note: str = ""  # why something is not known

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        made: dict[str, Any] = _plain(self._asdict())
        return made


class _BeliefQueries:
    """What a language model says that it believes, turn by turn; nothing where the exact posterior is not known."""

    def __init__(self, player: Partner, partner: Partner) -> None:
        self.partner, self.told, self.groups, self.note = partner, list[StatedBeliefs](), list[Rows](), ""
        self.client: Client | None = None
        if isinstance(player, LLMPartner):
            self.client = belief_client(player)
        else:
            self.note = "beliefs are asked of language models alone"

    def ask(self, turns: Turns, partner_values: Int8s, groups: Rows) -> None:
        """From the second turn of each seat on; ``groups`` are those of the rows' scenarios."""
        if self.client is None or turns.turns_taken < 2:
            return
        try:
            self.told.append(elicit_beliefs(self.client, self.partner, turns, partner_values))
        except ValueError as unknown:
            self.close()
            self.client, self.note = None, f"what the partner wants cannot be known, so nobody was asked: {unknown}"
            self.told.clear()
        else:
            self.groups.append(groups)

    def close(self) -> None:
        """End what was opened for asking."""
        client = None if self.client is None else uncached_client(self.client)
        if isinstance(client, RemoteClient):
            client.close()


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
    """Play ``member`` in both seats of ``scenarios``, twice; ``beliefs``: ask a language model what the partner wants.

    ``player``: ``member``, where it is seated already and what it may spend is counted on. What is not known, and why,
    is in the ``note``. Raises what :func:`dond_marl.rollout.rollout` does.
    """
    player, partner = seat_occupant(member) if player is None else player, seat_occupant(against)
    groups, wholes = scenario_groups(scenarios), scenarios.pool_values
    report("each act is compared with the best one")
    before = _usage_counts(player)
    try:
        worths, note = ActValues(partner, rules, source.prior), ""
    except ValueError as unknown:
        worths, note = None, f"what acts lose is not known: {unknown}"
    own, lost, acts, offers = [], [], dict[str, list[float]](), dict[int, list[Doubles]]()
    asked = _BeliefQueries(player, partner) if beliefs else None
    for seat in (0, 1):
        witness = Witness(player)
        pair = (witness, partner) if seat == 0 else (partner, witness)
        games = rollout(pair, scenarios, rules, seed=seed, index=(seat,), prior=source.prior)
        own.append(points_of_ten(games.scores, wholes)[:, seat])
        of_game = np.zeros(scenarios.size)
        for turns, said in zip(witness.turns, witness.said, strict=True):
            rows = np.flatnonzero(games.turns > turns.turns_taken)
            _offers(offers, turns, said, rows, scenarios.size)
            if worths is not None:
                try:
                    _losses(worths, scenarios, turns, said, rows, of_game, acts)
                except ValueError as unknown:
                    worths, note = None, f"what acts lose is not known: {unknown}"
            if asked is not None:
                asked.ask(turns, scenarios.utilities[rows, 1 - seat], groups[rows])
        lost.append(of_game)
    spent = _usage_counts(player)
    if asked is not None:
        asked.close()
        note = "; ".join(filter(None, (note, asked.note)))
    again = [
        points_of_ten(games.scores, wholes)[:, seat]
        for seat, games in enumerate(_second_copy_games(player, partner, scenarios, rules, seed, source.prior))
    ]
    points = mean_over_scenarios(np.stack(own), groups, confidence)
    losses = None if worths is None else mean_over_scenarios(np.stack(lost), groups, confidence)
    return Diagnosis(
        member if isinstance(member, str) else repr(member),
        against if isinstance(against, str) else repr(against),
        2 * scenarios.size,
        points,
        losses,
        math.nan if losses is None else points.mean / max(points.mean + losses.mean, 1e-9),
        {} if worths is None else {name: (len(all_), float(np.mean(all_))) for name, all_ in sorted(acts.items())},
        tuple((number, _offer_share(of, groups, confidence)) for number, of in sorted(offers.items())),
        mean_over_scenarios(np.stack(again) - np.stack(own), groups, confidence),
        _usage_per_game({name: spent[name] - before.get(name, 0) for name in spent}, player, 2 * scenarios.size),
        _score_stated_beliefs(asked.told, np.concatenate(asked.groups), confidence)
        if asked is not None and asked.told
        else None,
        note,
    )


def _second_copy_games(
    player: Partner, partner: Partner, scenarios: Scenarios, rules: Rules, seed: int, prior: str
) -> list[Any]:
    """The games of a second copy: the same occupant with other luck, as it remembers nothing and has one budget."""
    pairs = ((player, partner), (partner, player))
    return [
        rollout(pair, scenarios, rules, seed=seed, index=(seat, _AGAIN), prior=prior) for seat, pair in enumerate(pairs)
    ]


def _losses(
    worths: ActValues, scenarios: Scenarios, turns: Turns, said: Decisions, rows: Rows, of_game: Doubles,
    acts: dict[str, list[float]],
) -> None:  # fmt: skip
    """Add what each act lost to its game and to its kind."""
    history, claims = turns.history.act, turns.history.oA
    for place, row in enumerate(rows.tolist()):
        state = worths.position(scenarios.scenario(row), history[place], claims[place])
        act, (a, b, c) = Act(int(said.act_type[place])), said.oA[place].tolist()
        cost = worths.regret(state, Action(act, (a, b, c)))
        of_game[row] += cost
        acts.setdefault(act.name, []).append(cost)


def _offers(offers: dict[int, list[Doubles]], turns: Turns, said: Decisions, rows: Rows, size: int) -> None:
    """Keep the share of its own whole that each offer keeps, ``[K]`` with ``nan`` where there is none."""
    of = np.full(size, np.nan)
    made = said.act_type <= Act.INSIST
    whole = np.maximum(worth(turns.my_utilities, turns.counts), 1)
    of[rows[made]] = (worth(turns.my_utilities, said.oA) / whole)[made]
    offers.setdefault(turns.turns_taken // 2, []).append(of)


def _offer_share(of: list[Doubles], groups: Rows, confidence: float) -> Estimate:
    cells = np.stack(of)
    return mean_over_scenarios(np.nan_to_num(cells), groups, confidence, (~np.isnan(cells)).astype(np.float64))


def _usage_counts(player: Partner) -> dict[str, int]:
    """What a language model has counted so far."""
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
        of, known = client.settings, list_price(client.settings.url, client.settings.name)
        first, second = of.prompt_price, of.completion_price
        if first is None and second is None and known is not None:
            first, second = known.price.prompt, known.price.completion
        usd = (
            math.nan if first is None and second is None else (prompt * (first or 0) + completion * (second or 0)) / 1e6
        )
    if spent.get("cache_hits", 0):  # what those took is counted nowhere
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


def _score_stated_beliefs(told: list[StatedBeliefs], asked: Rows, confidence: float) -> StatedBeliefScores:
    whole = StatedBeliefs(*(np.concatenate(each) for each in zip(*told, strict=True)))
    answered = ~np.isnan(whole.stated).any(axis=1)
    some = StatedBeliefs(*(each[answered] for each in whole))
    scores = some.brier()
    said, floor, before = (mean_over_scenarios(score, asked[answered], confidence) for score in scores)
    which = np.minimum((some.stated * _BINS).astype(int), _BINS - 1).reshape(-1)
    number = np.bincount(which, minlength=_BINS)
    sums = [np.bincount(which, of.reshape(-1), _BINS) / np.maximum(number, 1) for of in (some.stated, some.truth)]
    bins = tuple(Bin(int(n), float(p), float(t)) for n, p, t in zip(number, *sums, strict=True))
    return StatedBeliefScores(len(whole.stated), int(answered.sum()), said, floor, before, bins)


def _plain(value: Any) -> Any:
    """``value`` as JSON knows it; ``None`` for what is not known."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
