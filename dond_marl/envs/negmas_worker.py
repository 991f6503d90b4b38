"""The other side of the pipe: negotiators of NegMAS, asked for one act at a time.

This file runs alone, in a Python of the user's choice that has NegMAS and the agents; it needs nothing of this project.
It reads one JSON object a line from standard input and answers in lines of JSON on what was standard output; whatever
an agent prints goes nowhere.

``{"do": "load", "agent": "package.Class", "parameters": {}}``
    ``{"versions": {"negmas": "0.16.0", ...}}``, or ``{"error": "..."}``.
``{"do": "agents", "package": "negmas_genius_agents"}``
    ``{"agents": [["negmas_genius_agents.AgentK", "the.module.it.is.in"], ...]}``, or ``{"error": "..."}``.
``{"do": "act", "agent": ..., "parameters": {}, "max_turns": 10, "limit": 10.0, "rows": [...]}``
    one line for each row, in their order: ``[act, [k, k, k], trouble]``. A row is ``{"key": str, "seat": 0 or 1,
    "counts": [3], "values": [3], "seed": int, "history": [[act, [3]], ...]}``: the pool, what the agent's seat values,
    and every act so far with what its speaker would keep.

Acts are numbers: 0 PROPOSE, 1 INSIST, 2 AGREE, 3 DISAGREE, 4 END. ``trouble`` is empty, or why the agent forfeits.

A game is a :class:`SAOMechanism` of rounds, ``n_steps`` of them, in which each seat acts once. The agent knows its own
utility function alone. The other negotiator says what the other seat said, and waits where that is not known yet. The
games that go on are kept; a game that is not known, or went another way, is played again from its beginning. Each game
has random numbers of its own, and of the lists, dicts and sets that the agent keeps in its class, so that it does not
matter which others are played beside it. An agent has ``limit``
seconds of processor time for one act; by the clock, for one that sleeps, thirty times as many and at least a minute.
An agent that asks for the other's utility function, which in some competitions it was told, is told that all of each
type is worth the same to the other.
"""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import json
import os
import random
import signal
import sys
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

PROPOSE, INSIST, AGREE, DISAGREE, END = range(5)
ISSUES = ("books", "hats", "balls")
KEPT = 2048  # games that are kept
SLEEP, LEAST = 30, 60.0  # times the limit that an act may take by the clock, and seconds that it may in any case


class OutOfTime(BaseException):
    """The agent has used up its time; no ``except Exception`` of an agent may catch it."""


def issues_of(counts: Sequence[int]) -> list[Any]:
    """The three issues: how many books, hats and balls seat_0 gets, from none to all."""
    from negmas.outcomes import make_issue

    return [make_issue(int(count) + 1, name=name) for name, count in zip(ISSUES, counts, strict=True)]


def ufun_of(counts: Sequence[int], values: Sequence[int], seat: int) -> Any:
    """The utility function of a seat: its points divided by what the whole pool is worth to it, no deal is worth 0.

    It is linear and additive, as in Genius: a weight for each issue, summing to one, and an evaluation of each value
    from none of the items (0) to all of them (1).
    """
    whole = sum(count * value for count, value in zip(counts, values, strict=True)) or 1
    return _weighted(counts, [count * value / whole for count, value in zip(counts, values, strict=True)], seat)


def supposed_ufun(counts: Sequence[int], seat: int) -> Any:
    """What an agent that asks for the other's utility function is told of the seat's, which nobody knows.

    All of each type is worth the same to it.
    """
    here = sum(count > 0 for count in counts)
    return _weighted(counts, [(count > 0) / here for count in counts], seat)


def _weighted(counts: Sequence[int], weights: list[float], seat: int) -> Any:
    from negmas.preferences import LinearAdditiveUtilityFunction, TableFun

    tables = [
        {given: (given if seat == 0 else count - given) / max(count, 1) for given in range(count + 1)}
        for count in map(int, counts)
    ]
    return LinearAdditiveUtilityFunction(
        values=[TableFun(table) for table in tables],
        weights=weights,
        issues=issues_of(counts),
        reserved_value=0.0,
        name=f"seat_{seat}",
    )


