"""What a turn looks like to a network."""

from __future__ import annotations

import numpy as np
import pytest

from dond_marl.batch import Table
from dond_marl.envs.aec import NegotiationEnv
from dond_marl.envs.features import BaseLayout, ObservationEncoder, encode
from dond_marl.envs.turn import turn_of
from dond_marl.game import Act, Rules, Scenario
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import decide


def test_features_of_a_worked_position():
    # pool: 2 books, 1 hat, 3 balls. seat_1 values 1/8/0 and has heard "I keep 1 book, 0 hats, 3 balls".
    scenario = Scenario((2, 1, 3), ((2, 0, 2), (1, 8, 0)))
    table = Table(pack([scenario]), Rules(max_turns=10))
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
    revealed = encode(Table(scenarios, reveal_partner_utilities=True).turns(), layout)
    hidden = encode(Table(scenarios).turns(), layout)
    assert revealed[:, 6:9] == pytest.approx(scenarios.utilities[:, 1] / 10)
    assert not hidden[:, 6:9].any()
    assert layout.width == 18


@pytest.mark.parametrize("max_count", [4, 10])
def test_every_feature_lies_in_zero_to_one(max_count):
    rng = np.random.default_rng(1)
    table = Table(open_source("uniform", max_count=max_count).draw(rng, 300), Rules(7, "rejects"))
    layout = BaseLayout(max_count, 7)
    while table.open:
        turns = table.turns()
        features = encode(turns, layout)
        assert features.dtype == np.float32 and features.shape == (turns.size, layout.width)
        assert features.min() >= 0 and features.max() <= 1
        assert (features[:, 6:11].sum(axis=1) == 1).all()
        act = (rng.random((turns.size, 5)) * turns.act_mask).argmax(axis=1)
        table.step(decide(act, rng.integers(0, turns.counts + 1)))


@pytest.mark.parametrize("reveal", [False, True])
@pytest.mark.parametrize("max_turns", [1, 7, 10, 100])
def test_one_observation_is_encoded_to_the_bits_of_a_batch_of_one(reveal, max_turns):
    env = NegotiationEnv(max_turns=max_turns, disagree="rejects", max_count=7, reveal_partner_utilities=reveal)
    layout = BaseLayout(7, max_turns, reveal)
    encode_one = ObservationEncoder(layout)
    env.action_space("seat_0").seed(3)
    for game in range(40):
        env.reset(seed=game)
        while not env.negotiation.over:
            for agent in env.possible_agents:
                seen = env.observe(agent)
                row = encode_one(seen)
                assert row.dtype == np.float32 and row.shape == (layout.width,) == (encode_one.width,)
                pieces = {name: np.array([value], dtype=np.int8) for name, value in seen.items()}
                assert row.tobytes() == encode(turn_of(env.negotiation)._replace(**pieces), layout)[0].tobytes()
            env.step(env.action_space("seat_0").sample(env.infos[env.agent_selection]["action_mask"]))
