"""What the value formula of docs/protocol.md is made of, and the limits of what is kept of it. Knows no library."""

from __future__ import annotations

from kvconform_adapter.request import TOKENS_MAX, RequestError

AMPLITUDE = 4
"""Of values of two levels."""
ELEMENTS_MAX = 1 << 26
"""Most elements in one input."""
KEPT_ELEMENTS_MAX = 1 << 22
"""Elements that one table keeps before it forgets everything."""
KEEPING_COST = 64
"""Elements that keeping a tensor is counted as beside its own."""
BLOCK = 256
"""Tokens computed at once: slicing costs a twentieth of computing."""
BLOCK_ROWS = 8
"""Rows computed at once: batches up to these share their blocks."""


def fold(number: int, token: int) -> int:
    """The fold number of a recurrent state after one more token."""
    return (31 * number + token + 1) % TOKENS_MAX


def fold_all(before: list[int], start: int, count: int, numbers: list[int] | None) -> tuple[int, ...]:
    """The fold numbers of all rows after tokens `start` to `start + count - 1`, which are `numbers` where there are."""
    found = []
    for number in before:
        for token in range(start, start + count):
            number = fold(number, token if numbers is None else numbers[token])  # noqa: PLW2901
        found.append(number)
    return tuple(found)


def check_elements(count: int) -> None:
    """Raise RequestError for an input of so many elements that it would not fit."""
    if count > ELEMENTS_MAX:
        raise RequestError(f"an append would have an input of more than {ELEMENTS_MAX} elements")
