"""What services ask for tokens: a table with dates in ``prices.json``, for estimates; a model on this machine is free.

Prices change, and a server at another address has its own: what a user says (``prompt_price``, ``completion_price``)
goes before the table, and a limit of dollars holds to what the user says alone.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from partners.llm.budget import Price

TABLE = Path(__file__).with_name("prices.json")
_HOSTS = {"api.groq.com": "groq", "api.openai.com": "openai"}


class Listed(NamedTuple):
    """One model's price, and what it is known from."""

    price: Price
    date: str  # ISO 8601, on which the page said so
    page: str


def listed(url: str, model: str) -> Listed | None:
    """The price in the table of ``model`` at a service's address, ``None`` for another service or an unknown model."""
    return _table().get((_HOSTS.get(urlsplit(url).hostname or "", ""), model))


@lru_cache(maxsize=1)
def _table() -> dict[tuple[str, str], Listed]:
    return {
        (row["provider"], row["model"]): Listed(Price(row["prompt"], row["completion"]), row["date"], row["page"])
        for row in json.loads(TABLE.read_text(encoding="utf-8"))["prices"]
    }
