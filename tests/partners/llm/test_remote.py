"""Remote models over real HTTP: answers, retries, limits, budgets, keys, threads."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from partners.llm.budget import Budget, Cost
from partners.llm.cache import CachedClient
from partners.llm.client import Failure, ModelReply, Query, SetupError
from partners.llm.prompt import SYSTEM
from partners.llm.remote.chat import legal_schema, request_body
from partners.llm.remote.client import Clock, Limiter, RemoteClient
from partners.llm.remote.failures import RequestFailure
from partners.llm.reply import Legal
from partners.llm.service import GROQ_MODEL, TOKEN_LIMITS, ServiceSettings
from tests.loopback import OK_LINE, FakeClock, Page, completion, without_proxy_and_key

pytestmark = pytest.mark.filterwarnings("ignore:the model 'm':RuntimeWarning")  # what failed is told once

ROOT = Path(__file__).resolve().parents[3]
LEGAL = Legal((1, 2, 0), (0, 1, 3, 4))
ASK = Query("Your move.", LEGAL)
SENTINEL = "gsk_TESTsentinel0123456789"
HTML = Page(body="<html><body>Sign in</body></html>", headers={"content-type": "text/html"})
CUT_OFF = '{"error": {"code": "json_validate_failed", "message": "max completion tokens", "failed_generation": ""}}'
JSON_FAILED = '{"error": {"code": "json_validate_failed", "failed_generation": "I would say"}}'


def message(**fields: object) -> Page:
    """A completion whose message has these fields."""
    return Page(body=json.dumps({"choices": [{"message": {"role": "assistant", **fields}, "finish_reason": "stop"}]}))


CALL = {"function": {"name": "propose", "arguments": OK_LINE}}
OBJECT_CALL = {"function": {"name": "propose", "arguments": json.loads(OK_LINE)}}
DATE = {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}
OK = ModelReply(OK_LINE)
MATRIX = {  # pages in order, the last for ever: calls, seconds slept, what came of it
    "200": ([completion()], 1, [], None),
    "200 with HTML": ([HTML], 4, [0.5, 1, 2], Failure.GARBLED),
    "content None": ([completion(None)], 1, [], ""),
    "no choices": ([Page(body='{"choices": []}')], 4, [0.5, 1, 2], Failure.GARBLED),
    "half a character": ([completion("\ud800!")], 1, [], "?!"),
    "a megabyte": ([completion("a" * 10**6)], 1, [], "a" * 65_536),
    "finish length": ([completion("", finish="length")], 1, [], "cut"),
    "400 json_validate_failed": ([Page(400, JSON_FAILED)], 1, [], "I would say"),
    "400 max completion tokens": ([Page(400, CUT_OFF)], 1, [], "cut"),
    "reasoning alone": ([message(content=None, reasoning_content=OK_LINE)], 1, [], OK_LINE),
    "tool call": ([message(content=None, tool_calls=[CALL], reasoning="hm")], 1, [], OK_LINE),
    "tool call with an object": ([message(tool_calls=[OBJECT_CALL])], 1, [], json.dumps(json.loads(OK_LINE))),
    "refusal": ([message(content=None, refusal="I will not.", reasoning="hm")], 1, [], "I will not."),
    "400": ([Page(400, '{"error": {"code": "bad"}}')], 1, [], Failure.REFUSED),
    "429 Retry-After 1 once": ([Page(429, headers={"retry-after": "1"}), completion()], 2, [1], None),
    "429 without Retry-After": ([Page(429)], 4, [0.5, 1, 2], Failure.RATE_LIMIT),
    "429 Retry-After a date": ([Page(429, headers=DATE), completion()], 2, [0.5], None),
    "429 Retry-After inf": ([Page(429, headers={"retry-after": "9" * 400}), completion()], 2, [0.5], None),
    "498": ([Page(498)], 4, [0.5, 1, 2], Failure.SERVER),
    "500": ([Page(500)], 4, [0.5, 1, 2], Failure.SERVER),
    "503 Retry-After 2": ([Page(503, headers={"retry-after": "2"}), completion()], 2, [2], None),
    "half a body once": ([Page(body=completion().body, cut=30), completion()], 2, [0.5], None),
    "no answer at all": ([Page(delay=60)], 1, [], Failure.TIMEOUT),  # it may still be worked on
}  # fmt: skip


@pytest.mark.parametrize("case", MATRIX)
def test_answer_classification_and_retries(serve, case):
    pages, calls, slept, outcome = MATRIX[case]
    slow = case == "no answer at all"
    service, client, clock = serve(pages, **({"timeout_s": 0.4, "max_attempts": 2} if slow else {}))
    assert client.complete([]) == []
    (reply,) = client.complete([ASK])
    if isinstance(outcome, Failure):
        assert reply == ModelReply(failure=outcome)
        assert client.tally[f"failed_{outcome}"] == 1
        assert client.tally[f"bad_{outcome}"] == calls
        assert (client.budget.spent.tokens == 0) == all(page.status >= 300 for page in pages), "no model worked on it"
    elif outcome is None:
        assert reply.text == OK_LINE
    else:
        assert reply._replace(usage=OK.usage) == (ModelReply("", False) if outcome == "cut" else ModelReply(outcome))
    assert client.tally["retries"] == calls - 1
    assert len(service.heard) == client.tally["requests"] == calls
    assert clock.slept == slept


def renamed(heard, number):
    """A model that knows OpenAI's newer name alone."""
    if "max_tokens" in heard.body:
        error = {"message": "Unsupported parameter.", "param": "max_tokens", "code": "unsupported_parameter"}
        return Page(400, json.dumps({"error": error}))
    return completion(heard.prompt)


