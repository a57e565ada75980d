"""KV caches in plain Python, each right and with faults put in; they need no package."""

from __future__ import annotations

from typing import Any

Lists = Any


def joined(old: Lists, new: Lists) -> Lists:
    """Rows and heads of both, tokens one behind the other."""
    if not old:
        return [[list(head) for head in row] for row in new]
    return [[a + list(b) for a, b in zip(x, y, strict=True)] for x, y in zip(old, new, strict=True)]


class Plain:
    """Every token."""

    def __init__(self) -> None:
        self.keys: Lists = []
        self.values: Lists = []

    @property
    def length(self) -> int:
        return len(self.keys[0][0]) if self.keys else 0

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        self.keys, self.values = joined(self.keys, keys), joined(self.values, values)
        return self.keys, self.values

    def crop(self, n: int) -> None:
        end = max(0, self.length + n)
        self.keys, self.values = self.cut(self.keys, end), self.cut(self.values, end)

    def cut(self, held: Lists, end: int) -> Lists:
        """The first tokens."""
        return [[head[:end] for head in row] for row in held]

    def reset(self) -> None:
        self.keys, self.values = [], []

    def reorder(self, rows: list[int]) -> None:
        if self.keys:
            self.keys, self.values = [self.keys[row] for row in rows], [self.values[row] for row in rows]


class PlainIgnoresNegatives(Plain):
    """A crop by a negative number does nothing."""

    def crop(self, n: int) -> None:
        if n > 0:
            super().crop(-n)


class PlainCropsOneShort(Plain):
    """Of several tokens one stays too many."""

    def crop(self, n: int) -> None:
        super().crop(n + 1 if n < -1 else n)


class PlainReordersInPlace(Plain):
    """Rows are moved one after the other, over those that are still needed."""

    def reorder(self, rows: list[int]) -> None:
        for place, row in enumerate(rows):
            if self.keys:
                self.keys[place], self.values[place] = self.keys[row], self.values[row]


class PlainCropsValuesOfTheFirstRow(Plain):
    """The values of the other rows stay as many as they were."""

    def crop(self, n: int) -> None:
        end = max(0, self.length + n)
        self.keys = self.cut(self.keys, end)
        self.values = self.cut(self.values[:1], end) + self.values[1:]


class PlainLeavesHoles(Plain):
    """What is no number stands behind the tokens that stay."""

    def cut(self, held: Lists, end: int) -> Lists:
        return [[[*head[: end - 1], [None] * len(head[end - 1])] if end else [] for head in row] for row in held]


class PlainJoinsWhatItIsGiven(Plain):
    """The lists of the caller grow with those of the cache."""

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        seen = super().append(keys, values)
        keys[0][0] += self.keys[0][0]
        return seen


class PlainCannotBeCloned(Plain):
    """It has a method for that, which raises."""

    def clone(self) -> Plain:
        return self.copied()  # type: ignore[attr-defined, no-any-return]


class Sized(Plain):
    """At most `size` tokens: that is no number of those that it holds."""

    length = property()

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        if self.held() + len(keys[0][0]) > self.size:
            raise ValueError("there is no room")
        return super().append(keys, values)

    def held(self) -> int:
        """How many tokens it holds."""
        return len(self.keys[0][0]) if self.keys else 0

    def crop(self, n: int) -> None:
        end = max(0, self.held() + n)
        self.keys, self.values = self.cut(self.keys, end), self.cut(self.values, end)


class SizedHasRoomForOneMore(Sized):
    """A token too many is taken."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size += 1


class Window:
    """The newest `window` tokens; an append returns those before and the new ones."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.keys: Lists = []
        self.values: Lists = []
        self.seen_tokens = 0

    def __len__(self) -> int:
        return len(self.keys[0][0]) if self.keys else 0

    def append(self, keys: Lists, values: Lists) -> tuple[Lists, Lists]:
        self.seen_tokens += len(keys[0][0])
        whole = joined(self.keys, keys), joined(self.values, values)
        self.keys, self.values = self.newest(whole[0]), self.newest(whole[1])
        return whole

    def newest(self, held: Lists) -> Lists:
        """What stays of it."""
        return [[head[-self.window :] for head in row] for row in held]

    def rollback(self, n: int) -> bool:
        """Drops the newest n tokens. False: it cannot, for tokens that the window needs then are gone."""
        left = max(0, self.seen_tokens - n)
        if n > 0 and left > 0 and len(self) - n < min(left, self.window - 1):
            return False
        end = max(0, len(self) - n)
        self.keys = [[head[:end] for head in row] for row in self.keys]
        self.values = [[head[:end] for head in row] for row in self.values]
        self.seen_tokens = left
        return True

    def clear(self) -> None:
        self.keys, self.values, self.seen_tokens = [], [], 0


class WindowTooLarge(Window):
    """By one token."""

    def newest(self, held: Lists) -> Lists:
        return [[head[-self.window - 1 :] for head in row] for row in held]


class WindowRollsBackSilently(Window):
    """Tokens that it needs are gone, and it says that all is well."""

    def rollback(self, n: int) -> bool:
        end = max(0, len(self) - n)
        self.keys = [[head[:end] for head in row] for row in self.keys]
        self.values = [[head[:end] for head in row] for row in self.values]
        self.seen_tokens = max(0, self.seen_tokens - n)
        return True


class WindowClearsWithoutTheCounter(Window):
    """The counter stays, so that a rollback is refused for no reason."""

    def clear(self) -> None:
        self.keys, self.values = [], []


class WindowHalfRefuses(Window):
    """It says no when the keys are cut already."""

    def rollback(self, n: int) -> bool:
        if not super().rollback(n):
            self.keys = [[head[:-1] for head in row] for row in self.keys]
            return False
        return True


class Persistent:
    """Never changes what it holds: a clone shares all and costs nothing. One row, one head: [tokens][channels]."""

    def __init__(self) -> None:
        self.held: tuple[tuple[Lists, Lists], ...] = ()

    def push(self, keys: Lists, values: Lists) -> None:
        self.held = (*self.held, *zip([list(cell) for cell in keys], [list(cell) for cell in values], strict=True))

    def pop(self, n: int) -> None:
        self.held = self.held[: max(0, len(self.held) - n)]

    def keys(self) -> Lists:
        return [cell for cell, _ in self.held]

    def values(self) -> Lists:
        return [cell for _, cell in self.held]

    def __len__(self) -> int:
        return len(self.held)

    def clone(self) -> Persistent:
        made = type(self)()
        made.held = self.held
        return made


class PersistentIsNot(Persistent):
    """A clone shares a list that both write to."""

    def __init__(self) -> None:
        self.held: Any = []

    def push(self, keys: Lists, values: Lists) -> None:
        self.held += zip([list(cell) for cell in keys], [list(cell) for cell in values], strict=True)

    def pop(self, n: int) -> None:
        del self.held[max(0, len(self.held) - n) :]
