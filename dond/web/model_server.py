"""Occupants of this machine as language models over HTTP: :class:`partners.llm.serving.ServedOccupants` on Starlette.

Requests without a local ``Host`` are refused. Groq's SDK finds every address under ``/openai`` too.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from dond.web.server import in_background
from dond_marl.errors import InputError, error_line
from partners.llm.serving import ANSWERS, Document, RequestRefused, ServedOccupants

LOCAL_HOSTS = ("127.0.0.1", "localhost")
MAX_BYTES = 1_000_000  # of a request's body
Handler = Callable[[Request], Awaitable[Response]]


def application(served: ServedOccupants) -> Starlette:
    """The application; each answer is made in a thread."""

    async def models(_: Request) -> Response:
        return JSONResponse(served.models())

    def answering(path: str) -> Handler:
        answer, as_events = ANSWERS[path]

        async def endpoint(request: Request) -> Response:
            body = await _body(request)
            document = await in_background(answer, served, body)
            if not body.get("stream"):
                return JSONResponse(document)
            return Response(as_events(document), headers={"content-type": "text/event-stream"})

        return endpoint

    routes = [Route("/v1/models", _guarded(models), methods=["GET"])]
    routes += [Route(path, _guarded(answering(path)), methods=["POST"]) for path in ANSWERS]
    addresses = ", ".join(f"POST {path}" for path in ANSWERS)

    async def missing(_: Request, error: Exception) -> Response:
        return _error(f"there are GET /v1/models, {addresses}", getattr(error, "status_code", 404))

    return Starlette(routes=[*routes, Mount("/openai", routes=routes)], exception_handlers={HTTPException: missing})


def _guarded(endpoint: Handler) -> Handler:
    """``endpoint`` for this machine only; what it raises is a JSON answer."""

    async def guarded(request: Request) -> Response:
        try:
            if request.headers.get("host", "").partition(":")[0] not in LOCAL_HOSTS:
                raise RequestRefused("this server answers this machine only, under 127.0.0.1 or localhost", 403)
            return await endpoint(request)
        except InputError as error:
            return _error(str(error), getattr(error, "status", 400))
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the occupant's
            return _error(f"the occupant failed: {error_line(error)}", 500)

    return guarded


async def _body(request: Request) -> Document:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MAX_BYTES:
            raise RequestRefused(f"a request has at most {MAX_BYTES:,} bytes", 413)
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise RequestRefused("the body is no JSON object")
    return body


def _error(message: str, status: int) -> Response:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": None}}, status)