def test_other_name_of_the_token_limit_is_tried_once(serve):
    service, client, clock = serve(renamed, in_flight=8)
    queries = [Query(f"{row}", LEGAL) for row in range(20)]
    assert [reply.text for reply in client.complete(queries)] == [query.prompt for query in queries]
    client.complete([ASK])
    assert (len(service.heard), client.tally["retries"], clock.slept) == (22, 1, [])
    assert client.budget.spent.requests == 22
    assert service.heard[-1].body["max_completion_tokens"] == 1024
    service, client, _ = serve(Page(400, '{"error": {"param": "max_tokens"}}'))
    with pytest.raises(SetupError, match="first 3 requests"):
        client.complete(queries)
    assert [sorted(heard.body.keys() & set(TOKEN_LIMITS)) for heard in service.heard] == [
        ["max_tokens"], *[["max_completion_tokens"]] * 3
    ]  # fmt: skip


def test_older_name_of_the_token_limit_in_the_words_of_a_gateway(serve, monkeypatch):
    def answer(heard, number):
        knows_name = "max_tokens" in heard.body
        return completion() if knows_name else Page(422, '{"error": "no max_completion_tokens here, but max_tokens"}')

    monkeypatch.setenv("GROQ_API_KEY", SENTINEL)
    service, client, _ = serve(answer, provider="groq")
    assert [client.complete([ASK])[0].text for _ in range(3)] == [OK_LINE] * 3
    assert len(service.heard) == 4


# ---------------------------------------------------------------- the environment


