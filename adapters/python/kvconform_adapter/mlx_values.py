"""The value formula of docs/protocol.md, as mlx arrays.

A cache may write into its inputs. An mlx array is a name for a node of a graph: a write gives the name another node. So
what is handed out is always a new name for what is kept here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mlx.core as mx

from kvconform_adapter.formula import AMPLITUDE, BLOCK, BLOCK_ROWS, KEEPING_COST, KEPT_ELEMENTS_MAX, check_elements

Array = Any
"""An mlx.core.array."""

POOL_TABLES_MAX = 256


def digits(tokens: Array, rows: Array, heads: Array, channels: int) -> Array:
    """The formula's digit, broadcast over `tokens`, `rows` and `heads`, which end in an axis of size 1."""
    place = mx.arange(channels) % 8
    divisors = mx.array([7 ** min(channel % 8, 5) for channel in range(channels)])
    said = tokens // divisors
    return mx.where(place == 6, rows, mx.where(place == 7, heads, said)) % 7


def values(salt: int, tokens: Array, rows: Array, heads: Array, channels: int) -> Array:
    """Values 1 to 7; arguments as for `digits`."""
    return 1 + (digits(tokens, rows, heads, channels) + 3 * salt + 5 * mx.arange(channels)) % 7


def levels(salt: int, tokens: Array, rows: Array, heads: Array, channels: int) -> Array:
    """Values of two levels; arguments as for `digits`."""
    said = tokens + ((rows % 7) << 17) + ((heads % 7) << 20) + (salt << 23)
    odd = said
    for shift in (16, 8, 4, 2, 1):
        odd = odd ^ (odd >> shift)
    said = said + mx.where(odd % 2 == 1, 1 << 26, 1 << 27)
    channel = mx.arange(channels)
    last = (channel % 8 == 7).astype(mx.int32)
    bit = (said >> (7 * (channel // 8 % 4) + mx.where(last == 1, 0, channel % 8))) % 2
    return 2 * AMPLITUDE * (bit ^ last ^ (channel // 32 % 2)) - AMPLITUDE


def plain_values(kind: str, salt: int, heads: int, channels: int, tokens: Array, rows: int) -> Array:
    """An array with the values of these tokens, `[rows, heads, tokens, channels]`."""
    formula = levels if kind == "levels" else values
    row, head = mx.arange(rows).reshape(-1, 1, 1, 1), mx.arange(heads).reshape(1, -1, 1, 1)
    made = formula(salt, tokens.reshape(1, 1, -1, 1), row, head, channels)
    return mx.broadcast_to(made, (rows, heads, tokens.size, channels))


@lru_cache(maxsize=256)
def gains(kind: int, rows: int, heads: int, channels: int, group: int) -> Array:
    """Powers of two, `[rows, heads, 1, channels]`: others for values, and for the next row, head and group."""
    power = kind + 2 * (mx.arange(heads) % 2)[:, None, None] + 4 * (mx.arange(rows) % 2)[:, None, None, None]
    return 2.0 ** (power - 8 * (mx.arange(channels) // group % 2))


@dataclass(frozen=True)
class Spread:
    """What is done to the inputs of a cache that quantises, and taken back from what it holds.

    A `shift` is added: mlx fits its steps to the end of a group's range that is farther from zero, so that with few
    bits the two levels themselves are not among them; zero and one other number always are. Then they are multiplied,
    so that scales and biases of another tensor (`kind`), row, head or group are wrong ones.
    """

    shift: int
    kind: int
    group: int

    def gain(self, array: Array) -> Array:
        """For the shape of this array."""
        rows, heads, _, channels = array.shape
        return gains(self.kind, rows, heads, channels, self.group).astype(array.dtype)

    def apply(self, array: Array) -> Array:
        """What the cache is fed."""
        return (array + self.shift) * self.gain(array)

    def undo(self, array: Array) -> Array:
        """What it was fed, from what it holds."""
        return array / self.gain(array) - self.shift


class Table:
    """The inputs for one tensor of a cache, for any tokens and any number of rows.

    `kind`: `heads` or `levels`, `[rows, heads, tokens, channels]`, or `state`, `[rows, heads, *shape]`, made from fold
    numbers. `spread`: for a cache that quantises.
    """

    def __init__(
        self, kind: str, salt: int, heads: int, shape: tuple[int, ...], dtype: Any, strided: bool, spread: Spread | None
    ) -> None:
        self.kind = kind
        self.salt = salt
        self.heads = heads
        self.shape = shape
        self.channels = 1
        for size in shape:
            self.channels *= size
        self.dtype = dtype
        self.strided = strided
        self.spread = spread
        self.kept: dict[Any, Array] = {}
        self.kept_elements = 0
        self.blocks: dict[int, Array] = {}

    def take(self, start: int, count: int, rows: int) -> Array:
        """The input for tokens `start` to `start + count - 1`."""
        key = (start, count, rows)
        held = self.kept.get(key)
        if held is not None:
            return held[...]
        self.check_size(count, rows)
        first = start // BLOCK
        if count and rows <= BLOCK_ROWS and (start + count - 1) // BLOCK == first:
            block = self.blocks.get(first)
            if block is None:
                if len(self.blocks) >= 8:
                    self.blocks.clear()
                block = self.compute(range(first * BLOCK, (first + 1) * BLOCK), BLOCK_ROWS)
                mx.eval(block)
                self.blocks[first] = block
            at = start - first * BLOCK
            return self.keep(key, block[:rows, :, at : at + count])
        return self.keep(key, self.compute(range(start, start + count), rows))

    def take_numbers(self, numbers: Sequence[int], rows: int) -> Array:
        """The input for these tokens."""
        self.check_size(len(numbers), rows)
        return self.lay(self.compute(numbers, rows))

    def take_state(self, folds: tuple[int, ...]) -> Array:
        """The recurrent state of rows whose fold numbers are `folds`."""
        held = self.kept.get(folds)
        if held is not None:
            return held[...]
        rows = len(folds)
        row, head = mx.arange(rows).reshape(-1, 1, 1), mx.arange(self.heads).reshape(1, -1, 1)
        made = values(self.salt, mx.array(folds).reshape(-1, 1, 1), row, head, self.channels)
        return self.keep(folds, made.reshape(rows, self.heads, *self.shape).astype(self.dtype))

    def check_size(self, count: int, rows: int) -> None:
        """Raise RequestError for an input that would not fit."""
        check_elements(count * rows * self.heads * self.channels)

    def compute(self, numbers: Sequence[int], rows: int) -> Array:
        """An array with the values of these tokens."""
        tokens = mx.array(list(numbers), dtype=mx.int32)
        made = plain_values(self.kind, self.salt, self.heads, self.channels, tokens, rows)
        made = made.astype(self.dtype)
        return made if self.spread is None else self.spread.apply(made)

    def lay(self, plain: Array) -> Array:
        """The same in the wanted layout: without gaps, or as a model's projections are, tokens before heads."""
        if not self.strided or self.kind == "state":
            made = mx.contiguous(plain)
        else:
            made = mx.contiguous(plain.swapaxes(1, 2))
            mx.eval(made)
            made = made.swapaxes(1, 2)
        mx.eval(made)
        return made

    def keep(self, key: Any, plain: Array) -> Array:
        """A new name of what is remembered under `key`."""
        made = self.lay(plain)
        self.kept_elements += made.size + KEEPING_COST
        if self.kept_elements > KEPT_ELEMENTS_MAX:
            self.kept.clear()
            self.kept_elements = made.size + KEEPING_COST
        self.kept[key] = made
        return made[...]


class TablePool:
    """Tables shared by plans."""

    def __init__(self) -> None:
        self.tables: dict[Any, Table] = {}

    def table(self, *settings: Any) -> Table:
        """The table for these inputs; arguments as for `Table`."""
        table = self.tables.get(settings)
        if table is None:
            if len(self.tables) >= POOL_TABLES_MAX:
                self.tables.clear()
            table = self.tables[settings] = Table(*settings)
        return table
