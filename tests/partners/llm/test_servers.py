"""Kinds of servers: structured output, concurrency, rates, refusals, malicious answers."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import warnings
from collections import Counter

import pytest

from dond_marl.batch import GameBatch
from dond_marl.game import Act
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause
from partners.llm.client import Failure, Query, SetupError
from partners.llm.partner import LLMPartner
from partners.llm.prompt import CORRECTIONS
from partners.llm.remote.chat import request_body
from partners.llm.reply import Legal, LegalReply, Reason, read_reply
from partners.llm.service import ServiceSettings
from tests.loopback import Page, completion

LEGAL = Legal((1, 2, 0), (0, 1, 3, 4))
ASK = Query("Your move.", LEGAL)
KEY = "sk-TESTsentinel0123456789"
quiet = pytest.mark.filterwarnings("ignore:the model 'm':RuntimeWarning")


def asks(number: int) -> list[Query]:
    return [Query(f"{row}", LEGAL) for row in range(number)]


# ---------------------------------------------------------------- what servers can enforce


def obeying(schema: dict) -> Page:
    """An answer of ``schema``, over several lines, with a confidence as llama.cpp's grammars let it through."""
    fields = schema["properties"]
    oA = fields["oA"]["enum"][0] if "enum" in fields["oA"] else [0, 0, 0]
    return completion(json.dumps({"act_type": fields["act_type"]["enum"][-1], "oA": oA, "confidence": 3.5}, indent=2))


def refusing(status: int, message: str) -> Page:
    return Page(status, json.dumps({"error": {"message": message, "type": "invalid_request_error"}}))


HELLO = completion("Hello! How can I help you today?")


def openai(body):
    form = body.get("response_format", {})
    return obeying(form["json_schema"]["schema"]) if form.get("type") == "json_schema" else HELLO


def llama_cpp_python(body):
    form = body.get("response_format", {"type": "text"})
    if form["type"] not in ("text", "json_object"):
        said = {"loc": ["body", "response_format", "type"], "msg": "Input should be 'text' or 'json_object'"}
        return Page(500, json.dumps({"error": {"message": f"[{said}]", "type": "internal_server_error"}}))
    return obeying(form["schema"]) if "schema" in form else HELLO


def json_mode(body):
    form = body.get("response_format")
    if form == {"type": "json_object"}:
        return completion('{\n "greeting": {"text": "hello"}\n}')
    return refusing(400, "only json_object is known") if form else HELLO


def plain(body):
    return HELLO


def groq(body):
    """A model that calls a tool in place of an answer, behind Groq's check, which knows the stricter modes."""
    if "response_format" not in body:
        return HELLO
    error = {"message": "Tool choice is none", "code": "tool_use_failed", "failed_generation": '{"name": "say"}'}
    return Page(400, json.dumps({"error": error}))


SERVERS = {  # what it is found to have, and after how many probes
    openai: ("json_schema", 1),
    llama_cpp_python: ("json_object_schema", 2),
    json_mode: ("json_object", 3),
    plain: ("text", 3),
    groq: ("json_schema", 1),
}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.__name__)
def test_server_is_probed_once(serve, server):
    form, probes = SERVERS[server]
    service, client, _ = serve(lambda heard, number: server(heard.body), structure="auto")
    for _ in range(2):
        replies = client.complete(asks(5))
    assert client.structure == form
    assert client.tally["probes"] == probes
    assert len(service.heard) == client.budget.spent.requests == probes + 10
    assert client.tally["replies"] == 10
    assert client.tally["retries"] == 0
    sent = service.heard[-1].body
    expected = request_body(client.settings, ASK._replace(prompt=sent["messages"][1]["content"]), form)
    assert sent == expected
    legal = [isinstance(read_reply(reply.text, LEGAL), LegalReply) for reply in replies]
    assert legal == [form not in ("json_object", "text") and server is not groq] * 5


