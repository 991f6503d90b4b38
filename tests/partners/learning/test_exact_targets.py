"""Targets from exact values and from what the partner is."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
import pytest
import torch

from dond_marl.batch import GameBatch
from dond_marl.errors import InputError
from dond_marl.game import Act, Rules
from dond_marl.occupants import seat_occupant
from dond_marl.rollout import Noise, rollout
from dond_marl.scenarios.sources import Scenarios, ScenarioSource, lewis_space, open_source
from dond_marl.seats import Decisions, Partner, Turns
from dond_marl.solvers.adaptive import Adaptive
from dond_marl.solvers.automata import drawn_personas
from dond_marl.solvers.contexts import contexts_in
from dond_marl.splits import action_count, action_index
from dond_marl.statistics import points_of_ten
from league.evaluation.matches import Witness
from league.play.practice import learner_settings
from league.settings.read import load_config
from league.settings.training import TrainConfig
from league.training.training import begin
from partners.learning.exact_targets import VALUES, ExactTargets, tractable_members
from partners.learning.experience import Experience, LearningSeat
from partners.learning.first_weights import first_network
from partners.learning.learners import Learner, belief_loss, regret_loss
from partners.learning.practice import Opponent, Practice, practice
from partners.learning.settings import LearnerSettings
from partners.mixture import NO_MEMBER, Mixture, member_names, privileged_targets
from partners.network.checkpoint import load_checkpoint, network_note, save_checkpoint
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.numpy_network import NumpyPartner, load_numpy_network
from partners.network.partner import NetworkPartner, choose_actions

torch.set_num_threads(1)
RULES, MOST = Rules(6), 4
FOLLOWED = ("heuristic", "personas", "tough")
CROWD = Mixture(["heuristic", Mixture(["personas", "nice", "tough"], [1, 2, 1]), "versatile"], [1, 2, 1])
EQUAL = Mixture(FOLLOWED)


@lru_cache(maxsize=1)
def one_pool() -> Scenarios:
    space = lewis_space()
    return space.rows(np.flatnonzero((space.counts == space.counts[700]).all(axis=1)))


@lru_cache(maxsize=2)
def exact(partner: Mixture = CROWD) -> ExactTargets:
    return ExactTargets(partner, RULES, one_pool())


class QueriedTurn(NamedTuple):
    """The queries of a player on one of its turns, in the B games that had not ended, and its decisions."""

    scenario: np.ndarray  # [B] row of the table
    turns: Turns
    decisions: Decisions


def play(player: Partner, seat: int, partner: Partner) -> tuple[list[QueriedTurn], float]:
    """The turns of ``player`` in ``seat`` over the scenarios of one pool, and its mean points of ten."""
    witness, table = Witness(player), one_pool()
    games = rollout((witness, partner) if seat == 0 else (partner, witness), table, RULES, seed=0)
    turns = [
        QueriedTurn(np.flatnonzero(games.turns > turns.turns_taken), turns, decisions)
        for turns, decisions in zip(witness.turns, witness.decisions, strict=True)
    ]
    return turns, float(points_of_ten(games.scores, table.pool_values)[:, seat].mean())


def queried_turns(player: Partner, seat: int, partner: Partner) -> list[QueriedTurn]:
    return play(player, seat, partner)[0]


def test_tractable_members_and_shares():
    """A quarter each of the first and of what the inner mixture's first and third have of its half; others gamble."""
    assert [(each.name, each.share) for each in tractable_members(CROWD, RULES)] == [
        ("heuristic", 0.25), ("personas", 0.125), ("tough", 0.125)
    ]  # fmt: skip
    assert [each.name for each in tractable_members(seat_occupant("tough"), RULES)] == ["partner"]
    with pytest.raises(InputError, match="no opponent of this learner is tractable"):
        ExactTargets(seat_occupant("nice"), RULES, one_pool())


