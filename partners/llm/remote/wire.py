"""One request over HTTP, by Groq's SDK: what came back, whole, in bounded time and memory, or what went wrong.

The SDK serves every server, by raw calls: its typed call adds a second ``/openai/v1`` to other servers' addresses. Its
own retries are off, as they would multiply with ours, and nothing is redirected: a key goes to the address that it was
set for and to no other. The SDK's errors hold requests, with the key in a header, so none of them leaves here, not even
as the cause of another.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from partners.llm.client import Failure, SetupError
from partners.llm.remote.retry import RequestFailure
from partners.llm.remote.words import one_line

if TYPE_CHECKING:
    import httpx

NO_KEY = "none"  # what a server that needs no key is sent
_WRONG_NAME = (
    "the service at {url} has a certificate that cannot be trusted ({why}): check base_url, or the certificate"
)


class Wire:
    """A connection to the service at ``url``, which is sent ``key``; it belongs to one event loop.

    ``groq``: whether it is Groq's, or a gateway to it, for which ``$GROQ_CUSTOM_HEADERS`` are meant.
    """

    def __init__(self, url: str, key: str, *, groq: bool) -> None:
        try:
            from groq import AsyncGroq, DefaultAsyncHttpxClient, Omit
        except ImportError:
            raise SetupError("remote models need the package groq: pip install groq") from None
        from partners.llm.remote.body import bounded

        self.url, self._secret = url, "" if key == NO_KEY else key
        headers: dict[str, Any] = {"Accept-Encoding": "identity"}
        if not groq:
            headers |= {name: Omit() for name in _groqs_headers()} | {"Authorization": f"Bearer {key}"}
        self._sdk = AsyncGroq(
            api_key=key,
            base_url=url,
            max_retries=0,
            default_headers=headers,
            http_client=DefaultAsyncHttpxClient(follow_redirects=False, event_hooks={"response": [bounded]}),
        )

    async def post(self, body: Mapping[str, Any], timeout_s: float) -> httpx.Response | RequestFailure:
        """The service's answer, within ``timeout_s`` seconds of now. Raises :class:`SetupError`."""
        answer = await self._posted(body, timeout_s)
        if isinstance(answer, _Untrusted):
            raise SetupError(_WRONG_NAME.format(url=self.url, why=answer))
        return answer

    async def _posted(self, body: Mapping[str, Any], timeout_s: float) -> httpx.Response | RequestFailure | _Untrusted:
        import groq
        import httpx

        from partners.llm.remote.body import TooLong

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
            if isinstance(cause, TooLong):
                return RequestFailure(Failure.GARBLED, retry=False, words=str(cause))
            untrusted = _certificate(cause)
            if untrusted is not None:
                return _Untrusted(one_line(untrusted.verify_message, self._secret))
            sent = not isinstance(cause, httpx.ConnectError)
            return RequestFailure(Failure.CONNECTION, sent=sent, words=one_line(str(cause), self._secret))

    async def close(self) -> None:
        await self._sdk.close()


class _Untrusted(str):
    """Why a certificate is not trusted."""


def read_key(variable: str | None) -> str:
    """The key in an environment variable. Raises :class:`SetupError`, without showing it."""
    if variable is None:
        return NO_KEY
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SetupError(f"there is no key in ${variable}: export {variable}=..., or choose a model that needs none")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SetupError(f"what is in ${variable} is no key: it has spaces or characters that no key has")
    return key


def _groqs_headers() -> list[str]:
    """The names of the headers that the SDK would send to any address: they may hold keys of Groq's."""
    lines = os.environ.get("GROQ_CUSTOM_HEADERS", "").split("\n")
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


def _certificate(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """The refusal of a certificate that ``error`` comes from."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error
        error = error.__cause__ or error.__context__
    return None
