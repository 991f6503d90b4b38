"""What a model has read, row by row, kept once for all texts that go on from it.

A reading can be forked: the new one goes on from rows of the old one without a copy of their keys and values, which are
put together for one layer at a time while that layer is computed. So the beginning of all prompts is read once, and the
legal lines of a prompt share what was read of it. Models that keep anything but keys and values are copied instead.
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
    """What ``model`` has read so far, ``[R]`` texts; ``tokens`` counts what it was given to read, without filling."""

    def __init__(self, model: PreTrainedModel, before: KeyValueState | None = None) -> None:
        self.tokens = 0
        self._model = model
        self._before = before
        self._takes = inspect.signature(model.forward).parameters
        self._shares = shares(model)
        self._past: Cache | None = None
        self._owner: Tensor | None = None  # [R] the rows of ``before`` that the rows go on from
        self._mask = torch.zeros((0, 0), dtype=torch.long)  # [R, W] of the own part: 1 where there is a token

    def fork(self) -> KeyValueState:
        """A reading that goes on from rows of this one, which stays as it is."""
        return KeyValueState(self._model, self)

    @torch.inference_mode()
    def go_on(self, texts: Sequence[Sequence[int]], parents: Sequence[int] | None = None) -> Tensor:
        """Read ``texts[R]`` after what the rows ``parents[R]`` have read; the logits of what comes next, ``[R, V]``.

        The rows are from now on those of ``texts``. A row may be named several times, or be left behind. Parents of the
        first texts of a fork are rows of the reading that it was forked from.
        """
        device = self._model.device
        width = max(map(len, texts))
        tokens = np.zeros((len(texts), width), dtype=np.int64)  # any token fills up: it is never looked at
        read = np.zeros((len(texts), width), dtype=np.int64)
        for row, text in enumerate(texts):
            tokens[row, width - len(text) :] = text
            read[row, width - len(text) :] = 1
        own = torch.from_numpy(read).to(device)
        if parents is not None:
            self._select(torch.tensor(parents, device=device))
            own = torch.cat([self._mask, own], dim=1)
        self._mask = own
        mask = self._whole_mask()
        last = torch.tensor([width - 1], device=device)  # picked, its rows lie together; of a slice products are slow
        options = {"position_ids": (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -width:], "logits_to_keep": last}
        output = self._model(
            input_ids=torch.from_numpy(tokens).to(device),
            attention_mask=mask,
            past_key_values=self._start() if self._past is None else self._past,
            use_cache=True,
            **{name: value for name, value in options.items() if name in self._takes},
        )
        self._past = output.past_key_values
        self.tokens += int(read.sum())
        logits: Tensor = output.logits[:, -1].float()
        return logits

    def _start(self) -> Cache | None:
        """The keys and values to begin with, ``None`` for the model's own."""
        return Cache(layer_class_to_replicate=_SharedLayer) if self._shares else None

    def _select(self, rows: Tensor) -> None:
        """Go on with these rows: at first of the reading before, later of its own."""
        before = self._before
        if self._past is None:
            assert before is not None and before._past is not None
            if self._shares:
                self._owner = rows
                layers = cast(list[_SharedLayer], before._past.layers)
                self._past = Cache(layers=[_SharedLayer(layer, rows) for layer in layers])
                self._mask = before._mask.new_zeros((len(rows), 0))
                return
            self._past, self._mask = copy.deepcopy(before._past), before._mask
        if len(rows) != len(self._mask) or not torch.equal(rows, torch.arange(len(rows), device=rows.device)):
            self._past.batch_select_indices(rows)
            self._mask = self._mask[rows]
            self._owner = None if self._owner is None else self._owner[rows]

    def _whole_mask(self) -> Tensor:
        if self._owner is None or self._before is None:
            return self._mask
        return torch.cat([self._before._whole_mask()[self._owner], self._mask], dim=1)


class _SharedLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of one layer for texts that go on from rows ``owner[R]`` of the layer ``before``, if any."""

    def __init__(self, before: _SharedLayer | None = None, owner: Tensor | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.before, self.owner = before, owner

    def update(self, key_states: Tensor, value_states: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        super().update(key_states, value_states)
        return self.whole()

    def whole(self, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values of ``rows``, by default of every row, ``[R, heads, W, size]``."""
        keys, values = self.keys, self.values
        assert keys is not None and values is not None
        if rows is not None:
            if len(keys) == 1:  # the beginning of all prompts
                keys, values = keys.expand(len(rows), -1, -1, -1), values.expand(len(rows), -1, -1, -1)
            else:
                keys, values = keys[rows], values[rows]
        if self.before is None or self.owner is None:
            return keys, values
        first_keys, first_values = self.before.whole(self.owner if rows is None else self.owner[rows])
        return torch.cat([first_keys, keys], dim=-2), torch.cat([first_values, values], dim=-2)

    def get_seq_length(self) -> int:
        earlier = 0 if self.before is None else self.before.get_seq_length()
        return earlier + super().get_seq_length()

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        if self.owner is not None:
            self.owner = self.owner[indices]


def shares(model: PreTrainedModel) -> bool:
    """Whether all that ``model`` keeps of a text are keys and values: then what was read can be shared."""
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
    """Whether filling may stand inside of a text of ``longest`` tokens: places are told, and none is too far to see."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    told = "position_ids" in inspect.signature(model.forward).parameters and not getattr(config, "alibi", False)
    return told and (not window or longest <= window)