@pytest.mark.parametrize("seat", [0, 1])
def test_regrets_add_up_to_the_gap(seat):
    """The regrets of a player's acts add up to the value of the best response to the mixture - its own points."""
    table, player = one_pool(), seat_occupant("linear")
    total = earned = 0.0
    for partner in map(seat_occupant, FOLLOWED):
        for persona in drawn_personas(partner):
            queried, points = play(player, seat, persona.partner)
            earned += persona.chance * points / len(FOLLOWED)
            for each in queried:
                regrets = exact(EQUAL).regrets(each.turns, MOST)
                chosen = action_index(each.decisions.act_type, each.decisions.oA, MOST)
                regret = regrets[np.arange(len(chosen)), chosen].sum(dtype=np.float64)
                total += 10 * persona.chance * regret / table.size / len(FOLLOWED)
    best, sure = Adaptive(EQUAL, contexts_in(table, seat), seat, RULES, "lewis").value()
    assert sure and total == pytest.approx(best - earned, abs=1e-4) and total > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seat", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_beliefs_equal_enumeration(seat):
    """By hand: every scenario is played with every persona; rows that look alike are counted by partner and values."""
    table, player = one_pool(), seat_occupant("linear")
    shares = {"heuristic": 0.25, "linear": 0.0, "personas": 0.5, "tough": 0.25}  # one is never met, one is no member
    of_turn, counted = {}, {}
    for name, share in shares.items():
        for persona in drawn_personas(seat_occupant(name)) if share else []:
            for each in queried_turns(player, seat, persona.partner):
                keys = [
                    (each.turns.turns_taken, own.tobytes(), act.tobytes(), offer.tobytes())
                    for own, act, offer in zip(
                        each.turns.my_utilities, each.turns.history.act, each.turns.history.oA, strict=True
                    )
                ]
                of_turn.setdefault(each.turns.turns_taken, []).append((each.turns, keys))
                for key, values in zip(keys, table.utilities[each.scenario, 1 - seat].tolist(), strict=True):
                    sums = counted.setdefault(key, np.zeros(VALUES + 4))
                    sums[[values[0], 11 + values[1], 22 + values[2]]] += share * persona.chance
                    sums[VALUES + list(shares).index(name)] += share * persona.chance
    crowd = ExactTargets(Mixture(list(shares), list(shares.values())), RULES, table)
    members = ("tough", "absent", "linear", "personas")
    assert len(of_turn) == 3 and all(len(parts) > 3 for parts in of_turn.values())
    for turns, keys in (part for parts in of_turn.values() for part in parts):
        by_hand = np.stack([counted[key] / counted[key][VALUES:].sum() for key in keys])
        found = crowd.beliefs(turns, members)
        assert found[:, :VALUES] == pytest.approx(by_hand[:, :VALUES], abs=1e-6)
        assert found[:, VALUES:] == pytest.approx(
            by_hand[:, [VALUES + 3, VALUES + 1, VALUES + 1, VALUES + 2]], abs=1e-6
        )
    some = np.concatenate([crowd.beliefs(turns, members) for parts in of_turn.values() for turns, _ in parts])
    assert np.unique(some[:, VALUES:].round(4), axis=0).shape[0] > 5


def test_legal_acts_have_regrets():
    for each in queried_turns(seat_occupant("linear"), 1, seat_occupant("tough")):
        lost = exact(EQUAL).regrets(each.turns, MOST)
        legal = np.isfinite(lost[:, :-3]).sum(axis=1)
        assert (legal == 2 * (each.turns.counts + 1).prod(axis=1, dtype=np.int64)).all()
        assert (lost.min(axis=1) == 0).all() and (
            np.isfinite(lost[:, -3:]) == each.turns.act_mask[:, Act.AGREE :]
        ).all()
        again = exact(EQUAL).regrets(each.turns.rows(np.arange(each.turns.size)[::-1]), MOST)
        assert np.array_equal(again[::-1], lost)


def test_impossible_histories_are_nan():
    """Tough never opens with everything for the other; here it does."""
    turns = queried_turns(seat_occupant("linear"), 1, seat_occupant("pushover"))[0].turns
    reply = ExactTargets(seat_occupant("tough"), RULES, one_pool())
    known = ~np.isnan(reply.regrets(turns, MOST))
    assert (known == known[:, :1]).all() and not known.all()
    assert (np.isnan(reply.beliefs(turns, ("absent",))) == ~known[:, :1]).all()


def test_bounded_best_response_is_refused():
    turns = queried_turns(seat_occupant("linear"), 1, seat_occupant("tough"))[0].turns
    with pytest.raises(InputError, match="3 partners in games of 6 turns is only known within bounds"):
        ExactTargets(EQUAL, RULES, one_pool(), effort=1).regrets(turns, MOST)


