"""Drives the batches of mlx-lm, whose rows have lengths of their own, as its batch generator does.

A batch goes on as a single cache once a row was taken out of it (`extract`), and as a batch again after `merge`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mlx.core as mx

from kvconform_adapter.mlx_caches import Answers, Array, Cache, contents, load_base, load_caches, own_numbers, restore
from kvconform_adapter.mlx_calls import DTYPES, SALTS, Refusal, spread_mask, through_file
from kvconform_adapter.mlx_states import feed_states
from kvconform_adapter.mlx_values import Table, TablePool
from kvconform_adapter.request import TOKENS_MAX, Params, RequestError

SINGLES = {
    "BatchKVCache": "KVCache",
    "BatchRotatingKVCache": "RotatingKVCache",
    "ArraysCache-batch": "ArraysCache",
    "MambaCache-batch": "MambaCache",
}
"""Each batch, and the single cache that its rows are outside of it."""
LIST = "CacheList-batch"
STATE_BATCHES = {name: single for name, single in SINGLES.items() if name.endswith("-batch")}
"""Those of states instead of keys and values; their class is that of the single cache."""
OWNERS = {**STATE_BATCHES, LIST: "CacheList"}
"""The classes of the batches that have not their class's name."""
WORDS = ("plain", "causal", "window", "step2", "step3")
PAD, PAD_TOKEN = 0.5, TOKENS_MAX - 1
"""What a model computes for padding means nothing: here it is no value of the formula, or a token of no sequence."""


def owner_of(name: str) -> Any:
    """The class of a batch, None where this version lacks it."""
    return getattr(load_caches(), OWNERS.get(name, name), None)


def available_batches() -> list[str]:
    """The batches of this version whose rows can leave and join others."""
    return [name for name in (*SINGLES, LIST) if hasattr(owner_of(name), "extend")]


@dataclass(frozen=True)
class Leaf:
    """One cache without others in it."""

    name: str
    prefix: str
    tables: tuple[Table, ...]

    @property
    def states(self) -> bool:
        """It has states instead of keys and values."""
        return self.name in STATE_BATCHES


@dataclass(frozen=True)
class BatchPlan:
    """All that a request needs to drive one batch."""

    name: str
    params: Params
    leaves: tuple[Leaf, ...]
    step: int
    window: int | None
    """What models ask masks for, or None."""

    @property
    def listed(self) -> bool:
        """Whether it is a cache of several."""
        return self.name == LIST

    def parts(self, cache: Cache) -> list[Cache]:
        """The caches without others in them."""
        return list(cache.caches) if self.listed else [cache]

    def stepped(self, cache: Cache) -> Cache:
        """The cache with the step by which it grows."""
        for part in self.parts(cache) if self.step else ():
            part.step = self.step
        return cache

    def joined(self, caches: list[Cache]) -> Cache:
        """One cache of these parts."""
        return self.stepped(owner_of(LIST)(*caches) if self.listed else caches[0])

    def batch(self, padding: list[int]) -> Cache:
        """A new batch with so much padding on the left of each row."""
        return self.joined([make(owner_of(leaf.name), leaf.name, self.params, padding) for leaf in self.leaves])

    def single(self) -> Cache:
        """A new single cache."""
        owners = [(leaf.name, getattr(load_caches(), SINGLES[leaf.name])) for leaf in self.leaves]
        return self.joined([make(owner, name, self.params) for name, owner in owners])

    def merged(self, singles: list[Cache]) -> Cache:
        """Single caches as the rows of a batch. From 0.30 on their own `merge` does just this."""
        return self.stepped(owner_of(self.name).merge(singles))

    @property
    def merges(self) -> bool:
        """Whether this version makes such batches of single caches."""
        return hasattr(owner_of(self.name), "merge")


def make(owner: Any, name: str, params: Params, *padding: list[int]) -> Cache:
    """A new cache, of a batch with its padding."""
    sizes = {"BatchRotatingKVCache": params.capacity, "ArraysCache-batch": params.states}
    # Before 0.31 `finalize` takes the padding from states that go on; since then it says how many rows there are.
    if name in STATE_BATCHES and not hasattr(owner, "batch_size") and not any(map(any, padding)):
        padding = ()
    return owner(*([sizes[name]] if name in sizes else []), *padding)


