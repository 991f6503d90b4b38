"""Any partner in a seat of OpenSpiel's ``bargaining``, which Kaggle's game arena plays too: its acts as numbers there.

That game knows offers and Agree alone: acts 0 to 119 keep up to seven items, 120 agrees (``bargaining.h``). INSIST is
an offer like another. Who would end the talk, DISAGREE or END, asks for everything instead: nobody can be left with
less, and the game ends by its turn limit. A partner sees what it would see here, with what was said as PROPOSE.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dond_marl.envs.turn import choose_action
from dond_marl.game import SEATS, Act, Action, Rules, Scenario, State, Triple, apply
from dond_marl.seats import Partner

MOST = 7  # items of all types that one offer can name
OFFERS: tuple[Triple, ...] = tuple((a, b, c) for c, b, a in product(range(MOST + 1), repeat=3) if a + b + c <= MOST)
AGREE = len(OFFERS)
_NOTHING: Triple = (0, 0, 0)


def choose_act(
    partner: Partner,
    counts: Triple,
    values: Triple,
    offers: Sequence[Triple],
    *,
    max_turns: int = 10,
    seed: int = 0,
    prior: str = "lewis",
) -> int:
    """What ``partner`` says, 0..120, to move after ``offers``, each what its speaker keeps, the first player's first.

    ``values`` are its own. ``seed`` names the game's chance: the same in all turns of one game. ``prior``: what it
    believes of scenarios, :mod:`dond_marl.yardsticks.beliefs`. Raises ``ValueError`` for a pool that is too large, and
    whatever the partner raises.
    """
    if sum(counts) > MOST:
        raise ValueError(f"an offer of OpenSpiel's bargaining names up to {MOST} items; the pool is {counts}")
    mover = len(offers) % len(SEATS)
    utilities = (values, _NOTHING) if mover == 0 else (_NOTHING, values)  # the other's are not known, nor are they read
    state = State(Scenario(counts, utilities), Rules(max_turns))
    for offer in offers:
        state = apply(state, Action(Act.PROPOSE, offer))
    action = choose_action(partner, state, seed=seed, prior=prior)
    if action.act_type is Act.AGREE:
        return AGREE
    return OFFERS.index(action.oA if action.act_type in (Act.PROPOSE, Act.INSIST) else counts)
