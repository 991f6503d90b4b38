"""Hints in the infos of the environments: who finds what, when, and the same as in the batched play loop."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, seed_test

from dond_marl import SingleAgentView, deal_or_no_dialog_v0
from dond_marl.envs.features import BaseLayout
from dond_marl.envs.views import view
from dond_marl.game import SEATS, Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Traits, decide
from hints import ExpertHinter, HintAdapter, HintInjectorEnv, HintSchedule, RandomHinter

# The same warnings as in test_env_api.py: Dict actions and observations are legal but unusual.
unusual = pytest.mark.filterwarnings(
    "ignore:Action space for each agent probably should be:UserWarning",
    "ignore:Observation space for each agent probably should be:UserWarning",
    "ignore:Observation is not a NumPy array:UserWarning",
    "ignore:.*is different from the unwrapped version:UserWarning",
)
GREEDY = ExpertHinter(seat_occupant("heuristic"))
GENEROUS = {"act_type": Act.PROPOSE, "oA": [0, 0, 0]}
SOURCE = open_source("uniform")


class Writes:
    """Plays as another partner does and writes down its hints."""

    def __init__(self, partner) -> None:
        self.partner, self.traits, self.told = partner, partner.traits, {}

    def act(self, turns):
        self.told[turns.turns_taken] = turns.hint_features.copy()
        return self.partner.act(turns)


class Haggles:
    """Makes random offers, and now and then says another legal act."""

    traits = Traits()

    def act(self, turns):
        own = seat_occupant("random").act(turns)
        ends = turns.noise[:, 4] < 0.1
        offers = (turns.noise[:, 1:4] * (turns.counts + 1)).astype(np.int8)
        return decide(np.where(ends, own.act_type, turns.noise[:, 5] < 0.5), np.where(ends[:, None], own.oA, offers))


class Looks:
    """Has an opinion on everything that it sees, so that another observation gives another act."""

    traits = Traits(deterministic=True)

    def act(self, turns):
        seen = [
            turns.my_utilities,
            turns.partner_utilities,
            turns.last_partner_offer_for_me,
            turns.history.oA.sum(axis=1),
        ]
        seen = np.concatenate([*seen, turns.act_mask, turns.turns_remaining[:, None]], axis=1)
        sums = (seen * np.arange(1, seen.shape[1] + 1)).sum(axis=1) + len(turns.prior) + turns.rules.max_turns
        return decide(sums % 2, turns.counts)._replace(confidence=(sums % 997 / 997).astype(np.float32))


def hints_along_a_game(env, games, row, seed=None):
    """The hints of each turn's seat to move, and of all others', while the environment replays one recorded game."""
    scenario = games.scenarios.scenario(row)
    env.reset(seed=seed, options={"scenario": scenario})
    heard = []
    for turn in range(games.turns[row]):
        heard.append(env.infos[env.agent_selection]["hint_features"])
        other = SEATS[1 - turn % 2]
        assert not env.infos[other]["hint_features"].any(), "only the seat to move is told"
        env.step({"act_type": games.act[row, turn], "oA": games.oA[row, turn]})
    assert env.unwrapped.negotiation.is_over
    assert not any(info["hint_features"].any() for info in env.infos.values()), "after the end nobody is told"
    return np.array(heard)


@unusual
@pytest.mark.parametrize("hinter", ["random", GREEDY], ids=["random", "expert"])
def test_the_hinted_aec_environment_passes_pettingzoos_api_and_seed_tests(hinter):
    api_test(HintInjectorEnv(deal_or_no_dialog_v0.env(), hinter, 2), num_cycles=300)
    seed_test(lambda: HintInjectorEnv(deal_or_no_dialog_v0.env(), hinter), num_cycles=200)
    api_test(view(HintInjectorEnv(deal_or_no_dialog_v0.env(), hinter)), num_cycles=300)
    api_test(HintInjectorEnv(view(deal_or_no_dialog_v0.env()), hinter), num_cycles=300)


@unusual
@pytest.mark.parametrize("seat", [None, 0, 1])
def test_the_hinted_single_seat_passes_gymnasiums_checker(seat):
    check_env(HintInjectorEnv(gymnasium.make("DealOrNoDialog-v0", seat=seat).unwrapped))
    made = view(HintInjectorEnv(gymnasium.make("DealOrNoDialog-v0", seat=seat).unwrapped, cadence_k=2))
    check_env(made, skip_render_check=True)
    again = gymnasium.make(made.spec)
    assert made.reset(seed=4)[1]["hint_features"].tolist() == again.reset(seed=4)[1]["hint_features"].tolist()


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    max_turns=st.integers(1, 12),
    disagree=st.sampled_from(["ends", "rejects"]),
    reveal=st.booleans(),
    cadence_k=st.integers(1, 4),
    hinter=st.sampled_from([GREEDY, ExpertHinter(Looks())]),
)
def test_environment_and_rollout_give_equal_hints(seed, max_turns, disagree, reveal, cadence_k, hinter):
    scenarios, rules = SOURCE.draw(np.random.default_rng(seed), 4), Rules(max_turns, disagree)
    players = Writes(Haggles()), Writes(Haggles())
    schedule = HintSchedule(hinter, cadence_k)
    games = rollout(
        players, scenarios, rules, seed=seed, reveal_partner_utilities=reveal,
        hints=(schedule, schedule),
    )  # fmt: skip
    bare = deal_or_no_dialog_v0.env(max_turns=max_turns, disagree=disagree, reveal_partner_utilities=reveal)
    env = HintInjectorEnv(bare, hinter, cadence_k)
    batched = players[0].told | players[1].told
    for row in range(games.size):
        heard = hints_along_a_game(env, games, row)
        for turn, features in enumerate(heard):
            assert (features == batched[turn][int((games.turns[:row] > turn).sum())]).all()
    assert env.schedule.tally == schedule.tally


@pytest.mark.parametrize("seed", [0, 7])
def test_environment_gives_the_random_hints_of_a_block_of_one(seed):
    players = Writes(seat_occupant("tough")), Writes(seat_occupant("versatile"))
    schedule = HintSchedule(RandomHinter())
    games = rollout(
        players, SOURCE.draw(np.random.default_rng(seed), 1), seed=seed, index=(0,), hints=(schedule, schedule)
    )
    heard = hints_along_a_game(HintInjectorEnv(deal_or_no_dialog_v0.env(), "random"), games, 0, seed)
    batched = players[0].told | players[1].told
    assert (heard == np.concatenate([batched[turn] for turn in sorted(batched)])).all()


def test_the_same_seed_gives_the_same_hints_and_the_environments_own_numbers_stay():
    bare = deal_or_no_dialog_v0.env()
    runs = []
    for seed in (1, 1, 2):
        env, hints = HintInjectorEnv(deal_or_no_dialog_v0.env(), "random"), []
        for game in range(6):
            env.reset(seed=seed if game == 0 else None)
            bare.reset(seed=seed if game == 0 else None)
            assert env.unwrapped.negotiation == bare.negotiation
            for _ in range(4):
                hints.append(env.infos[env.agent_selection]["hint_features"].tolist())
                env.step(GENEROUS)
        runs.append(hints)
    assert runs[0] == runs[1] != runs[2]


def test_games_of_one_seed_have_random_hints_of_their_own():
    env, hints = HintInjectorEnv(deal_or_no_dialog_v0.env(), "random"), set()
    for game in range(3):
        table = {"counts": (4, 4, 4), "utilities": [(1, 1, 1)] * 2}
        env.reset(seed=1 if game == 0 else None, options={"scenario": table})
        hints.add(tuple(env.infos["seat_0"]["hint_features"].tolist()))
    assert len(hints) == 3


@pytest.mark.parametrize(("cadence_k", "seat"), [(1, 0), (2, 1), (3, 0)])
def test_the_single_seat_gets_a_hint_on_exactly_every_kth_own_step(cadence_k, seat):
    env = HintInjectorEnv(SingleAgentView(deal_or_no_dialog_v0.env(), "tough", seat), GREEDY, cadence_k)
    for _ in range(2):
        _, info = env.reset(seed=1)
        hinted, over = [info["hint_features"].any()], False
        while not over:
            info["hint_features"][:] = 7  # the array is the user's own
            _, _, over, _, info = env.step({"act_type": Act.PROPOSE, "oA": info["oA_max"]})
            hinted.append(info["hint_features"].any())
        assert hinted == [*(step % cadence_k == 0 for step in range(5)), False]
    assert env.schedule.tally["available"] == env.schedule.tally["asked"] > 0


@pytest.mark.parametrize("actions", ["flat", "discrete", "dict"])
def test_views_over_it_keep_the_hints(actions):
    bare = HintInjectorEnv(deal_or_no_dialog_v0.env(), GREEDY)
    seen = view(HintInjectorEnv(deal_or_no_dialog_v0.env(), GREEDY), actions)
    below = SingleAgentView(HintInjectorEnv(deal_or_no_dialog_v0.env(), GREEDY), seat=0)
    above = view(HintInjectorEnv(SingleAgentView(deal_or_no_dialog_v0.env(), seat=0), GREEDY), actions)
    for env in (bare, seen):
        env.reset(seed=2)
        assert env.infos["seat_0"]["hint_features"][9] == 1 == env.last()[4]["hint_features"][9]
    assert below.reset(seed=2)[1]["hint_features"].tolist() == above.reset(seed=2)[1]["hint_features"].tolist()


def test_the_adapter_reads_the_environment_as_it_reads_turns():
    players = Writes(seat_occupant("tough")), Writes(seat_occupant("versatile"))
    adapter, seen = HintAdapter(BaseLayout(4, 10, partner_utilities=True)), []
    players[1].act = lambda turns: seen.append(adapter.encode(turns)[0]) or players[1].partner.act(turns)
    games = rollout(
        players, SOURCE.draw(np.random.default_rng(3), 1), seed=1, reveal_partner_utilities=True,
        hints=(None, HintSchedule(GREEDY, 2)),
    )  # fmt: skip
    env = HintInjectorEnv(deal_or_no_dialog_v0.env(reveal_partner_utilities=True), GREEDY, 2, seats=[1])
    env.reset(options={"scenario": games.scenarios.scenario(0)})
    for turn in range(games.turns[0]):
        if turn % 2:
            assert (adapter.features(env.observe("seat_1"), env.infos["seat_1"]) == seen.pop(0)).all()
        env.step({"act_type": games.act[0, turn], "oA": games.oA[0, turn]})
    assert not adapter.features(env.observe("seat_1"))[-10:].any(), "without hints, ten zeros"
    with pytest.raises(ValueError, match="must be 10 numbers"):
        adapter.features(env.observe("seat_1"), {"hint_features": [1, 2]})


def test_seats_are_drawn_in_different_colours():
    only = HintInjectorEnv(deal_or_no_dialog_v0.env(), GREEDY, seats=[1])
    both = HintInjectorEnv(only, "random", seats=(0,))
    both.reset(seed=1)
    assert only.infos["seat_0"]["hint_features"].shape == (10,) and not only.infos["seat_0"]["hint_features"].any()
    assert both.infos["seat_0"]["hint_features"][9] == 1 and both.infos["seat_0"]["hint_features"][8] == 0
    both.step(GENEROUS)
    assert both.infos["seat_1"]["hint_features"][8:].tolist() == [1, 1], "the inner wrapper's hint is kept"
    agent = HintInjectorEnv(SingleAgentView(deal_or_no_dialog_v0.env(), seat=0), GREEDY, seats=[1])
    assert not agent.reset(seed=1)[1]["hint_features"].any() and not agent.schedule.tally


def test_what_cannot_be_hinted_is_refused_by_name():
    env = deal_or_no_dialog_v0.env()
    with pytest.raises(TypeError, match=r"takes the AEC environment.*got ParallelNegotiationEnv"):
        HintInjectorEnv(deal_or_no_dialog_v0.parallel_env())
    with pytest.raises(ValueError, match="'hal'"):
        HintInjectorEnv(env, "hal")
    with pytest.raises(ValueError, match="a seat is 0, 1, 'seat_0' or 'seat_1'"):
        HintInjectorEnv(env, GREEDY, seats=[2])


def test_an_occupant_by_name_is_a_hinter():
    """The heuristic opens by asking for everything that it values."""
    view = SingleAgentView(deal_or_no_dialog_v0.env(scenarios="lewis"), partner="tough", seat=0)
    env = HintInjectorEnv(view, "heuristic")
    observation, info = env.reset(seed=1)
    kept = observation["counts"] * (np.asarray(observation["my_utilities"]) > 0)
    assert info["hint_features"][Act.PROPOSE] == 1 == info["hint_features"][9]
    assert np.allclose(info["hint_features"][5:8], kept / np.maximum(observation["counts"], 1))