def make_batch_plan(name: str, params: Params, pool: TablePool) -> BatchPlan:
    """The plan for a batch. Raises RequestError when it cannot be made with these parameters."""
    if params.call != "position":
        raise RequestError(f'the caches of mlx-lm are called by position, not by "{params.call}"')
    words = params.parts.split("+") if params.parts else []
    for word in words:
        if word not in WORDS:
            raise RequestError(f'{name} has no part "{word[:40]}": it has {", ".join(WORDS)}')
    kinds = params.layers.split("+") if name == LIST else [name]
    for kind in kinds:
        if kind not in SINGLES:
            raise RequestError(f'{name} has no layer "{kind[:40]}": it has {", ".join(SINGLES)}')

    strided = params.layout == "strided"
    dtype = DTYPES[params.dtype]

    def leaf(place: int, kind: str) -> Leaf:
        if kind in STATE_BATCHES:
            shape = (params.key_dim, params.value_dim)
            salts = [(SALTS["states"] + number) % 7 for number in range(params.states)]
            tables = [pool.table("state", salt, params.heads, shape, dtype, strided, None) for salt in salts]
        else:
            sizes = (("keys", params.key_dim), ("values", params.value_dim))
            tables = [
                pool.table("heads", SALTS[part], params.heads, (size,), dtype, strided, None) for part, size in sizes
            ]
        return Leaf(kind, f"layer{place}." if name == LIST else "", tuple(tables))

    step = next((int(word[4:]) for word in words if word.startswith("step")), 0)
    leaves = tuple(leaf(place, kind) for place, kind in enumerate(kinds))
    return BatchPlan(name, params, leaves, step, params.window if "window" in words else None)


