"""Practice as a task: rewards, oracles, averages, beliefs, hints, devices and what a task costs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch
from dond_marl.occupants import OccupantNameError, parse_spec, seat_occupant
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Partner, expensive_to_query
from league.play.blobs import RESERVOIR_KEY, SUFFIX, forget_reservoir, name_of, read_blob, write_blob
from league.play.devices import DeviceError, check_devices
from league.play.hinters import hint_schedule
from league.play.match import SEATING, play_games
from league.play.occupant_kinds import kinds_in
from league.play.practice import first_state, make_learner, opponent_mixture, practice_round, self_play_partners
from league.play.values import Entrant, Meeting, Member, TrainTask
from league.rounds.planner import first_states, members_of, plan_round
from league.settings.learners import LearnerConfig
from league.settings.read import Config, parse
from league.settings.sections import EnvConfig, HintsConfig
from league.standings.history import History
from partners.catalogue import PARTNERS
from partners.learning.rewards import RewardFailure, reward_name
from partners.mixture import BySeat, Mixture
from partners.network.checkpoint import pack, unpack
from partners.network.network import PolicyNetwork, copy_of
from partners.network.partner import NetworkPartner
from partners.scripted.heuristic import Heuristic
from tests.league.play.backend_tasks import ENV, SEED, comparable, network, practice


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
    return [share for share, _ in mixture.personas()]


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


# -- A league's learner learns what its members want and who they are, from what its meetings s


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


# -- The acts that a learned average is taught by


def test_old_acts_are_deleted_and_the_newest_stay(tmp_path):
    """Weights 0 and 1 have acts of their own; those of 1 are the newest, also after a round without practice."""
    acts = [pack({"reservoir.act": torch.tensor([number])}) for number in (0, 1)]
    weights = [pack({}, {RESERVOIR_KEY: name_of(content)}) for content in acts]
    _, new, before, now = [write_blob(tmp_path, content) for content in (*acts, *weights)]
    forget_reservoir(tmp_path, before, now)
    forget_reservoir(tmp_path, now, now)
    assert {path.stem for path in tmp_path.iterdir()} == {before, now, new}
    (tmp_path / (before + SUFFIX)).unlink()
    forget_reservoir(tmp_path, before, now)  # weights that are gone stop no later round


# -- Who whispers, from the settings


# -- What a learner and its opponents observe


LEAGUE = """
members: [heuristic]
learners: [{name: main, SMALL}, {name: x, SMALL}]
stages: [{name: a, env: {reveal_partner_utilities: true}, learners: {x: {hints: {mode: random}}}}]
""".replace("SMALL", "decisions: 50, hidden: [8], num_envs: 8, rollout: 4")


def test_each_learner_practises_with_the_hints_and_the_values_of_its_stage(tmp_path):
    config = parse(LEAGUE, "league.yaml", Config)
    plan = plan_round(config, History(members_of(config), 0.5), first_states(config, tmp_path), tmp_path)
    tasks = {task.learner.name: task for task in plan.training}
    assert {name: task.hints.mode for name, task in tasks.items()} == {"main": "none", "x": "random"}
    hinted = tasks["x"]
    others = (
        dataclasses.replace(hinted, hints=tasks["main"].hints),
        dataclasses.replace(hinted, env=hinted.env.model_copy(update={"reveal_partner_utilities": False})),
    )
    assert hinted.env.reveal_partner_utilities
    assert len({practice_round(each, tmp_path).content for each in (hinted, *others)}) == 3


@pytest.mark.parametrize("privileged", [False, True])
def test_hints_are_privileged_only_where_the_settings_say_so(privileged):
    schedule = hint_schedule(HintsConfig(mode="llm", provider="hf", privileged=privileged))
    assert schedule is not None and schedule.privileged == privileged


class Sees(Heuristic):
    """Notes whether it sees the other seat's values."""

    def act(self, turns):
        self.seen = bool(turns.partner_utilities.any())
        return super().act(turns)


@pytest.mark.parametrize("revealed", [False, True])
def test_matches_reveal_values_where_the_settings_do(revealed):
    players, env = (Sees(), Sees()), EnvConfig(reveal_partner_utilities=revealed)
    play_games(players, open_source("lewis").block(0, 0, 20), env, 0, (0,))
    assert players[0].seen == players[1].seen == revealed


# -- The device of a learner's weights


@pytest.fixture
def task_on(tmp_path) -> TrainTask:
    """A learner's first round against scripted members, itself and a snapshot."""
    made = practice(tmp_path, ["heuristic", "nice", "versatile"])
    first = made.meetings[0]
    itself = first.opponent._replace(member=dataclasses.replace(first.opponent.member, name="main", spec=None))
    met = (*made.meetings, first._replace(opponent=itself), first._replace(opponent=network(made.state)))
    return dataclasses.replace(made, meetings=met)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_missing_device_is_refused(task_on):
    check_devices([task_on.learner])
    with pytest.raises(DeviceError, match=r"finds no CUDA device here; say training.device=cpu"):
        check_devices([task_on.learner, task_on.learner.model_copy(update={"device": "cuda"})])


def test_device_memory_error_names_settings_and_no_occupant(task_on, tmp_path, monkeypatch):
    """The learner's own network asks for more memory than there is, wherever its games are played."""

    def greedy(self, read):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(PolicyNetwork, "trunk_output", greedy)
    with pytest.raises(DeviceError, match=r"has no memory left for .* games side by side.*say a smaller num_envs"):
        practice_round(task_on, tmp_path)


# -- Who costs something to ask is so by name and by traits; a network of the league sits down


PERSON = "human(interface='dond.table.game:Terminal')"


@pytest.mark.parametrize("spec", [*sorted(PARTNERS), PERSON, "llm(provider=hf)", "mixture(of=['random', 'llm'])"])
def test_who_costs_something_by_name_costs_something_by_its_traits(spec):
    try:
        traits = seat_occupant(spec).traits
    except OccupantNameError:  # it needs parameters
        return
    assert Member("who", parse_spec(spec)).costly is expensive_to_query(traits)


def test_a_path_names_no_occupant():
    assert kinds_in(parse_spec("checkpoint(path='runs/llm/a (llm).json')")) == {"checkpoint"}
    assert {"mixture", "llm"} <= kinds_in(parse_spec("mixture(of=['heuristic', 'llm(provider=hf)'])"))


def test_a_network_of_the_league_is_greedy_on_request(tmp_path):
    state, content = first_state(LearnerConfig(name="main", hidden=(8,)), EnvConfig(), hinted=False, seed=1)
    write_blob(tmp_path, content)
    main = Entrant(Member("main", None, "main"), state.blob)
    assert SEATING.partner(main, tmp_path, greedy=True).traits.deterministic
    assert not SEATING.partner(main, tmp_path).traits.deterministic
