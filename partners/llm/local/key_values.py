"""Key-value states of a causal language model: attention caches that can be forked without a copy.

A fork continues rows of its parent state; their keys and values are concatenated for one layer at a time, while that
layer is computed. So the common beginning of all prompts is read once, and the legal lines of a prompt share the state
of the prompt. The states of models that store anything but keys and values are copied instead.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_SHARING: WeakKeyDictionary[PreTrainedModel, bool] = WeakKeyDictionary()


class KeyValueState:
    """The attention cache of ``model`` after ``[R]`` texts; ``tokens`` counts the tokens read, without padding."""

    def __init__(self, model: PreTrainedModel, parent: KeyValueState | None = None) -> None:
        self.tokens = 0
        self._model = model
        self._parent = parent
        self._parameters = inspect.signature(model.forward).parameters
        self._shares = shares_prefixes(model)
        self._past: Cache | None = None
        self._owner: Tensor | None = None  # [R] the rows of ``parent`` that the rows continue
        self._mask = torch.zeros((0, 0), dtype=torch.long)  # [R, W] of its own part: 1 token, 0 padding

    def fork(self) -> KeyValueState:
        """A state that continues rows of this one, which does not change."""
        return KeyValueState(self._model, self)

    @torch.inference_mode()
    def go_on(self, texts: Sequence[Sequence[int]], parents: Sequence[int] | None = None) -> Tensor:
        """Read ``texts[R]`` after the rows ``parents[R]`` (``None``: at the start); next-token logits ``[R, V]``.

        The rows are those of ``texts`` from then on; a parent may be named several times, or not at all. At the first
        call of a fork ``parents`` are rows of the state that it was forked from.
        """
        device = self._model.device
        width = max(map(len, texts))
        tokens = np.zeros((len(texts), width), dtype=np.int64)  # padding may be any token: it is masked
        read = np.zeros((len(texts), width), dtype=np.int64)
        for row, text in enumerate(texts):
            tokens[row, width - len(text) :] = text
            read[row, width - len(text) :] = 1
        mask = torch.from_numpy(read).to(device)
        if parents is not None:
            self._select(torch.tensor(parents, device=device))
            mask = torch.cat([self._mask, mask], dim=1)
        self._mask = mask
        mask = self._full_mask()
        if self._past is None and self._shares:  # otherwise the model makes one of its own type
            self._past = Cache(layer_class_to_replicate=_SharedLayer)
        # An index, not a slice: its rows are contiguous, and matrix products of a slice are slow.
        last = torch.tensor([width - 1], device=device)
        options = {"position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -width:], "logits_to_keep": last}
        output = self._model(
            input_ids=torch.from_numpy(tokens).to(device),
            attention_mask=mask,
            past_key_values=self._past,
            use_cache=True,
            **{name: value for name, value in options.items() if name in self._parameters},
        )
        self._past = output.past_key_values
        self.tokens += int(read.sum())
        logits: Tensor = output.logits[:, -1].float()
        return logits

    def _select(self, rows: Tensor) -> None:
        """Continue these rows: at the first call those of the parent, later its own."""
        # parent state   rows 0 1 2            keys and values of the prompts
        #                     |  \\ \\
        # this state     rows 0   1 2    owner = [0, 2, 2]: only the tokens after the parent's are stored here
        parent = self._parent
        if self._past is None:
            assert parent is not None and parent._past is not None
            if self._shares:
                self._owner = rows
                layers = cast(list[_SharedLayer], parent._past.layers)
                self._past = Cache(layers=[_SharedLayer(layer, rows) for layer in layers])
                self._mask = parent._mask.new_zeros((len(rows), 0))
                return
            self._past, self._mask = copy.deepcopy(parent._past), parent._mask
        if len(rows) != len(self._mask) or not torch.equal(rows, torch.arange(len(rows), device=rows.device)):
            self._past.batch_select_indices(rows)
            self._mask = self._mask[rows]
            self._owner = None if self._owner is None else self._owner[rows]

    def _full_mask(self) -> Tensor:
        if self._owner is None or self._parent is None:
            return self._mask
        return torch.cat([self._parent._full_mask()[self._owner], self._mask], dim=1)


class _SharedLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer, for texts that continue the rows ``owner[R]`` of the layer ``parent``, if any."""

    def __init__(self, parent: _SharedLayer | None = None, owner: Tensor | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.parent, self.owner = parent, owner

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        super().update(key_states, value_states)
        return self.full()

    def full(self, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values of ``rows``, by default of every row, ``[R, heads, W, size]``."""
        keys, values = self.keys, self.values
        assert keys is not None and values is not None
        if rows is not None:
            if len(keys) == 1:  # a common prefix
                keys, values = keys.expand(len(rows), -1, -1, -1), values.expand(len(rows), -1, -1, -1)
            else:
                keys, values = keys[rows], values[rows]
        if self.parent is None or self.owner is None:
            return keys, values
        first_keys, first_values = self.parent.full(self.owner if rows is None else self.owner[rows])
        return torch.cat([first_keys, keys], dim=-2), torch.cat([first_values, values], dim=-2)

    def get_seq_length(self) -> int:
        earlier = 0 if self.parent is None else self.parent.get_seq_length()
        return earlier + super().get_seq_length()

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        if self.owner is not None:
            self.owner = self.owner[indices]


def shares_prefixes(model: PreTrainedModel) -> bool:
    """Whether ``model`` stores only keys and values of a text, so that forks can share them."""
    if model not in _SHARING:
        with torch.inference_mode():
            token = torch.zeros((1, 1), dtype=torch.long, device=model.device)
            past = model(input_ids=token, attention_mask=torch.ones_like(token), use_cache=True).past_key_values
        plain = (DynamicLayer, DynamicSlidingWindowLayer)
        borrowed = getattr(model.config.get_text_config(), "num_kv_shared_layers", 0)  # layers that read another's
        _SHARING[model] = (
            type(past) is DynamicCache and not borrowed and all(type(layer) in plain for layer in past.layers)
        )
    return _SHARING[model]


def allows_gaps(model: PreTrainedModel, longest: int) -> bool:
    """Whether padding inside a text of ``longest`` tokens is harmless: explicit positions, all within the window."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    explicit = "position_ids" in inspect.signature(model.forward).parameters and not getattr(config, "alibi", False)
    return explicit and (not window or longest <= window)
