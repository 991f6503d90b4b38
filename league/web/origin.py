"""Whether a request comes from a page of ours, or from another site's.

Browsers prevent that another site reads our answers; that it acts here is prevented by this.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import Headers


class Refusal(NamedTuple):
    """Why nobody is let in."""

    status: int
    why: str


def foreign(headers: Headers) -> Refusal | None:
    """What is said to another site's page, ``None`` to our own and to whoever follows a link."""
    origin, host = headers.get("origin"), headers.get("host", "")
    if origin is not None and _place(origin) != host:
        return Refusal(403, "another site may not ask for this page")
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "navigate")
    if site in ("cross-site", "same-site") and mode != "navigate":  # a link may lead here, a picture or script not
        return Refusal(403, "another site may not ask for this page")
    return None


def _place(address: str) -> str | None:
    try:
        return urlsplit(address).netloc
    except ValueError:  # such as of "http://["
        return None
