"""Exploit and repair: a main practices what exploiters have found in it, until it no longer pays them.

An exploiter *takes* from a main where it has more points of the main than the main has of itself in that seat. What the
main *loses* to it is what is known to be reachable against the exploiter, less what the main scores there: as with
regret (:func:`league.rounds.matchmaking.regret`), losing to who leaves nobody more is no loss. Reachable is what an
exact best response to the exploiter's likeliest acts earns, where there is one, and otherwise the most that some member
is known to earn (:func:`league.standings.ratings.surely_reached`).

While somebody takes and the main loses more than a margin to it, the share ``league.repair`` of the main's practice is
with those, by the squares of what is lost beyond the margin. A part of that share, :data:`VERIFICATION`, always stays
with the exploiters that are not being repaired, all alike, so that what was repaired is played again and a relapse is
seen (AlphaStar's verification games: Vinyals et al. 2019, Methods, "Populating the league"). N = opponents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.rounds.matchmaking import POWER, Floats
from league.settings.learners import LearnerConfig
from league.settings.read import Config
from league.settings.sections import EnvConfig
from league.standings.history import History
from league.standings.ratings import surely_reached
from league.tasks.seating import SEATING
from league.tasks.values import Decision, Entrant, Member, Place

VERIFICATION = 0.1  # of the share for repair
EXPLOITERS = ("main_exploiter", "league_exploiter")


class Repair(NamedTuple):
    """What is being repaired of one main; N = everybody in the league's matches."""

    members: tuple[str, ...]
    chances: Floats  # [N] of all its practice, together at most the share for repair
    reasons: tuple[str, ...]  # [N], empty where there is no chance
    lost: Floats  # [N, 2] points of ten, by the main's seat; nan: not known, or no exploiter
    open: NDArray[np.bool_]  # [N] against whom it is being repaired

    @property
    def share(self) -> float:
        """Of all the main's practice, 0..1."""
        return float(self.chances.sum())

    def decision(self, main: str) -> Decision:
        """What is kept of it in the ledger."""
        worst = sorted(np.flatnonzero(self.open).tolist(), key=lambda place: -self.chances[place])
        against = ", ".join(f"{self.members[place]} ({_points(self.lost[place])} lost)" for place in worst)
        verified = float(self.chances[~self.open].sum())
        parts = [f"{self.share - verified:.1%} of practice with {against}"] if worst else ["nothing to repair"]
        parts += [f"{verified:.1%} verification"] if verified else []
        return Decision("repair", main, bool(worst), "; ".join(parts))


def repair_of(
    config: Config, learner: LearnerConfig, history: History, seats: Mapping[str, Entrant], place: Place | None = None
) -> Repair | None:
    """What is repaired of ``learner`` in the next round; ``None`` where the league repairs nobody, or no such learner.

    ``place``: where the weights lie; without them, no exact best response is known.
    """
    if config.league.repair == 0 or learner.role != "main":
        return None
    names, payoffs = history.cross.members, history.cross.payoffs()
    main = history.cross.place[learner.name]
    reachable = surely_reached(payoffs).T
    hunters = hunters_among(history.members)
    met = payoffs.games[main].T > 0  # [N, 2]
    takes = (payoffs.mean[:, :, main] - payoffs.mean[main, :, main]).max(axis=1)
    if place is not None:  # seconds for each, so only for those who take something
        places = np.flatnonzero(hunters & met.any(axis=1) & (takes > 0))
        exact = exactly_reachable([seats[names[place]] for place in places.tolist()], config.env, place)
        reachable[places] = np.where(np.isnan(exact), reachable[places], exact)
    scored = np.where(met, history.cross.shrunk().mean[main].T, np.nan)
    made = repair(takes, scored, reachable, hunters, config.league.repair, config.league.repair_margin)
    return made._replace(members=names)


def repair(
    takes: Floats, scored: Floats, reachable: Floats, hunters: NDArray[np.bool_], share: float, margin: float
) -> Repair:
    """Whom a main practices to be repaired, and how often.

    ``takes[N]``: the most, over seats, that each takes from the main beyond what the main takes from itself there;
    ``scored[N, 2]`` by the main's seat, ``reachable[N, 2]``: points of ten, all ``nan`` where not known.
    ``hunters[N]``: who is an exploiter. ``share``: 0..1.
    """
    lost = np.where(hunters[:, None], reachable - scored, np.nan)
    beyond = np.maximum(np.nan_to_num(lost, nan=0.0) - margin, 0.0)
    weights = np.where(hunters & (takes > 0), (beyond**POWER).mean(axis=1), 0.0)
    being = weights > 0
    others = hunters & ~being
    verified = share * VERIFICATION if others.any() else 0.0
    chances = np.where(others, verified / max(int(others.sum()), 1), 0.0)
    if being.any():
        chances = chances + (share - verified) * weights / weights.sum()
    return Repair((), chances, tuple(map(_reason, chances, being, lost, takes)), lost, being)


def hunters_among(members: Sequence[Member]) -> NDArray[np.bool_]:
    """Which of ``members`` are exploiters or what exploiters were."""
    roles = {member.name: member.role for member in members}
    return np.array([roles.get(member.parent or "", member.role) in EXPLOITERS for member in members], dtype=bool)


def exactly_reachable(opponents: Sequence[Entrant], env: EnvConfig, place: Place) -> Floats:
    """What an exact best response earns against each, ``[N, 2]`` by its seat, points of ten; ``nan``: not known.

    Known for networks without memory, as they play their likeliest acts; in practice they draw them.
    """
    unknown = (np.nan, np.nan)
    values = [unknown if seat.blob is None else _response(seat.blob, env, place) for seat in opponents]
    return np.array(values, dtype=np.float64).reshape(len(values), 2)


@lru_cache(maxsize=1024)
def _response(blob: str, env: EnvConfig, place: Place) -> tuple[float, float]:
    from league.standings.references import exact_responses
    from league.tasks.blobs import read_blob  # PyTorch is loaded only where somebody learns
    from partners.network.partner import NetworkPartner

    likeliest = NetworkPartner(read_blob(place.blobs, blob).network(), greedy=True)
    if env.reveal_partner_utilities or not likeliest.traits.memoryless:
        return np.nan, np.nan
    return exact_responses(likeliest, SEATING.source(env), env.rules()) or (np.nan, np.nan)


def _reason(chance: float, being: bool, lost: Floats, takes: float) -> str:
    if chance <= 0:
        return ""
    if not being:
        return f"{chance:.1%} verification"
    return f"{chance:.1%} repair: {_points(lost)} lost to who takes {takes:+.2f}"


def _points(lost: Floats) -> str:
    return f"{lost[0]:.2f} / {lost[1]:.2f}"
