"""The bare Python loop: makes the calls on a layer that the adapter makes for the same sequences.

It looks at nothing; with `checked` behind the file it makes the cheapest checks that a test written by hand has: after
an append the last tokens are those that were given, and the length is what the appends and crops make it. Reads
requests of docs/protocol.md from a file, one on a line, and prints `{"ops": ..., "seconds": ...}`. Inputs are made for
each append, as a caller makes them.
"""

from __future__ import annotations

import copy
import io
import sys
import warnings
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

import requests_loop

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}


class Caller:
    """One choice of parameters: how inputs look and how ops are called."""

    def __init__(self, variant: str, params: dict[str, Any]) -> None:
        self.differences = 0
        self.window: int = params["window"] if variant == "DynamicSlidingWindowLayer" else 0
        self.batch: int = params["batch"]
        self.heads: int = params["heads"]
        self.key_dim: int = params["key_dim"]
        self.value_dim: int = params["value_dim"]
        self.dtype = DTYPES[params["dtype"]]
        self.strided: bool = params["layout"] == "strided"
        self.through: bool = params["call"].startswith("container")
        self.keyword: bool = params["call"] not in ("position", "container")

    def make(self, rows: int, count: int, channels: int) -> torch.Tensor:
        """An input: [rows, heads, count, channels], or what a projection gives, turned."""
        if self.strided:
            projected = torch.randn((rows, count, self.heads * channels), dtype=self.dtype)
            return projected.view(rows, count, self.heads, channels).transpose(1, 2)
        return torch.randn((rows, self.heads, count, channels), dtype=self.dtype)

    def append(self, cache: Any, rows: int, count: int) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        """Asks for the mask sizes, makes inputs and gives them to the cache; what was given and what came back."""
        if self.keyword:
            words = {"layer_idx": 0} if self.through else {}
            cache.get_mask_sizes(query_length=count, **words)
            keys = self.make(rows, count, self.key_dim)
            values = self.make(rows, count, self.value_dim)
            return (keys, values), cache.update(key_states=keys, value_states=values, **words)
        place = (0,) if self.through else ()
        cache.get_mask_sizes(count, *place)
        keys = self.make(rows, count, self.key_dim)
        values = self.make(rows, count, self.value_dim)
        return (keys, values), cache.update(keys, values, *place)

    def appended(self, given: tuple[torch.Tensor, ...], returned: tuple[torch.Tensor, ...]) -> None:
        """Nothing is looked at here."""

    def said(self, name: str, rest: list[Any], length: int) -> None:
        """Nothing is looked at here."""

    def offload(self, cache: Any) -> None:
        """Of the layer, or of the only one of a container."""
        if not self.through:
            cache.offload()
        elif self.keyword:
            cache.offload(layer_idx=0, only_non_sliding=False)
        else:
            cache.offload(0, False)

    def initialize(self, cache: Any, layer: Any, rows: int) -> None:
        """Memory before the first append; a container knows one number of channels."""
        if self.through and self.key_dim == self.value_dim:
            cache.early_initialization(rows, self.heads, self.key_dim, self.dtype, torch.device("cpu"))
            return
        keys = torch.zeros((rows, self.heads, 0, self.key_dim), dtype=self.dtype)
        values = torch.zeros((rows, self.heads, 0, self.value_dim), dtype=self.dtype)
        layer.lazy_initialization(keys, values)

    def restore(self, cache: Any) -> Any:
        """What comes back after saving."""
        saved = io.BytesIO()
        torch.save(cache, saved)
        saved.seek(0)
        return torch.load(saved, weights_only=False)

    def run(self, ops: list[list[Any]]) -> int:
        """One sequence on a new cache; how many ops were refused."""
        layer = DynamicSlidingWindowLayer(sliding_window=self.window) if self.window > 0 else DynamicLayer()
        cache: Any = Cache(layers=[layer]) if self.through else layer
        place = (0,) if self.through else ()
        announces = self.through and hasattr(Cache, "get_query_offset")
        rows = self.batch
        refused = 0
        for name, *rest in ops:
            try:
                if name == "append":
                    self.appended(*self.append(cache, rows, rest[0]))
                elif name == "crop":
                    _ = cache.is_croppable
                    cache.crop(rest[0])
                elif name == "record" and rest[0]:
                    cache.activate_past_recording()
                elif name == "record":
                    layer.record_past = False
                elif name == "reset":
                    cache.reset()
                elif name == "reorder":
                    cache.reorder_cache(torch.tensor(rest[0]))
                elif name == "select":
                    cache.batch_select_indices(torch.tensor(rest[0]))
                    rows = len(rest[0])
                elif name == "repeat":
                    cache.batch_repeat_interleave(rest[0])
                    rows *= rest[0]
                elif name == "offload":
                    self.offload(cache)
                elif name == "prefetch":
                    layer.prefetch()
                elif name == "initialize":
                    self.initialize(cache, layer, rows)
                elif name == "copy":
                    cache = copy.deepcopy(cache)
                    layer = cache.layers[0] if self.through else cache
                elif name == "pickle":
                    cache = self.restore(cache)
                    layer = cache.layers[0] if self.through else cache
                else:
                    raise SystemExit(f"{name}: an op that this loop does not know")
            except Exception:  # a refusal is an answer
                refused += 1
            self.said(name, rest, cache.get_seq_length(*place))
            if announces:
                cache.get_query_offset(0)
        return refused


class CheckingCaller(Caller):
    """The same calls with the checks of a test written by hand."""

    length = 0

    def run(self, ops: list[list[Any]]) -> int:
        """A new cache is empty."""
        self.length = 0
        return super().run(ops)

    def appended(self, given: tuple[torch.Tensor, ...], returned: tuple[torch.Tensor, ...]) -> None:
        """The last token."""
        for put, got in zip(given, returned, strict=True):
            self.differences += not torch.equal(got[..., got.shape[-2] - put.shape[-2] :, :], put)

    def said(self, name: str, rest: list[Any], length: int) -> None:
        """What the length must be; where a crop may be refused, what it was is right too."""
        before = self.length
        if name == "append":
            self.length += rest[0]
        elif name == "crop":
            self.length = max(0, before + rest[0]) if rest[0] < 0 else before
        elif name == "reset":
            self.length = 0
        self.differences += length not in (self.length, before)
        self.length = length


def main() -> int:
    """Runs every request of the file and prints how long the calls took."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    requests_loop.measure(sys.argv[1], CheckingCaller if sys.argv[2:] == ["checked"] else Caller)
    return 0


if __name__ == "__main__":
    sys.exit(main())
