"""Seating of members: the partner that plays for a member, made once per process, and the scenarios it plays on.

Reading this module loads no PyTorch; that is loaded when the first network is seated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Decisions, Partner, Traits, Turns
from league.tasks.values import ORACLE_ROLES, ORACLES

if TYPE_CHECKING:
    from dond_marl.scenarios.sources import Scenarios, ScenarioSource
    from league.settings.sections import EnvConfig
    from league.tasks.values import Block, Entrant, Place, Role


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
        self._responses = {
            "oracle": lru_cache(maxsize=32)(_response),
            "sampled_oracle": lru_cache(maxsize=4)(_response),
        }
        self.source = lru_cache(maxsize=8)(_open_source)
        self.scenarios = lru_cache(maxsize=2)(self._draw)

    def partner(self, entrant: Entrant, place: Place, greedy: bool = False) -> Partner:
        """The partner that plays for ``entrant``.

        ``greedy``: a network of this league plays its likeliest action every time; others play as their spec says.
        What a member of a run that was opened needs is checked before
        (:func:`dond_marl.occupants.check_needs`). Raises :class:`dond_marl.occupants.OccupantNameError` and
        :class:`league.tasks.blobs.BlobError`.
        """
        role, spec = entrant.member.role, entrant.member.spec
        if entrant.blob is not None:
            if role in ORACLES:
                return self._responses[role](entrant.blob, place, role)
            return self._network(entrant.blob, place, greedy)
        assert spec is not None
        if self.announce is None:
            return self._occupant(spec)
        self.announce(entrant.name)
        partner = self._occupant(spec)
        self.announce("")
        return AnnouncedPartner(partner, entrant.name, self.announce)

    def _draw(self, env: EnvConfig, seed: int, block: Block) -> Scenarios:
        """The scenarios of a block, ``[block.size]``; the matches of a round share one block."""
        return self.source(env).block(seed, block.start, block.size)


def _open_source(env: EnvConfig) -> ScenarioSource:
    return env.open_source()


def _network(blob: str, place: Place, greedy: bool) -> Partner:
    from league.tasks.blobs import read_blob  # PyTorch is loaded only where a network plays
    from partners.network.partner import NetworkPartner

    return NetworkPartner(read_blob(place.blobs, blob).network(), greedy=greedy)


def _response(blob: str, place: Place, role: Role) -> Partner:
    """The best response to the network in a blob, solved while it plays."""
    from dond_marl.scenarios.sources import lewis_space
    from dond_marl.solvers.contexts import contexts_in
    from partners.best_response import BestResponse

    network = _network(blob, place, greedy=role == ORACLE_ROLES["likeliest"])
    return BestResponse(network, contexts_in(lewis_space(), 0))  # either seat has the same contexts


SEATING = Seating()  # of this process