def test_loopback_needs_no_proxy(serve, services, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    url = services(completion()).url
    for host in ("127.0.0.1", "localhost"):
        _, client, _ = serve(completion(), base_url=url.replace("127.0.0.1", host))
        assert client.complete([ASK])[0].text == OK_LINE


def test_unusable_proxies_are_a_setup_error(monkeypatch):
    without_proxy_and_key(monkeypatch)
    monkeypatch.setenv("ALL_PROXY", "socks9://127.0.0.1:9")
    with pytest.raises(SetupError, match=r"\$ALL_PROXY"):
        RemoteClient(ServiceSettings("openai", "m", "https://127.example.com/v1")).complete([ASK])


def test_refused_connection_is_retried_at_no_cost(serve):
    _, client, clock = serve([completion()])
    with socket.socket() as held:  # bound, and not listening: nobody answers there
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with closing(RemoteClient(ServiceSettings("openai", "m", url), clock=clock)) as client:
            assert client.complete([ASK]) == [ModelReply(failure=Failure.CONNECTION)]
            assert clock.slept == [0.5, 1, 2]
            assert client.budget.spent == (4, 0, 0)


def test_deadline_ends_attempts(serve):
    service, client, clock = serve([Page(500)], max_attempts=50, timeout_s=20, deadline_s=20, breaker_after=99)
    client.complete([ASK])
    assert clock.slept == [0.5, 1, 2, 4, 8]  # 15.5 s; 8 more would be too many
    assert len(service.heard) == 6


def test_failures_are_per_row(serve):
    def answer(heard, number):
        return Page(400) if "bad" in heard.prompt else completion(heard.prompt)

    _, client, _ = serve(answer)
    prompts = [f"{'bad' if row % 3 == 0 else 'good'} {row}" for row in range(60)]
    replies = client.complete([Query(prompt, LEGAL) for prompt in prompts])
    for prompt, reply in zip(prompts, replies, strict=True):
        assert (reply.failure is Failure.REFUSED) if "bad" in prompt else (reply.text == prompt)


def test_breaker_rests_and_probes_once(serve):
    service, client, clock = serve(lambda heard, number: Page(429) if number < 200 else completion())
    asks = [Query(f"{row}", LEGAL) for row in range(50)]
    first = client.complete(asks)
    assert len(service.heard) == 5  # one at a time, then it is left alone
    assert {reply.failure for reply in first} == {Failure.RATE_LIMIT, Failure.PAUSED}
    began = clock.time
    assert {reply.failure for reply in client.complete(asks)} == {Failure.PAUSED}
    assert (len(service.heard), clock.time) == (5, began)  # nobody waits for it either
    clock.time += 29  # of the 30 seconds that it rests
    assert {reply.failure for reply in client.complete(asks)} == {Failure.PAUSED}
    assert len(service.heard) == 5
    clock.time += 2
    assert {reply.failure for reply in client.complete(asks)} == {Failure.RATE_LIMIT, Failure.PAUSED}
    assert len(service.heard) == 6  # one trial
    service.answer = lambda heard, number: completion()
    clock.time += 59  # of 60, twice as long
    assert {reply.failure for reply in client.complete(asks)} == {Failure.PAUSED}
    clock.time += 2
    assert {reply.failure for reply in client.complete(asks)} == {None}
    assert len(service.heard) == 56


def test_in_flight_limit(serve):
    def answer(heard, number):
        return Page(body=completion().body, delay=0.05)

    service, client, _ = serve(answer, in_flight=7)  # on a clock that takes every answer to be as quick
    client.complete([Query(f"{row}", LEGAL) for row in range(60)])
    assert service.most_at_once == 7


@pytest.mark.parametrize(("requests", "tokens", "most"), [(30, None, 30), (None, 9000, 75), (40, 3600, 30)])
def test_rates_hold_in_any_minute(requests, tokens, most):
    clock, sent = FakeClock(), []
    settings = ServiceSettings(requests_per_minute=requests, tokens_per_minute=tokens)

    async def send(limiter):
        ticket = await limiter.admit(500, patience_s=1e9)
        sent.append(clock.time)
        limiter.record(ticket, ModelReply(), 120)  # tokens that it really took

    async def send_all():
        limiter = Limiter(settings, clock)
        await asyncio.gather(*(send(limiter) for _ in range(500)))

    asyncio.run(send_all())
    assert len(sent) == 500
    for moment in sent:
        assert sum(moment <= other < moment + 60 for other in sent) <= most


def test_rate_waits_do_not_count_towards_deadlines(serve):
    _, client, clock = serve([completion()], requests_per_minute=2, in_flight=1)
    replies = client.complete([Query(f"{row}", LEGAL) for row in range(6)])
    assert {reply.failure for reply in replies} == {None}
    assert clock.time - 1000 == pytest.approx(120)


def test_requests_that_fail_together_count_as_one_failure():
    async def fail_together():
        limiter = Limiter(ServiceSettings(breaker_after=2), FakeClock())
        failure = RequestFailure(Failure.CONNECTION)
        tickets = [await limiter.admit(1, 0) for _ in range(50)]
        for ticket in tickets:
            limiter.record(ticket, failure, 0)
        assert limiter.rest_s == 0
        limiter.record(await limiter.admit(1, 0), failure, 0)  # sent after those: a second failure
        assert limiter.rest_s == 30
        assert await limiter.admit(1, 0) is Failure.PAUSED

    asyncio.run(fail_together())


def test_concurrency_doubles_on_quick_replies_and_halves_on_failures():
    async def run():
        clock = FakeClock()
        limiter = Limiter(ServiceSettings(in_flight=7), clock)

        async def finish(answer, seconds):
            ticket = await limiter.admit(1, 0)
            clock.time += seconds
            limiter.record(ticket, answer, 0)
            return limiter.concurrency

        assert [await finish(ModelReply(), 1) for _ in range(8)] == [2, 2, 4, 4, 4, 4, 7, 7]
        assert await finish(RequestFailure(Failure.TIMEOUT), 60) == 3
        assert [await finish(ModelReply(), 40) for _ in range(9)] == [3] * 9  # slow replies: not more at once

    asyncio.run(run())


def test_request_budget_is_never_exceeded(serve):
    budget = Budget(requests=20)
    service, client, _ = serve([completion()], budget=budget)
    replies = client.complete([Query(f"{row}", LEGAL) for row in range(100)])
    assert len(service.heard) == 20 == budget.spent.requests
    assert sum(reply.failure is Failure.BUDGET for reply in replies) == 80


def test_token_and_money_budgets_are_never_exceeded(serve):
    def longest(heard, number):
        return completion(usage=(900, 256))

    spending = {"max_total_tokens": 20_000, "max_usd": 0.01, "prompt_price": 0.15, "completion_price": 0.60}
    _, client, _ = serve(longest, max_tokens=256, **spending)
    for _ in range(4):
        client.complete([Query(f"{row}", LEGAL) for row in range(64)])
    assert 0.8 * 20_000 < client.budget.spent.tokens <= 20_000
    assert client.budget.spent.usd <= 0.01
    _, client, _ = serve([completion(usage=None)], max_tokens=200)  # the worst case
    client.complete([ASK])
    assert client.budget.spent.tokens > 200 + len(SYSTEM) + len(ASK.prompt)


def test_time_budget_is_never_exceeded(serve):
    budget = Budget(seconds=0.3)
    _, client, _ = serve([Page(delay=9)], budget=budget, clock=Clock(), timeout_s=5)
    client.complete([ASK])
    assert 0.29 < budget.seconds < 2  # the service would take 9, the policy 5
    assert client.complete([ASK]) == [ModelReply(failure=Failure.BUDGET)]


def test_request_body(serve):
    service, client, _ = serve([completion()])
    client.complete([ASK._replace(sample=3)])
    (heard,) = service.heard
    assert heard.path == "/v1/chat/completions"
    assert heard.body == {
        "model": "m",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Your move."}],
        "temperature": 0.0,
        "max_tokens": 1024,
        "seed": 3,
    }
    groq = request_body(ServiceSettings(), ASK)
    shape = groq["response_format"]["json_schema"]
    assert shape["strict"] is True
    assert shape["schema"]["properties"]["act_type"]["enum"] == [0, 1, 3, 4]
    assert shape["schema"]["properties"]["oA"]["enum"] == [[a, b, 0] for a in (0, 1) for b in (0, 1, 2)]
    assert (groq["model"], groq["max_completion_tokens"], groq["reasoning_effort"]) == (GROQ_MODEL, 1024, "low")
    assert request_body(ServiceSettings(model="other"), ASK)["response_format"] == {"type": "json_object"}
    assert "enum" not in legal_schema(Legal((10, 10, 10), (0,)))["properties"]["oA"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"provider": "hf", "base_url": "http://h/v1"}, "no other takes one"),
        ({"timeout_s": 10, "deadline_s": 5}, "deadline_s must be a number in 10..864000"),
        ({"base_url": f"http://u:{SENTINEL}@host/v1"}, "keys belong into the environment"),
        ({"key_env": f"{SENTINEL}-{SENTINEL}"}, "not the key itself"),
        ({"extra": {"max_completion_tokens": 60_000}}, "extra must be"),
    ],
)
def test_invalid_settings_are_refused_without_showing_a_key(settings, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        ServiceSettings(**{"provider": "openai" if "base_url" in settings else "groq", **settings})
    assert SENTINEL not in str(caught.value)


def test_missing_or_malformed_key(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(SetupError, match=r"\$GROQ_API_KEY"):
        RemoteClient().complete([ASK])
    monkeypatch.setenv("GROQ_API_KEY", f"{SENTINEL} x")
    with pytest.raises(SetupError, match=r"\$GROQ_API_KEY") as caught:
        RemoteClient().complete([ASK])
    assert SENTINEL not in str(caught.value)


def test_key_is_never_shown_or_stored(serve, monkeypatch, caplog, capfd, tmp_path):
    monkeypatch.setenv("THE_KEY", f"{SENTINEL}\n")
    caplog.set_level(logging.DEBUG)
    said = []
    told = f'{{"error": {{"message": "bad key {SENTINEL}", "code": "x"}}}}'
    pages = completion(f"echo {SENTINEL}"), Page(400, told), Page(401, told), Page(500, told), Page(body="x", cut=0)
    for page in pages:
        _, client, _ = serve([page], key_env="THE_KEY", max_attempts=2)
        cached = CachedClient(client, tmp_path / "cache.db")
        try:
            said.append(repr(cached.complete([ASK._replace(prompt=f"{len(said)}")])))
        except SetupError as error:
            said.append("".join(traceback.format_exception(error)))
            for raised in (error, error.__cause__, error.__context__):
                said.append(f"{raised!r} {vars(raised) if raised else ''}")
        said += [repr(client), repr(client.settings), repr(client.identity), repr(client.tally), repr(vars(client))]
        cached.close()
        with pytest.raises(TypeError, match="one process"):
            pickle.dumps(client)
    said += [record.getMessage() for record in caplog.records]
    said += [repr(vars(record)) for record in caplog.records]
    said += list(capfd.readouterr())
    assert len(caplog.records) > 10
    assert "echo [key]" in "".join(said)
    assert all(SENTINEL not in text for text in said)
    for path in tmp_path.iterdir():
        assert SENTINEL.encode() not in path.read_bytes()


def test_client_works_and_closes_in_a_running_loop(serve):
    _, client, _ = serve([completion()])

    async def within():
        reply = client.complete([ASK])[0]
        client.close()
        return reply.text

    assert asyncio.run(within()) == OK_LINE
    client.close()  # again
    assert client.complete([ASK])[0].text == OK_LINE


@pytest.fixture
def loops():
    """Says in which threads the clients of this test run their event loops; those of other tests may be open still."""

    def running() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "language model"}

    before = running()
    return lambda: running() - before


def test_threads_share_one_loop(serve, loops):
    _, client, _ = serve(lambda heard, number: completion(heard.prompt))
    client.complete([ASK])
    with ThreadPoolExecutor(8) as pool:
        texts = [
            [reply.text for reply in replies]
            for replies in pool.map(
                lambda n: client.complete([Query(f"{n} {row}", LEGAL) for row in range(5)]), range(8)
            )
        ]
    assert texts == [[f"{n} {row}" for row in range(5)] for n in range(8)]
    assert len(loops()) == 1
    client.close()
    assert not loops()


def test_close_cancels_requests(serve, loops):
    service, client, _ = serve([Page(delay=60)], clock=Clock())
    with ThreadPoolExecutor(1) as pool:
        replies = pool.submit(client.complete, [ASK._replace(prompt=f"{row}") for row in range(3)])
        while not service.heard:
            time.sleep(0.01)
        client.close()
        with pytest.raises(CancelledError):
            replies.result()
    assert not loops()


def test_open_client_lets_the_interpreter_exit(serve):
    service, _, _ = serve([completion()])
    code = "from partners.llm.client import Query; from partners.llm.remote.client import RemoteClient; "
    code += "from partners.llm.reply import Legal; from partners.llm.service import ServiceSettings; "
    code += f"client = RemoteClient(ServiceSettings('openai', 'm', {service.url!r})); "
    code += "print(client.complete([Query('Your move.', Legal((1, 2, 0), (0, 1, 3, 4)))])[0].text)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert (process.returncode, process.stdout.strip(), process.stderr) == (0, OK_LINE, "")


# ---------------------------------------------------------------- budgets

ONE = Cost(1, 100, 0)


def test_settle_frees_the_rest():
    budget = Budget(tokens=250)
    for _ in range(15):  # 10 tokens each: the last that fits leaves 100 for its worst case
        assert budget.reserve(ONE)
        budget.settle(ONE, Cost(1, 10, 0))
    assert budget.spent == Cost(15, 150, 0)
    assert budget.reserve(ONE)
    budget.settle(ONE, ONE)
    assert not budget.reserve(ONE)


def test_money_is_exact():
    one = ServiceSettings(prompt_price=0.15, completion_price=0.60).cost(1000, 100)
    assert one == Cost(1, 1100, 210_000_000)
    assert one.usd == 0.00021
    budget = Budget(usd=0.0021)
    assert [budget.reserve(one) for _ in range(11)] == [True] * 10 + [False]


def test_seconds_count_overlapping_waits_once():
    clock = [0.0]
    budget = Budget(seconds=8, clock=lambda: clock[0])
    with budget.waiting():
        clock[0] = 3
        with budget.waiting():  # two at a time are no more than one
            clock[0] = 4
    assert (budget.seconds, budget.seconds_left) == (4, 4)
    clock[0] = 100
    assert budget.seconds == 4
    with budget.waiting():
        clock[0] = 103
        assert budget.seconds_left == 1
        assert budget.reserve(ONE)
        clock[0] = 106
        assert not budget.reserve(ONE)
        assert budget.reserve(ONE) is False
