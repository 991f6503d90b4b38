"""Remote language models: Groq, and any server that speaks the OpenAI chat protocol.

Groq's SDK serves both, by raw calls: its typed call adds a second ``/openai/v1`` to other servers' addresses. Its own
retries are off, as they would multiply with ours. It is imported, and the key read, when the first prompt is sent; the
key is in no setting, message, reply or pickle. The SDK's errors hold requests, with the key in a header, so none of
them leaves here, not even as the cause of another.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

from partners.llm.budget import Budget, Cost
from partners.llm.client import Ask, Failure, Reply, SetupError
from partners.llm.remote.chat import most_prompt_tokens, read_answer, request_body
from partners.llm.remote.retry import Clock, Gate, Pace, Paced, RetryPolicy, SystemClock, Trouble
from partners.llm.service import ServiceSettings

if TYPE_CHECKING:
    import httpx
    from anyio.from_thread import BlockingPortal
    from groq import AsyncGroq

_NO_KEY = "none"  # what a server that needs no key is sent
_IDLE = Cost(requests=1)  # a request that no model has worked on


@dataclass(frozen=True, slots=True)
class _Session:
    """What lives in an event loop in a thread of its own: the caller may run in a loop too (notebooks)."""

    portal: BlockingPortal  # the way into the loop
    end: weakref.finalize[..., RemoteClient]  # at the latest when the client is collected or the interpreter ends
    sdk: AsyncGroq
    key: str = field(repr=False)
    slots: asyncio.Semaphore
    gate: Gate
    pace: Pace


class RemoteClient:
    """Asks a service over HTTP, many prompts in flight at once, within a budget.

    ``tally`` counts ``requests``, ``retries``, ``bad_<failure>`` (requests that brought no reply), ``failed_<failure>``
    (asks given up), ``replies``, ``prompt_tokens`` and ``completion_tokens``. Close it after use.
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
        self.policy = RetryPolicy() if policy is None else policy
        self.budget = Budget(self.settings.limits) if budget is None else budget
        self.tally: Counter[str] = Counter()
        self._clock: Clock = SystemClock() if clock is None else clock
        self._session: _Session | None = None
        self._refused: str | None = None  # what a person must mend first

    def __reduce__(self) -> NoReturn:
        raise TypeError("a remote client lives in one process: make it from its settings there")

    @property
    def identity(self) -> Mapping[str, object]:
        return self.settings.identity()

    def complete(self, asks: Sequence[Ask]) -> list[Reply]:
        """One reply per ask, in order. Raises :class:`SetupError`, from then on without a request."""
        if not asks:
            return []
        if self._refused is not None:
            raise SetupError(self._refused)
        session = self._opened()
        try:
            with self.budget.waiting():
                replies = session.portal.start_task_soon(self._all, session, asks)
                try:
                    return replies.result()
                except BaseException:  # an interrupt of the wait ends the requests too
                    replies.cancel()
                    raise
        except SetupError as error:
            self._refused = str(error)
            raise

    def close(self) -> None:
        """Close the connections; a later ask opens new ones."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def _opened(self) -> _Session:
        """The session, begun with the first ask. Raises :class:`SetupError`."""
        if self._session is None:
            key = _read_key(self.settings.key_variable)
            try:
                import groq
            except ImportError:
                raise SetupError("remote models need the package groq: pip install groq") from None
            sdk = groq.AsyncGroq(
                api_key=key,
                base_url=self.settings.url,
                max_retries=0,
                http_client=groq.DefaultAsyncHttpxClient(follow_redirects=False),  # a POST that moved is a mistake
            )
            from anyio.from_thread import start_blocking_portal

            loop = ExitStack()
            portal = loop.enter_context(start_blocking_portal(name="language model"))
            loop.callback(portal.call, _wind_up, portal, sdk)
            settings = self.settings
            self._session = _Session(
                portal=portal,
                end=weakref.finalize(self, _end, loop, portal.call(threading.get_ident)),
                sdk=sdk,
                key=key,
                slots=asyncio.Semaphore(settings.in_flight),
                gate=Gate(self.policy, self._clock),
                pace=Pace(self._clock, settings.requests_per_minute, settings.tokens_per_minute),
            )
        return self._session

    async def _all(self, session: _Session, asks: Sequence[Ask]) -> list[Reply]:
        tasks = [asyncio.ensure_future(self._one(session, ask)) for ask in asks]
        try:
            return await asyncio.gather(*tasks)
        finally:  # where one error stops all, the others have ended before it is raised
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, session: _Session, ask: Ask) -> Reply:
        async with session.slots:
            reply = await self._tries(session, ask)
        if isinstance(reply, Failure):
            self.tally[f"failed_{reply}"] += 1
            return Reply(failure=reply)
        self.tally["replies"] += 1
        self.tally["prompt_tokens"] += reply.usage.prompt_tokens
        self.tally["completion_tokens"] += reply.usage.completion_tokens
        return reply

    async def _tries(self, session: _Session, ask: Ask) -> Reply | Failure:
        policy, clock = self.policy, self._clock
        request = self._prepared(ask)
        deadline, failure = clock.now() + policy.deadline_s, Failure.PAUSED
        for attempt in range(1, policy.max_attempts + 1):
            if self.budget.seconds_left <= 0:
                return Failure.BUDGET
            if session.gate.shut(deadline):
                return failure
            patience = self.budget.seconds_left if attempt == 1 else deadline - clock.now()
            paced = await session.pace.take(request.worst.tokens, patience)
            if paced is None:
                return Failure.BUDGET if attempt == 1 else failure
            if attempt == 1:  # waiting for one's own rate is no fault of the service
                deadline = clock.now() + min(policy.deadline_s, self.budget.seconds_left)
            answer = await self._through(session, request, attempt, deadline, paced)
            if answer is None:
                return failure
            if isinstance(answer, Reply):
                return answer
            failure, wait = answer.failure, answer.wait_s or 0.0
            if not answer.retry or attempt == policy.max_attempts or clock.now() + wait > deadline:
                return failure
            self.tally["retries"] += 1
            if not answer.everyone:  # otherwise the gate waits, for all
                await clock.sleep(wait)
        raise AssertionError("the last attempt returns")

    async def _through(
        self, session: _Session, request: _Request, attempt: int, deadline: float, paced: Paced
    ) -> Reply | Trouble | None:
        """One request, once the gate lets it out; a :class:`Trouble` comes with the seconds to wait."""

        async def send() -> Reply | Trouble:
            answer = await self._request(session, request, deadline, paced)
            if isinstance(answer, Reply) or answer.failure is Failure.BUDGET:
                return answer
            self.tally[f"bad_{answer.failure}"] += 1
            if answer.wait_s is not None:
                return answer
            return replace(answer, wait_s=self.policy.wait(attempt, request.share(attempt)))

        answer = await session.gate.through(send, deadline)
        if answer is None or (isinstance(answer, Trouble) and answer.failure is Failure.BUDGET):
            session.pace.give_back(paced)
        return answer

    async def _request(self, session: _Session, request: _Request, deadline: float, paced: Paced) -> Reply | Trouble:
        if not self.budget.reserve(request.worst):
            return Trouble(Failure.BUDGET, retry=False)
        self.tally["requests"] += 1
        taken = request.worst  # unless the answer has a count
        try:
            answer = await self._post(session, request.body, min(self.policy.timeout_s, deadline - self._clock.now()))
            if isinstance(answer, Trouble):
                taken = request.worst if answer.sent else _IDLE
                return answer
            if answer.status_code >= 300:
                taken = _IDLE
            read = read_answer(
                answer,
                model=self.settings.name,
                key=f"${self.settings.key_variable}" if self.settings.key_variable else "key_env",
                wall_s=self._clock.wall(),
            )
            if isinstance(read, Trouble):
                return read
            taken = self.settings.price.cost(*read.usage) if any(read.usage) else request.worst
            text = read.text if session.key == _NO_KEY else read.text.replace(session.key, "[key]")  # some repeat it
            return read._replace(text=text)
        finally:
            self.budget.settle(request.worst, taken)
            paced.tokens = taken.tokens

    async def _post(self, session: _Session, body: Mapping[str, Any], timeout: float) -> httpx.Response | Trouble:
        """The service's answer, whole, within ``timeout`` seconds."""
        import groq
        import httpx

        try:
            async with asyncio.timeout(timeout):  # the SDK's own is per chunk: a trickle would never end
                return await session.sdk.post(
                    "/chat/completions", cast_to=httpx.Response, body=body, options={"timeout": timeout}
                )
        except groq.APIStatusError as error:
            return error.response
        except (TimeoutError, groq.APITimeoutError):
            return Trouble(Failure.TIMEOUT)
        except (groq.APIConnectionError, httpx.HTTPError) as error:
            return Trouble(Failure.CONNECTION, sent=not isinstance(error.__cause__, httpx.ConnectError))

    def _prepared(self, ask: Ask) -> _Request:
        body = request_body(self.settings, ask)
        worst = self.settings.price.cost(most_prompt_tokens(body), self.settings.max_tokens)
        return _Request(body, worst, zlib.crc32(f"{ask.sample} {ask.prompt}".encode()))


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent for one ask, the most it can cost, and a number of its own."""

    body: Mapping[str, Any]
    worst: Cost
    number: int

    def share(self, attempt: int) -> float:
        """A number in [0, 1) for the jitter: spread over asks and attempts, and the same in every run."""
        return zlib.crc32(f"{self.number} {attempt}".encode()) / 2**32


def _end(loop: ExitStack, thread: int) -> None:
    """Leave the event loop that runs in the thread with this number."""
    if threading.get_ident() != thread:
        loop.close()
    else:  # the client was collected by its own loop, which cannot wait for itself
        threading.Thread(target=loop.close).start()


async def _wind_up(portal: BlockingPortal, sdk: AsyncGroq) -> None:
    from anyio import CancelScope

    with CancelScope(shield=True):
        await portal.stop(cancel_remaining=True)
        await sdk.close()


def _read_key(variable: str | None) -> str:
    """The key in an environment variable. Raises :class:`SetupError`, without showing it."""
    if variable is None:
        return _NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SetupError(f"there is no key in ${variable}: export {variable}=..., or choose a model that needs none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"what is in ${variable} is no key: it has spaces or characters that no key has")
    return key
