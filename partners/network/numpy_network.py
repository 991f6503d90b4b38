"""A frozen policy network in NumPy, for a few games at a time: thirty times as fast as PyTorch, which is not loaded.

Measured for the shipped expert, one thread: 0.03 ms a turn against 1.1 ms of :mod:`partners.network.partner`, whose
forwards are padded to 64 rows; at 64 rows 0.2 ms against 1.1 ms. The logits are the same to within 2e-5; leagues and
evaluations use PyTorch, so that their figures are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from dond_marl.game import ITEMS, Act
from dond_marl.seats import Cause, Decisions, Doubles, Floats, Traits, Turns, constant
from dond_marl.solvers.recognition import LEVELS, Guess
from dond_marl.splits import grid, one_hot_probabilities
from partners.network.checkpoint_files import NETWORK, CheckpointError, read_pair, shape_of, tensors_path
from partners.network.probabilities import ActionProbabilities, FactoredProbabilities, JointProbabilities
from partners.network.shape import (
    AT_ONCE,
    CODES,
    MASKED,
    PARTS,
    RELUCTANCE,
    STEP,
    NetworkShape,
    item_columns,
)

NO_CHANGES: Mapping[Act, float] = {}


class NumpyNetwork:
    """A network of ``shape`` with ``weights`` by PyTorch's names."""

    def __init__(self, shape: NetworkShape, weights: Mapping[str, Floats]) -> None:
        self.shape = shape
        self.adapter = shape.adapter
        spelled, plain = shape.pieces()
        self._spelled, lows, tops = (np.array(numbers) for numbers in zip(*spelled, strict=True))
        self._plain = np.array(plain, dtype=np.int64)
        self._lows, self._tops = lows, tops.astype(np.float32)
        ends = np.cumsum(tops - lows + 1)
        self._starts, levels = ends - tops - 1, int(ends[-1])
        self._items = item_columns(self.adapter.pieces) if shape.sorted_items else None
        matrix, self._bias = np.ascontiguousarray(weights["trunk.0.weight"].T), weights["trunk.0.bias"]
        self._table = np.concatenate([matrix[:levels], np.zeros((1, matrix.shape[1]), matrix.dtype)])
        self._plain_weights = matrix[levels:]
        names = [*(f"trunk.{2 * number}" for number in range(1, len(shape.hidden))), "head"]
        *self._layers, self._head = (
            (np.ascontiguousarray(weights[f"{name}.weight"].T), weights[f"{name}.bias"]) for name in names
        )
        self._belief = (weights["belief.layer.weight"].T, weights["belief.layer.bias"]) if shape.beliefs else None

    def probabilities(self, turns: Turns, less: Mapping[Act, float] = NO_CHANGES) -> ActionProbabilities:
        """The action distributions of the turns; ``less``: nats to subtract from the logits of acts."""
        logits, places = self.logits(turns)
        mask = self.shape.mask(turns)
        for act, nats in less.items():
            logits[:, act] -= nats  # the first logits are the act's
        if self.shape.head == "factored":
            parts = logits.reshape(mask.shape)
            if places is not None:
                items = np.take_along_axis(parts[:, 1:], places[:, :, None], axis=1)
                parts = np.concatenate([parts[:, :1], items], axis=1)
            return FactoredProbabilities(_softmax(parts, mask))
        if places is None:
            places = np.broadcast_to(np.arange(len(ITEMS)), (turns.size, len(ITEMS)))
        counts = np.empty_like(turns.counts)
        np.put_along_axis(counts, places, turns.counts, axis=1)  # the pool in the network's order of items
        within: NDArray[np.bool_] = np.all(grid(self.shape.max_count) <= counts[:, None], axis=2)
        acts = _softmax(logits[:, : len(Act)], mask[:, 0, : len(Act)])
        offers = logits[:, len(Act) :].reshape(turns.size, 2, -1)
        return JointProbabilities(acts, _softmax(offers, within[:, None]), places, self.shape.max_count)

    def logits(self, turns: Turns) -> tuple[Floats, NDArray[np.int64] | None]:
        """The head's unmasked logits ``[B, L]``, and the place of each item in the network's order, ``[B, 3]``."""
        hidden, places = self._trunk_output(turns)
        weight, bias = self._head
        return (hidden @ weight + bias)[:, :-1], places

    def beliefs(self, turns: Turns) -> Guess | None:
        """Beliefs about the partners; ``None`` without a belief head."""
        if self._belief is None:
            return None
        hidden, places = self._trunk_output(turns)
        weight, bias = self._belief
        logits = hidden @ weight + bias
        values = logits[:, : len(ITEMS) * LEVELS].reshape(len(hidden), len(ITEMS), LEVELS)
        if places is not None:
            values = np.take_along_axis(values, places[:, :, None], axis=1)
        by_value = _softmax(values, np.ones_like(values, dtype=bool)).astype(np.float64)
        members = logits[:, len(ITEMS) * LEVELS :].astype(np.float64)
        if members.size:
            members = np.exp(members - members.max(axis=1, keepdims=True))
            members /= members.sum(axis=1, keepdims=True)
        return Guess(by_value / by_value.sum(axis=2, keepdims=True), self.shape.members, members)

    def _trunk_output(self, turns: Turns) -> tuple[Floats, NDArray[np.int64] | None]:
        """The trunk's output, ``[B, H]``, and the place of each item in the network's order, ``[B, 3]``."""
        features = self.adapter.encode(turns)
        places = None
        if self._items is not None:
            places = _input_places(features, *self._items, self.shape.max_count + 1)
            ordered = features.copy()
            for items in chain(*self._items):
                np.put_along_axis(ordered[:, items], places, features[:, items], axis=1)
            features = ordered
        wholes = np.rint(features[:, self._spelled] * self._tops)
        in_range = (wholes <= self._tops) & (wholes >= self._lows)
        levels = np.where(in_range, wholes + self._starts, len(self._table) - 1).astype(np.int64)
        hidden = self._table[levels].sum(axis=1) + features[:, self._plain] @ self._plain_weights + self._bias
        for weight, bias in self._layers:
            hidden = np.tanh(hidden) @ weight + bias
        return np.tanh(hidden), places


