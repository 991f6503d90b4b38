"""Programs of the public haggling form as partners, ``agent('their.js')`` or ``agent('their.py')``.

The form is that of Hola's JS Challenge of summer 2018, which was this game, and of NegotiateBench (Python)::

    class Agent:
        def __init__(self, me, counts, values, max_rounds): ...  # me: 0 if it moves first; a round is two turns
        def offer(self, o): ...  # o: the items that the partner leaves it, None at first
                                 # returns the items that it wants, or None to accept

A program runs in a worker process, :mod:`partners.adapters.agent_worker` or ``agent_worker.js``, never in this one. The
process gets lines of JSON: ``{"do": "load", "program": DIGEST, "name": FILE, "text": ...}``, answered with ``{}`` or
``{"error": ...}``, and ``{"do": "act", "program": DIGEST, "limit": seconds, "kept": games, "rows": [...]}``, answered
with a line ``[reply, trouble]`` for each row. A row is ``[me, counts, values, max_rounds, seed, offers]``, the
partner's offers so far. Agents of unfinished games wait in the process; a game without a waiting agent is replayed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dond_marl.errors import InputError, quote
from dond_marl.files import user_path
from dond_marl.game import Act
from dond_marl.occupants import PROGRAM, Spec, digest_of, read_program
from dond_marl.seats import Cause, Decisions, Traits, Turns
from partners.adapters.line_worker import LineWorker, WorkerDied
from partners.parameters import check_number
from partners.provenance import NO_PAST, OccupantProvenance, declare_provenance

HERE = Path(__file__)
LEAST, MOST = 0.1, 60.0  # seconds for one offer
WAIT = 60.0  # seconds of real time for the worker's answer, beyond the limits of the rows
IN_FLIGHT = 256  # rows before an answer is read: their answers fit into a pipe, so that the process is never stuck
# Unfinished games that wait in the worker: some are over, because the other seat has ended them, which it cannot know.
KEPT, LEAST_KEPT = 4, 200  # as a multiple of the latest batch
OLDEST_NODE = (20, 0)
NEED_NODE = "programs in JavaScript need Node.js 20 or newer as `node` on the PATH (https://nodejs.org)"
FILES = ("*.js", "*.py", "*/solution.js", "*/solution.py")  # of a folder of programs, in this order


def _program_provenance(parameters: Mapping[str, Any]) -> OccupantProvenance:
    """The identity of a program: the digest of its file, wherever that is."""
    digest = parameters.get("sha256") or digest_of(read_program(str(parameters.get("path"))))
    return OccupantProvenance(Spec(PROGRAM, {"sha256": digest}).text, NO_PAST)


@declare_provenance(_program_provenance)
class Agent:
    """A program of the public haggling form in a seat; it runs in another process.

    Source: Hola's JS Challenge of summer 2018 (github.com/hola/challenge_haggling, rules in ``blog/01-rules.md``) and
    NegotiateBench (github.com/Mihaiii/NegotiateBench, MIT).

    Types with no items are left out, as in the challenge. The reply is PROPOSE, or AGREE for an acceptance. PROPOSE and
    INSIST of the partner are offers; its DISAGREE repeats its latest offer, or offers nothing before the first, and a
    program that accepts it proposes that same split, because nothing is on the table. An agent that raises, replies
    with anything but an offer or takes more than ``limit`` ends the game without a deal (END): the challenge's rule.
    ``failures`` counts the reasons.

    JavaScript runs without modules, files and network, each game with its own copy of the program, its own random
    numbers and a clock that advances by a millisecond when it is read.

    - ``path``: a file, ``.js`` or ``.py``; of JavaScript the class is ``module.exports``, of Python it is ``Agent``.
    - ``name``: a name for people; by default the file's.
    - ``sha256``: the first 16 digits of the file's SHA-256; another file is refused.
    - ``limit``: seconds for one offer.
    """

    traits: ClassVar[Traits] = Traits()  # of the class: tables of stored rows are made without the program's file
    insist_is_propose: ClassVar[bool] = True  # the form has no label of an offer

    def __init__(self, path: str, name: str | None = None, sha256: str | None = None, limit: float = 5.0) -> None:
        check_number("limit", limit, LEAST, MOST)
        self.path, self.limit = path, float(limit)
        file = user_path(path)
        if file.suffix not in (".js", ".py"):
            raise InputError(f"a program is a file that ends in .js or .py; got {quote(path)}")
        content = read_program(path)
        self._text = content.decode("utf-8", errors="replace")  # as the challenge read it
        digest = digest_of(content)
        if sha256 is not None and sha256 != digest:
            raise InputError(f"{quote(path)} is another file than the one named: SHA-256 {digest}, not {quote(sha256)}")
        self.name = name or (file.parent.name if file.stem == "solution" else file.stem)
        self.failures: Counter[str] = Counter()
        self._javascript = file.suffix == ".js"
        self.program = f"{digest}{file.suffix}"
        self._loaded_by: tuple[LineWorker, int] | None = None  # the worker, and which of its processes
        worker = self.worker()
        with worker.requests():
            self.load(worker)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded_by": None}

    @property
    def joint_key(self) -> Hashable:
        """Equal for programs of one worker process: they are asked together (:class:`partners.mixture.JointPlayer`)."""
        return type(self), self._javascript

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the worker holds one agent for each game."""
        return self.act_jointly([self], [turns.size], turns)

    @staticmethod
    def act_jointly(players: Sequence[Agent], sizes: Sequence[int], turns: Turns) -> Decisions:
        """The same decisions as one ``act`` of each player: the first ``sizes[0]`` rows by the first, and so on."""
        agents = [player for player, size in zip(players, sizes, strict=True) for _ in range(size)]
        replies = _replies(agents, _rows(turns))
        act_type = np.full(turns.size, Act.PROPOSE, dtype=np.int8)
        oA = np.zeros((turns.size, 3), dtype=np.int8)
        cause = np.zeros(turns.size, dtype=np.int8)
        for row, (reply, failure) in enumerate(replies):
            counts, left_over = turns.counts[row].tolist(), turns.last_partner_offer_for_me[row].tolist()
            if failure:
                cause[row] = Cause.FORFEIT
            elif reply is None and turns.turns_taken and turns.act_mask[row, Act.AGREE]:
                act_type[row] = Act.AGREE
            elif reply is None and turns.turns_taken:
                oA[row] = left_over
            elif is_offer(reply, [count for count in counts if count]):
                oA[row, turns.counts[row] > 0] = reply
            else:
                failure, cause[row] = f"it replied {quote(reply)}", Cause.ILLEGAL
            if failure:
                agents[row].failures[failure] += 1
                act_type[row] = Act.END if turns.act_mask[row, Act.END] else Act.DISAGREE
        return Decisions(act_type, oA, np.ones(turns.size, dtype=np.float32), cause)

    def load(self, worker: LineWorker) -> None:
        """Send the program to the worker's process, once."""
        if self._loaded_by == (worker, worker.starts):
            return
        worker.send({"do": "load", "program": self.program, "name": self.path, "text": self._text})
        answer = worker.answer(WAIT)
        if "error" in answer:
            raise InputError(f"{quote(self.path)} cannot be read: {answer['error']}")
        self._loaded_by = worker, worker.starts

    def worker(self) -> LineWorker:
        return node_worker() if self._javascript else python_worker()


