"""One seat as a Gymnasium environment: who sits where, what the partner is shown, what the agent earns."""

from __future__ import annotations

from dataclasses import dataclass, field

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.batch import GameBatch
from dond_marl.conformance import check_partner
from dond_marl.envs.aec import OrderError
from dond_marl.envs.features import BaseLayout
from dond_marl.envs.policy_partner import PolicyPartner, view_masks
from dond_marl.envs.single_agent import PartnerError
from dond_marl.envs.spaces import ActionMask
from dond_marl.envs.turn import only_action, turn_of
from dond_marl.envs.views import view
from dond_marl.errors import InputError
from dond_marl.game import Act, IllegalAct, Rules, Scenario
from dond_marl.occupants import OccupantNameError, seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source, pack
from dond_marl.seats import Cause, Decisions, Traits, Turns, decide
from dond_marl.splits import action_index
from league.evaluation.heldout_score import before_and_after, heldout_score

TABLE = Scenario((1, 2, 2), ((4, 1, 2), (0, 4, 1)))
SURE, FREE = Traits(deterministic=True), Traits()
END, AGREE = {"act_type": 4, "oA": [0, 0, 0]}, {"act_type": 2, "oA": [0, 0, 0]}


@dataclass
class Says:
    """Says the same in every turn, and keeps what it was shown."""

    act_type: int
    oA: tuple[int, int, int] = (0, 0, 0)
    traits: Traits = SURE
    seen: list[Turns] = field(default_factory=list)

    def act(self, turns: Turns) -> Decisions:
        self.seen.append(turns)
        return decide(np.array([self.act_type]), np.array([self.oA]))


@dataclass
class SometimesLeaves:
    """Ends the game at once in a share of its games, otherwise asks for everything: a persona from the game's noise."""

    share: float = 0.5
    traits: Traits = FREE

    def act(self, turns: Turns) -> Decisions:
        leaves = turns.game_noise[:, 0] < self.share
        return decide(np.where(leaves, Act.END, Act.PROPOSE), turns.counts)


class Wild:
    """A random legal offer or, rarely, another act."""

    traits = Traits()

    def act(self, turns: Turns) -> Decisions:
        act = np.where(turns.noise[:, 0] < 0.8, Act.PROPOSE, np.where(turns.act_mask[:, 2], Act.AGREE, Act.DISAGREE))
        return decide(act, (turns.noise[:, 1:4] * (turns.counts + 1)).astype(np.int8))


def against(partner: object, seat: int | None = None, **settings: object) -> SingleAgentView:
    return SingleAgentView(deal_or_no_dialog_v0.env(**settings), partner, seat)


def test_agent_in_seat_0_is_paid_for_a_deal():
    env = against(Says(Act.AGREE), seat=0)
    seen, info = env.reset(options={"scenario": TABLE})
    assert seen["my_utilities"].tolist() == [4, 1, 2] and info["seat"] == "seat_0" and info["skipped_games"] == 0
    seen, reward, ended, cut, info = env.step({"act_type": 0, "oA": np.array([1, 0, 2])})
    assert (reward, ended, cut) == (8.0, True, False) and type(reward) is float
    assert info["outcome"]["scores"] == (8, 8) and info["outcome"]["allocation"] == ((1, 0, 2), (0, 2, 0))


def test_agent_in_seat_1_may_agree_to_the_opening():
    env = against(Says(Act.PROPOSE, (1, 0, 2)), seat=1)
    seen, info = env.reset(options={"scenario": TABLE})
    assert seen["last_partner_offer_for_me"].tolist() == [0, 2, 0] and info["action_mask"][Act.AGREE] == 1
    assert env.step(AGREE)[1:4] == (8.0, True, False)


def test_seat_is_drawn_unless_fixed():
    env = against("heuristic")
    seats = [env.reset(seed=1 if game == 0 else None)[1]["seat"] for game in range(40)]
    assert 8 < seats.count("seat_0") < 32
    assert seats == [env.reset(seed=1 if game == 0 else None)[1]["seat"] for game in range(40)]
    for seat in (0, 1):
        env = against("heuristic", seat)
        assert {env.reset()[1]["seat"] for _ in range(5)} == {f"seat_{seat}"} == {env.agent}