def feed_row(leaf: Leaf, cache: Cache, start: int, count: int, row: int, rows: int) -> None:
    """Feeds a single cache what row `row` of `rows` gets."""
    if leaf.states:
        feed_states(cache, leaf.tables, mx.arange(start, start + count)[None], mx.array([row]))
        return
    keys, values = (table.take(start, count, rows)[row : row + 1] for table in leaf.tables)
    cache.update_and_fetch(keys, values)


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

    def leaves(self) -> list[tuple[Leaf, Cache]]:
        """The caches without others in them, each with what is known of it."""
        return list(zip(self.plan.leaves, self.plan.parts(self.cache), strict=True))

    def call(self, first: int, last: int, counts: tuple[int, ...] | None = None, left: bool = False) -> None:
        """What a model does with columns `first` to `last` of its new tokens: ask for masks, and append.

        `counts`: how many tokens each row has, the others pad it; None: all are tokens.
        """
        queries = last - first
        self.returned = []
        for leaf, cache in self.leaves():
            if leaf.states:
                tokens = self.columns(counts, first, last, left)
                feed_states(cache, leaf.tables, tokens, mx.arange(self.rows))
                continue
            given = [self.padded(table, counts, first, last, left) for table in leaf.tables]
            mask = load_base().create_attention_mask(
                mx.zeros((self.rows, queries, 1)), cache, window_size=self.plan.window
            )
            keys, values = cache.update_and_fetch(*given)
            name = "mask" if self.plan.window is None else "window_mask"
            seen = spread_mask(mask, self.rows, queries, keys.shape[2])
            shown = (("keys", keys[...]), ("values", values[...]), (name, seen))
            self.returned += [(f"{leaf.prefix}returned.{word}", array) for word, array in shown]

    def append(self, count: int) -> None:
        """As many tokens for every row."""
        self.call(0, count)

    def append_rows(self, counts: tuple[int, ...]) -> None:
        """For each row its own number of tokens: `PromptProcessingBatch.prompt` of mlx-lm."""
        most = max(counts)
        padding = [most - count for count in counts]
        if self.plan.params.left and not self.used:
            # The way of the constructor's docstring.
            self.cache = self.plan.batch(padding)
            self.call(0, most, counts, left=True)
            self.finalize()
            return
        if any(padding):
            self.cache.prepare(lengths=list(counts), right_padding=padding)
        chunk = self.plan.params.chunk or most
        for first in range(0, most, chunk):
            self.call(first, min(first + chunk, most), counts)
        if any(padding):
            self.finalize()

    def finalize(self) -> None:
        """What ends a prompt that was padded; before 0.30 there is no such call for states."""
        if hasattr(self.cache, "finalize"):
            self.cache.finalize()

    def padded(self, table: Table, counts: tuple[int, ...] | None, first: int, last: int, left: bool) -> Array:
        """Columns `first` to `last` of tokens that are padded on the right, or of all on the left."""
        given = table.take(self.start + first, last - first, self.rows)
        if counts is None:
            return given
        if left:
            rows = [given[row : row + 1, :, :count] for row, count in enumerate(counts)]
            gaps = [mx.full((1, table.heads, last - count, table.channels), PAD, given.dtype) for count in counts]
            return mx.concatenate([mx.concatenate([a, b], axis=2) for a, b in zip(gaps, rows, strict=True)])
        real = mx.arange(first, last)[None] < mx.array(counts)[:, None]
        return mx.where(real[:, None, :, None], given, mx.array(PAD, given.dtype))

    def columns(self, counts: tuple[int, ...] | None, first: int, last: int, left: bool) -> Array:
        """The numbers of the tokens in these columns, for each row."""
        given = mx.broadcast_to(mx.arange(self.start + first, self.start + last)[None], (self.rows, last - first))
        if counts is None:
            return given
        count = mx.array(counts)[:, None]
        given = given - (last - count) if left else given
        real = mx.arange(last)[None] >= last - count if left else mx.arange(first, last)[None] < count
        return mx.where(real, given, PAD_TOKEN)

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
        """Another batch is put behind this one: merged from single caches, as the batch generator makes them.

        Before 0.30 it makes those of recurrent layers with padding on the left.
        """
        if not self.plan.merges:
            other = Batch(self.plan)
            other.rows, other.start = len(counts), self.start
            other.cache = self.plan.batch([max(counts) - count for count in counts])
            other.call(0, max(counts), counts, left=True)
            self.cache.extend(other.cache)
            self.rows += len(counts)
            return
        singles = []
        for row, count in enumerate(counts):
            single = self.plan.single()
            for leaf, cache in zip(self.plan.leaves, self.plan.parts(single), strict=True) if count else ():
                feed_row(leaf, cache, self.start, count, row, len(counts))
            singles.append(single)
        self.cache.extend(self.plan.merged(singles))
        self.rows += len(counts)

    def split(self, argument: tuple[int, ...]) -> None:
        """`PromptProcessingBatch.split`, an append to the new part, and `GenerationBatch.extend`."""
        count, rows = argument[0], argument[1:]
        other = copy.copy(self)
        other.cache = copy.deepcopy(self.cache)
        self.cache.filter([row for row in range(self.rows) if row not in rows])
        other.cache.filter(list(rows))
        other.rows = len(rows)
        if count:
            other.call(0, count)
        self.cache.extend(other.cache)

    def trim(self, number: int) -> None:
        """Through the function for lists, which asks first. Raises Refusal when fewer were removed than could be."""
        held = max((int(place) for places in self.positions() for place in places), default=0)
        held = self.start if all(leaf.states for leaf in self.plan.leaves) else held
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

    def positions(self) -> list[list[int]]:
        """Where the next token of each row stands, for each cache; no numbers for one of states."""
        found: list[list[int]] = []
        for leaf, cache in self.leaves():
            if leaf.states:
                found.append([])
            else:
                found.append([int(cache.offset)] if self.alone else [int(number) for number in cache.offset.tolist()])
        return found

    def stored(self) -> list[tuple[str, Array]]:
        """What it holds, by name."""
        found: list[tuple[str, Array]] = []
        for leaf, cache in self.leaves():
            if leaf.states:
                states = enumerate(cache.cache)
                found += [(f"{leaf.prefix}states.{place}", held[...]) for place, held in states if held is not None]
                continue
            if self.alone:
                held = contents(cache)
            elif cache.keys is None:
                held = None
            else:
                read = getattr(cache, "keys_and_values", None)
                held = read() if read is not None else cache.state[:2]
            if held is not None:
                found += [(f"{leaf.prefix}keys", held[0][...]), (f"{leaf.prefix}values", held[1][...])]
        return found

    def numbers(self, answers: Answers) -> list[tuple[str, Array | int]]:
        """What it says of its rows and of itself."""
        found: list[tuple[str, Array | int]] = []
        for leaf, cache in self.leaves():
            if leaf.states or self.alone:
                continue
            found.append((f"{leaf.prefix}rows.position", cache.offset.astype(mx.int64)))
            if leaf.name == "BatchKVCache":
                # Of a ring no text says what it counts.
                found.append((f"{leaf.prefix}rows.padding", cache.left_padding.astype(mx.int64)))
        said = own_numbers(self.cache, self.plan.parts(self.cache), answers)
        for leaf in self.plan.leaves:
            listed = "list_" if self.plan.listed else ""
            found += [(f"{leaf.prefix}{listed}{word}", number) for word, number in said]
        return found


def tokens_of(name: str, argument: Any) -> int:
    """How many token numbers an op uses up."""
    if name == "append":
        return int(argument)
    if name in ("append_rows", "extend"):
        return int(max(argument))
    return int(argument[0]) if name == "split" else 0