def rounds_of(max_turns: int) -> int:
    """How many rounds of NegMAS, of one act of each seat, a game of ``max_turns`` acts takes."""
    return (max_turns + 1) // 2


def outcome_of(kept: Sequence[int], counts: Sequence[int], seat: int) -> tuple[int, ...]:
    """An offer as NegMAS writes it, what seat_0 gets, from what the seat that makes it would keep; and back again."""
    return tuple(int(k) if seat == 0 else int(c) - int(k) for k, c in zip(kept, counts, strict=True))


def load(path: str) -> type[Any]:
    """The class that a dotted path names; raises :class:`ImportError` or :class:`AttributeError`."""
    module, _, name = path.rpartition(".")
    found: type[Any] = getattr(importlib.import_module(module), name)
    return found


class NegMASGame:
    """One negotiation, going on: an agent of NegMAS in a seat, and in the other one who says what it is told to say."""

    def __init__(self, agent: type[Any], parameters: dict[str, Any], row: dict[str, Any], max_turns: int) -> None:
        from negmas.sao import ResponseType, SAOMechanism, SAONegotiator, SAOResponse

        self.counts, self.seat = row["counts"], row["seat"]
        self.said: list[list[Any]] = []  # the acts so far, as in a row's history
        self._response, self._type = SAOResponse, ResponseType
        self._next: Any = None  # what the other negotiator says next
        self._forced: Any = None  # what the agent is taken to say next, whatever it says
        self._heard: Any = None  # what the agent said
        self._raised: BaseException | None = None  # what it raised instead: NegMAS asks again, or lets it go unsaid
        self.random: Any = None  # the states of the global generators, while they are another game's
        game = self

        class Clockless(SAOMechanism):  # type: ignore[misc]
            """Its clock stands still: nothing that is said or drawn depends on how fast the machine is."""

            @property
            def time(self) -> float:
                return 0.0

        class Told(SAONegotiator):  # type: ignore[misc]
            """Says what it is told; waits until it is told."""

            def __call__(self, state: Any, dest: str | None = None) -> Any:  # noqa: ARG002  # what NegMAS asks
                said, game._next = game._next, None
                return said or SAOResponse(ResponseType.WAIT, None)

            def propose(self, state: Any, dest: str | None = None) -> Any:  # noqa: ARG002  # what NegMAS asks
                return None

        def heard(this: Any, state: Any, dest: str | None = None) -> Any:
            try:
                said = _answer(agent, this, state, dest)
            except BaseException as error:
                game._raised = error
                raise
            game._heard = said
            return game._forced or said

        supposed = property(lambda this: game.supposed)  # noqa: ARG005  # what a property asks
        body = {"__call__": heard, "__module__": agent.__module__, "opponent_ufun": supposed}
        watched = type(agent.__name__, (agent,), _kept_in_class(agent) | body)
        _seed(row["seed"])
        self.mechanism = Clockless(
            issues=issues_of(self.counts), n_steps=rounds_of(max_turns), ignore_negotiator_exceptions=False
        )
        ufun = ufun_of(self.counts, row["values"], self.seat)
        seats = [(watched(name="agent", **parameters), ufun), (Told(name="other"), None)]
        for negotiator, preferences in seats if self.seat == 0 else reversed(seats):
            self.mechanism.add(negotiator, preferences=preferences)

    @cached_property
    def supposed(self) -> Any:
        """The other's utility function as the agent is told it, made when it asks."""
        return supposed_ufun(self.counts, 1 - self.seat)

    def goes_on_as(self, history: list[list[Any]]) -> bool:
        """Whether ``history`` is this game, and more of it."""
        return len(self.said) <= len(history) and self.said == history[: len(self.said)]

    def act(self, history: list[list[Any]], limit: float) -> tuple[int, list[int]]:
        """What the agent says after ``history``, which goes on from :attr:`said`; raises what the agent raises."""
        for said in history[len(self.said) :]:
            if len(self.said) % 2 == self.seat:
                self._ask(limit, said)
            else:
                self._next = self._as_response(said, 1 - self.seat)
                if self.seat == 0:  # the other's act ends the round; where it comes first, it is asked with the agent
                    self.mechanism.step()
            self.said.append(said)
        act, kept = self._ask(limit, None)
        self.said.append([act, kept])
        return act, kept

    def _ask(self, limit: float, forced: list[Any] | None) -> tuple[int, list[int]]:
        """The agent's act; where one is ``forced``, that one is taken instead of it."""
        self._heard, self._forced = None, None if forced is None else self._as_response(forced, self.seat)
        self._raised = None
        with _limited(limit):
            self.mechanism.step()
        if self._heard is None and self._raised is not None:
            raise self._raised
        return self._as_act(self._heard)

    def _as_response(self, act: list[Any], seat: int) -> Any:
        kind, kept = act
        if kind in (PROPOSE, INSIST):
            return self._response(self._type.REJECT_OFFER, outcome_of(kept, self.counts, seat))
        if kind == DISAGREE:  # without data, NegMAS would end the negotiation
            return self._response(self._type.REJECT_OFFER, None, {"text": "no"})
        return self._response(self._type.ACCEPT_OFFER if kind == AGREE else self._type.END_NEGOTIATION, None)

    def _as_act(self, said: Any) -> tuple[int, list[int]]:
        """An answer of NegMAS as one of our acts; raises :class:`ValueError` where it offers what cannot be offered."""
        if said is None:
            return END, [0, 0, 0]
        kind, outcome = said.response, said.outcome
        if kind == self._type.ACCEPT_OFFER:
            return AGREE, [0, 0, 0]
        if kind == self._type.REJECT_OFFER:
            outcome = getattr(outcome, "outcome", outcome)
            if isinstance(outcome, dict):
                outcome = [outcome[name] for name in ISSUES]
            if outcome is None:
                return (DISAGREE if said.data else END), [0, 0, 0]
            given = [int(each) for each in outcome]
            if len(given) != 3 or any(not 0 <= g <= c for g, c in zip(given, self.counts, strict=True)):
                raise ValueError(f"offered {outcome!r} of a pool of {self.counts}")
            return PROPOSE, list(outcome_of(given, self.counts, self.seat))
        return END, [0, 0, 0]  # it ends the negotiation, leaves it, waits, or says nothing