def test_games_that_end_before_the_agent_moves_are_skipped():
    env = against(SometimesLeaves(), seat=1)
    skipped = [env.reset(seed=7 if game == 0 else None)[1]["skipped_games"] for game in range(200)]
    assert 0.7 < np.mean(skipped) < 1.4 and min(skipped) == 0  # a fair coin: one skipped game per episode
    env = against(SometimesLeaves(), seat=0)
    assert env.reset(seed=7)[1]["skipped_games"] == 0


def test_partner_that_always_ends_first_is_an_error():
    env = against(Says(Act.END), seat=1)
    with pytest.raises(PartnerError, match="100 games in a row ended before seat_1 could move: Says"):
        env.reset()
    assert against(Says(Act.END)).reset(seed=0)[1]["seat"] == "seat_0"  # where it is drawn, the other one is found


def test_seat_that_never_plays_warns_once():
    for partner, given_settings, why in (
        (Says(Act.END), {}, "Says ends them"),
        ("heuristic", {"max_turns": 1}, "max_turns=1"),
    ):
        env = against(partner, **given_settings)
        with pytest.warns(UserWarning, match="20 games ended before seat_1 could move.*seat_0") as warned:
            skipped = sum(env.reset(seed=1 if game == 0 else None)[1]["skipped_games"] for game in range(80))
        assert skipped > 40 and len(warned) == 1 and why in str(warned[0].message)
    env = against(SometimesLeaves(0.9))  # met at times: nothing to say, and a warning would be an error
    assert sum(env.reset(seed=1 if game == 0 else None)[1]["skipped_games"] for game in range(80)) > 40


def test_same_seed_same_episodes():
    def episodes(env: SingleAgentView, seed: int) -> list[object]:
        told: list[object] = []
        for game in range(6):
            seen, info = env.reset(seed=seed if game == 0 else None)
            told.append((seen["counts"].tolist(), seen["my_utilities"].tolist(), info["seat"]))
            ended = False
            while not ended:
                _, reward, ended, _, _ = env.step({"act_type": 0, "oA": info["oA_max"]})
            told.append((reward, env.game.negotiation.history))
        return told

    env = against(Wild())
    first = episodes(env, 3)
    assert first == episodes(env, 3) == episodes(against(Wild()), 3) != episodes(env, 4)


def test_noise_per_turn_and_per_game():
    free, sure = Says(Act.PROPOSE, traits=Traits()), Says(Act.PROPOSE)
    for partner in (free, sure):
        env = against(partner, seat=1)
        env.reset(seed=1)
        for _ in range(3):
            env.step({"act_type": 0, "oA": [0, 0, 0]})
        env.reset()
    turns = [turn.noise for turn in free.seen]
    assert all(noise.shape == (1, 8) and (noise >= 0).all() and (noise < 1).all() for noise in turns)
    assert len({noise.tobytes() for noise in turns}) == 5
    games = [turn.game_noise.tobytes() for turn in free.seen]
    assert len(set(games[:4])) == 1 and games[4] != games[0]
    assert all(np.isnan(turn.noise).all() and np.isnan(turn.game_noise).all() for turn in sure.seen)


@pytest.mark.parametrize("seat", [0, 1])
def test_view_and_rollout_play_the_same_games(seat):
    agent, partner = seat_occupant("boulware"), seat_occupant("heuristic")
    scenarios = open_source("lewis").draw(np.random.default_rng(4), 40)
    games = rollout((agent, partner) if seat == 0 else (partner, agent), scenarios, seed=0)
    env = against(partner, seat, scenarios="lewis")
    for row in range(40):
        env.reset(options={"scenario": scenarios.scenario(row)})
        ended = False
        while not ended:
            said = only_action(agent.act(turn_of(env.game.negotiation, prior="lewis")))
            _, reward, ended, _, info = env.step({"act_type": said.act_type, "oA": said.oA})
        assert info["outcome"]["scores"] == tuple(games.scores[row]) and reward == games.scores[row, seat]
        assert [a.act_type for a in env.game.negotiation.history] == games.act[row, : games.turns[row]].tolist()


@pytest.mark.parametrize(
    ("partner", "complaint"),
    [
        (Says(Act.AGREE), "the partner Says in seat_0 answered an illegal act: AGREE needs"),
        (Says(Act.PROPOSE, (9, 0, 0)), "the partner Says in seat_0 answered an illegal act: PROPOSE must keep"),
        (Says(7), "the partner Says in seat_0 failed: ValueError: act_type must be in 0..4; got 7..7"),
    ],
)
def test_illegal_act_of_the_partner_names_it(partner, complaint):
    env = against(partner, seat=1)
    with pytest.raises(PartnerError, match=complaint):
        env.reset()


