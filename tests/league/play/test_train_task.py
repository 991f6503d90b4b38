"""Opponents of a practice: a mixture for each seat of an oracle, and the average policy of NFSP."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dond_marl.seats import Partner
from league.play.blobs import RESERVOIR_KEY, name_of
from league.play.practice import first_state, make_learner, opponent_mixture, practice_round, self_play_partners
from league.play.values import Entrant, Meeting, TrainTask
from league.settings.learners import LearnerConfig
from partners.learning.rewards import RewardFailure, reward_name
from partners.mixture import BySeat, Mixture
from partners.network.checkpoint import unpack
from partners.network.network import copy_of
from partners.network.partner import NetworkPartner
from tests.league.play.backend_tasks import ENV, SEED, comparable, practice


@pytest.fixture
def task(tmp_path) -> TrainTask:
    return practice(tmp_path, ["tough", "pushover"])


REWARD = """
class Lost:
    def __call__(self, games, earned, scenarios):
        return earned / 0
"""


def test_reward_without_numbers_stops_the_practice(task, tmp_path):
    (tmp_path / "rewards.py").write_text(REWARD)
    lost = task.learner.model_copy(update={"reward": reward_name(f"{tmp_path / 'rewards.py'}:Lost")})
    with pytest.raises(RewardFailure, match=r"main.*Lost"), np.errstate(all="ignore"):
        practice_round(dataclasses.replace(task, learner=lost), tmp_path)


def test_divergent_practice_leaves_the_learner_unchanged(task, tmp_path):
    steep = task.learner.model_copy(update={"lr": 1e38})
    result = practice_round(dataclasses.replace(task, learner=steep), tmp_path)
    assert result.state == task.state and result.content is None and result.failed == "main"
    assert "not finite" in result.cause


def shares(mixture: Partner) -> list[float]:
    assert isinstance(mixture, Mixture)
    return np.diff(mixture.ends, prepend=0.0).tolist()


def test_an_oracle_practises_against_the_other_seats_mixture(task, tmp_path):
    """Against tough alone as seat_0, mostly against pushover as seat_1."""
    by_seat = ((1.0, 0.0), (0.25, 0.75))
    meetings = tuple(
        meeting._replace(by_seat=(by_seat[0][i], by_seat[1][i])) for i, meeting in enumerate(task.meetings)
    )
    task, blobs = dataclasses.replace(task, meetings=meetings), tmp_path
    network = unpack((tmp_path / f"{task.state.blob}.safetensors").read_bytes(), tmp_path).network()
    mixture = opponent_mixture(task, self_play_partners(make_learner(task.learner, network, SEED, 1000)), blobs)
    assert isinstance(mixture, BySeat)
    assert shares(mixture.seats[0]) == [1, 0] and shares(mixture.seats[1]) == pytest.approx([0.25, 0.75])
    result = practice_round(task, blobs)
    assert result.failed is None and comparable(practice_round(task, blobs)) == comparable(result)


def test_nfsp_plays_its_average_and_with_the_anticipation_itself(task, tmp_path):
    learner = LearnerConfig.model_validate({**task.learner.model_dump(), "reservoir": 500, "anticipation": 0.25})
    state, content = first_state(learner, ENV, hinted=False, seed=SEED)
    (tmp_path / f"{state.blob}.safetensors").write_bytes(content)
    itself = task.meetings[0].opponent
    itself = Entrant(dataclasses.replace(itself.member, name=learner.name, spec=None, role="main"), state.blob)
    meetings = (Meeting(itself, 0.8, "self-play"), task.meetings[1]._replace(probability=0.2))
    task, blobs = dataclasses.replace(task, learner=learner, state=state, meetings=meetings), tmp_path
    network = unpack(content, tmp_path).network()
    nfsp = make_learner(learner, network, SEED, 1000)
    mixture = opponent_mixture(task, self_play_partners(nfsp), blobs)
    assert shares(mixture) == pytest.approx([0.8 * 0.75, 0.8 * 0.25, 0.2])
    assert isinstance(mixture, Mixture) and nfsp.average is not None
    networks = [partner.network for partner in mixture.partners if isinstance(partner, NetworkPartner)]
    assert networks == [nfsp.average.network, nfsp.network] and nfsp.average.network is not nfsp.network
    result = practice_round(task, blobs)
    assert result.content is not None and comparable(practice_round(task, blobs)) == comparable(result)
    after = unpack(result.content, tmp_path)
    responder = {name: value for name, value in after.tensors.items() if name.startswith("responder.")}
    assert result.reservoir_content is not None and after.about[RESERVOIR_KEY] == name_of(result.reservoir_content)
    assert not any(name.startswith("reservoir.") for name in after.tensors)
    acts = unpack(result.reservoir_content, tmp_path).tensors["reservoir.act"]
    assert len(acts) == min(500, result.state.decisions)
    played = copy_of(after.network()).state_dict()
    assert any(not played[name.removeprefix("responder.")].equal(value) for name, value in responder.items())
