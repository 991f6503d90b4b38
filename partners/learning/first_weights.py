"""A learner's first weights: drawn from its seed, or those of a checkpoint or an expert.

``init_from`` is the path of a checkpoint (its ``.json``) or one of the occupants ``expert`` and ``checkpoint`` with its
parameters, such as ``expert(kind=supervised)``. Only the first state reads it: a run that is resumed needs no file
outside itself. PyTorch is loaded when a network is made, not before.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import InputError
from dond_marl.occupants import OccupantNameError, Spec, check_spec, parse_spec, spec_name
from partners.network.occupants import HOW_TO_TEACH, expert_path, refusals_refuse

if TYPE_CHECKING:
    from dond_marl.game import Disagree
    from partners.network.network import NetworkShape, PolicyNetwork


class FirstWeightsError(InputError):
    """Weights to start from that cannot be read, or that are of another network than the learner's."""


def init_name(value: object) -> str:
    """The one way to write ``init_from``. Raises :class:`FirstWeightsError`; no weights are read."""
    if isinstance(value, str) and value.isprintable():
        if _occupant(value) is not None:
            try:
                check_spec(value)
                _path(value)
            except OccupantNameError as error:
                raise FirstWeightsError(str(error)) from None
            return spec_name(value)
        if value.endswith(".json"):
            return value
    raise FirstWeightsError(
        f"the path of a checkpoint (its .json), expert, or expert(kind=supervised); got {str(value)[:100]!r}"
    )


def first_network(shape: NetworkShape, init_from: str | None, *, disagree: Disagree, seed: int) -> PolicyNetwork:
    """The network of this shape that a learner starts with, in a game where DISAGREE means ``disagree``.

    Weights that were taught without hints or without the history get room for them where ``shape`` has it: none of the
    new inputs counts yet. What it believes it learns anew, unless the weights believe of the same members. Weights that
    were taught by people hardly ever walk away where DISAGREE ends the game
    (:func:`partners.network.partner.reluctant`). ``seed`` draws the weights where ``init_from`` is ``None``. Raises
    :class:`FirstWeightsError`.
    """
    from partners.network.checkpoint import CheckpointError, load_checkpoint
    from partners.network.network import PolicyNetwork
    from partners.network.partner import reluctant

    if init_from is None:
        return PolicyNetwork(shape, seed=seed)
    path = _path(init_from)
    try:
        weights = load_checkpoint(path)
        network = weights.network()
    except CheckpointError as error:
        advice = f". {HOW_TO_TEACH}" if path == expert_path(kind="supervised") else ""
        raise FirstWeightsError(f"init_from={init_from}: {error}{advice}") from None
    if shape.hints and not network.shape.hints:
        network = with_room_for_hints(network)
    if shape.history == "flat" and not network.shape.remembers:
        network = with_room_for_history(network)
    if (shape.beliefs, shape.members) != (network.shape.beliefs, network.shape.members):
        network = with_beliefs_of(shape, network, seed)
    _check(network.shape, shape, init_from)
    return reluctant(network) if disagree == "ends" and refusals_refuse(weights.about) else network


def as_occupant(init_from: str) -> Spec:
    """The occupant whose weights ``init_from`` names, canonical by now."""
    return {"kind": "checkpoint", "path": init_from} if _occupant(init_from) is None else init_from


def with_room_for_hints(network: PolicyNetwork) -> PolicyNetwork:
    """The same policy, with inputs for hints whose weights are zero."""
    from torch.nn.functional import pad

    from partners.network.network import with_weights

    wide = replace(network.shape, hints=True)
    weights = dict(network.state_dict())
    # A network reads what it spells out first, then the other features in order, of which the hints' are the last.
    first = "trunk.0.weight"
    weights[first] = pad(weights[first], (0, wide.adapter.width - network.adapter.width))
    return with_weights(wide, weights, network.device)


def with_room_for_history(network: PolicyNetwork) -> PolicyNetwork:
    """The same policy, with inputs for what was said before whose weights are zero.

    Where items are put in order, those that are alike in all but what was said of them may change places.
    """
    import torch

    from partners.network.network import with_weights

    wide = replace(network.shape, history="flat")
    weights = dict(network.state_dict())
    # What is spelled out of the history comes after all else that is, and before the other features.
    first = "trunk.0.weight"
    before = sum(spelled.top - spelled.low + 1 for spelled in network.shape.pieces()[0])
    after = sum(spelled.top - spelled.low + 1 for spelled in wide.pieces()[0])
    known = weights[first]
    room = known.new_zeros(len(known), after - before)
    weights[first] = torch.cat([known[:, :before], room, known[:, before:]], dim=1)
    return with_weights(wide, weights, network.device)


def with_beliefs_of(shape: NetworkShape, network: PolicyNetwork, seed: int) -> PolicyNetwork:
    """The same policy with the head for beliefs that ``shape`` has, or without one; new weights are drawn."""
    from partners.network.network import PolicyNetwork

    made = PolicyNetwork(replace(network.shape, beliefs=shape.beliefs, members=shape.members), seed=seed)
    kept = {name: value for name, value in network.state_dict().items() if not name.startswith("belief.")}
    made.load_state_dict(kept, strict=False)
    return made.to(network.device)


def _occupant(init_from: str) -> tuple[str, dict[str, Any]] | None:
    """The kind and the parameters of the occupant that it names, ``None`` where it is a path."""
    try:
        kind, parameters = parse_spec(init_from)
    except OccupantNameError:
        return None
    return (kind, parameters) if kind in ("expert", "checkpoint") else None


def _path(init_from: str) -> Path:
    occupant = _occupant(init_from)
    if occupant is None:
        return Path(init_from).expanduser()
    kind, parameters = occupant
    if kind == "checkpoint":
        return Path(str(parameters["path"])).expanduser()
    return expert_path(**{name: value for name, value in parameters.items() if name in ("path", "kind")})


def _check(shape: NetworkShape, needed: NetworkShape, init_from: str) -> None:
    """Raise :class:`FirstWeightsError` unless the weights' shape is the one that is needed; it says what to set."""
    keys = {
        "max_count": "env.max_count",
        "max_turns": "env.max_turns",
        "partner_utilities": "env.reveal_partner_utilities",
        "hints": "hints.mode",
        "history": "training.history",
        "head": "training.head",
    }
    differing = [
        f"{keys.get(name, name)} makes it {json.dumps(value)}, and the weights are for "
        f"{json.dumps(getattr(shape, name))}"
        for name, value in asdict(needed).items()
        if getattr(shape, name) != value
    ]
    if differing:
        raise FirstWeightsError(
            f"init_from={init_from} is another network than this learner's: {'; '.join(differing)}. "
            "Set those keys to what the weights are for, or start from other weights"
        )
