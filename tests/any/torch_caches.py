"""KV caches in torch, some of which derive from those of transformers, each right and with faults put in."""

from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer, StaticLayer

Tensor = Any
Pair = tuple[Tensor, Tensor]


class Sliding:
    """The newest `sliding_window` - 1 tokens between calls; `trim(n)` says how many it removed."""

    def __init__(self, sliding_window: int) -> None:
        self.sliding_window = sliding_window
        self.keys: Tensor = None
        self.values: Tensor = None
        self.offset = 0

    def update(self, key_states: Tensor, value_states: Tensor) -> Pair:
        self.offset += key_states.shape[-2]
        if self.keys is not None:
            key_states = torch.cat([self.keys, key_states], dim=-2)
            value_states = torch.cat([self.values, value_states], dim=-2)
        start = max(0, key_states.shape[-2] - self.kept())
        self.keys, self.values = key_states[:, :, start:].clone(), value_states[:, :, start:].clone()
        return key_states, value_states

    def kept(self) -> int:
        """How many tokens stay."""
        return self.sliding_window - 1

    def trim(self, n: int) -> int:
        held = 0 if self.keys is None else self.keys.shape[-2]
        if 0 < n < self.offset and held < self.offset:
            return 0
        removed = min(n, self.offset)
        if self.keys is not None:
            end = held - min(removed, held)
            self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]
        self.offset -= removed
        return removed

    def reset(self) -> None:
        self.keys = self.values = None
        self.offset = 0

    def reorder_cache(self, beam_idx: Tensor) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys.index_select(0, beam_idx), self.values.index_select(0, beam_idx)


class SlidingReturnsHeld(Sliding):
    """Attention gets what stays, and the first of several new tokens lack their window."""

    def update(self, key_states: Tensor, value_states: Tensor) -> Pair:
        super().update(key_states, value_states)
        return self.keys, self.values


class SlidingResetsContentsOnly(Sliding):
    """The counter stays."""

    def reset(self) -> None:
        self.keys = self.values = None


class Static:
    """A buffer of `max_cache_len` cells that is taken once; all of it is returned."""

    def __init__(self, max_cache_len: int) -> None:
        self.max_cache_len = max_cache_len
        self.keys: Tensor = None
        self.values: Tensor = None
        self.length = 0

    def update(self, key_states: Tensor, value_states: Tensor) -> Pair:
        if self.keys is None:
            shape = [(*tensor.shape[:2], self.max_cache_len, tensor.shape[3]) for tensor in (key_states, value_states)]
            self.keys = torch.zeros(shape[0], dtype=key_states.dtype)
            self.values = torch.zeros(shape[1], dtype=key_states.dtype)
        end = self.length + key_states.shape[-2]
        if end > self.max_cache_len:
            raise ValueError(f"{end} tokens do not fit into {self.max_cache_len} cells")
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys, self.values

    def crop(self, n: int) -> None:
        self.length = max(0, self.length + n)

    def reset(self) -> None:
        self.length = 0

    def reorder(self, rows: Tensor) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys[rows], self.values[rows]


class StaticCountsBeforeItRefuses(Static):
    """An append that does not fit moves the length all the same."""

    def update(self, key_states: Tensor, value_states: Tensor) -> Pair:
        if self.length + key_states.shape[-2] > self.max_cache_len:
            self.length = self.max_cache_len
            raise ValueError("no room")
        return super().update(key_states, value_states)


class StaticShiftsByOne(Static):
    """A crop of all but one token leaves the write position one too far."""

    def crop(self, n: int) -> None:
        super().crop(n)
        if n < 0 and self.length == 1:
            self.length = 2


class Layers:
    """Lists of keys and values for each layer, in the shape of transformers' caches, and of none of them."""

    def __init__(self) -> None:
        self.key_cache: list[Tensor] = []
        self.value_cache: list[Tensor] = []

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, cache_kwargs: Any = None) -> Pair:
        if len(self.key_cache) <= layer_idx:
            self.key_cache.append(key_states.clone())
            self.value_cache.append(value_states.clone())
        else:
            self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], key_states], dim=-2)
            self.value_cache[layer_idx] = torch.cat([self.value_cache[layer_idx], value_states], dim=-2)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.key_cache[layer_idx].shape[-2] if len(self.key_cache) > layer_idx else 0

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.get_seq_length(layer_idx) + query_length, 0

    def crop(self, max_length: int) -> None:
        for layer in range(len(self.key_cache)):
            self.key_cache[layer] = self.key_cache[layer][..., :max_length, :]
            self.value_cache[layer] = self.value_cache[layer][..., :max_length, :]

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self.key_cache = [tensor.index_select(0, beam_idx) for tensor in self.key_cache]
        self.value_cache = [tensor.index_select(0, beam_idx) for tensor in self.value_cache]


class LayersAnnounceOneLess(Layers):
    """The mask is narrower than what is returned once something is held."""

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return max(query_length, self.get_seq_length(layer_idx) + query_length - 1), 0


class LayersShareTheInput(Layers):
    """What is scaled in place afterwards is the caller's."""

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int, cache_kwargs: Any = None) -> Pair:
        returned = super().update(key_states, value_states, layer_idx)
        value_states *= 2
        return returned


class MyLayer(DynamicLayer):  # type: ignore[misc]
    """A layer of transformers that counts how often it was used."""

    values: Any

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.used = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **more: Any) -> Pair:
        self.used += 1
        result: Pair = super().update(key_states, value_states, *args, **more)
        return result


class MyLayerDropsOneValue(MyLayer):
    """A crop takes one value more than keys."""

    def crop(self, tokens_to_remove: int) -> None:
        super().crop(tokens_to_remove)
        if tokens_to_remove < -1 and self.get_seq_length() > 1:
            self.values = self.values[..., :-1, :]


class MyLayerReordersBackwards(MyLayer):
    """Rows go the other way."""

    def reorder_cache(self, beam_idx: Tensor) -> None:
        super().reorder_cache(beam_idx.flip(0))


class MyWindow(DynamicSlidingWindowLayer):  # type: ignore[misc]
    """A window of transformers under a name of one's own for its size."""

    def __init__(self, width: int = 4) -> None:
        super().__init__(sliding_window=width)


class MyStatic(StaticLayer):  # type: ignore[misc]
    """A static layer whose reset leaves the counter."""

    cumulative_length: Any

    def reset(self) -> None:
        length = self.cumulative_length
        super().reset()
        self.cumulative_length = length
