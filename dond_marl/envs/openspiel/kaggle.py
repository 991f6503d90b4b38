"""Any partner as an agent of Kaggle's game arena (``open_spiel_bargaining`` of kaggle-environments).

Its observation is JSON: the pool, the viewer's values and every offer so far, item by item. The arena's acts are those
of OpenSpiel's game; :mod:`dond_marl.envs.openspiel.seat` says how ours are spoken there. Source of the format:
Kaggle/kaggle-environments 1.33, ``envs/open_spiel_env/games/bargaining/bargaining_proxy.py`` (Apache 2.0).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from dond_marl.envs.openspiel.seat import choose_act
from dond_marl.errors import InputError, quote
from dond_marl.game import Triple
from dond_marl.seats import Partner

ENVIRONMENT = "open_spiel_bargaining"
ITEMS = ("book", "hat", "basketball")  # in the arena's words, in our order
NO_ACT = -1  # what an agent submits where it is not asked

Agent = Callable[[Mapping[str, Any], Any], dict[str, int]]


class ArenaError(InputError):
    """An observation that is not one of the arena's bargaining game."""


def agent(partner: Partner, *, seed: int = 0, prior: str = "lewis") -> Agent:
    """``partner`` as a function of the arena's observation and configuration: ``kaggle_environments`` calls it.

    ``seed`` names the chance of its game: give each game an agent of its own. ``prior``: what the partner believes of
    scenarios. The function raises :class:`ArenaError`, and whatever the partner raises.
    """

    def answer(observation: Mapping[str, Any], _configuration: Any = None) -> dict[str, int]:
        table = parse_observation(observation)
        if table is None:
            return {"submission": NO_ACT}
        counts, values, offers, max_turns = table
        return {"submission": choose_act(partner, counts, values, offers, max_turns=max_turns, seed=seed, prior=prior)}

    return answer


def parse_observation(observation: Mapping[str, Any]) -> tuple[Triple, Triple, list[Triple], int] | None:
    """The pool, the viewer's values, the offers so far and the turn limit; ``None`` where the viewer is not to move."""
    told = observation.get("observationString") or ""
    if not told or observation.get("currentPlayer") != observation.get("playerId"):
        return None
    try:
        state = json.loads(told)
        offers = [_triple(event["items"]) for event in state["offer_history"] if event["type"] == "offer"]
        return _triple(state["pool"]), _triple(state["my_values"]), offers, int(state["max_turns"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArenaError(f"not an observation of {ENVIRONMENT} ({error}): {quote(told)}") from None


def _triple(items: Mapping[str, Any]) -> Triple:
    a, b, c = (int(items[name]) for name in ITEMS)
    return a, b, c
