"""The bare Python loop for mlx-lm: makes the calls on a cache that the adapter makes for the same sequences.

It looks at nothing. Reads requests of docs/protocol.md from a file, one on a line, and prints
`{"ops": ..., "seconds": ...}`. Inputs are made for each append, as a caller makes them. What a sequence returns and
leaves is computed at its end, all together, as the adapter does it.
"""

from __future__ import annotations

import copy
import sys
import tempfile
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx_lm.models import base
from mlx_lm.models import cache as caches

import requests_loop

DTYPES = {"float32": mx.float32, "float16": mx.float16, "bfloat16": mx.bfloat16}


class Caller:
    """One choice of parameters."""

    def __init__(self, variant: str, params: dict[str, Any]) -> None:
        self.variant = variant
        self.params = params
        self.words = params["parts"].split("+")
        self.window: int | None = params["window"] if "window" in self.words else None
        self.step = next((int(word[4:]) for word in self.words if word.startswith("step")), 0)
        self.dtype = DTYPES[params["dtype"]]

    def open(self) -> Any:
        """A new cache."""
        ring = self.variant == "RotatingKVCache"
        cache = caches.RotatingKVCache(self.params["capacity"], self.params["keep"]) if ring else caches.KVCache()
        if self.step:
            cache.step = self.step
        return cache

    def make(self, count: int, channels: int) -> Any:
        """An input: [rows, heads, count, channels], or what a projection gives, turned."""
        rows, heads = self.params["batch"], self.params["heads"]
        if self.params["layout"] == "strided":
            projected = mx.random.normal((rows, count, heads * channels), dtype=self.dtype)
            return projected.reshape(rows, count, heads, channels).swapaxes(1, 2)
        return mx.random.normal((rows, heads, count, channels), dtype=self.dtype)

    def append(self, cache: Any, count: int) -> list[Any]:
        """Asks for the mask, makes inputs and gives them to the cache."""
        mask = None
        if count:
            mask = base.create_attention_mask(
                mx.zeros((1, count, 1)), cache, window_size=self.window, return_array="array" in self.words
            )
        made = cache.update_and_fetch(
            self.make(count, self.params["key_dim"]), self.make(count, self.params["value_dim"])
        )
        return [*made, *([mask] if isinstance(mask, mx.array) else [])]

    def save(self, cache: Any) -> Any:
        """What comes back from a file."""
        with tempfile.TemporaryDirectory() as folder:
            name = str(Path(folder) / "cache.safetensors")
            caches.save_prompt_cache(name, [cache])
            restored = caches.load_prompt_cache(name)[0]
            mx.eval(restored.keys, restored.values)
        return restored

    def run(self, ops: list[list[Any]]) -> int:
        """One sequence on a new cache; how many ops were refused."""
        cache = self.open()
        shown: list[Any] = []
        refused = 0
        for name, *rest in ops:
            try:
                if name == "append":
                    shown += self.append(cache, rest[0])
                elif name == "trim":
                    cache.is_trimmable()
                    cache.trim(rest[0])
                elif name == "copy":
                    cache = copy.deepcopy(cache)
                elif name == "save":
                    cache = self.save(cache)
                elif name == "state":
                    cache = type(cache).from_state(cache.state)
                else:
                    raise SystemExit(f"{name}: an op that this loop does not know")
            except Exception:  # a refusal is an answer
                refused += 1
            if cache.keys is not None:
                shown += cache.keys_and_values()
            cache.size()
            cache.empty()
            _ = cache.nbytes
        mx.eval(shown)
        return refused


def main() -> int:
    """Runs every request of the file and prints how long the calls took."""
    mx.set_default_device(mx.cpu)
    requests_loop.measure(sys.argv[1], Caller)
    return 0


if __name__ == "__main__":
    sys.exit(main())
