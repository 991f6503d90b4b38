"""Practice on a device: with the noise of the host it is the host's practice, to the bit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, OccupantError
from dond_marl.scenarios.sources import open_source
from dond_marl.seats import Cause, Decisions, Traits, decide
from hints import HintSchedule, RandomHinter
from partners.device.device_practice import DevicePractice
from partners.device.inputs import DeviceNoise
from partners.learning.experience import Experience
from partners.learning.learners import Learner
from partners.learning.practice import Opponent, OpponentUnreached, Practice, practice
from partners.learning.rewards import reward_of
from partners.learning.settings import LearnerSettings
from partners.mixture import BySeat, Mixture, SaysPropose
from partners.network.network import PolicyNetwork
from partners.network.partner import NetworkPartner
from partners.network.shape import NetworkShape

torch.set_num_threads(1)
CPU = torch.device("cpu")
LEWIS = open_source("lewis", split="train")


class HostNoise:
    """The uniforms that the host plays by, on a device."""

    def __init__(self, device: torch.device, seed: int, index: tuple[int, ...], size: int) -> None:
        self._noise = Noise(seed, index, size)

    def turn_noise(self, turn: int) -> Tensor:
        return torch.from_numpy(self._noise.turn_noise(turn).T)

    def hint_noise(self, turn: int) -> Tensor:
        return torch.from_numpy(self._noise.hint_noise(turn).T)

    def game_noise(self, seat: int) -> Tensor:
        return torch.from_numpy(self._noise.game_noise(seat).T)


def network(rules: Rules = Rules(), seed: int = 3, **shape: object) -> PolicyNetwork:
    made = PolicyNetwork(NetworkShape(max_turns=rules.max_turns, hidden=(16,), **shape), seed=seed)
    with torch.no_grad():
        made.head.weight.mul_(60)
    return made


def plan(rules: Rules = Rules(), **settings: object) -> Practice:
    return replace(Practice(LEWIS, rules, decisions=500, games=301, seed=5), **settings)


def played_on_both(opponents: list[Opponent], plan: Practice, learner: PolicyNetwork, **more: object) -> DevicePractice:
    """Two updates' practice on the host and on a device; they are the same."""
    on_device = DevicePractice(plan, CPU, HostNoise)
    for update in (0, 1):
        ours, score = on_device(learner, opponents, update=update, games_before=700 * update, **more)
        theirs, expected = practice(learner, opponents, plan, update=update, games_before=700 * update, **more)
        assert_same(ours, theirs)
        assert score == pytest.approx(expected, rel=1e-12)
    return on_device


def assert_same(ours: Experience, theirs: Experience) -> None:
    for name, tensor, other in zip(Experience._fields, ours, theirs, strict=True):
        assert (tensor is None) == (other is None), name
        assert tensor is None or (tensor.dtype == other.dtype and torch.equal(tensor, other)), name


MEMBERS = ("heuristic", "tough", "nice", "versatile", {"kind": "mixture", "of": ["stubborn", "random"]})


@pytest.mark.parametrize("rules", [Rules(10), Rules(7, "rejects"), Rules(1)], ids=str)
def test_mixed_opponents_match_host(rules):
    members = [
        *map(seat_occupant, MEMBERS),
        NetworkPartner(network(rules, 8)),
        NetworkPartner(network(rules, 9), greedy=True),
    ]
    crowd, learner = Mixture(of=members, weights=[3, 1, 1, 1, 2, 2, 1]), network(rules)
    opponents = [Opponent(crowd, 0.6), Opponent(NetworkPartner(learner), 0.4)]
    on_device = played_on_both(opponents, plan(rules), learner)
    assert on_device.opponent(crowd).census == (3, 2, 3)
    assert on_device.host_decisions > 0