def test_log_probs_by_number_match_play():
    turns = queried_turns(seat_occupant("linear"), 1, seat_occupant("tough"))[1].turns
    for head, sorted_items in product(("factored", "joint"), (True, False)):
        network = PolicyNetwork(NetworkShape(hidden=(16,), head=head, sorted_items=sorted_items), seed=3)
        network.head.weight.data.mul_(300)
        read = network.prepare(torch.from_numpy(network.adapter.encode(turns)))
        said = network.distribution(network.evaluate(read)[0], torch.from_numpy(network.mask(turns)), read)
        probs = said.log_probs_by_number(MOST).exp().t().detach().numpy()
        assert probs == pytest.approx(NetworkPartner(network).probs(turns, MOST), abs=1e-5) and probs.max() > 0.2


def test_regret_loss_by_hand():
    """Of three acts one loses nothing, one a point of ten, one is illegal; a second row is not known."""
    lost = torch.tensor([[0.0, 0.1, math.inf], [math.nan] * 3])
    log_probs = torch.tensor([[0.8, 0.5], [0.2, 0.25], [1e-9, 0.25]]).log().requires_grad_()
    found = regret_loss(log_probs, lost)
    wanted = 1 / (1 + math.exp(-1 / 0.15))
    expected = (0.2 * 1 - wanted * math.log(0.8) - (1 - wanted) * math.log(0.2)) / 2
    assert found.tolist() == pytest.approx([expected, 0.0], abs=1e-6)
    found.sum().backward()
    assert log_probs.grad is not None and log_probs.grad.isfinite().all() and not log_probs.grad[:, 1].any()


def test_exact_targets_reduce_regret():
    """Games with intractable partners are learned from rewards, the others from what every act loses."""
    source = ScenarioSource("lewis", "all", one_pool(), MOST)
    plan = Practice(source, RULES, 400, 200, 5, exact=exact())
    network = PolicyNetwork(NetworkShape(max_turns=6, hidden=(32,), history="flat", head="joint"), seed=1)
    learner = Learner(network, LearnerSettings(lr=1e-2, epochs=4, minibatch=200, exact_reply=1.0), seed=2)
    losses = []
    for update in range(6):
        found, _ = practice(network, [Opponent(CROWD, 1.0)], plan, update=update, games_before=1000 * update)
        assert found.regrets is not None and found.regrets.shape == (found.size, action_count(MOST))
        known = ~found.regrets[:, -1].isnan()
        by_game = torch.stack([found.slot % found.reward.shape[1], known.long()])
        assert 0.2 < known.float().mean() < 0.8 and by_game.unique(dim=1).shape[1] <= found.reward.shape[1] + 5
        losses.append(learner.update(found)["taught_loss"])
    assert losses[-1] < 0.75 * losses[0]
    unknown = practice(network, [Opponent(seat_occupant("nice"), 1.0)], plan, update=9, games_before=0)[0].regrets
    assert unknown is not None and unknown.isnan().all()


def test_exact_targets_replace_rewards_and_one_hot_targets():
    source, members = ScenarioSource("lewis", "all", one_pool(), MOST), member_names(CROWD)
    shape = NetworkShape(max_turns=6, hidden=(32,), history="flat", head="joint", beliefs=True, members=members)
    plan = Practice(source, RULES, 400, 200, 5, privileged=True, exact=exact())
    found, _ = practice(PolicyNetwork(shape, seed=1), [Opponent(CROWD, 1.0)], plan, update=0, games_before=0)
    assert found.posterior is not None and found.targets is not None and found.regrets is not None
    known = ~found.posterior[:, 0].isnan()
    assert torch.equal(known, ~found.regrets[:, -1].isnan()) and 0.2 < known.float().mean() < 0.8
    who = found.posterior[:, VALUES:].gather(1, found.targets[:, 3:])  # the truth is possible
    assert (who[known] > 0).all() and found.posterior[known, VALUES:].sum(dim=1) == pytest.approx(1.0, abs=1e-5)

    def metrics(**changes):
        learner = Learner(PolicyNetwork(shape, seed=1), LearnerSettings(exact_reply=1.0, belief=1.0), seed=2)
        return learner.update(found._replace(**changes))

    assert metrics()["belief_loss"] != metrics(posterior=None)["belief_loss"]
    assert metrics()["policy_loss"] != 0 == metrics(regrets=found.regrets.nan_to_num(0.0, math.inf))["policy_loss"]


