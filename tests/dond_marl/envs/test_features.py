"""What a turn looks like to a network."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.envs.aec import NegotiationEnv
from dond_marl.envs.features import BaseLayout, ObservationEncoder, ObservationError, encode
from dond_marl.envs.turn import turn_of
from dond_marl.envs.views import view
from dond_marl.game import Act, Action, Rules, Scenario, State, apply
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import decide


def test_features_of_a_worked_position():
    # pool: 2 books, 1 hat, 3 balls. seat_1 values 1/8/0 and has heard "I keep 1 book, 0 hats, 3 balls".
    scenario = Scenario((2, 1, 3), ((2, 0, 2), (1, 8, 0)))
    table = GameBatch(pack([scenario], "uniform"), Rules(max_turns=10))
    table.step(decide(np.array([Act.INSIST]), np.array([[1, 0, 3]])))
    layout = BaseLayout(max_count=4, max_turns=10)
    expected = [
        *(2 / 4, 1 / 4, 3 / 4),  # counts
        *(0.1, 0.8, 0.0),  # my utilities
        *(0, 1, 0, 0, 0),  # the partner's last act: INSIST
        *(1 / 4, 1 / 4, 0),  # its offer leaves me 1 book, 1 hat, 0 balls
        0.9,  # 9 of 10 turns are left
    ]
    assert encode(table.turns(), layout)[0].tolist() == pytest.approx(expected)
    assert layout.width == len(expected) == 15
    assert layout.name == "base-v1(max_count=4, max_turns=10)"


def test_revealed_partner_utilities_have_their_place_and_are_zero_when_hidden():
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 50)
    layout = BaseLayout(max_count=4, max_turns=10, partner_utilities=True)
    revealed = encode(GameBatch(scenarios, reveal_partner_utilities=True).turns(), layout)
    hidden = encode(GameBatch(scenarios).turns(), layout)
    assert revealed[:, 6:9] == pytest.approx(scenarios.utilities[:, 1] / 10)
    assert not hidden[:, 6:9].any()
    assert layout.width == 18


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("max_turns", [1, 10])
def test_observation_encoder_equals_encode(reveal, max_turns):
    env = NegotiationEnv(max_turns=max_turns, disagree="rejects", max_count=7, reveal_partner_utilities=reveal)
    layout = BaseLayout(7, max_turns, reveal)
    encode_one = ObservationEncoder(layout)
    env.action_space("seat_0").seed(3)
    for game in range(40):
        env.reset(seed=game)
        while not env.negotiation.is_over:
            for agent in env.possible_agents:
                seen = env.observe(agent)
                row = encode_one(seen)
                assert row.dtype == np.float32 and row.shape == (layout.width,) == (encode_one.width,)
                pieces = {name: np.array([value], dtype=np.int8) for name, value in seen.items()}
                assert (
                    row.tobytes() == encode(turn_of(env.negotiation, prior="")._replace(**pieces), layout)[0].tobytes()
                )
            env.step(env.action_space("seat_0").sample(env.infos[env.agent_selection]["action_mask"]))


# -- with the history ------------------------------------------------------------------------------------------------


def pieces_of(layout: BaseLayout, row: np.ndarray) -> dict[str, list[int]]:
    """The pieces of the history in one row, as codes."""
    pieces, start = {}, 0
    for name, width in layout.pieces:
        if start >= layout.base_width:
            pieces[name] = (row[start : start + width] * layout.top(name)).round().astype(int).tolist()
        start += width
    return pieces


@pytest.mark.parametrize("seat", [0, 1])
def test_the_history_of_a_worked_game(seat):
    """Two books, a hat, three balls; what each act would leave the seat, one more than the number of items.

    turn 0, seat_0: PROPOSE, keeps 1 0 3    turn 1, seat_1: DISAGREE    turn 2, seat_0: INSIST, keeps 2 0 2
    """
    said = [(Act.PROPOSE, (1, 0, 3)), (Act.DISAGREE, (0, 0, 0)), (Act.INSIST, (2, 0, 2)), (Act.PROPOSE, (0, 1, 1))]
    table = GameBatch(pack([Scenario((2, 1, 3), ((2, 0, 2), (1, 8, 0)))], "uniform"), Rules(5, "rejects"))
    layout = BaseLayout(4, 5, history=True)
    for act, oA in said[: 4 - seat]:
        table.step(decide(np.array([act]), np.array([oA])))
    row = encode(table.turns(), layout)[0]
    seen = pieces_of(layout, row)
    nothing = [0, 0, 0]
    if seat == 0:
        assert seen == {
            "own_claim": [3, 1, 3],
            "theirs_act_0": [1 + Act.DISAGREE],
            "theirs_offer_0": nothing,
            "mine_act_0": [1 + Act.PROPOSE],
            "mine_offer_0": [2, 1, 4],
            "theirs_act_1": [1 + Act.PROPOSE],
            "theirs_offer_1": [3, 1, 3],
            "mine_act_1": [1 + Act.INSIST],
            "mine_offer_1": [3, 1, 3],
        }
    else:
        assert seen == {
            "own_claim": nothing,
            "theirs_act_0": [1 + Act.PROPOSE],
            "theirs_offer_0": [2, 2, 1],
            "mine_act_0": [1 + Act.DISAGREE],
            "mine_offer_0": nothing,
            "theirs_act_1": [1 + Act.INSIST],
            "theirs_offer_1": [1, 2, 2],
            "mine_act_1": [0],
            "mine_offer_1": nothing,
        }
    memoryless = BaseLayout(4, 5)
    assert row[: layout.base_width].tolist() == encode(table.turns(), memoryless)[0].tolist()
    assert layout.name == "base-v1+history-v1(max_count=4, max_turns=5)" and layout.base_width == memoryless.width


@pytest.mark.parametrize(("max_turns", "disagree"), [(2, "ends"), (10, "rejects")])
def test_history_features_can_be_decoded(max_turns, disagree):
    rng = np.random.default_rng(5)
    scenarios = open_source("uniform", max_count=10).draw(rng, 100)
    table, layout = GameBatch(scenarios, Rules(max_turns, disagree)), BaseLayout(10, max_turns, history=True)
    while table.open:
        turns = table.turns()
        features = encode(turns, layout)
        assert features.min() >= 0 and features.max() <= 1
        acts, keeps = turns.history.act, turns.history.oA
        for row in range(0, turns.size, 7):
            seen, claim = pieces_of(layout, features[row]), [0, 0, 0]
            for turn in range(turns.turns_taken):
                side = "mine" if turn % 2 == turns.seat else "theirs"
                assert seen.pop(f"{side}_act_{turn // 2}") == [acts[row, turn] + 1]
                share = keeps[row, turn] if side == "mine" else turns.counts[row] - keeps[row, turn]
                offer = (share + 1 if acts[row, turn] <= Act.INSIST else np.zeros(3)).astype(int).tolist()
                assert seen.pop(f"{side}_offer_{turn // 2}") == offer
                claim = offer if side == "mine" and any(offer) else claim
            assert seen.pop("own_claim") == claim
            assert not any(any(codes) for codes in seen.values()), "later acts are zeros"
        act = (rng.random((turns.size, 5)) * turns.act_mask * [1, 1, 0.4, 0.9, 0.3]).argmax(axis=1)
        table.step(decide(act, rng.integers(0, turns.counts + 1)))


def test_one_game_and_a_batch_have_the_same_history():
    """So a network with history plays alike in a match, in an environment and on the web page."""
    rng, scenario, rules = np.random.default_rng(7), Scenario((2, 1, 3), ((2, 0, 2), (1, 8, 0))), Rules(9, "rejects")
    layout = BaseLayout(4, 9, history=True)
    for _ in range(20):
        table, state = GameBatch(pack([scenario], "uniform"), rules), State(scenario, rules)
        while table.open:
            turns = table.turns()
            assert encode(turn_of(state, prior=""), layout).tobytes() == encode(turns, layout).tobytes()
            act = (rng.random(5) * turns.act_mask[0] * [1, 1, 0.5, 0.9, 0.3]).argmax()
            oA = rng.integers(0, turns.counts[0] + 1)
            table.step(decide(np.array([act]), oA[None]))
            state = apply(state, Action(Act(int(act)), tuple(oA.tolist())))


def test_observations_hold_no_history():
    with pytest.raises(ObservationError, match="turn_of"):
        ObservationEncoder(BaseLayout(4, 10, history=True))


@pytest.mark.parametrize("rules", [Rules(5, "rejects"), Rules(10)])
def test_views_with_history_show_both_seats_what_the_networks_read(rules):
    env = view(NegotiationEnv(max_turns=rules.max_turns, disagree=rules.disagree), history=True)
    for seed in range(30):
        env.reset(seed=seed)
        while not env.unwrapped.negotiation.is_over:
            mover, state = env.agent_selection, env.unwrapped.negotiation
            seen = env.observe(mover)
            assert seen.tobytes() == encode(turn_of(state, prior=""), env.layout)[0].tobytes()
            assert env.observation_space(mover).contains(seen)
            env.step(env.action_space(mover).sample(env.infos[mover]["action_mask"]))
            now, taken = pieces_of(env.layout, env.observe(mover)), len(state.history)
            said = env.unwrapped.negotiation.history[taken].act_type
            assert now.get(f"mine_act_{taken // 2}", [1 + said]) == [1 + said]  # the last turn has no piece
            before = pieces_of(env.layout, seen)
            assert all(now[name] == code for name, code in before.items() if any(code) and name != "own_claim")
