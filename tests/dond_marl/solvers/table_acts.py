"""The acts of an equilibrium table by the rules in words, for checks against every act of the game."""

from __future__ import annotations

from dond_marl.game import Act, Action, State, rest
from dond_marl.seats import Doubles
from dond_marl.solvers.equilibria import Policy, Pool


def table_acts(pool: Pool, policy: Policy, state: State, view: int) -> list[tuple[Action, float]]:
    """Acts of a seat with that view and their chances: the table at the head of ``equilibria.py``, word for word."""
    n, turn, splits = pool.width, len(state.history), [tuple(oA) for oA in pool.splits.tolist()]
    last_act, standing = state.last_act(1 - state.mover), state.claims[1 - state.mover]
    refused, last = last_act is Act.DISAGREE, state.turns_remaining == 1
    everything = state.scenario.counts
    heard = everything if standing is None or (refused and not last) else standing
    chances: Doubles = policy[turn][view, splits.index(heard) if turn else 0]
    offers = [(Action(Act.PROPOSE, oA), chance) for oA, chance in zip(splits, chances, strict=False)]
    agree, walk = Action(Act.AGREE), Action(Act.DISAGREE)
    if state.rules.disagree == "rejects":
        walk = Action(Act.END)
        if last:
            walk = Action(Act.PROPOSE, everything if turn == 0 or any(heard) else (0, 0, 0))
        if refused:
            agree = Action(Act.PROPOSE, rest(everything, heard)) if last else Action(Act.END)
    acts = [*offers, (agree, chances[n]), (walk, chances[n + 1])]
    return [(action, float(chance)) for action, chance in acts if chance > 0]
