"""KV caches in mlx, which derive from those of mlx-lm, each right and with faults put in."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache, RotatingKVCache


class MyCache(KVCache):  # type: ignore[misc]
    """That of mlx-lm in smaller steps."""

    step = 4


class MyCacheTrimsOneShort(MyCache):
    """Of several tokens one stays too many, and all are said to be gone."""

    def trim(self, n: int) -> int:
        removed = int(super().trim(n))
        if removed > 1:
            self.offset += 1
        return removed


class MyRing(RotatingKVCache):  # type: ignore[misc]
    """That of mlx-lm with a size that is never passed."""

    def __init__(self, max_size: int = 8, keep: int = 0) -> None:
        super().__init__(max_size=max_size, keep=keep)


class Joined:
    """Grows by joining arrays of mlx; derives from nothing."""

    def __init__(self) -> None:
        self.keys: Any = None
        self.values: Any = None
        self.offset = 0

    def update_and_fetch(self, keys: Any, values: Any) -> tuple[Any, Any]:
        if self.keys is not None:
            keys, values = mx.concatenate([self.keys, keys], axis=2), mx.concatenate([self.values, values], axis=2)
        self.keys, self.values, self.offset = keys, values, keys.shape[2]
        return keys, values

    def trim(self, n: int) -> int:
        n = min(n, self.offset)
        self.offset -= n
        if self.keys is not None:
            self.keys, self.values = self.keys[:, :, : self.offset], self.values[:, :, : self.offset]
        return n


class JoinedTrimsKeysOnly(Joined):
    """The values stay."""

    def trim(self, n: int) -> int:
        n = min(n, self.offset)
        self.offset -= n
        if self.keys is not None:
            self.keys = self.keys[:, :, : self.offset]
        return n
