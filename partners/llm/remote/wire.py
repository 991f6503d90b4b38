"""One HTTP request by Groq's SDK: the whole answer, in bounded time and memory, or the failure.

The SDK serves every server, by raw calls: its typed call adds a second ``/openai/v1`` to other servers' addresses. Its
own retries are off (:mod:`.client` repeats requests, as each must fit the budget), and redirects are not followed: the
key goes to the address that it was set for and to no other. The SDK's errors hold requests, with the key in a header,
so none of them leaves this module, not even as the cause of another.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from partners.llm.client import Failure, SetupError
from partners.llm.remote.failures import RequestFailure, one_line
from partners.llm.service import ServiceSettings

if TYPE_CHECKING:
    import httpx

MAX_BYTES = 2_000_000  # of an answer; a reply of a hundred thousand tokens has less
_NO_KEY = "none"  # sent to a server that needs no key
_LOCAL = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|::1?")  # hosts: this machine
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")  # environment variables, in any case


class _BodyError(Exception):
    """A body that is longer than any reply, or compressed in a way that was not requested."""


class Wire:
    """A connection to the service of ``settings``; it belongs to one event loop. Raises :class:`SetupError`.

    ``secret`` is the key, empty for a server that needs none. ``$GROQ_CUSTOM_HEADERS`` go to Groq, or a gateway to it.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.secret = read_key(settings.key_variable)
        try:
            from groq import DEFAULT_CONNECTION_LIMITS, AsyncGroq, DefaultAsyncHttpxClient, Omit
            from httpx import AsyncHTTPTransport, InvalidURL
        except ImportError:
            raise SetupError("remote models need the package groq: pip install groq") from None
        key, headers = self.secret or _NO_KEY, dict[str, Any]()
        headers["Accept-Encoding"] = "identity"
        if not settings.groq:
            headers |= {name: Omit() for name in _groq_headers()} | {"Authorization": f"Bearer {key}"}
        address = urlsplit(settings.url)
        self._is_local, has_tls = _LOCAL.fullmatch(address.hostname or "") is not None, address.scheme == "https"
        try:  # with a transport of its own the client uses no proxy of the environment
            direct = AsyncHTTPTransport(verify=has_tls, limits=DEFAULT_CONNECTION_LIMITS) if self._is_local else None
            client = DefaultAsyncHttpxClient(
                verify=has_tls, follow_redirects=False, event_hooks={"response": [_read_body]}, transport=direct
            )
        except (ImportError, InvalidURL, ValueError, OSError) as error:
            file = "sslkeylogfile" if getattr(error, "filename", None) else "ssl_cert_file"  # that one has no file name
            variables = [file] if isinstance(error, OSError) else [*_PROXIES, "no_proxy"]
            names = _variables(*variables, words=str(error))
            raise SetupError(f"{names or 'a system setting'} cannot be used ({error}): correct or unset it") from None
        self._sdk = AsyncGroq(
            api_key=key, base_url=settings.url, max_retries=0, default_headers=headers, http_client=client
        )

    async def post(self, body: Mapping[str, Any], timeout_s: float) -> httpx.Response | RequestFailure:
        """The service's answer within ``timeout_s`` seconds."""
        import groq
        import httpx

        try:
            async with asyncio.timeout(timeout_s):  # the SDK's own is per piece: a trickle would never end
                return await self._sdk.post(
                    "/chat/completions", cast_to=httpx.Response, body=body, options={"timeout": timeout_s}
                )
        except groq.APIStatusError as error:
            return error.response
        except (TimeoutError, groq.APITimeoutError):
            return RequestFailure(Failure.TIMEOUT, retry=False)
        except (groq.APIConnectionError, httpx.HTTPError, httpx.StreamError) as error:
            cause = error.__cause__ or error
            if isinstance(cause, _BodyError):
                return RequestFailure(Failure.GARBLED, retry=False, words=str(cause))
            sent = not isinstance(cause, httpx.ConnectError)  # an untrusted certificate is such an error too
            proxies = "" if self._is_local else _variables(*_PROXIES)
            words = f"{cause} (a proxy is set by {proxies})" if proxies else str(cause)
            return RequestFailure(Failure.CONNECTION, sent=sent, words=one_line(words, self.secret))

    async def close(self) -> None:
        await self._sdk.close()


def read_key(variable: str | None) -> str:
    """The key in an environment variable, empty for ``None``. Raises :class:`SetupError`, without showing it."""
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SetupError(f"there is no key in ${variable}: export {variable}=..., or choose a model that needs none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"the value of ${variable} is no key: it has spaces or characters that no key has")
    return key


def _variables(*names: str, words: str = "") -> str:
    """The set environment variables of these ``names``, in any case; those that ``words`` quote, if there are any."""
    given = {name: value for name, value in sorted(os.environ.items()) if value and name.lower() in names}
    return ", ".join(f"${name}" for name in [name for name in given if given[name] in words] or given)


def _groq_headers() -> list[str]:
    """The names of the headers that the SDK would send to any address: they may hold keys for Groq."""
    lines = os.environ.get("GROQ_CUSTOM_HEADERS", "").split("\n")
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


async def _read_body(response: httpx.Response) -> None:
    """A response hook of httpx: read at most :data:`MAX_BYTES` of the body. Raises :class:`_BodyError`.

    Answers are requested uncompressed, and compressed ones refused: httpx would make gigabytes of a few kilobytes.
    """
    import httpx

    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        raise _BodyError(f"the answer is compressed as {encoding!a:.40}, which was not requested")
    body, stream = bytearray(), response.stream
    assert isinstance(stream, httpx.AsyncByteStream)
    async for piece in stream:
        body += piece
        if len(body) > MAX_BYTES:
            raise _BodyError(f"the answer is longer than {MAX_BYTES:,} bytes")
    await stream.aclose()
    response.stream = httpx.ByteStream(bytes(body))
