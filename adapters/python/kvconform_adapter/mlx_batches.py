"""Drives the batches of mlx-lm, whose rows have lengths of their own, as its batch generator does.

A batch goes on as a single cache once a row was taken out of it (`extract`), and as a batch again after `merge`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from kvconform_adapter.mlx_caches import Array, Cache, contents, load_base, load_caches, restore
from kvconform_adapter.mlx_calls import DTYPES, SALTS, Refusal, spread_mask, through_file
from kvconform_adapter.mlx_values import Table, TablePool
from kvconform_adapter.request import Params, RequestError

SINGLES = {"BatchKVCache": "KVCache", "BatchRotatingKVCache": "RotatingKVCache"}
"""Each batch, and the single cache that its rows are outside of it."""
WORDS = ("causal", "window", "step2", "step3")
PAD = 0.5
"""What a model computes for padding means nothing: here it is no value of the formula."""


def available_batches() -> list[str]:
    """The batches of this version that can be made from single caches and give them back."""
    return [name for name in SINGLES if hasattr(getattr(load_caches(), name, None), "merge")]


@dataclass(frozen=True)
class BatchPlan:
    """All that a request needs to drive one batch."""

    name: str
    params: Params
    tables: tuple[Table, Table]
    step: int
    window: int | None
    """What models ask masks for, or None."""

    def stepped(self, cache: Cache) -> Cache:
        """The cache with the step by which it grows."""
        if self.step:
            cache.step = self.step
        return cache

    def batch(self, padding: list[int]) -> Cache:
        """A new batch with so much padding on the left of each row."""
        owner = getattr(load_caches(), self.name)
        size = [self.params.capacity] if self.name == "BatchRotatingKVCache" else []
        return self.stepped(owner(*size, padding))

    def single(self) -> Cache:
        """A new single cache."""
        owner = getattr(load_caches(), SINGLES[self.name])
        size = [self.params.capacity] if self.name == "BatchRotatingKVCache" else []
        return self.stepped(owner(*size))

    def merged(self, singles: list[Cache]) -> Cache:
        """Single caches as the rows of a batch. From 0.30 on their own `merge` does just this."""
        return self.stepped(getattr(load_caches(), self.name).merge(singles))


def make_batch_plan(name: str, params: Params, pool: TablePool) -> BatchPlan:
    """The plan for a batch. Raises RequestError when it cannot be made with these parameters."""
    if params.call != "position":
        raise RequestError(f'the caches of mlx-lm are called by position, not by "{params.call}"')
    words = params.parts.split("+") if params.parts else []
    for word in words:
        if word not in WORDS:
            raise RequestError(f'{name} has no part "{word[:40]}": it has {", ".join(WORDS)}')
    strided = params.layout == "strided"
    sizes = (("keys", params.key_dim), ("values", params.value_dim))
    keys, values = (
        pool.table("heads", SALTS[kind], params.heads, (size,), DTYPES[params.dtype], strided, 0)
        for kind, size in sizes
    )
    step = next((int(word[4:]) for word in words if word.startswith("step")), 0)
    return BatchPlan(name, params, (keys, values), step, params.window if "window" in words else None)


class Batch:
    """One batch while a sequence runs."""

    def __init__(self, plan: BatchPlan) -> None:
        self.plan = plan
        self.cache = plan.batch([0] * plan.params.batch)
        self.rows = plan.params.batch
        self.alone = False
        self.used = False
        self.start = 0
        """Token numbers that were used up."""
        self.original: Batch | None = None
        self.returned: list[tuple[str, Array]] = []

    def fed(self, start: int, count: int, rows: int) -> list[Array]:
        """Keys and values of `count` tokens for each of `rows` rows."""
        return [table.take(start, count, rows) for table in self.plan.tables]

    def call(self, given: list[Array]) -> None:
        """What one layer of a model does with new tokens: ask for a mask, and append."""
        queries = given[0].shape[2]
        mask = load_base().create_attention_mask(
            mx.zeros((self.rows, queries, 1)), self.cache, window_size=self.plan.window
        )
        keys, values = self.cache.update_and_fetch(*given)
        name = "mask" if self.plan.window is None else "window_mask"
        self.returned = [("returned.keys", keys[...]), ("returned.values", values[...])]
        self.returned.append((f"returned.{name}", spread_mask(mask, self.rows, queries, keys.shape[2])))

    def append(self, count: int) -> None:
        """As many tokens for every row."""
        self.call(self.fed(self.start, count, self.rows))

    def append_rows(self, counts: tuple[int, ...]) -> None:
        """For each row its own number of tokens: `PromptProcessingBatch.prompt` of mlx-lm."""
        most = max(counts)
        padding = [most - count for count in counts]
        if self.plan.params.left and not self.used:
            # The way of the constructor's docstring.
            self.cache = self.plan.batch(padding)
            self.call([self.padded(table, counts, 0, most, True) for table in self.plan.tables])
            return
        if any(padding):
            self.cache.prepare(lengths=list(counts), right_padding=padding)
        chunk = self.plan.params.chunk or most
        for first in range(0, most, chunk):
            last = min(first + chunk, most)
            self.call([self.padded(table, counts, first, last, False) for table in self.plan.tables])
        if any(padding):
            self.cache.finalize()

    def padded(self, table: Table, counts: tuple[int, ...], first: int, last: int, left: bool) -> Array:
        """Columns `first` to `last` of tokens that are padded on the right, or of all on the left."""
        given = table.take(self.start + first, last - first, self.rows)
        if left:
            rows = [given[row : row + 1, :, :count] for row, count in enumerate(counts)]
            gaps = [mx.full((1, table.heads, last - count, table.channels), PAD, given.dtype) for count in counts]
            return mx.concatenate([mx.concatenate([a, b], axis=2) for a, b in zip(gaps, rows, strict=True)])
        real = mx.arange(first, last)[None] < mx.array(counts)[:, None]
        return mx.where(real[:, None, :, None], given, mx.array(PAD, given.dtype))

    def select(self, rows: tuple[int, ...]) -> None:
        """Keep these rows."""
        self.cache.filter(list(rows))
        self.rows = len(rows)

    def merge(self, rows: tuple[int, ...]) -> None:
        """Take rows out, and make a batch of them: what becomes of stored caches that are used again."""
        singles = [self.cache if self.alone else self.cache.extract(row) for row in rows]
        self.cache = self.plan.merged(singles)
        self.rows = len(rows)
        self.alone = False

    def extract(self, row: int) -> None:
        """Go on with one row as a single cache."""
        self.cache = self.plan.stepped(self.cache.extract(row))
        self.rows = 1
        self.alone = True

    def extend(self, counts: tuple[int, ...]) -> None:
        """Another batch, merged from single caches as the batch generator makes them, is put behind this one."""
        keys, values = self.fed(self.start, max(counts), len(counts))
        singles = []
        for row, count in enumerate(counts):
            single = self.plan.single()
            if count:
                single.update_and_fetch(keys[row : row + 1, :, :count], values[row : row + 1, :, :count])
            singles.append(single)
        self.cache.extend(self.plan.merged(singles))
        self.rows += len(counts)

    def split(self, argument: tuple[int, ...]) -> None:
        """`PromptProcessingBatch.split`, an append to the new part, and `GenerationBatch.extend`."""
        count, rows = argument[0], argument[1:]
        other = copy.deepcopy(self.cache)
        self.cache.filter([row for row in range(self.rows) if row not in rows])
        other.filter(list(rows))
        if count:
            other.update_and_fetch(*self.fed(self.start, count, len(rows)))
        self.cache.extend(other)

    def trim(self, number: int) -> None:
        """Through the function for lists, which asks first. Raises Refusal when fewer were removed than could be."""
        held = max((int(offset) for offset in self.positions()), default=0)
        done = int(load_caches().trim_prompt_cache([self.cache], number))
        if done < min(number, held):
            raise Refusal(f"it removed {done} of {min(number, held)} tokens")

    def copy(self) -> None:
        """Go on with a deep copy; the original stays and is shown."""
        original = copy.copy(self)
        self.cache = copy.deepcopy(self.cache)
        self.original = original

    def perform(self, name: str, argument: Any) -> None:
        """One op."""
        ops: dict[str, Callable[[], None]] = {
            "append": lambda: self.append(argument),
            "append_rows": lambda: self.append_rows(argument),
            "trim": lambda: self.trim(argument),
            "select": lambda: self.select(argument),
            "merge": lambda: self.merge(argument),
            "extract": lambda: self.extract(argument),
            "extend": lambda: self.extend(argument),
            "split": lambda: self.split(argument),
            "copy": self.copy,
            "save": lambda: setattr(self, "cache", through_file([self.cache])[0]),
            "state": lambda: setattr(self, "cache", restore(self.cache)),
        }
        if name not in ops:
            raise RequestError(f'the batches of mlx-lm have no op "{name}"')
        ops[name]()

    def claim(self) -> bool:
        """Whether it says that it can be trimmed."""
        return bool(load_caches().can_trim_prompt_cache([self.cache]))

    def positions(self) -> list[int]:
        """Where the next token of each row stands."""
        offset = self.cache.offset
        return [int(offset)] if self.alone else [int(number) for number in offset.tolist()]

    def stored(self) -> list[tuple[str, Array]]:
        """What it holds, by name."""
        if self.alone:
            held = contents(self.cache)
        elif self.cache.keys is None:
            held = None
        else:
            read = getattr(self.cache, "keys_and_values", None)
            held = read() if read is not None else self.cache.state[:2]
        return [] if held is None else [("keys", held[0][...]), ("values", held[1][...])]

    def numbers(self) -> list[tuple[str, Array]]:
        """What it says of its rows."""
        if self.alone:
            return []
        found = [("rows.position", self.cache.offset.astype(mx.int64))]
        if self.plan.name == "BatchKVCache":
            # Of a ring no text says what it counts.
            found.append(("rows.padding", self.cache.left_padding.astype(mx.int64)))
        return found


def tokens_of(name: str, argument: Any) -> int:
    """How many token numbers an op uses up."""
    if name == "append":
        return int(argument)
    if name in ("append_rows", "extend"):
        return int(max(argument))
    return int(argument[0]) if name == "split" else 0
