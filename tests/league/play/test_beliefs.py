"""A league's learner learns what its members want and who they are, from what its meetings say."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from dond_marl.batch import GameBatch
from dond_marl.scenarios.sources import open_source
from league.play.blobs import read_blob, write_blob
from league.play.practice import first_state, practice_round
from league.settings.learners import LearnerConfig
from partners.network.partner import NetworkPartner
from tests.league.play.backend_tasks import ENV, SEED, practice

NAMES = ("pushover", "tough", "ultimatum")


def test_belief_members_are_the_opponents_of_practice(tmp_path):
    blobs = tmp_path
    task = practice(blobs, ["tough", "pushover"])
    learner = LearnerConfig(
        name="main", hidden=(16,), belief=1.0, critic="both", lr=1e-2, num_envs=64, rollout=2, decisions=2000
    )
    state, content = first_state(learner, ENV, hinted=False, seed=SEED, members=NAMES)
    write_blob(blobs, content)
    done = practice_round(dataclasses.replace(task, learner=learner, state=state, total_decisions=2000), blobs)
    assert done.failed is None and done.content is not None and done.state is not None
    write_blob(blobs, done.content)
    turns = GameBatch(open_source("lewis").block(1, 0, 64)).turns()
    before, after = (
        NetworkPartner(read_blob(blobs, blob).network()).beliefs(turns) for blob in (state.blob, done.state.blob)
    )
    assert before is not None and after is not None and after.members == NAMES
    assert np.abs(before.identity.mean(axis=0) - 1 / 3).max() < 0.05
    assert after.identity[:, 2].mean() < 0.05 and after.identity[:, :2].mean() > 0.4  # the third is never met
    assert any(name.startswith("critic.") for name in read_blob(blobs, done.state.blob).tensors)


def test_the_first_critic_of_each_learner_is_its_own(tmp_path):
    critics = []
    for name, seed in (("main", 1), ("main", 2), ("other", 1)):
        learner = LearnerConfig(name=name, hidden=(16,), critic="both")
        state, content = first_state(learner, ENV, hinted=False, seed=seed)
        write_blob(tmp_path, content)
        critics.append(read_blob(tmp_path, state.blob).tensors["critic.inner.weight"])
    assert not any(torch.equal(critics[0], another) for another in critics[1:])
