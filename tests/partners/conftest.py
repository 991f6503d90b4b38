"""Services on the loopback address for tests of language models; no proxy, and no key of the user's in reach."""

from __future__ import annotations

import pytest

from partners.llm.remote.client import RemoteClient
from partners.llm.service import ServiceSettings
from tests.loopback import FakeClock, Page, Service, without_proxy_and_key


@pytest.fixture
def services(monkeypatch):
    """Starts services that answer by a page, pages in order (the last for ever), or a function; closes them."""
    without_proxy_and_key(monkeypatch)
    opened = []

    def start(answer, **options) -> Service:
        if isinstance(answer, Page):
            answer = [answer]
        pages = answer if callable(answer) else (lambda heard, number: answer[min(number, len(answer) - 1)])
        opened.append(Service(pages, **options))
        return opened[-1]

    yield start
    for service in opened:
        service.close()


@pytest.fixture
def serve(services):
    """Starts services with a client at each, and closes them."""
    clients = []

    def start(answer, *, clock=None, budget=None, tls=None, **settings):
        service = services(answer, tls=tls)
        clock = FakeClock() if clock is None else clock
        at_service = {"provider": "openai", "model": "m", "base_url": service.url, "structure": "text", **settings}
        clients.append(RemoteClient(ServiceSettings(**at_service), budget=budget, clock=clock))
        return service, clients[-1], clock

    yield start
    for client in clients:
        client.close()
