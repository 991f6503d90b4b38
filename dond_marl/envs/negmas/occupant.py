"""A negotiator of NegMAS in a seat: ``negmas(agent='negmas_genius_agents.HardHeaded')``."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any, ClassVar

import numpy as np

from dond_marl.envs.negmas.process import AgentAct, NegMASAgent, NegMASWorker, worker_of
from dond_marl.errors import InputError, quote
from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Traits, Turns

LEAST, MOST = 0.01, 3600  # seconds for one act
DEATHS = 3  # after which a worker is not started again for an agent: it forfeits the rest


class NegMASPartner:
    """Asks a negotiator of NegMAS, in a process of its own, what it would say in a negotiation of three issues.

    Source: NegMAS (Mohammad, Nakadai, Greenwald 2021, PRIMA, "NegMAS: A Platform for Automated Negotiations") and any
    class of its negotiators; AGPL, of which nothing is in this package and nothing is loaded by this process.

    The issues are how many books, hats and balls seat_0 gets; its utility is its points divided by what the pool is
    worth to it, no deal is worth 0, and it does not know the other seat's. A game of T turns has T/2 rounds, rounded
    up. What it offers is PROPOSE, accepting is AGREE, ending the negotiation is END, and an answer with words alone
    DISAGREE. It is told PROPOSE and INSIST as offers, DISAGREE as a refusal with no offer. Its random numbers come from
    the seat's noise, and an agent that follows them answers as its turns say. An agent that raises, offers what is not
    there, agrees to nothing, takes more than ``limit`` or whose process dies forfeits the game (END, cause FORFEIT or
    ILLEGAL), and ``forfeits`` counts why.

    - ``agent``: the dotted path of a class, such as ``negmas_genius_agents.HardHeaded``.
    - ``parameters``: a mapping of what it is made with.
    - ``python``: the Python of an environment with NegMAS and the agent's package; by default this one.
    - ``limit``: seconds of processor time for one act.
    """

    traits: ClassVar[Traits] = Traits(remote=True, costly=True)

    def __init__(
        self, agent: str, parameters: dict[str, Any] | None = None, python: str | None = None, limit: float = 10.0
    ) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not LEAST <= limit <= MOST:
            raise InputError(f"limit must be a number in {LEAST}..{MOST} seconds; got {quote(limit)}")
        if not isinstance(agent, str) or "." not in agent:
            raise InputError(f"agent must be the dotted path of a negotiator's class; got {quote(agent)}")
        self.agent, self.limit, self.python = NegMASAgent(agent, json.dumps(parameters or {})), float(limit), python
        self.forfeits: Counter[str] = Counter()
        self._deaths = 0
        self._worker: NegMASWorker | None = None
        self.versions = self._worker_now().load(self.agent)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_worker": None}

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the games of one batch go on in the worker side by side."""
        said = self._ask(_rows(turns), turns.rules.max_turns)
        act_type = np.zeros(turns.size, dtype=np.int8)
        oA = np.zeros((turns.size, 3), dtype=np.int8)
        cause = np.zeros(turns.size, dtype=np.int8)
        for row, (act, kept, trouble) in enumerate(said):
            if not trouble and not turns.act_mask[row, act]:
                act, trouble, cause[row] = Act.END, f"{Act(act).name} where it is not legal", Cause.ILLEGAL
            elif trouble:
                cause[row] = Cause.FORFEIT
            if trouble:
                self.forfeits[trouble] += 1
                act = next(each for each in (Act.END, Act.DISAGREE, Act.PROPOSE) if turns.act_mask[row, each])
                kept = turns.counts[row].tolist()
            act_type[row] = act
            oA[row] = kept if act == Act.PROPOSE else 0
        return Decisions(act_type, oA, np.ones(turns.size, dtype=np.float32), cause)

    def _ask(self, rows: list[dict[str, Any]], max_turns: int) -> list[AgentAct]:
        if self._deaths >= DEATHS:
            return [(int(Act.END), [0, 0, 0], f"its process died {self._deaths} times")] * len(rows)
        said, deaths = self._worker_now().act(self.agent, max_turns, self.limit, rows)
        self._deaths += deaths
        return said

    def _worker_now(self) -> NegMASWorker:
        if self._worker is None:
            self._worker = worker_of(self.python)
        return self._worker


def _rows(turns: Turns) -> list[dict[str, Any]]:
    """What each game is for the worker; the seat's own noise names it and seeds its random numbers."""
    acts, offers, seat = turns.history.act.tolist(), turns.history.oA.tolist(), turns.seat
    counts, values = turns.counts.tolist(), turns.my_utilities.tolist()
    rows = []
    for row in range(turns.size):
        key = hashlib.sha256(turns.game_noise[row].tobytes() + bytes([*counts[row], *values[row]])).hexdigest()
        rows.append(
            {
                "key": key,
                "seat": seat,
                "counts": counts[row],
                "values": values[row],
                "seed": int(key[:15], 16),
                "history": [list(said) for said in zip(acts[row], offers[row], strict=True)],
            }
        )
    return rows
