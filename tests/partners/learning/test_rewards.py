"""What learners are paid: the formulas by hand, and that a dial turns what is learned and nothing that is reported."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dond_marl.batch import Games
from dond_marl.game import Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import rollout
from dond_marl.scenarios.sources import Scenarios, open_source
from dond_marl.statistics import TEN, points_of_ten
from league.settings.read import ConfigError, load_config
from league.settings.training import TrainConfig
from league.training.training import begin
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.rewards import (
    Inequity,
    Own,
    PartnerSeeker,
    Reward,
    RewardError,
    RewardFailure,
    SocialValue,
    Spite,
    pay,
    reward_name,
    reward_of,
)
from partners.network.checkpoint import load_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork

torch.set_num_threads(1)


LEWIS = open_source("lewis", split="train")
POINTS = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=8)


def some_games(size: int = 4) -> Games:
    scenarios = LEWIS.block(0, 0, size)
    return rollout((seat_occupant("heuristic"), seat_occupant("random")), scenarios, Rules(), seed=0)


GAMES = some_games()


def paid(reward: Reward, earned: object) -> np.ndarray:
    """By a dial that looks at points alone: whichever games those were."""
    return reward(GAMES, np.array(earned, dtype=np.float64), GAMES.scenarios)


# -- the formulas ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "expected"),
    [  # one game in which seat_0 earned 8 and seat_1 earned 3
        ("own", (8, 3)),
        ("svo(90)", (3, 8)),
        ("svo(45)", (11 / math.sqrt(2), 11 / math.sqrt(2))),
        ("svo(-45)", (5 / math.sqrt(2), -5 / math.sqrt(2))),
        ("inequity(envy=2, guilt=0.5)", (8 - 0.5 * 5, 3 - 2 * 5)),
        ("spite", (5, -5)),
        ("spite(weight=0.5)", (6.5, -1)),
        ("partner_seeker", (11, 11)),
    ],
)
def test_rewards_match_their_formulas(spec, expected):
    assert paid(reward_of(spec), [(8, 3)])[0] == pytest.approx(expected)
    assert paid(reward_of(spec), [(3, 8)])[0] == pytest.approx(expected[::-1]), "seats exchanged, pay exchanged"
    assert paid(reward_of(spec), [(0, 0)]) == pytest.approx(0), "no deal pays nothing under every one of these"


@given(POINTS, st.floats(-180, 180), st.floats(0, 10), st.floats(0, 1), st.floats(0, 10))
def test_pay_stays_finite_and_within_the_documented_range(points, angle, envy, guilt, weight):
    ranges = {SocialValue(angle): (-14.2, 14.2), Inequity(envy, guilt): (-100, 10), Spite(weight): (-100, 10)}
    for reward, (low, high) in {**ranges, Own(): (0, 10), PartnerSeeker(): (0, 20)}.items():
        given_out = paid(reward, points)
        assert np.isfinite(given_out).all() and low <= given_out.min() and given_out.max() <= high


# -- their names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name", "reward"),
    [
        ("own", "own", Own()),
        (" svo( angle = -22.5 ) ", "svo(angle=-22.5)", SocialValue(-22.5)),
        ("inequity(1, guilt=0.5)", "inequity(envy=1, guilt=0.5)", Inequity(1, 0.5)),
    ],
)
def test_reward_names_are_canonical(spec, name, reward):
    assert reward_name(spec) == name and reward_of(spec) == reward
    assert reward_name(name) == name and reward_of(name) == reward


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("spit", "no reward is called 'spit' (did you mean 'spite'?); known: inequity, "),
        ("svo", "the reward 'svo' needs angle, as in svo(angle=...)"),
        ("svo(400)", "angle must be a number in -180..180; got 400"),
        ("svo(angle=1, radius=2)", "the reward 'svo' does not take 'radius'; it takes angle"),
        ("", "a reward is written"),
    ],
)
def test_unknown_rewards_are_refused(spec, message):
    with pytest.raises(RewardError) as error:
        reward_of(spec)
    assert message in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 300


# -- learning under them ---------------------------------------------------------------------------------------------


def made(reward: Reward) -> tuple[torch.Tensor, object]:
    network = PolicyNetwork(NetworkShape(hidden=(16,)), seed=2)
    plan = Practice(LEWIS, Rules(), decisions=300, games=100, seed=5, reward=reward)
    opponents = [Opponent(seat_occupant("heuristic"), 1.0)]
    experience, score = practice(network, opponents, plan, update=0, games_before=0)
    return experience.reward, score


def test_rewards_change_pay_not_scores():
    own, own_score = made(Own())
    sought, sought_score = made(PartnerSeeker())
    assert own_score._replace(paid=0) == sought_score._replace(paid=0)
    assert own_score.paid == own_score.points == pytest.approx(float(own.sum()) * TEN / own_score.games)
    assert sought_score.paid == pytest.approx(float(sought.sum()) * TEN / sought_score.games)
    assert (sought >= own).all() and sought_score.paid > own_score.paid + 0.5


WRONG = {
    "nan": lambda games, earned: earned * math.nan,
    "one seat": lambda games, earned: earned[:, 0],
    "nothing": lambda games, earned: None,
    "writes points": lambda games, earned: np.copyto(earned, 1),
    "raises": lambda games, earned: earned["none"],
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_reward_teaches_nothing(kind):
    def unfit(games: Games, earned: np.ndarray, _scenarios: Scenarios) -> object:
        return WRONG[kind](games, earned)

    earned = points_of_ten(GAMES.scores, GAMES.scenarios.pool_values)
    before = earned.copy()
    with pytest.raises(RewardFailure, match="unfit"):
        made(unfit)
    with pytest.raises(RewardFailure):
        pay(unfit, 0, GAMES, earned)
    assert (earned == before).all() and GAMES.scores.flags.writeable


SETTINGS = """
env: {scenarios: lewis, split: train, max_turns: 4, partner: tough}
training: {rollout: 10, num_envs: 4, minibatch: 16, epochs: 1, hidden: [8], num_train_steps: 60REWARD}
logging: {output_dir: "FOLDER", tensorboard: false, save_every: 60}
"""


def settings(folder: Path, reward: str | None = None) -> TrainConfig:
    path = folder / "settings.yaml"
    told = "" if reward is None else f', reward: "{reward}"'
    path.write_text(SETTINGS.replace("FOLDER", str(folder / "runs")).replace("REWARD", told))
    return load_config(path, (), TrainConfig)


def test_a_config_names_its_reward_and_own_points_are_the_default(tmp_path):
    assert settings(tmp_path).training.reward == "own" and begin(settings(tmp_path)).plan.reward == Own()
    told = settings(tmp_path, "svo(45)")
    assert told.training.reward == "svo(angle=45)" and begin(told).plan.reward == SocialValue(45)


@pytest.mark.parametrize("given", ["svo(450)", "nobody", "style"])
def test_wrong_reward_names_file_and_key(tmp_path, given):
    with pytest.raises(ConfigError, match=r"settings.yaml:\d+: training.reward: .*reward"):
        settings(tmp_path, given)


def test_checkpoint_notes_reward(tmp_path):
    for reward in ("own", "spite(weight=1.5)"):
        training = begin(settings(tmp_path, reward))
        training.step()
        assert load_checkpoint(training.checkpoint().save(tmp_path))[1]["reward"] == reward
