"""A cache to start from: first tokens that stay (sinks), and a window behind them.

kvconform drives the class MyCache by the methods below and reads `keys`, `values` and `length`. Put calls of your own
cache in their place, or name its methods in my_cache.jsonc and leave this file out. Keys and values come as arrays of
shape [rows, heads, tokens, channels]: of plain lists here, of numpy, torch or mlx when the spec file says so.
"""

from __future__ import annotations

from typing import Any

Lists = Any
"""Lists of lists of floats: [rows][heads][tokens][channels]."""


def joined(old: Lists, new: Lists) -> Lists:
    """The tokens of `new` behind those of `old`, in lists of their own."""
    if not old:
        return [[list(head) for head in row] for row in new]
    return [[a + list(b) for a, b in zip(x, y, strict=True)] for x, y in zip(old, new, strict=True)]


def cut(held: Lists, start: int, end: int) -> Lists:
    """The tokens from `start` to before `end`."""
    return [[head[start:end] for head in row] for row in held]


class MyCache:
    """Keeps the first `sinks` tokens and the newest `window`."""

    def __init__(self, window: int, sinks: int) -> None:
        self.window = window
        self.sinks = sinks
        self.keys: Lists = []
        self.values: Lists = []
        self.length = 0  # of all tokens, evicted ones too

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        """New tokens. Returns what attention may see: those that were held, and the new ones."""
        seen = joined(self.keys, keys), joined(self.values, values)
        self.length += len(keys[0][0])
        self.keys, self.values = self.evicted(seen[0]), self.evicted(seen[1])
        return seen

    def evicted(self, held: Lists) -> Lists:
        """What stays of it."""
        count = len(held[0][0])
        start = max(self.sinks, count - self.window)
        return joined(cut(held, 0, self.sinks), cut(held, start, count))

    def crop(self, n: int) -> None:
        """`crop(-2)` removes the newest two tokens. Raises ValueError where evicted ones would be needed again."""
        held = len(self.keys[0][0]) if self.keys else 0
        length = max(0, self.length + n)
        kept = length if length <= self.sinks else held + n
        if length > self.sinks and kept < min(length, self.sinks + self.window - 1):
            raise ValueError("tokens that the window needs again were evicted")
        self.length = length
        self.keys, self.values = cut(self.keys, 0, kept), cut(self.values, 0, kept)

    def reset(self) -> None:
        """Empties it."""
        self.keys, self.values, self.length = [], [], 0

    def reorder(self, rows: list[int]) -> None:
        """Row i becomes what row rows[i] was."""
        if self.keys:
            self.keys = joined([], [self.keys[row] for row in rows])
            self.values = joined([], [self.values[row] for row in rows])
