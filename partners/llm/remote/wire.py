"""The connection to a service by Groq's SDK.

The SDK serves every server, by raw calls: its typed call adds a second ``/openai/v1`` to other servers' addresses. Its
own retries are off (:mod:`.client` repeats requests): each attempt must fit the budget and the rates, a request that
timed out may still be worked on, and the SDK ignores a Retry-After of more than a minute. Redirects are not followed:
the key goes to the address that it was set for and to no other. This module loads the SDK.
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlsplit

import httpx
from groq import AsyncGroq, DefaultAsyncHttpxClient, Omit

from partners.llm.client import SetupError
from partners.llm.service import ServiceSettings

_NO_KEY = "none"  # sent to a server that needs no key
_LOCAL = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|::1?")  # hosts: this machine


def connect(settings: ServiceSettings, key: str) -> AsyncGroq:
    """A connection to the service of ``settings``, for one event loop. Raises :class:`SetupError`.

    ``key``: empty for a server that needs none. ``$GROQ_CUSTOM_HEADERS`` go to Groq, or a gateway to it. A server on
    this machine is contacted without the proxies of the environment.
    """
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