class NumpyPartner:
    """A frozen :class:`NumpyNetwork`; ``greedy``: the likeliest act and offer instead of samples.

    ``rare_disagree``: as :func:`partners.network.partner.with_rare_disagree`, in games that DISAGREE ends.
    """

    def __init__(self, network: NumpyNetwork, *, greedy: bool = False, rare_disagree: bool = False) -> None:
        self.network, self.greedy, self.rare_disagree = network, greedy, rare_disagree

    @property
    def traits(self) -> Traits:
        return Traits(deterministic=self.greedy, memoryless=not self.network.shape.remembers, learned=True)

    def sampling_policy(self) -> NumpyPartner:
        """The same policy, sampling its actions."""
        return NumpyPartner(self.network, rare_disagree=self.rare_disagree)

    def act(self, turns: Turns) -> Decisions:
        """One decision per row; the confidence is its probability."""
        uniforms = None if self.greedy else turns.noise[:, :PARTS].astype(np.float32)
        act, oA, odds = self._chances(turns).sample(uniforms)
        offers = (oA * (act <= Act.INSIST)[:, None]).astype(np.int8)
        return Decisions(act.astype(np.int8), offers, np.minimum(odds, 1), constant(Cause.FREE, np.int8, turns.size))

    def probs(self, turns: Turns, max_count: int) -> Doubles:
        """The probability of every numbered act (:mod:`dond_marl.splits`), ``[B, 2K + 3]``, rows summing to 1."""
        if self.greedy:
            decisions = self.act(turns)
            return one_hot_probabilities(decisions.act_type, decisions.oA, max_count)
        return self._chances(turns).by_number(max_count)

    def beliefs(self, turns: Turns) -> Guess | None:
        """Beliefs about the partner's values and identity; ``None`` without a belief head."""
        return self.network.beliefs(turns)

    def _chances(self, turns: Turns) -> ActionProbabilities:
        rare = self.rare_disagree and turns.rules.disagree == "ends"
        return self.network.probabilities(turns, {Act.DISAGREE: RELUCTANCE} if rare else NO_CHANGES)


def load_numpy_network(path: Path) -> tuple[NumpyNetwork, dict[str, object]]:
    """The network in a checkpoint, and its note. Raises :class:`partners.network.checkpoint_files.CheckpointError`."""
    content, about = read_pair(path)
    try:
        tensors = safetensors.numpy.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{tensors_path(path)}: cannot be read ({error}); restore a copy") from None
    weights = {name[len(NETWORK) :]: value for name, value in tensors.items() if name.startswith(NETWORK)}
    return NumpyNetwork(shape_of(about, str(path)), weights), about


def _input_places(features: Floats, items: list[slice], history: list[slice], code: int) -> NDArray[np.int64]:
    """The place of each item, ``[B, 3]``, as in :class:`partners.network.network.ItemOrder`."""
    first, *later_pieces = items
    rank = features[:, first].astype(np.float64)
    for columns in later_pieces:
        rank = features[:, columns] + STEP * rank
    for start in range(0, len(history), AT_ONCE):
        rank = (rank[:, :, None] > rank[:, None]).sum(axis=2).astype(np.float64)
        for columns in history[start : start + AT_ONCE]:
            rank = np.rint(features[:, columns] * np.float32(code)) + CODES * rank
    book, hat, ball = rank.T
    book_hat, book_ball, hat_ball = (pair.astype(np.int64) for pair in (book <= hat, book <= ball, hat <= ball))
    return np.stack([2 - book_hat - book_ball, 1 + book_hat - hat_ball, book_ball + hat_ball], axis=1)


def _softmax(logits: Floats, mask: NDArray[np.bool_]) -> Floats:
    """Probabilities ``[..., W]`` of logits, zero where ``mask`` is False."""
    masked = np.where(mask, logits, logits + np.float32(MASKED))
    odds = np.exp(masked - masked.max(axis=-1, keepdims=True))
    probs: Floats = odds / odds.sum(axis=-1, keepdims=True)
    return probs
