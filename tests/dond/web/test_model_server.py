"""The server that offers occupants as language models."""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple

import groq
import numpy as np
import pytest
import uvicorn

from dond.web.model_server import MAX_BYTES, application
from dond.web.server import free_port
from dond_marl.envs.turn import turn_of
from dond_marl.game import Rules, Scenario, State
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from partners.llm.occupant import llm
from partners.llm.prompt import load_template
from partners.llm.reply import Legal, LegalReply, read_reply
from partners.llm.serving import ServedOccupants
from tests.loopback import without_proxy_and_key

NAMES = ("heuristic", "boulware", "frequency_model", "random")
PROMPT = load_template().render(turn_of(State(Scenario((3, 1, 2), ((1, 7, 0), (2, 2, 1)))), prior=""))[0]


class Served(NamedTuple):
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def served(*names: str):
    app, port = application(ServedOccupants({name: seat_occupant(name) for name in names})), free_port(0)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield Served(port)
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def server():
    with served(*NAMES) as one:
        yield one


def request(server: Served, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, None if body is None else sent, headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    return answer.status, told


def completion(server: Served, **changed: object) -> tuple[int, dict]:
    body = {"model": "heuristic", "messages": [{"role": "user", "content": PROMPT}], **changed}
    return request(server, "POST", "/v1/chat/completions", body)


@pytest.mark.parametrize(("name", "disagree"), [("heuristic", "ends"), ("frequency_model", "rejects")])
def test_served_occupant_plays_like_the_occupant(server, name, disagree, monkeypatch):
    without_proxy_and_key(monkeypatch)
    behind = llm(provider="openai", base_url=server.url, model=name, structure="text", prompt="full")
    itself, other = seat_occupant(name), seat_occupant("boulware")
    scenarios = open_source("lewis", split="test").block(0, 0, 8)
    for seat in (0, 1):
        pairs = [(who, other) if seat == 0 else (other, who) for who in (itself, behind)]
        games = [rollout(pair, scenarios, Rules(8, disagree), seed=1) for pair in pairs]
        for field in ("act", "oA", "ending", "scores", "cause"):
            assert np.array_equal(getattr(games[0], field), getattr(games[1], field)), field
    assert behind.tally["decisions"] == behind.tally["free"] > 8


def test_random_occupant_is_a_function_of_the_seed(server):
    lines = [completion(server, model="random", seed=seed)[1]["choices"][0]["message"]["content"] for seed in range(8)]
    again = [completion(server, model="random", seed=seed)[1]["choices"][0]["message"]["content"] for seed in range(8)]
    assert lines == again and len(set(lines)) > 3


def test_models_and_completion_shapes(server):
    assert [model["id"] for model in request(server, "GET", "/v1/models")[1]["data"]] == list(NAMES)
    parts = [{"type": "text", "text": PROMPT}]
    status, told = completion(server, messages=[{"role": "system", "content": "x"}, {"role": "user", "content": parts}])
    choice = told["choices"][0]
    assert status == 200 and choice["finish_reason"] == "stop" and choice["message"]["role"] == "assistant"
    assert isinstance(read_reply(choice["message"]["content"], Legal((3, 1, 2), (0, 1, 3, 4))), LegalReply)


def test_streamed_completion(server):
    complete = completion(server)[1]["choices"][0]["message"]["content"]
    body = {"model": "heuristic", "messages": [{"role": "user", "content": PROMPT}], "stream": True}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    answer = connection.getresponse()
    assert answer.getheader("Content-Type") == "text/event-stream"
    *events, last = [event.removeprefix("data: ") for event in answer.read().decode().split("\n\n")[:-1]]
    connection.close()
    choices = [json.loads(event)["choices"][0] for event in events]
    assert last == "[DONE]" and [choice["finish_reason"] for choice in choices] == [None, "stop"]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == complete


@pytest.mark.parametrize("form", [PROMPT, [{"role": "user", "content": [{"type": "input_text", "text": PROMPT}]}]])
def test_responses_say_the_same(server, form, monkeypatch):
    line = completion(server)[1]["choices"][0]["message"]["content"]
    status, whole = request(server, "POST", "/v1/responses", {"model": "heuristic", "input": form})
    assert status == 200 and whole["output"][0]["content"][0]["text"] == line
    openai = pytest.importorskip("openai")
    without_proxy_and_key(monkeypatch)
    with openai.OpenAI(api_key="none", base_url=server.url, max_retries=0) as client:
        assert client.responses.create(model="heuristic", input=form).output_text == line
        events = list(client.responses.create(model="heuristic", input=form, stream=True))
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == line
    assert events[-1].type == "response.completed" and events[-1].response.output_text == line


def test_groq_sdk_reaches_the_server(server, monkeypatch):
    without_proxy_and_key(monkeypatch)
    with groq.Groq(api_key="none", base_url=server.url.removesuffix("/v1"), max_retries=0) as client:
        assert [model.id for model in client.models.list().data] == list(NAMES)
        answer = client.chat.completions.create(model="heuristic", messages=[{"role": "user", "content": PROMPT}])
        with pytest.raises(groq.NotFoundError):
            client.chat.completions.create(model="nobody", messages=[])
    assert answer.choices[0].message.content == completion(server)[1]["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        ({"model": "nobody"}, 404, "no model 'nobody' is served here; there are heuristic"),
        ({"messages": [{"role": "user", "content": "hello"}]}, 400, "no message holds a prompt of this game"),
        ({"n": 2}, 400, "one prompt has one answer"),
    ],
)
def test_bad_requests(server, changed, status, said):
    got, told = completion(server, **changed)
    assert got == status and said in told["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", {}, 400),
        ("POST", "/v1/models", None, {}, 405),
        ("POST", "/v1/chat/completions", b" " * (MAX_BYTES + 1), {}, 413),
        ("GET", "/v1/models", None, {"Host": "example.org:80"}, 403),
    ],
)
def test_any_request_gets_a_json_answer(server, method, path, body, headers, status):
    got, told = request(server, method, path, body, **headers)
    assert got == status and told["error"]["message"]