def _replies(agents: Sequence[Agent], rows: list[list[Any]]) -> list[tuple[Any, str]]:
    """The reply to each row of the agent of that row, with the reason of a failure or ``""``; all of one worker.

    Rows that a process left unanswered when it died go one by one to a new process; one that ends it is a failure.
    """
    replies: list[tuple[Any, str]] = []
    worker, size, number_of_rows = agents[0].worker(), IN_FLIGHT, Counter(agents)
    with worker.requests():
        while len(replies) < len(rows):
            sent = slice(len(replies), len(replies) + size)
            try:
                for agent in dict.fromkeys(agents[sent]):
                    agent.load(worker)
                for agent, part in groupby(zip(agents[sent], rows[sent], strict=True), key=itemgetter(0)):
                    kept = max(LEAST_KEPT, KEPT * number_of_rows[agent])
                    request = {"do": "act", "program": agent.program, "limit": agent.limit, "kept": kept}
                    worker.send({**request, "rows": [row for _, row in part]})
                patience = WAIT + sum(agent.limit for agent in agents[sent])
                for _ in rows[sent]:
                    replies.append(tuple(worker.answer(patience)))
            except WorkerDied as error:
                if size == 1:
                    replies.append((None, f"its process died: {error}"))
                size = 1
    return replies