@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules(10), Rules(6, "rejects")], ids=str)
def test_roster_train_matches_host(rules):
    zoo = seat_occupant({"kind": "mixture", "of": "zoo"})
    on_device = played_on_both([Opponent(zoo, 1.0)], plan(rules, games=2000, decisions=2000), network(rules))
    assert sum(on_device.opponent(zoo).census) == len(zoo.partners)


@pytest.mark.parametrize("shape", [{"sorted_items": True}, {"history": "flat"}, {"partner_utilities": True}], ids=str)
def test_every_kind_of_network_plays_as_on_the_host(shape):
    revealed = "partner_utilities" in shape
    learner = network(**shape)
    opponents = [Opponent(seat_occupant("heuristic"), 0.5), Opponent(NetworkPartner(network(seed=4, **shape)), 0.5)]
    played_on_both(opponents, plan(reveal_partner_utilities=revealed), learner)


@pytest.mark.parametrize(
    "reward", ["svo(45)", "inequity(envy=1, guilt=0.5)", "local_judge(style=stubborn, examples=4)"]
)
def test_rewards_match_host(reward):
    played_on_both([Opponent(seat_occupant("heuristic"), 1.0)], plan(reward=reward_of(reward)), network())


def test_source_without_table_and_hints_match_host():
    whisper = HintSchedule(RandomHinter())
    learner = network(hints=True)
    opponents = [Opponent(seat_occupant("heuristic"), 1.0)]
    on_device = played_on_both(opponents, plan(source=open_source("uniform")), learner, hints=whisper)
    assert on_device.opponent(opponents[0].partner).census == (0, 0, 1)


TABLE, NOTHING_DECLARED = Traits(deterministic=True, memoryless=True), Traits()


@dataclass(frozen=True)
class Says:
    """Says one and the same thing, with a cause in every third game of a block."""

    act_type: int
    claim: int = 0
    cause: Cause = Cause.FREE
    traits: Traits = NOTHING_DECLARED

    def act(self, turns) -> Decisions:
        said = decide(np.full(turns.size, self.act_type), np.full((turns.size, 3), self.claim))
        pool = turns.counts.astype(int) @ [1, 7, 5] + turns.my_utilities.astype(int) @ [1, 2, 4]
        return said._replace(cause=np.where(pool % 3 == 0, np.int8(self.cause), np.int8(0)))


def test_unreached_games_are_left_out():
    opponents = [Opponent(Says(Act.PROPOSE, cause=Cause.UNREACHABLE), 1.0)]
    played_on_both(opponents, plan(unreached=0.9), network())
    played_on_both([Opponent(Says(Act.PROPOSE, cause=Cause.UNPARSABLE), 1.0)], plan(), network())
    with pytest.raises(OpponentUnreached, match="could not be reached in"):
        DevicePractice(plan(), CPU)(network(), opponents, update=0, games_before=0)


@pytest.mark.parametrize(
    ("opponent", "words"),
    [
        (Says(Act.PROPOSE, claim=9), r"IllegalAct: illegal in \d+ of \d+ games; first in game 0: PROPOSE of"),
        (Says(9), "ValueError: act_type must be"),
        (Says(Act.AGREE), "IllegalAct: illegal in"),
        (Says(Act.AGREE, traits=TABLE), "ValueError: .* agrees where nothing is offered"),
        (Says(Act.PROPOSE, claim=4, traits=TABLE), "ValueError: .* claims what its pool does not hold"),
    ],
)
def test_illegal_opponent_act_names_seat(opponent, words):
    with pytest.raises(OccupantError, match=f"the occupant of seat_. failed: {words}"):
        DevicePractice(plan(), CPU)(network(), [Opponent(opponent, 1.0)], update=0, games_before=0)


