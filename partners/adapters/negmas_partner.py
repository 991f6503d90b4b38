"""Negotiators of NegMAS as partners, ``negmas(agent='negmas_genius_agents.HardHeaded')``, and their worker process.

The worker (:mod:`partners.adapters.negmas_worker`) runs in a Python of the user's choice, connected by pipes.
"""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dond_marl.errors import InputError, quote, require_library
from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Traits, Turns
from partners.adapters.line_worker import LineWorker, WorkerDied
from partners.parameters import check_number

WORKER = Path(__file__).with_name("negmas_worker.py")
PATIENCE = 60.0  # real time to wait for an act, as a multiple of its limit; the worker stops it long before
READY = 300.0  # seconds of real time to wait at least, and for an agent to load: some import TensorFlow
NEEDS = (
    "give the dotted path of a negotiator's class, and the Python of an environment that has NegMAS and its package: "
    "docs/PLUG_IN.md"
)
AgentAct = tuple[int, list[int], str]  # act, items that its seat would keep, reason of a forfeit or ""


@cache
def worker_of(python: str | None) -> LineWorker:
    """The shared worker of a Python, ``None`` for this one. It lives as long as this process: a start takes seconds."""
    return LineWorker([python or sys.executable, str(WORKER)], "give with python= the Python of an environment")


LEAST, MOST = 0.01, 3600  # seconds for one act
DEATHS = 3  # deaths of the worker after which an agent forfeits all further acts


class NegMASPartner:
    """A negotiator of NegMAS as a partner, in another process.

    Source: NegMAS (Mohammad, Nakadai, Greenwald 2021, PRIMA, "NegMAS: A Platform for Automated Negotiations") and any
    class of its negotiators; AGPL, so no code of it is in this package and none is loaded by this process.

    The issues are the numbers of books, hats and balls that seat_0 gets; the agent's utility is its points divided by
    the pool's value to it, no deal is worth 0, and the other seat's utility is unknown. A game of T turns has T/2
    rounds, rounded up. Its offers are PROPOSE, accepting is AGREE, ending the negotiation is END, a response with text
    only is DISAGREE. It receives PROPOSE and INSIST as offers, DISAGREE as a refusal without an offer. Its random
    numbers come from the seat's noise. An agent that raises, makes an impossible offer, agrees without an offer, takes
    more than ``limit`` or whose process dies forfeits the game (END, cause FORFEIT or ILLEGAL); ``forfeits`` counts the
    reasons.

    - ``agent``: the dotted path of a class, such as ``negmas_genius_agents.HardHeaded``.
    - ``parameters``: a mapping of its constructor's parameters.
    - ``python``: the Python of an environment with NegMAS and the agent's package; by default this one.
    - ``limit``: seconds of processor time for one act.
    """

    traits: ClassVar[Traits] = Traits(remote=True, costly=True)
    insist_is_propose: ClassVar[bool] = True  # NegMAS has no label of an offer

    def __init__(
        self, agent: str, parameters: dict[str, Any] | None = None, python: str | None = None, limit: float = 10.0
    ) -> None:
        check_number("limit", limit, LEAST, MOST)
        if not isinstance(agent, str) or "." not in agent:
            raise InputError(f"agent must be the dotted path of a negotiator's class; got {quote(agent)}")
        if python is None:
            require_library("negmas", f"negmas(agent={agent!r})")
        self.agent, self.parameters, self.limit, self.python = agent, parameters or {}, float(limit), python
        self.forfeits: Counter[str] = Counter()
        self._deaths = 0
        self.versions = self._load()

    def _load(self) -> dict[str, str]:
        """The versions of NegMAS and of the agent's package. Raises :class:`InputError` if it does not load."""
        worker = worker_of(self.python)
        with worker.requests():
            try:
                worker.send({"do": "load", "agent": self.agent, "parameters": self.parameters})
                answer: dict[str, Any] = worker.answer(READY)
            except WorkerDied as error:
                answer = {"error": str(error)}
        if "error" in answer:
            python = self.python or sys.executable
            raise InputError(f"{self.agent} cannot be loaded with {python}: {answer['error']}; {NEEDS}")
        return dict(answer["versions"])

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the worker holds one negotiation for each game."""
        acts = self.query(_rows(turns), turns.rules.max_turns)
        act_type = np.zeros(turns.size, dtype=np.int8)
        oA = np.zeros((turns.size, 3), dtype=np.int8)
        cause = np.zeros(turns.size, dtype=np.int8)
        for row, (act, items, trouble) in enumerate(acts):
            if not trouble and not turns.act_mask[row, act]:
                act, trouble, cause[row] = Act.END, f"{Act(act).name} where it is not legal", Cause.ILLEGAL
            elif trouble:
                cause[row] = Cause.FORFEIT
            if trouble:
                self.forfeits[trouble] += 1
                act = next(legal for legal in (Act.END, Act.DISAGREE, Act.PROPOSE) if turns.act_mask[row, legal])
                items = turns.counts[row].tolist()
            act_type[row] = act
            oA[row] = items if act == Act.PROPOSE else 0
        return Decisions(act_type, oA, np.ones(turns.size, dtype=np.float32), cause)

    def query(self, rows: Sequence[dict[str, Any]], max_turns: int) -> list[AgentAct]:
        """The agent's act in each row, in the worker's format.

        A row at which the worker died is a forfeit; later rows are sent again.
        """
        acts: list[AgentAct] = []
        if self._deaths >= DEATHS:
            return [(int(Act.END), [0, 0, 0], f"its process died {self._deaths} times")] * len(rows)
        request = {"do": "act", "agent": self.agent, "parameters": self.parameters, "limit": self.limit}
        worker = worker_of(self.python)
        with worker.requests():
            while len(acts) < len(rows):
                try:
                    waiting = rows[len(acts) :]
                    worker.send({**request, "max_turns": max_turns, "rows": waiting})
                    for _ in waiting:
                        act, oA, trouble = worker.answer(max(READY, PATIENCE * self.limit))
                        acts.append((act, oA, trouble))
                except WorkerDied as error:
                    acts.append((int(Act.END), [0, 0, 0], f"its process died: {error}"))
                    self._deaths += 1
        return acts


def _rows(turns: Turns) -> list[dict[str, Any]]:
    """Each game in the worker's format; its key and seed are derived from the seat's own noise."""
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
                "history": [list(act) for act in zip(acts[row], offers[row], strict=True)],
            }
        )
    return rows
