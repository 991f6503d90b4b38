"""The worker process that runs negotiators of NegMAS, one act per query.

This file runs alone, in a Python of the user's choice that has NegMAS and the agents; it imports nothing of this
project. It reads JSON objects, one a line, from standard input and writes lines of JSON to standard output; the output
of the agents themselves is discarded.

``{"do": "load", "agent": "package.Class", "parameters": {}}``
    ``{"versions": {"negmas": "0.16.0", ...}}``, or ``{"error": "..."}``.
``{"do": "act", "agent": ..., "parameters": {}, "max_turns": 10, "limit": 10.0, "rows": [...]}``
    one line for each row, in their order: ``[act, [k, k, k], trouble]``. A row is ``{"key": str, "seat": 0 or 1,
    "counts": [3], "values": [3], "seed": int, "history": [[act, [3]], ...]}``: the pool, the values of the agent's
    seat, and every act so far with the items that its seat would keep.

Acts are numbers: 0 PROPOSE, 1 INSIST, 2 AGREE, 3 DISAGREE, 4 END. ``trouble`` is empty, or the reason of a forfeit.

A game is a :class:`SAOMechanism` of ``n_steps`` rounds in which each seat acts once. The agent gets its own utility
function only. A scripted negotiator replays the other seat's acts, and waits until the next one is known. Unfinished
games are cached; a game that is not cached, or whose history differs, is replayed from its beginning. Each game has
its own random state and its own copies of the lists, dicts and sets in the agent's classes, so that games do not affect
each other. An agent has ``limit`` seconds of processor time for one act, and thirty times as much real time (at least
60 seconds). Some competitions let an agent read its opponent's utility function; here it gets one under which all items
of each type together have the same value.
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
CACHE_SIZE = 2048  # unfinished games
SLEEP, LEAST = 30, 60.0  # real time for one act: this multiple of the limit, and at least so many seconds


class OutOfTime(BaseException):
    """The agent has used up its time. A ``BaseException``, so that no ``except Exception`` of an agent catches it."""


def issues_of(counts: Sequence[int]) -> list[Any]:
    """The three issues: how many books, hats and balls seat_0 gets, from none to all."""
    from negmas.outcomes import make_issue

    return [make_issue(int(count) + 1, name=name) for name, count in zip(ISSUES, counts, strict=True)]


def ufun_of(counts: Sequence[int], values: Sequence[int], seat: int) -> Any:
    """The utility function of a seat: its points divided by the pool's value to it; no deal is worth 0.

    It is linear and additive, as in Genius: a weight for each issue, summing to one, and an evaluation of each value
    from none of the items (0) to all of them (1).
    """
    pool_value = sum(count * value for count, value in zip(counts, values, strict=True)) or 1
    return _linear_ufun(counts, [count * value / pool_value for count, value in zip(counts, values, strict=True)], seat)


def presumed_ufun_of(counts: Sequence[int], seat: int) -> Any:
    """The utility function of ``seat`` as agents may read it: all items of each type together have the same value."""
    present = sum(count > 0 for count in counts)
    return _linear_ufun(counts, [(count > 0) / present for count in counts], seat)


def _linear_ufun(counts: Sequence[int], weights: list[float], seat: int) -> Any:
    from negmas.preferences import LinearAdditiveUtilityFunction, TableFun

    tables = [
        {kept: (kept if seat == 0 else count - kept) / max(count, 1) for kept in range(count + 1)}
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
    """The number of NegMAS rounds, of one act of each seat, in a game of ``max_turns`` acts."""
    return (max_turns + 1) // 2


def outcome_of(oA: Sequence[int], counts: Sequence[int], seat: int) -> tuple[int, ...]:
    """NegMAS's form of an offer (the items of seat_0) from the items that ``seat`` keeps, or the reverse."""
    return tuple(int(k) if seat == 0 else int(c) - int(k) for k, c in zip(oA, counts, strict=True))


def load(path: str) -> type[Any]:
    """The class at a dotted path. Raises :class:`ImportError` or :class:`AttributeError`."""
    module, _, name = path.rpartition(".")
    loaded: type[Any] = getattr(importlib.import_module(module), name)
    return loaded