def is_offer(reply: object, counts: list[int]) -> bool:
    """Whether a reply is a list of whole numbers of items, at most those of the pool."""
    return (
        isinstance(reply, list)
        and len(reply) == len(counts)
        and all(type(items) is int and 0 <= items <= count for items, count in zip(reply, counts, strict=True))
    )


def _rows(turns: Turns) -> list[list[Any]]:
    """The rows of a request: each game so far, from the agent's seat."""
    counts, history = turns.counts, turns.history
    offered, offers = np.zeros_like(counts), []
    for turn in range(1 - turns.seat, turns.turns_taken, 2):
        is_offer = history.act[:, turn, None] < Act.AGREE
        offered = np.where(is_offer, counts - history.oA[:, turn], offered)
        offers.append(offered)
    vectors = np.stack([counts, turns.my_utilities, *offers], axis=1).tolist()
    for row in np.flatnonzero(~counts.all(axis=1)).tolist():
        present = np.flatnonzero(counts[row]).tolist()
        vectors[row] = [[items[i] for i in present] for items in vectors[row]]
    seeds = (turns.game_noise[:, 0] * 2**32).astype(np.int64).tolist()
    before: list[None] = [] if turns.seat else [None]  # the first mover's first call
    rounds = (turns.rules.max_turns + 1) // 2
    return [
        [turns.seat, items, values, rounds, seed, [*before, *of_partner]]
        for (items, values, *of_partner), seed in zip(vectors, seeds, strict=True)
    ]


@lru_cache(maxsize=1)
def python_worker() -> LineWorker:
    """The process of this Python for programs in Python."""
    return LineWorker([sys.executable, "-I", str(HERE.with_name("agent_worker.py"))], "this Python is needed")


@lru_cache(maxsize=1)
def node_worker() -> LineWorker:
    """The process of Node for programs in JavaScript, without access to files. Raises :class:`InputError`."""
    node = shutil.which("node")
    if node is None:
        raise InputError(NEED_NODE)
    words = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    version = tuple(map(int, re.findall(r"\d+", words)[:2]))
    if version < OLDEST_NODE:
        raise InputError(f"{NEED_NODE}; {node} is {words.strip() or 'of an unknown version'}")
    permission = "--permission" if version >= (23, 5) else "--experimental-permission"
    code = HERE.with_name("agent_worker.js").read_text(encoding="utf-8")
    return LineWorker([node, permission, "--no-warnings", "-e", code], NEED_NODE)


def programs_in(folder: Path) -> Iterator[Spec]:
    """The programs of a folder as occupants, pinned: its own files, and ``solution.js`` or ``.py`` in its folders.

    Files of Python without ``class Agent`` are no programs. Raises :class:`InputError` for a folder without any.
    """
    files = sorted(file for pattern in FILES for file in folder.glob(pattern) if _may_be_program(file))
    if not files:
        raise InputError(f"{folder}: no program in it; looked for a class Agent in {', '.join(FILES)}")
    for file in files:
        yield Spec(PROGRAM, {"path": str(file), "sha256": digest_of(read_program(str(file)))})


def _may_be_program(file: Path) -> bool:
    return file.suffix != ".py" or b"class Agent" in file.read_bytes()
