"""A network that reads items in an order of their own: permute the deal, and it says the same of the same items."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from partners.network.network import ItemOrder, NetworkShape, PolicyNetwork, in_turn_order
from partners.network.shape import ITEM_PIECES, item_columns

torch.set_num_threads(1)
PERMUTATIONS = [list(order) for order in itertools.permutations(range(3))]
FULL = {"partner_utilities": True, "hints": True}
HISTORY = {"hints": True, "history": "flat", "max_turns": 16}  # more acts than one whole number holds
WHOLE = {"counts": 4, "my_utilities": 10, "partner_utilities": 10, "last_partner_offer_for_me": 4, "hint_oA": 4}


@lru_cache
def network(sorted_items: bool = True, full: bool = True, history: bool = False) -> PolicyNetwork:
    """With opinions: a new one's head is small, so its choices are almost uniform."""
    more = HISTORY if history else FULL if full else {}
    shape = NetworkShape(hidden=(32, 32), sorted_items=sorted_items, **more)
    policy = PolicyNetwork(shape, seed=3)
    with torch.no_grad():
        policy.head.weight.mul_(100)
    return policy


def pieces_of(policy: PolicyNetwork) -> dict[str, slice]:
    ends = np.cumsum([width for _, width in policy.adapter.pieces]).tolist()
    return {name: slice(end - width, end) for (name, width), end in zip(policy.adapter.pieces, ends, strict=True)}


def items_of(policy: PolicyNetwork) -> list[slice]:
    """The pieces that tell of single items, in the order in which items are compared."""
    pieces = pieces_of(policy)
    history = [name for name in pieces if name.startswith(("own_claim", "mine_offer", "theirs_offer"))]
    return [pieces[name] for name in (*ITEM_PIECES, *history) if name in pieces]


def permuted(policy: PolicyNetwork, features: torch.Tensor, order: list[int]) -> torch.Tensor:
    """Features ``[B, F]`` of the same turns with item ``order[i]`` called ``i``."""
    changed = features.clone()
    for piece in items_of(policy):
        changed[:, piece] = features[:, piece][:, order]
    return changed


def drawn(policy: PolicyNetwork, size: int, seed: int, levels: int = 11) -> torch.Tensor:
    """Features ``[size, F]``: whole numbers below ``levels``, each divided by its largest."""
    rng, columns = np.random.default_rng(seed), []
    for name, width in policy.adapter.pieces:
        top = WHOLE.get(name, 5 if "mine" in name or "theirs" in name or name == "own_claim" else 1)
        columns.append(rng.integers(min(top + 1, levels), size=(size, width)) * np.float32(1 / top))
    return torch.from_numpy(np.concatenate(columns, axis=1).astype(np.float32))


def distinct(policy: PolicyNetwork, features: torch.Tensor) -> torch.Tensor:
    """Mask of the rows whose three items differ in an observed feature."""
    items = torch.stack([features[:, piece] for piece in items_of(policy)], dim=2)  # [B, 3, pieces]
    return torch.stack([(items[:, i] != items[:, j]).any(dim=1) for i, j in ((0, 1), (0, 2), (1, 2))]).all(dim=0)


# -- the order -------------------------------------------------------------------------------------------------------


def test_item_order_keys():
    """Two deals, and the places of their items.

           books  hats  balls            books  hats  balls
    value    3     0     1      places     2     0     1
    value    2     2     2
    count    1     3     1      places     0     2     1    (the offers decide between books and balls)
    offer    0     0     1
    """
    policy = network(full=False)
    pieces = pieces_of(policy)
    features = torch.zeros(2, policy.adapter.width)
    features[:, pieces["my_utilities"]] = torch.tensor([[3, 0, 1], [2, 2, 2]]) / 10
    features[:, pieces["counts"]] = torch.tensor([[1, 1, 4], [1, 3, 1]]) / 4
    features[:, pieces["last_partner_offer_for_me"]] = torch.tensor([[0, 1, 4], [0, 0, 1]]) / 4
    columns, order = features.t(), ItemOrder(policy.adapter.pieces)
    places = order.places(columns)
    assert places.t().tolist() == [[2, 0, 1], [0, 2, 1]]
    arranged = order.order_items(columns, places).t()
    assert (arranged[0, pieces["my_utilities"]] * 10).round().tolist() == [0, 1, 3]
    assert (arranged[0, pieces["counts"]] * 4).tolist() == [1, 4, 1], "a count goes where its item goes"
    assert (arranged[1, pieces["last_partner_offer_for_me"]] * 4).tolist() == [0, 1, 0]
    other_columns = [column for name, piece in pieces.items() if name not in ITEM_PIECES for column in range(26)[piece]]
    assert torch.equal(arranged[:, other_columns], features[:, other_columns])
    logits = torch.arange(4 * 5 * 2.0).view(4, 5, 2)
    back = in_turn_order(logits, places)
    assert torch.equal(back[0], logits[0]) and torch.equal(back[1, :, 0], logits[3, :, 0])