class NegMASGame:
    """A negotiation in progress: an agent of NegMAS in one seat, a scripted negotiator in the other."""

    def __init__(self, agent: type[Any], parameters: dict[str, Any], row: dict[str, Any], max_turns: int) -> None:
        from negmas.sao import ResponseType, SAOMechanism, SAONegotiator, SAOResponse

        self.counts, self.seat = row["counts"], row["seat"]
        self.acts: list[list[Any]] = []  # the acts so far, as in a row's history
        self._response, self._type = SAOResponse, ResponseType
        self._next: Any = None  # the scripted negotiator's next response
        self._forced: Any = None  # a response that replaces the agent's next one, for replaying a history
        self._answer: Any = None  # the agent's own response
        self._raised: BaseException | None = None  # the agent's error: NegMAS queries again or ignores it
        self.random: Any = None  # the random state of this game while another one is played
        game = self

        class Clockless(SAOMechanism):  # type: ignore[misc]
            """A mechanism with a clock that stands still, so that nothing depends on the machine's speed."""

            @property
            def time(self) -> float:
                return 0.0

        class Scripted(SAONegotiator):  # type: ignore[misc]
            """Returns ``game._next``, or waits if there is none."""

            def __call__(self, state: Any, dest: str | None = None) -> Any:  # noqa: ARG002  # NegMAS's signature
                response, game._next = game._next, None
                return response or SAOResponse(ResponseType.WAIT, None)

            def propose(self, state: Any, dest: str | None = None) -> Any:  # noqa: ARG002  # NegMAS's signature
                return None

        def call_agent(instance: Any, state: Any, dest: str | None = None) -> Any:
            try:
                response = _call(agent, instance, state, dest)
            except BaseException as error:
                game._raised = error
                raise
            game._answer = response
            return game._forced or response

        presumed = property(lambda instance: game.presumed_ufun)  # noqa: ARG005  # a property's signature
        body = {"__call__": call_agent, "__module__": agent.__module__, "opponent_ufun": presumed}
        observed = type(agent.__name__, (agent,), _class_state(agent) | body)
        _seed(row["seed"])
        self.mechanism = Clockless(
            issues=issues_of(self.counts), n_steps=rounds_of(max_turns), ignore_negotiator_exceptions=False
        )
        ufun = ufun_of(self.counts, row["values"], self.seat)
        seats = [(observed(name="agent", **parameters), ufun), (Scripted(name="other"), None)]
        for negotiator, preferences in seats if self.seat == 0 else reversed(seats):
            self.mechanism.add(negotiator, preferences=preferences)

    @cached_property
    def presumed_ufun(self) -> Any:
        """The other seat's utility function for the agent to read, made on first use."""
        return presumed_ufun_of(self.counts, 1 - self.seat)

    def is_prefix_of(self, history: list[list[Any]]) -> bool:
        """Whether ``history`` continues this game."""
        return len(self.acts) <= len(history) and self.acts == history[: len(self.acts)]

    def act(self, history: list[list[Any]], limit: float) -> tuple[int, list[int]]:
        """The agent's act after ``history``, which continues :attr:`acts`; raises the agent's errors."""
        for act in history[len(self.acts) :]:
            if len(self.acts) % 2 == self.seat:
                self._query(limit, act)
            else:
                self._next = self._as_response(act, 1 - self.seat)
                if self.seat == 0:  # the other's act ends the round; otherwise it is played in the agent's step
                    self.mechanism.step()
            self.acts.append(act)
        number, oA = self._query(limit, None)
        self.acts.append([number, oA])
        return number, oA

    def _query(self, limit: float, forced: list[Any] | None) -> tuple[int, list[int]]:
        """The agent's act at its turn; a ``forced`` act is played instead of it."""
        self._answer, self._forced = None, None if forced is None else self._as_response(forced, self.seat)
        self._raised = None
        with _limit_time(limit):
            self.mechanism.step()
        if self._answer is None and self._raised is not None:
            raise self._raised
        return self._as_act(self._answer)

    def _as_response(self, act: list[Any], seat: int) -> Any:
        kind, oA = act
        if kind in (PROPOSE, INSIST):
            return self._response(self._type.REJECT_OFFER, outcome_of(oA, self.counts, seat))
        if kind == DISAGREE:  # without data, NegMAS would end the negotiation
            return self._response(self._type.REJECT_OFFER, None, {"text": "no"})
        return self._response(self._type.ACCEPT_OFFER if kind == AGREE else self._type.END_NEGOTIATION, None)

    def _as_act(self, response: Any) -> tuple[int, list[int]]:
        """A response of NegMAS as an act and its ``oA``. Raises :class:`ValueError` for an impossible offer."""
        if response is None:
            return END, [0, 0, 0]
        kind, outcome = response.response, response.outcome
        if kind == self._type.ACCEPT_OFFER:
            return AGREE, [0, 0, 0]
        if kind == self._type.REJECT_OFFER:
            outcome = getattr(outcome, "outcome", outcome)
            if isinstance(outcome, dict):
                outcome = [outcome[name] for name in ISSUES]
            if outcome is None:
                return (DISAGREE if response.data else END), [0, 0, 0]
            items = [int(number) for number in outcome]
            if len(items) != 3 or any(not 0 <= g <= c for g, c in zip(items, self.counts, strict=True)):
                raise ValueError(f"offered {outcome!r} of a pool of {self.counts}")
            return PROPOSE, list(outcome_of(items, self.counts, self.seat))
        return END, [0, 0, 0]  # it ends or leaves the negotiation, or waits


