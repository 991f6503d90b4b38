"""What a person must know of a service's failures: each kind told once, and when nothing can come of asking on.

A failure is a value that is counted (:mod:`partners.llm.client`); that alone would be silent. So the first of each kind
is told as a :class:`Notice`, with the status and the service's first words. A service that has answered nothing yet and
refuses everything in one way for good is a mistake in the settings: that is a :class:`SetupError`.
"""

from __future__ import annotations

import warnings

from dond_marl.errors import Notice
from partners.llm.client import Failure, SetupError
from partners.llm.remote.retry import RequestFailure, RetryPolicy
from partners.llm.remote.words import duration_text

REFUSED_FOR_GOOD = 3  # asks refused with one status, before any answer
_SAYS = {
    Failure.TIMEOUT: "it did not answer within {timeout_s:g} seconds (timeout_s); what was asked is not sent again, "
    "as it may still be worked on. A slower server needs a longer timeout_s",
    Failure.CONNECTION: "it cannot be reached{words}",
    Failure.RATE_LIMIT: "it allows no more requests{wait}{status}{words}",
    Failure.SERVER: "it failed{status}{words}",
    Failure.GARBLED: "it answered with what is no completion{status}{words}",
    Failure.REFUSED: "it refused a request{status}{words}; that request will never do, and is not sent again",
}


class Notices:
    """The failures of ``service`` (words for it). Not thread-safe but for :meth:`tell`."""

    def __init__(self, service: str, policy: RetryPolicy) -> None:
        self.service, self.policy = service, policy
        self.answered = False
        self._refused: dict[int | None, int] = {}  # asks by status
        self._same: tuple[str, int] = ("", 0)  # the newest words of a 500, and how often in a row
        self._kinds: set[tuple[Failure, int | None]] = set()
        self._untold: list[str] = []

    def heard(self, trouble: RequestFailure) -> None:
        """A request failed. Raises :class:`SetupError` where every one so far was the same error of the server."""
        if trouble.status != 500:
            self._same = ("", 0)
            return
        words, times = self._same
        self._same = trouble.words, times + 1 if words == trouble.words else 1
        if not self.answered and self._same[1] >= self.policy.breaker_after:
            self._stop(trouble, f"answered each of {self._same[1]} requests in a row with the same error")

    def given_up(self, trouble: RequestFailure) -> None:
        """An ask is left without a reply. Raises :class:`SetupError` where every one so far was refused for good."""
        if trouble.failure not in _SAYS:
            return
        if trouble.failure is Failure.REFUSED:
            times = self._refused[trouble.status] = self._refused.get(trouble.status, 0) + 1
            if not self.answered and times >= REFUSED_FOR_GOOD:
                self._stop(trouble, f"refused each of the first {times} requests")
        kind = trouble.failure, trouble.status
        if kind not in self._kinds:
            self._kinds.add(kind)
            said = _SAYS[trouble.failure].format(
                timeout_s=self.policy.timeout_s, wait=_wait(trouble), status=_status(trouble), words=_words(trouble)
            )
            self._untold.append(f"{self.service}: {said}. This is told once, and counted as failed_{trouble.failure}")

    def tell(self) -> None:
        """Warn of what is new."""
        while self._untold:
            warnings.warn(self._untold.pop(0), Notice, stacklevel=3)

    def _stop(self, trouble: RequestFailure, what: str) -> None:
        raise SetupError(
            f"{self.service} {what}{_status(trouble)}{_words(trouble)}; nothing can come of asking on: mend what it "
            "names, or check model, base_url, structure, extra and max_tokens; dond llm-check shows one ask"
        )


def _status(trouble: RequestFailure) -> str:
    return "" if trouble.status is None else f" ({trouble.status})"


def _words(trouble: RequestFailure) -> str:
    return f": {trouble.words}" if trouble.words else ""


def _wait(trouble: RequestFailure) -> str:
    return "" if trouble.wait_s is None or not trouble.asked else f" for {duration_text(trouble.wait_s)}"
