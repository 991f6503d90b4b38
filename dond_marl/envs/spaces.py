"""Observation and action spaces, masks, and checks of actions, settings and reset options.

All environments (AEC, parallel, single-seat, the views) share these definitions.

Observation, a ``Dict``: ``counts``, ``my_utilities``, ``partner_utilities`` (zeros unless revealed),
``last_partner_act`` (END stands for "none yet"), ``last_partner_offer_for_me`` (zeros before the first),
``turns_remaining``. Action, a ``Dict``: ``act_type`` and ``oA``, the items that the acting seat keeps.

In games with messages (``message_length`` of at least 1) the observation also holds ``last_partner_message``, ``""``
before the first, and the action ``message``, both a ``Text`` of up to so many printable ASCII characters. It may be
left out of an action. The mask has ``None`` for it, as the rules forbid no text of its space.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dond_marl.errors import InputError, quote
from dond_marl.game import (
    ITEMS,
    MAX_VALUE,
    MESSAGE_CHARACTERS,
    SEATS,
    Act,
    Action,
    Rules,
    Scenario,
    State,
    Triple,
    as_integer,
    may_agree,
    rule_against_message,
)
from dond_marl.seats import NO_ACT_YET, Bools, Int8s
from dond_marl.splits import action_at, action_count, legal_action_mask

Observation = dict[str, Any]
Info = dict[str, Any]
Entry = TypeVar("Entry")
SCENARIO = "scenario"  # the only option of reset
_NEAR = 0.85  # difflib's ratio: "scenarios" and "senario" are typing errors, "scenario_id" is another option
_NOTHING: Triple = (0, 0, 0)
_OUTSIDE: Triple = (-1, -1, -1)
_ACTS = tuple(Act)
_INTEGERS = tuple(np.int64(number) for number in range(101))  # immutable, so one of each is enough
_PARTS = frozenset(("act_type", "oA"))
MESSAGE = "message"  # of an action
LAST_MESSAGE = "last_partner_message"  # of an observation


class InvalidAction(InputError):
    """An action outside the action space. The message says what is allowed; the state is unchanged."""


class ActionMask(dict[str, Any]):
    """The mask of legal actions, nested like the action space: ``space.sample(mask)`` is always legal.

    ``mask["act_type"]`` is ``int8[5]``, ``mask["oA"]`` three ``int8[max_count + 1]``; all read-only. As shortcuts,
    ``np.asarray(mask)`` is the act mask and ``mask[Act.AGREE]`` its entry.
    """

    def __missing__(self, key: object) -> Any:
        if isinstance(key, int | np.integer):
            return self["act_type"][key]
        raise KeyError(key)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self["act_type"], dtype=dtype, copy=copy)


def text_space(length: int) -> spaces.Text:
    """The space of messages with 0 to ``length`` characters."""
    return spaces.Text(max_length=length, min_length=0, charset=MESSAGE_CHARACTERS)


def observation_space(max_count: int, max_turns: int, message_length: int = 0) -> spaces.Dict:
    """The observation space of games with up to ``max_count`` items of one type and ``max_turns`` turns."""
    items, values = [max_count + 1] * len(ITEMS), [MAX_VALUE + 1] * len(ITEMS)
    talk = {LAST_MESSAGE: text_space(message_length)} if message_length else {}
    return spaces.Dict(
        {
            "counts": spaces.MultiDiscrete(items),
            "my_utilities": spaces.MultiDiscrete(values),
            "partner_utilities": spaces.MultiDiscrete(values),
            "last_partner_act": spaces.Discrete(len(Act)),
            "last_partner_offer_for_me": spaces.MultiDiscrete(items),
            "turns_remaining": spaces.Discrete(max_turns + 1),
            **talk,
        }
    )


def action_space(max_count: int, message_length: int = 0) -> spaces.Dict:
    """The action space: an act, ``oA`` with up to ``max_count`` of each type, and a message in games with messages."""
    items = [max_count + 1] * len(ITEMS)
    talk = {MESSAGE: text_space(message_length)} if message_length else {}
    return spaces.Dict({"act_type": spaces.Discrete(len(Act)), "oA": spaces.MultiDiscrete(items), **talk})


def observe(state: State, seat: int, *, reveal_partner_utilities: bool = False) -> Observation:
    """The observation of ``seat`` at any moment of the game; fresh arrays."""
    scenario, claim, last = state.scenario, state.claims[1 - seat], state.last_act(1 - seat)
    counts = scenario.counts
    shown_values = scenario.utilities[1 - seat] if reveal_partner_utilities else _NOTHING
    offered = _NOTHING if claim is None else (counts[0] - claim[0], counts[1] - claim[1], counts[2] - claim[2])
    talk = {}
    if state.rules.message_length:
        messages = state.messages[1 - seat :: 2]
        talk = {LAST_MESSAGE: messages[-1] if messages else ""}
    return {
        "counts": read_only_triple(counts).copy(),
        "my_utilities": read_only_triple(scenario.utilities[seat]).copy(),
        "partner_utilities": read_only_triple(shown_values).copy(),
        "last_partner_act": _INTEGERS[NO_ACT_YET if last is None else last],
        "last_partner_offer_for_me": read_only_triple(offered).copy(),
        "turns_remaining": _INTEGERS[state.rules.max_turns - len(state.history)],
        **talk,
    }


def inform(state: State, seat: int, max_count: int) -> Info:
    """The info of ``seat``, at any moment of the game; at the end with ``outcome`` and the rule broken, if any.

    The mask follows from the public history alone: AGREE is open if the partner's last act is an offer.
    """
    counts = state.scenario.counts
    act, oA = _mask_parts(counts, max_count, may_agree(state, seat))
    talk = {MESSAGE: None} if state.rules.message_length else {}
    info: Info = {"action_mask": ActionMask(act_type=act, oA=oA, **talk), "oA_max": read_only_triple(counts)}
    outcome = state.outcome
    if outcome is not None:
        info["outcome"] = {
            "ending": outcome.ending.name,
            "allocation": outcome.allocation,
            "scores": outcome.scores,
            "deal": outcome.deal,
        }
        if outcome.rule_broken is not None:
            info["illegal"] = outcome.rule_broken
    return info


def copy_info(info: Info) -> Info:
    """A copy of the info with writable arrays."""
    return {name: _copy(value) for name, value in info.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, ActionMask):
        return ActionMask(value, act_type=value["act_type"].copy(), oA=tuple([part.copy() for part in value["oA"]]))
    return dict(value) if isinstance(value, dict) else value


def agent_entry(table: Mapping[str, Entry], agent: str) -> Entry:
    """The entry of ``agent`` in a mapping of both seats. Raises ``ValueError`` for an unknown agent."""
    try:
        return table[agent]
    except (KeyError, TypeError):
        raise ValueError(f"the agents are {' and '.join(map(repr, SEATS))}; got {quote(agent)}") from None


def read_action(action: object, max_count: int, *, message: bool = False) -> Action:
    """The action as a value of the game. Raises :class:`InvalidAction` for anything outside the action space.

    ``message``: whether it may have a message too, see :func:`read_message`.
    """
    if not isinstance(action, Mapping) or action.keys() - ({MESSAGE} if message else ()) != _PARTS:
        keys = f"'act_type' and 'oA'{f', and optionally {MESSAGE!r}' if message else ''}"
        raise _invalid(
            f"an action must be a dict with exactly the keys {keys}; got {describe_value(action)}", max_count
        )
    act, oA = read_integer(action["act_type"]), read_integers(action["oA"], len(ITEMS))
    if act is None or not 0 <= act < len(_ACTS):
        text = describe_value(action["act_type"])
        raise _invalid(f"'act_type' must be one whole number in 0..{len(_ACTS) - 1}; got {text}", max_count)
    a, b, c = oA or _OUTSIDE
    if not (0 <= a <= max_count and 0 <= b <= max_count and 0 <= c <= max_count):
        raise _invalid(f"'oA' must be 3 whole numbers in 0..{max_count}; got {describe_value(action['oA'])}", max_count)
    return Action(_ACTS[act], (a, b, c))


def read_message(action: Mapping[str, Any], rules: Rules) -> str:
    """The message of an action that :func:`read_action` accepted. Raises :class:`InvalidAction`."""
    message = action.get(MESSAGE, "")
    broken = rule_against_message(rules, message)
    if broken is not None:
        raise InvalidAction(f"{MESSAGE!r}: {broken}")
    return str(message)


def read_integer(value: object) -> int | None:
    """An integer of any library, also as the only entry of an array or tensor; ``None`` for anything else."""
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iu":
        return int(value.item())
    return as_integer(value)


def read_integers(value: object, size: int) -> list[int] | None:
    """The ``size`` integers in an array, tensor, list or tuple; ``None`` for anything else."""
    if isinstance(value, np.ndarray):
        if value.shape != (size,) or value.dtype.kind not in "iu":
            return None
        return list(np.asarray(value).tolist())  # asarray: the data of a masked array
    if hasattr(value, "tolist"):  # a tensor of another library
        value = value.tolist()
    if not isinstance(value, list | tuple) or len(value) != size:
        return None
    integers = [number for entry in value if (number := read_integer(entry)) is not None]
    return integers if len(integers) == size else None


def read_action_arrays(actions: object, form: str, size: int, max_count: int) -> tuple[Int8s, Int8s]:
    """Act types ``[size]`` and offers ``[size, 3]`` of ``"flat"`` or ``"discrete"`` actions, one for each game.

    Raises :class:`InvalidAction`.
    """
    if form == "discrete":
        return action_at(integer_array(actions, (size,), action_count(max_count) - 1), max_count)
    flat = integer_array(actions, (size, 1 + len(ITEMS)), max(max_count, len(Act) - 1))
    integer_array(flat[:, 0], (size,), len(Act) - 1)
    integer_array(flat[:, 1:], (size, len(ITEMS)), max_count)
    return flat[:, 0].astype(np.int8), flat[:, 1:].astype(np.int8)


def action_mask_arrays(counts: Int8s, act_mask: Bools, form: str, max_count: int) -> Bools:
    """The legal actions of seats with pools ``counts[B, 3]``, one row each.

    ``[B, 2K + 3]`` for ``"discrete"`` actions, otherwise ``[B, 5 + 3 * (max_count + 1)]``: act types, then each ``oA``.
    """
    if form == "discrete":
        return legal_action_mask(counts, act_mask[:, Act.AGREE], max_count)
    within = np.arange(max_count + 1) <= counts[:, :, None]
    return np.concatenate([act_mask, within.reshape(len(counts), -1)], axis=1)


def integer_array(values: object, shape: tuple[int, ...], top: int) -> NDArray[Any]:
    """``values`` as an array of whole numbers in 0..top of this shape. Raises :class:`InvalidAction`."""
    array = np.asarray(values)
    inside = array.shape == shape and array.dtype.kind in "iu"
    if not inside or (array.size and not 0 <= array.min() <= array.max() <= top):
        raise InvalidAction(
            f"actions are whole numbers in 0..{top} of shape {list(shape)} here; got {describe_value(array)}"
        )
    return array


def describe_value(value: object) -> str:
    """An action, or a part of one, as text for error messages; an array with dtype, shape and advice."""
    if not isinstance(value, np.ndarray):
        return quote(value)
    advice = "; whole numbers are needed, e.g. .astype(int)" if value.dtype.kind in "fb" else ""
    return f"{value.dtype} array of shape {value.shape}, {quote(value)}{advice}"


@lru_cache(maxsize=8192)
def read_only_triple(triple: Triple) -> NDArray[np.int64]:
    """Three integers as a shared read-only array."""
    return _read_only(np.array(triple, dtype=np.int64))


@lru_cache(maxsize=8192)
def _mask_parts(counts: Triple, max_count: int, agree: bool) -> tuple[NDArray[np.int8], tuple[NDArray[np.int8], ...]]:
    act = np.ones(len(Act), dtype=np.int8)
    act[Act.AGREE] = agree
    every = np.arange(max_count + 1)
    return _read_only(act), tuple(_read_only((every <= count).astype(np.int8)) for count in counts)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _invalid(problem: str, max_count: int) -> InvalidAction:
    acts = ", ".join(f"{act.value} {act.name}" for act in Act)
    return InvalidAction(
        f"{problem}. An action is {{'act_type': one of {acts}; 'oA': 3 integers in 0..{max_count}, "
        "what the speaker keeps}"
    )


def check_one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {quote(value)}")


def read_seed(seed: object) -> int | None:
    """The ``seed`` of ``reset``. Raises :class:`InputError` unless it is ``None`` or a whole number of at least 0."""
    number = as_integer(seed)
    if seed is not None and (number is None or number < 0):
        raise InputError(f"a seed is a whole number of at least 0, or None to go on; got {quote(seed)}")
    return number


def scenario_option(options: Mapping[str, Any] | None, max_count: int) -> Scenario | None:
    """The scenario in the options of ``reset``, ``None`` without one. Raises ``TypeError`` and ``ValueError``."""
    if options is None:
        return None
    if not isinstance(options, Mapping):
        raise TypeError(f"options must be a mapping such as {{'{SCENARIO}': ...}}, or None; got {quote(options)}")
    for name in options.keys() - {SCENARIO}:
        if isinstance(name, str) and difflib.get_close_matches(name.lower(), [SCENARIO], cutoff=_NEAR):
            raise ValueError(f"there is no option {quote(name)}: did you mean {SCENARIO!r}?")
    scenario = options.get(SCENARIO)
    return None if scenario is None else _scenario(scenario, max_count)


def _scenario(scenario: object, max_count: int) -> Scenario:
    if isinstance(scenario, Mapping) and scenario.keys() == {"counts", "utilities"}:
        try:
            scenario = Scenario(scenario["counts"], scenario["utilities"])
        except (TypeError, ValueError) as error:
            raise ValueError(f"options['{SCENARIO}']: {error}") from None
    if not isinstance(scenario, Scenario):
        raise ValueError(
            f"options['{SCENARIO}'] must be a Scenario or {{'counts': 3 integers, 'utilities': one vector of 3 "
            f"integers per seat}}; got {quote(scenario)}"
        )
    if max(scenario.counts) > max_count:
        raise ValueError(
            f"options['{SCENARIO}'] has counts {scenario.counts}, more of one type than max_count={max_count}, which "
            f"the spaces are made for; build the environment with max_count={max(scenario.counts)}"
        )
    return scenario