def _class_state(agent: type[Any]) -> dict[str, Any]:
    """Copies of the lists, dicts and sets in an agent's classes, except those of NegMAS, by name."""
    foreign = ("negmas", "builtins")
    classes = [base for base in reversed(agent.__mro__) if base.__module__.partition(".")[0] not in foreign]
    return {
        name: copy.deepcopy(value)
        for base in classes
        for name, value in vars(base).items()
        if isinstance(value, list | dict | set) and not name.startswith("__")
    }


def _call(agent: type[Any], instance: Any, state: Any, dest: str | None) -> Any:
    try:
        return agent.__call__(instance, state, dest=dest)
    except TypeError as error:
        if "dest" not in str(error):
            raise
        return agent.__call__(instance, state)


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
    """A generator that takes its seed from the global generator if it is made without one."""

    def __init__(self, *seed: Any, **named: Any) -> None:
        super().__init__(*(seed or (() if named else (random.getrandbits(64),))), **named)


def derive_seeds() -> None:
    """Make new unseeded generators of :mod:`random` and NumPy take their seeds from the global ones."""
    import numpy as np

    if random.Random is _Derived:
        return
    original = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        return original(random.getrandbits(64) if seed is None else seed)

    random.Random = _Derived  # type: ignore[misc]
    np.random.default_rng = default_rng


@contextmanager
def _limit_time(limit: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` inside after ``limit`` seconds of processor time, repeatedly until it is not caught."""

    def stop(number: int, frame: Any) -> None:  # noqa: ARG001  # a handler's signature
        raise OutOfTime

    real_time = max(SLEEP * limit, LEAST)
    timers = ((signal.ITIMER_PROF, signal.SIGPROF, limit), (signal.ITIMER_REAL, signal.SIGALRM, real_time))
    for timer, number, seconds in timers:
        signal.signal(number, stop)
        signal.setitimer(timer, seconds, max(seconds / 10, 0.01))
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)


class ActServer:
    """Answers requests; caches unfinished games."""

    def __init__(self) -> None:
        self._games: OrderedDict[str, NegMASGame] = OrderedDict()
        self._last: NegMASGame | None = None  # the game whose random numbers are in the global generators

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """The versions of NegMAS and of the agent's package, or the error of loading and constructing the agent."""
        self._set_aside()
        try:
            row = {"counts": [1, 1, 1], "values": [3, 3, 4], "seat": 1, "seed": 0}
            NegMASGame(load(request["agent"]), request["parameters"], row, 2)
        except BaseException as error:  # noqa: BLE001  # foreign code: any error is the answer
            return {"error": _describe(error)}
        return {"versions": {name: _version(name) for name in ("negmas", request["agent"].partition(".")[0])}}

    def answer(self, request: dict[str, Any], row: dict[str, Any]) -> list[Any]:
        """The protocol's answer to one row: the agent's act, or a forfeit with its reason."""
        key = f"{request['agent']} {request['parameters']} {request['max_turns']} {row['seat']} {row['key']}"
        game = self._games.pop(key, None)
        self._set_aside()
        try:
            if game is None or not game.is_prefix_of(row["history"]):
                game = NegMASGame(load(request["agent"]), request["parameters"], row, request["max_turns"])
            else:
                _restore(game.random)
            act, oA = game.act(row["history"], request["limit"])
        except OutOfTime:
            return [END, [0, 0, 0], "out of time"]
        except BaseException as error:  # noqa: BLE001  # foreign code: any error is a forfeit
            return [END, [0, 0, 0], _describe(error)]
        if act in (PROPOSE, DISAGREE) and len(row["history"]) + 2 < request["max_turns"]:
            self._games[key] = self._last = game
            while len(self._games) > CACHE_SIZE:
                self._games.popitem(last=False)
        return [act, oA, ""]

    def _set_aside(self) -> None:
        """Store the random state of the game played last, before another game is played."""
        if self._last is not None:
            self._last.random = _states()
        self._last = None


def _describe(error: BaseException) -> str:
    """An error in one line: its class and the beginning of its message."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def main() -> None:
    """Answer requests until standard input ends; Ctrl-C is left to the parent process."""
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
            answers = iter([worker.load(request)])
        for answer in answers:
            pipe.write(json.dumps(answer) + "\n")
            pipe.flush()


if __name__ == "__main__":
    main()
