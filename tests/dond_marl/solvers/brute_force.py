"""Best responses by brute force, with the readable rules and nothing clever, and a partner of random habits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.seats import Decisions, Partner, Traits, Turns, decide
from dond_marl.splits import action_at

Branch = tuple[float, int, State]  # its probability, the number of the partner, and the game so far


class Whimsical:
    """A partner that plays any legal act, but always the same after the same observation.

    With ``memory`` it also reads the offers to it so far, their items modulo that number, and declares it.
    """

    def __init__(self, mood: int, memory: int = 1) -> None:
        self.mood, self.memory = mood, memory
        self.traits = Traits(deterministic=True, memoryless=memory == 1)

    def summary(self, turns: Turns) -> np.ndarray:
        claims = turns.history.oA[:, 1 - turns.seat :: 2][:, :-1]
        return (claims.sum(axis=(1, 2)) % self.memory)[:, None]

    def act(self, turns: Turns) -> Decisions:
        memory = turns.history.oA[:, 1 - turns.seat :: 2].sum(axis=(1, 2)) % self.memory
        acts, claims = [], []
        columns = (turns.counts, turns.my_utilities, turns.last_partner_act, turns.last_partner_offer_for_me, memory)
        rows = np.column_stack([*columns, turns.turns_remaining]).astype(np.int64)
        for row, mask, counts in zip(rows, turns.act_mask, turns.counts, strict=True):
            rng = np.random.default_rng([self.mood, *row.tolist()])
            weights = mask * np.array([5, 2, 1, 0.3, 0.5])
            acts.append(rng.choice(5, p=weights / weights.sum()))
            claims.append(rng.integers(0, counts + 1))
        return decide(np.array(acts), np.array(claims))


def by_brute_force(
    members: Sequence[tuple[float, Partner]], table: Sequence[Scenario], seat: int, rules: Rules, prior: str = ""
) -> float:
    """The expected points of the best response of ``seat``: expectimax over everything that the seat can tell apart.

    ``members``: the probability of each partner that may be in the other seat, deterministic or with ``probs``.
    """
    known: dict[tuple[int, Scenario, tuple[Action, ...]], list[tuple[Action, float]]] = {}

    def answers(number: int, state: State) -> list[tuple[Action, float]]:
        key = number, state.scenario, state.history
        if key not in known:
            partner, turn = members[number][1], turn_of(state, prior=prior)
            if partner.traits.deterministic:
                known[key] = [(only_action(partner.act(turn)), 1.0)]
            else:
                most = max(state.scenario.counts)
                chances = partner.probs(turn, most)[0]
                pairs = [(action_at(index, most), chances[index]) for index in np.flatnonzero(chances).tolist()]
                known[key] = [(Action(Act(int(act)), tuple(oA.tolist())), chance) for (act, oA), chance in pairs]
        return known[key]

    def value(branches: list[Branch]) -> float:
        """The best total over games that look the same to the seat."""
        some = branches[0][2]
        if some.outcome is not None:
            return sum(chance * state.outcome.scores[seat] for chance, _, state in branches)
        if some.mover == seat:
            options = legal_actions(some)
            return max(
                after([(c, number, apply(state, option)) for c, number, state in branches]) for option in options
            )
        return after(
            [
                (chance * share, number, apply(state, action))
                for chance, number, state in branches
                for action, share in answers(number, state)
            ]
        )

    def after(branches: list[Branch]) -> float:
        groups: dict[object, list[Branch]] = {}
        for branch in branches:
            state = branch[2]
            key = state.scenario.counts, state.scenario.utilities[seat], state.history
            groups.setdefault(key, []).append(branch)
        return sum(map(value, groups.values()))

    starts = [
        (chance / len(table), number, State(scenario, rules))
        for scenario in table
        for number, (chance, _) in enumerate(members)
    ]
    return after(starts)
