"""The worker process of programs in Python: see :mod:`partners.adapters.agents` for the protocol.

This file runs alone and imports the standard library only. Each game has its own copy of the program's module and its
own state of ``random``, seeded by the game, so that games do not affect one another.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

programs: dict[str, CodeType] = {}  # by digest
games: defaultdict[str, OrderedDict[str, tuple[Any, Any]]] = defaultdict(
    OrderedDict
)  # by program: agents that wait, and ``random``'s state


class OutOfTime(BaseException):
    """The program has used up its time. A ``BaseException``, so that no ``except Exception`` of it catches it."""


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """A limit of processor time; ten times as much real time, at least ten seconds, for a program that sleeps."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, max(10.0, 10 * seconds))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def stop(_signal: int, _frame: object) -> None:
    """Raise :class:`OutOfTime`: the handler of the signals."""
    raise OutOfTime("it used up its time")


def play(program: str, row: list[Any], limit: float, kept: int) -> Any:
    """The reply to the last of the row's offers: of the agent that waits for it, or of one that replays the game."""
    seat, counts, values, rounds, seed, offers = row
    waiting, game = games[program], json.dumps(row[:5])
    key = game + json.dumps(offers[:-1])
    if key in waiting:
        agent, state = waiting.pop(key)
        random.setstate(state)
        first = len(offers) - 1
    else:
        random.seed(seed)
        module = ModuleType("agent")
        sys.modules["agent"] = module  # dataclasses look there
        with limit_time(limit):
            exec(programs[program], vars(module))  # noqa: S102  # the program that the user named
            agent = vars(module)["Agent"](seat, list(counts), list(values), rounds)
        first = 0
    reply: Any = None
    for offer in offers[first:]:
        with limit_time(limit):
            reply = agent.offer(None if offer is None else list(offer))
    if reply is not None and len(offers) < rounds:
        waiting[game + json.dumps(offers)] = agent, random.getstate()
        if len(waiting) > kept:
            waiting.popitem(last=False)
    return list(reply) if isinstance(reply, list | tuple) else None if reply is None else repr(reply)[:100]


def main() -> None:
    """Answer requests until standard input ends; what programs print is discarded."""
    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  # as long as the process
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "load":
            try:
                programs[request["program"]] = compile(request["text"], request["name"], "exec")
                answers.write("{}\n")
            except (SyntaxError, ValueError) as error:
                answers.write(json.dumps({"error": f"{type(error).__name__}: {error}"}) + "\n")
            continue
        for row in request["rows"]:
            try:
                answer = [play(request["program"], row, request["limit"], request["kept"]), ""]
                text = json.dumps(answer)
            except BaseException as error:  # noqa: BLE001  # code of others, which may raise anything
                text = json.dumps([None, f"{type(error).__name__}: {error}"[:200]])
            answers.write(text + "\n")


if __name__ == "__main__":
    main()
