"""Remote language models: Groq, and any server that speaks the OpenAI chat protocol.

Queries run concurrently in an event loop in a thread of the client's own (the caller may run in a loop too, as in a
notebook), within the rates and pauses of a :class:`Limiter` and a budget. A failed request
is repeated where that can help. The key is read for the first query; it is in no setting, message, reply or pickle.

Groq's SDK serves every server, by raw calls: its typed call adds a second ``/openai/v1`` to other servers' addresses.
Its own retries are off: each attempt must fit the budget and the rates, a request that timed out may still be worked
on, and the SDK ignores a Retry-After of more than a minute. Redirects are not followed: the key goes to the address
that it was set for and to no other.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import threading
import time
import traceback
import weakref
from collections import Counter, deque
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import urlsplit

from dond_marl.errors import error_line, quote
from dond_marl.occupants import DIGEST, load_factory, names_file, parse_spec
from partners.llm.budget import Budget, Cost
from partners.llm.client import Failure, ModelReply, Query, SetupError
from partners.llm.remote.chat import (
    PROBE,
    STRUCTURES,
    is_enforced,
    max_prompt_tokens,
    read_answer,
    request_body,
)
from partners.llm.remote.failures import FailureNotices, RequestFailure, one_line
from partners.llm.service import TOKEN_LIMITS, ServiceSettings, Structure, read_key

if TYPE_CHECKING:
    from groq import AsyncGroq

Result = TypeVar("Result")
ENFORCED = "enforced"
_UNUSED = Cost(requests=1)  # a request that no model has worked on
_OVER_BUDGET = RequestFailure(Failure.BUDGET, retry=False)
_PAUSED = RequestFailure(Failure.PAUSED, retry=False)
_LACKS_MODE = (400, 405, 413, 415, 422, 500, 501)  # status of a refused probe, which is a good request otherwise
_WARN_EVERY_S = 0.5  # seconds between warnings while queries are in flight
_FIRST_WAIT_S, _MAX_WAIT_S = 0.5, 8.0  # between attempts, doubled each time
_MINUTE = 60.0  # seconds; services count their rates per minute
_REST_S, _MAX_REST_S = 30.0, 300.0  # the first rest after repeated failures; it doubles up to the second
_NO_KEY = "none"  # sent to a server that needs no key
_LOCAL = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|::1?")  # hosts: this machine


class Clock:
    """The source of time for everything that waits."""

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True, eq=False)
class Ticket:
    """Permission to send one request; ``tokens`` is the worst case until the real number is known."""

    number: int  # of all requests, from 1
    at: float
    tokens: int


class Limiter:
    """Admits the requests to one service; belongs to one event loop.

    Concurrency (``async with limiter``, one block per query): one query at first, twice as many after every round of
    replies within half of the timeout, at most ``settings.in_flight``; half as many after a failure. So a server that
    works on one request at a time is not flooded until its replies time out.

    Rates: at most ``requests_per_minute`` and ``tokens_per_minute`` in any 60 seconds; one request above the limit of
    tokens is sent when there was no other for a minute.

    Pauses: a Retry-After delays all requests. After ``breaker_after`` failures in a row (requests that fail together
    count once) nothing is sent for 30 s, then 60 s, up to 300 s; then a single request tries.
    """

    def __init__(self, settings: ServiceSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self.concurrency = 1
        self._busy, self._free = 0, asyncio.Condition()
        self._quick = 0  # replies within half of the timeout since the concurrency changed
        self._queue = asyncio.Lock()  # first come, first served
        self._window: deque[Ticket] = deque()  # requests of the last minute, oldest first
        self._count = 0  # of requests
        self._resume_at = clock.monotonic()  # end of the current pause
        self._failures = 0  # in a row
        self._last_failed = 0  # number of the newest request when the last failure was counted

    async def __aenter__(self) -> None:
        async with self._free:
            await self._free.wait_for(lambda: self._busy < self.concurrency)
            self._busy += 1

    async def __aexit__(self, *_: object) -> None:
        self._busy -= 1
        async with self._free:
            self._free.notify(max(self.concurrency - self._busy, 0))

    async def admit(self, tokens: int, patience_s: float, deadline: float | None = None) -> Ticket | Failure:
        """Wait until a request of ``tokens`` may be sent.

        ``RATE_LIMIT`` if a rate would take longer than ``patience_s``; ``PAUSED`` if a pause would last beyond the
        ``deadline`` (by default ``settings.total_s`` from this request's turn), or the service rests after failures.
        """
        end = self._clock.monotonic() + patience_s
        async with self._queue:
            while True:
                time = self._clock.monotonic()
                pause, wait = self._resume_at - time, self._rate_wait(tokens)
                last = time + self._settings.total_s if deadline is None else deadline
                if pause > 0 and (self.rest_s > 0 or time + pause > last):
                    return Failure.PAUSED
                if wait > 0 and time + wait > end:
                    return Failure.RATE_LIMIT
                if pause <= 0 and wait <= 0:
                    break
                await self._clock.sleep(max(pause, wait))
            self._count += 1
            ticket = Ticket(self._count, time, tokens)
            self._window.append(ticket)
            return ticket

    def record(self, ticket: Ticket, answer: ModelReply | RequestFailure | None, tokens: int) -> None:
        """Learn from the result of a request (``None``: it was not sent or was cancelled), which took ``tokens``."""
        time = self._clock.monotonic()
        ticket.tokens = tokens
        is_news = ticket.number > self._last_failed  # it was sent after the last failure was counted
        if answer is None:
            if ticket in self._window:
                self._window.remove(ticket)
        elif isinstance(answer, RequestFailure) and answer.fault:
            if is_news:
                self._failures += 1
                self._last_failed = self._count
                self.concurrency, self._quick = 1 if self.rest_s else max(1, self.concurrency // 2), 0
            self._resume_at = max(self._resume_at, time + max(answer.wait_s or 0.0, self.rest_s))
        elif is_news:
            self._failures = 0
            if isinstance(answer, ModelReply):
                self._quick = self._quick + 1 if time - ticket.at <= self._settings.timeout_s / 2 else 0
            if self._quick >= self.concurrency:
                self.concurrency, self._quick = min(2 * self.concurrency, self._settings.in_flight), 0

    @property
    def rest_s(self) -> float:
        """Seconds that the service rests after the failures in a row so far, 0 below ``breaker_after``."""
        beyond = self._failures - self._settings.breaker_after
        return 0.0 if beyond < 0 else min(_REST_S * 2.0 ** min(beyond, 30), _MAX_REST_S)

    def _rate_wait(self, tokens: int) -> float:
        """Seconds until the own rates allow a request of ``tokens``."""
        time, settings = self._clock.monotonic(), self._settings
        while self._window and self._window[0].at + _MINUTE <= time:
            self._window.popleft()
        if not self._window:
            return 0.0
        most_requests, most_tokens = settings.requests_per_minute, settings.tokens_per_minute
        is_full = most_requests is not None and len(self._window) >= most_requests
        if most_tokens is not None:
            is_full |= sum(ticket.tokens for ticket in self._window) + tokens > most_tokens
        return self._window[0].at + _MINUTE - time if is_full else 0.0


class RemoteClient:
    """Sends prompts to a service over HTTP, many in flight, within a budget; by default to Groq.

    Each query has at most ``settings.max_attempts`` requests of ``timeout_s`` seconds, in ``deadline_s`` seconds with
    the waits between them. A wait that the service demands (Retry-After) is obeyed exactly, and if it ends after the
    deadline the query fails at once; otherwise waits are 0.5, 1, 2, 4, 8, 8, ... seconds. A request that took too long
    is not sent again: the service may still work on it.

    ``tally`` counts ``requests``, ``retries``, ``bad_<failure>`` (requests without a reply), ``failed_<failure>``
    (queries given up), ``replies``, ``prompt_tokens``, ``completion_tokens``, and ``probes``, the requests that found
    out the server's mode of structured output: ``probe_results`` has the result for each mode, ``structure`` the one in
    use. Close it after use.
    """

    remote = True

    def __init__(
        self, settings: ServiceSettings | None = None, *, budget: Budget | None = None, clock: Clock | None = None
    ) -> None:
        self.settings = ServiceSettings() if settings is None else settings
        self.budget = Budget(**self.settings.limits) if budget is None else budget
        self.tally: Counter[str] = Counter()
        self.probe_results: dict[Structure, str] = {}
        self.structure = None if self.settings.probes_structure else self.settings.structure_mode
        self.limit = TOKEN_LIMITS[self.settings.groq]  # the other name once the server has refused this one
        self.last_status: int | None = None  # HTTP status of the newest request, None without an answer
        self._clock = Clock() if clock is None else clock
        self._notices = FailureNotices(self.settings)
        self._session: _Session | None = None
        self._setup_error: str | None = None  # to be corrected by the user first

    def __reduce__(self) -> NoReturn:
        raise TypeError("a remote client lives in one process: make it from its settings there")

    @property
    def identity(self) -> Mapping[str, object]:
        """The parameters that shape the answers (:meth:`ServiceSettings.identity`)."""
        return self.settings.identity()

    def complete(self, queries: Sequence[Query]) -> list[ModelReply]:
        """One reply per query, in order. Raises :class:`SetupError`, from then on without a request."""
        if not queries:
            return []
        if self._setup_error is not None:
            raise SetupError(self._setup_error)
        try:
            session = self._open()
            with self.budget.waiting():
                return self._wait(session.start(self._complete(session, queries)))
        except SetupError as error:
            self._setup_error = str(error)
            raise

    def probe_structures(self) -> Structure:
        """Probe the server's modes of structured output, whatever the settings are; the strictest that it has.

        The findings are in ``probe_results``. Raises :class:`SetupError`, also where the server does not answer.
        """
        session = self._open()
        structure = self._wait(session.start(self._probe(session)))
        if isinstance(structure, Failure):
            raise SetupError(f"the server could not be probed ({structure})")
        return structure

    def connect(self, key: str) -> AsyncGroq | None:
        """A connection, for one event loop; ``None`` where none is needed. Raises :class:`SetupError`."""
        try:
            return connect(self.settings, key)
        except ModuleNotFoundError:
            raise SetupError("remote models need the package groq: pip install groq") from None

    def close(self) -> None:
        """Close the connections; a later query opens new ones."""
        if self._session is not None:
            self._session.end()
            self._session = None

    def _wait(self, future: Future[Result]) -> Result:
        """The result, with warnings of failures meanwhile. An interrupt of the wait cancels the requests too."""
        try:
            while True:
                try:
                    return future.result(timeout=_WARN_EVERY_S)
                except TimeoutError:
                    if future.done():  # at that very moment, or with a time-out of its own
                        return future.result()
                    self._notices.warn()
        except BaseException:
            future.cancel()
            raise
        finally:
            self._notices.warn()

    def _open(self) -> _Session:
        """The open session. Raises :class:`SetupError`."""
        if self._session is None:
            self._session = _Session(self, self._clock)
        return self._session

    async def _complete(self, session: _Session, queries: Sequence[Query]) -> list[ModelReply]:
        async with session.probing:
            structure = self.structure or await self._probe(session)
        if isinstance(structure, Failure):
            self.tally[f"failed_{structure}"] += len(queries)
            return [ModelReply(failure=structure)] * len(queries)
        self.structure = structure
        tasks = [asyncio.ensure_future(self._reply(session, query, structure)) for query in queries]
        try:
            return await asyncio.gather(*tasks)
        finally:  # where one error stops all, the others have ended before it is raised
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self, session: _Session) -> Structure | Failure:
        """The strictest mode that the server has, each probed once; or why that cannot be found out."""
        for structure in STRUCTURES[:-1]:
            if structure not in self.probe_results:
                self.tally["probes"] += 1
                answer = await self._attempts(session, PROBE, structure)
                if isinstance(answer, ModelReply):
                    # A server that refuses the model's own reply has accepted the mode.
                    is_kept = self.last_status in _LACKS_MODE or is_enforced(structure, answer.text)
                    self.probe_results[structure] = ENFORCED if is_kept else "accepted, but not enforced"
                elif answer.status in _LACKS_MODE:
                    refusal = f"refused ({answer.status}){answer.words and ': '}{answer.words}"
                    self.probe_results[structure] = refusal
                else:
                    self._notices.add_query(answer)
                    return answer.failure
            if self.probe_results[structure] == ENFORCED:
                return structure
        return STRUCTURES[-1]

    async def _reply(self, session: _Session, query: Query, structure: Structure) -> ModelReply:
        answer = await self._attempts(session, query, structure)
        if isinstance(answer, RequestFailure):
            self.tally[f"failed_{answer.failure}"] += 1
            self._notices.add_query(answer)
            return ModelReply(failure=answer.failure)
        self._notices.has_reply = True
        self.tally["replies"] += 1
        self.tally["prompt_tokens"] += answer.usage.prompt_tokens
        self.tally["completion_tokens"] += answer.usage.completion_tokens
        return answer

    async def _attempts(self, session: _Session, query: Query, structure: Structure) -> ModelReply | RequestFailure:
        """The reply to one query, or its last failure."""
        settings, clock, budget = self.settings, self._clock, self.budget
        body = request_body(settings, query, structure)
        limit, other_limit = TOKEN_LIMITS[settings.groq], TOKEN_LIMITS[not settings.groq]
        worst = settings.cost(max_prompt_tokens(body), settings.max_tokens)
        attempt, deadline, failure = 1, None, _PAUSED
        async with session.limiter:
            while budget.seconds_left > 0:
                patience_s = budget.seconds_left if deadline is None else deadline - clock.monotonic()
                ticket = await session.limiter.admit(worst.tokens, patience_s, deadline)
                if isinstance(ticket, Failure):
                    return _OVER_BUDGET if deadline is None and ticket is Failure.RATE_LIMIT else failure
                if not budget.reserve(worst):
                    session.limiter.record(ticket, None, 0)
                    break
                if deadline is None:  # waiting for one's own rate is no fault of the service
                    deadline = clock.monotonic() + min(settings.total_s, budget.seconds_left)
                else:
                    self.tally["retries"] += 1
                if limit in body and self.limit != limit:
                    body[self.limit] = body.pop(limit)
                answer, spent = None, worst
                try:
                    answer, spent = await self._send(session, body, worst, deadline)
                except SetupError:
                    spent = _UNUSED
                    raise
                finally:
                    budget.settle(worst, spent)
                    session.limiter.record(ticket, answer, spent.tokens)
                if isinstance(answer, ModelReply):
                    return answer
                failure = answer
                self.tally[f"bad_{failure.failure}"] += 1
                if limit in body and (failure.field == limit or other_limit in failure.words):
                    self.limit = other_limit
                    continue  # the attempt, which the name alone has failed
                if query is not PROBE:
                    self._notices.add_request(failure)
                backoff = min(_FIRST_WAIT_S * 2.0 ** (attempt - 1), _MAX_WAIT_S)
                wait = backoff if failure.wait_s is None else failure.wait_s
                is_last = attempt == settings.max_attempts or clock.monotonic() + wait > deadline
                if is_last or not failure.retry:
                    return failure
                attempt += 1
                await clock.sleep(wait)
        return _OVER_BUDGET

    async def _send(
        self, session: _Session, body: dict[str, Any], worst: Cost, deadline: float
    ) -> tuple[ModelReply | RequestFailure, Cost]:
        """The answer to one request and its cost, the ``worst`` case where the answer has no count.

        The SDK's errors hold the request, with the key in a header: none leaves this method, not even as a cause.
        """
        import groq
        import httpx

        self.tally["requests"] += 1
        self.last_status, secret = None, session.secret
        try:  # the SDK's own limit is for each piece of a body: a trickle would never end
            async with asyncio.timeout(min(self.settings.timeout_s, deadline - self._clock.monotonic())):
                response = await session.sdk.post("/chat/completions", cast_to=httpx.Response, body=body)
        except groq.APIStatusError as error:
            response = error.response
        except (TimeoutError, groq.APITimeoutError):
            return RequestFailure(Failure.TIMEOUT, retry=False), worst
        except groq.APIConnectionError as error:
            cause = error.__cause__ or error
            cost = _UNUSED if isinstance(cause, httpx.ConnectError) else worst
            return RequestFailure(Failure.CONNECTION, words=one_line(str(cause), secret)), cost
        except (httpx.HTTPError, httpx.StreamError) as error:  # in the body of an error
            return RequestFailure(Failure.CONNECTION, words=one_line(str(error), secret)), worst
        self.last_status = response.status_code
        answer = read_answer(response, self.settings, secret=secret)
        if isinstance(answer, RequestFailure):
            return answer, worst if response.status_code < 300 else _UNUSED
        spent = self.settings.cost(*answer.usage) if any(answer.usage) else worst
        # Some services repeat the key.
        return answer._replace(text=answer.text.replace(secret, "[key]") if secret else answer.text), spent


class FunctionClient(RemoteClient):
    """Queries the user's function ``settings.call``, ``mine.py:reply``, in place of a service.

    It gets the prompt, or as its parameter ``messages`` a list of the system message and the prompt as a service gets
    them, and returns the reply's text. An ``async`` function answers several queries at a time, in one event loop;
    another one, in a thread, one after the other. An error that it raises fails the query, which is not repeated. The
    function is not asked how many tokens it used: budgets in tokens or dollars count the most that they can be.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        spec = parse_spec(settings.call or "")
        if not names_file(spec.kind):
            raise ValueError(f"call is a function in a file, as in 'mine.py:reply'; got {quote(settings.call)}")
        function = load_factory("function", spec.kind, spec.parameters.get(DIGEST))
        self._is_async, self._function = inspect.iscoroutinefunction(function), partial(function, **spec.arguments)
        self._takes_messages = "messages" in inspect.signature(function).parameters
        super().__init__(settings if self._is_async else replace(settings, in_flight=1))

    def connect(self, _key: str) -> None:
        return None

    async def _send(
        self, _session: _Session, body: dict[str, Any], worst: Cost, deadline: float
    ) -> tuple[ModelReply | RequestFailure, Cost]:
        self.tally["requests"] += 1
        question = body["messages"] if self._takes_messages else body["messages"][-1]["content"]
        try:
            async with asyncio.timeout(min(self.settings.timeout_s, deadline - self._clock.monotonic())) as limit:
                call = self._function if self._is_async else partial(asyncio.to_thread, self._function)
                text = await call(question)
        except Exception as error:  # noqa: BLE001  # code of the user, which may raise anything
            if limit.expired():
                return RequestFailure(Failure.TIMEOUT, retry=False), worst
            line = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{error_line(error)} ({Path(line.filename).name}, line {line.lineno})"
            return RequestFailure(Failure.REFUSED, retry=False, words=words), worst
        if not isinstance(text, str):
            words = f"it returned {quote(text)}, which is no text"
            return RequestFailure(Failure.REFUSED, retry=False, words=words), worst
        return ModelReply(text), worst


class _Session:
    """An event loop in a thread, with the connection and the limiter in it. Raises :class:`SetupError`.

    It ends by ``end()``, at the latest when its ``owner`` is collected or the interpreter exits.
    """

    def __init__(self, owner: RemoteClient, clock: Clock) -> None:
        self.secret = read_key(owner.settings.key_variable)
        self.sdk: Any = owner.connect(self.secret)
        self.limiter = Limiter(owner.settings, clock)
        self.probing = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run, args=(self._loop, self.sdk), name="language model", daemon=True)
        thread.start()
        self.end = weakref.finalize(owner, _end, self._loop, thread)

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _run(loop: asyncio.AbstractEventLoop, sdk: AsyncGroq | None) -> None:
    """Run ``loop`` until it is stopped, then cancel its tasks and close the connection."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        if sdk is not None:
            loop.run_until_complete(sdk.close())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:  # the owner may be collected by its own loop, which cannot join itself
        thread.join()


def connect(settings: ServiceSettings, key: str) -> AsyncGroq:
    """A connection to the service of ``settings``, for one event loop. Raises :class:`SetupError`.

    ``key``: empty for a server that needs none. ``$GROQ_CUSTOM_HEADERS`` go to Groq, or a gateway to it. A server on
    this machine is contacted without the proxies of the environment.
    """
    import httpx
    from groq import AsyncGroq, DefaultAsyncHttpxClient, Omit

    key, headers = key or _NO_KEY, dict[str, Any]()
    if not settings.groq:  # the SDK would send them to any address, and they may hold keys for Groq
        lines = os.environ.get("GROQ_CUSTOM_HEADERS", "").split("\n")
        headers = {line.partition(":")[0].strip(): Omit() for line in lines if ":" in line}
        headers["Authorization"] = f"Bearer {key}"
    address = urlsplit(settings.url)
    is_local = _LOCAL.fullmatch(address.hostname or "") is not None
    try:
        client = DefaultAsyncHttpxClient(
            verify=address.scheme == "https", follow_redirects=False, trust_env=not is_local
        )
    except (ImportError, httpx.InvalidURL, ValueError, OSError) as error:
        raise SetupError(
            f"the proxies or certificates of the environment cannot be used ({error}): correct or unset $HTTP_PROXY, "
            "$HTTPS_PROXY, $ALL_PROXY, $NO_PROXY, $SSL_CERT_FILE, $SSLKEYLOGFILE"
        ) from None
    return AsyncGroq(
        api_key=key,
        base_url=settings.url,
        max_retries=0,
        timeout=settings.timeout_s,
        default_headers=headers,
        http_client=client,
    )
