"""Occupants read from checkpoints, `checkpoint` and `expert`; PyTorch is loaded when one is first seated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.files import cache_folder, user_path
from dond_marl.occupants import OccupantNameError, Spec, find_factory, seat_occupant
from dond_marl.seats import Cause, Decisions, Partner, Traits, Turns, constant

EXPERT = Path(__file__).parents[1] / "experts" / "ppo.json"
KINDS = ("ppo", "supervised")
SUPERVISED = "supervised.json"  # its file
HUMAN_DIALOGUES = "human dialogues"  # value of "taught_by" in the note of a cloned checkpoint
HOW_TO_MAKE_SUPERVISED = (
    "The supervised expert learns from human dialogues, whose license does not allow shipping it: make it with "
    "`dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=FOLDER`, FOLDER holding the published "
    "files"
)


def checkpoint(path: str, greedy: bool = False, one_game: bool = False) -> Partner:
    """The policy network in a checkpoint of ``dond train`` (its ``.json``).

    One cloned from people's games, in which DISAGREE only refuses, rarely plays DISAGREE where that ends the game; see
    :func:`partners.network.partner.with_rare_disagree`. Source: this project. Raises
    :class:`partners.network.checkpoint_files.CheckpointError`.

    - ``path``: the ``.json`` file of a checkpoint, with its weights next to it.
    - ``greedy``: True for the likeliest act every time, False for samples.
    - ``one_game``: True for a few games per call, without PyTorch.
    """
    if one_game:
        from partners.network.numpy_network import NumpyPartner, load_numpy_network

        network, about = load_numpy_network(Path(path))
        return NumpyPartner(network, greedy=greedy, rare_disagree=disagree_only_refuses(about))
    from partners.network.checkpoint import load_checkpoint
    from partners.network.partner import ClonedPartner, NetworkPartner

    weights = load_checkpoint(Path(path))
    return (ClonedPartner if disagree_only_refuses(weights.about) else NetworkPartner)(weights.network(), greedy=greedy)


class StandIn:
    """A partner that replaces a missing occupant; the cause of all its decisions is ``MISSING``."""

    def __init__(self, partner: Partner) -> None:
        self.partner = partner

    @property
    def traits(self) -> Traits:
        return self.partner.traits

    def act(self, turns: Turns) -> Decisions:
        return self.partner.act(turns)._replace(cause=constant(Cause.MISSING, np.int8, turns.size))


def expert(
    path: str | None = None,
    greedy: bool = True,
    fallback: str | None = None,
    kind: str = KINDS[0],
    one_game: bool = False,
) -> Partner:
    """A trained expert: ``ppo``, shipped, or ``supervised``, a clone of people.

    The PPO expert was trained on the legal scenario space against the roster train, itself and exact best responses to
    itself (``configs/expert.yaml``). The supervised one is made by ``dond train --algo bc`` from data that may not be
    shipped.
    Source: this project.

    - ``path``: the ``.json`` file of another checkpoint.
    - ``greedy``: True for the likeliest act every time, False for samples.
    - ``fallback``: an occupant that plays if the checkpoint is missing or damaged, or None for an error.
    - ``kind``: ppo or supervised.
    - ``one_game``: as for ``checkpoint``.
    """
    from partners.network.checkpoint_files import CheckpointError

    try:
        return checkpoint(str(expert_path(path, kind)), greedy, one_game)
    except CheckpointError as error:
        if fallback is not None:
            return StandIn(seat_occupant(fallback))
        if path is None and kind == "supervised":
            advice = f"{HOW_TO_MAKE_SUPERVISED}; or seat a stand-in with fallback=heuristic"
            raise OccupantNameError(f"expert(kind=supervised): {error}. {advice}") from error
        raise


def resolve_fallback(spec: Spec) -> Spec:
    """``spec``, or its ``fallback`` if its checkpoint is missing.

    Games of a stand-in are not valid games of the missing expert, so nothing is learned from them. A training against
    a missing expert is therefore a training against the fallback, under the fallback's name.
    """
    while isinstance(seat_occupant(spec), StandIn):
        spec, _ = find_factory(spec.parameters["fallback"])
    return spec


def expert_path(path: str | None = None, kind: str = KINDS[0]) -> Path:
    """The checkpoint of ``expert(path=..., kind=...)``. Raises :class:`OccupantNameError` for an unknown kind."""
    if kind not in KINDS:
        raise OccupantNameError(f"kind of 'expert' must be one of {', '.join(KINDS)}; got {kind!r}")
    if path is not None:
        return user_path(path)
    return EXPERT if kind == "ppo" else cache_folder() / SUPERVISED


def disagree_only_refuses(about: dict[str, Any]) -> bool:
    """Whether a checkpoint was cloned from people's games, in which DISAGREE only refuses an offer."""
    return bool(about.get("taught_by") == HUMAN_DIALOGUES and about.get("disagree") == "rejects")
