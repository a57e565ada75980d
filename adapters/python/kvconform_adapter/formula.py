"""What the value formula of docs/protocol.md is made of, and the limits of what is kept of it. Knows no library."""

from __future__ import annotations

from kvconform_adapter.request import TOKENS_MAX

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
