"""One comparable figure for any partner: points of ten on the held-out scenarios, in both seats."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from dond_marl.occupants import SpecLike, occupant_name, seat_occupant
from dond_marl.seats import Partner
from league.evaluation.matches import PlayerLine, heldout_terms, score


def heldout_score(member: SpecLike | Partner, against: SpecLike = "heuristic", *, seed: int = 0) -> PlayerLine:
    """Score of ``member`` against ``against`` under the default rules, each held-out scenario once in either seat.

    Raises :class:`~dond_marl.occupants.OccupantNameError` and :class:`~dond_marl.rollout.OccupantError`.
    """
    return score(seat_occupant(member, runs=True), seat_occupant(against, runs=True), heldout_terms(seed=seed))


@contextmanager
def before_and_after(member: Partner, against: SpecLike = "heuristic") -> Iterator[None]:
    """Print the score of ``member`` before and after the body of a ``with`` statement, such as its training."""
    first, start = heldout_score(member, against), time.perf_counter()
    yield
    seconds, last = time.perf_counter() - start, heldout_score(member, against)
    texts = [f"{result.points.mean:.2f} ±{result.points.margin:.2f}" for result in (first, last)]
    versus = f"points of ten against {occupant_name(against)}, held-out scenarios"
    print(f"{versus}: {texts[0]} before, {texts[1]} after {seconds:.0f} s")  # noqa: T201  # what it is for
