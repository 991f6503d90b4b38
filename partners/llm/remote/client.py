"""Remote language models: Groq, and any server that speaks the OpenAI chat protocol.

Many prompts are in flight at once, as many as the service answers without making them wait for each other; what fails
is tried again where that can help, and told once. The key is read when the first prompt is sent; it is in no setting,
message, reply or pickle.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, TypeVar

from partners.llm.budget import Budget, Cost
from partners.llm.client import Failure, ModelReply, Query, SetupError
from partners.llm.remote.chat import most_prompt_tokens, rates, read_answer, request_body
from partners.llm.remote.forms import PROBE, STRUCTURES, is_enforced
from partners.llm.remote.notices import Notices
from partners.llm.remote.retry import Clock, Paced, RateLimits, RequestFailure, RetryPolicy, SystemClock
from partners.llm.remote.session import Session, open_session, policy_of
from partners.llm.remote.wire import NO_KEY
from partners.llm.service import ServiceSettings, Structure

Result = TypeVar("Result")
_IDLE = Cost(requests=1)  # a request that no model has worked on
_SPENT = RequestFailure(Failure.BUDGET, retry=False)
_NOT_THIS_FORM = (400, 405, 413, 415, 422, 500, 501)  # a refusal of the probe, which is a good request otherwise
ENFORCED = "enforced"
_TOLD_EVERY_S = 0.5  # seconds in which what fails is told, while others are still asked


class LastRequest(NamedTuple):
    """The newest request: the HTTP status (``None`` without an answer), its seconds, and the rates that it told."""

    status: int | None
    seconds: float
    rates: RateLimits


class RemoteClient:
    """Asks a service over HTTP, many prompts in flight at once, within a budget.

    ``policy`` is by default what the settings say. ``tally`` counts ``requests``, ``retries``, ``bad_<failure>``
    (requests that brought no reply), ``failed_<failure>`` (asks given up), ``replies``, ``prompt_tokens``,
    ``completion_tokens``, and ``probes``, the asks that found out which form of structured output the server has:
    ``forms`` has what came of each, ``form`` the one in use. Close it after use.
    """

    remote = True

    def __init__(
        self,
        settings: ServiceSettings | None = None,
        *,
        policy: RetryPolicy | None = None,
        budget: Budget | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.settings = ServiceSettings() if settings is None else settings
        self.policy = policy_of(self.settings) if policy is None else policy
        self.budget = Budget(self.settings.limits) if budget is None else budget
        self.tally: Counter[str] = Counter()
        self.forms: dict[Structure, str] = {}
        self.form: Structure | None = self.settings.structure_mode if not self.settings.probes_structure else None
        self.latest: LastRequest | None = None
        self._clock: Clock = SystemClock() if clock is None else clock
        self._notices = Notices(f"the model {self.settings.name!a} at {self.settings.url}", self.policy)
        self._session: Session | None = None
        self._refused: str | None = None  # what a person must mend first

    def __reduce__(self) -> NoReturn:
        raise TypeError("a remote client lives in one process: make it from its settings there")

    @property
    def identity(self) -> Mapping[str, object]:
        return self.settings.identity()

    def complete(self, asks: Sequence[Query]) -> list[ModelReply]:
        """One reply per ask, in order. Raises :class:`SetupError`, from then on without a request."""
        if not asks:
            return []
        if self._refused is not None:
            raise SetupError(self._refused)
        session = self._opened()
        try:
            with self.budget.waiting():
                return self._waited(session.portal.start_task_soon(self._all, session, asks))
        except SetupError as error:
            self._refused = str(error)
            raise

    def probe_structures(self) -> Structure:
        """Ask the server which forms of structured output it has, whatever the settings say, and which would be used.

        ``forms`` has the words. Raises :class:`SetupError`, also where the server does not answer.
        """
        session = self._opened()
        form = self._waited(session.portal.start_task_soon(self._best_form, session))
        if isinstance(form, Failure):
            raise SetupError(f"the server could not be asked what it has ({form})")
        return form

    def close(self) -> None:
        """Close the connections; a later ask opens new ones."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def _waited(self, future: Future[Result]) -> Result:
        """The result, while what fails is told. An interrupt of the wait ends the requests too."""
        try:
            while True:
                try:
                    return future.result(timeout=_TOLD_EVERY_S)
                except TimeoutError:
                    if future.done():  # at that very moment, or with a time-out of its own
                        return future.result()
                    self._notices.tell()
        except BaseException:
            future.cancel()
            raise
        finally:
            self._notices.tell()

    def _opened(self) -> Session:
        """The session, begun with the first ask. Raises :class:`SetupError`."""
        if self._session is None:
            self._session = open_session(self, self.settings, self.policy, self._clock)
        return self._session

    async def _all(self, session: Session, asks: Sequence[Query]) -> list[ModelReply]:
        async with session.asking_forms:
            form = self.form or await self._best_form(session)
        if isinstance(form, Failure):
            self.tally[f"failed_{form}"] += len(asks)
            return [ModelReply(failure=form)] * len(asks)
        self.form = form
        tasks = [asyncio.ensure_future(self._one(session, ask, form)) for ask in asks]
        try:
            return await asyncio.gather(*tasks)
        finally:  # where one error stops all, the others have ended before it is raised
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _best_form(self, session: Session) -> Structure | Failure:
        """The form that enforces the most of those that the server has, found out once; or why it cannot be known."""
        for form in STRUCTURES[:-1]:
            if form not in self.forms:
                self.tally["probes"] += 1
                async with session.slots:
                    answer = await self._tries(session, PROBE, form)
                if isinstance(answer, RequestFailure) and answer.status not in _NOT_THIS_FORM:
                    self._notices.given_up(answer)
                    return answer.failure
                if isinstance(answer, RequestFailure):
                    self.forms[form] = f"refused ({answer.status}){answer.words and ': '}{answer.words}"
                else:
                    self.forms[form] = ENFORCED if is_enforced(form, answer.text) else "taken, and not kept to"
            if self.forms[form] == ENFORCED:
                return form
        return STRUCTURES[-1]

    async def _one(self, session: Session, ask: Query, form: Structure) -> ModelReply:
        async with session.slots:
            reply = await self._tries(session, ask, form)
        if isinstance(reply, RequestFailure):
            self.tally[f"failed_{reply.failure}"] += 1
            self._notices.given_up(reply)
            return ModelReply(failure=reply.failure)
        self._notices.answered = True
        self.tally["replies"] += 1
        self.tally["prompt_tokens"] += reply.usage.prompt_tokens
        self.tally["completion_tokens"] += reply.usage.completion_tokens
        return reply

    async def _tries(self, session: Session, ask: Query, form: Structure) -> ModelReply | RequestFailure:
        policy, clock = self.policy, self._clock
        request = self._prepared(ask, form)
        deadline, trouble = clock.now() + policy.deadline_s, RequestFailure(Failure.PAUSED)
        for attempt in range(1, policy.max_attempts + 1):
            if self.budget.seconds_left <= 0:
                return _SPENT
            if session.gate.shut(deadline):
                return trouble
            patience = self.budget.seconds_left if attempt == 1 else deadline - clock.now()
            paced = await session.pace.take(request.worst.tokens, patience)
            if paced is None:
                return _SPENT if attempt == 1 else trouble
            if attempt == 1:  # waiting for one's own rate is no fault of the service
                deadline = clock.now() + min(policy.deadline_s, self.budget.seconds_left)
            answer = await self._through(session, request, attempt, deadline, paced)
            if answer is None:
                return trouble
            if isinstance(answer, ModelReply):
                return answer
            trouble, wait = answer, answer.wait_s or 0.0
            if not answer.retry or attempt == policy.max_attempts or clock.now() + wait > deadline:
                return trouble
            self.tally["retries"] += 1
            if not answer.everyone:  # otherwise the gate waits, for all
                await clock.sleep(wait)
        raise AssertionError("the last attempt returns")

    async def _through(
        self, session: Session, request: _Request, attempt: int, deadline: float, paced: Paced
    ) -> ModelReply | RequestFailure | None:
        """One request, once the gate lets it out; a :class:`Trouble` comes with the seconds to wait."""

        async def send() -> ModelReply | RequestFailure:
            answer = await self._request(session, request, deadline, paced)
            if isinstance(answer, ModelReply) or answer.failure is Failure.BUDGET:
                return answer
            self.tally[f"bad_{answer.failure}"] += 1
            if request.counts:
                self._notices.heard(answer)
            if answer.wait_s is not None:
                return answer
            return replace(answer, wait_s=self.policy.wait(attempt, request.share(attempt)), asked=False)

        answer = await session.gate.through(send, deadline)
        if answer is None or (isinstance(answer, RequestFailure) and answer.failure is Failure.BUDGET):
            session.pace.give_back(paced)
        return answer

    async def _request(
        self, session: Session, request: _Request, deadline: float, paced: Paced
    ) -> ModelReply | RequestFailure:
        if not self.budget.reserve(request.worst):
            return _SPENT
        self.tally["requests"] += 1
        taken = request.worst  # unless the answer has a count
        began, full = self._clock.now(), session.slots.depart()
        read: ModelReply | RequestFailure | None = None
        try:
            answer = await session.wire.post(request.body, min(self.policy.timeout_s, deadline - began))
            if isinstance(answer, RequestFailure):
                taken = request.worst if answer.sent else _IDLE
                self.latest = LastRequest(None, self._clock.now() - began, RateLimits())
                read = answer
                return read
            if answer.status_code >= 300:
                taken = _IDLE
            told = rates(answer.headers)
            self.latest = LastRequest(answer.status_code, self._clock.now() - began, told)
            read = read_answer(
                answer,
                model=self.settings.name,
                key=f"${self.settings.key_variable}" if self.settings.key_variable else "key_env",
                secret="" if session.key == NO_KEY else session.key,
                wall_s=self._clock.wall(),
            )
            session.pace.heed(told, sum(read.usage) if isinstance(read, ModelReply) else 0, session.slots.flying - 1)
            if isinstance(read, RequestFailure):
                return read
            taken = self.settings.price.cost(*read.usage) if any(read.usage) else request.worst
            text = read.text if session.key == NO_KEY else read.text.replace(session.key, "[key]")  # some repeat it
            return read._replace(text=text)
        finally:
            good = not isinstance(read, RequestFailure) or not read.fault
            session.slots.arrive(full, self._clock.now() - began, good=good)
            self.budget.settle(request.worst, taken)
            paced.tokens = taken.tokens

    def _prepared(self, ask: Query, form: Structure) -> _Request:
        body = request_body(self.settings, ask, form)
        worst = self.settings.price.cost(most_prompt_tokens(body), self.settings.max_tokens)
        number = zlib.crc32(f"{ask.sample} {ask.prompt}".encode())
        return _Request(body, worst, number, counts=ask is not PROBE)


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent for one ask, the most it can cost, and a number of its own; ``counts``: it is not a probe."""

    body: Mapping[str, Any]
    worst: Cost
    number: int
    counts: bool

    def share(self, attempt: int) -> float:
        """A number in [0, 1) for the jitter: spread over asks and attempts, and the same in every run."""
        return zlib.crc32(f"{self.number} {attempt}".encode()) / 2**32
