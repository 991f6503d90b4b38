"""Who sits opposite and what it wants: Bayes' rule against a count of all games by the plain rules."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.errors import NotComputable
from dond_marl.game import MAX_VALUE, Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import lewis_space, open_source, pack, value_vectors
from dond_marl.seats import Decisions, Partner, Traits, Turns
from dond_marl.solvers.contexts import beliefs, partner_beliefs
from dond_marl.solvers.labels import LABELS, ReadsAs, reads_labels
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


@pytest.mark.parametrize(
    ("name", "rules", "allowed"),
    [
        ("listener", Rules(6, message_length=40), False),
        ("tough", Rules(6, message_length=40), True),
    ],
)
def test_messages_to_a_partner_with_memory_are_refused(name, rules, allowed):
    state = State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), rules)
    for oA in ((1, 0, 2), (0, 2, 1)):
        state = apply(state, Action(Act.PROPOSE, oA))
    with nullcontext() if allowed else pytest.raises(NotComputable):
        recognize([seat_occupant(name)], turn_of(state, prior="lewis"))


# -- Labels: a partner that reads all offers with one label is played as by a policy that says no other----------


LEWIS = open_source("lewis")
SHORT = Rules(4)


@dataclass(frozen=True)
class Says:
    """Plays as ``policy``, every offer with one label."""

    policy: Partner
    label: Act

    @property
    def traits(self) -> Traits:
        return self.policy.traits

    def act(self, turns: Turns) -> Decisions:
        decisions = self.policy.act(turns)
        offers = decisions.act_type <= Act.INSIST
        return decisions._replace(act_type=np.where(offers, self.label, decisions.act_type).astype(np.int8))


@dataclass(frozen=True)
class Offended:
    """Takes offers like the heuristic until the other seat has INSISTed three times, and then none."""

    traits: ClassVar[Traits] = Traits(deterministic=True)

    def act(self, turns: Turns) -> Decisions:
        decisions = seat_occupant("heuristic").act(turns)
        insisted = (turns.history.act[:, 1 - turns.seat :: 2] == Act.INSIST).sum(axis=1)
        agrees = (decisions.act_type == Act.AGREE) & (insisted >= 3)
        return decisions._replace(act_type=np.where(agrees, Act.PROPOSE, decisions.act_type).astype(np.int8))


@pytest.mark.parametrize("partner", ["heuristic(insist_ratio=0.2)", Offended(), "mixture(of=[heuristic, random])"])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("seat", [0, 1])
def test_a_reader_is_played_as_by_a_policy_with_one_label(partner, label, seat):
    policy, partner, table = seat_occupant("heuristic"), seat_occupant(partner), LEWIS.block(0, 0, 400)
    pairs = (Says(policy, label), partner), (policy, ReadsAs(partner, label))
    games = [rollout(pair if seat == 0 else pair[::-1], table, seed=1) for pair in pairs]
    assert (games[0].scores == games[1].scores).all() and (games[0].turns == games[1].turns).all()


def test_labels_are_read_where_any_answer_differs():
    alike = [
        "linear",
        "random",
        "mixed_thresholds",
        "nice_tit_for_tat",
        "heuristic(accept_ratio=0.5, insist_ratio=0.5)",
    ]
    assert [name for name in alike if reads_labels(seat_occupant(name), LEWIS, SHORT)] == []
    assert reads_labels(seat_occupant("heuristic"), LEWIS, SHORT) and reads_labels(Offended(), LEWIS, SHORT)


# -- Beliefs of a seat about its partner's values----------------------------------------------------------------


def row(values):
    return np.array([values], dtype=np.int8)


def listed(belief, index=0):
    """The types of one row with their weights, padding left out."""
    return {
        tuple(types.tolist()): weight
        for types, weight in zip(belief.types[index], belief.weights[index], strict=True)
        if weight > 0
    }


def test_lewis_belief_is_uniform_over_fitting_scenarios():
    space = lewis_space()
    chosen = np.random.default_rng(0).choice(space.size, 60, replace=False)
    belief = beliefs("lewis", space.counts[chosen], space.utilities[chosen, 0])
    for index, scenario in enumerate(chosen):
        fits = (space.counts == space.counts[scenario]).all(axis=1)
        fits &= (space.utilities[:, 0] == space.utilities[scenario, 0]).all(axis=1)
        expected = {tuple(types.tolist()): 1 / fits.sum() for types in space.utilities[fits, 1]}
        assert listed(belief, index) == pytest.approx(expected)


def test_the_whole_space_has_438_private_views_with_1_to_26_partner_types():
    space = lewis_space()
    views, first = np.unique(np.hstack([space.counts, space.utilities[:, 0]]), axis=0, return_index=True)
    belief = beliefs("lewis", space.counts[first], space.utilities[first, 0])
    types = (belief.weights > 0).sum(axis=1)
    assert len(views) == 438
    assert (types.min(), types.max(), types.sum()) == (1, 26, space.size)


def test_under_the_uniform_prior_any_values_but_none_at_all_are_equally_likely():
    probabilities = listed(beliefs("uniform", row((1, 2, 3)), row((5, 0, 1))))
    assert len(probabilities) == 11**3 - 1
    assert (0, 0, 0) not in probabilities
    assert set(probabilities.values()) == {1 / 1330}


def test_a_budget_leaves_the_values_that_make_the_pool_worth_it():
    # pool: 1 book, 2 hats, 4 balls, worth 2 points: two books' worth or one hat
    pools = np.array([[1, 2, 4], [1, 1, 1]], dtype=np.int8)
    belief = beliefs("uniform(budget=2)", pools, np.zeros((2, 3), dtype=np.int8))
    assert listed(belief) == {(0, 1, 0): 0.5, (2, 0, 0): 0.5}
    assert len(listed(belief, 1)) == 6  # (2,0,0) and its like, (1,1,0) and its like


def test_unknown_views_fall_back_to_possible_values():
    # One book each way is no pool of the paper, but can be worth 10 to the partner.
    pool = row((1, 1, 1))
    expected = {tuple(v.tolist()) for v in value_vectors((1, 1, 1), 10)}
    assert set(listed(beliefs("lewis", pool, row((10, 0, 0))))) == expected
    # Ten balls of at least one point ... and three hats: nothing but all balls at 1 point is worth 10.
    assert set(listed(beliefs("lewis", row((0, 0, 10)), row((0, 0, 1))))) == {
        (a, b, 1) for a in range(11) for b in range(11)
    }
    # Eleven is no multiple of seven: any values may be.
    assert len(listed(beliefs("uniform(budget=11)", row((0, 0, 7)), row((0, 0, 1))))) == 1330
    assert len(listed(beliefs("", pool, row((1, 1, 1))))) == 1330


def test_rows_in_and_outside_of_the_space_do_not_mix():
    space = lewis_space()
    counts, values = space.counts[:3].copy(), space.utilities[:3, 0].copy()
    alone = [listed(beliefs("lewis", counts[i : i + 1], values[i : i + 1])) for i in range(3)]
    values[1] = (10, 10, 10)
    mixed = beliefs("lewis", counts, values)
    assert listed(mixed, 0) == pytest.approx(alone[0])
    assert listed(mixed, 2) == pytest.approx(alone[2])
    assert set(listed(mixed, 1)) == {tuple(v.tolist()) for v in value_vectors(tuple(counts[1].tolist()), 10)}


@pytest.mark.parametrize("prior", ["lewis", "uniform", "uniform(budget=10)"])
def test_revealed_values_are_certain(prior):
    table = GameBatch(
        pack([Scenario((1, 2, 3), ((4, 3, 0), (1, 0, 3))), Scenario((1, 2, 3), ((1, 0, 3), (4, 3, 0)))], prior),
        reveal_partner_utilities=True,
    )
    belief = partner_beliefs(table.turns())
    assert [listed(belief, i) for i in (0, 1)] == [{(1, 0, 3): 1.0}, {(4, 3, 0): 1.0}]
