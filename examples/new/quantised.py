"""A cache to start from: every token in a few bits.

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
    """Keeps every token, a scale and small whole numbers for each."""

    def __init__(self, bits: int = 4) -> None:
        self.most = 2 ** (bits - 1) - 1
        self.held: list[Lists] = [[], []]  # of keys and of values: for each token a scale and codes
        self.length = 0

    def packed(self, vector: Lists) -> tuple[float, list[int]]:
        """A vector as a scale and codes."""
        scale = max(map(abs, vector)) / self.most
        return scale, [round(number / scale) for number in vector]

    def numbers(self, held: Lists) -> Lists:
        """The vectors that the codes stand for."""
        return [[[[scale * code for code in codes] for scale, codes in head] for head in row] for row in held]

    @property
    def keys(self) -> Lists:
        return self.numbers(self.held[0])

    @property
    def values(self) -> Lists:
        return self.numbers(self.held[1])

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        """New tokens. Returns what attention may see: all of them."""
        for half, new in enumerate((keys, values)):
            packed = [[[self.packed(vector) for vector in head] for head in row] for row in new]
            self.held[half] = joined(self.held[half], packed)
        self.length += len(keys[0][0])
        return self.keys, self.values

    def crop(self, n: int) -> None:
        """`crop(-2)` removes the newest two tokens; all, when there are fewer."""
        self.length = max(0, self.length + n)
        self.held = [cut(half, 0, self.length) for half in self.held]

    def reset(self) -> None:
        """Empties it."""
        self.held, self.length = [[], []], 0

    def reorder(self, rows: list[int]) -> None:
        """Row i becomes what row rows[i] was."""
        if self.length:
            self.held = [joined([], [half[row] for row in rows]) for half in self.held]
