"""One turn of a single :class:`State` as a batch of one, so that any occupant can play it."""

from __future__ import annotations

import numpy as np

from dond_marl.batch import check_decisions, check_messages
from dond_marl.game import Act, Action, State, Triple, rest
from dond_marl.rollout import Noise
from dond_marl.seats import Decisions, Doubles, Int8s, Partner, Turns, turns_after

DECISIONS = "Decisions (use dond_marl.seats.decide(act_type, oA))"  # for error messages


def turn_of(
    state: State,
    *,
    prior: str,
    reveal_partner_utilities: bool = False,
    noise: Doubles | None = None,
    game_noise: Doubles | None = None,
) -> Turns:
    """The turn of the seat to move as one row, like :meth:`dond_marl.batch.GameBatch.turns`. Noise: ``[1, 8]``."""
    scenario, seat, claim = state.scenario, state.mover, state.claims[1 - state.mover]
    turns = turns_after(
        state.rules,
        prior,
        _row(scenario.counts),
        _row(scenario.utilities[seat]),
        *acts_of(state),
        _row((0, 0, 0) if claim is None else rest(scenario.counts, claim)),
        _row(scenario.utilities[1 - seat]) if reveal_partner_utilities else None,
        np.array(state.messages, dtype=np.object_).reshape(-1, 1) if any(state.messages) else None,
    )
    return turns._replace(
        noise=turns.noise if noise is None else noise,
        game_noise=turns.game_noise if game_noise is None else game_noise,
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
    messages = check_messages(decisions, state.rules, 1)
    return "" if messages is None else str(messages[0])


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