@dataclass
class FailsWhenAnswering:
    """Opens as it should, and fails from its second turn on, or in every turn."""

    opens: bool = True
    traits: Traits = SURE

    def act(self, turns: Turns) -> Decisions:
        if turns.turns_taken or not self.opens:
            raise ConnectionError("gone")
        return decide(np.zeros(1), turns.counts)


def test_after_a_partner_failure_there_is_no_game():
    partner = FailsWhenAnswering()
    env = against(partner, seat=1)
    env.reset(seed=1)
    with pytest.raises(PartnerError, match="FailsWhenAnswering in seat_0 failed: ConnectionError: gone"):
        env.step({"act_type": 0, "oA": [0, 0, 0]})
    said = env.game.negotiation.history
    with pytest.raises(OrderError, match=r"call reset\(\) first"):
        env.step(END)
    assert env.game.negotiation.history == said and len(said) == 2
    env.reset()  # a game goes on, and the partner fails in the next reset
    partner.opens = False
    with pytest.raises(PartnerError, match="gone"):
        env.reset()
    with pytest.raises(OrderError, match=r"call reset\(\) first"):
        env.step(END)
    assert env.game.negotiation.history == ()


def test_illegal_act_of_the_agent_forfeits_or_raises():
    env = against("heuristic", seat=0)
    env.reset(seed=1)
    _, reward, ended, _, info = env.step(AGREE)
    assert (reward, ended) == (0.0, True) and "AGREE needs" in info["illegal"]
    env = against("heuristic", seat=0, illegal="raise")
    env.reset(seed=1)
    with pytest.raises(IllegalAct, match="AGREE needs"):
        env.step(AGREE)
    assert env.step(END)[2]
    assert gymnasium.make("DealOrNoDialog-v0", illegal="raise").unwrapped.game.illegal == "raise"


def test_invalid_arguments():
    with pytest.raises(ValueError, match="a seat is 0, 1, 'seat_0' or 'seat_1'; got"):
        against("heuristic", "seat_2")
    with pytest.raises(TypeError, match=r"takes the AEC environment of dond_marl .*; got ParallelNegotiationEnv"):
        SingleAgentView(deal_or_no_dialog_v0.parallel_env())
    with pytest.raises(OccupantNameError, match=r"give Wild\(\)"):
        against(Wild)
    with pytest.raises(TypeError, match="not the other way round"):
        SingleAgentView(view(deal_or_no_dialog_v0.env()))
    with pytest.raises(OccupantNameError, match="did you mean 'heuristic'"):
        against("heuristik")


def test_partner_observes_the_prior_and_no_agent_values():
    values = ((0, 0, 5), (3, 3, 3))
    for mine in values:
        partner = Says(Act.PROPOSE)
        env = against(partner, seat=1, scenarios="lewis", normalize=True)
        env.reset(options={"scenario": Scenario((1, 2, 2), ((4, 1, 2), mine))})
        assert partner.seen[0].prior == env.game.source.prior and not partner.seen[0].partner_utilities.any()
        assert partner.seen[0].my_utilities.tolist() == [[4, 1, 2]]


def test_infos_are_copies():
    env = against("heuristic", seat=0)
    for _ in range(2):
        _, info = env.reset(options={"scenario": TABLE})
        assert info["oA_max"].tolist() == [1, 2, 2] and np.asarray(info["action_mask"]).tolist() == [1, 1, 0, 1, 1]
        info["oA_max"] += 1
        info["action_mask"]["act_type"][:] = 0
        info["action_mask"]["oA"][0][:] = 0
        assert isinstance(info["action_mask"], ActionMask)
    *_, info = env.step(END)
    info["outcome"]["ending"] = "?"
    assert env.game.infos["seat_0"]["outcome"]["ending"] == "END"


# -- A policy from elsewhere in a seat: it is shown what the view shows, and says what the view takes------------


def greedy(_seen, masks):
    """Agrees if it may, otherwise asks for everything."""
    everything = [masks[:, 5 + 5 * item : 10 + 5 * item].sum(axis=1) - 1 for item in range(3)]
    return np.stack([np.where(masks[:, Act.AGREE], Act.AGREE, Act.PROPOSE), *everything], axis=1)


