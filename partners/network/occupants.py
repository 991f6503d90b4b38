"""Occupants that are read from a file when they are first seated: PyTorch is loaded then, and not before."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dond_marl.occupants import OccupantNameError, Spec, parse_spec, seat_occupant
from dond_marl.seats import Cause, Decisions, Partner, Traits, Turns, constant

EXPERT = Path(__file__).parents[1] / "experts" / "ppo.json"
KINDS = ("ppo", "supervised")
PEOPLE = "human dialogues"  # what a cloned checkpoint notes under "taught_by"
HOW_TO_TEACH = (
    "The supervised expert is taught by human dialogues, whose license lets nobody ship it: make it with "
    "`dond train --algo bc --config configs/bc_config.yaml --set env.data_dir=FOLDER`, FOLDER holding the published "
    "files"
)


def checkpoint(path: str, greedy: bool = False, one_game: bool = False) -> Partner:
    """The policy in a checkpoint of ``dond train`` (its ``.json``); ``greedy``: its likeliest act every time.

    One that was taught by people, whose DISAGREE only refuses, hardly ever walks away where DISAGREE ends the game; see
    :func:`partners.network.partner.reluctant`. ``one_game``: a few games per call, which is faster without
    PyTorch (:mod:`partners.network.numpy_network`); set by environments and by the play page. Source: this project.
    Raises
    :class:`partners.network.checkpoint_files.CheckpointError`.

    - ``path``: the ``.json`` file of a checkpoint, its weights beside it.
    - ``greedy``: True for the likeliest act every time, False for samples.
    - ``one_game``: True where a few games are asked at a time.
    """
    if one_game:
        from partners.network.numpy_network import PlainPartner, read_plain

        network, about = read_plain(Path(path).expanduser())
        return PlainPartner(network, greedy=greedy, reluctant=refusals_refuse(about))
    from partners.network.checkpoint import load_checkpoint
    from partners.network.partner import Clone, NetworkPartner

    weights = load_checkpoint(Path(path).expanduser())
    return (Clone if refusals_refuse(weights.about) else NetworkPartner)(weights.network(), greedy=greedy)


class StandIn:
    """Plays in place of an occupant that is missing; the cause of every decision says so."""

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
    """A trained expert: ``kind`` ppo, the shipped one, or supervised, taught by people's dialogues.

    The PPO expert learned on the legal scenario space against the roster train and its own past
    (``configs/expert.yaml``). The supervised one is made by ``dond train --algo bc`` from data that may not be shipped.
    ``path``: another checkpoint. ``fallback``: who plays, counted as such, where the checkpoint is missing or
    damaged; by default that is an error. ``one_game``: as for ``checkpoint``. Source: this project.

    - ``path``: the ``.json`` file of another checkpoint.
    - ``greedy``: True for the likeliest act every time, False for samples.
    - ``fallback``: an occupant, or None for an error.
    - ``kind``: ppo or supervised.
    - ``one_game``: True where a few games are asked at a time.
    """
    from partners.network.checkpoint_files import CheckpointError

    try:
        return checkpoint(str(expert_path(path, kind)), greedy, one_game)
    except CheckpointError as error:
        if fallback is not None:
            return StandIn(seat_occupant(fallback))
        if path is None and kind == "supervised":
            advice = f"{HOW_TO_TEACH}; or seat a stand-in with fallback=heuristic"
            raise OccupantNameError(f"expert(kind=supervised): {error}. {advice}") from error
        raise


def who_plays(spec: Spec) -> Spec:
    """``spec`` itself, or whom its ``fallback`` names where its checkpoint is missing.

    What a stand-in plays says nothing of the one it stands for, so that its games count for nobody. Who wants to learn
    against it all the same learns against the fallback, by its own name.
    """
    while isinstance(seat_occupant(spec), StandIn):
        spec = parse_spec(spec)[1]["fallback"]
    return spec


def expert_path(path: str | None = None, kind: str = KINDS[0]) -> Path:
    """The checkpoint that ``expert(path=..., kind=...)`` reads. Raises :class:`OccupantNameError` for another kind."""
    if kind not in KINDS:
        raise OccupantNameError(f"kind of 'expert' must be one of {', '.join(KINDS)}; got {kind!r}")
    if path is not None:
        return Path(path).expanduser()
    return EXPERT if kind == "ppo" else supervised_path()


def supervised_path() -> Path:
    """Where the supervised expert is kept: in the user's cache (``XDG_CACHE_HOME``, by default ``~/.cache``)."""
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))  # ignored where it is relative, says the specification
    cache = folder if folder.is_absolute() else Path("~/.cache").expanduser()
    return cache / "dond-marl" / "supervised.json"


def refusals_refuse(about: dict[str, Any]) -> bool:
    """Whether a checkpoint's note says that it was taught by people, whose DISAGREE only refuses."""
    return bool(about.get("taught_by") == PEOPLE and about.get("disagree") == "rejects")
