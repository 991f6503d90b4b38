"""A policy network in a seat: legal whatever it is dealt, the same in any company, true to its own probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dond_marl.conformance import VARIANTS, check_partner, positions
from dond_marl.game import Act
from dond_marl.seats import Turns
from dond_marl.splits import action_at, action_index, legal_action_mask
from hints import HintSchedule, RandomHinter
from partners.network.network import NetworkShape, PolicyNetwork
from partners.network.partner import FEW, ClonedPartner, NetworkPartner

torch.set_num_threads(1)
LARGEST_UNIFORM = 1 - 2.0**-53  # what a generator can draw at most; as a float32 it is 1
MAX_COUNT = 4


def network(sharpness: float = 100.0, **shape: object) -> PolicyNetwork:
    """A network with opinions: a new one's head is small, so its choices are almost uniform."""
    policy = PolicyNetwork(NetworkShape(**{"hidden": (32,), **shape}), seed=3)  # type: ignore[arg-type]
    with torch.no_grad():
        policy.head.weight.mul_(sharpness)
    return policy


@pytest.fixture(scope="module")
def observed() -> list[Turns]:
    """Positions of every rule variant and scenario source that such a network may meet."""
    partner = NetworkPartner(network())
    return [position.turns for position in positions(partner, max_count=MAX_COUNT, games=40, seed=5)]


def many(turns: Turns, size: int, seed: int = 0) -> Turns:
    """``size`` rows like those of ``turns``, each with noise of its own."""
    rng = np.random.default_rng(seed)
    rows = turns.rows(rng.integers(turns.size, size=size))
    return rows._replace(noise=rng.random((size, 8)), game_noise=rng.random((size, 8)))


FLAT, ALL = {"history": "flat"}, {"partner_utilities": True, "hints": True, "max_turns": 100}


@pytest.mark.parametrize(("shape", "greedy"), [(FLAT, True), (ALL, False)])
def test_network_partner_conforms(shape, greedy):
    check_partner(
        NetworkPartner(network(**shape), greedy=greedy),
        max_count=MAX_COUNT,
        sources=("by_hand",),
        variants=VARIANTS[:4],
    )


@pytest.mark.parametrize("kind", [NetworkPartner, ClonedPartner])
def test_sampled_policy_of_greedy_partner(observed, kind):
    policy = network()
    sampled, plain = kind(policy, greedy=True).sampling_policy(), kind(policy)
    assert not sampled.traits.deterministic and type(sampled) is kind
    for turns in observed:
        assert (sampled.probs(turns, MAX_COUNT) == plain.probs(turns, MAX_COUNT)).all()


@pytest.mark.parametrize("size", [1, 65])
def test_rows_are_independent_of_the_batch(observed, size):
    partner = NetworkPartner(network())
    turns = many(observed[3], 500)
    choices = partner.choose(turns)
    mixed = np.random.default_rng(size).permutation(500)[:size]
    alone = partner.choose(turns.rows(mixed))
    assert torch.equal(alone.act, choices.act[mixed]) and torch.equal(alone.oA, choices.oA[mixed])
    assert torch.allclose(alone.log_prob, choices.log_prob[mixed], atol=1e-5, rtol=0)
    assert torch.allclose(alone.value, choices.value[mixed], atol=1e-5, rtol=0)
    logits_alone, logits = (partner.network(part)[0] for part in (alone.features, choices.features))
    assert torch.allclose(logits_alone, logits[mixed], atol=1e-5, rtol=0)


@pytest.mark.parametrize("shape", [{}, FLAT, {"sorted_items": True, "head": "joint"}])
def test_equal_rows_share_a_computation_to_the_bit(observed, shape):
    """Batches of ``FEW`` rows and more are computed by their distinct rows, smaller ones row by row."""
    players = [NetworkPartner(network(**shape)), NetworkPartner(network(60.0, **shape))]
    for number, position in enumerate(observed[:12]):
        turns = many(position, 2 * FEW - 2, number)
        halves = [turns.rows(slice(0, FEW - 1)), turns.rows(slice(FEW - 1, None))]
        together, *apart = (players[0].choose(part) for part in (turns, *halves))
        assert all(torch.equal(whole, torch.cat(parts)) for whole, *parts in zip(together, *apart, strict=True))
        team = NetworkPartner.act_jointly(players, [half.size for half in halves], turns)
        alone = [player.act(half) for player, half in zip(players, halves, strict=True)]
        for whole, *parts in zip(team[:4], *(decisions[:4] for decisions in alone), strict=True):
            assert np.array_equal(whole, np.concatenate(parts))


