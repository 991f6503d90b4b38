"""Repair of mains: practice against exploiters that gain on a main, until they no longer do.

An exploiter *gains* on a main if its points against the main exceed the main's points against itself in that seat. The
main's *loss* to it are the reachable points against the exploiter minus the main's points: as with regret
(:func:`league.rounds.matchmaking.regret`), few points against an opponent that leaves no more are no loss. Reachable
points are those of an exact best response to the exploiter's likeliest actions, if available, and otherwise the most
that some member reliably gets (:func:`league.standings.ratings.surely_reached`).

While an exploiter gains and the main's loss to it exceeds a margin, the share ``league.repair`` of the main's practice
is against such exploiters, in proportion to the squared losses beyond the margin. A part of that share,
:data:`VERIFICATION`, is always against the other exploiters, with equal weights, to detect relapses (AlphaStar's
verification games: Vinyals et al. 2019, Methods, "Populating the league"). N = opponents.
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
from league.tasks.values import EXPLOITERS, ORACLES, Decision, Entrant, Member, Place

VERIFICATION = 0.1  # part of the share for repair


class Repair(NamedTuple):
    """The practice of one main against exploiters; N = all members in the league's matches."""

    members: tuple[str, ...]
    chances: Floats  # [N] probabilities, which add up to at most the share for repair
    reasons: tuple[str, ...]  # [N], empty for probability 0
    lost: Floats  # [N, 2] loss in points of ten, by the main's seat; nan: unknown, or no exploiter
    open: NDArray[np.bool_]  # [N] exploiters that gain, with a loss beyond the margin

    @property
    def share(self) -> float:
        """Share of the main's practice, 0..1."""
        return float(self.chances.sum())

    def decision(self, main: str) -> Decision:
        """The decision that is stored in the ledger."""
        worst = sorted(np.flatnonzero(self.open).tolist(), key=lambda place: -self.chances[place])
        against = ", ".join(f"{self.members[place]} ({_two_points(self.lost[place])} lost)" for place in worst)
        verified = float(self.chances[~self.open].sum())
        parts = [f"{self.share - verified:.1%} of practice with {against}"] if worst else ["nothing to repair"]
        parts += [f"{verified:.1%} verification"] if verified else []
        return Decision("repair", main, bool(worst), "; ".join(parts))


def repair_of(
    config: Config, learner: LearnerConfig, history: History, seats: Mapping[str, Entrant], place: Place | None = None
) -> Repair | None:
    """The repair of ``learner`` in the next round; ``None`` without ``league.repair``, or if it is no main.

    ``place``: the run's weights; without them no exact best responses are computed.
    """
    if config.league.repair == 0 or learner.role != "main":
        return None
    names, payoffs = history.cross.members, history.cross.payoffs()
    main = history.cross.place[learner.name]
    reachable = surely_reached(payoffs).T
    hunters = hunters_among(history.members)
    played = payoffs.games[main].T > 0  # [N, 2]
    takes = (payoffs.mean[:, :, main] - payoffs.mean[main, :, main]).max(axis=1)
    if place is not None:  # takes seconds each, so only for exploiters that gain
        places = np.flatnonzero(hunters & played.any(axis=1) & (takes > 0))
        exact = exactly_reachable([seats[names[place]] for place in places.tolist()], config.env, place)
        reachable[places] = np.where(np.isnan(exact), reachable[places], exact)
    scored = np.where(played, history.cross.shrunk().mean[main].T, np.nan)
    plan = repair(takes, scored, reachable, hunters, config.league.repair, config.league.repair_margin)
    return plan._replace(members=names)


def repair(
    takes: Floats, scored: Floats, reachable: Floats, hunters: NDArray[np.bool_], share: float, margin: float
) -> Repair:
    """The repair of a main from its figures.

    ``takes[N]``: each member's gain on the main, the larger of both seats; ``scored[N, 2]``: the main's points by its
    seat; ``reachable[N, 2]``: reachable points; all points of ten, ``nan`` if unknown. ``hunters[N]``: exploiters.
    ``share``: 0..1.
    """
    lost = np.where(hunters[:, None], reachable - scored, np.nan)
    beyond = np.maximum(np.nan_to_num(lost, nan=0.0) - margin, 0.0)
    weights = np.where(hunters & (takes > 0), (beyond**POWER).mean(axis=1), 0.0)
    open_ = weights > 0
    others = hunters & ~open_
    verified = share * VERIFICATION if others.any() else 0.0
    chances = np.where(others, verified / max(int(others.sum()), 1), 0.0)
    if open_.any():
        chances = chances + (share - verified) * weights / weights.sum()
    return Repair((), chances, tuple(map(_repair_reason, chances, open_, lost, takes)), lost, open_)


def hunters_among(members: Sequence[Member]) -> NDArray[np.bool_]:
    """Whether each of ``members`` is an exploiter or a snapshot of one, ``[N]``."""
    roles = {member.name: member.role for member in members}
    hunts = (roles.get(m.parent or "", m.role) in EXPLOITERS and m.role not in ORACLES for m in members)
    return np.fromiter(hunts, dtype=bool, count=len(members))


def exactly_reachable(opponents: Sequence[Entrant], env: EnvConfig, place: Place) -> Floats:
    """Points of an exact best response to each, ``[N, 2]`` by its seat, points of ten; ``nan``: unknown.

    Computed for networks without memory that play their likeliest actions; in practice they sample them.
    """
    unknown = (np.nan, np.nan)
    values = [unknown if seat.blob is None else _response(seat.blob, env, place) for seat in opponents]
    return np.array(values, dtype=np.float64).reshape(len(values), 2)


@lru_cache(maxsize=1024)
def _response(blob: str, env: EnvConfig, place: Place) -> tuple[float, float]:
    from league.standings.references import exact_responses
    from league.tasks.blobs import read_blob  # loads PyTorch
    from partners.network.partner import NetworkPartner

    likeliest = NetworkPartner(read_blob(place.blobs, blob).network(), greedy=True)
    if env.reveal_partner_utilities or not likeliest.traits.memoryless:
        return np.nan, np.nan
    return exact_responses(likeliest, SEATING.source(env), env.rules()) or (np.nan, np.nan)


def _repair_reason(chance: float, is_open: bool, lost: Floats, takes: float) -> str:
    if chance <= 0:
        return ""
    if not is_open:
        return f"{chance:.1%} verification"
    return f"{chance:.1%} repair: {_two_points(lost)} lost to who takes {takes:+.2f}"


def _two_points(lost: Floats) -> str:
    return f"{lost[0]:.2f} / {lost[1]:.2f}"
