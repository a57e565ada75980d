"""The value formula of docs/protocol.md, as torch tensors.

Making a tensor costs more than most calls on a cache, so inputs are made once and handed out again. A cache may write
into its inputs, and some do. torch counts the writes to a tensor and to all views of it; a tensor whose count has moved
is made anew before it is handed out again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from kvconform_adapter.formula import AMPLITUDE, BLOCK, BLOCK_ROWS, KEEPING_COST, KEPT_ELEMENTS_MAX, check_elements

Tensor = Any
"""A torch.Tensor; torch is not typed strictly enough to say more."""

PLANES = 2
"""Rows of position ids for each token, as in models with a time and a place axis."""
GARBAGE = 9
"""Stands between the elements of a strided input; no value of a formula is as large."""
POOL_ELEMENTS_MAX = 1 << 23
"""Elements that all tables of a pool keep before all forget everything."""
POOL_TABLES_MAX = 1024
"""Tables in a pool; plans keep theirs for as long as they live."""


@lru_cache(maxsize=64)
def places(channels: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of each channel: what a token's number is divided by, and whether it tells the row or the head instead."""
    place = torch.arange(channels) % 8
    return 7 ** place.clamp(max=5), place == 6, place == 7


def digits(tokens: Tensor, rows: Tensor, heads: Tensor, channels: int) -> Tensor:
    """The formula's digit, int64, broadcast over `tokens`, `rows` and `heads`, which end in an axis of size 1."""
    divisors, tells_row, tells_head = places(channels)
    said = torch.div(tokens, divisors, rounding_mode="floor")
    return torch.where(tells_row, rows, torch.where(tells_head, heads, said)) % 7


def values(salt: int, tokens: Tensor, rows: Tensor, heads: Tensor, channels: int) -> Tensor:
    """Values 1 to 7, int64, shape `[..., channels]`; arguments as for `digits`."""
    offset = 3 * salt + 5 * torch.arange(channels)
    return 1 + (digits(tokens, rows, heads, channels) + offset) % 7