def test_item_order_is_lexicographic():
    """Hints are shares of a cap: the smallest difference between any two numbers of a piece is 1/9 - 1/10."""
    policy = PolicyNetwork(NetworkShape(10, hidden=(8,), **FULL), seed=None)
    pieces, rng = pieces_of(policy), np.random.default_rng(1)
    shares = np.array([k / n for n in range(1, 11) for k in range(n + 1)], dtype=np.float32)
    features = np.zeros((2000, policy.adapter.width), dtype=np.float32)
    for name in ITEM_PIECES:
        few = rng.choice(shares, size=(2000, 2))  # two numbers for three items: many are alike in it
        features[:, pieces[name]] = few[np.arange(2000)[:, None], rng.integers(2, size=(2000, 3))]
    places = ItemOrder(policy.adapter.pieces).places(torch.from_numpy(features).t()).t().numpy()
    for row, order in zip(features, places, strict=True):
        items = [tuple(row[pieces[name]][item] for name in ITEM_PIECES) for item in range(3)]
        assert order.tolist() == [sorted(range(3), key=lambda item: items[item]).index(item) for item in range(3)]


def test_all_item_features_are_reordered():
    """A piece of three numbers that is forgotten here would stay behind when its item moves."""
    of_items = {name for name, width in network().adapter.pieces if width == 3}
    assert of_items == set(ITEM_PIECES)
    remembers = network(history=True)
    first, said = item_columns(remembers.adapter.pieces)
    told = [width for _, width in remembers.adapter.pieces if width == 3]
    assert len(first) + len(said) == len(told) == 5 + 15 and [*first, *said] == items_of(remembers)


def test_item_order_uses_history():
    """Thirty comparisons of few levels, so that many are decided late; against Python's own comparison."""
    policy = network(history=True)
    size, rng = 64, np.random.default_rng(1)
    order, items = ItemOrder(policy.adapter.pieces, 5), items_of(policy)
    for _ in range(30):
        features = torch.zeros(size, policy.adapter.width)
        for piece in items[rng.integers(len(items)) :]:
            features[:, piece] = torch.from_numpy(rng.integers(2, size=(size, 3)) * np.float32(3 / 5)).float()
        places = order.places(features.t()).t().tolist()
        for row, row_places in zip(features, places, strict=True):
            keys = [tuple(row[piece][item].item() for piece in items) for item in range(3)]
            assert row_places == [sorted(range(3), key=lambda item: keys[item]).index(item) for item in range(3)]


# -- the network -----------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from(PERMUTATIONS), st.sampled_from([2, 3, 11]), st.booleans(), st.booleans())
def test_permuted_items_give_same_output(seed, order, levels, full, history):
    """Values are equal to the bit, and logits of each item move with the item, for any other features."""
    policy = network(full=full, history=history)
    features = drawn(policy, 64, seed, levels)
    changed = permuted(policy, features, order)
    assert torch.equal(distinct(policy, features), distinct(policy, changed))
    with torch.no_grad():
        (logits, value), (after, value_after) = policy(features), policy(changed)
    assert torch.equal(value, value_after) and torch.equal(logits[:, 0], after[:, 0])
    rows = distinct(policy, features)
    assert torch.equal(logits[:, 1:][:, order][rows], after[:, 1:][rows])
