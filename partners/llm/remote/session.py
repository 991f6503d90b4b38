"""What a remote client holds while it is open: an event loop in a thread of its own, and what lives in that loop.

A loop of its own because the caller may run in one too (notebooks).
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from partners.llm.remote.retry import Clock, Gate, Pace, RetryPolicy
from partners.llm.remote.slots import Slots
from partners.llm.remote.wire import Wire, read_key
from partners.llm.service import ServiceSettings

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal


@dataclass(frozen=True, slots=True)
class Session:
    """The loop, the connection, and when requests may go out."""

    portal: BlockingPortal  # the way into the loop
    end: weakref.finalize[..., object]  # at the latest when its owner is collected or the interpreter ends
    wire: Wire
    key: str = field(repr=False)
    slots: Slots
    gate: Gate
    pace: Pace
    asking_forms: asyncio.Lock


def policy_of(settings: ServiceSettings) -> RetryPolicy:
    """When to try again, as the settings say."""
    deadline_s = 2 * settings.timeout_s if settings.deadline_s is None else settings.deadline_s
    return RetryPolicy(settings.max_attempts, settings.timeout_s, deadline_s, breaker_after=settings.breaker_after)


def open_session(owner: object, settings: ServiceSettings, policy: RetryPolicy, clock: Clock) -> Session:
    """A session that ends with ``owner``. Raises :class:`partners.llm.client.SetupError`."""
    key = read_key(settings.key_variable)
    wire = Wire(settings.url, key, groq=settings.groq)
    from anyio.from_thread import start_blocking_portal

    loop = ExitStack()
    portal = loop.enter_context(start_blocking_portal(name="language model"))
    loop.callback(portal.call, _wind_up, portal, wire)
    return Session(
        portal=portal,
        end=weakref.finalize(owner, _end, loop, portal.call(threading.get_ident)),
        wire=wire,
        key=key,
        slots=Slots(settings.in_flight, policy.timeout_s),
        gate=Gate(policy, clock),
        pace=Pace(clock, settings.requests_per_minute, settings.tokens_per_minute),
        asking_forms=asyncio.Lock(),
    )


def _end(loop: ExitStack, thread: int) -> None:
    """Leave the event loop that runs in the thread with this number."""
    if threading.get_ident() != thread:
        loop.close()
    else:  # the owner was collected by its own loop, which cannot wait for itself
        threading.Thread(target=loop.close).start()


async def _wind_up(portal: BlockingPortal, wire: Wire) -> None:
    from anyio import CancelScope

    with CancelScope(shield=True):
        await portal.stop(cancel_remaining=True)
        await wire.close()