def test_given_structure_is_not_probed(serve):
    service, client, _ = serve(lambda heard, number: openai(heard.body), structure="json_schema")
    client.complete(asks(2))
    assert len(service.heard) == 2
    assert client.identity["structure"] == "json_schema"
    _, asked, _ = serve(lambda heard, number: openai(heard.body), structure="auto")
    before = dict(asked.identity)
    asked.complete(asks(1))
    assert asked.identity == before == {**before, "structure": "text"}


@quiet
def test_failed_probe_is_repeated(serve):
    pages = {"now": Page(503)}
    _, client, _ = serve(lambda heard, number: pages["now"] or openai(heard.body), structure="auto")
    assert {reply.failure for reply in client.complete(asks(3))} == {Failure.SERVER}
    assert (client.structure, client.tally["failed_server"]) == (None, 3)
    pages["now"] = None
    client.complete(asks(3))
    assert client.structure == "json_schema"


def test_probes_count_towards_the_budget(serve):
    service, client, _ = serve(lambda heard, number: plain(heard.body), max_requests=2, structure="auto")
    assert {reply.failure for reply in client.complete(asks(3))} == {Failure.BUDGET}
    assert len(service.heard) == client.budget.spent.requests == 2


def test_refused_generation_is_the_models_own_reply(serve):
    def answer(heard, number):
        error = {"message": "Failed.", "code": "tool_use_failed", "failed_generation": '{"name": "propose"}'}
        is_corrected = CORRECTIONS[Reason.WRONG_KEYS] in heard.prompt
        return completion() if is_corrected else Page(400, json.dumps({"error": error}))

    _, client, _ = serve(answer)
    partner = LLMPartner(client)
    decisions = partner.act(GameBatch(open_source("lewis").block(0, 0, 5)).turns())
    assert (decisions.cause == Cause.FREE).all() and (decisions.act_type == Act.PROPOSE).all()
    assert +partner.tally == Counter(decisions=5, free=5, rejected_wrong_keys=5, re_asked=5)
    assert not client.tally["failed_refused"]


# ---------------------------------------------------------------- refusals


def test_refusal_is_reported_once_without_the_key(serve, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)

    def answer(heard, number):
        return refusing(400, f"no tier\x1b[31m\nfor {KEY} {'x' * 300}") if int(heard.prompt) % 4 == 3 else completion()

    service, client, _ = serve(answer, key_env="THE_KEY")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        replies = client.complete(asks(20))
        client.complete(asks(20))
    assert sum(reply.failure is Failure.REFUSED for reply in replies) == 5
    assert client.tally["failed_refused"] == 10
    (said,) = [str(warning.message) for warning in told]
    assert service.url in said and "(400): no tier [31m for [key] xxx" in said
    assert "failed_refused" in said
    assert said.isprintable()
    assert len(said) < 400
    assert KEY not in said


@quiet
@pytest.mark.parametrize(
    "page",
    [
        refusing(400, "service tier not available"),
        Page(500, json.dumps({"detail": "Input should be 'text' or 'json_object'"})),
        Page(302, headers={"location": "https://elsewhere.example/v1"}),
    ],
    ids=["400", "500 about a form", "302"],
)
def test_repeated_refusals_stop_the_run(serve, page):
    service, client, _ = serve(page)
    for _ in range(2):
        with pytest.raises(SetupError, match=rf"first 3 requests \({page.status}\)"):
            client.complete(asks(50))
    assert len(service.heard) == 3
    words = {400: "service tier not available", 302: "elsewhere.example", 500: "Input should be"}
    with pytest.raises(SetupError, match=words[page.status]):
        client.complete(asks(1))


@pytest.mark.parametrize("status", [401, 404])
def test_setup_error_costs_one_request_and_shows_no_key(serve, monkeypatch, status):
    monkeypatch.setenv("THE_KEY", KEY)
    service, client, clock = serve(refusing(status, f"nothing is known of {KEY}\nhere"), key_env="THE_KEY")
    for _ in range(3):
        with pytest.raises(SetupError, match=rf"\({status}\).* \[key\] here$") as caught:
            client.complete(asks(200))
        assert KEY not in repr(caught.value)
    assert (len(service.heard), clock.slept) == (1, [])
    _, client, _ = serve(Page(status))
    with pytest.raises(SetupError):
        client.complete([ASK])
    assert client.budget.spent == (1, 0, 0)