def _kept_in_class(agent: type[Any]) -> dict[str, Any]:
    """Copies of the lists, dicts and sets that an agent's classes hold, those of NegMAS aside, by name."""
    own = [each for each in reversed(agent.__mro__) if each.__module__.partition(".")[0] not in ("negmas", "builtins")]
    return {
        name: copy.deepcopy(value)
        for each in own
        for name, value in vars(each).items()
        if isinstance(value, list | dict | set) and not name.startswith("__")
    }


def _answer(agent: type[Any], this: Any, state: Any, dest: str | None) -> Any:
    try:
        return agent.__call__(this, state, dest=dest)
    except TypeError as error:
        if "dest" not in str(error):
            raise
        return agent.__call__(this, state)


def _states() -> tuple[Any, Any]:
    import numpy as np

    return random.getstate(), np.random.get_state()  # noqa: NPY002  # agents use the global generators


def _restore(states: tuple[Any, Any]) -> None:
    import numpy as np

    random.setstate(states[0])
    np.random.set_state(states[1])  # noqa: NPY002


def _seed(seed: int) -> None:
    import numpy as np

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  # agents use the global generators


_Random = random.Random


class _Derived(_Random):
    """A generator that an agent makes without a seed takes one from the global generator, which has one."""

    def __init__(self, *seed: Any, **named: Any) -> None:
        super().__init__(*(seed or (() if named else (random.getrandbits(64),))), **named)


def derive_seeds() -> None:
    """From here on unseeded generators of :mod:`random` and NumPy are seeded from the global ones."""
    import numpy as np

    if random.Random is _Derived:
        return
    made = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        return made(random.getrandbits(64) if seed is None else seed)

    random.Random = _Derived  # type: ignore[misc]
    np.random.default_rng = default_rng


