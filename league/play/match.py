"""Playing of matches: seating of members, their scenarios, both seat orders, and the raw facts of the games.

The partner that plays for a member is made once per process. Reading this module loads no PyTorch; that is loaded when
the first network is seated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dond_marl.batch import Games
from dond_marl.errors import error_line
from dond_marl.occupants import Spec, seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.seats import Decisions, Partner, Traits, Turns
from league.play.values import (
    FACTS,
    ORACLE_ROLES,
    ORACLES,
    MatchResult,
    MatchTask,
    SeatOrderResult,
    answers_by_member,
    causes_of,
    unreachable_member,
)

if TYPE_CHECKING:
    from dond_marl.scenarios.sources import Scenarios, ScenarioSource
    from league.play.values import Block, Entrant, Role
    from league.settings.sections import EnvConfig


class PartnerWrapper:
    """A partner that does what the partner inside it does; subclasses add to its :meth:`act`."""

    def __init__(self, partner: Partner) -> None:
        self._partner = partner

    @property
    def traits(self) -> Traits:
        return self._partner.traits

    def act(self, turns: Turns) -> Decisions:
        return self._partner.act(turns)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._partner, name)


class AnnouncedPartner(PartnerWrapper):
    """A member's partner whose every call is announced: see :class:`Seating`."""

    def __init__(self, partner: Partner, member: str, announce: Callable[[str], None]) -> None:
        super().__init__(partner)
        self._member, self._announce = member, announce

    def act(self, turns: Turns) -> Decisions:
        self._announce(self._member)
        decisions = self._partner.act(turns)
        self._announce("")
        return decisions


class Seating:
    """Partners, scenario sources and blocks of one process, each made once.

    Partners are pure functions, so one instance can play in every match. Budgets, connections and rate limits of an
    occupant belong to its instance: every task of a process therefore uses the same seating, :data:`SEATING`.

    ``announce``: in a worker that runs a task again over which another one died, it is called with the name of a member
    before the member's code runs, and with an empty text once that has returned.
    """

    def __init__(self) -> None:
        self.announce: Callable[[str], None] | None = None
        # Bounded: a long league seats thousands of snapshots, a worker keeps the most recent ones.
        self._occupant = lru_cache(maxsize=256)(seat_occupant)
        self._network = lru_cache(maxsize=64)(_network)
        self._outside = lru_cache(maxsize=256)(_outside)
        self._responses = {
            "oracle": lru_cache(maxsize=32)(_response),
            "sampled_oracle": lru_cache(maxsize=4)(_response),
        }
        self.source = lru_cache(maxsize=8)(_open_source)
        self.scenarios = lru_cache(maxsize=2)(self._draw)

    def partner(self, entrant: Entrant, blobs: Path, greedy: bool = False) -> Partner:
        """The partner that plays for ``entrant``.

        ``greedy``: a network of this league plays its likeliest action every time; others play as their spec says.
        What a member of a run that was opened needs is checked before
        (:func:`dond_marl.occupants.check_needs`). Raises :class:`dond_marl.occupants.OccupantNameError` and
        :class:`league.play.blobs.BlobError`.
        """
        role, spec = entrant.member.role, entrant.member.spec
        if entrant.blob is not None and spec is None:
            if role in ORACLES:
                return self._responses[role](entrant.blob, blobs, role)
            return self._network(entrant.blob, blobs, greedy)
        assert spec is not None
        make = self._occupant if entrant.blob is None else partial(self._outside, blob=entrant.blob, blobs=blobs)
        if self.announce is None:
            return make(spec)
        self.announce(entrant.name)
        partner = make(spec)
        self.announce("")
        return AnnouncedPartner(partner, entrant.name, self.announce)

    def _draw(self, env: EnvConfig, seed: int, block: Block) -> Scenarios:
        """The scenarios of a block, ``[block.size]``; the matches of a round share one block."""
        return self.source(env).block(seed, block.start, block.size)


def _network(blob: str, blobs: Path, greedy: bool) -> Partner:
    from league.play.blobs import read_blob  # PyTorch is loaded only where a network plays
    from partners.network.partner import NetworkPartner

    return NetworkPartner(read_blob(blobs, blob).network(), greedy=greedy)


def _outside(spec: Spec, blob: str, blobs: Path) -> Partner:
    from league.play.outside_learners import outside_partner  # loads PyTorch

    return outside_partner(spec, blob, blobs)


def _response(blob: str, blobs: Path, role: Role) -> Partner:
    """The best response to the network in a blob, solved while it plays."""
    from dond_marl.scenarios.sources import lewis_space
    from dond_marl.solvers.contexts import contexts_in
    from partners.best_response import BestResponse

    network = _network(blob, blobs, greedy=role == ORACLE_ROLES["likeliest"])
    return BestResponse(network, contexts_in(lewis_space(), 0))  # either seat has the same contexts


def _open_source(env: EnvConfig) -> ScenarioSource:
    return env.open_source()


SEATING = Seating()  # of this process


def play_match(task: MatchTask, blobs: Path) -> MatchResult:
    """Play a match. A member that raises or gives an answer that cannot be played fails the whole match."""
    scenarios = SEATING.scenarios(task.env, task.seed, task.block)
    legs = []
    for order, leg in enumerate(task.legs):
        try:
            players = SEATING.partner(leg[0], blobs), SEATING.partner(leg[1], blobs)
            index = match_index(task.round, [member.name for member in task.members], order)
            games = play_games(players, scenarios, task.env, task.seed, index)
        except OccupantError as error:
            assert error.__cause__ is not None
            return MatchResult(task, (), leg[error.seat].name, error_line(error.__cause__))
        legs.append(SeatOrderResult((leg[0].name, leg[1].name), facts_of(games), causes_of(games)))
        failure = _unreachable(legs, len(task.legs) * task.block.size, task.unreached)
        if failure is not None:  # the rest is not played
            return MatchResult(task, tuple(legs), *failure)
    return MatchResult(task, tuple(legs))


def play_games(
    players: tuple[Partner, Partner], scenarios: Scenarios, env: EnvConfig, seed: int, index: tuple[int, ...]
) -> Games:
    """The games of ``players``, seat_0 first, under the rules of ``env``; ``index``: of the random streams."""
    return rollout(
        players,
        scenarios,
        env.rules(),
        seed=seed,
        index=index,
        reveal_partner_utilities=env.reveal_partner_utilities,
    )


def _unreachable(legs: Sequence[SeatOrderResult], games: int, bound: float) -> tuple[str, str] | None:
    """The member that was unreachable in too many of a match's games, and a sentence about it."""
    lost = sum(int((~counted).sum()) for leg in legs if (counted := leg.valid_games) is not None)
    return unreachable_member(answers_by_member(legs), lost, games, bound) if lost else None


def facts_of(games: Games) -> NDArray[np.void]:
    """The raw facts of finished games, ``[N]`` of FACTS."""
    facts = np.zeros(games.size, dtype=FACTS)
    facts["scores"] = games.scores
    facts["ending"] = games.ending
    facts["deal"] = games.deal
    facts["turns"] = games.turns
    if games.cause.any():
        for seat in (0, 1):
            facts["fallbacks"][:, seat] = (games.cause[:, seat::2] > 0).sum(axis=1)
    return facts


def match_index(number: int, names: Sequence[str], order: int) -> tuple[int, ...]:
    """Index of a match's random streams: its round, the names of its two members, and the seat order.

    It does not depend on the other members of the league.
    """
    return number, *(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]) for name in names), order
