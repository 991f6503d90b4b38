"""The worker of this room, started with a Python of the user's choice and spoken to over pipes."""

from __future__ import annotations

import hashlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np

from dond_marl.errors import InputError, RunFailure, quote
from dond_marl.game import Act
from dond_marl.seats import Cause, Decisions, Traits, Turns

WORKER = Path(__file__).with_name("negmas_worker.py")
PATIENCE = 60.0  # times the limit of an act that one is waited for, by the clock; the worker ends it long before
READY = 300.0  # seconds by the clock that are waited for at least, and for an agent to load: some load TensorFlow
TAIL = 2000  # the last characters of what a worker wrote to standard error
NEEDS = (
    "give the dotted path of a negotiator's class, and the Python of an environment that has NegMAS and its package: "
    "docs/FIELD.md"
)
AgentAct = tuple[int, list[int], str]  # act, what its speaker would keep, and what went wrong, "" for nothing


class NegMASAgent(NamedTuple):
    """A negotiator of NegMAS: the dotted path of its class, and what it is made with, as JSON."""

    path: str
    parameters: str = "{}"


class WorkerDied(RunFailure):
    """The worker ended, or said nothing for too long."""


class NegMASWorker:
    """One process; it is started when it is first asked, and again after it died.

    It ends with whoever holds it. One lock: two threads may hold the same worker.
    """

    def __init__(self, python: str) -> None:
        self.python = python
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._rest = b""
        self._lock = threading.Lock()

    def load(self, agent: NegMASAgent) -> dict[str, str]:
        """The versions of NegMAS and of the agent's package. Raises :class:`InputError` where it does not load."""
        with self._turn():
            try:
                self._send({"do": "load", "agent": agent.path, "parameters": json.loads(agent.parameters)})
                answer = self._line(READY)
            except WorkerDied as error:
                raise InputError(f"{agent.path} cannot be loaded with {self.python}: {error}") from error
        if "error" in answer:
            raise InputError(f"{agent.path} cannot be loaded with {self.python}: {answer['error']}; {NEEDS}")
        versions: dict[str, str] = answer["versions"]
        return versions

    def agents(self, package: str) -> dict[str, str]:
        """The modules of the negotiators of a package, by dotted path. Raises :class:`InputError`."""
        with self._turn():
            try:
                self._send({"do": "agents", "package": package})
                answer = self._line(READY)
            except WorkerDied as error:
                raise InputError(f"{package} cannot be loaded with {self.python}: {error}") from error
        if "error" in answer:
            raise InputError(f"{package} cannot be loaded with {self.python}: {answer['error']}; {NEEDS}")
        return dict(answer["agents"])

    def cpu_seconds(self) -> float:
        """The processor time of the worker so far, where the system tells it; 0 where it does not."""
        if self._process is None:
            return 0.0
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def act(
        self, agent: NegMASAgent, max_turns: int, limit: float, rows: Sequence[dict[str, Any]]
    ) -> tuple[list[AgentAct], int]:
        """What the agent says in each row, and how many of the rows the worker died of.

        ``rows`` as the worker takes them. A row that it died of is a forfeit; the rows after it are asked anew.
        """
        said: list[AgentAct] = []
        deaths = 0
        asked = {"do": "act", "agent": agent.path, "parameters": json.loads(agent.parameters)}
        with self._turn():
            while len(said) < len(rows):
                try:
                    self._send({**asked, "max_turns": max_turns, "limit": limit, "rows": rows[len(said) :]})
                    while len(said) < len(rows):
                        act, kept, trouble = self._line(max(READY, PATIENCE * limit))
                        said.append((act, kept, trouble))
                except WorkerDied as error:
                    said.append((4, [0, 0, 0], f"its process died: {error}"))
                    deaths += 1
        return said, deaths

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None and self._log is not None:
            _end(self._process, self._log)
        self._process, self._log, self._rest = None, None, b""

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One request at a time; whoever is interrupted in one leaves no answers behind for the next."""
        with self._lock:
            whole = False
            try:
                yield
                whole = True
            finally:
                if not whole:
                    self.close()

    def _send(self, request: dict[str, Any]) -> None:
        if self._process is not None and self._process.poll() is not None:
            self.close()  # it was stopped between two requests
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise WorkerDied(self._last_words(f"it ended: {error}")) from error

    def _line(self, seconds: float) -> Any:
        """The next line of the worker. Raises :class:`WorkerDied` where none comes in ``seconds``."""
        assert self._process is not None and self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._rest:
            with selectors.DefaultSelector() as selector:
                selector.register(pipe, selectors.EVENT_READ)
                if not selector.select(seconds):
                    raise WorkerDied(self._last_words(f"nothing came in {seconds:.0f} seconds"))
            more = os.read(pipe, 2**16)
            if not more:
                code = self._process.wait()
                raise WorkerDied(self._last_words(f"it ended with exit code {code}"))
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _start(self) -> subprocess.Popen[bytes]:
        log = self._log = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        environment = {"OMP_NUM_THREADS": "1", **os.environ, "PYTHONHASHSEED": "0"}
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the Python that the user named, our own file
                [self.python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
            )
        except OSError as error:
            log.close()
            raise InputError(
                f"{quote(self.python)} cannot be started: {error}; give with python= the Python of an environment"
            ) from error
        weakref.finalize(self, _end, self._process, log)
        return self._process

    def _last_words(self, why: str) -> str:
        """``why`` with the last line of standard error; the process is ended."""
        last = ""
        if self._log is not None:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - TAIL))
            lines = self._log.read().decode(errors="replace").strip().splitlines()
            last = f" ({lines[-1].strip()})" if lines else ""
        self.close()
        return why + last


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout, log):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:  # what was not written is not missed
                continue
    process.wait()


_WORKERS: weakref.WeakValueDictionary[str, NegMASWorker] = weakref.WeakValueDictionary()


def worker_of(python: str | None) -> NegMASWorker:
    """The worker of a Python, ``None`` for this one; who asks for the same one while it lives gets the same worker."""
    python = python or sys.executable
    found = _WORKERS.get(python)
    if found is None:
        found = _WORKERS[python] = NegMASWorker(python)
    return found


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