@contextmanager
def _limited(limit: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` inside after ``limit`` seconds of processor time, again and again until it gets out."""

    def stop(number: int, frame: Any) -> None:  # noqa: ARG001  # what signal asks
        raise OutOfTime

    if not hasattr(signal, "setitimer"):  # Windows: whoever asks waits no longer than it likes
        yield
        return
    by_clock = max(SLEEP * limit, LEAST)
    timers = ((signal.ITIMER_PROF, signal.SIGPROF, limit), (signal.ITIMER_REAL, signal.SIGALRM, by_clock))
    for timer, number, seconds in timers:
        signal.signal(number, stop)
        signal.setitimer(timer, seconds, max(seconds / 10, 0.01))
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)


class ActServer:
    """Answers requests; keeps the games that go on."""

    def __init__(self) -> None:
        self._games: OrderedDict[str, NegMASGame] = OrderedDict()
        self._last: NegMASGame | None = None  # the game whose random numbers are in the global generators

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whether the agent can be loaded and made, and the versions of what it is from."""
        self._set_aside()
        try:
            row = {"counts": [1, 1, 1], "values": [3, 3, 4], "seat": 1, "seed": 0}
            NegMASGame(load(request["agent"]), request["parameters"], row, 2)
        except BaseException as error:  # noqa: BLE001  # somebody else's code: whatever it raises is the answer
            return {"error": _told(error)}
        return {"versions": {name: _version(name) for name in ("negmas", request["agent"].partition(".")[0])}}

    def agents(self, request: dict[str, Any]) -> dict[str, Any]:
        """The negotiators that a package names in its ``__all__``, sorted, each with the module that it is in."""
        from negmas.gb.negotiators import GBNegotiator  # what negotiators of SAO are too

        try:
            package = importlib.import_module(request["package"])
        except BaseException as error:  # noqa: BLE001  # somebody else's code: whatever it raises is the answer
            return {"error": _told(error)}
        named = {name: getattr(package, name, None) for name in sorted(getattr(package, "__all__", ()))}
        found = {
            name: each for name, each in named.items() if isinstance(each, type) and issubclass(each, GBNegotiator)
        }
        return {"agents": [[f"{package.__name__}.{name}", each.__module__] for name, each in found.items()]}

    def answer(self, request: dict[str, Any], row: dict[str, Any]) -> list[Any]:
        """The agent's act in one row, as a line of the protocol."""
        key = f"{request['agent']} {request['parameters']} {request['max_turns']} {row['seat']} {row['key']}"
        game = self._games.pop(key, None)
        self._set_aside()
        try:
            if game is None or not game.goes_on_as(row["history"]):
                game = NegMASGame(load(request["agent"]), request["parameters"], row, request["max_turns"])
            else:
                _restore(game.random)
            act, kept = game.act(row["history"], request["limit"])
        except OutOfTime:
            return [END, [0, 0, 0], "out of time"]
        except BaseException as error:  # noqa: BLE001  # somebody else's code: whatever it raises is a forfeit
            return [END, [0, 0, 0], _told(error)]
        if act in (PROPOSE, DISAGREE) and len(row["history"]) + 2 < request["max_turns"]:
            self._games[key] = self._last = game
            while len(self._games) > KEPT:
                self._games.popitem(last=False)
        return [act, kept, ""]

    def _set_aside(self) -> None:
        """The last game keeps its random numbers: another's turn comes."""
        if self._last is not None:
            self._last.random = _states()
        self._last = None


def _told(error: BaseException) -> str:
    """An error in one line: its class, and the beginning of what it says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def main() -> None:
    """Answer until standard input ends; Ctrl-C is for whoever asks, and no agent forfeits by it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.path and os.path.isfile(os.path.join(sys.path[0], "negmas_worker.py")):  # noqa: PTH113, PTH118
        sys.path.pop(0)  # the folder of this file holds no library
    pipe = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    worker = ActServer()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "act":
            derive_seeds()
            answers: Iterator[Any] = (worker.answer(request, row) for row in request["rows"])
        else:
            answers = iter([getattr(worker, request["do"])(request)])
        for answer in answers:
            pipe.write(json.dumps(answer) + "\n")
            pipe.flush()


if __name__ == "__main__":
    main()