def levels(salt: int, tokens: Tensor, rows: Tensor, heads: Tensor, channels: int) -> Tensor:
    """Values of two levels, int64, shape `[..., channels]`; arguments as for `digits`."""
    said = tokens + ((rows % 7) << 17) + ((heads % 7) << 20) + (salt << 23)
    odd = said
    for shift in (16, 8, 4, 2, 1):
        odd = odd ^ (odd >> shift)
    said = said + (1 << 27 >> (odd & 1))
    channel = torch.arange(channels)
    last = channel % 8 == 7
    bit = (said >> (7 * (channel // 8 % 4) + torch.where(last, 0, channel % 8))) & 1
    return 2 * AMPLITUDE * (bit ^ last.long() ^ (channel // 32 & 1)) - AMPLITUDE


@lru_cache(maxsize=64)
def value_block(kind: str, salt: int, heads: int, channels: int, first: int, rows: int) -> Tensor:
    """The values of tokens `first * BLOCK` to `(first + 1) * BLOCK - 1`, shared by all tables: never handed out itself.

    Axes as in `Table`; small integers, but int64 for `planes`.
    """
    tokens = torch.arange(first * BLOCK, (first + 1) * BLOCK)
    plain = plain_values(kind, salt, heads, channels, tokens, rows)
    return plain if kind == "planes" else plain.to(torch.int8)


def plain_values(kind: str, salt: int, heads: int, channels: int, tokens: Tensor, rows: int) -> Tensor:
    """An int64 tensor of its own with the values of these tokens; axes as in `Table`."""
    row, head = torch.arange(rows), torch.arange(heads)
    if kind == "planes":
        return 64 * tokens.view(1, 1, -1) + 8 * row.view(1, -1, 1) + head.view(-1, 1, 1)
    formula = levels if kind == "levels" else values
    plain = formula(salt, tokens.view(1, 1, -1, 1), row.view(-1, 1, 1, 1), head.view(1, -1, 1, 1), channels)
    if kind not in ("heads", "levels"):
        plain = plain[:, 0]
    return plain.transpose(1, 2) if kind == "columns" else plain


class Table:
    """The inputs for one tensor of a cache, for any tokens and any number of rows.

    `kind` says which axes it has:

    * `heads`: `[rows, heads, tokens, channels]` (keys, values, index keys with heads)
    * `levels`: the same in two levels
    * `flat`: `[rows, tokens, channels]` (index keys)
    * `columns`: `[rows, channels, tokens]` (convolution states)
    * `planes`: int64 `[planes, rows, tokens]` (position ids); `heads` is the number of planes
    * `state`: `[rows, heads, *shape]` (recurrent states), made by `state` from fold numbers
    """

    def __init__(self, kind: str, salt: int, heads: int, shape: tuple[int, ...], dtype: Any, strided: bool) -> None:
        self.kind = kind
        self.salt = salt
        self.heads = heads
        self.shape = shape
        self.channels = 1
        for size in shape:
            self.channels *= size
        self.dtype = torch.int64 if kind == "planes" else dtype
        self.strided = strided
        self.kept: dict[Any, tuple[Tensor, int]] = {}
        self.kept_elements = 0
        self.blocks: dict[tuple[int, int], Tensor] = {}

    def take(self, start: int, count: int, rows: int) -> Tensor:
        """The input for tokens `start` to `start + count - 1`. Belongs to the caller until the sequence ends."""
        key = (start, count, rows)
        entry = self.kept.get(key)
        if entry is not None and entry[0]._version == entry[1]:
            return entry[0]
        self.check_size(count, rows)
        first = start // BLOCK
        if count and (start + count - 1) // BLOCK == first and self.channels * self.heads * rows <= 4096:
            block = self.blocks.get((first, rows))
            if block is None:
                if len(self.blocks) >= 16:
                    self.blocks.clear()
                block = self.blocks[(first, rows)] = self.make_block(first, rows)
            axis = 1 if self.kind == "flat" else 2
            plain = block.narrow(axis, start - first * BLOCK, count)
        else:
            plain = self.compute(range(start, start + count), rows)
        return self.keep(key, plain)

    def take_numbers(self, numbers: Sequence[int], rows: int, fresh: bool) -> Tensor:
        """The input for these tokens. `fresh`: no other input of this sequence may be the same tensor."""
        key = (tuple(numbers), rows)
        entry = self.kept.get(key)
        if entry is not None and not fresh and entry[0]._version == entry[1]:
            return entry[0]
        self.check_size(len(numbers), rows)
        return self.keep(key, self.compute(numbers, rows))

    def take_state(self, folds: tuple[int, ...], fresh: bool) -> Tensor:
        """The recurrent state of rows whose fold numbers are `folds`."""
        entry = self.kept.get(folds)
        if entry is not None and not fresh and entry[0]._version == entry[1]:
            return entry[0]
        rows = len(folds)
        self.check_size(1, rows)
        plain = values(
            self.salt,
            torch.tensor(folds).view(-1, 1, 1),
            torch.arange(rows).view(-1, 1, 1),
            torch.arange(self.heads).view(1, -1, 1),
            self.channels,
        )
        return self.keep(folds, plain.view(rows, self.heads, *self.shape).to(self.dtype))

    def check_size(self, count: int, rows: int) -> None:
        """Raise RequestError for an input that would not fit."""
        check_elements(count * rows * self.heads * self.channels)

    def make_block(self, first: int, rows: int) -> Tensor:
        """The values of one block of tokens; only copies of it are handed out."""
        whole = value_block(self.kind, self.salt, self.heads, self.channels, first, max(rows, BLOCK_ROWS))
        return whole.narrow(1 if self.kind == "planes" else 0, 0, rows).to(self.dtype)

    def compute(self, numbers: Sequence[int], rows: int) -> Tensor:
        """A tensor of its own with the values of these tokens."""
        tokens = torch.tensor(numbers, dtype=torch.int64)
        return plain_values(self.kind, self.salt, self.heads, self.channels, tokens, rows).to(self.dtype)

    def keep(self, key: Any, plain: Tensor) -> Tensor:
        """A copy of `plain` in the wanted layout, remembered under `key`."""
        made = self.spread(plain) if self.strided else plain.clone(memory_format=torch.contiguous_format)
        self.kept_elements += made.numel() + KEEPING_COST
        if self.kept_elements > KEPT_ELEMENTS_MAX:
            self.forget()
            self.kept_elements = made.numel() + KEEPING_COST
        self.kept[key] = (made, made._version)
        return made

    def forget(self) -> None:
        """Keep nothing any more."""
        self.kept.clear()
        self.blocks.clear()
        self.kept_elements = 0

    def spread(self, plain: Tensor) -> Tensor:
        """A view of a larger tensor, laid out as a model's projections are: tokens before heads or channels."""
        turned = plain.transpose(1, 2) if self.kind in ("heads", "levels", "columns") else plain
        larger = torch.full((*turned.shape, 2), GARBAGE, dtype=plain.dtype)
        view = larger[..., 0]
        view.copy_(turned)
        return view.transpose(1, 2) if self.kind in ("heads", "levels", "columns") else view


class TablePool:
    """Tables shared by plans: most plans differ in something else than their inputs."""

    def __init__(self) -> None:
        self.tables: dict[Any, Table] = {}

    def table(
        self, kind: str, salt: int, heads: int, shape: tuple[int, ...], dtype: Any, strided: bool, number: int
    ) -> Table:
        """The table for these inputs. `number` sets apart those that one plan uses: they never share a tensor."""
        key = (kind, salt, heads, shape, dtype, strided, number)
        table = self.tables.get(key)
        if table is None:
            table = self.tables[key] = Table(kind, salt, heads, shape, dtype, strided)
        return table

    def tidy(self) -> None:
        """Between two requests: forget everything when too much is kept."""
        if len(self.tables) > POOL_TABLES_MAX:
            self.tables.clear()
        if sum(table.kept_elements for table in self.tables.values()) > POOL_ELEMENTS_MAX:
            for table in self.tables.values():
                table.forget()
