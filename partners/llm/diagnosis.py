"""How well a language model bargains, measured exactly: the regret of its acts, and the quality of its beliefs.

Regret: the value of every act against a partner with known policy, each position solved once (:class:`ActValues`).

Beliefs: in a separate question, the model states which item type is worth the most to its partner, apiece, as three
probabilities. They are compared with the truth (one type, or several that are equal) and with the exact posterior
(:mod:`dond_marl.yardsticks.recognition`), which uses the partner's policy: no forecast has a lower Brier score (Brier
1950) in expectation. K games.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dond_marl.errors import NotComputable
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.seats import Doubles, Int8s, Partner, Turns
from dond_marl.statistics import TEN
from dond_marl.yardsticks.contexts import partner_beliefs
from dond_marl.yardsticks.recognition import recognize
from partners.best_response import BestResponse
from partners.llm.cache import CachedClient, uncached_client
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.partner import LLMPartner, LocalLLMPartner
from partners.llm.prompt import Template
from partners.llm.remote.client import RemoteClient
from partners.llm.reply import Legal, unwrap

ITEM_NAMES = ("books", "hats", "balls")
QUESTION = Template(
    "You bargain over books, hats and balls (lists are in this order). The pool is worth 10 points to each side.\n"
    "Pool: {counts_csv}. Your values: {my_utils_csv}. What was said so far:\n{history_str}\n"
    "Do not act now. Which type is worth the most points apiece to the partner? Reply with one JSON object on a single "
    'line, the probability of each: {"books": 0.33, "hats": 0.33, "balls": 0.34}',
    "the question about beliefs",
)
SYSTEM = "You watch a bargaining game. Reply with one JSON object on a single line and nothing else."
_NO_ACT = Legal((0, 0, 0), ())  # the question is not about an act
_TOLERANCE = 0.02  # of the sum of three probabilities
_ANSWER_START = "The type is"


class ActValues:
    """Values of acts against ``partner``, followed by a best response (:class:`BestResponse`); cached by position.

    Raises ``NotComputable`` for a partner whose policy cannot be enumerated, here or at the first value.
    """

    def __init__(self, partner: Partner, rules: Rules, prior: str) -> None:
        self._best, self._rules, self._prior = BestResponse(partner), rules, prior
        self._values: dict[State, dict[Action, float]] = {}

    def position(self, scenario: Scenario, acts: Int8s, oA: Int8s) -> State:
        """The game over ``scenario`` after the acts ``[t]`` and claims ``[t, 3]``."""
        state = State(scenario, self._rules)
        for act, (a, b, c) in zip(acts.tolist(), oA.tolist(), strict=True):
            state = apply(state, Action(Act(act), (a, b, c)))
        return state

    def at_state(self, state: State) -> dict[Action, float]:
        """Expected points of every legal act, 0..the value of the mover's whole pool.

        Only the part of the scenario that the mover sees matters, besides the final pay.
        """
        if state not in self._values:
            self._values[state] = self._best.worth_of_acts(state, self._prior)
        return self._values[state]

    def regret_between(self, before: State, after: State) -> float:
        """The :meth:`regret` of the first act from ``before`` to ``after``; a forfeit without an act pays 0."""
        acts = after.history[len(before.history) :]
        return self.regret(before, acts[0]) if acts else max(self.at_state(before).values()) * TEN / _pool_value(before)

    def regret(self, state: State, action: Action) -> float:
        """The value of the best act minus that of ``action``, in points of ten."""
        values = self.at_state(state)
        key = action if action.act_type.is_offer else Action(action.act_type)
        return (max(values.values()) - values[key]) * TEN / _pool_value(state)


def act_values_against(partner: Partner, rules: Rules, prior: str, example: Scenario) -> ActValues | None:
    """:class:`ActValues` against ``partner``; ``None`` if its policy cannot be enumerated, tested on ``example``."""
    try:
        values = ActValues(partner, rules, prior)
        values.at_state(State(example, rules))
    except NotComputable:
        return None
    return values


class StatedBeliefs(NamedTuple):
    """Probabilities that each item type is the partner's most valued, ``[K, 3]`` each; rows sum to 1."""

    stated: Doubles  # by the model; nan without an answer
    exact: Doubles  # posterior given the partner's policy
    prior: Doubles  # given the pool and the own values only
    truth: Doubles

    def brier(self) -> tuple[Doubles, Doubles, Doubles]:
        """Brier scores of the stated beliefs, the exact posterior and the prior, ``[K]`` each, 0 best, 2 worst."""
        first, second, third = (
            ((each - self.truth) ** 2).sum(axis=1) for each in (self.stated, self.exact, self.prior)
        )
        return first, second, third


def elicit_beliefs(client: Client, partner: Partner, turns: Turns, partner_values: Int8s) -> StatedBeliefs:
    """Query ``client`` on the rows of ``turns`` against ``partner``, whose values are ``partner_values[K, 3]``.

    Raises ``NotComputable`` for a partner whose policy cannot be enumerated, and what the client raises.
    """
    posterior = recognize([partner], turns)
    chances = posterior.chances.sum(axis=1)[posterior.node]  # [K, types]
    prior = partner_beliefs(turns)
    queries = [Query(prompt, _NO_ACT) for prompt in QUESTION.render(turns)]
    replies = query_all(
        client, queries, lambda _, reply: parse_probabilities(reply), lambda *_: None, re_asks=0, tally=client.tally
    )
    stated = np.array([[math.nan] * 3 if isinstance(reply, Failure | None) else reply for reply in replies])
    return StatedBeliefs(
        stated.reshape(-1, 3),
        (chances[:, :, None] * most_valued(posterior.types[posterior.node])).sum(axis=1),
        (prior.weights[:, :, None] * most_valued(prior.types)).sum(axis=1),
        most_valued(partner_values[:, None])[:, 0],
    )


def most_valued(types: Int8s) -> Doubles:
    """Indicator of the most valued item, for values ``[..., 3]``: a 1, shared equally among equal values."""
    most = types == types.max(axis=-1, keepdims=True)
    share: Doubles = most / most.sum(axis=-1, keepdims=True)
    return share


def parse_probabilities(reply: ModelReply) -> Sequence[float] | Failure | None:
    """Three probabilities, scaled to sum to 1; ``None`` for anything else. A fence or reasoning around is removed."""
    if reply.failure is not None:
        return reply.failure
    try:
        document = json.loads(unwrap(reply.text)[0][:1000])
        chances = [float(document[name]) for name in ITEM_NAMES]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    total = sum(chances)
    if not all(0 <= chance <= 1 for chance in chances) or abs(total - 1) > _TOLERANCE:
        return None
    return [chance / total for chance in chances]


def belief_client(player: LLMPartner) -> Client:
    """A client for the question about beliefs: the same model as ``player``'s, on the same budget and cache.

    It differs from the client of the game in its system message and in that replies are not constrained to acts. Close
    it after use.
    """
    if isinstance(player, LocalLLMPartner):
        from partners.llm.local.words import WordClient  # loads PyTorch

        return WordClient(player.local, SYSTEM, ITEM_NAMES, _ANSWER_START)
    client = uncached_client(player.client)
    if not isinstance(client, RemoteClient):
        return client
    remote = RemoteClient(replace(client.settings, system=SYSTEM, structure="text"), budget=client.budget)
    return player.client.with_client(remote) if isinstance(player.client, CachedClient) else remote


def _pool_value(state: State) -> int:
    """The value of the whole pool to the seat to move, at least 1."""
    return max(state.scenario.pool_value(state.mover), 1)
