"""Seating of members: the partner that plays for a member, made once per process, and the scenarios it plays on.

Reading this module loads no PyTorch; that is loaded when the first network is seated.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Partner
from league.tasks.attribution import Within, attribute_to, contain, monitor
from league.tasks.occupant_kinds import is_foreign
from league.tasks.values import ORACLE_ROLES, ORACLES

if TYPE_CHECKING:
    from dond_marl.scenarios.sources import Scenarios, ScenarioSource
    from league.settings.sections import EnvConfig
    from league.tasks.values import Block, Entrant, Place, Role


class Seating:
    """Partners, scenario sources and blocks of one process, each made once.

    Partners are pure functions, so one instance can play in every match. Budgets, connections and rate limits of an
    occupant belong to its instance: every task of a process therefore uses the same seating, :data:`SEATING`.
    """

    def __init__(self) -> None:
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
        """The partner that plays for ``entrant``, its calls attributed to the member.

        ``greedy``: a network of this league plays its likeliest action every time; others play as their spec says.
        What a member of a run that was opened needs is checked before
        (:func:`dond_marl.occupants.check_needs`). Raises :class:`dond_marl.occupants.OccupantNameError` and
        :class:`league.tasks.blobs.BlobError`.
        """
        with attribute_to(entrant.name):
            if entrant.blob is not None and entrant.member.role in ORACLES:
                return monitor(
                    entrant.name, self._responses[entrant.member.role](entrant.blob, place, entrant.member.role)
                )
            if entrant.blob is not None:
                return monitor(entrant.name, self._network(entrant.blob, place, greedy))
            assert entrant.member.spec is not None
            if is_foreign(entrant.member.spec):
                with contain(entrant.name):
                    inner = Within(partial(contain, entrant.name), self._occupant(entrant.member.spec))
                    return monitor(entrant.name, inner)
            return monitor(entrant.name, self._occupant(entrant.member.spec))

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
