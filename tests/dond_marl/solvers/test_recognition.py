"""Who sits opposite and what it wants: Bayes' rule against a count of all games by the plain rules."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import MAX_VALUE, Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space
from dond_marl.seats import Traits
from dond_marl.solvers.contexts import beliefs
from dond_marl.solvers.recognition import recognizable_personas, recognize
from dond_marl.splits import action_index
from partners.mixture import Mixture
from partners.rosters import roster

POOL, MINE = (1, 2, 3), (1, 3, 1)  # worth 10; 7 values of the partner are legal with it in the space of Lewis et al.
CROWD = ("heuristic", "tough", "frequency_model", "mixed_thresholds", "personas", "random")
WEIGHTS = (1.0, 2.0, 0.5, 1.0, 1.5, 1.0)


class Recorder:
    """Records the turns on which it acts, and acts like ``partner``."""

    traits = Traits()

    def __init__(self, partner):
        self.partner, self.turns = partner, []

    def act(self, turns):
        self.turns.append(turns)
        return self.partner.act(turns)


def by_counting(members, weights, seat, rules, actions):
    """The weight of each member with each possible value after ``actions``, by playing them one state at a time."""
    belief = beliefs("lewis", *(np.array([triple], dtype=np.int8) for triple in (POOL, MINE)))
    types = [tuple(row) for row, chance in zip(belief.types[0].tolist(), belief.weights[0], strict=True) if chance]
    joint = np.zeros((len(members), len(types)))
    for number, (member, weight) in enumerate(zip(members, weights, strict=True)):
        for kind, values in enumerate(types):
            pair = (MINE, values) if seat == 0 else (values, MINE)
            minds = [(1.0, member)] if not hasattr(member, "personas") else member.personas()
            for chance, mind in minds:
                state, likely = State(Scenario(POOL, pair), rules), chance * weight
                for action in actions:
                    if state.mover != seat and likely:
                        likely *= chance_of(mind, state, action)
                    state = apply(state, action)
                joint[number, kind] += likely
    return types, joint / joint.sum() if joint.any() else joint


def chance_of(mind, state, action):
    turn = turn_of(state, prior="lewis")
    if mind.traits.deterministic:
        return float(only_action(mind.act(turn)) == action)
    number = action_index(np.array([action.act_type]), np.array([action.oA]), max(POOL))
    return float(mind.probs(turn, max(POOL))[0, number[0]])


def played(seat, rules, members, rng):
    """A history of one of the members against random legal acts."""
    state = State(Scenario(POOL, ((MINE, (2, 1, 2)) if seat == 0 else ((2, 1, 2), MINE))), rules)
    member = members[rng.integers(len(members))]
    actions = []
    while not state.is_over and len(actions) < 5:
        goes_on = [option for option in legal_actions(state) if not apply(state, option).is_over]
        options = goes_on or legal_actions(state)
        action = options[rng.integers(len(options))]
        if state.mover != seat:
            turn = turn_of(state, prior="lewis", noise=rng.random((1, 8)), game_noise=rng.random((1, 8)))
            action = only_action(member.act(turn))
        state = apply(state, action)
        actions.append(action)
    return state, actions


@pytest.mark.parametrize(
    ("seat", "disagree"),
    [
        (0, "rejects"),
        (1, "ends"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0, "ends"), (1, "rejects"))),
    ],
)
def test_posterior_equals_enumeration(seat, disagree):
    """Members that gamble, remember, or are drawn for each game; either meaning of DISAGREE; every turn of a game."""
    members, rules, rng = [seat_occupant(name) for name in CROWD], Rules(8, disagree), np.random.default_rng(seat)
    compared, most = 0, 0
    for _ in range(7):
        _, actions = played(seat, rules, members, rng)
        for turns_taken in range(seat, len(actions) + 1, 2):
            state = State(Scenario(POOL, ((MINE, (2, 1, 2)) if seat == 0 else ((2, 1, 2), MINE))), rules)
            for action in actions[:turns_taken]:
                state = apply(state, action)
            if state.is_over:
                continue
            recognition = recognize(members, turn_of(state, prior="lewis"), WEIGHTS)
            types, joint = by_counting(members, WEIGHTS, seat, rules, actions[:turns_taken])
            assert recognition.chances[0].sum() == pytest.approx(1.0)
            np.testing.assert_allclose(recognition.identity[0], joint.sum(axis=1), atol=1e-12)
            for item in range(3):
                for level in range(MAX_VALUE + 1):
                    share = sum(joint[:, kind].sum() for kind, values in enumerate(types) if values[item] == level)
                    assert recognition.values[0, item, level] == pytest.approx(share, abs=1e-12)
            compared, most = compared + 1, max(most, turns_taken)
    assert compared > 9 and most >= 4


def turns_of_games(opener, answerer, scenarios):
    """All turns of the opener, in games over ``scenarios``."""
    recorder = Recorder(opener)
    rollout((recorder, answerer), scenarios, seed=3)
    return recorder.turns


def test_posterior_is_rowwise_and_calibrated():
    """Bayes' rule is calibrated: over all games with a member drawn as believed, mass and truth are equal."""
    names = ("heuristic", "tough", "pushover", "versatile")
    members, space = [seat_occupant(name) for name in names], lewis_space()
    sure, right = [], []
    for number, member in enumerate(members):
        for turns in turns_of_games(seat_occupant("linear"), member, space)[:2]:
            recognition = recognize(members, turns)
            assert np.allclose(recognition.identity.sum(axis=1), 1) and np.allclose(recognition.values.sum(axis=2), 1)
            if not number:
                rows = np.arange(0, turns.size, max(turns.size // 7, 1))
                for row in rows.tolist():
                    alone = recognize(members, turns.rows(np.array([row])))
                    np.testing.assert_allclose(alone.identity[0], recognition.identity[row], atol=1e-12)
                    np.testing.assert_allclose(alone.values[0], recognition.values[row], atol=1e-12)
            if turns.turns_taken:
                sure.append(recognition.identity)
                right.append(np.full(turns.size, number))
    identity, true = np.concatenate(sure), np.concatenate(right)
    assert identity[np.arange(len(true)), true].min() > 0  # whoever plays is never ruled out
    for number in range(len(members)):
        assert identity[:, number].sum() == pytest.approx((true == number).sum(), rel=1e-9)
    assert identity.max(axis=1).mean() == pytest.approx((identity.argmax(axis=1) == true).mean(), abs=0.02)


def test_unexplained_history_restores_the_prior():
    """A history that no member explains: the belief before the game."""
    members = [seat_occupant("stubborn"), seat_occupant("tough")]
    state = State(Scenario(POOL, (MINE, (2, 1, 2))), Rules())
    for action in (Action(Act.PROPOSE, (0, 0, 0)), Action(Act.INSIST, (0, 0, 0))):
        state = apply(state, action)
    lost = recognize(members, turn_of(state, prior="lewis"))
    first = recognize(members, turn_of(State(state.scenario, Rules()), prior="lewis"))
    np.testing.assert_array_equal(lost.identity, first.identity)
    np.testing.assert_allclose(lost.values, first.values)
    shown = recognize(members, turn_of(State(state.scenario, Rules()), prior="lewis", reveal_partner_utilities=True))
    np.testing.assert_array_equal(shown.values[0], np.array([2, 1, 2])[:, None] == np.arange(11))


def test_unknown_probabilities_are_refused():
    assert (
        recognizable_personas(seat_occupant("micro")) is None
        and recognizable_personas(Mixture(["linear", "micro"])) is None
    )
    assert len(recognizable_personas(Mixture(["linear", "personas"])) or ()) == 17
    turn = turn_of(State(Scenario(POOL, (MINE, (2, 1, 2))), Rules()), prior="lewis")
    with pytest.raises(NotComputable):
        recognize([seat_occupant("linear"), seat_occupant("micro")], turn)
    with pytest.raises(ValueError, match="weights"):
        recognize([seat_occupant("linear")], turn, [1, 2])


def test_roster_members_are_recognizable():
    names = [*roster("train"), *roster("dev")]
    assert {name for name in names if recognizable_personas(seat_occupant(name)) is None} == {"micro"}


def test_no_rows_are_no_beliefs():
    turns = turn_of(State(Scenario(POOL, (MINE, (2, 1, 2))), Rules()), prior="lewis")
    none = recognize([seat_occupant("linear")], turns.rows(np.zeros(0, dtype=np.int64)))
    assert none.identity.shape == (0, 1) and none.values.shape == (0, 3, 11)


@pytest.mark.parametrize(
    ("name", "rules", "allowed"),
    [
        ("listener", Rules(6, message_length=40), False),
        ("tough", Rules(6, message_length=40), True),
        ("listener", Rules(6), True),
    ],
)
def test_messages_to_a_partner_with_memory_are_refused(name, rules, allowed):
    state = State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), rules)
    for oA in ((1, 0, 2), (0, 2, 1)):
        state = apply(state, Action(Act.PROPOSE, oA))
    with nullcontext() if allowed else pytest.raises(NotComputable):
        recognize([seat_occupant(name)], turn_of(state, prior="lewis"))
