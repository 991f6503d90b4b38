"""Whether a request comes from a page of ours, or from another site's.

Browsers keep another site from reading our answers; this keeps it from acting here.
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
    """Why another site's page is refused; ``None`` for our own pages and for whoever follows a link."""
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
