"""Items sorted by value, so that similar positions share one prompt."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from dond_marl.batch import GameBatch
from dond_marl.conformance import check_partner
from dond_marl.game import Act, Action, Rules
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.seats import decide
from dond_marl.splits import action_index
from partners.llm.occupant import llm
from partners.llm.partner import LLMPartner
from partners.llm.prompt import load_template, sort_by_value
from partners.llm.reply import reply_line
from tests.partners.llm.test_local import client
from tests.partners.llm.test_local import folder as folder
from tests.partners.llm.test_partner import Model

DRAWN = open_source("lewis").block(3, 0, 40)
ORDERS = np.array(list(permutations(range(3))))


def replace_names(order) -> Scenarios:
    """The same scenarios, in which other items are called books, hats and balls."""
    return Scenarios(DRAWN.counts[:, order], DRAWN.utilities[:, :, order])


def answering(order):
    """The third turn, after an offer of each side."""
    table = GameBatch(replace_names(order), Rules(6))
    for keeps in (DRAWN.counts, DRAWN.counts // 2):
        table.step(decide(np.zeros(DRAWN.size), keeps[:, order]))
    return table.turns()


def keeps_the_last(ask) -> str:
    """Everything of the last item that it is told of, and nothing else: it goes by the names."""
    return reply_line(Action(Act.PROPOSE, (0, 0, ask.legal.counts[2])), 0.5)


def test_sorted_items_share_prompts():
    prompts, kept, asked_by_name = set(), set(), set()
    for order in ORDERS:
        turns = answering(order)
        told, places = sort_by_value(turns)
        assert (np.diff(told.my_utilities.astype(int), axis=1) >= 0).all()
        assert (np.take_along_axis(turns.history.oA[:, 1], places, axis=1) == told.history.oA[:, 1]).all()
        prompts.add(tuple(load_template().render(told)))
        asked_by_name.add(tuple(load_template().render(turns)))
        said = LLMPartner(Model(keeps_the_last), sorted_items=True).act(turns)
        kept.add(tuple(np.sum(said.oA * turns.my_utilities, axis=1, dtype=int).tolist()))
        best = turns.my_utilities.max(axis=1)
        assert (said.cause == 0).all() and ((said.oA * turns.my_utilities).max(axis=1) >= best * (best > 0)).all()
    assert len(prompts) == len(kept) == 1 and len(asked_by_name) == 6


def test_items_are_not_sorted_in_games_with_messages():
    """Somebody who says “hats” means hats."""
    table = GameBatch(replace_names(ORDERS[3]), Rules(6, message_length=40))
    for talk in (False, True):
        turns = table.turns() if talk else answering(ORDERS[3])
        kept = LLMPartner(Model(keeps_the_last), sorted_items=True).act(turns).oA
        assert (kept[:, :2] == 0).all() == talk


def test_sorted_local_model_contract_and_probabilities(folder):
    from partners.llm.partner import LocalLLMPartner

    def seated(**changes) -> LocalLLMPartner:
        local = client(folder, **changes)
        return LocalLLMPartner(local, local, sorted_items=True)

    check_partner(seated(), max_count=3, games=3, sources=("uniform",), variants=((Rules(4, "rejects"), True),))
    player, turns = seated(temperature=1.0), answering(ORDERS[3])
    said, probs = player.act(turns), player.probs(turns, 4)
    chosen = probs[np.arange(turns.size), action_index(said.act_type, said.oA, 4)]
    assert np.allclose(said.confidence, chosen, atol=2e-6) and np.allclose(probs.sum(axis=1), 1)
    assert player.local.tally["prompt_tokens"] > 0


def test_sorted_items_is_in_the_identity(folder):
    from dond_marl.occupants import seat_occupant
    from partners.provenance import identity

    plain, told = (f"llm(provider=hf, model='{folder}'{more})" for more in ("", ", sorted_items=True"))
    assert identity(plain) != identity(told) and seat_occupant(told).sorted_items
    with pytest.raises(ValueError, match="got 'yes'"):
        llm("hf", str(folder), sorted_items="yes")
