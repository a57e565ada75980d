"""A cache to start from: a ring that keeps its first tokens.

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
    """Keeps `capacity` tokens: the first `keep` and the newest, in the order of its cells."""

    def __init__(self, capacity: int, keep: int) -> None:
        self.capacity = capacity
        self.keep = keep
        self.keys: Lists = []
        self.values: Lists = []
        self.length = 0  # of all tokens, evicted ones too

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        """New tokens, one behind the other. Returns what is held then."""
        for token in range(len(keys[0][0])):
            self.write(cut(keys, token, token + 1), cut(values, token, token + 1))
        return self.keys, self.values

    def write(self, key: Lists, value: Lists) -> None:
        """One token: into a cell of its own, or over the oldest that does not stay."""
        if self.length < self.capacity:
            self.keys, self.values = joined(self.keys, key), joined(self.values, value)
        else:
            cell = self.keep + (self.length - self.keep) % (self.capacity - self.keep)
            for held, new in ((self.keys, key), (self.values, value)):
                for row, new_row in zip(held, new, strict=True):
                    for head, new_head in zip(row, new_row, strict=True):
                        head[cell] = new_head[0]
        self.length += 1

    def crop(self, n: int) -> None:
        """`crop(-2)` removes the newest two tokens. Raises ValueError once a cell was written over, unless all go."""
        length = max(0, self.length + n)
        if 0 < length < self.length and self.length > self.capacity:
            raise ValueError("cells were written over")
        if length < self.length:
            self.length = length
            self.keys, self.values = cut(self.keys, 0, length), cut(self.values, 0, length)

    def reset(self) -> None:
        """Empties it."""
        self.keys, self.values, self.length = [], [], 0

    def reorder(self, rows: list[int]) -> None:
        """Row i becomes what row rows[i] was."""
        if self.keys:
            self.keys = joined([], [self.keys[row] for row in rows])
            self.values = joined([], [self.values[row] for row in rows])