@pytest.mark.parametrize("uniform", [0.0, LARGEST_UNIFORM])
def test_extreme_noise_gives_first_and_last_legal_choice(observed, uniform):
    partner = NetworkPartner(network(1.0))
    turns = many(observed[5], 300)
    turns.noise[:] = uniform
    choices = partner.choose(turns)
    assert (choices.act == (Act.END if uniform else Act.PROPOSE)).all()
    assert (choices.oA.numpy() == (turns.counts if uniform else 0)).all()


def test_sample_frequencies_match_probabilities(observed):
    partner, size = NetworkPartner(network(60.0)), 20_000
    for number, row in ((2, 0), (3, 7), (20, 3)):
        one = observed[number].rows(np.array([row]))
        probs = partner.probs(one, MAX_COUNT)[0]
        turns = many(one, size, number)
        decisions = partner.act(turns)
        counted = np.bincount(action_index(decisions.act_type, decisions.oA, MAX_COUNT), minlength=len(probs))
        assert not counted[probs == 0].any()
        likely = probs * size >= 5
        assert likely.sum() > 3
        # Pearson's statistic has mean k and variance 2k: five deviations above it is no accident.
        freedom = likely.sum()
        statistic = ((counted - probs * size)[likely] ** 2 / (probs * size)[likely]).sum()
        assert statistic < freedom + 5 * np.sqrt(2 * freedom)


@pytest.mark.parametrize("greedy", [False, True])
def test_probs_match_numbered_acts(observed, greedy):
    partner = NetworkPartner(network(), greedy=greedy)
    for turns in observed:
        probs = partner.probs(turns, MAX_COUNT)
        legal = legal_action_mask(turns.counts, turns.act_mask[:, Act.AGREE], MAX_COUNT)
        assert probs.shape == legal.shape and probs.sum(axis=1) == pytest.approx(np.ones(turns.size), abs=1e-12)
        assert (probs[~legal] == 0).all() and (probs >= 0).all()
        decisions = partner.act(turns)
        chosen = probs[np.arange(turns.size), action_index(decisions.act_type, decisions.oA, MAX_COUNT)]
        if greedy:
            assert (chosen == 1).all() and (np.sort(probs, axis=1)[:, :-1] == 0).all()
        else:
            assert chosen == pytest.approx(decisions.confidence, abs=1e-5)


def test_greedy_takes_likeliest_parts(observed):
    policy = network()
    greedy, sampled = NetworkPartner(policy, greedy=True), NetworkPartner(policy)
    for turns in observed:
        decisions = greedy.act(turns)
        probs = sampled.probs(turns, MAX_COUNT)
        act, oA = action_at(np.arange(probs.shape[1]), MAX_COUNT)
        by_act = np.stack([probs[:, act == kind].sum(axis=1) for kind in Act], axis=1)
        assert (by_act[np.arange(turns.size), decisions.act_type] >= by_act.max(axis=1) - 1e-6).all()
        for item in range(3):  # entries are independent: the likeliest offer has the likeliest entries
            entries = np.stack(
                [probs[:, (act == Act.PROPOSE) & (oA[:, item] == n)].sum(axis=1) for n in range(5)], axis=1
            )
            offered = decisions.act_type <= Act.INSIST
            likeliest = entries[np.arange(turns.size), decisions.oA[:, item]] >= entries.max(axis=1) - 1e-6
            assert likeliest[offered].all()


def test_the_grid_of_acts_may_be_wider_than_the_network(observed):
    partner = NetworkPartner(network())
    narrow, wide = partner.probs(observed[3], MAX_COUNT), partner.probs(observed[3], 7)
    act, oA = action_at(np.arange(narrow.shape[1]), MAX_COUNT)
    assert (wide[:, action_index(act, oA, 7)] == narrow).all() and wide.sum(axis=1) == pytest.approx(1)


def test_hints_matter_only_to_hint_networks(observed):
    turns = many(observed[3], 50)
    hinted = turns._replace(hint_features=HintSchedule(RandomHinter()).hint_features(turns).copy())
    with_hints, without_hints = NetworkPartner(network(hints=True)), NetworkPartner(network())
    assert (with_hints.probs(turns, MAX_COUNT) != with_hints.probs(hinted, MAX_COUNT)).any()
    assert (without_hints.probs(turns, MAX_COUNT) == without_hints.probs(hinted, MAX_COUNT)).all()
