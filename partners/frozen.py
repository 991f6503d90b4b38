"""Occupants that are read from a file when they are first seated: PyTorch is loaded then, and not before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dond_marl.occupants import seat_occupant
from dond_marl.seats import Cause, Decisions, Partner, Traits, Turns, constant

EXPERT = Path(__file__).parent / "experts" / "ppo.json"


def checkpoint(path: str, greedy: bool = False) -> Partner:
    """The policy in a checkpoint of ``scripts/train.py`` (its ``.json``); ``greedy``: its likeliest act every time.

    Source: this project. Raises :class:`partners.checkpoint.CheckpointError`.
    """
    from partners.checkpoint import load_network
    from partners.learned import NetworkPartner

    return NetworkPartner(load_network(Path(path).expanduser()), greedy=greedy)


class StandIn:
    """Plays in place of an occupant that is missing: every decision says so."""

    def __init__(self, partner: Partner) -> None:
        self.partner = partner

    @property
    def traits(self) -> Traits:
        """Those of whoever plays."""
        return self.partner.traits

    def act(self, turns: Turns) -> Decisions:
        """One decision per row, its cause MISSING."""
        return self.partner.act(turns)._replace(cause=constant(Cause.MISSING, np.int8, turns.size))


def expert(path: str = str(EXPERT), greedy: bool = True, fallback: str | None = None) -> Partner:
    """The shipped PPO expert, trained on the legal scenario space against the zoo and its own past.

    Source: this project, ``configs/expert.yaml``; its card, the ``.json``, says how it was trained and what it scores.
    ``fallback``: who plays, counted as such, where the checkpoint is missing or damaged; by default that is an error.
    """
    from partners.checkpoint import CheckpointError

    try:
        return checkpoint(path, greedy)
    except CheckpointError:
        if fallback is None:
            raise
        return StandIn(seat_occupant(fallback))
