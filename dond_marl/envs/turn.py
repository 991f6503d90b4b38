"""One turn of a single :class:`State` as a batch of one, so that any occupant can play it."""

from __future__ import annotations

import numpy as np

from dond_marl.batch import check_decisions
from dond_marl.game import Act, Action, State, Triple, may_agree, rest, rule_against_message
from dond_marl.rollout import Noise
from dond_marl.seats import NO_ACT_YET, Decisions, Doubles, History, Int8s, Partner, Turns, no_hints, no_noise

DECISIONS = "Decisions (use dond_marl.seats.decide(act_type, oA))"  # for error messages
_NO_HINTS, _NO_NOISE = no_hints(1), no_noise(1)  # read-only, so one of each is enough


def turn_of(
    state: State,
    *,
    prior: str,
    reveal_partner_utilities: bool = False,
    noise: Doubles | None = None,
    game_noise: Doubles | None = None,
) -> Turns:
    """The turn of the seat to move as one row, like :meth:`dond_marl.batch.GameBatch.turns`. Noise: ``[1, 8]``."""
    scenario, seat = state.scenario, state.mover
    claim, last = state.claims[1 - seat], state.last_act(1 - seat)
    size = len(state.history)
    acts, offers = acts_of(state)
    messages = np.array(state.messages, dtype=np.object_).reshape(size, 1) if any(state.messages) else None
    return Turns(
        rules=state.rules,
        prior=prior,
        counts=_row(scenario.counts),
        my_utilities=_row(scenario.utilities[seat]),
        partner_utilities=_row(scenario.utilities[1 - seat] if reveal_partner_utilities else (0, 0, 0)),
        history=History(acts, offers, size, None, messages),
        last_partner_act=np.array([NO_ACT_YET if last is None else last], dtype=np.int8),
        last_partner_offer_for_me=_row((0, 0, 0) if claim is None else rest(scenario.counts, claim)),
        turns_remaining=np.array([state.turns_remaining], dtype=np.int8),
        act_mask=np.array([[act is not Act.AGREE or may_agree(state, seat) for act in Act]]),
        hint_features=_NO_HINTS,
        noise=_NO_NOISE if noise is None else noise,
        game_noise=_NO_NOISE if game_noise is None else game_noise,
    )


def acts_of(state: State) -> tuple[Int8s, Int8s]:
    """The acts ``[t, 1]`` of both seats so far and what their seats would keep, ``[t, 3, 1]``."""
    size = len(state.history)
    acts = np.array([action.act_type for action in state.history], dtype=np.int8).reshape(size, 1)
    return acts, np.array([action.oA for action in state.history], dtype=np.int8).reshape(size, 3, 1)


def only_action(decisions: Decisions) -> Action:
    """The single decision of a batch of one, as a value of the game. Raises ``TypeError`` or ``ValueError``."""
    if not isinstance(decisions, Decisions):
        raise TypeError(f"act must return {DECISIONS}; got {type(decisions).__name__}")
    act, oA = check_decisions(decisions, 1)
    a, b, c = oA[:, 0].tolist()
    return Action(Act(int(act[0])), (a, b, c))


def only_message(decisions: Decisions, state: State) -> str:
    """The message of the single decision of a batch of one, ``""`` for none or in games without messages.

    Raises ``ValueError`` for a message that the rules forbid.
    """
    if decisions.messages is None or not state.rules.message_length:
        return ""
    messages = np.asarray(decisions.messages, dtype=np.object_)
    if messages.shape != (1,):
        raise ValueError(f"messages of one game need shape (1,); got {messages.shape}")
    broken = rule_against_message(state.rules, messages[0])
    if broken is not None:
        raise ValueError(broken)
    return str(messages[0])


def choose_action(partner: Partner, state: State, *, seed: int, prior: str) -> Action:
    """The action of ``partner``, which is to move in ``state``. Errors of the partner pass through."""
    return only_action(partner.act(turn_for(partner, state, Noise(seed, (), 1), prior=prior)))


def turn_for(
    partner: Partner, state: State, noise: Noise, *, prior: str, reveal_partner_utilities: bool = False
) -> Turns:
    """The turn at which ``partner``, which is to move in ``state``, is queried; ``noise``: that of one game."""
    free = not partner.traits.deterministic
    return turn_of(
        state,
        prior=prior,
        reveal_partner_utilities=reveal_partner_utilities,
        noise=noise.turn_noise(len(state.history)) if free else None,
        game_noise=noise.game_noise(state.mover) if free else None,
    )


def _row(triple: Triple) -> Int8s:
    return np.array([triple], dtype=np.int8)
