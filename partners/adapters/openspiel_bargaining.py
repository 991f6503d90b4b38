"""OpenSpiel's ``bargaining``: our partners as its players and in Kaggle's game arena.

That game has offers and Agree only: acts 0 to 119 keep up to seven items, 120 agrees (``bargaining.h``). INSIST is
played as an offer. DISAGREE and END are played as an offer that keeps everything: it leaves the other side nothing, and
the game ends at its turn limit. Partners observe each offer as PROPOSE.

Kaggle's arena (``open_spiel_bargaining`` of kaggle-environments) plays the same game. Its observation is JSON: the
pool, the viewer's values and every offer so far. Source of the format: Kaggle/kaggle-environments 1.33,
``envs/open_spiel_env/games/bargaining/bargaining_proxy.py`` (Apache 2.0).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from dond_marl.envs.turn import choose_action
from dond_marl.errors import InputError, quote
from dond_marl.game import SEATS, Act, Action, Rules, Scenario, State, Triple, apply
from dond_marl.seats import Partner

MOST = 7  # items of all types that one offer can name
OFFERS: tuple[Triple, ...] = tuple((a, b, c) for c, b, a in product(range(MOST + 1), repeat=3) if a + b + c <= MOST)
AGREE = len(OFFERS)
_NOTHING: Triple = (0, 0, 0)


def choose_act(
    partner: Partner,
    counts: Triple,
    values: Triple,
    offers: Sequence[Triple],
    *,
    max_turns: int = 10,
    seed: int = 0,
    prior: str = "lewis",
) -> int:
    """The act of ``partner``, 0..120, which is to move after ``offers``.

    ``offers``: the items that each player keeps, the first player's first. ``values``: the partner's own. ``seed``: of
    its noise, constant through a game. ``prior``: name of the scenario distribution for its beliefs, see
    :mod:`dond_marl.solvers.contexts`. Raises ``ValueError`` for a pool that is too large; errors of the partner pass
    through.
    """
    if sum(counts) > MOST:
        raise ValueError(f"an offer of OpenSpiel's bargaining names up to {MOST} items; the pool is {counts}")
    mover = len(offers) % len(SEATS)
    utilities = (values, _NOTHING) if mover == 0 else (_NOTHING, values)  # the other's are unknown and not used
    state = State(Scenario(counts, utilities), Rules(max_turns))
    for offer in offers:
        state = apply(state, Action(Act.PROPOSE, offer))
    action = choose_action(partner, state, seed=seed, prior=prior)
    if action.act_type is Act.AGREE:
        return AGREE
    return OFFERS.index(action.oA if action.act_type in (Act.PROPOSE, Act.INSIST) else counts)


ENVIRONMENT = "open_spiel_bargaining"
ITEMS = ("book", "hat", "basketball")  # in the arena's words, in our order
NO_ACT = -1  # what an agent submits where it is not asked

Agent = Callable[[Mapping[str, Any], Any], dict[str, int]]


class ArenaError(InputError):
    """An observation that is not one of the arena's bargaining game."""


def agent(partner: Partner, *, seed: int = 0, prior: str = "lewis") -> Agent:
    """``partner`` as an agent of ``kaggle_environments``: a function of the arena's observation and configuration.

    ``seed``: of the partner's noise; give each game an agent of its own. ``prior``: name of the scenario distribution
    for the partner's beliefs. The function raises :class:`ArenaError`; errors of the partner pass through.
    """

    def answer(observation: Mapping[str, Any], _configuration: Any = None) -> dict[str, int]:
        table = parse_observation(observation)
        if table is None:
            return {"submission": NO_ACT}
        counts, values, offers, max_turns = table
        return {"submission": choose_act(partner, counts, values, offers, max_turns=max_turns, seed=seed, prior=prior)}

    return answer


def parse_observation(observation: Mapping[str, Any]) -> tuple[Triple, Triple, list[Triple], int] | None:
    """The pool, the viewer's values, the offers so far and the turn limit; ``None`` if the viewer is not to move."""
    text = observation.get("observationString") or ""
    if not text or observation.get("currentPlayer") != observation.get("playerId"):
        return None
    try:
        state = json.loads(text)
        offers = [_triple(event["items"]) for event in state["offer_history"] if event["type"] == "offer"]
        return _triple(state["pool"]), _triple(state["my_values"]), offers, int(state["max_turns"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArenaError(f"not an observation of {ENVIRONMENT} ({error}): {quote(text)}") from None


def _triple(items: Mapping[str, Any]) -> Triple:
    a, b, c = (int(items[name]) for name in ITEMS)
    return a, b, c
