"""The value formula of docs/protocol.md for any array library: made in plain Python, kept, and handed out as copies."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform_adapter.any_arrays import Array, Axes, Library
from kvconform_adapter.formula import AMPLITUDE, KEEPING_COST, KEPT_ELEMENTS_MAX, check_elements


def digits(salt: int, token: int, row: int, head: int, channels: int) -> list[int]:
    """One cell, values 1 to 7."""
    said = [*(token // 7**place % 7 for place in range(6)), row % 7, head % 7]
    return [1 + (said[channel % 8] + 3 * salt + 5 * channel) % 7 for channel in range(channels)]


def levels(salt: int, token: int, row: int, head: int, channels: int) -> list[int]:
    """One cell in values of two levels."""
    number = token + ((row % 7) << 17) + ((head % 7) << 20) + (salt << 23)
    number += 1 << (26 if number.bit_count() % 2 else 27)
    found = []
    for channel in range(channels):
        place = channel % 8
        bit = number >> (7 * (channel // 8 % 4) + place % 7) & 1
        bit ^= (place == 7) ^ (channel // 32 & 1)
        found.append(AMPLITUDE if bit else -AMPLITUDE)
    return found


class Inputs:
    """The inputs for one tensor: `[rows, heads, tokens, channels]` in the order of `axes`."""

    def __init__(self, library: Library, axes: Axes, salt: int, heads: int, channels: int, dtype: str) -> None:
        self.library = library
        self.axes = axes
        self.salt = salt
        self.heads = heads
        self.channels = channels
        self.dtype = dtype
        self.formula = digits
        self.strided = False
        self.kept: dict[tuple[Sequence[int], int], Array] = {}
        self.elements = 0

    def take(self, numbers: Sequence[int], rows: int) -> Array:
        """An array of its own for these tokens."""
        key = (numbers, rows)
        found = self.kept.get(key)
        if found is None:
            size = len(numbers) * rows * self.heads * self.channels
            check_elements(size)
            self.elements += size + KEEPING_COST
            if self.elements > KEPT_ELEMENTS_MAX:
                self.kept.clear()
                self.elements = size + KEEPING_COST
            flat = [
                value
                for row in range(rows)
                for head in range(self.heads)
                for token in numbers
                for value in self.formula(self.salt, token, row, head, self.channels)
            ]
            plain = self.library.make(flat, (rows, self.heads, len(numbers), self.channels), self.dtype)
            found = self.kept[key] = self.axes.give(plain)
        return self.library.apart(found) if self.strided else self.library.copy(found)