def test_greedy_share_of_practice():
    """It is taught on the states that it comes to when it is measured; blocks side by side change nothing."""
    source = ScenarioSource("lewis", "all", one_pool(), MOST)
    network = PolicyNetwork(NetworkShape(max_turns=6, hidden=(32,), history="flat", head="joint"), seed=1)
    crowd = [Opponent(EQUAL, 1.0)]

    def sure(share, own_turns):
        plan = Practice(source, RULES, 800, 100, 5, exact=exact(EQUAL), likeliest=share)
        found, _ = practice(network, crowd, plan, update=0, games_before=0, decisions_per_game=own_turns)
        chosen = choose_actions([network], found.features, found.mask, None, [found.size])
        same = (chosen.act == found.act) & ((chosen.oA == found.oA).all(dim=1) | (found.act > Act.INSIST))
        return same.float().mean().item(), found

    assert sure(1.0, 0.0)[0] == 1.0 and sure(0.0, 0.0)[0] < 0.5
    half, found = sure(0.5, 0.0)
    assert 0.5 < half < 1.0 and torch.equal(sure(0.5, 2.0)[1].act, found.act)
    assert exact(EQUAL).covers_all and not exact().covers_all


def test_greedy_practice_needs_tractable_partners(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "env: {scenarios: lewis, split: train, partner: {kind: mixture, of: [tough, nice]}}\n"
        "training: {exact_reply: 1.0, likeliest: 0.5}\n"
    )
    with pytest.raises(InputError, match=r"training\.likeliest: env\.partner may draw an intractable partner"):
        begin(load_config(path, (), TrainConfig))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("training.algo=reinforce", "exact_reply"),
        ("training.exact_reply=0", "likeliest: .*exact_reply"),
        ("env.disagree=rejects", "exact_reply"),
        ("training.past_selves=0.5", "likeliest: .*past_selves"),
    ],
)
def test_exact_reply_settings_are_checked(wrong, why, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("env: {scenarios: lewis, split: train}\ntraining: {exact_reply: 1.0, likeliest: 0.5}\n")
    assert learner_settings(load_config(path, (), TrainConfig).training, 10).exact_reply == 1.0
    with pytest.raises(InputError, match=why):
        load_config(path, (wrong,), TrainConfig)


# -- Privileged targets of learning


LEWIS = open_source("lewis", split="train")
DRAWN_CROWD = Mixture(["tough", Mixture(["ultimatum", "level_k"], [1, 2])], [1, 3])
MEMBERS = ("level_k", "tough", "ultimatum")
SHAPE = NetworkShape(hidden=(32,), history="flat", sorted_items=True, beliefs=True, members=MEMBERS)
SETTINGS = LearnerSettings(lr=3e-3, epochs=2, minibatch=256, belief=0.5, critic="both")


def practiced(network: PolicyNetwork, update: int = 0, partner: object = DRAWN_CROWD, size: int = 400) -> Experience:
    plan = Practice(LEWIS, Rules(), size, 100, 5, privileged=True)
    opponents = [Opponent(partner, 1.0)]  # type: ignore[arg-type]
    return practice(network, opponents, plan, update=update, games_before=1000 * update)[0]


def test_targets_match_drawn_partner():
    scenarios = LEWIS.block(3, 0, 200)
    player = NetworkPartner(PolicyNetwork(SHAPE), greedy=True)
    assert member_names(DRAWN_CROWD) == MEMBERS and member_names(seat_occupant("tough")) == ()
    games = rollout((player, DRAWN_CROWD), scenarios, seed=7, index=(1, 2))
    heard = privileged_targets(DRAWN_CROWD, MEMBERS, scenarios.utilities[:, 1], Noise(7, (1, 2), 200).game_noise(1))
    assert (heard[:, :3] == scenarios.utilities[:, 1]).all()
    assert np.bincount(heard[:, 3]).min() > 20
    for number, name in enumerate(MEMBERS):
        alone = rollout((player, seat_occupant(name)), scenarios, seed=7)
        same = (alone.act == games.act).all(axis=1) & (alone.oA == games.oA).all(axis=(1, 2))
        assert same[heard[:, 3] == number].all() and not same[heard[:, 3] != number].all()
    assert (
        privileged_targets(DRAWN_CROWD, ("tough",), scenarios.utilities[:, 1], np.full((200, 8), 0.9))[:, 3]
        == NO_MEMBER
    ).all()


def test_targets_match_their_games():
    """In this source every pool is worth 10 to both: the pool that was seen, times the announced values."""
    found = practiced(PolicyNetwork(SHAPE))
    assert found.targets is not None and found.targets.shape == (found.size, 4)
    counts = (found.features[:, :3] * SHAPE.max_count).round().long()
    assert ((counts * found.targets[:, :3]).sum(dim=1) == 10).all()
    games = found.slot % found.reward.shape[1]
    assert len(torch.unique(torch.stack([games, found.targets[:, 3]]), dim=1)[0]) == len(torch.unique(games))


def test_targets_do_not_change_play():
    """Other values of a partner that ignores them: the same play to the bit, another lesson for beliefs and critic."""
    scenarios, lessons, metrics = LEWIS.block(3, 0, 300), [], []
    own, rewards = scenarios.utilities[:, 0], np.random.default_rng(0).random((300, 2))
    for theirs in (scenarios.utilities[:, 1], own):
        learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
        seat = LearningSeat(learner.network)
        pair = scenarios._replace(utilities=np.stack([own, theirs], axis=1))
        games = rollout((seat, seat_occupant("random")), pair, seed=4)
        facts = np.column_stack([theirs.astype(np.int64), np.zeros(games.size, dtype=np.int64)])
        lessons.append(seat.experience(games, rewards, facts))
        metrics.append(learner.update(lessons[-1]))
    for name, one, other in zip(Experience._fields, *lessons, strict=True):
        assert one is other is None or torch.equal(one, other) == (name != "targets"), name
    assert all(metrics[0][name] != metrics[1][name] for name in ("value_loss", "belief_loss"))


def test_labels_are_unread_in_games_of_partners_that_read_none():
    crowd = Mixture(["linear", Mixture(["heuristic", "random"], [1, 2])], [1, 3])
    shape = NetworkShape(hidden=(8,), beliefs=True, members=member_names(crowd))
    plan = Practice(LEWIS, Rules(), 300, 100, 5, privileged=True, labels_from="readers")
    found, _ = practice(PolicyNetwork(shape), [Opponent(crowd, 1.0)], plan, update=0, games_before=0)
    assert found.targets is not None and found.unread is not None and found.unread_label is not None
    assert (found.unread == (found.targets[:, 3] != shape.members.index("heuristic"))).all()
    assert 0.5 < found.unread.float().mean() < 1
    offers = found.unread & (found.act <= Act.INSIST)
    assert (found.unread_label == torch.where(offers, torch.where(found.act == Act.INSIST, 1.0, -1.0), 0.0)).all()


def test_belief_loss_by_hand():
    values, who = torch.zeros(3, 11, 2), torch.zeros(4, 2)
    values[0, 7, 0] = math.log(10)  # 10 of 20 parts
    told_of = torch.tensor([[7, 0, 1, 2], [0, 0, 0, NO_MEMBER]])
    first = math.log(2) + 2 * math.log(11) + math.log(4)
    assert float(belief_loss(values, who, told_of)) == pytest.approx((first + 3 * math.log(11)) / 2)
    assert float(belief_loss(values, who[:0], told_of)) == pytest.approx((first - math.log(4) + 3 * math.log(11)) / 2)


def test_belief_loss_with_posterior():
    """One decision of two is held to a half and a half, in cross-entropy; of the other only what was true is known."""
    values, who = torch.zeros(3, 11, 2), torch.zeros(4, 2)
    values[0, 7], who[1] = math.log(10), math.log(5)  # 10 of 20 parts and 5 of 8
    values.requires_grad_()
    told_of = torch.tensor([[7, 0, 1, 2], [7, 0, 0, 1]])
    posterior = torch.zeros(2, 33 + 4)
    posterior[0, [7, 8, 11, 22, 33, 34]] = torch.tensor([0.5, 0.5, 1.0, 1.0, 0.25, 0.75])
    posterior[1] = math.nan
    found = belief_loss(values, who, told_of, posterior)
    first = -0.5 * math.log(1 / 2) - 0.5 * math.log(1 / 20) - 0.25 * math.log(1 / 8) - 0.75 * math.log(5 / 8)
    second = -math.log(1 / 2) - math.log(5 / 8)
    assert float(found.detach()) == pytest.approx((first + second + 4 * math.log(11)) / 2)
    found.backward()
    assert values.grad is not None and values.grad[0, 7].tolist() == pytest.approx([0.0, -0.25])


def test_checkpoint_plays_without_targets(tmp_path):
    learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    learner.update(practiced(learner.network))
    tensors, _ = learner.state()
    assert any(name.startswith("critic.") for name in tensors)
    path = tmp_path / "all.json"
    save_checkpoint(path, tensors, network_note(learner.network))
    turns = GameBatch(LEWIS.block(9, 0, 64)).turns()
    known, again = NetworkPartner(learner.network), NetworkPartner(load_checkpoint(path).network())
    assert np.array_equal(again.probs(turns, 4), known.probs(turns, 4))
    assert np.array_equal(again.beliefs(turns).values, known.beliefs(turns).values)
    plain = NumpyPartner(load_numpy_network(path)[0])
    assert np.abs(plain.probs(turns, 4) - known.probs(turns, 4)).max() < 2e-5
    beliefs, expected = plain.beliefs(turns), known.beliefs(turns)
    assert np.abs(beliefs.values - expected.values).max() < 2e-5 and beliefs.members == MEMBERS
    assert np.abs(beliefs.identity - expected.identity).max() < 2e-5


def test_learner_with_targets_restores_exactly():
    through = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    through.update(practiced(through.network))
    tensors, counters = through.state()
    held = {name: value.clone() for name, value in tensors.items()}
    again = Learner(PolicyNetwork(SHAPE, seed=9), SETTINGS, seed=2)
    again.restore(held, counters)
    for learner in (through, again):
        learner.update(practiced(learner.network, update=1))
    ends = [learner.state()[0] for learner in (through, again)]
    assert ends[0].keys() == ends[1].keys() and all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


@pytest.mark.slow
def test_beliefs_are_learned_and_do_not_depend_on_the_order_of_items():
    learner = Learner(PolicyNetwork(SHAPE, seed=1), SETTINGS, seed=2)
    surprise = [learner.update(practiced(learner.network, update, size=1000))["belief_loss"] for update in range(6)]
    assert surprise[-1] < 0.85 * surprise[0]
    seen = LEWIS.block(9, 0, 200)
    kinds = seen.counts.astype(int) * 11 + seen.utilities[:, 0]
    apart = np.array([len(set(kind)) == 3 for kind in kinds.tolist()])  # items that are alike have no order
    scenarios, partner = seen.rows(np.flatnonzero(apart)), NetworkPartner(learner.network)
    first = partner.beliefs(GameBatch(scenarios).turns())
    assert first is not None and first.members == MEMBERS
    assert np.allclose(first.values.sum(axis=2), 1) and np.allclose(first.identity.sum(axis=1), 1)
    for order in map(list, permutations(range(3))):
        replace_names = Scenarios(scenarios.counts[:, order], scenarios.utilities[:, :, order], scenarios.prior)
        found = partner.beliefs(GameBatch(replace_names).turns())
        assert np.array_equal(found.values, first.values[:, order]) and np.array_equal(found.identity, first.identity)
    assert NetworkPartner(PolicyNetwork(NetworkShape(hidden=(8,)))).beliefs(GameBatch(scenarios).turns()) is None


def test_initial_weights_gain_or_lose_belief_head(tmp_path):
    plain = PolicyNetwork(NetworkShape(hidden=(8,)), seed=4)
    path = tmp_path / "plain.json"
    save_checkpoint(path, {f"network.{name}": value for name, value in plain.state_dict().items()}, network_note(plain))
    wanted = NetworkShape(hidden=(8,), beliefs=True, members=MEMBERS)
    made = first_network(wanted, str(path), disagree="ends", seed=1)
    assert made.shape == wanted and torch.equal(made.head.weight, plain.head.weight)
    assert made.belief is not None and made.belief.layer.weight.abs().sum() > 0
    save_checkpoint(path, {f"network.{name}": value for name, value in made.state_dict().items()}, network_note(made))
    assert load_checkpoint(path).network().shape == wanted
    assert first_network(NetworkShape(hidden=(8,)), str(path), disagree="ends", seed=1).belief is None
