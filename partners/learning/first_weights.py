"""A learner's initial weights: drawn from its seed, or read from a checkpoint or an expert.

``init_from`` is the path of a checkpoint (its ``.json``) or one of the occupants ``expert`` and ``checkpoint`` with its
parameters, such as ``expert(kind=supervised)``. It is read once, when the learner is created: a resumed run needs no
file outside itself. PyTorch is loaded when a network is made.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dond_marl.errors import InputError
from dond_marl.occupants import WEIGHTS, OccupantNameError, Spec, find_factory, read_spec
from partners.network.occupants import HOW_TO_MAKE_SUPERVISED, SUPERVISED, disagree_only_refuses, expert_path

if TYPE_CHECKING:
    from dond_marl.game import Disagree
    from partners.network.network import NetworkShape, PolicyNetwork


class FirstWeightsError(InputError):
    """Initial weights that cannot be read, or that have another shape than the learner's network."""


def init_name(value: object) -> str:
    """The canonical form of ``init_from``. Raises :class:`FirstWeightsError`; no weights are read."""
    if isinstance(value, str) and value.isprintable():
        if (spec := _occupant(value)) is not None:
            try:
                find_factory(spec)
                _path(spec)
            except OccupantNameError as error:
                raise FirstWeightsError(str(error)) from None
            return spec
        if value.endswith(".json"):
            return value
    raise FirstWeightsError(
        f"the path of a checkpoint (its .json), expert, or expert(kind=supervised); got {str(value)[:100]!r}"
    )


def first_network(shape: NetworkShape, init_from: str | None, *, disagree: Disagree, seed: int) -> PolicyNetwork:
    """A learner's initial network of ``shape``, for a game where DISAGREE means ``disagree``.

    Weights trained without hints or history get inputs for them, with zero weights, if ``shape`` has them. The belief
    head is drawn anew unless the weights have one for the same members. Weights cloned from people's games get
    :func:`partners.network.partner.with_rare_disagree` where DISAGREE ends the game. ``seed`` draws the weights if
    ``init_from`` is ``None``. Raises :class:`FirstWeightsError`.
    """
    from partners.network.checkpoint import CheckpointError, load_checkpoint
    from partners.network.network import PolicyNetwork
    from partners.network.partner import with_rare_disagree

    if init_from is None:
        return PolicyNetwork(shape, seed=seed)
    path = _path(init_from)
    try:
        weights = load_checkpoint(path)
        network = weights.network()
    except CheckpointError as error:
        advice = f". {HOW_TO_MAKE_SUPERVISED}" if path.name == SUPERVISED else ""
        raise FirstWeightsError(f"init_from={init_from}: {error}{advice}") from None
    network = with_inputs_of(shape, network)
    if (shape.beliefs, shape.members) != (network.shape.beliefs, network.shape.members):
        network = with_beliefs_of(shape, network, seed)
    _check(network.shape, shape, init_from)
    return with_rare_disagree(network) if disagree == "ends" and disagree_only_refuses(weights.about) else network


def as_occupant(init_from: str) -> Spec:
    """The occupant spec of a canonical ``init_from``."""
    return _occupant(init_from) or Spec("checkpoint", {"path": init_from})


def with_inputs_of(shape: NetworkShape, network: PolicyNetwork) -> PolicyNetwork:
    """The same policy with the inputs for hints and history that ``shape`` has, whose weights are zero.

    With sorted items, items that differ in the history only may change places.
    """
    import torch

    from partners.network.network import with_weights

    hints, history = shape.hints or network.shape.hints, network.shape.history
    wide = replace(network.shape, hints=hints, history=shape.history if history == "none" else history)
    if wide == network.shape:
        return network
    # Inputs are the one-hot features, those of the history last, then the plain ones in order, those of hints last.
    weights, first = dict(network.state_dict()), "trunk.0.weight"
    (one_hot, plain), (wide_one_hot, wide_plain) = network.shape.pieces(), wide.pieces()
    before, after = (sum(feature.top - feature.low + 1 for feature in features) for features in (one_hot, wide_one_hot))
    narrow = weights[first]
    of_history, of_hints = (
        narrow.new_zeros(len(narrow), inputs) for inputs in (after - before, len(wide_plain) - len(plain))
    )
    weights[first] = torch.cat([narrow[:, :before], of_history, narrow[:, before:], of_hints], dim=1)
    return with_weights(wide, weights, network.device)


def with_beliefs_of(shape: NetworkShape, network: PolicyNetwork, seed: int) -> PolicyNetwork:
    """The same policy with the belief head of ``shape``, newly drawn, or without one."""
    from partners.network.network import PolicyNetwork

    changed = PolicyNetwork(replace(network.shape, beliefs=shape.beliefs, members=shape.members), seed=seed)
    tensors = {name: value for name, value in network.state_dict().items() if not name.startswith("belief.")}
    changed.load_state_dict(tensors, strict=False)
    return changed.to(network.device)


def _occupant(init_from: str) -> Spec | None:
    """The spec if ``init_from`` names an occupant, ``None`` if it is a path."""
    spec = read_spec(init_from)
    return spec if spec is not None and spec.kind in WEIGHTS else None


def _path(init_from: str) -> Path:
    spec = as_occupant(init_from)
    if spec.kind == "checkpoint":
        return Path(str(spec.parameters["path"]))
    return expert_path(**{name: value for name, value in spec.parameters.items() if name in ("path", "kind")})


def _check(shape: NetworkShape, needed: NetworkShape, init_from: str) -> None:
    """Raise :class:`FirstWeightsError` unless the weights have the needed shape; the message says what to set."""
    keys = {
        "max_count": "env.max_count",
        "max_turns": "env.max_turns",
        "partner_utilities": "env.reveal_partner_utilities",
        "hints": "hints.mode",
        "history": "training.history",
        "head": "training.head",
    }
    differing = [
        f"{keys.get(name, name)} makes it {json.dumps(value)}, the weights have {json.dumps(getattr(shape, name))}"
        for name, value in asdict(needed).items()
        if getattr(shape, name) != value
    ]
    if differing:
        raise FirstWeightsError(
            f"init_from={init_from} has another shape than this learner's network: {'; '.join(differing)}. "
            "Set these keys to the weights' values, or start from other weights"
        )
