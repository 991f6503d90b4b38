"""A policy from elsewhere in a seat: it is shown what the view shows, and says what the view takes."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.conformance import check_partner
from dond_marl.envs.features import BaseLayout
from dond_marl.envs.policy_partner import PolicyPartner, view_masks
from dond_marl.envs.views import view
from dond_marl.errors import InputError
from dond_marl.game import Act, Rules, Scenario
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import OccupantError, rollout
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Cause
from dond_marl.splits import action_index
from league.evaluation.heldout_score import before_and_after, heldout_score

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))


def greedy(_seen, masks):
    """Agrees if it may, otherwise asks for everything."""
    everything = [masks[:, 5 + 5 * item : 10 + 5 * item].sum(axis=1) - 1 for item in range(3)]
    return np.stack([np.where(masks[:, Act.AGREE], Act.AGREE, Act.PROPOSE), *everything], axis=1)


def first_legal(_seen, masks):
    """The last legal offer that keeps the most by number, as a numbered act."""
    return 124 - masks[:, 124::-1].argmax(axis=1)


def test_a_policy_is_a_function():
    with pytest.raises(InputError):
        PolicyPartner(3)


def test_policy_partner_conforms():
    short = [(Rules(1), False), (Rules(10), False), (Rules(5, "rejects"), False)]
    check_partner(PolicyPartner(greedy), max_count=4, variants=short)
    check_partner(PolicyPartner(first_legal, "discrete"), max_count=4, variants=short)


@pytest.mark.parametrize("form", ["flat", "discrete"])
def test_policy_partner_observes_the_same_as_the_view(form):
    """The same games, once in the view and once as a partner: the same rows, bit by bit, and the same scores."""
    shown: dict[str, list] = {"view": [], "seat": []}
    say = greedy if form == "flat" else first_legal

    def policy(where):
        def answer(seen, masks):
            shown[where].extend((row.tobytes(), mask.tobytes()) for row, mask in zip(seen, masks, strict=True))
            return say(seen, masks)

        return answer

    scenarios = open_source("lewis").draw(np.random.default_rng(0), 40)
    env = view(SingleAgentView(deal_or_no_dialog_v0.env(), "linear", seat=0), form)
    scores, asked = [], policy("view")
    for row in range(scenarios.size):
        seen, _ = env.reset(options={"scenario": scenarios.scenario(row)})
        ended = False
        while not ended:
            action = asked(seen[None], env.action_masks()[None])[0]
            seen, reward, ended, _, _ = env.step(int(action) if form == "discrete" else action)
        scores.append(reward)
    partner = PolicyPartner(policy("seat"), form)
    for row in range(scenarios.size):
        one = rollout((partner, seat_occupant("linear")), scenarios.rows(slice(row, row + 1)), seed=0)
        assert one.scores[0, 0] == scores[row]
    assert shown["view"] == shown["seat"] and len(shown["view"]) > 60


def test_masks_equal_the_views():
    env = {form: view(gymnasium.make("DealOrNoDialog-v0", seat=0), form) for form in ("flat", "discrete")}
    turns = GameBatch(pack([TABLE], "uniform"), Rules()).turns()
    for form, each in env.items():
        each.reset(options={"scenario": TABLE})
        assert (view_masks(turns, 4, form)[0] == each.action_masks()).all()


def test_illegal_answer_becomes_end():
    turns = GameBatch(pack([TABLE, TABLE, TABLE], "uniform"), Rules()).turns()
    answers = np.array([[Act.AGREE, 0, 0, 0], [Act.PROPOSE, 2, 0, 0], [Act.INSIST, 1, 2, 0]])
    said = PolicyPartner(lambda _seen, _masks: answers).act(turns)
    assert said.act_type.tolist() == [Act.END, Act.END, Act.INSIST]
    assert said.oA.tolist() == [[0, 0, 0], [0, 0, 0], [1, 2, 0]]
    assert said.cause.tolist() == [Cause.ILLEGAL, Cause.ILLEGAL, Cause.FREE]
    numbers = action_index(answers[:, 0], answers[:, 1:], 4)
    again = PolicyPartner(lambda _seen, _masks: numbers, "discrete").act(turns)
    assert again.act_type.tolist() == said.act_type.tolist() and (again.cause == said.cause).all()


@pytest.mark.parametrize(
    "answer",
    [*(np.zeros(shape, int) for shape in ((3, 3), (2, 4))), np.zeros((3, 4)), np.full((3, 4), 5), None, "no"],
    ids=str,
)
def test_policy_answer_outside_the_action_space_is_refused(answer):
    turns = GameBatch(pack([TABLE, TABLE, TABLE], "uniform"), Rules()).turns()
    with pytest.raises(ValueError, match=r"whole numbers in 0\.\.4 of shape \[3, 4\]"):
        PolicyPartner(lambda _seen, _masks: answer).act(turns)
    with pytest.raises(OccupantError, match="InvalidAction"):
        rollout(
            (PolicyPartner(lambda _seen, _masks: answer), seat_occupant("linear")), pack([TABLE], "uniform"), seed=0
        )


def test_games_outside_the_layout_are_refused():
    partner = PolicyPartner(greedy)
    for scenario, rules in ((Scenario((5, 0, 0), ((2, 0, 0), (2, 0, 0))), Rules()), (TABLE, Rules(11))):
        with pytest.raises(ValueError, match="up to 4 items of a type and 10 turns; these have"):
            partner.act(GameBatch(pack([scenario], "uniform"), rules).turns())
    wider = PolicyPartner(first_legal_of_five, "discrete", BaseLayout(5, 11))
    assert wider.act(GameBatch(pack([scenario], "uniform"), Rules(11)).turns()).act_type.tolist() == [Act.PROPOSE]


def first_legal_of_five(seen, masks):
    assert seen.shape[1] == 15 and masks.shape[1] == 2 * 6**3 + 3
    return masks.argmax(axis=1)


def test_heldout_score(capsys):
    result = heldout_score("pushover")
    assert result.points.n == 2 * 1977 and 1 < result.points.mean < 4 and result.deals > 0.9
    with before_and_after(PolicyPartner(greedy)):
        pass
    told = capsys.readouterr().out
    assert told.startswith("points of ten against heuristic, held-out scenarios: ") and told.count("±") == 2
    assert told.endswith("s\n") and " before, " in told
