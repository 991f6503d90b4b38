"""The engine on a device plays exactly the games of the batched engine, and shows the same of them, turn by turn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dond_marl.batch import GameBatch
from dond_marl.game import Act, IllegalAct, Rules
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import decide
from partners.device.policy import features, mask
from partners.device.table import DeviceTable, to_device
from partners.network.shape import NetworkShape

CPU = torch.device("cpu")


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    max_turns=st.sampled_from((1, 2, 3, 4, 7, 10)),
    disagree=st.sampled_from(("ends", "rejects")),
    source=st.sampled_from(("uniform", "lewis")),
    reveal=st.booleans(),
    history=st.sampled_from(("none", "flat")),
    foreseen=st.sampled_from((1.0, 0.5)),
)
def test_random_legal_play_is_the_same_on_a_device(seed, max_turns, disagree, source, reveal, history, foreseen):
    rng = np.random.default_rng(seed)
    scenarios, rules = open_source(source).draw(rng, 40), Rules(max_turns, disagree)
    turns_foreseen = math.ceil(foreseen * max_turns)  # a network may sit in games longer than those it is made for
    shape = NetworkShape(max_turns=turns_foreseen, partner_utilities=reveal, history=history)
    host = GameBatch(scenarios, rules, reveal_partner_utilities=reveal)
    table = DeviceTable(*to_device(CPU, scenarios), rules, reveal_partner_utilities=reveal, prior="uniform")
    while host.open:
        turns, seen = host.turns(), table.turns()
        assert (table.turns_taken, table.seat, table.live.tolist()) == (host.turns_taken, host.seat, host.live.tolist())
        assert (seen.counts.numpy() == turns.counts.T).all()
        assert (seen.my_utilities.numpy() == turns.my_utilities.T).all()
        assert (seen.last_partner_act.numpy() == turns.last_partner_act).all()
        assert (seen.act_mask.numpy() == turns.act_mask.T).all()
        assert (table.partner_utilities().numpy() == host.partner_utilities().T).all()
        acts, offers = seen.history()
        assert (acts.numpy() == turns.history.act.T).all()
        assert (offers.numpy() == turns.history.oA.transpose(1, 2, 0)).all()
        assert features(seen, shape.adapter).numpy().tobytes() == shape.adapter.encode(turns).tobytes()
        assert (mask(seen, shape).numpy() == shape.mask(turns)).all()
        weights = turns.act_mask * np.array([6, 3, 1, 1, 0.5])  # long games, every ending
        act = (rng.random((turns.size, 5)) * weights).argmax(axis=1).astype(np.int8)
        oA = rng.integers(0, turns.counts + 1, dtype=np.int8)
        fits = rng.random(turns.size) < 0.3  # so that final selections close deals too
        oA[fits] = turns.last_partner_offer_for_me[fits]
        host.step(decide(act, oA))
        table.step(torch.from_numpy(act), torch.from_numpy(oA.T.copy()))
    assert table.open == 0
    finished, games = table.finished_games(), host.games()
    ours = finished.games(scenarios)
    for name in ("act", "oA", "turns", "ending", "deal", "allocation", "scores", "cause"):
        assert (getattr(ours, name) == getattr(games, name)).all(), name
        assert getattr(ours, name).dtype == getattr(games, name).dtype, name
    assert finished.valid is None


@pytest.mark.parametrize(
    ("act", "add", "words"),
    [
        (Act.PROPOSE, 1, r"illegal in 1 of 8 games; first in game 5: PROPOSE of \["),
        (Act.INSIST, -100, r"first in game 5: INSIST of \["),
        (Act.AGREE, 0, "first in game 5: AGREE"),
        (7, 0, "first in game 5: act 7"),
    ],
)
def test_illegal_act_names_its_game(act, add, words):
    scenarios = open_source("lewis").draw(np.random.default_rng(0), 8)
    table = DeviceTable(*to_device(CPU, scenarios), prior="uniform")
    acts, oA = torch.zeros(8, dtype=torch.int8), torch.from_numpy(scenarios.counts.T.copy())
    acts[5] = act
    oA[1, 5] += add
    with pytest.raises(IllegalAct, match=words):
        table.step(acts, oA)
    assert table.turns_taken == 0 and table.open == 8
    table.step(torch.zeros_like(acts), torch.from_numpy(scenarios.counts.T.copy()))
    assert table.turns_taken == 1
