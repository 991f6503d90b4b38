"""What a learner's weights are at first: drawn from its seed, or those of a checkpoint or an expert that it starts as.

``init_from`` is the path of a checkpoint (its ``.json``), ``expert``, ``expert(kind=supervised)`` or any other writing
of those occupants and of ``checkpoint(path=...)``. A league's learner does the same: its first blob holds the weights
that it starts with and, where it is pulled toward them (``kl``), the reference, and every later blob the reference
again. So nothing but the first state reads ``init_from``, and a run that is resumed needs no file outside itself.

Reading this module loads no PyTorch; it is loaded when a network is made.
"""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dond_marl.errors import InputError
from dond_marl.occupants import OccupantNameError, check_spec, parse_spec, spec_name
from partners.network.saved import HOW_TO_TEACH, expert_path, refusals_refuse

if TYPE_CHECKING:
    from dond_marl.game import Disagree
    from partners.network.network import NetworkShape, PolicyNetwork


class FirstWeightsError(InputError):
    """Weights to start from that cannot be read, or that are of another network than the learner's."""


def init_name(given: object) -> str:
    """The one way to write ``init_from``. Raises :class:`FirstWeightsError`; no weights are read."""
    if isinstance(given, str) and given.isprintable():
        try:
            kind, parameters = parse_spec(given)
        except OccupantNameError:
            if given.endswith(".json"):
                return given
        else:
            if kind in ("expert", "checkpoint"):
                try:
                    check_spec(given)
                    _path_of(kind, parameters)
                except OccupantNameError as error:
                    raise FirstWeightsError(str(error)) from None
                return spec_name(given)
            if given.endswith(".json"):
                return given
    raise FirstWeightsError(
        f"the path of a checkpoint (its .json), expert, or expert(kind=supervised); got {str(given)[:100]!r}"
    )


def first_network(shape: NetworkShape, init_from: str | None, *, disagree: Disagree, seed: int) -> PolicyNetwork:
    """The network of this shape that a learner starts with, in a game where DISAGREE means ``disagree``.

    Weights that were taught without hints get room for them where ``shape`` has it: none of the new inputs counts yet.
    Weights that were taught by people hardly ever walk away where DISAGREE ends the game
    (:func:`partners.network.partner.reluctant`). ``seed`` draws the weights where ``init_from`` is ``None``. Raises
    :class:`FirstWeightsError`.
    """
    from partners.network.checkpoint import CheckpointError, load_checkpoint
    from partners.network.network import PolicyNetwork
    from partners.network.partner import under

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
    _check(network.shape, shape, init_from)
    return under(network, disagree) if refusals_refuse(weights.about) else network


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


def _path(given: str) -> Path:
    try:
        kind, parameters = parse_spec(given)
    except OccupantNameError:
        return Path(given).expanduser()
    return _path_of(kind, parameters) if kind in ("expert", "checkpoint") else Path(given).expanduser()


def _path_of(kind: str, parameters: dict[str, Any]) -> Path:
    if kind == "checkpoint":
        return Path(str(parameters["path"])).expanduser()
    return expert_path(**{name: value for name, value in parameters.items() if name in ("path", "kind")})


def _check(found: NetworkShape, needed: NetworkShape, given: str) -> None:
    """Raise :class:`FirstWeightsError` unless the two are alike; it says what to set."""
    keys = {
        "max_count": "env.max_count",
        "max_turns": "env.max_turns",
        "partner_utilities": "env.reveal_partner_utilities",
        "hints": "hints.mode",
    }
    told = [
        f"{key} makes it {_shown(getattr(needed, name))}, and the weights are for {_shown(getattr(found, name))}"
        for name, key in ((field.name, keys.get(field.name, field.name)) for field in fields(needed))
        if getattr(found, name) != getattr(needed, name)
    ]
    if told:
        raise FirstWeightsError(
            f"init_from={given} is another network than this learner's: {'; '.join(told)}. "
            "Set those keys to what the weights are for, or start from other weights"
        )


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return str(list(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
