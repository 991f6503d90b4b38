"""Remote language models: Groq, and any server that speaks the OpenAI chat protocol.

Queries run concurrently in an event loop in a thread of the client's own (the caller may run in a loop too, as in a
notebook), within the rates and pauses of a :class:`~partners.llm.remote.limiter.Limiter` and a budget. A failed request
is repeated where that can help. The key is read for the first query; it is in no setting, message, reply or pickle.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

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
from partners.llm.remote.limiter import Clock, Limiter
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
        self.budget = Budget(self.settings.limits) if budget is None else budget
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
        self._notices.answered = True
        self.tally["replies"] += 1
        self.tally["prompt_tokens"] += answer.usage.prompt_tokens
        self.tally["completion_tokens"] += answer.usage.completion_tokens
        return answer

    async def _attempts(self, session: _Session, query: Query, structure: Structure) -> ModelReply | RequestFailure:
        """The reply to one query, or its last failure."""
        settings, clock, budget = self.settings, self._clock, self.budget
        body = request_body(settings, query, structure)
        limit, other_limit = TOKEN_LIMITS[settings.groq], TOKEN_LIMITS[not settings.groq]
        worst = settings.price.cost(max_prompt_tokens(body), settings.max_tokens)
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
        spent = self.settings.price.cost(*answer.usage) if any(answer.usage) else worst
        # Some services repeat the key.
        return answer._replace(text=answer.text.replace(secret, "[key]") if secret else answer.text), spent


class _Session:
    """An event loop in a thread, with the connection and the limiter in it. Raises :class:`SetupError`.

    It ends by ``end()``, at the latest when its ``owner`` is collected or the interpreter exits.
    """

    def __init__(self, owner: RemoteClient, clock: Clock) -> None:
        self.secret = read_key(owner.settings.key_variable)
        try:
            from partners.llm.remote.wire import connect
        except ImportError:
            raise SetupError("remote models need the package groq: pip install groq") from None
        self.sdk = connect(owner.settings, self.secret)
        self.limiter = Limiter(owner.settings, clock)
        self.probing = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run, args=(self._loop, self.sdk), name="language model", daemon=True)
        thread.start()
        self.end = weakref.finalize(owner, _end, self._loop, thread)

    def start(self, work: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Run a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)


def _run(loop: asyncio.AbstractEventLoop, sdk: AsyncGroq) -> None:
    """Run ``loop`` until it is stopped, then cancel its tasks and close the connection."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(sdk.close())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    if threading.current_thread() is not thread:  # the owner may be collected by its own loop, which cannot join itself
        thread.join()
