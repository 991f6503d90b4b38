"""A server on this machine that speaks OpenAI's protocol: chat completions by our occupants, and the list of them.

``POST /v1/chat/completions`` reads the last message that the user wrote, a prompt of ours, and answers with one legal
JSON line; ``GET /v1/models`` names the occupants. It is reached from this machine alone: it listens on the loopback
address, and refuses requests that name another host, as a page in a browser would. Source of the shapes: OpenAI's API
reference, chat completions and models.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from dond_marl.envs.turn import only_action, only_message, turn_for
from dond_marl.errors import InputError, error_line, quote
from dond_marl.game import as_integer
from dond_marl.rollout import Noise
from dond_marl.seats import Partner
from partners.llm.reply import reply_line
from partners.llm.serving.reading import read_prompt

HOST = "127.0.0.1"
MOST_BYTES = 1_000_000  # of a request's body
PATIENCE_S = 30.0  # seconds that a connection may say nothing
_OURS = ("127.0.0.1", "localhost", "::1")


class RequestRefused(InputError):
    """A request that is not answered; ``status`` is HTTP's."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class PolicyServer(ThreadingHTTPServer):
    """Serves ``occupants`` by name until :meth:`shutdown`; ``port`` 0 is any free one. Raises ``OSError``.

    ``prior``: the scenario distribution's name, known to the seats. What an occupant gambles with is a function of the
    request's ``seed`` and of what its seat was dealt, so that one prompt has one answer.
    """

    daemon_threads = True

    def __init__(self, occupants: Mapping[str, Partner], port: int = 0, *, prior: str = "lewis") -> None:
        self.occupants, self.prior = dict(occupants), prior
        self._one_at_a_time = threading.Lock()
        super().__init__((HOST, port), _Handler)

    @property
    def url(self) -> str:
        """What a client takes as its ``base_url``."""
        return f"http://{HOST}:{self.server_address[1]}/v1"

    def models(self) -> dict[str, Any]:
        """The body of ``GET /v1/models``."""
        named = [{"id": name, "object": "model", "created": 0, "owned_by": "dond-marl"} for name in self.occupants]
        return {"object": "list", "data": named}

    def completion(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a chat completion's body. Raises :class:`Refused` and :class:`UnreadPrompt`."""
        name = request.get("model")
        if not isinstance(name, str) or name not in self.occupants:
            raise RequestRefused(f"no model {quote(name)} is served here; there are {', '.join(self.occupants)}", 404)
        if request.get("n", 1) not in (1, None):
            raise RequestRefused(f"one prompt has one answer: leave out n; got {quote(request['n'])}")
        seed = as_integer(request.get("seed") or 0)
        if seed is None or seed < 0:
            raise RequestRefused(f"seed must be a whole number from 0 up; got {quote(request['seed'])}")
        line = self.line(self.occupants[name], _prompt(request.get("messages")), seed)
        message = {"role": "assistant", "content": line}
        return {
            "id": f"chatcmpl-{zlib.crc32(line.encode()):08x}",
            "object": "chat.completion",
            "created": 0,
            "model": name,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }

    def line(self, occupant: Partner, prompt: str, seed: int = 0) -> str:
        """What ``occupant`` says in the position of ``prompt``, as a language model's reply."""
        position = read_prompt(prompt)
        state = position.state
        dealt = repr((state.mover, state.scenario.counts, state.scenario.utilities[state.mover]))
        noise = Noise(seed, (zlib.crc32(dealt.encode()),), 1)
        turn = turn_for(occupant, state, noise, prior=self.prior, reveal_partner_utilities=position.revealed)
        with self._one_at_a_time:  # a network's forward pass takes the machine's cores by itself
            decisions = occupant.act(turn)
        said = only_message(decisions, state)
        return reply_line(only_action(decisions), round(float(decisions.confidence[0]), 6), said)


class _Handler(BaseHTTPRequestHandler):
    server: PolicyServer
    protocol_version, server_version, sys_version = "HTTP/1.1", "dond-marl", ""
    timeout = PATIENCE_S
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  # the name is its base's
        """Say nothing of each request."""

    def _answer(self, method: str) -> None:
        kind = "application/json"
        try:
            status, told = 200, self._done(method, self.path.partition("?")[0].rstrip("/"))
            kind = "text/event-stream" if told.startswith(b"data:") else kind
        except InputError as error:
            status, told = getattr(error, "status", 400), _error(str(error), "invalid_request_error")
        except Exception as error:  # noqa: BLE001  # the occupant's
            status, told = 500, _error(f"the occupant failed: {error_line(error)}", "server_error")
        if status != 200:
            self.close_connection = True  # its body may be unread
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(told)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(told)

    def _done(self, method: str, path: str) -> bytes:
        if _host(self.headers.get("Host", HOST)) not in _OURS:
            raise RequestRefused("this server answers this machine alone, under 127.0.0.1 or localhost", 403)
        if (method, path) == ("GET", "/v1/models"):
            return json.dumps(self.server.models()).encode()
        if (method, path) != ("POST", "/v1/chat/completions"):
            raise RequestRefused(f"{method} {quote(path)}: there are GET /v1/models and POST /v1/chat/completions", 404)
        request = self._body()
        completion = self.server.completion(request)
        return _streamed(completion) if request.get("stream") else json.dumps(completion).encode()

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise RequestRefused("a request needs its Content-Length", 411)
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            raise RequestRefused(f"a request has at most {MOST_BYTES:,} bytes", 413)
        try:
            body = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise RequestRefused("the body is no JSON") from None
        if not isinstance(body, dict):
            raise RequestRefused("the body is no JSON object")
        return body


def _host(header: str) -> str | None:
    """The name in a ``Host``, without the port; ``None`` where there is none to be read."""
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


def _prompt(messages: object) -> str:
    """What the user wrote last; parts of a message are put together."""
    for message in reversed(messages if isinstance(messages, list) else []):
        if isinstance(message, dict) and message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, list):
                content = "".join(part["text"] for part in content if _is_text(part))
            if isinstance(content, str):
                return content
    raise RequestRefused("messages must be a list that holds a text of role user")


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _streamed(completion: Mapping[str, Any]) -> bytes:
    """The same answer as server-sent events, for clients that stream: what is said, why it ended, and what it took."""
    said = completion["choices"][0]["message"]
    ends = [({**said}, None, None), ({}, "stop", completion["usage"])]
    chunks = [
        {
            **completion,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}],
            "usage": usage,
        }
        for delta, reason, usage in ends
    ]
    return b"".join(f"data: {text}\n\n".encode() for text in (*map(json.dumps, chunks), "[DONE]"))


def _error(message: str, kind: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": None}}).encode()
