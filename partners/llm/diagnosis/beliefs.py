"""What a model says that its partner wants, asked apart from the game, beside what could be known: the exact posterior.

The question is which item type is worth the most to the partner, apiece. The answer is three probabilities. The truth
is one type, or several alike; the exact posterior (:mod:`dond_marl.yardsticks.recognition`) knows how the partner
answers, and no forecast has a lower Brier score (Brier 1950) in expectation: it is the floor. K games.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dond_marl.seats import Doubles, Int8s, Partner, Turns
from dond_marl.yardsticks.beliefs import partner_beliefs
from dond_marl.yardsticks.recognition import recognized
from partners.llm.cache import CachedClient
from partners.llm.client import Client, Failure, ModelReply, Query, query_all
from partners.llm.partner import LLMPartner
from partners.llm.prompt import Template
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
_SLACK = 0.02  # by which three probabilities may miss 1


class StatedBeliefs(NamedTuple):
    """What was said, what could be known, and what is so; each ``[K, 3]``, rows summing to 1; ``nan`` for no answer."""

    stated: Doubles
    exact: Doubles
    prior: Doubles  # of somebody who has heard nothing
    truth: Doubles

    def brier(self) -> tuple[Doubles, Doubles, Doubles]:
        """The scores of what was said, of the exact posterior, and of the prior, ``[K]`` each, 0 best, 2 worst."""
        first, second, third = (
            ((each - self.truth) ** 2).sum(axis=1) for each in (self.stated, self.exact, self.prior)
        )
        return first, second, third


def elicit_beliefs(client: Client, partner: Partner, turns: Turns, partner_values: Int8s) -> StatedBeliefs:
    """Ask ``client`` on the rows of ``turns``, against ``partner``, whose values ``[K, 3]`` nobody else sees.

    Raises ``ValueError`` for a partner of whom nothing exact can be known, and what the client raises.
    """
    found = recognized([partner], turns)
    held = found.chances.sum(axis=1)[found.node]  # [K, types]
    prior = partner_beliefs(turns)
    asks = [Query(prompt, _NO_ACT) for prompt in QUESTION.render(turns)]
    replies = query_all(
        client, asks, lambda _, reply: parse_probabilities(reply), lambda *_: None, re_asks=0, tally=client.tally
    )
    said = np.array([[math.nan] * 3 if isinstance(reply, Failure | None) else reply for reply in replies])
    return StatedBeliefs(
        said.reshape(-1, 3),
        (held[:, :, None] * most_valued(found.types[found.node])).sum(axis=1),
        (prior.weights[:, :, None] * most_valued(prior.types)).sum(axis=1),
        most_valued(partner_values[:, None])[:, 0],
    )


def most_valued(types: Int8s) -> Doubles:
    """Which item is worth the most, of values ``[..., 3]``: a 1, shared where several are."""
    most = types == types.max(axis=-1, keepdims=True)
    share: Doubles = most / most.sum(axis=-1, keepdims=True)
    return share


def parse_probabilities(reply: ModelReply) -> Sequence[float] | Failure | None:
    """Three probabilities, scaled to sum to 1; ``None`` for anything else. Fences and thoughts may stand around."""
    if reply.failure is not None:
        return reply.failure
    try:
        found = json.loads(unwrap(reply.text)[0][:1000])
        chances = [float(found[kind]) for kind in ITEM_NAMES]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    total = sum(chances)
    if not all(0 <= chance <= 1 for chance in chances) or abs(total - 1) > _SLACK:
        return None
    return [chance / total for chance in chances]


def belief_client(player: LLMPartner) -> Client:
    """Who answers the question in the place of ``player``'s model: the same model, and out of the same budget.

    A service is told of no act and held to none, so its client is another one than the game's. Close it after use.
    """
    from partners.llm.diagnosis.words import WordProbabilityClient
    from partners.llm.partner import LocalLLMPartner
    from partners.llm.remote.client import RemoteClient

    if isinstance(player, LocalLLMPartner):
        return WordProbabilityClient(player.local, SYSTEM, ITEM_NAMES)
    cached = player.client if isinstance(player.client, CachedClient) else None
    client = player.client if cached is None else cached.client
    if not isinstance(client, RemoteClient):
        return client
    settings = replace(client.settings, system=SYSTEM, structure="text")
    apart = RemoteClient(settings, budget=client.budget)
    return apart if cached is None else CachedClient(apart, cached.cache, cached.mode)
