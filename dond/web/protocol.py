"""HTTP/1.1 with a time limit for clients: uvicorn has none for the headers and the body of a request."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0  # seconds for a whole request, and for a client that does not read its answer


class PatientProtocol(H11Protocol):
    """A connection that is closed if for ``PATIENCE`` to 2 ``PATIENCE`` seconds its client completes nothing.

    Clients that wait for an answer, as in long polling, are not limited.
    """

    patience = PATIENCE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._responses = 0
        self._check(seen=-1)

    def on_response_complete(self) -> None:
        self._responses += 1
        super().on_response_complete()

    def _check(self, seen: int) -> None:
        """Close the connection if it owes us something and no response was completed since the number was ``seen``."""
        if self.transport.is_closing():
            return
        owes = self.conn.their_state in (h11.IDLE, h11.SEND_BODY) or self.flow.write_paused
        if owes and self._responses == seen:
            self.transport.abort()
        else:
            self.loop.call_later(self.patience, self._check, self._responses)