def first_legal(_seen, masks):
    """The last legal offer that keeps the most by number, as a numbered act."""
    return 124 - masks[:, 124::-1].argmax(axis=1)


def test_policy_partner_conforms():
    short = [(Rules(1), False), (Rules(10), False), (Rules(5, "rejects"), False)]
    check_partner(PolicyPartner(greedy), max_count=4, variants=short)
    check_partner(PolicyPartner(first_legal, "discrete"), max_count=4, variants=short)


def by_all_that_was_shown(seen, masks, state=None, start=None):
    """Any act, by all that was ever shown: with another memory the games would differ."""
    code = (seen.reshape(len(seen), -1) * 1000).astype(int) @ np.arange(1, seen[0].size + 1)
    if start is not None:
        assert start.all() == (state is None) and start.any() == start.all()
        code = code if state is None else 31 * state + code
    pick = code % masks.sum(axis=1)
    acts = (masks.cumsum(axis=1) > pick[:, None]).argmax(axis=1)
    return acts if start is None else (acts, code)


MEMORIES = {
    "nothing": {},
    "history": {},
    "stack": {"frames": 3},
    "zeros": {"frames": 4, "padding": "zero"},
    "state": {"recurrent": True},
    "state of stacks": {"recurrent": True, "frames": 2},
}


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("seat", [0, 1])
def test_policy_partner_plays_the_games_of_its_view(memory, seat):
    """One game after the other with the wrappers of Gymnasium, and all at once as a partner."""
    rules, options = {"disagree": "rejects"}, MEMORIES[memory]
    scenarios = open_source("lewis").draw(np.random.default_rng(seat), 10)
    single = SingleAgentView(deal_or_no_dialog_v0.env(**rules), "linear", seat=seat)
    shown = view(single, "discrete", history=memory == "history")
    env, frames = shown, options.get("frames", 1)
    if frames > 1:
        env = FrameStackObservation(env, frames, padding_type=options.get("padding", "reset"))
    partner = PolicyPartner(by_all_that_was_shown, "discrete", shown.layout, **options)
    assert partner.traits.memoryless == (memory == "nothing")
    together = (partner, seat_occupant("linear"))[:: 1 - 2 * seat]
    games = rollout(together, scenarios, Rules(10, "rejects"), seed=0)
    for row in range(scenarios.size):
        seen, _ = env.reset(options={"scenario": scenarios.scenario(row)})
        ended, state = False, None
        while not ended:
            masks = shown.action_masks()[None]
            if "recurrent" in options:
                action, state = by_all_that_was_shown(seen[None], masks, state, np.array([state is None]))
            else:
                action = by_all_that_was_shown(seen[None], masks)
            seen, *_, ended, _, _ = env.step(int(action[0]))
        history = single.game.negotiation.history
        assert games.act[row, : games.turns[row]].tolist() == [action.act_type for action in history]
        assert games.oA[row, : games.turns[row]].tolist() == [list(action.oA) for action in history]
    assert games.turns.mean() > 4
    if seat == 0:  # the checks query it in both seats
        check_partner(partner, games=2, max_count=4, variants=[(Rules(10), False), (Rules(5, "rejects"), False)])


def test_masks_equal_the_views():
    env = {form: view(gymnasium.make("DealOrNoDialog-v0", seat=0), form) for form in ("flat", "discrete")}
    turns = GameBatch(pack([TABLE], "uniform"), Rules()).turns()
    for form, each in env.items():
        each.reset(options={"scenario": TABLE})
        assert (view_masks(turns, 4, form)[0] == each.action_masks()).all()


@pytest.mark.parametrize("options", [{"frames": 0}, {"padding": "edge"}, {"recurrent": True}])
def test_impossible_memories_are_refused(options):
    with pytest.raises(InputError):
        PolicyPartner(lambda *seen: greedy(*seen[:2]), **options).act(GameBatch(pack([TABLE], "uniform")).turns())


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


@pytest.mark.parametrize("answer", [np.zeros((3, 3), int), np.zeros((3, 4)), np.full((3, 4), 5), None], ids=str)
def test_policy_answer_outside_the_action_space_is_refused(answer):
    turns = GameBatch(pack([TABLE, TABLE, TABLE], "uniform"), Rules()).turns()
    with pytest.raises(ValueError, match=r"whole numbers in 0\.\.4 of shape \[3, 4\]"):
        PolicyPartner(lambda _seen, _masks: answer).act(turns)


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
