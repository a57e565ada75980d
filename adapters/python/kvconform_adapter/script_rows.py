"""Where the rows of a batch came from, and how far apart a program writes their numbers."""

from __future__ import annotations

from kvconform_adapter.request import Op, Params, RequestError

EXACT = {"float32": 1 << 24, "float64": 1 << 53, "float16": 2048, "bfloat16": 256}
"""Whole numbers up to here are exact."""


def distances(params: Params, rows: int, tokens: int, heads: int) -> tuple[int, int]:
    """ROW and HEAD: how far apart the numbers of two rows and of two heads are; 0 where the type cannot tell them."""
    steps = (10_000, 1000, 100, 64, 32, 16, 8)
    for row in steps if rows > 1 else (0,):
        for head in steps if heads > 1 else (0,):
            most = tokens + row * (rows - 1)
            if (
                (rows == 1 or tokens < row)
                and (heads == 1 or most < head)
                and most + head * (heads - 1) <= EXACT[params.dtype]
            ):
                return row, head
    return distances(params, rows, tokens, 1) if heads > 1 else (0, 0)


class Rows:
    """Where the rows of the batch came from: for each row, the row that each of its tokens was appended to.

    `constant`: the same for what is set once, by the first append after the cache was made or reset; empty before.
    """

    def __init__(self, count: int) -> None:
        self.origins: list[dict[int, int]] = [{} for _ in range(count)]
        self.constant: list[int] = []
        self.most = count

    def follow(self, op: Op, start: int) -> None:
        """What the op does to rows when it is done."""
        name, argument = op
        if name == "append" and isinstance(argument, int):
            for row, tokens in enumerate(self.origins):
                tokens.update(dict.fromkeys(range(start, start + argument), row))
            self.constant = self.constant or list(range(len(self.origins)))
        elif name == "reset":
            self.constant = []
        elif name in ("reorder", "select") and isinstance(argument, tuple):
            if max(argument) >= len(self.origins):
                raise RequestError(f'field "ops": {name} {list(argument)} does not fit {len(self.origins)} rows')
            self.origins = [dict(self.origins[row]) for row in argument]
            self.constant = [self.constant[row] for row in argument] if self.constant else []
        elif name == "repeat" and isinstance(argument, int):
            self.origins = [dict(tokens) for tokens in self.origins for _ in range(argument)]
            self.constant = [row for row in self.constant for _ in range(argument)]
        self.most = max(self.most, len(self.origins))