@quiet
def test_repeated_server_error_stops_the_run(serve):
    broken = refusing(500, "CUDA error: out of memory")
    service, client, _ = serve(broken)
    with pytest.raises(SetupError, match=r"\(500\): CUDA"):
        client.complete(asks(50))
    assert len(service.heard) == 5
    service, client, _ = serve(lambda heard, number: completion() if number == 0 else broken)
    replies = client.complete(asks(50))
    assert [replies[0].failure, replies[1].failure] == [None, Failure.SERVER]  # it has answered once


def test_long_retry_after_is_reported(serve):
    page = Page(429, '{"error": {"message": "daily limit"}}', {"retry-after": "3600"})
    service, client, _ = serve(page)
    with pytest.warns(RuntimeWarning, match=r"60 minutes \(429\): daily") as told:
        client.complete(asks(20))
    assert len(told) == len(service.heard) == 1
    assert client.tally["failed_paused"] == 19


# ---------------------------------------------------------------- parameters


def test_groq_gateway(serve, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", KEY)
    page = completion()
    told = json.loads(page.body)
    told["choices"][0]["message"]["reasoning"] = '{"act_type": 4, "oA": [0, 0, 0], "confidence": 1}'
    model, extra = "openai/gpt-oss-20b", {"service_tier": "flex", "include_reasoning": None, "seed": None}
    service, client, _ = serve(Page(body=json.dumps(told)), provider="groq", model=model, extra=extra, structure="auto")
    (reply,) = client.complete([ASK])
    assert reply.text == told["choices"][0]["message"]["content"]
    (heard,) = service.heard
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert (heard.body["service_tier"], heard.body["reasoning_effort"]) == ("flex", "low")
    assert heard.body["response_format"]["type"] == "json_schema"
    assert not heard.body.keys() & {"include_reasoning", "seed"}
    assert request_body(ServiceSettings(model="qwen/qwen3.6-27b"), ASK)["reasoning_effort"] == "none"
    assert "reasoning_effort" not in request_body(ServiceSettings(model="other"), ASK)
    assert "reasoning_effort" not in request_body(ServiceSettings("openai", model, "http://h/v1"), ASK)


# ---------------------------------------------------------------- servers that mean harm


@quiet
def test_redirect_is_not_followed(serve, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    other, *_ = serve(completion())
    page = Page(302, headers={"location": f"{other.url}/chat/completions"})
    service, client, _ = serve(page, key_env="THE_KEY")
    assert client.complete([ASK])[0].failure is Failure.REFUSED
    assert (len(service.heard), len(other.heard)) == (1, 0)


def test_groq_headers_go_only_to_groq(serve, monkeypatch):
    monkeypatch.setenv("GROQ_CUSTOM_HEADERS", f"authorization: {KEY}\nno header\nX-Other: {KEY}")
    monkeypatch.setenv("GROQ_API_KEY", "gsk_another")
    service, client, _ = serve(completion())
    client.complete([ASK])
    assert KEY not in repr(service.heard[0].headers)
    assert service.heard[0].headers["authorization"] == "Bearer none"
    service, client, _ = serve(completion(), provider="groq", model="openai/gpt-oss-20b", structure="auto")
    client.complete([ASK])
    assert service.heard[0].headers["x-other"] == KEY


@quiet
@pytest.mark.skipif(shutil.which("openssl") is None, reason="a certificate is made by openssl")
def test_key_is_not_sent_under_an_untrusted_certificate(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("THE_KEY", KEY)
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2"
    files = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = ["openssl", *words.split(), "-keyout", str(files[0]), "-out", str(files[1])]
    subprocess.run(words, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files[1], files[0])
    service, client, _ = serve(completion(), tls=tls, key_env="THE_KEY")
    with pytest.warns(RuntimeWarning, match="CERTIFICATE_VERIFY_FAILED"):
        assert client.complete([ASK])[0].failure is Failure.CONNECTION
    assert service.heard == []