def test_device_noise_is_function_of_seed_and_index():
    drawn = [DeviceNoise(CPU, 5, (1, 2, 0), 1000) for _ in range(2)]
    other = DeviceNoise(CPU, 5, (1, 2, 1), 1000)
    numbers = [noise.turn_noise(turn) for noise in drawn for turn in (0, 3, 0)]
    assert torch.equal(numbers[0], numbers[3]) and torch.equal(numbers[1], numbers[4])
    assert torch.equal(numbers[0], numbers[2]) and drawn[0].game_noise(1) is drawn[0].game_noise(1)
    distinct = [
        numbers[0],
        numbers[1],
        other.turn_noise(0),
        other.hint_noise(0),
        other.game_noise(0),
        other.game_noise(1),
    ]
    assert len({each.numpy().tobytes() for each in distinct}) == len(distinct)
    for each in distinct:
        assert each.shape == (8, 1000) and each.dtype == torch.float64
        assert each.min() >= 0 and each.max() < 1 and abs(float(each.mean()) - 0.5) < 0.02


def test_past_opponents_leave_the_cache():
    on_device, learner = DevicePractice(plan(), CPU), network()
    first, second = (seat_occupant(name) for name in ("heuristic", "tough"))
    on_device(learner, [Opponent(first, 1.0)], update=0, games_before=0)
    kept = on_device.opponent(first)
    on_device(learner, [Opponent(first, 0.5), Opponent(second, 0.5)], update=1, games_before=0)
    assert on_device.opponent(first) is kept
    on_device(learner, [Opponent(second, 1.0)], update=2, games_before=0)
    assert on_device.opponent(first) is not kept


def test_privileged_targets_match_host():
    crowd = Mixture(of=["heuristic", "nice", {"kind": "mixture", "of": ["stubborn", "random"]}])
    learner = network(beliefs=True, members=("heuristic", "random"))
    on_device = played_on_both([Opponent(crowd, 1.0)], plan(privileged=True, labels_from="readers"), learner)
    experience, _ = on_device(learner, [Opponent(crowd, 1.0)], update=0, games_before=0)
    assert experience.targets.shape == (experience.size, 4) and set(experience.targets[:, 3].tolist()) == {-1, 0, 1}


def test_by_seat_opponents_match_host():
    """Where the learner opens the second sits opposite, where it answers the first."""
    both = BySeat(Mixture(of=["heuristic", "nice"]), Mixture(of=["random", "tough"]))
    learner = network(beliefs=True, members=("heuristic", "nice", "random", "tough"))
    on_device = played_on_both([Opponent(both, 1.0)], plan(privileged=True, labels_from="readers"), learner)
    experience, _ = on_device(learner, [Opponent(both, 1.0)], update=0, games_before=0)
    seats = experience.seat[experience.place % len(experience.seat)]
    for seat, expected in ((0, {2, 3}), (1, {0, 1})):
        assert set(experience.targets[seats == seat, 3].tolist()) == expected


MOST = {"history": "flat", "head": "joint", "sorted_items": True, "beliefs": True, "members": ("heuristic",)}


@pytest.mark.parametrize(
    ("shape", "settings"),
    [({}, {"kl": 0.1}), ({}, {"algo": "reinforce"}), (MOST, {"belief": 0.1, "critic": "both"})],
    ids=str,
)
def test_all_tensors_are_on_the_device(shape, settings):
    learner = Learner(network(**shape), LearnerSettings(**settings), 3, network(**shape))
    opponents = [Opponent(Mixture(of=[*MEMBERS, NetworkPartner(network(seed=4, **shape))]), 1.0)]
    on_device = DevicePractice(plan(privileged=shape == MOST), CPU)
    with torch.device("meta"):  # what names no device is made there, and cannot be used with what does
        experience, _ = on_device(learner.network, opponents, update=0, games_before=0)
        learner.update(experience)
    assert all(tensor is None or tensor.device == CPU for tensor in experience)


def test_networks_that_say_propose_match_host():
    quiet = Mixture(of=[SaysPropose(NetworkPartner(network())), "heuristic"])
    played_on_both([Opponent(quiet, 1.0)], plan(labels_from="readers"), network())
