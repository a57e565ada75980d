"""KV caches in numpy as people write them, each right and with faults put in: data of test_classes_of_ones_own.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = Any
Pair = tuple[Array, Array]


class Growing:
    """Grows by joining. `crop(-n)` drops the newest n tokens."""

    def __init__(self) -> None:
        self.keys: Array = None
        self.values: Array = None

    def update(self, keys: Array, values: Array) -> Pair:
        if self.keys is None:
            self.keys, self.values = keys.copy(), values.copy()
        else:
            self.keys = np.concatenate([self.keys, keys], axis=2)
            self.values = np.concatenate([self.values, values], axis=2)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return 0 if self.keys is None else int(self.keys.shape[2])

    def crop(self, tokens_to_remove: int) -> None:
        if tokens_to_remove > 0:
            raise ValueError("crop takes a negative number, or 0")
        end = max(0, self.get_seq_length() + tokens_to_remove)
        if self.keys is not None:
            self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]

    def reset(self) -> None:
        self.keys = self.values = None

    def reorder_cache(self, beam_idx: Array) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys[beam_idx], self.values[beam_idx]

    def batch_repeat_interleave(self, repeats: int) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys.repeat(repeats, axis=0), self.values.repeat(repeats, axis=0)

    def batch_select_indices(self, indices: Array) -> None:
        self.reorder_cache(indices)


class GrowingForgetsToClamp(Growing):
    """More than there is wraps round."""

    def crop(self, tokens_to_remove: int) -> None:
        if self.keys is not None and tokens_to_remove < 0:
            end = self.get_seq_length() + tokens_to_remove
            self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]


class GrowingReordersKeysOnly(Growing):
    """The values stay where they were."""

    def reorder_cache(self, beam_idx: Array) -> None:
        if self.keys is not None:
            self.keys = self.keys[beam_idx]


class GrowingSlicesByZero(Growing):
    """`keys[:-0]` is empty."""

    def crop(self, tokens_to_remove: int) -> None:
        if self.keys is not None:
            end = tokens_to_remove if -tokens_to_remove < self.get_seq_length() else 0
            self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]


class GrowingCropsToWholeNumbers(Growing):
    """The keys that stay are of a type that no tensor is sent in."""

    def crop(self, tokens_to_remove: int) -> None:
        super().crop(tokens_to_remove)
        if self.keys is not None:
            self.keys = self.keys.astype(np.int32)


class GrowingCropsToNothing(Growing):
    """Where all tokens go, a number is left instead of arrays."""

    def crop(self, tokens_to_remove: int) -> None:
        super().crop(tokens_to_remove)
        if self.get_seq_length() == 0:
            self.values = 0


class GrowingRepeatsByTiling(Growing):
    """Copies of a row must lie side by side."""

    def batch_repeat_interleave(self, repeats: int) -> None:
        if self.keys is not None:
            self.keys, self.values = np.tile(self.keys, (repeats, 1, 1, 1)), np.tile(self.values, (repeats, 1, 1, 1))


class Paged:
    """Pages of `page_size` tokens in a pool, and a table of those in use. `truncate(length)` keeps the first tokens."""

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size
        self.pages: list[Pair] = []
        self.table: list[int] = []
        self.free: list[int] = []
        self.length = 0

    def page(self, like: Pair) -> int:
        """The number of a page that may be written."""
        if self.free:
            return self.free.pop()
        sizes = [(*array.shape[:2], self.page_size, array.shape[3]) for array in like]
        self.pages.append((np.zeros(sizes[0], like[0].dtype), np.zeros(sizes[1], like[1].dtype)))
        return len(self.pages) - 1

    def append(self, keys: Array, values: Array) -> Pair:
        if self.pages and self.pages[0][0].shape[0] != keys.shape[0]:
            raise ValueError("another number of rows")
        for token in range(keys.shape[2]):
            slot = self.length % self.page_size
            if slot == 0:
                self.table.append(self.page((keys, values)))
            page = self.pages[self.table[-1]]
            page[0][:, :, slot] = keys[:, :, token]
            page[1][:, :, slot] = values[:, :, token]
            self.length += 1
        return self.gather()  # type: ignore[return-value]

    def gather(self) -> Pair | None:
        """All tokens in order, joined."""
        if self.length == 0:
            return None
        joined = [np.concatenate([self.pages[number][half] for number in self.table], axis=2) for half in (0, 1)]
        return joined[0][:, :, : self.length], joined[1][:, :, : self.length]

    def truncate(self, length: int) -> None:
        self.length = min(self.length, max(0, length))
        needed = -(-self.length // self.page_size)
        self.free += self.table[needed:]
        del self.table[needed:]

    def clear(self) -> None:
        self.truncate(0)


class PagedKeepsAPageTooMany(Paged):
    """A page that is full to the brim is not followed by an empty one."""

    def truncate(self, length: int) -> None:
        self.length = min(self.length, max(0, length))
        needed = self.length // self.page_size + 1
        self.free += self.table[needed:]
        del self.table[needed:]


class PagedClearsTheTableOnly(Paged):
    """The counter goes on where it was."""

    def clear(self) -> None:
        self.free += self.table
        self.table.clear()


class PagedWritesOverAFreePage(Paged):
    """The last page goes back to the pool and stays in use."""

    def truncate(self, length: int) -> None:
        super().truncate(length)
        if self.table and self.length % self.page_size:
            self.free.append(self.table[-1])


class PagedIsCopiedByReference(Paged):
    """Copies share their pages."""

    def __deepcopy__(self, memo: Any) -> PagedIsCopiedByReference:
        made = PagedIsCopiedByReference(self.page_size)
        made.pages, made.table, made.free, made.length = self.pages, list(self.table), list(self.free), self.length
        return made


class Sinks:
    """The first `num_sinks` tokens and a window behind them, in order; an append returns what attention sees."""

    def __init__(self, window: int, num_sinks: int) -> None:
        self.window = window
        self.num_sinks = num_sinks
        self.keys: Array = None
        self.values: Array = None
        self.seen_tokens = 0

    def append(self, keys: Array, values: Array) -> Pair:
        if self.keys is not None:
            keys = np.concatenate([self.keys, keys], axis=2)
            values = np.concatenate([self.values, values], axis=2)
            self.seen_tokens += keys.shape[2] - self.keys.shape[2]
        else:
            self.seen_tokens += keys.shape[2]
        self.keys, self.values = self.cut(keys).copy(), self.cut(values).copy()
        return keys, values

    def cut(self, array: Array) -> Array:
        """What stays of an array."""
        over = array.shape[2] - self.num_sinks - self.window
        return np.delete(array, np.arange(self.num_sinks, self.num_sinks + over), axis=2) if over > 0 else array

    def crop(self, n: int) -> None:
        """Minus the number of tokens to drop."""
        count = min(-n, self.seen_tokens)
        if count <= 0 or self.keys is None:
            return
        held = self.keys.shape[2]
        left = self.seen_tokens - count
        needed = min(left, self.num_sinks + self.window - 1)
        if self.seen_tokens > held and left > self.num_sinks and held - count < needed:
            raise ValueError("tokens that were evicted cannot be brought back")
        end = min(left, self.num_sinks) if left <= self.num_sinks else held - count
        self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]
        self.seen_tokens = left

    def reset(self) -> None:
        self.keys = self.values = None
        self.seen_tokens = 0


class SinksKeepOneTooMany(Sinks):
    """The window is larger by one."""

    def cut(self, array: Array) -> Array:
        over = array.shape[2] - self.num_sinks - self.window - 1
        return np.delete(array, np.arange(self.num_sinks, self.num_sinks + over), axis=2) if over > 0 else array


class SinksEvictTheFirst(Sinks):
    """The first tokens go too."""

    def cut(self, array: Array) -> Array:
        return array[:, :, -(self.num_sinks + self.window) :]


class SinksCropSilently(Sinks):
    """Evicted tokens are missing after a crop, and nothing is said."""

    def crop(self, n: int) -> None:
        if n < 0 and self.keys is not None:
            end = max(0, self.keys.shape[2] + n)
            self.keys, self.values = self.keys[:, :, :end], self.values[:, :, :end]
            self.seen_tokens = max(0, self.seen_tokens + n)


class Ring:
    """A buffer of `capacity` cells, the first `keep` of which are never written again. In no order."""

    def __init__(self, capacity: int, keep: int = 0) -> None:
        self.capacity = capacity
        self.keep = keep
        self.buffer: Pair | None = None
        self.length = 0

    def cell(self, token: int) -> int:
        """Where a token goes."""
        if token < self.capacity:
            return token
        return self.keep + (token - self.keep) % (self.capacity - self.keep)

    def append(self, keys: Array, values: Array) -> Pair:
        if self.buffer is None:
            sizes = [(*array.shape[:2], self.capacity, array.shape[3]) for array in (keys, values)]
            self.buffer = np.zeros(sizes[0], keys.dtype), np.zeros(sizes[1], values.dtype)
        for token in range(keys.shape[2]):
            place = self.cell(self.length)
            self.buffer[0][:, :, place] = keys[:, :, token]
            self.buffer[1][:, :, place] = values[:, :, token]
            self.length += 1
        return self.contents()  # type: ignore[return-value]

    def contents(self) -> Pair | None:
        """The cells that are in use."""
        if self.buffer is None:
            return None
        end = min(self.length, self.capacity)
        return self.buffer[0][:, :, :end].copy(), self.buffer[1][:, :, :end].copy()

    def trim(self, n: int) -> int:
        """Removes the newest n tokens; says how many."""
        removed = min(n, self.length)
        if 0 < removed < self.length and self.length > self.capacity:
            raise RuntimeError("cells were written over")
        self.length -= removed
        return removed

    def reset(self) -> None:
        self.length = 0


class RingTurnsOverTheFirst(Ring):
    """Cells of the first tokens are written again."""

    def cell(self, token: int) -> int:
        return token % self.capacity


class RingTrimsOneShort(Ring):
    """Off by one where all but one go."""

    def trim(self, n: int) -> int:
        removed = super().trim(n)
        if removed > 1 and self.length == 1:
            self.length += 1
        return removed


class RingTrimsBeyondZero(Ring):
    """No clamp."""

    def trim(self, n: int) -> int:
        if 0 < n < self.length and self.length > self.capacity:
            raise RuntimeError("cells were written over")
        self.length -= n
        return n


class Quantised:
    """Four bits for each element, a scale for each token and head; the newest `residual_length` as they came."""

    def __init__(self, nbits: int = 4, residual_length: int = 3) -> None:
        self.steps = 2 ** (nbits - 1) - 1
        self.residual_length = residual_length
        self.codes: list[Pair] = []
        self.scales: list[Pair] = []
        self.rest: Pair | None = None

    def squeeze(self, array: Array) -> Pair:
        """Codes and scales."""
        scale = np.abs(array).max(axis=-1, keepdims=True) / self.steps
        return np.round(array / scale).astype(np.int8), scale

    def append(self, keys: Array, values: Array) -> Pair:
        if self.rest is None:
            self.rest = keys.copy(), values.copy()
        else:
            self.rest = np.concatenate([self.rest[0], keys], axis=2), np.concatenate([self.rest[1], values], axis=2)
        over = self.rest[0].shape[2] - self.residual_length
        if over > 0:
            squeezed = [self.squeeze(array[:, :, :over]) for array in self.rest]
            self.codes.append((squeezed[0][0], squeezed[1][0]))
            self.scales.append((squeezed[0][1], squeezed[1][1]))
            self.rest = self.rest[0][:, :, over:], self.rest[1][:, :, over:]
        return self.get()  # type: ignore[return-value]

    def parts(self, half: int) -> Iterator[Array]:
        """The pieces of keys (0) or values (1) as numbers."""
        assert self.rest is not None
        for codes, scales in zip(self.codes, self.scales, strict=True):
            yield (codes[half] * scales[half]).astype(self.rest[half].dtype)
        yield self.rest[half]

    def get(self) -> Pair | None:
        """All tokens as numbers."""
        if self.rest is None:
            return None
        return np.concatenate(list(self.parts(0)), axis=2), np.concatenate(list(self.parts(1)), axis=2)

    def __len__(self) -> int:
        held = sum(int(codes[0].shape[2]) for codes in self.codes)
        return held + (0 if self.rest is None else int(self.rest[0].shape[2]))

    def crop(self, n: int) -> None:
        """Minus the number of tokens to drop."""
        end = max(0, len(self) + n)
        if self.rest is None:
            return
        for number in range(len(self.codes)):
            for pairs in (self.codes, self.scales):
                pairs[number] = pairs[number][0][:, :, :end], pairs[number][1][:, :, :end]
            end -= self.codes[number][0].shape[2]
        self.rest = self.rest[0][:, :, :end], self.rest[1][:, :, :end]

    def reset(self) -> None:
        self.codes, self.scales, self.rest = [], [], None

    def reorder(self, rows: Array) -> None:
        for pairs in (self.codes, self.scales):
            pairs[:] = [(keys[rows], values[rows]) for keys, values in pairs]
        if self.rest is not None:
            self.rest = self.rest[0][rows], self.rest[1][rows]


class QuantisedLosesTheScale(Quantised):
    """Old codes are read with the newest scale, halved for the values."""

    def parts(self, half: int) -> Iterator[Array]:
        assert self.rest is not None
        for codes, scales in zip(self.codes, self.scales, strict=True):
            yield (codes[half] * scales[half] / (1 + half)).astype(self.rest[half].dtype)
        yield self.rest[half]


class QuantisedCropsTheRestOnly(Quantised):
    """What was quantised stays."""

    def crop(self, n: int) -> None:
        if self.rest is not None and n < 0:
            end = max(0, self.rest[0].shape[2] + n)
            self.rest = self.rest[0][:, :, :end], self.rest[1][:, :, :end]


class QuantisedResetsWithoutCodes(Quantised):
    """The codes stay."""

    def reset(self) -> None:
        self.rest = None


class HeavyHitters:
    """Keeps the tokens with the largest keys, at most `budget` of them, and the newest: which, is its own affair."""

    def __init__(self, budget: int = 4) -> None:
        self.budget = budget
        self.keys: Array = None
        self.values: Array = None

    def append(self, keys: Array, values: Array) -> None:
        for token in range(keys.shape[2]):
            new = keys[:, :, token : token + 1], values[:, :, token : token + 1]
            if self.keys is None:
                self.keys, self.values = new[0].copy(), new[1].copy()
                continue
            self.keys = np.concatenate([self.keys, new[0]], axis=2)
            self.values = np.concatenate([self.values, new[1]], axis=2)
            if self.keys.shape[2] > self.budget:
                scores = np.abs(self.keys[:, :, :-1]).sum(axis=(0, 1, 3), dtype=np.float64)
                self.keys = np.delete(self.keys, int(scores.argmin()), axis=2)
                self.values = np.delete(self.values, int(scores.argmin()), axis=2)

    def reset(self) -> None:
        self.keys = self.values = None


class HeavyHittersRemember(HeavyHitters):
    """A reset leaves the largest token behind."""

    def reset(self) -> None:
        if self.keys is not None:
            self.keys, self.values = self.keys[:, :, :1], self.values[:, :, :1]


class Steps:
    """Buffers that grow by steps, as mlx-lm's do, read through `state`; tokens before heads."""

    step = 4

    def __init__(self) -> None:
        self.keys: Array = None
        self.values: Array = None
        self.offset = 0

    def update_and_fetch(self, keys: Array, values: Array) -> Pair:
        """Shapes are [rows, tokens, heads, channels]."""
        count = keys.shape[1]
        if self.keys is None or self.offset + count > self.keys.shape[1]:
            room = -(-count // self.step) * self.step
            more = [np.zeros((array.shape[0], room, *array.shape[2:]), array.dtype) for array in (keys, values)]
            if self.keys is None:
                self.keys, self.values = more
            else:
                self.keys = np.concatenate([self.keys[:, : self.offset], more[0]], axis=1)
                self.values = np.concatenate([self.values[:, : self.offset], more[1]], axis=1)
        self.keys[:, self.offset : self.offset + count] = keys
        self.values[:, self.offset : self.offset + count] = values
        self.offset += count
        return self.state  # type: ignore[return-value]

    @property
    def state(self) -> Pair | None:
        """Keys and values of the tokens that count."""
        if self.keys is None:
            return None
        return self.keys[:, : self.offset], self.values[:, : self.offset]

    def trim(self, n: int) -> int:
        n = min(n, self.offset)
        self.offset -= n
        return n


class StepsReturnNewOnly(Steps):
    """What attention gets is the new tokens alone."""

    def update_and_fetch(self, keys: Array, values: Array) -> Pair:
        super().update_and_fetch(keys, values)
        return keys.copy(), values.copy()


class StepsTakeTheInput(Steps):
    """The first input becomes the buffer, and is written to later."""

    def update_and_fetch(self, keys: Array, values: Array) -> Pair:
        if self.keys is None:
            self.keys, self.values, self.offset = keys, values, keys.shape[1]
            return keys, values
        return super().update_and_fetch(keys, values)
