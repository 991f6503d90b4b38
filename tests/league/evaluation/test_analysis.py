"""A finished game looked at act by act: values held to games played out, costs, alternatives, and what is compared."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dond_marl.envs.turn import only_action, turn_of
from dond_marl.game import Act, Action, Rules, Scenario, State, apply, legal_actions
from dond_marl.occupants import seat_occupant
from dond_marl.records.record import record_of
from dond_marl.solvers.contexts import contexts_of
from league.evaluation.analysis import LONGEST, analyse_acts, judgement
from partners.best_response import BestResponse

# 1 book, 2 hats, 2 balls: worth 4, 1, 2 to seat_0 and 0, 4, 1 to seat_1.
SCENARIO = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))


def played_out(state, seat, player, partner):
    """The seat's points when both play on."""
    while not state.is_over:
        state = apply(
            state, only_action((player if state.mover == seat else partner).act(turn_of(state, prior="lewis")))
        )
    return state.outcome.scores[seat]


def opened(seat, partner, theirs, rules):
    """The table at the seat's first turn, the partner holding ``theirs``."""
    values = (SCENARIO.utilities[0], theirs) if seat == 0 else (theirs, SCENARIO.utilities[0])
    state = State(Scenario(SCENARIO.counts, values), rules)
    return state if seat == 0 else apply(state, only_action(partner.act(turn_of(state, prior="lewis"))))


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("name", "turns", "disagree"), [
    ("heuristic", 10, "ends"), ("boulware", 5, "rejects"), ("prosocial", 6, "ends"), ("conceder", 2, "ends"),
])  # fmt: skip
def test_opening_value_is_the_mean_over_types(name, turns, disagree, seat):
    """Every partner's game is played out; those that open alike are one belief."""
    partner, rules = seat_occupant(name), Rules(turns, disagree)
    best = BestResponse(partner)
    row = (np.array([each], dtype=np.int8) for each in (SCENARIO.counts, SCENARIO.utilities[0]))
    contexts = contexts_of("lewis", *row)
    beliefs: dict[tuple[Action, ...], list[tuple[float, State]]] = {}
    for kind, weight in zip(contexts.types[0], contexts.weights[0], strict=True):
        if weight > 0:
            theirs = tuple(contexts.partner_views.utilities[kind].tolist())
            state = opened(seat, partner, theirs, rules)
            beliefs.setdefault(state.history, []).append((weight, state))
    assert (len(beliefs) == 1) == (seat == 0)
    for history, among in beliefs.items():
        if turns - len(history) < 2:
            continue
        state = among[0][1]
        total = sum(weight for weight, _ in among)
        mean = sum(weight * played_out(each, seat, best, partner) for weight, each in among) / total
        ends = max(after.outcome.scores[seat] for act in legal_actions(state) if (after := apply(state, act)).is_over)
        assert max(best.worths(turn_of(state, prior="lewis")).max(), ends) == pytest.approx(mean, abs=1e-9)


def test_late_offer_value_follows_the_answers():
    partner, rules = seat_occupant("heuristic"), Rules(2)
    row = (np.array([each], dtype=np.int8) for each in (SCENARIO.counts, SCENARIO.utilities[0]))
    contexts = contexts_of("lewis", *row)
    worths = BestResponse(partner).worths(turn_of(State(SCENARIO, rules), prior="lewis"))[0]
    offers = [action for action in legal_actions(State(SCENARIO, rules)) if action.act_type.is_offer]
    assert len(offers) == len(worths)
    for action, worth_of_it in zip(offers, worths, strict=True):
        paid = 0.0
        for kind, weight in zip(contexts.types[0], contexts.weights[0], strict=True):
            if weight > 0:
                theirs = tuple(contexts.partner_views.utilities[kind].tolist())
                state = apply(State(Scenario(SCENARIO.counts, (SCENARIO.utilities[0], theirs)), rules), action)
                paid += weight * apply(state, only_action(partner.act(turn_of(state, prior="lewis")))).outcome.scores[0]
        assert worth_of_it == pytest.approx(paid, abs=1e-9)


def game(name, *actions, source="lewis, split train"):
    state = State(SCENARIO)
    for action in actions:
        state = apply(state, action)
    return record_of(state, ("human", name), source=source)


def test_costly_act_has_better_alternatives():
    record = game("pushover", Action(Act.PROPOSE, (1, 1, 2)), Action(Act.AGREE))
    found = analyse_acts(record, 0, seat_occupant("pushover"), seat_occupant("tough"))
    (act,) = found.acts
    assert found.exact
    assert found.compared.startswith("Expected")
    assert act.played.points == pytest.approx(9)
    assert judgement(act) == "gave away 1 point"
    assert sum(act.cost for act in found.acts) == pytest.approx(1)
    assert act.best[0].action == Action(Act.PROPOSE, (1, 2, 2))
    assert act.best[0].points == pytest.approx(10)
    assert len({each.action.oA for each in act.best}) == 3
    assert act.expert == (Action(Act.PROPOSE, (1, 2, 2)), pytest.approx(10))


def test_best_act_is_judged_best():
    record = game("pushover", Action(Act.PROPOSE, (1, 2, 2)), Action(Act.AGREE))
    (act,) = analyse_acts(record, 0, seat_occupant("pushover"), None).acts
    assert (judgement(act), act.cost, act.expert) == ("best", 0.0, None)
    assert act.best[-1].points < act.played.points  # what is shown beside a best act is not all as good
    gone = game("pushover", Action(Act.DISAGREE))
    (act,) = analyse_acts(gone, 0, seat_occupant("pushover"), None).acts
    assert act.played.points == 0
    assert judgement(act) == "gave away 10 points"


def test_inexact_partner_shows_expert_acts():
    record = game("random", Action(Act.PROPOSE, (1, 2, 2)), Action(Act.DISAGREE))
    for partner, why in (
        (seat_occupant("random"), "random is stochastic"),
        (None, "the answers of random cannot be computed"),
    ):
        found = analyse_acts(record, 0, partner, seat_occupant("tough"))
        assert not found.exact
        assert why in found.compared
        assert found.acts[0].expert.action == Action(Act.PROPOSE, (1, 2, 2))
        assert math.isnan(found.acts[0].cost)
        assert math.isnan(sum(act.cost for act in found.acts))
        assert judgement(found.acts[0]) == ""


def test_rich_prior_uses_true_values():
    record = game("heuristic", Action(Act.PROPOSE, (0, 0, 0)), Action(Act.AGREE), source="uniform")
    found = analyse_acts(record, 0, seat_occupant("heuristic"), None)
    assert found.exact
    assert found.acts[0].best[0].points > 0


def test_against_a_partner_that_remembers_long_games_are_not_searched():
    state = apply(State(SCENARIO, Rules(30)), Action(Act.DISAGREE))
    record = record_of(state, ("human", "prosocial"), source="lewis")
    found = analyse_acts(record, 0, seat_occupant("prosocial"), None)
    assert not found.exact
    assert str(LONGEST) in found.compared


def test_partner_that_reads_messages_has_no_exact_act_values():
    state, message = State(Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1))), Rules(4, message_length=40)), "all mine"
    while not state.is_over:
        state = apply(state, Action(Act.PROPOSE, (1, 2, 2)), message)
    record = record_of(state, ("human", "listener"), source="lewis, split train")
    analysis = analyse_acts(record, 0, seat_occupant("listener"), None)
    assert "listener may react to messages" in analysis.compared and not analysis.exact
    assert [act.state.messages for act in analysis.acts] == [(), (message, message)]
